"""Limits of the scope that a request lifts (`unless`), and limits of a combinator."""

from __future__ import annotations

from typing import Any

import pytest
from reading.asking import URL, codes, page, profile
from unabridged.contract import ProfileError, ReadResult, resume_of
from unabridged.profiles import load_profile
from unabridged.profiles.words import incomplete_when, remarks
from unabridged.reading import Budget, Query, Resume, run_read
from unabridged.reading.run import finish_read
from unabridged.testing import ScriptedTransport, VirtualClock

HOUR: dict[str, Any] = {"window": "the last hour", "unless": {"path": "query.start", "when": "nonempty"}}
BIN: dict[str, Any] = {"excludes": "the bin", "unless": {"path": "query.bin", "when": {"equals": "true"}}}
TIER: dict[str, Any] = {"excludes": "archives", "unless": {"path": "body.filter.tier", "when": {"in": ["all", 3]}}}
DEFAULT: dict[str, Any] = {**HOUR, "warning": "DEFAULT_SCOPE_APPLIED"}
END: dict[str, Any] = page("a", next=None)


def read(rules: Any, *exchanges: dict[str, Any], url: str = URL, **filters: Any) -> ReadResult:
    used = load_profile(rules) if isinstance(rules, dict) else rules
    clock = VirtualClock()
    transport = ScriptedTransport(exchanges or (END,), clock=clock)
    query = Query("things", filters=filters)
    return run_read(used, query, url=url, transport=transport, clock=clock, budget=Budget.unlimited())


LINK: dict[str, Any] = {"by": "link", "where": "body", "path": "next"}
LINE: dict[str, Any] = {"status": 200, "headers": {}, "body": '{"id": "a"}\n{"id": "z", "done": true}\n'}
WALKS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (profile(LINK), page("a")),
    (profile({"by": "single", "cap": 9}), page("a")),
    (profile({"by": "stream", "terminator": "done"}, items="@"), LINE),
)


@pytest.mark.parametrize(
    "address",
    [
        "?page=2", "?a=1&Page=3", "?page[number]=4", "?page%5Bnumber%5D=4", "?offset=20", "?cursor=c2", "?$skip=10",
        "?%24skiptoken=x", "?page_info=x", "?pageToken=x", "?startAt=50", "?page=1&page=2", "?page=last",
    ],
)  # fmt: skip
def test_an_address_in_mid_list_is_never_one_of_the_whole_list(address: str) -> None:
    for used, answer in WALKS:
        result = read(used, answer, url=URL + address)
        assert (result.status, codes(result), result.ids) == ("partial", {"SCOPE_NARROWED"}, ("a",))
        assert result.scope.excludes == ("what stands before the page that was asked for",)
        assert result.continuation.kind == "widen_scope"


@pytest.mark.parametrize(
    ("address", "filters"),
    [
        ("", {}), ("?page=1", {}), ("?page=0", {}), ("?page=", {}), ("?offset=0", {}), ("?$skip=0", {}),
        ("?after=2026-01-01", {}), ("?start=x", {}), ("?subpage=2", {}), ("?q=page%3D2", {}), ("", {"page": "home"}),
        ("?startAt=2026-01-01", {}), ("?startAt=2026-01-01T08%3A00%3A00Z", {}),
    ],
)  # fmt: skip
def test_an_address_that_begins_with_the_first_page_is_one_of_the_whole_list(
    address: str, filters: dict[str, Any]
) -> None:
    for used, answer in WALKS:
        assert read(used, answer, url=URL + address, **filters).complete


@pytest.mark.parametrize(
    ("limit", "address", "filters"),
    [
        (HOUR, "?start=1", {}),
        (HOUR, "", {"start": "1"}),
        (HOUR, "", {"start": 1}),
        (HOUR, "?start=1&start=1", {}),
        (BIN, "?bin=true", {}),
        (BIN, "?%62in=t%72ue", {}),
        (BIN, "", {"bin": True}),
    ],
)
def test_a_limit_that_the_request_lifts_is_none(limit: dict[str, Any], address: str, filters: dict[str, Any]) -> None:
    result = read(profile(scope=[limit]), url=URL + address, **filters)
    assert (result.status, result.scope.window, result.scope.excludes) == ("complete", None, ())


@pytest.mark.parametrize(
    ("limit", "address", "filters"),
    [
        (HOUR, "", {}),
        (HOUR, "?start=", {}),
        (HOUR, "?Start=1", {}),
        (HOUR, "?start=1&start=2", {}),
        (HOUR, "?a=start%3D1", {}),
        (HOUR, "#start=1", {}),
        (HOUR, "", {"start": None}),
        (HOUR, "", {"start": []}),
        (HOUR, "", {"start": [1, 2]}),
        (BIN, "?bin=false", {}),
        (BIN, "?bin=TRUE", {}),
        (BIN, "?bin=1", {}),
        (TIER, "?tier=all", {}),
    ],
)
@pytest.mark.parametrize("last", [END, page(next=None)], ids=["items", "empty"])
def test_a_limit_that_the_request_does_not_lift_narrows_the_read(
    limit: dict[str, Any], address: str, filters: dict[str, Any], last: dict[str, Any]
) -> None:
    result = read(profile(scope=[limit]), last, url=URL + address, **filters)
    assert (result.status, codes(result), result.continuation.kind) == ("partial", {"SCOPE_NARROWED"}, "widen_scope")
    assert result.scope.window == limit.get("window")
    assert not result.proves_absence()


