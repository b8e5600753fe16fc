"""The protected tool, called in every way that LlamaIndex and its users know."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest
from llama_index.core.base.llms.types import TextBlock
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool, RetrieverTool, ToolMetadata, ToolOutput
from llama_index.core.tools.calling import acall_tool, call_tool
from llama_index.core.tools.types import BaseTool
from llama_scripts import case, result
from pydantic import BaseModel, Field
from unabridged.contract import InvalidInput
from unabridged_llamaindex import (
    CoverageWarning,
    FromArgument,
    as_read_tool,
    as_write_tool,
    neutral_tool,
    protect,
    read_tool,
    write_tool,
)


class Shop:
    """Tools over a shop whose reads have the status that a test sets."""

    def __init__(self, status: str = "complete") -> None:
        self.status = status
        self.written: list[Any] = []

    def list_orders(self, tenant: str | None = None) -> Any:
        """Lists orders."""
        return result(self.status)

    def archive(self, ids: list[str]) -> str:
        """Archives orders."""
        self.written.append(ids)
        return "archived"

    def tools(self) -> tuple[Any, Any]:
        read, write = protect(
            [self.list_orders, self.archive],
            reads={"list_orders": "orders"},
            writes={"archive": {"relies_on": ["orders"], "targets": "ids"}},
        )
        return read, write


def codes(output: Any) -> list[str]:
    return json.loads(getattr(output, "content", output)).get("codes", [])


async def every_way(tool: Any, args: dict[str, Any]) -> list[Any]:
    """Calls a tool in every way there is."""
    return [
        tool.call(**args),
        tool(**args),
        await tool.acall(**args),
        call_tool(tool, args),
        await acall_tool(tool, args),
        tool.fn(**args),
        tool._fn(**args),
        await tool.async_fn(**args),
        await tool._async_fn(**args),
        tool.real_fn(**args),
    ]


async def test_no_way_to_a_write_leads_around_the_guard() -> None:
    shop = Shop("partial")
    read, write = shop.tools()
    with case():
        read.call()
        outputs = await every_way(write, {"ids": ["o-1"]})
    assert shop.written == []
    assert [codes(o) for o in outputs] == [["EVIDENCE_INCOMPLETE"]] * 10
    assert all(o.is_error for o in outputs)


async def test_every_way_to_a_write_is_open_after_a_complete_read() -> None:
    shop = Shop()
    read, write = shop.tools()
    with case():
        await read.acall()
        outputs = await every_way(write, {"ids": ["o-1"]})
    assert len(shop.written) == 10
    assert [str(o) for o in outputs] == ["archived"] * 10


async def test_without_a_session_a_write_is_refused_and_a_read_runs() -> None:
    shop = Shop()
    read, write = shop.tools()
    outputs = await every_way(write, {"ids": ["o-1"]})
    assert shop.written == []
    assert [codes(o) for o in outputs] == [["GUARD_FAILED"]] * 10
    assert "session(...)" in outputs[0].content
    assert json.loads(read.call().content)["status"] == "complete"


async def test_independent_writes_and_neutral_tools_need_no_session() -> None:
    sent = []

    @write_tool(independent="free text, names no record")
    def send(text: str) -> str:
        sent.append(text)
        return "sent"

    @neutral_tool
    async def add(a: int, b: int) -> int:
        return a + b

    @neutral_tool(name="clock")
    def now() -> str:
        return "noon"

    assert send.call(text="hi").content == "sent"
    assert (await add.acall(a=1, b=2)).raw_output == 3
    assert (now.metadata.name, now(), sent) == ("clock", now(), ["hi"]) or now().content == "noon"


@pytest.mark.parametrize(
    ("status", "note"),
    [
        ("complete", "whole scope was read and it is empty"),
        ("partial", "not read to its end"),
        ("unknown", "does not say whether that is all"),
        ("unavailable", "did not answer"),
    ],
)
async def test_the_four_empties_read_differently(status: str, note: str) -> None:
    @read_tool("orders")
    async def list_orders() -> Any:
        return result(status, items=[])

    output = await list_orders.acall()
    document = json.loads(output.content)
    assert note in document["note"]
    assert document["status"] == status
    assert output.is_error is (status == "unavailable")


def test_a_read_shows_its_short_form_and_carries_a_small_header() -> None:
    @read_tool("orders")
    def list_orders() -> Any:
        return result("partial", items=[{"id": str(n), "text": "x" * 50} for n in range(5_000)])

    with case() as s:
        output = list_orders.call()
    document = json.loads(output.content)
    assert len(output.content) <= 16_384
    assert len(json.dumps(output.raw_output)) <= 1_024
    assert output.raw_output["unabridged"]["read"] == s.reads[0].id
    assert {"PRESENTATION_LIMIT", "RESULT_LIMIT_REACHED"} == {r["code"] for r in document["reasons"]}


async def test_the_arguments_that_were_sent_are_the_filters() -> None:
    @read_tool("orders", filters={"who": "owner"}, not_filters=["trace"], exhaustive=True)
    async def list_orders(tenant: str, who: str | None = None, trace: str = "", limit: int = 5) -> list[Any]:
        return [{"id": [tenant, who, trace, limit]}]

    with case() as s:
        await list_orders.acall(tenant="a", who="b", trace="t", limit=3)
        await list_orders.acall(tenant="a", who=None)
    assert [dict(r.filters) for r in s.reads] == [{"tenant": "a", "owner": "b"}, {"tenant": "a"}]
    assert s.reads[0].proof.end == "declared"


async def test_positional_arguments_are_judged_by_their_names() -> None:
    shop = Shop()
    read, write = shop.tools()
    with case() as s:
        read.call("acme")
        assert codes(write.call(["o-9"])) == ["TARGET_NOT_IN_EVIDENCE"]
        assert write.call(["o-1"]).content == "archived"
    assert dict(s.reads[0].filters) == {} or dict(s.reads[0].filters) == {"tenant": "acme"}


SECRET = "s3cr3t value"


@pytest.mark.parametrize(
    ("args", "field"),
    [({"nothing": SECRET}, "nothing"), ({"ids": SECRET}, "ids"), ({}, "ids"), ({"ids": [{"a": SECRET}]}, "ids")],
)
async def test_arguments_that_break_the_schema_are_refused_without_their_values(
    args: dict[str, Any], field: str
) -> None:
    shop = Shop()
    read, write = shop.tools()
    with case():
        read.call()
        for output in await every_way(write, args):
            document = json.loads(getattr(output, "content", output))
            assert document["error"] == "invalid_request"
            assert field in {p["field"] for p in document["problems"]}
            assert SECRET not in str(output)
            assert output.is_error
    assert shop.written == []


async def test_partial_params_are_set_by_the_author_alone() -> None:
    ran = []

    def archive(tenant: str, ids: list[str]) -> str:
        ran.append((tenant, ids))
        return "ok"

    plain = FunctionTool.from_defaults(archive, partial_params={"tenant": "acme"})
    tool = as_write_tool(plain, relies_on=["orders"], targets="ids")
    with case() as s:
        s.record(result())
        assert json.loads(tool.call(tenant="evil", ids=["o-1"]).content)["error"] == "invalid_request"
        for output in await every_way(tool, {"ids": ["o-1"]}):
            assert str(output) == "ok"
    assert ran == [("acme", ["o-1"])] * 10


async def test_targets_that_the_author_set_are_judged_too() -> None:
    tool = as_write_tool(
        FunctionTool.from_defaults(lambda ids: str(ids), name="wipe", partial_params={"ids": ["o-9"]}),
        relies_on=["orders"],
        targets="ids",
    )
    with case() as s:
        s.record(result())
        assert codes(tool.call()) == ["TARGET_NOT_IN_EVIDENCE"]


async def test_the_text_of_an_error_reaches_no_model() -> None:
    @read_tool("orders")
    def list_orders() -> Any:
        raise ValueError(SECRET)

    @write_tool(independent="a test")
    def send() -> Any:
        raise OSError(SECRET)

    with case() as s:
        for output in [*(await every_way(list_orders, {})), *(await every_way(send, {}))]:
            assert SECRET not in repr(output)
            assert output.is_error
    assert {r.status for r in s.reads} == {"unavailable"}


class Answer:
    """What an MCP client returns."""

    def __init__(self, *, is_error: bool, structured: Any = None) -> None:
        self.is_error = is_error
        self.structured_content = structured
        self.content = SECRET


async def test_a_result_that_calls_itself_an_error_is_no_success() -> None:
    def failing() -> Any:
        return Answer(is_error=True, structured={"items": []})

    read = as_read_tool(FunctionTool.from_defaults(failing, name="failing"), "orders", exhaustive=True)
    write = as_write_tool(FunctionTool.from_defaults(failing, name="writing"), independent="a test")
    with case() as s:
        for output in [*(await every_way(read, {})), *(await every_way(write, {}))]:
            assert output.is_error
            assert SECRET not in str(output)
    assert {r.status for r in s.reads} == {"unavailable"}


async def test_the_structured_part_of_a_result_is_what_was_read() -> None:
    def listing() -> Any:
        return Answer(is_error=False, structured=[{"id": "o-1"}])

    read = as_read_tool(FunctionTool.from_defaults(listing, name="listing"), "orders")
    assert json.loads((await read.acall()).content)["items"] == [{"id": "o-1"}]
    assert json.loads((await read.acall()).content)["status"] == "unknown"


async def test_a_judge_gets_the_value_and_the_call_and_may_fail() -> None:
    seen = []

    def judge(value: Any, call: Any) -> Any:
        seen.append((value, call.tool, dict(call.args), call.session))
        if value == "bad":
            raise KeyError(SECRET)
        return result(items=[{"id": "o-3"}], resource="something else")

    @read_tool("orders", judge=judge)
    async def list_orders(what: str) -> Any:
        return what

    with case() as s:
        good, bad = await list_orders.acall(what="good"), await list_orders.acall(what="bad")
    assert seen[0] == ("good", "list_orders", {"what": "good"}, s)
    assert json.loads(good.content)["scope"]["resource"] == "orders"
    assert bad.is_error
    assert [r.resource for r in s.reads] == ["orders", "orders"]


async def test_a_cancelled_read_is_recorded_as_unavailable() -> None:
    started = asyncio.Event()

    @read_tool("orders")
    async def list_orders() -> Any:
        started.set()
        await asyncio.sleep(60)

    with case() as s:
        task = asyncio.create_task(list_orders.acall())
        await started.wait()
        assert s.reads[0].is_pending
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [r.status for r in s.reads] == ["unavailable"]
    assert [r.is_pending for r in s.reads] == [False]


@pytest.mark.parametrize("takes", [True, False])
async def test_a_deadline_is_offered_capped_and_kept(takes: bool) -> None:
    seen = []

    async def slow_taking(deadline_s: float | None = None) -> Any:
        seen.append(deadline_s)
        return result()

    async def slow() -> Any:
        await asyncio.sleep(60)

    tool = read_tool("orders", deadline=True)(slow_taking if takes else slow)
    assert "deadline_s" in tool.metadata.get_parameters_dict()["properties"]
    assert tool.call(deadline_s=-1).is_error
    output = await tool.acall(deadline_s=10**9 if takes else 0.01)
    if takes:
        assert seen == [300.0]
        assert not output.is_error
    else:
        assert output.is_error
        assert "SOURCE_UNAVAILABLE" in output.content


def test_a_sync_body_is_abandoned_at_its_deadline() -> None:
    import threading

    stop = threading.Event()

    @read_tool("orders", deadline=True)
    def list_orders() -> Any:
        stop.wait(60)

    with case() as s:
        assert list_orders.call(deadline_s=0.01).is_error
    stop.set()
    assert [r.status for r in s.reads] == ["unavailable"]


def test_fields_are_all_that_a_model_sees() -> None:
    @read_tool("orders", fields=["id"], exhaustive=True)
    def list_orders() -> Any:
        return [{"id": "o-1", "secret": SECRET}]

    output = list_orders.call()
    assert SECRET not in output.content
    assert json.loads(output.content)["items"] == [{"id": "o-1"}]


async def test_a_lookup_is_complete_for_its_key() -> None:
    @read_tool("orders", intent="lookup", key="id")
    async def get_order(id: str) -> Any:
        return {"id": id, "state": "open"}

    with case() as s:
        assert json.loads((await get_order.acall(id="o-1")).content)["status"] == "complete"
    assert s.reads[0].intent == "lookup"


class Engine(BaseTool):
    """A tool that is no `FunctionTool` and not async, with something of its own."""

    def __init__(self, answer: Any) -> None:
        self.engine = "mine"
        self.answer = answer
        self.calls = 0
        self._metadata = ToolMetadata(name="engine", description="an engine")

    @property
    def metadata(self) -> ToolMetadata:
        return self._metadata

    def __call__(self, input: Any) -> ToolOutput:
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return ToolOutput("engine", "text", None, {"input": input}, self.answer)


async def test_any_other_tool_keeps_what_it_is_and_has() -> None:
    plain = Engine([{"id": "o-1"}])
    tool = as_read_tool(plain, "orders", exhaustive=True)
    assert isinstance(tool, Engine)
    assert tool.engine == "mine"
    assert type(plain) is Engine
    with case() as s:
        for output in (tool("x"), tool.call(input="x"), await tool.acall("x"), call_tool(tool, {"input": "x"})):  # type: ignore[attr-defined]
            assert json.loads(output.content)["items"] == [{"id": "o-1"}]
    assert [dict(r.filters) for r in s.reads] == [{"input": "x"}] * 4


async def test_a_failing_tool_is_called_once() -> None:
    plain = Engine(ValueError(SECRET))
    tool = as_write_tool(plain, independent="a test")
    for output in (call_tool(tool, {"input": "x"}), await acall_tool(tool, {"input": "x"})):
        assert output.is_error
        assert SECRET not in output.content
    assert plain.calls == 2


async def test_callbacks_and_metadata_survive() -> None:
    plain = FunctionTool.from_defaults(
        lambda x: [x], name="t", description="d", return_direct=True, callback=lambda raw: f"said {raw}"
    )
    tool = as_write_tool(plain, independent="a test")
    assert tool.metadata is plain.metadata
    assert tool.metadata.return_direct
    assert tool.call(x=1).content == (await tool.acall(x=1)).content == "said [1]"  # type: ignore[attr-defined]
    assert tool.call(x=1).raw_output == [1]  # type: ignore[attr-defined]


def test_blocks_of_a_result_stay_blocks() -> None:
    tool = neutral_tool(lambda: [TextBlock(text="a"), TextBlock(text="b")], name="blocks")
    assert [b.text for b in tool.call().blocks] == ["a", "b"]


def test_protect_wants_each_name_once() -> None:
    shop = Shop()
    with pytest.raises(InvalidInput, match="no tool has this name"):
        protect([shop.archive], writes={"other": ["orders"]})
    with pytest.raises(InvalidInput, match="more than one tool"):
        protect([shop.archive, shop.archive], writes={"archive": ["orders"]})
    with pytest.raises(InvalidInput, match="more than once"):
        protect([shop.archive], writes={"archive": ["orders"]}, neutral=["archive"])
    with pytest.raises(InvalidInput, match="protected already"):
        as_write_tool(protect([shop.archive], neutral=["archive"])[0])


def test_protect_keeps_what_a_decorator_declared() -> None:
    @read_tool("orders")
    def list_orders() -> Any:
        return result()

    tools = protect([list_orders, Shop().archive], writes={"archive": ["orders"]})
    assert tools[0] is list_orders


def test_a_write_that_could_never_be_allowed_is_named() -> None:
    def list_kb() -> list[Any]:
        return []

    with pytest.warns(CoverageWarning, match="archive can never be allowed"):
        protect([list_kb, Shop().archive], reads={"list_kb": "kb"}, writes={"archive": ["kb"]})


async def test_an_undeclared_tool_fails_closed_both_ways() -> None:
    ran = []

    def odd() -> str:
        ran.append(1)
        return "text"

    read, write, strange = protect(
        [Shop("partial").list_orders, Shop().archive, odd], reads={"list_orders": "orders"}, writes={"archive": {}}
    )
    assert codes(strange.call()) == ["GUARD_FAILED"]
    with case() as s:
        assert strange.call().content == "text"
        assert [(r.resource, r.status) for r in s.reads] == [("tool:odd", "unknown")]
        assert codes(write.call(ids=["o-1"])) == ["EVIDENCE_INCOMPLETE"]
        await read.acall()
        assert codes(await strange.acall()) == ["EVIDENCE_INCOMPLETE"]
    assert ran == [1]


def test_a_recheck_without_targets_is_refused_when_it_is_declared() -> None:
    with pytest.raises(InvalidInput, match="recheck"):
        write_tool(recheck=lambda _: True)
    with pytest.raises(InvalidInput, match="recheck"):
        as_write_tool(Engine(None), recheck=lambda _: True)


def test_a_keyword_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidInput, match="exhaustve"):
        as_read_tool(Engine(None), "orders", exhaustve=True)
    with pytest.raises(TypeError, match="exhaustve"):
        read_tool("orders", exhaustve=True)(lambda: None)


async def test_the_reads_inside_a_neutral_wrapper_count() -> None:
    shop = Shop("partial")
    read, write = shop.tools()

    @neutral_tool
    def summary() -> str:
        read.call()
        return "fine"

    with case():
        assert summary.call().content == "fine"
        assert codes(write.call(ids=["o-1"])) == ["EVIDENCE_INCOMPLETE"]


class Shouting(FunctionTool):
    """A `FunctionTool` with a way of its own to call."""

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        output = super().call(*args, **kwargs)
        return ToolOutput(output.tool_name, f"{output.content}!", None, output.raw_input, output.raw_output)


async def test_a_kind_of_function_tool_keeps_its_own_way_to_call() -> None:
    ran = []

    def archive(tenant: str, ids: list[str]) -> str:
        ran.append((tenant, ids))
        return "ok"

    plain = Shouting.from_defaults(archive, partial_params={"tenant": "acme"})
    tool = as_write_tool(plain, relies_on=["orders"], targets="ids")
    assert isinstance(tool, Shouting)
    with case() as s:
        s.record(result("complete"))
        assert tool.call(ids=["o-1"]).content == "ok!"
        assert (await tool.acall(ids=["o-1"])).content == "ok"
        assert codes(tool.call(ids=["o-9"])) == ["TARGET_NOT_IN_EVIDENCE"]
        assert json.loads(FunctionTool.call(tool, ids=["o-9"]).content)["error"] == "invalid_request"
    assert ran == [("acme", ["o-1"])] * 2


class Shelf(BaseRetriever):
    """A retriever over a fixed list."""

    def __init__(self, nodes: list[NodeWithScore]) -> None:
        self.nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.nodes


@pytest.mark.parametrize("texts", [[], ["a", "b"]])
async def test_what_a_retriever_gives_is_never_the_whole_by_itself(texts: list[str]) -> None:
    shelf = Shelf([NodeWithScore(node=TextNode(text=t, id_=t), score=0.5) for t in texts])
    plain = RetrieverTool.from_defaults(shelf, name="search_kb", description="d")
    assert plain.call(input="x").is_error is False
    tool = as_read_tool(plain, "kb")
    assert isinstance(tool, RetrieverTool)
    assert tool.retriever is shelf
    for output in (tool.call(input="x"), await tool.acall(input="x")):
        document = json.loads(output.content)
        assert document["status"] == "unknown"
        assert [i["node"]["text"] for i in document["items"]] == texts


def test_a_copy_of_a_protected_tool_is_protected() -> None:
    shop = Shop()
    _, write = shop.tools()
    copies = [copy.copy(write), copy.deepcopy(write)]
    assert protect(copies[:1]) == copies[:1]
    for other in (*copies, FunctionTool.from_defaults(write.fn, name="again")):
        assert codes(other.call(ids=["o-1"])) == ["GUARD_FAILED"]
    write.__class__ = FunctionTool
    assert codes(write.call(ids=["o-1"])) == ["GUARD_FAILED"]
    assert shop.written == []


@pytest.mark.parametrize("declared", ["ids", "orderIds"])
async def test_targets_are_judged_under_the_name_that_the_model_sends(declared: str) -> None:
    class Args(BaseModel):
        ids: list[str] = Field(alias="orderIds")

    written: list[Any] = []

    def archive(**given: Any) -> str:
        """Archives orders."""
        written.append(given)
        return "archived"

    tool = FunctionTool.from_defaults(archive, fn_schema=Args)
    guarded = as_write_tool(tool, relies_on=["orders"], targets=declared)
    with case():
        Shop().tools()[0].call()
        assert codes(guarded.call(orderIds=["o-9"])) == ["TARGET_NOT_IN_EVIDENCE"]
        assert codes(await guarded.acall(orderIds=["o-9"])) == ["TARGET_NOT_IN_EVIDENCE"]
        assert written == []
        assert guarded.call(orderIds=["o-1"]).content == "archived"


@pytest.mark.parametrize(
    ("field", "declared"),
    [
        ("targets", {"targets": "idz"}),
        ("relies_on", {"relies_on": [{"resource": "orders", "filters": {"tenant": FromArgument("tenent")}}]}),
    ],
)
def test_a_declaration_that_names_no_argument_of_the_tool_is_refused(field: str, declared: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^archive\.{field}: "):
        protect([Shop().archive], writes={"archive": declared})


def test_records_are_known_by_the_field_that_the_declaration_names() -> None:
    def list_orders() -> Any:
        """Lists orders."""
        return result(items=[{"number": "o-7"}])

    read = protect([list_orders], reads={"list_orders": {"resource": "orders", "id": "number"}})[0]
    _, write = Shop().tools()
    with case():
        read.call()
        assert write.call(ids=["o-7"]).content == "archived"


def test_what_the_author_sets_stands_in_the_ledger_and_in_no_message() -> None:
    def list_orders(owner: str, tenant: str) -> Any:
        """Lists orders."""
        return result(owner=owner, tenant=tenant)

    tool = FunctionTool.from_defaults(list_orders, partial_params={"tenant": "sk-sentinel"})
    read = as_read_tool(tool, "orders")
    with case() as s:
        told = read.call(owner="ops").content
        assert json.loads(told)["scope"]["filters"] == {"owner": "ops", "tenant": "<hidden>"}
        assert dict(s.reads[0].filters)["tenant"] == "sk-sentinel"


def test_the_key_of_a_lookup_may_be_set_by_the_author_and_is_not_shown() -> None:
    def get_order(number: str, part: str) -> Any:  # noqa: ARG001
        """Looks up an order."""
        return {"total": 7}

    tool = FunctionTool.from_defaults(get_order, partial_params={"number": "sk-sentinel"})
    judge = lambda value, call: call.result([value])  # noqa: E731
    lookup = as_read_tool(tool, "orders", intent="lookup", key="number", judge=judge)
    with case() as s:
        told = json.loads(lookup.call(part="all").content)
        assert [dict(r.filters) for r in s.reads] == [{"number": "sk-sentinel", "part": "all"}]
    assert told["status"] == "complete"
    assert told["scope"]["filters"] == {"number": "<hidden>", "part": "all"}


def test_a_key_that_the_tool_takes_by_itself_is_what_a_lookup_speaks_of() -> None:
    def get_order(number: str = "latest", part: str | None = None) -> Any:  # noqa: ARG001
        """Looks up an order."""
        return {"total": 7}

    judge = lambda value, call: call.result([value])  # noqa: E731
    tool = FunctionTool.from_defaults(get_order)
    lookup = as_read_tool(tool, "orders", intent="lookup", key="number", judge=judge)
    with case() as s:
        assert json.loads(lookup.call(part="all").content)["status"] == "complete"
        assert [dict(r.filters) for r in s.reads] == [{"number": "latest", "part": "all"}]


def test_the_size_that_a_tool_takes_by_itself_is_a_cap_too() -> None:
    def list_orders(owner: str | None = None, limit: int = 2) -> Any:
        """Lists orders."""
        return [{"id": n} for n in range(limit)][: 1 if owner else None]

    reads = protect([list_orders], reads={"list_orders": {"resource": "orders", "exhaustive": True}})[0]
    with case():
        assert json.loads(reads.call().content)["complete"] is False
        assert json.loads(reads.call(owner="ops").content)["complete"] is True
