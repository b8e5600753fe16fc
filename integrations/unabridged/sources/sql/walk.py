"""Running one statement in one snapshot, batch by batch. Walking decides nothing: it gathers facts for the judge."""

from __future__ import annotations

from collections.abc import Generator, Hashable
from contextlib import suppress
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Engine
from sqlalchemy.exc import DBAPIError, StatementError

from unabridged.contract.codes import ReasonCode
from unabridged.contract.errors import InvalidInput
from unabridged.contract.ids import id_key, id_keys

from .ask import Ask, Sent
from .failures import ODD, OUTRUN, Caught, Failure, failure_of, is_write, trouble_of
from .servers import Opened, Server, Signals, close_quietly, server_of
from .values import field_names, records_of, size_bytes

_STREAM: Final = {"stream_results": True}
_HIDES: Final = "42501"
_NEARLY: Final = 0.9
_FOREVER_S: Final = float("inf")
_PLAIN: Final = frozenset({str, int, float})


class _Unsendable(Exception):
    """The driver refused a value in words of its own, which hold the value."""


class Walk:
    """The facts of one read, as they come in. `run()` is run once."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.server: Server = ask.server
        self.started = ask.clock.monotonic()
        self.opened: Opened | None = None
        self.count: int | None = None
        self.raw = self.batches = self.requests = self.size = self.duplicates = 0
        self.seen: set[Hashable] = set()
        """The key of each record."""
        self.items: list[dict[str, Any]] = []
        """The records of the envelope that is being filled."""
        self.base = 0
        """Records of earlier envelopes."""
        self._places: dict[Hashable, int] | None = None
        """Where the records of this envelope stand; made when one of them comes a second time."""
        self.ended = False
        self.hidden = False
        """Whether policies of the database left rows out."""
        self.redone = False
        """Whether a first attempt met a table that was replaced under its snapshot."""
        self.failure: Failure | None = None
        self.limits: list[tuple[ReasonCode, str, int | None]] = []
        self.touched = Signals()
        self.signals = Signals()
        self._asked_at = self.started
        self._arriving: Any = None

    @property
    def elapsed_s(self) -> float:
        """Seconds since the read began."""
        return self.ask.clock.monotonic() - self.started

    @property
    def unique(self) -> int | None:
        """Unique ids; `None` where rows have no identity."""
        return None if self.ask.id is None else len(self.seen)

    def start_envelope(self) -> None:
        """Begins the next envelope of a stream."""
        self.base += len(self.items)
        self.items, self._places = [], None

    def run(self) -> Generator[None, None, None]:
        """Fills `items`, and stops for a moment after each batch.

        Where PostgreSQL refuses to leave rows out in silence, the read begins anew with its policies on; where a
        table was replaced under its snapshot, once in a new one. Nothing of the first attempt is kept.

        Raises:
            InvalidInput: the statement would have written, a parameter is missing, or the connection is in a
                transaction, which is left as it is.
        """
        while True:
            yield from self._attempt(row_security=self.hidden)
            failure = self.failure
            if failure is None or self.batches or self.opened is None or self.server.family != "postgresql":
                return
            if failure.native == {"sqlstate": _HIDES} and self.hidden:
                self.hidden = False  # no policy: the caller may not read the table at all
                return
            if self._has_no_more_requests():
                return
            if failure.native == {"sqlstate": _HIDES}:
                self.hidden = True
            elif failure.is_outrun and not self.redone:
                self.redone = True
            else:
                return
            self.failure, self.count = None, None

    def _has_no_more_requests(self) -> bool:
        most = self.ask.budget.max_requests
        return most is not None and self.requests >= most

    def _attempt(self, *, row_security: bool) -> Generator[None, None, None]:
        connection: Connection | None = None
        result: CursorResult[Any] | None = None
        broken: InvalidInput | None = None
        self.opened = None
        bind = self.ask.bind
        if isinstance(bind, Connection) and bind.in_transaction():
            raise InvalidInput(field="bind", rule="must not be in a transaction: the read makes its own")
        try:
            connection = bind.connect() if isinstance(bind, Engine) else bind
            self.server = server_of(connection)
            if isinstance(bind, Engine):
                self.server.own(connection)
            opened = self.server.open(connection, timeout_s=self._left_s(), row_security=row_security)
            self.opened = opened
            if self.ask.budget.max_seconds is not None:
                self.server.watch(connection, self._is_late)
            if self.ask.count is not None:
                self.count = self._counted(connection, self.ask.count, opened)
            result = self._sent(connection, self.ask.statement, _STREAM)
            self._arriving = getattr(result.cursor, "_result", None)
            self.touched = self.server.touched(connection, opened)
            if self.touched.reasons:
                self.failure = OUTRUN
                return
            yield from self._fetched(result)
            if self.ended:
                self.signals = self.server.ended(connection, opened)
        except _Unsendable:
            broken = InvalidInput(field="params", rule="must be values that the database's driver can send")
        except Caught as error:
            broken = self._note(error)
        finally:
            if connection is not None:
                self._leave(connection, result)
        if broken is not None:
            raise broken

    def _left_s(self) -> float | None:
        most = self.ask.budget.max_seconds
        return None if most is None else max(0.001, most - self.elapsed_s)

    def _is_late(self) -> bool:
        left = self.ask.budget.max_seconds
        return left is not None and self.elapsed_s >= left

    def _sent(self, connection: Connection, sent: Sent, options: dict[str, Any]) -> CursorResult[Any]:
        self.requests += 1
        self._asked_at = self.ask.clock.monotonic()
        try:
            if isinstance(sent.what, str):
                return connection.exec_driver_sql(sent.what, execution_options={**options, "no_parameters": True})
            return connection.execute(sent.what, dict(sent.params or {}), execution_options=options)
        except UnicodeError:
            raise
        except ODD:
            raise _Unsendable from None

    def _counted(self, connection: Connection, sent: Sent, opened: Opened) -> int | None:
        with self._sent(connection, sent, {} if self.server.streams else _STREAM) as result:
            row = result.fetchone()
        if self.server.streams and self.server.ended(connection, opened).reasons:
            return None  # the count was cut itself
        value = row[0] if row is not None and len(row) == 1 else None
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

    def _fetched(self, result: CursorResult[Any]) -> Generator[None, None, None]:
        """Fetches to the end, or one row beyond what may be delivered: only that shows whether there is more."""
        names = field_names(list(result.keys()))
        budget = self.ask.budget
        while not self._is_spent():
            size = self.ask.batch
            if budget.max_items is not None:
                size = min(size, max(1, budget.max_items - self._delivered + 1))
            self._asked_at = self.ask.clock.monotonic()
            try:
                rows = result.fetchmany(size)
            except ODD:  # a type that cannot make its value of what came; its error holds that
                self.failure = Failure("PROTOCOL_ANOMALY", "malformed_page", layer="adapter")
                return
            if not rows:
                self.ended = True
                return
            records = records_of(rows, names)
            keys = self._keys(records)
            if self.ask.id is not None and keys is None:
                self.failure = Failure("PROTOCOL_ANOMALY", "malformed_page", layer="adapter")
                return
            more = self._keep(records, keys)
            self.batches += 1
            self.size += size_bytes(records) if budget.max_bytes is not None else 0
            yield
            if more:
                self.limits.append(("CLIENT_LIMIT_REACHED", "max_items", budget.max_items))
                return

    @property
    def _delivered(self) -> int:
        return self.base + len(self.items)

    def _keep(self, records: list[dict[str, Any]], keys: list[Hashable] | None) -> bool:
        """Keeps each record once, the later one in place; returns whether there was one that may not be delivered."""
        most = self.ask.budget.max_items
        if keys is None:
            room = len(records) if most is None else max(0, most - self._delivered)
            self.items += records[:room]
            self.raw += min(room, len(records))
            return len(records) > room
        fresh = set(keys)
        room = len(records) if most is None else most - len(self.seen)
        if len(fresh) == len(records) <= room and self.seen.isdisjoint(fresh):
            self.seen |= fresh
            self.items += records
            self.raw += len(records)
            self._places = None
            return False
        return self._keep_one_by_one(records, keys)

    def _keep_one_by_one(self, records: list[dict[str, Any]], keys: list[Hashable]) -> bool:
        most, seen, items = self.ask.budget.max_items, self.seen, self.items
        for record, key in zip(records, keys, strict=True):
            if key in seen:
                self.duplicates += 1
                if self._places is None:
                    self._places = {k: n for n, k in enumerate(self._keys(items) or ())}
                place = self._places.get(key)
                if place is not None:
                    items[place] = record
            elif most is not None and len(seen) >= most:
                return True
            else:
                seen.add(key)
                if self._places is not None:
                    self._places[key] = len(items)
                items.append(record)
            self.raw += 1
        return False

    def _keys(self, records: list[dict[str, Any]]) -> list[Hashable] | None:
        """Returns the key of each record; nothing when one has none."""
        columns = self.ask.id
        if columns is None:
            return None
        if not records or any(name not in records[0] for name in columns):
            return None
        if not self.ask.composite:
            ids = [record[columns[0]] for record in records]
            if _PLAIN.issuperset(map(type, ids)):
                return ids
            return None if any(value is None for value in ids) else id_keys(ids)
        found = [[record[name] for name in columns] for record in records]
        return None if any(None in values for values in found) else [id_key(values) for values in found]

    def _is_spent(self) -> bool:
        budget = self.ask.budget
        if self._is_late():
            self.limits.append(("TIME_BUDGET_EXCEEDED", "max_seconds", None))
        if budget.max_pages is not None and self.batches >= budget.max_pages:
            self.limits.append(("CLIENT_LIMIT_REACHED", "max_pages", budget.max_pages))
        if budget.max_bytes is not None and self.size >= budget.max_bytes:
            self.limits.append(("CLIENT_LIMIT_REACHED", "max_bytes", budget.max_bytes))
        return bool(self.limits)

    def _note(self, error: BaseException) -> InvalidInput | None:
        """Notes what an error means for the read; returns what is the caller's to mend."""
        if isinstance(error, StatementError) and not isinstance(error, DBAPIError):
            return InvalidInput(field="params", rule="must give every parameter of the statement, in its type")
        trouble = trouble_of(error, self.server.family)
        if is_write(trouble, self.server.family, writes=self.ask.statement.shape.writes):
            return InvalidInput(field="statement", rule="must only read: the database refused it as a write")
        failure = failure_of(trouble, opened=self.opened is not None)
        is_about_time = failure.code == "TIME_BUDGET_EXCEEDED" or (failure.detail == "cancelled" and self._is_late())
        self.failure = self._timed_out(failure) if is_about_time else failure
        return None

    def _timed_out(self, failure: Failure) -> Failure | None:
        """Tells whose time was up: ours, the server's own, or nobody's, when a person ended the statement."""
        opened = self.opened
        if opened is None:
            return failure
        waited_s = self.ask.clock.monotonic() - self._asked_at
        if failure.native == {"sqlstate": "57014"} and waited_s < _NEARLY * (opened.timeout_s or _FOREVER_S):
            return Failure("SOURCE_UNAVAILABLE", "cancelled", failure.native, passing=True)
        if opened.timeout_is_ours and failure.native != {"sqlstate": "55P03"}:
            self.limits.append(("TIME_BUDGET_EXCEEDED", "max_seconds", None))
            return None
        return failure

    def _leave(self, connection: Connection, result: CursorResult[Any] | None) -> None:
        """Puts the connection back as it was. One whose rows are still on their way is thrown away instead."""
        usable = True
        if self.opened is not None and self.ask.budget.max_seconds is not None:
            with suppress(*Caught):
                self.server.watch(connection, None)
        if result is not None and not self.ended and self.server.streams:
            usable = False
            if getattr(self._arriving, "unbuffered_active", False):
                self._arriving.unbuffered_active = False  # else PyMySQL reads all rows when its cursor is closed
        elif result is not None:
            with suppress(*Caught):
                result.close()
        if usable:
            usable = close_quietly(self.server, connection, self.opened)
        if not usable and self.server.family != "sqlite":
            with suppress(*Caught):
                connection.invalidate()
        with suppress(*Caught):
            connection.rollback()
            if isinstance(self.ask.bind, Engine):
                connection.close()
