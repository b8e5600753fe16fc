"""Rounds, medians and controls: how every benchmark here measures.

Variants take turns within a round, in an order that is drawn anew each round, and a figure is a ratio of medians over
the rounds. The baseline runs twice in each round, as itself and as its own control: what the control's ratio differs
from 1 is noise.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

Work = Callable[[], object]
CONTROL: Final = "control"
_SEED: Final = 20_261_130
_Z: Final = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table.

    Attributes:
        what: what was measured.
        value: the figure.
        unit: `x` for a ratio, else the unit of the value.
        budget: the target; nothing where the figure is only worth knowing.
        at_least: whether more is better.
        noise: half the 95 % interval of the figure, in its own unit.
        control: the ratio of the baseline to itself in the same rounds; 1 without noise.
        note: what a reader must know to judge the figure.
    """

    what: str
    value: float
    unit: str
    budget: float | None = None
    at_least: bool = False
    noise: float = 0.0
    control: float | None = None
    note: str = ""

    @property
    def verdict(self) -> Literal["met", "missed", "unclear", "-"]:
        """Whether the budget is met; `unclear` where the noise is larger than the distance to it."""
        if self.budget is None:
            return "-"
        distance = self.value - self.budget if self.at_least else self.budget - self.value
        drift = 0.0 if self.control is None else abs(self.control - 1) * self.value
        if distance < 0 and -distance <= max(self.noise, drift):
            return "unclear"
        return "met" if distance >= 0 else "missed"

    def to_json(self) -> dict[str, Any]:
        """Returns the figure with its verdict."""
        return {**asdict(self), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Samples:
    """What the rounds brought: for each variant one time a round, in seconds a call."""

    seconds: Mapping[str, tuple[float, ...]]
    baseline: str

    def median_s(self, name: str) -> float:
        """Returns the median of a variant, in seconds a call."""
        return statistics.median(self.seconds[name])

    def noise_s(self, name: str) -> float:
        """Returns half the 95 % interval of the median of a variant, in seconds."""
        return _half_interval(self.seconds[name])

    def ratio(self, name: str, *, over: str | None = None) -> float:
        """Returns the ratio of the medians of two variants. What the control brought counts for the baseline too."""
        below = over or self.baseline
        both = self.seconds[below] if below != self.baseline else (*self.seconds[below], *self.seconds[CONTROL])
        return self.median_s(name) / statistics.median(both)

    def ratio_noise(self, name: str, *, over: str | None = None) -> float:
        """Returns half the 95 % interval of the ratio, from the ratios within the rounds."""
        pairs = zip(self.seconds[name], self.seconds[over or self.baseline], strict=True)
        return _half_interval([mine / theirs for mine, theirs in pairs])

    @property
    def control(self) -> float:
        """The ratio of the baseline to itself."""
        return self.median_s(CONTROL) / self.median_s(self.baseline)

    def times(self, name: str, *, what: str, budget: float | None, over: str | None = None, **more: Any) -> Figure:
        """Returns the figure of a ratio."""
        return Figure(
            what=what, value=self.ratio(name, over=over), unit="x", budget=budget,
            noise=self.ratio_noise(name, over=over), control=self.control, **more,
        )  # fmt: skip

    def micros(self, name: str, *, what: str, budget: float | None, **more: Any) -> Figure:
        """Returns the figure of a time in microseconds a call."""
        return Figure(
            what=what, value=self.median_s(name) * 1e6, unit="us", budget=budget,
            noise=self.noise_s(name) * 1e6, control=self.control, **more,
        )  # fmt: skip


def measure(
    variants: Mapping[str, Work],
    *,
    baseline: str,
    rounds: int,
    calls: int | Mapping[str, int] = 1,
    clock: Callable[[], float] = time.process_time,
    before: Work | None = None,
) -> Samples:
    """Returns the times of variants that take turns.

    Args:
        variants: what is measured, by name. Each runs once before the first round.
        baseline: the name of the variant that also runs as its own control.
        rounds: how often each takes its turn.
        calls: how many calls a turn has, for all or by name.
        clock: CPU time of the process, or wall time.
        before: runs before every turn, outside of the clock.
    """
    works = {**variants, CONTROL: variants[baseline]}
    number = {n: calls if isinstance(calls, int) else calls.get(n, calls.get(baseline, 1)) for n in works}
    for work in variants.values():
        if before is not None:
            before()
        work()
    gc.collect()
    gc.freeze()
    draw = random.Random(_SEED)
    found: dict[str, list[float]] = {name: [] for name in works}
    order = list(works)
    for _ in range(rounds):
        draw.shuffle(order)
        for name in order:
            if before is not None:
                before()
            found[name].append(_turn(works[name], number[name], clock))
    gc.unfreeze()
    return Samples({name: tuple(times) for name, times in found.items()}, baseline)


def _turn(work: Work, calls: int, clock: Callable[[], float]) -> float:
    """Runs one turn and returns its seconds a call. Nobody pays for the garbage of the one before."""
    gc.collect()
    turns = range(calls)
    start = clock()
    for _ in turns:
        work()
    return (clock() - start) / calls


def _half_interval(values: tuple[float, ...] | list[float]) -> float:
    """Returns half the distance of the order statistics that hold the median with 95 %."""
    ranked = sorted(values)
    count = len(ranked)
    reach = _Z * count**0.5 / 2
    low = max(0, int(count / 2 - reach))
    high = min(count - 1, int(count / 2 + reach))
    return (ranked[high] - ranked[low]) / 2
