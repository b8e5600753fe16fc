"""What each database needs around one statement: a read-only transaction over one snapshot, and its own signals.

Each kind of server opens, looks and closes in its own way. None of them says whether a read was whole.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from unabridged.contract.errors import InvalidInput
from unabridged.contract.parts import Notice, Reason

from .shape import Family


@dataclass(frozen=True, slots=True)
class Opened:
    """A transaction that has begun."""

    snapshot: str
    """Equal for two reads exactly when both see one state; a token without meaning of its own."""
    timeout_s: float | None = None
    """How long the server lets one request of ours run."""
    timeout_is_ours: bool = False
    row_security: bool = False
    """Whether policies may leave rows out."""
    cap: int | None = None
    """Rows after which this session's settings cut any statement without a limit of its own."""
    has_remote: bool = False
    """Whether rows may lie outside of the transaction's snapshot."""
    undo: tuple[str, ...] = field(default=(), repr=False)
    """What puts the connection back as it was, once the transaction has ended."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What the server says of a statement."""

    reasons: tuple[Reason, ...] = ()
    notices: tuple[Notice, ...] = ()
    is_snapshot: bool = True
    """Whether everything that the statement reads lies inside the transaction's snapshot."""


class Server(Protocol):
    """One kind of database."""

    @property
    def family(self) -> Family:
        """Whose SQL it speaks."""

    @property
    def name(self) -> str:
        """What it is called in a result."""

    @property
    def streams(self) -> bool:
        """Whether rows arrive while the statement runs, so that a broken-off one must not be read to its end."""

    def own(self, connection: Connection) -> Connection:
        """Prepares a connection that was made for the read and goes back to its pool afterwards."""

    def open(self, connection: Connection, *, timeout_s: float | None, row_security: bool) -> Opened:
        """Begins a read-only transaction over one snapshot.

        Raises:
            InvalidInput: the connection is in a transaction, or makes none.
        """

    def touched(self, connection: Connection, opened: Opened) -> Signals:
        """Asks what a statement that has just begun reads from."""

    def ended(self, connection: Connection, opened: Opened) -> Signals:
        """Asks for the server's signals about the statement that has just ended."""

    def close(self, connection: Connection, opened: Opened | None) -> None:
        """Ends the transaction without keeping anything of it, and puts the connection back as it was."""

    def watch(self, connection: Connection, expired: Callable[[], bool] | None) -> None:
        """Lets a server that runs in this process look at the time; `None` ends that."""


def server_of(connection_or_engine: Any) -> Server:
    """Returns the kind of server behind a connection or an engine.

    Raises:
        InvalidInput: no snapshot and no read-only transaction is known for it.
    """
    dialect = connection_or_engine.dialect
    match dialect.name:
        case "postgresql":
            return PostgreSQL()
        case "mysql" | "mariadb":
            return MySQL(name="mariadb" if getattr(dialect, "is_mariadb", False) else "mysql")
        case "sqlite":
            return SQLite()
        case _:
            raise InvalidInput(field="bind", rule="must be a PostgreSQL, MariaDB, MySQL or SQLite database")


def _row(connection: Connection, sql: str) -> tuple[Any, ...]:
    found = connection.exec_driver_sql(sql).fetchone()
    return () if found is None else tuple(found)


def _token(*parts: object) -> str:
    return "sha256:" + hashlib.sha256("\n".join(str(p) for p in parts).encode()).hexdigest()[:32]


def _of_this_transaction() -> str:
    return f"transaction:{secrets.token_hex(8)}"


def _shorter(theirs: float, ours: float | None) -> tuple[float | None, bool]:
    """Returns the timeout that comes first, zero being none, and whether it is ours."""
    if ours is None:
        return (theirs or None), False
    return (theirs, False) if 0 < theirs <= ours else (ours, True)


