"""Answers that say two things at once, or less than they seem to: none of them is whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reading.asking import TOKEN, URL, ask, codes, keys, page, profile
from unabridged.contract import ReadResult, resume_of
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Budget, Fault, Request, Response, judge_value, run_read
from unabridged.testing import VirtualClock

SIZED: dict[str, Any] = {"size": {"send": {"query": "limit"}, "max": 5}, "order": {"by": "id", "unique": True}}
KEY: dict[str, Any] = {
    "by": "key", "from_item": "id", "send": {"query": "after"}, "unique": True, "more_flag": "more",
}  # fmt: skip
OFFSET: dict[str, Any] = {
    "by": "offset", "send": {"query": "at"}, "unit": "item", "origin": 0, "total": "n", "last_flag": "last",
}  # fmt: skip


class Bytes:
    """Answers with bodies as they are."""

    def __init__(self, *replies: Response | Fault) -> None:
        self.replies = list(replies)

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        return self.replies.pop(0)


def raw(given: Profile, *replies: Response | Fault, **limits: int) -> ReadResult:
    transport = Bytes(*replies)
    return run_read(
        given, "things", url=URL, transport=transport, clock=VirtualClock(), budget=Budget.unlimited(**limits)
    )


@pytest.mark.parametrize("ends", [["short_page"], ["flag", "short_page"]])
def test_a_short_page_that_says_there_is_more_is_not_the_end(ends: list[str]) -> None:
    key = ask(profile({**KEY, "ends_on": ends}, **SIZED), page(1, 2, more=True), page(3, more=False))
    assert key.complete
    assert key.ids == (1, 2, 3)
    offset = ask(profile({**OFFSET, "ends_on": ends}, **SIZED), page(1, 2, last=False), page(3, last=True))
    assert offset.complete
    assert offset.ids == (1, 2, 3)


def test_a_total_that_is_reached_where_the_source_says_that_there_is_more_contradicts_it() -> None:
    given = profile({**OFFSET, "ends_on": ["flag", "total"]}, **SIZED)
    assert keys(ask(given, page(1, 2, last=False, n=2))) == {"PROTOCOL_ANOMALY:contradictory_signals"}


@pytest.mark.parametrize(
    ("walk", "more"),
    [
        ({**TOKEN, "ends_on": ["empty_page"], "more_flag": "more"}, {"more": True, "next": "a"}),
        ({**KEY, "ends_on": ["empty_page"]}, {"more": "true"}),
        ({**OFFSET, "ends_on": ["empty_page"]}, {"last": False}),
    ],
    ids=["token", "key", "offset"],
)
def test_an_empty_page_that_says_there_is_more_is_not_the_end(walk: dict[str, Any], more: dict[str, Any]) -> None:
    given = profile(walk, **SIZED)
    assert keys(ask(given, page(**more))) == {"PROTOCOL_ANOMALY:contradictory_signals"}
    assert ask(given, page()).complete


@pytest.mark.parametrize("more", [1, "True", "yes", ["a"], {"pages": 2}])
def test_a_flag_that_may_say_there_is_more_leaves_the_end_open(more: Any) -> None:
    token = profile({**TOKEN, "more_flag": "more"})
    assert keys(ask(token, page(1, more=more))) == {"COVERAGE_UNKNOWN"}
    key = profile({**KEY, "ends_on": ["short_page"]}, **SIZED)
    assert keys(ask(key, page(1, more=more))) == {"COVERAGE_UNKNOWN"}
    for no in (0, "", "No", "none", "null", "off", "N", None):
        assert ask(token, page(1, more=no)).complete


def test_a_flag_that_may_say_that_a_page_is_not_the_last_leaves_the_end_open() -> None:
    given = profile({**OFFSET, "ends_on": ["short_page"]}, **SIZED)
    for last in (0, "", "False", []):
        assert keys(ask(given, page(1, last=last))) == {"COVERAGE_UNKNOWN"}
    for last in (1, "yes", None):
        assert ask(given, page(1, last=last)).complete


@pytest.mark.parametrize("where", ["errors", "signals"])
@pytest.mark.parametrize(
    ("path", "when", "body"),
    [
        ("error.code", "nonempty", {"error": "gone"}),
        ("error.code", "nonempty", {"error": [{"code": 7}]}),
        ("meta.state.partial", {"equals": True}, {"meta": {"state": "partial"}}),
        ("partial", {"equals": True}, {"partial": "true"}),
        ("partial", {"equals": True}, {"partial": 1}),
        ("ok", {"equals": False}, {"ok": "False"}),
        ("ok", {"equals": False}, {"ok": 0}),
        ("failed", {"gt": 0}, {"failed": "3"}),
        ("failed", {"gt": 0}, {"failed": ["shard 3"]}),
        ("failed", {"gt": 0}, {"failed": "several"}),
    ],
)
def test_what_may_be_an_error_in_another_spelling_or_shape_is_not_passed_over(
    where: str, path: str, when: Any, body: dict[str, Any]
) -> None:
    rule = {"path": path, "when": when, "code": "SOURCE_UNAVAILABLE"}
    result = ask({where: [rule]}, page(1, **body))
    assert keys(result) == {"PROTOCOL_ANOMALY:unknown_value"}
    assert result.ids == (1,)


@pytest.mark.parametrize("where", ["errors", "signals"])
@pytest.mark.parametrize(
    ("path", "when", "body"),
    [
        ("error.code", "nonempty", {}),
        ("error.code", "nonempty", {"error": None}),
        ("error.code", "nonempty", {"error": False}),
        ("error.code", "nonempty", {"error": ""}),
        ("error.code", "nonempty", {"error": {}}),
        ("error.code", "nonempty", {"error": 0}),
        ("error.code", "nonempty", {"error": "none"}),
        ("error.code", {"equals": 500}, {"error": "False"}),
        ("partial", {"equals": True}, {"partial": "NONE"}),
        ("failed", {"gt": 0}, {"failed": "none"}),
        ("partial", {"equals": True}, {"partial": "false"}),
        ("partial", {"equals": True}, {"partial": 0}),
        ("ok", {"equals": False}, {"ok": "yes"}),
        ("failed", {"gt": 0}, {"failed": "0"}),
        ("failed", {"gt": 0}, {"failed": []}),
        ("failed", {"gt": 0}, {"failed": None}),
        ("state", {"equals": "failed"}, {"state": 1}),
    ],
)
def test_what_says_in_any_spelling_that_nothing_is_wrong_is_whole(
    where: str, path: str, when: Any, body: dict[str, Any]
) -> None:
    assert ask({where: [{"path": path, "when": when, "code": "SOURCE_UNAVAILABLE"}]}, page(1, **body)).complete


def test_what_may_be_a_warning_in_another_spelling_is_no_reason() -> None:
    rule = {"path": "stale", "when": {"equals": True}, "warning": "STALE_INDEX"}
    assert ask({"signals": [rule]}, page(1, stale="yes")).complete


def test_a_token_that_repeats_where_the_source_says_that_there_is_more_is_not_the_end() -> None:
    given = profile({**TOKEN, "repeated_token": "end", "more_flag": "more"})
    result = ask(given, page(1, next="a", more=True), page(2, next="a", more=True))
    assert keys(result) == {"PROTOCOL_ANOMALY:contradictory_signals"}


def test_no_count_is_forgotten_because_a_later_page_states_a_lower_one_of_another_kind() -> None:
    by_relation = {"path": "n", "kind_from": {"path": "rel", "eq": "exact", "gte": "lower_bound"}}
    pages = page(1, next="a", n=9, rel="eq"), page(2, n=1, rel="gte")
    assert keys(ask({"count": by_relation}, *pages)) == {"CONSISTENCY_LOST:count_mismatch"}
    falling = page(1, next="a", n=9), page(2, n=1)
    assert keys(ask({"count": {"path": "n", "kind": "lower_bound"}}, *falling)) == {"CONSISTENCY_LOST:count_mismatch"}
    hidden = ask({"count": {"path": "n", "kind": "before_permissions"}}, *falling)
    assert keys(hidden) == {"VISIBILITY_RESTRICTED:count_before_permissions"}


def test_the_counts_of_earlier_links_are_not_forgotten_either() -> None:
    given = profile(count={"path": "n", "kind": "lower_bound"})
    transport = Bytes(*(Response(200, (), json.dumps(p["json"]).encode()) for p in (page(1, next="a", n=9), page(2))))
    first = run_read(
        given, "things", url=URL, transport=transport, clock=VirtualClock(), budget=Budget.unlimited(max_pages=1)
    )
    last = resume_of(first).read(transport=transport, clock=VirtualClock())
    assert keys(last) == {"CONSISTENCY_LOST:count_mismatch"}


@pytest.mark.parametrize(
    "walk", [{"by": "single", "cap": 1000}, {"by": "single", "overfetch": 1}, {"by": "single", "exact_flag": "exact"}]
)
def test_a_bounded_answer_as_long_as_the_size_that_the_server_used_proves_nothing(walk: dict[str, Any]) -> None:
    given = profile(walk, size={"send": {"query": "limit"}, "max": 100, "read": "used"})
    full = ask(given, page(1, 2, used=2, exact=True))
    assert keys(full) == {"RESULT_LIMIT_REACHED:source_cap"}
    assert full.reasons[0].limit == 2
    assert ask(given, page(1, used=2, exact=True)).complete


def test_a_window_that_the_next_offset_would_pass_is_named_and_never_passed_by_a_continued_read() -> None:
    given = profile({**OFFSET, "ends_on": ["empty_page"], "advance": "requested"}, **SIZED,
                    caps=[{"limit": 5, "on": "window"}])  # fmt: skip
    assert keys(ask(given, page(1, 2))) == {"RESULT_LIMIT_REACHED:result_window"}
    cut = ask(given, page(1, 2), budget={"max_items": 1})
    transport = Bytes()
    rest = resume_of(cut).read(transport=transport, clock=VirtualClock(), budget=Budget.unlimited())
    assert rest.ids == (2,)
    assert keys(rest) == {"RESULT_LIMIT_REACHED:result_window"}


def test_an_empty_list_by_its_status_that_holds_records_is_neither() -> None:
    given = {"empty_status": [202]}
    holding = {**page(1, 2), "status": 202}
    assert keys(ask(given, holding)) == {"PROTOCOL_ANOMALY:malformed_page"}
    for body in ({**page(), "status": 202}, {"status": 202, "headers": {}, "body": "no list yet"}):
        assert ask(given, body).proves_absence()


def test_an_error_in_the_head_of_an_empty_answer_is_an_error() -> None:
    rule = {"path": "header:x-error", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}
    empty = {"status": 204, "headers": {"X-Error": "upstream"}, "body": ""}
    result = ask({"errors": [rule], "empty_status": [204]}, empty)
    assert keys(result) == {"SOURCE_UNAVAILABLE:error_in_body"}
    assert result.items is None


@pytest.mark.parametrize("path", ["edges[*].node", "edges[].node", "data | edges[*].node", "edges[?cursor].node"])
def test_a_record_that_an_expression_would_pass_over_makes_its_page_malformed(path: str) -> None:
    given = profile(items=path if "|" not in path else "@ | edges[*].node")
    whole = {"edges": [{"cursor": "a", "node": {"id": 1}}, {"cursor": "b", "node": {"id": 2}}]}
    assert ask(given, {"status": 200, "headers": {}, "json": whole}).ids == (1, 2)
    for hole in ({"cursor": "b", "node": None}, {"cursor": "b"}):
        holed = {"edges": [whole["edges"][0], hole]}
        result = ask(given, {"status": 200, "headers": {}, "json": holed})
        assert keys(result) == {"PROTOCOL_ANOMALY:malformed_page"}


@pytest.mark.parametrize(
    "path",
    ["groups[].members[]", "groups[*].members[]", "groups[].members", "groups.*.members[]", "[groups[].members[]][]",
     "ok && groups[].members[]", "none || groups[].members[]", "not_null(none, groups[].members[])"],
)  # fmt: skip
def test_a_list_in_a_list_that_an_expression_would_pass_over_makes_its_page_malformed(path: str) -> None:
    for hole in ({"members": None}, {"error": "a shard that failed"}, {"members": [None]}):
        groups: Any = [{"members": [{"id": 1}]}, hole]
        body = {"groups": {"a": groups[0], "b": hole} if "groups." in path else groups, "ok": True}
        result = ask(profile(items=path), {"status": 200, "headers": {}, "json": body})
        assert keys(result) == {"PROTOCOL_ANOMALY:malformed_page"}


def test_an_expression_may_leave_out_what_it_filters_and_groups_of_which_it_says_that_they_may_be_empty() -> None:
    chosen = ask(profile(items="items[?kind == 'a']"), {
        "status": 200, "headers": {}, "json": {"items": [{"id": 1, "kind": "a"}, {"id": 2, "kind": "b"}]}})  # fmt: skip
    assert chosen.ids == (1,)
    grouped = {"groups": [{"members": [{"id": 1}]}, {}, {"members": []}, {"members": [{"id": 2}]}]}
    lenient = profile(items="groups[].not_null(members, `[]`)[]")
    assert ask(lenient, {"status": 200, "headers": {}, "json": grouped}).ids == (1, 2)


@pytest.mark.parametrize(
    "body",
    [
        b'{"items": [{"id": 1}], "next": "a", "next": null}',
        b'{"items": [{"id": 1}], "items": []}',
        b'{"data": {"page": {"more": true, "m\\u006fre": false}}, "items": []}',
    ],
)
def test_a_key_that_says_two_things_is_believed_in_neither(body: bytes) -> None:
    assert keys(raw(profile(), Response(200, (), body))) == {"PROTOCOL_ANOMALY:malformed_page"}
    with_errors = profile(errors=[{"path": "error", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}])
    assert keys(raw(with_errors, Response(200, (), body))) == {"PROTOCOL_ANOMALY:malformed_page"}


def test_a_key_that_says_one_thing_twice_is_believed() -> None:
    assert raw(profile(), Response(200, (), b'{"items": [{"id": 1}], "v": 1, "v": 1.0}')).complete


def test_a_relation_in_quotes_of_another_grammar_is_no_end() -> None:
    answer = Response(200, (("Link", "</things?page=2>; rel='next'"),), b'{"items": [{"id": 1}]}')
    given = profile({"by": "link", "where": "header"})
    assert keys(raw(given, answer)) == {"PROTOCOL_ANOMALY:malformed_link"}


def test_the_reason_of_a_failed_page_stays_apart_from_what_an_earlier_page_said() -> None:
    given = profile(signals=[{"path": "slow", "when": "nonempty", "code": "RATE_LIMITED"}])
    result = ask(given, page(1, next="a", slow=True), {"status": 429, "headers": {}, "json": {}})
    assert keys(result) == {"RATE_LIMITED", "RATE_LIMITED:page_failed"}


def test_a_value_whose_page_size_is_not_known_is_not_short() -> None:
    given = profile({**OFFSET, "ends_on": ["short_page"]}, **SIZED)
    value = {"items": [{"id": 1}, {"id": 2}]}
    assert codes(judge_value(given, value, resource="things")) == {"CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE"}
    assert judge_value(given, value, resource="things", page_size=3).complete
    assert not judge_value(given, value, resource="things", page_size=2).complete
    assert judge_value(given, {"items": []}, resource="things").complete
    probed = profile({"by": "single", "overfetch": 1}, **SIZED)
    assert codes(judge_value(probed, value, resource="things")) == {"COVERAGE_UNKNOWN"}


def test_a_value_as_long_as_was_asked_for_is_not_whole_though_the_source_has_a_higher_cap() -> None:
    """Whoever fetched the value sent a size, also where the profile does not say how one is sent."""
    value = {"items": [{"id": 1}, {"id": 2}]}
    for given in (profile({"by": "single", "cap": 100}), profile({"by": "single", "cap": 100}, **SIZED)):
        assert keys(judge_value(given, value, resource="things", page_size=2)) == {"CLIENT_LIMIT_REACHED:page_size"}
        assert judge_value(given, value, resource="things", page_size=3, filters={"limits": 2}).complete
    counted = profile({"by": "single"}, count={"path": "n", "kind": "exact"})
    assert judge_value(counted, {**value, "n": 2}, resource="things", page_size=2).complete
    inner = {"name": "things", "version": 1, "items": "items", "id": "id", "walk": {"by": "single", "cap": 100}}
    whole = load_profile({"name": "all", "version": 1, "walk": {"by": "fanout", "over": ["eu"], "inner": inner}})
    assert not judge_value(whole, value, resource="things", page_size=2).complete


def test_the_last_page_of_a_list_is_not_the_list() -> None:
    last = judge_value(profile(), {"items": [{"id": 9}]}, resource="things", from_the_start=False)
    assert last.status == "unknown"
    assert last.ids == (9,)
    dead = judge_value(profile(), {"oops": 1}, resource="things", from_the_start=False)
    assert keys(dead) == {"PROTOCOL_ANOMALY:malformed_page"}


def test_a_later_page_keeps_the_sources_that_it_names_as_missing() -> None:
    regions = [{"path": "dead", "when": "nonempty", "code": "SOURCE_UNAVAILABLE", "names_sources": True}]
    value = {"items": [{"id": 9}], "dead": ["eu", "us"]}
    last = judge_value(profile(signals=regions), value, resource="things", from_the_start=False)
    assert [(s.name, s.status, s.reasons) for s in last.sources] == [
        ("things", "partial", ("SOURCE_UNAVAILABLE", "COVERAGE_UNKNOWN")),
        ("eu", "unavailable", ("SOURCE_UNAVAILABLE",)),
        ("us", "unavailable", ("SOURCE_UNAVAILABLE",)),
    ]
    assert last.continuation.kind == "retry_sources"
    whole = judge_value(profile(), {"items": [{"id": 9}]}, resource="things", from_the_start=False)
    assert [(s.name, s.status, s.reasons) for s in whole.sources] == [("things", "unknown", ("COVERAGE_UNKNOWN",))]


IN_HEADERS: list[dict[str, Any]] = [
    {"walk": {"by": "link", "where": "header"}},
    {"walk": {"by": "link", "where": "body", "path": "header:x-next"}},
    {"walk": {**TOKEN, "read": "header:x-next"}},
    {"walk": {**TOKEN, "more_flag": "header:x-more"}},
    {"signals": [{"path": "header:x-partial", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}]},
    {"errors": [{"path": "header:x-error", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}]},
    {
        "walk": {"by": "key", "from_item": "id", "send": {"query": "after"}, "unique": True, "ends_on": ["short_page"]},
        "size": {"send": {"query": "limit"}, "max": 5, "read": "header:x-per-page"},
    },
    {
        "walk": {"by": "single", "overfetch": 1},
        "size": {"send": {"query": "limit"}, "max": 5, "read": "header:x-per-page"},
    },
    {
        "walk": {
            "by": "job", "state": "state", "running": ["RUN"], "ok": ["DONE"],
            "inner": {"by": "link", "where": "header"},
        }
    },
]  # fmt: skip


@pytest.mark.parametrize("changes", IN_HEADERS)
def test_a_value_is_not_whole_where_its_profile_looks_into_headers_that_no_value_has(changes: dict[str, Any]) -> None:
    for items in ([{"id": 1}, {"id": 2}], []):
        value = {"items": items, "state": "DONE"}
        result = judge_value(profile(**changes), value, resource="things", page_size=4)
        assert (keys(result), result.proof.level) == ({"COVERAGE_UNKNOWN"}, "none")
        inner = {"name": "things", "version": 1, "items": "items", "id": "id", "walk": TOKEN, **changes}
        several = {"name": "several", "version": 1, "walk": {"by": "fanout", "over": ["eu"], "inner": inner}}
        assert not judge_value(load_profile(several), value, resource="things", page_size=4).complete


def test_a_value_needs_no_header_that_proves_no_end() -> None:
    given = profile(
        size={"send": {"query": "limit"}, "max": 5, "read": "header:x-per-page"},
        count={"path": "header:x-total", "kind": "exact"}, snapshot={"path": "header:etag"},
    )  # fmt: skip
    assert judge_value(given, {"items": [{"id": 1}]}, resource="things").complete


@pytest.mark.parametrize("send", [{}, {"send": {"start": {"query": "from"}, "end": {"query": "to"}}}])
def test_no_status_says_of_a_value_that_a_range_is_the_whole(send: dict[str, Any]) -> None:
    value = {"items": [{"id": 1}, {"id": 2}]}
    walk = {"by": "range", "unit": "items", "size": 2, **send}
    dated = judge_value(profile(walk), value, resource="things", filters={"start": "2024-01-01", "end": None})
    assert keys(dated) == {"COVERAGE_UNKNOWN"}
    counted = profile({**walk, "size": 1, "total": "n"})
    assert judge_value(counted, {**value, "n": 2}, resource="things").complete
    assert "MORE_PAGES_AVAILABLE" in codes(judge_value(counted, {**value, "n": 3}, resource="things"))
    text = load_profile({"name": "text", "version": 1, "walk": {**walk, "unit": "bytes"}})
    assert keys(judge_value(text, "some text", resource="things")) == {"COVERAGE_UNKNOWN"}


def test_a_value_that_json_cannot_hold_makes_the_read_unavailable() -> None:
    ring: list[Any] = []
    ring.append(ring)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("\ud800", ring, deep, {"items": [10**5000]}):
        assert keys(judge_value(profile(), value, resource="things")) == {"TRANSPORT_TRUNCATED:invalid_json"}
