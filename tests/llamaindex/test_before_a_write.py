"""What stands between the leave to write and the write, in agents: a person, a second look, a log."""

from __future__ import annotations

import json
from typing import Any

import pytest
from audit_kit import Log
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from llama_scripts import alone_or_in_workflow, case, result, script, told
from unabridged import session
from unabridged.actions.approvals import Card, Decision
from unabridged.contract import InvalidInput
from unabridged_llamaindex import CoverageFunctionAgent, protect

IDS = ["o-1", "o-2"]


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
        writes={"archive": {"relies_on": ["orders"], "targets": "ids", **keywords}},
    )


ERRAND: tuple[Any, ...] = ([("list_orders", {})], [("archive", {"ids": IDS})])


@pytest.mark.parametrize("mode", ["alone", "workflow"])
async def test_the_approver_of_an_agent_is_asked(mode: str) -> None:
    written: list[Any] = []
    cards: list[Card] = []

    async def decides(card: Card) -> Decision:
        cards.append(card)
        return Decision.approve()

    agent = CoverageFunctionAgent(
        tools=tools_of(written, destructive=True), llm=script(*ERRAND), approve=decides, name="a", description="d"
    )
    await alone_or_in_workflow(agent, mode).run("Archive what nobody owns.")
    assert written == [IDS]
    assert [(c.action, c.targets, c.codes) for c in cards] == [("archive", 2, ("EVIDENCE_WEAK",))]


async def test_a_person_may_answer_as_an_event_of_the_run() -> None:
    written: list[Any] = []

    async def asks(card: Card) -> Any:
        from unabridged_llamaindex.run import running_step

        step = running_step()
        assert step is not None
        event = await step[0].wait_for_event(
            HumanResponseEvent, waiter_id=card.binding, waiter_event=InputRequiredEvent(prefix=card.binding)
        )
        return {"decision": event.response, "binding": card.binding}

    agent = CoverageFunctionAgent(tools=tools_of(written, destructive=True), llm=script(*ERRAND), approve=asks)
    handler = agent.run("Archive what nobody owns.")
    asked = 0
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            asked += 1
            handler.ctx.send_event(HumanResponseEvent(response="approve"))
    await handler
    assert (asked, written) == (1, [IDS])


@pytest.mark.parametrize("kind", [FunctionAgent, CoverageFunctionAgent])
async def test_the_approver_and_the_log_of_the_session_serve_a_plain_agent(kind: Any) -> None:
    written: list[Any] = []
    log = Log()
    agent = kind(tools=tools_of(written, destructive=True), llm=script(*ERRAND))
    with session(f"plain-{kind.__name__}", approve=lambda _: True, audit=log):
        await agent.run("Archive what nobody owns.")
    assert written == [IDS]
    assert log.told == [
        ("approval", "archive", "approve"), ("intent", "archive", "allow"), ("outcome", "archive", "done"),
    ]  # fmt: skip


async def test_an_agent_whose_log_fails_writes_nothing() -> None:
    written: list[Any] = []
    llm = script(*ERRAND)
    agent = CoverageFunctionAgent(tools=tools_of(written), llm=llm, audit=Log("intent"))
    await agent.run("Archive what nobody owns.")
    assert written == []
    assert json.loads(told(llm)[-1])["codes"] == ["GUARD_FAILED"]


async def test_a_refusal_and_an_invalid_call_are_written_down_without_a_value() -> None:
    written: list[Any] = []
    log = Log()
    turns: list[Any] = [[("archive", {"ids": IDS})], [("archive", {"k4narie": 1, "k4narie x": 2})]]
    agent = CoverageFunctionAgent(tools=tools_of(written), llm=script(*turns), audit=log)
    await agent.run("Archive what nobody owns.")
    assert log.told == [("decision", "archive", "refused"), ("decision", "archive", "invalid_request")]
    assert written == []


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_recheck_narrows_what_the_tool_gets(is_async: bool) -> None:
    written: list[Any] = []
    read, write = tools_of(written, recheck=lambda target: target == "o-2")
    with case():
        await read.acall()
        output = await write.acall(ids=IDS) if is_async else write.call(ids=IDS)
        spoken = write.fn(ids=IDS)
    assert written == [["o-2"], ["o-2"]]
    assert json.loads(output.content)["left_out"] == [{"target": "o-1", "code": "RECHECK_FAILED"}]
    assert json.loads(spoken)["done"] == 1


async def test_a_selection_reaches_the_tool_as_its_ids() -> None:
    written: list[Any] = []

    def archive(ids: list[str] | None = None, selection: str | None = None) -> str:  # noqa: ARG001
        """Archives orders."""
        written.append(ids)
        return "archived"

    (tool,) = protect(
        [FunctionTool.from_defaults(archive)], writes={"archive": {"targets": "ids", "selection": "selection"}}
    )
    with case():
        token = str(result().select(IDS, action="archive"))
        assert tool.call(selection=token).content == "archived"
        assert json.loads(tool.call(selection=token).content)["codes"] == ["SELECTION_INVALID"]
    assert written == [IDS]


def test_what_cannot_decide_or_record_is_refused_when_it_is_given() -> None:
    for field, value in (("approve", True), ("audit", object())):
        with pytest.raises(InvalidInput, match=field):
            CoverageFunctionAgent(tools=[], llm=script(), **{field: value})


async def test_a_context_can_be_kept_although_the_agent_has_a_log() -> None:
    written: list[Any] = []
    agent = CoverageFunctionAgent(tools=tools_of(written), llm=script(*ERRAND), audit=Log())
    context = Context(agent)
    await agent.run("Archive what nobody owns.", ctx=context)
    assert "Log" not in json.dumps(context.to_dict())
    assert written == [IDS]
