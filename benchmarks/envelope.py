"""Building an envelope: the cost of `build_result`, which must not depend on what the records hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from unabridged.contract import Proof, ReadHeader, ReadResult, Reason, Scope, Total, build_result

from .harness import Figure, measure

_ENVELOPE_US: Final = 5.0
_RECORD_US: Final = 0.06
_AT: Final = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)


def records(count: int) -> list[dict[str, Any]]:
    """Returns records such as a service gives."""
    return [{"id": f"svc-{n:08d}", "owner": None, "enabled": True, "rank": n} for n in range(count)]


def _parts() -> dict[str, Any]:
    return {
        "scope": Scope(resource="accounts", filters={"tenant": "north"}),
        "read": ReadHeader(id="r_0123456789abcdef", adapter="bench/1", started_at=_AT, finished_at=_AT, pages=1),
        "total": Total(value=None, kind="unknown"),
        "proof": Proof(level="end_marker", end="absent", basis="documented"),
    }


def _with_ids(result: ReadResult) -> int:
    return len(result.ids)


def run() -> list[Figure]:
    """Measures a complete and a partial envelope at several sizes, with parts at hand and with parts made for it."""
    parts = _parts()
    cut = {name: part for name, part in parts.items() if name != "proof"}
    reasons = [Reason(code="MORE_PAGES_AVAILABLE", layer="client")]
    kept = {count: records(count) for count in (0, 100, 1_000, 100_000)}
    for items in kept.values():
        if build_result(items=items, **parts).items is not items:
            raise RuntimeError("the envelope copied its items")
    works: dict[str, Callable[[], object]] = {
        f"complete, {count:,} records": lambda items=items: build_result(items=items, **parts)  # type: ignore[misc]
        for count, items in kept.items()
    }
    works["partial, 100 records"] = lambda: build_result(items=kept[100], reasons=reasons, **cut)
    works["complete, 100 records, scope and header made too"] = lambda: build_result(items=kept[100], **_parts())
    works["complete, 1,000 records, ids taken too"] = lambda: _with_ids(build_result(items=kept[1_000], **parts))
    sizes = {name: _count_in(name) for name in works}
    samples = measure(works, baseline="complete, 0 records", rounds=31, calls=500)
    return [samples.micros(name, what=name, budget=_ENVELOPE_US + _RECORD_US * sizes[name]) for name in works]


def _count_in(name: str) -> int:
    return int(name.split(", ")[1].split()[0].replace(",", ""))
