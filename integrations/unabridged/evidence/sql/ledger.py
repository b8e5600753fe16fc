"""The ledger in a SQL database: several processes work on one session, and none loses what another has read."""

from __future__ import annotations

import hmac
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Any, Final

import sqlalchemy as sa

from unabridged.contract import InvalidInput, LedgerUnavailable
from unabridged.evidence.ledger import Journal, SessionKey
from unabridged.evidence.scope import Mask

from .database import Database, Link, from_us
from .desk import SqlDesk
from .migrations import migrate
from .replica import Replica
from .store import SqlStore
from .tables import events, results, sessions, tickets

_log = logging.getLogger("unabridged.evidence")
_SHORTEST_KEY: Final = 16
_REMEMBERED: Final = 100
"""How many evicted sessions are remembered for each one that is kept."""
_AT_ONCE: Final = 1_000
_A_SECOND_US: Final = 1_000_000
_OWNED: Final = sa.select(sessions).where(sessions.c.owner == sa.bindparam("owner")).with_for_update()
_LOCKED: Final = sa.select(sessions).where(sessions.c.id == sa.bindparam("row_id")).with_for_update()
_LATER: Final = (
    sa.select(events.c.body)
    .where(events.c.session_id == sa.bindparam("row_id"), events.c.seq > sa.bindparam("seen"))
    .order_by(events.c.seq)
)
_APPENDED: Final = events.insert()
_USED: Final = (
    sessions.update()
    .where(sessions.c.id == sa.bindparam("row_id"))
    .values(head=sa.bindparam("to_head"), used_us=sa.bindparam("at_us"))
)


class SqlTurn:
    """A turn of a session that several processes keep: its row is locked, and the replica is brought up to date.

    What is appended in the block is written down in the same transaction, together with what the store and the desk
    do; an error of the block takes all of it back. Turns of one thread nest.
    """

    __slots__ = ("_ledger", "_now", "_replica")

    def __init__(self, replica: Replica, ledger: SqlLedger, now: datetime) -> None:
        self._replica = replica
        self._ledger = ledger
        self._now = now

    def __enter__(self) -> tuple[Journal, datetime]:
        replica = self._replica
        replica.lock.acquire()
        try:
            if replica.depth == 0:
                replica.moment = self._now
                if replica.alive:
                    self._ledger.begin(replica)
            replica.depth += 1
        except BaseException:
            replica.lock.release()
            raise
        return replica, replica.moment

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        replica = self._replica
        try:
            replica.depth -= 1
            if replica.depth == 0 and replica.link is not None:
                self._ledger.finish(replica, error)
        finally:
            replica.lock.release()


