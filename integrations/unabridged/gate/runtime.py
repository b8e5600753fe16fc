"""One call of a tool, from the guard's side: enter before the body, leave after it.

The rooms translate: they find the session and the turn, run the body, and give the reply the form their framework
wants. Every decision is made here, so that sync and async and both frameworks share it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, assert_never

from unabridged import _ambient
from unabridged._ambient import Boxed
from unabridged.actions.approvals import Approver
from unabridged.audit import AuditSink
from unabridged.contract import (
    InvalidInput,
    ReadHeader,
    ReadResult,
    Reason,
    Scope,
    build_result,
    new_read_id,
    printable_name,
)
from unabridged.evidence import DEADLINE_S, Asked, Session, Verdict

from . import followup
from .arguments import targets_of
from .declare import MAX_DEADLINE_S, FollowUpSpec, NeutralSpec, ReadSpec, Spec, UndeclaredSpec, WriteSpec
from .presenting import MAX_BYTES, Reply, read_reply
from .recording import Record
from .refusing import UNSEEN, guard_failed, invalid_request, refusal, refused_without_session, tool_failed
from .values import Call, kind_of, result_of, unavailable
from .writing import Write

_log = logging.getLogger("unabridged.gate")


@dataclass(frozen=True, slots=True)
class Turn:
    """What the gate must know of the model's turn.

    Attributes:
        siblings: the other calls of the same turn, as pairs of tool name and arguments.
        spec_of: the declaration of a tool by its name; an unknown name is an undeclared tool.
        has: the names of the tools that the agent has, when they are known.
        approve: who decides on a card, where the session does not say.
        audit: where events go, where the session does not say.
    """

    siblings: Sequence[tuple[str, Mapping[str, Any]]] = field(default=(), repr=False)
    spec_of: Callable[[str], Spec] | None = None
    has: frozenset[str] | None = None
    approve: Approver | None = None
    audit: AuditSink | None = None


ALONE = Turn()
NO_CHANGES: Final[Mapping[str, Any]] = MappingProxyType({})
_STRICTEST: Final = {is_destructive: WriteSpec(destructive=is_destructive) for is_destructive in (False, True)}
"""How a call of an undeclared tool is judged, by whether it may destroy something."""
_UNCHANGED = nullcontext()
_ANY_TARGET = "\0"
"""Stands for a target that is not known yet: no record has this id."""


@dataclass(slots=True)
class Entered:
    """A call that may run."""

    call: Call
    session: Session | None
    pending: Any = None
    deadline_s: float | None = None
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The arguments that the framework or the author of the tool gave, and whose values no model may see."""
    paging: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The pages and sizes that the tool takes by itself, by the names of its arguments."""
    write: Write | None = None
    """For a write, what is left to be done before its body may run."""

    @property
    def acts(self) -> bool:
        """Whether an action does the work, in the place of the body."""
        return self.write is not None and self.write.spec.action is not None

    @property
    def changes(self) -> Mapping[str, Any]:
        """The arguments that the body gets other than they were sent: targets that were narrowed."""
        return NO_CHANGES if self.write is None else self.write.changes

    def scope(self) -> AbstractContextManager[None]:
        """Puts the session in scope for the body, so that nested reads, tools and agents join it."""
        return _UNCHANGED if self.session is None else _ambient.Held(_ambient.ambient, self.session)


@dataclass(frozen=True, slots=True)
class Fault:
    """What may be known of an error: it stands for it where a log is written, so that no frame there holds its text.

    Attributes:
        kind: the name of its class.
        was_late: whether time had run out.
    """

    kind: str
    was_late: bool = False

    @classmethod
    def of(cls, error: BaseException) -> Fault:
        """Returns what may be known of an error."""
        return cls(kind_of(error), isinstance(error, TimeoutError))


@dataclass(frozen=True, slots=True)
class Gate:
    """A tool with its declaration.

    Attributes:
        name: the tool's name.
        spec: its declaration.
        max_bytes: the budget of what a model sees of a read.
    """

    name: str
    spec: Spec
    max_bytes: int = MAX_BYTES

    def enter(
        self,
        args: Mapping[str, Any],
        *,
        session: Session | None,
        turn: Turn = ALONE,
        call_id: str | None = None,
        tentative: bool = False,
    ) -> Entered | Reply:
        """Judges a call before its body. What comes back is leave to run, or the refusal.

        Leave is given on the condition that what is left to be done right before the body succeeds: see `boundary`.
        A guard that fails refuses, whatever it failed with.

        Args:
            args: the arguments.
            session: the session, or nothing.
            turn: what is known of the model's turn.
            call_id: the id of the call.
            tentative: whether the call is judged again, so that nothing is written down yet.
        """
        call = Call(tool=self.name, args=args, session=session, call_id=call_id)
        del args
        try:
            entered = self._enter(call, session, turn, None if tentative else _sink(session, turn))
            if isinstance(entered, Reply) or isinstance(self.spec, FollowUpSpec):
                self._note(session, call_id)
            return entered
        except Exception as error:  # noqa: BLE001 - the outermost boundary: a guard that fails refuses
            _log.error("the guard failed on %s with %s", printable_name(self.name), kind_of(error))
            return guard_failed(self.name)

    def refuse_arguments(
        self,
        problems: Sequence[tuple[str, str]],
        *,
        session: Session | None = None,
        call_id: str | None = None,
        turn: Turn = ALONE,
        args: Mapping[str, Any] = NO_CHANGES,
    ) -> Reply:
        """Returns the refusal of arguments that break the tool's schema: fields and rules, never values."""
        self._note(session, call_id)
        if self.spec.effect == "write":
            record = Record(_sink(session, turn), action=self.name, args=args, session=session)
            del args
            record.invalid()
        return invalid_request(self.name, problems)

    def note_refusal(
        self, reply: Reply, args: Mapping[str, Any], *, session: Session | None, turn: Turn = ALONE
    ) -> None:
        """Writes down a refusal of a call that was judged tentatively, where it was the last word."""
        codes = (reply.artifact or {}).get("unabridged", {}).get("codes", ())
        record = Record(_sink(session, turn), action=self.name, args=args, session=session)
        del args
        record.refused(Verdict("refuse", tuple(codes)))

    def is_covered(self, session: Session | None) -> bool:
        """Tells whether a call could be allowed now, whatever its targets; a tool that is not judged is covered.

        So is one whose evidence depends on its arguments: they are judged when they are known.
        """
        spec = self.spec
        if isinstance(spec, WriteSpec) and spec.independent is None and not spec.is_open:
            intent = spec.intent(self.name, None if spec.targets is None else [_ANY_TARGET])
        elif isinstance(spec, UndeclaredSpec):
            intent = spec.intent(self.name)
        else:
            return True
        return session is not None and set(session.judge_write(intent).codes) <= {"TARGET_NOT_IN_EVIDENCE"}

    def refuse_unseen(self) -> Reply:
        """Returns the refusal of a call whose turn cannot be seen: what was asked for beside it is not known."""
        return guard_failed(self.name, why=UNSEEN)

    @staticmethod
    def _note(session: Session | None, call_id: str | None) -> None:
        """Notes a call that leaves no read of its own id, so that its message is not taken for a foreign result."""
        if session is not None and call_id is not None:
            session.note_call(call_id)

    def _enter(self, call: Call, session: Session | None, turn: Turn, sink: AuditSink | None) -> Entered | Reply:
        spec = self.spec
        match spec:
            case ReadSpec():
                return self._enter_read(spec, call, session)
            case WriteSpec():
                return self._enter_write(spec, call, session, turn, sink)
            case UndeclaredSpec():
                return self._enter_write(_STRICTEST[spec.destructive], call, session, turn, sink)
            case NeutralSpec() | FollowUpSpec():
                return Entered(call, session)
            case _:
                assert_never(spec)

    def _enter_read(self, spec: ReadSpec, call: Call, session: Session | None) -> Entered | Reply:
        deadline = call.args.get("deadline_s") if spec.deadline else None
        if deadline is not None:
            if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not deadline > 0:
                return invalid_request(self.name, [("deadline_s", "must be a number of seconds above 0")])
            deadline = float(min(deadline, MAX_DEADLINE_S))
        pending = None
        if session is not None:
            pending = session.begin(
                spec.resource,
                spec.filters_of(call.args),
                deadline_s=DEADLINE_S if deadline is None else deadline,
                intent=spec.intent,
                key=spec.key_filter,
                call_id=call.call_id,
            )
        return Entered(call, session, pending, deadline)

    def _enter_write(
        self, spec: WriteSpec, call: Call, session: Session | None, turn: Turn, sink: AuditSink | None
    ) -> Entered | Reply:
        approve = turn.approve if session is None or session.approve is None else session.approve
        if sink is None and approve is None and spec.is_plain:
            return self._enter_plain(spec, call, session, turn)
        write = Write(
            self.name, spec, call.args, session=session, same_turn=self._same_turn(turn, session), has=turn.has,
            approve=approve,
            record=Record(sink, action=self.name, args=call.args, session=session, why=spec.independent),
            call_id=call.call_id,
        )  # fmt: skip
        return write.judge() or Entered(call, session, write=write if write.is_left else None)

    def _enter_plain(self, spec: WriteSpec, call: Call, session: Session | None, turn: Turn) -> Entered | Reply:
        """As `_enter_write`, where nothing but the verdict stands between a call and its body. Most calls are such."""
        if spec.independent is not None:
            return Entered(call, session)
        value = None if spec.targets is None else call.args.get(spec.targets)
        targets = None if value is None else targets_of(value)
        if value is not None and targets is None:
            return invalid_request(self.name, [(spec.targets or "", "must be an id or a list of ids")])
        if session is None:
            return refused_without_session(self.name)
        if not self.name:
            raise InvalidInput(field="tool", rule="must have a name")
        intent = spec.intent(self.name, targets, call.args)
        verdict = session.judge_write(intent, same_turn=self._same_turn(turn, session))
        return Entered(call, session) if verdict.verdict == "allow" else refusal(self.name, verdict, has=turn.has)

    def _same_turn(self, turn: Turn, session: Session | None) -> list[Asked]:
        """The reads that were asked for beside this call; they have shown nothing yet."""
        asked: list[Asked] = []
        if session is None:
            return asked
        for name, args in turn.siblings:
            spec = turn.spec_of(name) if turn.spec_of is not None else UndeclaredSpec()
            match spec:
                case ReadSpec():
                    asked.append(Asked(spec.resource, spec.filters_of(args), spec.intent, spec.key_filter))
                case UndeclaredSpec():
                    asked.append(Asked(f"tool:{name}"[:200]))
                case FollowUpSpec(asks_again=True):
                    asked.extend(Asked(*each) for each in followup.asked_for(session, args))
                case FollowUpSpec() | WriteSpec() | NeutralSpec():
                    pass
                case _:
                    assert_never(spec)
        return asked

    def leave(self, entered: Entered, value: Any) -> Reply:
        """Makes the reply of a body that returned: records what it proves and presents what fits."""
        held = Boxed(value)
        del value
        try:
            return self._leave(entered, held)
        except Exception as error:  # noqa: BLE001 - the outermost boundary: what cannot be recorded is unavailable
            fault = Fault.of(error)
        _log.error("the gate failed after %s with %s", printable_name(self.name), fault.kind)
        return self.fail(entered, fault)

    def _leave(self, entered: Entered, held: Boxed[Any]) -> Reply:
        spec = self.spec
        match spec:
            case ReadSpec():
                call = replace(entered.call, paging=entered.paging) if entered.paging else entered.call
                result = result_of(held.take(), spec, call, started_at=entered.started_at)
                return self._recorded(entered, spec, result)
            case UndeclaredSpec():
                self._record_undeclared(entered, held)
                return _done(entered, held.take())
            case FollowUpSpec():
                return held.take() if isinstance(held.value, Reply) else Reply(value=held.take(), passes=True)
            case WriteSpec():
                return _done(entered, held.take())
            case NeutralSpec():
                return Reply(value=held.take(), passes=True)
            case _:
                assert_never(spec)

    def _recorded(self, entered: Entered, spec: ReadSpec, result: Any) -> Reply:
        session = entered.session
        spec = spec.hiding(result.scope.filters, args=entered.call.args, given=entered.given)
        if session is not None:
            result = followup.told_apart(session, result, spec)
            session.finish(entered.pending, result, key=spec.key_filter)
            followup.remember(session, result, spec)
        return read_reply(result, spec, session=session, max_bytes=self.max_bytes)

    def _record_undeclared(self, entered: Entered, held: Boxed[Any]) -> None:
        if entered.session is None:
            return
        now = datetime.now(UTC)
        entered.session.record(
            build_result(
                items=list(held.value) if isinstance(held.value, list | tuple) else [held.value],
                reasons=[Reason(code="COVERAGE_UNKNOWN", layer="adapter")],
                scope=Scope(resource=f"tool:{self.name}"[:200]),
                read=ReadHeader(id=new_read_id(), adapter="tool", started_at=entered.started_at, finished_at=now),
            ),
            call_id=entered.call.call_id,
        )
        warn_undeclared(self.name)

    def fail(self, entered: Entered, error: BaseException | Fault) -> Reply:
        """Makes the reply of a body that raised. Nothing of the error's text goes anywhere."""
        spec = self.spec
        fault = error if isinstance(error, Fault) else Fault.of(error)
        del error
        _log.warning("%s failed with %s", printable_name(self.name), fault.kind)
        detail = "deadline" if fault.was_late else "tool_failed"
        if entered.write is not None:
            entered.write.ended("failed")
        try:
            result = self._abandoned(entered, detail)
        except Exception as failure:  # noqa: BLE001 - the outermost boundary: a pending read expires by itself
            result, fault = None, Fault.of(failure)
            _log.error("the failure of %s was not recorded: %s", printable_name(self.name), fault.kind)
        if result is None or not isinstance(spec, ReadSpec):
            return tool_failed(self.name)
        return read_reply(result, spec, session=entered.session, max_bytes=self.max_bytes)

    def cancel(self, entered: Entered) -> None:
        """Records a read that was cancelled or abandoned: unavailable; and of a write that it was cut short."""
        if entered.write is not None:
            entered.write.ended("cancelled")
        self._abandoned(entered, "cancelled")

    def _abandoned(self, entered: Entered, detail: str) -> ReadResult | None:
        """Records what is known of a call that brought nothing, and returns it for a read."""
        spec = self.spec
        if isinstance(spec, UndeclaredSpec):
            self._record_undeclared(entered, Boxed(None))
        if not isinstance(spec, ReadSpec):
            return None
        result = unavailable(spec, entered.call, detail=detail, started_at=entered.started_at)
        if entered.session is not None:
            entered.session.finish(entered.pending, result, key=spec.key_filter)
        return result

    def withdraw(self, entered: Entered) -> None:
        """Takes back a read that was interrupted to ask a person: it will be asked for again."""
        if entered.session is not None and entered.pending is not None:
            entered.session.withdraw(entered.pending)


def _sink(session: Session | None, turn: Turn) -> AuditSink | None:
    return turn.audit if session is None or session.audit is None else session.audit


def _done(entered: Entered, value: Any) -> Reply:
    return Reply(value=value, passes=True) if entered.write is None else entered.write.done(value)


_WARNED: set[str] = set()


def warn_undeclared(name: str) -> None:
    """Names a tool that nobody declared, once a process, with the line that would declare it."""
    if name not in _WARNED:
        _WARNED.add(name)
        name = printable_name(name)
        _log.warning(
            "the tool %s is not declared: its calls are judged as writes and its results prove nothing; declare it "
            "with reads={%r: ...}, writes={%r: [...]} or neutral=[%r]", name, name, name, name
        )  # fmt: skip
