"""Parts that are wrong one by one and right together, and parts that were counted and not read."""

from __future__ import annotations

from typing import Any

import pytest
from reading.asking import TOKEN, ask, codes, keys, page
from unabridged.contract import InvalidInput, ProfileError, ReadResult, resume_of
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Budget, Query, Resume, run_read
from unabridged.reading.ask import Chain
from unabridged.reading.run import finish_pages, make_ask
from unabridged.testing import ScriptedTransport, VirtualClock

INNER: dict[str, Any] = {"name": "d", "version": 1, "items": "items", "id": "id", "walk": TOKEN}
INEXACT = ("lower_bound", "estimate", "before_permissions", "capped")


def parts(kind: str = "exact", *, cap: int = 3, inner: dict[str, Any] = INNER, **outer: Any) -> Profile:
    walk = {
        "by": "partition", "axis": "day", "cap": cap, "inner": inner,
        "parts": {"from": 0, "to": 4, "send": {"from": {"query": "ge"}, "to": {"query": "lt"}}},
        "count": {"name": "c", "version": 1, "walk": {"by": "single"}, "count": {"path": "n", "kind": kind}},
    }  # fmt: skip
    return load_profile({"name": "days", "version": 1, "walk": walk, **outer})


def count(number: int) -> dict[str, Any]:
    return {"status": 200, "headers": {}, "json": {"n": number}}


def go_on(result: ReadResult, *exchanges: dict[str, Any]) -> ReadResult:
    resume = resume_of(result)
    assert isinstance(resume, Resume)
    script = ScriptedTransport(exchanges)
    found = resume.read(transport=script, clock=script.clock, budget=Budget.unlimited())
    assert not script.problems
    return found


@pytest.mark.parametrize("kind", ["exact", *INEXACT])
def test_a_part_as_long_as_the_cap_is_cut_whatever_its_count_said(kind: str) -> None:
    result = ask(parts(kind), count(2), page(1, 2, 3))
    assert "RESULT_LIMIT_REACHED:source_cap" in keys(result)
    assert result.returned == 3


def test_a_part_that_repeats_records_up_to_the_cap_is_whole_where_its_exact_count_agrees() -> None:
    inner = {**INNER, "duplicates": "expected"}
    assert ask(parts(inner=inner), count(2), page(1, 2, next="a"), page(2)).complete
    assert "RESULT_LIMIT_REACHED" in codes(ask(parts("estimate", inner=inner), count(2), page(1, 2, next="a"), page(2)))


@pytest.mark.parametrize("kind", ["exact", *INEXACT])
def test_a_part_that_was_counted_and_not_read_is_still_to_be_read(kind: str) -> None:
    result = ask(parts(kind), count(4), count(2), page(1, 2), count(2), budget={"max_requests": 4})
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_requests", "MORE_PAGES_AVAILABLE"}
    assert (list(result.ids), result.continuation.kind) == ([1, 2], "next_page")
    rest = go_on(result, count(2), page(3, 4))
    assert list(rest.ids) == [3, 4]


def test_a_question_that_was_counted_and_not_read_says_which_limit_stopped_it() -> None:
    result = ask(parts(), count(2), budget={"max_requests": 1})
    assert (result.status, result.continuation.kind) == ("unavailable", "next_page")
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_requests", "MORE_PAGES_AVAILABLE"}
    assert go_on(result, count(2), page(1, 2)).complete


def test_two_parts_that_are_wrong_do_not_add_up_to_a_whole_that_is_right() -> None:
    exchanges = (count(12), count(6), page(1, 2, 3, 4, 5), count(6), page(6, 7, 8, 9, 10, 11, 12))
    result = ask(parts(cap=10), *exchanges)
    assert (result.returned, result.total.value) == (12, 12)
    assert keys(result) == {"CONSISTENCY_LOST:count_mismatch"}


def test_a_part_that_shows_fewer_records_than_it_counted_before_permissions_hides_some() -> None:
    exchanges = (count(12), count(6), page(1, 2, 3, 4, 5), count(6), page(6, 7, 8, 9, 10, 11, 12))
    assert "VISIBILITY_RESTRICTED:count_before_permissions" in keys(
        ask(parts("before_permissions", cap=10), *exchanges)
    )


