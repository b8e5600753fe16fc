"""Transactions of a SQLite file or a PostgreSQL server, with their clock and their limits of time.

Whatever goes wrong there becomes `LedgerUnavailable`, which tells what kind of failure it was and nothing else: the
errors of drivers quote statements and values.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from unabridged.contract import InvalidInput, LedgerUnavailable

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_CLOCKS: Final = {
    "sqlite": "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000",
    "postgresql": "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
}
_LOGGED_AS: Final = "unabridged"
_LIMITED: Final = "unabridged_limited"
_CAUGHT: Final = (SQLAlchemyError, OSError)


def to_us(moment: datetime) -> int:
    """Returns a moment as microseconds since 1970."""
    return (moment - EPOCH) // _MICROSECOND


def from_us(us: int) -> datetime:
    """Returns the moment so many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=us)


class Link:
    """One transaction."""

    __slots__ = ("_clock", "_connection", "_now_us", "dialect", "touched")

    def __init__(self, connection: sa.Connection, clock: Callable[[], datetime] | None) -> None:
        self._connection = connection
        self._clock = clock
        self._now_us: int | None = None
        self.dialect = connection.dialect.name
        self.touched = False
        """Whether something joined it that may have written."""

    def execute(
        self, statement: sa.Executable, values: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> int:
        """Runs a statement, once for each of the values where several are given; returns how many rows it changed."""
        return int(self._run(lambda: self._connection.execute(statement, values).rowcount))

    def rows(self, statement: sa.Executable, values: Mapping[str, Any] | None = None) -> Sequence[Any]:
        """Returns all rows of a statement. None is fetched later, where its error would not be caught."""
        found: Sequence[Any] = self._run(lambda: self._connection.execute(statement, values).all())
        return found

    def first(self, statement: sa.Executable, values: Mapping[str, Any] | None = None) -> Any:
        """Returns the first row of a statement, or nothing."""
        return next(iter(self.rows(statement, values)), None)

    def text(self, statement: str) -> Any:
        """Runs a statement that is written out; returns the first value of its first row, where it has one."""

        def run() -> Any:
            found = self._connection.exec_driver_sql(statement)
            return found.scalar() if found.returns_rows else None

        return self._run(run)

    def has_table(self, name: str) -> bool:
        """Tells whether a table is there."""
        return bool(self._run(lambda: sa.inspect(self._connection).has_table(name)))

    @property
    def now_us(self) -> int:
        """The moment by the database's clock, the same all through the transaction; taken when first asked for."""
        if self._now_us is None:
            if self._clock is not None:
                self._now_us = to_us(self._clock())
            else:
                self._now_us = int(self.text(f"SELECT {_CLOCKS[self.dialect]}"))
        return self._now_us

    def limit(self, timeout_s: float) -> None:
        """Bounds how long a statement waits for a lock or runs."""
        ms = max(1, int(timeout_s * 1000))
        if self.dialect == "sqlite":
            if _LIMITED not in self._connection.info:
                self.text(f"PRAGMA busy_timeout = {ms}")
                self.text("PRAGMA secure_delete = ON")
                self._connection.info[_LIMITED] = True
        else:
            self.text(
                f"SELECT set_config('lock_timeout', '{ms}', true), set_config('statement_timeout', '{ms}', true),"
                f" set_config('idle_in_transaction_session_timeout', '{max(30_000, 10 * ms)}', true)"
            )

    def end(self, *, commit: bool) -> None:
        """Commits or rolls back, and gives the connection back."""
        try:
            if self.dialect == "sqlite":
                self.text("COMMIT" if commit else "ROLLBACK")
            elif commit:
                self._run(self._connection.commit)
            else:
                self._run(self._connection.rollback)
        except LedgerUnavailable:
            with suppress(*_CAUGHT):
                self._connection.invalidate()
            raise
        finally:
            with suppress(*_CAUGHT):
                self._connection.close()

    @staticmethod
    def _run(action: Callable[[], Any]) -> Any:
        try:
            return action()
        except _CAUGHT as error:
            why = _why(error)
        raise LedgerUnavailable(why=why)  # outside the handler: what the driver says may hold values


class Database:
    """The transactions of one process.

    Args of the constructor:
        given: the address of a SQLite file or of a PostgreSQL server, or an engine.
        timeout_s: how long a statement may run or wait for a lock, in seconds.
        clock: tells the time instead of the database.
    """

    def __init__(
        self, given: str | sa.URL | sa.Engine, *, timeout_s: float, clock: Callable[[], datetime] | None
    ) -> None:
        engine = given if isinstance(given, sa.Engine) else _engine(given, timeout_s)
        self.dialect = engine.dialect.name
        if self.dialect not in _CLOCKS:
            raise InvalidInput(field="database", rule="must be SQLite or PostgreSQL")
        _check_file(engine.url)
        level = "AUTOCOMMIT" if self.dialect == "sqlite" else "READ COMMITTED"
        self._engine = engine.execution_options(isolation_level=level)
        self._timeout_s = timeout_s
        self._clock = clock
        self._pid = os.getpid()
        self._joined = threading.local()
        if self.dialect == "sqlite":
            self._write_ahead()

    def __repr__(self) -> str:
        return f"<Database {self.dialect}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a database cannot be pickled: it holds connections")

    def close(self) -> None:
        """Closes the connections that are idle."""
        self._engine.dispose()

    def _write_ahead(self) -> None:
        """Lets processes read a SQLite file while one writes; what is committed is on the disk."""
        try:
            with self._engine.connect() as connection:
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {max(1, int(self._timeout_s * 1000))}")
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            return
        except _CAUGHT as error:
            why = _why(error)
        raise LedgerUnavailable(why=why)

    def begin(self, *, reads: bool = False) -> Link:
        """Begins a transaction of this thread. A connection that broke while it was idle is replaced once.

        Args:
            reads: whether it only reads, and so waits for nobody.
        """
        if os.getpid() != self._pid:  # a process that was forked must not talk over its parent's connections
            self._engine.dispose(close=False)
            self._pid = os.getpid()
        why = "it cannot be reached"
        for _ in range(2):
            connection: sa.Connection | None = None
            try:
                connection = self._engine.connect()
                return self._begun(Link(connection, self._clock), reads=reads)
            except _CAUGHT as error:
                why, stale = _why(error), isinstance(error, DBAPIError) and error.connection_invalidated
            except LedgerUnavailable as error:
                why, stale = error.why, connection is not None and connection.invalidated
            if connection is not None:
                with suppress(*_CAUGHT):
                    connection.close()
            if not stale:
                break
        raise LedgerUnavailable(why=why)

    def _begun(self, link: Link, *, reads: bool) -> Link:
        link.limit(self._timeout_s)
        if self.dialect == "sqlite":
            link.text("BEGIN" if reads else "BEGIN IMMEDIATE")
        return link

    def join(self, link: Link | None) -> None:
        """Lets what this thread does until further notice be part of a transaction."""
        self._joined.link = link

    @contextmanager
    def transaction(self, *, reads: bool = False) -> Iterator[Link]:
        """Runs a block in a transaction: in that which this thread has joined, else in one of its own."""
        joined: Link | None = getattr(self._joined, "link", None)
        if joined is not None:
            joined.touched = joined.touched or not reads
            yield joined
            return
        link = self.begin(reads=reads)
        self.join(link)
        try:
            yield link
        except BaseException:
            self.join(None)
            with suppress(LedgerUnavailable):
                link.end(commit=False)
            raise
        self.join(None)
        link.end(commit=True)


