"""The result store in a SQL database: records in its payload column, and no value in any other."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from unabridged.contract import ContractViolation, InvalidInput, ReadResult, from_wire, with_ids
from unabridged.evidence.store import DropHook

from .database import Database, Link
from .tables import results

_KEPT: Final = results.c.payload.is_not(None)
_GONE: Final = results.c.payload.is_(None)
_OF: Final = results.c.owner == sa.bindparam("of")
_KNOWN: Final = sa.select(results.c.id).where(_OF, results.c.read_id == sa.bindparam("read_id"))
_FETCH: Final = sa.select(results.c.payload).where(
    _OF, results.c.read_id == sa.bindparam("read_id"), results.c.since_us >= sa.bindparam("since_us")
)
_DROPPED: Final = sa.select(results.c.read_id).where(_OF, _GONE).order_by(results.c.id)
_INSERT: Final = results.insert()
_SUMS: Final = sa.select(
    sa.func.count(),
    sa.func.coalesce(sa.func.sum(results.c.records), 0),
    sa.func.coalesce(sa.func.sum(results.c.bytes), 0),
).where(_KEPT)
_FIRST: Final = sa.select(results.c.since_us).where(_KEPT).order_by(results.c.id).limit(1)
_OLDEST: Final = (
    sa.select(results.c.id, results.c.records, results.c.bytes).where(_KEPT).order_by(results.c.id).limit(1_000)
)
_ENOUGH: Final = 1_000
"""How often the bounds are looked at while the store fills: keeping a result costs the same in a full one."""


class SqlStore:
    """Keeps results in a SQL database; the oldest ones go first. Made by `SqlLedger`.

    The bounds on their number hold within a thousandth for each process. A result whose records are no JSON is not
    kept, since another process would find something else in its place.
    """

    def __init__(
        self,
        database: Database,
        owner_of: Callable[[str], str],
        *,
        max_records: int,
        max_results: int,
        max_bytes: int,
        max_age_s: float,
    ) -> None:
        for name, value in (("max_records", max_records), ("max_results", max_results), ("max_bytes", max_bytes)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInput(field=name, rule="must be at least 1")
        self._database = database
        self._owner_of = owner_of
        self._max_records = max_records
        self._max_results = max_results
        self._max_bytes = max_bytes
        self._max_age_us = int(max_age_s * 1_000_000)
        self._every = max(1, max_results // _ENOUGH)
        self._puts = 0

    def __repr__(self) -> str:
        return f"<SqlStore in {self._database.dialect}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a result store cannot be pickled: it leads to records")

    def put(self, owner: str, result: ReadResult, *, now: datetime, on_drop: DropHook) -> bool:
        """Keeps a result. The moment is the database's; sessions hear of what is dropped by their own next turn.

        Returns whether it is kept: one that is too large for the store, or is no JSON, is not.
        """
        size, payload = 1 + len(result.items or ()), _payload(result)
        if payload is None or size > self._max_records or len(payload) > self._max_bytes:
            return False
        name = self._owner_of(owner)
        with self._database.transaction() as link:
            if link.first(_KNOWN, {"of": name, "read_id": result.read.id}) is None:
                row = {
                    "owner": name, "read_id": result.read.id, "records": size, "bytes": len(payload),
                    "since_us": link.now_us, "payload": payload,
                }  # fmt: skip
                link.execute(_INSERT, row)
                self._puts += 1
                self._age(link)
                if self._puts % self._every == 0 or len(payload) * _ENOUGH > self._max_bytes:
                    self._shrink(link)
        return True

    def get(self, owner: str, read_id: str, *, now: datetime) -> ReadResult | None:
        """Returns a result, or nothing once it was dropped."""
        with self._database.transaction(reads=True) as link:
            since = link.now_us - self._max_age_us
            row = link.first(_FETCH, {"of": self._owner_of(owner), "read_id": read_id, "since_us": since})
        return None if row is None or row.payload is None else _result(row.payload)

    def erase(self, owner: str) -> None:
        """Forgets all results of a session."""
        with self._database.transaction() as link:
            link.execute(results.delete().where(results.c.owner == self._owner_of(owner)))

    def take_dropped(self, link: Link, name: str) -> list[str]:
        """Returns the read ids whose results were dropped since a session last took note, and forgets them.

        Args:
            link: the transaction of the session's turn.
            name: the owner, as it stands in the table.
        """
        found = [row.read_id for row in link.rows(_DROPPED, {"of": name})]
        if found:
            link.execute(results.delete().where(_GONE, _OF, results.c.read_id.in_(found)), {"of": name})
        return found

    def _shrink(self, link: Link) -> None:
        """Drops the oldest of what is too much; their sessions will take note."""
        count, records, size = link.rows(_SUMS)[0]
        count, records, size = count - self._max_results, records - self._max_records, size - self._max_bytes
        while max(count, records, size) > 0 and (oldest := link.rows(_OLDEST)):
            last = 0
            for row in oldest:
                last, count, records, size = row.id, count - 1, records - row.records, size - row.bytes
                if max(count, records, size) <= 0:
                    break
            if not self._drop(link, results.c.id <= last):
                break  # other processes are at it

    def _age(self, link: Link) -> None:
        """Drops what is too old."""
        since, oldest = link.now_us - self._max_age_us, link.first(_FIRST)
        if oldest is not None and oldest.since_us < since:
            self._drop(link, results.c.since_us < since)

    def _drop(self, link: Link, which: sa.ColumnElement[bool]) -> int:
        """Takes records out, and returns of how many results. The rows stay until their sessions have taken note."""
        link.execute(results.delete().where(_GONE, results.c.since_us < link.now_us - self._max_age_us))
        rows = sa.select(results.c.id).where(_KEPT, which).with_for_update(skip_locked=True)
        return link.execute(
            results.update().where(results.c.id.in_(rows.scalar_subquery())).values(payload=None, since_us=link.now_us)
        )


def _payload(result: ReadResult) -> bytes | None:
    try:
        return json.dumps([result.to_wire(), list(result.ids)], separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError):
        return None


def _result(payload: bytes) -> ReadResult | None:
    """Returns the result that was kept; nothing where this version cannot read it."""
    try:
        wire, ids = json.loads(payload)
        return with_ids(from_wire(wire), ids)
    except (ContractViolation, ValueError, TypeError):
        return None
