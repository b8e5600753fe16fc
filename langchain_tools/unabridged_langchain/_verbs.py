"""The verbs that declare what a tool does: for plain functions, for tools that exist, and for a whole list of tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from langchain_core.tools import BaseTool, StructuredTool
from unabridged.actions.approvals import Threshold
from unabridged.contract import InvalidInput
from unabridged.gate.acting import write_spec
from unabridged.gate.annotations import hinted
from unabridged.gate.declare import NEUTRAL, ReadSpec, Spec, WriteSpec
from unabridged.gate.plan import plan, warn_of_hopeless_writes
from unabridged.gate.runtime import Gate

from ._guarded import carried_by, unwrapped, wrap

if TYPE_CHECKING:
    from unabridged.actions import Action

Function = Callable[..., Any]
Intent = Literal["inventory", "sample", "lookup"]


def read_tool(
    resource: str,
    *,
    judge: Any = None,
    exhaustive: bool = False,
    intent: Intent = "inventory",
    key: str | None = None,
    filters: Mapping[str, str] | None = None,
    not_filters: Sequence[str] = (),
    id: str = "id",
    fields: Sequence[str] | None = None,
    deadline: bool = False,
) -> Callable[[Function | BaseTool], BaseTool]:
    """Makes a function a tool that leaves evidence of what it read.

    The function returns a `ReadResult`, or any value that `judge` turns into one. Without a judge a bare value is
    `Unknown`: nothing says that it is all.

    Args:
        resource: the name of what is read.
        judge: a callable `(value, call) -> ReadResult`, or a profile. `call.result(records, *reasons)` makes the
            result: without a reason the records are all.
        exhaustive: the author's own statement that a value is always the whole.
        intent: `inventory`, `sample` or `lookup`.
        key: for a lookup, the argument that names the record.
        filters: renames arguments to filter fields.
        not_filters: arguments that are no filters.
        id: the field of a record that holds its id.
        fields: the record fields that the model may see; all when not given.
        deadline: adds an optional, capped argument `deadline_s`, in seconds.

    Raises:
        InvalidInput: a keyword breaks its rule.
    """
    spec = ReadSpec(
        resource=resource, judge=judge, exhaustive=exhaustive, intent=intent, key=key, filters=filters,
        not_filters=not_filters, id=id, fields=fields, deadline=deadline,
    )  # fmt: skip
    return lambda function: _declared(function, spec)


@overload
def write_tool(function: Function | BaseTool, /) -> BaseTool: ...
@overload
def write_tool(
    *,
    relies_on: Sequence[Any] | str | None = None,
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
) -> Callable[[Function | BaseTool], BaseTool]: ...
def write_tool(
    function: Function | BaseTool | None = None,
    /,
    *,
    relies_on: Sequence[Any] | str | None = None,
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
) -> Any:
    """Makes a function a tool whose calls are judged by the reads before them.

    A refusal is returned to the model as an error message; the function does not run then.

    Args:
        function: the function, where the decorator has no keywords.
        relies_on: the reads that are its evidence, as names or `{"resource", "filters"}`; by default every inventory
            read.
        targets: the argument that holds the ids it touches.
        independent: why it relies on nothing.
        destructive: whether it cannot be taken back.
        require: what the evidence must be, `complete` or more.
        max_age_s: how old the evidence may be, in seconds.
        allow_returned_targets: lets a partial read be enough for the ids it returned.
        recheck: looks at one target right before the write, `(id) -> bool`, sync or async; the function gets those that
            still hold.
        selection: the argument that takes the token of a selection; the ids come from it then.
        approval: when a person is asked although the evidence is good: `always`, or over a `Threshold`.
        show: the arguments whose values may stand on the card that a person decides on.
        purpose: what the write is for, in a few plain words.
        max_targets: how many ids one call may touch; it must name at least one then.

    Raises:
        InvalidInput: a keyword breaks its rule.
    """
    spec = WriteSpec(
        relies_on=[relies_on] if isinstance(relies_on, str) else relies_on, targets=targets, independent=independent,
        destructive=destructive, require=require, max_age_s=max_age_s, allow_returned_targets=allow_returned_targets,
        recheck=recheck, selection=selection, approval=approval, show=show, purpose=purpose, max_targets=max_targets,
    )  # fmt: skip
    if function is not None:
        return _declared(function, spec)
    return lambda given: _declared(given, spec)


@overload
def neutral_tool(function: Function | BaseTool, /) -> BaseTool: ...
@overload
def neutral_tool() -> Callable[[Function | BaseTool], BaseTool]: ...
def neutral_tool(function: Function | BaseTool | None = None, /) -> Any:
    """Makes a function a tool with no effect and no evidence: a calculator, a clock, a hand-off."""
    if function is not None:
        return _declared(function, NEUTRAL)
    return lambda given: _declared(given, NEUTRAL)


def as_read_tool(
    tool: BaseTool | Function,
    resource: str,
    *,
    judge: Any = None,
    exhaustive: bool = False,
    intent: Intent = "inventory",
    key: str | None = None,
    filters: Mapping[str, str] | None = None,
    not_filters: Sequence[str] = (),
    id: str = "id",
    fields: Sequence[str] | None = None,
    deadline: bool = False,
) -> BaseTool:
    """Returns a tool that exists as one that leaves evidence. Nothing of it is lost; keywords as in `read_tool`."""
    made = read_tool(
        resource, judge=judge, exhaustive=exhaustive, intent=intent, key=key, filters=filters,
        not_filters=not_filters, id=id, fields=fields, deadline=deadline,
    )  # fmt: skip
    return made(tool)


def as_write_tool(
    tool: BaseTool | Function,
    *,
    relies_on: Sequence[Any] | str | None = None,
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
) -> BaseTool:
    """Returns a tool that exists as one whose calls are judged. Nothing of it is lost; keywords as in `write_tool`."""
    made = write_tool(
        relies_on=relies_on, targets=targets, independent=independent, destructive=destructive, require=require,
        max_age_s=max_age_s, allow_returned_targets=allow_returned_targets, recheck=recheck, selection=selection,
        approval=approval, show=show, purpose=purpose, max_targets=max_targets,
    )  # fmt: skip
    return made(tool)


def action_tool(action: Action) -> BaseTool:
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

    tool = StructuredTool(
        name=action.name, description=action.purpose, args_schema=action.input.model_json_schema(), func=perform,
        coroutine=aperform,
    )  # fmt: skip
    return wrap(tool, Gate(action.name, write_spec(action)))


def protect(
    tools: Iterable[BaseTool | Function],
    *,
    reads: Mapping[str, Any] | None = None,
    writes: Mapping[str, Any] | None = None,
    independent: Mapping[str, str] | None = None,
    neutral: Iterable[str] = (),
    trust_annotations: bool = False,
) -> list[BaseTool]:
    """Returns the tools with their guards, as a new list. The given tools stay as they are.

    A tool that is not named fails closed both ways: its calls are judged as writes, and its results prove nothing.
    A write, named or not, is destructive where the annotations of its MCP server say so; langchain-mcp-adapters keeps
    them in the metadata of a tool.

    Args:
        tools: tools and plain functions; those that carry a guard already are kept as they are.
        reads: for each tool that reads, the name of its resource, or the keywords of `read_tool`.
        writes: for each tool that writes, the names of the reads it relies on, or the keywords of `write_tool`.
        independent: for each write that relies on nothing, why.
        neutral: the tools with no effect and no evidence.
        trust_annotations: whether the MCP server of these tools is trusted: a tool that is not named and that its
            annotations call read-only is a read of `tool:NAME`, and its calls are not judged.

    Raises:
        InvalidInput: a name that no tool has or that two have, a tool declared twice, or one that runs at the provider.
    """
    made = [_as_tool(each, position) for position, each in enumerate(tools)]
    gates = {tool.name: carried_by(tool) for tool in made}
    known: dict[str, Spec] = {name: gate.spec for name, gate in gates.items() if gate is not None}
    told = plan(
        [tool.name for tool in made], reads=reads, writes=writes, independent=independent,
        neutral=neutral, known=known, annotations={tool.name: tool.metadata for tool in made},
        trust_annotations=trust_annotations,
    )  # fmt: skip
    specs, names = {tool.name: told.of(tool.name) for tool in made}, frozenset(tool.name for tool in made)
    warn_of_hopeless_writes(specs, {tool.name: unwrapped(tool) for tool in made})
    return [
        tool if carried_by(tool) is not None else wrap(tool, Gate(tool.name, specs[tool.name]), beside=names)
        for tool in made
    ]


def _as_tool(given: Any, position: int) -> BaseTool:
    if isinstance(given, BaseTool):
        return given
    if isinstance(given, Mapping):
        rule = (
            "runs at the model's provider, where no guard reaches it; give it to the agent beside the protected tools"
        )
        raise InvalidInput(field=f"tools[{position}]", rule=rule)
    if not callable(given) or isinstance(given, type):
        raise InvalidInput(field=f"tools[{position}]", rule="must be a tool or a function")
    return tool_of(given)


def tool_of(function: Function) -> BaseTool:
    """Returns a plain tool of a function, with its name, its docstring and its signature."""
    text = inspect.getdoc(function) or ""
    is_async = inspect.iscoroutinefunction(inspect.unwrap(function))
    name = getattr(function, "__name__", type(function).__name__)
    return StructuredTool.from_function(
        func=None if is_async else function,
        coroutine=function if is_async else None,
        name=name,
        description=None if text else name,
        parse_docstring=bool(text),
    )


def _declared(given: Function | BaseTool, spec: Spec) -> BaseTool:
    tool = _as_tool(given, 0) if not isinstance(given, BaseTool) else given
    if carried_by(tool) is not None:
        raise InvalidInput(field=tool.name, rule="is declared already")
    return wrap(tool, Gate(name=tool.name, spec=hinted(tool.name, spec, tool.metadata)))
