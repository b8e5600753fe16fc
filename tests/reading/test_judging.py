"""The judge: signals, counts, snapshots, duplicates and cuts, and what each of them means."""

from __future__ import annotations

from typing import Any

import pytest
from reading.asking import TOKEN, ask, codes, keys, page, warned

SIGNAL: dict[str, Any] = {"path": "bad", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}


def signal(**changes: Any) -> dict[str, Any]:
    return {"signals": [{**SIGNAL, **changes}]}


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_signal_counts_on_whichever_page_it_stands(at: int) -> None:
    pages = [page(1, next="a"), page(2, next="b"), page()]
    pages[at]["json"]["bad"] = True
    result = ask(signal(), *pages)
    assert keys(result) == {"SOURCE_UNAVAILABLE"}
    assert result.reasons[0].native == {"bad": True}


def test_a_signal_that_cannot_be_evaluated_is_not_taken_for_silence() -> None:
    rule = signal(path="sum([ok, skipped]) < total", when={"expr": True})
    assert ask(rule, page(1, ok=1, skipped=0, total=1)).complete
    assert keys(ask(rule, page(1, ok=1, total=1))) == {"PROTOCOL_ANOMALY:unknown_value"}


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (["s3", "s7", "s3"], ["s3", "s7"]),
        ({"s3": {"why": "down"}}, ["s3"]),
        ("s3", ["s3"]),
        (["zone b", "s7"], ["source-1", "s7"]),
        ([{"name": "s3"}], ["source-1"]),
    ],
)
def test_sources_that_a_page_names_are_unavailable_with_a_reason_each(value: Any, names: list[str]) -> None:
    result = ask(signal(names_sources=True), page(1, bad=value))
    assert [(s.name, s.status) for s in result.sources] == [
        ("things", "partial"),
        *((name, "unavailable") for name in names),
    ]
    assert [reason.source for reason in result.reasons] == names
    assert result.continuation.kind == "retry_sources"
    assert list(result.continuation.names) == names


def test_a_warning_leaves_a_read_complete_and_carries_its_owner() -> None:
    rule = {"signals": [{"path": "lag", "when": {"gt": 5}, "warning": "STALE_INDEX", "owner": "search-team",
                         "expires": "2027-03-01"}]}  # fmt: skip
    result = ask(rule, page(1, lag=9))
    assert result.complete
    notice = result.warnings[0]
    assert (notice.code, notice.observed, notice.owner, notice.expires) == (
        "STALE_INDEX", {"lag": 9}, "search-team", "2027-03-01",
    )  # fmt: skip


def count(kind: str = "exact", **more: Any) -> dict[str, Any]:
    return {"count": {"path": "n", "kind": kind, **more}}


@pytest.mark.parametrize(
    ("kind", "n", "reasons"),
    [
        ("exact", 2, set()),
        ("exact", 1, {"CONSISTENCY_LOST:count_mismatch"}),
        ("exact", 3, {"CONSISTENCY_LOST:count_mismatch"}),
        ("lower_bound", 1, set()),
        ("lower_bound", 2, set()),
        ("lower_bound", 3, {"CONSISTENCY_LOST:count_mismatch"}),
        ("estimate", 9, set()),
        ("capped", 9, set()),
        ("page", 9, set()),
        ("before_permissions", 2, set()),
        ("before_permissions", 1, set()),
        ("before_permissions", 3, {"VISIBILITY_RESTRICTED:count_before_permissions"}),
    ],
)
def test_a_count_is_judged_by_its_kind_at_a_proven_end(kind: str, n: int, reasons: set[str]) -> None:
    result = ask(count(kind), page(1, 2, n=n))
    assert keys(result) == reasons
    assert (result.total.value, result.total.kind) == (n, kind)
    assert ("COUNT_NOT_EXACT" in warned(result)) == (kind not in ("exact", "page"))


@pytest.mark.parametrize("n", [None, -1, 2.5, "2", True, [2]])
def test_a_count_that_is_no_number_of_records_is_not_stated(n: Any) -> None:
    result = ask(count(), page(1, 2, n=n))
    assert result.complete
    assert result.total.kind == "unknown"
    assert result.proof.level == "end_marker"


def test_a_count_at_its_ceiling_is_capped() -> None:
    assert ask(count(cap=5), page(1, n=5)).total.kind == "capped"
    assert keys(ask(count(cap=5), page(1, n=4))) == {"CONSISTENCY_LOST:count_mismatch"}


def test_a_relation_that_the_profile_does_not_know_makes_no_count() -> None:
    rule = {"count": {"path": "n", "kind_from": {"path": "exact", "true": "exact", "false": "estimate"}}}
    assert ask(rule, page(1, n=1, exact=True)).proof.level == "counted"
    assert ask(rule, page(1, n=9, exact=False)).complete
    assert ask(rule, page(1, n=9, exact="maybe")).total.kind == "unknown"
    assert ask(rule, page(1, n=9)).total.kind == "unknown"


