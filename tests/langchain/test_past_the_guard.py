"""What a write touches without being told so by the model: defaults, further positions, calls that nobody sees."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_kit import result
from langgraph.graph import END, START, StateGraph
from pydantic import AliasChoices, BaseModel, Field
from unabridged import session
from unabridged.audit import AuditEvent
from unabridged_langchain import CallRefused, CoverageMiddleware, PartialReadGuard, neutral_tool, write_tool

READ = [{"id": "a"}, {"id": "b"}]


class Shop:
    def __init__(self) -> None:
        self.written: list[Any] = []

    def archive(self, ids: list[str] = ["other"], reason: str = "left") -> str:  # noqa: B006 - never changed
        """Archives orders."""
        self.written.append(ids)
        return "archived"

    async def later(self, ids: tuple[str, ...] = ("other",)) -> str:
        """Archives orders."""
        self.written.append(ids)
        return "archived"

    def all_of(self, *ids: str) -> str:
        """Archives orders."""
        self.written.append(ids)
        return "archived"


class Archive(BaseTool):
    name: str = "archive"
    description: str = "Archives orders."
    written: list[Any] = []

    def _run(self, ids: tuple[str, ...] = ("other",)) -> str:
        self.written.append(ids)
        return "archived"


def declared(code: Any, **keywords: Any) -> Any:
    return write_tool(relies_on=["orders"], targets="ids", **keywords)(code)


def test_ids_that_a_function_takes_where_none_are_sent_must_be_in_the_evidence() -> None:
    shop = Shop()
    tool = declared(shop.archive)
    with session("defaults") as s:
        s.record(result(READ))
        for told in (tool.invoke({}), tool.func(), tool.func(reason="left"), tool._run(config={})):
            assert "TARGET_NOT_IN_EVIDENCE" in str(told)
        assert shop.written == []
        assert tool.func(["a"]) == tool.func(ids=["b"]) == "archived"
    assert shop.written == [["a"], ["b"]]


async def test_the_ids_that_a_coroutine_or_a_class_takes_by_itself_are_judged_too() -> None:
    shop, own = Shop(), Archive()
    with session("defaults-2") as s:
        s.record(result(READ))
        later, archive = declared(shop.later), declared(own)
        for told in (await later.coroutine(), await later.ainvoke({}), archive._run(config={}), archive.invoke({})):
            assert "TARGET_NOT_IN_EVIDENCE" in str(told)
    assert shop.written == own.written == []


def test_default_ids_count_for_what_one_call_may_touch() -> None:
    shop = Shop()
    tool = declared(lambda ids=("a", "b"): shop.archive(ids), max_targets=1)
    with session("defaults-3") as s:
        s.record(result(READ))
        assert "invalid_request" in tool.func()
    assert shop.written == []


def test_every_further_position_is_an_id_that_is_judged() -> None:
    shop = Shop()
    tool = declared(shop.all_of, recheck=lambda target: target == "b")
    with session("positions") as s:
        s.record(result(READ))
        assert "TARGET_NOT_IN_EVIDENCE" in tool.func("a", "other")
        assert shop.written == []
        tool.func("a", "b")
    assert shop.written == [("b",)]


def test_a_text_in_the_place_of_arguments_is_judged_as_what_it_becomes() -> None:
    """LangChain names it after the first field of the schema, and passes it by position."""

    class Fields(BaseModel):
        reason: str = "left"
        ids: str = "a"

    written: list[Any] = []

    def archive(ids: str = "a", reason: str = "left") -> str:
        """Archives orders."""
        written.append((ids, reason))
        return "archived"

    tool = declared(StructuredTool.from_function(archive, args_schema=Fields))
    with session("by-position") as s:
        s.record(result(READ))
        assert "TARGET_NOT_IN_EVIDENCE" in tool.run("other")
        assert written == []
        assert tool.run("a") == "archived"
    assert written == [("a", "left")]


class Log:
    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    def write(self, event: AuditEvent) -> None:
        self.events.append(event)

    def digest(self, value: Any, *, session: str | None = None) -> str:
        return "0" * 32


class State(TypedDict):
    said: str


@pytest.mark.parametrize("fails", [False, True])
def test_a_write_in_a_graph_inside_a_tool_is_written_down_although_its_turn_is_not_seen(fails: bool) -> None:
    shop, log = Shop(), Log()
    note = write_tool(independent="a note", targets="ids")(shop.archive)

    def node(_: State) -> State:
        call = {"type": "tool_call", "name": "archive", "args": {"ids": 3 if fails else ["n"]}, "id": "own"}
        return {"said": str(note.invoke(call).content)}

    graph = StateGraph(State)
    graph.add_node("write", node)
    graph.add_edge(START, "write")
    graph.add_edge("write", END)
    inner: Any = graph.compile()

    @neutral_tool
    def errand() -> str:
        """Runs an errand."""
        return str(inner.invoke({"said": ""})["said"])

    agent: Any = create_agent(
        scripted(calls(("errand", {}))), [errand], middleware=[CoverageMiddleware(audit=log)]
    )  # fmt: skip
    agent.invoke({"messages": [HumanMessage("Go.")]})
    assert shop.written == ([] if fails else [["n"]])
    assert [e.kind for e in log.events] == (["decision"] if fails else ["intent", "outcome"])


class Ignoring(BaseModel):
    ids: list[str] = Field(default=["other"], alias="victims")


class Renamed(BaseModel):
    ids: list[str] = Field(default=["other"], validation_alias=AliasChoices("victims", "ids"))


NAMELESS: list[dict[str, Any]] = [{}, {"ids": []}, {"victims": ["other"]}, {"victims": ["a"]}]
TWICE = {"victims": ["other"], "ids": ["a"]}
"""Only who sees the schema can tell which of the two the tool takes."""


@pytest.mark.parametrize(
    ("through", "sent"),
    [*(("handler", s) for s in NAMELESS), *(("middleware", s) for s in [*NAMELESS, TWICE])],
)
def test_a_tool_that_nobody_wrapped_must_be_seen_to_name_the_ids_that_it_touches(through: str, sent: Any) -> None:
    """Its guard sees what was sent, and neither the defaults of its code nor (in a handler) its schema."""
    shop = Shop()
    is_renamed = "victims" in sent
    schema = {"args_schema": Renamed} if is_renamed else {}
    tool = StructuredTool.from_function(shop.archive, **schema)
    with session(f"bare-{through}-{sent}") as s:
        s.record(result(READ))
        guard = PartialReadGuard(writes={"archive": {"relies_on": ["orders"], "targets": "ids"}}, session=s)
        if through == "handler":
            with pytest.raises(CallRefused, match="GUARD_FAILED"):
                tool.invoke(sent, {"callbacks": [guard]})
        else:
            agent: Any = create_agent(scripted(calls(("archive", sent))), [tool], middleware=[CoverageMiddleware()])
            done = agent.invoke({"messages": [HumanMessage("Go.")]}, {"callbacks": [guard]})
            assert "GUARD_FAILED" in done["messages"][-2].content
    assert shop.written == []


@pytest.mark.parametrize("through", ["handler", "middleware"])
def test_a_tool_that_nobody_wrapped_runs_for_the_ids_that_it_names(through: str) -> None:
    shop = Shop()
    tool = StructuredTool.from_function(shop.archive)
    with session(f"bare-{through}") as s:
        s.record(result(READ))
        guard = PartialReadGuard(writes={"archive": {"relies_on": ["orders"], "targets": "ids"}}, session=s)
        if through == "handler":
            tool.invoke({"ids": ["a"]}, {"callbacks": [guard]})
        else:
            agent: Any = create_agent(
                scripted(calls(("archive", {"ids": ["a"]}))), [tool], middleware=[CoverageMiddleware()]
            )  # fmt: skip
            agent.invoke({"messages": [HumanMessage("Go.")]}, {"callbacks": [guard]})
    assert shop.written == [["a"]]


def test_ids_that_the_schema_would_ignore_are_not_taken_for_what_is_touched() -> None:
    shop = Shop()
    tool = StructuredTool.from_function(shop.archive, args_schema=Ignoring)
    with session("ignored") as s:
        s.record(result(READ))
        guard = PartialReadGuard(writes={"archive": {"relies_on": ["orders"], "targets": "ids"}}, session=s)
        agent: Any = create_agent(
            scripted(calls(("archive", {"ids": ["a"]}))), [tool], middleware=[CoverageMiddleware()]
        )  # fmt: skip
        done = agent.invoke({"messages": [HumanMessage("Go.")]}, {"callbacks": [guard]})
        assert "GUARD_FAILED" in done["messages"][-2].content
        assert shop.written == []
        wrapped = declared(tool)
        assert "TARGET_NOT_IN_EVIDENCE" in wrapped.invoke({"ids": ["a"]})
        wrapped.invoke({"victims": ["a"]})
    assert shop.written == [["a"]]
