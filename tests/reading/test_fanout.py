"""A fan-out: one walk a source, one budget, and a dead source that no working one hides."""

from __future__ import annotations

from typing import Any

import pytest
from reading.asking import codes, keys, page
from unabridged.contract import InvalidInput, ReadResult, from_wire, resume_of
from unabridged.evidence import WriteIntent, judge_write
from unabridged.profiles import load_profile
from unabridged.reading import Budget, Query, Resume, read, run_read
from unabridged.reading.ask import Chain
from unabridged.reading.run import finish_pages, make_ask
from unabridged.testing import ScriptedTransport

INNER: dict[str, Any] = {
    "name": "things", "version": 1, "items": "items", "id": "id", "count": {"path": "n", "kind": "exact"},
    "signals": [{"path": "shards", "when": "nonempty", "code": "SOURCE_UNAVAILABLE", "names_sources": True}],
    "walk": {"by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent"], "empty_token": "end",
             "repeated_token": "anomaly"},
}  # fmt: skip
PROFILE = load_profile(
    {"name": "regions", "version": 1, "walk": {"by": "fanout", "over": ["eu", "us", "ap"], "inner": INNER}}
)
DOWN = {"status": 503, "headers": {}, "json": {}}


def fan(budget: dict[str, Any] | None = None, **sources: Any) -> ReadResult:
    script = ScriptedTransport(sources={"eu": [page()], "us": [page()], "ap": [page()], **sources})
    return run_read(
        PROFILE, Query("things"), url="https://{source}.example/things", transport=script, clock=script.clock,
        budget=Budget.unlimited(**(budget or {})),
    )  # fmt: skip


def go_on(result: ReadResult, **sources: Any) -> tuple[ReadResult, ScriptedTransport]:
    script = ScriptedTransport(sources=sources)
    resume = resume_of(result)
    assert isinstance(resume, Resume)
    return resume.read(budget=Budget.unlimited(), transport=script, clock=script.clock), script


def outcomes(result: ReadResult) -> dict[str, str]:
    return {source.name: source.status for source in result.sources}


def test_every_source_is_read_at_its_own_address() -> None:
    script = ScriptedTransport(sources={"eu": [page(1)], "us": [page(1, 2)], "ap": [page()]})
    result = run_read(PROFILE, "things", url="https://{source}.example/things", transport=script, clock=script.clock)
    assert [request.full_url for request in script.requests] == [
        f"https://{name}.example/things" for name in ("eu", "us", "ap")
    ]
    assert result.complete
    assert result.returned == 3
    assert sorted(result.ids) == [1, 1, 2]
    assert result.read.adapter == "regions/1"
    assert result.read.requests == 3
    assert result.consistency == "interval"


def test_totals_add_up_only_where_all_are_exact() -> None:
    whole = fan(eu=[page(1, n=1)], us=[page(1, 2, n=2)], ap=[page(n=0)])
    assert (whole.total.value, whole.total.kind, whole.proof.level) == (3, "exact", "counted")
    mixed = fan(eu=[page(1, n=1)])
    assert (mixed.total.kind, mixed.proof.level) == ("unknown", "end_marker")


def test_a_dead_source_keeps_its_code_and_its_name() -> None:
    result = fan(eu=[page(1)], us=[DOWN])
    assert (result.status, outcomes(result)) == ("partial", {"eu": "complete", "us": "unavailable", "ap": "complete"})
    assert [(reason.code, reason.source) for reason in result.reasons] == [("SOURCE_UNAVAILABLE", "us")]
    assert result.continuation.kind == "retry_sources"
    assert list(result.continuation.names) == ["us"]
    assert from_wire(result.to_wire()) == result


def test_asking_the_dead_source_again_completes_the_chain_without_asking_the_others() -> None:
    first = fan(eu=[page(1)], us=[DOWN])
    second, script = go_on(first, us=[page(2)])
    assert [request.source for request in script.requests] == ["us"]
    assert (second.status, second.ids) == ("complete", (2,))
    assert second.read.continues == first.read.id
    assert outcomes(second) == {"eu": "complete", "us": "complete", "ap": "complete"}


def test_a_source_that_stays_dead_stays_named() -> None:
    second, _ = go_on(fan(eu=[page(1)], us=[DOWN]), us=[DOWN])
    assert second.status == "partial"
    assert second.items == []
    assert list(second.continuation.names) == ["us"]  # type: ignore[union-attr]
    third, _ = go_on(second, us=[page(3)])
    assert third.complete


