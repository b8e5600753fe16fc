"""What a response is, in the order that the format states, and what follows from each kind."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading.asking import ask, codes, keys, page, profile, warned
from unabridged.contract import decision
from unabridged.reading.page import Undecodable, decode_json


def reply(status: int, body: str = "{}", **headers: str) -> dict[str, Any]:
    return {"status": status, "headers": {k.replace("_", "-"): v for k, v in headers.items()}, "body": body}


FIRST: list[tuple[str, dict[str, Any], set[str], str]] = [
    ("timeout", {"fault": "timeout"}, {"SOURCE_UNAVAILABLE:timeout"}, "retry_with_deadline"),
    ("dns", {"fault": "dns"}, {"SOURCE_UNAVAILABLE:dns"}, "none"),
    ("disconnect", {"fault": "disconnect"}, {"SOURCE_UNAVAILABLE:disconnect"}, "none"),
    ("short body", {"fault": "short_body", "body": "{"}, {"TRANSPORT_TRUNCATED:short_body"}, "none"),
    ("quota", reply(429), {"RATE_LIMITED"}, "none"),
    ("quota with a wait", reply(429, Retry_After="30"), {"RATE_LIMITED"}, "retry_after"),
    ("401", reply(401), {"VISIBILITY_RESTRICTED:unauthorized"}, "request_access"),
    ("403", reply(403), {"VISIBILITY_RESTRICTED:forbidden"}, "request_access"),
    ("206", reply(206), {"TRANSPORT_TRUNCATED:unrequested_range"}, "none"),
    ("cut by its length", reply(200, "{}", Content_Length="9"), {"TRANSPORT_TRUNCATED:short_body"}, "none"),
    ("404", reply(404, '{"items": []}'), {"SOURCE_UNAVAILABLE:status"}, "none"),
    ("500", reply(500), {"SOURCE_UNAVAILABLE:status"}, "none"),
    ("503 with a wait", reply(503, Retry_After="30"), {"SOURCE_UNAVAILABLE:status"}, "retry_after"),
    ("a redirect", reply(302, Location="/x"), {"SOURCE_UNAVAILABLE:status"}, "none"),
    ("no body", reply(200, ""), {"TRANSPORT_TRUNCATED:invalid_json"}, "none"),
    ("204", reply(204, ""), {"TRANSPORT_TRUNCATED:invalid_json"}, "none"),
    ("half a body", reply(200, '{"items": [{"id": 1}'), {"TRANSPORT_TRUNCATED:invalid_json"}, "none"),
    ("NaN", reply(200, '{"items": [{"id": NaN}]}'), {"TRANSPORT_TRUNCATED:invalid_json"}, "none"),
    ("a number beyond all", reply(200, '{"items": [{"id": 1e999}]}'), {"TRANSPORT_TRUNCATED:invalid_json"}, "none"),
    ("a deep body", reply(200, "[" * 100_000), {"TRANSPORT_TRUNCATED:invalid_json"}, "none"),
    ("a long number", reply(200, "9" * 5000), {"TRANSPORT_TRUNCATED:invalid_json"}, "none"),
    ("no list", reply(200, '{"message": "ok"}'), {"PROTOCOL_ANOMALY:malformed_page"}, "none"),
    ("null for a list", reply(200, '{"items": null}'), {"PROTOCOL_ANOMALY:malformed_page"}, "none"),
    ("an object for a list", reply(200, '{"items": {}}'), {"PROTOCOL_ANOMALY:malformed_page"}, "none"),
    ("a list for the body", reply(200, "[]"), {"PROTOCOL_ANOMALY:malformed_page"}, "none"),
    ("a record without an id", reply(200, '{"items": [{}]}'), {"PROTOCOL_ANOMALY:malformed_page"}, "none"),
    ("a record that is none", reply(200, '{"items": [1]}'), {"PROTOCOL_ANOMALY:malformed_page"}, "none"),
    ("a null record", reply(200, '{"items": [null]}'), {"PROTOCOL_ANOMALY:malformed_page"}, "none"),
    ("a null id", reply(200, '{"items": [{"id": null}]}'), {"PROTOCOL_ANOMALY:malformed_page"}, "none"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "answer", "reasons", "way"), FIRST, ids=[why for why, *_ in FIRST])
def test_a_first_page_that_is_none_leaves_nothing_and_says_why(
    why: str, answer: dict[str, Any], reasons: set[str], way: str
) -> None:
    result = ask({}, answer)
    assert result.items is None, why
    assert keys(result) == reasons
    assert result.continuation.kind == way
    assert result.consistency == "not_established"


@pytest.mark.parametrize(("why", "answer", "reasons", "way"), FIRST, ids=[why for why, *_ in FIRST])
def test_a_later_page_that_is_none_keeps_the_earlier_ones_and_can_be_asked_for_again(
    why: str, answer: dict[str, Any], reasons: set[str], way: str
) -> None:
    result = ask({}, page(1, 2, next="a"), answer)
    assert result.ids == (1, 2), why
    assert keys(result) == reasons
    expected = {"retry_after": "retry_after", "request_access": "request_access"}.get(way, "next_page")
    assert result.continuation.kind == expected
    assert decision(result) == ("refuse_or_request_review" if expected == "request_access" else "continue_search")


@pytest.mark.parametrize(("why", "answer", "reasons", "way"), FIRST, ids=[why for why, *_ in FIRST])
def test_a_strict_reader_keeps_nothing_after_a_failure_and_offers_no_way_on(
    why: str, answer: dict[str, Any], reasons: set[str], way: str
) -> None:
    result = ask({"on_failure": "unavailable"}, page(1, 2, next="a"), answer)
    assert result.items is None, (why, way)
    assert keys(result) == reasons
    assert result.continuation.kind == "none"


def test_an_expired_continuation_comes_before_everything_else_and_only_where_one_was_sent() -> None:
    rules = {"expired": [{"status": 429}, {"path": "code", "when": {"equals": "dead"}}]}
    assert keys(ask(rules, reply(429))) == {"RATE_LIMITED"}
    assert keys(ask(rules, page(1, next="a"), reply(429))) == {"CONTINUATION_EXPIRED"}
    told = ask(rules, page(1, next="a"), reply(200, '{"code": "dead", "items": []}'))
    assert keys(told) == {"CONTINUATION_EXPIRED"}
    assert told.continuation.kind == "restart_scan"
    first = ask(rules, reply(200, '{"code": "dead", "items": []}'))
    assert first.complete


def test_an_expiry_of_status_and_path_needs_both() -> None:
    rules = {"expired": [{"status": 404, "path": "type", "when": {"equals": "gone"}}]}
    assert keys(ask(rules, page(1, next="a"), reply(404, '{"type": "gone"}'))) == {"CONTINUATION_EXPIRED"}
    assert keys(ask(rules, page(1, next="a"), reply(404, "{}"))) == {"SOURCE_UNAVAILABLE:status"}


def test_a_status_that_is_a_quota_only_sometimes_is_one_only_where_its_mark_stands() -> None:
    when = {"path": "header:x-remaining", "when": {"equals": 0}}
    rules = {"rate_limit": {"status": [403, 429], "wait_from": ["header:retry-after"], "when": when}}
    assert keys(ask(rules, reply(403, X_Remaining="0"))) == {"RATE_LIMITED"}
    assert keys(ask(rules, reply(403, X_Remaining="5"))) == {"VISIBILITY_RESTRICTED:forbidden"}
    assert keys(ask(rules, reply(429, X_Remaining="5"))) == {"RATE_LIMITED"}


@pytest.mark.parametrize(
    ("place", "answer", "seconds"),
    [
        ("header:retry-after", reply(429, Retry_After="7"), 7),
        ("header:retry-after", reply(429, Retry_After="1.5"), 1.5),
        ("header:retry-after", reply(429, Retry_After="Mon, 30 Nov 2026 09:00:20 GMT"), 20),
        ("header:retry-after", reply(429, Retry_After="Mon, 30 Nov 2020 09:00:20 GMT"), 0),
        ("header_epoch:x-reset", reply(429, X_Reset="1796029220"), 20),
        ("header_epoch:x-reset", reply(429, X_Reset="1"), 0),
        ("body:wait.s", reply(429, '{"wait": {"s": 4}}'), 4),
        ("body:wait.s", reply(429, '{"wait": {"s": "4"}}'), 4),
    ],
)
def test_a_wait_is_found_where_the_profile_says(place: str, answer: dict[str, Any], seconds: float) -> None:
    result = ask({"rate_limit": {"wait_from": ["header:absent", place]}}, answer)
    assert result.continuation.kind == "retry_after"
    assert result.continuation.seconds == seconds


@pytest.mark.parametrize("text", ["soon", "-5", "", "1e3", "9" * 40, "Mon, 99 Nov 2026 09:00:20 GMT", "\u0663"])
def test_a_wait_that_is_none_is_not_announced(text: str) -> None:
    result = ask({}, reply(429, Retry_After=text))
    assert codes(result) == {"RATE_LIMITED"}
    assert result.continuation.kind == "none"


def test_an_error_inside_a_success_discards_the_page_even_if_it_holds_records() -> None:
    rules = {"errors": [{"path": "ok", "when": {"equals": False}, "code": "PARTIAL_FAILURE", "detail": "half"}]}
    result = ask(rules, page(1, 2, ok=False))
    assert result.items is None
    assert keys(result) == {"PARTIAL_FAILURE:half"}


def test_a_status_declared_as_an_empty_list_is_one() -> None:
    result = ask({"empty_status": [204], "signals": [{"path": "x", "when": "nonempty", "code": "SCOPE_NARROWED"}]},
                 reply(204, ""))  # fmt: skip
    assert result.complete
    assert result.items == []


def test_records_that_lack_a_required_path_make_their_page_malformed_and_null_is_held() -> None:
    rules = {"required": ["owner", "meta.team"]}
    whole = {"status": 200, "headers": {}, "json": {"items": [{"id": 1, "owner": None, "meta": {"team": None}}]}}
    assert ask(rules, whole).complete
    cut = {"status": 200, "headers": {}, "json": {"items": [{"id": 1, "owner": None, "meta": {}}]}}
    assert keys(ask(rules, cut)) == {"PROTOCOL_ANOMALY:malformed_page"}


def test_a_text_or_a_number_may_be_its_own_id() -> None:
    given_ = profile(items="@", id="@")
    assert ask(given_, {"status": 200, "headers": {}, "json": ["a", 1, "1"]}).ids == ("a", 1, "1")
    for record in (None, True, {}, []):
        result = ask(given_, {"status": 200, "headers": {}, "json": ["a", record]})
        assert keys(result) == {"PROTOCOL_ANOMALY:malformed_page"}


def test_records_without_identity_make_no_claim_about_duplicates_or_counts() -> None:
    rules = {"id": None, "count": {"path": "n", "kind": "exact"}}
    for count in (1, 2):
        result = ask(rules, page(1, next="a", n=count), page(1, n=count))
        assert result.complete
        assert result.returned == 2
        assert result.proof.level == "end_marker"
        assert warned(result) == set()


def test_fewer_records_than_an_exact_count_are_too_few_also_without_identity() -> None:
    result = ask({"id": None, "count": {"path": "n", "kind": "exact"}}, page(1, next="a", n=9), page(1, n=9))
    assert keys(result) == {"CONSISTENCY_LOST:count_mismatch"}


@given(st.binary(max_size=60) | st.text(max_size=30).map(str.encode))
def test_no_body_breaks_the_decoder(body: bytes) -> None:
    value = None
    with suppress(Undecodable):
        value = decode_json(body)
    assert json.loads(json.dumps(value)) == value
