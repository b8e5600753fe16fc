"""What a tool returned, as a result: the judge runs, and nothing is repaired or made up."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from gate.calling import ROWS, SECRET, call, codes, fresh, ran, read, result, told, write
from pydantic import BaseModel
from unabridged.contract import ReadResult
from unabridged.gate import Call, ReadSpec
from unabridged.profiles import load_profile


class Order(BaseModel):
    """An order as a model."""

    id: int
    owner: str | None = None


@dataclasses.dataclass
class Account:
    """An account as a dataclass."""

    id: int


def test_a_bare_value_without_a_judge_says_nothing_about_its_end() -> None:
    document = told(read(ROWS))
    assert (document["status"], document["items"]) == ("unknown", ROWS)


def test_the_authors_own_statement_is_recorded_as_declared() -> None:
    s = fresh()
    assert told(read(ROWS, exhaustive=True, session=s))["complete"] is True
    assert s.reads[0].proof.end == "declared"


@pytest.mark.parametrize("value", [[], (), set(), frozenset(), deque(), range(0), {}.keys(), {}.values()])
def test_an_empty_list_of_any_kind_is_empty_and_not_one_record(value: Any) -> None:
    assert told(read(value, exhaustive=True))["returned"] == 0


@pytest.mark.parametrize(
    "value", [{"id": 1}, Order(id=1), Account(id=1), "text", 7, 1.5, False], ids=lambda v: type(v).__name__
)
def test_one_record_is_one_record(value: Any) -> None:
    assert told(read(value, exhaustive=True))["returned"] == 1


def test_models_and_dataclasses_become_records_with_ids() -> None:
    s = fresh()
    assert told(read([Order(id=1), Account(id=2)], session=s))["items"] == [{"id": 1, "owner": None}, {"id": 2}]
    assert s.reads[0].ids == {1, 2}


def _generated() -> Iterator[Any]:
    yield {"id": 1}


async def _agenerated() -> AsyncIterator[Any]:
    yield {"id": 1}


@pytest.mark.parametrize("make", [_generated, _agenerated, lambda: iter(ROWS), lambda: map(str, [1])])
def test_what_is_made_on_the_way_is_no_list_and_never_complete(make: Any) -> None:
    reply = read(make(), exhaustive=True)
    assert (reply.is_error, told(reply)["status"]) == (True, "unavailable")


def test_nothing_is_unavailable_and_never_an_empty_list() -> None:
    document = told(read(None, exhaustive=True))
    assert document["status"] == "unavailable"
    assert "items" not in document


def test_an_object_that_no_one_can_count_is_unknown_whatever_was_declared() -> None:
    assert told(read(object(), exhaustive=True))["status"] == "unknown"


def test_a_lookup_that_returns_its_record_is_complete_for_its_key() -> None:
    s = fresh()
    spec = {"intent": "lookup", "key": "number", "filters": {"number": "id"}}
    assert told(read({"id": 7}, {"number": 7}, session=s, **spec))["complete"] is True
    assert s.reads[0].proof.end == "key"


@pytest.mark.parametrize(
    ("value", "args"),
    [
        ({"id": 8}, {"id": 7}),
        ({"id": "7"}, {"id": 7}),
        ([{"id": 7}, {"id": 7}], {"id": 7}),
        ([], {"id": 7}),
        (None, {"id": 7}),
        ("7", {"id": 7}),
        ({"id": 7}, {}),
        ({"id": None}, {"id": None}),
    ],
)
def test_a_lookup_that_brings_anything_else_is_not_complete(value: Any, args: dict[str, Any]) -> None:
    assert told(read(value, args, intent="lookup", key="id"))["status"] == "unknown"


def test_a_lookup_of_nothing_clears_no_inventory() -> None:
    s = fresh()
    read(result(ROWS, "RATE_LIMITED"), session=s)
    read({"id": None}, {"id": None}, session=s, intent="lookup", key="id")
    assert not write(s, relies_on=["orders"]).passes


@pytest.mark.parametrize("args", [{}, {"id": None}])
@pytest.mark.parametrize("says", [{"judge": lambda value, call: call.result(value)}, {"exhaustive": True}])
def test_a_lookup_whose_key_was_not_sent_proves_nothing_of_everything(args: dict[str, Any], says: Any) -> None:
    s = fresh()
    read(result(ROWS, "RATE_LIMITED"), session=s)
    assert told(read([], args, session=s, intent="lookup", key="id", **says))["status"] == "unknown"
    assert codes(write(s, relies_on=["orders"])) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize(
    ("args", "other"), [({}, {"resource": "everything"}), ({"id": 1}, {"intent": "lookup", "key": "id"})]
)
def test_a_result_that_two_tools_return_stands_under_the_names_of_both(args: Any, other: dict[str, Any]) -> None:
    """Tools that share a cache return one object; what the one has read is not what the other calls it."""
    s, cached = fresh(), result(ROWS, "RATE_LIMITED")
    read(result(ROWS), session=s)
    read(cached, session=s)
    read(cached, args, session=s, **other)
    read(cached, session=s)
    assert len(s.reads) == 3
    assert codes(write(s)) == codes(write(s, relies_on=["orders"])) == ["EVIDENCE_INCOMPLETE"]


def test_a_sample_is_never_complete() -> None:
    for value in (ROWS, result(ROWS)):
        document = told(read(value, exhaustive=True, intent="sample"))
        assert document["status"] == "partial"
        assert [r["code"] for r in document["reasons"]] == ["SAMPLE_REQUESTED"]


def test_a_sample_that_was_read_whole_is_recorded_as_a_sample() -> None:
    s = fresh()
    with s:
        inner = s.record(result(ROWS, resource="rows"))
        whole = s.result(inner.id)
    read(whole, session=s, intent="sample", resource="orders")
    assert [(r.resource, r.status) for r in s.reads] == [("rows", "complete"), ("orders", "partial")]


def test_a_result_keeps_everything_but_its_name() -> None:
    s = fresh()
    read(result(ROWS, "RATE_LIMITED", resource="rows", filters={"a": 1}), {"b": 2}, session=s)
    header = s.reads[0]
    assert (header.resource, header.status, header.filters) == ("orders", "partial", {"a": 1})


def test_a_judge_gets_the_value_and_the_call() -> None:
    seen: list[tuple[Any, Call]] = []

    def judge(value: Any, asked: Call) -> ReadResult:
        seen.append((value, asked))
        return result(value["rows"], "COVERAGE_UNKNOWN")

    s = fresh()
    read({"rows": ROWS}, {"owner": "ops"}, session=s, judge=judge)
    value, asked = seen[0]
    assert value == {"rows": ROWS}
    assert (asked.tool, asked.args, asked.session) == ("tool", {"owner": "ops"}, s)
    assert "ops" not in repr(asked)


def test_a_judge_does_not_run_on_a_result() -> None:
    def judge(_value: Any, _asked: Call) -> ReadResult:
        raise AssertionError

    assert told(read(result(ROWS), judge=judge))["status"] == "complete"


@pytest.mark.parametrize("returned", [None, [], {"status": "complete"}, ROWS, True, "complete"])
def test_a_judge_that_returns_no_result_makes_the_read_unavailable(returned: Any) -> None:
    reply = read(ROWS, judge=lambda _value, _asked: returned)
    assert told(reply)["reasons"] == [
        {"code": "SOURCE_UNAVAILABLE", "message": "The coverage of the answer could not be judged."}
    ]


def test_a_judge_that_raises_makes_the_read_unavailable_and_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def judge(_value: Any, _asked: Call) -> ReadResult:
        raise ValueError(SECRET)

    reply = read(ROWS, judge=judge)
    assert reply.is_error
    assert SECRET not in reply.content + caplog.text
    assert "ValueError" in caplog.text


def test_a_profile_judges_a_value_as_one_page() -> None:
    profile = load_profile(
        {
            "name": "orders_api", "version": 1, "items": "rows", "id": "id",
            "walk": {"by": "token", "read": "next", "send": {"query": "c"}, "ends_on": ["null"], "empty_token": "end",
                     "repeated_token": "anomaly"},
        }
    )  # fmt: skip
    assert told(read({"rows": ROWS, "next": None}, judge=profile))["status"] == "complete"
    more = told(read({"rows": ROWS, "next": "c2"}, judge=profile))
    assert more["status"] == "partial"
    assert "c2" not in str(more)
    assert told(read({"error": SECRET}, judge=profile))["status"] == "unavailable"


def test_the_kind_of_an_error_is_told_and_a_kind_that_is_no_name_is_not(caplog: pytest.LogCaptureFixture) -> None:
    odd = type(f"no order {SECRET}", (Exception,), {})
    call(ReadSpec(resource="orders"), odd(SECRET))
    assert SECRET not in caplog.text
    assert "<name>" in caplog.text


TOKENS = load_profile({
    "name": "orders", "version": 1, "items": "items", "id": "id",
    "walk": {"by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent"], "empty_token": "end",
             "repeated_token": "anomaly"},
})  # fmt: skip
PAGES = load_profile({
    "name": "orders", "version": 1, "items": "items", "id": "id", "size": {"send": {"query": "limit"}, "max": 100},
    "walk": {"by": "offset", "send": {"query": "page"}, "unit": "page", "origin": 0, "ends_on": ["short_page"]},
})  # fmt: skip


def test_the_last_page_that_a_model_paged_to_neither_is_the_whole_nor_clears_the_first() -> None:
    s = fresh()
    read({"items": ROWS, "next": "a"}, judge=TOKENS, session=s)
    document = told(read({"items": [{"id": 9}]}, {"cursor": "a"}, judge=TOKENS, session=s))
    assert document["status"] == "unknown"
    assert not ran(write(s, relies_on=["orders"]))


@pytest.mark.parametrize(
    ("args", "complete"),
    [({}, False), ({"limit": 4}, True), ({"limit": 3}, False), ({"limit": 4, "page": 0}, True),
     ({"limit": 4, "page": 1}, False), ({"limit": True}, False), ({"limit": 4, "cursor": None, "offset": 0}, True)],
)  # fmt: skip
def test_a_page_is_short_by_what_the_call_asked_for(args: dict[str, Any], complete: bool) -> None:
    assert told(read({"items": ROWS}, args, judge=PAGES))["complete"] is complete


@pytest.mark.parametrize(
    ("args", "complete"),
    [({"limit": 3}, False), ({"limit": 9}, True), ({"page": 2}, False), ({"page": 1}, True), ({"offset": 3}, False),
     ({"cursor": "a"}, False), ({"cursor": ""}, True), ({"limit": "3"}, False), ({"limit": 3.0}, False),
     ({"limit": 9, "k": 3}, False), ({"limit": "9", "k": 4.0}, True), ({"limit": None, "k": ""}, True),
     ({"limit": -1}, False), ({"size": "XL"}, False), ({"limit": 3.5}, False), ({"limit": float("inf")}, False),
     ({"limit": [9]}, False), ({"limit": "9" * 5_000}, False)],
)  # fmt: skip
def test_an_author_who_calls_a_tool_exhaustive_does_not_speak_of_a_part(args: dict[str, Any], complete: bool) -> None:
    assert told(read(ROWS, args, exhaustive=True))["complete"] is complete


@pytest.mark.parametrize(
    ("args", "total", "complete"),
    [({"page": 2}, None, False), ({"page": 1}, None, True), ({"cursor": "a"}, None, False), ({}, None, True),
     ({"offset": 3}, 3, False), ({"offset": 0}, 3, True), ({"limit": 0}, None, False), ({"limit": "0"}, 3, False),
     ({"limit": 3}, None, True)],
)  # fmt: skip
def test_a_judge_that_finds_no_way_on_in_a_later_page_has_not_seen_the_whole(
    args: dict[str, Any], total: int | None, complete: bool
) -> None:
    assert len(ROWS) == 3
    document = told(read(ROWS, args, judge=lambda rows, call: call.result(rows, total=total)))
    assert (document["complete"], document["returned"]) == (complete, 3)


def test_a_call_that_asks_for_no_records_proves_no_absence() -> None:
    s = fresh()
    read(result(ROWS, "RATE_LIMITED"), session=s)
    for says in ({"exhaustive": True}, {"judge": lambda rows, call: call.result(rows)}, {"judge": PAGES}):
        value = {"items": []} if says.get("judge") is PAGES else []
        assert told(read(value, {"limit": 0}, session=s, **says))["status"] == "unknown"
    assert not ran(write(s, relies_on=["orders"]))


def test_the_last_page_of_a_judge_does_not_clear_the_first() -> None:
    s = fresh()

    def judge(page: Any, call: Call) -> ReadResult:
        return call.result(page["rows"], *(["MORE_PAGES_AVAILABLE"] if page["next"] else []))

    read({"rows": ROWS, "next": 2}, {"page": 1}, judge=judge, session=s)
    read({"rows": [], "next": None}, {"page": 2}, judge=judge, session=s)
    assert [r.status for r in s.reads] == ["partial", "unknown"]


def test_an_argument_that_is_a_filter_by_declaration_is_no_place() -> None:
    assert told(read(ROWS, {"page": "home"}, exhaustive=True, filters={"page": "page"}))["complete"] is True
