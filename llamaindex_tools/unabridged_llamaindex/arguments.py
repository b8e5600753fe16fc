"""The arguments of a call: bound to the names a tool declares, and checked, since LlamaIndex itself checks nothing."""

from __future__ import annotations

import dataclasses
import inspect
from collections import OrderedDict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from llama_index.core.tools import BaseTool, FunctionTool
from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic.fields import FieldInfo
from unabridged.contract import InvalidInput
from unabridged.contract.asked import paging_in
from unabridged.gate.arguments import Problem, aliases_of, defaults_of, problems_of, sent_twice, undeclared
from unabridged.gate.declare import ReadSpec, Spec, check_arguments
from workflows import Context

from .run import running_step

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
DEADLINE: Final = "deadline_s"
_DEADLINE_TEXT: Final = "How many seconds to wait for the source; only after a read was cut short by time."


@dataclass(frozen=True, slots=True)
class Given:
    """Arguments on their way through frames. Their repr shows none: error trackers send the locals of frames."""

    args: tuple[Any, ...] = field(default=(), repr=False)
    kwargs: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Sent:
    """The arguments of one call.

    `args` are what the model or the caller sent, by name; `all_args` adds what the author of the tool has set.
    """

    args: dict[str, Any] = field(repr=False)
    all_args: dict[str, Any] = field(repr=False)
    context: Context[Any] | None = None
    problems: tuple[Problem, ...] = ()


