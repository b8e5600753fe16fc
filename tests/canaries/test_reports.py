"""Public reports of minimised contracts and of traces (K7, K8), in both rooms: what happens here instead."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from canaries.desk import BAD, GOOD, Provider, refund
from canaries.watching import SAID, SENT, UP, Watch, customer, found_in, places
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.prebuilt import InjectedState, ToolNode
from unabridged.evidence import session
from unabridged_langchain import action_tool, protect, write_tool


def close_case(case_ref: str, reason: str = "other") -> str:
    """Closes a case."""
    return f"closed {case_ref} {reason}"


def langchain_says(tool: Any, args: dict[str, Any]) -> str:
    """Returns what a tool of LangChain says in a `ToolNode`, whatever the node makes of errors."""
    state = {"messages": [calls((tool.name, args))]}
    agent = create_agent(scripted(*state["messages"]), [tool])
    return str(agent.invoke({"messages": [HumanMessage("Go on.")]})["messages"][-2].content)


def llamaindex_says(function: Any, args: dict[str, Any]) -> str:
    """Returns what a protected function says to an agent of LlamaIndex that calls it by its own helper."""
    from llama_index.core.tools.calling import call_tool
    from unabridged_llamaindex import protect as protect_li

    (tool,) = protect_li([function], independent={function.__name__: "a test"})
    return str(call_tool(tool, args).content)


WRONG = {"case": f"{SENT}case", "reason": "dup", "customer_email": f"{SENT}mail"}


# R55: modelcontextprotocol/python-sdk#3067
@pytest.mark.parametrize("room", ["langchain", "llamaindex"])
def test_r55_a_misspelled_argument_runs_nothing_and_is_named(room: str) -> None:
    if room == "langchain":
        told = langchain_says(write_tool(independent="a test")(close_case), WRONG)
    else:
        told = llamaindex_says(close_case, WRONG)
    document = json.loads(told)
    assert document["error"] == "invalid_request"
    assert {p["field"] for p in document["problems"]} >= {"case", "customer_email"}
    assert found_in(told) == set()


# R56: langchain-ai/langgraph, langchain#34246
def test_r56_what_the_framework_injects_is_no_argument_and_a_model_cannot_send_it() -> None:
    seen: list[Any] = []

    def note(text: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Notes."""
        seen.append(state)
        return f"noted {len(text)}"

    tool = protect([StructuredTool.from_function(note)], independent={"note": "a test"})[0]
    assert "state" not in tool.tool_call_schema.model_json_schema()["properties"]
    assert langchain_says(tool, {"text": "a"}) == "noted 1"
    forged = langchain_says(tool, {"text": "a", "state": {"messages": [f"{SENT}forged"]}})
    assert len(seen) == 2
    assert all(isinstance(m, BaseMessage) for state in seen for m in state["messages"]), "the graph's own state"
    assert found_in(forged) == set()


# R58: langchain-ai/langgraph#8648
@pytest.mark.parametrize("bad", ["a broken rule", "wrong types"])
def test_r58_a_broken_rule_is_named_and_its_values_are_not(bad: str) -> None:
    told = langchain_says(action_tool(refund(Provider())), BAD[bad])
    problems = json.loads(told)["problems"]
    assert problems
    if bad == "a broken rule":
        assert "low_le_high" in told
    else:
        assert {"field": "cents", "rule": next(p["rule"] for p in problems if p["field"] == "cents")} in problems
    assert found_in(told) == set()


# R59: langchain-ai/langgraph#1667
@pytest.mark.parametrize("handles", [True, False, "oops", ValueError])
def test_r59_an_exception_reaches_the_model_as_a_code(handles: Any) -> None:
    def send() -> str:
        """Sends."""
        raise ValueError(f"token={SAID} rejected for 10.0.0.9")

    tool = protect([StructuredTool.from_function(send)], independent={"send": "a test"})[0]
    node = ToolNode([tool], handle_tool_errors=handles)
    from langgraph.graph import START, MessagesState, StateGraph

    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    state: Any = {"messages": [AIMessage("", tool_calls=[{"name": "send", "args": {}, "id": "c"}])]}
    told = str(graph.compile().invoke(state)["messages"][-1].content)
    assert json.loads(told)["error"] == "tool_failed"
    assert SAID not in told
    assert "10.0.0.9" not in told
    assert SAID not in llamaindex_says(send, {})


# R60: oraios/serena#11
def test_r60_a_value_under_a_wrong_name_is_not_taken_for_another_argument() -> None:
    ran: list[Any] = []

    def one(ticket: str) -> str:
        """Takes one."""
        ran.append(ticket)
        return "ran"

    def two(ticket: str, note: str = "") -> str:
        """Takes two."""
        ran.append((ticket, note))
        return "ran"

    for function, args in ((one, {"email": f"{SENT}mail"}), (two, {"ticket": "t", "email": f"{SENT}mail"})):
        told = llamaindex_says(function, args)
        assert "email" in told
        assert found_in(told) == set()
    assert ran == []


# R61: langchain-ai/langgraph#2479
@pytest.mark.parametrize("mode", ["values", "updates", "messages"])
def test_r61_no_stream_and_no_state_holds_what_the_output_does_not_declare(mode: Any) -> None:
    from canaries.desk import orders

    model = scripted(calls(("refund", GOOD)))
    agent = create_agent(model, [action_tool(refund(Provider()))])
    with Watch() as watch, session(f"streamed-{mode}") as found:
        found.record(orders())
        streamed = list(agent.stream({"messages": [HumanMessage("Go on.")]}, stream_mode=mode))
    assert "R-1" in repr(streamed), "what is declared does arrive"
    assert UP not in repr(streamed)
    assert not [h for h in places(streamed).values() if h.startswith(UP)]
    assert watch.leaks() == {}


def test_a_canary_is_found_wherever_it_hides() -> None:
    """The search itself: a blind one would pass everything."""
    error = ValueError("outer")
    error.__cause__ = KeyError(f"{UP}inner")
    for hidden in (customer(UP), [b"xx" + UP.encode()], error, HumanMessage(f"a {UP}"), {f"{UP}key": 1}):
        assert places(hidden)
    assert not places({"name": "Erika"})
