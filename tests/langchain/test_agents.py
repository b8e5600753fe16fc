# ruff: noqa: ARG001
"""Guarded tools in agents and graphs: with and without the middleware, sync and async, alone and together."""

from __future__ import annotations

import sqlite3
import threading
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_kit import Shop, codes, document, results
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict
from unabridged.evidence import session
from unabridged_langchain import CoverageMiddleware, as_read_tool, continue_read_tool, neutral_tool, protect, read_tool

HI = {"messages": [HumanMessage("Archive what nobody owns.")]}


def agent_of(shop: Shop, *turns: Any, middleware: bool, **options: Any) -> Any:
    layers = [*options.pop("layers", ()), *([CoverageMiddleware(**options.pop("mw", {}))] if middleware else ())]
    return create_agent(scripted(*turns), options.pop("tools", None) or shop.tools(), middleware=layers, **options)


async def ran(agent: Any, how: str, given: Any = HI, config: Any = None) -> list[Any]:
    if how == "invoke":
        return list(agent.invoke(given, config)["messages"])
    if how == "ainvoke":
        return list((await agent.ainvoke(given, config))["messages"])
    if how == "stream":
        return list(list(agent.stream(given, config, stream_mode="values"))[-1]["messages"])
    return [state async for state in agent.astream(given, config, stream_mode="values")][-1]["messages"]


