"""The errand of the demo in LlamaIndex: a `FunctionAgent` with plain tools, and one that knows its coverage."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import ToolSelection
from unabridged import session
from unabridged.contract import InvalidInput
from unabridged.demo.errand import Errand
from unabridged.demo.hasty import Move, Say
from unabridged.demo.runs import Answer, RunOutcome, Step

from .agents import CoverageFunctionAgent
from .messages import calls_in
from .verbs import action_tool, protect

_MOST_TURNS: Final = 200
_numbers: Final = count(1)


class ScriptedLLM(FunctionCallingLLM):
    """A model whose next move is a function of the tool calls so far, as the messages show them."""

    next_move: Callable[[list[Step]], Move]

    @property
    def metadata(self) -> LLMMetadata:
        """Says that it calls functions."""
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True, model_name="scripted")

    def _reply(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        move = self.next_move(steps_in(messages))
        if isinstance(move, Say):
            return ChatResponse(message=ChatMessage(role="assistant", content=move.text), delta=move.text)
        blocks = [
            ToolCallBlock(tool_call_id=f"call-{next(_numbers)}", tool_name=call.tool, tool_kwargs=call.args)
            for call in move
        ]
        return ChatResponse(message=ChatMessage(role="assistant", blocks=blocks))

    def _prepare_chat_with_tools(  # type: ignore[override]  # what is left out is not asked for by an agent
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **_: Any
    ) -> dict[str, Any]:
        return {"messages": [*(chat_history or []), *([user_msg] if user_msg else [])]}

    def get_tool_calls_from_response(self, response: Any, error_on_no_tool_call: bool = True, **_: Any) -> Any:
        """Returns the calls of a message."""
        return [
            ToolSelection(tool_id=row["id"], tool_name=row["name"], tool_kwargs=row["args"])
            for row in calls_in(response.message)
        ]

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """Makes the next move."""
        return self._reply(messages)

    async def achat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """Makes the next move."""
        return self._reply(messages)

    def stream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> Any:
        """Makes the next move, in one piece."""
        yield self._reply(messages)

    async def astream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> Any:
        """Makes the next move, in one piece."""

        async def stream() -> Any:
            yield self._reply(messages)

        return stream()

    def complete(self, *_: Any, **__: Any) -> Any:
        """Is not part of the script."""
        raise NotImplementedError

    async def acomplete(self, *_: Any, **__: Any) -> Any:
        """Is not part of the script."""
        raise NotImplementedError

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        """Is not part of the script."""
        raise NotImplementedError

    async def astream_complete(self, *_: Any, **__: Any) -> Any:
        """Is not part of the script."""
        raise NotImplementedError


def steps_in(messages: Sequence[ChatMessage]) -> list[Step]:
    """Returns the tool calls of a history with the texts that came back, in the order of the texts."""
    calls = {row["id"]: row for message in messages for row in calls_in(message)}
    answered = [m for m in messages if m.role == "tool" and m.additional_kwargs.get("tool_call_id") in calls]
    rows = [(calls[m.additional_kwargs["tool_call_id"]], m.content or "") for m in answered]
    return [Step(row["name"], row["args"], text) for row, text in rows]


def run(errand: Errand, *, guarded: bool, model: str | None) -> RunOutcome:
    """Runs the errand once. Is a `Runner`.

    Raises:
        InvalidInput: a model is named; this half is scripted.
    """
    if model is not None:
        raise InvalidInput(field="model", rule="is for the LangChain half")
    llm = ScriptedLLM(next_move=errand.next_move)
    if not guarded:
        agent = FunctionAgent(tools=list(errand.plain), llm=llm)
        response, steps = asyncio.run(_drive(agent, errand.prompt))
        return RunOutcome(Answer(str(response)), steps)
    tools = [*protect(errand.guarded, reads=errand.reads), *map(action_tool, errand.actions)]
    with session(f"errand-{secrets.token_hex(8)}", principal=errand.principal) as evidence:
        response, steps = asyncio.run(_drive(CoverageFunctionAgent(tools=tools, llm=llm), errand.prompt))
        caveats = [caveat.to_wire() for caveat in evidence.caveats()]
    return RunOutcome(Answer(str(response), caveats, response.metadata["coverage"]), steps)


async def _drive(agent: FunctionAgent, prompt: str) -> tuple[Any, list[Step]]:
    handler = agent.run(user_msg=prompt, max_iterations=_MOST_TURNS)
    steps = [
        Step(event.tool_name, event.tool_kwargs, event.tool_output.content)
        async for event in handler.stream_events()
        if isinstance(event, ToolCallResult)
    ]
    return await handler, steps
