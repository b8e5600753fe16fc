"""The drivers: one for threads, one for event loops. They send and wait; every decision is the loop's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from unabridged._ambient import record
from unabridged.contract.errors import InvalidInput
from unabridged.contract.results import ReadResult, resume_of, with_resume
from unabridged.profiles.format import Profile
from unabridged.profiles.combinators import FanoutWalk

from .ask import Ask, Chain, Emit, PlainRetries, Retries, Send, Sleep
from .loop import Loop, Reading
from .query import Budget, Query
from .requests import check_headers
from .resume import Resume
from .transport import AsyncTransport, Clock, Fault, Response, SystemClock, Transport

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
        resume: goes on from there; profile, query, URL and headers are then those of the earlier read.

    Raises:
        InvalidInput: the query, the URL or a header breaks a rule.
    """
    time = clock or SystemClock()
    if resume is not None:
        ask = replace(resume.ask, budget=budget or Budget.unlimited(), clock=time)
        return finish_read(replace(resume, ask=ask), transport=transport, records=False)
    ask = make_ask(profile, query, url=url, clock=time, budget=budget or Budget.unlimited(), headers=headers)
    ask = replace(ask, retries=retries or PlainRetries(), repeats_left=repeats)
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
    if isinstance(resume.ask.profile.walk, FanoutWalk):
        from .fanout import read_fanout

        return read_fanout(resume, stream=stream)
    return Loop(resume.ask, resume.chain).run(stream=stream)


def finish_read(resume: Resume, *, transport: Transport, records: bool = True) -> ReadResult:
    """Reads from a resume to the end of its link, and records the result in the session in scope."""
    reading = reading_of(resume)
    clock = resume.ask.clock
    try:
        reply: Response | Fault | None = None
        while True:
            command = reading.send(reply)
            reply = None
            match command:
                case Send(request=request, timeout_s=timeout_s):
                    reply = transport.send(request, timeout_s=timeout_s)
                case Sleep(seconds=seconds):
                    clock.sleep(seconds)
                case Emit():
                    pass
                case _:
                    assert_never(command)
    except StopIteration as end:
        return _finished(end.value, records=records, transport=transport)
    except BaseException:
        _record_cancelled(resume, records=records)
        raise


async def afinish_read(resume: Resume, *, transport: AsyncTransport, records: bool = True) -> ReadResult:
    """As `finish_read`, on an event loop."""
    reading = reading_of(resume)
    clock = resume.ask.clock
    try:
        reply: Response | Fault | None = None
        while True:
            command = reading.send(reply)
            reply = None
            match command:
                case Send(request=request, timeout_s=timeout_s):
                    reply = await transport.send(request, timeout_s=timeout_s)
                case Sleep(seconds=seconds):
                    await clock.asleep(seconds)
                case Emit():
                    pass
                case _:
                    assert_never(command)
    except StopIteration as end:
        return _finished(end.value, records=records, async_transport=transport)
    except BaseException:
        _record_cancelled(resume, records=records)
        raise
    finally:
        await _release(transport)


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
        resume: where the read starts.
        transport: sends the requests.
        records: whether the results are recorded in the session in scope.
        reading: a decision core that was made for the resume, for a caller that looks into its loop.
    """
    reading = reading_of(resume, stream=True) if reading is None else reading
    clock, last_id = resume.ask.clock, resume.chain.read_id
    reply: Response | Fault | None = None
    try:
        while True:
            command = reading.send(reply)
            reply = None
            match command:
                case Send(request=request, timeout_s=timeout_s):
                    reply = transport.send(request, timeout_s=timeout_s)
                case Sleep(seconds=seconds):
                    clock.sleep(seconds)
                case Emit(result=result):
                    last_id = result.read.id
                    yield _finished(result, records=records)
                    del result, command
                case _:
                    assert_never(command)
    except StopIteration as end:
        yield _finished(end.value, records=records, transport=transport)
    except GeneratorExit:
        raise  # the caller has what was read, and it is partial
    except BaseException:
        _record_cancelled(resume, records=records, last_id=last_id)
        raise


async def afinish_pages(
    resume: Resume, *, transport: AsyncTransport, records: bool = True
) -> AsyncIterator[ReadResult]:
    """As `finish_pages`, on an event loop."""
    reading = reading_of(resume, stream=True)
    clock, last_id = resume.ask.clock, resume.chain.read_id
    reply: Response | Fault | None = None
    try:
        while True:
            command = reading.send(reply)
            reply = None
            match command:
                case Send(request=request, timeout_s=timeout_s):
                    reply = await transport.send(request, timeout_s=timeout_s)
                case Sleep(seconds=seconds):
                    await clock.asleep(seconds)
                case Emit(result=result):
                    last_id = result.read.id
                    yield _finished(result, records=records)
                    del result, command
                case _:
                    assert_never(command)
    except StopIteration as end:
        yield _finished(end.value, records=records, async_transport=transport)
    except GeneratorExit:
        raise  # the caller has what was read, and it is partial
    except BaseException:
        _record_cancelled(resume, records=records, last_id=last_id)
        raise
    finally:
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
