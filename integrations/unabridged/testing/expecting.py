"""Comparing a read with what a case expects of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from unabridged.contract import ReadResult, decision, json_equal

from .matching import extra_codes, holds_text, missing_codes, same_set, subset
from .steps import ReadExpect


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a case came out otherwise than it expects."""

    where: str
    """Such as `reads[0].status`."""
    expected: Any
    actual: Any

    def to_json(self) -> dict[str, Any]:
        """Returns the difference as the output shows it."""
        return {"where": self.where, "expected": self.expected, "actual": self.actual}


@dataclass(frozen=True, slots=True)
class Seen:
    """What a read came to, and what else was said while the case ran."""

    result: ReadResult
    requests: int
    """How many requests reached the transport."""
    texts: tuple[Any, ...] = ()
    """Refusals, caveats, logs and audit records, to be searched for what must never stand there."""


_ONE_VALUE: Final[dict[str, Callable[[ReadResult], Any]]] = {
    "status": lambda r: r.status,
    "complete": lambda r: r.complete,
    "truncated": lambda r: r.truncated,
    "returned": lambda r: r.returned,
    "finding_count": lambda r: r.finding_count,
    "total": lambda r: r.total.value,
    "total_kind": lambda r: r.total.kind,
    "consistency": lambda r: r.consistency,
    "visibility": lambda r: r.scope.visibility,
    "proof": lambda r: r.proof.level,
    "continuation": lambda r: r.continuation.kind,
    "duplicates": lambda r: r.read.duplicates,
    "decision": decision,
}


def read_differences(where: str, expect: ReadExpect, seen: Seen) -> list[Difference]:
    """Returns every place where a read differs from what is expected; only stated keys are looked at."""
    found: list[Difference] = []
    for key in ReadExpect.model_fields:
        if key in expect.model_fields_set:
            found += [Difference(f"{where}.{key}", e, a) for e, a in _differences(key, getattr(expect, key), seen)]
    return found


def _differences(key: str, expected: Any, seen: Seen) -> Iterable[tuple[Any, Any]]:
    """Yields the expected and the actual value of one key, where they differ."""
    result = seen.result
    if key in _ONE_VALUE:
        actual = _ONE_VALUE[key](result)
        if not json_equal(expected, actual):
            yield expected, actual
        return
    match key:
        case "reasons" | "includes_reasons":
            keys = [r.key for r in result.reasons]
            if missing_codes(expected, keys) or (key == "reasons" and extra_codes(expected, keys)):
                yield expected, keys
        case "ids":
            yield from _ids(expected, result)
        case "items":
            missing = [e for e in expected if not any(subset(e, item) for item in result.items or ())]
            if missing:
                yield missing, "not among the items"
        case "warnings":
            codes = [w.code for w in result.warnings]
            if not set(expected) <= set(codes):
                yield expected, codes
        case "requests":
            if expected != seen.requests or expected != result.read.requests:
                yield expected, {"sent": seen.requests, "stated": result.read.requests}
        case "sources":
            states = {s.name: s.status for s in result.sources}
            if any(states.get(name) != status for name, status in expected.items()):
                yield expected, states
        case "cuts":
            cuts = [f"{c.item}.{c.field}" for c in result.item_cuts]
            if set(cuts) != set(expected):
                yield expected, cuts
        case "never_contains":
            places = [result.to_wire(), *seen.texts]
            for n, text in enumerate(expected):
                if any(holds_text(place, text) for place in places):
                    yield f"text {n} nowhere", "it stands in the output"
        case _:  # pragma: no cover - every key of the format is listed above
            raise AssertionError(key)


def _ids(expected: list[Any] | None, result: ReadResult) -> Iterable[tuple[Any, Any]]:
    if expected is None or result.items is None:
        if (expected is None) != (result.items is None):
            yield expected, None if result.items is None else list(result.ids)
    elif not same_set(expected, result.ids):
        yield expected, list(result.ids)
