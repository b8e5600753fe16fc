"""The corners of a run: what is injected, retrieved, nested, watched, or cannot be seen."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from llama_index.core import instrumentation
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent, ToolCall, ToolCallResult
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.core.tools.ondemand_loader_tool import OnDemandLoaderTool
from llama_index.core.workflow import Context, StartEvent, StopEvent, Workflow, step
from llama_scripts import case, result, script, told
from pydantic import BaseModel
from unabridged.contract import InvalidInput
from unabridged_llamaindex import CoverageFunctionAgent, neutral_tool, protect, read_tool, write_tool
from workflows.plugins.basic import BasicRuntime
from workflows.runtime.runtime_decorators import BaseInternalRunAdapterDecorator, BaseRuntimeDecorator
from workflows.runtime.types.plugin import InternalRunAdapter, Runtime


class Shop:
    def __init__(self, status: str = "complete") -> None:
        self.status = status
        self.written: list[Any] = []

    def list_orders(self) -> Any:
        """Lists orders."""
        return result(self.status)

    def archive(self, ids: list[str]) -> str:
        """Archives orders."""
        self.written.append(ids)
        return "archived"

    def wipe(self) -> str:
        """Wipes everything."""
        self.written.append("wipe")
        return "wiped"

    def tools(self) -> list[Any]:
        return protect(
            [self.list_orders, self.archive, self.wipe],
            reads={"list_orders": "orders"},
            writes={"archive": {"relies_on": ["orders"], "targets": "ids"}, "wipe": {}},
        )


READ = ("list_orders", {})
WRITE = ("archive", {"ids": ["o-1"]})


def codes(text: Any) -> list[str]:
    found: list[str] = json.loads(str(text)).get("codes", [])
    return found


async def test_an_injected_write_with_the_id_of_a_read_does_not_pass_for_it() -> None:
    shop, is_judged = Shop(), asyncio.Event()

    async def list_orders() -> Any:
        """Lists orders, and comes back once the write has been answered."""
        await asyncio.wait_for(is_judged.wait(), 60)
        return result()

    tools = protect([list_orders, *shop.tools()[1:]], reads={"list_orders": "orders"})
    agent = FunctionAgent(tools=tools, llm=script([READ], "Done."))
    handler = agent.run(user_msg="Read.")
    async for event in handler.stream_events():
        if isinstance(event, ToolCall) and event.tool_name == "list_orders":
            handler.ctx.send_event(ToolCall(tool_name="archive", tool_kwargs={"ids": ["o-1"]}, tool_id=event.tool_id))
        if isinstance(event, ToolCallResult) and event.tool_name == "archive":
            is_judged.set()
    await handler
    assert is_judged.is_set()
    assert shop.written == []


class Retriever:
    """A retriever of tools, as `ObjectRetriever` is one."""

    def __init__(self, tools: list[Any]) -> None:
        self.found = tools

    def retrieve(self, query: Any) -> list[Any]:
        return self.found if query is not None else []

    async def aretrieve(self, query: Any) -> list[Any]:
        return self.retrieve(query)


@pytest.mark.parametrize("mode", ["alone", "workflow"])
async def test_tools_that_a_retriever_finds_fail_closed(mode: str) -> None:
    shop, llm = Shop("partial"), script([READ], [("wipe", {})], "Done.")
    agent = CoverageFunctionAgent(tools=shop.tools()[:1], llm=llm)
    agent.tool_retriever = Retriever([FunctionTool.from_defaults(shop.wipe)])  # type: ignore[assignment]
    await (agent if mode == "alone" else AgentWorkflow(agents=[agent])).run(user_msg="Wipe.")
    assert shop.written == []
    assert codes(told(llm)[-1]) == ["EVIDENCE_INCOMPLETE"]


async def test_a_name_kept_for_handoffs_is_no_way_around() -> None:
    shop, llm = Shop("partial"), script([READ], [("handoff", {})], "Done.")
    agent = CoverageFunctionAgent(tools=shop.tools()[:1], llm=llm)
    agent.tools.append(FunctionTool.from_defaults(shop.wipe, name="handoff"))  # type: ignore[union-attr]
    await agent.run(user_msg="Wipe.")
    assert shop.written == []


async def test_many_reads_of_a_first_turn_share_one_session() -> None:
    @read_tool("orders")
    async def list_orders(tenant: str) -> Any:
        await asyncio.sleep(0.01)
        return result("partial" if tenant == "7" else "complete", tenant=tenant)

    shop, llm = Shop(), script([("list_orders", {"tenant": str(n)}) for n in range(8)], [("wipe", {})], "Done.")
    await FunctionAgent(tools=[list_orders, shop.tools()[2]], llm=llm).run(user_msg="Wipe.")
    assert codes(told(llm)[-1]) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


class Apart:
    """A store that is new in each step, as that of a runtime that outlives its process. The first three calls meet."""

    def __init__(self, inner: Any, calls: list[asyncio.Event]) -> None:
        self.inner, self.calls = inner, calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def get_state(self) -> Any:
        found = await self.inner.get_state()
        self.calls.append(asyncio.Event())
        if len(self.calls) < 3:
            await self.calls[-1].wait()
        for call in self.calls:
            call.set()
        return found


class Steps(BaseInternalRunAdapterDecorator):
    def __init__(self, decorated: InternalRunAdapter, calls: list[asyncio.Event]) -> None:
        super().__init__(decorated)
        self.calls = calls

    def get_state_store(self, namespace: tuple[str, ...] = ()) -> Any:
        return Apart(super().get_state_store(namespace), self.calls)


class Durable(BaseRuntimeDecorator):
    def __init__(self, decorated: Runtime) -> None:
        super().__init__(decorated)
        self.calls: list[asyncio.Event] = []

    def get_internal_adapter(self, workflow: Workflow) -> InternalRunAdapter:
        return Steps(super().get_internal_adapter(workflow), self.calls)


@pytest.mark.parametrize("status", ["complete", "partial"])
async def test_many_reads_of_a_first_turn_share_one_session_where_the_store_is_new_in_each_step(status: str) -> None:
    @read_tool("orders")
    async def list_orders(tenant: str) -> Any:
        return result(status, tenant=tenant)

    shop, llm = Shop(), script([("list_orders", {"tenant": str(n)}) for n in range(3)], [("wipe", {})])
    with Runtime.registering(Durable(BasicRuntime())):  # that of the decorator's own would register what it decorates
        agent = FunctionAgent(tools=[list_orders, shop.tools()[2]], llm=llm)
    await agent.run(user_msg="Wipe.")
    assert len(shop.written) == (status == "complete")


class State(BaseModel):
    """A state with fields of its own and no others."""

    count: int = 0


class Custom(Workflow):
    """A workflow of the user's own, which calls tools from a step."""

    def __init__(self, tools: list[Any], calls: list[Any]) -> None:
        super().__init__()
        self.tools = {t.metadata.name: t for t in tools}
        self.calls = calls

    @step
    async def go(self, ctx: Context[State], ev: StartEvent) -> StopEvent:
        outputs = [await self.tools[name].acall(**args) for name, args in self.calls]
        outputs += [self.tools[name].call(**args) for name, args in self.calls]
        return StopEvent(result=outputs)


