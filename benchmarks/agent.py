"""A run of a guarded `create_agent`, against the same tools under a no-op middleware, and without any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from unabridged_langchain import CoverageMiddleware

from .fresh import FreshSession
from .harness import Figure, Work, measure
from .tool_node import READ, WRITE, asking, guarded_tools, plain_tools

_ROUNDS: Final = 251
STEPS: Final = 6


class Scripted(BaseChatModel):
    """A model that reads once, writes until its steps are spent, and answers."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Returns the model itself: it knows its tools by heart."""
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        step = sum(isinstance(message, AIMessage) for message in messages)
        call_id = f"call_{step}"
        if step == 0:
            message = asking(*READ, call_id)
        elif step < STEPS - 1:
            message = asking(*WRITE, call_id)
        else:
            message = AIMessage("The accounts are archived.")
        return ChatResult(generations=[ChatGeneration(message=message)])


class NoOp(AgentMiddleware[Any, Any, Any]):
    """Hands every tool call on."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Runs the call."""
        return handler(request)


def _work(agent: Any) -> Work:
    def work() -> None:
        messages = agent.invoke({"messages": [("user", "Archive what nobody owns.")]})["messages"]
        if len(messages) != 2 * STEPS or any(getattr(m, "status", "success") != "success" for m in messages):
            raise RuntimeError("the benchmark's run took another course")

    return work


def run() -> list[Figure]:
    """Measures whole runs of six model steps, five of them with a tool call."""
    model, tools = Scripted(), guarded_tools()
    variants = {
        "bare": create_agent(model, plain_tools()),
        "protected": create_agent(model, tools),
        "no-op": create_agent(model, tools, middleware=[NoOp()]),
        "off": create_agent(model, tools, middleware=[CoverageMiddleware(on_answer="off")]),
        "caveat": create_agent(model, tools, middleware=[CoverageMiddleware()]),
    }
    works = {name: _work(agent) for name, agent in variants.items()}
    fresh = FreshSession()
    samples = measure(works, baseline="no-op", rounds=_ROUNDS, before=fresh)
    fresh.close()
    note = f"plain tools {samples.median_s('bare') / STEPS * 1e6:,.0f} us a step"
    return [
        samples.times("off", what='on_answer="off" over a no-op wrap_tool_call', budget=1.02, note=note),
        samples.times("off", what='on_answer="off" over no middleware', budget=1.08, over="protected"),
        samples.times(
            "caveat", what=f"caveats over no middleware, a run of {STEPS} steps", budget=1.12, over="protected"
        ),
        samples.times("protected", what="protected tools over plain ones, no middleware", budget=None, over="bare"),
        samples.times("off", what='on_answer="off" over plain tools, no middleware', budget=None, over="bare"),
    ]
