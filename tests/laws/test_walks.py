"""Laws of walking: whatever a source holds and wherever it breaks, `complete` means that every id was delivered."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from laws.walk_sources import Source, budgets, paged, sources, token_source
from unabridged.contract import ReadResult, from_wire, id_key, resume_of
from unabridged.profiles import load_profile
from unabridged.reading import Budget, Fault, Query, Request, Response, Resume, run_read
from unabridged.reading.run import finish_pages
from unabridged.testing import VirtualClock

URL = "https://law.example/things"


def read(source: Source, limits: dict[str, int], **asked: Any) -> ReadResult:
    return run_read(
        load_profile(source.profile),
        Query("things", **asked),
        url=URL,
        transport=source,
        clock=VirtualClock(),
        budget=Budget.unlimited(**limits),
    )


def delivered(results: list[ReadResult]) -> set[Any]:
    return {id_key(one) for result in results for one in result.ids}


def follow(result: ReadResult, source: Source) -> list[ReadResult]:
    """Takes the way on for as long as there is one of the same chain."""
    links = [result]
    for _ in range(60):
        resume = resume_of(links[-1])
        if not isinstance(resume, Resume) or resume.kind != "chain" or links[-1].complete:
            break
        links.append(resume.read(transport=source, clock=VirtualClock()))
    return links


@given(sources(), budgets(), st.none() | st.integers(1, 6))
def test_complete_implies_that_every_id_was_delivered(
    source: Source, limits: dict[str, int], page_size: int | None
) -> None:
    result = read(source, limits, page_size=page_size)
    if result.complete:
        assert delivered([result]) == source.truth
    assert delivered([result]) <= source.truth


@given(sources(), budgets())
def test_a_chain_that_ends_complete_after_limits_of_ours_has_delivered_every_id(
    source: Source, limits: dict[str, int]
) -> None:
    links = follow(read(source, limits), source)
    own = {"CLIENT_LIMIT_REACHED", "TIME_BUDGET_EXCEEDED", "MORE_PAGES_AVAILABLE"}
    if links[-1].complete and all(set(link.codes) <= own for link in links[:-1]):
        assert delivered(links) == source.truth
        assert sum(link.returned for link in links) == len(source.truth) or any(link.read.duplicates for link in links)


@given(sources(), budgets())
def test_a_chain_that_asks_again_for_failed_pages_has_delivered_every_id_once_it_is_complete(
    source: Source, limits: dict[str, int]
) -> None:
    links = follow(read(source, limits), source)
    lost = {"CONSISTENCY_LOST", "RESULT_LIMIT_REACHED", "PROTOCOL_ANOMALY", "CONTINUATION_EXPIRED"}
    if links[-1].complete and not any(set(link.codes) & lost for link in links[:-1]):
        assert delivered(links) == source.truth


@given(sources())
def test_a_stream_of_pages_that_ends_complete_has_delivered_every_id(source: Source) -> None:
    first = read(source, {"max_pages": 1, "max_retries": 0})
    source.requests = 0
    resume = resume_of(first)
    links = [first] if not isinstance(resume, Resume) else [first, *finish_pages(resume, transport=source)]
    if links[-1].complete and not any(
        set(link.codes) - {"CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE"} for link in links[:-1]
    ):
        assert delivered(links) == source.truth
    for before, after in pairwise(links):
        assert after.read.continues == before.read.id


@given(sources(), budgets())
def test_a_sample_is_never_complete_and_never_longer_than_asked(source: Source, limits: dict[str, int]) -> None:
    result = read(source, limits, intent="sample", page_size=2)
    assert not result.complete
    assert result.returned <= 2


@given(sources(), st.integers(1, 8))
def test_the_limit_of_items_is_exact(source: Source, most: int) -> None:
    result = read(source, {"max_items": most})
    assert result.returned <= most
    if "max_items" in {reason.detail for reason in result.reasons}:
        assert result.returned == most


@given(sources(), budgets())
def test_every_result_of_a_read_survives_the_wire(source: Source, limits: dict[str, int]) -> None:
    result = read(source, limits)
    text = json.dumps(result.to_wire(), allow_nan=False)
    assert from_wire(json.loads(text)) == result


@given(paged, st.data())
def test_a_dropped_page_is_never_taken_for_the_end(pages: list[list[Any]], data: st.DataObject) -> None:
    """A source that loses one page of records but counts them all: the count tells."""
    source = token_source(pages, "absent", counted=True)
    lost = data.draw(st.integers(0, len(source.pages) - 1))
    kept = [page for n, page in enumerate(source.pages) if n != lost]
    if {one for page in kept for one in page} == source.truth:
        return

    def send(request: Request, *, timeout_s: float | None) -> Response | Fault:
        assert timeout_s is None
        reply = source.serve(source, request)
        document = json.loads(reply.body)
        at = int(dict(request.pairs).get("cursor", "p0")[1:])
        return Response(200, (), json.dumps({**document, "items": [] if at == lost else document["items"]}).encode())

    liar = Source(source.profile, source.pages, source.serve)
    liar.send = send  # type: ignore[method-assign]
    assert not read(liar, {}).complete
