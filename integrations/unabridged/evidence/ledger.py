"""The ledger: which sessions there are, and what was read in each. Append-only, headers only."""

from __future__ import annotations

import hashlib
import heapq
import secrets
import threading
from collections import OrderedDict, deque
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, assert_never

from unabridged.contract import InvalidInput

from .header import RecordedRead, expired
from .scope import FilterKey
from .store import MemoryStore, ResultStore
from .tickets import MemoryDesk, TicketDesk
from .view import Evidence

Kind = Literal["session", "thread", "run"]


@dataclass(frozen=True, slots=True)
class SessionKey:
    """What tells sessions apart. An explicit `session("x")` and a thread named `x` are two."""

    thread: str
    principal: str | None = None
    namespace: str | None = None
    kind: Kind = "session"

    @property
    def digest(self) -> str:
        """A stable name of the key that shows none of its parts."""
        parts = repr((self.kind, self.namespace, self.principal, self.thread)).encode()
        return hashlib.blake2b(parts, digest_size=16).hexdigest()

    def __repr__(self) -> str:
        return f"SessionKey({self.kind}, {self.digest[:8]})"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A read was recorded, or is in flight."""

    read: RecordedRead
    declared: bool = False
    """Whether it bears the name that its tool's author gave it."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A read in flight brought nothing: it failed, was cancelled, or ran out of time."""

    read: RecordedRead


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A read in flight was taken back."""

    read_id: str
    call_id: str | None = None
    """The call that it was asked for by, when that was taken back, too."""


@dataclass(frozen=True, slots=True)
class Shown:
    """How much of a read was shown, and whether code counted over all of it."""

    read_id: str
    shown: int | None
    counted: bool


@dataclass(frozen=True, slots=True)
class Dropped:
    """The records of a read are kept no more, and so its ids are not either."""

    read_id: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call is known here, whatever evidence it left."""

    call_id: str


@dataclass(frozen=True, slots=True)
class Handed:
    """A handle was given out that leads to the records of a read from `start` on."""

    handle: str = field(repr=False)
    read_id: str
    start: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """A read of this scope was started again after it had failed."""

    resource: str
    filters: FilterKey = field(repr=False)


@dataclass(frozen=True, slots=True)
class Noted:
    """Something was noted for good: that a warning was given, or what the tool boundary must know of a read anywhere.

    The name and the note hold no value: names of fields, numbers, true or false.
    """

    name: str
    note: Any = True


Event = Recorded | Settled | Withdrawn | Shown | Dropped | Called | Handed | Repeated | Noted