@pytest.mark.parametrize("kind", ["exact", "lower_bound", "estimate", "capped"])
@pytest.mark.parametrize("overfetch", [{}, {"overfetch": 1}])
def test_a_part_that_its_own_page_size_cuts_leaves_the_whole_cut(kind: str, overfetch: dict[str, int]) -> None:
    """The size is no budget of the whole read, so nothing but the part says what stopped it."""
    walk = {"by": "single", **overfetch}
    inner = {**INNER, "walk": walk, "size": {"send": {"query": "limit"}, "max": 3}}
    size = 3 - len(overfetch)
    result = ask(parts(kind, cap=100, inner=inner), count(3), page(1, 2, 3))
    assert keys(result) == {"CLIENT_LIMIT_REACHED:page_size"}
    assert list(result.ids) == [1, 2, 3][:size]
    begun = Resume(
        ask=make_ask(
            parts(kind, cap=100, inner=inner), "things", url="https://a.example/x", clock=VirtualClock(),
            budget=Budget.unlimited(),
        ),
        chain=Chain(),
    )  # fmt: skip
    links = list(finish_pages(begun, transport=ScriptedTransport([count(3), page(1, 2, 3)])))
    assert keys(links[-1]) == {"CLIENT_LIMIT_REACHED:page_size"}
    if overfetch:
        rest = go_on(result)
        assert (list(rest.ids), keys(rest)) == ([3], {"CLIENT_LIMIT_REACHED:page_size"})


def test_the_count_of_a_part_holds_over_the_links_that_read_it() -> None:
    first = ask(parts(cap=10), count(3), page(1, next="a"), budget={"max_pages": 1})
    assert go_on(first, page(2, 3)).complete
    assert keys(go_on(first, page(2))) == {"CONSISTENCY_LOST:count_mismatch"}


def test_a_stream_of_parts_does_not_ask_again_and_again_for_a_job_that_it_has_no_time_to_wait_for() -> None:
    job = {"by": "job", "state": "state", "running": ["R"], "ok": ["OK"], "poll_s": 30}
    clock = VirtualClock()
    script = ScriptedTransport([count(2), page(state="R")], clock=clock, repeat_last=True)
    asked = make_ask(
        parts(inner={**INNER, "walk": job}), "things", url="https://a.example/x", clock=clock,
        budget=Budget.unlimited(max_seconds=10, max_requests=20),
    )  # fmt: skip
    links = list(finish_pages(Resume(ask=asked, chain=Chain()), transport=script))
    assert len(links) == 1
    assert links[0].read.requests == 2
    assert codes(links[0]) >= {"JOB_NOT_FINISHED"} or codes(links[0]) >= {"TIME_BUDGET_EXCEEDED"}
    assert not links[0].complete


def test_a_filter_in_the_place_of_a_bound_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"query\.filters\.ge: is a parameter that the walk itself sends"):
        run_read(
            parts(), Query("things", filters={"ge": 3}), url="https://a.example/x", transport=ScriptedTransport([])
        )


# what a combinator may say


PAGE_RULES: dict[str, Any] = {
    "signals": [{"path": "bad", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}],
    "errors": [{"path": "bad", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}],
    "caps": [{"limit": 2, "on": "items"}],
    "expired": [{"status": 410}],
    "required": ["owner"],
    "item_cuts": [{"path": "cut", "when": {"equals": True}, "why": "abridged"}],
    "count": {"path": "n", "kind": "exact"},
    "snapshot": {"path": "rev"},
    "size": {"send": {"query": "limit"}, "max": 2},
    "filters": {"owner": {"query": "own"}},
    "duplicates": "expected",
    "drop_ids": [-1],
    "order": {"by": "id"},
}


@pytest.mark.parametrize("key", PAGE_RULES)
@pytest.mark.parametrize("by", ["fanout", "partition"])
def test_a_rule_about_pages_is_refused_where_no_page_would_hear_of_it(by: str, key: str) -> None:
    made = {
        "name": "all", "version": 1, "walk": {"by": "fanout", "over": ["a"], "inner": INNER}, key: PAGE_RULES[key]
    }  # fmt: skip
    with pytest.raises(ProfileError, match=f"{key}: belongs to the inner profile"):
        _ = load_profile(made) if by == "fanout" else parts(**{key: PAGE_RULES[key]})


def test_the_count_of_a_page_splits_nothing() -> None:
    with pytest.raises(ProfileError, match="says nothing about a part"):
        parts("page")


def test_a_token_that_may_repeat_needs_ids_to_see_progress() -> None:
    made = {"name": "t", "version": 1, "items": "items", "id": None, "walk": {**TOKEN, "repeated_token": "progress"}}
    with pytest.raises(ProfileError, match="progress needs an id"):
        load_profile(made)