@pytest.mark.parametrize(("tier", "status"), [("all", "complete"), (3, "complete"), ("3", "partial"), ("x", "partial")])
def test_a_value_in_the_body_is_compared_as_json(tier: Any, status: str) -> None:
    made = profile(scope=[TIER], filters={"tier": {"body": "filter.tier"}})
    assert read(made, tier=tier).status == status


def test_a_default_that_the_request_lifts_is_no_warning() -> None:
    told, lifted = read(profile(scope=[DEFAULT])), read(profile(scope=[DEFAULT]), start="1")
    assert [warning.code for warning in told.warnings] == ["DEFAULT_SCOPE_APPLIED"]
    assert (told.status, told.scope.window) == ("complete", "the last hour")
    assert (lifted.warnings, lifted.scope.window) == ((), None)


def test_one_limit_is_lifted_and_another_stands() -> None:
    result = read(profile(scope=[HOUR, BIN]), start="1")
    assert (codes(result), result.scope.window, result.scope.excludes) == ({"SCOPE_NARROWED"}, None, ("the bin",))


def test_a_path_that_cannot_be_evaluated_lifts_nothing() -> None:
    limit = {**HOUR, "unless": {"path": "contains(query.kinds, 'im')", "when": {"expr": True}}}
    assert codes(read(profile(scope=[limit]))) == {"SCOPE_NARROWED"}
    assert read(profile(scope=[limit]), kinds="im").complete


def test_what_a_walk_adds_from_page_to_page_lifts_nothing() -> None:
    limit = {**HOUR, "unless": {"path": "query.cursor", "when": "nonempty"}}
    assert codes(read(profile(scope=[limit]), page("a", next="n"), page("b", next=None))) == {"SCOPE_NARROWED"}


@pytest.mark.parametrize(("filters", "left"), [({}, {"SCOPE_NARROWED"}), ({"start": "1"}, set())])
def test_a_read_that_goes_on_stays_within_its_limits(filters: dict[str, Any], left: set[str]) -> None:
    clock = VirtualClock()
    transport = ScriptedTransport([page("a", next="n"), page("b", next=None)], clock=clock)
    query, budget = Query("things", filters=filters), Budget.unlimited(max_pages=1)
    first = run_read(profile(scope=[HOUR]), query, url=URL, transport=transport, clock=clock, budget=budget)
    resume = resume_of(first)
    assert isinstance(resume, Resume)
    assert codes(finish_read(resume, transport=transport)) == left


@pytest.mark.parametrize(
    ("unless", "where"),
    [
        ({"path": "canary[", "when": "nonempty"}, "unless.path"),
        ({"path": "header:canary", "when": "nonempty"}, "unless.path"),
        ({"path": "query.a"}, "unless.when"),
        ({"when": "nonempty"}, "unless.path"),
        ({"path": "query.a", "when": "canary"}, "unless.when"),
        ({"path": "query.a", "when": "nonempty", "canary": 1}, "unless.canary"),
        ("canary", "unless"),
    ],
)
def test_a_broken_condition_is_refused_by_its_key_and_never_by_its_value(unless: Any, where: str) -> None:
    with pytest.raises(ProfileError) as caught:
        profile(scope=[{"window": "90 days", "unless": unless}])
    assert str(caught.value.field).startswith("scope.0")
    assert where in str(caught.value.field)
    assert "canary" not in str(caught.value.rule)


def test_the_explanation_names_what_lifts_a_limit() -> None:
    document = {"walk": {"by": "single"}, "scope": [BIN, DEFAULT]}
    lines = [*incomplete_when(document), *remarks(document)]
    assert 'SCOPE_NARROWED: excludes "the bin", unless `query.bin` of the request is "true"' in lines
    assert any("unless `query.start` of the request is not empty" in line for line in lines)


# combinators

INNER: dict[str, Any] = {
    "name": "inner", "version": 1, "items": "items", "id": "id",
    "walk": {"by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["null"], "empty_token": "illegal",
             "repeated_token": "anomaly"},
}  # fmt: skip
COUNT: dict[str, Any] = {
    "name": "count", "version": 1, "walk": {"by": "single"}, "count": {"path": "n", "kind": "exact"},
}  # fmt: skip
FANOUT: dict[str, Any] = {"by": "fanout", "over": ["eu"]}
PARTITION: dict[str, Any] = {
    "by": "partition", "axis": "at", "cap": 10, "count": COUNT,
    "parts": {"from": 0, "to": 4, "send": {"from": {"query": "ge"}, "to": {"query": "lt"}}},
}  # fmt: skip
COUNTED: dict[str, Any] = {"status": 200, "headers": {}, "json": {"n": 1}}