def test_exact_counts_that_differ_lose_consistency_and_others_only_warn() -> None:
    assert "CONSISTENCY_LOST:total_changed" in keys(ask(count(), page(1, next="a", n=3), page(2, n=2)))
    result = ask(count("estimate"), page(1, next="a", n=3), page(2, n=2))
    assert result.complete
    assert warned(result) == {"COUNT_NOT_EXACT", "COUNT_CHANGED"}
    assert warned(ask(count("page"), page(1, next="a", n=3), page(2, n=2))) == set()


def test_a_shortfall_is_explained_by_a_dead_source_but_not_by_a_cut_field() -> None:
    rules = {**count(), **signal(), "item_cuts": [{"path": "cut", "when": {"equals": True}, "why": "abridged"}]}
    assert keys(ask(rules, page(1, n=3, bad=True))) == {"SOURCE_UNAVAILABLE"}
    cut = {"status": 200, "headers": {}, "json": {"items": [{"id": 1, "cut": True}], "n": 3}}
    assert keys(ask(rules, cut)) == {"ITEM_TRUNCATED", "CONSISTENCY_LOST:count_mismatch"}
    more = ask(rules, page(1, 2, n=1, bad=True))
    assert keys(more) == {"SOURCE_UNAVAILABLE", "CONSISTENCY_LOST:count_mismatch"}


SNAPSHOT = {"snapshot": {"path": "rev"}}


def test_one_snapshot_on_every_page_is_a_snapshot() -> None:
    result = ask(SNAPSHOT, page(1, next="a", rev="r1"), page(2, rev="r1"))
    assert (result.consistency, result.proof.level, result.scope.snapshot) == ("snapshot", "snapshot", "r1")


def test_a_snapshot_missing_on_a_page_is_no_loss_and_no_proof() -> None:
    result = ask(SNAPSHOT, page(1, next="a", rev="r1"), page(2))
    assert (result.status, result.consistency, result.scope.snapshot) == ("complete", "interval", None)


def test_a_snapshot_that_changes_loses_consistency_even_if_it_changes_back() -> None:
    result = ask(SNAPSHOT, page(1, next="a", rev="r1"), page(2, next="b", rev="r2"), page(3, rev="r1"))
    assert keys(result) == {"CONSISTENCY_LOST:snapshot_changed"}
    assert result.consistency == "not_established"
    assert result.continuation.kind == "restart_scan"


def test_a_snapshot_value_that_is_no_token_stands_as_a_digest_that_is_equal_when_it_is() -> None:
    one = ask(SNAPSHOT, page(1, rev="a long text, with blanks"))
    two = ask(SNAPSHOT, page(1, rev="a long text, with blanks"))
    other = ask(SNAPSHOT, page(1, rev={"a": 1}))
    assert one.scope.snapshot == two.scope.snapshot != other.scope.snapshot
    assert "long text" not in str(one.to_wire())
    assert str(one.scope.snapshot).startswith("sha256:")


def test_one_page_without_a_snapshot_is_an_interval() -> None:
    assert ask({}, page(1)).consistency == "interval"


def record(one: Any, **more: Any) -> dict[str, Any]:
    return {"id": one, **more}


def served(*records: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"status": 200, "headers": {}, "json": {"items": list(records), **more}}


def test_the_later_version_of_a_record_wins_in_its_place() -> None:
    result = ask(count(), served(record(1, v=1), record(2), next="a", n=3), served(record(1, v=2), record(3), n=3))
    assert result.complete
    assert result.items == [{"id": 1, "v": 2}, {"id": 2}, {"id": 3}]
    assert result.read.duplicates == 1
    assert warned(result) == {"DUPLICATES_REMOVED"}


def test_a_duplicate_across_pages_loses_consistency_unless_a_count_or_the_profile_says_otherwise() -> None:
    pages = (page(1, 2, next="a"), page(2, 3))
    assert keys(ask({}, *pages)) == {"CONSISTENCY_LOST:duplicate_ids"}
    expected = ask({"duplicates": "expected"}, *pages)
    assert expected.complete
    assert warned(expected) == {"DUPLICATES_REMOVED"}
    assert expected.ids == (1, 2, 3)


def test_a_duplicate_inside_a_page_is_a_warning() -> None:
    result = ask({}, served(record(1, v=1), record(1, v=2), record(2)))
    assert result.complete
    assert result.items == [{"id": 1, "v": 2}, {"id": 2}]
    assert warned(result) == {"DUPLICATES_REMOVED"}


