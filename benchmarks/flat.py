"""Cost per record from 10 thousand to 10 million records, and what 8 requests in flight gain.

`python -m benchmarks.flat` writes `flat.json` and draws `flat.png` beside this file; `python -m benchmarks flat` stops
at a million records and writes nothing. The source is in the process and
its own time is taken off, so that what remains is decoding, walking, judging and keeping the ids of a stream.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from unabridged import Profile, load_profile
from unabridged.reading import Budget, Request, Response, run_read
from unabridged.reading.ask import Chain
from unabridged.reading.resume import Resume
from unabridged.reading.run import finish_pages, make_ask
from unabridged.reading.transport import SystemClock

from .harness import Figure

HERE: Final = Path(__file__).parent
SIZES: Final = (10_000, 31_600, 100_000, 316_000, 1_000_000, 3_160_000, 10_000_000)
SHORT: Final = SIZES[:5:2]
PER_PAGE: Final = 1_000
MOST_GROWTH: Final = 1.5
"""How much dearer the dearest record may be than the cheapest; a cost that grows with the number would be 1,000."""
LATENCY_S: Final = 0.02
LEAST_GAIN: Final = 6.0
URL: Final = "https://flat.example/records"


def token_profile() -> Profile:
    """Returns the profile of a walk by token with an exact count."""
    walk = {
        "by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent"], "empty_token": "end",
        "repeated_token": "anomaly",
    }  # fmt: skip
    return load_profile(_around(walk) | {"count": {"path": "total", "kind": "exact"}})


def offset_profile() -> Profile:
    """Returns the profile of a walk whose pages do not wait for each other."""
    walk = {
        "by": "offset", "send": {"query": "at"}, "unit": "item", "origin": 0, "ends_on": ["total"], "total": "total",
    }  # fmt: skip
    return load_profile(_around(walk) | {"order": {"by": "id", "unique": True}})


def _around(walk: dict[str, Any]) -> dict[str, Any]:
    return {"name": "flat", "version": 1, "items": "items", "id": "id", "walk": walk}


class Records:
    """A source of numbered records that knows how much time it took itself."""

    def __init__(self, records: int, *, latency_s: float = 0.0) -> None:
        self.records = records
        self.latency_s = latency_s
        self.spent_s = 0.0

    def send(self, request: Request, *, timeout_s: float | None) -> Response:
        """Answers one page."""
        started = time.process_time()
        asked = dict(request.query)
        start = int(asked.get("cursor", asked.get("at", "0")))
        end = min(start + PER_PAGE, self.records)
        rows = ",".join([f'{{"id":{n},"owner":"ops","kind":"service"}}' for n in range(start, end)])
        more = f',"next":"{end}"' if end < self.records else ""
        body = f'{{"items":[{rows}],"total":{self.records}{more}}}'.encode()
        self.spent_s += time.process_time() - started
        if self.latency_s:
            time.sleep(self.latency_s)
        return Response(200, (), body)


def microseconds_a_record(records: int) -> float:
    """Returns the CPU time of a record in a stream of so many, without the time of the source."""
    rounds = max(1, min(5, 1_000_000 // records))
    return min(_one_round(records) for _ in range(rounds)) / records * 1e6


def _one_round(records: int) -> float:
    source = Records(records)
    ask = make_ask(token_profile(), "records", url=URL, clock=SystemClock(), budget=Budget.unlimited())
    started = time.process_time()
    returned = 0
    complete = False
    for link in finish_pages(Resume(ask=ask, chain=Chain()), transport=source, records=False):
        returned += link.returned
        complete = link.complete
    spent = time.process_time() - started - source.spent_s
    if returned != records or not complete:
        raise AssertionError("the stream did not end complete")
    return spent


def seconds_of(in_flight: int, *, pages: int = 160) -> float:
    """Returns the time of so many independent pages at 20 ms each, with so many requests in flight."""
    source = Records(pages * PER_PAGE // 10, latency_s=LATENCY_S)
    started = time.monotonic()
    result = run_read(
        offset_profile(), "records", url=URL, transport=_Tenth(source), budget=Budget.unlimited(), in_flight=in_flight
    )
    spent = time.monotonic() - started
    if not result.complete or list(result.ids) != list(range(source.records)):
        raise AssertionError("the read did not end complete and in order")
    return spent


class _Tenth:
    """Pages of a tenth of the size, so that latency and not decoding is what is measured."""

    def __init__(self, source: Records) -> None:
        self._source = source

    def send(self, request: Request, *, timeout_s: float | None) -> Response:
        start = int(dict(request.query).get("at", "0"))
        end = min(start + PER_PAGE // 10, self._source.records)
        time.sleep(self._source.latency_s)
        rows = ",".join([f'{{"id":{n}}}' for n in range(start, end)])
        return Response(200, (), f'{{"items":[{rows}],"total":{self._source.records}}}'.encode())


def run() -> list[Figure]:
    """Measures growth up to a million records, and the gain of 8 requests in flight."""
    costs = [microseconds_a_record(records) for records in SHORT]
    one, eight = seconds_of(1), seconds_of(8)
    return [
        Figure(
            what=f"dearest record over the cheapest, streams of {SHORT[0]:,} to {SHORT[-1]:,} records",
            value=max(costs) / min(costs), unit="x", budget=MOST_GROWTH, note=f"{min(costs):.2f} us the cheapest",
        ),
        Figure(
            what="independent pages at 20 ms, 8 in flight over one by one (wall time)",
            value=one / eight, unit="x", budget=LEAST_GAIN, at_least=True, note=f"one by one {one:.2f} s",
        ),
    ]  # fmt: skip


def measured(say: Callable[[str], None]) -> dict[str, Any]:
    """Returns every figure."""
    costs: dict[str, float] = {}
    for records in SIZES:
        costs[str(records)] = round(microseconds_a_record(records), 4)
        say(f"{records:>12,} records: {costs[str(records)]:.3f} µs each")
    one, eight = seconds_of(1), seconds_of(8)
    say(f"independent pages at 20 ms: {one:.2f} s one by one, {eight:.2f} s with 8 in flight, {one / eight:.1f} times")
    return {
        "microseconds_a_record": costs,
        "dearest_to_cheapest": round(max(costs.values()) / min(costs.values()), 3),
        "one_by_one_s": round(one, 3),
        "eight_in_flight_s": round(eight, 3),
        "times_faster": round(one / eight, 2),
    }


def draw(figures: dict[str, Any]) -> None:
    """Draws the cost of a record over the number of records."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    costs = figures["microseconds_a_record"]
    chart, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    axes.plot([int(n) for n in costs], list(costs.values()), marker="o", color="#1f5f8b")
    axes.set_xscale("log")
    axes.set_ylim(0, 2 * max(costs.values()))
    axes.set_xlabel("records in one read")
    axes.set_ylabel("CPU time a record (µs)")
    axes.set_title("Cost of a record in a stream of pages: at most 1.5 times the cheapest")
    axes.grid(visible=True, alpha=0.3)
    chart.savefig(HERE / "flat.png", dpi=110)
    pyplot.close(chart)


def main() -> int:
    """Measures, writes the figures down and draws them; 1 when one misses its budget."""
    figures = measured(lambda line: print(line, file=sys.stderr))
    (HERE / "flat.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    draw(figures)
    print(json.dumps(figures))
    return int(figures["dearest_to_cheapest"] > MOST_GROWTH or figures["times_faster"] < LEAST_GAIN)


if __name__ == "__main__":
    sys.exit(main())
