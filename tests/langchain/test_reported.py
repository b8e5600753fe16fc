"""Reports of the kinds K6 and K7 as they were told of LangChain. Names and shapes are the reports' own."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool, ToolException
from langchain_core.tools import tool as plain_tool
from langchain_kit import Shop, call, codes, document, result, results
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from pydantic import BaseModel, StringConstraints
from unabridged.actions import Action, Grants, Sensitivity
from unabridged.contract import InvalidInput
from unabridged.evidence import session
from unabridged_langchain import (
    CallRefused,
    CoverageMiddleware,
    PartialReadGuard,
    action_tool,
    as_write_tool,
    protect,
    write_tool,
)

HI = {"messages": [HumanMessage("Go.")]}
DELETE = {"readOnlyHint": False, "destructiveHint": True, "_meta": {"server": "shop"}}


class Blocked(Exception):
    """What a callback raises to stop a tool."""


class Naive(BaseCallbackHandler):
    def on_tool_start(self, *_args: Any, **_kwargs: Any) -> None:
        raise Blocked


class AsyncNaive(AsyncCallbackHandler):
    async def on_tool_start(self, *_args: Any, **_kwargs: Any) -> None:
        raise Blocked


@pytest.mark.parametrize("is_async", [False, True])
async def test_r45_a_callback_stops_nothing_and_the_guard_does(is_async: bool) -> None:
    """langchain-ai/langchain#8051: what a callback raises is swallowed, and the tool runs."""
    deleted: list[int] = []

    def delete(i: int) -> str:
        """Deletes."""
        deleted.append(i)
        return "deleted"

    async def run(tool: Any, *handlers: Any) -> Any:
        config: Any = {"callbacks": list(handlers)}
        asked = call("delete", i=1)
        return await tool.ainvoke(asked, config) if is_async else tool.invoke(asked, config)

    plain = plain_tool(delete)
    await run(plain, AsyncNaive() if is_async else Naive())
    assert deleted == [1], "a plain callback is no guard"
    deleted.clear()
    (guarded,) = protect([delete], writes={"delete": ["orders"]})
    with session(f"r45-{is_async}") as s:
        s.record(result([{"id": 1}], "MORE_PAGES_AVAILABLE"))
        message = await run(guarded, Naive())
        assert (message.status, codes(message)) == ("error", ["EVIDENCE_INCOMPLETE"])
        with pytest.raises(CallRefused):
            await run(plain, PartialReadGuard(writes={"delete": ["orders"]}))
    assert deleted == []


def test_r45_a_guard_that_would_be_a_plain_callback_is_refused_when_it_is_made() -> None:
    with pytest.raises(InvalidInput, match="raise_error"):

        class Quiet(PartialReadGuard):
            raise_error = False

    guard = PartialReadGuard()
    with pytest.raises(InvalidInput, match="raise_error"):
        guard.raise_error = False


@pytest.mark.parametrize("ours_first", [True, False])
def test_r46_a_call_that_was_edited_into_another_tool_is_held_to_that_tools_rules(ours_first: bool) -> None:
    """langchain-ai/langchain#40166: a person may edit `archive`, and made it `delete`, which nobody may edit into."""
    shop, deleted = Shop(), []

    @write_tool(relies_on=["orders"], targets="ids", approval="always")
    def delete(ids: list[int]) -> str:
        """Deletes."""
        deleted.append(ids)
        return "deleted"

    person = HumanInTheLoopMiddleware(
        {"archive": {"allowed_decisions": ["approve", "edit", "reject"]}, "delete": {"allowed_decisions": ["reject"]}}
    )
    layers = [CoverageMiddleware(), person] if ours_first else [person, CoverageMiddleware()]
    agent = create_agent(
        scripted(calls(("list_orders", {})), calls(("archive", {"ids": [1]}))), [*shop.tools(), delete],
        middleware=layers, checkpointer=InMemorySaver(),
    )  # fmt: skip
    config: Any = {"configurable": {"thread_id": f"r46-{ours_first}"}}
    agent.invoke(HI, config)
    edit = {"type": "edit", "edited_action": {"name": "delete", "args": {"ids": [1]}}}
    messages = agent.invoke(Command(resume={"decisions": [edit]}), config)["messages"]
    refused = next(m for m in results(messages) if m.name == "delete")
    assert '"verdict":"review"' in str(refused.content)
    assert refused.status == "error"
    assert (deleted, shop.written) == ([], [])


def _token_tool() -> Any:
    def lookup(q: str) -> str:
        """Looks up."""
        raise ValueError(f"token=SENTINEL rejected for 10.0.0.9, asked for {q}")

    return lookup


@pytest.mark.parametrize("handles", [True, None])
@pytest.mark.parametrize("declared", [{"reads": {"lookup": "things"}}, {"writes": {"lookup": {"independent": "asks"}}}])
def test_r59_what_a_tool_raises_is_told_by_a_code(handles: Any, declared: Any) -> None:
    """langchain-ai/langgraph#1667: the default text is the raw message of the exception."""
    options: Any = {} if handles is None else {"handle_tool_errors": handles}
    node = ToolNode(protect([_token_tool()], **declared), **options)
    (message,) = _through(node, ("lookup", {"q": "x"}))
    assert message.status == "error"
    assert document(message).get("error", document(message).get("status")) in ("tool_failed", "unavailable")
    assert not [text for text in ("SENTINEL", "10.0.0.9", "token") if text in str(message)]


