"""A LangChain tool that carries its guard: a subclass of the tool's own class, so that nothing of it is lost.

The class overrides what leads to the body and what checks the arguments. Everything else (name, description, schema,
tags, metadata, extras, response format, injected arguments) stays as it was.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.runnables import RunnableConfig, run_in_executor
from langchain_core.tools import BaseTool, StructuredTool, Tool, ToolException
from langchain_core.tools.base import (
    FILTERED_ARGS,
    _get_runnable_config_param,
)
from pydantic import BaseModel, PrivateAttr, ValidationError
from pydantic.v1 import ValidationError as ValidationErrorV1
from unabridged._ambient import Boxed, Held
from unabridged.contract.asked import paging_in
from unabridged.gate.arguments import (
    Problem,
    defaults_of,
    json_schema_problems,
    problems_of,
    sent_twice,
    undeclared,
)
from unabridged.gate.declare import ReadSpec, WriteSpec, check_arguments
from unabridged.gate.runtime import Gate
from unabridged.gate.turn import bear, gate_of

from ._body import DEADLINE, Body, Given, Refused, Sent, sending
from ._inside import joined_by_none, told_in_outlines
from ._runs import watched_run
from ._schema import aliases_in, declared_names, injected_names, schema_defaults, takes_any_name, with_deadline
from ._standing import guarded_coroutine, guarded_func, parameters_of, resolve_hints, rest_of

_ENTRIES: Final = ("invoke", "ainvoke", "run", "arun")


class Carried:
    """What a guarded tool knows of the tool it was made from. A copy of the tool shares it."""

    def __init__(self, gate: Gate, tool: BaseTool, body: Body, *, declared: dict[str, None], any_name: bool) -> None:
        self.gate = gate
        self.tool = tool
        self.body = body
        self.declared = declared
        self.any_name = any_name
        self.own_entry = any(getattr(type(tool), n) is not getattr(_plain_class(tool), n) for n in _ENTRIES)
        self.single = isinstance(tool, Tool) and tool.args_schema is None
        self.acts = isinstance(gate.spec, WriteSpec) and gate.spec.action is not None
        self.by_func = type(tool)._run in (StructuredTool._run, Tool._run) and not self.own_entry

    def __deepcopy__(self, memo: dict[int, Any]) -> Carried:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a protected tool cannot be pickled: its guard belongs to this process")


class GuardedTool:
    """What a protected tool adds to its class. Made by `wrap`."""

    _carried: Carried

    def run(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        """Runs the tool; its body judges the call."""
        carried, held, under = self._carried, Boxed(tool_input), Boxed(kwargs)
        del tool_input, kwargs
        with self._sent(held.value, under.value.get("tool_call_id")), watched_run(carried.gate.name, under.value):
            return BaseTool.run(self, held.take(), *args, **under.take())

    async def arun(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        """As `run`, without blocking."""
        carried, held, under = self._carried, Boxed(tool_input), Boxed(kwargs)
        del tool_input, kwargs
        with self._sent(held.value, under.value.get("tool_call_id")), watched_run(carried.gate.name, under.value):
            return await BaseTool.arun(self, held.take(), *args, **under.take())

    def invoke(self: Any, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Runs the tool; its body judges the call."""
        held, under = Boxed(input), Boxed(config)
        del input, config
        return BaseTool.invoke(self, held.take(), under.take(), **kwargs)

    async def ainvoke(self: Any, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """As `invoke`, without blocking."""
        carried, held, under = self._carried, Boxed(input), Boxed(config)
        del input, config
        if carried.by_func and not self.coroutine:
            return await run_in_executor(under.value, self.invoke, held.take(), under.take(), **kwargs)
        return await BaseTool.ainvoke(self, held.take(), under.take(), **kwargs)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        """Sets a field. A tool under another name is another tool to the guard."""
        if name != "name" or value == self.name:
            super().__setattr__(name, value)
            return
        renamed = self.model_copy(update={"name": value})
        self.__dict__.update(renamed.__dict__)
        object.__setattr__(self, "__pydantic_private__", renamed.__pydantic_private__)

    def model_copy(self: Any, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
        """Copies the tool with its guard. A copy under another name gets a gate of that name."""
        copy = super().model_copy(update=update, deep=deep)  # type: ignore[misc]
        name = (update or {}).get("name", self.name)
        if name == self._carried.gate.name:
            return copy
        inner = self._carried.tool.model_copy(update={"name": name})
        fresh = wrap(inner, replace(self._carried.gate, name=name), beside=self._carried.body.beside)
        for field in ("func", "coroutine"):
            if field in fresh.__dict__ and _is_guarded(copy.__dict__[field], self._carried.gate):
                copy.__dict__[field] = fresh.__dict__[field]
        private = {**copy.__pydantic_private__, "_carried": fresh._carried}  # type: ignore[attr-defined]
        object.__setattr__(copy, "__pydantic_private__", private)
        return copy

    def get_input_schema(self: Any, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Returns the schema of the arguments, that of the tool it was made from where it has none of its own."""
        if self.args_schema is None:
            return self._carried.tool.get_input_schema(config)  # type: ignore[no-any-return]
        return super().get_input_schema(config)  # type: ignore[misc, no-any-return]

    @property
    def _injected_args_keys(self: Any) -> frozenset[str]:
        return self._carried.tool._injected_args_keys  # type: ignore[no-any-return]

    def _sent(self: Any, tool_input: Any, call_id: str | None) -> Held[Any]:
        """Lets the body of the run in the block know what was sent."""
        carried: Carried = self._carried
        body = carried.body
        if carried.single:
            values = list(tool_input.values()) if isinstance(tool_input, Mapping) else [tool_input]
            args = dict(zip(body.order, values, strict=False))
        elif isinstance(tool_input, Mapping):
            args = {n: v for n, v in tool_input.items() if n not in body.injected}
        else:
            args = {next(iter(carried.declared), "tool_input"): tool_input}
        return sending(Sent(body.gate, args, call_id))

    def _filter_injected_args(self: Any, tool_input: dict[str, Any]) -> dict[str, Any]:
        injected = self._carried.body.injected
        return {name: value for name, value in tool_input.items() if name not in injected}

    def _to_args_and_kwargs(
        self: Any, tool_input: Any, tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Checks the arguments. What is wrong with them travels to the body, which says so without their values."""
        carried = self._carried
        if isinstance(tool_input, dict):
            problems = self._problems(tool_input)
            if problems:
                return (Refused(tuple(problems)),), {}
        try:
            return super()._to_args_and_kwargs(tool_input, tool_call_id)  # type: ignore[misc, no-any-return]
        except (ValidationError, ValidationErrorV1) as error:
            return (Refused(tuple(_told(error))),), {}
        except ToolException:
            return (Refused((("arguments", "do not fit this tool"),)),), {}
        except Exception as error:  # the outermost tool boundary: a validator of the user's may raise anything
            if _is_word_to_the_developer(error):
                del tool_input
                raise
            return (Refused((("arguments", f"do not fit {carried.gate.name}"),)),), {}

    def _problems(self: Any, tool_input: dict[str, Any]) -> list[Problem]:
        carried = self._carried
        injected = carried.body.injected
        if carried.acts:
            return []  # its action checks for itself
        if isinstance(self.args_schema, dict):
            return json_schema_problems(self.args_schema, tool_input, given=injected)
        aliases = carried.body.aliases
        twice = sent_twice(tool_input, aliases=aliases) if aliases else []
        if carried.any_name or carried.single or tool_input.keys() <= carried.declared.keys():
            return twice
        return [*twice, *undeclared([n for n in tool_input if n not in injected], declared=carried.declared)]

    def _run(
        self: Any,
        *args: Any,
        config: RunnableConfig,
        run_manager: CallbackManagerForToolRun | None = None,
        **kwargs: Any,
    ) -> Any:
        """Runs the body under its guard."""
        carried: Carried = self._carried
        given = Given(args, kwargs)
        del args, kwargs
        if carried.by_func:
            code = _Code(super()._run, config=config, run_manager=run_manager)  # type: ignore[misc]
            del config
            if self.func is None or _is_guarded(self.func, carried.gate):
                return code(*given.args, **given.kwargs)
            return carried.body.run(code, given)
        code = _inner_run(carried, config, run_manager)
        del config
        return carried.body.run(code, given)

    async def _arun(
        self: Any,
        *args: Any,
        config: RunnableConfig,
        run_manager: AsyncCallbackManagerForToolRun | None = None,
        **kwargs: Any,
    ) -> Any:
        """Runs the body under its guard."""
        carried: Carried = self._carried
        given = Given(args, kwargs)
        del args, kwargs
        if carried.by_func and self.coroutine:
            code = _Code(super()._arun, config=config, run_manager=run_manager)  # type: ignore[misc]
            del config
            if _is_guarded(self.coroutine, carried.gate):
                return await code(*given.args, **given.kwargs)
            return await carried.body.arun(code, given)
        if not carried.by_func and (carried.own_entry or type(carried.tool)._arun is not BaseTool._arun):
            code = _inner_arun(carried, config, run_manager)
            del config
            return await carried.body.arun(code, given)
        sync = None if run_manager is None else run_manager.get_sync()
        code = _Code(self._run, config=config, run_manager=sync)
        del config
        return await run_in_executor(None, code, *given.args, **given.kwargs)


for _method in (GuardedTool._run, GuardedTool._arun):
    resolve_hints(_method)


class _Code(partial[Any]):
    """The code of a tool with its config, in which a person's answer may stand: no tracker of frames learns it."""

    def __repr__(self) -> str:
        return "<the code of a tool>"


def _plain_class(tool: BaseTool) -> type[BaseTool]:
    return next(c for c in (StructuredTool, Tool, BaseTool) if isinstance(tool, c))


def _is_guarded(code: Any, gate: Gate) -> bool:
    return gate_of(code) is gate


def _inner_run(carried: Carried, config: RunnableConfig, run_manager: CallbackManagerForToolRun | None) -> Any:
    tool = carried.tool
    if carried.own_entry:
        return _Code(_entry, tool, config, run_manager)
    return _Code(tool._run, **_wanted(tool._run, config, run_manager))


def _inner_arun(carried: Carried, config: RunnableConfig, run_manager: AsyncCallbackManagerForToolRun | None) -> Any:
    tool = carried.tool
    if carried.own_entry:
        return _Code(_aentry, tool, config, run_manager)
    return _Code(tool._arun, **_wanted(tool._arun, config, run_manager))


def _entry(tool: BaseTool, config: RunnableConfig, run_manager: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls a tool whose class has an entry of its own, as one run with its guarded shell."""
    options, held = Boxed(_inner_config(config, run_manager)), Boxed(args[0] if args else kwargs)
    del config, args, kwargs
    with watched_run(tool.name, options.value), joined_by_none(options.value["callbacks"]):
        return tool.invoke(held.take(), RunnableConfig(**options.take()))  # type: ignore[typeddict-item]


async def _aentry(tool: BaseTool, config: RunnableConfig, run_manager: Any, *args: Any, **kwargs: Any) -> Any:
    options, held = Boxed(_inner_config(config, run_manager)), Boxed(args[0] if args else kwargs)
    del config, args, kwargs
    with watched_run(tool.name, options.value), joined_by_none(options.value["callbacks"]):
        return await tool.ainvoke(held.take(), RunnableConfig(**options.take()))  # type: ignore[typeddict-item]


def _inner_config(config: RunnableConfig | None, run_manager: Any) -> dict[str, Any]:
    """Returns the config of the run inside."""
    inner = None if run_manager is None else run_manager.get_child()
    if inner is not None:
        told_in_outlines(inner)
    return {**(config or {}), "run_id": None, "callbacks": inner}


@functools.lru_cache(maxsize=1024)
def _config_name(function: Any) -> tuple[bool, str | None]:
    return "run_manager" in parameters_of(function), _get_runnable_config_param(function)


def _wanted(method: Any, config: RunnableConfig, run_manager: Any) -> dict[str, Any]:
    takes_manager, config_name = _config_name(method.__func__) if hasattr(method, "__func__") else (False, None)
    wanted: dict[str, Any] = {"run_manager": run_manager} if takes_manager else {}
    if config_name is not None:
        wanted[config_name] = config
    return wanted


def _is_word_to_the_developer(error: Exception) -> bool:
    """Tells whether LangChain itself raised it: no value is in it. One of a validator of the user's may hold some."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised_in = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    is_theirs = raised_in.split(".")[0] == "langchain_core"
    return is_theirs and isinstance(error, ValueError | TypeError | NotImplementedError)


def _told(error: ValidationError | ValidationErrorV1) -> list[Problem]:
    if isinstance(error, ValidationError):
        return problems_of(error)
    found = {(str(e["loc"][0]), f"is not valid: {e['type']}"): None for e in error.errors() if e["loc"]}
    return list(found)


_classes: Final[dict[type[BaseTool], type[BaseTool]]] = {}


def _class_for(kind: type[BaseTool]) -> type[BaseTool]:
    found = _classes.get(kind)
    if found is None:
        namespace: dict[str, Any] = {
            "__module__": __name__,
            "__qualname__": f"Guarded{kind.__name__}",
            "__doc__": kind.__doc__,
            "__annotations__": {"_carried": Any},
            "_carried": PrivateAttr(default=None),
        }
        found = _classes[kind] = type(f"Guarded{kind.__name__}", (GuardedTool, kind), namespace)
    return found


def wrap(tool: BaseTool, gate: Gate, *, beside: frozenset[str] = frozenset()) -> BaseTool:
    """Returns a copy of a tool that carries a gate in its body. The tool itself stays as it is.

    Args:
        tool: the tool.
        gate: the gate, with the tool's name.
        beside: the names of the tools that are protected together with it.

    Raises:
        InvalidInput: the declaration names an argument that the tool does not have.
    """
    spec = gate.spec
    schema = with_deadline(tool) if isinstance(spec, ReadSpec) and spec.deadline else tool.args_schema
    any_name = takes_any_name(tool)
    declared = declared_names(tool, schema)
    if not any_name:
        check_arguments(spec, declared, tool=gate.name)
    aliases = aliases_in(tool, tool.args_schema)
    if isinstance(spec, ReadSpec) and aliases:
        gate = replace(gate, spec=spec.under(aliases))
    body = replace(_body_of(tool, gate, any_name=any_name), beside=beside)
    copy = tool.model_copy(update={"args_schema": schema})
    carried = Carried(gate, tool, body, declared=declared, any_name=any_name)
    for name, make in (("func", guarded_func), ("coroutine", guarded_coroutine)):
        inner = copy.__dict__.get(name)
        if inner is not None and callable(inner):
            copy.__dict__[name] = make(body, inner)
    copy.__dict__.pop("_injected_args_keys", None)
    object.__setattr__(copy, "__pydantic_private__", {**(copy.__pydantic_private__ or {}), "_carried": carried})
    object.__setattr__(copy, "__class__", _class_for(type(tool)))
    bear(carried, gate)
    return copy


def _body_of(tool: BaseTool, gate: Gate, *, any_name: bool) -> Body:
    code = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool._run
    taken, unsent = parameters_of(code), schema_defaults(tool.args_schema)
    aliases = aliases_in(tool, tool.args_schema)
    takes = gate.spec.takes() if isinstance(gate.spec, ReadSpec | WriteSpec) else frozenset()
    by_itself = takes
    if isinstance(gate.spec, ReadSpec):
        by_itself = frozenset({gate.spec.key or "", *paging_in(dict.fromkeys([*taken, *unsent]))})
    judged = {aliases.get(name, name) for name in by_itself}
    single = isinstance(tool, Tool) and tool.args_schema is None
    return Body(
        gate,
        injected=injected_names(tool),
        with_artifact=tool.response_format == "content_and_artifact",
        handles_errors=bool(tool.handle_tool_error),
        takes_deadline=DEADLINE in taken or any_name,
        order=("tool_input",) if single else tuple(n for n in taken if n not in FILTERED_ARGS),
        aliases=aliases,
        takes=takes,
        defaults={**{n: v for n, v in unsent.items() if n in judged}, **defaults_of(code, judged)},
        rest=rest_of(code),
    )


def carried_by(tool: Any) -> Gate | None:
    """Returns the gate that a tool carries; nothing for any other. Only this process can make one carry it."""
    if not isinstance(tool, GuardedTool):
        return None
    carried = (tool.__pydantic_private__ or {}).get("_carried")  # type: ignore[attr-defined]
    return carried.gate if isinstance(carried, Carried) else None


def body_of(tool: Any) -> Body | None:
    """Returns the guarded body of a tool; nothing for any other."""
    return None if carried_by(tool) is None else tool._carried.body


def unwrapped(tool: Any) -> Any:
    """Returns the code of a tool, for what may be learnt from it."""
    inner = tool._carried.tool if carried_by(tool) is not None else tool
    return getattr(inner, "func", None) or getattr(inner, "coroutine", None) or getattr(inner, "_run", None)
