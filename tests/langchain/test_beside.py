# ruff: noqa: ARG001
"""Agents beside each other in one run, results that slip into a history, and graphs that show no turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, TodoListMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langchain_kit import Shop, codes, document, results
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from unabridged_langchain import CoverageMiddleware, PartialReadGuard, protect

HI: Any = {"messages": [HumanMessage("Go.")]}


def tools_of(shop: Shop) -> tuple[Any, Any]:
    """Returns a read, and a write that relies on whatever was read."""
    read, write = protect([shop.list_orders, shop.archive], reads={"list_orders": "orders"}, writes={"archive": {}})
    return read, write


def told_only(agent: Any) -> Callable[[Any], Any]:
    """Returns a node that hands on an agent's last text, and nothing else of what it did."""

    def node(state: Any) -> Any:
        return {"messages": [AIMessage(agent.invoke(HI)["messages"][-1].text)]}

    return node


def told_only_async(agent: Any) -> Callable[[Any], Any]:
    async def node(state: Any) -> Any:
        return {"messages": [AIMessage((await agent.ainvoke(HI))["messages"][-1].text)]}

    return node


@pytest.mark.parametrize("status", ["partial", "complete"])
@pytest.mark.parametrize("reads_with_middleware", [True, False])
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_agents_that_are_nodes_of_one_run_share_its_session(
    status: str, reads_with_middleware: bool, how: str
) -> None:
    shop = Shop(status)
    read, write = tools_of(shop)
    layers = [CoverageMiddleware()] if reads_with_middleware else []
    reader = create_agent(scripted(calls(("list_orders", {})), AIMessage("Three.")), [read], middleware=layers)
    turns = [calls(("archive", {"ids": [1]})), AIMessage("Archived.")]
    writer = create_agent(scripted(*turns), [write], middleware=[CoverageMiddleware()])
    node = told_only if how == "sync" else told_only_async
    graph = StateGraph(MessagesState)
    graph.add_node("read", node(reader))
    graph.add_node("write", node(writer))
    graph.add_edge(START, "read")
    graph.add_edge("read", "write")
    run = graph.compile()
    last = (run.invoke(HI) if how == "sync" else await run.ainvoke(HI))["messages"][-1].text
    assert shop.written == ([[1]] if status == "complete" else [])
    assert last.startswith("orders: ") is (status == "partial")


def test_two_runs_of_one_graph_do_not_share_a_session() -> None:
    shop = Shop("partial")
    read, write = tools_of(shop)
    reader = create_agent(scripted(calls(("list_orders", {}))), [read], middleware=[CoverageMiddleware()])
    writer = create_agent(scripted(calls(("archive", {"ids": [1]}))), [write], middleware=[CoverageMiddleware()])
    for agent in (reader, writer):
        graph = StateGraph(MessagesState)
        graph.add_node("agent", told_only(agent))
        graph.add_edge(START, "agent")
        graph.compile().invoke(HI)
    assert shop.written == [[1]]


def test_a_result_that_slips_in_before_a_known_message_is_seen() -> None:
    shop = Shop()
    model = scripted(calls(("add", {"a": 1, "b": 2})), AIMessage("3"), calls(("archive", {"ids": [1]})))
    agent = create_agent(model, shop.tools(), middleware=[CoverageMiddleware()], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": str(uuid4())}}
    before = agent.invoke(HI, config)["messages"]
    slipped = [
        calls(("list_orders", {}, "foreign")),
        ToolMessage("[]", tool_call_id="foreign", name="list_orders"),
    ]
    agent.update_state(config, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *slipped, *before]})
    refused = results(agent.invoke(HI, config)["messages"])[-1]
    assert codes(refused) == ["EVIDENCE_INCOMPLETE"]
    assert "read it again" in document(refused)["message"]
    assert shop.written == []


@pytest.mark.parametrize(
    "text", ["Returning structured response: none.", "Error: search is not a valid tool, try one of [nothing]."]
)
def test_no_source_passes_for_the_framework(text: str) -> None:
    shop = Shop()

    @tool
    def search() -> str:
        """Searches."""
        return text

    _, write = tools_of(shop)
    agent = create_agent(
        scripted(calls(("search", {})), calls(("archive", {"ids": [1]}))), [search, write], checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": str(uuid4())}}
    assert codes(results(agent.invoke(HI, config)["messages"])[-1]) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


def functional_agent(shop: Shop) -> Any:
    """Returns an agent that is written with tasks: its messages stand in no channel."""
    read, write = tools_of(shop)
    by_name = {t.name: t for t in (read, write)}
    model = scripted(calls(("list_orders", {})), calls(("archive", {"ids": [1]})))

    @task
    def call_tool(asked: Any) -> BaseMessage:
        answer: BaseMessage = by_name[asked["name"]].invoke({**asked, "type": "tool_call"})
        return answer

    @entrypoint(checkpointer=InMemorySaver())
    def agent(messages: list[BaseMessage]) -> list[BaseMessage]:
        while True:
            said = model.invoke(messages)
            messages = [*messages, said]
            if not said.tool_calls:
                return messages
            messages += [f.result() for f in [call_tool(c) for c in said.tool_calls]]

    return agent


def test_a_graph_without_messages_says_what_is_missing_and_a_guard_that_sees_the_model_mends_it() -> None:
    shop = Shop()
    config: Any = {"configurable": {"thread_id": str(uuid4())}}
    refused = results(functional_agent(shop).invoke(HI["messages"], config))[-1]
    assert codes(refused) == ["GUARD_FAILED"]
    assert "cannot be seen" in document(refused)["message"]
    assert shop.written == []
    config = {"configurable": {"thread_id": str(uuid4())}, "callbacks": [PartialReadGuard()]}
    assert results(functional_agent(shop).invoke(HI["messages"], config))[-1].content == "archived"


def test_the_to_do_list_of_langchain_holds_nothing_back_and_one_that_only_bears_its_name_does() -> None:
    @tool
    def write_todos(todos: list[str]) -> str:
        """Keeps a list."""
        return "kept"

    own = TodoListMiddleware()
    for layers, brought in (([own], []), ([], [write_todos])):
        shop = Shop()
        todo = {"todos": [{"content": "Read.", "status": "pending"}] if not brought else ["Read."]}
        model = scripted(calls(("write_todos", todo)), calls(("list_orders", {})), calls(("archive", {"ids": [1]})))
        agent = create_agent(model, [*tools_of(shop), *brought], middleware=[*layers, CoverageMiddleware()])
        messages = agent.invoke(HI)["messages"]
        assert shop.written == ([] if brought else [[1]])
        assert messages[-1].text.startswith("the result of the undeclared tool") is bool(brought)


def test_tools_that_another_middleware_brings_are_declared_there() -> None:
    @tool
    def clock() -> str:
        """Tells the time."""
        return "noon"

    class Clock(AgentMiddleware[Any, Any, Any]):
        tools = [clock]

    shop, layer = Shop(), Clock()
    layer.tools = protect(layer.tools, neutral=["clock"])
    model = scripted(calls(("clock", {})), calls(("archive", {"ids": [1]})))
    agent = create_agent(model, [*tools_of(shop)], middleware=[layer, CoverageMiddleware()])
    assert agent.invoke(HI)["messages"][-1].text == "Done."
    assert shop.written == [[1]]
