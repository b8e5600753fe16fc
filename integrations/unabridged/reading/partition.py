"""The combinator `partition`: a question is split until each part fits below the source's cap, and counted first.

Each part is counted; one that is too large is split in the middle, and its halves follow in order. What the parts
hold together must be what the first count said.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from unabridged.contract.parts import Reason
from unabridged.contract.results import ReadResult, resume_of
from unabridged.profiles.combinators import PartitionWalk

from .ask import Ask, Chain, Command, Emit, Gather
from .classify import MALFORMED
from .judge import EXPLAIN_NOTHING
from .loop import Loop, Reading
from .observe import Observations
from .page import Failure
from .resume import Resume
from .spend import Spend
from .walkers import Counted, Ended

Limits = tuple[tuple[Any, str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the axis: whole numbers from `start` to `end`, which is exclusive; and where its walk goes on."""

    start: int
    end: int
    chain: Chain | None = None
    counted: Counted | None = None
    """How many records its count said it holds, where its walk goes on."""

    def __repr__(self) -> str:
        return f"<Part from {self.start} to {self.end}>"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one part. `left` is what is still to be read of it, or nothing."""

    part: Part
    left: Part | None = None
    result: ReadResult | None = None
    keys: Sequence[Hashable] = ()
    """The keys of `result`'s items."""
    seen: Observations | None = None
    raw: int = 0
    across: int = 0
    """Records of the part that an earlier page of it had held."""
    is_over: bool = False
    """Whether the part held as much as its cap, and its count did not account for that."""
    misses: Reason | None = None
    """How the records of the part differ from its count."""
    failure: Failure | None = None
    limits: Limits = ()
    """The budgets that stopped it."""
    is_halted: bool = False
    """Whether nothing after it is asked: it failed, or a budget was spent."""


class Splitter:
    """Reads the parts of one question. One account for all; nothing new is asked once a part has failed."""

    def __init__(self, ask: Ask, spend: Spend, *, total: Counted | None, one_part: bool = False) -> None:
        if not isinstance(ask.profile.walk, PartitionWalk):
            raise TypeError("only a partition is read here")
        self.ask = ask
        self.walk = ask.profile.walk
        self.spend = spend
        self.total = total
        """The first count: that of the whole."""
        self.counts: list[Observations] = []
        """What the answers to counts said beside the counts."""
        self.retried = 0
        self.limits: Limits = ()
        """The budgets that stopped a part: some end before they are spent, such as the time for another poll."""
        self.is_halted = False
        """Whether nothing more is asked: a part failed, or a budget stopped it."""
        self._sampled = 0
        self._one_part = one_part
        """Whether the link ends with its first part, as the links of a stream do."""
        self._parts_read = 0

    @property
    def wanted(self) -> int | None:
        """How many records a sample holds; nothing where no sample was asked for."""
        query = self.ask.query
        return None if query.intent != "sample" else query.page_size or 1

    def _is_enough(self) -> bool:
        if self.is_halted or (self._one_part and self._parts_read > 0):
            return True
        return self.wanted is not None and self._sampled >= self.wanted

    def read(self, part: Part) -> Generator[Command, Any, tuple[Outcome, ...]]:
        """Reads one part and returns the outcomes of what it was split into, in order."""
        if self._is_enough() or self.spend.exhausted():
            return (Outcome(part, left=part),)
        if part.chain is not None:
            outcome = yield from self._walk_part(part)
            return (outcome,)
        counted = yield from self._count(part)
        if isinstance(counted, Failure):
            self.is_halted = True
            return (Outcome(part, left=part, failure=counted, is_halted=True),)
        if counted is None:
            return (Outcome(part, left=part),)
        if self.total is None:
            self.total = counted
        if counted.value < self.walk.cap or part.end - part.start <= self.walk.min_width:
            outcome = yield from self._walk_part(replace(part, counted=counted))
            return (outcome,)
        middle = (part.start + part.end) // 2
        halves = (Part(part.start, middle), Part(middle, part.end))
        found = yield Gather(tuple(self.read(half) for half in halves))
        return tuple(outcome for outcomes in found for outcome in outcomes)

    def _asked(self, profile: Any, part: Part) -> Ask:
        send = self.walk.parts.send
        bounds = ((send.from_, part.start), (send.to, part.end))
        return replace(self.ask, profile=profile, bounds=bounds, label=self.ask.name, in_flight=1, twice=False)

    def _count(self, part: Part) -> Generator[Command, Any, Counted | Failure | None]:
        """Returns how many records a part holds, why that is not known, or nothing when a budget was spent."""
        loop = Loop(self._asked(self.walk.count, part), Chain(), self.spend)
        yield from loop.run()
        self.spend.pages -= loop.link_pages  # a count is no page
        self.retried += loop.retried
        if loop.failure is not None:
            return loop.failure
        if not loop.has_content:
            return None
        self.counts.append(loop.seen)
        return MALFORMED if loop.seen.count is None else loop.seen.count

    def _walk_part(self, part: Part) -> Generator[Command, Any, Outcome]:
        chain = part.chain or Chain()
        loop = Loop(self._asked(self.ask.profile.inner, part), chain, self.spend)
        before = loop.collector.across
        result = yield from loop.run()
        self.retried += loop.retried
        resume = resume_of(result)
        left: Part | None = None
        is_begun = loop.has_content or part.chain is not None
        stopped = loop.stop is None and not loop.window_hit
        if loop.failure is not None or stopped or loop.collector.rest:
            goes_on = isinstance(resume, Resume) and resume.kind == "chain"
            left = replace(part, chain=resume.chain if goes_on and is_begun else None)
        self.limits = self.limits or loop.limits
        self.is_halted |= loop.failure is not None or bool(loop.limits)
        self._sampled += result.returned
        self._parts_read += 1
        return Outcome(
            part,
            left=left,
            result=result,
            keys=loop.rules.keys(result.items or [])[0],
            seen=loop.seen,
            raw=loop.collector.raw - chain.raw,
            across=loop.collector.across - before,
            is_over=self._is_over(part, loop),
            misses=None if left is not None else self._misses(part, loop, result),
            failure=loop.failure,
            limits=loop.limits,
            is_halted=loop.failure is not None,
        )

    def _is_over(self, part: Part, loop: Loop) -> bool:
        """Tells whether a part may have been cut at the cap: by its count, or by the records that came."""
        counted = part.counted
        if counted is not None and counted.value >= self.walk.cap:
            return True
        is_accounted = counted is not None and counted.kind == "exact" and counted.value == _known(loop)
        return loop.collector.raw >= self.walk.cap and not is_accounted

    def _misses(self, part: Part, loop: Loop, result: ReadResult) -> Reason | None:
        """Compares a part that is through with its own count: two wrong parts may add up to a whole that is right."""
        counted, known = part.counted, _known(loop)
        if counted is None or not isinstance(loop.stop, Ended):
            return None
        above = counted.kind == "exact" and loop.rules.id is not None and known > counted.value
        below = counted.kind in ("exact", "lower_bound") and known < counted.value
        if above or (below and not set(result.codes) - EXPLAIN_NOTHING):
            return Reason(code="CONSISTENCY_LOST", detail="count_mismatch", source=self.ask.name)
        if counted.kind == "before_permissions" and known < counted.value:
            return Reason(code="VISIBILITY_RESTRICTED", detail="count_before_permissions", source=self.ask.name)
        return None


