"""Every expectation can fail: what a case says wrongly is told as a difference, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from replay.case_documents import PROFILE, case, page, read
from unabridged.testing import run_case

LIMITED = {"budget": {"max_pages": 1}}


def partial(**expect: Any) -> dict[str, Any]:
    return case(read(page(1, 2, next="n2"), **LIMITED, expect=expect))


def places(document: dict[str, Any]) -> list[str]:
    outcome = run_case(document)
    assert outcome.ok is (not outcome.differences)
    return [d.where for d in outcome.differences]


RIGHT: dict[str, Any] = {
    "status": "partial",
    "complete": False,
    "truncated": True,
    "reasons": ["CLIENT_LIMIT_REACHED:max_pages", "MORE_PAGES_AVAILABLE"],
    "includes_reasons": ["CLIENT_LIMIT_REACHED"],
    "ids": [2, 1],
    "items": [{"id": 1}],
    "returned": 2,
    "finding_count": None,
    "total": None,
    "total_kind": "unknown",
    "consistency": "interval",
    "visibility": "caller",
    "proof": "none",
    "continuation": "next_page",
    "warnings": [],
    "duplicates": 0,
    "requests": 1,
    "decision": "continue_search",
    "sources": {},
    "cuts": [],
    "never_contains": ["n2-cursor"],
}
WRONG: dict[str, Any] = {
    "status": "complete",
    "complete": True,
    "truncated": False,
    "reasons": ["CLIENT_LIMIT_REACHED"],
    "includes_reasons": ["CLIENT_LIMIT_REACHED:max_items"],
    "ids": [1, "2"],
    "items": [{"id": 3}],
    "returned": 3,
    "finding_count": 2,
    "total": 2,
    "total_kind": "exact",
    "consistency": "snapshot",
    "visibility": "all",
    "proof": "end_marker",
    "continuation": "none",
    "warnings": ["RETRIED"],
    "duplicates": 1,
    "requests": 2,
    "decision": "proceed",
    "sources": {"eu": "complete"},
    "cuts": ["1.body"],
    "never_contains": ["MORE_PAGES"],
}


def test_what_is_expected_rightly_is_no_difference() -> None:
    assert places(partial(**RIGHT)) == []


@pytest.mark.parametrize("key", sorted(WRONG))
def test_a_wrong_expectation_is_told_by_its_key(key: str) -> None:
    assert places(partial(**{**RIGHT, key: WRONG[key]})) == [f"reads[0].{key}"]


@pytest.mark.parametrize(
    "reasons",
    [
        ["CLIENT_LIMIT_REACHED"],
        ["CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE", "RATE_LIMITED"],
        ["CLIENT_LIMIT_REACHED:max_bytes", "MORE_PAGES_AVAILABLE"],
        [],
    ],
)
def test_reasons_are_the_exact_set(reasons: list[str]) -> None:
    assert places(partial(reasons=reasons)) == ["reads[0].reasons"]


def test_a_code_without_a_detail_meets_every_detail() -> None:
    assert places(partial(reasons=["MORE_PAGES_AVAILABLE", "CLIENT_LIMIT_REACHED"])) == []


def test_ids_are_null_exactly_for_an_unavailable_read() -> None:
    dead = read({"fault": "dns"})
    assert places(case({**dead, "expect": {"ids": None, "status": "unavailable"}})) == []
    assert places(case({**dead, "expect": {"ids": []}})) == ["reads[0].ids"]
    assert places(case(read(page(), expect={"ids": None}))) == ["reads[0].ids"]


def test_one_request_more_than_scripted_is_a_failure_and_the_rest_of_the_case_still_runs() -> None:
    document = case(
        read(page(1, next="n2"), expect={"status": "complete"}),
        writes=[{"tool": "purge", "expect": {"verdict": "allow", "codes": []}}],
    )
    outcome = run_case(document)
    assert outcome.ok is False
    assert outcome.reads == (None,)
    assert len(outcome.writes) == 1
    assert "one more than the script holds" in json.dumps(outcome.to_json())


def test_unused_exchanges_are_no_failure() -> None:
    assert places(case(read(page(1), page(2)))) == []


def test_a_wrong_request_is_a_failure_without_any_expectation() -> None:
    second = {**page(2), "expect_request": {"query": {"cursor": "other"}}}
    outcome = run_case(case(read(page(1, next="n2"), second)))
    assert [d.where for d in outcome.differences] == ["reads[0]"]
    assert outcome.reads[0] is not None
    assert outcome.reads[0]["status"] == "complete"


def test_a_read_continues_from_an_earlier_one() -> None:
    second = {**page(3), "expect_request": {"query": {"cursor": "n2"}}}
    document = case(
        read(page(1, 2, next="n2"), **LIMITED), read(second, continues=0, expect={"ids": [3], "status": "complete"})
    )
    assert places(document) == []


def test_a_read_that_has_nothing_to_continue_from_cannot_be_continued() -> None:
    assert places(case(read(page(1)), read(page(2), continues=0))) == ["reads[1]"]


def test_a_presented_read_goes_on_with_its_stored_rest_without_a_request() -> None:
    document = case(
        read(page(1, 2, 3), present={"max_items": 1}, expect={"reasons": ["PRESENTATION_LIMIT"], "ids": [1]}),
        read(continues=0, expect={"ids": [2, 3], "requests": 0}),
    )
    assert places(document) == []


def test_the_rest_of_a_presented_part_goes_on_at_the_source() -> None:
    document = case(
        read(page(1, 2, next="n2"), **LIMITED, present={"max_items": 1}, expect={"ids": [1]}),
        read(page(3), continues=0, expect={"ids": [2, 3], "requests": 1, "status": "complete"}),
    )
    assert places(document) == []


def test_a_presentation_limit_that_is_not_reached_changes_nothing() -> None:
    assert places(case(read(page(1), present={"max_items": 1}, expect={"status": "complete"}))) == []


def test_a_pending_read_is_served_after_the_writes() -> None:
    document = case(
        read(page(1), pending=True, expect={"status": "complete"}),
        writes=[{"tool": "purge", "relies_on": ["widgets"], "expect": {"codes": ["EVIDENCE_PENDING"]}}],
        answer={"text": "One.", "claims": [{"kind": "count", "resource": "widgets", "value": 1}],
                "expect": {"outcome": "accept"}},
    )  # fmt: skip
    assert places(document) == []


def test_a_pending_read_expires_with_its_deadline() -> None:
    document = case(
        read(page(1), pending=True),
        writes=[{"tool": "purge", "after_s": 121, "expect": {"codes": ["EVIDENCE_INCOMPLETE"]}}],
    )
    assert places(document) == []


def test_the_clock_moves_before_a_write_and_goes_on_between_writes() -> None:
    old = {"max_age_s": 10}
    document = case(
        writes=[
            {"tool": "purge", "policy": old, "after_s": 10, "expect": {"verdict": "allow"}},
            {"tool": "purge", "policy": old, "after_s": 0.5, "expect": {"codes": ["EVIDENCE_STALE"]}},
        ]
    )
    assert places(document) == []


@pytest.mark.parametrize(
    ("expect", "place"),
    [({"verdict": "allow"}, "writes[0].verdict"), ({"codes": []}, "writes[0].codes"),
     ({"codes": ["EVIDENCE_INCOMPLETE", "EVIDENCE_STALE"]}, "writes[0].codes")],
)  # fmt: skip
def test_a_wrong_expectation_of_a_write_is_told(expect: dict[str, Any], place: str) -> None:
    document = partial()
    document["writes"] = [{"tool": "purge", "expect": expect}]
    assert places(document) == [place]


@pytest.mark.parametrize(
    ("expect", "place"),
    [({"outcome": "accept"}, "answer.outcome"), ({"caveats": ["RATE_LIMITED"]}, "answer.caveats"),
     ({"language": "de"}, "answer.language")],
)  # fmt: skip
def test_a_wrong_expectation_of_an_answer_is_told(expect: dict[str, Any], place: str) -> None:
    document = partial()
    document["answer"] = {"text": "Two so far.", "language": "en", "expect": expect}
    assert places(document) == [place]


def test_a_text_that_must_never_stand_there_is_looked_for_in_logs_refusals_and_caveats() -> None:
    document = case(read(page(1, next="tok-7f3a"), page(2), expect={"never_contains": ["tok-7f3a"]}))
    assert places(document) == []
    document = partial(never_contains=["not run"])
    assert places(document) == []
    document["writes"] = [{"tool": "purge"}]
    assert places(document) == ["reads[0].never_contains"]


def test_a_hit_is_told_without_the_text() -> None:
    outcome = run_case(case(read(page("a-private-id"), expect={"never_contains": ["a-private-id"]})))
    assert outcome.ok is False
    assert "a-private-id" not in json.dumps([d.to_json() for d in outcome.differences])


def test_the_address_of_a_read_decides_where_links_lead() -> None:
    profile = {"name": "repos", "version": 1, "items": "@", "id": "id", "walk": {"by": "link", "where": "header"}}
    first = {"status": 200, "headers": {"Link": '</r?p=2>; rel="next"'}, "json": [{"id": 1}]}
    second = {"status": 200, "json": [], "expect_request": {"url": "https://a.example/r?p=2"}}
    assert places(case(read(first, second, profile=profile, url="https://a.example/r"))) == []
    second["expect_request"] = {"url": "https://replay.invalid/r?p=2"}
    assert places(case(read(first, second, profile=profile))) == []


def test_the_line_of_a_case_holds_wire_forms_in_their_order() -> None:
    document = partial(status="partial")
    document["writes"] = [{"tool": "purge"}]
    document["answer"] = {"text": "Two."}
    line = run_case(document).to_json()
    assert list(line) == ["case", "ok", "reads", "writes", "answer", "differences"]
    assert line["reads"][0]["contract"] == "unabridged/1"
    assert list(line["reads"][0])[-1] == "items"
    assert line["writes"][0]["verdict"] == "refuse"
    assert line["answer"]["outcome"] == "accept_with_caveat"
    assert json.loads(json.dumps(line)) == line


def test_the_limit_of_a_query_is_its_page_size_and_an_item_budget() -> None:
    sized = {**PROFILE, "size": {"send": {"query": "per_page"}}}
    first = {**page(1, 2, 3), "expect_request": {"query": {"per_page": 2}}}
    document = case(
        read(first, profile=sized, query={"resource": "widgets", "limit": 2},
             expect={"ids": [1, 2], "includes_reasons": ["CLIENT_LIMIT_REACHED:max_items"]})
    )  # fmt: skip
    assert places(document) == []
