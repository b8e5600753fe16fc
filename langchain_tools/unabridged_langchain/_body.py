"""The guard inside the tool body: the one layer that every way to a tool goes through.

`invoke`, `ainvoke`, `run`, `.func`, `.coroutine`, `_run`, `batch`, a `ToolNode`, a nested call and a bare thread all
end in the wrapped body. A refusal is returned, never raised.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolOutputMixin
from langchain_core.tools import ToolException
from unabridged._ambient import Boxed, Held
from unabridged.contract import Result
from unabridged.contract.asked import paging_in
from unabridged.gate.arguments import Problem, by_declared_names, in_a_scope, scoped, targets_of
from unabridged.gate.boundary import arun_body, run_body
from unabridged.gate.declare import ReadSpec, Spec, UndeclaredSpec, WriteSpec
from unabridged.gate.presenting import Reply
from unabridged.gate.refusing import guard_failed
from unabridged.gate.runtime import NO_CHANGES, Entered, Gate, Turn

from ._config import interrupts, running
from ._place import around, frame, inside, plain_turn, say_unseen, session_here, session_of_read, turn_here

_log = logging.getLogger("unabridged.langchain")
DEADLINE: Final = "deadline_s"


@dataclass(frozen=True, slots=True)
class Sent:
    """What a run of a tool was given.

    Attributes:
        gate: the gate of the tool that runs.
        args: the arguments as they were sent, without those that the framework injects.
        call_id: the id of the tool call.
    """

    gate: Gate
    args: Mapping[str, Any] = field(repr=False)
    call_id: str | None = None


_sent: Final[ContextVar[Sent | None]] = ContextVar("unabridged_langchain_sent", default=None)


def sending(sent: Sent | None) -> Held[Any]:
    """Lets the body of the run in the block know what was sent; `None` takes it from what runs inside the body."""
    return Held(_sent, sent)


@dataclass(frozen=True, slots=True)
class Refused:
    """Stands in for the arguments of a call that breaks the tool's schema, on their way to the body."""

    problems: tuple[Problem, ...]


class Given:
    """The arguments of a call on their way to its code. Its repr shows none: error trackers send locals of frames."""

    __slots__ = ("args", "kwargs")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        return "<Given>"


class _ToolSaidError(Exception):
    """The tool returned a message of its own that says it failed."""


