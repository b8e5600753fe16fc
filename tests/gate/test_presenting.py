"""What a model sees of a read: within its budget, in whole records, and nothing that is hidden."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from gate.calling import ROWS, SECRET, codes, fresh, read, result, size, told, write
from unabridged.contract import (
    FetchRestOfItem,
    ItemCut,
    NextPage,
    Notice,
    RetryItems,
    RetrySources,
    SourceOutcome,
    new_handle,
    with_resume,
)
from unabridged.gate import MAX_BYTES, ReadSpec, Reply, continue_read, dumps


def many(number: int, length: int = 50) -> list[Any]:
    return [{"id": n, "body": "x" * length} for n in range(number)]


@pytest.mark.parametrize("number", [0, 1, 100, 20_000])
def test_an_artifact_is_a_kilobyte_or_less_and_holds_no_items(number: int) -> None:
    for reply in (read(many(number), exhaustive=True), read(result(many(number), "RATE_LIMITED"))):
        assert len(json.dumps(reply.artifact).encode()) <= 1_024
        assert "body" not in json.dumps(reply.artifact)
        assert size(reply) <= MAX_BYTES


def test_an_artifact_stays_small_whatever_codes_another_version_sends() -> None:
    reply = read(result(ROWS, *(f"X{n}_{'Y' * 58}" for n in range(500)), id="r" * 64))
    assert len(json.dumps(reply.artifact).encode()) <= 1_024


@pytest.mark.parametrize(
    "items",
    [
        many(20_000),
        [{"id": 1, "body": "x" * 100_000}],
        [{f"field_{n}": "x" * 1_000 for n in range(300)}],
        [{f"field_{n}": 1 for n in range(30_000)}],
        ["x" * 100_000],
        [["x" * 100_000]],
        [{"id": 1, "body": "\u00e9" * 100_000}],
        [{"id": 1, "body": "\ud83d" * 100_000}],
        [{"id": 1, "deep": {"deeper": ["x" * 100_000]}}],
        [{"x" * 20_000: 1}],
    ],
    ids=["many", "long", "wide", "keys", "text", "list", "umlauts", "surrogates", "nested", "long key"],
)
@pytest.mark.parametrize("max_bytes", [1_500, MAX_BYTES])
def test_a_message_stays_within_its_budget(items: list[Any], max_bytes: int) -> None:
    s = fresh()
    from gate.calling import call

    reply = call(ReadSpec(resource="orders", exhaustive=True), items, session=s, max_bytes=max_bytes)
    assert size(reply) <= max_bytes
    document = told(reply)
    assert document["complete"] is False
    assert document["items"]


def test_a_header_stays_within_the_budget_whatever_a_source_says() -> None:
    names = tuple(f"shard-{n}" for n in range(2_000))
    reply = read(
        result(
            ROWS,
            *(f"SOURCE_UNAVAILABLE:d{n}" for n in range(500)),
            sources=tuple(SourceOutcome(name=n, status="unavailable") for n in names),
            continuation=RetrySources(names=names, handle="h_1"),
            item_cuts=tuple(ItemCut(item=n, field="body", why="abridged") for n in range(1_000)),
            warnings=tuple(Notice(code="NATIVE_WARNING", observed={"n": n}) for n in range(1_000)),
            filters={"q": "x" * 100_000, **{f"f{n}": n for n in range(500)}},
        )
    )
    document = told(reply)
    assert size(reply) <= MAX_BYTES
    assert document["items"] == ROWS
    assert document["continuation"]["more_names"] == 1_980
    assert document["more_sources_not_complete"] == 1_980
    assert len(document["warnings"]) == 1
    refused = write(_with(read_of=names))
    assert size(refused) <= MAX_BYTES


def _with(read_of: tuple[str, ...]) -> Any:
    s = fresh()
    for _ in range(30):
        read(
            result(ROWS, "SOURCE_UNAVAILABLE", continuation=RetrySources(names=read_of, handle="h_1"),
                   filters={f"f{n}": n for n in range(500)}),
            session=s,
        )  # fmt: skip
    return s


def test_bytes_of_json_are_never_cut() -> None:
    s = fresh()
    document = told(read(many(5_000), exhaustive=True, session=s))
    assert document["status"] == "partial"
    assert [r["code"] for r in document["reasons"]] == ["PRESENTATION_LIMIT"]
    assert document["continuation"]["kind"] == "read_more"
    assert document["items"] == many(5_000)[: document["returned"]]


def test_the_rest_of_a_read_is_shown_to_its_end_and_each_record_once() -> None:
    s = fresh()
    document = told(read(many(1_000), exhaustive=True, session=s))
    seen = list(document["items"])
    while "continuation" in document:
        assert document["complete"] is False
        reply = continue_read(s, document["continuation"]["handle"])
        assert isinstance(reply, Reply)
        assert size(reply) <= MAX_BYTES
        document = told(reply)
        seen += document["items"]
    assert seen == many(1_000)
    assert "last records" in document["note"]


def test_a_record_that_cannot_be_shown_does_not_block_the_way_to_those_behind_it() -> None:
    s = fresh()
    document = told(read([["x" * 100_000], {"id": 2}], exhaustive=True, session=s))
    assert document["items"] == ["<cut>"]
    assert "ITEM_TRUNCATED" in str(document["reasons"])
    reply = continue_read(s, document["continuation"]["handle"])
    assert isinstance(reply, Reply)
    assert told(reply)["items"] == [{"id": 2}]


def test_a_single_record_over_the_budget_is_cut_in_marked_fields() -> None:
    document = told(read([{"id": "o-1", "body": "x" * 100_000}], exhaustive=True))
    assert document["items"][0]["body"].endswith("<cut>")
    assert document["item_cuts"] == [{"item": "o-1", "field": "body", "why": "abridged"}]
    assert [r["code"] for r in document["reasons"]] == ["ITEM_TRUNCATED"]


def test_a_model_sees_the_fields_of_the_allow_list_only() -> None:
    s = fresh()
    document = told(read([{"id": 1, "name": "a", "key": SECRET}], exhaustive=True, session=s, fields=["id", "name"]))
    assert document["items"] == [{"id": 1, "name": "a"}]


@pytest.mark.parametrize("value", [json.dumps([{"key": SECRET}]), SECRET, [SECRET], [[SECRET]], [{"key": SECRET}]])
def test_what_has_no_fields_shows_none(value: Any) -> None:
    for reply in (read(value, exhaustive=True, fields=["name"]), read(result([value]), fields=["name"])):
        assert SECRET not in reply.content


def test_an_id_that_is_hidden_names_no_item() -> None:
    rows = [{"ssn": "123-45-6789", "name": "x" * 100_000}]
    assert "123-45" not in read(rows, exhaustive=True, id="ssn", fields=["name"]).content
    cut = ItemCut(item="123-45-6789", field="name", why="abridged")
    small = [{"ssn": "123-45-6789", "name": "ann"}]
    for route in (
        FetchRestOfItem(item="123-45-6789", field="name", handle=new_handle()),
        RetryItems(ids=("123-45-6789",), handle=new_handle()),
    ):
        reply = read(result(small, "ITEM_TRUNCATED", item_cuts=(cut,), continuation=route), id="ssn", fields=["name"])
        assert "123-45" not in reply.content
        assert told(reply)["item_cuts"][0]["item"] == "#1"


def test_an_id_that_may_be_seen_names_its_item() -> None:
    cut = ItemCut(item="o-1", field="name", why="abridged")
    reply = read(result([{"id": "o-1", "name": "a", "key": 1}], "ITEM_TRUNCATED", item_cuts=(cut,)), fields=["id"])
    assert told(reply)["item_cuts"][0]["item"] == "o-1"


def test_what_json_has_no_word_for_is_told_as_text() -> None:
    document = told(read([{"id": 1, "a": math.nan, "b": math.inf, "c": {"d": [-math.inf]}}], exhaustive=True))
    assert document["items"] == [{"id": 1, "a": "nan", "b": "inf", "c": {"d": ["-inf"]}}]


def test_half_of_a_surrogate_pair_does_not_break_a_message() -> None:
    reply = read([{"id": "a\ud800b"}], exhaustive=True)
    assert told(reply)["items"] == [{"id": "a?b"}]
    assert dumps("plain") == '"plain"'


def test_numbers_beyond_64_bits_are_told_as_they_are() -> None:
    assert told(read([{"id": 10**30}], exhaustive=True))["items"] == [{"id": 10**30}]


def test_an_unavailable_read_is_an_error_to_the_framework_and_no_other_is() -> None:
    assert read(result(None, "SOURCE_UNAVAILABLE")).is_error
    for value in (result([]), result([], "RATE_LIMITED"), result([], "COVERAGE_UNKNOWN")):
        assert not read(value).is_error


def test_without_a_session_nothing_leads_to_the_rest() -> None:
    document = told(read(many(5_000), exhaustive=True))
    assert document["continuation"] == {"kind": "read_more"}
    assert "handle" not in document


def test_the_handle_of_the_read_stands_before_its_records() -> None:
    keys = list(told(read(ROWS, exhaustive=True, session=fresh())))
    assert keys.index("handle") < keys.index("items")


def test_the_way_on_of_a_source_is_shown_and_its_cursor_is_not() -> None:
    s = fresh()
    page = with_resume(result(ROWS, "MORE_PAGES_AVAILABLE", continuation=NextPage(handle=new_handle())), SECRET)
    reply = read(page, session=s)
    assert told(reply)["continuation"]["kind"] == "next_page"
    assert SECRET not in reply.content + repr(reply)
    assert codes(write(s)) == ["EVIDENCE_INCOMPLETE"]


def test_the_repr_of_a_reply_holds_nothing_that_was_read() -> None:
    assert SECRET not in repr(read([{"id": SECRET}], exhaustive=True))
    assert SECRET not in repr(Reply(value=SECRET, passes=True))
