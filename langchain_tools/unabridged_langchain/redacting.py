"""A tracer that learns what happens and no value of it: names, types and sizes stand in the place of what was said.

LangChain gives every handler the arguments of calls, the messages and the results before any tool of this toolkit runs.
`redacted(tracer)` passes every event on with its run ids, names, tags and times, so that a trace keeps its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, Generation, LLMResult
from unabridged.contract import printable_name
from unabridged.gate.outlining import DEEP, LISTED, Redacted, outline

_KEPT: Final = frozenset({"run_id", "parent_run_id", "tool_call_id", "run_type", "batch_size"})
"""Arguments of events that are ids of the framework, names or numbers."""
_NAMED: Final = frozenset({"name", "tags", "color"})
_OF_SERIALIZED: Final = ("name", "id", "type", "lc")
_OF_METADATA: Final = ("thread_id", "langgraph_step", "langgraph_node", "langgraph_checkpoint_ns", "lc_agent_name",
                       "ls_provider", "ls_model_name", "ls_model_type")  # fmt: skip
_EVENTS: Final = tuple(name for name in dir(BaseCallbackHandler) if name.startswith("on_"))
_KINDS: Final[tuple[type[BaseMessage], ...]] = (AIMessage, HumanMessage, SystemMessage)


def _redacted_message(message: BaseMessage) -> BaseMessage:
    content = str(outline(message.content))
    if isinstance(message, ToolMessage):
        artifact = None if message.artifact is None else outline(message.artifact)
        name = None if message.name is None else printable_name(message.name)
        return ToolMessage(
            content, tool_call_id=message.tool_call_id, name=name, status=message.status, artifact=artifact,
            id=message.id,
        )  # fmt: skip
    kind = next((k for k in _KINDS if isinstance(message, k)), HumanMessage)
    if not isinstance(message, AIMessage):
        return kind(content, id=message.id)
    calls = [{**c, "name": printable_name(c["name"]), "args": outline(c["args"])} for c in message.tool_calls]
    usage = message.usage_metadata
    if isinstance(message, AIMessageChunk):
        return AIMessageChunk(content=content, id=message.id, usage_metadata=usage)
    return AIMessage(content, id=message.id, tool_calls=calls, usage_metadata=usage)


def redact(value: Any, *, depth: int = 0) -> Any:
    """Returns a value of an event as a tracer can work with it, messages as messages, and with no text of it."""
    match value:
        case BaseMessage():
            return _redacted_message(value)
        case Document():
            return Document(str(outline(value.page_content)), metadata=outline(value.metadata), id=value.id)
        case LLMResult():
            rows: Any = [[_redacted_generation(g) for g in row] for row in value.generations]
            return LLMResult(generations=rows)
        case Generation():
            return _redacted_generation(value)
        case dict() if depth < DEEP:
            named = {k: v for k, v in value.items() if isinstance(k, str) and printable_name(k) == k}
            return {k: redact(v, depth=depth + 1) for k, v in named.items()}
        case list() | tuple() if depth < DEEP:
            return [redact(each, depth=depth + 1) for each in value[:LISTED]]
        case BaseException():
            return Redacted(printable_name(type(value).__name__))
        case _:
            return outline(value, depth=depth)


def _redacted_generation(generation: Any) -> Any:
    if isinstance(generation, ChatGeneration):
        return ChatGeneration(message=_redacted_message(generation.message))
    return Generation(text=str(outline(generation.text)))


def _kept(name: str, value: Any) -> Any:
    """Returns a named argument of an event as it may be passed on."""
    if name in _KEPT:
        return value
    if name in _NAMED:
        if isinstance(value, list):
            return [printable_name(str(each)) for each in value]
        return None if value is None else printable_name(str(value))
    if name == "metadata" and isinstance(value, Mapping):
        return {n: value[n] for n in _OF_METADATA if n in value}
    if name in ("invocation_params", "options"):
        return {}
    return redact(value)


def _passed_on(event: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    given = list(args)
    if given and event.endswith("_start"):
        serialized = given[0] if isinstance(given[0], Mapping) else {}
        given[0] = {n: serialized[n] for n in _OF_SERIALIZED if isinstance(serialized.get(n), str | int | list)}
        given, rest = given[:1], given[1:]
    else:
        rest, given = given, []
    texts = event == "on_tool_start" or event == "on_retriever_start"
    told = [str(outline(each)) if texts else redact(each) for each in rest]
    return [*given, *told], {name: _kept(name, value) for name, value in kwargs.items()}


class _Redacting:
    """What both kinds of redacting handler do: they hold the tracer, and tell frameworks the same of themselves."""

    def __init__(self, tracer: Any, within: UUID | None = None) -> None:
        self._tracer = tracer
        self._within = within
        self.raise_error = bool(getattr(tracer, "raise_error", False))
        self.run_inline = bool(getattr(tracer, "run_inline", False))

    def __repr__(self) -> str:
        return f"<redacted {type(self._tracer).__name__}>"

    def _told(self, event: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        if self._within is not None and kwargs.get("parent_run_id") != self._within:
            return args, kwargs
        return _passed_on(event, args, kwargs)


def _ignores(name: str) -> Any:
    return property(lambda self: bool(getattr(self._tracer, name, False)))


_IGNORES: Final = {name: _ignores(name) for name in dir(BaseCallbackHandler) if name.startswith("ignore_")}


def _on(event: str) -> Callable[..., Any]:
    def passed(self: Any, *args: Any, **kwargs: Any) -> Any:
        given, named = self._told(event, args, kwargs)
        del args, kwargs
        getattr(self._tracer, event)(*given, **named)

    return passed


def _aon(event: str) -> Callable[..., Any]:
    async def passed(self: Any, *args: Any, **kwargs: Any) -> Any:
        given, named = self._told(event, args, kwargs)
        del args, kwargs
        await getattr(self._tracer, event)(*given, **named)

    return passed


_Sync: Final[Any] = type(
    "RedactingHandler", (_Redacting, BaseCallbackHandler), {**_IGNORES, **{event: _on(event) for event in _EVENTS}}
)
_Async: Final[Any] = type(
    "AsyncRedactingHandler",
    (_Redacting, AsyncCallbackHandler),
    {**_IGNORES, **{event: _aon(event) for event in _EVENTS}},
)


def redacted(tracer: BaseCallbackHandler) -> BaseCallbackHandler:
    """Returns a handler that passes every event on to a tracer with names, types and sizes in the place of values.

    Give it to a run in the place of the tracer: `config={"callbacks": [redacted(tracer)]}`. Ids of runs and calls, the
    names of tools, tags and the place in the graph pass as they are; errors pass as the name of their kind.

    Args:
        tracer: a handler of LangChain, sync or async, such as a tracer of a vendor.
    """
    made: BaseCallbackHandler = (_Async if isinstance(tracer, AsyncCallbackHandler) else _Sync)(tracer)
    return made


def redacted_within(tracer: BaseCallbackHandler, run_id: UUID) -> BaseCallbackHandler:
    """As `redacted`, for the runs that stand right below one run; of all others every event is passed on as it is.

    Args:
        tracer: a handler of LangChain, sync or async.
        run_id: the run above.
    """
    made: BaseCallbackHandler = (_Async if isinstance(tracer, AsyncCallbackHandler) else _Sync)(tracer, run_id)
    return made
