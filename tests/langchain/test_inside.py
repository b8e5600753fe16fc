"""The run that a tool with an entry of its own makes inside its guarded one: who hears what of it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool
from langchain_core.tracers.context import collect_runs
from unabridged.evidence import session
from unabridged_langchain import PartialReadGuard, protect

ROWS = [{"id": f"order {n}"} for n in range(30)]


class OwnEntry(StructuredTool):
    """A tool whose class has entries of its own."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return await super().ainvoke(input, config, **kwargs)


class Hearing(BaseCallbackHandler):
    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.outputs: list[str] = []

    def on_llm_new_token(self, token: str, **_: Any) -> None:
        self.tokens.append(token)

    def on_tool_end(self, output: Any, **_: Any) -> None:
        self.outputs.append(str(output))


def list_orders(owner: str | None = None) -> Any:  # noqa: ARG001
    """Lists orders."""
    return [dict(row) for row in ROWS]


def ask() -> str:
    """Asks a model."""
    said = GenericFakeChatModel(messages=iter([AIMessage("one two")]))
    return "".join(str(chunk.content) for chunk in said.stream("Go."))


async def call(tool: Any, config: Any, *, is_async: bool) -> Any:
    return await tool.ainvoke({}, config) if is_async else tool.invoke({}, config)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_guard_judges_what_a_tool_with_an_entry_of_its_own_reads_below(is_async: bool) -> None:
    """It is given the records, and no outline of them: a shortened list would be recorded as all there are."""
    bare = StructuredTool.from_function(list_orders)
    task = OwnEntry.from_function(lambda: len(bare.invoke({})), name="task", description="Reads below.")
    guarded = protect([task], neutral=["task"])[0]
    guard = PartialReadGuard(reads={"list_orders": {"resource": "orders", "exhaustive": True}})
    with session(f"inside-{is_async}") as s:
        chain = RunnableLambda(lambda _: {}) | guarded
        await call(chain, {"callbacks": [guard]}, is_async=is_async)
        (read,) = s.reads
        assert (read.status, set(read.ids)) == ("complete", {row["id"] for row in ROWS})


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_a_model_says_below_a_tool_with_an_entry_of_its_own_is_heard(is_async: bool) -> None:
    heard = Hearing()
    guarded = protect([OwnEntry.from_function(ask)], reads={"ask": {"resource": "answers"}})[0]
    await call(guarded, {"callbacks": [heard]}, is_async=is_async)
    assert heard.tokens == ["one", " ", "two"]
    assert "one two" not in heard.outputs


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_handler_in_a_context_hears_of_the_run_inside_once_and_in_outlines(is_async: bool) -> None:
    guarded = protect([OwnEntry.from_function(ask)], reads={"ask": {"resource": "answers"}})[0]
    with collect_runs() as collected:
        await call(guarded, {}, is_async=is_async)
    (run,) = collected.traced_runs
    (inside,) = run.child_runs
    assert inside.outputs is not None
    assert "one two" not in str(inside.outputs)
