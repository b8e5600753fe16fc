"""Runs that pause for a person: the card goes out with an interrupt or an event, and waits in a checkpoint on disk."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from canaries import langchain_desk, llamaindex_desk
from canaries.desk import GOOD, Waiting
from canaries.langchain_desk import Means
from canaries.places import placed
from canaries.watching import SENT, found_in, not_of_model, places
from chat_scripts import calls
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from unabridged_langchain import CoverageMiddleware, interrupt_for_approval

DECISIONS: dict[str, Any] = {
    "approve": {"decision": "approve"},
    "abandon": {"decision": "abandon"},
    "another card": {"decision": "approve", "binding": f"{SENT}binding"},
    "an id that is none": {"decision": "go_ahead_for", "ids": [f"{SENT} id"]},
    "nonsense": {"decision": f"{SENT}decision", "of": {"customer": f"{SENT}customer"}},
    "no object": f"{SENT}answer",
}
AIOSQLITE = ("aiosqlite",)
"""Its logger tells at DEBUG each row that LangGraph writes."""
RUNS = {"approve": "valid", "raises": "raises", "ends": "dies"}


@asynccontextmanager
async def saved_in(folder: Path, *, is_async: bool = True) -> AsyncIterator[Any]:
    path = str(folder / "graph.sqlite")
    if is_async:
        async with AsyncSqliteSaver.from_conn_string(path) as asaver:
            yield asaver
    else:
        with SqliteSaver.from_conn_string(path) as saver:
            yield saver


def kept_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("graph.sqlite*"))


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("means", ["action", "write", "own"])
@pytest.mark.parametrize("way", [*DECISIONS, "raises", "ends"])
async def test_a_graph_that_pauses_and_goes_on_lets_no_value_out(
    way: str, means: Means, is_async: bool, tmp_path: Path
) -> None:
    mode = "hangs" if way == "ends" and is_async else RUNS.get(way, "valid")
    provider = langchain_desk.provider_of(mode, is_async=is_async)
    tools = langchain_desk.tools_of(provider, means, is_async=is_async, approval="always")
    turns: list[Any] = [calls(("list_orders", {"owner": None})), calls(("refund", GOOD))]
    layers = [CoverageMiddleware(approve=interrupt_for_approval)]
    with placed("memory", tmp_path, answer=None) as place:
        async with saved_in(tmp_path, is_async=is_async) as saver:
            how: dict[str, Any] = {"is_async": is_async, "layers": layers, "saver": saver}
            task = await langchain_desk.follow(tools, turns, Waiting(), **how)
            (asked,) = task.state["__interrupt__"]
            answer = DECISIONS.get(way, DECISIONS["approve"])
            if isinstance(answer, dict):
                answer = {"binding": asked.value["binding"], **answer}
            assert provider.commands == []
            done = await langchain_desk.follow(tools, [], provider, asked=Command(resume=answer), task=task, **how)
    assert bool(provider.commands) == (way in RUNS)
    assert (done.died is None) == (way != "ends")
    assert found_in(json.dumps(asked.value) + repr(asked.value)) == set(), "the card"
    assert done.told() == {}
    assert done.died is not None or not_of_model(done.found.places) == {}
    assert b"qzsentmail" in kept_in(tmp_path), "the model's own arguments, which LangGraph keeps"
    assert not any(mark in kept_in(tmp_path) for mark in (b"qzup", b"qzsaid", b"qzkey"))
    assert (done.watch.leaks(but=AIOSQLITE), place.leaks()) == ({}, {})


@pytest.mark.parametrize("mode", ["valid", "raises", "rejected", "free text"])
@pytest.mark.parametrize("bad", [False, True])
async def test_an_asynchronous_checkpoint_on_disk_holds_no_value_of_an_upstream_and_no_credential(
    mode: str, bad: bool, tmp_path: Path
) -> None:
    args = {**GOOD, "customer": {"mail": f"{SENT}mail"}} if bad else GOOD
    with placed("memory", tmp_path) as place:
        async with saved_in(tmp_path) as saver:
            task = await langchain_desk.run_task(Waiting(mode), "action", is_async=True, args=args, saver=saver)
    assert task.died is None
    assert b"qzsentmail" in kept_in(tmp_path)
    assert not any(mark in kept_in(tmp_path) for mark in (b"qzup", b"qzsaid", b"qzkey"))
    assert not_of_model(task.found.places) == {}
    assert (task.watch.leaks(but=AIOSQLITE), place.leaks()) == ({}, {})


@pytest.mark.parametrize("answer", ["approve", "abandon", f"{SENT}decision"])
async def test_an_agent_of_llamaindex_that_waits_for_an_event_lets_no_value_out(answer: str, tmp_path: Path) -> None:
    from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent, JsonSerializer
    from llama_scripts import script
    from unabridged_llamaindex import CoverageFunctionAgent
    from unabridged_llamaindex.run import running_step

    async def ask(card: Any) -> Any:
        context, *_ = running_step()
        heard = await context.wait_for_event(
            HumanResponseEvent, waiter_id=card.binding, requirements={"binding": card.binding},
            waiter_event=InputRequiredEvent(prefix=card.to_text(), binding=card.binding),
        )  # fmt: skip
        return {"decision": heard.response, "binding": heard.binding}

    provider, shown, kept = Waiting(), [], []
    tools = llamaindex_desk.tools_of(provider, "action", is_async=True, approval="always")
    model = script([("list_orders", {})], [("refund", GOOD)])
    agent = CoverageFunctionAgent(tools=tools, llm=model, approve=ask)
    context: Context[Any] = Context(agent)
    task = llamaindex_desk.Task(model=model)
    spans, events = llamaindex_desk.Spans(), llamaindex_desk.Events()
    spans.found = events.found = task.found
    with placed("memory", tmp_path, answer=None) as place, task.watch, llamaindex_desk.instrumented(spans, events):
        running = agent.run("Refund what is open.", ctx=context)
        async for event in running.stream_events():
            if isinstance(event, InputRequiredEvent):
                shown.append(repr(event) + event.model_dump_json())
                kept.append(context.to_dict(serializer=JsonSerializer()))
                context.send_event(HumanResponseEvent(response=answer, binding=event.binding))
        await running
    assert shown, "a person was asked"
    assert [found_in(text) for text in shown] == [set() for _ in shown]
    assert not_of_model(places(kept)) == {}
    assert bool(provider.commands) == (answer == "approve")
    assert task.told() == {}
    assert not_of_model(task.found.places) == {}
    assert (task.watch.leaks(but=AIOSQLITE), place.leaks()) == ({}, {})
