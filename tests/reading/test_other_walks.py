"""The walks beyond pages: ranges, jobs, streams, partitions; and what a walk carries, begins with and narrows."""

from __future__ import annotations

from typing import Any

import pytest
from reading.asking import TOKEN, URL, ask, codes, keys, page, profile, warned
from unabridged.contract import ProfileError, ReadResult, from_wire, resume_of
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Budget, Fault, Request, Response, Resume, judge_value, reference_of, run_read
from unabridged.reading.ask import Chain
from unabridged.reading.run import finish_pages, make_ask
from unabridged.testing import ScriptedTransport, VirtualClock

JOB: dict[str, Any] = {
    "by": "job", "state": "state", "running": ["RUNNING"], "ok": ["DONE", True], "partial": ["TIMED_OUT"],
    "failed": ["FAILED"], "poll_s": 10,
}  # fmt: skip
BYTES: dict[str, Any] = {"by": "range", "unit": "bytes", "size": 4, "validator": "header:etag"}
ITEMS: dict[str, Any] = {
    "by": "range", "unit": "items", "size": 2, "total": "total",
    "send": {"start": {"query": "from"}, "end": {"query": "to"}},
}  # fmt: skip
STREAM: dict[str, Any] = {"by": "stream", "terminator": "type == 'done'"}


def text(walk: dict[str, Any] | None = None, **changes: Any) -> Profile:
    return load_profile({"name": "doc", "version": 1, "walk": walk or BYTES, **changes})


def piece(body: str, content_range: str | None, *, etag: str | None = '"v1"', status: int = 206) -> dict[str, Any]:
    stated = {"Content-Range": content_range, "ETag": etag}
    return {"status": status, "headers": {k: v for k, v in stated.items() if v is not None}, "body": body}


def job(state: Any, *ids: Any, **more: Any) -> dict[str, Any]:
    return page(*ids, state=state, **more)


def go_on(result: ReadResult, *exchanges: dict[str, Any], budget: Budget | None = None) -> ReadResult:
    script = ScriptedTransport(exchanges, clock=VirtualClock())
    resume = resume_of(result)
    assert isinstance(resume, Resume)
    following = resume.read(transport=script, clock=script.clock, budget=budget or Budget.unlimited())
    assert not script.problems, script.problems
    return following


