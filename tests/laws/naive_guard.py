"""The guard once more, told as plainly as the contract tells it: no index, every list walked from its start.

It is slow and shares no code with the guard that ships, so that the two can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from unabridged.evidence import Asked, RecordedRead, WriteIntent

OWN = {"CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE"}


@dataclass
class Unit:
    """One read, or a chain of reads that counts as one."""

    links: list[RecordedRead]
    place: int
    resource: str
    filters: dict[str, Any]
    intent: str
    codes: set[str]
    unhealed: set[str]
    dead: bool
    start: datetime
    consistency: str
    counted: bool
    seen_by_all: bool
    sources: list[str] = field(default_factory=list)

    @property
    def pending(self) -> bool:
        return self.links[-1].origin == "pending"

    @property
    def complete(self) -> bool:
        return not self.pending and not self.codes and not self.dead

    @property
    def ids(self) -> set[Any]:
        return {key for link in self.links for key in link.ids}

    @property
    def soft(self) -> bool:
        by_method = bool(self.codes) and self.codes <= {"APPROXIMATE_METHOD", "SAMPLE_REQUESTED"} and not self.dead
        return self.intent != "inventory" or by_method

    @property
    def cut(self) -> bool:
        return self.complete and any(link.shown is not None for link in self.links)

    def keys(self) -> set[Any] | None:
        """What a lookup asked for; the cases drawn here name it `id`."""
        if self.intent != "lookup":
            return None
        if "id" in self.filters:
            return {self.filters["id"]}
        return {next(iter(self.filters.values()))} if len(self.filters) == 1 else None


def cleared(units: list[Unit], unit: Unit) -> bool:
    """A later complete read covers it."""
    return any(
        other.complete and other.place > unit.place and other.resource == unit.resource
        and other.filters.items() <= unit.filters.items()
        for other in units
    )  # fmt: skip


def units_of(reads: list[RecordedRead]) -> tuple[list[Unit], dict[str, Unit]]:
    """Returns the standing reads, and for each read id the unit that it ended last."""
    standing: list[Unit] = []
    ended: dict[str, Unit] = {}
    longest: dict[str, Unit] = {}
    for place, read in enumerate(reads, 1):
        earlier = ended.get(read.continues) if read.continues else None
        if earlier is not None and not earlier.pending:
            unit = chained(earlier, read, place)
            standing = [u for u in standing if u is not earlier]
            for link in unit.links:
                longest[link.id] = unit
        else:
            unit = single(read, place, [longest.get(i) for i in read.derived_from])
            longest[read.id] = unit
        ended[read.id] = unit
        standing.append(unit)
        if unit.complete:
            standing = [u for u in standing if u.pending or u is unit or not cleared([unit], u)]
    return standing, longest


def single(read: RecordedRead, place: int, sources: list[Unit | None]) -> Unit:
    unit = Unit(
        [read], place, read.resource, dict(read.filters), read.intent, {r.code for r in read.reasons}, set(),
        read.status == "unavailable", read.started_at, read.consistency, read.proof.level == "counted",
        read.visibility == "all", list(read.derived_from),
    )  # fmt: skip
    if read.continues:
        unit.unhealed = {"COVERAGE_UNKNOWN"}
    for source in sources:
        if source is None or source.pending:
            unit.unhealed |= {"COVERAGE_UNKNOWN"}
            continue
        unit.unhealed |= source.codes
        unit.dead = unit.dead or source.dead
        unit.start = min(unit.start, source.start)
        unit.counted = unit.counted and source.counted
        unit.seen_by_all = unit.seen_by_all and source.seen_by_all
        if source.consistency != "snapshot" and unit.consistency == "snapshot":
            unit.consistency = "interval"
    unit.codes |= unit.unhealed
    return unit


def chained(earlier: Unit, read: RecordedRead, place: int) -> Unit:
    last = earlier.links[-1]
    left = {r.code for r in last.reasons if r.code not in OWN}
    failed_page = (
        left == {"SOURCE_UNAVAILABLE"}
        and last.continuation.kind == "next_page"
        and not OWN & {r.code for r in last.reasons}
    )
    unhealed = earlier.unhealed | (set() if failed_page else left)
    if dict(read.filters) != earlier.filters:
        unhealed = unhealed | {"COVERAGE_UNKNOWN"}
    dead = earlier.dead and read.status == "unavailable"
    consistency = read.consistency
    if not earlier.dead:
        pair = {earlier.consistency, read.consistency}
        same = last.snapshot is not None and last.snapshot == read.snapshot
        consistency = "snapshot" if pair == {"snapshot"} and same else "interval"
        if "not_established" in pair:
            consistency = "not_established"
    return Unit(
        [*earlier.links, read], place, earlier.resource, earlier.filters, earlier.intent,
        {r.code for r in read.reasons} | unhealed, unhealed, dead, min(earlier.start, read.started_at), consistency,
        read.proof.level == "counted" and not unhealed, earlier.seen_by_all and read.visibility == "all",
        earlier.sources,
    )  # fmt: skip


def naive_codes(
    intent: WriteIntent, reads: list[RecordedRead], *, now: datetime, same_turn: list[Asked] | None = None
) -> set[str]:
    """Returns every code that applies to a write."""
    units, longest = units_of(reads)
    targets = set(intent.targets or ())
    bound, missing = bind(intent, units, targets)
    codes: set[str] = set()
    judged = []
    for unit in bound:
        if not unit.pending:
            judged.append(unit)
        elif unit.links[-1].deadline is None or unit.links[-1].deadline > now:
            codes.add("EVIDENCE_PENDING")
        elif not cleared(units, unit):
            judged.append(lost(unit))
    for asked in same_turn or []:
        unit = single(asked.pending(), 0, [])
        keys = unit.keys()
        if targets and keys is not None and not keys & targets:
            continue
        if intent.relies_on is None:
            relies = intent.destructive or not unit.soft
        else:
            relies = any(named(entry, unit) for entry in intent.relies_on)
            missing = [entry for entry in missing if not named(entry, unit)]
        if relies:
            codes.add("EVIDENCE_PENDING")
    waived = intent.allow_returned_targets and targets
    for unit in judged:
        if unit.dead or (not unit.complete and not waived) or (unit.cut and not targets):
            codes.add("EVIDENCE_INCOMPLETE")
    if missing or (intent.destructive and intent.relies_on is None and not units and not codes):
        codes.add("EVIDENCE_MISSING")
    codes |= weak_or_stale(intent, judged, targets, now)
    silent = codes & {"EVIDENCE_INCOMPLETE", "EVIDENCE_MISSING", "EVIDENCE_PENDING"}
    if targets and (intent.allow_returned_targets or not silent):
        seen = held(intent, units, bound, longest, targets)
        if not targets <= seen:
            codes.add("TARGET_NOT_IN_EVIDENCE")
    return codes


def lost(unit: Unit) -> Unit:
    """A read in flight whose deadline has passed."""
    return Unit(
        unit.links, unit.place, unit.resource, unit.filters, unit.intent, {"SOURCE_UNAVAILABLE"}, set(), True,
        unit.start, "not_established", False, unit.seen_by_all,
    )  # fmt: skip


def named(entry: Any, unit: Unit) -> bool:
    wide = entry.filters is None or unit.filters.items() <= entry.filters.items()
    return bool(entry.resource == unit.resource and wide)


def bind(intent: WriteIntent, units: list[Unit], targets: set[Any]) -> tuple[list[Unit], list[Any]]:
    missing: list[Any] = []
    if intent.relies_on is None:
        candidates = [u for u in units if intent.destructive or not u.soft]
    else:
        candidates = [u for u in units if any(named(entry, u) for entry in intent.relies_on)]
        missing = [entry for entry in intent.relies_on if not any(named(entry, u) for u in units)]
    bound = []
    for unit in candidates:
        keys = unit.keys()
        if targets and keys is not None and not (keys | unit.ids) & targets:
            continue
        bound.append(unit)
    return bound, missing


def weak_or_stale(intent: WriteIntent, judged: list[Unit], targets: set[Any], now: datetime) -> set[str]:
    codes = set()
    for unit in judged:
        frozen = unit.consistency == "snapshot"
        lacks = {
            "counted": not unit.counted, "snapshot": not frozen, "double_walk": True,
            "visibility_all": not unit.seen_by_all, "complete": False,
        }  # fmt: skip
        fleeting = intent.destructive and not frozen and not (intent.recheck and targets)
        if fleeting or any(lacks[demand] for demand in intent.require):
            codes.add("EVIDENCE_WEAK")
        age = now - unit.start
        too_old = intent.max_age_s is not None and age > timedelta(seconds=intent.max_age_s)
        if too_old or age < timedelta(seconds=-5):
            codes.add("EVIDENCE_STALE")
    return codes


def held(
    intent: WriteIntent, units: list[Unit], bound: list[Unit], longest: dict[str, Unit], targets: set[Any]
) -> set[Any]:
    """All ids that may be touched: those of the bound reads, of what they were derived from, of whole lookups."""
    seen = {key for unit in bound for key in unit.ids}
    if intent.relies_on is None:
        for unit in units:
            keys = unit.keys()
            if keys is not None and unit.complete and (keys | unit.ids) & targets:
                seen |= unit.ids
    queue, done = [s for u in bound for s in u.sources], set()
    while queue:
        source = queue.pop()
        if source in done or source not in longest:
            continue
        done.add(source)
        unit = longest[source]
        queue += unit.sources
        if any(unit is u for u in units):
            seen |= unit.ids
    return seen
