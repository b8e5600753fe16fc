"""The one place where a read finds the session that is in scope.

It stands at the bottom of the tree so that the reader can record itself without knowing what a session is.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol


class Recorder(Protocol):
    """Whatever keeps reads as evidence; in practice `unabridged.evidence.Session`."""

    def record(self, result: Any, /) -> Any:
        """Keeps the header of a read. Idempotent by read id."""


ambient: ContextVar[Recorder | None] = ContextVar("unabridged_session", default=None)
"""Holds a mutable object, so that threads and nested agents that copy the context share one session."""


def current() -> Recorder | None:
    """Returns the recorder in scope, or nothing."""
    return ambient.get()


def record(result: Any) -> None:
    """Records a result in the session in scope; without one nothing happens."""
    recorder = ambient.get()
    if recorder is not None:
        recorder.record(result)
