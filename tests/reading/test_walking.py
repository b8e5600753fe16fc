"""Each walk: where it goes, what ends it, and what it will not take for an end."""

from __future__ import annotations

from typing import Any

import pytest
from reading.asking import TOKEN, ask, codes, keys, page, profile, warned
from unabridged.profiles import Profile
from unabridged.testing import ScriptedTransport


def token(**changes: Any) -> Profile:
    return profile({**TOKEN, **changes})


def offset(*ends: str, unit: str = "item", origin: int = 0, **changes: Any) -> Profile:
    shared = {name: changes.pop(name) for name in ("size", "count", "order", "caps", "drop_ids") if name in changes}
    walk = {"by": "offset", "send": {"query": "at"}, "unit": unit, "origin": origin, "ends_on": list(ends), **changes}
    return profile(walk, **{"order": {"by": "id", "unique": True}, **shared})


def key(*ends: str, unique: bool = True, size: dict[str, Any] | None = None, **changes: Any) -> Profile:
    walk = {"by": "key", "from_item": "id", "send": {"query": "after"}, "unique": unique, "ends_on": list(ends)}
    return profile({**walk, **changes}, **({} if size is None else {"size": size}))


def single(size: dict[str, Any] | None = None, count: bool = False, **changes: Any) -> Profile:
    more: dict[str, Any] = {} if size is None else {"size": size}
    if count:
        more["count"] = {"path": "n", "kind": "exact"}
    return profile({"by": "single", **changes}, **more)


def test_absent_and_null_do_not_imply_each_other() -> None:
    assert ask(token(ends_on=["absent"]), page(1)).proof.end == "absent"
    assert keys(ask(token(ends_on=["absent"]), page(1, next=None))) == {"COVERAGE_UNKNOWN"}
    assert ask(token(ends_on=["null"]), page(1, next=None)).proof.end == "null"
    assert keys(ask(token(ends_on=["null"]), page(1))) == {"COVERAGE_UNKNOWN"}


def test_a_missing_parent_makes_a_token_absent() -> None:
    deep = token(read="meta.next", ends_on=["absent"])
    assert ask(deep, page(1)).complete
    assert ask(deep, page(1, meta={})).complete
    assert keys(ask(deep, page(1, meta={"next": None}))) == {"COVERAGE_UNKNOWN"}


@pytest.mark.parametrize("end", ["absent", "null"])
def test_for_an_expression_both_ends_match_null(end: str) -> None:
    walk = token(read="links[?rel=='next'].c | [0]", ends_on=[end])
    assert ask(walk, page(1)).complete
    assert ask(walk, page(1, links=[])).complete


def test_an_expression_that_cannot_be_evaluated_is_no_end() -> None:
    result = ask(token(read="length(next)", ends_on=["absent", "null"]), page(1))
    assert keys(result) == {"PROTOCOL_ANOMALY:malformed_page"}
    assert result.ids == (1,)


@pytest.mark.parametrize("zero", [0, 0.0, "0"])
def test_a_zero_ends_where_the_profile_says_so(zero: Any) -> None:
    assert ask(token(ends_on=["zero"]), page(1, next=zero)).proof.end == "zero"
    assert ask(token(), page(1, next=zero), page(2)).read.requests == 2


def test_false_and_an_empty_object_are_tokens() -> None:
    assert ask(token(ends_on=["absent", "zero"]), page(1, next=False), page(2)).complete
    assert ask(token(), page(1, next={}), page(2)).complete


def test_an_empty_page_ends_only_where_the_profile_says_so() -> None:
    assert ask(token(ends_on=["empty_page"]), page(1, next="a"), page(next="b")).proof.end == "empty_page"
    assert ask(token(), page(next="a"), page(1)).ids == (1,)


def test_padding_makes_a_page_neither_empty_nor_short() -> None:
    walk = profile({**TOKEN, "ends_on": ["empty_page"]}, drop_ids=[-1])
    assert ask(walk, page(1, next="a"), page(-1, next="b"), page(next="c")).ids == (1,)


def test_a_flag_is_a_boolean_or_one_of_two_texts_and_anything_else_says_nothing() -> None:
    walk = token(ends_on=["flag"], more_flag="more")
    for value in (False, "false"):
        assert ask(walk, page(1, more=value, next="x")).proof.end == "flag"
    for value in (True, "true"):
        assert keys(ask(walk, page(1, more=value))) == {"PROTOCOL_ANOMALY:continuation_missing"}
    for value in (0, "no", None, [], "FALSE"):
        assert keys(ask(walk, page(1, more=value))) == {"COVERAGE_UNKNOWN"}


