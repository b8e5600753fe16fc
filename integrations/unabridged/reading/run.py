"""The drivers: one for threads, one for event loops. They send and wait; every decision is the loop's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unabridged._ambient import record
from unabridged.contract.errors import InvalidInput
from unabridged.contract.results import ReadResult, resume_of, with_resume
from unabridged.profiles.combinators import FanoutWalk
from unabridged.profiles.format import Profile

from .ask import Ask, Chain, Emit, PlainRetries, Retries
from .driving import AsyncCrew, Crew, adrive, drive
from .loop import Reading, reading_of_one
from .query import Budget, Query
from .requests import check_headers
from .resume import Resume
from .transport import AsyncTransport, Clock, SystemClock, Transport

if TYPE_CHECKING:
    from collections.abc import Mapping


def run_read(
    profile: Profile,
    query: Query | str,
    *,
    url: str,
    transport: Transport,
    clock: Clock | None = None,
    budget: Budget | None = None,
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    retries: Retries | None = None,
    repeats: int = 0,
    resume: Resume | None = None,
    in_flight: int = 1,
    double_walk: bool = False,
) -> ReadResult:
    """Reads over any transport and clock, and records nothing: the function under `read`, for tests and replay.

    Args:
        profile: what the service's responses mean.
        query: what is asked, or a resource name.
        url: the address of the first page.
        transport: sends the requests.
        clock: the machine's clock when not given.
        budget: without limits and without retries when not given.
        headers: header fields of every request to the URL's origin.
        retries: how failed requests are sent again; at once, as in replay, when not given.
        repeats: how often a read that failed in passing may be repeated; replay grants none.
        in_flight: requests at a time; more than one where sources, parts or pages do not wait for each other.
        double_walk: walks a second time and compares ids and records.
        resume: goes on from there; profile, query, URL and headers are then those of the earlier read.

    Raises:
        InvalidInput: the query, the URL or a header breaks a rule.
    """
    time = clock or SystemClock()
    if resume is not None:
        ask = replace(resume.ask, budget=budget or Budget.unlimited(), clock=time)
        return finish_read(replace(resume, ask=ask), transport=transport, records=False)
    ask = make_ask(profile, query, url=url, clock=time, budget=budget or Budget.unlimited(), headers=headers)
    ask = replace(ask, retries=retries or PlainRetries(), repeats_left=repeats, in_flight=in_flight, twice=double_walk)
    return finish_read(Resume(ask=ask, chain=Chain()), transport=transport, records=False)


def make_ask(
    profile: Profile,
    query: Query | str,
    *,
    url: str,
    clock: Clock,
    budget: Budget,
    headers: Mapping[str, str] | Sequence[tuple[str, str]] | None = (),
) -> Ask:
    """Returns a checked question.

    Raises:
        InvalidInput: the query or a header breaks a rule.
    """
    asked = Query.of(query)
    fields = check_headers(headers)
    return Ask(profile=profile, query=asked, url=url, budget=budget, clock=clock, headers=fields)


def reading_of(resume: Resume, *, stream: bool = False) -> Reading:
    """Returns the decision core of a read that starts, or goes on, at a resume."""
    if resume.ask.twice and resume.chain.read_id is None and not stream:
        from .twice import read_twice

        return read_twice(resume)
    if isinstance(resume.ask.profile.walk, FanoutWalk):
        from .fanout import read_fanout

        return read_fanout(resume, stream=stream)
    return reading_of_one(resume.ask, resume.chain, stream=stream)


def finish_read(resume: Resume, *, transport: Transport, records: bool = True) -> ReadResult:
    """Reads from a resume to the end of its link, and records the result in the session in scope."""
    crew = Crew(transport, resume.ask.clock, resume.ask.in_flight)
    try:
        result = drive(reading_of(resume), crew)
    except BaseException:
        _record_cancelled(resume, records=records)
        raise
    finally:
        crew.dismiss()
    return _finished(result, records=records, transport=transport)


async def afinish_read(resume: Resume, *, transport: AsyncTransport, records: bool = True) -> ReadResult:
    """As `finish_read`, on an event loop."""
    crew = AsyncCrew(transport, resume.ask.clock, resume.ask.in_flight)
    try:
        result = await adrive(reading_of(resume), crew)
    except BaseException:
        _record_cancelled(resume, records=records)
        raise
    finally:
        crew.dismiss()
        await _release(transport)
    return _finished(result, records=records, async_transport=transport)


async def _release(transport: AsyncTransport) -> None:
    """Lets a transport close what it opened for itself; its next use opens it again."""
    release = getattr(transport, "release", None)
    if release is not None:
        await release()


def finish_pages(
    resume: Resume, *, transport: Transport, records: bool = True, reading: Reading | None = None
) -> Iterator[ReadResult]:
    """Reads from a resume, one result a page; each page is a link of one chain.

    Args:
        resume: where the read starts or goes on.
        transport: sends the requests.
        records: whether each result is recorded in the session in scope.
        reading: the decision core, for a caller that looks into it between two pages.
    """
    reading = reading or reading_of(resume, stream=True)
    crew = Crew(transport, resume.ask.clock, resume.ask.in_flight)
    last_id = resume.chain.read_id
    reply: Any = None
    try:
        while True:
            try:
                command = reading.send(reply)
            except StopIteration as end:
                yield _finished(end.value, records=records, transport=transport)
                return
            reply = None
            if isinstance(command, Emit):
                last_id = command.result.read.id
                yield _finished(command.result, records=records)
            else:
                reply = crew.answer(command)
            del command
    except GeneratorExit:
        raise  # the caller has what was read, and it is partial
    except BaseException:
        _record_cancelled(resume, records=records, last_id=last_id)
        raise
    finally:
        crew.dismiss()


async def afinish_pages(
    resume: Resume, *, transport: AsyncTransport, records: bool = True
) -> AsyncIterator[ReadResult]:
    """As `finish_pages`, on an event loop."""
    reading = reading_of(resume, stream=True)
    crew = AsyncCrew(transport, resume.ask.clock, resume.ask.in_flight)
    last_id = resume.chain.read_id
    reply: Any = None
    try:
        while True:
            try:
                command = reading.send(reply)
            except StopIteration as end:
                yield _finished(end.value, records=records, async_transport=transport)
                return
            reply = None
            if isinstance(command, Emit):
                last_id = command.result.read.id
                yield _finished(command.result, records=records)
            else:
                reply = await crew.answer(command)
            del command
    except GeneratorExit:
        raise  # the caller has what was read, and it is partial
    except BaseException:
        _record_cancelled(resume, records=records, last_id=last_id)
        raise
    finally:
        crew.dismiss()
        await _release(transport)


def _finished(
    result: ReadResult,
    *,
    records: bool,
    transport: Transport | None = None,
    async_transport: AsyncTransport | None = None,
) -> ReadResult:
    """Lets the result go on over the same transport, and records it."""
    resume = resume_of(result)
    if isinstance(resume, Resume):
        with_resume(result, replace(resume, transport=transport, async_transport=async_transport))
    if records:
        record(result)
    return result


def _record_cancelled(resume: Resume, *, records: bool, last_id: str | None = None) -> None:
    """A read that is broken off, by whatever was raised, leaves evidence: it is unavailable, not innocent."""
    if not records:
        return
    from .cancelled import cancelled_read

    try:
        record(cancelled_read(resume, last_id=last_id or resume.chain.read_id))
    except InvalidInput:
        return
