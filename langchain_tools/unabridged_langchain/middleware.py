"""`CoverageMiddleware`: the guard of an agent made by `create_agent`, for all of its tools and for its answer.

It hooks into the calls of tools only, since a hook around the model or a node of its own costs time in every step. What
needs such a hook (caveats: one node a run; strict answers and hidden writes: one around the model) comes with the class
that `CoverageMiddleware(...)` picks by its arguments.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Self, get_args
from uuid import uuid4

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from unabridged import _ambient
from unabridged._ambient import Boxed
from unabridged.actions.approvals import Approver
from unabridged.audit import AuditSink
from unabridged.contract import InvalidInput
from unabridged.evidence import Ledger, Session
from unabridged.gate.around import siblings_around
from unabridged.gate.boundary import abefore, before
from unabridged.gate.declare import Spec, UndeclaredSpec, WriteSpec
from unabridged.gate.presenting import MAX_BYTES, Reply
from unabridged.gate.refusing import guard_failed
from unabridged.gate.runtime import Entered, Gate, Turn

from ._body import hides_its_ids, is_judged
from ._config import graph_messages, has_turn_of, interrupts, running, thread_of
from ._followups import continue_read_tool, count_read_tool
from ._guarded import body_of, carried_by
from ._history import look_back
from ._hooks import GivesCaveats, WrapsModel, messages_of, with_hooks
from ._known import spec_of_bare
from ._left import Answer, Called, failed_by, left_by, message_of, narrowed
from ._place import (
    Asked,
    Frame,
    around,
    frame,
    framed,
    guardian_in,
    inside,
    kept_session,
    run_named,
    siblings,
    spec_here,
)
from ._place import session_here as found_session
from ._schema import aliases_in

_log = logging.getLogger("unabridged.langchain")
OnAnswer = Literal["caveat", "strict", "off"]
_LEAST_BYTES: Final = 1_024
_BODY_DECIDES: Final = frozenset({"TARGET_NOT_IN_EVIDENCE"})
"""What is judged on arguments as the model sent them may fall when the tool has read them."""


class RunKey(str):
    """A key that LangGraph draws for each run: a channel starts as an empty value of its type, and this one has a text.

    Input cannot set it: the channel is private, and its reducer keeps the first value.
    """

    __slots__ = ()

    def __new__(cls, value: str = "") -> Self:
        return super().__new__(cls, value or f"run-{uuid4().hex}")


def _first(mine: str, other: str) -> str:
    return mine or other


class CoverageState(AgentState[Any]):
    """The state of a guarded agent: a key of the run, which is neither input nor output."""

    unabridged_run: Annotated[RunKey, PrivateStateAttr, _first]


@dataclass(frozen=True, slots=True)
class _Agent:
    """The tools of an agent, as the guard knows them."""

    specs: dict[str, Spec]
    bare: tuple[str, ...]
    """The names of the tools that carry no guard of their own."""
    has: frozenset[str]
    resources: tuple[str, ...]
    """What its guarded tools read."""
    gates: dict[int, Gate | None]
    """The gate of each tool, by the identity of the tool."""
    tools: tuple[BaseTool, ...]
    """The tools themselves: while they are held here, no other has their identity."""

    @classmethod
    def of(cls, tools: Sequence[BaseTool]) -> Self:
        gates = {tool.name: carried_by(tool) for tool in tools}
        bare_specs = {tool.name: spec_of_bare(tool) for tool in tools if gates[tool.name] is None}
        specs: dict[str, Spec] = {n: bare_specs[n] if g is None else g.spec for n, g in gates.items()}
        bare = tuple(n for n, spec in bare_specs.items() if isinstance(spec, UndeclaredSpec))
        resources = tuple(dict.fromkeys(s.resource for s in specs.values() if s.effect == "read"))
        return cls(specs, bare, frozenset(specs), resources, {id(t): carried_by(t) for t in tools}, tuple(tools))

    def gate_of(self, tool: BaseTool | None) -> Gate | None:
        """Returns the gate that a tool carries; the tool of a call need not be one of the agent's."""
        return self.gates[id(tool)] if id(tool) in self.gates else carried_by(tool)

    def known(self, outer: Mapping[str, Spec]) -> Mapping[str, Spec]:
        """Returns the declarations in force: a guard among the handlers may declare tools that carry none."""
        guardian = guardian_in(running()) if self.bare else None
        told = {} if guardian is None else {n: guardian.spec_of(n) for n in self.bare}
        return {**outer, **self.specs, **told} if outer or told else self.specs


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a call happens, as the middleware sees it."""

    session: Session | None
    turn: Turn
    frame: Frame
    gate: Gate
    entered: Entered | None = None
    """Leave to run, for a tool that has no guard of its own."""


class CoverageMiddleware(AgentMiddleware[CoverageState, Any, Any]):
    """Judges every call of a tool by what was read before, and puts the caveats before the answer.

    List it last: it is innermost then, and sees the tool and the arguments that other middleware or a person made of a
    call. Tools that carry their guard are judged again in their body; for tools that carry none it is their guard.
    Tools that another middleware brings are declared there: `other.tools = protect(other.tools, ...)`.
    """

    state_schema = CoverageState

    def __new__(cls, *, on_answer: str = "caveat", hide_until_covered: bool = False, **_: Any) -> Self:
        """Picks the hooks that the arguments need."""
        parts = (GivesCaveats,) if on_answer != "off" else ()
        if on_answer == "strict" or hide_until_covered:
            parts = (*parts, WrapsModel)
        made: Self = super().__new__(with_hooks(cls, parts))
        return made

    def __init__(
        self,
        *,
        on_answer: OnAnswer = "caveat",
        approve: Approver | None = None,
        principal: str | None = None,
        ledger: Ledger | None = None,
        audit: AuditSink | None = None,
        hide_until_covered: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """Takes what holds for all runs of the agent.

        Args:
            on_answer: `caveat` puts the caveats before the final text; `strict` sends unsupported claims, and sentences
                of absence, totality or number over incomplete reads, back to the model twice at most, and replaces the
                answer then; `off` leaves answers alone.
            approve: who decides on a write that a person must decide on: `(card) -> decision`, sync or async;
                `interrupt_for_approval` pauses the graph and takes the decision from `Command(resume=...)`. A session
                in scope that has one of its own goes before it.
            principal: on whose behalf the agent reads; required with a shared ledger.
            ledger: where the headers of reads are kept; the memory of this process when not given.
            audit: where decisions, intents and outcomes of writes are written down. A write whose intent cannot be
                recorded does not run.
            hide_until_covered: whether the model sees a writing tool only once its evidence is complete.
            max_bytes: the budget of what the model sees of one read.

        Raises:
            InvalidInput: an argument breaks its rule.
        """
        super().__init__()
        if approve is not None and not callable(approve):
            raise InvalidInput(field="approve", rule="must be a function of the card")
        if audit is not None and not callable(getattr(audit, "write", None)):
            raise InvalidInput(field="audit", rule="must be an audit log")
        if on_answer not in get_args(OnAnswer):
            raise InvalidInput(field="on_answer", rule=f"must be one of {', '.join(get_args(OnAnswer))}")
        if principal is None and ledger is not None and ledger.shared:
            raise InvalidInput(field="principal", rule="is required with a shared ledger")
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < _LEAST_BYTES:
            raise InvalidInput(field="max_bytes", rule=f"must be a number of bytes of at least {_LEAST_BYTES}")
        self.tools = [continue_read_tool, count_read_tool]
        self._principal, self._ledger, self._max_bytes = principal, ledger, max_bytes
        self._approve, self._audit = approve, audit
        self._strict, self._hides = on_answer == "strict", bool(hide_until_covered)
        self._agents: dict[tuple[int, ...], _Agent] = {}

    @property
    def name(self) -> str:
        """The name of the middleware in the graph."""
        return "CoverageMiddleware"

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        """Judges a call before it runs; a refusal is an error message."""
        asked = Boxed(request)
        del request
        place = self._looked_at(asked)
        if isinstance(place, ToolMessage):
            return place
        with framed(place.frame), _scope_of(place):
            if place.entered is None:
                return handler(asked.take())
            refused = before(place.gate, place.entered, interrupts=interrupts())
            called = Called.of(asked.value)
            if refused is not None:
                return message_of(refused, called)
            asked = Boxed(narrowed(asked.take(), place.entered))
            try:
                with inside(called.call_id, judged=_judged(asked.value)), around(place.turn):
                    answer = Boxed(handler(asked.take()))
            except BaseException as error:  # noqa: BLE001 - it is raised again below, where no log is written
                failed = Boxed(error)
            else:
                return left_by(place.gate, place.entered, called, answer)
            failed_by(place.gate, place.entered, failed)
            raise failed.take()

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        """As `wrap_tool_call`, without blocking."""
        asked = Boxed(request)
        del request
        place = self._looked_at(asked)
        if isinstance(place, ToolMessage):
            return place
        with framed(place.frame), _scope_of(place):
            if place.entered is None:
                return await handler(asked.take())
            refused = await abefore(place.gate, place.entered, interrupts=interrupts())
            called = Called.of(asked.value)
            if refused is not None:
                return message_of(refused, called)
            asked = Boxed(narrowed(asked.take(), place.entered))
            try:
                with inside(called.call_id, judged=_judged(asked.value)), around(place.turn):
                    answer = Boxed(await handler(asked.take()))
            except BaseException as error:  # noqa: BLE001 - it is raised again below, where no log is written
                failed = Boxed(error)
            else:
                return left_by(place.gate, place.entered, called, answer)
            failed_by(place.gate, place.entered, failed)
            raise failed.take()

    def _looked_at(self, asked: Boxed[ToolCallRequest]) -> _Place | ToolMessage:
        """Returns where a call happens and how it goes on, or its refusal. A guard that fails refuses."""
        try:
            return self._judge(asked)
        except Exception as error:  # noqa: BLE001 - the outermost tool boundary: a guard that fails refuses
            fault = type(error).__name__
        called = Called.of(asked.value)
        _log.error("the guard failed before %s with %s", called.name, fault)
        return message_of(guard_failed(called.name), called)

    def _judge(self, asked: Boxed[ToolCallRequest]) -> _Place | ToolMessage:
        """A tool that has a guard of its own is judged here and in its body; one that has none enters here."""
        request, called = asked.value, Called.of(asked.value)
        agent, outer = self._agent(request), frame()
        found, carried = self._session(request.state), agent.gate_of(request.tool)
        specs = agent.known(outer.specs)
        beside = self._beside(request, found, specs, agent.resources)
        seen = None if beside is None or called.call_id is None else (called.call_id, beside)
        approve, audit = self._approve or outer.approve, self._audit or outer.audit
        inner = Frame(outer.enclosing, specs, agent.has, seen, self._max_bytes, None, approve, audit)
        turn = Turn(
            siblings=(*siblings_around(), *(beside or ())),
            spec_of=_spec_in(specs),
            has=agent.has,
            approve=approve,
            audit=audit,
        )
        name = called.name if request.tool is None else request.tool.name
        gate = (
            Gate(name, spec_of_bare(request.tool, guardian=guardian_in(running()), name=name), self._max_bytes)
            if carried is None
            else carried
        )
        place = _Place(found, turn, inner, gate)
        if carried is not None and not (is_judged(carried.spec) and _is_closed(carried.spec)):
            return place
        args: Boxed[Mapping[str, Any]] = Boxed(request.tool_call["args"])
        body = body_of(request.tool)
        is_unseen, seen, beside = beside is None and called.call_id is not None, None, None
        del request
        if body is not None:
            args = Boxed(body.named(args.take()))
            if body.decides(args.value):
                return place
        if carried is None and is_unseen and is_judged(gate.spec):
            return message_of(gate.refuse_unseen(), called)
        entered = gate.enter(
            args.value, session=found, turn=turn, call_id=called.call_id, tentative=carried is not None
        )
        if isinstance(entered, Reply):
            if carried is not None and _body_decides(entered):
                return place
            if carried is not None:
                gate.note_refusal(entered, args.take(), session=found, turn=turn)
            return message_of(entered, called)
        hidden = None if carried is not None else hides_its_ids(gate, entered, aliases=_aliases(asked.value.tool))
        if hidden is not None:
            gate.note_refusal(hidden, args.take(), session=found, turn=turn)
            return message_of(hidden, called)
        if carried is None and found is not None and called.call_id is not None and gate.spec.effect != "read":
            found.note_call(called.call_id)
        return place if carried is not None else replace(place, entered=entered)

    def _beside(
        self, request: ToolCallRequest, found: Session | None, specs: Mapping[str, Spec], resources: tuple[str, ...]
    ) -> tuple[Asked, ...] | None:
        """Returns what the model asked for beside a call, and compares the history around it with the session."""
        call_id, messages = request.tool_call["id"], messages_of(request.state)
        if call_id is not None and not has_turn_of(messages, call_id):
            messages = graph_messages(running(), call_id) or messages
        if not messages:
            return None
        if found is not None:
            look_back(found, messages, spec_of=_spec_in(specs), resources=resources)
        return siblings(messages, call_id=call_id, name=request.tool_call["name"], enclosing=frame().enclosing)

    def _agent(self, request: ToolCallRequest) -> _Agent:
        tools = request.runtime.tools or ()
        key = tuple(map(id, tools))
        found = self._agents.get(key)
        if found is None:
            if len(self._agents) > 100:
                self._agents.clear()
            found = self._agents[key] = _Agent.of(tools)
        return found

    def _session(self, state: Any) -> Session | None:
        """Returns the session in scope, that of the thread, or that of the run."""
        config = running()
        thread = thread_of(config)
        if self._principal is None and self._ledger is None:
            if thread is not None or _ambient.current() is not None:
                return found_session(config)
        elif thread is not None and _ambient.current() is None:
            return kept_session(thread, kind="thread", principal=self._principal, ledger=self._ledger)
        run = run_named(config) or (state.get("unabridged_run") if isinstance(state, dict) else None)
        if _ambient.current() is None and isinstance(run, str):
            guardian = guardian_in(config)
            if guardian is None or guardian.explicit_session is None:
                return kept_session(run, kind="run", principal=self._principal, ledger=self._ledger)
        return found_session(config)


def _scope_of(place: _Place) -> AbstractContextManager[None]:
    """Puts the session of a call in scope, where it is not there already."""
    if place.session is None or _ambient.current() is place.session:
        return nullcontext()
    return _ambient.Held(_ambient.ambient, place.session)


def _spec_in(specs: Mapping[str, Spec]) -> Callable[[str], Spec]:
    return lambda name: specs[name] if name in specs else spec_here(name)


def _aliases(tool: BaseTool | None) -> Mapping[str, str]:
    return {} if tool is None else aliases_in(tool, tool.args_schema)


def _judged(request: ToolCallRequest) -> tuple[str | None, str, Any]:
    call = request.tool_call
    return call["id"], call["name"] if request.tool is None else request.tool.name, call["args"]


def _is_closed(spec: Spec) -> bool:
    """Tells whether the evidence that a write relies on is known before its arguments are read by the tool."""
    return not isinstance(spec, WriteSpec) or not spec.is_open


def _body_decides(reply: Reply) -> bool:
    told = (reply.artifact or {}).get("unabridged", {})
    return told.get("error") == "invalid_request" or _BODY_DECIDES.issuperset(told.get("codes", ("",)))