HOWS = ["invoke", "ainvoke", "stream", "astream"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("middleware", [True, False])
@pytest.mark.parametrize("status", ["partial", "unknown", "unavailable", "complete"])
async def test_a_write_after_a_read_is_judged_by_it(how: str, middleware: bool, status: str) -> None:
    shop = Shop(status)
    agent = agent_of(shop, calls(("list_orders", {})), calls(("archive", {"ids": [1]})), middleware=middleware)
    with session(f"agent-{how}-{middleware}-{status}"):
        messages = await ran(agent, how)
    wrote = results(messages)[-1]
    assert shop.written == ([[1]] if status == "complete" else [])
    assert wrote.status == ("success" if status == "complete" else "error")
    assert status == "complete" or codes(wrote) == ["EVIDENCE_INCOMPLETE"]
    assert isinstance(messages[-1], AIMessage)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("middleware", [True, False])
@pytest.mark.parametrize("order", [("list_orders", "archive"), ("archive", "list_orders")])
@pytest.mark.parametrize("config", [None, {"max_concurrency": 1}])
async def test_a_read_and_a_write_of_one_turn_do_not_go_together(
    how: str, middleware: bool, order: tuple[str, str], config: Any
) -> None:
    shop = Shop()
    args: dict[str, dict[str, Any]] = {"list_orders": {}, "archive": {"ids": [1]}}
    turn = calls(*((name, args[name]) for name in order))
    agent = agent_of(shop, calls(("list_orders", {})), turn, middleware=middleware)
    with session(f"turn-{how}-{middleware}-{order[0]}-{config}"):
        messages = await ran(agent, how, config=config)
    refused = next(m for m in results(messages) if m.name == "archive")
    assert codes(refused) == ["EVIDENCE_PENDING"]
    assert shop.written == []


@pytest.mark.parametrize("middleware", [True, False])
def test_a_slow_partial_read_beside_a_write_is_waited_for_by_no_one(middleware: bool) -> None:
    shop, is_judged = Shop("partial"), threading.Event()

    def slow() -> Any:
        """Lists, and comes back once the write beside it has been answered."""
        assert is_judged.wait(60)
        return shop.list_orders()

    tools = protect([slow, shop.archive], reads={"slow": "orders"}, writes={"archive": ["orders"]})
    turn = calls(("slow", {}), ("archive", {"ids": [1]}))
    agent = agent_of(shop, turn, calls(("archive", {"ids": [1]})), middleware=middleware, tools=tools)
    with session(f"slow-{middleware}"):
        messages = []
        for update in agent.stream(HI, stream_mode="updates"):
            new = [m for one in update.values() for m in (one or {}).get("messages", [])]
            messages += new
            if any(m.name == "archive" for m in results(new)):
                is_judged.set()
    said = [codes(m) for m in results(messages) if m.name == "archive"]
    assert said == [["EVIDENCE_MISSING", "EVIDENCE_PENDING"], ["EVIDENCE_INCOMPLETE"]] or said == [
        ["EVIDENCE_PENDING"],
        ["EVIDENCE_INCOMPLETE"],
    ]
    assert shop.written == []


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_the_turn_is_seen_through_a_bare_tool_node(how: str) -> None:
    shop = Shop()
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([t for t in shop.tools() if not t.coroutine]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    compiled = graph.compile()
    with session(f"node-{how}"):
        await ran(compiled, how, {"messages": [calls(("list_orders", {}))]})
        for turn in (
            calls(("list_orders", {}), ("archive", {"ids": [1]})),
            calls(("archive", {"ids": [1]}), ("list_orders", {})),
        ):
            messages = await ran(compiled, how, {"messages": [turn]})
            assert codes(next(m for m in messages if getattr(m, "name", "") == "archive")) == ["EVIDENCE_PENDING"]
        await ran(compiled, how, {"messages": [calls(("archive", {"ids": [1]}))]})
    assert shop.written == [[1]]


class Chat(TypedDict):
    chat: Annotated[list[Any], lambda a, b: a + b]


def test_the_turn_is_seen_under_another_name_of_the_messages() -> None:
    shop = Shop()
    graph = StateGraph(Chat)
    graph.add_node("tools", ToolNode([t for t in shop.tools() if not t.coroutine], messages_key="chat"))
    graph.add_edge(START, "tools")
    compiled = graph.compile()
    with session("node-chat"):
        compiled.invoke({"chat": [calls(("list_orders", {}))]})
        state = compiled.invoke({"chat": [calls(("list_orders", {}), ("archive", {"ids": [1]}))]})
        assert codes(results(state["chat"])[-1]) == ["EVIDENCE_PENDING"]
        compiled.invoke({"chat": [calls(("archive", {"ids": [1]}))]})
    assert shop.written == [[1]]


class Numbers(TypedDict):
    done: list[str]


def test_a_graph_that_shows_no_turn_refuses_a_model_call_and_lets_a_program_write() -> None:
    shop = Shop()
    tools = shop.by_name()
    said: list[Any] = []

    def node(state: Numbers) -> Numbers:
        tools["list_orders"].invoke({})
        said.append(tools["archive"].invoke({"type": "tool_call", "id": "x", "name": "archive", "args": {"ids": [1]}}))
        said.append(tools["archive"].invoke({"ids": [1]}))
        return {"done": ["yes"]}

    graph = StateGraph(Numbers)
    graph.add_node("work", node)
    graph.add_edge(START, "work")
    with session("node-blind"):
        graph.compile().invoke({"done": []})
    assert codes(said[0]) == ["GUARD_FAILED"]
    assert said[1] == "archived"


@pytest.mark.parametrize("middleware", [True, False])
def test_a_thread_is_a_session(middleware: bool) -> None:
    shop = Shop("partial")
    turns = [calls(("list_orders", {})), AIMessage("one"), calls(("archive", {"ids": [1]})), AIMessage("two")]
    agent = agent_of(shop, *turns, middleware=middleware, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": f"thread-{middleware}"}}
    agent.invoke(HI, config)
    messages = agent.invoke(HI, config)["messages"]
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


def test_a_session_and_a_thread_of_one_name_are_two() -> None:
    shop = Shop("partial")
    tools = shop.by_name()
    config = {"configurable": {"thread_id": "same-name"}}
    tools["list_orders"].invoke({}, config)
    with session("same-name") as s:
        assert len(s.reads) == 0
    with session("other-name"):
        assert codes(tools["archive"].invoke({"ids": [1]}, config)) == ["EVIDENCE_MISSING"]
    assert codes(tools["archive"].invoke({"ids": [1]}, config)) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize("how", HOWS)
async def test_without_thread_and_session_the_middleware_opens_one_for_the_run(how: str) -> None:
    shop = Shop()
    agent = agent_of(shop, calls(("list_orders", {})), calls(("archive", {"ids": [1]})), middleware=True)
    messages = await ran(agent, how)
    assert (results(messages)[-1].content, shop.written) == ("archived", [[1]])
    agent = agent_of(shop, calls(("archive", {"ids": [1]})), middleware=True)
    assert codes(results(await ran(agent, how))[-1]) == ["EVIDENCE_MISSING"]


def test_no_input_sets_the_key_of_a_run() -> None:
    shop = Shop()
    agent = agent_of(shop, calls(("list_orders", {})), AIMessage("Hi"), middleware=True)
    agent.invoke({**HI, "unabridged_run": "mine"})
    agent = agent_of(shop, calls(("archive", {"ids": [1]})), middleware=True)
    state = agent.invoke({**HI, "unabridged_run": "mine"})
    assert codes(results(state["messages"])[-1]) == ["EVIDENCE_MISSING"]
    assert "unabridged_run" not in state


def test_without_middleware_thread_and_session_a_write_refuses() -> None:
    shop = Shop()
    agent = agent_of(shop, calls(("list_orders", {})), calls(("archive", {"ids": [1]})), middleware=False)
    assert codes(results(agent.invoke(HI)["messages"])[-1]) == ["GUARD_FAILED"]


@pytest.mark.parametrize("inner_middleware", [True, False])
@pytest.mark.parametrize("middleware", [True, False])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_sub_agent_joins_the_session_of_its_caller(how: str, middleware: bool, inner_middleware: bool) -> None:
    shop = Shop("partial")
    inner = agent_of(shop, calls(("archive", {"ids": [1]})), middleware=inner_middleware)
    said: list[Any] = []

    @neutral_tool
    def delegate(task: str) -> str:
        """Hands a task to another agent."""
        messages = inner.invoke({"messages": [HumanMessage(task)]})["messages"]
        said.extend(results(messages))
        return str(messages[-1].content)

    tools = [*shop.tools(), delegate]
    agent = agent_of(
        shop, calls(("list_orders", {})), calls(("delegate", {"task": "x"})), middleware=middleware, tools=tools
    )
    with session(f"sub-{how}-{middleware}-{inner_middleware}"):
        await ran(agent, how)
    assert codes(said[0]) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


@pytest.mark.parametrize("middleware", [True, False])
def test_a_sub_agent_knows_what_its_caller_asked_for_beside_it(middleware: bool) -> None:
    shop = Shop()
    inner = agent_of(shop, calls(("archive", {"ids": [1]})), middleware=False)
    said: list[Any] = []

    @neutral_tool
    def delegate() -> str:
        """Hands a task to another agent."""
        said.extend(results(inner.invoke(HI)["messages"]))
        return "done"

    tools = [*shop.tools(), delegate]
    turns = [calls(("list_orders", {})), calls(("delegate", {}), ("list_orders", {}))]
    agent = agent_of(shop, *turns, middleware=middleware, tools=tools)
    with session(f"sub-turn-{middleware}"):
        agent.invoke(HI)
    assert codes(said[0]) == ["EVIDENCE_PENDING"]


def test_a_bare_sub_agent_tool_passes_the_turn_on_under_the_middleware() -> None:
    shop = Shop()
    inner = agent_of(shop, calls(("archive", {"ids": [1]})), middleware=False)
    said: list[Any] = []

    @tool
    def delegate() -> str:
        """Hands a task to another agent."""
        said.extend(results(inner.invoke(HI)["messages"]))
        return "done"

    turns = [calls(("list_orders", {})), calls(("delegate", {}), ("list_orders", {}))]
    agent = agent_of(shop, *turns, middleware=True, tools=[*shop.tools(), delegate])
    agent.invoke(HI)
    assert said == [] or codes(said[0]) == ["EVIDENCE_PENDING"]
    assert shop.written == []


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_the_middleware_judges_tools_that_nobody_wrapped(how: str) -> None:
    shop, done = Shop("partial"), []

    @tool
    def purge(ids: list[int]) -> str:
        """Purges."""
        done.append(ids)
        return "purged"

    agent = agent_of(
        shop,
        calls(("list_orders", {})),
        calls(("purge", {"ids": [1]})),
        middleware=True,
        tools=[*shop.tools(), purge],
    )
    messages = await ran(agent, how)
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]
    assert (done, results(messages)[-1].status) == ([], "error")


def test_the_result_of_an_unwrapped_tool_proves_nothing() -> None:
    shop = Shop()

    @tool
    def peek() -> str:
        """Peeks."""
        return "one order"

    tools = protect([shop.archive], writes={"archive": {}})
    agent = agent_of(shop, calls(("peek", {})), calls(("archive", {"ids": [1]})), middleware=True, tools=[*tools, peek])
    with session("peek") as s:
        messages = agent.invoke(HI)["messages"]
        assert [(r.resource, r.status, r.codes) for r in s.reads] == [("tool:peek", "unknown", ("COVERAGE_UNKNOWN",))]
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]


def test_metadata_and_names_make_no_tool_a_guarded_one() -> None:
    shop, done = Shop("partial"), []

    @tool
    def archive(ids: list[int]) -> str:
        """Archives without a guard."""
        done.append(ids)
        return "archived"

    archive.metadata = {"unabridged": "guarded", "effect": "neutral"}
    agent = agent_of(
        shop,
        calls(("list_orders", {})),
        calls(("archive", {"ids": [1]})),
        middleware=True,
        tools=[shop.by_name()["list_orders"], archive],
    )
    messages = agent.invoke(HI, {"metadata": {"unabridged": "guarded"}})["messages"]
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]
    assert done == []


