"""A fan-out on any `concurrent.futures.Executor`: threads, processes, or a cluster such as Dask's.

A work unit is a question and a place to start from; both can be pickled. It is read where the executor runs it, over
that process's own client, and comes back as a result and the place where its read may go on. Credentials travel in
the unit to the workers, and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from unabridged._ambient import record
from unabridged.contract.errors import UnabridgedError
from unabridged.contract.parts import Reason, SourceOutcome
from unabridged.contract.results import ReadResult, build_result, resume_of, with_ids, with_resume
from unabridged.profiles.combinators import FanoutWalk

from .ask import Ask, Chain
from .cancelled import cancelled_read
from .fanout import joined
from .query import Budget
from .records import RecordRules
from .resume import Resume
from .run import finish_read
from .spend import Spend

if TYPE_CHECKING:
    from .http import HttpTransport

_SHORTEST_S = 0.001
_LIMITS = ("max_pages", "max_items", "max_bytes", "max_requests")


@dataclass(frozen=True)
class Unit:
    """One source of a fan-out, with its share of the budget. Can be pickled; never shows what it holds."""

    ask: Ask = field(repr=False)
    chain: Chain = field(repr=False)
    deadline: datetime | None = None
    """When the time of the whole read is over, so that waiting for a free worker counts too."""


@dataclass(frozen=True)
class Done:
    """What became of a unit, and where its read may go on."""

    result: ReadResult
    resume: Resume | None = field(repr=False)
    ids: tuple[Any, ...] | None = field(default=None, repr=False)
    """The ids of the records, where the profile of the unit has no path to them."""


def read_unit(unit: Unit) -> Done:
    """Reads one source to its end, over the client of this process. Records nothing: the whole is recorded."""
    ask = unit.ask
    if unit.deadline is not None:
        left_s = max(_SHORTEST_S, (unit.deadline - ask.clock.now()).total_seconds())
        ask = replace(ask, budget=replace(ask.budget, max_seconds=left_s))
    result = finish_read(Resume(ask=ask, chain=unit.chain), transport=_transport(ask.budget), records=False)
    resume = resume_of(result)
    place: Resume | None = None
    if isinstance(resume, Resume):  # the next link has the time of the whole read again
        again = replace(resume.ask, budget=replace(resume.ask.budget, max_seconds=unit.ask.budget.max_seconds))
        place = replace(resume, ask=again, transport=None, async_transport=None)
    ids = None if ask.profile.id is not None or result.items is None else tuple(result.ids)
    return Done(with_resume(result, None), place, ids)


def _transport(budget: Budget) -> HttpTransport:
    """Returns a transport over the client of this process."""
    from .http import HttpTransport

    return HttpTransport() if budget.max_bytes is not None else HttpTransport(max_page_bytes=None)


@dataclass
class Fleet:
    """A fan-out that is being read by an executor."""

    resume: Resume
    spend: Spend
    started_at: datetime
    units: list[tuple[str, Unit]]

    @classmethod
    def of(cls, resume: Resume) -> Fleet:
        """Returns the work of a fan-out: one unit a source, one budget for all, shared out in equal parts."""
        ask = resume.ask
        walk = ask.profile.walk
        if not isinstance(walk, FanoutWalk):
            raise TypeError("only a fan-out is read by an executor")
        spend = Spend(budget=ask.budget, clock=ask.clock, started=ask.clock.monotonic())
        shares = list(shared_out(ask.budget, len(walk.over)))
        started_at = ask.clock.now()
        seconds = ask.budget.max_seconds
        until = None if seconds is None else started_at + timedelta(seconds=seconds)
        of_one = replace(ask, profile=ask.profile.inner, in_flight=1)
        units = [
            (name, Unit(replace(of_one, source=name, budget=share), Chain(), until))
            for name, share in zip(walk.over, shares, strict=True)
            if share is not None
        ]
        return cls(resume, spend, started_at, units)

    def submit(self, executor: Executor) -> list[Future[Done]]:
        """Hands every unit to the executor; one that it does not take is a source that is not reached."""
        return [_submitted(executor, unit) for _, unit in self.units]

    def finished(self, outcomes: Sequence[Done | BaseException], *, records: bool = True) -> ReadResult:
        """Returns the result over all sources, in the order of `over`, and records it."""
        found = {name: _part(unit, one) for (name, unit), one in zip(self.units, outcomes, strict=True)}
        ask = self.resume.ask
        walk = ask.profile.walk
        names = walk.over if isinstance(walk, FanoutWalk) else ()
        parts = [(name, found.get(name) or _not_asked(ask, name)) for name in names]
        for part in found.values():
            self.spend.requests += part.read.requests
            self.spend.pages += part.read.pages
            self.spend.items += part.returned
        result = joined(ask, parts, spend=self.spend, started_at=self.started_at, continues=None)
        resume = resume_of(result)
        if isinstance(resume, Resume):
            with_resume(result, replace(resume, transport=_transport(ask.budget)))
        if records:
            record(result)
        return result


def _submitted(executor: Executor, unit: Unit) -> Future[Done]:
    try:
        return executor.submit(read_unit, unit)
    except Exception as error:  # noqa: BLE001 - whatever an executor raises that takes no more work
        refused: Future[Done] = Future()
        refused.set_exception(error)
        return refused


def read_on(executor: Executor, resume: Resume) -> ReadResult:
    """Reads a fan-out on an executor and returns one result; a source whose worker died is unavailable."""
    fleet = Fleet.of(resume)
    futures: list[Future[Done]] = []
    try:
        futures += fleet.submit(executor)
        return fleet.finished([_outcome(future) for future in futures])
    except BaseException:
        for future in futures:
            future.cancel()
        record(cancelled_read(resume))
        raise


async def aread_on(executor: Executor, resume: Resume) -> ReadResult:
    """As `read_on`, on an event loop."""
    fleet = Fleet.of(resume)
    try:
        waiting = [asyncio.wrap_future(future) for future in fleet.submit(executor)]
        return fleet.finished(await asyncio.gather(*waiting, return_exceptions=True))
    except BaseException:
        record(cancelled_read(resume))
        raise


def _outcome(future: Future[Done]) -> Done | BaseException:
    try:
        error = future.exception()
    except CancelledError as cancelled:  # by whoever runs the executor
        return cancelled
    return future.result() if error is None else error


def shared_out(budget: Budget, sources: int) -> Iterator[Budget | None]:
    """Yields one share of a budget for each source; nothing for a source that is left without a page or a request.

    The shares add up to the whole. Time is the same for all, since they run at once.
    """
    for n in range(sources):
        shares: dict[str, int] = {}
        for name in _LIMITS:
            limit = getattr(budget, name)
            if limit is not None:
                shares[name] = limit // sources + (n < limit % sources)
        yield None if 0 in shares.values() else replace(budget, **shares)


def _part(unit: Unit, outcome: Done | BaseException) -> ReadResult:
    """Returns the result of a source with its ids and its way on, neither of which travels inside a result."""
    if isinstance(outcome, UnabridgedError):
        raise outcome
    if isinstance(outcome, BaseException):
        return _lost(unit.ask)
    result = outcome.result
    rules = RecordRules.of(unit.ask.profile)
    if outcome.ids is not None:
        with_ids(result, outcome.ids)
    elif result.items is not None and rules.id is not None:
        with_ids(result, rules.ids(result.items))
    return with_resume(result, outcome.resume)


def _lost(ask: Ask) -> ReadResult:
    """The worker of a source died, or its answer cannot travel: nothing of it is known."""
    reason = Reason(code="SOURCE_UNAVAILABLE", detail="disconnect", layer="client", source=ask.name)
    return _without_items(ask, reason)


def _not_asked(ask: Ask, name: str) -> ReadResult:
    """The budget has no share for a source."""
    spent = [limit for limit in _LIMITS if getattr(ask.budget, limit) is not None]
    least = min(spent, key=lambda limit: int(getattr(ask.budget, limit)))
    reason = Reason(code="CLIENT_LIMIT_REACHED", detail=least, layer="client", source=name)
    return _without_items(replace(ask, source=name), reason)


def _without_items(ask: Ask, reason: Reason) -> ReadResult:
    blank = cancelled_read(Resume(ask=ask, chain=Chain()))
    sources = (SourceOutcome(name=ask.name, status="unavailable", reasons=(reason.code,)),)
    return build_result(
        items=None, reasons=[reason], scope=blank.scope, read=blank.read, proof=blank.proof, sources=sources
    )
