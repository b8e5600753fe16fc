"""Where a tool call happens: which session it belongs to, and what the model asked for beside it.

The tool body, the middleware and the callback handler all look here; none takes another's word for the decision.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from unabridged._ambient import Held
from unabridged.actions.approvals import Approver
from unabridged.audit import AuditSink
from unabridged.evidence import Ledger, MemoryLedger, Session, current_session, session
from unabridged.evidence.ledger import Kind
from unabridged.gate.around import inside as beside
from unabridged.gate.around import siblings_around
from unabridged.gate.declare import Spec
from unabridged.gate.runtime import Turn
from unabridged.gate.turn import siblings_of, spec_named

from ._config import graph_messages, handlers_of, holds_call, in_graph, run_around, running, thread_of
from ._history import look_back

_log = logging.getLogger("unabridged.langchain")
Asked = tuple[str, Mapping[str, Any]]
_SESSIONS_KEPT: Final = 1_000


@dataclass(frozen=True, slots=True)
class Frame:
    """What a call hands down to the calls inside it.

    Attributes:
        enclosing: the ids of the enclosing calls.
        specs: the declarations of the agent's tools, where a middleware knows them.
        has: the names of the agent's tools, where a middleware knows them.
        seen: the call whose turn a middleware looked at, and what it saw beside it.
        max_bytes: the budget of what the model sees of a read, where a middleware sets one.
        judged: the call of a tool without a guard that a middleware judged, with its name and arguments.
        approve: who decides on a card, where a middleware knows.
        audit: where events go, where a middleware knows.
    """

    enclosing: frozenset[str] = frozenset()
    specs: Mapping[str, Spec] = field(default_factory=dict)
    has: frozenset[str] | None = None
    seen: tuple[str, tuple[Asked, ...]] | None = field(default=None, repr=False)
    max_bytes: int | None = None
    judged: tuple[str | None, str, Mapping[str, Any]] | None = field(default=None, repr=False)
    approve: Approver | None = None
    audit: AuditSink | None = None

    def is_judged(self, call_id: str | None, name: str, args: Mapping[str, Any]) -> bool:
        """Tells whether a middleware judged just this call, with these arguments."""
        return self.judged is not None and self.judged == (call_id, name, args)


OUTSIDE: Final = Frame()
_frame: Final[ContextVar[Frame]] = ContextVar("unabridged_langchain_frame", default=OUTSIDE)


def frame() -> Frame:
    """Returns what the enclosing calls handed down."""
    return _frame.get()


def framed(inner: Frame) -> Held[Any]:
    """Hands a frame down to what runs in the block."""
    return Held(_frame, inner)


class Guardian(BaseCallbackHandler):
    """A callback handler that keeps a session and remembers the turns of the model."""

    explicit_session: Session | None = None
    """The session that its author gave it."""

    def own_session(self) -> Session:
        """Returns the session of the handler itself, opened on first use."""
        raise NotImplementedError

    def spec_of(self, name: str) -> Spec:
        """Returns how its author declared a tool that carries no guard."""
        raise NotImplementedError

    def turn_around(self, name: str, args: Mapping[str, Any], call_id: str | None) -> tuple[Asked, ...] | None:
        """Returns the other calls of the turn of a call; nothing where no such turn was seen."""
        raise NotImplementedError


def guardian_in(config: Mapping[str, Any]) -> Guardian | None:
    """Returns the guard among the handlers of a config."""
    return next((h for h in handlers_of(config.get("callbacks")) if isinstance(h, Guardian)), None)


_kept: Final[OrderedDict[tuple[Any, ...], Session]] = OrderedDict()
_names: Final[OrderedDict[object, str]] = OrderedDict()
"""The names of the sessions of runs with graphs inside."""
_lock: Final = threading.Lock()
_RUNS: Final = MemoryLedger()
"""Keeps the sessions of runs apart, so that many short runs do not push out the session of a thread."""


def kept_session(name: str, *, kind: Kind, principal: str | None = None, ledger: Ledger | None = None) -> Session:
    """Returns the session of a thread or a run, the same object while it lives. An erased one is opened anew.

    Args:
        name: the name of the thread, or the key of the run.
        kind: `thread` or `run`.
        principal: on whose behalf is read.
        ledger: where the headers are kept.
    """
    key = (kind, name, principal, None if ledger is None else id(ledger))
    with _lock:
        found = _kept.get(key)
        if found is not None and found.alive:
            _kept.move_to_end(key)
            return found
        kept = _RUNS if ledger is None and kind == "run" else ledger
        made = session(name, principal=principal, ledger=kept, kind=kind)
        _kept[key] = made
        while len(_kept) > _SESSIONS_KEPT:
            _kept.popitem(last=False)
        return made


def run_named(config: Mapping[str, Any]) -> str | None:
    """Returns the name of the run that a graph inside another belongs to; nothing in the outermost graph.

    All agents of such a run share its session, also those that stand beside each other and hand on no more than a text.
    """
    run = run_around(config)
    if run is None:
        return None
    with _lock:
        name = _names.setdefault(run, f"run-{uuid4().hex}")
        _names.move_to_end(run)
        while len(_names) > _SESSIONS_KEPT:
            _names.popitem(last=False)
    return name


def session_of_read(config: Mapping[str, Any]) -> Session | None:
    """Returns the session that keeps what a call reads: where it has none of its own, that of the run around it.

    Another agent of that run may write by what is read here.
    """
    found = session_here(config)
    if found is not None or (name := run_named(config)) is None:
        return found
    return kept_session(name, kind="run")


def session_here(config: Mapping[str, Any]) -> Session | None:
    """Returns the session that a call belongs to.

    In this order: one in scope, one that was given to a guard among the handlers, that of the thread, one that a guard
    opened for itself. A middleware puts its own in scope.
    """
    found = current_session()
    if found is not None:
        return found
    guardian = guardian_in(config)
    if guardian is not None and guardian.explicit_session is not None:
        return guardian.explicit_session
    thread = thread_of(config)
    if thread is not None:
        return kept_session(thread, kind="thread")
    return None if guardian is None else guardian.own_session()


def spec_here(name: str) -> Spec:
    """Returns the declaration of a tool by its name: as a middleware knows it, else as the process does."""
    found = frame().specs.get(name)
    return spec_named(name) if found is None else found


def turn_here(
    name: str,
    args: Mapping[str, Any],
    call_id: str | None,
    *,
    session: Session | None,
    has: frozenset[str] = frozenset(),
) -> Turn | None:
    """Returns the turn in which a call was made, or nothing where it cannot be seen inside a graph.

    A history that stands beside it is compared with the session on the way.

    Args:
        name: the name of the tool.
        args: the arguments of the call.
        call_id: the id of the call.
        session: the session of the call.
        has: the names of the agent's tools, as far as they are known where no middleware knows them.
    """
    config, outer = running(), frame()
    inside_graph = in_graph(config)
    messages = graph_messages(config, call_id) if inside_graph else []
    others = siblings(messages, call_id=call_id, name=name, enclosing=outer.enclosing) if messages else None
    if messages and session is not None:
        look_back(session, messages, spec_of=spec_here, resources=resources_here())
    if others is None and (guardian := guardian_in(config)) is not None:
        others = guardian.turn_around(name, args, call_id)
    if others is None and outer.seen is not None and outer.seen[0] == call_id:
        others = outer.seen[1]
    if others is None and inside_graph and (messages is None or call_id is not None):
        return None
    tools = outer.has if outer.has is not None else has if inside_graph else None  # a program may have any
    beside = (*siblings_around(), *(others or ()))
    return Turn(siblings=beside, spec_of=spec_here, has=tools, approve=outer.approve, audit=outer.audit)


def plain_turn() -> Turn:
    """Returns what is known of a call whose turn is not: who decides and where events go."""
    return Turn(approve=frame().approve, audit=frame().audit)


_said: Final[set[str]] = set()


def say_unseen() -> None:
    """Tells the developer, once a process, why no write is allowed in a graph whose messages do not show its turns."""
    if not _said:
        _said.add("unseen")
        _log.warning(
            "a graph does not show the turn in which a model asked for a write, so the write is refused: keep the "
            "messages in its state and run the calls in a node of their own (ToolNode), or give the run a guard that "
            "sees the model: config={'callbacks': [PartialReadGuard()]}"
        )


def resources_here() -> tuple[str, ...]:
    """Returns what the tools of the agent read, as far as a middleware knows them."""
    return tuple(dict.fromkeys(s.resource for s in frame().specs.values() if s.effect == "read"))


def siblings(
    messages: Sequence[BaseMessage], *, call_id: str | None, name: str = "", enclosing: frozenset[str] = frozenset()
) -> tuple[Asked, ...] | None:
    """Returns the calls that the model made in the turn of a call, without it and without what encloses it.

    Without the call's id, or where no turn holds it, these are the calls of the last turn that have no result yet.
    Nothing comes back where a call with an id stands in no turn.

    Args:
        messages: the messages, with the turn near their end.
        call_id: the id of the call.
        name: the name of its tool; it tells calls apart to which a model gave one id.
        enclosing: the ids of the calls that the call is inside of.
    """
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        if not isinstance(message, AIMessage) or not message.tool_calls:
            continue
        if call_id is not None and holds_call(message, call_id):
            calls = [c for c in message.tool_calls if c["id"] not in enclosing or c["id"] == call_id]
            return tuple(siblings_of(calls, call_id=call_id, name=name))
        left = [c for c in message.tool_calls if c["id"] not in enclosing and c["id"] not in answered]
        if call_id is not None and not left and not enclosing:
            return None
        return tuple((c["name"], c["args"]) for c in left)
    return None


def inside(call_id: str | None, *, judged: tuple[str | None, str, Mapping[str, Any]] | None = None) -> Held[Any]:
    """Hands down to what runs in the block that it runs inside a call.

    Args:
        call_id: the id of the call.
        judged: the call itself, where it is judged already and its tool has yet to start.
    """
    outer = frame()
    enclosing = outer.enclosing if call_id is None else outer.enclosing | {call_id}
    return framed(Frame(enclosing, outer.specs, None, None, outer.max_bytes, judged, outer.approve, outer.audit))


def around(turn: Turn | None) -> AbstractContextManager[None]:
    """Hands down to what runs in the block what was asked for beside the call around it."""
    if turn is None or not turn.siblings:
        return nullcontext()
    return beside(turn.siblings)