@pytest.mark.parametrize("middleware", [True, False])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_history_without_its_ledger_blocks(middleware: bool, how: str) -> None:
    shop = Shop()
    past = [
        HumanMessage("List."),
        calls(("list_orders", {}, "old-1")),
        ToolMessage('{"status":"complete","items":[{"id":1}]}', tool_call_id="old-1", name="list_orders"),
        AIMessage("There you are."),
        HumanMessage("Archive."),
    ]
    turns = [calls(("archive", {"ids": [1]})), calls(("list_orders", {})), calls(("archive", {"ids": [1]}))]
    agent = agent_of(shop, *turns, middleware=middleware)
    with session(f"history-{middleware}-{how}") as s:
        messages = await ran(agent, how, {"messages": past})
        assert [r.origin for r in s.reads][:1] == ["history"]
    first, last = [m for m in results(messages) if m.name == "archive"]
    assert codes(first) == ["EVIDENCE_INCOMPLETE"]
    assert last.content == "archived"


@pytest.mark.parametrize("middleware", [True, False])
def test_an_undeclared_result_of_the_history_blocks_a_write_that_relies_on_everything(middleware: bool) -> None:
    shop = Shop()
    past = [
        calls(("peek", {}, "old-1")),
        ToolMessage("one order", tool_call_id="old-1", name="peek"),
        HumanMessage("Archive."),
    ]
    tools = protect([shop.archive], writes={"archive": {}})
    agent = agent_of(shop, calls(("archive", {"ids": [1]})), middleware=middleware, tools=tools)
    with session(f"history-undeclared-{middleware}"):
        messages = agent.invoke({"messages": past})["messages"]
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]


