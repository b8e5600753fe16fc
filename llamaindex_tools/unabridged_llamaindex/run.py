"""What a protected tool finds out about the run that it is called in: the session, the turn, the history.

The tool asks the running step itself, so it needs no help from the agent: a plain agent, a workflow of agents, a nested
agent, an injected event and a sync body all end here. What cannot be seen counts against a write.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from llama_index.core.agent.workflow import AgentWorkflow, BaseWorkflowAgent, ReActAgent, ToolCall
from llama_index.core.base.llms.types import MessageRole
from llama_index.core.instrumentation.dispatcher import active_instrument_tags  # type: ignore[attr-defined]
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import BaseTool, ToolSelection
from unabridged._ambient import Held
from unabridged.actions.approvals import Approver
from unabridged.audit import AuditSink
from unabridged.evidence import Session, current_session, session
from unabridged.gate.around import Asking, siblings_around
from unabridged.gate.declare import NEUTRAL, UNDECLARED, ReadSpec, Spec
from unabridged.gate.history import import_results, import_unknown_past
from unabridged.gate.runtime import ALONE, Turn
from unabridged.gate.turn import gate_of, known_names, siblings_of, spec_named
from workflows import Context
from workflows.context.state_store import DictState
from workflows.errors import WorkflowRuntimeError
from workflows.runtime.types.results import StepWorkerStateContextVar

from .messages import Row, calls_in, known_as, results_in

SESSION_KEY: Final = "unabridged_session"
HANDOFF: Final = "handoff"
SCRATCHPAD: Final = "scratchpad"
_PROCESS: Final = secrets.token_hex(8)
_lock: Final = threading.Lock()
_BOUND: Final[WeakKeyDictionary[Any, Session]] = WeakKeyDictionary()
"""The session of each store of a run, so that parallel calls of a first turn open one."""
_REMEMBERED: Final = 1_000
_NAMES: Final[dict[str, str]] = {}
"""The names of the sessions that runs opened last, by run."""
_LOOKED_AT: Final[WeakKeyDictionary[Any, tuple[str, int]]] = WeakKeyDictionary()
"""The run whose history was compared with the ledger last, and how much of its scratchpad, by store."""
_TURNS: Final[WeakKeyDictionary[Any, tuple[str, list[Row]]]] = WeakKeyDictionary()
"""The calls of the running turn with the agent that made them, by store. A store may be written down, and the
arguments of calls have no place there: a context that was filled elsewhere shows its turns by its messages alone."""

_recording: Final[ContextVar[AuditSink | None]] = ContextVar("unabridged_llamaindex_recording", default=None)
"""Where the events of the calls around the running one go."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one call found out. Without a session a guarded write refuses.

    `is_unseen` tells that there is a run whose session cannot be found from here.
    """

    session: Session | None
    turn: Turn = ALONE
    call_id: str | None = None
    is_unseen: bool = False


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of the running agent, as far as they can be seen.

    Attributes:
        by_name: the tools.
        whole: whether there are no others; a retriever of tools, or an agent that cannot be seen, may have more.
        workflow: what runs: what stands in a history may be of any of its agents.
        in_text: whether the agent keeps its calls as text, without their ids.
        notes: the name under which the agent keeps the messages of its running turns.
        approve: who decides on a card, where the agent says so.
        audit: where events go, where the agent says so.
    """

    by_name: Mapping[str, Any]
    whole: bool = False
    workflow: Any = field(default=None, repr=False)
    in_text: bool = False
    notes: str = SCRATCHPAD
    approve: Approver | None = None
    audit: AuditSink | None = None

    @property
    def names(self) -> frozenset[str] | None:
        """The names of all tools; nothing where there may be more."""
        return frozenset(self.by_name) if self.whole else None

    @property
    def resources(self) -> tuple[str, ...]:
        """What the tools of all agents read; where none can be seen, what any tool of this process reads."""
        seen = self._of_all_agents()
        specs = [_spec_of(tool) for tool in seen] if seen else [spec_named(name) for name in known_names()]
        return tuple(dict.fromkeys(spec.resource for spec in specs if isinstance(spec, ReadSpec)))

    def spec_of(self, name: str) -> Spec:
        """Returns the declaration of a tool. A name that no tool has runs nothing."""
        if name == HANDOFF:
            return NEUTRAL
        if name not in self.by_name:
            return NEUTRAL if self.whole else spec_named(name)
        return _spec_of(self.by_name[name])

    def spec_in_history(self, name: str) -> Spec:
        """Returns the declaration of a tool that has a result in the history: another agent may have, or had, it."""
        if name == HANDOFF:
            return NEUTRAL
        specs = [_spec_of(tool) for tool in self._of_all_agents() if tool.metadata.name == name]
        return specs[0] if specs and all(spec == specs[0] for spec in specs) else spec_named(name)

    def _of_all_agents(self) -> list[Any]:
        flow = self.workflow
        agents = flow.agents.values() if isinstance(flow, AgentWorkflow) else (flow,)
        found = (tool for agent in agents if isinstance(agent, BaseWorkflowAgent) for tool in agent.tools or ())
        return [*self.by_name.values(), *(tool for tool in found if isinstance(tool, BaseTool))]


