# ruff: noqa: ARG001
"""What a call is judged by: the arguments that its declaration names, under any name and in any form."""

from __future__ import annotations

import enum
import json
from datetime import date, datetime, time
from typing import Annotated, Any
from uuid import UUID

import pytest
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain.tools import InjectedState
from langchain_core.tools import InjectedToolArg, StructuredTool
from langchain_kit import SECRET, call, codes, document, result, results
from pydantic import BaseModel, ConfigDict, Field
from unabridged import load_profile
from unabridged.evidence import session
from unabridged_langchain import (
    CoverageMiddleware,
    FromArgument,
    as_write_tool,
    continue_read_tool,
    protect,
    read_tool,
)

ROWS = [{"id": 1}, {"id": 2}]


def read_of(rows: list[Any], *reasons: str, **declared: Any) -> Any:
    """Returns a read tool that finds these rows."""

    def list_orders() -> Any:
        """Lists orders."""
        return result(rows, *reasons)

    return read_tool("orders", **declared)(list_orders)


class ByAlias(BaseModel):
    """A schema whose model sends another name than the code gets."""

    model_config = ConfigDict(populate_by_name=True)

    ids: list[int] = Field(alias="orderIds")


@pytest.mark.parametrize("declared", ["ids", "orderIds"])
@pytest.mark.parametrize("sent", ["ids", "orderIds"])
def test_targets_are_judged_under_every_name_of_their_argument(declared: str, sent: str) -> None:
    written: list[Any] = []

    def archive(ids: list[int]) -> str:
        """Archives orders."""
        written.append(ids)
        return "archived"

    tool = StructuredTool.from_function(archive, args_schema=ByAlias)
    guarded = as_write_tool(tool, relies_on=["orders"], targets=declared)
    with session(f"alias-{declared}-{sent}"):
        read_of(ROWS).invoke({})
        assert codes(guarded.invoke(call("archive", **{sent: [99]}))) == ["TARGET_NOT_IN_EVIDENCE"]
        assert codes(guarded.invoke({sent: [99]})) == ["TARGET_NOT_IN_EVIDENCE"]
        assert written == []
        assert guarded.invoke({sent: [1]}) == "archived"


class OwnersByAlias(BaseModel):
    """A schema that takes a filter under two names."""

    model_config = ConfigDict(populate_by_name=True)

    owners: list[str] | None = Field(None, alias="ownerNames")


@pytest.mark.parametrize("sent", [{"ownerNames": ["ops"], "owners": None}, {"owners": ["ops"], "ownerNames": ["it"]}])
def test_a_filter_that_is_sent_under_two_names_is_refused_since_one_of_them_counts(sent: dict[str, Any]) -> None:
    asked: list[Any] = []

    def list_orders(owners: list[str] | None = None) -> Any:
        """Lists orders."""
        asked.append(owners)
        return ROWS

    tool = StructuredTool.from_function(list_orders, args_schema=OwnersByAlias)
    reads = protect([tool], reads={"list_orders": {"resource": "orders", "exhaustive": True}})[0]
    with session(f"twice-{len(sent['ownerNames'])}-{sent['owners']}") as s:
        told = document(reads.invoke(call("list_orders", **sent)))
        assert told["problems"] == [{"field": "owners", "rule": "is sent under more than one of its names"}]
        assert not s.reads
    assert asked == []


class PagesByAlias(BaseModel):
    """A schema whose model sends other names for a page and its size."""

    limit: int = Field(9, alias="maxRows")
    page: int = Field(1, alias="pageNo")
    many: int = Field(9, alias="k")


@pytest.mark.parametrize("says", [{"exhaustive": True}, {"judge": lambda rows, call: call.result(rows)}])
@pytest.mark.parametrize("sent", [{"pageNo": 2}, {"maxRows": 0}, {"k": 0}])
def test_a_part_that_is_asked_for_under_another_name_is_not_the_whole(sent: dict[str, Any], says: Any) -> None:
    def list_orders(limit: int = 9, page: int = 1, many: int = 9) -> Any:
        """Lists orders."""
        return []

    tool = StructuredTool.from_function(list_orders, args_schema=PagesByAlias)
    reads = protect([tool], reads={"list_orders": {"resource": "orders", **says}})[0]
    with session(f"paged-{sent}-{list(says)}"):
        assert document(reads.invoke(call("list_orders", **sent)))["status"] == "unknown"
        assert document(reads.invoke(call("list_orders")))["status"] == "complete"


