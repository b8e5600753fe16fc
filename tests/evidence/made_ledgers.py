"""A clock and ledgers that the tests of sessions share: what holds for one kind of ledger holds for the other."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from evidence.made_reads import AT
from unabridged.evidence import Ledger, MemoryDesk, MemoryLedger, TicketDesk
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


class TimedDesk:
    """A desk of either kind, whose clock is the moment that a test hands in."""

    def __init__(self, desk: TicketDesk, clock: Clock, path: Path | None) -> None:
        self._desk = desk
        self._clock = clock
        self._path = path

    def __repr__(self) -> str:
        return repr(self._desk)

    def __reduce__(self) -> Any:
        return self._desk.__reduce__()

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def timed(*args: Any, **how: Any) -> Any:
            self._clock.moment = how.get("now", self._clock.moment)
            return getattr(self._desk, verb)(*args, **how)

        return timed

    def everything(self) -> str:
        """Returns all that the desk keeps, as text."""
        if self._path is None:
            return repr(vars(self._desk))
        with closing(sqlite3.connect(self._path)) as connection:
            return repr(connection.execute("SELECT * FROM unabridged_tickets").fetchall())


NewDesk = Callable[..., TimedDesk]


@contextmanager
def desks_of(kind: str, folder: Path, clock: Clock) -> Iterator[NewDesk]:
    """Yields what makes desks of a kind, each time another one."""
    made: list[SqlLedger] = []

    def new(**bounds: Any) -> TimedDesk:
        if kind == "memory":
            return TimedDesk(MemoryDesk(**bounds), clock, None)
        path = folder / f"desk-{len(made)}.db"
        made.append(file_ledger(path, clock, timeout_s=60, **bounds))
        return TimedDesk(made[-1].desk, clock, path)

    yield new
    for ledger in made:
        ledger.close()


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