def _spec_of(tool: Any) -> Spec:
    gate = gate_of(tool)
    return UNDECLARED if gate is None else gate.spec


class Unseen(Exception):
    """A state store that must be waited for was asked from code that cannot wait."""


def running_step() -> tuple[Context[Any], Any] | None:
    """Returns the context and the event of the step that the running code is part of, or nothing outside of one."""
    worker = StepWorkerStateContextVar.get(None)
    if worker is None:
        return None
    try:
        return Context.get_step_context(), worker.event
    except WorkflowRuntimeError:  # the step is over, and something of it still runs
        return None


async def find_run(name: str) -> Run:
    """Returns what a call of the tool `name` finds out about its run."""
    step = running_step()
    if step is None:
        return Run(current_session(), _outside())
    return await _find(*step, name=name, waits=True)


def find_run_now(name: str) -> Run:
    """As `find_run`, for sync code. What would have to be waited for counts as unseen."""
    step = running_step()
    if step is None:
        return Run(current_session(), _outside())
    try:
        found: Run = at_once(_find(*step, name=name, waits=False))
    except Unseen:
        return Run(current_session(), is_unseen=current_session() is None)
    return found


def at_once(task: Coroutine[Any, Any, Any]) -> Any:
    """Returns what a coroutine returns without ever waiting.

    Raises:
        Unseen: it has to wait.
    """
    try:
        task.send(None)
    except StopIteration as done:
        return done.value
    task.close()
    raise Unseen


def recording(turn: Turn) -> Held[Any]:
    """Lets the events of what runs inside a call, such as another agent, go where those of the call go.

    Who decides is not handed down: an agent that runs inside a tool cannot wait for an answer to the run around it.
    """
    return Held(_recording, turn.audit)


def _outside() -> Turn:
    around, audit = siblings_around(), _recording.get()
    return Turn(siblings=around, spec_of=spec_named, audit=audit) if around or audit is not None else ALONE


async def _find(ctx: Context[Any], event: Any, *, name: str, waits: bool) -> Run:
    store = ctx.store
    state = await _state(store)
    tools = tools_of(ctx, state.get("current_agent_name"))
    found, seen = await _session(store, state, tools, waits=waits)
    turn = _turn(store, state, event, tools, seen=seen)
    if not isinstance(event, ToolCall) or event.tool_name != name:
        return Run(found, turn)
    call_id = known_as(event.tool_id, name, event.tool_kwargs)
    shown = known_as(None, name, event.tool_kwargs) if tools.in_text else event.tool_id
    if found is not None and call_id != shown:
        found.note_call(shown)  # all that is known of it where the history does not show the call
    return Run(found, turn, call_id)