def test_a_true_flag_without_a_token_is_an_anomaly_whatever_ends_on_says() -> None:
    walk = token(ends_on=["absent", "null", "zero", "empty"], more_flag="more")
    for more in ({}, {"next": None}, {"next": ""}, {"next": 0}):
        assert keys(ask(walk, page(1, more=True, **more))) == {"PROTOCOL_ANOMALY:continuation_missing"}


def test_the_token_just_sent_may_be_the_end_but_an_older_one_is_a_loop() -> None:
    walk = token(ends_on=["same_token"], repeated_token="end")
    assert ask(walk, page(1, next="a"), page(2, next="a")).proof.end == "same_token"
    looped = ask(walk, page(1, next="a"), page(2, next="b"), page(3, next="a"))
    assert keys(looped) == {"PROTOCOL_ANOMALY:cursor_repeated"}


def test_tokens_compare_as_json_values() -> None:
    assert ask({}, page(1, next=1), page(2, next="1"), page(3, next=True), page(4)).complete
    assert keys(ask({}, page(1, next=1), page(2, next=1.0))) == {"PROTOCOL_ANOMALY:cursor_repeated"}


def test_a_token_in_a_header_is_followed() -> None:
    script = ScriptedTransport([page(1, headers={"X-Next": "7"}), page(2)])
    assert ask(token(read="header:x-next"), script=script).complete
    assert dict(script.requests[1].pairs) == {"cursor": "7"}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"next": ""}, "malformed_link"),
        ({"next": 7}, "malformed_link"),
        ({"next": ["/x"]}, "malformed_link"),
        ({"next": "https://user:pw@api.example/x"}, "cross_origin_link"),
        ({"next": "https://elsewhere.example/x"}, "cross_origin_link"),
        ({"next": "http://api.example/x"}, "cross_origin_link"),
        ({"next": "//evil.example/x"}, "cross_origin_link"),
        ({"next": "https://api.example/things"}, "cursor_repeated"),
        ({"next": "ftp://api.example/x"}, "malformed_link"),
    ],
)
def test_a_body_link_that_leads_nowhere_good_is_not_followed(more: dict[str, Any], reason: str) -> None:
    result = ask(profile({"by": "link", "where": "body", "path": "next"}), page(1, **more))
    expected = "malformed_link" if "user:pw" in str(more) else reason
    assert keys(result) == {f"PROTOCOL_ANOMALY:{expected}"}
    assert result.ids == (1,)
    assert result.continuation.kind == "none"


def test_two_next_links_contradict_each_other() -> None:
    header = {"Link": '</a>; rel="next", </b>; rel="next"'}
    result = ask(profile({"by": "link", "where": "header"}), page(1, headers=header))
    assert keys(result) == {"PROTOCOL_ANOMALY:contradictory_signals"}


def test_a_link_that_was_sent_before_is_a_loop() -> None:
    walk = profile({"by": "link", "where": "body", "path": "next"})
    result = ask(walk, page(1, next="/b"), page(2, next="/c"), page(3, next="/b"))
    assert keys(result) == {"PROTOCOL_ANOMALY:cursor_repeated"}


@pytest.mark.parametrize("where", ["link", "offset", "key"])
def test_a_page_that_brings_nothing_new_stops_a_walk_that_could_go_round_for_ever(where: str) -> None:
    if where == "link":
        walk, more = profile({"by": "link", "where": "body", "path": "next"}), {"next": "/b"}
        last = page(1, next="/c")
    else:
        walk, more = (offset("empty_page"), {}) if where == "offset" else (key("empty_page"), {})
        last = page(1)
    result = ask(walk, page(1, **more), last)
    assert "PROTOCOL_ANOMALY:cursor_repeated" in keys(result)
    assert result.read.duplicates == 1


def test_a_key_walk_goes_on_from_the_last_record() -> None:
    script = ScriptedTransport([page(1, 2, more=True), page(3, more=False)])
    result = ask(key("flag", more_flag="more"), script=script)
    assert result.complete
    assert [dict(request.pairs) for request in script.requests] == [{}, {"after": "2"}]