@dataclass(frozen=True)
class Body:
    """The code of a tool under its gate.

    Attributes:
        gate: the tool's gate.
        injected: the arguments that the framework gives, not the model.
        with_artifact: whether the tool returns content and artifact.
        handles_errors: whether the tool's author turns a `ToolException` into a message.
        takes_deadline: whether the code itself takes `deadline_s`.
        order: the names of the parameters, for positional arguments.
        beside: the names of the tools that were protected together with it.
        aliases: other names under which arguments may be sent, each with that of the parameter.
        takes: the names of arguments that the declaration speaks of.
        defaults: the values of parameters that a call need not send and is judged by: those of a write, a lookup's key.
        rest: the parameter that takes all further positional arguments.
    """

    gate: Gate
    injected: frozenset[str] = frozenset()
    with_artifact: bool = False
    handles_errors: bool = False
    takes_deadline: bool = True
    order: tuple[str, ...] = ()
    beside: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    takes: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=dict, repr=False)
    rest: str | None = None

    def run(self, code: Callable[..., Any], given: Given) -> Any:
        """Runs sync code if its gate lets it."""
        sent = self._take()
        gate, call_id = self._gate(), None if sent is None else sent.call_id
        entered, turn = self._enter(gate, sent, given)
        if isinstance(entered, Reply):
            return self._give(entered, call_id)
        entered.given, entered.paging = self._given(given.kwargs), self._paging(given.kwargs)
        given = Given(given.args, self._within_deadline(entered, given.kwargs))
        own = _Own(self, entered)
        with inside(call_id), around(turn), sending(None):
            reply = run_body(
                gate, entered, lambda: own.take(self._call(code, entered, given)), interrupts=_passing(),
                handled=self._handled,
            )  # fmt: skip
        return own.give(reply, call_id)

    async def arun(self, code: Callable[..., Awaitable[Any]], given: Given) -> Any:
        """As `run`, for a coroutine."""
        sent = self._take()
        gate, call_id = self._gate(), None if sent is None else sent.call_id
        entered, turn = self._enter(gate, sent, given)
        if isinstance(entered, Reply):
            return self._give(entered, call_id)
        entered.given, entered.paging = self._given(given.kwargs), self._paging(given.kwargs)
        given = Given(given.args, self._within_deadline(entered, given.kwargs))
        own = _Own(self, entered)

        async def body() -> Any:
            limit = None if self.takes_deadline else entered.deadline_s
            async with asyncio.timeout(limit):
                return own.take(await self._call(code, entered, given))

        with inside(call_id), around(turn), sending(None):
            reply = await arun_body(gate, entered, body, interrupts=_passing(), handled=self._handled)
        return own.give(reply, call_id)

    def _narrowed(self, entered: Entered, given: Given) -> Given:
        """Returns the arguments with the targets that a write was narrowed to in the place of those that were sent."""
        args, kwargs = given.args, given.kwargs
        for name, value in entered.changes.items():
            name = self.aliases.get(name, name)
            at = self.order.index(name) if name in self.order else len(args)
            if name == self.rest and at < len(args):
                args = (*args[:at], *value)
            elif name not in kwargs and at < len(args):
                args = (*args[:at], value, *args[at + 1 :])
            else:
                kwargs = {**kwargs, name: value}
        return Given(args, kwargs)

    def _call(self, code: Callable[..., Any], entered: Entered, given: Given) -> Any:
        """Calls the code."""
        final = self._narrowed(entered, given) if entered.changes else given
        return code(*final.args, **final.kwargs)

    @property
    def _handled(self) -> tuple[type[BaseException], ...]:
        return (ToolException,) if self.handles_errors else ()

    def _take(self) -> Sent | None:
        sent = _sent.get()
        return sent if sent is not None and sent.gate is self.gate else None

    def _gate(self) -> Gate:
        budget = frame().max_bytes
        return self.gate if budget is None or budget == self.gate.max_bytes else replace(self.gate, max_bytes=budget)

    def _enter(self, gate: Gate, sent: Sent | None, given: Given) -> tuple[Entered | Reply, Turn | None]:
        try:
            return self._judge(gate, sent, given)
        except Exception as error:  # noqa: BLE001 - the outermost tool boundary: a guard that fails refuses
            fault = type(error).__name__
        _log.error("the guard failed before %s with %s", gate.name, fault)
        return guard_failed(gate.name), None

    def _judge(self, gate: Gate, sent: Sent | None, given: Given) -> tuple[Entered | Reply, Turn | None]:
        call_id, spec = None if sent is None else sent.call_id, gate.spec
        session = session_of_read(running()) if isinstance(spec, ReadSpec) else session_here(running())
        if given.args and isinstance(given.args[0], Refused):
            alone, problems = plain_turn(), given.args[0].problems
            return gate.refuse_arguments(
                problems, session=session, call_id=call_id, turn=alone, args=NO_CHANGES if sent is None else sent.args
            ), None
        final = Boxed(self._judged_by(sent, given))
        turn = turn_here(gate.name, final.value, call_id, session=session, has=self.beside)
        if turn is None and is_judged(spec):
            say_unseen()
            return gate.refuse_unseen(), None
        return gate.enter(final.take(), session=session, turn=turn or plain_turn(), call_id=call_id), turn

    def _judged_by(self, sent: Sent | None, given: Given) -> Mapping[str, Any]:
        """Returns the arguments that a call is judged by, under the names that the declaration uses."""
        final: Mapping[str, Any] = self._final(sent, given.args, given.kwargs)
        if isinstance(self.gate.spec, ReadSpec) and sent is not None:
            unsent = {*(self.injected & self.takes), self.aliases.get(self.gate.spec.key or "", self.gate.spec.key)}
            final = {**_as_sent(sent.args, final), **{n: scoped(v, sent=v) for n, v in final.items() if n in unsent}}
        return self.named(final)

    def named(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns arguments under the names by which the declaration calls them."""
        if not self.aliases or not self.takes:
            return args
        return by_declared_names(args, aliases=self.aliases, declared=self.takes)

    def decides(self, args: Mapping[str, Any]) -> bool:
        """Tells whether only the body can judge a call: what it is judged by is not among what the model sent."""
        return not self.takes <= self.named(args).keys()

    def _given(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what the framework gave in the arguments of its own, as far as it can stand in a scope."""
        return in_a_scope({n: v for n, v in kwargs.items() if n in self.injected})

    def _paging(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the pages and sizes that a read takes, also those that no model sent."""
        return paging_in({**self.defaults, **kwargs}) if isinstance(self.gate.spec, ReadSpec) else {}

    def _final(self, sent: Sent | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments that the code gets, by name; of the injected ones those that it is judged by."""
        hidden = self.injected - self.takes if self.takes else self.injected
        final = {**self.defaults, **{name: value for name, value in kwargs.items() if name not in hidden}}
        if args:
            is_single = sent is not None and len(sent.args) == len(args) == 1
            named = tuple(sent.args) if sent is not None and is_single and self.rest in self.order[:1] else self.order
            final.update(zip(named, args, strict=False))
            if self.rest in named[: len(args)]:
                final[self.rest] = list(args[named.index(self.rest) :])
        return final

    def _within_deadline(self, entered: Entered, kwargs: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(self.gate.spec, ReadSpec) or not self.gate.spec.deadline:
            return kwargs
        if not self.takes_deadline:
            return {name: value for name, value in kwargs.items() if name != DEADLINE}
        return kwargs if entered.deadline_s is None else {**kwargs, DEADLINE: entered.deadline_s}

    def _give(self, reply: Reply, call_id: str | None, artifact: Any = None) -> Any:
        """Gives a reply the form that LangChain wants: a message where there is a call, else its content."""
        if reply.passes:
            return reply.value
        shown = reply.artifact if artifact is None else artifact
        if call_id is None:
            return (reply.content, shown) if self.with_artifact else reply.content
        message = ToolMessage(
            reply.content,
            artifact=shown,
            name=self.gate.name,
            tool_call_id=call_id,
            status="error" if reply.is_error else "success",
        )
        return (message, None) if self.with_artifact else message


def _passing() -> tuple[type[BaseException], ...]:
    """What passes a body as it is: a pause of the graph, and the developer's own "this tool has no such way in"."""
    return (*interrupts(), NotImplementedError)


class _Own:
    """What a tool returned in a form of its own: an artifact, a message, a command."""

    def __init__(self, body: Body, entered: Entered) -> None:
        self._body = body
        self._reads = isinstance(body.gate.spec, ReadSpec)
        self._judged = self._reads and callable(getattr(body.gate.spec, "judge", None))
        self._entered = entered
        self.artifact: Any = None
        self.command: Any = None

    def take(self, value: Any) -> Any:
        """Returns the part of a value that says what was read, and keeps the rest."""
        if not self._reads:
            return value
        if isinstance(value, ToolMessage):
            if value.status == "error":
                raise _ToolSaidError
            return self._split(value.content, value.artifact)
        if isinstance(value, ToolOutputMixin) or (
            isinstance(value, list) and value and all(isinstance(v, ToolOutputMixin) for v in value)
        ):
            self.command = value
            return value
        if self._body.with_artifact and isinstance(value, tuple) and len(value) == 2:
            if isinstance(value[0], ToolOutputMixin):
                return self.take(value[0])
            return self._split(*value)
        return value

    def _split(self, content: Any, artifact: Any) -> Any:
        if isinstance(artifact, Result):
            return artifact
        self.artifact = artifact
        if isinstance(content, Result) or artifact is None or not self._judged:
            return content
        return content, artifact

    def give(self, reply: Reply, call_id: str | None) -> Any:
        """Returns the reply in LangChain's form, with the tool's own artifact where it had one."""
        if self.command is not None:
            return (self.command, None) if self._body.with_artifact else self.command
        return self._body._give(reply, call_id, self.artifact)


def is_judged(spec: Spec) -> bool:
    """Tells whether the calls of a tool are judged by the reads before them."""
    return isinstance(spec, UndeclaredSpec) or (isinstance(spec, WriteSpec) and spec.independent is None)


UNTOLD: Final = (
    "The ids that it would touch are not among what was sent, where its guard could see them: wrap the tool."
)
"""What is said of a write whose tool may take ids under another name, or by itself, and carries no guard."""


def hides_its_ids(gate: Gate, entered: Entered, *, aliases: Mapping[str, str] = NO_CHANGES) -> Reply | None:
    """Returns the refusal of a tool without a guard that was not seen to name the ids that it declares; else nothing.

    Its code may have a default, and its schema another name for them.

    Args:
        gate: the gate of the tool.
        entered: the leave to run.
        aliases: other names under which the tool takes its arguments, each with that of its field, as far as known.
    """
    spec, sent = gate.spec, entered.call.args
    if not isinstance(spec, WriteSpec) or spec.targets is None or (spec.independent is not None and spec.is_plain):
        return None
    value, named = entered.changes.get(spec.targets, sent.get(spec.targets)), aliases.get(spec.targets, spec.targets)
    others = {named, *(alias for alias, name in aliases.items() if name == named)} - {spec.targets}
    is_ignored = spec.targets == named and bool(others)  # pydantic may take no field by its own name then
    is_told = value is not None and bool(targets_of(value)) and others.isdisjoint(sent) and not is_ignored
    return None if is_told else guard_failed(gate.name, why=UNTOLD)


def told_by(output: Any, spec: Spec) -> Any:
    """Returns what a tool gave back, as far as it can be told from the message that LangChain made of it."""
    if not isinstance(output, ToolMessage):
        return output
    content = output.content
    if isinstance(content, str) and content[:1] in ("[", "{"):
        try:
            content = json.loads(content)
        except ValueError:
            content = output.content
    judged = isinstance(spec, ReadSpec) and callable(spec.judge)
    return (content, output.artifact) if judged and output.artifact is not None else content


def _as_sent(sent: Mapping[str, Any], final: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns what was sent, with the values that the code gets where they are plain: defaults are no filters."""
    return {name: scoped(final[name], sent=value) if name in final else value for name, value in sent.items()}
