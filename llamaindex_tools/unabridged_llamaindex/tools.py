"""The protected tool: a LlamaIndex tool whose body, sync and async, stands behind the gate.

Every way in ends there: `call`, `acall`, `__call__`, `fn`, `async_fn`, `real_fn` and the private `_fn`. What a tool
has besides (its metadata, callbacks, engine, retriever, its own class) it keeps.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, cast

from llama_index.core.base.llms.types import TextBlock
from llama_index.core.instrumentation import (  # type: ignore[attr-defined]
    NullEventHandler,
    NullSpanHandler,
    get_dispatcher,
)
from llama_index.core.tools import AsyncBaseTool, BaseTool, FunctionTool, ToolOutput
from unabridged.contract import InvalidInput
from unabridged.gate import (
    Entered,
    FollowUpSpec,
    Gate,
    ReadSpec,
    Reply,
    Spec,
    WriteSpec,
    bear,
    gate_of,
    may_return_results,
)
from unabridged.gate.arguments import by_declared_names, in_a_scope
from unabridged.gate.around import inside
from unabridged.gate.boundary import arun_body, run_body
from unabridged.gate.refusing import guard_failed
from workflows.runtime.types.results import WaitingForEvent

from .abandoning import within
from .arguments import Given, OpenSignature, Parameters, Sent, with_deadline
from .run import Run, find_run, find_run_now, recording

_log = logging.getLogger("unabridged.llamaindex")
PAUSES: Final = (WaitingForEvent,)
"""What LlamaIndex raises to wait for a person: it passes."""
Body = Callable[[Sent, float | None], Any]
"""A tool's own code, given the arguments and the deadline that was asked for."""


class ToolSaidError(Exception):
    """A body returned, and what it returned says that the tool failed: an MCP result, or a tool's own output."""


class Told(str):
    """What a model is told, where a plain function of a protected tool was called.

    Attributes:
        is_error: whether the call was refused or failed.
        raw_output: the header that a `ToolOutput` would carry.
    """

    is_error: bool = False
    raw_output: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (str, (str(self),))