Custom.go.__annotations__.update(ctx=Context[State], ev=StartEvent)


@pytest.mark.parametrize(("status", "written"), [("partial", 0), ("complete", 2)])
async def test_a_workflow_with_a_state_of_its_own_is_guarded_in_a_session(status: str, written: int) -> None:
    shop = Shop(status)
    with case() as s:
        outputs = await Custom(shop.tools(), [READ, WRITE]).run()
    assert len(s.reads) == 2
    assert len(shop.written) == written
    assert [o.is_error for o in outputs] == [False, written == 0] * 2


async def test_a_workflow_with_a_state_of_its_own_must_open_its_session() -> None:
    shop = Shop()
    outputs = await Custom(shop.tools(), [READ, WRITE]).run()
    assert [codes(o.content) for o in outputs] == [[], ["GUARD_FAILED"]] * 2
    assert shop.written == []


class Loose(Workflow):
    """A workflow whose state holds what it likes, under names that agents use too."""

    tools = "none"

    def __init__(self, own: list[Any], ids: list[str]) -> None:
        super().__init__()
        self.own, self.ids = own, ids

    @step
    async def go(self, ctx: Context, ev: StartEvent) -> StopEvent:
        for name in ("memory", "scratchpad", "num_tool_calls", "current_agent_name"):
            await ctx.store.set(name, {"of": ["mine"]})
        read, write, _ = self.own
        return StopEvent(result=[await read.acall(), await write.acall(ids=self.ids)])