def test_ids_compare_as_json_values_whatever_their_types() -> None:
    result = ask({}, served(*(record(one) for one in (1, "1", True, "true", 1.5, [1], {"a": 1}, "x"))))
    assert result.complete
    assert result.returned == 8
    twice = ask({}, served(record(1), record(1.0), record([1, {"a": 2}]), record([1.0, {"a": 2}])))
    assert twice.returned == 2
    assert twice.read.duplicates == 2


def test_cuts_name_item_field_and_kind_and_only_some_make_a_read_partial() -> None:
    def cut(why: str) -> dict[str, Any]:
        return {"item_cuts": [{"path": "mark", "when": {"equals": True}, "field": "text", "why": why}]}

    for why, reason in (
        ("abridged", {"ITEM_TRUNCATED"}), ("source_failed", {"ITEM_TRUNCATED"}),
        ("no_access", {"VISIBILITY_RESTRICTED:field"}), ("not_requested", set()), ("absent", set()),
    ):  # fmt: skip
        result = ask(cut(why), served(record("a", mark=True), record("b", mark=False), record("c")))
        assert keys(result) == reason
        assert [(c.item, c.field, c.why) for c in result.item_cuts] == [("a", "text", why)]
    fetch = ask(cut("abridged"), served(record("a", mark=True)))
    assert fetch.continuation.to_wire() == {"kind": "fetch_rest_of_item", "item": "a", "field": "text"}


def test_a_list_at_its_fixed_length_is_cut_and_says_how_long_it_is() -> None:
    rule = {"item_cuts": [{"path": "files", "list_len": 2, "why": "abridged"}]}
    result = ask(rule, served(record(1, files=[1, 2, 3]), record(2, files=[1]), record(3, files="text")))
    assert [c.to_wire() for c in result.item_cuts] == [
        {"item": 1, "field": "files", "why": "abridged", "shown": 3, "unit": "items"}
    ]


def test_a_cut_of_an_older_version_goes_with_it() -> None:
    rule = {"item_cuts": [{"path": "cut", "when": {"equals": True}, "why": "abridged"}], "duplicates": "expected"}
    result = ask(rule, served(record(1, cut=True), next="a"), served(record(1, cut=False)))
    assert result.complete
    assert result.item_cuts == ()


def test_a_sample_is_never_complete_and_says_what_it_selected() -> None:
    rules = {"order": {"by": "created_at"}}
    whole = ask(rules, page(1, 2), intent="sample")
    assert keys(whole) == {"SAMPLE_REQUESTED"}
    assert whole.scope.selection == "the first 2 by created_at"
    more = ask(rules, page(1, 2, next="a"), intent="sample")
    assert keys(more) == {"SAMPLE_REQUESTED", "MORE_PAGES_AVAILABLE"}
    assert more.continuation.kind == "next_page"
    assert not more.truncated
    over = ask({}, page(1, 2, 3), intent="sample", page_size=2)
    assert over.ids == (1, 2)
    assert keys(over) == {"SAMPLE_REQUESTED"}
    assert over.continuation.kind == "read_more"
    several = ask({}, page(1, next="a"), page(2, 3, next="b"), intent="sample", page_size=2)
    assert several.ids == (1, 2)
    assert codes(several) == {"SAMPLE_REQUESTED", "MORE_PAGES_AVAILABLE"}


def test_silence_is_named_beside_a_failure_that_did_not_stop_the_walk() -> None:
    silent = {"walk": {**TOKEN, "ends_on": ["absent"]}, **signal(code="PARTIAL_FAILURE")}
    assert codes(ask(silent, page(1, next=None, bad=True))) == {"PARTIAL_FAILURE", "COVERAGE_UNKNOWN"}
    capped = {"walk": {**TOKEN, "ends_on": ["absent"]}, **signal(code="RESULT_LIMIT_REACHED")}
    assert codes(ask(capped, page(1, next=None, bad=True))) == {"RESULT_LIMIT_REACHED"}


def test_a_signal_decides_the_way_on() -> None:
    for code, way in (
        ("TIME_BUDGET_EXCEEDED", "retry_with_deadline"), ("RESULT_LIMIT_REACHED", "narrow_query"),
        ("VISIBILITY_RESTRICTED", "request_access"), ("SCOPE_NARROWED", "widen_scope"),
        ("APPROXIMATE_METHOD", "none"), ("SOURCE_UNAVAILABLE", "none"), ("CONSISTENCY_LOST", "restart_scan"),
        ("CONTINUATION_EXPIRED", "restart_scan"), ("PROTOCOL_ANOMALY", "none"),
    ):  # fmt: skip
        assert ask(signal(code=code), page(1, bad=True)).continuation.kind == way, code
