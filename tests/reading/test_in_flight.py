"""Several requests in flight: what comes out is what one after another gives, only sooner."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import pytest
from reading.asking import codes, keys
from reading.served import Call, Server, serving
from unabridged.contract import InvalidInput, ReadResult, resume_of
from unabridged.evidence import session
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Budget, Fault, Request, Response, Resume, aread, pages, read, run_read
from unabridged.reading.fleet import shared_out
from unabridged.testing import VirtualClock

pytestmark = pytest.mark.enable_socket
OFFSET: dict[str, Any] = {
    "by": "offset", "send": {"query": "at"}, "unit": "item", "origin": 0, "ends_on": ["total"], "total": "total",
}  # fmt: skip
TOKEN: dict[str, Any] = {
    "by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent"], "empty_token": "end",
    "repeated_token": "anomaly",
}  # fmt: skip
NAMES = [f"s{n}" for n in range(12)]
PARTS: dict[str, Any] = {
    "by": "partition", "axis": "n", "cap": 10,
    "parts": {"from": 0, "to": 64, "send": {"from": {"query": "ge"}, "to": {"query": "lt"}}},
    "count": {"name": "c", "version": 1, "walk": {"by": "single"}, "count": {"path": "n", "kind": "exact"},
              "filters": {}},
    "inner": {"name": "d", "version": 1, "items": "items", "id": "id", "walk": {"by": "single", "cap": 10}},
}  # fmt: skip


def one(walk: dict[str, Any], **changes: Any) -> Profile:
    made = {"name": "t", "version": 1, "items": "items", "id": "id", "order": {"by": "id", "unique": True}}
    return load_profile({**made, "walk": walk, **changes})


def fan(inner: dict[str, Any] | None = None, names: list[str] | None = None) -> Profile:
    made = {"name": "t", "version": 1, "items": "items", "id": "id", "walk": inner or TOKEN}
    return load_profile({"name": "all", "version": 1, "walk": {"by": "fanout", "over": names or NAMES, "inner": made}})


PATIENT_S = 60


class Together:
    """Holds requests until so many are here at once, and counts how many were; once they were, none is held.

    The first `alone` requests are not held: what they bring is what the others wait for.
    """

    def __init__(self, wanted: int, *, alone: int = 0) -> None:
        self.wanted = wanted
        self.alone = alone
        self.most = self.now = 0
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            self.now += 1
            self.most = max(self.most, self.now)
            self.alone -= 1
            self._changed.notify_all()
            if self.alone < 0:
                self._changed.wait_for(lambda: self.most >= self.wanted, PATIENT_S)

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self.now -= 1


class Slow:
    """A transport that answers once it has `wanted` requests at once, and knows how many it had."""

    def __init__(self, answer: Any, *, wanted: int = 1, alone: int = 0) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self._together = Together(wanted, alone=alone)

    @property
    def most(self) -> int:
        return self._together.most

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        self.requests.append(request)
        with self._together:
            time.sleep(0.001)
        reply: Response | Fault = self.answer(request)
        return reply


def body(ids: Any, **more: Any) -> Response:
    return Response(200, (), json.dumps({"items": [{"id": i} for i in ids], **more}).encode())


def offset_page(request: Request) -> Response:
    at = int(dict(request.pairs)["at"])
    return body(range(at, min(at + 10, 95)), total=95)


def source_page(request: Request) -> Response:
    at = int(dict(request.pairs).get("cursor", "0"))
    return body([f"{request.source}-{at}"], **({"next": str(at + 1)} if at < 2 else {}))


def part_page(request: Request) -> Response:
    asked = dict(request.pairs)
    ids = range(int(asked["ge"]), int(asked["lt"]))
    return body(ids, n=len(ids))


def run(
    profile: Profile, transport: Any, *, in_flight: int = 8, url: str = "https://t.example/x", **budget: Any
) -> ReadResult:
    return run_read(
        profile, "things", url=url, transport=transport, in_flight=in_flight, budget=Budget.unlimited(**budget)
    )


def plain(result: ReadResult) -> Any:
    wire = result.to_wire()
    del wire["read"]
    wire["continuation"] = {k: v for k, v in wire["continuation"].items() if k != "handle"}
    return wire


def test_independent_pages_are_in_flight_together_and_stand_in_order() -> None:
    slow = Slow(offset_page, wanted=8, alone=1)
    result = run(one(OFFSET), slow)
    assert result.complete
    assert list(result.ids) == list(range(95))
    assert slow.most == 8
    assert (len(slow.requests), result.read.requests) == (10, 10)
    assert plain(result) == plain(run(one(OFFSET), Slow(offset_page), in_flight=1))


@pytest.mark.parametrize("limits", [{"max_pages": 3}, {"max_requests": 3}, {"max_items": 25}])
def test_no_more_is_sent_ahead_than_the_budget_allows(limits: dict[str, int]) -> None:
    slow = Slow(offset_page)
    result = run(one(OFFSET), slow, **limits)
    assert plain(result) == plain(run(one(OFFSET), Slow(offset_page), in_flight=1, **limits))
    assert len(slow.requests) == 3


def test_nothing_is_sent_ahead_into_a_window_that_the_source_declares() -> None:
    slow = Slow(offset_page)
    result = run(one(OFFSET, caps=[{"limit": 30, "on": "window"}]), slow)
    assert codes(result) == {"RESULT_LIMIT_REACHED"}
    assert len(slow.requests) == 3


def test_pages_that_are_shorter_than_foreseen_are_asked_for_at_their_own_place() -> None:
    def shrinking(request: Request) -> Response:
        at = int(dict(request.pairs)["at"])
        return body(range(at, min(at + (10 if at == 0 else 7), 40)), total=40)

    result = run(one(OFFSET), Slow(shrinking))
    assert result.complete
    assert list(result.ids) == list(range(40))


def test_a_page_that_fails_stops_the_walk_where_it_stands() -> None:
    def failing(request: Request) -> Response | Fault:
        return Fault("timeout") if dict(request.pairs)["at"] == "20" else offset_page(request)

    result = run(one(OFFSET), Slow(failing))
    assert (result.returned, codes(result), result.continuation.kind) == (20, {"SOURCE_UNAVAILABLE"}, "next_page")


def test_pages_of_a_stream_are_in_flight_together_too() -> None:
    with serving(lambda call: answer_offset(call, delay_s=0.02)) as server:
        links = list(pages(one(OFFSET), "things", url=server.url))
    assert [i for link in links for i in link.ids] == list(range(95))
    assert links[-1].complete


def answer_offset(call: Call, *, delay_s: float) -> None:
    time.sleep(delay_s)
    at = int(call.query["at"])
    call.page({"items": [{"id": n} for n in range(at, min(at + 10, 95))], "total": 95})


def test_the_sources_of_a_fan_out_are_in_flight_together() -> None:
    slow = Slow(source_page, wanted=8)
    result = run(fan(), slow, url="https://{source}.example/x")
    assert result.complete
    assert slow.most == 8
    assert (result.returned, result.read.requests, result.read.pages) == (36, 36, 36)
    assert plain(result) == plain(run(fan(), Slow(source_page), in_flight=1, url="https://{source}.example/x"))


@pytest.mark.parametrize("limits", [{"max_pages": 7}, {"max_requests": 7}, {"max_items": 7}])
def test_all_sources_share_one_budget(limits: dict[str, int]) -> None:
    slow = Slow(source_page)
    result = run(fan(), slow, url="https://{source}.example/x", **limits)
    assert len(slow.requests) <= 7 + 8 * ("max_requests" not in limits)
    if "max_items" in limits:
        assert result.returned == 7
    links = [result]
    for _ in range(40):
        resume = resume_of(links[-1])
        if links[-1].complete or not isinstance(resume, Resume):
            break
        links.append(resume.read(transport=Slow(source_page)))
    assert links[-1].complete
    assert {i for link in links for i in link.ids} == {f"{name}-{n}" for name in NAMES for n in range(3)}


def test_the_limit_of_pages_is_exact_with_several_in_flight() -> None:
    result = run(fan(), Slow(source_page), url="https://{source}.example/x", max_pages=7)
    assert result.read.pages == 7


def test_a_dead_source_does_not_hold_up_the_others() -> None:
    def answer(request: Request) -> Response | Fault:
        return Fault("dns") if request.source == "s3" else source_page(request)

    result = run(fan(), Slow(answer), url="https://{source}.example/x")
    assert {s.name for s in result.sources if s.status == "unavailable"} == {"s3"}
    assert (result.returned, result.continuation.kind) == (33, "retry_sources")


def test_parts_are_in_flight_together_and_add_up_in_order() -> None:
    profile = load_profile({"name": "p", "version": 1, "walk": PARTS})
    slow = Slow(part_page, wanted=2, alone=1)
    result = run(profile, slow)
    assert result.complete
    assert list(result.ids) == list(range(64))
    assert 2 <= slow.most <= 8
    assert plain(result) == plain(run(profile, Slow(part_page), in_flight=1))


async def test_an_event_loop_has_as_much_in_flight() -> None:
    together = Together(8)

    def respond(call: Call) -> None:
        with together:
            call.page({"items": [{"id": call.path}]})

    with serving(respond) as server:
        result = await aread(fan(), "things", url=server.url + "/{source}", budget=Budget(max_seconds=4 * PATIENT_S))
    assert together.most == 8
    assert result.complete
    assert result.returned == 12


async def test_a_read_that_is_cancelled_with_several_in_flight_leaves_evidence() -> None:
    is_over, asked = threading.Event(), threading.Event()

    def respond(call: Call) -> None:
        asked.set()
        is_over.wait(PATIENT_S)
        call.page({"items": []})

    with serving(respond) as server, session("cancelled") as s:
        task = asyncio.create_task(aread(fan(), "things", url=server.url + "/{source}"))
        assert await asyncio.to_thread(asked.wait, PATIENT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [r.status for r in s.reads] == ["unavailable"]
        is_over.set()


def test_a_wait_of_one_source_lets_the_others_go_on() -> None:
    """The clock moves only when nothing else is left to do."""
    order: list[str] = []

    class Waiting(VirtualClock):
        def sleep(self, seconds: float) -> None:
            order.append("slept")
            super().sleep(seconds)

    def answer(request: Request) -> Response:
        order.append(request.source or "")
        if order.count("s0") == 1 and request.source == "s0":
            return Response(429, (("Retry-After", "20"),))
        return source_page(request)

    result = run_read(
        fan(), "things", url="https://{source}.example/x", transport=Slow(answer), clock=Waiting(), in_flight=8,
        budget=Budget.unlimited(max_seconds=60),
    )  # fmt: skip
    assert result.complete
    first, last = order[: order.index("slept")], order[order.index("slept") + 1 :]
    assert (len(first), set(last)) == (34, {"s0"})


@pytest.mark.parametrize("wrong", [0, 65, True, 2.0, "8"])
def test_a_number_of_requests_that_makes_no_sense_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="in_flight"):
        read(one(OFFSET), "things", url="https://t.example/x", in_flight=wrong)


# executors


def answer_source(call: Call) -> None:
    name = call.path.rsplit("/", 1)[1]
    if name == "s5":
        call.answer(503)
        return
    at = int(call.query.get("cursor", "0"))
    assert call.headers.get("authorization") == "Bearer t0ken"
    call.page({"items": [{"id": f"{name}-{at}"}], **({"next": str(at + 1)} if at < 1 else {})})


@contextmanager
def fleet_server() -> Iterator[Server]:
    with serving(answer_source) as server:
        yield server


HEADERS = {"Authorization": "Bearer t0ken"}


def processes(workers: int) -> ProcessPoolExecutor:
    """Processes that begin anew: one that is forked may find a lock that a thread of the server held."""
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, processes])
def test_any_executor_reads_the_sources_of_a_fan_out(kind: Any) -> None:
    budget = Budget(max_retries=0, max_seconds=600)  # processes take their time to start
    with fleet_server() as server, session(f"fleet {kind.__name__}") as s:
        url = server.url + "/{source}"
        here = read(fan(), "things", url=url, headers=HEADERS, budget=budget)
        with kind(2) as executor:
            there = read(fan(), "things", url=url, headers=HEADERS, budget=budget, executor=executor)
        assert len(s.reads) == 2
        assert plain(there) | {"continuation": None} == plain(here) | {"continuation": None}
        assert (there.read.requests, there.read.pages) == (here.read.requests, here.read.pages)
        assert sorted(there.ids) == sorted(here.ids)
        assert there.continuation.kind == "retry_sources"
        assert "t0ken" not in repr(there)


async def test_an_event_loop_reads_on_an_executor_too() -> None:
    with fleet_server() as server, ThreadPoolExecutor(3) as executor:
        result = await aread(
            fan(),
            "things",
            url=server.url + "/{source}",
            headers=HEADERS,
            budget=Budget(max_retries=0),
            executor=executor,
        )
    assert result.returned == 22


class Dying(Executor):
    """An executor whose third worker dies."""

    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.submitted += 1
        if self.submitted == 3:
            future.set_exception(ConnectionError("the worker is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_a_source_whose_worker_died_is_unavailable() -> None:
    with fleet_server() as server:
        result = read(
            fan(), "things", url=server.url + "/{source}", headers=HEADERS, budget=Budget(max_retries=0),
            executor=Dying(),
        )  # fmt: skip
    dead = {s.name for s in result.sources if s.status == "unavailable"}
    assert dead == {"s2", "s5"}
    assert "SOURCE_UNAVAILABLE:disconnect" in keys(result)


def test_a_fleet_goes_on_with_what_it_did_not_finish() -> None:
    with fleet_server() as server, ThreadPoolExecutor(2) as executor:
        names = ["s0", "s1"]
        first = read(
            fan(names=names), "things", url=server.url + "/{source}", headers=HEADERS,
            budget=Budget(max_pages=2, max_retries=0), executor=executor,
        )  # fmt: skip
        assert (first.returned, first.continuation.kind) == (2, "next_page")
        resume = resume_of(first)
        assert isinstance(resume, Resume)
        from unabridged.reading.http import HttpTransport

        rest = resume.read(transport=HttpTransport())
    assert rest.complete
    assert sorted((*first.ids, *rest.ids)) == ["s0-0", "s0-1", "s1-0", "s1-1"]


def test_shares_of_a_budget_add_up_to_the_whole() -> None:
    shares = list(shared_out(Budget(max_pages=10, max_items=7, max_bytes=100, max_requests=None), 4))
    assert all(share is not None for share in shares)
    assert sum(share.max_pages or 0 for share in shares if share) == 10
    assert sum(share.max_items or 0 for share in shares if share) == 7
    assert list(shared_out(Budget(max_pages=1), 2))[1] is None


def test_a_source_without_a_share_is_not_asked() -> None:
    with fleet_server() as server, ThreadPoolExecutor(2) as executor:
        result = read(
            fan(names=["s0", "s1"]), "things", url=server.url + "/{source}", headers=HEADERS,
            budget=Budget(max_requests=1), executor=executor,
        )  # fmt: skip
    assert {s.name: s.status for s in result.sources}["s1"] == "unavailable"
    assert len(server.calls) == 1


def test_what_an_executor_cannot_do_is_refused() -> None:
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(InvalidInput, match="executor"):
            read(one(OFFSET), "things", url="https://t.example/x", executor=executor)
        with pytest.raises(InvalidInput, match="client"):
            read(fan(), "things", url="https://{source}.example/x", executor=executor, client=object())
        with pytest.raises(InvalidInput, match="double_walk"):
            read(fan(), "things", url="https://{source}.example/x", executor=executor, double_walk=True)


def test_waiting_for_a_free_worker_counts_against_the_time_of_the_whole() -> None:
    is_over = threading.Event()

    def respond(call: Call) -> None:
        if call.number > 0:
            is_over.wait(PATIENT_S)
        call.page({"items": []})

    with serving(respond) as server, ThreadPoolExecutor(1) as executor:
        result = read(
            fan(names=[f"s{n}" for n in range(8)]), "things", url=server.url + "/{source}",
            budget=Budget(max_seconds=4, max_retries=0), executor=executor,
        )  # fmt: skip
        is_over.set()
        spent_s = result.read.budget.spent_seconds
    assert "TIME_BUDGET_EXCEEDED" in codes(result)
    assert [s.status for s in result.sources] == ["complete", *["unavailable"] * 7]
    assert spent_s < 6 * 4  # not once for each source