Loose.go.__annotations__.update(ctx=Context, ev=StartEvent)


async def test_a_workflow_may_keep_what_it_likes_in_its_state() -> None:
    shop = Shop()
    outputs = await Loose(shop.tools(), ["o-1"]).run()
    assert [o.is_error for o in outputs] == [False, False]
    assert codes((await Loose(shop.tools(), ["o-9"]).run())[1].content) == ["TARGET_NOT_IN_EVIDENCE"]


async def test_a_react_agent_is_guarded() -> None:
    shop = Shop("partial")
    llm = script(
        "Thought: read\nAction: list_orders\nAction Input: {}",
        'Thought: write\nAction: archive\nAction Input: {"ids": ["o-1"]}',
        "Thought: done\nAnswer: fine",
    )
    await ReActAgent(tools=shop.tools(), llm=llm).run(user_msg="Archive.")
    assert shop.written == []
    assert "EVIDENCE_INCOMPLETE" in str(llm.seen[-1])


class Unreachable(ChatMemoryBuffer):
    """A memory that needs a loop of its own, where one is running already."""

    def get_all(self) -> Any:
        raise RuntimeError("nested")

    def get(self, input: str | None = None, **_: Any) -> Any:
        return self.chat_store.get_messages(self.chat_store_key) if input != "" else []


@pytest.mark.parametrize("in_thread", [True, False])
@pytest.mark.parametrize("kind", [ChatMemoryBuffer, Unreachable])
async def test_a_sync_call_inside_an_undeclared_tool_leaves_its_reads_to_the_guard(kind: Any, in_thread: bool) -> None:
    shop = Shop("partial")
    read, _, wipe = shop.tools()

    async def peek() -> str:
        """Calls a tool without waiting."""
        return str(await asyncio.to_thread(read.call) if in_thread else read.call())

    llm = script([("peek", {})], [("wipe", {})], "Done.")
    await FunctionAgent(tools=[peek, wipe], llm=llm).run(user_msg="Wipe.", memory=kind.from_defaults(llm=llm))
    assert shop.written == []
    assert codes(told(llm)[-1]) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize(("kind", "written"), [(ChatMemoryBuffer, 1), (Unreachable, 0)])
async def test_a_sync_write_whose_history_cannot_be_seen_is_refused(kind: Any, written: int) -> None:
    shop = Shop()
    read, write, _ = shop.tools()

    async def both() -> str:
        """Reads and writes without waiting."""
        read.call()
        return str(write.call(ids=["o-1"]))

    llm = script([("both", {})], "Done.")
    memory = kind.from_defaults(llm=llm)
    await FunctionAgent(tools=[both, read], llm=llm).run(user_msg="Go.", memory=memory)
    assert len(shop.written) == written
    assert written or codes(told(llm)[-1]) == ["EVIDENCE_PENDING"]


def test_a_raw_thread_finds_no_session_and_refuses() -> None:
    shop = Shop()
    read, write, _ = shop.tools()
    outputs: list[Any] = []
    with case():
        read.call()
        thread = threading.Thread(target=lambda: outputs.append(write.call(ids=["o-1"])))
        thread.start()
        thread.join()
    assert codes(outputs[0]) == ["GUARD_FAILED"]
    assert shop.written == []


async def test_an_argument_of_any_name_is_only_an_argument() -> None:
    write = Shop().tools()[1]
    for name in ("self", "args", "kwargs", "tool", "__c__", "ctx", "input"):
        for output in (write.call(**{name: 1}), await write.acall(**{name: 1}), write(**{name: 1})):
            assert json.loads(output.content)["error"] == "invalid_request"