class Document:
    """Serves the bytes that a query asks for."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        asked = dict(request.query)
        total = (("X-Total", str(len(self.data))),)
        return Response(200, total, self.data[int(asked["from"]) : int(asked["to"]) + 1])


def excerpt(result: ReadResult) -> dict[str, Any]:
    assert result.items is not None
    (one,) = result.items
    return dict(one)


# ranges


def test_ranges_of_a_text_become_one_excerpt_of_one_version() -> None:
    asked = [{"expect_request": {"headers": {"Range": f"bytes={a}-{b}", "Accept-Encoding": "identity"}}}
             for a, b in ((0, 3), (4, 7), (8, 11))]  # fmt: skip
    pieces = [piece("abcd", "bytes 0-3/9"), piece("efgh", "bytes 4-7/9"), piece("i", "bytes 8-8/9")]
    result = ask(text(), *[{**p, **a} for p, a in zip(pieces, asked, strict=True)])
    assert result.complete
    assert excerpt(result) == {
        "reference": URL, "version": '"v1"', "unit": "bytes", "start": 0, "end": 9, "total": 9, "text": "abcdefghi",
    }  # fmt: skip
    assert list(result.ids) == [URL]
    assert (result.consistency, result.proof.level, result.proof.end) == ("snapshot", "snapshot", "range")
    assert from_wire(result.to_wire()) == result


def test_a_text_that_goes_on_is_read_on_from_where_it_stopped() -> None:
    first = ask(text(), piece("abcd", "bytes 0-3/9"), budget={"max_pages": 1})
    assert codes(first) == {"CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE"}
    assert (first.continuation.kind, getattr(first.continuation, "start", None)) == ("read_range", 4)
    rest = go_on(first, {**piece("efgh", "bytes 4-7/9"), "expect_request": {"headers": {"Range": "bytes=4-7"}}},
                 piece("i", "bytes 8-8/9"))  # fmt: skip
    assert rest.complete
    assert (excerpt(rest)["start"], excerpt(rest)["end"], excerpt(rest)["text"]) == (4, 9, "efghi")
    assert rest.read.continues == first.read.id


def test_a_text_whose_version_changed_is_not_put_together() -> None:
    result = ask(text(), piece("abcd", "bytes 0-3/9"), piece("EFGH", "bytes 4-7/9", etag='"v2"'))
    assert keys(result) == {"CONSISTENCY_LOST:snapshot_changed"}
    assert excerpt(result)["text"] == "abcd"
    assert result.continuation.kind == "restart_scan"
    first = ask(text(), piece("abcd", "bytes 0-3/9"), budget={"max_pages": 1})
    later = go_on(first, piece("EFGH", "bytes 4-7/9", etag='"v2"'))
    assert (later.status, keys(later)) == ("unavailable", {"CONSISTENCY_LOST:snapshot_changed"})


def test_a_weak_validator_proves_no_state() -> None:
    result = ask(text(), piece("abc", "bytes 0-2/3", etag='W/"v1"'))
    assert result.complete
    assert (result.consistency, excerpt(result)["version"]) == ("interval", None)


def test_a_text_whose_length_changes_is_not_of_one_state() -> None:
    walk = {**BYTES, "validator": "header:none"}
    result = ask(text(walk), piece("abcd", "bytes 0-3/6"), piece("efgh", "bytes 4-7/8"))
    assert "CONSISTENCY_LOST:total_changed" in keys(result)


@pytest.mark.parametrize(
    "given",
    [
        piece("efgh", "bytes 1-4/9"),
        piece("ab", "bytes 0-1/9"),
        piece("abcdefgh", "bytes 0-7/9"),
        piece("abcd", None),
        piece("abcd", "lines 0-3/9"),
        piece("abcd", "bytes 3-0/9"),
    ],
)
def test_another_range_than_the_one_asked_for_is_refused(given: dict[str, Any]) -> None:
    result = ask(text(), given)
    assert (result.status, keys(result)) == ("unavailable", {"TRANSPORT_TRUNCATED:unrequested_range"})


def test_a_body_that_is_shorter_than_its_range_is_cut() -> None:
    assert keys(ask(text(), piece("ab", "bytes 0-3/9"))) == {"TRANSPORT_TRUNCATED:short_body"}


def test_a_200_to_the_first_range_is_the_whole_and_to_a_later_one_is_not_what_was_asked() -> None:
    whole = ask(text(), piece("abcdefghi", None, status=200))
    assert whole.complete
    assert (excerpt(whole)["end"], excerpt(whole)["total"]) == (9, 9)
    later = ask(text(), piece("abcd", "bytes 0-3/9"), piece("abcdefghi", None, status=200))
    assert keys(later) == {"TRANSPORT_TRUNCATED:unrequested_range"}
    assert excerpt(later)["text"] == "abcd"


def test_an_empty_text_has_no_first_byte_and_is_complete() -> None:
    result = ask(text(), piece("", "bytes */0", status=416))
    assert result.complete
    assert excerpt(result)["text"] == ""
    assert keys(ask(text(), piece("", "bytes */7", status=416))) == {"SOURCE_UNAVAILABLE:status"}


def test_a_text_of_unstated_length_is_of_unknown_coverage() -> None:
    result = ask(text(), piece("abcd", "bytes 0-3/*"))
    assert (result.status, codes(result)) == ("unknown", {"COVERAGE_UNKNOWN"})


def test_no_character_is_cut_in_two_between_two_excerpts() -> None:
    data = "aä€z".encode()
    walk = {**BYTES, "size": 2, "send": {"start": {"query": "from"}, "end": {"query": "to"}}, "total": "header:x-total"}

    transport = Document(data)
    found, links, resume = "", 0, None
    while links < 10:
        result = run_read(
            text(walk), "doc", url=URL, transport=transport, budget=Budget.unlimited(max_pages=2), resume=resume
        )
        found, links = found + excerpt(result)["text"], links + 1
        if result.complete:
            break
        resume = resume_of(result)
    assert found == "aä€z"
    assert links > 1


def test_a_text_that_is_no_text_is_marked_as_cut() -> None:
    walk = {**BYTES, "size": 9, "send": {"start": {"query": "from"}, "end": {"query": "to"}}, "total": "header:x-total"}
    result = run_read(text(walk), "doc", url=URL, transport=Document(b"\xff\xfeab"))
    assert codes(result) == {"ITEM_TRUNCATED"}


def test_lines_are_counted_as_lines() -> None:
    walk = {"by": "range", "unit": "lines", "size": 2}
    result = ask(text(walk), piece("one\ntwo", "lines 0-1/3"), piece("three\n", "lines 2-2/3"))
    assert result.complete
    assert (excerpt(result)["text"], excerpt(result)["end"]) == ("one\ntwo\nthree\n", 3)


def test_ranges_of_records_are_records() -> None:
    first = {**page("a", "b", total=3), "expect_request": {"query": {"from": "0", "to": "1"}}}
    result = ask(profile(ITEMS), first, page("c", total=3))
    assert result.complete
    assert (list(result.ids), result.total.value, result.proof.level) == (["a", "b", "c"], 3, "counted")
    cut = ask(profile(ITEMS), first, budget={"max_pages": 1})
    assert cut.continuation.kind == "read_range"
    assert list(go_on(cut, page("c", total=3)).ids) == ["c"]
    assert keys(ask(profile(ITEMS), page("a", "b", "c", total=9))) == {"TRANSPORT_TRUNCATED:unrequested_range"}
    assert keys(ask(profile(ITEMS), page(total=9))) == {"PROTOCOL_ANOMALY:contradictory_signals"}


# jobs


def test_a_job_is_asked_again_until_it_has_finished_and_its_end_is_proved_by_that() -> None:
    clock = VirtualClock()
    script = ScriptedTransport([job("RUNNING"), job("RUNNING", 7), job("DONE", 1, 2)], clock=clock)
    before = clock.monotonic()
    result = ask(profile(JOB), script=script)
    assert result.complete
    assert (list(result.ids), result.proof.end, result.read.requests, result.read.pages) == ([1, 2], "job", 3, 1)
    assert clock.monotonic() - before == 20


@pytest.mark.parametrize(
    ("budget", "code"),
    [
        ({"max_requests": 2}, "CLIENT_LIMIT_REACHED:max_requests"),
        ({"max_seconds": 15}, "TIME_BUDGET_EXCEEDED:max_seconds"),
    ],
)
def test_a_job_that_outlasts_a_budget_has_given_nothing_and_is_asked_again(budget: dict[str, Any], code: str) -> None:
    result = ask(profile(JOB), job("RUNNING", 1), job("RUNNING", 1), budget=budget)
    assert (result.status, keys(result)) == ("unavailable", {code, "JOB_NOT_FINISHED"})
    assert (result.continuation.kind, getattr(result.continuation, "seconds", None)) == ("poll_job", 10)
    following = go_on(result, job("RUNNING"), job("DONE", 3))
    assert following.complete
    assert list(following.ids) == [3]


def test_a_job_that_stopped_on_time_keeps_its_rows_and_says_so() -> None:
    result = ask(profile(JOB), job("TIMED_OUT", 1))
    assert (result.status, codes(result), list(result.ids)) == ("partial", {"JOB_NOT_FINISHED"}, [1])


@pytest.mark.parametrize(
    ("state", "key"),
    [
        ("FAILED", "JOB_NOT_FINISHED"),
        ("NEW", "PROTOCOL_ANOMALY:unknown_value"),
        (1, "PROTOCOL_ANOMALY:unknown_value"),
    ],
)
def test_a_job_that_failed_or_has_an_unlisted_state_gave_nothing(state: Any, key: str) -> None:
    result = ask(profile(JOB), job(state, 1))
    assert (result.status, keys(result), result.continuation.kind) == ("unavailable", {key}, "none")


def test_the_results_of_a_job_are_walked_and_its_later_pages_need_not_repeat_its_state() -> None:
    walk = {**JOB, "inner": TOKEN}
    result = ask(profile(walk), job("RUNNING"), job("DONE", 1, next="c2"), page(2))
    assert result.complete
    assert list(result.ids) == [1, 2]
    again = ask(profile(walk), job("DONE", 1, next="c2"), job("RUNNING"), job("DONE", 2))
    assert again.complete
    stopped = ask(profile(walk), job("DONE", 1, next="c2"), job("RUNNING"), budget={"max_requests": 2})
    assert codes(stopped) == {"CLIENT_LIMIT_REACHED", "JOB_NOT_FINISHED"}
    assert (stopped.continuation.kind, list(stopped.ids)) == ("poll_job", [1])
    assert list(go_on(stopped, job("DONE", 2)).ids) == [2]


def test_a_finished_job_whose_results_are_capped_is_not_whole() -> None:
    walk = {**JOB, "inner": {"by": "single", "cap": 2}}
    assert codes(ask(profile(walk), job("DONE", 1, 2))) == {"RESULT_LIMIT_REACHED"}
    assert ask(profile(walk), job("DONE", 1)).proof.end == "below_cap"


# streams


def lines(*rows: str, end: str = "\n") -> dict[str, Any]:
    return {"status": 200, "headers": {}, "body": "\n".join(rows) + end}


ROW, LAST = '{"id":"u1"}', '{"type":"done","n":1}'


def streamed(*rows: str, end: str = "\n", **changes: Any) -> ReadResult:
    return ask(profile(changes.pop("walk", STREAM), items="@", **changes), lines(*rows, end=end))


def test_a_stream_ends_with_its_terminator_and_nothing_else() -> None:
    assert streamed(ROW, LAST).proof.end == "terminator"
    assert streamed(ROW, LAST, end="").complete
    assert streamed(LAST).items == []
    assert keys(streamed(ROW)) == {"TRANSPORT_TRUNCATED:short_body"}
    assert keys(streamed(ROW, LAST, ROW.replace("1", "2"))) == {"PROTOCOL_ANOMALY:contradictory_signals"}
    assert codes(streamed(ROW, walk={"by": "stream"})) == {"COVERAGE_UNKNOWN"}


def test_a_last_line_that_is_cut_leaves_the_lines_before_it() -> None:
    result = streamed(ROW, '{"id":"u', end="")
    assert (keys(result), list(result.ids)) == ({"TRANSPORT_TRUNCATED:short_body"}, ["u1"])
    assert (result.continuation.kind, result.truncated) == ("none", True)


def test_a_line_in_the_middle_that_does_not_decode_leaves_nothing() -> None:
    result = streamed(ROW, '{"id":', ROW, LAST)
    assert (result.status, keys(result)) == ("unavailable", {"TRANSPORT_TRUNCATED:invalid_json"})


def test_the_last_record_of_a_stream_may_count_the_others() -> None:
    count = {"path": "[-1].n", "kind": "exact"}
    assert streamed(ROW, LAST, count=count).proof.level == "counted"
    assert keys(streamed(LAST, count=count)) == {"CONSISTENCY_LOST:count_mismatch"}


# tokens


def test_the_first_token_counts_as_sent_and_as_no_continuation() -> None:
    walk = {**TOKEN, "first": "*", "repeated_token": "end"}
    first = {**page(next="*"), "expect_request": {"query": {"cursor": "*"}}}
    assert ask(profile(walk), first).proof.end == "same_token"
    dead = profile(walk, expired=[{"status": 410}])
    assert codes(ask(dead, {"status": 410, "headers": {}, "json": {}})) == {"SOURCE_UNAVAILABLE"}


def test_a_walk_by_key_carries_too_and_goes_on_with_what_a_response_gave_last() -> None:
    walk = {
        "by": "key", "from_item": "id", "send": {"query": "after"}, "unique": True, "ends_on": ["empty_page"],
        "carry": [{"read": "pit", "send": {"query": "pit"}}, {"read": "header:x-s", "send": {"header": "X-S"}}],
    }  # fmt: skip
    second = {**page(2), "expect_request": {"query": {"after": 1, "pit": "p1"}, "headers": {"X-S": "s1"}}}
    third = {**page(3, pit="p2"), "expect_request": {"query": {"after": 2, "pit": "p1"}, "headers": {"X-S": "s1"}}}
    fourth = {**page(4, pit=None), "expect_request": {"query": {"after": 3, "pit": "p2"}, "headers": {"X-S": "s1"}}}
    last = {**page(), "expect_request": {"query": {"after": 4, "pit": "p2"}}}
    assert ask(profile(walk), page(1, pit="p1", headers={"X-S": "s1"}), second, third, fourth, last).complete
    assert ask(profile(walk), page(1), {**page(), "expect_request": {"query": {"after": 1, "pit": None}}}).complete


def test_what_is_carried_goes_on_with_a_read_that_goes_on() -> None:
    walk = {**TOKEN, "carry": [{"read": "pit", "send": {"query": "pit"}}]}
    first = ask(profile(walk), page(1, next="c2", pit="p1"), budget={"max_pages": 1})
    later = {**page(3), "expect_request": {"query": {"cursor": "c3", "pit": "p1"}}}
    second = {**page(2, next="c3"), "expect_request": {"query": {"cursor": "c2", "pit": "p1"}}}
    assert go_on(first, second, later).complete


def test_a_handle_that_never_changes_may_end_on_an_empty_page() -> None:
    walk = {**TOKEN, "repeated_token": "progress", "ends_on": ["empty_page"]}
    assert ask(profile(walk), page(1, next="H"), page(2, next="H"), page(next="H")).complete
    assert keys(ask(profile(walk), page(1, next="H"), page(1, next="H"))) >= {"PROTOCOL_ANOMALY:cursor_repeated"}


# a dead cursor


def test_a_walk_begins_again_once_and_stops_at_the_second_expiry() -> None:
    made = profile(expired=[{"status": 410, "then": "restart_once"}])
    dead = {"status": 410, "headers": {}, "json": {}}
    result = ask(made, page(1, next="a"), dead, page(2, next="b"), dead)
    assert (codes(result), list(result.ids), result.read.pages) == ({"CONTINUATION_EXPIRED"}, [2], 1)
    assert "RETRIED" in warned(result)
    assert result.continuation.kind == "restart_scan"


def test_a_link_that_goes_on_does_not_begin_again_because_its_records_were_given_out() -> None:
    made = profile(expired=[{"status": 410, "then": "restart_once"}])
    first = ask(made, page(1, next="a"), budget={"max_pages": 1})
    later = go_on(first, {"status": 410, "headers": {}, "json": {}})
    assert (later.status, codes(later), later.continuation.kind) == (
        "unavailable", {"CONTINUATION_EXPIRED"}, "restart_scan",
    )  # fmt: skip


def test_what_the_first_walk_held_does_not_count_against_the_limit_of_items() -> None:
    made = profile(expired=[{"status": 410, "then": "restart_once"}])
    dead = {"status": 410, "headers": {}, "json": {}}
    result = ask(made, page(1, 2, next="a"), dead, page(1, 2, next="b"), page(3), budget={"max_items": 3})
    assert result.complete
    assert list(result.ids) == [1, 2, 3]


# scope


def test_limits_that_no_response_mentions_stand_in_the_scope() -> None:
    made = profile(scope=[{"window": "90 days"}, {"excludes": "archived", "warning": "DEFAULT_SCOPE_APPLIED"}])
    result = ask(made, page(1))
    assert codes(result) == {"SCOPE_NARROWED"}
    assert (result.scope.window, result.scope.excludes) == ("90 days", ("archived",))
    assert "DEFAULT_SCOPE_APPLIED" in warned(result)
    assert result.continuation.kind == "widen_scope"


def test_a_dead_source_has_the_same_scope_and_only_its_own_reason() -> None:
    result = ask(profile(scope=[{"window": "90 days"}]), {"fault": "timeout"})
    assert (codes(result), result.scope.window) == ({"SOURCE_UNAVAILABLE"}, "90 days")


# twice


def twice(*exchanges: dict[str, Any], budget: dict[str, Any] | None = None) -> tuple[ReadResult, int]:
    script = ScriptedTransport(exchanges, clock=VirtualClock())
    result = run_read(
        profile(), "things", url=URL, transport=script, clock=script.clock, double_walk=True,
        budget=Budget.unlimited(**(budget or {})),
    )  # fmt: skip
    assert not script.problems
    return result, len(script.requests)


def test_two_equal_walks_prove_that_the_source_stood_still() -> None:
    result, requests = twice(page(1, next="a"), page(2), page(2, next="b"), page(1))
    assert result.complete
    assert (result.proof.level, result.proof.end, requests, result.read.requests) == ("double_walk", "absent", 4, 4)
    assert result.read.pages == 4


def test_two_walks_that_differ_in_an_id_or_in_a_record_lose_consistency() -> None:
    for second in (
        page(1, 3),
        page(1),
        {"status": 200, "headers": {}, "json": {"items": [{"id": 1, "v": 2}, {"id": 2}]}},
    ):
        result, _ = twice(page(1, 2), second)
        assert keys(result) == {"CONSISTENCY_LOST:mutated_during_read"}
        assert result.continuation.kind == "restart_scan"
        assert isinstance(resume_of(result), Resume)


def test_a_second_walk_that_does_not_end_leaves_the_first_as_it_is() -> None:
    result, requests = twice(page(1), {"status": 500, "headers": {}, "json": {}})
    assert (result.status, result.proof.level, requests) == ("complete", "end_marker", 2)


def test_a_first_walk_that_does_not_end_is_not_followed_by_another() -> None:
    result, requests = twice(page(1, next="a"), {"fault": "timeout"})
    assert (result.status, requests) == ("partial", 2)


# partitions

PARTS: dict[str, Any] = {
    "by": "partition", "axis": "day", "cap": 3,
    "parts": {"from": 0, "to": 4, "send": {"from": {"query": "ge"}, "to": {"query": "lt"}}},
    "count": {"name": "c", "version": 1, "walk": {"by": "single"}, "count": {"path": "n", "kind": "exact"}},
    "inner": {"name": "d", "version": 1, "items": "items", "id": "id", "walk": {"by": "single", "cap": 3}},
}  # fmt: skip


def parts(**changes: Any) -> Profile:
    return load_profile({"name": "days", "version": 1, "walk": {**PARTS, **changes}})


def count(number: Any) -> dict[str, Any]:
    return {"status": 200, "headers": {}, "json": {"n": number}}


def test_a_part_at_its_cap_that_cannot_be_split_is_not_whole() -> None:
    result = ask(parts(min_width=4), count(3), page(1, 2, 3))
    assert "RESULT_LIMIT_REACHED" in codes(result)
    assert result.returned == 3


def test_the_first_count_that_fails_leaves_nothing_and_a_later_one_what_was_read() -> None:
    down = {"status": 503, "headers": {}, "json": {}}
    assert (ask(parts(), down).status, codes(ask(parts(), down))) == ("unavailable", {"SOURCE_UNAVAILABLE"})
    result = ask(parts(), count(4), count(2), page(1, 2), down)
    assert (result.status, codes(result), result.continuation.kind) == ("partial", {"SOURCE_UNAVAILABLE"}, "next_page")
    rest = go_on(result, {**count(2), "expect_request": {"query": {"ge": 2, "lt": 4}}}, page(3, 4))
    assert rest.complete
    assert (list(rest.ids), rest.total.value, rest.proof.level) == ([3, 4], 4, "counted")


def test_a_budget_stops_between_two_parts_and_the_rest_is_read_on() -> None:
    result = ask(parts(), count(4), count(2), page(1, 2), budget={"max_pages": 1})
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_pages", "MORE_PAGES_AVAILABLE"}
    assert (list(result.ids), result.read.pages, result.read.requests) == ([1, 2], 1, 3)
    assert list(go_on(result, count(2), page(3, 4)).ids) == [3, 4]


def test_a_part_that_stops_in_the_middle_goes_on_there() -> None:
    inner = {"name": "d", "version": 1, "items": "items", "id": "id", "walk": TOKEN}
    result = ask(parts(inner=inner), count(4), count(2), page(1, next="c"), {"fault": "timeout"})
    assert (list(result.ids), codes(result)) == ([1], {"SOURCE_UNAVAILABLE"})
    rest = go_on(
        result, {**page(2), "expect_request": {"query": {"cursor": "c", "ge": 0, "lt": 2}}}, count(2), page(3, 4)
    )
    assert rest.complete
    assert list(rest.ids) == [2, 3, 4]


def test_a_record_in_two_parts_is_one_record_and_a_loss_of_consistency() -> None:
    result = ask(parts(), count(4), count(2), page(1, 2), count(2), page(2, 3))
    assert "CONSISTENCY_LOST:duplicate_ids" in keys(result)
    assert list(result.ids) == [1, 2, 3]
    assert result.read.duplicates == 1


def test_a_count_that_is_not_stated_is_malformed_and_what_it_signals_counts() -> None:
    assert keys(ask(parts(), count(None))) == {"PROTOCOL_ANOMALY:malformed_page"}
    signal = [{"path": "late", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}]
    made = parts(count={**PARTS["count"], "signals": signal})
    partly = {"status": 200, "headers": {}, "json": {"n": 1, "late": ["s1"]}}
    assert codes(ask(made, partly, page(1))) == {"SOURCE_UNAVAILABLE"}


def test_the_exact_limit_of_items_holds_over_parts() -> None:
    result = ask(parts(), count(4), count(2), page(1, 2), count(2), page(3, 4), budget={"max_items": 3})
    assert list(result.ids) == [1, 2, 3]
    assert "CLIENT_LIMIT_REACHED:max_items" in keys(result)
    assert list(go_on(result).ids) == [4]


def test_parts_may_stand_in_one_snapshot() -> None:
    inner = {**PARTS["inner"], "snapshot": {"path": "rev"}}
    result = ask(parts(inner=inner), count(4), count(2), page(1, 2, rev=7), count(2), page(3, 4, rev=7))
    assert (result.consistency, result.proof.level) == ("snapshot", "snapshot")
    other = ask(parts(inner=inner), count(4), count(2), page(1, 2, rev=7), count(2), page(3, 4, rev=8))
    assert keys(other) == {"CONSISTENCY_LOST:snapshot_changed"}


# contradictions of the format


@pytest.mark.parametrize(
    ("made", "field"),
    [
        ({"walk": {**JOB, "ok": ["RUNNING"]}}, "walk"),
        ({"walk": {**JOB, "poll_s": 0}}, "walk.poll_s"),
        ({"walk": {**TOKEN, "first": None}}, "walk"),
        ({"walk": {**TOKEN, "repeated_token": "progress", "ends_on": ["same_token"]}}, "walk"),
        ({"walk": {**TOKEN, "carry": [{"read": "p", "send": {"query": "cursor"}}]}}, "filters"),
        ({"scope": [{"window": "90 days", "excludes": "old"}]}, "scope.0"),
        ({"scope": [{"window": "90 days", "code": "SCOPE_NARROWED", "warning": "DEFAULT_SCOPE_APPLIED"}]}, "scope.0"),
        ({"expired": [{"status": 410, "then": "never"}]}, "expired.0.then"),
        ({"walk": BYTES}, "items"),
        ({"walk": {**PARTS, "parts": {**PARTS["parts"], "to": 0}}}, "walk.parts"),
        ({"walk": {**PARTS, "inner": {**PARTS["inner"], "filters": {"a": {"query": "ge"}}}}}, "walk.parts"),
    ],
)  # fmt: skip
def test_a_contradiction_is_refused_by_its_key(made: dict[str, Any], field: str) -> None:
    with pytest.raises(ProfileError) as caught:
        profile(made.pop("walk", None), **made)
    assert caught.value.field == field


def test_a_sample_over_parts_is_as_long_as_asked() -> None:
    result = ask(parts(), count(4), count(2), page(1, 2), intent="sample", page_size=1)
    assert list(result.ids) == [1]
    assert codes(result) == {"SAMPLE_REQUESTED", "MORE_PAGES_AVAILABLE"}


# values and references


def test_a_value_that_says_that_its_job_is_running_is_asked_for_once() -> None:
    result = judge_value(profile(JOB), {"state": "RUNNING", "items": []}, resource="things")
    assert (result.status, codes(result)) == ("unavailable", {"CLIENT_LIMIT_REACHED", "JOB_NOT_FINISHED"})
    assert judge_value(profile(JOB), {"state": "DONE", "items": [{"id": 1}]}, resource="things").complete
    assert not judge_value(parts(), {"n": 10**9}, resource="things").complete


def test_a_record_has_the_reference_that_its_profile_names() -> None:
    made = profile(reference="links.self")
    assert reference_of(made, {"id": 1, "links": {"self": "https://a.example/1"}}) == "https://a.example/1"
    assert reference_of(made, {"id": 1}) is None
    assert reference_of(made, {"id": 1, "links": {"self": {}}}) is None
    assert reference_of(profile(), {"id": 1}) is None


def test_a_record_without_a_required_field_makes_its_page_malformed() -> None:
    made = profile(required=["owner"])
    assert keys(ask(made, page(1))) == {"PROTOCOL_ANOMALY:malformed_page"}
    assert ask(made, {"status": 200, "headers": {}, "json": {"items": [{"id": 1, "owner": None}]}}).complete


def test_a_stream_hands_out_one_part_after_another_as_links_of_one_chain() -> None:
    script = ScriptedTransport([count(4), count(2), page(1, 2), count(2), page(3, 4)], clock=VirtualClock())
    asked = make_ask(parts(), "things", url=URL, clock=script.clock, budget=Budget.unlimited())
    links = list(finish_pages(Resume(ask=asked, chain=Chain()), transport=script, records=False))
    assert [list(link.ids) for link in links] == [[1, 2], [3, 4]]
    assert keys(links[0]) == {"MORE_PAGES_AVAILABLE"}
    assert links[1].complete
    assert (links[1].read.continues, links[1].proof.level) == (links[0].read.id, "counted")
    script = ScriptedTransport([count(4), count(2), page(1, 2), {"fault": "timeout"}], clock=VirtualClock())
    links = list(finish_pages(Resume(ask=asked, chain=Chain()), transport=script, records=False))
    assert [link.status for link in links] == ["partial", "unavailable"]
    assert links[-1].continuation.kind == "next_page"
