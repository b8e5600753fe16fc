"""What a write touches without being told so by the model, and what holds for agents inside agents."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import AsyncBaseTool, FunctionTool, ToolMetadata, ToolOutput
from llama_scripts import Scripted, result, script, told
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from unabridged import session
from unabridged.audit import AuditEvent
from unabridged_llamaindex import CoverageFunctionAgent, protect, read_tool, write_tool
from workflows import Context


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


class Made(BaseModel):
    ids: list[str] = Field(default_factory=lambda: ["other"])


class Named(BaseModel):
    model_config = ConfigDict(populate_by_name=True, extra="allow")
    ids: list[str] = Field(["other"], alias="records")


class Filling(AsyncBaseTool):
    """Fills in from its schema what was not sent."""

    def __init__(self, schema: type[BaseModel]) -> None:
        self.schema, self.written = schema, list[Any]()

    @property
    def metadata(self) -> ToolMetadata:
        return ToolMetadata("Archives orders.", "archive", self.schema)

    def call(self, **kwargs: Any) -> ToolOutput:  # type: ignore[override]
        self.written.append(self.schema(**kwargs).ids)  # type: ignore[attr-defined]
        return ToolOutput("archive", "archived", raw_output="archived", raw_input={})

    async def acall(self, **kwargs: Any) -> ToolOutput:  # type: ignore[override]
        return self.call(**kwargs)


@pytest.mark.parametrize("schema", [Fields, Made, Named])
async def test_ids_that_a_tool_takes_from_its_schema_are_judged_too(schema: type[BaseModel]) -> None:
    tool, sent = Filling(schema), "records" if schema is Named else "ids"

    def archive(**kwargs: Any) -> str:
        """Archives orders."""
        return str(tool.call(**kwargs).content)

    with session("defaults of a schema") as s:
        s.record(result())
        for guarded in (declared(tool), declared(FunctionTool.from_defaults(archive, fn_schema=schema))):
            assert all("TARGET_NOT_IN_EVIDENCE" in str(each) for each in (guarded.call(), await guarded.acall()))
            assert guarded.call(**{sent: ["o-1"]}).content == "archived"
    assert tool.written == [["o-1"], ["o-1"]]


@pytest.mark.parametrize("fixed", [{}, {"ids": ["o-1"]}])
async def test_ids_under_two_names_are_refused_since_one_of_them_counts(fixed: Any) -> None:
    tool = Filling(Named)

    def archive(**kwargs: Any) -> str:
        """Archives orders."""
        return str(tool.call(**kwargs).content)

    guarded = declared(FunctionTool.from_defaults(archive, fn_schema=Named, partial_params=fixed))
    with session("under two names") as s:
        s.record(result())
        for sent in ({"ids": ["o-1"], "records": ["other"]}, {"records": ["other"]}):
            assert "error" in str(guarded.call(**sent))
            assert "error" in str(await guarded.acall(**sent))
    assert tool.written == []


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


PAST = [
    ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id="old", tool_name="list_orders", tool_kwargs={})]),
    ChatMessage(role="tool", content="o-1", additional_kwargs={"tool_call_id": "old"}),
]


@pytest.mark.parametrize("kind", [FunctionAgent, CoverageFunctionAgent])
@pytest.mark.parametrize("others", ["hands off", "is beside", "is gone"])
async def test_a_result_in_a_history_may_be_that_of_a_tool_which_another_agent_has(kind: Any, others: str) -> None:
    written: list[Any] = []

    def list_orders() -> Any:
        """Lists orders."""
        return result()

    def wipe() -> str:
        """Wipes what was read."""
        written.append("wiped")
        return "wiped"

    reads, writes = [read_tool("orders")(list_orders)], [write_tool()(wipe)]
    first = script([("handoff", {"to_agent": "b", "reason": "r"})])
    then = script([("wipe", {})])
    a = kind(tools=reads if others == "is beside" else [], llm=first, name="a", description="d")
    b = kind(tools=[*writes, *(reads if others == "hands off" else [])], llm=then, name="b", description="d")
    agents = [b] if others == "is gone" else [a, b]
    await AgentWorkflow(agents=agents, root_agent="a" if others == "hands off" else "b").run("Go.", chat_history=PAST)
    assert written == []
    assert "EVIDENCE_INCOMPLETE" in told(then)[-1]


def raising(value: Any) -> Any:
    raise KeyError(value)


class Checked(BaseModel):
    ids: Annotated[list[str], AfterValidator(raising)]


async def test_what_a_validator_raises_is_told_without_the_value_that_it_was_given() -> None:
    def archive(ids: list[str]) -> str:
        """Archives orders."""
        raise NotImplementedError

    tool = declared(FunctionTool.from_defaults(archive, fn_schema=Checked))
    llm = script([("archive", {"ids": ["canary"]})])
    await FunctionAgent(tools=[tool], llm=llm).run("Go.")
    said = [tool.call(ids=["canary"]), await tool.acall(ids=["canary"]), tool.fn(ids=["canary"]), told(llm)[-1]]
    assert all("invalid_request" in str(each) for each in said)
    assert "canary" not in f"{[str(each) for each in said]}"


class WithoutIds(Scripted):
    """As Gemini, whose calls are all named after their tool."""

    def _calling(self, rows: list[tuple[str, str, dict[str, Any]]]) -> ChatMessage:
        return super()._calling([(name, name, args) for _, name, args in rows])


def without_ids(*turns: Any) -> Scripted:
    return WithoutIds(turns=list(turns), seen=[], shown=[], hidden={})


@pytest.mark.parametrize("kind", [FunctionAgent, CoverageFunctionAgent])
async def test_calls_without_ids_of_their_own_are_told_apart_by_their_arguments(kind: Any) -> None:
    written: list[Any] = []

    def list_orders(state: str) -> Any:
        """Lists orders."""
        return result(state=state)

    def wipe() -> str:
        """Wipes what was read."""
        written.append("wiped")
        return "wiped"

    tools = [read_tool("orders")(list_orders), write_tool()(wipe)]
    read_closed, read_open, write = (
        ("list_orders", {"state": "closed"}),
        ("list_orders", {"state": "open"}),
        ("wipe", {}),
    )
    elsewhere = without_ids([read_closed], [read_open], "Seen.")
    memory = ChatMemoryBuffer.from_defaults(llm=elsewhere)
    await FunctionAgent(tools=[list_orders], llm=elsewhere).run("Read.", memory=memory)

    llm = without_ids([read_closed], "Seen.", [write], [read_open], [write], "Done.", [write])
    agent = kind(tools=tools, llm=llm)
    ctx = Context(agent)
    await agent.run("Read.", ctx=ctx)
    await agent.run("Wipe.", ctx=ctx, chat_history=await memory.aget_all())
    assert ["EVIDENCE_INCOMPLETE" in text for text in told(llm)[-3:]] == [True, False, False]
    await agent.run("Wipe again.", ctx=ctx)
    assert written == ["wiped", "wiped"]


def thought(name: str, args: str) -> str:
    return f"Thought: go on\nAction: {name}\nAction Input: {args}"


async def test_what_a_react_agent_left_in_a_memory_is_a_past_too() -> None:
    written: list[Any] = []

    def list_orders(state: str) -> Any:
        """Lists orders."""
        return result(state=state)

    def wipe() -> str:
        """Wipes what was read."""
        written.append("wiped")
        return "wiped"

    tools, done = [read_tool("orders")(list_orders), write_tool()(wipe)], "Thought: done\nAnswer: Done."
    memory = ChatMemoryBuffer.from_defaults(llm=script())
    read, write = thought("list_orders", '{"state": "it\'s open"}'), thought("wipe", "{}")
    before = ReActAgent(tools=[list_orders], llm=script(read, thought("nope", "{}"), done))
    await before.run("Read.", memory=memory)

    llm = script(write, read, write, done, write, done)
    agent = ReActAgent(tools=tools, llm=llm)
    ctx = Context(agent)
    await agent.run("Wipe.", ctx=ctx, memory=memory)
    assert "EVIDENCE_INCOMPLETE" in str(llm.seen[1][-1].content)
    assert written == ["wiped"]
    await agent.run("Wipe again.", ctx=ctx)
    assert written == ["wiped", "wiped"]


@pytest.mark.parametrize("hands_off", [False, True])
async def test_what_a_tool_outside_of_the_guard_brought_midway_holds_back_a_write(hands_off: bool) -> None:
    written: list[Any] = []

    def list_orders() -> Any:
        """Lists orders."""
        return result()

    def wipe() -> str:
        """Wipes what was read."""
        written.append("wiped")
        return "wiped"

    def search() -> str:
        """Searches, and nobody declared it."""
        return "the first page"

    read, write = read_tool("orders")(list_orders), write_tool()(wipe)
    handing: list[Any] = [("handoff", {"to_agent": "b", "reason": "r"})] if hands_off else []
    first = script([("list_orders", {})], [("search", {}), *handing], [("wipe", {})])
    then = script([("wipe", {})])
    a = FunctionAgent(tools=[read, write, search], llm=first, name="a", description="d")
    b = FunctionAgent(tools=[write], llm=then, name="b", description="d")
    await AgentWorkflow(agents=[a, b], root_agent="a").run("Go.")
    assert written == []
    assert "EVIDENCE_INCOMPLETE" in told(then if hands_off else first)[-1]