def test_a_source_whose_pages_fell_apart_is_not_begun_anew_in_passing() -> None:
    result = fan(eu=[page(1, next="a"), page(1, 2)], us=[DOWN])
    assert result.continuation.kind == "retry_sources"
    second, script = go_on(result, us=[page(3)])
    assert [request.source for request in script.requests] == ["us"]
    assert keys(second) == {"CONSISTENCY_LOST:duplicate_ids"}
    assert second.continuation.kind == "restart_scan"
    third, script = go_on(second, eu=[page(1, 2)], us=[page(3)], ap=[page()])
    assert third.complete
    assert third.read.continues is None
    assert sorted(third.ids) == [1, 2, 3]


def test_a_source_that_never_answers_is_not_offered_for_ever() -> None:
    result = fan(eu=[page(1)], us=[DOWN])
    offered = 0
    while result.continuation.kind == "retry_sources":
        offered += 1
        result, _ = go_on(result, us=[DOWN])
    assert offered == 4
    assert (result.status, result.continuation.kind) == ("partial", "none")


def test_nothing_but_dead_sources_is_nothing_at_all() -> None:
    result = fan(eu=[DOWN], us=[DOWN], ap=[DOWN])
    assert (result.status, result.items) == ("unavailable", None)
    assert list(result.continuation.names) == ["ap", "eu", "us"]  # type: ignore[union-attr]


def test_a_working_source_whose_walk_loops_makes_the_whole_partial() -> None:
    result = fan(eu=[page(1, next="a"), page(2, next="a")])
    assert keys(result) == {"PROTOCOL_ANOMALY:cursor_repeated"}
    assert outcomes(result)["eu"] == "partial"


def test_shards_that_a_source_names_stand_beside_it() -> None:
    result = fan(eu=[page(1, shards=["s3"])])
    assert outcomes(result) == {"eu": "partial", "s3": "unavailable", "us": "complete", "ap": "complete"}


def test_a_shard_that_bears_the_name_of_another_source_is_not_that_source() -> None:
    first = fan({"max_pages": 1}, eu=[page(1, next="a", shards=["us"])])
    assert outcomes(first) == {"eu": "partial", "eu.us": "unavailable", "us": "unavailable", "ap": "unavailable"}
    last, _ = go_on(first, eu=[page(2)], us=[page(3)], ap=[page(4)])
    assert last.complete
    for links in ([first, last], [first]):
        assert not judge_write(WriteIntent("purge"), links, now=last.read.finished_at).allowed


def test_one_budget_serves_all_sources_and_what_was_not_begun_is_named() -> None:
    result = fan({"max_pages": 2}, eu=[page(1)], us=[page(2, next="a")])
    assert outcomes(result) == {"eu": "complete", "us": "partial", "ap": "unavailable"}
    assert codes(result) == {"CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE"}
    assert list(result.continuation.names) == ["ap"]  # type: ignore[union-attr]
    second, script = go_on(result, us=[page(3)], ap=[page(4)])
    assert [dict(request.pairs).get("cursor") for request in script.requests] == ["a", None]
    assert second.complete
    assert sorted(second.ids) == [3, 4]


def test_a_limit_of_items_is_exact_over_all_sources() -> None:
    result = fan({"max_items": 3}, eu=[page(1, 2)], us=[page(3, 4)], ap=[page(5)])
    assert result.returned == 3
    second, script = go_on(result, ap=[page(5)])
    assert second.complete
    assert sorted(second.ids) == [4, 5]
    assert [request.source for request in script.requests] == ["ap"]


def test_a_fan_out_streams_its_pages_and_ends_with_the_whole() -> None:
    script = ScriptedTransport(
        sources={"eu": [page(1, next="a"), page(2)], "us": [page(3)], "ap": [page(4, next="b"), DOWN]}
    )
    asked = make_ask(PROFILE, "things", url="https://{source}.example/", clock=script.clock, budget=Budget.unlimited())
    links = list(finish_pages(Resume(ask=asked, chain=Chain()), transport=script))
    assert [sorted(link.ids) for link in links] == [[1], [4], [2, 3]]
    assert [link.read.continues for link in links] == [None, links[0].read.id, links[1].read.id]
    assert links[-1].status == "partial"
    assert outcomes(links[-1])["ap"] == "unavailable"


def test_a_live_fan_out_over_several_sources_needs_a_place_for_their_names() -> None:
    with pytest.raises(InvalidInput, match=r"url: must hold \{source\}"):
        read(PROFILE, "things", url="https://api.example/things")