def _engine(url: str | sa.URL, timeout_s: float) -> sa.Engine:
    """Makes an engine that logs no statement and no row, and gives up on a server that does not answer."""
    logger = logging.getLogger(f"sqlalchemy.engine.Engine.{_LOGGED_AS}")
    logger.setLevel(logging.WARNING)
    logger.addFilter(_is_no_row)  # whatever level someone sets
    try:
        parsed = sa.make_url(url)
    except SQLAlchemyError:
        parsed = None
    if parsed is None:
        raise InvalidInput(field="database", rule="must be the address of a SQLite file or a PostgreSQL server")
    _check_file(parsed)
    options: dict[str, Any] = {}
    backend, _, driver = parsed.drivername.partition("+")
    if backend == "postgresql" and driver in ("psycopg", "psycopg2"):
        seconds = max(2, int(timeout_s))
        options = {"connect_timeout": seconds, "tcp_user_timeout": 1000 * seconds}
    elif backend == "sqlite":
        options = {"timeout": timeout_s}
    try:
        return sa.create_engine(
            parsed, connect_args=options, hide_parameters=True, logging_name=_LOGGED_AS, pool_timeout=timeout_s
        )
    except (SQLAlchemyError, ModuleNotFoundError):
        pass
    raise InvalidInput(field="database", rule="must name a database and a driver that are installed")


def _is_no_row(line: logging.LogRecord) -> bool:
    """Tells whether a line of the engine's logger may be written: below a warning they hold statements and rows."""
    return line.levelno >= logging.WARNING


def _check_file(url: sa.URL) -> None:
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise InvalidInput(field="database", rule="must be a file: a ledger in memory is a MemoryLedger")


def _why(error: BaseException) -> str:
    """Returns what kind of failure it was, in words of ours."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    if isinstance(state, str) and len(state) == 5 and state.isalnum():
        return f"the database refused (SQLSTATE {state})"
    code = getattr(getattr(error, "orig", None), "sqlite_errorname", None)
    if isinstance(code, str) and code.isascii() and code.replace("_", "").isalpha():
        return f"the database refused ({code})"
    return f"the database failed with {type(error).__name__}"
