"""Sending for a reading: one request at a time, or several in flight on threads or on an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, assert_never

from .ask import Command, Emit, Gather, Send, Sleep
from .schedule import Schedule, Task
from .transport import AsyncTransport, Clock, Fault, Request, Response, Transport

Reply = Response | Fault
Readings = Sequence[Generator[Command, Any, Any]]


class Crew:
    """Answers the commands of one reading over a synchronous transport.

    Args:
        transport: sends the requests; with more than one in flight it is used from several threads.
        clock: waits.
        in_flight: requests at a time; with one, no thread is started and everything happens in order.
    """

    def __init__(self, transport: Transport, clock: Clock, in_flight: int = 1) -> None:
        self._transport = transport
        self._clock = clock
        self._bound = in_flight
        self._pool: ThreadPoolExecutor | None = None
        self._ahead: dict[int, tuple[Request, Future[Reply]]] = {}

    def answer(self, command: Command) -> Any:
        """Does what a reading asks for, and returns its reply."""
        match command:
            case Send():
                return self._sent(command)
            case Sleep(seconds=seconds):
                self._clock.sleep(seconds)
                return None
            case Gather(readings=readings):
                return self._gathered(readings)
            case Emit():
                return None
            case _:
                assert_never(command)

    def _sent(self, send: Send) -> Reply:
        """Sends a request; those that will follow it are sent along, and their replies kept until they are asked."""
        if self._bound == 1 or not (send.ahead or self._ahead):
            return self._transport.send(send.request, timeout_s=send.timeout_s)
        if id(send.request) not in self._ahead:
            self._drop_ahead()
        for request in (send.request, *send.ahead):
            if id(request) not in self._ahead:
                self._ahead[id(request)] = (request, self._submit(request, send.timeout_s))
        return self._ahead.pop(id(send.request))[1].result()

    def _submit(self, request: Request, timeout_s: float | None) -> Future[Reply]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._bound, thread_name_prefix="unabridged-read")
        return self._pool.submit(self._transport.send, request, timeout_s=timeout_s)

    def _gathered(self, readings: Readings) -> tuple[Any, ...]:
        if self._bound == 1:
            return tuple([drive(reading, self) for reading in readings])
        schedule = Schedule(readings, clock=self._clock, bound=self._bound)
        pending: dict[Future[Reply], Task] = {}
        while True:
            for task, send in schedule.due():
                pending[self._submit(send.request, send.timeout_s)] = task
            if schedule.is_finished:
                return schedule.results
            if not pending:
                self._clock.sleep(schedule.wait_s or 0.0)
                continue
            done, _ = wait(pending, timeout=schedule.wait_s, return_when=FIRST_COMPLETED)
            for future in done:
                schedule.replied(pending.pop(future), future.result())

    def _drop_ahead(self) -> None:
        for _, future in self._ahead.values():
            future.cancel()
        self._ahead.clear()

    def dismiss(self) -> None:
        """Ends the threads; requests that nobody waits for any more are not sent."""
        self._drop_ahead()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def drive(reading: Generator[Command, Any, Any], crew: Crew) -> Any:
    """Runs a reading to its end and returns its value."""
    reply: Any = None
    while True:
        try:
            command = reading.send(reply)
        except StopIteration as end:
            return end.value
        reply = crew.answer(command)


class AsyncCrew:
    """As `Crew`, on an event loop."""

    def __init__(self, transport: AsyncTransport, clock: Clock, in_flight: int = 1) -> None:
        self._transport = transport
        self._clock = clock
        self._bound = in_flight
        self._ahead: dict[int, tuple[Request, asyncio.Task[Reply]]] = {}

    async def answer(self, command: Command) -> Any:
        """Does what a reading asks for, and returns its reply."""
        match command:
            case Send():
                return await self._sent(command)
            case Sleep(seconds=seconds):
                await self._clock.asleep(seconds)
                return None
            case Gather(readings=readings):
                return await self._gathered(readings)
            case Emit():
                return None
            case _:
                assert_never(command)

    async def _sent(self, send: Send) -> Reply:
        if self._bound == 1 or not (send.ahead or self._ahead):
            return await self._transport.send(send.request, timeout_s=send.timeout_s)
        if id(send.request) not in self._ahead:
            self._drop_ahead()
        for request in (send.request, *send.ahead):
            if id(request) not in self._ahead:
                self._ahead[id(request)] = (request, self._submit(request, send.timeout_s))
        return await self._ahead.pop(id(send.request))[1]

    def _submit(self, request: Request, timeout_s: float | None) -> asyncio.Task[Reply]:
        return asyncio.ensure_future(_sending(self._transport, request, timeout_s))

    async def _gathered(self, readings: Readings) -> tuple[Any, ...]:
        if self._bound == 1:
            return tuple([await adrive(reading, self) for reading in readings])
        schedule = Schedule(readings, clock=self._clock, bound=self._bound)
        pending: dict[asyncio.Task[Reply], Task] = {}
        try:
            while True:
                for task, send in schedule.due():
                    pending[self._submit(send.request, send.timeout_s)] = task
                if schedule.is_finished:
                    return schedule.results
                if not pending:
                    await self._clock.asleep(schedule.wait_s or 0.0)
                    continue
                done, _ = await asyncio.wait(pending, timeout=schedule.wait_s, return_when=FIRST_COMPLETED)
                for one in done:
                    schedule.replied(pending.pop(one), one.result())
        finally:
            for one in pending:
                one.cancel()

    def _drop_ahead(self) -> None:
        for _, task in self._ahead.values():
            task.cancel()
        self._ahead.clear()

    def dismiss(self) -> None:
        """Cancels the requests that nobody waits for any more."""
        self._drop_ahead()


async def adrive(reading: Generator[Command, Any, Any], crew: AsyncCrew) -> Any:
    """Runs a reading to its end and returns its value."""
    reply: Any = None
    while True:
        try:
            command = reading.send(reply)
        except StopIteration as end:
            return end.value
        reply = await crew.answer(command)


async def _sending(transport: AsyncTransport, request: Request, timeout_s: float | None) -> Reply:
    return await transport.send(request, timeout_s=timeout_s)