async def _state(store: Any) -> Any:
    """Returns what a run keeps, by name; nothing of a state with fields of its own, which no agent has."""
    state = await store.get_state()
    return state if isinstance(state, DictState) else {}


async def session_of(ctx: Any, *, tools: Tools) -> Session | None:
    """Returns the session of a run: the one in scope, else the one that is bound to the run's context.

    A context that was filled elsewhere, in another process, has a past that is not known here: that blocks.
    """
    tools = replace(tools, workflow=_workflow_of(ctx))
    return (await _session(ctx.store, await _state(ctx.store), tools, waits=True))[0]


def caller() -> Context[Any] | None:
    """Returns the context of the step that starts an agent: it is a sub-agent of that step's workflow."""
    step = running_step()
    return None if step is None else step[0]


async def bound_to(ctx: Context[Any], *, waits: bool = True) -> Session | None:
    """Returns the session that is bound to the context of a run, and writes its name down there if it may wait."""
    return await _bound(ctx.store, await _state(ctx.store), tools_of(ctx, None), waits=waits)


async def _session(store: Any, state: Any, tools: Tools, *, waits: bool) -> tuple[Session | None, bool]:
    """Returns the session of a run, and whether the history of the run could be compared with its ledger."""
    found = current_session() or await _bound(store, state, tools, waits=waits)
    if found is None:
        return None, False
    agent, notes = state.get("current_agent_name"), _scratchpad(state, tools)
    run = f"{active_instrument_tags.get().get('llamaindex.run_id')} {found.key.digest} {agent}"
    before, place = _LOOKED_AT.get(store, ("", 0))
    if before == run and place == len(notes):
        return found, True
    messages = _since(place, notes) if before == run else await _history(state, tools, waits=waits)
    if messages is None:
        return found, False
    import_results(found, results_in(messages), spec_of=tools.spec_in_history, resources=tools.resources)
    _LOOKED_AT[store] = run, len(notes)
    return found, True


def _since(place: int, notes: list[Any]) -> list[Any]:
    """Returns what came to stand in the scratchpad since, with the turn that may have asked for it."""
    if place > len(notes):  # it was emptied meanwhile
        return notes
    while place and getattr(notes[place - 1], "role", None) != MessageRole.ASSISTANT:
        place -= 1
    return notes[max(place - 1, 0) :]


async def _bound(store: Any, state: Any, tools: Tools, *, waits: bool) -> Session | None:
    """Returns the session that is bound to a context.

    A state with fields of its own cannot hold the name of a session, so that a restored one would look innocent:
    such a workflow opens its session itself.
    """
    if not isinstance(state, DictState):
        return None
    noted = state.get(SESSION_KEY)
    with _lock:
        known = _BOUND.get(store)
        foreign = isinstance(noted, Mapping) and noted.get("process") != _process()
        if known is None:
            known = session(_name_for(noted["id"] if isinstance(noted, Mapping) and not foreign else None), kind="run")
            if foreign:
                import_unknown_past(known, tools.resources)
            _BOUND[store] = known
    if waits and (noted is None or foreign):
        await store.set(SESSION_KEY, {"id": known.key.thread, "process": _process()})
    return known


def _name_for(noted: str | None) -> str:
    """Returns the name of the session of a run: the one that is noted, else one for all calls of the run.

    A store that is a new object for each step cannot be known again, and calls of a first turn find nothing noted yet.
    """
    if noted is not None:
        return noted
    name = secrets.token_urlsafe(16)
    run = active_instrument_tags.get().get("llamaindex.run_id")
    if run is None:
        return name
    while len(_NAMES) >= _REMEMBERED:
        del _NAMES[next(iter(_NAMES))]
    return _NAMES.setdefault(run, name)


def _process() -> str:
    return f"{_PROCESS}-{os.getpid()}"


