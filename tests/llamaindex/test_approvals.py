"""Waiting for a person in a workflow: as an event, for two cards at once, alone and among other agents."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from llama_scripts import alone_or_in_workflow, result, script, told
from unabridged.actions.approvals import Card, Decision
from unabridged_llamaindex import CoverageFunctionAgent, protect
from unabridged_llamaindex.run import running_step

IDS = ["o-1", "o-2"]
READ: Any = [("list_orders", {})]


def tools_of(written: list[Any], **keywords: Any) -> list[Any]:
    def list_orders() -> Any:
        """Lists orders."""
        return result()

    def archive(ids: list[str]) -> str:
        """Archives orders."""
        written.append(ids)
        return "archived"

    return protect(
        [FunctionTool.from_defaults(list_orders), FunctionTool.from_defaults(archive)],
        reads={"list_orders": "orders"},
        writes={"archive": {"relies_on": ["orders"], "targets": "ids", "destructive": True, **keywords}},
    )


async def as_event(card: Card) -> Any:
    """Asks with an event of the run, and takes the answer to just this card."""
    step = running_step()
    assert step is not None
    event = await step[0].wait_for_event(
        HumanResponseEvent, waiter_id=card.binding, requirements={"binding": card.binding},
        waiter_event=InputRequiredEvent(prefix=json.dumps(card.to_dict())),
    )  # fmt: skip
    return {"decision": event.response, "binding": event.get("told", card.binding)}


async def run(agent: Any, answer: Any) -> list[dict[str, Any]]:
    """Runs an agent, and sends what `answer` says to each card; returns the cards."""
    handler, cards = agent.run("Archive what nobody owns."), []
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            cards.append(json.loads(event.prefix))
            for each in answer(cards):
                handler.ctx.send_event(HumanResponseEvent(**each))
    await handler
    return cards


def yes(card: dict[str, Any]) -> dict[str, Any]:
    return {"response": "approve", "binding": card["binding"]}


@pytest.mark.parametrize("mode", ["alone", "workflow"])
async def test_a_person_answers_as_an_event_alone_and_among_other_agents(mode: str) -> None:
    written: list[Any] = []
    llm = script(READ, [("archive", {"ids": IDS})])
    agent = CoverageFunctionAgent(tools=tools_of(written), llm=llm, approve=as_event, name="a", description="d")
    cards = await run(alone_or_in_workflow(agent, mode), lambda cards: [yes(cards[-1])])
    assert [(c["action"], c["targets"]) for c in cards] == [("archive", 2)]
    assert written == [IDS]


async def test_two_cards_of_one_turn_are_answered_each_for_itself() -> None:
    written: list[Any] = []
    llm = script(READ, [("archive", {"ids": IDS[:1]}), ("archive", {"ids": IDS[1:]})])
    agent = CoverageFunctionAgent(tools=tools_of(written), llm=llm, approve=as_event)

    def answer(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if len(cards) < 2:
            return []
        return [yes(cards[1]), {"response": "abandon", "binding": cards[0]["binding"]}]

    cards = await run(agent, answer)
    assert cards[0]["binding"] != cards[1]["binding"]
    assert len(written) == 1


async def test_one_call_that_is_made_twice_in_a_turn_is_two_questions() -> None:
    written: list[Any] = []
    llm = script(READ, [("archive", {"ids": IDS}), ("archive", {"ids": IDS})])
    agent = CoverageFunctionAgent(tools=tools_of(written), llm=llm, approve=as_event)
    cards = await run(agent, lambda cards: [yes(c) for c in cards] if len(cards) == 2 else [])
    assert len({c["binding"] for c in cards}) == 2
    assert written == [IDS, IDS]


async def test_an_answer_about_another_card_approves_nothing() -> None:
    written: list[Any] = []
    llm = script(READ, [("archive", {"ids": IDS})])
    agent = CoverageFunctionAgent(tools=tools_of(written), llm=llm, approve=as_event)
    await run(agent, lambda cards: [{**yes(cards[-1]), "told": "0" * 64}])
    assert written == []
    assert "APPROVAL_STALE" in json.loads(told(llm)[-1])["codes"]


async def test_an_answer_that_was_used_is_not_good_for_the_same_call_of_a_later_turn() -> None:
    written: list[Any] = []
    kept: list[str] = []

    async def asks(card: Card) -> Any:
        kept.append(card.binding)
        return {"decision": "approve", "binding": kept[0]}

    llm = script(READ, [("archive", {"ids": IDS})], [("archive", {"ids": IDS})])
    await CoverageFunctionAgent(tools=tools_of(written), llm=llm, approve=asks).run("Archive what nobody owns.")
    assert (len(kept), written) == (2, [IDS])


async def test_a_run_that_ends_while_a_person_thinks_writes_nothing() -> None:
    written: list[Any] = []
    asked = asyncio.Event()

    async def thinks(_: Card) -> Decision:
        asked.set()
        await asyncio.Event().wait()
        return Decision.approve()

    llm = script(READ, [("archive", {"ids": IDS})])
    agent = CoverageFunctionAgent(tools=tools_of(written), llm=llm, approve=thinks)
    handler = agent.run("Archive what nobody owns.")
    await asyncio.wait_for(asked.wait(), 60)
    await handler.cancel_run()
    with pytest.raises(Exception):  # noqa: B017 - whatever the framework ends a cancelled run with
        await handler
    assert written == []


async def test_a_context_that_was_kept_while_a_person_thinks_holds_no_value_of_the_session() -> None:
    written: list[Any] = []
    llm = script(READ, [("archive", {"ids": IDS})])
    agent = CoverageFunctionAgent(tools=tools_of(written), llm=llm, approve=as_event)
    context = Context(agent)
    handler = agent.run("Archive what nobody owns.", ctx=context)
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            card = json.loads(event.prefix)
            assert all(p["shown"] == "<not shown>" for p in card["parameters"])
            handler.ctx.send_event(HumanResponseEvent(**yes(card)))
    await handler
    assert written == [IDS]
