"""A whole task of an agent, with a person who approves everything: all that reached the model is searched.

The upstream answers with free text and nested records of customers, the first refund meets a failure, and the model
tries again, asks wrongly and asks for what it may not have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from canaries.desk import BAD, GOOD, MODES, Provider
from canaries.places import placed
from canaries.watching import IDS, KEY, SAID, SENT, UP, Watch, places

TRIES: list[dict[str, Any]] = [GOOD, GOOD, *BAD.values(), {**GOOD, "ids": [f"o {IDS}three"]}]


class Moody(Provider):
    """A provider whose every answer is of another kind."""

    def answer(self) -> Any:
        """Answers in the next mode."""
        self.mode = MODES[len(self.commands) % len(MODES)]
        return super().answer()


def searched(shown: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Returns what stands in a transcript that no model sent and no read may tell."""
    hits = [(place, hit) for place, value in shown for hit in places(value).values()]
    return [(p, h) for p, h in hits if h.startswith((UP, SAID, KEY)) or (h.startswith(SENT) and p != "model")]


@pytest.mark.parametrize("ledger", ["memory", "sqlite"])
def test_the_transcript_of_langchain_holds_what_the_model_sent_and_was_meant_to_learn(
    ledger: str, tmp_path: Path
) -> None:
    from canaries.langchain_desk import ASKED, tools_of
    from chat_scripts import calls, scripted
    from langchain.agents import create_agent
    from unabridged_langchain import CoverageMiddleware

    provider = Moody()
    model = scripted(calls(("list_orders", {})), *(calls(("refund", args)) for args in TRIES))
    tools = tools_of(provider, "action", is_async=False, approval="always")
    with Watch() as watch, placed(ledger, tmp_path) as place:
        create_agent(model, tools, middleware=[CoverageMiddleware()]).invoke(ASKED)
    shown = [("model" if m.type == "ai" else m.type, m.model_dump()) for m in model.seen[-1]]
    assert len(provider.commands) >= 3
    assert len(place.cards) >= 3
    assert sum(kind == "tool" for kind, _ in shown) == len(TRIES) + 1
    assert searched(shown) == []
    assert (watch.leaks(), place.leaks()) == ({}, {})


@pytest.mark.parametrize("ledger", ["memory", "sqlite"])
async def test_the_transcript_of_llamaindex_holds_what_the_model_sent_and_was_meant_to_learn(
    ledger: str, tmp_path: Path
) -> None:
    from canaries.llamaindex_desk import tools_of
    from llama_scripts import script
    from unabridged_llamaindex import CoverageFunctionAgent

    provider = Moody()
    model = script([("list_orders", {})], *([("refund", args)] for args in TRIES))
    tools = tools_of(provider, "action", is_async=False, approval="always")
    with Watch() as watch, placed(ledger, tmp_path) as place:
        await CoverageFunctionAgent(tools=tools, llm=model).run("Refund what is open.")
    shown = [("model" if m.role == "assistant" else str(m.role.value), m.model_dump()) for m in model.seen[-1]]
    assert len(provider.commands) >= 3
    assert len(place.cards) >= 3
    assert sum(kind == "tool" for kind, _ in shown) == len(TRIES) + 1
    assert searched(shown) == []
    assert (watch.leaks(), place.leaks()) == ({}, {})