async def _history(state: Any, tools: Tools, *, waits: bool) -> list[Any] | None:
    """Returns the messages of a run; nothing where they would have to be waited for."""
    memory = state.get("memory")
    messages: list[Any] = []
    if isinstance(memory, BaseMemory) and waits:  # a workflow of the user's own may keep anything there
        messages = await memory.aget_all()
    elif isinstance(memory, BaseMemory):
        try:
            messages = memory.get_all()
        except RuntimeError:  # it runs a loop of its own, where one is running already
            return None
    return [*messages, *_scratchpad(state, tools)]


def _scratchpad(state: Any, tools: Tools) -> list[Any]:
    found = state.get(tools.notes)
    return found if isinstance(found, list) else []


async def note_turn(ctx: Any, calls: Sequence[ToolSelection], *, agent: str) -> None:
    """Keeps what an agent asks for in one turn, for the tools that will be called."""
    rows: list[Row] = [{"name": c.tool_name, "args": c.tool_kwargs, "id": c.tool_id} for c in calls]
    _TURNS[ctx.store] = agent, rows


def _turn(store: Any, state: Any, event: Any, tools: Tools, *, seen: bool) -> Turn:
    count = state.get("num_tool_calls")
    calls: list[Row] | None = []
    if isinstance(event, ToolCall) and isinstance(count, int) and count:
        calls = _own_turn([_noted_calls(store, state), _written_calls(_scratchpad(state, tools))], event, count)
    if calls is None or not seen:  # what cannot be seen may have asked for anything that the agent can ask for
        own = event.tool_name if isinstance(event, ToolCall) else None
        siblings: Sequence[Asking] = [(name, {}) for name in tools.names or known_names() if name != own]
    elif any(_is_call(row, event) for row in calls):
        siblings = siblings_of(calls, call_id=event.tool_id, name=event.tool_name)
    elif calls:
        siblings = siblings_of(calls, call_id=None, name=event.tool_name, args=event.tool_kwargs)
    else:
        siblings = ()
    asked = (*siblings, *siblings_around())
    audit = _recording.get() if tools.audit is None else tools.audit
    return Turn(asked, spec_of=tools.spec_of, has=tools.names, approve=tools.approve, audit=audit)


def _own_turn(found: Sequence[list[Row]], event: ToolCall, count: int) -> list[Row] | None:
    """Returns all calls of the turn that an event belongs to, from the places where they may be written down."""
    whole = [rows for rows in found if len(rows) == count]
    for rows in whole:
        if any(_is_call(row, event) for row in rows):
            return rows
    if whole:
        return whole[0]
    return [{"name": event.tool_name, "args": event.tool_kwargs, "id": event.tool_id}] if count == 1 else None


def _is_call(row: Row, event: ToolCall) -> bool:
    return bool(row["id"] == event.tool_id and row["name"] == event.tool_name)


def _noted_calls(store: Any, state: Any) -> list[Row]:
    maker, rows = _TURNS.get(store, (None, []))
    return list(rows) if state.get("current_agent_name") in (None, maker) else []


def _written_calls(scratchpad: list[Any]) -> list[Row]:
    return calls_in(scratchpad[-1]) if scratchpad else []


def tools_of(ctx: Any, agent: object) -> Tools:
    """Returns the tools of the running agent; a workflow of the user's own may have others than can be seen."""
    workflow = _workflow_of(ctx)
    holder = workflow.agents.get(str(agent)) if isinstance(workflow, AgentWorkflow) else workflow
    if not isinstance(holder, BaseWorkflowAgent):
        return Tools({}, workflow=workflow)
    found = {tool.metadata.get_name(): tool for tool in holder.tools or () if isinstance(tool, BaseTool)}
    approve, audit = getattr(holder, "approve", None), getattr(holder, "audit", None)
    return Tools(
        found, whole=holder.tool_retriever is None, workflow=workflow, in_text=isinstance(holder, ReActAgent),
        notes=getattr(holder, "scratchpad_key", SCRATCHPAD), approve=approve, audit=audit,
    )  # fmt: skip


def _workflow_of(ctx: Any) -> Any:
    return getattr(getattr(ctx, "_face", None), "_workflow", None)
