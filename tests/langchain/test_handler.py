# ruff: noqa: ARG001
"""`PartialReadGuard`: the guard of plain chains, and of tools that nobody wrapped."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManager
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_kit import SECRET, Shop, codes, result, results
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from unabridged.contract import InvalidInput
from unabridged.evidence import session
from unabridged_langchain import CallRefused, CoverageMiddleware, PartialReadGuard, protect

HI = {"messages": [HumanMessage("Go.")]}


class Bare:
    """Tools that nobody wrapped."""

    def __init__(self, status: str = "partial") -> None:
        self.done: list[Any] = []
        done = self.done

        @tool
        def listing(owner: str | None = None) -> Any:
            """Lists."""
            return [{"id": 1}, {"id": 2}]

        @tool
        async def alisting(owner: str | None = None) -> Any:
            """Lists."""
            return [{"id": 1}, {"id": 2}]

        @tool
        def purge(ids: list[int]) -> str:
            """Purges."""
            done.append(ids)
            return "purged"

        @tool
        async def apurge(ids: list[int]) -> str:
            """Purges."""
            done.append(ids)
            return "purged"

        self.listing, self.alisting, self.purge, self.apurge = listing, alisting, purge, apurge
        codes = () if status == "complete" else ("MORE_PAGES_AVAILABLE",)
        self.judge = lambda value, seen: result(value, *codes, **seen.args)

    def guard(self, **more: Any) -> PartialReadGuard:
        """Returns a guard that knows the tools."""
        read = {"resource": "orders", "judge": self.judge}
        write = {"relies_on": ["orders"], "targets": "ids"}
        return PartialReadGuard(
            reads={"listing": read, "alisting": read}, writes={"purge": write, "apurge": write}, **more
        )


@pytest.mark.parametrize("status", ["partial", "complete"])
def test_a_plain_tool_is_judged_by_what_was_read_before(status: str) -> None:
    bare = Bare(status)
    config: Any = {"callbacks": [bare.guard()]}
    bare.listing.invoke({}, config)
    if status == "complete":
        assert bare.purge.invoke({"ids": [1]}, config) == "purged"
        with pytest.raises(CallRefused) as caught:
            bare.purge.invoke({"ids": [9]}, config)
        assert caught.value.codes == ("TARGET_NOT_IN_EVIDENCE",)
        return
    with pytest.raises(CallRefused) as caught:
        bare.purge.invoke({"ids": [1]}, config)
    assert caught.value.codes == ("EVIDENCE_INCOMPLETE",)
    assert bare.done == []


async def test_async_and_sync_only_tools_are_judged_in_async_code() -> None:
    bare = Bare()
    config: Any = {"callbacks": [bare.guard()]}
    await bare.alisting.ainvoke({}, config)
    for each in (bare.purge, bare.apurge):
        with pytest.raises(CallRefused):
            await each.ainvoke({"ids": [1]}, config)
        with pytest.raises(CallRefused):
            await (RunnableLambda(lambda _: {"ids": [1]}) | each).ainvoke(None, config)
    assert bare.done == []


def test_tools_in_chains_nested_tools_and_batches_are_seen() -> None:
    bare = Bare()
    guard = bare.guard(neutral=["outer"])
    config: Any = {"callbacks": [guard]}

    @tool
    def outer() -> Any:
        """Calls the purge."""
        return bare.purge.invoke({"ids": [1]})

    bare.listing.invoke({}, config)
    for attempt in (
        lambda: (RunnableLambda(lambda _: {"ids": [1]}) | bare.purge).invoke(None, config),
        lambda: outer.invoke({}, config),
        lambda: bare.purge.batch([{"ids": [1]}], config),
        lambda: bare.purge.with_config(callbacks=[guard]).invoke({"ids": [1]}),
        lambda: bare.purge.with_fallbacks([bare.purge]).invoke({"ids": [1]}, config),
    ):
        with pytest.raises(CallRefused):
            attempt()
    assert bare.done == []


def test_the_error_holds_no_value() -> None:
    bare = Bare()
    config: Any = {"callbacks": [bare.guard()]}
    bare.listing.invoke({"owner": SECRET}, config)
    with pytest.raises(CallRefused) as caught:
        bare.purge.invoke({"ids": [1]}, config)
    assert SECRET not in str(caught.value) + repr(caught.value)
    assert '"filters":["owner"]' in str(caught.value)


def test_a_tool_that_is_not_named_fails_closed_both_ways() -> None:
    bare, done = Bare(), []

    @tool
    def other() -> str:
        """Does something."""
        done.append(1)
        return "x"

    guard = bare.guard()
    config: Any = {"callbacks": [guard]}
    other.invoke({}, config)
    assert [(r.resource, r.status) for r in guard.own_session().reads] == [("tool:other", "unknown")]
    with pytest.raises(CallRefused):
        other.invoke({}, config)
    assert done == [1]


def plain_chain(model: Any, tools: Any) -> Any:
    by_name = {t.name: t for t in tools}

    def run(message: Any) -> list[Any]:
        return [by_name[c["name"]].invoke({**c, "type": "tool_call"}) for c in message.tool_calls]

    return model.bind_tools(tools) | RunnableLambda(run)


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize("order", [("listing", "purge"), ("purge", "listing")])
def test_a_read_and_a_write_of_one_turn_do_not_go_together(order: tuple[str, str], by_id: bool) -> None:
    bare = Bare("complete")
    guard = bare.guard()
    config: Any = {"callbacks": [guard]}
    args: dict[str, Any] = {"listing": {}, "purge": {"ids": [1]}}
    bare.listing.invoke({}, config)
    tools = {"listing": bare.listing, "purge": bare.purge}

    def run(message: Any) -> None:
        for each in message.tool_calls:
            given = {**each, "type": "tool_call"} if by_id else each["args"]
            tools[each["name"]].invoke(given)

    chain = scripted(calls(*((n, args[n]) for n in order))) | RunnableLambda(run)
    with pytest.raises(CallRefused) as caught:
        chain.invoke("go", config)
    assert caught.value.codes == ("EVIDENCE_PENDING",)
    assert bare.done == []


@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream"])
async def test_guarded_tools_in_a_plain_chain_see_their_turn_through_the_handler(how: str) -> None:
    shop = Shop()
    tools = [t for t in shop.tools() if t.func]
    config: Any = {"callbacks": [PartialReadGuard()]}
    turns = [
        calls(("list_orders", {})),
        calls(("archive", {"ids": [1]}), ("list_orders", {})),
        calls(("archive", {"ids": [1]})),
    ]
    chain = plain_chain(scripted(*turns), tools)
    said: list[Any] = []
    for _ in turns:
        if how == "invoke":
            said.append(chain.invoke("go", config))
        elif how == "ainvoke":
            said.append(await chain.ainvoke("go", config))
        else:
            said.append(next(iter(chain.stream("go", config))))
    assert codes(said[1][0]) == ["EVIDENCE_PENDING"]
    assert said[2][0].content == "archived"
    assert shop.written == [[1]]


def test_a_guarded_tool_is_recorded_once_and_never_raises() -> None:
    shop = Shop("partial")
    tools = shop.by_name()
    guard = PartialReadGuard()
    config: Any = {"callbacks": [guard]}
    tools["list_orders"].invoke({}, config)
    assert len(guard.own_session().reads) == 1
    assert codes(tools["archive"].invoke({"ids": [1]}, config)) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_handler_and_middleware_together_decide_once(how: str) -> None:
    shop, bare = Shop("partial"), Bare("complete")
    guard = bare.guard()
    agent = create_agent(
        scripted(
            calls(("listing", {})),
            calls(("purge", {"ids": [1]})),
            calls(("list_orders", {})),
            calls(("archive", {"ids": [1]})),
        ),
        [*shop.tools(), bare.listing, bare.purge],
        middleware=[CoverageMiddleware()],
    )
    config: Any = {"callbacks": [guard]}
    with session(f"together-{how}") as s:
        state = agent.invoke(HI, config) if how == "invoke" else await agent.ainvoke(HI, config)
        assert [(r.resource, r.status) for r in s.reads] == [("orders", "complete"), ("orders", "partial")]
    assert bare.done == [[1]]
    assert codes(results(state["messages"])[-1]) == ["EVIDENCE_INCOMPLETE"]


def test_without_a_middleware_a_refused_bare_tool_ends_an_agent() -> None:
    bare = Bare()
    agent = create_agent(scripted(calls(("listing", {})), calls(("purge", {"ids": [1]}))), [bare.listing, bare.purge])
    with pytest.raises(CallRefused):
        agent.invoke(HI, {"callbacks": [bare.guard()]})
    turn = calls(("purge", {"ids": [1]}), ("listing", {}))
    agent = create_agent(scripted(calls(("listing", {})), turn), [bare.listing, bare.purge])
    with pytest.raises(CallRefused) as caught:
        agent.invoke(HI, {"callbacks": [Bare("complete").guard()]})
    assert "EVIDENCE_PENDING" in caught.value.codes
    assert bare.done == []


def test_a_bare_tool_with_the_name_of_a_guarded_one_is_a_bare_tool() -> None:
    shop, done = Shop("partial"), []
    tools = shop.by_name()

    @tool
    def archive(ids: list[int]) -> str:
        """Archives without a guard."""
        done.append(ids)
        return "archived"

    config: Any = {"callbacks": [PartialReadGuard()], "metadata": {"guarded": True}}
    tools["list_orders"].invoke({}, config)
    with pytest.raises(CallRefused):
        archive.invoke({"ids": [1]}, config)
    assert done == []


def test_its_session_is_the_one_in_scope_its_own_the_threads_or_one_of_its_own() -> None:
    bare = Bare()
    mine = session("handler-mine")
    config: Any = {"callbacks": [bare.guard(session=mine)]}
    bare.listing.invoke({}, config)
    with session("handler-scope") as s:
        bare.listing.invoke({}, config)
    thread: Any = {"callbacks": [bare.guard()], "configurable": {"thread_id": "handler-thread"}}
    (RunnableLambda(lambda _: {}) | bare.listing).invoke(None, thread)
    own = bare.guard()
    bare.listing.invoke({}, {"callbacks": [own]})
    assert (len(mine.reads), len(s.reads), len(own.own_session().reads)) == (1, 1, 1)
    assert len(session("handler-thread", kind="thread").reads) == 1


def test_a_history_that_the_model_is_shown_is_compared_with_the_session() -> None:
    bare = Bare("complete")
    guard = bare.guard()
    past = [calls(("listing", {}, "old")), ToolMessage("[]", tool_call_id="old", name="listing"), HumanMessage("Go.")]
    chain = plain_chain(scripted(calls(("purge", {"ids": [1]}))), [bare.listing, bare.purge])
    with pytest.raises(CallRefused) as caught:
        chain.invoke(past, {"callbacks": [guard]})
    assert caught.value.codes == ("EVIDENCE_INCOMPLETE",)


def test_an_interrupt_withdraws_a_read_and_a_failure_is_unavailable() -> None:
    bare = Bare()

    @tool
    def asking() -> Any:
        """Asks."""
        return interrupt("which?")

    @tool
    def failing() -> Any:
        """Fails."""
        raise ConnectionError(SECRET)

    guard = PartialReadGuard(reads={"asking": {"resource": "a", "exhaustive": True}, "failing": "b"})
    agent = create_agent(scripted(calls(("asking", {}))), [asking], checkpointer=InMemorySaver())
    config: Any = {"callbacks": [guard], "configurable": {"thread_id": "handler-interrupt"}}
    agent.invoke(HI, config)
    reads = session("handler-interrupt", kind="thread").reads
    assert list(reads) == []
    agent.invoke(Command(resume=[1]), config)
    assert [r.status for r in reads] == ["complete"]
    with pytest.raises(ConnectionError):
        (RunnableLambda(lambda _: {}) | failing).invoke(None, config)
    assert [(r.resource, r.status) for r in reads][1:] == [("b", "unavailable")]
    assert bare.done == []


async def test_a_cancelled_bare_read_is_unavailable() -> None:
    started = asyncio.Event()

    @tool
    async def slow() -> Any:
        """Is slow."""
        started.set()
        await asyncio.sleep(60)

    guard = PartialReadGuard(reads={"slow": "orders"})
    task = asyncio.create_task(slow.ainvoke({}, {"callbacks": [guard]}))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(r.status, r.reasons[0].detail) for r in guard.own_session().reads] == [("unavailable", "cancelled")]


def test_wrong_setups_are_refused() -> None:
    guard = PartialReadGuard()
    with pytest.raises(InvalidInput, match="raise_error"):
        guard.raise_error = False
    with pytest.raises(InvalidInput, match="run_inline"):
        guard.run_inline = False
    with pytest.raises(InvalidInput, match="ignore_agent"):

        class Deaf(PartialReadGuard):
            ignore_agent = True  # type: ignore[assignment]

    with pytest.raises(InvalidInput, match="session"):
        PartialReadGuard(session="case-1")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="more than once"):
        PartialReadGuard(reads={"a": "x"}, neutral=["a"])


def test_a_plain_callback_that_raises_is_no_guard_and_ours_is() -> None:
    from langchain_core.callbacks import BaseCallbackHandler

    class Naive(BaseCallbackHandler):
        def on_tool_start(self, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError

    bare = Bare()
    bare.purge.invoke({"ids": [1]}, {"callbacks": [Naive()]})
    assert bare.done == [[1]]
    with pytest.raises(CallRefused):
        bare.purge.invoke({"ids": [1]}, {"callbacks": [bare.guard()]})
    assert bare.done == [[1]]


def test_wrapped_tools_are_guarded_where_a_handler_is_not_handed_down() -> None:
    shop = Shop("partial")
    guard = PartialReadGuard()
    agent = create_agent(scripted(calls(("list_orders", {})), calls(("archive", {"ids": [1]}))), shop.tools())
    state = agent.invoke(HI, {"callbacks": CallbackManager([guard])})
    assert results(state["messages"])[-1].status == "error"
    tools = protect([shop.archive], writes={"archive": ["orders"]})
    assert codes(tools[0].invoke({"ids": [1]}, {"callbacks": [guard]})) == ["EVIDENCE_MISSING"]
    assert shop.written == []


def test_the_handler_needs_no_agents_and_no_graphs() -> None:
    code = (
        "import sys, unabridged_langchain as u; u.PartialReadGuard(); u.protect([lambda: 1]) if 0 else None; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'langchain', 'langgraph', 'llama_index'}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert run.stdout.strip() == "[]"