def test_a_name_that_no_tool_has_leaves_nothing_behind() -> None:
    shop = Shop()
    for middleware in (True, False):
        agent = agent_of(
            shop,
            calls(("no_such_tool", {})),
            calls(("list_orders", {})),
            calls(("archive", {"ids": [1]})),
            middleware=middleware,
            tools=protect([shop.list_orders, shop.archive], reads={"list_orders": "orders"}, writes={"archive": {}}),
        )
        with session(f"no-such-{middleware}"):
            messages = agent.invoke(HI)["messages"]
        assert results(messages)[-1].content == "archived"


class Redirect(AgentMiddleware[Any, Any, Any]):
    """Runs another tool than the one that was asked for."""

    def __init__(self, other: Any) -> None:
        super().__init__()
        self.other = other
        self.tools = []

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        if request.tool_call["name"] != "add":
            return handler(request)
        call = {**request.tool_call, "args": {"ids": [1]}}
        return handler(request.override(tool=self.other, tool_call=call))


@pytest.mark.parametrize("outer", [True, False])
def test_a_call_that_another_middleware_redirects_to_a_write_is_judged(outer: bool) -> None:
    shop = Shop("partial")
    redirect = Redirect(shop.by_name()["archive"])
    layers = [redirect, CoverageMiddleware()] if outer else [CoverageMiddleware(), redirect]
    agent = create_agent(
        scripted(calls(("list_orders", {})), calls(("add", {"a": 1, "b": 2}))), shop.tools(), middleware=layers
    )
    messages = agent.invoke(HI)["messages"]
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


