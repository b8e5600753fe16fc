"""Reads in flight, and the handles by which a session goes on with a read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from unabridged.contract import ReadResult

from .header import RecordedRead

MAX_REPEATS: Final = 3
"""How often a failed read that left nothing to continue from may be started again in a session."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A read that was asked for and has not finished. Hand it to `finish`, `fail` or `withdraw`."""

    id: str
    resource: str
    key: str | None
    call_id: str | None
    started_at: datetime
    deadline: datetime


@dataclass(frozen=True, slots=True)
class StoredRest:
    """The rest of a read that was shown in part: it comes from the result store, and the source is not asked."""

    read: RecordedRead
    result: ReadResult = field(repr=False)
    start: int
    """How many records were shown before."""

    @property
    def items(self) -> list[Any]:
        """The records that were not shown."""
        return list((self.result.items or ())[self.start :])


@dataclass(frozen=True, slots=True)
class SourceRoute:
    """The reader's own state for going on at the source; the cursor in it never leaves the session."""

    read: RecordedRead
    resume: Any = field(repr=False)
    attempts_left: int | None = None
    """For a read that starts again: how often it still may."""


Route = StoredRest | SourceRoute