PAGED = {
    "name": "orders", "version": 1, "items": "items", "id": "id", "size": {"send": {"query": "limit"}, "max": 100},
    "walk": {"by": "offset", "send": {"query": "page"}, "unit": "page", "origin": 0, "ends_on": ["short_page"]},
}  # fmt: skip


@pytest.mark.parametrize("schema", ["its own", "none"])
@pytest.mark.parametrize("says", ["exhaustive", "profile"])
def test_the_size_that_a_tool_takes_by_itself_is_a_cap_too(says: str, schema: str) -> None:
    """A page of twenty is no short page, although the model did not say twenty."""

    def list_orders(owner: str | None = None, limit: int = 2) -> Any:
        """Lists orders."""
        rows = [{"id": n} for n in range(limit)][: 1 if owner else None]
        return {"items": rows} if says == "profile" else rows

    free = {"type": "object", "properties": {"owner": {"type": "string"}, "limit": {"type": "integer"}}}
    tool = StructuredTool.from_function(list_orders, args_schema=free if schema == "none" else None)
    declared = {"exhaustive": True} if says == "exhaustive" else {"judge": load_profile(PAGED)}
    reads = protect([tool], reads={"list_orders": {"resource": "orders", **declared}})[0]
    with session(f"capped-{says}-{schema}") as s:
        assert document(reads.invoke({}))["complete"] is False
        assert document(reads.invoke({"owner": "ops"}))["complete"] is True
        assert [dict(r.filters) for r in s.reads] == [{}, {"owner": "ops"}]


LISTED = {"type": "object", "properties": {"owner": {"type": "string"}, "limit": {"type": "integer", "default": 2}}}
CLOSED = {
    "type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}, "default": [1, 9]}},
}  # fmt: skip


def test_the_size_in_the_schema_of_a_service_is_a_cap_too() -> None:
    """LangChain sends no default of a JSON schema, as the tools of an MCP server bring one: the server takes it."""

    def list_orders(**sent: Any) -> Any:
        """Lists orders."""
        return [{"id": n} for n in range(1 if "owner" in sent else sent.get("limit", 2))]

    tool = StructuredTool.from_function(list_orders, args_schema=LISTED)
    reads = protect([tool], reads={"list_orders": {"resource": "orders", "exhaustive": True}})[0]
    with session("capped-there") as s:
        assert document(reads.invoke({}))["complete"] is False
        assert document(reads.invoke({"owner": "ops"}))["complete"] is True
        assert document(reads.invoke({"owner": "ops", "limit": 1}))["complete"] is False
        assert [dict(r.filters) for r in s.reads][1:] == [{"owner": "ops"}, {"owner": "ops"}]


def test_the_ids_in_the_schema_of_a_service_are_judged() -> None:
    done: list[Any] = []

    def close_orders(**sent: Any) -> str:
        """Closes orders."""
        done.append(sent)
        return "closed"

    def list_orders() -> Any:
        """Lists orders."""
        return [{"id": n} for n in range(5)]

    tool = StructuredTool.from_function(close_orders, args_schema=CLOSED)
    reads, closes = protect(
        [list_orders, tool],
        reads={"list_orders": {"resource": "orders", "exhaustive": True}},
        writes={"close_orders": {"relies_on": ["orders"], "targets": "ids"}},
    )
    with session("ids-there"):
        reads.invoke({})
        assert document(closes.invoke({}))["codes"] == ["TARGET_NOT_IN_EVIDENCE"]
        assert closes.invoke({"ids": [1]}) == "closed"
    assert done == [{"ids": [1]}]