def _known(loop: Loop) -> int:
    """Returns how many records a part is known to hold; without identity, those that came."""
    return loop.collector.raw if loop.rules.id is None else len(loop.collector.seen)


def read_partition(ask: Ask, chain: Chain, spend: Spend | None = None, *, stream: bool = False) -> Reading:
    """Reads every part of a question, or those that an earlier read left.

    In a stream each part is a link of its own, handed out as it comes; the last one says what the whole is.
    """
    spend = spend or Spend(budget=ask.budget, clock=ask.clock, started=ask.clock.monotonic())
    while True:
        result, resume = yield from _read_link(ask, chain, spend, stream=stream)
        if not stream or resume is None:
            return result
        yield Emit(result)
        chain = resume.chain


def _read_link(
    ask: Ask, chain: Chain, spend: Spend, *, stream: bool
) -> Generator[Command, Any, tuple[ReadResult, Resume | None]]:
    """Reads one link; in a stream, with the place where the stream goes on by itself."""
    from .partitioned import Joined, link_of, result_of

    begun = Begun(ask.clock.now(), spend.requests, spend.pages)
    splitter = Splitter(ask, spend, total=chain.kept.count, one_part=stream)
    axis = splitter.walk.parts
    parts = chain.parts or (Part(axis.from_, axis.to),)
    found = yield Gather(tuple(splitter.read(part) for part in parts))
    joined = Joined(splitter, [outcome for outcomes in found for outcome in outcomes], chain, begun)
    is_through = joined.failure is not None or splitter.is_halted or bool(spend.exhausted())
    goes_on = stream and joined.left and not is_through and splitter.wanted is None
    return link_of(joined) if goes_on else (result_of(joined), None)


@dataclass(frozen=True, slots=True)
class Begun:
    """What was spent when the read began."""

    at: datetime
    requests: int
    pages: int


def reasons_of(outcome: Outcome) -> list[Reason]:
    """Returns why a part is not whole, apart from what stops the whole read: that is said once, of the whole."""
    if outcome.result is None:
        return []
    failure = outcome.failure
    budgets = {(code, detail) for code, detail, _ in outcome.limits}
    return [
        reason
        for reason in outcome.result.reasons
        if reason.code not in ("MORE_PAGES_AVAILABLE", "SAMPLE_REQUESTED")
        and reason.detail != "duplicate_ids"  # the count of the whole may account for them
        and (reason.code, reason.detail) not in budgets
        and not (failure is not None and (reason.code, reason.detail) == (failure.code, failure.detail))
    ]