@dataclass(frozen=True, slots=True)
class PostgreSQL:
    """REPEATABLE READ, read only, with `row_security` off: what a policy would hide is then an error."""

    family: Family = "postgresql"
    name: str = "postgresql"
    streams: bool = False

    def own(self, connection: Connection) -> Connection:
        """Takes an engine's connection out of autocommit mode; its pool puts it back."""
        return connection.execution_options(isolation_level="REPEATABLE READ")

    def open(self, connection: Connection, *, timeout_s: float | None, row_security: bool) -> Opened:
        """Begins the transaction."""
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        isolation, read_only, theirs_ms, is_standby, *state = _row(connection, _POSTGRESQL_STATE)
        if isolation != "repeatable read" or read_only != "on":
            raise InvalidInput(field="bind", rule="must make transactions: it is in autocommit mode")
        limit_s, ours = _shorter(int(theirs_ms) / 1000, timeout_s)
        milliseconds = 0 if limit_s is None else max(1, round(limit_s * 1000))
        switch = "on" if row_security else "off"
        connection.exec_driver_sql(f"SET LOCAL row_security = {switch}")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {milliseconds}")
        snapshot = _of_this_transaction() if is_standby else _token(*state)
        return Opened(snapshot, timeout_s=limit_s, timeout_is_ours=ours, row_security=row_security)

    def touched(self, connection: Connection, opened: Opened) -> Signals:
        """Looks at what is locked: what lies outside the snapshot, what lags, and what was put in a table's place.

        A table that was rewritten or truncated, or that took another's name, after the snapshot was taken looks empty
        to it (https://www.postgresql.org/docs/current/mvcc-caveats.html). A read that waited for a lock meets that.
        """
        found = connection.exec_driver_sql(_POSTGRESQL_TOUCHED).fetchall()
        lost = any(is_replaced for *_, is_replaced in found)
        stale = tuple(
            Notice(code="STALE_INDEX", severity="freshness", observed={"index": str(name)})
            for kind, name, _, _ in found
            if kind == "m"
        )
        return Signals(
            (Reason(code="CONSISTENCY_LOST", detail="snapshot_changed", source=self.name),) if lost else (),
            stale,
            is_snapshot=not any(is_outside for _, _, is_outside, _ in found),
        )

    def ended(self, connection: Connection, opened: Opened) -> Signals:
        """Looks again, for functions, and whether one has switched policies on, which then hid rows in silence."""
        (switch,) = _row(connection, "SELECT pg_catalog.current_setting('row_security')")
        found = self.touched(connection, opened)
        if switch == "off" or opened.row_security:
            return found
        return replace(found, reasons=(Reason(code="VISIBILITY_RESTRICTED", source=self.name), *found.reasons))

    def close(self, connection: Connection, opened: Opened | None) -> None:
        """Rolls back: settings of the transaction go with it."""
        connection.rollback()

    def watch(self, connection: Connection, expired: Callable[[], bool] | None) -> None:
        """The server has a clock of its own."""


_POSTGRESQL_STATE: Final = (
    "SELECT pg_catalog.current_setting('transaction_isolation'), pg_catalog.current_setting('transaction_read_only'),"
    " (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'statement_timeout'), pg_catalog.pg_is_in_recovery(),"
    " pg_catalog.pg_current_snapshot()::text, pg_catalog.current_database(),"
    " pg_catalog.pg_postmaster_start_time()::text, pg_catalog.inet_server_port()"
)
"""On a standby a snapshot does not name the transactions that are running: two of them may look alike and differ."""
_POSTGRESQL_TOUCHED: Final = """
SELECT * FROM (
  SELECT c.relkind::text, c.relname::text,
    c.relkind IN ('f', 'S') OR (c.relkind = 'v' AND c.relname ~ '^pg_stat(io)?_'
      AND c.relnamespace = 'pg_catalog'::pg_catalog.regnamespace) AS outside,
    CASE WHEN c.oid IS NULL THEN pg_catalog.pg_get_indexdef(l.relation) IS NULL
      WHEN c.relkind IN ('r', 'm') THEN
        c.relfilenode <> 0 AND c.relfilenode IS DISTINCT FROM pg_catalog.pg_relation_filenode(c.oid)
      WHEN c.relkind = 'p' THEN
        (SELECT pg_catalog.array_agg(p.relid::pg_catalog.oid ORDER BY p.relid::pg_catalog.oid)
          FROM pg_catalog.pg_partition_tree(c.oid) p WHERE p.level = 1)
        IS DISTINCT FROM
        (SELECT pg_catalog.array_agg(i.inhrelid ORDER BY i.inhrelid) FROM pg_catalog.pg_inherits i
          WHERE i.inhparent = c.oid
            AND coalesce(pg_catalog.to_jsonb(i) ->> 'inhdetachpending', 'false') = 'false')
      ELSE false END AS replaced
  FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_class c ON c.oid = l.relation
  WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation'
) found WHERE relkind = 'm' OR outside OR replaced"""
"""Tables are looked up in the snapshot, the functions beside them tell of now."""


