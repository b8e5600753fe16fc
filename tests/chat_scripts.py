"""A scripted chat model for the tests of the LangChain room: it plays messages in order, whole or streamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

_numbers = count(1)
Turn = AIMessage | Callable[[Sequence[BaseMessage]], AIMessage]


def calls(*asked: tuple[str, dict[str, Any]] | tuple[str, dict[str, Any], str], text: str = "") -> AIMessage:
    """Returns a turn of tool calls, each as (name, args) or (name, args, id)."""
    return AIMessage(
        text,
        tool_calls=[
            {"name": c[0], "args": c[1], "id": c[2] if len(c) > 2 else f"call-{next(_numbers)}"} for c in asked
        ],
    )


class Scripted(BaseChatModel):
    """Plays its turns in order; a turn may be a function of the messages so far. After the last it says "Done."."""

    turns: list[Any] = []
    seen: list[list[BaseMessage]] = []
    bound: list[list[str]] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        self.bound.append([getattr(t, "name", None) or t.get("name", "?") for t in tools])
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.seen.append(list(messages))
        turn = self.turns.pop(0) if self.turns else AIMessage("Done.")
        return turn(messages) if callable(turn) else turn.model_copy(update={"id": None})

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        message = self._next(messages)
        text = message.content if isinstance(message.content, str) else ""
        for word in text.split(" ") if text else []:
            chunk = ChatGenerationChunk(message=AIMessageChunk(word + " "))
            if run_manager is not None:
                run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk
        chunks = [
            {"name": c["name"], "args": json.dumps(c["args"]), "id": c["id"], "index": n}
            for n, c in enumerate(message.tool_calls)
        ]
        yield ChatGenerationChunk(
            message=AIMessageChunk("", tool_call_chunks=chunks, response_metadata=message.response_metadata)
        )


def scripted(*turns: Turn) -> Scripted:
    """Returns a model that plays the turns."""
    return Scripted(turns=list(turns), seen=[], bound=[])