async def test_spans_are_there_for_those_who_watch() -> None:
    tool = neutral_tool(lambda: "ok", name="n")
    handler = SimpleSpanHandler()
    root = instrumentation.get_dispatcher()
    before = list(root.span_handlers)
    root.add_span_handler(handler)
    try:
        assert tool.call().content == (await tool.acall()).content == "ok"
    finally:
        root.span_handlers = before
    tool.call()
    names = [span.id_.split("-")[0] for span in handler.completed_spans]
    assert names == ["ProtectedFunctionTool.call", "ProtectedFunctionTool.acall"]


async def test_a_loader_that_takes_the_private_function_gets_the_guarded_one() -> None:
    shop = Shop("partial")
    _, write, _ = shop.tools()
    with case() as s:
        s.record(result("partial"))
        assert codes(write._fn(ids=["o-1"])) == ["EVIDENCE_INCOMPLETE"]
    assert "_fn" in OnDemandLoaderTool.from_tool.__code__.co_names
    assert not hasattr(write.fn, "__wrapped__")
    assert shop.written == []


async def test_what_is_told_can_be_pickled_as_text() -> None:
    import pickle

    write = Shop().tools()[1]
    refused = write.fn(ids=["o-1"])
    assert refused.is_error
    assert refused.raw_output["unabridged"]["codes"] == ["GUARD_FAILED"]
    assert pickle.loads(pickle.dumps(refused)) == str(refused)


async def test_a_session_that_was_erased_refuses() -> None:
    shop = Shop()
    read, write, _ = shop.tools()
    with case() as s:
        read.call()
        s.erase()
        assert codes(write.call(ids=["o-1"])) == ["GUARD_FAILED"]


async def test_a_nested_write_tool_is_judged_for_itself() -> None:
    shop = Shop("partial")
    read, write, _ = shop.tools()

    @write_tool(independent="only passes on")
    async def pass_on(ids: list[str]) -> Any:
        return (await write.acall(ids=ids)).content

    with case():
        read.call()
        assert codes(await pass_on.acall(ids=["o-1"])) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


def test_the_language_of_an_agent_is_one_that_there_is() -> None:
    with pytest.raises(InvalidInput, match="language"):
        CoverageFunctionAgent(tools=[], llm=script(), language="xx")


class Errand(Workflow):
    """A workflow of a user's own, that lets one agent read and another write."""

    def __init__(self, reader: Any, writer: Any) -> None:
        super().__init__()
        self.reader, self.writer = reader, writer

    @step
    async def go(self, event: StartEvent) -> StopEvent:
        await self.reader.run(user_msg="Read.")
        return StopEvent(result=str(await self.writer.run(user_msg="Wipe.")))


@pytest.mark.parametrize("status", ["partial", "complete"])
async def test_agents_that_one_step_runs_share_the_session_of_its_workflow(status: str) -> None:
    shop = Shop(status)
    read, _, wipe = shop.tools()
    reader = CoverageFunctionAgent(tools=[read], llm=script([READ], "Two."))
    writer = CoverageFunctionAgent(tools=[wipe], llm=script([("wipe", {})], "Wiped."))
    errand = Errand(reader, writer)
    ctx = Context(errand)
    told_last = await errand.run(ctx=ctx)
    assert shop.written == (["wipe"] if status == "complete" else [])
    assert told_last.startswith("orders: ") is (status == "partial")
    assert "unabridged_session" in json.dumps(ctx.to_dict())


async def test_a_step_with_a_state_of_its_own_leaves_its_agents_their_own_sessions() -> None:
    class Kept(BaseModel):
        note: str = ""

    class Typed(Workflow):
        @step
        async def go(self, ctx: Context[Kept], event: StartEvent) -> StopEvent:
            return StopEvent(result=str(await agent.run(user_msg="Read.")))

    agent = CoverageFunctionAgent(tools=Shop("partial").tools(), llm=script([READ], "Two."))
    assert (await Typed().run()).startswith("orders: ")


async def test_a_handle_that_is_not_known_is_told_as_that_and_not_as_a_failed_tool() -> None:
    unknown = "h_canary"
    llm = script([("continue_read", {"handle": unknown})], [("count_read", {"handle": unknown})], "Done.")
    await CoverageFunctionAgent(tools=Shop().tools(), llm=llm).run(user_msg="Go on.")
    assert [json.loads(text)["error"] for text in told(llm)] == ["unresolved_handle", "unresolved_handle"]
    assert not any(unknown in text for text in told(llm))