def test_the_key_of_a_lookup_may_be_given_by_the_framework_and_is_not_shown() -> None:
    def get_order(number: Annotated[str, InjectedToolArg], part: str = "all") -> Any:
        """Looks up an order."""
        return {"total": 7}

    declared = {"resource": "orders", "intent": "lookup", "key": "number"}
    judge = lambda value, call: call.result([value])  # noqa: E731
    lookup = protect([get_order], reads={"get_order": {**declared, "judge": judge}})[0]
    with session("given-key") as s:
        told = document(lookup.invoke({"number": SECRET, "part": "all"}))
        assert [dict(r.filters) for r in s.reads] == [{"part": "all", "number": SECRET}]
    assert told["status"] == "complete"
    assert told["scope"]["filters"] == {"part": "all", "number": "<hidden>"}


def test_a_key_that_the_tool_takes_by_itself_is_what_a_lookup_speaks_of() -> None:
    def get_order(number: str = "latest", part: str | None = None) -> Any:
        """Looks up an order."""
        return {"total": 7}

    declared = {"resource": "orders", "intent": "lookup", "key": "number"}
    judge = lambda value, call: call.result([value])  # noqa: E731
    lookup = protect([get_order], reads={"get_order": {**declared, "judge": judge}})[0]
    with session("default-key") as s:
        assert document(lookup.invoke({"part": "all"}))["status"] == "complete"
        assert document(lookup.func(part="some"))["status"] == "complete"
        asked = [{"part": part, "number": "latest"} for part in ("all", "some")]
        assert [dict(r.filters) for r in s.reads] == asked


async def test_the_middleware_judges_targets_under_another_name_too() -> None:
    written: list[Any] = []

    def archive(ids: list[int]) -> str:
        """Archives orders."""
        written.append(ids)
        return "archived"

    tool = StructuredTool.from_function(archive, args_schema=ByAlias)
    declared = {"relies_on": ["orders"], "targets": "ids", "allow_returned_targets": True}
    tools = [read_of(ROWS, "MORE_PAGES_AVAILABLE"), *protect([tool], writes={"archive": declared})]
    model = scripted(
        calls(("list_orders", {})), calls(("archive", {"orderIds": [1]})), calls(("archive", {"orderIds": [9]}))
    )
    agent = create_agent(model, tools, middleware=[CoverageMiddleware()])
    told = results((await agent.ainvoke({"messages": [("user", "Go.")]}))["messages"])
    assert [m.content for m in told if m.content == "archived"] == ["archived"]
    assert "TARGET_NOT_IN_EVIDENCE" in codes(told[-1])
    assert written == [[1]]


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(("kind", "named"), [(UUID, str(UUID(int=5))), (Colour, "red")], ids=["uuid", "choice"])
def test_targets_that_the_tool_reads_as_objects_are_found_among_the_records(kind: Any, named: str) -> None:
    def archive(ids: list[Any]) -> str:
        """Archives orders."""
        return type(ids[0]).__name__

    archive.__annotations__["ids"] = list[kind]
    guarded = as_write_tool(archive, relies_on=["orders"], targets="ids")
    with session(f"objects-{named}"):
        read_of([{"id": named}]).invoke({})
        assert guarded.invoke({"ids": [named]}) == kind.__name__


def test_a_scope_that_the_tool_reads_as_an_object_is_that_of_the_read() -> None:
    def list_orders(tenant: UUID) -> Any:
        """Lists orders."""
        return [{"id": 1}]

    def archive(tenant: UUID) -> str:
        """Archives orders."""
        return "archived"

    reliance = {"resource": "orders", "filters": {"tenant": FromArgument("tenant")}}
    reads = {"list_orders": {"resource": "orders", "exhaustive": True}}
    read, write = protect([list_orders, archive], reads=reads, writes={"archive": {"relies_on": [reliance]}})
    one, two = str(UUID(int=1)), str(UUID(int=2))
    with session("scope-as-object"):
        read.invoke({"tenant": one})
        assert write.invoke({"tenant": one}) == "archived"
        assert codes(write.invoke({"tenant": two})) == ["EVIDENCE_MISSING"]


