"""Vector stores: fewer than k is no end, and an exact scan is."""

from __future__ import annotations

from typing import Any

import pytest
from unabridged import session
from unabridged.contract import InvalidInput
from unabridged.sources.vectors import read_faiss, vector_result


def hits(count: int) -> list[dict[str, Any]]:
    return [{"id": n, "distance": n / 10} for n in range(count)]


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


@pytest.mark.parametrize("found", [0, 3, 10])
def test_an_approximate_search_is_never_complete(found: int) -> None:
    with session(f"vectors-{found}") as s:
        result = vector_result(hits(found), resource="notes", k=10)
        assert [read.status for read in s.reads] == ["partial"]
    assert (result.status, result.returned, keys(result)) == ("partial", found, ["APPROXIMATE_METHOD:top_k"])
    assert result.continuation.kind == "exact_mode"


def test_a_filter_after_the_search_takes_hits_away() -> None:
    few = vector_result(hits(3), resource="notes", k=10, filtered=True, filters={"tenant": 1})
    exact = vector_result(hits(3), resource="notes", k=10, filtered=True, exact=True)
    assert keys(few) == keys(exact) == ["APPROXIMATE_METHOD:filtered_after_cap"]


def test_an_exact_scan_is_complete_when_it_brought_fewer_than_asked() -> None:
    result = vector_result(hits(3), resource="notes", k=10, exact=True)
    assert (result.status, result.proof.level, result.proof.end) == ("complete", "end_marker", "exact_scan")


def test_an_exact_scan_that_filled_its_k_is_no_end_unless_the_count_says_so() -> None:
    full = vector_result(hits(10), resource="notes", k=10, exact=True)
    more = vector_result(hits(10), resource="notes", k=10, exact=True, population=11)
    all_of_them = vector_result(hits(10), resource="notes", k=10, exact=True, population=10)
    assert keys(full) == keys(more) == ["CLIENT_LIMIT_REACHED:page_size"]
    assert (all_of_them.status, all_of_them.proof.level) == ("complete", "counted")


@pytest.mark.parametrize("population", [2, 5])
def test_an_exact_scan_that_its_count_contradicts_is_inconsistent(population: int) -> None:
    result = vector_result(hits(3), resource="notes", k=10, exact=True, population=population)
    assert keys(result) == ["CONSISTENCY_LOST:count_mismatch"]


def test_records_that_the_index_does_not_hold_narrow_the_scope() -> None:
    result = vector_result(hits(3), resource="notes", k=10, exact=True, unindexed=4)
    assert (result.status, keys(result)) == ("partial", ["SCOPE_NARROWED"])


@pytest.mark.parametrize("wrong", [{"k": 2}, {"k": 0}, {"k": 10, "id": "key"}])
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        vector_result(hits(3), resource="notes", **wrong)


class IndexFlat:
    """A stand-in for an index of faiss, which pads with -1."""

    ntotal = 3

    def search(self, vectors: Any, k: int, **params: Any) -> Any:
        found = [0, 2] if params else [0, 1, 2]
        padded = (found + [-1] * k)[:k]
        return [[float(n) for n in padded]], [padded]


class IndexHNSW(IndexFlat):
    """One that is not exact."""


def test_the_padding_of_faiss_is_no_record() -> None:
    whole = read_faiss(IndexFlat(), [[0.0]], k=5, resource="notes")
    chosen = read_faiss(IndexFlat(), [[0.0]], k=5, resource="notes", params="even", filters={"even": True})
    rough = read_faiss(IndexHNSW(), [[0.0]], k=5, resource="notes")
    sifted = read_faiss(IndexHNSW(), [[0.0]], k=5, resource="notes", params="even", filters={"even": True})
    assert (whole.status, whole.ids, whole.proof.level) == ("complete", (0, 1, 2), "counted")
    assert (chosen.status, chosen.ids) == ("complete", (0, 2))
    assert keys(rough) == ["APPROXIMATE_METHOD:top_k"]
    with pytest.raises(InvalidInput):
        read_faiss(IndexFlat(), [[0.0], [1.0]], k=5, resource="notes")
    assert keys(sifted) == ["APPROXIMATE_METHOD:filtered_after_cap"]