@dataclass(slots=True)
class Journal:
    """The state of one session: its evidence, and what goes with it (handles, attempts, calls).

    Every change that another process must see goes through `append`, under `lock`. What only this process can hold
    stands in `handles` (the way on at a source) and in `notes`.
    """

    key: SessionKey
    last_used: datetime
    evidence: Evidence = field(default_factory=Evidence)
    lock: threading.RLock = field(default_factory=threading.RLock)
    alive: bool = True
    """Whether the evidence is whole: not evicted, not erased."""
    handles: dict[str, Any] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    repeats: dict[tuple[str, FilterKey], int] = field(default_factory=dict)
    deadlines: list[tuple[datetime, str]] = field(default_factory=list)
    dropped: deque[str] = field(default_factory=deque)
    """Read ids whose records the store has dropped, not yet noted; other sessions' threads may append."""
    told: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    """What the tool boundary keeps beside a read, by read id: how its records may be shown, the handle of the whole."""

    def append(self, event: Event) -> RecordedRead | None:
        """Writes an event down and takes it into the evidence; returns the header as it now stands."""
        match event:
            case Recorded(read, declared):
                return self._add(read.masked(self.evidence.mask), declared)
            case Settled(read):
                return self.evidence.settle_pending(read.masked(self.evidence.mask))
            case Withdrawn(read_id, call_id):
                self.evidence.withdraw(read_id)
                if call_id is not None:
                    self.calls.discard(self.name(call_id))
            case Shown(read_id, shown, counted):
                self.evidence.update(read_id, shown=shown, counted=counted)
                return self.evidence.find(read_id)
            case Dropped(read_id):
                self.evidence.drop(read_id)
            case Called(call_id):
                self.calls.add(self.name(call_id))
            case Handed(handle, read_id, start):
                self.handles[self.name(handle)] = (read_id, start)
            case Repeated(resource, filters):
                scope = (resource, self.evidence.scope(filters))
                self.repeats[scope] = self.repeats.get(scope, 0) + 1
            case Noted(name, note):
                self.told[self.name(name)] = note
            case _:
                assert_never(event)
        return None

    def _add(self, read: RecordedRead, declared: bool) -> RecordedRead:
        if read.call_id is not None:
            self.calls.add(read.call_id)
        if read.is_pending and read.deadline is not None:
            heapq.heappush(self.deadlines, (read.deadline, read.id))
        return self.evidence.add(read, declared=declared)

    def route(self, handle: object) -> Any:
        """Returns what a handle leads to; nothing for one that is not known."""
        if not isinstance(handle, str):
            return None
        found = self.handles.get(handle)
        return self.handles.get(self.name(handle)) if found is None else found

    def name(self, text: str) -> str:
        """Returns the form in which a handle, a call or a mark is known here."""
        mask = self.evidence.mask
        return text if mask is None else mask.key(text)

    def catch_up(self, now: datetime) -> None:
        """Writes down what happened meanwhile: records that the store dropped, and deadlines that passed."""
        while self.dropped:
            self.append(Dropped(self.dropped.popleft()))
        while self.deadlines and self.deadlines[0][0] <= now:
            _, read_id = heapq.heappop(self.deadlines)
            read = self.evidence.find(read_id)
            if read is not None and read.is_pending:
                self.append(Settled(expired(read)))

    def forget(self) -> None:
        """Forgets everything; what is asked of the evidence from now on is refused."""
        self.alive = False
        self.evidence = Evidence(mask=self.evidence.mask)
        for held in (
            self.handles, self.calls, self.repeats, self.deadlines, self.dropped, self.told, self.notes,
        ):  # fmt: skip
            held.clear()

    def __repr__(self) -> str:
        return f"<Journal {self.key!r} {'alive' if self.alive else 'forgotten'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a journal cannot be pickled: it holds the state of a running session")


class Ledger(Protocol):
    """Keeps the journals of sessions."""

    @property
    def shared(self) -> bool:
        """Whether several principals use it, so that a session must name its own."""
        ...

    @property
    def store(self) -> ResultStore:
        """Where the records of its sessions are kept."""
        ...

    @property
    def desk(self) -> TicketDesk:
        """Where the tickets of its sessions are kept."""
        ...

    @property
    def secret(self) -> bytes:
        """The key of the digests by which a decision is bound to a write; the same for all who use the ledger."""
        ...

    def open(self, key: SessionKey, *, now: datetime) -> Journal:
        """Returns the journal of a session, made on first use; that of an evicted session is not alive."""
        ...

    def expire(self, journal: Journal, *, now: datetime) -> bool:
        """Returns whether the session of this journal is over, and forgets it if so."""
        ...

    def turn(self, journal: Journal, *, now: datetime) -> AbstractContextManager[tuple[Journal, datetime]]:
        """Holds a journal for a block, up to date; yields it with the moment that counts.

        Raises:
            LedgerUnavailable: what is kept cannot be reached, or refused to be changed.
        """
        ...

    def erase(self, key: SessionKey) -> None:
        """Forgets a session; opening it again starts anew."""
        ...


class Turn:
    """A turn of a journal that only this process keeps: holds its lock for a block, with what happened meanwhile noted.

    That is: records that the store dropped, deadlines that passed. A class, since a generator in its place would cost
    as much as the decision that is made in the block.
    """

    __slots__ = ("_journal", "_ledger", "_now")

    def __init__(self, journal: Journal, ledger: Ledger, now: datetime) -> None:
        self._journal = journal
        self._ledger = ledger
        self._now = now

    def __enter__(self) -> tuple[Journal, datetime]:
        journal, now = self._journal, self._now
        journal.lock.acquire()
        try:
            if not self._ledger.expire(journal, now=now):
                now = journal.last_used = max(now, journal.last_used)
            journal.catch_up(now)
        except BaseException:
            journal.lock.release()
            raise
        return journal, now

    def __exit__(self, *_: object) -> None:
        self._journal.lock.release()


