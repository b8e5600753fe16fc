"""Pausing a graph for a person: two cards at once, subgraphs, other approvers beside ours, and other processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage
from langchain_kit import Shop, codes, results
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from unabridged.evidence import session
from unabridged_langchain import CoverageMiddleware, PartialReadGuard, interrupt_for_approval, protect

HI = {"messages": [HumanMessage("Archive what nobody owns.")]}
ERRAND = (calls(("list_orders", {})), calls(("archive", {"ids": [1, 3]})))
TWO = (calls(("list_orders", {})), calls(("archive", {"ids": [1]}), ("archive", {"ids": [3]})))


def tools_of(shop: Shop, **keywords: Any) -> list[Any]:
    return protect(
        [shop.list_orders, shop.archive],
        reads={"list_orders": "orders"},
        writes={"archive": {"relies_on": ["orders"], "targets": "ids", "destructive": True, **keywords}},
    )


def agent_of(shop: Shop, *turns: Any, layers: tuple[Any, ...] = (), saver: Any = True) -> Any:
    return create_agent(
        scripted(*turns), tools_of(shop), checkpointer=InMemorySaver() if saver is True else saver,
        middleware=[*layers, CoverageMiddleware(approve=interrupt_for_approval)],
    )  # fmt: skip


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": f"approvals-{name}"}}


def yes(card: Any, **more: Any) -> dict[str, Any]:
    return {"decision": "approve", "binding": card["binding"], **more}


def test_two_cards_of_one_turn_are_answered_each_for_itself() -> None:
    shop, config = Shop(), thread("two")
    agent = agent_of(shop, *TWO)
    asked = agent.invoke(HI, config)["__interrupt__"]
    first, second = asked
    assert first.value["binding"] != second.value["binding"]
    answers = {first.id: yes(first.value), second.id: {"decision": "abandon", "binding": second.value["binding"]}}
    done = agent.invoke(Command(resume=answers), config)
    assert shop.written in ([[1]], [[3]]), "which card came first is not settled"
    assert sorted(m.status for m in results(done["messages"])[-2:]) == ["error", "success"]


def test_two_cards_of_one_turn_whose_answers_were_swapped_approve_nothing() -> None:
    shop, config = Shop(), thread("swapped")
    agent = agent_of(shop, *TWO)
    first, second = agent.invoke(HI, config)["__interrupt__"]
    agent.invoke(Command(resume={first.id: yes(second.value), second.id: yes(first.value)}), config)
    assert shop.written == []


def test_one_card_of_two_may_be_answered_later() -> None:
    shop, config = Shop(), thread("later")
    agent = agent_of(shop, *TWO)
    first, second = agent.invoke(HI, config)["__interrupt__"]
    agent.invoke(Command(resume={first.id: yes(first.value)}), config)
    assert len(shop.written) == 1
    agent.invoke(Command(resume={second.id: yes(second.value)}), config)
    assert sorted(shop.written) == [[1], [3]], "what was written is not written again"


def test_the_card_of_one_thread_is_not_answered_in_another() -> None:
    shop, saver = Shop(), InMemorySaver()
    agents = [agent_of(shop, *ERRAND, saver=saver) for _ in range(2)]
    here, there = thread("here"), thread("there")
    (card,) = agents[0].invoke(HI, here)["__interrupt__"]
    agents[1].invoke(HI, there)
    done = agents[1].invoke(Command(resume=yes(card.value)), there)
    assert "APPROVAL_STALE" in codes(results(done["messages"])[-1])
    assert shop.written == []


def test_a_checkpoint_that_is_resumed_twice_writes_once() -> None:
    """R50: going back to before the answer and answering again is no second approval."""
    shop, config = Shop(), thread("fork")
    agent = agent_of(shop, *ERRAND)
    (card,) = agent.invoke(HI, config)["__interrupt__"]
    before = agent.get_state(config).config
    agent.invoke(Command(resume=yes(card.value)), config)
    assert shop.written == [[1, 3]]
    agent.invoke(Command(resume=yes(card.value)), before)
    assert shop.written == [[1, 3]]


def test_an_agent_inside_a_graph_pauses_the_whole_and_goes_on() -> None:
    shop, config = Shop(), thread("sub")
    inner = agent_of(shop, *ERRAND, saver=None)
    graph = StateGraph(MessagesState)
    graph.add_node("inner", inner)
    graph.add_edge(START, "inner")
    outer = graph.compile(checkpointer=InMemorySaver())
    (card,) = outer.invoke(HI, config)["__interrupt__"]
    assert shop.written == []
    outer.invoke(Command(resume=yes(card.value)), config)
    assert shop.written == [[1, 3]]


def test_tools_of_one_node_that_pause_one_after_the_other_write_once_each() -> None:
    """A hand-made graph runs all calls of a turn in one node, and runs the node again with every answer."""
    shop, config = Shop(), thread("node")
    graph = StateGraph(MessagesState)
    graph.add_node("reads", ToolNode(tools_of(shop)))
    graph.add_node("ask", lambda _: {"messages": [calls(("archive", {"ids": [1]}), ("archive", {"ids": [3]}))]})
    graph.add_node("writes", ToolNode(tools_of(shop)))
    graph.add_edge(START, "reads")
    graph.add_edge("reads", "ask")
    graph.add_edge("ask", "writes")
    app = graph.compile(checkpointer=InMemorySaver())
    with session("node", approve=interrupt_for_approval):
        paused = app.invoke({"messages": [calls(("list_orders", {}))]}, config)
        for _ in range(4):
            if "__interrupt__" not in paused:
                break
            paused = app.invoke(Command(resume=yes(paused["__interrupt__"][0].value)), config)
    assert len(shop.written) == len({json.dumps(w) for w in shop.written}), "nothing is written twice"


@pytest.mark.parametrize("edited", [("archive", {"ids": [1]}), ("archive", {"ids": [2]})])
def test_what_another_approver_edits_is_shown_as_it_will_run(edited: Any) -> None:
    """R46: the card is about the call that runs, whoever changed it before."""
    shop, config = Shop(), thread(f"hitl-{edited[1]['ids']}")
    other = HumanInTheLoopMiddleware(interrupt_on={"archive": True})
    agent = agent_of(shop, *ERRAND, layers=(other,))
    agent.invoke(HI, config)
    name, args = edited
    edit = {"decisions": [{"type": "edit", "edited_action": {"name": name, "args": args}}]}
    paused = agent.invoke(Command(resume=edit), config)
    (card,) = paused["__interrupt__"]
    assert (card.value["action"], card.value["targets"]) == ("archive", 1)
    assert shop.written == []
    agent.invoke(Command(resume=yes(card.value)), config)
    assert shop.written == [args["ids"]]


def test_a_call_that_another_approver_edits_into_another_tool_is_asked_about_as_that_one() -> None:
    shop, config = Shop(), thread("hitl-other")
    written: list[str] = []

    def note(text: str) -> str:
        """Notes."""
        written.append(text)
        return "noted"

    tools = [*tools_of(shop), *protect([note], writes={"note": {"independent": "notes", "approval": "always"}})]
    agent = create_agent(
        scripted(*ERRAND), tools, checkpointer=InMemorySaver(),
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"archive": True}),
                    CoverageMiddleware(approve=interrupt_for_approval)],
    )  # fmt: skip
    agent.invoke(HI, config)
    edit = {"decisions": [{"type": "edit", "edited_action": {"name": "note", "args": {"text": "x"}}}]}
    (card,) = agent.invoke(Command(resume=edit), config)["__interrupt__"]
    assert card.value["action"] == "note"
    assert (written, shop.written) == ([], [])
    agent.invoke(Command(resume=yes(card.value)), config)
    assert (written, shop.written) == (["x"], [])


@pytest.mark.parametrize("approves", [True, False])
def test_a_yes_of_another_approver_is_none_for_us(approves: bool) -> None:
    shop, config = Shop(), thread(f"hitl-yes-{approves}")
    agent = agent_of(shop, *ERRAND, layers=(HumanInTheLoopMiddleware(interrupt_on={"archive": True}),))
    agent.invoke(HI, config)
    paused = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    (card,) = paused["__interrupt__"]
    agent.invoke(Command(resume=yes(card.value) if approves else {"decisions": [{"type": "approve"}]}), config)
    assert shop.written == ([[1, 3]] if approves else [])


def test_a_handler_asks_the_session_and_holds_the_call_to_the_answer() -> None:
    shop = Shop()
    archive = protect([shop.archive], writes={"archive": {"targets": "ids", "independent": "x", "approval": "always"}})
    answers = iter([False, True])
    with session("handler", approve=lambda _: next(answers)) as s:
        guard = PartialReadGuard(session=s)
        archive[0].invoke({"ids": [1]}, {"callbacks": [guard]})
        archive[0].invoke({"ids": [2]}, {"callbacks": [guard]})
    assert shop.written == [[2]]


_OTHER = """
import json, sys
from langchain_kit import Shop
from test_approvals import ERRAND, HI, agent_of, results, thread, yes, Command
from langgraph.checkpoint.sqlite import SqliteSaver

step, path = sys.argv[1:3]
shop, config = Shop(), thread("process")
with SqliteSaver.from_conn_string(path) as saver:
    if step == "ask":
        card = agent_of(shop, *ERRAND, saver=saver).invoke(HI, config)["__interrupt__"][0].value
        print(json.dumps(card))
    else:
        agent = agent_of(shop, saver=saver)
        done = agent.invoke(Command(resume=yes(json.loads(sys.argv[3]))), config)
        print(json.dumps([shop.written, results(done["messages"])[-1].content]))
"""


def test_a_memory_ledger_lets_no_other_process_go_on_with_an_approval(tmp_path: Path) -> None:
    """The evidence and the key that binds the answer are of the process that asked."""
    here = Path(__file__).parent

    def run(*args: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", _OTHER, args[0], str(tmp_path / "graph.db"), *args[1:]], capture_output=True,
            text=True, timeout=240, check=False, cwd=here,
            env={"PYTHONPATH": f"{here}:{here.parent}", "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    written, told = run("resume", json.dumps(run("ask")))
    assert written == []
    assert json.loads(told)["error"] == "refused"
