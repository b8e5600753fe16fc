"""The result store: bounded in size and age, and it says what it dropped."""

from __future__ import annotations

from evidence.made_reads import AT, at, made
from unabridged.evidence import MemoryStore


def test_results_are_kept_by_reference_and_by_session() -> None:
    store = MemoryStore()
    result = made("widgets", [1])
    assert store.put("one", result, now=AT, on_drop=lambda _: None)
    assert store.get("one", result.read.id, now=AT) is result
    assert store.get("two", result.read.id, now=AT) is None


def test_the_oldest_results_go_first_and_are_named() -> None:
    dropped: list[str] = []
    store = MemoryStore(max_results=2)
    results = [made("widgets", [n]) for n in range(4)]
    for result in results:
        store.put("one", result, now=AT, on_drop=dropped.append)
    assert dropped == [r.read.id for r in results[:2]]
    assert repr(store) == "<MemoryStore 2 results>"


def test_the_number_of_records_is_bounded() -> None:
    dropped: list[str] = []
    store = MemoryStore(max_records=10)
    small, large = made("widgets", range(4)), made("widgets", range(8))
    store.put("one", small, now=AT, on_drop=dropped.append)
    store.put("one", large, now=AT, on_drop=dropped.append)
    assert dropped == [small.read.id]
    assert not store.put("one", made("widgets", range(10)), now=AT, on_drop=dropped.append)
    assert store.get("one", large.read.id, now=AT) is large


def test_results_grow_old() -> None:
    dropped: list[str] = []
    store = MemoryStore(max_age_s=60)
    result = made("widgets", [1])
    store.put("one", result, now=AT, on_drop=dropped.append)
    assert store.get("one", result.read.id, now=at(60)) is result
    assert store.get("one", result.read.id, now=at(61)) is None
    assert dropped == [result.read.id]


def test_erasing_forgets_one_session_only() -> None:
    dropped: list[str] = []
    store = MemoryStore()
    mine, other = made("widgets", [1]), made("widgets", [2])
    store.put("one", mine, now=AT, on_drop=dropped.append)
    store.put("two", other, now=AT, on_drop=dropped.append)
    store.erase("one")
    assert dropped == [mine.read.id]
    assert store.get("two", other.read.id, now=AT) is other


def test_putting_a_result_twice_keeps_it_once() -> None:
    store = MemoryStore(max_results=2)
    result = made("widgets", [1])
    for _ in range(5):
        assert store.put("one", result, now=AT, on_drop=lambda _: None)
    assert repr(store) == "<MemoryStore 1 results>"