@dataclass(frozen=True, slots=True)
class MySQL:
    """MariaDB and MySQL: a consistent snapshot, read only, and what the server only says in warnings."""

    family: Family = "mysql"
    name: str = "mariadb"
    streams: bool = True

    def own(self, connection: Connection) -> Connection:
        """Needs nothing: the transaction is begun by a statement, also in autocommit mode."""
        return connection

    def open(self, connection: Connection, *, timeout_s: float | None, row_security: bool) -> Opened:
        """Begins the transaction. The session's own limits are read, not lifted; ours have a `LIMIT` of their own."""
        maria = self.name == "mariadb"
        setting = "max_statement_time" if maria else "max_execution_time"
        cap, theirs = _row(connection, f"SELECT @@SESSION.sql_select_limit, @@SESSION.{setting} LIMIT 1")
        unit = 1.0 if maria else 1000.0
        limit_s, ours = _shorter(float(theirs) / unit, timeout_s)
        remote = int(_row(connection, _MYSQL_REMOTE)[0])
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        undo: tuple[str, ...] = ()
        if ours and limit_s is not None:  # last, so that nothing can fail while the session is changed
            undo = (f"SET SESSION {setting} = {theirs}",)
            value = max(0.001, round(limit_s, 3)) if maria else max(1, round(limit_s * unit))
            connection.exec_driver_sql(f"SET SESSION {setting} = {value}")
        return Opened(
            _of_this_transaction(),
            timeout_s=limit_s,
            timeout_is_ours=ours,
            cap=int(cap) if int(cap) < _NO_CAP else None,
            has_remote=remote > 0,
            undo=undo,
        )

    def touched(self, connection: Connection, opened: Opened) -> Signals:
        """Says what was asked at the beginning: rows are on their way and nothing else may be asked."""
        return Signals(is_snapshot=not opened.has_remote)

    def ended(self, connection: Connection, opened: Opened) -> Signals:
        """Reads the warnings first: any other statement would clear them."""
        warnings = connection.exec_driver_sql("SHOW WARNINGS").fetchall()
        counted = int(_row(connection, "SELECT @@warning_count LIMIT 1")[0])
        numbers = [int(number) for _, number, _ in warnings]
        reasons = []
        for number in dict.fromkeys(numbers):
            native: dict[str, bool | int | float | str | None] = {"warning": number}
            if number == 1931:  # LIMIT ROWS EXAMINED: "The query result may be incomplete"
                reasons.append(
                    Reason(code="RESULT_LIMIT_REACHED", detail="source_cap", source=self.name, native=native)
                )
            elif number in (1260, 1301):  # cut by GROUP_CONCAT, or by max_allowed_packet
                reasons.append(Reason(code="ITEM_TRUNCATED", source=self.name, native=native))
        if counted > len(warnings):
            native = {"warnings": counted, "shown": len(warnings)}
            reasons.append(Reason(code="COVERAGE_UNKNOWN", source=self.name, native=native))
        other = [n for n in numbers if n not in (1931, 1260, 1301)]
        notices = tuple(Notice(code="NATIVE_WARNING", observed={"warning": n}) for n in dict.fromkeys(other))
        return Signals(tuple(reasons), notices[:10])

    def close(self, connection: Connection, opened: Opened | None) -> None:
        """Rolls back, and puts the session's time limit back."""
        connection.exec_driver_sql("ROLLBACK")
        for statement in opened.undo if opened is not None else ():
            connection.exec_driver_sql(statement)
        connection.rollback()

    def watch(self, connection: Connection, expired: Callable[[], bool] | None) -> None:
        """The server has a clock of its own."""


