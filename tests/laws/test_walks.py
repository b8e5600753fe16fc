"""Laws of walking: whatever a source holds and wherever it breaks, `complete` means that every id was delivered."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from laws.walk_sources import Source, budgets, faults, offset_source, paged, sources, token_source
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
    own = {"CLIENT_LIMIT_REACHED", "TIME_BUDGET_EXCEEDED", "MORE_PAGES_AVAILABLE", "JOB_NOT_FINISHED"}
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


counted_offsets = st.builds(
    lambda ids, size, unit: offset_source(ids, size, "total", unit=unit, origin=0, counted=True),
    st.lists(st.integers(0, 60), min_size=5, max_size=14, unique=True), st.integers(1, 3),
    st.sampled_from(["item", "page"]),
)  # fmt: skip
"""Sources of several pages, of which one page tells where the others are."""


@given(sources() | counted_offsets, budgets() | st.just({}))
def test_requests_in_flight_change_nothing(source: Source, limits: dict[str, int]) -> None:
    """An honest source, no matter in which order its pages arrive; faults strike by the number of a request."""
    source.faults = {}
    if source.profile["walk"]["by"] in ("job", "stream"):
        return
    one = read(source, limits)
    other = run_read(
        load_profile(source.profile), "things", url=URL, transport=source, clock=VirtualClock(), in_flight=4,
        budget=Budget.unlimited(**limits),
    )  # fmt: skip
    if not limits.keys() & {"max_requests", "max_pages", "max_items", "max_bytes"}:
        assert (one.status, one.codes, list(one.ids)) == (other.status, other.codes, list(other.ids))
    if other.complete:
        assert delivered([other]) == source.truth
    if "max_items" in limits:
        assert other.returned <= limits["max_items"]
    if "max_pages" in limits:
        assert other.read.pages <= limits["max_pages"]
    if "max_requests" in limits:
        assert other.read.requests <= limits["max_requests"]


@given(sources(), faults)
def test_two_walks_of_a_source_that_stands_still_prove_it_and_never_more(
    source: Source, struck: dict[int, int]
) -> None:
    source.faults = struck
    result = run_read(
        load_profile(source.profile), "things", url=URL, transport=source, clock=VirtualClock(), double_walk=True
    )
    if result.complete:
        assert delivered([result]) == source.truth
    if not struck and result.complete:
        assert result.proof.level == "double_walk"


@given(st.text(max_size=40), st.integers(1, 7), st.integers(1, 3))
def test_a_text_read_in_ranges_and_links_is_the_text(text: str, size: int, most: int) -> None:
    data = text.encode("utf-8", "replace")
    whole = data.decode()
    profile = load_profile({"name": "doc", "version": 1, "walk": {"by": "range", "unit": "bytes", "size": size}})

    class Document:
        def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
            start, end = map(int, dict(request.headers)["Range"].removeprefix("bytes=").split("-"))
            if start >= len(data):
                return Response(416, (("Content-Range", f"bytes */{len(data)}"),))
            piece = data[start : end + 1]
            return Response(206, (("Content-Range", f"bytes {start}-{start + len(piece) - 1}/{len(data)}"),), piece)

    found, resume = "", None
    for _ in range(200):
        result = run_read(
            profile, "doc", url=URL, transport=Document(), clock=VirtualClock(), resume=resume,
            budget=Budget.unlimited(max_pages=most + 4 // size),
        )  # fmt: skip
        found += (result.items or [{"text": ""}])[0]["text"]
        resume = resume_of(result)
        if result.complete:
            break
    assert found == whole


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "next", "a"]), inner, max_size=3)
    ),
    max_leaves=6,
)
any_records = st.lists(st.fixed_dictionaries({"id": json_values}) | json_values, max_size=3)
said = dict.fromkeys(("next", "more", "total", "last", "error", "rev", "used", "shards"), json_values)
any_page = st.fixed_dictionaries({}, optional={"items": any_records | json_values, **said})
good_page = st.fixed_dictionaries(
    {"items": st.lists(st.fixed_dictionaries({"id": st.integers(0, 3)}), max_size=3)},
    optional={**said, "error": st.none(), "next": json_values | st.sampled_from(["c", "c", "/things?page=2"])},
)
"""What a walk goes through, and has to make sense of."""
any_header = st.tuples(
    st.sampled_from(["Link", "link", "Retry-After", "Content-Length", "Content-Encoding", "X-Total", "Location"]),
    st.text(alphabet=st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=24)
    | st.sampled_from(['</things?page=2>; rel="next"', "5", "-1", "gzip", "1e9"]),
)
any_reply = st.builds(
    Response,
    st.sampled_from([200, 200, 200, 201, 204, 206, 301, 401, 404, 410, 429, 500]),
    st.lists(any_header, max_size=2).map(tuple),
    any_page.map(lambda document: json.dumps(document).encode()) | json_values.map(lambda v: json.dumps(v).encode()),
) | st.sampled_from(["timeout", "short_body", "deadline", "too_large", "undecodable"]).map(Fault)
good_reply = good_page.map(lambda document: Response(200, (), json.dumps(document).encode()))
RULES: dict[str, Any] = {
    "signals": [
        {"path": "shards", "when": "nonempty", "code": "SOURCE_UNAVAILABLE", "names_sources": True},
        {"path": "length(items) < total", "when": {"expr": True}, "code": "PARTIAL_FAILURE"},
        {"path": "header:x-total", "when": {"gt": 3}, "warning": "STALE_INDEX"},
    ],
    "snapshot": {"path": "rev"}, "empty_status": [204], "caps": [{"limit": 4, "on": "items"}],
    "item_cuts": [{"path": "a", "list_len": 1, "why": "abridged"}], "drop_ids": [0], "expired": [{"status": 410}],
}  # fmt: skip


class Anything:
    """Answers with whatever was drawn."""

    def __init__(self, replies: list[Response | Fault]) -> None:
        self.replies = replies

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        return self.replies.pop(0) if self.replies else Fault("disconnect")


@given(
    sources(),
    st.lists(good_reply, max_size=2).flatmap(
        lambda begun: st.lists(any_reply | good_reply, min_size=1, max_size=5).map(lambda more: [*begun, *more])
    ),
    budgets() | st.just({}),
    st.sampled_from(["inventory", "inventory", "sample"]),
)
@settings(max_examples=200)
def test_no_answer_of_a_source_breaks_a_read(
    source: Source, replies: list[Response | Fault], limits: dict[str, int], intent: Any
) -> None:
    made = {**source.profile, **RULES, "size": {"send": {"query": "limit"}, "max": 3, "read": "used"}}
    if made["walk"]["by"] == "partition":
        made = source.profile  # the rules of a page belong to the profiles inside
    if "overfetch" in made["walk"]:
        made["walk"] = {**made["walk"], "overfetch": 1}
    result = run_read(
        load_profile(made),
        Query("things", intent=intent, page_size=2),
        url=URL,
        transport=Anything(replies),
        clock=VirtualClock(),
        budget=Budget.unlimited(**limits),
    )
    assert from_wire(json.loads(json.dumps(result.to_wire()))) == result
    assert result.short()["status"] == result.status


class Regions:
    """Several sources behind one fan-out; each knows what it holds."""

    def __init__(self, sources: dict[str, Source]) -> None:
        self.sources = sources

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        return self.sources[request.source or ""].send(request, timeout_s=timeout_s)


@given(st.lists(st.tuples(paged, faults), min_size=1, max_size=3), budgets())
def test_a_fan_out_is_complete_only_when_every_source_has_delivered_every_id(
    drawn: list[tuple[list[list[Any]], dict[int, int]]], limits: dict[str, int]
) -> None:
    made = {f"s{n}": token_source(pages, "absent", counted=False) for n, (pages, _) in enumerate(drawn)}
    for source, (_, struck) in zip(made.values(), drawn, strict=True):
        source.faults = struck
    inner = {**next(iter(made.values())).profile, "duplicates": "expected"}
    profile = {"name": "all", "version": 1, "walk": {"by": "fanout", "over": list(made), "inner": inner}}
    links = [
        run_read(
            load_profile(profile), "things", url="https://{source}.example/", transport=Regions(made),
            clock=VirtualClock(), budget=Budget.unlimited(**limits),
        )
    ]  # fmt: skip
    if "max_items" in limits:
        assert links[0].returned <= limits["max_items"]
    for _ in range(40):
        resume = resume_of(links[-1])
        if not isinstance(resume, Resume) or links[-1].complete:
            break
        links.append(resume.read(transport=Regions(made), clock=VirtualClock()))
    truth = {one for source in made.values() for one in source.truth}
    if links[-1].complete:
        assert delivered(links) == truth
    assert delivered(links) <= truth
