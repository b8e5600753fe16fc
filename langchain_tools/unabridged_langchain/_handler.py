"""`PartialReadGuard`: a callback handler that guards plain chains, and tools that nobody wrapped.

It needs langchain-core only. It is synchronous, raises, and runs inline, since LangChain swallows what any other
handler raises in one way of calling or another. Where a handler is attached decides what it sees: give it to `invoke`
or `with_config` (`config={"callbacks": [guard]}`), not to a constructor and not inside a `CallbackManager`, which do
not hand it down. It sees nothing of `.func`, of `callbacks=[]`, of bare threads and of cached results, and not the
thread that only the config of a tool called at the top names; wrapped tools do.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID, uuid4

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult
from unabridged._ambient import Boxed
from unabridged.contract import InvalidInput
from unabridged.evidence import Session, current_session
from unabridged.gate.around import siblings_around
from unabridged.gate.boundary import before
from unabridged.gate.declarations import declarations
from unabridged.gate.declare import UNDECLARED, Spec
from unabridged.gate.presenting import Reply
from unabridged.gate.refusing import CallRefused, guard_failed
from unabridged.gate.runtime import Entered, Fault, Gate, Turn
from unabridged.gate.turn import siblings_of

from ._body import hides_its_ids, is_judged, told_by
from ._config import interrupts, running, thread_of
from ._history import look_back
from ._place import Asked, Guardian, frame, kept_session, plain_turn, spec_here, turn_here
from ._runs import is_guarded_run, watch

_TURNS_KEPT: Final = 1_000
_FIXED: Final[Mapping[str, bool]] = {
    "raise_error": True, "run_inline": True, "ignore_agent": False, "ignore_llm": False, "ignore_chat_model": False,
}  # fmt: skip
"""What must not change: with any of these otherwise, LangChain runs the tool in spite of the guard."""


_MUST_STAY: Final = "must stay {}, else LangChain runs tools in spite of the guard"


CANNOT_NARROW: Final = "It may touch some of its targets only, and a handler cannot change them: wrap the tool."
"""What a handler says of a write that was narrowed: it sees the arguments and cannot change them."""


class PartialReadGuard(Guardian):
    """Judges the calls of tools that carry no guard, and records what they read.

    A refused call raises `CallRefused` before the tool runs. In an agent that ends the run, so there protected tools
    (`protect`) are the better way: for tools that carry a guard this handler only lends its session and the turns.

    It sees what was sent. A size or a page that a tool takes by itself it does not see: wrap a tool that has one, and
    declare none of its reads exhaustive here.
    """

    raise_error = True
    run_inline = True

    def __init__(
        self,
        *,
        reads: Mapping[str, Any] | None = None,
        writes: Mapping[str, Any] | None = None,
        neutral: Iterable[str] = (),
        independent: Mapping[str, str] | None = None,
        session: Session | None = None,
    ) -> None:
        """Takes the declarations of tools by name, as `protect` does.

        Args:
            reads: for each tool that reads, the name of its resource, or the keywords of `read_tool`.
            writes: for each tool that writes, the names of the reads it relies on, or the keywords of `write_tool`.
            neutral: the tools with no effect and no evidence.
            independent: for each write that relies on nothing, why.
            session: the session; else the one in scope, that of the thread, or one that the handler opens itself.

        Raises:
            InvalidInput: a declaration breaks its rule, or the session is none.
        """
        super().__init__()
        if session is not None and not isinstance(session, Session):
            raise InvalidInput(field="session", rule="must be a session, as unabridged.session(...) returns it")
        self.explicit_session = session
        self._told = declarations(reads=reads, writes=writes, neutral=neutral, independent=independent).specs
        self._lock = threading.Lock()
        self._own: Session | None = None
        self._open: dict[UUID, tuple[Gate, Entered]] = {}
        self._turns: OrderedDict[str, Sequence[Any]] = OrderedDict()
        self._latest: deque[Sequence[Any]] = deque(maxlen=64)
        watch(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, needed in _FIXED.items():
            if name in cls.__dict__ and cls.__dict__[name] is not needed:
                raise InvalidInput(field=name, rule=_MUST_STAY.format(needed))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and value is not _FIXED[name]:
            raise InvalidInput(field=name, rule=_MUST_STAY.format(_FIXED[name]))
        super().__setattr__(name, value)

    def own_session(self) -> Session:
        """Returns the session of the handler itself, opened on first use."""
        with self._lock:
            if self._own is None:
                self._own = kept_session(f"guard-{uuid4().hex}", kind="run")
            return self._own

    def spec_of(self, name: str) -> Spec:
        """Returns how a tool that carries no guard is declared here; a name that is not known fails closed."""
        return self._told.get(name, UNDECLARED)

    def turn_around(self, name: str, args: Mapping[str, Any], call_id: str | None) -> tuple[Asked, ...] | None:
        """Returns the other calls of the turn of a call; nothing where no such turn was seen."""
        with self._lock:
            calls = self._turns.get(call_id) if call_id is not None else None
            latest = list(self._latest)
        if calls is None and call_id is None:
            calls = next((t for t in reversed(latest) if any(c["name"] == name and c["args"] == args for c in t)), None)
            if calls is None:
                calls = next((t for t in reversed(latest) if any(c["name"] == name for c in t)), None)
        if calls is None:
            return None
        return tuple(siblings_of(calls, call_id=call_id, name=name, args=args if call_id is None else None))

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Compares the history that the model is shown with the session."""
        found = self._session(kwargs.get("metadata"))
        for history in messages:
            look_back(found, history, spec_of=self._spec_in_history)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Remembers which calls the model made in one turn."""
        for generation in (g for row in response.generations for g in row):
            calls = getattr(getattr(generation, "message", None), "tool_calls", None)
            if calls:
                with self._lock:
                    self._latest.append(calls)
                    self._turns.update((c["id"], calls) for c in calls if c["id"] is not None)
                    while len(self._turns) > _TURNS_KEPT:
                        self._turns.popitem(last=False)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Judges a call before the tool runs.

        Raises:
            CallRefused: the call may not run.
        """
        name = str((serialized or {}).get("name") or kwargs.get("name") or "tool")
        call_id = kwargs.get("tool_call_id")
        sent = Boxed(inputs if isinstance(inputs, dict) else {"input": input_str})
        del input_str, inputs
        if is_guarded_run(run_id, name) or frame().is_judged(call_id, name, sent.value):
            return
        gate, found = Gate(name, self.spec_of(name)), self._session(metadata)
        turn = self._turn(gate, sent.value, call_id, found)
        if turn is None and is_judged(gate.spec):
            raise CallRefused(gate.refuse_unseen())
        entered = gate.enter(sent.take(), session=found, turn=turn or plain_turn(), call_id=call_id)
        if isinstance(entered, Reply):
            raise CallRefused(entered)
        if (hidden := hides_its_ids(gate, entered)) is not None:
            gate.note_refusal(hidden, entered.call.args, session=found, turn=turn or plain_turn())
            raise CallRefused(hidden)
        if entered.write is not None and (refused := before(gate, entered, interrupts=interrupts())) is not None:
            raise CallRefused(refused)
        if entered.write is not None and entered.changes:
            entered.write.ended("refused")
            raise CallRefused(guard_failed(name, why=CANNOT_NARROW))
        with self._lock:
            self._open[run_id] = gate, entered

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Records what a tool brought."""
        held = Boxed(output)
        del output
        gate, entered = self._close(run_id)
        if gate is None or entered is None:
            return
        if isinstance(held.value, ToolMessage) and held.value.status == "error":
            gate.fail(entered, Fault("ValueError"))
            return
        gate.leave(entered, told_by(held.take(), gate.spec))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Records that a tool failed; one that was interrupted will be asked again."""
        gate, entered = self._close(run_id)
        if gate is None or entered is None:
            return
        pauses = isinstance(error, interrupts())
        ends = isinstance(error, asyncio.CancelledError) or not isinstance(error, Exception)
        fault = Fault.of(error)
        del error
        if pauses:
            gate.withdraw(entered)
        elif ends:
            gate.cancel(entered)
        else:
            gate.fail(entered, fault)

    def _close(self, run_id: UUID) -> tuple[Gate | None, Entered | None]:
        with self._lock:
            return self._open.pop(run_id, (None, None))

    def _session(self, metadata: Mapping[str, Any] | None) -> Session:
        found = current_session() or self.explicit_session
        if found is not None:
            return found
        thread = thread_of({"metadata": metadata}) or thread_of(running())
        return self.own_session() if thread is None else kept_session(thread, kind="thread")

    def _turn(self, gate: Gate, args: Mapping[str, Any], call_id: str | None, found: Session) -> Turn | None:
        turn = turn_here(gate.name, args, call_id, session=found)
        beside = self.turn_around(gate.name, args, call_id)
        if turn is None and beside is None:
            return None
        siblings = siblings_around() if turn is None else turn.siblings
        fresh = [each for each in beside or () if each not in siblings]
        seen = plain_turn() if turn is None else turn
        return replace(seen, siblings=(*siblings, *fresh), spec_of=self._spec_in_turn)

    def _spec_in_turn(self, name: str) -> Spec:
        return self._told[name] if name in self._told else spec_here(name)

    _spec_in_history = _spec_in_turn