class MemoryLedger:
    """Keeps journals in the memory of this process.

    A session that was pushed out before its time refuses for the rest of it: what it read is not known any more.

    Args of the constructor:
        max_sessions: how many sessions are kept; the one used longest ago goes first.
        max_age_s: how long a session is kept after its last use, in seconds.
        shared: whether several principals use it.
        store: where the records are kept; memory when not given.
        desk: where the tickets are kept; memory when not given.
    """

    def __init__(
        self,
        *,
        max_sessions: int = 1_000,
        max_age_s: float = 86_400.0,
        shared: bool = False,
        store: ResultStore | None = None,
        desk: TicketDesk | None = None,
    ) -> None:
        if max_sessions < 1:
            raise InvalidInput(field="max_sessions", rule="must be at least 1")
        self.store: ResultStore = MemoryStore() if store is None else store
        self.desk: TicketDesk = MemoryDesk() if desk is None else desk
        self.secret: bytes = secrets.token_bytes(32)
        self._max_sessions = max_sessions
        self._max_age = timedelta(seconds=max_age_s)
        self._shared = shared
        self._journals: dict[SessionKey, Journal] = {}
        self._evicted: OrderedDict[str, datetime] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def shared(self) -> bool:
        """Whether several principals use it, so that a session must name its own."""
        return self._shared

    def __len__(self) -> int:
        return len(self._journals)

    def __repr__(self) -> str:
        return f"<MemoryLedger {len(self)} sessions>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a memory ledger cannot be pickled")

    def open(self, key: SessionKey, *, now: datetime) -> Journal:
        """Returns the journal of a session, made on first use; that of an evicted session is not alive."""
        with self._lock:
            self._sweep(now)
            journal = self._journals.get(key)
            if journal is not None:
                journal.last_used = max(journal.last_used, now)
                return journal
            journal = Journal(key, now, alive=key.digest not in self._evicted)
            if journal.alive:
                self._journals[key] = journal
                self._make_room(journal)
            return journal

    def expire(self, journal: Journal, *, now: datetime) -> bool:
        """Returns whether the session of this journal is over, and forgets it if so."""
        if journal.alive and now - journal.last_used > self._max_age:
            with self._lock:
                if self._journals.get(journal.key) is journal:
                    del self._journals[journal.key]
                self._forget(journal)
        return not journal.alive

    def turn(self, journal: Journal, *, now: datetime) -> Turn:
        """Holds the lock of a journal for a block, with what happened meanwhile noted."""
        return Turn(journal, self, now)

    def erase(self, key: SessionKey) -> None:
        """Forgets a session; opening it again starts anew."""
        with self._lock:
            self._evicted.pop(key.digest, None)
            journal = self._journals.pop(key, None)
            if journal is not None:
                self._forget(journal)

    def _forget(self, journal: Journal) -> None:
        journal.forget()
        self.store.erase(journal.key.digest)
        self.desk.erase(journal.key.digest)

    def _sweep(self, now: datetime) -> None:
        for key in [k for k, j in self._journals.items() if now - j.last_used > self._max_age]:
            self._forget(self._journals.pop(key))
        while self._evicted and next(iter(self._evicted.values())) <= now:
            self._evicted.popitem(last=False)

    def _make_room(self, newest: Journal) -> None:
        while len(self._journals) > self._max_sessions:
            oldest = min((j for j in self._journals.values() if j is not newest), key=lambda j: j.last_used)
            del self._journals[oldest.key]
            self._evicted[oldest.key.digest] = oldest.last_used + self._max_age
            if len(self._evicted) > 100 * self._max_sessions:
                self._evicted.popitem(last=False)
            self._forget(oldest)
