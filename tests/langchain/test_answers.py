"""What the middleware makes of the last message: caveats, strict answers, hidden writes; on every way out of a run."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelCallLimitMiddleware, hook_config
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_kit import Shop, document, results
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from unabridged.contract import InvalidInput
from unabridged.evidence import MemoryLedger, session
from unabridged_langchain import CoverageMiddleware, as_read_tool, as_write_tool

HI = {"messages": [HumanMessage("Is anything left?")]}
CAVEAT = "orders: these findings are partial and the overall conclusion is open. The source has more pages."


def ask(status: str, *turns: Any, given: Any = HI, config: Any = None, tools: Any = None, **options: Any) -> Any:
    layers = options.pop("layers", ())
    made = {k: options.pop(k) for k in ("response_format", "checkpointer") if k in options}
    agent = create_agent(
        scripted(*turns), tools or Shop(status).tools(), middleware=[*layers, CoverageMiddleware(**options)], **made
    )
    return agent.invoke(given, config)


def test_the_caveat_stands_before_the_text_in_the_same_message() -> None:
    messages = ask("partial", calls(("list_orders", {})), AIMessage("Two are left."))["messages"]
    assert messages[-1].content == f"{CAVEAT}\n\nTwo are left."
    assert [type(m).__name__ for m in messages] == ["HumanMessage", "AIMessage", "ToolMessage", "AIMessage"]
    coverage = messages[-1].additional_kwargs["coverage"]
    assert (coverage["outcome"], coverage["caveats"][0]["codes"]) == ("accept_with_caveat", ["MORE_PAGES_AVAILABLE"])


def test_an_answer_over_complete_reads_is_left_alone_unless_it_claims_absence() -> None:
    messages = ask("complete", calls(("list_orders", {})), AIMessage("Here you are."))["messages"]
    assert (messages[-1].content, messages[-1].additional_kwargs) == ("Here you are.", {})
    messages = ask("complete", calls(("list_orders", {})), AIMessage("Nothing is left."))["messages"]
    assert messages[-1].content.startswith("Nothing is left.\n\nChecked: orders")


def test_the_caveat_speaks_the_language_of_the_answer() -> None:
    turns = [calls(("list_orders", {})), AIMessage("Es sind noch zwei Konten übrig, die niemandem gehören.")]
    messages = ask("partial", *turns)["messages"]
    assert messages[-1].content.startswith("orders: Die Befunde sind unvollständig")


def test_an_answer_in_blocks_gets_a_block_before_it() -> None:
    answer = AIMessage([{"type": "text", "text": "Two are left."}])
    messages = ask("partial", calls(("list_orders", {})), answer)["messages"]
    assert messages[-1].content[0] == {"type": "text", "text": f"{CAVEAT}\n\n"}
    assert messages[-1].text == f"{CAVEAT}\n\nTwo are left."


def test_an_agent_that_says_nothing_still_admits() -> None:
    messages = ask("partial", calls(("list_orders", {})), AIMessage(""))["messages"]
    assert messages[-1].content == CAVEAT


@pytest.mark.parametrize("how", ["async", "sync"])
async def test_a_stream_of_messages_carries_the_caveat(how: str) -> None:
    agent = create_agent(
        scripted(calls(("list_orders", {})), AIMessage("Two are left.")),
        Shop("partial").tools(),
        middleware=[CoverageMiddleware()],
    )
    if how == "sync":
        seen = [m for m, _ in agent.stream(HI, stream_mode="messages")]
    else:
        seen = [m async for m, _ in agent.astream(HI, stream_mode="messages")]
    whole = [m for m in seen if type(m) is AIMessage]
    assert [m.content for m in whole] == [f"{CAVEAT}\n\nTwo are left. "]
    assert seen[-1] is whole[0]


async def test_the_events_of_a_run_carry_the_caveat() -> None:
    agent = create_agent(
        scripted(calls(("list_orders", {})), AIMessage("Two are left.")),
        Shop("partial").tools(),
        middleware=[CoverageMiddleware()],
    )
    last: Any = None
    async for event in agent.astream_events(HI, version="v2"):
        if event["event"] == "on_chain_end" and not event["parent_ids"]:
            last = event["data"]["output"]["messages"][-1]
    assert last.content.startswith(CAVEAT)


def test_a_tool_that_returns_directly_gets_the_caveat_too() -> None:
    @tool(return_direct=True)
    def report() -> str:
        """Reports."""
        return "All fine."

    shop = Shop("partial")
    guarded = as_write_tool(report, independent="a report")
    messages = ask("partial", calls(("list_orders", {})), calls(("report", {})), tools=[*shop.tools(), guarded])[
        "messages"
    ]
    assert results(messages)[-1] is messages[-1]
    assert messages[-1].content == f"{CAVEAT}\n\nAll fine."


def test_a_read_that_returns_directly_admits_by_itself() -> None:
    @tool(return_direct=True)
    def peek() -> list[int]:
        """Peeks."""
        return [1]

    messages = ask("partial", calls(("peek", {})), tools=[as_read_tool(peek, "orders")])["messages"]
    before, said = messages[-1].content.split("\n\n", 1)
    assert before.startswith("orders: it is not known whether this is all")
    assert document(said)["status"] == "unknown"


class Stop(AgentMiddleware[Any, Any, Any]):
    """Ends the run before the model answers."""

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> Any:
        if results(state["messages"]):
            return {"jump_to": "end", "messages": [AIMessage("Stopped.")]}
        return None


def test_a_run_that_is_ended_early_admits_too() -> None:
    messages = ask("partial", calls(("list_orders", {})), layers=[Stop()])["messages"]
    assert messages[-1].content == f"{CAVEAT}\n\nStopped."
    limit = ModelCallLimitMiddleware(run_limit=1)
    messages = ask("partial", calls(("list_orders", {})), layers=[limit])["messages"]
    assert messages[-1].content.startswith(CAVEAT)


def test_off_leaves_answers_alone_and_adds_no_node() -> None:
    layer = CoverageMiddleware(on_answer="off")
    agent = create_agent(
        scripted(calls(("list_orders", {})), AIMessage("Nothing is left.")), Shop("partial").tools(), middleware=[layer]
    )
    assert agent.invoke(HI)["messages"][-1].content == "Nothing is left."
    assert set(agent.get_graph().nodes) == {"__start__", "model", "tools", "__end__"}
    for name in ("before_agent", "before_model", "after_model", "after_agent", "wrap_model_call"):
        assert getattr(type(layer), name) is getattr(AgentMiddleware, name)
    caveats = CoverageMiddleware()
    assert type(caveats).after_agent is not AgentMiddleware.after_agent
    assert type(caveats).wrap_model_call is AgentMiddleware.wrap_model_call
    assert type(caveats).after_model is AgentMiddleware.after_model


def test_the_second_answer_of_a_thread_is_caveated_and_the_first_is_not_twice() -> None:
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "two-answers"}}
    agent = create_agent(
        scripted(calls(("list_orders", {})), AIMessage("Two."), AIMessage("Still two.")),
        Shop("partial").tools(),
        middleware=[CoverageMiddleware()],
        checkpointer=saver,
    )
    agent.invoke(HI, config)
    messages = agent.invoke(HI, config)["messages"]
    said = [m.content for m in messages if isinstance(m, AIMessage) and m.content]
    assert said == [f"{CAVEAT}\n\nTwo.", f"{CAVEAT}\n\nStill two."]


def test_a_history_without_its_ledger_is_admitted() -> None:
    past = [calls(("list_orders", {}, "old")), *results([]), HumanMessage("And?")]
    from langchain_core.messages import ToolMessage

    past.insert(1, ToolMessage("[]", tool_call_id="old", name="list_orders"))
    messages = ask("complete", AIMessage("Nothing is left."), given={"messages": past})["messages"]
    assert messages[-1].content.startswith("orders: the check could not be finished.")


# --- strict ---


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_strict_sends_a_sweeping_answer_back_and_takes_the_better_one(how: str) -> None:
    model = scripted(calls(("list_orders", {})), AIMessage("Nothing is left."), AIMessage("I saw a few orders."))
    agent = create_agent(model, Shop("partial").tools(), middleware=[CoverageMiddleware(on_answer="strict")])
    state = agent.invoke(HI) if how == "invoke" else await agent.ainvoke(HI)
    assert state["messages"][-1].content == f"{CAVEAT}\n\nI saw a few orders."
    assert not any("Nothing is left" in str(m.content) for m in state["messages"])
    assert model.seen[-1][-1].content.startswith("The answer was not accepted")


def test_strict_asks_twice_and_then_replaces() -> None:
    model = scripted(calls(("list_orders", {})), *[AIMessage("Nothing is left.")] * 5)
    agent = create_agent(model, Shop("partial").tools(), middleware=[CoverageMiddleware(on_answer="strict")])
    messages = agent.invoke(HI)["messages"]
    assert len(model.seen) == 4
    assert messages[-1].content == f"The following could not be established:\n- {CAVEAT}"
    assert messages[-1].additional_kwargs["coverage"]["outcome"] == "accept_with_caveat"


def test_strict_judges_claims() -> None:
    absent = {"kind": "absence", "resource": "orders", "filters": {"owner": None}}
    claim = json.dumps({"text": "None has no owner.", "claims": [absent]})
    model = scripted(calls(("list_orders", {})), AIMessage(claim), AIMessage("Orders 1 and 3 have no owner."))
    agent = create_agent(model, Shop("complete").tools(), middleware=[CoverageMiddleware(on_answer="strict")])
    messages = agent.invoke(HI)["messages"]
    assert messages[-1].content.startswith("Orders 1 and 3")
    assert "the records say otherwise" in model.seen[-1][-1].content


def test_strict_gives_the_text_of_a_supported_claim() -> None:
    one = {"kind": "count", "resource": "orders", "filters": {"owner": "ops"}, "value": 1}
    claim = json.dumps({"text": "One is of ops.", "claims": [one]})
    model = scripted(calls(("list_orders", {})), AIMessage(claim))
    agent = create_agent(model, Shop("complete").tools(), middleware=[CoverageMiddleware(on_answer="strict")])
    assert agent.invoke(HI)["messages"][-1].content.startswith("One is of ops.\n\nChecked: orders")


class Stated(BaseModel):
    """A structured answer."""

    text: str
    claims: list[dict[str, Any]] = []


def test_strict_judges_a_structured_answer() -> None:
    wrong = calls(("Stated", {"text": "None.", "claims": [{"kind": "absence", "resource": "orders"}]}))
    right = calls(("Stated", {"text": "Order 1.", "claims": [{"kind": "found", "resource": "orders", "ids": [1]}]}))
    model = scripted(calls(("list_orders", {})), wrong, right)
    agent = create_agent(
        model,
        Shop("complete").tools(),
        middleware=[CoverageMiddleware(on_answer="strict")],
        response_format=ToolStrategy(Stated),
    )
    state = agent.invoke(HI)
    assert state["structured_response"].text == "Order 1."
    assert "not supported" in model.seen[-1][-1].content


def test_a_structured_answer_is_no_foreign_result_of_the_next_turn() -> None:
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "structured"}}
    shop = Shop()
    right = {"text": "Order 1."}
    agent = create_agent(
        scripted(
            calls(("list_orders", {})),
            calls(("Stated", right)),
            calls(("archive", {"ids": [1]})),
            calls(("Stated", right)),
        ),
        shop.tools(),
        middleware=[CoverageMiddleware()],
        response_format=ToolStrategy(Stated, tool_message_content="Noted."),
        checkpointer=saver,
    )
    agent.invoke(HI, config)
    agent.invoke(HI, config)
    assert shop.written == [[1]]


# --- hidden writes and settings ---


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_writes_are_hidden_until_their_evidence_is_complete(how: str) -> None:
    model = scripted(calls(("list_orders", {})), AIMessage("Hi"))
    agent = create_agent(
        model, Shop("complete").tools(), middleware=[CoverageMiddleware(hide_until_covered=True, on_answer="off")]
    )
    _ = agent.invoke(HI) if how == "invoke" else await agent.ainvoke(HI)
    assert "archive" not in model.bound[0]
    assert {"list_orders", "add", "continue_read"} <= set(model.bound[0])
    assert "archive" in model.bound[1]
    model = scripted(calls(("list_orders", {})), AIMessage("Hi"))
    agent = create_agent(model, Shop("partial").tools(), middleware=[CoverageMiddleware(hide_until_covered=True)])
    agent.invoke(HI)
    assert "archive" not in model.bound[1]


def test_a_shared_ledger_needs_a_principal_and_keeps_principals_apart() -> None:
    ledger = MemoryLedger(shared=True)
    with pytest.raises(InvalidInput, match="principal"):
        CoverageMiddleware(ledger=ledger)
    config = {"configurable": {"thread_id": "shared"}}
    shop = Shop("complete")
    for principal, written in (("ann", 0), ("bob", 0), ("ann", 1)):
        turns = [calls(("list_orders", {}))] if (principal, written) == ("ann", 0) else []
        agent = create_agent(
            scripted(*turns, *([] if turns else [calls(("archive", {"ids": [1]}))])),
            shop.tools(),
            middleware=[CoverageMiddleware(ledger=ledger, principal=principal)],
        )
        agent.invoke(HI, config)
        assert len(shop.written) == written
    assert len(ledger) == 2


def test_settings_are_checked() -> None:
    for wrong in ({"on_answer": "maybe"}, {"max_bytes": 10}, {"max_bytes": True}):
        with pytest.raises(InvalidInput):
            CoverageMiddleware(**wrong)  # type: ignore[arg-type]


def test_a_subclass_is_a_middleware_too_and_two_of_one_name_are_refused() -> None:
    class Mine(CoverageMiddleware):
        """A subclass."""

    assert isinstance(Mine(on_answer="strict"), Mine)
    with pytest.raises(AssertionError), warnings.catch_warnings():
        create_agent(scripted(), [], middleware=[CoverageMiddleware(), CoverageMiddleware(on_answer="off")])


def test_a_session_in_scope_counts_before_everything_else() -> None:
    shop = Shop("partial")
    with session("scope-first") as s:
        ask("partial", calls(("list_orders", {})), config={"configurable": {"thread_id": "t"}}, tools=shop.tools())
        assert len(s.reads) == 1
