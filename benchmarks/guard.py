"""The guard's decision: the pure function on a session's indexed evidence, and with the intent built for the call."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from unabridged import session
from unabridged.contract import Proof, ReadHeader, Scope, build_result, new_read_id
from unabridged.evidence import Evidence, Session, Verdict, WriteIntent, judge_write

from .harness import Figure, measure

READS: Final = 100
RESOURCES: Final = 20
TARGETS: Final = 1_000
NOW: Final = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
_DECISION_US: Final = 2.0
_TARGET_US: Final = 0.06
_BESIDE: Final = frozenset(
    {
        "no targets, 20 resources named",
        "a refusal: nothing was read of it",
        "through a session: its lock, its clock and its deadlines",
    }
)
"""Worth knowing, but not the case that the budget is stated for."""


def evidence() -> Evidence:
    """Returns 100 complete reads of 20 resources that all stand, with 1,000 ids among them."""
    each = TARGETS // READS
    return Evidence(_read(n, [f"svc-{n * each + i:08d}" for i in range(each)]) for n in range(READS))


def _read(number: int, ids: list[str]) -> Any:
    at = NOW - timedelta(seconds=READS - number)
    return build_result(
        items=[{"id": i} for i in ids],
        scope=Scope(resource=f"resource-{number % RESOURCES}", filters={"part": number // RESOURCES}),
        read=ReadHeader(id=new_read_id(), adapter="bench", started_at=at, finished_at=at),
        proof=Proof(level="end_marker", end="declared"),
    )


def _session_of_one_read() -> Session:
    made = session("bench-guard")
    made.record(_read(0, ["svc-00000000"]))
    return made


def _allowed(verdict: Verdict) -> Verdict:
    if not verdict.allowed:
        raise RuntimeError(f"the benchmark's write was refused: {verdict.codes}")
    return verdict


def run() -> list[Figure]:
    """Measures decisions without targets, with 1,000, and on evidence that refuses."""
    view = evidence()
    resources = [f"resource-{n}" for n in range(RESOURCES)]
    ids = [f"svc-{n:08d}" for n in range(TARGETS)]
    few = [i for n, i in enumerate(ids) if n // (TARGETS // READS) % RESOURCES == 0]
    intents = {
        "no targets, every inventory read": WriteIntent("archive"),
        "no targets, one resource named": WriteIntent("archive", relies_on=["resource-0"]),
        "no targets, 20 resources named": WriteIntent("archive", relies_on=resources),
        "1,000 targets, every inventory read": WriteIntent("archive", targets=ids),
        "1,000 targets, 20 resources named": WriteIntent("archive", relies_on=resources, targets=ids),
        "a refusal: nothing was read of it": WriteIntent("archive", relies_on=["never-read"]),
    }
    works: dict[str, Callable[[], object]] = {
        name: lambda intent=intent: judge_write(intent, view, now=NOW)  # type: ignore[misc]
        for name, intent in intents.items()
    }
    works["1,000 targets, intent made for the call"] = lambda: judge_write(
        WriteIntent("archive", targets=ids), view, now=NOW
    )
    prepared = WriteIntent("archive", relies_on=["resource-0"])
    works["50 targets, one resource named, prepared intent aimed"] = lambda: judge_write(
        prepared.aimed_at(few, tool="archive"), view, now=NOW
    )
    session_of_one = _session_of_one_read()
    plain = intents["no targets, one resource named"]
    works["through a session: its lock, its clock and its deadlines"] = lambda: session_of_one.judge_write(plain)
    for name, intent in intents.items():
        if not name.startswith("a refusal"):
            _allowed(judge_write(intent, view, now=NOW))
    calls = {name: 200 if "1,000" in name else 2_000 for name in works}
    samples = measure(works, baseline="no targets, every inventory read", rounds=31, calls=calls)
    counts = {name: TARGETS if "1,000" in name else 50 if "50" in name else 0 for name in works}
    budgets = {name: _DECISION_US + _TARGET_US * count for name, count in counts.items()}
    return [samples.micros(name, what=name, budget=None if name in _BESIDE else budgets[name]) for name in works]