def combined(walk: dict[str, Any], *, outer: list[Any], inner: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    made = {"name": "all", "version": 1, "walk": {**walk, "inner": {**INNER, "scope": inner}}, "scope": outer}
    return made, [END] if walk is FANOUT else [COUNTED, END]


@pytest.mark.parametrize("walk", [FANOUT, PARTITION], ids=["fanout", "partition"])
@pytest.mark.parametrize("at", ["outer", "inner"])
def test_a_limit_of_a_combinator_is_a_limit_of_each_of_its_parts(walk: dict[str, Any], at: str) -> None:
    made, served = combined(walk, **{"outer": [], "inner": [], at: [{"window": "90 days"}]})
    result = read(made, *served)
    assert (result.status, codes(result), result.scope.window) == ("partial", {"SCOPE_NARROWED"}, "90 days")


@pytest.mark.parametrize("walk", [FANOUT, PARTITION], ids=["fanout", "partition"])
def test_a_warning_of_a_combinator_is_told(walk: dict[str, Any]) -> None:
    made, served = combined(walk, outer=[{"window": "90 days", "warning": "DEFAULT_SCOPE_APPLIED"}], inner=[])
    result = read(made, *served)
    assert (result.status, result.scope.window) == ("complete", "90 days")
    assert "DEFAULT_SCOPE_APPLIED" in {warning.code for warning in result.warnings}


@pytest.mark.parametrize("walk", [FANOUT, PARTITION], ids=["fanout", "partition"])
@pytest.mark.parametrize("at", ["outer", "inner"])
def test_a_combinators_limit_is_lifted_by_what_its_parts_ask_for(walk: dict[str, Any], at: str) -> None:
    made, served = combined(walk, **{"outer": [], "inner": [], at: [HOUR]})
    assert read(made, *served).status == "partial"
    lifted = read(made, *served, start="1")
    assert (lifted.status, lifted.scope.window) == ("complete", None)


def test_the_bounds_of_a_part_are_asked_for() -> None:
    limit = {"window": "the last hour", "unless": {"path": "query.ge", "when": "nonempty"}}
    made, served = combined(PARTITION, outer=[limit], inner=[])
    result = read(made, *served)
    assert (result.status, result.scope.window) == ("complete", None)


def test_a_limit_may_look_at_the_path_of_the_address() -> None:
    limit = {"excludes": "the rest", "unless": {"path": "ends_with(path, '/things')", "when": {"expr": True}}}
    assert read(profile(scope=[limit])).complete
    assert codes(read(profile(scope=[limit]), url="https://api.example/things/old")) == {"SCOPE_NARROWED"}


# absent

LOST: dict[str, Any] = {"path": "header:link", "when": "absent", "code": "COVERAGE_UNKNOWN"}


@pytest.mark.parametrize(
    ("signal", "last", "hears"),
    [
        (LOST, page("a", next=None), True),
        (LOST, page("a", next=None, headers={"Link": "<x>; rel=next"}), False),
        (LOST, page("a", next=None, headers={"link": ""}), False),
        ({**LOST, "path": "meta.status"}, page("a", next=None), True),
        ({**LOST, "path": "meta.status"}, page("a", next=None, meta={}), True),
        ({**LOST, "path": "meta.status"}, page("a", next=None, meta={"status": None}), False),
        ({**LOST, "path": "meta.status || `null`"}, page("a", next=None), False),
    ],
)
def test_absent_means_that_nothing_stands_there(signal: dict[str, Any], last: dict[str, Any], hears: bool) -> None:
    result = read(profile(signals=[signal]), last)
    assert (result.status, codes(result)) == (("unknown", {"COVERAGE_UNKNOWN"}) if hears else ("complete", set()))


def test_what_is_absent_names_no_sources() -> None:
    with pytest.raises(ProfileError, match="names_sources"):
        profile(signals=[{**LOST, "names_sources": True}])


@pytest.mark.parametrize("when", ["canary", {"absent": True}, {"nonempty": True}, ["absent"], None])
def test_a_condition_of_another_form_is_refused_without_its_value(when: Any) -> None:
    with pytest.raises(ProfileError) as caught:
        profile(signals=[{**LOST, "when": when}])
    assert "canary" not in str(caught.value)


def test_the_explanation_says_what_is_missing() -> None:
    (line,) = incomplete_when({"walk": {"by": "single"}, "signals": [LOST]})
    assert line == "COVERAGE_UNKNOWN where `header:link` is missing"
