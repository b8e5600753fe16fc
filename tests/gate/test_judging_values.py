"""What an author writes to say how whole a value is, and the names and forms in which arguments are judged."""

from __future__ import annotations

import datetime
import decimal
import enum
import functools
import logging
import uuid
from typing import Any

import pytest
from gate.calling import ROWS, SECRET, fresh, read, result, told, write
from unabridged.contract import InvalidInput, ReadResult
from unabridged.gate import Call, ReadSpec, WriteSpec, targets_of
from unabridged.gate.arguments import by_declared_names
from unabridged.gate.declare import FromArgument, check_arguments


def test_a_judge_says_with_one_line_what_a_value_covers() -> None:
    def judge(page: dict[str, Any], call: Call) -> ReadResult:
        return call.result(page["orders"], *(["MORE_PAGES_AVAILABLE"] if page["next"] else []))

    s = fresh()
    some = told(read({"orders": ROWS, "next": "c2"}, {"owner": "ops"}, judge=judge, session=s))
    whole = told(read({"orders": ROWS, "next": None}, {"owner": "ops"}, judge=judge, session=s))
    assert (some["status"], whole["status"]) == ("partial", "complete")
    assert whole["scope"]["filters"] == {"owner": "ops"}
    assert [r.proof.end for r in s.reads] == [None, "declared"]


@pytest.mark.parametrize(
    ("items", "codes", "total", "status", "found"),
    [
        (ROWS, [], 3, "complete", []),
        (ROWS, [], 5, "partial", ["RESULT_LIMIT_REACHED"]),
        (ROWS, [], 2, "partial", ["CONSISTENCY_LOST"]),
        (ROWS, ["MORE_PAGES_AVAILABLE"], 5, "partial", ["MORE_PAGES_AVAILABLE"]),
        (ROWS, ["COVERAGE_UNKNOWN"], None, "unknown", ["COVERAGE_UNKNOWN"]),
        ([], [], None, "complete", []),
        (None, [], None, "unavailable", ["SOURCE_UNAVAILABLE"]),
        (None, ["RATE_LIMITED"], 9, "unavailable", ["RATE_LIMITED"]),
    ],
)
def test_a_count_of_the_source_is_held_against_the_records(
    items: Any, codes: list[str], total: int | None, status: str, found: list[str]
) -> None:
    s = fresh()
    read(ROWS, judge=lambda _value, call: call.result(items, *codes, total=total), session=s)
    assert (s.reads[0].status, list(s.reads[0].codes)) == (status, found)
    if status == "complete":
        assert s.reads[0].proof.level == ("end_marker" if total is None else "counted")


def test_a_judge_result_is_known_by_the_declared_field() -> None:
    s = fresh()
    read([{"number": 7}], id="number", judge=lambda value, call: call.result(value), session=s)
    assert write(s, {"ids": [7]}, relies_on=["orders"], targets="ids").value == "done"


def test_only_a_judge_makes_a_result_of_a_call() -> None:
    with pytest.raises(InvalidInput, match="judge"):
        Call(tool="tool", args={}).result([])