async def test_r59_a_tool_of_mcp_that_fails_says_nothing_of_why() -> None:
    async def remote(q: str) -> Any:
        raise ToolException(f"token=SENTINEL rejected for 10.0.0.9, asked for {q}")

    remote_tool = StructuredTool(
        name="lookup", description="Looks up.", coroutine=remote, response_format="content_and_artifact",
        args_schema={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    )  # fmt: skip
    (guarded,) = protect([remote_tool], reads={"lookup": "things"})
    message = await guarded.ainvoke(call("lookup", q="x"))
    assert (message.status, document(message)["status"]) == ("error", "unavailable")
    assert "SENTINEL" not in str(message)


def _through(node: ToolNode, *asked: Any) -> list[Any]:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return results(graph.compile().invoke({"messages": [calls(*asked)]})["messages"])


Token = Annotated[str, StringConstraints(pattern="^[cr][0-9]{1,6}$", max_length=7), Sensitivity("internal")]


class CloseCase(BaseModel):
    case_ref: Token


class Ref(BaseModel):
    ref: Token


class Desk:
    """An executor that answers with more than it should."""

    kind = "script"
    origin = "nowhere"

    def execute(self, command: Any) -> Any:
        assert command is not None
        return {"internal_note": "SENTINEL", "ref": "r1", "nested": {"internal_note": "SENTINEL"}}


@pytest.mark.parametrize("middleware", [True, False])
@pytest.mark.parametrize("mode", ["values", "updates", "messages", "debug"])
def test_r61_what_is_not_allowed_out_is_on_no_channel(mode: Any, middleware: bool) -> None:
    """langchain-ai/langgraph#2479: what stood in an artifact was streamed."""
    close = Action(
        "close_case", purpose="Closes a case.", verb="close", effect="change", input=CloseCase, output=Ref,
        executor=Desk(), max_targets=1, independent="its reference names the case", authorize=Grants(anyone=["change"]),
    )  # fmt: skip
    agent = create_agent(
        scripted(calls(("close_case", {"case_ref": "c1"}))), [action_tool(close)],
        middleware=[CoverageMiddleware()] if middleware else [], checkpointer=InMemorySaver(),
    )  # fmt: skip
    config: Any = {"configurable": {"thread_id": f"r61-{mode}-{middleware}"}}
    with session(f"r61-{mode}-{middleware}"):
        streamed = list(agent.stream(HI, config, stream_mode=mode))
    state = agent.get_state(config).values
    (message,) = results(state["messages"])
    assert json.loads(message.content) == {"status": "done", "output": {"ref": "r1"}}
    assert "r1" in repr(streamed)
    assert "SENTINEL" not in repr((streamed, state, message.artifact))


def _remote(name: str, ran: list[str], metadata: Any) -> Any:
    """A tool as langchain-mcp-adapters makes one: the annotations are in its metadata."""

    async def remote() -> str:
        ran.append(name)
        return name

    return StructuredTool(
        name=name, description=name, coroutine=remote, metadata=metadata,
        args_schema={"type": "object", "properties": {}},
    )  # fmt: skip


@pytest.mark.parametrize("trusts", [False, True])
async def test_r53_annotations_in_the_metadata_of_a_tool_tighten_and_loosen_only_with_trust(trusts: bool) -> None:
    """NousResearch/hermes-agent#108972"""
    ran: list[str] = []
    tools = [
        _remote("purge", ran, DELETE), _remote("peek", ran, {"title": "Peek", "readOnlyHint": True}),
        _remote("odd", ran, {"readOnlyHint": "true"}),
    ]  # fmt: skip
    purge, peek, odd = protect(tools, trust_annotations=trusts)
    with session(f"r53-{trusts}") as s:
        s.record(result([{"id": 1}]))
        assert codes(await purge.ainvoke(call("purge"))) == ["EVIDENCE_WEAK"]
        s.record(result([{"id": 1}], "MORE_PAGES_AVAILABLE", resource="more"))
        assert codes(await odd.ainvoke(call("odd"))) == ["EVIDENCE_INCOMPLETE"]
        said = await peek.ainvoke(call("peek"))
        assert (document(said)["status"] if trusts else codes(said)) == (
            "unknown" if trusts else ["EVIDENCE_INCOMPLETE"]
        )
        assert [r.resource for r in s.reads] == ["orders", "more", *(["tool:peek"] if trusts else [])]
    assert ran == (["peek"] if trusts else [])


@pytest.mark.parametrize("declare", ["bare", "as_write_tool", "protect", "guard"])
async def test_r53_a_write_is_destructive_where_its_annotations_say_so_however_it_came(declare: str) -> None:
    for metadata, found in ((DELETE, ["EVIDENCE_WEAK"]), ({"readOnlyHint": True}, [])):
        ran: list[str] = []
        tool = _remote("purge", ran, metadata)
        config: Any = {}
        match declare:
            case "as_write_tool":
                tool = as_write_tool(tool, relies_on=["orders"])
            case "protect":
                (tool,) = protect([tool], writes={"purge": ["orders"]})
            case "guard":
                config = {"callbacks": [PartialReadGuard(writes={"purge": ["orders"]})]}
        agent = create_agent(scripted(calls(("purge", {}))), [tool], middleware=[CoverageMiddleware()])
        with session(f"r53-{declare}-{bool(found)}") as s:
            s.record(result([{"id": 1}]))
            (message,) = results((await agent.ainvoke(HI, config))["messages"])
        assert (codes(message) if ran == [] else []) == found
        assert ran == ([] if found else ["purge"])
