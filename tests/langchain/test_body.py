# ruff: noqa: ARG001
"""The guard stands in the tool body: there is no way to a tool that does not go through it."""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool, Tool, tool
from langchain_kit import Shop, call, codes, document
from unabridged.evidence import session
from unabridged_langchain import as_write_tool, neutral_tool, read_tool, write_tool

WAYS: dict[str, Any] = {
    "invoke": lambda t: t.invoke({"ids": [1]}),
    "a call": lambda t: t.invoke(call("archive", ids=[1])),
    "run": lambda t: t.run({"ids": [1]}),
    "func": lambda t: t.func(ids=[1]),
    "func by position": lambda t: t.func([1]),
    "_run": lambda t: t._run(ids=[1], config={}),
    "batch": lambda t: t.batch([{"ids": [1]}])[0],
    "no callbacks": lambda t: t.invoke({"ids": [1]}, {"callbacks": []}),
    "in a chain": lambda t: (RunnableLambda(lambda _: {"ids": [1]}) | t).invoke(None),
    "nested": lambda t: RunnableLambda(lambda _: t.func([1])).invoke(None),
    "stream": lambda t: next(iter(t.stream({"ids": [1]}))),
}
ASYNC_WAYS: dict[str, Any] = {
    "ainvoke": lambda t: t.ainvoke({"ids": [1]}),
    "a call": lambda t: t.ainvoke(call("aarchive", ids=[1])),
    "arun": lambda t: t.arun({"ids": [1]}),
    "coroutine": lambda t: t.coroutine(ids=[1]),
    "_arun": lambda t: t._arun(ids=[1], config={}),
    "no callbacks": lambda t: t.ainvoke({"ids": [1]}, {"callbacks": []}),
    "in a chain": lambda t: (RunnableLambda(lambda _: {"ids": [1]}) | t).ainvoke(None),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", ["partial", "unknown", "unavailable"])
def test_every_way_to_a_write_is_refused_after_a_read_that_is_not_complete(way: str, status: str) -> None:
    shop = Shop(status)
    tools = shop.by_name()
    with session(f"body-{way}-{status}"):
        tools["list_orders"].invoke({})
        refused = WAYS[way](tools["archive"])
    assert codes(refused) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_a_write_runs_after_a_complete_read(way: str) -> None:
    shop = Shop()
    tools = shop.by_name()
    with session(f"body-runs-{way}"):
        tools["list_orders"].invoke({})
        value = WAYS[way](tools["archive"])
    assert getattr(value, "content", value) == "archived"
    assert shop.written == [[1]]


@pytest.mark.parametrize("way", ASYNC_WAYS)
@pytest.mark.parametrize(("status", "written"), [("partial", []), ("complete", [[1]])])
async def test_every_way_to_an_async_write_is_judged(way: str, status: str, written: list[Any]) -> None:
    shop = Shop(status)
    tools = shop.by_name()
    with session(f"body-async-{way}-{status}"):
        await tools["alist_orders"].ainvoke({})
        value = await ASYNC_WAYS[way](tools["aarchive"])
    assert shop.written == written
    if not written:
        assert codes(value) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize("way", WAYS)
def test_without_a_session_a_guarded_write_refuses_and_names_the_remedy(way: str) -> None:
    shop = Shop()
    refused = WAYS[way](shop.by_name()["archive"])
    assert codes(refused) == ["GUARD_FAILED"]
    assert "session(" in document(refused)["message"]
    assert shop.written == []


def test_a_bare_thread_finds_no_session_and_refuses() -> None:
    shop, seen = Shop(), []
    tools = shop.by_name()
    with session("body-thread"):
        tools["list_orders"].invoke({})
        thread = threading.Thread(target=lambda: seen.append(tools["archive"].invoke({"ids": [1]})))
        thread.start()
        thread.join()
    assert codes(seen[0]) == ["GUARD_FAILED"]
    assert shop.written == []


def test_a_thread_that_copied_the_context_joins_the_session() -> None:
    shop, seen = Shop("partial"), []
    tools = shop.by_name()
    with session("body-copied"):
        context = copy_context()
        thread = threading.Thread(target=lambda: seen.append(context.run(tools["list_orders"].invoke, {})))
        thread.start()
        thread.join()
        assert codes(tools["archive"].invoke({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]


def test_a_refusal_of_a_call_is_an_error_message_with_an_artifact() -> None:
    shop = Shop("partial")
    tools = shop.by_name()
    with session("body-message"):
        tools["list_orders"].invoke({})
        message = tools["archive"].invoke(call("archive", ids=[1]))
    assert isinstance(message, ToolMessage)
    assert (message.status, message.name, message.tool_call_id) == ("error", "archive", "c1")
    assert message.artifact == {"unabridged": {"error": "refused", "codes": ["EVIDENCE_INCOMPLETE"]}}


def test_an_unavailable_read_is_an_error_message_and_a_partial_one_is_not() -> None:
    with session("body-status"):
        message = Shop("unavailable").by_name()["list_orders"].invoke(call("list_orders"))
        assert (message.status, document(message)["status"]) == ("error", "unavailable")
        assert "items" not in document(message)
        message = Shop("partial").by_name()["list_orders"].invoke(call("list_orders"))
        assert (message.status, document(message)["status"]) == ("success", "partial")
        assert message.artifact["unabridged"]["codes"] == ["MORE_PAGES_AVAILABLE"]


def test_a_target_outside_the_evidence_is_refused() -> None:
    shop = Shop()
    tools = shop.by_name()
    with session("body-target"):
        tools["list_orders"].invoke({})
        assert codes(tools["archive"].invoke({"ids": [1, 9]})) == ["TARGET_NOT_IN_EVIDENCE"]
        assert tools["archive"].invoke({"ids": [1, 3]}) == "archived"


def test_targets_are_judged_as_the_body_gets_them() -> None:
    shop = Shop()
    tools = shop.by_name()
    with session("body-coerced"):
        tools["list_orders"].invoke({})
        assert tools["archive"].invoke({"ids": ["1"]}) == "archived"
    assert shop.written == [[1]]


def test_an_undeclared_tool_runs_first_and_then_neither_writes_nor_proves() -> None:
    shop = Shop()
    tools = shop.by_name()
    with session("body-undeclared") as s:
        assert tools["mystery"].invoke({"x": 1}) == "something"
        assert [(r.resource, r.status) for r in s.reads] == [("tool:mystery", "unknown")]
        assert codes(tools["mystery"].invoke({"x": 2})) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == [("mystery", 1)]


def test_an_undeclared_tool_is_refused_after_a_partial_read() -> None:
    shop = Shop("partial")
    tools = shop.by_name()
    with session("body-undeclared-2"):
        tools["list_orders"].invoke({})
        assert codes(tools["mystery"].invoke({})) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


def test_neutral_and_independent_tools_need_no_session() -> None:
    @write_tool(independent="free text, names no record")
    def send(text: str) -> str:
        """Sends."""
        return f"sent {text}"

    @neutral_tool
    def now() -> str:
        """Tells the time."""
        return "noon"

    assert (send.invoke({"text": "x"}), now.invoke({})) == ("sent x", "noon")


def test_a_nested_write_inside_an_allowed_write_is_judged_by_itself() -> None:
    shop = Shop("partial")
    tools = shop.by_name()

    @write_tool(independent="a wrapper")
    def outer() -> Any:
        """Calls the other write."""
        return tools["archive"].invoke({"ids": [1]})

    with session("body-nested"):
        tools["list_orders"].invoke({})
        assert codes(outer.invoke({})) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


def test_reads_inside_a_neutral_wrapper_count() -> None:
    shop = Shop("partial")
    tools = shop.by_name()

    @neutral_tool
    def wrapper() -> str:
        """Reads in silence."""
        tools["list_orders"].invoke({})
        return "fine"

    with session("body-wrapper"):
        assert wrapper.invoke({}) == "fine"
        assert codes(tools["archive"].invoke({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]


def test_a_replaced_body_is_guarded_too() -> None:
    shop = Shop("partial")
    tools = shop.by_name()
    copy = tools["archive"].model_copy(update={"func": shop.archive})
    tools["archive"].func = shop.archive
    with session("body-replaced"):
        tools["list_orders"].invoke({})
        assert codes(copy.invoke({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]
        assert codes(tools["archive"].invoke({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []


class Deleter(BaseTool):
    """A tool of a class of its own."""

    name: str = "deleter"
    description: str = "Deletes."
    done: list[Any] = []

    def _run(self, ids: list[int], run_manager: Any = None) -> str:
        self.done.append(ids)
        return "deleted"


class OwnEntry(Deleter):
    """A tool whose class has a way in of its own."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return self._run(**input.get("args", input))


@pytest.mark.parametrize("kind", [Deleter, OwnEntry])
async def test_tools_of_other_classes_are_guarded_by_every_way(kind: type[Deleter]) -> None:
    inner = kind(done=[])
    guarded = as_write_tool(inner, relies_on=["orders"])
    assert isinstance(guarded, kind)
    orders = Shop("partial").by_name()["list_orders"]
    with session(f"body-{kind.__name__}"):
        orders.invoke({})
        assert codes(guarded.invoke({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]
        assert codes(await guarded.ainvoke({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]
        assert codes(guarded.run({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]
        assert codes(guarded._run(ids=[1], config={})) == ["EVIDENCE_INCOMPLETE"]
        assert guarded.invoke(call("deleter", ids=[1])).status == "error"
        assert inner.done == []
        Shop().by_name()["list_orders"].invoke({})
        assert guarded.invoke({"ids": [1]}) == "deleted"
        assert (await guarded.ainvoke(call("deleter", ids=[2]))).content == "deleted"
    assert inner.done == [[1], [2]]


def test_the_single_input_tool_is_guarded() -> None:
    done: list[str] = []
    bare = Tool("drop", lambda name: done.append(name) or "dropped", "Drops one.")
    guarded = as_write_tool(bare, relies_on=["orders"], targets="tool_input")
    with session("body-single"):
        assert codes(guarded.invoke("1")) == ["EVIDENCE_MISSING"]
        read_tool("orders", exhaustive=True)(lambda_list).invoke({})
        assert codes(guarded.invoke("9")) == ["TARGET_NOT_IN_EVIDENCE"]
        assert guarded.invoke("a") == "dropped"
    assert done == ["a"]


def lambda_list() -> list[dict[str, str]]:
    """Lists."""
    return [{"id": "a"}]


async def test_a_cancelled_read_is_unavailable() -> None:
    started = asyncio.Event()

    @read_tool("orders")
    async def slow() -> list[int]:
        """Lists slowly."""
        started.set()
        await asyncio.sleep(60)
        return []

    with session("body-cancelled") as s:
        task = asyncio.create_task(slow.ainvoke({}))
        await started.wait()
        assert [r.is_pending for r in s.reads] == [True]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [(r.status, r.reasons[0].detail) for r in s.reads] == [("unavailable", "cancelled")]


async def test_a_deadline_ends_an_async_read_that_does_not_know_it() -> None:
    @read_tool("orders", deadline=True)
    async def slow(owner: str | None = None) -> list[int]:
        """Lists slowly."""
        await asyncio.sleep(30)
        return []

    assert "deadline_s" in slow.args
    with session("body-deadline"):
        said = document(await slow.ainvoke({"deadline_s": 0.05}))
    assert (said["status"], said["reasons"][0]["code"]) == ("unavailable", "SOURCE_UNAVAILABLE")


def test_a_deadline_is_capped_and_reaches_a_body_that_takes_it() -> None:
    seen: list[Any] = []

    @read_tool("orders", deadline=True)
    def listing(deadline_s: float | None = None) -> list[int]:
        """Lists."""
        seen.append(deadline_s)
        return []

    with session("body-capped") as s:
        listing.invoke({"deadline_s": 10_000})
        listing.invoke({})
        assert document(listing.invoke({"deadline_s": -1}))["error"] == "invalid_request"
        assert all(dict(r.filters) == {} for r in s.reads)
    assert seen == [300.0, None]


def test_what_the_model_sent_are_the_filters_and_defaults_are_none() -> None:
    shop = Shop()

    @read_tool("orders", filters={"who": "owner"}, not_filters=["verbose"])
    def listing(who: str | None = None, limit: int = 20, verbose: bool = False, since: str | None = None) -> list[int]:
        """Lists."""
        return []

    with session("body-filters") as s:
        listing.invoke({"who": "ops", "limit": 3, "verbose": True})
        listing.invoke({"since": None})
        shop.by_name()["list_orders"].invoke({})
        assert [dict(r.filters) for r in s.reads] == [{"owner": "ops"}, {}, {}]


def test_a_tool_that_raises_says_nothing_of_what_it_raised() -> None:
    @read_tool("orders")
    def broken() -> Any:
        """Breaks."""
        raise ConnectionError("sk-sentinel")

    @write_tool(independent="x")
    def broken_write() -> Any:
        """Breaks."""
        raise ConnectionError("sk-sentinel")

    with session("body-raises"):
        said = broken.invoke(call("broken"))
        assert (said.status, document(said)["status"]) == ("error", "unavailable")
        wrote = broken_write.invoke(call("broken_write"))
        assert (wrote.status, document(wrote)["error"]) == ("error", "tool_failed")
        assert "sentinel" not in said.content + wrote.content


def test_an_author_who_turns_errors_into_messages_keeps_that() -> None:
    from langchain_core.tools import ToolException

    @tool
    def picky(x: int) -> str:
        """Is picky."""
        raise ToolException("say please")

    picky.handle_tool_error = True
    assert isinstance(picky, StructuredTool)
    guarded = as_write_tool(picky, independent="x")
    message = guarded.invoke(call("picky", x=1))
    assert (message.status, message.content) == ("error", "say please")


def test_an_async_tool_says_that_it_has_no_sync_way_in() -> None:
    with session("body-async-only"), pytest.raises(NotImplementedError):
        Shop().by_name()["aarchive"].invoke({"ids": [1]})


async def test_a_replaced_coroutine_is_guarded_too() -> None:
    shop = Shop("partial")
    tools = shop.by_name()
    copy = tools["aarchive"].model_copy(update={"coroutine": shop.aarchive})
    with session("body-replaced-async"):
        tools["list_orders"].invoke({})
        assert codes(await copy.ainvoke({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]
    assert shop.written == []