def test_a_judge_that_returns_no_result_learns_how_to_make_one(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert told(read([SECRET], judge=lambda _value, _call: SECRET))["status"] == "unavailable"
    assert "returned str" in caplog.text
    assert "call.result(items, *codes)" in caplog.text
    assert SECRET not in caplog.text


async def judge_later(value: Any, call: Call) -> ReadResult:
    return call.result(value)


class LaterJudge:
    """A judge that is an object."""

    async def __call__(self, value: Any, call: Call) -> ReadResult:
        return call.result(value)


@pytest.mark.parametrize(
    "judge", [lambda _value: True, lambda: True, judge_later, LaterJudge(), 7], ids=["one", "none", "async", "obj", "7"]
)
def test_a_judge_that_could_judge_nothing_is_refused_where_it_is_declared(judge: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^judge: "):
        ReadSpec(resource="orders", judge=judge)


@pytest.mark.parametrize(
    "judge",
    [lambda *given: given, lambda _value, _call, more=1: more, functools.partial(lambda a, *_: a, 1), max],
    ids=["any", "defaults", "partial", "in-c"],
)
def test_a_judge_of_any_fitting_form_is_taken(judge: Any) -> None:
    assert ReadSpec(resource="orders", judge=judge).may_be_complete()


@pytest.mark.parametrize(
    "name",
    ["max_results", "maxResults", "pageSize", "num_results", "PageSize", "page-size", "maxRows", "rows_per_page"],
)
def test_a_whole_of_so_many_records_is_no_whole(name: str) -> None:
    s = fresh()
    assert told(read(ROWS, {name: 3}, exhaustive=True, session=s))["status"] == "unknown"
    assert dict(s.reads[0].filters) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [("skip", 10), ("page_number", 2), ("nextToken", "c2"), ("startAt", 50), ("pageNo", 2), ("Page", 2),
     ("page_index", 1), ("pageIndex", 2), ("starting_after", "ord_9"), ("nextCursor", "c"), ("continuationToken", "t")],
)  # fmt: skip
def test_a_whole_from_a_later_place_on_is_no_whole(name: str, value: Any) -> None:
    assert told(read(ROWS, {name: value}, exhaustive=True))["status"] == "unknown"


@pytest.mark.parametrize("name", ["start_at", "after", "since", "count", "top", "sizes", "paged"])
def test_what_is_only_named_a_little_like_a_place_or_a_size_is_a_filter(name: str) -> None:
    s = fresh()
    assert told(read(ROWS, {name: "2024-01-01"}, exhaustive=True, session=s))["status"] == "complete"
    assert dict(s.reads[0].filters) == {name: "2024-01-01"}


@pytest.mark.parametrize("value", ["2026-01-01", "2026-01-01T08:00:00Z"])
def test_a_date_is_no_place_in_a_list_in_whatever_spelling_its_argument_is(value: str) -> None:
    s = fresh()
    assert told(read(ROWS, {"startAt": value}, exhaustive=True, session=s))["status"] == "complete"
    assert dict(s.reads[0].filters) == {"startAt": value}
    for place in (50, "50", "20260101", "2026-01-011", "ord_9"):
        assert told(read(ROWS, {"startAt": place}, exhaustive=True))["status"] == "unknown"


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        ([uuid.UUID(int=1)], ["00000000-0000-0000-0000-000000000001"]),
        (Colour.RED, ["red"]),
        ([datetime.date(2024, 1, 1), "x"], ["2024-01-01", "x"]),
        ([decimal.Decimal("1.0")], ["1.0"]),
        ([True], None),
        (["a", None], None),
        ([{"id": 1}], None),
        (None, None),
    ],
)
def test_ids_are_named_as_they_stand_in_records(value: Any, ids: Any) -> None:
    assert targets_of(value) == ids


def test_an_argument_is_found_under_the_name_that_the_declaration_uses() -> None:
    aliases = {"orderIds": "ids"}
    assert by_declared_names({"orderIds": [1]}, aliases=aliases, declared={"ids"}) == {"ids": [1]}
    assert by_declared_names({"ids": [1]}, aliases=aliases, declared={"orderIds"}) == {"orderIds": [1]}
    assert by_declared_names({"ids": [1]}, aliases=aliases, declared={"ids"}) == {"ids": [1]}
    assert by_declared_names({"x": 1}, aliases=aliases, declared={"ids"}) == {"x": 1}
    spec = ReadSpec(resource="orders", filters={"ownerName": "who"}).under({"ownerName": "owner", "at": "region"})
    assert spec.filters_of({"ownerName": "ops", "at": "eu"}) == {"who": "ops", "region": "eu"}


def test_a_declaration_that_names_no_argument_of_the_tool_is_refused() -> None:
    check_arguments(WriteSpec(targets="ids"), {"ids"}, tool="purge")
    check_arguments(
        ReadSpec(resource="orders", intent="lookup", key="id", filters={"number": "id"}), {"number"}, tool="get"
    )
    with pytest.raises(InvalidInput, match=r"^purge\.targets: must be an argument of the tool"):
        check_arguments(WriteSpec(targets="idz"), {"ids"}, tool="purge")
    with pytest.raises(InvalidInput, match=r"^get\.key: must be an argument of the tool"):
        check_arguments(ReadSpec(resource="orders", intent="lookup", key="idz"), {"ids"}, tool="get")
    taken = [{"resource": "orders", "filters": {"tenant": FromArgument("tenant")}}]
    with pytest.raises(InvalidInput, match=r"^purge\.relies_on: must take a filter from an argument of the tool"):
        check_arguments(WriteSpec(relies_on=taken), {"ids"}, tool="purge")


def test_what_comes_to_stand_in_a_list_after_it_was_read_is_no_evidence() -> None:
    s, rows = fresh(), [{"id": 1}, {"id": 2}]
    read(result(rows), session=s)
    rows.append({"id": 99})
    rows[0]["id"] = 77
    for late in (77, 99):
        refused = write(s, {"ids": [late]}, relies_on=["orders"], targets="ids")
        assert told(refused)["codes"] == ["TARGET_NOT_IN_EVIDENCE"]
    assert write(s, {"ids": [1, 2]}, relies_on=["orders"], targets="ids").value == "done"
