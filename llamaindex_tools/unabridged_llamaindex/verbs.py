"""The verbs of the toolkit for LlamaIndex: protect tools that exist, or declare functions as tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, overload

from llama_index.core.tools import BaseTool, FunctionTool
from unabridged.actions.approvals import Threshold
from unabridged.contract import InvalidInput, ReadResult
from unabridged.evidence import current_session
from unabridged.gate import (
    CONTINUE_READ,
    CONTINUE_TEXT,
    COUNT_READ,
    COUNT_TEXT,
    NEUTRAL,
    FollowUpSpec,
    ReadSpec,
    Reply,
    Spec,
    WriteSpec,
    continue_read,
    count_read,
    gate_of,
    plan,
    warn_of_hopeless_writes,
    write_spec,
)
from unabridged.gate.boundary import arun_step, run_step

from .tools import PAUSES, Protected, may_return, protected

if TYPE_CHECKING:
    from unabridged.actions import Action

Function = Callable[..., Any]


class Decorator(Protocol):
    """Makes a function a protected tool, or puts a tool that exists behind the gate."""

    @overload
    def __call__(self, function: BaseTool, /) -> Protected: ...
    @overload
    def __call__(self, function: Function, /) -> FunctionTool: ...


def protect(
    tools: Iterable[BaseTool | Function],
    *,
    reads: Mapping[str, Any] | None = None,
    writes: Mapping[str, Any] | None = None,
    independent: Mapping[str, str] | None = None,
    neutral: Iterable[str] = (),
    annotations: Mapping[str, Any] | None = None,
    trust_annotations: bool = False,
) -> list[Protected]:
    """Returns a new list with every tool behind the gate of its declaration.

    A tool that is not declared fails closed both ways: its calls are judged as writes, and what it returns is recorded
    as an unknown read. A value of `reads` or `writes` is a name (or names), or the keywords of the decorator.

    Args:
        tools: LlamaIndex tools, or plain functions.
        reads: the tools that leave evidence, with the resource that each reads.
        writes: the tools whose calls are judged, with the resources that each relies on.
        independent: the tools that write and rely on nothing, with the reason.
        neutral: the tools with neither effect nor evidence.
        annotations: what an MCP server says of its tools, by their names, for LlamaIndex keeps none of it: a write,
            declared or not, is destructive where they say so.
        trust_annotations: whether that server is trusted: a tool that is not declared and that they call read-only is a
            read of `tool:NAME`, and its calls are not judged.

    Raises:
        InvalidInput: a name that no tool has, or that two have, or that is declared twice.
    """
    given = [t if isinstance(t, BaseTool) else FunctionTool.from_defaults(t) for t in tools]
    names = [t.metadata.get_name() for t in given]
    known = {n: g.spec for n, t in zip(names, given, strict=True) if (g := gate_of(t)) is not None}
    told = plan(
        names, reads=reads, writes=writes, neutral=neutral, independent=independent, known=known,
        annotations=annotations, trust_annotations=trust_annotations,
    )  # fmt: skip
    guarded = [
        t if n in known and isinstance(t, Protected) else protected(t, told.of(n))
        for n, t in zip(names, given, strict=True)
    ]
    returning = {n: _returns_results if may_return(t) else None for n, t in zip(names, guarded, strict=True)}
    warn_of_hopeless_writes({name: told.of(name) for name in names}, returning)
    return guarded


def _returns_results() -> ReadResult:
    """Stands for the code of a tool that may return results: that of a protected tool cannot be looked at."""
    raise NotImplementedError


def read_tool(
    resource: str,
    *,
    judge: Any = None,
    exhaustive: bool = False,
    intent: Literal["inventory", "sample", "lookup"] = "inventory",
    key: str | None = None,
    filters: Mapping[str, str] | None = None,
    not_filters: Sequence[str] = (),
    id: str = "id",
    fields: Sequence[str] | None = None,
    deadline: bool = False,
    **tool: Any,
) -> Decorator:
    """Declares a function, sync or async, as a tool that reads `resource`.

    The function returns a `ReadResult`, or any value that `judge`, `(value, call) -> ReadResult`, turns into one:
    `call.result(records, *reasons)` makes it, and without a reason the records are all.

    Args:
        resource: the name under which its reads stand in the ledger.
        judge: see `ReadSpec`, as for all that follows.
        exhaustive: see `ReadSpec`.
        intent: see `ReadSpec`.
        key: see `ReadSpec`.
        filters: see `ReadSpec`.
        not_filters: see `ReadSpec`.
        id: see `ReadSpec`.
        fields: see `ReadSpec`.
        deadline: see `ReadSpec`.
        **tool: what `FunctionTool.from_defaults` takes besides, such as `name` and `description`.
    """
    spec = ReadSpec(
        resource=resource, judge=judge, exhaustive=exhaustive, intent=intent, key=key, filters=filters,
        not_filters=not_filters, id=id, fields=fields, deadline=deadline,
    )  # fmt: skip
    return _decorator(spec, tool)


def write_tool(
    *,
    relies_on: Sequence[Any] | None = None,
    targets: str | None = None,
    independent: str | None = None,
    destructive: bool = False,
    require: str | Sequence[str] = "complete",
    max_age_s: float | None = None,
    allow_returned_targets: bool = False,
    recheck: Callable[[Any], Any] | None = None,
    selection: str | None = None,
    approval: Literal["always"] | Threshold | None = None,
    show: Sequence[str] = (),
    purpose: str | None = None,
    max_targets: int | None = None,
    **tool: Any,
) -> Decorator:
    """Declares a function, sync or async, as a tool whose calls are judged before they run.

    Args:
        relies_on: see `WriteSpec`, as for all that follows.
        targets: see `WriteSpec`.
        independent: see `WriteSpec`.
        destructive: see `WriteSpec`.
        require: see `WriteSpec`.
        max_age_s: see `WriteSpec`.
        allow_returned_targets: see `WriteSpec`.
        recheck: see `WriteSpec`.
        selection: see `WriteSpec`.
        approval: see `WriteSpec`.
        show: see `WriteSpec`.
        purpose: see `WriteSpec`.
        max_targets: see `WriteSpec`.
        **tool: what `FunctionTool.from_defaults` takes besides, such as `name` and `description`.
    """
    spec = WriteSpec(
        relies_on=relies_on, targets=targets, independent=independent, destructive=destructive, require=require,
        max_age_s=max_age_s, allow_returned_targets=allow_returned_targets, recheck=recheck, selection=selection,
        approval=approval, show=show, purpose=purpose, max_targets=max_targets,
    )  # fmt: skip
    return _decorator(spec, tool)


@overload
def neutral_tool(function: BaseTool, /) -> Protected: ...
@overload
def neutral_tool(function: Function, /, **tool: Any) -> FunctionTool: ...
@overload
def neutral_tool(**tool: Any) -> Decorator: ...
def neutral_tool(function: Function | BaseTool | None = None, /, **tool: Any) -> Any:
    """Declares a function, sync or async, as a tool with neither effect nor evidence.

    Args:
        function: the function; without it, a decorator comes back.
        **tool: what `FunctionTool.from_defaults` takes, such as `name` and `description`.
    """
    decorate = _decorator(NEUTRAL, tool)
    return decorate if function is None else decorate(function)


def _decorator(spec: Spec, options: Mapping[str, Any]) -> Decorator:
    def decorate(function: Function | BaseTool, /) -> Any:
        if not isinstance(function, BaseTool):
            return protected(FunctionTool.from_defaults(function, **options), spec)
        for name in options:
            raise InvalidInput(field=name, rule="is no keyword of the declaration of a tool that exists")
        return protected(function, spec)

    return decorate


def action_tool(action: Action) -> FunctionTool:
    """Returns an action as a tool: its input is the schema, and its contract is held where the tool runs.

    What a model sends is checked by the action itself, strictly, and told back by field and rule. What comes back is
    what the action declares, and nothing else of what its executor got.

    Args:
        action: the action. Its name and its purpose are those of the tool.
    """

    def perform(**fields: Any) -> Any:
        raise NotImplementedError  # the action performs in its place

    async def aperform(**fields: Any) -> Any:
        raise NotImplementedError

    tool = FunctionTool.from_defaults(
        perform, async_fn=aperform, name=action.name, description=action.purpose, fn_schema=action.input
    )
    return cast(FunctionTool, protected(tool, write_spec(action)))


def as_read_tool(tool: BaseTool, resource: str, **declared: Any) -> Protected:
    """Returns an existing tool as one that reads `resource`; it keeps everything else that it is.

    What the model sees of a read is its short form, also where the tool has a callback with a text of its own.

    Args:
        tool: any LlamaIndex tool.
        resource: as in `read_tool`.
        **declared: as in `read_tool`.
    """
    return read_tool(resource, **declared)(tool)


def as_write_tool(tool: BaseTool, **declared: Any) -> Protected:
    """Returns an existing tool as one whose calls are judged; it keeps everything else that it is.

    Args:
        tool: any LlamaIndex tool.
        **declared: as in `write_tool`.
    """
    return write_tool(**declared)(tool)


def continue_read_tool() -> FunctionTool:
    """Returns the tool that goes on with a recorded read by its handle. The coverage agents have it by themselves."""

    def continue_read_now(handle: str) -> Any:
        step = continue_read(current_session(), handle)
        return step if isinstance(step, Reply) else run_step(step, interrupts=PAUSES)

    async def continue_read_then(handle: str) -> Any:
        step = continue_read(current_session(), handle)
        return step if isinstance(step, Reply) else await arun_step(step, interrupts=PAUSES)

    tool = FunctionTool.from_defaults(
        continue_read_now, async_fn=continue_read_then, name=CONTINUE_READ, description=CONTINUE_TEXT
    )
    return cast(FunctionTool, protected(tool, FollowUpSpec()))


def count_read_tool() -> FunctionTool:
    """Returns the tool that counts the records of a recorded read by code. The coverage agents have it too."""

    def count_read_now(handle: str, where: dict[str, Any] | None = None) -> Any:
        return count_read(current_session(), handle, where)

    tool = FunctionTool.from_defaults(count_read_now, name=COUNT_READ, description=COUNT_TEXT)
    return cast(FunctionTool, protected(tool, FollowUpSpec(asks_again=False)))
