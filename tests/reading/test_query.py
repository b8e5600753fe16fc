"""What is asked and what may be spent: refused by field and rule, never with the value."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from unabridged.contract import InvalidInput
from unabridged.reading import Budget, Query
from unabridged.reading.requests import check_headers

CANARY = "canary~ 7f3a"


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"resource": ""}, "query.resource: must be"),
        ({"resource": None}, "query.resource: must be"),
        ({"resource": "a\nb"}, "query.resource: must be"),
        ({"resource": "a" * 201}, "query.resource: must be"),
        ({"intent": CANARY}, "query.intent: must be one of inventory, sample, lookup"),
        ({"filters": [CANARY]}, "query.filters: must be an object"),
        ({"filters": {"": 1}}, "query.filters: must have printable texts"),
        ({"filters": {1: CANARY}}, "query.filters: must have printable texts"),
        ({"filters": {"a": {CANARY}}}, "query.filters.a: must be a JSON value"),
        ({"filters": {"a": CANARY.encode()}}, "query.filters.a: must be a JSON value"),
        ({"filters": {"a": datetime.date(2026, 1, 1)}}, "query.filters.a: must be a JSON value"),
        ({"filters": {"a": float("nan")}}, "query.filters.a: must be a finite number"),
        ({"filters": {"a": [float("inf")]}}, "query.filters.a: must be a finite number"),
        ({"filters": {"a": {1: 2}}}, "query.filters.a: must have texts as keys"),
        ({"filters": {"a": "\ud800"}}, "query.filters.a: must be text that UTF-8 can hold"),
        ({"filters": {CANARY: object()}}, "query.filters.<name>: must be a JSON value"),
        ({"fields": []}, "query.fields: must be a list"),
        ({"fields": CANARY}, "query.fields: must be a list"),
        ({"fields": [1]}, "query.fields: must hold printable texts"),
        ({"page_size": 0}, "query.page_size: must be a whole number"),
        ({"page_size": True}, "query.page_size: must be a whole number"),
        ({"page_size": 2.0}, "query.page_size: must be a whole number"),
    ],
)
def test_a_query_that_breaks_a_rule_is_refused_by_field_and_rule(asked: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Query(**{"resource": "things", **asked})
    assert str(caught.value).startswith(text)
    assert CANARY not in f"{caught.value!s} {caught.value!r}"


def test_filters_that_are_nested_without_end_are_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidInput, match="nested"):
        Query("things", {"a": loop})


def test_a_query_shows_no_filter_value_and_is_not_changed_from_outside() -> None:
    filters: dict[str, Any] = {"owner": [CANARY]}
    query = Query("things", filters)
    assert CANARY not in repr(query)
    filters["owner"].append("other")
    assert query.filters == {"owner": [CANARY]}


@pytest.mark.parametrize(
    "stated",
    [{"max_pages": 0}, {"max_items": -1}, {"max_items": True}, {"max_bytes": 1.5}, {"max_requests": "9"},
     {"max_seconds": 0}, {"max_seconds": float("inf")}, {"max_seconds": True}, {"max_retries": -1},
     {"max_seconds": float("nan")}, {"max_seconds": 1e308}, {"max_seconds": 10**400},
     {"max_retries": None}, {"max_canary": 1}],
)  # fmt: skip
def test_a_budget_that_breaks_a_rule_is_refused_by_field(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=rf"^budget\.{next(iter(stated))}: "):
        Budget.unlimited(**stated)


def test_a_budget_has_the_limits_of_the_design_and_can_have_none() -> None:
    assert Budget() == Budget(1000, 100_000, 64 * 1024 * 1024, 60, None, 3)
    none = Budget.unlimited(max_pages=2)
    assert (none.max_pages, none.max_items, none.max_bytes, none.max_seconds, none.max_retries) == (
        2,
        None,
        None,
        None,
        0,
    )


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({"a b": "x"}, "headers: must have names in the grammar"),
        ({"": "x"}, "headers: must have names"),
        ({"X-Key": f"{CANARY}\r\nEvil: 1"}, "headers.X-Key: must be one line"),
        ({"X-Key": "\u20ac"}, "headers.X-Key: must be one line"),
        ({"X-Key": b"bytes"}, "headers.X-Key: must be one line"),
        ({"X-Key": " padded"}, "headers.X-Key: must be one line"),
        ({"Host": "evil"}, "headers.Host: belongs to the connection"),
        ({"content-length": "1"}, "headers.content-length: belongs"),
        ("X-Key: 1", "headers: must be an object"),
        ([("a",)], "headers: must be an object"),
    ],
)
def test_a_header_outside_the_grammar_is_refused_without_its_value(headers: Any, text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_headers(headers)
    assert str(caught.value).startswith(text)
    assert CANARY not in str(caught.value)
