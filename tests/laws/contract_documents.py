"""Hypothesis strategies for results and wire documents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from unabridged.contract import (
    DETAILS,
    NONE,
    REASON_CODES,
    WARNING_CODES,
    BudgetSpent,
    FetchRestOfItem,
    ItemCut,
    NarrowQuery,
    NextPage,
    Notice,
    Proof,
    ReadHeader,
    ReadMore,
    ReadResult,
    Reason,
    RestartScan,
    RetryAfter,
    Scope,
    SourceOutcome,
    Total,
    build_result,
    status_for,
)

START = datetime(2026, 11, 30, 9, tzinfo=UTC)
tokens = st.text("abcxyz019_.:-", min_size=1, max_size=8)
scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.5, 1.0, 2.0]) | st.text(max_size=6)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
ids = st.integers(0, 5) | tokens | st.booleans() | st.just(1.0)
records = st.builds(lambda i, rest: {"id": i, **rest}, ids, st.dictionaries(tokens, json_values, max_size=2))
sources = st.sampled_from(["eu", "us", "ap"])
moments = st.integers(0, 4000).map(lambda s: START + timedelta(seconds=s))
headers = st.builds(
    ReadHeader,
    id=st.integers(0, 10**9).map(lambda n: f"r_{n:x}"),
    query_id=st.just("q_1"),
    adapter=sources.map(lambda s: f"{s}/1"),
    started_at=moments,
    finished_at=moments,
    requests=st.integers(0, 9),
    pages=st.integers(0, 9),
    duplicates=st.integers(0, 3),
    page_size=st.none() | st.integers(1, 100),
    order=st.none() | st.just("id ascending"),
    budget=st.builds(
        BudgetSpent, max_pages=st.none() | st.integers(1, 9), spent_seconds=st.sampled_from([0.0, 0.1, 0.2, 1.25])
    ),
    continues=st.none() | st.just("r_0"),
)
scopes = st.builds(
    Scope,
    resource=st.just("widgets"),
    filters=st.dictionaries(st.sampled_from(["owner", "region"]), scalars | st.lists(scalars, max_size=2), max_size=2),
    intent=st.sampled_from(["inventory", "lookup"]),
    visibility=st.sampled_from(["all", "caller", "unknown"]),
    window=st.none() | st.sampled_from(["90 days", "7 days", "x" * 100]),
    excludes=st.lists(st.sampled_from(["archived", "drafts"]), max_size=2, unique=True).map(tuple),
)
continuations = st.sampled_from(
    [
        NONE,
        NextPage(handle="h_1"),
        ReadMore(handle="h_2"),
        RetryAfter(seconds=30, handle="h_3"),
        RestartScan(why="expired"),
        NarrowQuery(axis="created_at", limit=1000),
        FetchRestOfItem(item="a", field="body"),
    ]
)


@st.composite
def reasons(draw: st.DrawFn) -> Reason:
    code = draw(st.sampled_from(REASON_CODES))
    return Reason(
        code=code,
        detail=draw(st.none() | st.sampled_from(DETAILS.get(code, ("other",)))),
        limit=draw(st.none() | st.integers(1, 5)),
        layer=draw(st.sampled_from(["source", "adapter", "client", "presentation", "transport"])),
        source=draw(st.none() | sources),
        native=draw(st.none() | st.dictionaries(tokens, scalars, max_size=2)),
    )


UNKNOWN = Reason(code="COVERAGE_UNKNOWN")
totals = st.just(Total()) | st.builds(Total, value=st.integers(0, 9), kind=st.sampled_from(["exact", "estimate"]))
notices = st.builds(
    Notice,
    code=st.sampled_from(WARNING_CODES),
    observed=st.none() | st.dictionaries(tokens, scalars, max_size=1),
    owner=st.none() | st.just("search-team"),
    expires=st.none() | st.just("2027-03-01"),
)


@st.composite
def results(draw: st.DrawFn) -> ReadResult:
    """One unmerged result: any status, with zero, one or several sources of its own."""
    items = draw(st.none() | st.lists(records, max_size=4))
    why = draw(st.lists(reasons(), min_size=1 if items is None else 0, max_size=3) | st.just([UNKNOWN]))
    status = status_for(items, (r.code for r in why))
    named = draw(st.lists(sources, max_size=2, unique=True))
    proof = draw(
        st.builds(
            Proof,
            level=st.sampled_from([*([] if status == "complete" else ["none"]), "end_marker", "counted", "snapshot"]),
            end=st.none() | st.just("absent"),
            count=st.none() | st.integers(0, 5),
            basis=st.none() | st.sampled_from(["document", "server"]),
        )
    )
    lost = items is None or any(r.code == "CONSISTENCY_LOST" for r in why)
    cut_is_allowed = status != "complete"
    return build_result(
        items=items,
        reasons=why,
        scope=draw(scopes),
        read=draw(headers),
        continuation=NONE if status == "complete" else draw(continuations),
        total=draw(totals),
        consistency="not_established" if lost else draw(st.sampled_from(["interval", "snapshot"])),
        proof=proof,
        sources=tuple(
            SourceOutcome(
                name=n, status="complete" if status == "complete" else draw(st.sampled_from(["partial", status]))
            )
            for n in named
        ),
        item_cuts=(ItemCut(item="a", field="body", why="abridged", shown=3, total=9, unit="chars"),)
        if cut_is_allowed and draw(st.booleans())
        else (),
        warnings=tuple(draw(st.lists(notices, max_size=2))),
    )


def mutated(document: dict[str, Any], path: list[str | int], value: Any) -> Any:
    """Returns the document with the value at `path` replaced; lists and objects on the way are copied."""
    if not path:
        return value
    head, *rest = path
    copy: Any = list(document) if isinstance(document, list) else dict(document)
    copy[head] = mutated(copy[head], rest, value)
    return copy


def paths(document: Any) -> list[list[str | int]]:
    """Returns the path of every value inside a document."""
    found: list[list[str | int]] = []
    pairs: Any = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in pairs:
        found.append([key])
        if isinstance(value, dict | list):
            found += [[key, *p] for p in paths(value)]
    return found
