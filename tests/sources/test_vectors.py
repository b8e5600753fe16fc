"""Vector stores: fewer than k is no end, and an exact scan is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass
class Even:
    """A stand-in for the parameters of a search: a selector of even numbers."""

    @property
    def sel(self) -> Even:
        return self

    def is_member(self, number: int) -> bool:
        return number % 2 == 0


class IndexFlat:
    """A stand-in for an index of faiss, which pads with -1; a vector whose distance is no number is never brought."""

    def __init__(self, total: int = 3, *, without: Sequence[int] = (), happens: Callable[[], object] = list) -> None:
        self.ntotal = total
        self._without = without
        self._happens = happens

    def search(self, vectors: Any, k: int, *, params: Any = None) -> Any:
        found = [n for n in range(self.ntotal) if n not in self._without and (params is None or n % 2 == 0)]
        padded = (found + [-1] * k)[:k]
        self._happens()
        return [[float(n) for n in padded]], [padded]


class IndexHNSW(IndexFlat):
    """One that is not exact."""


def test_the_padding_of_faiss_is_no_record() -> None:
    whole = read_faiss(IndexFlat(), [[0.0]], k=5, resource="notes")
    chosen = read_faiss(IndexFlat(), [[0.0]], k=5, resource="notes", params=Even(), filters={"even": True})
    rough = read_faiss(IndexHNSW(), [[0.0]], k=5, resource="notes")
    sifted = read_faiss(IndexHNSW(), [[0.0]], k=5, resource="notes", params=Even(), filters={"even": True})
    assert (whole.status, whole.ids, whole.proof.level) == ("complete", (0, 1, 2), "counted")
    assert (chosen.status, chosen.ids, chosen.proof.level) == ("complete", (0, 2), "counted")
    assert keys(rough) == ["APPROXIMATE_METHOD:top_k"]
    assert keys(sifted) == ["APPROXIMATE_METHOD:filtered_after_cap"]
    with pytest.raises(InvalidInput):
        read_faiss(IndexFlat(), [[0.0], [1.0]], k=5, resource="notes")
    with pytest.raises(InvalidInput):
        read_faiss(IndexFlat(), [[0.0]], k=0, resource="notes")


@pytest.mark.parametrize("params", [None, Even()])
def test_a_vector_that_no_search_brings_makes_an_exact_one_doubtful(params: Any) -> None:
    result = read_faiss(IndexFlat(without=[2]), [[0.0]], k=5, resource="notes", params=params)
    assert (result.status, keys(result)) == ("partial", ["CONSISTENCY_LOST:count_mismatch"])


def test_parameters_of_which_nobody_can_tell_what_they_select_are_a_filter_behind_the_search() -> None:
    short = read_faiss(IndexFlat(), [[0.0]], k=5, resource="notes", params=object(), filters={"even": True})
    full = read_faiss(IndexFlat(), [[0.0]], k=2, resource="notes", params=object(), filters={"even": True})
    assert (short.status, keys(short)) == ("partial", ["APPROXIMATE_METHOD:filtered_after_cap"])
    assert (full.status, keys(full)) == ("partial", ["CLIENT_LIMIT_REACHED:page_size"])


@pytest.mark.parametrize("more", [1, -1])
def test_an_index_that_changes_while_it_is_searched_is_inconsistent(more: int) -> None:
    def happens() -> None:
        index.ntotal += more

    index = IndexFlat(happens=happens)
    result = read_faiss(index, [[0.0]], k=5, resource="notes")
    assert (result.status, keys(result)) == ("partial", ["CONSISTENCY_LOST:mutated_during_read"])
    assert result.consistency == "not_established"


def test_a_search_that_fails_leaves_evidence() -> None:
    def happens() -> None:
        raise RuntimeError

    with session("faiss-fails") as s:
        with pytest.raises(RuntimeError):
            read_faiss(IndexFlat(happens=happens), [[0.0]], k=5, resource="notes")
        assert [(read.status, read.codes) for read in s.reads] == [("unavailable", ("SOURCE_UNAVAILABLE",))]


def test_pieces_of_one_record_are_one_record() -> None:
    pieces = [{"id": "a", "text": "1"}, {"id": "b", "text": "2"}, {"id": "a", "text": "3"}]
    found = vector_result(pieces, resource="notes", k=5, exact=True)
    assert (found.status, found.ids, found.returned) == ("complete", ("a", "b"), 2)
    assert [notice.code for notice in found.warnings] == ["DUPLICATES_REMOVED"]
    counted = vector_result(pieces, resource="notes", k=5, exact=True, population=3)
    assert (counted.status, keys(counted)) == ("partial", ["CONSISTENCY_LOST:count_mismatch"])
    full = vector_result(pieces, resource="notes", k=3, exact=True)
    assert keys(full) == ["CLIENT_LIMIT_REACHED:page_size"]
    assert vector_result([{"id": 1}, {"id": True}], resource="notes", k=5, exact=True).returned == 2