def test_a_key_walk_without_a_key_to_go_on_from_stops() -> None:
    walk = key("flag", more_flag="more", from_item="seq")
    assert keys(ask(walk, page(1, more=True))) == {"PROTOCOL_ANOMALY:continuation_missing"}
    assert keys(ask(walk, page(more=True))) == {"PROTOCOL_ANOMALY:contradictory_signals"}


def test_a_key_that_is_not_unique_proves_nothing_over_several_pages() -> None:
    walk = key("flag", more_flag="more", unique=False)
    assert ask(walk, page(1, more=False)).complete
    result = ask(walk, page(1, more=True), page(2, more=False))
    assert result.status == "unknown"
    assert warned(result) == {"ORDER_NOT_UNIQUE"}


def test_a_short_page_ends_only_below_the_size_sent_and_the_size_used() -> None:
    size = {"send": {"query": "n"}, "max": 3, "read": "used"}
    walk = key("short_page", size=size)
    assert ask(walk, page(1, 2, 3), page(4)).proof.end == "short_page"
    lowered = ask(walk, page(1, 2, used=2), page(3, used=2))
    assert lowered.complete
    assert lowered.read.requests == 2


@pytest.mark.parametrize(("unit", "origin", "places"), [("item", 0, "013"), ("item", 1, "124"), ("page", 1, "123")])
def test_an_offset_walk_always_sends_its_place(unit: str, origin: int, places: str) -> None:
    script = ScriptedTransport([page(1), page(2, 3), page()])
    assert ask(offset("empty_page", unit=unit, origin=origin), script=script).complete
    assert [dict(request.pairs)["at"] for request in script.requests] == list(places)


def test_a_total_ends_an_offset_walk_and_a_missing_one_leaves_the_coverage_unknown() -> None:
    walk = offset("total", total="n")
    assert ask(walk, page(1, 2, n=3), page(3, n=3)).proof.level == "counted"
    assert keys(ask(walk, page(1, 2))) == {"COVERAGE_UNKNOWN"}
    assert keys(ask(walk, page(1, 2, n=3), page(3))) == {"COVERAGE_UNKNOWN"}
    assert keys(ask(walk, page(n=3))) == {"PROTOCOL_ANOMALY:contradictory_signals"}


@pytest.mark.parametrize("kind", ["lower_bound", "estimate", "capped", "page"])
def test_a_total_that_bounds_nothing_from_above_ends_nothing(kind: str) -> None:
    walk = offset("total", total="n", count={"path": "n", "kind": kind})
    result = ask(walk, page(1, 2, n=2))
    assert result.status == "unknown"


def test_a_total_counts_raw_records_in_a_walk_by_pages() -> None:
    walk = offset("total", total="n", unit="page", drop_ids=[-1])
    assert keys(ask(walk, page(1, -1, n=3), page(3, n=3))) == {"CONSISTENCY_LOST:count_mismatch"}
    assert ask(offset("total", total="n", unit="page"), page(1, 2, n=3), page(3, n=3)).complete


def test_an_empty_page_with_more_to_come_contradicts_a_walk_that_would_stand_still() -> None:
    result = ask(offset("total", total="n"), page(1, n=5), page(n=5))
    assert keys(result) == {"PROTOCOL_ANOMALY:contradictory_signals"}
    pages = offset("flag", unit="page", last_flag="last")
    assert ask(pages, page(1, last=False), page(last=False), page(2, last=True)).complete


def test_a_walk_that_advances_by_the_size_asked_uses_what_the_server_says() -> None:
    size = {"send": {"query": "n"}, "max": 5, "read": "used"}
    script = ScriptedTransport([page(1, used=3), page(2, used=3), page()])
    assert ask(offset("empty_page", advance="requested", size=size), script=script).complete
    assert [dict(request.pairs)["at"] for request in script.requests] == ["0", "3", "6"]


def test_an_order_that_is_not_total_proves_nothing_over_several_pages_unless_a_count_does() -> None:
    loose = {"order": {"by": "created_at"}}
    result = ask(offset("empty_page", **loose), page(1), page(2), page())
    assert result.status == "unknown"
    assert warned(result) == {"ORDER_NOT_UNIQUE"}
    counted = ask(offset("empty_page", **loose, count={"path": "n", "kind": "exact"}), page(1, n=2), page(2, n=2),
                  page(n=2))  # fmt: skip
    assert counted.complete
    assert warned(counted) == set()
    assert ask(offset("total", total="n", **loose), page(1, 2, n=2)).complete