@pytest.mark.parametrize("first", [True, False])
def test_what_a_person_makes_of_a_call_is_judged(first: bool) -> None:
    shop = Shop("partial")
    person = HumanInTheLoopMiddleware({"add": True}, interrupt_mode="batched")
    layers = [person, CoverageMiddleware()] if first else [CoverageMiddleware(), person]
    agent = create_agent(
        scripted(calls(("list_orders", {})), calls(("add", {"a": 1, "b": 2}))),
        shop.tools(),
        middleware=layers,
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": f"hitl-{first}"}}
    agent.invoke(HI, config)
    edit = {"type": "edit", "edited_action": {"name": "archive", "args": {"ids": [1]}}}
    messages = agent.invoke(Command(resume={"decisions": [edit]}), config)["messages"]
    refused = next(m for m in results(messages) if m.name == "archive")
    assert '"codes":["EVIDENCE_INCOMPLETE"]' in str(refused.content)
    assert shop.written == []


@pytest.mark.parametrize("middleware", [True, False])
def test_a_read_that_is_interrupted_is_withdrawn_and_asked_again(middleware: bool) -> None:
    @read_tool("orders", exhaustive=True)
    def ask() -> list[Any]:
        """Asks a person first."""
        return [{"id": interrupt("which?")}]

    shop = Shop()
    archive = shop.by_name()["archive"]
    agent = agent_of(
        shop,
        calls(("ask", {})),
        calls(("archive", {"ids": [7]})),
        middleware=middleware,
        tools=[ask, archive],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": f"interrupt-{middleware}"}}
    with session(f"interrupt-{middleware}") as s:
        assert "__interrupt__" in agent.invoke(HI, config)
        assert list(s.reads) == []
        messages = agent.invoke(Command(resume=7), config)["messages"]
        assert [r.status for r in s.reads] == ["complete"]
    assert results(messages)[-1].content == "archived"


@pytest.mark.parametrize("middleware", [True, False])
def test_a_write_that_asks_a_person_is_judged_again_when_it_goes_on(middleware: bool) -> None:
    shop = Shop()

    def careful(ids: list[int]) -> str:
        """Archives after asking."""
        interrupt("sure?")
        return shop.archive(ids)

    tools = protect([shop.list_orders, careful], reads={"list_orders": "orders"}, writes={"careful": ["orders"]})
    agent = agent_of(
        shop,
        calls(("list_orders", {})),
        calls(("careful", {"ids": [1]})),
        middleware=middleware,
        tools=tools,
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": f"careful-{middleware}"}}
    agent.invoke(HI, config)
    shop.status = "partial"
    tools[0].invoke({}, config)
    messages = agent.invoke(Command(resume=True), config)["messages"]
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


@pytest.mark.parametrize("middleware", [True, False])
def test_retries_do_not_wear_the_guard_down(middleware: bool) -> None:
    shop = Shop("partial")
    agent = agent_of(
        shop,
        calls(("list_orders", {})),
        calls(("archive", {"ids": [1]})),
        middleware=middleware,
        layers=[ToolRetryMiddleware(max_retries=2, initial_delay=0.0)],
    )
    with session(f"retry-{middleware}"):
        messages = agent.invoke(HI)["messages"]
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


def test_a_fallback_is_judged_like_what_it_stands_in_for() -> None:
    shop = Shop("partial")
    tools = shop.by_name()
    with session("fallback"):
        tools["list_orders"].invoke({})
        chain = tools["archive"].with_fallbacks([tools["archive"]])
        assert codes(chain.invoke({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]
        assert codes(tools["archive"].with_retry().invoke({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize("middleware", [True, False])
def test_a_summary_that_removes_the_evidence_from_the_history_changes_nothing(middleware: bool) -> None:
    shop = Shop("partial")
    summary = SummarizationMiddleware(scripted(AIMessage("All fine.")), trigger=("messages", 4), keep=("messages", 1))
    agent = agent_of(
        shop,
        calls(("list_orders", {})),
        calls(("add", {"a": 1, "b": 1})),
        calls(("archive", {"ids": [1]})),
        middleware=middleware,
        layers=[summary],
    )
    with session(f"summary-{middleware}"):
        messages = agent.invoke(HI)["messages"]
    assert not any(m.name == "list_orders" for m in results(messages))
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]


class Crash(Exception):
    """The process dies."""


@pytest.mark.parametrize("middleware", [True, False])
def test_a_crash_and_a_resume_keep_the_refusal(middleware: bool, tmp_path: Any) -> None:
    shop = Shop("partial")

    crashed: list[bool] = []

    class Dying(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> None:
            if len(results(state["messages"])) == 1 and not crashed:
                crashed.append(True)
                raise Crash

    with sqlite3.connect(str(tmp_path / "c.db"), check_same_thread=False) as connection:
        agent = agent_of(
            shop,
            calls(("list_orders", {})),
            calls(("archive", {"ids": [1]})),
            middleware=middleware,
            layers=[Dying()],
            checkpointer=SqliteSaver(connection),
        )
        config = {"configurable": {"thread_id": f"crash-{middleware}"}}
        with pytest.raises(Crash):
            agent.invoke(HI, config, durability="sync")
        messages = agent.invoke(None, config, durability="sync")["messages"]
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


@pytest.mark.parametrize("middleware", [True, False])
def test_a_thread_whose_ledger_is_gone_blocks_until_it_is_read_again(middleware: bool) -> None:
    shop, config = Shop(), {"configurable": {"thread_id": f"lost-{middleware}"}}
    turns = [
        calls(("list_orders", {})),
        AIMessage("one"),
        calls(("archive", {"ids": [1]})),
        calls(("list_orders", {})),
        calls(("archive", {"ids": [1]})),
    ]
    agent = agent_of(shop, *turns, middleware=middleware, checkpointer=InMemorySaver())
    with session(f"lost-{middleware}-before"):
        agent.invoke(HI, config)
    messages = agent.invoke(HI, config)["messages"]
    first, last = [m for m in results(messages) if m.name == "archive"]
    assert codes(first) == ["EVIDENCE_INCOMPLETE"]
    assert last.content == "archived"


def test_the_middleware_adds_the_tools_that_refusals_offer() -> None:
    shop = Shop("partial")
    model = scripted(calls(("list_orders", {})), calls(("archive", {"ids": [1]})))
    create_agent(model, shop.tools(), middleware=[CoverageMiddleware()]).invoke(HI)
    assert {"continue_read", "count_read"} <= set(model.bound[0])
    model = scripted(AIMessage("hi"))
    create_agent(model, [*shop.tools(), continue_read_tool], middleware=[CoverageMiddleware()]).invoke(HI)
    assert model.bound[0].count("continue_read") == 1


def test_a_tool_node_takes_the_middleware_by_hand() -> None:
    shop, done, guard = Shop("partial"), [], CoverageMiddleware()

    @tool
    def purge() -> str:
        """Purges."""
        done.append(1)
        return "purged"

    node = ToolNode(
        [shop.by_name()["list_orders"], purge],
        wrap_tool_call=guard.wrap_tool_call,
        awrap_tool_call=guard.awrap_tool_call,
    )
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    compiled = graph.compile()
    with session("node-middleware"):
        compiled.invoke({"messages": [calls(("list_orders", {}))]})
        messages = compiled.invoke({"messages": [calls(("purge", {}))]})["messages"]
    assert codes(messages[-1]) == ["EVIDENCE_INCOMPLETE"]
    messages = compiled.invoke({"messages": [calls(("purge", {}))]})["messages"]
    assert codes(messages[-1]) == ["GUARD_FAILED"]
    assert done == []


def test_a_hundred_parallel_calls_are_each_judged() -> None:
    shop = Shop("partial")
    turn = calls(*(("archive", {"ids": [n]}) for n in range(50)), *(("add", {"a": n, "b": n}) for n in range(50)))
    agent = agent_of(shop, calls(("list_orders", {})), turn, middleware=True)
    messages = agent.invoke(HI)["messages"]
    assert sum(codes(m) == ["EVIDENCE_INCOMPLETE"] for m in results(messages) if m.name == "archive") == 50
    assert shop.written == []


def test_runs_in_many_threads_do_not_mix_their_sessions() -> None:
    said: dict[int, Any] = {}
    agents = [
        agent_of(
            Shop("partial" if number % 2 else "complete"),
            calls(("list_orders", {})),
            calls(("archive", {"ids": [1]})),
            middleware=True,
        )
        for number in range(8)
    ]  # made here: LangChain's inference of a schema is not safe for threads

    def run(number: int) -> None:
        said[number] = results(agents[number].invoke(HI)["messages"])[-1].status

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert said == {n: "error" if n % 2 else "success" for n in range(8)}


def test_artifacts_are_small_plain_json_and_survive_a_strict_checkpoint() -> None:
    shop = Shop()

    @read_tool("orders", exhaustive=True)
    def many() -> list[dict[str, Any]]:
        """Lists many."""
        return [{"id": n, "text": "x" * 100} for n in range(5_000)]

    saver = InMemorySaver()
    agent = agent_of(shop, calls(("many", {})), middleware=True, tools=[many], checkpointer=saver)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.invoke(HI, {"configurable": {"thread_id": "artifact"}})
        state = agent.get_state({"configurable": {"thread_id": "artifact"}}).values
    import json

    artifact = results(state["messages"])[0].artifact
    assert len(json.dumps(artifact)) <= 1024
    assert set(artifact["unabridged"]) == {"read", "status", "complete", "codes", "digest"}
    assert len(results(state["messages"])[0].content) <= 16_384


def test_the_budget_of_the_middleware_reaches_the_tools() -> None:
    @read_tool("orders", exhaustive=True)
    def many() -> list[dict[str, Any]]:
        """Lists many."""
        return [{"id": n, "text": "x" * 100} for n in range(5_000)]

    shop = Shop()
    agent = agent_of(shop, calls(("many", {})), middleware=True, tools=[many], mw={"max_bytes": 2_048})
    message = results(agent.invoke(HI)["messages"])[0]
    assert len(message.content) <= 2_600
    said = document(message)
    assert (said["status"], said["continuation"]["kind"]) == ("partial", "read_more")


def test_going_on_with_a_read_shows_the_rest_and_lets_the_write_run() -> None:
    rows = [{"id": n, "text": "x" * 100} for n in range(300)]

    @read_tool("orders", exhaustive=True)
    def many() -> list[dict[str, Any]]:
        """Lists many."""
        return rows

    shop = Shop()
    seen: list[int] = []

    def go_on(messages: list[Any]) -> AIMessage:
        if messages[-1].name == "wipe":
            return AIMessage("Done.")
        said = document(messages[-1])
        seen.extend(i["id"] for i in said["items"])
        route = said.get("continuation")
        return calls(("continue_read", {"handle": route["handle"]})) if route else calls(("wipe", {}))

    def wipe() -> str:
        """Wipes all."""
        shop.written.append("all")
        return "wiped"

    tools = [many, *protect([wipe], writes={"wipe": ["orders"]})]
    agent = agent_of(shop, calls(("many", {})), *[go_on] * 6, middleware=True, tools=tools)
    messages = agent.invoke(HI)["messages"]
    assert seen == list(range(300))
    assert results(messages)[-1].content == "wiped"


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_counting_is_done_by_code_over_the_whole_read(how: str) -> None:
    @read_tool("orders", exhaustive=True)
    def many() -> list[dict[str, Any]]:
        """Lists many."""
        return [{"id": n, "owner": None if n % 3 else "ops", "text": "x" * 100} for n in range(3_000)]

    def count(messages: list[Any]) -> AIMessage:
        return calls(("count_read", {"handle": document(messages[-1])["handle"], "where": {"owner": None}}))

    agent = agent_of(Shop(), calls(("many", {})), count, middleware=True, tools=[many])
    said = document(results(await ran(agent, how))[-1])
    assert (said["status"], said["count"]) == ("complete", 2_000)


def test_a_handle_of_another_session_leads_nowhere() -> None:
    shop = Shop()
    with session("handle-a"):
        said = document(shop.by_name()["list_orders"].invoke({}))
    with session("handle-b"):
        assert document(continue_read_tool.invoke({"handle": said["handle"]}))["error"] == "unresolved_handle"


def test_a_hand_off_command_passes_through() -> None:
    shop = Shop()

    @tool
    def hand_off(tool_call_id: Annotated[str, "x"] = "") -> Any:
        """Hands off."""
        return Command(update={"messages": [ToolMessage("handed", tool_call_id="h1")]})

    guarded = as_read_tool(hand_off, "orders")
    agent = agent_of(
        shop, calls(("hand_off", {}, "h1")), calls(("archive", {"ids": [1]})), middleware=True,
        tools=[guarded, shop.by_name()["archive"]],
    )  # fmt: skip
    messages = agent.invoke(HI)["messages"]
    assert results(messages)[0].content == "handed"
    assert codes(results(messages)[-1]) == ["EVIDENCE_INCOMPLETE"]