@dataclass(frozen=True, slots=True)
class Door:
    """A tool's gate with what stands behind it."""

    gate: Gate
    parameters: Parameters
    body: Body
    async_body: Callable[[Sent, float | None], Awaitable[Any]]
    may_return_results: bool = False
    """Whether the tool's own code may return a `ReadResult`."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of arguments, each with that by which the declaration may call it."""
    paging: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The pages and sizes that a read takes where no model sends any."""
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What the author of the tool has set in its arguments, as far as it can stand in a scope."""

    def call(self, given: Given) -> tuple[Reply, Sent]:
        """Judges a call and runs it."""
        sent, fault, run = self.parameters.bind(given.args, given.kwargs), "", None
        try:
            run = find_run_now(self.gate.name)
        except Exception as error:  # noqa: BLE001 - the outermost boundary: a guard that fails refuses
            fault = type(error).__name__
        if run is None:
            return self._lost(fault), sent
        entered = self._enter(sent, run)
        if isinstance(entered, Reply):
            return entered, sent
        entered.given, entered.paging = self.given, self.paging
        body = functools.partial(self._run, sent, entered)
        with inside(run.turn.siblings), recording(run.turn):
            return run_body(self.gate, entered, body, interrupts=PAUSES), sent

    async def acall(self, given: Given) -> tuple[Reply, Sent]:
        """As `call`, for a coroutine."""
        sent, fault, run = self.parameters.bind(given.args, given.kwargs), "", None
        try:
            run = await find_run(self.gate.name)
        except Exception as error:  # noqa: BLE001 - the outermost boundary: a guard that fails refuses
            fault = type(error).__name__
        if run is None:
            return self._lost(fault), sent
        entered = self._enter(sent, run)
        if isinstance(entered, Reply):
            return entered, sent
        entered.given, entered.paging = self.given, self.paging
        body = functools.partial(self._arun, sent, entered)
        with inside(run.turn.siblings), recording(run.turn):
            return await arun_body(self.gate, entered, body, interrupts=PAUSES), sent

    def _lost(self, fault: str) -> Reply:
        _log.error("the run of %s could not be looked at: %s", self.gate.name, fault)
        return guard_failed(self.gate.name)

    def _enter(self, sent: Sent, run: Run) -> Entered | Reply:
        """A read is told apart by what was sent; a write is judged by everything that its body gets."""
        session, call_id = run.session, run.call_id
        if session is not None and call_id is not None:
            session.note_call(call_id)
        if sent.problems:
            return self.gate.refuse_arguments(sent.problems, session=session, turn=run.turn, args=sent.args)
        if run.is_unseen and isinstance(self.gate.spec, ReadSpec):
            return guard_failed(self.gate.name)  # it would leave its evidence nowhere
        return self.gate.enter(self._judged_by(sent), session=session, turn=run.turn, call_id=call_id)

    def _judged_by(self, sent: Sent) -> Mapping[str, Any]:
        """Returns the arguments that a call is judged by, under the names that the declaration uses."""
        spec = self.gate.spec
        args: Mapping[str, Any] = sent.all_args
        if isinstance(spec, ReadSpec):
            args = {**self.parameters.of_a_read(spec, sent.args), **sent.args}
        if isinstance(spec, WriteSpec) and self.parameters.unsent:
            judged = {self.aliases.get(name, name) for name in spec.takes()}
            args = {**self.parameters.taken_besides(args, names=judged), **args}
        if self.aliases and isinstance(spec, ReadSpec | WriteSpec):
            return by_declared_names(args, aliases=self.aliases, declared=spec.takes())
        return args

    def _run(self, sent: Sent, entered: Entered) -> Any:
        return self._value(self.body(self._narrowed(sent, entered), entered.deadline_s))

    async def _arun(self, sent: Sent, entered: Entered) -> Any:
        return self._value(await self.async_body(self._narrowed(sent, entered), entered.deadline_s))

    def _narrowed(self, sent: Sent, entered: Entered) -> Sent:
        """Returns the arguments with the targets that the write was narrowed to."""
        if not entered.changes:
            return sent
        changes = {self._sent_as(name, sent): value for name, value in entered.changes.items()}
        return replace(sent, all_args={**sent.all_args, **changes})

    def _sent_as(self, name: str, sent: Sent) -> str:
        """Returns the name under which an argument was sent."""
        others = [alias for alias, declared in self.aliases.items() if declared == name]
        return next((n for n in (name, *others, self.aliases.get(name)) if n in sent.all_args), None) or name

    def _value(self, value: Any) -> Any:
        """Returns what the body gave, as the gate takes it: for a read, what stands inside a tool's output."""
        if isinstance(self.gate.spec, FollowUpSpec) and isinstance(value, Reply):
            return value  # the toolkit's own word, an error among them: it says what failed and how to go on
        raw = value.raw_output if isinstance(value, ToolOutput) else value
        if says_error(raw) or (raw is not value and says_error(value)):
            raise ToolSaidError
        spec = self.gate.spec
        if not isinstance(spec, ReadSpec):
            return value
        structured = getattr(raw, "structured_content", None) if spec.judge is None else None
        return raw if structured is None else structured


def says_error(value: Any) -> bool:
    """Tells whether a returned value marks itself as failed, as an MCP result does; LlamaIndex takes it for success."""
    return getattr(value, "is_error", None) is True or getattr(value, "isError", None) is True


