"""A read records itself in the session in scope, also when it is broken off."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from reading.asking import page, profile
from reading.served import Call, serving
from unabridged._ambient import ambient
from unabridged.contract import ReadResult
from unabridged.reading import Budget, Fault, Request, Response, Resume, SystemClock, apages, aread, pages, read
from unabridged.reading.ask import Chain
from unabridged.reading.http import close_shared_client
from unabridged.reading.run import finish_pages, finish_read, make_ask
from unabridged.testing import ScriptedTransport


class Kept:
    """A recorder that keeps what it is given."""

    closed = False

    def __init__(self) -> None:
        self.results: list[ReadResult] = []

    def record(self, result: Any, /) -> None:
        self.results.append(result)


@pytest.fixture
def kept() -> Iterator[Kept]:
    recorder = Kept()
    token = ambient.set(recorder)
    yield recorder
    ambient.reset(token)
    close_shared_client()


class Silent:
    """A source that does not answer until the test is over."""

    def __init__(self) -> None:
        self.asked, self.is_over = threading.Event(), threading.Event()

    def __call__(self, call: Call) -> None:
        self.asked.set()
        self.is_over.wait(60)


def two_pages(call: Call) -> None:
    call.page({"items": [{"id": call.number}], **({} if "cursor" in call.query else {"next": "a"})})


def test_a_read_and_each_page_of_a_stream_are_recorded(kept: Kept) -> None:
    with serving(two_pages) as server:
        result = read(profile(), "things", url=server.url)
        links = list(pages(profile(), "things", url=server.url))
    assert kept.results == [result, *links]


async def test_an_awaited_read_is_recorded_and_a_cancelled_one_is_recorded_as_unavailable(kept: Kept) -> None:
    silent = Silent()
    with serving(silent) as server:
        task = asyncio.create_task(aread(profile(), "things", url=server.url))
        await asyncio.to_thread(silent.asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        silent.is_over.set()
    assert [(r.status, r.reasons[0].key) for r in kept.results] == [("unavailable", "SOURCE_UNAVAILABLE:cancelled")]


def test_an_interrupted_read_is_recorded_as_unavailable(kept: Kept) -> None:
    class Interrupted:
        def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
            raise KeyboardInterrupt

    asked = make_ask(profile(), "things", url="https://a.example/", clock=SystemClock(), budget=Budget.unlimited())
    with pytest.raises(KeyboardInterrupt):
        finish_read(Resume(ask=asked, chain=Chain()), transport=Interrupted())
    assert [r.status for r in kept.results] == ["unavailable"]


def test_a_read_that_goes_on_is_recorded_too(kept: Kept) -> None:
    script = ScriptedTransport([page(1, next="a"), page(2)])
    asked = make_ask(
        profile(), "things", url="https://a.example/", clock=script.clock, budget=Budget.unlimited(max_pages=1)
    )
    first = finish_read(Resume(ask=asked, chain=Chain()), transport=script)
    second = first._resume.read()
    assert kept.results == [first, second]
    assert second.complete


def test_a_stream_holds_one_page_at_a_time() -> None:
    class Endless:
        """Serves 200 pages of 100 records of 2 kB each."""

        def __init__(self) -> None:
            self.served = 0

        def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
            start, self.served = self.served * 100, self.served + 1
            records = ",".join(f'{{"id": {start + n}, "text": "{"x" * 2000}"}}' for n in range(100))
            more = "" if self.served == 200 else f', "next": "p{self.served}"'
            return Response(200, (), f'{{"items": [{records}]{more}}}'.encode())

    asked = make_ask(profile(), "things", url="https://a.example/", clock=SystemClock(), budget=Budget.unlimited())
    count = 0
    tracemalloc.start()
    for link in finish_pages(Resume(ask=asked, chain=Chain()), transport=Endless()):
        count += link.returned
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 8_000_000


@pytest.mark.parametrize("struck", [KeyboardInterrupt, RuntimeError])
def test_a_read_that_anything_breaks_off_is_recorded_as_unavailable(kept: Kept, struck: type[BaseException]) -> None:
    class Broken:
        def __init__(self, *replies: Response) -> None:
            self.replies = list(replies)

        def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
            if self.replies:
                return self.replies.pop(0)
            raise struck

    asked = make_ask(profile(), "things", url="https://a.example/", clock=SystemClock(), budget=Budget.unlimited())
    begun = Resume(ask=asked, chain=Chain())
    with pytest.raises(struck):
        finish_read(begun, transport=Broken())
    with pytest.raises(struck):
        list(finish_pages(begun, transport=Broken()))
    with pytest.raises(struck):
        list(finish_pages(begun, transport=Broken(Response(200, (), b'{"items": [{"id": 1}], "next": "a"}'))))
    assert [r.status for r in kept.results] == ["unavailable", "unavailable", "partial", "unavailable"]
    assert kept.results[3].read.continues == kept.results[2].read.id


async def test_a_stream_that_is_cancelled_is_recorded_as_unavailable(kept: Kept) -> None:
    async def take() -> None:
        async for _ in apages(profile(), "things", url=server.url):
            pass

    silent = Silent()
    with serving(silent) as server:
        task = asyncio.create_task(take())
        await asyncio.to_thread(silent.asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        silent.is_over.set()
    assert [(r.status, r.reasons[0].key) for r in kept.results] == [("unavailable", "SOURCE_UNAVAILABLE:cancelled")]
