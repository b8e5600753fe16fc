"""The errand of the demo in LangChain: an agent of `create_agent` with plain tools, and one with guarded tools."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from unabridged.demo.errand import Errand
from unabridged.demo.hasty import Move, Say
from unabridged.demo.runs import Answer, RunOutcome, Step
from unabridged.evidence import session

from ._answers import COVERAGE
from ._verbs import action_tool, protect, tool_of
from .middleware import CoverageMiddleware

_MOST_STEPS: Final = 500
_numbers: Final = count(1)


class ScriptedModel(BaseChatModel):
    """A chat model whose next move is a function of the tool calls so far, as the messages show them."""

    next_move: Callable[[list[Step]], Move]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, Any]:
        """Returns the model itself: it knows its tools."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        move = self.next_move(steps_in(messages))
        if isinstance(move, Say):
            message = AIMessage(move.text)
        else:
            calls = [{"name": c.tool, "args": c.args, "id": f"call-{next(_numbers)}"} for c in move]
            message = AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def steps_in(messages: Sequence[BaseMessage]) -> list[Step]:
    """Returns the tool calls of a history with the texts that came back, in the order of the texts."""
    calls = {c["id"]: c for m in messages if isinstance(m, AIMessage) for c in m.tool_calls}
    answered = [(calls[m.tool_call_id], m) for m in messages if isinstance(m, ToolMessage) and m.tool_call_id in calls]
    return [Step(call["name"], call["args"], message.text) for call, message in answered]


def run(errand: Errand, *, guarded: bool, model: str | None) -> RunOutcome:
    """Runs the errand once. Is a `Runner`."""
    chat = ScriptedModel(next_move=errand.next_move) if model is None else init_chat_model(model)
    if not guarded:
        messages = _drive(create_agent(chat, [tool_of(each) for each in errand.plain]), errand.prompt)
        return RunOutcome(Answer(messages[-1].text), steps_in(messages))
    tools = [*protect(errand.guarded, reads=errand.reads), *map(action_tool, errand.actions)]
    agent = create_agent(chat, tools, middleware=[CoverageMiddleware()])
    with session(f"errand-{secrets.token_hex(8)}", principal=errand.principal) as evidence:
        messages = _drive(agent, errand.prompt)
        caveats = [caveat.to_wire() for caveat in evidence.caveats()]
    coverage = messages[-1].additional_kwargs.get(COVERAGE)
    return RunOutcome(Answer(messages[-1].text, caveats, coverage), steps_in(messages))


def _drive(agent: Any, prompt: str) -> list[BaseMessage]:
    state = agent.invoke({"messages": [HumanMessage(prompt)]}, {"recursion_limit": _MOST_STEPS})
    found: list[BaseMessage] = state["messages"]
    return found
