"""How a read that is not whole goes on: every route that applies, of which the contract's table picks the first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from unabridged.contract.continuation import (
    Continuation,
    ExactMode,
    FetchRestOfItem,
    NarrowQuery,
    NextPage,
    PollJob,
    ReadMore,
    ReadRange,
    RepeatRead,
    RequestAccess,
    RestartScan,
    RetryAfter,
    RetrySources,
    RetryWithDeadline,
    WidenScope,
    first_that_applies,
)
from unabridged.contract.ids import new_handle
from unabridged.contract.parts import Reason
from unabridged.profiles.walks import RangeWalk

from .judge import Facts, exact_flag_of
from .page import Failure

DEFAULT_DEADLINE_S: Final = 120.0
MAX_IDLE: Final = 3
"""Attempts in a row that may bring nothing: no route repeats the same request for ever and hopes."""
MAX_POLLS: Final = 100
"""Links in a row that may find a job still running."""
GoesOn = Literal["chain", "fresh"]
"""Whether a route goes on with the chain, or reads anew and merges nothing."""
_OF_THE_CHAIN: Final = frozenset({"retry_after", "read_more", "next_page", "read_range", "poll_job"})
_FRESH: Final = frozenset({"restart_scan", "retry_sources", "repeat_read"})


@dataclass(frozen=True, slots=True)
class Way:
    """The route of a result and how it is taken; `goes_on` is `None` where it cannot be taken by reading."""

    route: Continuation
    goes_on: GoesOn | None


@dataclass(frozen=True, slots=True)
class Chances:
    """What is left to try: repeats of a whole read, attempts in a row without a page, and the time of one."""

    repeats_left: int
    idle: int
    deadline_s: float

    @property
    def is_tired(self) -> bool:
        """Whether asking for the same thing once more would be mere hope."""
        return self.idle >= MAX_IDLE


def way_on(facts: Facts, reasons: Sequence[Reason], *, has_rest: bool, chances: Chances) -> Way:
    """Returns the first route that applies.

    Args:
        facts: what is known of the read.
        reasons: why it is not whole.
        has_rest: whether records were read that this envelope does not hold.
        chances: what is left to try.
    """
    if facts.failure is not None and facts.profile.on_failure == "unavailable" and facts.seen.pages > 0:
        return Way(first_that_applies(()), None)
    if facts.job == "running" and chances.idle < MAX_POLLS:
        return _taken(PollJob(seconds=_plain(facts.poll_s)), facts)
    codes = {reason.code for reason in reasons}
    routes: list[Continuation] = []
    if codes & {"CONTINUATION_EXPIRED", "CONSISTENCY_LOST"}:
        why = "continuation_expired" if "CONTINUATION_EXPIRED" in codes else "consistency_lost"
        routes.append(RestartScan(why=why))
    routes += _after_failure(facts, chances)
    if has_rest:
        routes.append(ReadMore())
    if facts.on_offer:
        routes.append(_next(facts))
    routes += _by_reason(facts, reasons, codes, chances)
    if chances.repeats_left > 0 and _failed_in_passing(facts):
        routes.append(RepeatRead(attempts_left=chances.repeats_left))
    route = first_that_applies(routes)
    return _taken(route, facts)


def _after_failure(facts: Facts, chances: Chances) -> list[Continuation]:
    failure = facts.failure
    if failure is None or not failure.again:
        return []
    if failure.wait_s is not None:
        return [RetryAfter(seconds=_plain(failure.wait_s))]
    if chances.is_tired:
        return []
    if facts.seen.pages > 0:
        return [_next(facts)]
    return [RetryWithDeadline(seconds=_plain(chances.deadline_s))] if _is_timeout(failure) else []


def _next(facts: Facts) -> Continuation:
    """A range walk goes on with a range, every other one with a page."""
    if isinstance(facts.profile.walk, RangeWalk):
        return ReadRange(reference=facts.reference, start=facts.range_start)
    return NextPage()


def _is_timeout(failure: Failure) -> bool:
    return failure.detail == "timeout" or failure.code == "TIME_BUDGET_EXCEEDED"


def _by_reason(facts: Facts, reasons: Sequence[Reason], codes: Collection[str], chances: Chances) -> list[Continuation]:
    routes: list[Continuation] = []
    missing = [name for name, code in facts.seen.named.items() if code == "SOURCE_UNAVAILABLE"]
    if missing and not chances.is_tired:
        routes.append(RetrySources(names=tuple(missing)))
    if any(r.code == "TIME_BUDGET_EXCEEDED" and r.layer == "source" for r in reasons):
        routes += [] if chances.is_tired else [RetryWithDeadline(seconds=_plain(chances.deadline_s))]
    if "RESULT_LIMIT_REACHED" in codes:
        limits = [r.limit for r in reasons if r.code == "RESULT_LIMIT_REACHED" and r.limit is not None]
        order = facts.profile.order
        routes.append(NarrowQuery(axis=order.by if order is not None else None, limit=min(limits, default=None)))
    if "ITEM_TRUNCATED" in codes and facts.cuts:
        cut = next((c for c in facts.cuts if c.why in ("abridged", "source_failed")), facts.cuts[0])
        routes.append(FetchRestOfItem(item=cut.item, field=cut.field))
    if "VISIBILITY_RESTRICTED" in codes:
        routes.append(RequestAccess())
    if "SCOPE_NARROWED" in codes:
        routes.append(WidenScope())
    flag = exact_flag_of(facts.profile)
    if "APPROXIMATE_METHOD" in codes and flag is not None:
        routes.append(ExactMode(parameter=flag))
    return routes


def _failed_in_passing(facts: Facts) -> bool:
    """A failure that left nothing to go on from and may be gone when the same question is asked again."""
    if facts.failure is not None:
        return facts.failure.passing
    return any(reason.code == "SOURCE_UNAVAILABLE" for reason in facts.seen.reasons.values())


def _plain(seconds: float) -> int | float:
    return int(seconds) if float(seconds).is_integer() else round(seconds, 3)


def _taken(route: Continuation, facts: Facts) -> Way:
    goes_on: GoesOn | None = None
    if route.kind in _OF_THE_CHAIN:
        goes_on = "chain"
    elif route.kind in _FRESH:
        goes_on = "fresh"
    elif route.kind == "retry_with_deadline":
        goes_on = "chain" if facts.failure is not None else "fresh"
    return Way(route if goes_on is None else with_handle(route), goes_on)


def with_handle(route: Continuation) -> Continuation:
    """Returns the route with a handle of its own; only the session that records the result resolves it."""
    fields: Mapping[str, object] = {"handle": new_handle()}
    return route.model_copy(update=fields)
