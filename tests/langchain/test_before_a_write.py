"""What stands between the leave to write and the write, in agents and graphs: a person, a second look, a log."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from audit_kit import Log
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langchain_kit import ROWS, Shop, call, codes, document, result, results
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from unabridged.actions.approvals import Card, Decision
from unabridged.evidence import session
from unabridged_langchain import (
    CallRefused,
    CoverageMiddleware,
    PartialReadGuard,
    interrupt_for_approval,
    protect,
    read_tool,
    write_tool,
)

HI = {"messages": [HumanMessage("Archive what nobody owns.")]}


def tools_of(shop: Shop, **keywords: Any) -> list[Any]:
    return protect(
        [shop.list_orders, shop.archive],
        reads={"list_orders": "orders"},
        writes={"archive": {"relies_on": ["orders"], "targets": "ids", **keywords}},
    )


def agent_of(shop: Shop, *turns: Any, tools: list[Any] | None = None, **mw: Any) -> Any:
    return create_agent(
        scripted(*turns), tools or tools_of(shop, destructive=True), checkpointer=InMemorySaver(),
        middleware=[CoverageMiddleware(**mw)],
    )  # fmt: skip


ERRAND = (calls(("list_orders", {})), calls(("archive", {"ids": [1, 3]})))


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_graph_pauses_for_a_person_and_goes_on_with_the_decision(is_async: bool) -> None:
    shop, config = Shop(), {"configurable": {"thread_id": f"pause-{is_async}"}}
    agent = agent_of(shop, *ERRAND, approve=interrupt_for_approval)

    async def run(given: Any) -> Any:
        return await agent.ainvoke(given, config) if is_async else agent.invoke(given, config)

    paused = await run(HI)
    (asked,) = paused["__interrupt__"]
    card = asked.value
    assert (card["action"], card["targets"], card["codes"]) == ("archive", 2, ["EVIDENCE_WEAK"])
    assert shop.written == []
    done = await run(Command(resume={"decision": "approve", "binding": card["binding"]}))
    assert shop.written == [[1, 3]]
    assert results(done["messages"])[-1].content == "archived"


@pytest.mark.parametrize(
    "answer",
    [
        True,
        "approve",
        {"decision": "approve"},
        {"decision": "approve", "binding": "other"},
        {"decision": "abandon"},
    ],
)
def test_a_resume_that_does_not_name_the_card_approves_nothing(answer: Any) -> None:
    shop, config = Shop(), {"configurable": {"thread_id": f"wrong-{answer}"}}
    agent = agent_of(shop, *ERRAND, approve=interrupt_for_approval)
    agent.invoke(HI, config)
    done = agent.invoke(Command(resume=answer), config)
    assert shop.written == []
    assert "APPROVAL_STALE" in codes(results(done["messages"])[-1])


def test_a_resumed_write_leaves_one_line_of_each_kind_and_runs_once() -> None:
    """R50: what stands before an interrupt runs again with every resume."""
    shop, log, config = Shop(), Log(), {"configurable": {"thread_id": "once"}}
    agent = agent_of(shop, *ERRAND, approve=interrupt_for_approval, audit=log)
    card = agent.invoke(HI, config)["__interrupt__"][0].value
    for _ in range(3):
        agent.invoke(Command(resume={"decision": "approve", "binding": card["binding"]}), config)
    assert shop.written == [[1, 3]]
    assert log.told == [
        ("approval", "archive", "approve"),
        ("intent", "archive", "allow"),
        ("outcome", "archive", "done"),
    ]


def test_arguments_that_were_changed_while_a_person_thought_are_not_approved() -> None:
    """R46, R48: the call that runs is not the one that was shown."""
    shop, config = Shop(), {"configurable": {"thread_id": "edited"}}
    tools = [*tools_of(shop), write_tool(approval="always", independent="tells the operators")(_note(shop))]
    agent = agent_of(shop, calls(("note", {"text": "a"})), tools=tools, approve=interrupt_for_approval)
    card = agent.invoke(HI, config)["__interrupt__"][0].value
    last = agent.get_state(config).values["messages"][-1]
    edited = last.model_copy(update={"tool_calls": [{**last.tool_calls[0], "args": {"text": "b"}}]})
    agent.update_state(config, {"messages": [edited]}, as_node="model")
    done = agent.invoke(None, config)
    (asked,) = done["__interrupt__"]
    assert asked.value["binding"] != card["binding"]
    agent.invoke(Command(resume={"decision": "approve", "binding": card["binding"]}), config)
    assert shop.written == []


def _note(shop: Shop) -> Callable[..., str]:
    def note(text: str) -> str:
        """Tells the operators."""
        shop.written.append(text)
        return "told"

    return note


@pytest.mark.parametrize("middleware", [True, False])
def test_an_approver_of_the_session_is_asked_with_and_without_a_middleware(middleware: bool) -> None:
    shop, cards = Shop(), []

    def decides(card: Card) -> bool:
        cards.append(card)
        return True

    layers = [CoverageMiddleware()] if middleware else []
    agent = create_agent(scripted(*ERRAND), tools_of(shop, destructive=True), middleware=layers)
    with session(f"approver-{middleware}", approve=decides):
        agent.invoke(HI)
    assert shop.written == [[1, 3]]
    assert len(cards) == 1, "two layers ask once"


async def test_an_async_approver_is_waited_for() -> None:
    async def decides(_: Card) -> Decision:
        return Decision.go_ahead([3])

    shop = Shop()
    agent = agent_of(shop, *ERRAND, approve=decides)
    await agent.ainvoke(HI, {"configurable": {"thread_id": "async-approver"}})
    assert shop.written == [[3]]


@pytest.mark.parametrize("middleware", [True, False])
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_recheck_narrows_what_the_tool_gets(middleware: bool, is_async: bool) -> None:
    shop = Shop()
    tools = tools_of(shop, destructive=True, recheck=lambda target: target == 3)
    agent = create_agent(scripted(*ERRAND), tools, middleware=[CoverageMiddleware()] if middleware else [])
    with session(f"recheck-{middleware}-{is_async}"):
        state = await agent.ainvoke(HI) if is_async else agent.invoke(HI)
    assert shop.written == [[3]]
    told = document(results(state["messages"])[-1])
    assert (told["status"], told["done"], told["left_out"]) == (
        "partial", 1, [{"target": 1, "code": "RECHECK_FAILED"}],
    )  # fmt: skip


def test_a_tool_of_one_argument_and_one_with_an_artifact_are_narrowed_too() -> None:
    gone: list[Any] = []

    @write_tool(targets="ids", recheck=lambda target: target == 1)
    def drop(ids: list[int]) -> str:
        """Drops."""
        gone.append(ids)
        return "dropped"

    pairs = StructuredTool.from_function(
        lambda ids: (gone.append(ids) or "dropped", {"n": len(ids)}), name="pair", description="Drops.",
        response_format="content_and_artifact",
    )  # fmt: skip
    pair = protect([pairs], writes={"pair": {"targets": "ids", "recheck": lambda target: target == 1}})[0]
    with session("narrowed") as s:
        s.record(result([dict(r) for r in ROWS]))
        assert json.loads(drop.invoke({"ids": [1, 2]}))["done"] == 1
        assert json.loads(drop.func([1, 2]))["done"] == 1
        assert json.loads(drop.func(ids=[1, 2]))["done"] == 1
        message = pair.invoke(call("pair", ids=[1, 2]))
    assert document(message)["done"] == 1
    assert gone == [[1]] * 4


def test_a_selection_reaches_the_tool_as_its_ids() -> None:
    shop = Shop()

    def archive(ids: list[int] | None = None, selection: str | None = None) -> str:  # noqa: ARG001
        """Archives orders."""
        return shop.archive(ids or [])

    tool = protect([archive], writes={"archive": {"targets": "ids", "selection": "selection"}})[0]
    with session("selected"):
        read = result([dict(r) for r in ROWS])
        token = str(read.select([1, 3], action="archive"))
        assert tool.invoke({"selection": token}) == "archived"
        assert codes(tool.invoke({"selection": token})) == ["SELECTION_INVALID"]
    assert shop.written == [[1, 3]]


@pytest.mark.parametrize("middleware", [True, False])
def test_every_write_of_an_agent_is_written_down(middleware: bool) -> None:
    shop, log = Shop(), Log()
    turns = (calls(("archive", {"ids": [1]})), *ERRAND, calls(("archive", {"ids": "k4narie"})))
    mw = [CoverageMiddleware(audit=log)] if middleware else []
    agent = create_agent(scripted(*turns), tools_of(shop), middleware=mw)
    with session(f"written-{middleware}", audit=None if middleware else log):
        agent.invoke(HI)
    assert log.told == [
        ("decision", "archive", "refused"),
        ("intent", "archive", "allow"),
        ("outcome", "archive", "done"),
        ("decision", "archive", "invalid_request"),
    ]
    assert "k4narie" not in repr(log.events)


@pytest.mark.parametrize("middleware", [True, False])
def test_an_agent_whose_log_fails_writes_nothing(middleware: bool) -> None:
    shop, log = Shop(), Log("intent")
    mw = [CoverageMiddleware(audit=log)] if middleware else []
    agent = create_agent(scripted(*ERRAND), tools_of(shop), middleware=mw)
    with session(f"failing-{middleware}", audit=None if middleware else log):
        state = agent.invoke(HI)
    assert shop.written == []
    assert codes(results(state["messages"])[-1]) == ["GUARD_FAILED"]


def test_a_tool_without_a_guard_of_its_own_is_asked_about_and_written_down_by_the_middleware() -> None:
    shop, log = Shop(), Log()

    def tidy(ids: list[int]) -> str:
        """Tidies."""
        return shop.archive(ids)

    agent = create_agent(
        scripted(calls(("tidy", {"ids": [1]}))), [StructuredTool.from_function(tidy)],
        middleware=[CoverageMiddleware(audit=log)],
    )  # fmt: skip
    agent.invoke(HI)
    assert log.told == [("intent", "tidy", "allow"), ("outcome", "tidy", "done")]
    log.fails = ("intent",)
    agent.invoke(HI)
    assert shop.written == [[1]]


def test_a_handler_asks_writes_down_and_refuses_what_it_cannot_narrow() -> None:
    shop, log = Shop(), Log()
    tool = StructuredTool.from_function(shop.archive)
    with session("handled", audit=log, approve=lambda _: True) as s:
        s.record(result([dict(r) for r in ROWS]))
        guard = PartialReadGuard(writes={"archive": {"targets": "ids", "destructive": True}}, session=s)
        assert tool.invoke({"ids": [1]}, {"callbacks": [guard]}) == "archived"
        narrows = PartialReadGuard(
            writes={"archive": {"targets": "ids", "recheck": lambda target: target == 1}}, session=s
        )
        with pytest.raises(CallRefused) as refused:
            tool.invoke({"ids": [1, 2]}, {"callbacks": [narrows]})
    assert refused.value.codes == ("GUARD_FAILED",)
    assert shop.written == [[1]]
    assert log.told[:3] == [
        ("approval", "archive", "approve"), ("intent", "archive", "allow"), ("outcome", "archive", "done"),
    ]  # fmt: skip


def test_a_read_inside_a_write_is_no_part_of_its_decision() -> None:
    log = Log()

    @read_tool("orders")
    def peek() -> Any:
        """Peeks."""
        return result([dict(r) for r in ROWS])

    @write_tool(independent="writes what it reads")
    def copy() -> str:
        """Copies."""
        peek.invoke({})
        return "copied"

    with session("inside", audit=log) as s:
        assert copy.invoke({}) == "copied"
        assert [r.status for r in s.reads] == ["complete"]
    assert log.told == [("intent", "copy", "allow"), ("outcome", "copy", "done")]
