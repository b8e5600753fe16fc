"""Going on from where a read stopped: the next page, the rest of a page, a failed page, a fresh attempt."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from reading.asking import ask, codes, keys, page, profile
from unabridged.contract import InvalidInput, ReadResult, resume_of
from unabridged.reading import Budget, Query, Resume, run_read
from unabridged.reading.run import finish_pages
from unabridged.testing import ScriptedTransport


def go_on(result: ReadResult, *exchanges: dict[str, Any], budget: dict[str, Any] | None = None) -> ReadResult:
    script = ScriptedTransport(exchanges)
    resume = resume_of(result)
    assert isinstance(resume, Resume)
    again = resume.read(budget=Budget.unlimited(**(budget or {})), transport=script, clock=script.clock)
    assert not script.problems, script.problems
    return again


def wants(cursor: str | None, answer: dict[str, Any]) -> dict[str, Any]:
    return {**answer, "expect_request": {"query": {"cursor": cursor}}}


def test_the_next_page_starts_where_the_budget_stopped() -> None:
    first = ask({}, page(1, next="a"), budget={"max_pages": 1})
    second = go_on(first, wants("a", page(2)))
    assert (second.status, second.ids) == ("complete", (2,))
    assert second.read.continues == first.read.id
    assert second.read.query_id == first.read.query_id
    assert second.read.id != first.read.id


def test_a_way_on_can_be_taken_twice_and_starts_from_the_same_place() -> None:
    first = ask({}, page(1, next="a"), budget={"max_pages": 1})
    for _ in range(2):
        assert go_on(first, wants("a", page(2))).ids == (2,)


def test_the_rest_of_a_page_comes_first_and_without_a_request() -> None:
    first = ask({}, page(1, 2, 3, 4, 5, next="a"), budget={"max_items": 2})
    second = go_on(first, budget={"max_items": 2})
    assert (second.ids, second.read.requests) == ((3, 4), 0)
    assert keys(second) == {"CLIENT_LIMIT_REACHED:max_items", "MORE_PAGES_AVAILABLE"}
    third = go_on(second, wants("a", page(6)))
    assert (third.status, third.ids) == ("complete", (5, 6))


def test_the_rest_of_the_last_page_completes_the_chain_without_any_request() -> None:
    first = ask({"count": {"path": "n", "kind": "exact"}}, page(1, 2, 3, n=3), budget={"max_items": 2})
    second = go_on(first)
    assert (second.status, second.ids, second.read.requests) == ("complete", (3,), 0)
    assert second.proof.level == "counted"


def test_the_rest_of_an_overfetch_is_delivered_and_still_proves_nothing() -> None:
    walk = {"by": "single", "overfetch": 1}
    first = ask(profile(walk, size={"send": {"query": "n"}, "max": 9}), page(1, 2, 3), page_size=2)
    second = go_on(first)
    assert second.ids == (3,)
    assert keys(second) == {"CLIENT_LIMIT_REACHED:page_size"}


def test_a_failed_page_is_asked_for_again_and_its_predecessors_stay_delivered() -> None:
    first = ask({}, page(1, next="a"), {"fault": "timeout"})
    second = go_on(first, wants("a", page(2)))
    assert (second.status, second.ids) == ("complete", (2,))
    assert second.read.continues == first.read.id


def test_a_failed_first_page_is_asked_for_again_after_its_wait() -> None:
    first = ask({}, {"status": 429, "headers": {"Retry-After": "9"}, "json": {}})
    second = go_on(first, wants(None, page(1)))
    assert second.complete
    assert second.read.continues == first.read.id


def test_a_timeout_before_any_page_is_tried_with_more_time() -> None:
    first = ask({}, {"fault": "timeout"}, budget={"max_seconds": 30})
    assert first.continuation.to_wire()["seconds"] == 60
    resume = resume_of(first)
    assert resume.ask.budget.max_seconds == 60


def test_a_restart_begins_anew_and_merges_nothing() -> None:
    first = ask({}, page(1, 2, next="a"), page(2, 3))
    assert first.continuation.kind == "restart_scan"
    second = go_on(first, wants(None, page(1, 2, 3)))
    assert second.complete
    assert second.ids == (1, 2, 3)
    assert second.read.continues is None


def test_counts_are_checked_against_the_ids_of_the_chain() -> None:
    counted = {"count": {"path": "n", "kind": "exact"}}
    first = ask(counted, page(1, 2, next="a", n=3), budget={"max_pages": 1})
    assert go_on(first, page(3, n=3)).proof.level == "counted"
    assert keys(go_on(first, page(n=3))) == {"CONSISTENCY_LOST:count_mismatch"}
    assert keys(go_on(first, page(3, n=4))) >= {"CONSISTENCY_LOST:total_changed"}


def test_a_snapshot_spans_a_chain_or_does_not() -> None:
    first = ask({"snapshot": {"path": "rev"}}, page(1, next="a", rev="r1"), budget={"max_pages": 1})
    assert go_on(first, page(2, rev="r1")).consistency == "snapshot"
    assert go_on(first, page(2)).consistency == "interval"
    assert keys(go_on(first, page(2, rev="r2"))) == {"CONSISTENCY_LOST:snapshot_changed"}


def test_a_record_of_an_earlier_link_that_comes_back_is_a_duplicate_of_the_chain() -> None:
    first = ask({}, page(1, next="a"), budget={"max_pages": 1})
    second = go_on(first, page(1, 2))
    assert keys(second) == {"CONSISTENCY_LOST:duplicate_ids"}
    assert second.read.duplicates == 1
    assert second.ids == (1, 2)


def test_a_cursor_of_an_earlier_link_that_comes_back_is_a_loop() -> None:
    first = ask({}, page(1, next="a"), page(2, next="b"), budget={"max_pages": 2})
    assert keys(go_on(first, page(3, next="a"))) == {"PROTOCOL_ANOMALY:cursor_repeated"}


def test_an_order_that_is_not_total_is_open_over_a_chain() -> None:
    walk = {"by": "offset", "send": {"query": "at"}, "unit": "item", "origin": 0, "ends_on": ["flag"],
            "last_flag": "last"}  # fmt: skip
    first = ask(profile(walk), page(1, last=False), budget={"max_pages": 1})
    assert codes(go_on(first, page(2, last=True))) == {"COVERAGE_UNKNOWN"}


def test_a_way_on_shows_nothing_of_what_it_knows() -> None:
    first = ask(
        {}, page("canary-id", next="canary-cursor"), budget={"max_pages": 1}, filters={"owner": "canary-filter"}
    )
    resume = resume_of(first)
    shown = f"{resume!r} {resume.chain!r} {resume.ask!r} {resume.chain.step!r} {first!r}"
    assert "canary" not in shown
    assert resume_of(pickle.loads(pickle.dumps(first))) is None
    assert "canary-cursor" not in str(first.to_wire())


def test_handles_are_new_for_every_result() -> None:
    handles = {ask({}, page(1, next="a"), budget={"max_pages": 1}).continuation.handle for _ in range(20)}  # type: ignore[union-attr]
    assert len(handles) == 20


def test_a_complete_read_keeps_no_way_on() -> None:
    assert resume_of(ask({}, page(1))) is None


def test_run_read_goes_on_from_a_resume() -> None:
    first = ask({}, page(1, next="a"), budget={"max_pages": 1})
    script = ScriptedTransport([wants("a", page(2))])
    second = run_read(
        profile(), Query("things"), url="https://api.example/things", transport=script, clock=script.clock,
        resume=resume_of(first),
    )  # fmt: skip
    assert second.complete


async def test_a_read_of_a_thread_goes_on_in_a_thread_when_it_is_awaited() -> None:
    first = ask({}, page(1, next="a"), page(2), budget={"max_pages": 1})
    second = await resume_of(first).aread()
    assert second.complete
    assert second.ids == (2,)


async def test_a_read_goes_on_over_an_asynchronous_transport() -> None:
    first = ask({}, page(1, next="a"), budget={"max_pages": 1})
    script = ScriptedTransport([wants("a", page(2))])
    second = await resume_of(first).aread(transport=script.as_async(), clock=script.clock)
    assert second.complete
    with pytest.raises(InvalidInput, match="transport: must be given"):
        resume_of(await _stopped(ScriptedTransport([page(1, next="a")]))).read()


async def _stopped(script: ScriptedTransport) -> ReadResult:
    from unabridged.reading.ask import Chain
    from unabridged.reading.run import afinish_read, make_ask

    asked = make_ask(
        profile(), "things", url="https://a.example/", clock=script.clock, budget=Budget.unlimited(max_pages=1)
    )
    return await afinish_read(Resume(ask=asked, chain=Chain()), transport=script.as_async())


def stream(*exchanges: dict[str, Any], budget: dict[str, Any] | None = None, **asked: Any) -> list[ReadResult]:
    from unabridged.reading.ask import Chain
    from unabridged.reading.run import make_ask

    script = ScriptedTransport(exchanges)
    rules = asked.pop("rules", {})
    made = make_ask(
        profile(**rules), Query("things", **asked), url="https://api.example/things", clock=script.clock,
        budget=Budget.unlimited(**(budget or {})),
    )  # fmt: skip
    return list(finish_pages(Resume(ask=made, chain=Chain()), transport=script))


def test_a_stream_hands_out_one_link_a_page() -> None:
    links = stream(page(1, next="a"), page(next="b"), page(2))
    assert [(link.status, link.ids) for link in links] == [("partial", (1,)), ("partial", ()), ("complete", (2,))]
    assert [link.read.requests for link in links] == [1, 1, 1]
    assert [link.continuation.kind for link in links] == ["next_page", "next_page", "none"]


def test_a_stream_judges_duplicates_by_the_whole_chain() -> None:
    count = {"count": {"path": "n", "kind": "exact"}}
    links = stream(page(1, next="a", n=2), page(1, next="b", n=2), page(2, n=2), rules=count)
    assert [codes(link) for link in links] == [{"MORE_PAGES_AVAILABLE"}, {"MORE_PAGES_AVAILABLE"}, set()]
    assert keys(stream(page(1, next="a"), page(1, 2))[-1]) == {"CONSISTENCY_LOST:duplicate_ids"}


def test_a_stream_keeps_its_limits_over_all_its_pages() -> None:
    links = stream(page(1, 2, next="a"), page(3, 4, next="b"), budget={"max_items": 3})
    assert [link.ids for link in links] == [(1, 2), (3,)]
    assert keys(links[-1]) == {"CLIENT_LIMIT_REACHED:max_items", "MORE_PAGES_AVAILABLE"}
    sample = stream(page(1, 2, next="a"), page(3, 4, next="b"), intent="sample", page_size=3)
    assert [link.ids for link in sample] == [(1, 2), (3,)]
    assert codes(sample[-1]) == {"SAMPLE_REQUESTED", "MORE_PAGES_AVAILABLE"}


def test_a_signal_on_an_early_page_of_a_stream_stays_with_that_page() -> None:
    rules = {"signals": [{"path": "bad", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}]}
    links = stream(page(1, next="a", bad=1), page(2), rules=rules)
    assert [codes(link) for link in links] == [{"SOURCE_UNAVAILABLE", "MORE_PAGES_AVAILABLE"}, set()]


def test_a_stream_that_fails_ends_with_its_failure() -> None:
    links = stream(page(1, next="a"), {"fault": "timeout"})
    assert [link.status for link in links] == ["partial", "unavailable"]
    assert links[-1].continuation.kind == "next_page"
    assert go_on(links[-1], wants("a", page(2))).complete


def test_no_route_repeats_the_same_request_for_ever() -> None:
    result = ask({}, page(1, next="a"), {"fault": "timeout"})
    offered = 0
    while result.continuation.kind == "next_page":
        offered += 1
        result = go_on(result, wants("a", {"fault": "timeout"}))
    assert offered == 4
    assert result.continuation.kind == "none"


def test_a_page_that_arrives_gives_new_chances() -> None:
    result = ask({}, page(1, next="a"), {"fault": "timeout"})
    for cursor in ("b", "c", "d", "e", "f"):
        result = go_on(result, page(cursor, next=cursor), {"fault": "timeout"})
        assert result.continuation.kind == "next_page"