@pytest.mark.parametrize("injected", [InjectedState("ids"), InjectedToolArg()], ids=["state", "argument"])
def test_targets_that_the_framework_gives_are_judged_too(injected: Any) -> None:
    written: list[Any] = []

    def archive(note: str, ids: list[int]) -> str:
        """Archives orders."""
        written.append(ids)
        return "archived"

    archive.__annotations__["ids"] = Annotated[list[int], injected]
    guarded = as_write_tool(archive, relies_on=["orders"], targets="ids")
    with session(f"injected-{type(injected).__name__}"):
        read_of(ROWS).invoke({})
        assert codes(guarded.invoke({"note": "x", "ids": [99]})) == ["TARGET_NOT_IN_EVIDENCE"]
        assert written == []
        assert guarded.invoke({"note": "x", "ids": [2]}) == "archived"


def test_a_filter_has_one_name_whatever_name_it_is_sent_under() -> None:
    class Args(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        owner: str = Field(alias="ownerName")

    def list_orders(owner: str) -> Any:
        """Lists orders."""
        return []

    tool = StructuredTool.from_function(list_orders, args_schema=Args)
    (read,) = protect([tool], reads={"list_orders": {"resource": "orders", "exhaustive": True}})
    with session("one-name") as s:
        read.invoke({"ownerName": "ops"})
        read.invoke({"owner": "ops"})
        assert [dict(r.filters) for r in s.reads] == [{"owner": "ops"}, {"owner": "ops"}]


def test_records_are_known_by_the_field_that_the_declaration_names_also_in_results() -> None:
    def archive(ids: list[int]) -> str:
        """Archives orders."""
        return "archived"

    guarded = as_write_tool(archive, relies_on=["orders"], targets="ids")
    for n, made in enumerate(
        (
            read_of([{"number": 7}], id="number"),
            read_of([{"number": 7}], id="number", judge=lambda value, _call: value),
        )
    ):
        with session(f"by-number-{n}"):
            made.invoke({})
            assert guarded.invoke({"ids": [7]}) == "archived"
            assert codes(guarded.invoke({"ids": [8]})) == ["TARGET_NOT_IN_EVIDENCE"]


def test_the_guarded_function_of_a_tool_leads_nowhere_else() -> None:
    def archive(ids: list[int]) -> str:
        """Archives orders."""
        raise AssertionError

    guarded: Any = as_write_tool(archive, relies_on=["orders"], targets="ids")
    assert not hasattr(guarded.func, "__wrapped__")
    with session("nowhere"):
        assert codes(StructuredTool.from_function(guarded.func).invoke({"ids": [1]})) == ["EVIDENCE_MISSING"]


@pytest.mark.parametrize("tenant", [SECRET, 8_811_773])
def test_what_the_framework_gives_stands_in_the_ledger_and_in_no_message(tenant: Any) -> None:
    def list_orders(owner: str, tenant: str | int) -> Any:
        """Lists orders."""
        return result([{"id": n} for n in range(2_000)], owner=owner, tenant=tenant, state="open")

    list_orders.__annotations__["tenant"] = Annotated[str | int, InjectedToolArg()]
    read = read_tool("orders")(list_orders)
    with session(f"given-{tenant}") as s:
        told = read.invoke({"owner": "ops", "tenant": tenant})
        shown = json.loads(told)["scope"]["filters"]
        assert shown == {"owner": "ops", "tenant": "<hidden>", "state": "open"}
        rest: Any = continue_read_tool
        more = rest.invoke({"handle": json.loads(told)["continuation"]["handle"]})
        assert str(tenant) not in told + more
        assert dict(s.reads[0].filters)["tenant"] == tenant
        assert str(tenant) not in read.invoke(call("list_orders", owner="ops", tenant=tenant)).content


class Shade(enum.StrEnum):
    DARK = "dark"


class Rank(enum.IntEnum):
    FIRST = 1


def tools_by(kind: Any, written: list[Any], **filters: Any) -> list[Any]:
    """Returns a read with one argument of a kind, and a write that relies on reads with these filters."""

    def list_orders(by: Any) -> list[Any]:
        """Lists orders."""
        return ROWS

    def archive(ids: list[int], by: Any = None) -> str:
        """Archives orders."""
        written.append(ids)
        return "archived"

    list_orders.__annotations__["by"] = archive.__annotations__["by"] = kind
    return protect(
        [StructuredTool.from_function(list_orders), StructuredTool.from_function(archive)],
        reads={"list_orders": {"resource": "orders", "exhaustive": True}},
        writes={"archive": [{"resource": "orders", "filters": filters}]},
    )


@pytest.mark.parametrize(
    ("kind", "sent", "again"),
    [
        (Shade, "dark", "dark"),
        (Rank, 1, 1),
        (list[Shade], ["dark"], ["dark"]),
        (datetime, "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00Z"),
        (time, "08:00", "08:00:00"),
        (UUID, "0AF9C1DE-0000-4000-8000-000000000001", "0af9c1de-0000-4000-8000-000000000001"),
        (set[str], ["f", "e", "d", "c", "b", "a"], ["a", "b", "c", "d", "e", "f"]),
        (list[int], ["1", 2], [1, "2"]),
        (dict[str, int], {"a": "1"}, {"a": 1}),
    ],
)
def test_a_filter_is_one_in_whatever_form_it_was_sent(kind: Any, sent: Any, again: Any) -> None:
    written: list[Any] = []
    list_orders, archive, *_ = tools_by(kind, written, by=FromArgument("by"))
    with session("one form"):
        list_orders.invoke(call("list_orders", by=sent))
        archive.invoke(call("archive", ids=[1], by=again))
    assert written == [[1]]


@pytest.mark.parametrize(
    ("kind", "sent", "other"),
    [
        (Shade, "dark", "light"),
        (datetime, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00+01:00"),
        (set[str], ["a"], ["b"]),
    ],
)
def test_two_filters_are_not_one_because_they_are_of_a_kind(kind: Any, sent: Any, other: Any) -> None:
    written: list[Any] = []
    list_orders, archive, *_ = tools_by(str if kind is Shade else kind, written, by=FromArgument("by"))
    with session("two forms"):
        list_orders.invoke(call("list_orders", by=sent))
        archive.invoke(call("archive", ids=[1], by=other))
    assert written == []


@pytest.mark.parametrize(
    ("kind", "filters", "sent"),
    [
        (Shade, {"by": Shade.DARK}, "dark"),
        (Shade, {"by": "dark"}, "dark"),
        (Rank, {"by": 1}, 1),
        (date, {"by": date(2026, 1, 1)}, "2026-01-01"),
        (set[str], {"by": {"a", "b"}}, ["b", "a"]),
    ],
)
def test_a_filter_that_the_author_wrote_is_the_one_that_a_model_sends(
    kind: Any, filters: dict[str, Any], sent: Any
) -> None:
    written: list[Any] = []
    list_orders, archive, *_ = tools_by(kind, written, **filters)
    with session("by the author"):
        list_orders.invoke(call("list_orders", by=sent))
        archive.invoke(call("archive", ids=[1], by=sent))
    assert written == [[1]]


@pytest.mark.parametrize(("kind", "sent"), [(Shade, "dark"), (Rank, 1)])
def test_a_choice_that_is_a_text_or_a_number_is_the_id_that_it_stands_for(kind: Any, sent: Any) -> None:
    written: list[Any] = []

    def find_shade(shade: Any) -> Any:
        """Finds a shade."""
        return {"id": sent}

    def drop(shades: list[Any]) -> str:
        """Drops shades."""
        written.append(shades)
        return "dropped"

    find_shade.__annotations__["shade"], drop.__annotations__["shades"] = kind, list[kind]
    find, dropping, *_ = protect(
        [StructuredTool.from_function(find_shade), StructuredTool.from_function(drop)],
        reads={"find_shade": {"resource": "shades", "intent": "lookup", "key": "shade"}},
        writes={"drop": {"relies_on": ["shades"], "targets": "shades"}},
    )
    with session("choices"):
        found = document(find.invoke(call("find_shade", shade=sent)))
        dropping.invoke(call("drop", shades=[sent]))
    assert found["complete"]
    assert written == [[kind(sent)]]