class Protected(AsyncBaseTool):
    """What every protected tool does. Made by `protected`, beside the class of the tool that is wrapped."""

    _door: Door

    def __call__(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        given = Given(args, kwargs)
        del args, kwargs
        return self.call(*given.args, **given.kwargs)

    def call(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Judges the call and runs the tool. A refusal is returned, never raised."""
        given = Given(args, kwargs)
        del args, kwargs
        return self._output(*self._door.call(given))

    async def acall(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Judges the call and runs the tool. A refusal is returned, never raised."""
        given = Given(args, kwargs)
        del args, kwargs
        return self._output(*await self._door.acall(given))

    def __copy__(self) -> Self:
        """Returns a copy that is known as protected, too."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        bear(other, self._door.gate)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def _output(self, reply: Reply, sent: Sent) -> ToolOutput:
        value, name = reply.value, self._door.gate.name
        raw_input = {"args": (), "kwargs": sent.args}
        if not reply.passes:
            return ToolOutput(name, reply.content, None, raw_input, reply.artifact, reply.is_error)
        if isinstance(value, ToolOutput):
            return value
        blocks = [TextBlock(text=value)] if isinstance(value, str) else self._blocks(value)
        return ToolOutput(name, None, blocks, raw_input, value)

    def _blocks(self, value: Any) -> list[Any]:
        return [TextBlock(text=str(value))]


_dispatcher: Final = get_dispatcher(__name__)
_SPANNED: Final = (vars(Protected)["call"], vars(Protected)["acall"])
"""The methods as LlamaIndex wraps them for its instrumentation; a span costs as much as the rest of a call."""


def _is_watched() -> bool:
    """Tells whether any handler would learn of a span or an event of a tool."""
    watcher: Any = _dispatcher
    while True:
        for handler in (*watcher.span_handlers, *watcher.event_handlers):
            if not isinstance(handler, NullSpanHandler | NullEventHandler):
                return True
        if not watcher.propagate:
            return False
        watcher = watcher.parent


def _call(self: Protected, /, *args: Any, **kwargs: Any) -> ToolOutput:
    """Judges the call and runs the tool. A refusal is returned, never raised."""
    given = Given(args, kwargs)
    del args, kwargs
    if _is_watched():
        return cast(ToolOutput, _SPANNED[0].__get__(self, type(self))(*given.args, **given.kwargs))
    return self._output(*self._door.call(given))


async def _acall(self: Protected, /, *args: Any, **kwargs: Any) -> ToolOutput:
    """Judges the call and runs the tool. A refusal is returned, never raised."""
    given = Given(args, kwargs)
    del args, kwargs
    if _is_watched():
        return cast(ToolOutput, await _SPANNED[1].__get__(self, type(self))(*given.args, **given.kwargs))
    return self._output(*await self._door.acall(given))


# Set after the class is made, since making it wraps them in a span. Nobody misses a span that no handler sees.
Protected.call = _call  # type: ignore[method-assign]
Protected.acall = _acall  # type: ignore[method-assign]


class ProtectedFunction(Protected, FunctionTool):
    """A protected `FunctionTool`. Its functions are guarded too, and tell what a model would be told."""

    def _blocks(self, value: Any) -> list[Any]:
        return cast(list[Any], self._parse_tool_output(value))


@functools.cache
def _class_for(kind: type[BaseTool]) -> type[BaseTool]:
    first = ProtectedFunction if issubclass(kind, FunctionTool) else Protected
    bases = (first,) if kind is FunctionTool else (first, kind)
    return cast(type[BaseTool], type(f"Protected{kind.__name__}", bases, {}))


def protected(tool: BaseTool, spec: Spec) -> Protected:
    """Returns a tool like the given one that stands behind the gate of a declaration. The given one is not changed.

    Raises:
        InvalidInput: the tool is protected already, or has no name.
    """
    name = tool.metadata.name
    if not name:
        raise InvalidInput(field="tool", rule="must have a name")
    if isinstance(tool, Protected) or gate_of(tool) is not None:
        raise InvalidInput(field=name, rule="is protected already")
    guarded = copy.copy(tool)
    if isinstance(spec, ReadSpec) and spec.deadline:
        with_deadline(guarded)
    guarded.__class__ = _class_for(type(tool))
    parameters = Parameters.of(guarded, wraps=tool)
    parameters.check(spec, tool=name)
    if isinstance(spec, WriteSpec) and spec.action is not None:
        parameters = replace(parameters, checked=False)
    aliases = parameters.aliases
    spec = spec.under(aliases) if isinstance(spec, ReadSpec) else spec
    bodies = _function_bodies(tool, parameters) if _is_plain(tool) else _tool_bodies(tool, parameters)
    real = tool.real_fn if isinstance(tool, FunctionTool) else None
    returns = may_return_results(real)
    door = Door(
        Gate(name, spec), parameters, *bodies, may_return_results=returns, aliases=aliases,
        paging=parameters.paging if isinstance(spec, ReadSpec) else {}, given=in_a_scope(parameters.fixed),
    )  # fmt: skip
    guarded._door = door  # type: ignore[attr-defined]
    if isinstance(guarded, FunctionTool):
        _seal(guarded, door)
    bear(guarded, door.gate)
    return cast(Protected, guarded)


def may_return(tool: Any) -> bool:
    """Tells whether the code behind a protected tool may return a `ReadResult`."""
    door = getattr(tool, "_door", None)
    return isinstance(door, Door) and door.may_return_results


def _is_plain(tool: BaseTool) -> bool:
    return (
        isinstance(tool, FunctionTool)
        and type(tool).call.__qualname__ == FunctionTool.call.__qualname__
        and type(tool).acall.__qualname__ == FunctionTool.acall.__qualname__
    )


def _function_bodies(tool: BaseTool, parameters: Parameters) -> tuple[Body, Callable[..., Awaitable[Any]]]:
    """The bodies of a `FunctionTool`: its function, then its callback, which may speak for it."""
    assert isinstance(tool, FunctionTool)
    fn, async_fn, name = tool._fn, tool._async_fn, tool.metadata.get_name()

    def answer(value: Any, said: Any, sent: Sent) -> Any:
        if said is None or isinstance(said, ToolOutput):
            return value if said is None else said
        return ToolOutput(name, str(said), None, {"args": (), "kwargs": sent.args}, value)

    def body(sent: Sent, deadline_s: float | None) -> Any:
        given, limit = parameters.ready(sent, deadline_s=deadline_s)
        value = fn(**given.kwargs) if limit is None else within(limit, lambda: fn(**given.kwargs))
        return value if tool._callback is None else answer(value, tool._run_sync_callback(value), sent)

    async def async_body(sent: Sent, deadline_s: float | None) -> Any:
        given, limit = parameters.ready(sent, deadline_s=deadline_s)
        if limit is None:
            value = await async_fn(**given.kwargs)
        else:
            async with asyncio.timeout(limit):
                value = await async_fn(**given.kwargs)
        return value if tool._async_callback is None else answer(value, await tool._run_async_callback(value), sent)

    return body, async_body


def _tool_bodies(tool: BaseTool, parameters: Parameters) -> tuple[Body, Callable[..., Awaitable[Any]]]:
    """The bodies of any other tool: its own `call` and `acall`, whatever they do."""

    def body(sent: Sent, deadline_s: float | None) -> Any:
        given, limit = parameters.ready(sent, deadline_s=deadline_s)
        called = cast(Callable[..., Any], tool)
        return called(**given.kwargs) if limit is None else within(limit, lambda: called(**given.kwargs))

    async def async_body(sent: Sent, deadline_s: float | None) -> Any:
        given, limit = parameters.ready(sent, deadline_s=deadline_s)
        async with asyncio.timeout(limit):
            if isinstance(tool, AsyncBaseTool):
                return await tool.acall(**given.kwargs)
            return await asyncio.to_thread(cast(Callable[..., Any], tool), **given.kwargs)

    return body, async_body


def _seal(tool: FunctionTool, door: Door) -> None:
    """Puts guarded functions where a `FunctionTool` keeps its own: code agents and loaders call those."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        given = Given(args, kwargs)
        del args, kwargs
        return _spoken(door.call(given)[0])

    async def async_fn(*args: Any, **kwargs: Any) -> Any:
        given = Given(args, kwargs)
        del args, kwargs
        return _spoken((await door.acall(given))[0])

    real = tool.real_fn
    told = inspect.signature(real)
    signature = OpenSignature(list(told.parameters.values()), return_annotation=told.return_annotation)
    for guarded in (fn, async_fn):
        functools.update_wrapper(guarded, real)
        vars(guarded).pop("__wrapped__", None)  # it would lead around the gate
        vars(guarded)["__signature__"] = signature
        bear(guarded, door.gate)
    tool._fn, tool._async_fn = fn, async_fn
    tool._real_fn = async_fn if inspect.iscoroutinefunction(real) else fn


def _spoken(reply: Reply) -> Any:
    if reply.passes:
        return reply.value.raw_output if isinstance(reply.value, ToolOutput) else reply.value
    told = Told(reply.content)
    told.is_error, told.raw_output = reply.is_error, reply.artifact
    return told
