"""Two states of one thing, two answers to one question, and bodies whose end nobody states."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from reading.asking import TOKEN, ask, codes, keys, page, profile
from reading.served import Call, serving
from unabridged.contract import ProfileError
from unabridged.profiles import Profile, load_profile
from unabridged.reading import read

BYTES: dict[str, Any] = {"by": "range", "unit": "bytes", "size": 5, "validator": "header:etag"}
OFFSET: dict[str, Any] = {
    "by": "offset", "send": {"query": "at"}, "unit": "item", "origin": 0, "ends_on": ["total"], "total": "total"
}  # fmt: skip


def text(**changes: Any) -> Profile:
    return load_profile({"name": "t", "version": 1, "walk": {**BYTES, **changes}})


def piece(body: str, start: int, total: int, tag: str, **more: str) -> dict[str, Any]:
    span = f"bytes {start}-{start + len(body) - 1}/{total}"
    return {"status": 206, "headers": {"Content-Range": span, "ETag": tag, **more}, "body": body}


@pytest.mark.parametrize(("one", "other"), [('W/"1"', 'W/"2"'), ('"1"', 'W/"2"'), ('W/"1"', '"2"'), ('"1"', '"2"')])
def test_validators_that_differ_are_two_states_weak_or_not(one: str, other: str) -> None:
    result = ask(text(), piece("aaaaa", 0, 10, one), piece("bbbbb", 5, 10, other))
    assert keys(result) == {"CONSISTENCY_LOST:snapshot_changed"}


@pytest.mark.parametrize(("one", "other"), [('W/"1"', 'W/"1"'), ('"1"', 'W/"1"'), ('W/"1"', '"1"')])
def test_a_weak_validator_that_stays_loses_nothing_and_proves_no_snapshot(one: str, other: str) -> None:
    result = ask(text(), piece("aaaaa", 0, 10, one), piece("bbbbb", 5, 10, other))
    assert (result.complete, result.consistency) == (True, "interval")


def test_a_range_walk_has_one_snapshot_and_that_is_its_validator() -> None:
    with pytest.raises(ProfileError, match="snapshot: the validator of a range walk is its snapshot"):
        load_profile({"name": "t", "version": 1, "walk": BYTES, "snapshot": {"path": "header:x-rev"}})


def test_a_range_that_names_two_totals_proves_neither() -> None:
    named = text(total="header:x-total", validator=None)
    whole = {"status": 200, "headers": {"X-Total": "100"}, "body": "aaaaa"}
    assert keys(ask(named, whole)) == {"PROTOCOL_ANOMALY:contradictory_signals"}
    half = piece("aaaaa", 0, 10, '"1"', **{"X-Total": "5"})
    assert keys(ask(named, half)) == {"PROTOCOL_ANOMALY:contradictory_signals"}
    assert ask(named, piece("aaaaa", 0, 5, '"1"', **{"X-Total": "5"})).complete


@pytest.mark.parametrize("framed", [True, False])
def test_a_text_that_ends_with_its_connection_may_have_been_cut(framed: bool) -> None:
    def respond(call: Call) -> None:
        call.head(200, {"connection": "close", **({"content-length": "4"} if framed else {})})
        call.write(b"half")
        call.hang_up()

    with serving(respond) as server:
        result = read(text(validator=None), "things", url=server.url)
    assert result.items is not None
    assert result.items[0]["text"] == "half"
    assert (result.status, codes(result)) == (("complete", set()) if framed else ("unknown", {"COVERAGE_UNKNOWN"}))


@pytest.mark.parametrize("sent", [b"", gzip.compress(b"half")], ids=["nothing of it", "its first member"])
def test_a_coded_text_that_ends_with_its_connection_may_have_been_cut_before_or_between_its_members(
    sent: bytes,
) -> None:
    def respond(call: Call) -> None:
        call.head(200, {"connection": "close", "content-encoding": "gzip"})
        call.write(sent)
        call.hang_up()

    with serving(respond) as server:
        assert keys(read(text(validator=None), "things", url=server.url)) == {"COVERAGE_UNKNOWN"}


def test_a_chunked_text_is_framed() -> None:
    def respond(call: Call) -> None:
        call.head(200, {"transfer-encoding": "chunked"})
        call.write(b"4\r\nhalf\r\n0\r\n\r\n")

    with serving(respond) as server:
        assert read(text(validator=None), "things", url=server.url).complete


def test_a_page_of_json_knows_its_own_end_without_a_frame() -> None:
    def respond(call: Call) -> None:
        call.head(200, {"connection": "close"})
        call.write(b'{"items": [{"id": 1}]}')
        call.hang_up()

    with serving(respond) as server:
        assert read(profile(), "things", url=server.url).complete


@pytest.mark.parametrize("unit", ["item", "page"])
def test_the_total_that_ended_a_walk_must_be_held_whatever_else_is_counted(unit: str) -> None:
    rules = {
        "count": {"path": "about", "kind": "estimate"}, "duplicates": "expected", "order": {"by": "id", "unique": True}
    }  # fmt: skip
    walked = profile({**OFFSET, "unit": unit}, **rules)
    result = ask(walked, page(1, 2, total=4, about=9), page(2, 3, total=4, about=9))
    assert (list(result.ids), keys(result)) == ([1, 2, 3], {"CONSISTENCY_LOST:count_mismatch"})
    assert ask(walked, page(1, 2, total=4, about=9), page(3, 4, total=4, about=9)).complete


def test_the_final_record_of_a_stream_is_no_item_where_the_items_are_inside_the_lines() -> None:
    lines = '{"row": {"id": 1}}\n{"row": {"id": 2}}\n{"done": true}\n'
    rules = profile({"by": "stream", "terminator": "done"}, items="[*].row")
    result = ask(rules, {"status": 200, "headers": {}, "body": lines})
    assert (result.complete, list(result.ids)) == (True, [1, 2])
    cut = ask(rules, {"status": 200, "headers": {}, "body": lines.replace('{"done": true}\n', "{}\n")})
    assert not cut.complete


def test_what_a_job_said_before_its_walk_began_again_is_dropped_with_it() -> None:
    job = {"by": "job", "state": "state", "running": ["R"], "ok": ["OK"], "partial": ["TIMEOUT"], "inner": TOKEN}
    rules = profile(job, expired=[{"status": 410, "then": "restart_once"}])
    gone = {"status": 410, "headers": {}, "json": {}}
    assert ask(rules, page(1, state="TIMEOUT", next="a"), gone, page(1, 2, state="OK")).complete
    again = ask(rules, page(1, state="OK", next="a"), gone, page(1, 2, state="TIMEOUT"))
    assert codes(again) == {"JOB_NOT_FINISHED"}


def test_a_key_that_says_two_things_is_believed_in_neither_as_deep_as_graphql_names_its_pages() -> None:
    paths = {"items": "data.org.repo.issues.nodes"}
    walk = {
        "by": "token", "read": "data.org.repo.issues.pageInfo.endCursor", "send": {"query": "after"},
        "ends_on": ["flag"], "empty_token": "illegal", "repeated_token": "anomaly",
        "more_flag": "data.org.repo.issues.pageInfo.hasNextPage",
    }  # fmt: skip
    info = '{"endCursor": "c", "hasNextPage": true, "hasNextPage": false}'
    body = '{"data": {"org": {"repo": {"issues": {"nodes": [{"id": 1}], "pageInfo": INFO}}}}}'.replace("INFO", info)
    result = ask(profile(walk, **paths), {"status": 200, "headers": {}, "body": body})
    assert keys(result) == {"PROTOCOL_ANOMALY:malformed_page"}
    once = json.dumps(json.loads(body))
    assert ask(profile(walk, **paths), {"status": 200, "headers": {}, "body": once}).complete