class SqlLedger:
    """Keeps the sessions of several processes in a SQLite file or a PostgreSQL database.

    The ledger holds headers. Filter values, handles and the ids of calls stand in it as digests under `key`, and ids
    do not stand in it at all; records are kept by its `store`. The database's clock counts. While the database cannot
    be reached, or refuses, writes are refused (`GUARD_FAILED`), and reads raise `LedgerUnavailable`.

    An engine that is handed in logs as its owner set it up: at debug level SQLAlchemy logs rows.

    Args of the constructor:
        database: the address of the database (`sqlite:////var/lib/app/ledger.db`,
            `postgresql+psycopg://user@host/name`), or an engine of SQLAlchemy.
        key: at least 16 secret bytes, the same in every process; a ledger that was made with one is not opened with
            another.
        max_sessions: how many sessions are kept; the one used longest ago goes first, and refuses from then on.
        max_age_s: how long a session is kept after its last use, in seconds.
        max_events: how many events a session may have; one that outgrows it is over, and refuses from then on.
        shared: whether several principals use it, so that a session must name its own.
        timeout_s: how long a statement may run or wait for another process, in seconds.
        max_records: how many records the store keeps over all sessions.
        max_results: how many results the store keeps over all sessions.
        max_bytes: how many bytes of results the store keeps over all sessions.
        max_tickets: how many tickets the desk keeps over all sessions.
        now: tells the time instead of the database, for tests.

    Raises:
        InvalidInput: an argument breaks its rule, the schema is newer than this version knows, or the key is another.
        LedgerUnavailable: the database cannot be reached.
    """

    def __init__(
        self,
        database: str | sa.URL | sa.Engine,
        *,
        key: bytes,
        max_sessions: int = 10_000,
        max_age_s: float = 86_400.0,
        max_events: int = 100_000,
        shared: bool = True,
        timeout_s: float = 5.0,
        max_records: int = 10_000_000,
        max_results: int = 100_000,
        max_bytes: int = 4 << 30,
        max_tickets: int = 100_000,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
            raise InvalidInput(field="key", rule=f"must be at least {_SHORTEST_KEY} bytes")
        for name, value in (("max_sessions", max_sessions), ("max_events", max_events)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInput(field=name, rule="must be at least 1")
        for name, seconds in (("max_age_s", max_age_s), ("timeout_s", timeout_s)):
            if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < 1e9:
                raise InvalidInput(field=name, rule="must be a number of seconds above 0")
        self._key = key
        self._database = Database(database, timeout_s=timeout_s, clock=now)
        self._max_sessions = max_sessions
        self._max_age_us = int(max_age_s * 1_000_000)
        self._max_events = max_events
        self._shared = shared
        self._replicas: OrderedDict[SessionKey, Replica] = OrderedDict()
        self._lock = threading.Lock()
        self.store = SqlStore(
            self._database, self._owner_of, max_records=max_records, max_results=max_results, max_bytes=max_bytes,
            max_age_s=max_age_s,
        )  # fmt: skip
        self.desk = SqlDesk(self._database, self._owner_of, key=self._derived("desk"), max_tickets=max_tickets)
        try:
            with self._database.transaction() as link:
                migrate(link, key_check=self._derived("check").hex())
        except BaseException:
            self._database.close()
            raise

    @property
    def shared(self) -> bool:
        """Whether several principals use it, so that a session must name its own."""
        return self._shared

    @property
    def secret(self) -> bytes:
        """The key of the digests by which a decision is bound to a write; the same in every process."""
        return self._derived("decisions")

    def __repr__(self) -> str:
        return f"<SqlLedger in {self._database.dialect}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a ledger cannot be pickled: it holds a key; make another one of the same database")

    def close(self) -> None:
        """Closes the idle connections to the database; one that is needed again is opened again."""
        self._database.close()

    def open(self, key: SessionKey, *, now: datetime) -> Journal:
        """Returns this process's replica of a session; that of an evicted session is not alive.

        While the database is away it is returned all the same, and every turn of it fails until the database is back.
        """
        mask = Mask(self._derived(f"mask:{key.digest}"))
        made = Replica(key, now, owner=self._owner_of(key.digest), mask=mask, store=self.store)
        with self._lock:
            known = self._replicas.get(key)
        try:
            with self._database.transaction() as link:
                self._attach(link, made)
        except LedgerUnavailable as error:
            _log.error("a session was opened without its ledger: %s", error)
            return made if known is None else known
        with self._lock:
            known = self._replicas.get(key)
            if known is not None and known.alive and known.row_id == made.row_id:
                self._replicas.move_to_end(key)
                return known
            if made.alive:
                self._replicas[key] = made
                while len(self._replicas) > self._max_sessions:
                    self._replicas.popitem(last=False)
        return made

    def expire(self, journal: Journal, *, now: datetime) -> bool:
        """Returns whether the session of this journal is over, in whichever process that was noticed."""
        with self.turn(journal, now=now):
            return not journal.alive

    def turn(self, journal: Journal, *, now: datetime) -> SqlTurn:
        """Holds a session for a block; see `SqlTurn`. The moment that it yields is the database's."""
        if not isinstance(journal, Replica):
            raise InvalidInput(field="journal", rule="must be one that this ledger opened")
        return SqlTurn(journal, self, now)

    def erase(self, key: SessionKey) -> None:
        """Forgets a session, its records and its tickets, in all processes; opening it again starts anew."""
        owner = self._owner_of(key.digest)
        with self._database.transaction() as link:
            found = self._row(link, owner)
            if found is not None:
                self._remove(link, [found.id])
            for table in (results, tickets):
                link.execute(table.delete().where(table.c.owner == owner))
        with self._lock:
            known = self._replicas.pop(key, None)
        if known is not None:
            known.forget()

    def begin(self, replica: Replica) -> None:
        """Begins a turn: locks the row, and takes in what other processes wrote down and what is due."""
        link = self._database.begin()
        try:
            if replica.row_id is None:
                self._attach(link, replica)
            row = self._locked(link, replica)
            if row is None:
                link.end(commit=True)
                replica.forget()
                return
            replica.moment, replica.used_us, replica.link = from_us(max(link.now_us, row.used_us)), row.used_us, link
            self._database.join(link)
            self._catch_up(link, replica, row.head)
            replica.base = len(replica.unsaved)
            link.touched = False
        except BaseException:
            self._give_up(replica, link)
            raise

    def _catch_up(self, link: Link, replica: Replica, head: int) -> None:
        if head < replica.seen:  # the database was put back to an earlier state
            replica.start_over()
        if head > replica.seen:
            for event in link.rows(_LATER, {"row_id": replica.row_id, "seen": replica.seen}):
                replica.replay(event.body)
            replica.seen = head
        replica.dropped.extend(self.store.take_dropped(link, replica.owner))
        replica.catch_up(replica.moment)
        replica.last_used = replica.moment

    def finish(self, replica: Replica, error: BaseException | None) -> None:
        """Ends a turn: writes down what was appended, or takes all of it back after an error of the block."""
        link = replica.link
        if link is None:
            return
        if error is not None and (link.touched or len(replica.unsaved) > replica.base):
            self._give_up(replica, link)
            return
        try:
            over = self._save(link, replica)
            replica.link = None
            self._database.join(None)
            link.end(commit=True)
        except BaseException:
            self._give_up(replica, link)
            if error is None:
                raise
            return
        replica.seen += len(replica.unsaved)
        replica.unsaved.clear()
        if over:
            replica.forget()

    def _save(self, link: Link, replica: Replica) -> bool:
        """Writes the events of a turn down; returns whether the session has outgrown its bound."""
        fresh, now_us, head = replica.unsaved, link.now_us, replica.seen + len(replica.unsaved)
        if not fresh and now_us - replica.used_us < _A_SECOND_US:
            return False
        if fresh:
            rows = [
                {"session_id": replica.row_id, "seq": replica.seen + n, "body": body} for n, body in enumerate(fresh, 1)
            ]
            link.execute(_APPENDED, rows)
        used = max(now_us, replica.used_us)
        link.execute(_USED, {"row_id": replica.row_id, "to_head": head, "at_us": used})
        if head <= self._max_events:
            return False
        self._evict(link, [(replica.row_id, replica.owner)])
        return True

    def _give_up(self, replica: Replica, link: Link) -> None:
        """Takes back what a turn did. The replica starts over, since it may have taken some of it in."""
        replica.link = None
        self._database.join(None)
        with suppress(LedgerUnavailable):
            link.end(commit=False)
        replica.unsaved.clear()
        replica.start_over()

    def _attach(self, link: Link, replica: Replica) -> None:
        """Finds the session's row, or makes it and room for it; the replica of an evicted session is not alive."""
        row = self._row(link, replica.owner)
        if row is not None and row.used_us < link.now_us - self._max_age_us:
            self._remove(link, [row.id], [replica.owner])
            row = None
        if row is None:
            fresh = {"owner": replica.owner, "evicted": 0, "head": 0, "used_us": link.now_us}
            link.execute(_insert(link.dialect)(sessions).values(fresh).on_conflict_do_nothing())
            self._sweep(link, replica.owner)
            row = self._row(link, replica.owner)
        elif not row.evicted:
            link.execute(sessions.update().where(sessions.c.id == row.id).values(used_us=max(link.now_us, row.used_us)))
        if row is None or row.evicted:
            replica.forget()
        else:
            replica.row_id = row.id

    @staticmethod
    def _row(link: Link, owner: str) -> Any:
        return link.first(_OWNED, {"owner": owner})

    def _locked(self, link: Link, replica: Replica) -> Any:
        """Locks the session's row; nothing where the session is over."""
        if replica.row_id is None:
            return None
        row = link.first(_LOCKED, {"row_id": replica.row_id})
        if row is None or row.evicted:
            return None
        if row.used_us < link.now_us - self._max_age_us:
            self._remove(link, [row.id], [replica.owner])
            return None
        return row

    def _sweep(self, link: Link, newest: str) -> None:
        """Forgets the sessions whose time is over, and evicts those used longest ago where there are too many."""
        c = sessions.c
        old = sa.select(c.id, c.owner).where(c.used_us < link.now_us - self._max_age_us, c.owner != newest)
        found = link.rows(old.limit(_AT_ONCE).with_for_update(skip_locked=True))
        self._remove(link, [r.id for r in found], [r.owner for r in found])
        for evicted, bound in ((0, self._max_sessions), (1, _REMEMBERED * self._max_sessions)):
            count = link.rows(sa.select(sa.func.count()).where(c.evicted == evicted))[0][0]
            if count <= bound:
                continue
            oldest = sa.select(c.id, c.owner).where(c.evicted == evicted, c.owner != newest).order_by(c.used_us, c.id)
            found = link.rows(oldest.limit(min(count - bound, _AT_ONCE)).with_for_update(skip_locked=True))
            if evicted:
                self._remove(link, [r.id for r in found])
            else:
                self._evict(link, [(r.id, r.owner) for r in found])

    def _evict(self, link: Link, rows: list[tuple[Any, str]]) -> None:
        """Forgets what sessions have read, and remembers that they had read something."""
        ids = [row_id for row_id, _ in rows]
        link.execute(sessions.update().where(sessions.c.id.in_(ids)).values(evicted=1))
        self._clear(link, ids, [owner for _, owner in rows])

    def _remove(self, link: Link, ids: list[int], owners: list[str] | None = None) -> None:
        if ids:
            link.execute(sessions.delete().where(sessions.c.id.in_(ids)))
            self._clear(link, ids, owners or [])

    @staticmethod
    def _clear(link: Link, ids: list[int], owners: list[str]) -> None:
        link.execute(events.delete().where(events.c.session_id.in_(ids)))
        for table in (results, tickets):
            link.execute(table.delete().where(table.c.owner.in_(owners)))

    def _owner_of(self, digest: str) -> str:
        """Returns the name of a session in the tables; the digest of its key can be made from known names."""
        return self._derived(f"owner:{digest}")[:16].hex()

    def _derived(self, purpose: str) -> bytes:
        return hmac.digest(self._key, f"unabridged/1:{purpose}".encode(), "sha256")


def _insert(dialect: str) -> Any:
    from sqlalchemy.dialects import postgresql, sqlite

    return postgresql.insert if dialect == "postgresql" else sqlite.insert
