"""A scripted function-calling model for the tests of the LlamaIndex room: it plays its turns in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Literal

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import ToolSelection
from unabridged import session
from unabridged.contract import ReadHeader, ReadResult, Reason, Scope, build_result, new_read_id
from unabridged.evidence import Session

_numbers = count(1)
Calls = list[tuple[str, dict[str, Any]]]
Turn = str | Calls | Callable[[Sequence[ChatMessage]], Any]


class Scripted(FunctionCallingLLM):
    """Plays turns: a text, or a list of calls as (name, args), or a function of the messages that gives either.

    `style` says where a message bears its calls: in blocks, as OpenAI's dictionaries, or where nobody can read them.
    """

    turns: list[Any]
    style: Literal["blocks", "dicts", "hidden"] = "blocks"
    seen: list[list[ChatMessage]] = []
    shown: list[list[str]] = []
    hidden: dict[str, Any] = {}

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True, model_name="scripted")

    def _prepare_chat_with_tools(self, tools: Any, user_msg: Any = None, chat_history: Any = None, **_: Any) -> Any:
        self.shown.append([t.metadata.name for t in tools])
        return {"messages": [*(chat_history or []), *([user_msg] if user_msg else [])]}

    def _next(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        self.seen.append(list(messages))
        turn = self.turns.pop(0) if self.turns else "Done."
        if callable(turn):
            turn = turn(messages)
        if isinstance(turn, str):
            return ChatResponse(message=ChatMessage(role="assistant", content=turn), delta=turn)
        rows = [(f"call-{next(_numbers)}", name, args) for name, args in turn]
        return ChatResponse(message=self._calling(rows))

    def _calling(self, rows: list[tuple[str, str, dict[str, Any]]]) -> ChatMessage:
        match self.style:
            case "blocks":
                blocks = [ToolCallBlock(tool_call_id=i, tool_name=n, tool_kwargs=a) for i, n, a in rows]
                return ChatMessage(role="assistant", blocks=blocks)
            case "dicts":
                calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in rows]
                return ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": calls})
            case "hidden":
                self.hidden[rows[0][0]] = rows
                return ChatMessage(role="assistant", content="", additional_kwargs={"thread": rows[0][0]})

    def get_tool_calls_from_response(self, response: Any, error_on_no_tool_call: bool = True, **_: Any) -> Any:
        message = response.message
        rows = [(b.tool_call_id, b.tool_name, b.tool_kwargs) for b in message.blocks if isinstance(b, ToolCallBlock)]
        for call in message.additional_kwargs.get("tool_calls", []):
            rows.append((call["id"], call["function"]["name"], call["function"]["arguments"]))
        rows += self.hidden.get(message.additional_kwargs.get("thread", ""), [])
        return [ToolSelection(tool_id=i, tool_name=n, tool_kwargs=a) for i, n, a in rows]

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        return self._next(messages)

    async def achat(self, messages: Any, **_: Any) -> ChatResponse:
        return self._next(messages)

    def stream_chat(self, messages: Any, **_: Any) -> Any:
        yield self._next(messages)

    async def astream_chat(self, messages: Any, **_: Any) -> Any:
        async def stream() -> Any:
            yield self._next(messages)

        return stream()

    def complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def acomplete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def astream_complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def script(*turns: Turn, style: Literal["blocks", "dicts", "hidden"] = "blocks") -> Scripted:
    """Returns a model that plays these turns, and then says "Done."."""
    return Scripted(turns=list(turns), style=style, seen=[], shown=[], hidden={})


def told(llm: Scripted) -> list[str]:
    """Returns what the model was told by tools, in order, as its last input shows it."""
    return [m.content or "" for m in llm.seen[-1] if m.role == "tool"]


def alone_or_in_workflow(agent: Any, mode: str) -> Any:
    """Returns the agent itself, or an `AgentWorkflow` of it."""
    return agent if mode == "alone" else AgentWorkflow(agents=[agent])


def result(status: str = "complete", *, items: Any = None, resource: str = "orders", **filters: Any) -> ReadResult:
    """Returns a read of the status."""
    codes = {"complete": (), "partial": ("RESULT_LIMIT_REACHED",), "unknown": ("COVERAGE_UNKNOWN",)}
    dead = status == "unavailable"
    reasons = [Reason(code=c, layer="source") for c in (("SOURCE_UNAVAILABLE",) if dead else codes[status])]
    rows = [{"id": "o-1"}, {"id": "o-2"}] if items is None else items
    return build_result(
        items=None if dead else rows,
        reasons=reasons,
        scope=Scope(resource=resource, filters=filters),
        read=_read_header(),
    )


def _read_header() -> ReadHeader:
    from datetime import UTC, datetime

    now = datetime.now(UTC)
    return ReadHeader(id=new_read_id(), adapter="test", started_at=now, finished_at=now)


def case() -> Session:
    """Returns a session that no other test knows."""
    return session(f"case-{next(_numbers)}")
