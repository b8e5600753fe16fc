"""What a framework keeps by itself of what a model sent: each place with its reason, and none that is not there.

The list stands in docs/ACTIONS.md, and here it is held to what runs: a place more fails, and so does a place less.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from canaries import langchain_desk, llamaindex_desk
from canaries.desk import BAD, Provider, Waiting
from canaries.places import placed
from langgraph.checkpoint.memory import InMemorySaver

DOCS = Path(__file__).parents[2] / "docs" / "ACTIONS.md"
LANGCHAIN = {
    "chat model run": r"^(on_chat_model_start|on_llm_new_token|on_llm_end|llm)\b",
    "chain run": r"^(on_chain_start|on_chain_end|chain)\b",
    "tool run": r"^(on_tool_start|on_tool_end|tool)\b",
    "event stream": r"^astream_events\.",
    "checkpoint": r"^checkpoint\b",
}
LLAMAINDEX = {
    "model span": r"^span Scripted\.",
    "step span": r"^span (AgentWorkflow|BaseWorkflowAgent|FunctionAgent|CoverageFunctionAgent)\.",
    "tool span": r"^span Protected\w*\.|^span \w*Tool\.",
    "tags of a step": r"\.tags\.",
    "workflow event": r"^event ",
    "context": r"^context\b",
}


def rows_of(framework: str) -> set[str]:
    """Returns the places that the documentation names for a framework."""
    return set(re.findall(rf"^\| {framework} \| ([^|]+?) \|", DOCS.read_text(), re.MULTILINE))


def named(places: dict[str, str], kinds: dict[str, str]) -> tuple[set[str], list[str]]:
    """Returns the kinds of places that were found, and the places that are of no kind."""
    found = {kind for kind, pattern in kinds.items() if any(re.search(pattern, place) for place in places)}
    return found, [p for p in places if not any(re.search(pattern, p) for pattern in kinds.values())]


async def test_langchain_keeps_what_the_model_sent_in_just_these_places(tmp_path: Path) -> None:
    found: dict[str, str] = {}
    for args in (langchain_desk.GOOD, BAD["wrong types"]):
        for stream in (False, True):
            with placed("memory", tmp_path):
                task = await langchain_desk.run_task(
                    Waiting(), "action", is_async=True, args=args, saver=InMemorySaver(), stream=stream
                )
            found |= task.found.places
    kinds, others = named(found, LANGCHAIN)
    assert others == []
    assert kinds == set(LANGCHAIN) == rows_of("LangChain")


async def test_llamaindex_keeps_what_the_model_sent_in_just_these_places(tmp_path: Path) -> None:
    found: dict[str, str] = {}
    for args in (llamaindex_desk.GOOD, BAD["wrong types"]):
        with placed("memory", tmp_path):
            task = await llamaindex_desk.run_task(Provider(), "action", is_async=False, args=args)
        found |= task.found.places
    kinds, others = named(found, LLAMAINDEX)
    assert others == []
    assert kinds == set(LLAMAINDEX) - {"context"}
    assert set(LLAMAINDEX) == rows_of("LlamaIndex")


@pytest.mark.parametrize("means", ["action", "write"])
async def test_a_context_that_is_written_down_in_mid_run_holds_calls_in_its_messages_only(
    means: llamaindex_desk.Means, tmp_path: Path
) -> None:
    from canaries.watching import places
    from llama_index.core.workflow import Context, JsonSerializer
    from llama_scripts import script
    from unabridged_llamaindex import CoverageFunctionAgent

    provider = Waiting("hangs")
    model = script([("list_orders", {})], lambda _: [("refund", llamaindex_desk.GOOD)])
    agent = CoverageFunctionAgent(tools=llamaindex_desk.tools_of(provider, means, is_async=True), llm=model)
    context: Context[object] = Context(agent)
    with placed("memory", tmp_path):
        running = agent.run("Refund what is open.", ctx=context)
        await provider.holds.wait()
        kept = context.to_dict(serializer=JsonSerializer())
        await running.cancel_run()
        with pytest.raises(BaseException):  # noqa: B017 - however a cancelled run ends
            await running
    found = places(kept)
    assert found, "LlamaIndex keeps the call in its scratchpad and its queue"
    assert not [place for place in found if "unabridged" in place]
