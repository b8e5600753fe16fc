"""A clock and ledgers that the tests of sessions share: what holds for one kind of ledger holds for the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from evidence.made_reads import AT
from unabridged.evidence import Ledger, MemoryLedger
from unabridged.evidence.sql import SqlLedger

KEY = b"a key of the tests, and no other"
NewLedger = Callable[..., Ledger]


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.moment = AT

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


def file_ledger(path: Path, clock: Clock | None = None, **bounds: Any) -> SqlLedger:
    """Returns the ledger in a SQLite file, as each process would make its own."""
    return SqlLedger(f"sqlite:///{path}", key=KEY, now=clock, **{"shared": False, **bounds})


@contextmanager
def ledgers_of(kind: str, folder: Path, clock: Clock) -> Iterator[NewLedger]:
    """Yields what makes ledgers of a kind, each time another one."""
    made: list[SqlLedger] = []

    def new(**bounds: Any) -> Ledger:
        if kind == "memory":
            return MemoryLedger(**bounds)
        made.append(file_ledger(folder / f"ledger-{len(made)}.db", clock, **bounds))
        return made[-1]

    yield new
    for ledger in made:
        ledger.close()
