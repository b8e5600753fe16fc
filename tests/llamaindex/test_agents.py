"""Agents over protected tools: the turn, the session, the history, and the caveat on every way out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llama_index.core.agent.workflow import (
    AgentOutput,
    AgentStream,
    AgentWorkflow,
    CodeActAgent,
    FunctionAgent,
    ToolCall,
)
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from llama_scripts import Scripted, alone_or_in_workflow, case, result, script, told
from unabridged_llamaindex import CoverageFunctionAgent, neutral_tool, protect

MODES = ["alone", "workflow"]
KINDS = [FunctionAgent, CoverageFunctionAgent]


class Shop:
    """Tools over a shop; each read gives the next status, the last one for ever."""

    def __init__(self, *statuses: str) -> None:
        self.statuses = list(statuses) or ["complete"]
        self.written: list[Any] = []

    def _next(self) -> Any:
        return result(self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0])

    def list_orders(self) -> Any:
        """Lists orders."""
        return self._next()

    async def alist_orders(self) -> Any:
        """Lists orders."""
        return self._next()

    def archive(self, ids: list[str]) -> str:
        """Archives orders."""
        self.written.append(ids)
        return "archived"

    async def aarchive(self, ids: list[str]) -> str:
        """Archives orders."""
        return self.archive(ids)

    def tools(self, *, is_async: bool = False, **read: Any) -> list[Any]:
        bodies = (self.alist_orders, self.aarchive) if is_async else (self.list_orders, self.archive)
        named = [FunctionTool.from_defaults(f, name=n) for f, n in zip(bodies, ("list_orders", "archive"), strict=True)]
        return protect(
            named,
            reads={"list_orders": {"resource": "orders", **read}},
            writes={"archive": {"relies_on": ["orders"], "targets": "ids"}},
        )


READ = ("list_orders", {})
WRITE = ("archive", {"ids": ["o-1"]})


def codes(text: str) -> list[str]:
    try:
        found: list[str] = json.loads(text).get("codes", [])
    except ValueError:
        return []
    return found


async def run(agent: Any, mode: str, **kwargs: Any) -> Any:
    return await alone_or_in_workflow(agent, mode).run(**{"user_msg": "Archive them.", **kwargs})


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_write_after_a_partial_read_is_refused(mode: str, kind: Any, is_async: bool) -> None:
    shop, llm = Shop("partial"), script([READ], [WRITE], "All archived.")
    response = await run(kind(tools=shop.tools(is_async=is_async), llm=llm), mode)
    assert shop.written == []
    assert codes(told(llm)[-1]) == ["EVIDENCE_INCOMPLETE"]
    assert [c.tool_output.is_error for c in response.tool_calls] == [False, True]
    assert (str(response) == "All archived.") is (kind is FunctionAgent)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_write_after_a_complete_read_runs(mode: str, kind: Any) -> None:
    shop, llm = Shop("complete"), script([READ], [WRITE], "Fine.")
    response = await run(kind(tools=shop.tools(), llm=llm), mode)
    assert shop.written == [["o-1"]]
    assert str(response) == "Fine."


@pytest.mark.parametrize("style", ["blocks", "dicts", "hidden"])
@pytest.mark.parametrize("turn", [[READ, WRITE], [WRITE, READ]], ids=["read first", "write first"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_read_and_a_write_of_one_turn_are_refused_in_both_orders(
    mode: str, kind: Any, turn: Any, style: Any
) -> None:
    shop, llm = Shop("complete"), script(turn, [WRITE], style=style)
    await run(kind(tools=shop.tools(), llm=llm), mode)
    refused = [codes(text) for text in told(llm) if codes(text)]
    assert refused == [["EVIDENCE_PENDING"]]
    assert shop.written == [["o-1"]]


@pytest.mark.parametrize("key", ["scratchpad", "messages of my agent"])
async def test_two_writes_of_one_turn_do_not_hold_each_other_back(key: str) -> None:
    shop, llm = Shop("complete"), script([READ], [WRITE, ("archive", {"ids": ["o-2"]})])
    await run(FunctionAgent(tools=shop.tools(), llm=llm, scratchpad_key=key), "alone")
    assert sorted(shop.written) == [["o-1"], ["o-2"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_context_keeps_its_session_over_runs_and_in_json(mode: str, kind: Any) -> None:
    shop, llm = Shop("partial"), script([READ], "Seen.", [WRITE], "Done.")
    workflow = alone_or_in_workflow(kind(tools=shop.tools(), llm=llm), mode)
    ctx = Context(workflow)
    await workflow.run(user_msg="Read.", ctx=ctx)
    await ctx.store.set("memory", ChatMemoryBuffer.from_defaults(llm=llm))  # what JSON cannot hold with this pydantic
    document = json.loads(json.dumps(ctx.to_dict()))
    await workflow.run(user_msg="Write.", ctx=Context.from_dict(workflow, document))
    assert shop.written == []
    assert codes(told(llm)[-1]) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize("kind", KINDS)
async def test_runs_without_a_context_do_not_share_evidence(kind: Any) -> None:
    shop, llm = Shop("complete"), script([READ], "Seen.", [WRITE], "Done.")
    agent = kind(tools=shop.tools(), llm=llm)
    await run(agent, "alone")
    await run(agent, "alone")
    assert codes(told(llm)[-1]) == ["EVIDENCE_MISSING"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_context_of_another_process_blocks(kind: Any) -> None:
    shop, llm = Shop("complete"), script([READ], "Seen.", [("wipe", {})], [READ], [("wipe", {})], "Done.")
    wiped = []
    tools = [
        *shop.tools(),
        *protect([FunctionTool.from_defaults(lambda: wiped.append(1), name="wipe")], writes={"wipe": {}}),
    ]
    agent = kind(tools=tools, llm=llm)
    ctx = Context(agent)
    await agent.run(user_msg="Read.", ctx=ctx)
    await ctx.store.set("memory", ChatMemoryBuffer.from_defaults(llm=llm))
    document = ctx.to_dict()
    state = document["state"]["state_data"]["_data"]
    state["unabridged_session"] = state["unabridged_session"].replace('"process": "', '"process": "x')
    await agent.run(user_msg="Wipe.", ctx=Context.from_dict(agent, document))
    assert [codes(t) for t in told(llm) if codes(t)] == [["EVIDENCE_INCOMPLETE"]]
    assert wiped == [1]


@pytest.mark.parametrize("style", ["blocks", "dicts"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
async def test_results_in_a_history_that_the_ledger_does_not_know_block(mode: str, kind: Any, style: Any) -> None:
    elsewhere = script([READ], "Seen.", style=style)
    memory = ChatMemoryBuffer.from_defaults(llm=elsewhere)
    await FunctionAgent(tools=[Shop().list_orders], llm=elsewhere).run(user_msg="Read.", memory=memory)
    shop, llm = Shop("complete"), script([WRITE], [READ], [WRITE])
    agent = kind(tools=shop.tools(), llm=llm)
    await run(agent, mode, chat_history=await memory.aget_all())
    assert codes(told(llm)[-3]) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == [["o-1"]]


async def test_an_explicit_session_goes_before_that_of_the_context() -> None:
    shop, llm = Shop("partial"), script([WRITE], "Done.")
    with case() as s:
        s.record(result("complete"))
        await run(FunctionAgent(tools=shop.tools(), llm=llm), "workflow")
    assert shop.written == [["o-1"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
async def test_an_injected_event_meets_the_guard(mode: str, kind: Any) -> None:
    shop, llm = Shop("partial"), script([READ], lambda _: "Done.")
    workflow = alone_or_in_workflow(kind(tools=shop.tools(), llm=llm), mode)
    handler = workflow.run(user_msg="Read.")
    async for event in handler.stream_events():
        if isinstance(event, ToolCall) and event.tool_name == "list_orders":
            handler.ctx.send_event(ToolCall(tool_name="archive", tool_kwargs={"ids": ["o-1"]}, tool_id="forged"))
    await handler
    assert shop.written == []


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_nested_agent_joins_the_session_of_its_caller(kind: Any, wrapped: bool) -> None:
    shop = Shop("partial")
    inner = script([READ], "Seen.")

    async def ask() -> str:
        """Asks another agent."""
        return str(await kind(tools=shop.tools(), llm=inner).run(user_msg="Read."))

    llm = script([("ask", {})], [WRITE], "Done.")
    tool = neutral_tool(ask) if wrapped else ask
    with case():
        await run(kind(tools=[*shop.tools(), tool], llm=llm), "alone")
    assert shop.written == []
    assert codes(told(llm)[-1]) == ["EVIDENCE_INCOMPLETE"]


async def test_a_nested_agent_joins_the_session_of_a_context_too() -> None:
    shop, inner = Shop("partial"), script([READ], "Seen.")

    @neutral_tool
    async def ask() -> str:
        return str(await FunctionAgent(tools=shop.tools(), llm=inner).run(user_msg="Read."))

    llm = script([("ask", {})], [WRITE], "Done.")
    await run(FunctionAgent(tools=[*shop.tools(), ask], llm=llm), "alone")
    assert codes(told(llm)[-1]) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize("turn", [[READ, ("ask", {})], [("ask", {}), READ]])
@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_turn_of_the_caller_asks_for_holds_back_a_nested_write(kind: Any, turn: Any) -> None:
    shop, inner = Shop("complete"), script([WRITE], "Done.")

    @neutral_tool
    async def ask() -> str:
        return str(await FunctionAgent(tools=shop.tools(), llm=inner).run(user_msg="Write."))

    await run(kind(tools=[*shop.tools(), ask], llm=script(turn, "Done.")), "alone")
    assert shop.written == []
    assert codes(told(inner)[-1]) == ["EVIDENCE_PENDING"]


async def test_evidence_passes_a_handoff() -> None:
    shop = Shop("partial")
    first = script([READ], [("handoff", {"to_agent": "b", "reason": "go"})])
    second = script([WRITE], "All archived.")
    tools = shop.tools()
    agents = [
        CoverageFunctionAgent(name="a", description="reads", tools=tools, llm=first),
        CoverageFunctionAgent(name="b", description="writes", tools=tools, llm=second),
    ]
    response = await AgentWorkflow(agents=agents, root_agent="a").run(user_msg="Archive.")
    assert shop.written == []
    assert str(response).count("All archived.") == 1
    assert str(response) != "All archived."
    handed = [m.content for m in second.seen[0] if m.role == "tool"]
    assert not any("coverage" in m.additional_kwargs for m in second.seen[0])
    assert handed


async def test_a_read_beside_a_handoff_does_not_block_the_handoff() -> None:
    shop = Shop("complete")
    turn = [("handoff", {"to_agent": "b", "reason": "go"}), WRITE]
    first, second = script([READ], turn), script("Fine.")
    agents = [
        FunctionAgent(name="a", description="reads", tools=shop.tools(), llm=first),
        FunctionAgent(name="b", description="waits", tools=[], llm=second),
    ]
    await AgentWorkflow(agents=agents, root_agent="a").run(user_msg="Archive.")
    assert shop.written == [["o-1"]]


async def test_a_code_agent_gets_guarded_functions() -> None:
    shop = Shop("partial")
    read, write = shop.tools()
    ran: list[Any] = []

    async def execute(code: str) -> str:
        ran.extend([read.real_fn(), write.real_fn(ids=["o-1"])])
        return code

    llm = script("<execute>archive()</execute>", "Done.")
    agent = CodeActAgent(code_execute_fn=execute, tools=[read, write], llm=llm)
    assert [f.__name__ for f in agent._get_tool_fns(agent.tools or [])] == ["list_orders", "archive"]
    await agent.run(user_msg="Archive.")
    assert shop.written == []
    assert codes(ran[1]) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_pause_passes_and_its_read_is_withdrawn(mode: str) -> None:
    runs = []

    async def list_orders(ctx: Context) -> Any:
        """Lists orders once a person agrees."""
        runs.append("asked")
        await ctx.wait_for_event(HumanResponseEvent, waiter_id="w", waiter_event=InputRequiredEvent(prefix="ok?"))
        runs.append("ran")
        return result("complete")

    list_orders.__annotations__["ctx"] = Context  # LlamaIndex does not look behind a postponed annotation
    shop, llm = Shop(), script([READ], [WRITE], "Done.")
    tools = protect([list_orders, shop.archive], reads={"list_orders": "orders"}, writes={"archive": ["orders"]})
    workflow = alone_or_in_workflow(CoverageFunctionAgent(tools=tools, llm=llm), mode)
    with case() as s:
        handler = workflow.run(user_msg="Archive.")
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                assert [r.is_pending for r in s.reads] == []
                handler.ctx.send_event(HumanResponseEvent(response="yes"))
        await handler
    assert runs == ["asked", "asked", "ran"]
    assert [r.status for r in s.reads] == ["complete"]
    assert shop.written == [["o-1"]]


CAVEAT = "partial"


async def memory_of(ctx: Context) -> list[str]:
    return [m.content or "" for m in await (await ctx.store.get("memory")).aget_all() if m.role == "assistant"]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("mode", MODES)
async def test_the_caveat_stands_before_the_text_in_answer_memory_and_stream(mode: str, streaming: bool) -> None:
    llm = script([READ], "All archived.")
    agent = CoverageFunctionAgent(tools=Shop("partial").tools(), llm=llm, streaming=streaming)
    workflow = alone_or_in_workflow(agent, mode)
    ctx = Context(workflow)
    handler = workflow.run(user_msg="Archive.", ctx=ctx)
    events = [event async for event in handler.stream_events()]
    deltas = [e.delta for e in events if isinstance(e, AgentStream)]
    response = await handler
    text = str(response)
    assert [str(e) for e in events if isinstance(e, AgentOutput)][-1] == text
    assert text.endswith("\n\nAll archived.")
    assert CAVEAT in text.split("\n\n")[0]
    assert text.count("\n\n") == 1
    assert (await memory_of(ctx))[-1] == text
    assert response.metadata["coverage"] == response.response.additional_kwargs["coverage"]
    assert json.dumps(response.response.additional_kwargs["coverage"])
    if streaming:
        assert CAVEAT in "".join(deltas)


@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_that_was_given_before_carries_the_caveats_of_its_own_run(mode: str) -> None:
    llm = script("Done.", [READ], "Done.")
    workflow = alone_or_in_workflow(CoverageFunctionAgent(tools=Shop("partial").tools(), llm=llm), mode)
    ctx = Context(workflow)
    assert str(await workflow.run(user_msg="Hello.", ctx=ctx)) == "Done."
    assert CAVEAT in str(await workflow.run(user_msg="Archive.", ctx=ctx))


@pytest.mark.parametrize("mode", MODES)
async def test_a_result_that_is_given_directly_carries_the_caveat(mode: str) -> None:
    shop, llm = Shop("partial"), script([READ], [("report", {})])
    report = neutral_tool(lambda: "All archived.", name="report", return_direct=True)
    agent = CoverageFunctionAgent(tools=[*shop.tools(), report], llm=llm)
    ctx = Context(alone := alone_or_in_workflow(agent, mode))
    response = await alone.run(user_msg="Archive.", ctx=ctx)
    assert str(response).endswith("\n\nAll archived.")
    assert CAVEAT in str(response)
    assert (await memory_of(ctx))[-1] == str(response)


@pytest.mark.parametrize("last", [[READ], "All archived."], ids=["calls", "text"])
@pytest.mark.parametrize("mode", MODES)
async def test_an_early_stop_carries_the_caveat_and_the_limit_holds_for_the_next_run(mode: str, last: Any) -> None:
    llm = script([READ], last, "All archived.", [READ], [READ], "Stopped again.")
    agent = CoverageFunctionAgent(tools=Shop("partial").tools(), llm=llm, early_stopping_method="generate")
    workflow = agent if mode == "alone" else AgentWorkflow(agents=[agent], early_stopping_method="generate")
    ctx = Context(workflow)
    response = await workflow.run(user_msg="Archive.", ctx=ctx, max_iterations=2)
    assert str(response).endswith("\n\nAll archived.")
    assert CAVEAT in str(response)
    assert (await memory_of(ctx))[-1] == str(response)
    assert await ctx.store.get("max_iterations") == 2
    if last != "All archived.":
        again = await workflow.run(user_msg="Go on.", ctx=ctx)
        assert str(again).endswith("Stopped again.")


async def test_an_answer_over_complete_reads_has_no_caveat_unless_it_claims_absence() -> None:
    for said, lines in (("Here they are.", 1), ("Nothing is missing.", 2)):
        llm = script([READ], said)
        response = await run(CoverageFunctionAgent(tools=Shop("complete").tools(), llm=llm), "alone")
        assert str(response).startswith(said)
        assert len(str(response).split("\n\n")) == lines
        assert response.metadata["coverage"]


async def test_the_caveat_speaks_the_language_of_the_agent() -> None:
    llm = script([READ], "Done.")
    response = await run(CoverageFunctionAgent(tools=Shop("partial").tools(), llm=llm, language="de"), "alone")
    assert "unvollst" in str(response).lower() or "teilweise" in str(response).lower() or "offen" in str(response)


async def test_the_agent_has_the_tools_that_a_refusal_offers() -> None:
    llm = script("Hello.")
    agent = CoverageFunctionAgent(tools=Shop().tools(), llm=llm)
    await run(agent, "workflow")
    assert llm.shown[0] == ["list_orders", "archive", "continue_read", "count_read"]


@pytest.mark.parametrize(("kind", "offered"), [(FunctionAgent, False), (CoverageFunctionAgent, True)])
@pytest.mark.parametrize("mode", MODES)
async def test_a_refusal_offers_only_what_the_agent_has(mode: str, kind: Any, offered: bool) -> None:
    def list_orders() -> Any:
        return result("complete", items=[{"id": str(n), "text": "x" * 200} for n in range(500)])

    llm = script([READ], [("wipe", {})], "Done.")
    tools = protect(
        [list_orders, FunctionTool.from_defaults(lambda: "ok", name="wipe")],
        reads={"list_orders": {"resource": "orders", "exhaustive": True}},
        writes={"wipe": ["orders"]},
    )
    await run(kind(tools=tools, llm=llm), mode)
    refusal = json.loads(told(llm)[-1])
    assert refusal["codes"] == ["EVIDENCE_INCOMPLETE"]
    assert ("continue_read" in refusal["options"]) is offered


@pytest.mark.parametrize("mode", MODES)
async def test_the_rest_of_a_read_is_shown_by_its_handle(mode: str) -> None:
    items = [{"id": str(n), "text": "x" * 200} for n in range(100)]

    def list_orders() -> Any:
        return result("complete", items=items)

    def go_on(messages: Any) -> Any:
        last = json.loads(messages[-1].content)
        if "continuation" not in last:
            return [("count_read", {"handle": handles[0], "where": {"id": "7"}})]
        handles.append(last["continuation"]["handle"])
        return [("continue_read", {"handle": handles[-1]})]

    handles: list[str] = []
    llm = script([READ], go_on, go_on, "Done.")
    tools = protect([list_orders], reads={"list_orders": "orders"})
    await run(CoverageFunctionAgent(tools=tools, llm=llm), mode)
    shown = [json.loads(t) for t in told(llm)]
    assert [i["id"] for page in shown[:2] for i in page["items"]] == [i["id"] for i in items]
    assert shown[2]["count"] == 1


async def test_tools_given_to_the_agent_later_or_by_a_retriever_fail_closed() -> None:
    ran = []

    def raw() -> str:
        ran.append(1)
        return "x"

    shop, llm = Shop("partial"), script([READ], [("raw", {})], "Done.")
    agent = CoverageFunctionAgent(tools=shop.tools(), llm=llm)
    agent.tools.append(FunctionTool.from_defaults(raw))  # type: ignore[union-attr]
    await run(agent, "workflow")
    assert ran == []
    assert codes(told(llm)[-1]) == ["EVIDENCE_INCOMPLETE"]


async def test_a_name_that_no_tool_has_holds_nothing_back() -> None:
    shop, llm = Shop("complete"), script([READ], [("nope", {}), WRITE], "Done.")
    await run(FunctionAgent(tools=shop.tools(), llm=llm), "alone")
    assert shop.written == [["o-1"]]


async def test_a_model_without_a_run_is_refused() -> None:
    shop = Shop("complete")
    llm: Scripted = script([WRITE])
    response = llm.predict_and_call(shop.tools(), user_msg="Archive.")
    assert shop.written == []
    assert codes(str(response)) == ["GUARD_FAILED"]


@pytest.mark.parametrize("status", ["complete", "partial"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_paused_run_goes_on_from_json_with_its_evidence(kind: Any, status: str) -> None:
    written = []

    async def archive(ctx: Context, ids: list[str]) -> str:
        """Archives once a person agrees."""
        await ctx.wait_for_event(HumanResponseEvent, waiter_id="w", waiter_event=InputRequiredEvent(prefix="ok?"))
        written.append(ids)
        return "archived"

    async def ask(ctx: Context) -> str:
        """Asks a person."""
        await ctx.wait_for_event(HumanResponseEvent, waiter_id="a", waiter_event=InputRequiredEvent(prefix="go on?"))
        return "yes"

    for body in (archive, ask):
        body.__annotations__["ctx"] = Context
    llm = script([READ], [("ask", {})], [WRITE], "Done.")
    tools = protect(
        [Shop(status).list_orders, archive, ask],
        reads={"list_orders": "orders"}, writes={"archive": ["orders"]}, neutral=["ask"],
    )  # fmt: skip
    agent = kind(tools=tools, llm=llm)
    handler = agent.run(user_msg="Archive.")
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            break
    document = json.loads(json.dumps(handler.ctx.to_dict()))
    await handler.cancel_run()
    ctx = Context.from_dict(agent, document)
    await ctx.store.set("memory", ChatMemoryBuffer.from_defaults(llm=llm))
    resumed = agent.run(ctx=ctx)
    resumed.ctx.send_event(HumanResponseEvent(response="yes"))
    async for event in resumed.stream_events():
        if isinstance(event, InputRequiredEvent):
            resumed.ctx.send_event(HumanResponseEvent(response="yes"))
    await resumed
    assert written == ([["o-1"]] if status == "complete" else [])
    assert (codes(told(llm)[-1]) == ["EVIDENCE_INCOMPLETE"]) is (status == "partial")