def test_a_window_is_never_left() -> None:
    walk = offset("empty_page", caps=[{"limit": 4, "on": "window"}])
    script = ScriptedTransport([page(1, 2), page(3, 4)])
    result = ask(walk, script=script)
    assert keys(result) == {"RESULT_LIMIT_REACHED:result_window"}
    assert result.continuation.to_wire() == {"kind": "narrow_query", "axis": "id", "limit": 4}
    assert len(script.requests) == 2


SIZE = {"send": {"query": "n"}, "max": 10}


@pytest.mark.parametrize(
    ("walk", "answer", "asked", "reasons"),
    [
        (single(), page(1), {}, {"COVERAGE_UNKNOWN"}),
        (single(cap=3), page(1, 2), {}, set()),
        (single(cap=3), page(), {}, set()),
        (single(cap=3), page(1, 2, 3), {}, {"RESULT_LIMIT_REACHED:source_cap"}),
        (single(cap=3, count=True), page(1, 2, 3, n=3), {}, set()),
        (single(cap=3, count=True), page(1, 2, n=3), {}, {"CONSISTENCY_LOST:count_mismatch"}),
        (single(count=True), page(1, 2, n=2), {}, set()),
        (single(count=True), page(1, 2, n=9), {}, {"COVERAGE_UNKNOWN"}),
        (single(exact_flag="exact"), page(1, exact=True), {}, set()),
        (single(exact_flag="exact"), page(1, exact=False), {}, {"APPROXIMATE_METHOD:top_k"}),
        (single(exact_flag="exact"), page(1), {}, {"APPROXIMATE_METHOD:top_k"}),
        (single(exact_flag="exact"), page(1, exact=1), {}, {"APPROXIMATE_METHOD:top_k"}),
        (single(exact_flag="exact", cap=1), page(1, exact=True), {}, {"RESULT_LIMIT_REACHED:source_cap"}),
        (single(exact_flag="exact", cap=1), page(1), {},
         {"APPROXIMATE_METHOD:top_k", "RESULT_LIMIT_REACHED:source_cap"}),
        (single(cap=9, size=SIZE), page(1, 2), {"page_size": 2}, {"CLIENT_LIMIT_REACHED:page_size"}),
        (single(cap=9, size=SIZE, count=True), page(1, 2, n=2), {"page_size": 2}, set()),
        (single(cap=9, size=SIZE), page(1), {"page_size": 2}, set()),
        (single(size=SIZE, overfetch=1), page(1, 2), {"page_size": 2}, set()),
        (single(size=SIZE, overfetch=1), page(1, 2, 3), {"page_size": 2}, {"CLIENT_LIMIT_REACHED:page_size"}),
    ],
)  # fmt: skip
def test_a_bounded_answer_is_whole_only_where_something_says_so(
    walk: Profile, answer: dict[str, Any], asked: dict[str, Any], reasons: set[str]
) -> None:
    assert keys(ask(walk, answer, **asked)) == reasons


def test_an_overfetch_is_asked_for_within_the_maximum_and_trimmed() -> None:
    script = ScriptedTransport([page(*range(10))])
    result = ask(single(size=SIZE, overfetch=2), script=script, page_size=50)
    assert dict(script.requests[0].pairs) == {"n": "10"}
    assert result.returned == 8
    assert result.continuation.kind == "read_more"
    assert warned(result) == {"PARAMETER_ADJUSTED"}


def test_a_silent_cap_is_reached_by_raw_records_and_disproved_by_an_exact_count_only() -> None:
    caps = {"caps": [{"limit": 3, "on": "items"}]}
    assert codes(ask(caps, page(1, 2, 2))) == {"RESULT_LIMIT_REACHED"}
    counted = {**caps, "count": {"path": "n", "kind": "exact"}}
    assert ask(counted, page(1, 2, 3, n=3)).complete
    assert codes(ask({**caps, "count": {"path": "n", "kind": "capped"}}, page(1, 2, 3, n=3))) == {
        "RESULT_LIMIT_REACHED"
    }
    on_page = {"caps": [{"limit": 2, "on": "page"}]}
    assert ask(on_page, page(1, 2, next="a"), page(3)).complete
    assert keys(ask(on_page, page(1, next="a"), page(2, 3))) == {"RESULT_LIMIT_REACHED:page_cap"}
