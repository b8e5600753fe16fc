"""What a write touches without being told so by the model, and what holds for agents inside agents."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import AsyncBaseTool, FunctionTool, ToolMetadata, ToolOutput
from llama_scripts import result, script
from pydantic import BaseModel
from unabridged import session
from unabridged.audit import AuditEvent
from unabridged_llamaindex import CoverageFunctionAgent, protect, read_tool, write_tool


class Fields(BaseModel):
    ids: list[str] = ["other"]


def declared(code: Any, **keywords: Any) -> Any:
    return write_tool(relies_on=["orders"], targets="ids", **keywords)(code)


async def test_ids_that_a_function_takes_where_none_are_sent_must_be_in_the_evidence() -> None:
    written: list[Any] = []

    def archive(ids: list[str] = ["other"]) -> str:  # noqa: B006 - never changed
        """Archives orders."""
        written.append(ids)
        return "archived"

    plain, other = declared(archive), declared(FunctionTool.from_defaults(archive, fn_schema=Fields))
    with session("defaults") as s:
        s.record(result())
        told = [plain.call(), await plain.acall(), plain(), plain.fn(), await plain.async_fn(), other.call()]
        assert all("TARGET_NOT_IN_EVIDENCE" in str(each) for each in told)
        assert written == []
        assert plain.call(ids=["o-1"]).content == other.call(ids=["o-2"]).content == "archived"
        assert "invalid_request" in str(declared(archive, max_targets=1).call(ids=["o-1", "o-2"]))
    assert written == [["o-1"], ["o-2"]]


class Archive(AsyncBaseTool):
    def __init__(self) -> None:
        self.written: list[Any] = []

    @property
    def metadata(self) -> ToolMetadata:
        return ToolMetadata("Archives orders.", "archive", Fields)

    def call(self, ids: tuple[str, ...] = ("other",)) -> ToolOutput:  # type: ignore[override]
        self.written.append(ids)
        return ToolOutput("archive", "archived", raw_output="archived", raw_input={})

    async def acall(self, ids: tuple[str, ...] = ("other",)) -> ToolOutput:  # type: ignore[override]
        return self.call(ids)


def test_ids_that_a_class_of_a_tool_takes_by_itself_are_judged_too() -> None:
    own = Archive()
    tool = declared(own)
    with session("defaults-2") as s:
        s.record(result())
        assert "TARGET_NOT_IN_EVIDENCE" in str(tool.call())
    assert own.written == []


class Log:
    def __init__(self) -> None:
        self.kinds: list[str] = []

    def write(self, event: AuditEvent) -> None:
        self.kinds.append(event.kind)

    def digest(self, value: Any, *, session: str | None = None) -> str:
        return "0" * 32


@pytest.mark.parametrize(
    ("relies", "kinds"),
    [
        ({"independent": "a note"}, ["intent", "outcome"]),
        ({"relies_on": ["orders"]}, ["intent", "outcome"]),
        ({"relies_on": ["orders"], "approval": "always"}, ["decision"]),
    ],
)
async def test_the_log_of_an_agent_holds_for_the_agents_that_run_inside_it(relies: Any, kinds: list[str]) -> None:
    """Who decides does not: an agent inside a tool cannot wait for an answer to the run around it."""
    written: list[Any] = []
    log = Log()

    def list_orders() -> Any:
        """Lists orders."""
        return result()

    def archive(ids: list[str]) -> str:
        """Archives orders."""
        written.append(ids)
        return "archived"

    tools = [read_tool("orders")(list_orders), write_tool(targets="ids", **relies)(archive)]

    async def errand() -> str:
        """Runs an errand."""
        inner = FunctionAgent(
            tools=tools, llm=script([("list_orders", {})], [("archive", {"ids": ["o-1"]})]), name="b", description="d"
        )  # fmt: skip
        return str(await inner.run("Go."))

    outer = CoverageFunctionAgent(
        tools=protect([FunctionTool.from_defaults(async_fn=errand)], neutral=["errand"]),
        llm=script([("errand", {})]), approve=lambda _: True, audit=log, name="a", description="d",
    )  # fmt: skip
    await outer.run("Go.")
    assert written == ([["o-1"]] if kinds[-1] == "outcome" else [])
    assert log.kinds == kinds