_NO_CAP: Final = 2**63 - 1
_MYSQL_REMOTE: Final = (
    "SELECT COUNT(*) FROM information_schema.ENGINES WHERE SUPPORT IN ('YES', 'DEFAULT')"
    " AND ENGINE IN ('FEDERATED', 'CONNECT', 'SPIDER', 'S3', 'ndbcluster', 'OQGRAPH', 'SPHINX') LIMIT 1"
)
"""Engines whose rows lie outside the snapshot. A server that has one may have used it."""


@dataclass(frozen=True, slots=True)
class SQLite:
    """One deferred transaction under `query_only`."""

    family: Family = "sqlite"
    name: str = "sqlite"
    streams: bool = False

    def own(self, connection: Connection) -> Connection:
        """Needs nothing: the transaction is begun by a statement, also in autocommit mode."""
        return connection

    def open(self, connection: Connection, *, timeout_s: float | None, row_security: bool) -> Opened:
        """Begins the transaction; its snapshot is that of its first read."""
        raw: Any = connection.connection.driver_connection
        always = getattr(raw, "autocommit", None) is False  # such a connection is in a transaction at all times
        if raw.in_transaction and not always:
            raise InvalidInput(field="bind", rule="must not be in a transaction: the read makes its own")
        (before,), (dirty,) = _row(connection, "PRAGMA query_only"), _row(connection, "PRAGMA read_uncommitted")
        files = {name for _, name, _ in connection.exec_driver_sql("PRAGMA database_list").fetchall()}
        if not raw.in_transaction:
            connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("PRAGMA query_only = ON")  # last, so that nothing can fail while it is set
        return Opened(
            _of_this_transaction(),
            timeout_s=timeout_s,
            timeout_is_ours=timeout_s is not None,
            has_remote=bool(dirty) or not files <= {"main", "temp"},
            undo=() if before else ("PRAGMA query_only = OFF",),
        )

    def touched(self, connection: Connection, opened: Opened) -> Signals:
        """Each attached file has a snapshot of its own, and what is not committed is in none."""
        return Signals(is_snapshot=not opened.has_remote)

    def ended(self, connection: Connection, opened: Opened) -> Signals:
        """There is nothing more to ask."""
        return Signals()

    def close(self, connection: Connection, opened: Opened | None) -> None:
        """Rolls back, and lets others write again."""
        raw: Any = connection.connection.driver_connection
        try:
            if raw.in_transaction and opened is not None:
                connection.exec_driver_sql("ROLLBACK")
        finally:
            for statement in opened.undo if opened is not None else ():
                connection.exec_driver_sql(statement)
            connection.rollback()

    def watch(self, connection: Connection, expired: Callable[[], bool] | None) -> None:
        """Interrupts the statement when the time is up; the engine runs in this process and asks now and then."""
        steps = 10_000 if expired is not None else 0
        raw: Any = connection.connection.driver_connection
        in_its_thread = getattr(connection.connection.dbapi_connection, "run_async", None)
        with suppress(sqlite3.Error):  # a connection that is of no use says so when it is asked
            if in_its_thread is not None:
                in_its_thread(lambda theirs: theirs.set_progress_handler(expired, steps))
            elif hasattr(raw, "set_progress_handler"):
                raw.set_progress_handler(expired, steps)


def close_quietly(server: Server, connection: Connection, opened: Opened | None) -> bool:
    """Ends a transaction on a connection that may be gone. Returns whether it is still of use."""
    try:
        server.close(connection, opened)
    except (SQLAlchemyError, OSError):
        return False
    return True