class OpenSignature(inspect.Signature):
    """A signature that takes any name, so that a name the tool does not have reaches the gate and is refused there.

    `call_tool` passes the value of an argument that does not fit by position, and its name would be lost.
    """

    def bind_partial(self, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
        """Binds nothing, and never fails."""
        return inspect.BoundArguments(self, OrderedDict())


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a tool declares of its arguments, read once when it is wrapped.

    Attributes:
        schema: validates what is sent.
        declared: the names that may be sent.
        order: the names of positional arguments.
        fixed: what the author of the tool has set.
        defaults: the values of arguments that were not sent, where the signature holds them in a `Field`.
        context: the argument that takes the run's context.
        takes: the names that the body takes; `None` when it takes any.
        checked: whether they are checked here; an action checks its own.
        unsent: the values that the code gives to its parameters where a call does not.
        aliases: the other names under which arguments are sent, each with that of its field.
    """

    schema: type[BaseModel] | None
    declared: frozenset[str]
    order: tuple[str, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    context: str | None = None
    takes: frozenset[str] | None = None
    checked: bool = True
    unsent: Mapping[str, Any] = field(default_factory=dict, repr=False)
    aliases: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, tool: BaseTool, *, wraps: BaseTool) -> Self:
        """Returns the parameters of a tool, which may show more of them than the one it wraps."""
        schema = tool.metadata.fn_schema
        properties = tuple(tool.metadata.get_parameters_dict().get("properties", {}))
        aliases = {} if schema is None else aliases_of(schema.model_fields)
        if not isinstance(tool, FunctionTool):
            takes = frozenset(wraps.metadata.get_parameters_dict().get("properties", {}))
            unsent = _unsent(
                getattr(wraps, "call", wraps.__call__), schema, {*properties, *aliases.values()}, is_filled=True
            )
            return cls(schema, frozenset(properties), properties, takes=takes, unsent=unsent, aliases=aliases)
        context, fixed = tool.ctx_param_name, dict(tool.partial_params)
        parameters = inspect.signature(tool.real_fn).parameters.values()
        order = tuple(p.name for p in parameters if p.kind in _POSITIONAL and p.name != context and p.name not in fixed)
        any_name = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
        return cls(
            schema,
            frozenset(n for n in properties if n not in fixed),
            order,
            fixed,
            dict(tool._field_defaults),
            context,
            None if any_name else frozenset(p.name for p in parameters),
            unsent=_unsent(tool.real_fn, schema, {*properties, *aliases.values()}, is_filled=any_name),
            aliases=aliases,
        )

    def check(self, spec: Spec, *, tool: str) -> None:
        """Refuses a declaration that names an argument which the tool, told by its name, does not have."""
        if self.schema is None or self.schema.model_config.get("extra") != "allow":
            known = {*self.declared, *self.fixed, *self.defaults, *self.aliases.values()}
            check_arguments(spec, known, tool=tool)

    def taken_besides(self, sent: Iterable[str], *, names: Container[str]) -> dict[str, Any]:
        """Returns the values that the code takes for the named fields where a call sends none, under whatever name."""
        aliases = self.aliases
        told = {aliases.get(name, name) for name in sent}
        unsent = {aliases.get(n, n): (n, v) for n, v in {**self.unsent, **self.defaults}.items()}
        return dict(found for name, found in unsent.items() if name in names and name not in told)

    @property
    def paging(self) -> dict[str, Any]:
        """The pages and sizes that the tool takes where no model sends any."""
        return paging_in({**self.unsent, **self.defaults, **self.fixed})

    def of_a_read(self, spec: ReadSpec, sent: Iterable[str]) -> dict[str, Any]:
        """Returns what a read is told apart by although no model sends it: what the author has set, a default key."""
        default = {} if spec.key is None else self.taken_besides(sent, names=(spec.key,))
        return {**default, **{n: v for n, v in self.fixed.items() if n in spec.takes()}}

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sent:
        """Returns a call's arguments by name, with what is wrong about them."""
        context = None
        if self.context is not None and isinstance(kwargs.get(self.context), Context):
            kwargs = dict(kwargs)
            context = kwargs.pop(self.context)
        if args:
            taken = self.order[: len(args)]
            if len(args) > len(self.order) or not kwargs.keys().isdisjoint(taken):
                return Sent(kwargs, kwargs, context, (("arguments", "do not fit the arguments of this tool"),))
            kwargs = {**dict(zip(taken, args, strict=True)), **kwargs}
        everything = {**self.defaults, **self.fixed, **kwargs} if self.fixed or self.defaults else kwargs
        return Sent(kwargs, everything, context, self._problems(kwargs))

    def _problems(self, sent: dict[str, Any]) -> tuple[Problem, ...]:
        schema = self.schema
        if not self.checked:
            return ()
        if not sent.keys() <= self.declared:
            is_open = schema is not None and schema.model_config.get("extra") == "allow"
            problems = undeclared(sent, declared=sent if is_open else self.declared, fixed=self.fixed)
            if problems:
                return tuple(problems)
        if self.aliases and (twice := sent_twice([*sent, *self.fixed], aliases=self.aliases)):
            return tuple(twice)
        if schema is None:
            return ()
        try:
            schema.__pydantic_validator__.validate_python(self._with_fixed(sent, schema))
        except ValidationError as error:
            return tuple(problems_of(error))
        except Exception:  # noqa: BLE001 - the outermost boundary: a validator of the user's may raise anything
            return (("arguments", "could not be checked by the schema of this tool"),)
        return ()

    def _with_fixed(self, sent: dict[str, Any], schema: type[BaseModel]) -> dict[str, Any]:
        fixed = {n: v for n, v in self.fixed.items() if n in schema.model_fields}
        return {**fixed, **sent} if fixed else sent

    def ready(self, sent: Sent, *, deadline_s: float | None) -> tuple[Given, float | None]:
        """Returns what a function's body is called with, and the deadline that it does not keep by itself."""
        ready = dict(sent.all_args)
        if self.context is not None:
            ready[self.context] = sent.context or _running_context()
        if DEADLINE not in ready or self.takes is None or DEADLINE in self.takes:
            if deadline_s is not None:
                ready[DEADLINE] = deadline_s
            return Given((), ready), None
        del ready[DEADLINE]
        return Given((), ready), deadline_s


def _unsent(code: Any, schema: type[BaseModel] | None, names: Container[str], *, is_filled: bool) -> dict[str, Any]:
    """Returns the values that a body takes for what a call does not send.

    Args:
        code: what is called.
        schema: the schema of the arguments.
        names: those that the fields may have.
        is_filled: whether the code may fill in what was not sent from the schema, since it takes any name.
    """
    told = defaults_of(code, names)
    if schema is None or not is_filled:
        return told
    filled = {name: _default(info) for name, info in schema.model_fields.items()}
    return {**{name: value for name, value in filled.items() if value is not None}, **told}


def _default(info: FieldInfo) -> Any:
    """Returns the default of a field; nothing where there is none, or none that is known without a call."""
    if info.is_required():
        return None
    try:
        return info.get_default(call_default_factory=True)
    except Exception:  # noqa: BLE001 - a factory of the user's may raise anything
        return None


def _running_context() -> Context[Any] | None:
    step = running_step()
    return None if step is None else step[0]


def with_deadline(tool: BaseTool) -> BaseTool:
    """Returns the tool with an optional argument `deadline_s` in its schema, unless it has one."""
    metadata = tool.metadata
    if DEADLINE in metadata.get_parameters_dict().get("properties", {}):
        return tool
    schema = create_model(
        metadata.get_name(),
        __base__=metadata.fn_schema or BaseModel,
        **{DEADLINE: (float | None, Field(default=None, description=_DEADLINE_TEXT))},  # type: ignore[call-overload]
    )
    tool._metadata = dataclasses.replace(metadata, fn_schema=schema)  # type: ignore[attr-defined]
    if tool.metadata.fn_schema is not schema:
        raise InvalidInput(field="deadline", rule="goes with a tool whose schema can be extended")
    return tool
