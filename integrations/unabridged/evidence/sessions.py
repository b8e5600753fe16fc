"""The session: the unit of evidence. What was read before a write or an answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from unabridged import _ambient, _trail
from unabridged.contract import (
    Intent,
    InvalidInput,
    LedgerUnavailable,
    ReadResult,
    RepeatRead,
    Selection,
    resume_of,
)

from .guard import Reach, judge_write, reach_of
from .handling import Handling
from .header import Asked, AskedFor, RecordedRead, asked_of, deadline_at, failed, header_of, utc_now
from .intent import OnFail, Verdict, WriteIntent
from .ledger import (
    Called,
    Journal,
    Ledger,
    Noted,
    Recorded,
    SessionKey,
    Settled,
    Withdrawn,
)
from .pending import MAX_REPEATS, Pending, SourceRoute
from .store import ResultStore
from .ticketing import SessionTickets
from .view import Evidence

if TYPE_CHECKING:
    from unabridged.answers import Caveat, Claim, FinalAnswer
    from unabridged.audit import AuditSink

_log = logging.getLogger("unabridged.evidence")
DEADLINE_S: Final = 120.0
"""How long a read may be in flight, unless it says otherwise."""
_Judged = TypeVar("_Judged")
_entered: Final[ContextVar[tuple[Token[_ambient.Recorder | None], ...]]] = ContextVar("unabridged_entered", default=())
"""The tokens of the `with` blocks around the running code, the innermost last."""


class Session(Handling):
    """What was read under one key, and the judgement of writes and answers by it.

    Use it as a context manager, or `open()` and `close()` it where a block does not reach, as across the cells of a
    notebook. Two sessions of one key share their evidence. Safe for threads; a thread that copied the context of one
    in scope joins it.

    Args of the constructor: see `session`.
    """

    def __init__(
        self,
        key: SessionKey,
        *,
        ledger: Ledger,
        store: ResultStore | None = None,
        audit: AuditSink | None = None,
        approve: Callable[[Any], Any] | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.key = key
        self.ledger = ledger
        self.store: ResultStore = ledger.store if store is None else store
        self.audit = audit
        self.approve = approve
        self.closed = False
        self._now = now
        self._journal = self.ledger.open(key, now=now())

    def __repr__(self) -> str:
        return f"<Session {self.key!r} {len(self._journal.evidence)} reads>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a session cannot be pickled: it holds evidence; open one of the same key instead")

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), _ambient.ambient.set(self)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        *outer, token = _entered.get()
        _entered.set(tuple(outer))
        _ambient.ambient.reset(token)

    def open(self) -> Self:
        """Puts the session in scope until `close`, in this thread and in what copies its context."""
        self.closed = False
        _ambient.enter(self)
        return self

    def close(self) -> None:
        """Takes the session out of scope. Its evidence stays: opening a session of its key goes on with it."""
        self.closed = True
        _ambient.leave(self)

    @property
    def alive(self) -> bool:
        """Whether the evidence is whole: the session was neither evicted nor erased."""
        return not self.ledger.expire(self._journal, now=self._now())

    @property
    def evidence(self) -> Evidence:
        """The indexed view of the reads, up to date; it grows as the session goes on."""
        with self._turn() as (journal, _):
            return journal.evidence

    @property
    def reads(self) -> Evidence:
        """The headers of all reads in their order, also of those that do not stand any more."""
        return self.evidence

    def _turn(self) -> AbstractContextManager[tuple[Journal, datetime]]:
        return self.ledger.turn(self._journal, now=self._now())

    def record(
        self,
        result: ReadResult,
        /,
        *,
        resource: str | None = None,
        key: str | None = None,
        derived_from: Iterable[str] = (),
        call_id: str | None = None,
    ) -> RecordedRead:
        """Records a read. Idempotent by read id; a declared name given later holds.

        Args:
            result: the result, as read and before presentation. It is kept by reference.
            resource: the declared name, where the result may bear another.
            key: for a lookup, the filter that holds its key.
            derived_from: ids of reads that it was made from.
            call_id: the id of the tool call that it answers.
        """
        header = header_of(result, resource=resource, key=key, derived_from=derived_from, call_id=call_id or None)
        with self._turn() as (journal, now):
            return self._record(journal, Recorded(header, declared=resource is not None), result, now)

    def _record(self, journal: Journal, event: Recorded, result: ReadResult, now: datetime) -> RecordedRead:
        header = event.read
        first = journal.evidence.find(header.id) is None
        if first and not (
            journal.alive and self.store.put(self.key.digest, result, now=now, on_drop=journal.dropped.append)
        ):
            header.held.drop()
        read = journal.append(event) or header
        if not first:
            return read
        self._keep_handle(journal, read, result)
        _trail.read(result)
        return read

    def _keep_handle(self, journal: Journal, read: RecordedRead, result: ReadResult) -> None:
        handle, resume = getattr(result.continuation, "handle", None), resume_of(result)
        if handle is None or resume is None:
            return
        left = None
        if isinstance(result.continuation, RepeatRead):
            spent = journal.repeats.get((read.resource, read.filter_key), 0)
            left = min(MAX_REPEATS - spent, result.continuation.attempts_left)
        journal.handles[handle] = SourceRoute(read, resume, left)

    def begin(
        self,
        resource: str,
        filters: Mapping[str, Any] | None = None,
        *,
        deadline_s: float = DEADLINE_S,
        intent: Intent = "inventory",
        key: str | None = None,
        call_id: str | None = None,
    ) -> Pending:
        """Notes that a read is in flight. It expires with its deadline into unavailable.

        Args:
            resource: the declared name.
            filters: what is asked for.
            deadline_s: seconds until it expires.
            intent: what is asked for: an inventory, a sample or a lookup.
            key: for a lookup, the filter that holds its key.
            call_id: the id of the tool call.
        """
        with self._turn() as (journal, now):
            until = deadline_at(now, deadline_s)
            read = Asked(resource, filters or {}, intent, key, call_id).pending(started_at=now, deadline=until)
            journal.append(Recorded(read))
            return Pending(read.id, resource, key, call_id, now, until)

    def finish(
        self,
        pending: Pending | None,
        result: ReadResult,
        *,
        resource: str | None = None,
        key: str | None = None,
        derived_from: Iterable[str] = (),
    ) -> RecordedRead:
        """Records what a read in flight brought, under its declared name; also when its deadline had passed."""
        if pending is None:
            return self.record(result, resource=resource, key=key, derived_from=derived_from)
        header = header_of(
            result,
            resource=resource or pending.resource,
            key=key or pending.key,
            derived_from=derived_from,
            call_id=pending.call_id,
        )
        with self._turn() as (journal, now):
            journal.append(Withdrawn(pending.id))
            return self._record(journal, Recorded(header, declared=True), result, now)

    def fail(self, pending: Pending, code: str = "SOURCE_UNAVAILABLE", *, detail: str | None = None) -> RecordedRead:
        """Records a read in flight as unavailable: it failed, or was cancelled (`detail="cancelled"`)."""
        with self._turn() as (journal, now):
            read = journal.evidence.find(pending.id)
            if read is None:
                raise InvalidInput(field="pending", rule="must be a read in flight of this session")
            return journal.append(Settled(failed(read, code=code, detail=detail, now=now))) or read

    def cancel(self, pending: Pending) -> RecordedRead:
        """Records a read that was cancelled or abandoned: unavailable."""
        return self.fail(pending, detail="cancelled")

    def withdraw(self, pending: Pending) -> None:
        """Takes a read in flight back: it was interrupted and will be asked for again."""
        with self._turn() as (journal, _):
            journal.append(Withdrawn(pending.id, pending.call_id))

    @property
    def notes(self) -> dict[str, Any]:
        """What the tool boundary keeps beside a read, by read id; shared by all sessions of the key in this process."""
        return self._journal.notes

    def keep_note(self, name: str, note: Any) -> None:
        """Notes something that must be known of a read in every process of the session.

        Args:
            name: what it is found by, such as the id of the read.
            note: JSON that holds no value of a record or a filter: names of fields, numbers, true or false.
        """
        with self._turn() as (journal, _):
            if journal.told.get(journal.name(name)) != note:
                journal.append(Noted(name, note))

    def note_of(self, name: str) -> Any:
        """Returns what was noted under a name, in whichever process; nothing where nothing was."""
        with self._turn() as (journal, _):
            return journal.told.get(journal.name(name))

    @cached_property
    def tickets(self) -> SessionTickets:
        """What makes out and takes back the tickets of this session."""
        return SessionTickets(self)

    def select(self, result: ReadResult, ids: Iterable[Any], *, action: str, ttl_s: float = 300.0) -> Selection:
        """Returns a selection of ids of a complete read; see `ReadResult.select`."""
        return self.tickets.select(result, ids, action=action, ttl_s=ttl_s)

    def result(self, read_id: str) -> ReadResult | None:
        """Returns the stored result of a read, or nothing once the store has dropped it."""
        return self.store.get(self.key.digest, read_id, now=self._now())

    def knows_call(self, call_id: str) -> bool:
        """Tells whether a tool call was recorded here."""
        with self._turn() as (journal, _):
            return journal.name(call_id) in journal.calls

    def note_call(self, call_id: str) -> None:
        """Notes a tool call that leaves no evidence, so that its result in the history is not foreign.

        Where that cannot be written down the result counts as foreign, and holds back writes.
        """
        try:
            with self._turn() as (journal, _):
                if journal.name(call_id) not in journal.calls:
                    journal.append(Called(call_id))
        except LedgerUnavailable as error:
            _log.error("a call was not noted: %s", error)

    def first_time(self, mark: Hashable) -> bool:
        """Tells whether something is noted for the first time in this session, such as a warning past its expiry."""
        name = f"first:{mark!r}"
        with self._turn() as (journal, _):
            known = journal.name(name) in journal.told
            if not known:
                journal.append(Noted(name))
            return not known

    def import_history(self, entries: Iterable[Asked]) -> int:
        """Records tool results of the history that are not known here; returns how many.

        Such a result can block, never allow or clear: it counts as unavailable and older than everything, with the
        filters of its call. Reading again clears it. Idempotent by call id.
        """
        count = 0
        with self._turn() as (journal, _):
            for entry in entries:
                if entry.call_id is None or journal.name(entry.call_id) not in journal.calls:
                    journal.append(Recorded(entry.from_history()))
                    count += 1
        return count

    def judge_write(
        self,
        intent: WriteIntent,
        *,
        same_turn: Sequence[AskedFor] = (),
        on_fail: OnFail = "refuse",
        has_approver: bool = False,
    ) -> Verdict:
        """Returns whether a write may run. A guard that fails refuses: `GUARD_FAILED`.

        Args:
            intent: the write.
            same_turn: the reads asked for in the same turn of the model.
            on_fail: what becomes of a write that may not run.
            has_approver: whether there is a person to review a destructive write.
        """
        try:
            asked = [asked_of(a) for a in same_turn]
            with self._turn() as (journal, now):
                evidence = journal.evidence
                if not journal.alive:  # looked at after the evidence was taken: forgetting goes the other way round
                    return Verdict("refuse", ("GUARD_FAILED",), options=("abandon",))
                return judge_write(
                    intent, evidence, now=now, same_turn=asked, on_fail=on_fail, has_approver=has_approver
                )
        except Exception as error:  # noqa: BLE001 - the outermost boundary of the guard: a guard that fails refuses
            _log.error("the guard failed with %s", type(error).__name__)
            return Verdict("refuse", ("GUARD_FAILED",), options=("abandon",))

    def reach(self, intent: WriteIntent) -> Reach:
        """Returns what a write is bound to, whatever speaks against it."""
        with self._turn() as (journal, now):
            return reach_of(intent, journal.evidence, now=now)

    def judge_answer(
        self, text: str, claims: Sequence[Claim | Mapping[str, Any]] = (), language: str | None = None
    ) -> FinalAnswer:
        """Returns the answer with its caveats and its outcome; its coverage comes from the ledger."""
        from unabridged.answers import judge_answer

        return self._on_what_is_known(lambda known: judge_answer(text, known, claims=claims, language=language))

    def caveats(self, *, language: str | None = None) -> tuple[Caveat, ...]:
        """Returns a caveat for every read that is not complete."""
        from unabridged.answers import caveats

        return self._on_what_is_known(lambda known: caveats(known, language=language))

    def _on_what_is_known(self, judge: Callable[[Evidence], _Judged]) -> _Judged:
        """Judges the evidence; of a session that was evicted or erased, or cannot be looked up, nothing is known."""
        try:
            with self._turn() as (journal, _):
                evidence = journal.evidence
                if journal.alive:
                    return judge(evidence)
        except LedgerUnavailable as error:
            _log.error("what was read is not known: %s", error)
        return judge(Evidence([Asked("session").from_history()]))

    def erase(self) -> None:
        """Forgets headers, records and handles. Writes are refused until a session of the key is opened anew."""
        self.store.erase(self.key.digest)
        self.ledger.desk.erase(self.key.digest)
        self.ledger.erase(self.key)
        self._journal.forget()
