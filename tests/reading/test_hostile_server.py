"""A server that means harm: every attack ends in bounded time and memory, with a clear reason, and takes nothing."""

from __future__ import annotations

import gzip
import json
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import httpx
import pytest
from reading.asking import TOKEN, codes, keys, profile
from reading.served import Call, Server, serving
from unabridged.contract import ReadResult
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Budget, aread, read, run_read
from unabridged.reading.http import HttpTransport
from unabridged.testing import VirtualClock

SECRET = "Bearer k4narie"
HEADERS = {"Authorization": SECRET, "X-Api-Key": SECRET}
MIB = 1024 * 1024
OFFSET: dict[str, Any] = {
    "by": "offset", "send": {"query": "at"}, "unit": "page", "origin": 0, "ends_on": ["total"], "total": "total",
}  # fmt: skip


PATIENT_S = 120
"""More than any of these reads takes on a slow machine."""


@contextmanager
def bounded(*, mib: float, seconds: float = PATIENT_S, cpu_s: float = PATIENT_S) -> Iterator[None]:
    """Fails when the block takes longer, computes longer, or holds more memory at its height, than it may.

    A busy machine lengthens the time that passes, and hardly the time that this process computes.
    """
    tracemalloc.start()
    before, computed = time.monotonic(), time.process_time()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.monotonic() - before < seconds
    assert time.process_time() - computed < cpu_s
    assert peak < mib * MIB, peak / MIB


def attacked(server: Server, made: Profile | None = None, **budget: Any) -> ReadResult:
    return read(
        made or profile(), "things", url=server.url, headers=HEADERS,
        budget=Budget(**{"max_seconds": PATIENT_S, "max_retries": 0, **budget}),
    )  # fmt: skip


def shows_nothing(result: ReadResult) -> None:
    assert "k4narie" not in json.dumps(result.to_wire()) + repr(result)


def test_endless_pages_end_with_the_budget() -> None:
    numbers = count()

    def respond(call: Call) -> None:
        n = next(numbers)
        call.page({"items": [{"id": n}], "next": f"c{n}"})

    with serving(respond) as server, bounded(mib=40):
        result = attacked(server, max_pages=60)
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_pages", "MORE_PAGES_AVAILABLE"}
    assert result.returned == 60
    with serving(respond) as server, bounded(seconds=30, mib=60):
        result = attacked(server, max_pages=None, max_seconds=1)
    assert "TIME_BUDGET_EXCEEDED:max_seconds" in keys(result)


def test_endless_pages_of_nothing_end_too() -> None:
    numbers = count()

    def respond(call: Call) -> None:
        call.page({"items": [], "next": f"c{next(numbers)}"})

    with serving(respond) as server, bounded(mib=40):
        result = attacked(server, max_pages=60)
    assert (result.status, result.items) == ("partial", [])


def test_a_body_of_a_gigabyte_that_says_so_is_not_read() -> None:
    def respond(call: Call) -> None:
        call.head(200, {"content-length": str(1024 * MIB)})
        call.write(b"x" * MIB)

    with serving(respond) as server, bounded(mib=20):
        result = attacked(server)
    assert (result.status, keys(result)) == ("unavailable", {"CLIENT_LIMIT_REACHED:max_bytes"})


def pour(call: Call, piece: bytes, *, gigabytes: int = 1, headers: dict[str, str] | None = None) -> int:
    """Sends a body in chunks for as long as the reader takes it; returns how much it took."""
    call.head(200, {"transfer-encoding": "chunked", **(headers or {})})
    sent = 0
    try:
        while sent < gigabytes * 1024 * MIB:
            call.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            sent += len(piece)
    except OSError:
        pass
    call.hang_up()
    return sent


def test_a_body_of_a_gigabyte_that_does_not_say_so_is_left_after_a_page() -> None:
    taken: list[int] = []
    is_over = threading.Event()

    def respond(call: Call) -> None:
        taken.append(pour(call, b"x" * MIB))
        is_over.set()

    with serving(respond) as server:
        with bounded(mib=40):
            result = attacked(server)
        assert is_over.wait(PATIENT_S)
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_bytes"}
    assert taken[0] < 64 * MIB


def test_several_gigabytes_at_once_stay_within_a_page_each() -> None:
    inner = {"name": "t", "version": 1, "items": "items", "id": "id", "walk": TOKEN}
    fan = {"name": "all", "version": 1, "walk": {"by": "fanout", "over": [f"s{n}" for n in range(8)], "inner": inner}}
    with serving(lambda call: pour(call, b"x" * MIB) and None) as server, bounded(mib=140):
        budget = Budget(max_seconds=PATIENT_S, max_retries=0)
        result = read(load_profile(fan), "things", url=server.url + "/{source}", budget=budget)
    assert (result.status, codes(result)) == ("unavailable", {"CLIENT_LIMIT_REACHED"})


@pytest.mark.parametrize(
    ("coding", "squeeze"),
    [("gzip", lambda data: gzip.compress(data, 9)), ("deflate", lambda data: zlib.compress(data, 9))],
)
def test_a_compressed_bomb_is_met_with_its_first_piece(coding: str, squeeze: Callable[[bytes], bytes]) -> None:
    bomb = squeeze(b"0" * (256 * MIB))
    with serving(lambda call: call.answer(200, bomb, content_encoding=coding)) as server, bounded(mib=40):
        result = attacked(server)
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_bytes"}


def test_a_bomb_inside_a_bomb_is_not_unpacked_twice() -> None:
    bomb = gzip.compress(gzip.compress(b"0" * (64 * MIB), 9), 9)
    with (
        serving(lambda call: call.answer(200, bomb, content_encoding="gzip, gzip")) as server,
        bounded(mib=20),
    ):
        result = attacked(server)
    assert (result.status, keys(result)) == ("unavailable", {"TRANSPORT_TRUNCATED:invalid_json"})


def test_pieces_of_nothing_without_end_stop_with_the_time() -> None:
    """A deflate stream may go on for ever without a byte of output."""
    empty = b"\x00\x00\x00\xff\xff"

    def respond(call: Call) -> None:
        call.head(200, {"transfer-encoding": "chunked", "content-encoding": "deflate"})
        call.write(b"2\r\n\x78\x9c\r\n")
        piece = empty * 2000
        try:
            while True:
                call.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        except OSError:
            call.hang_up()

    with serving(respond) as server, bounded(seconds=30, mib=30):
        result = attacked(server, max_seconds=1)
    assert codes(result) == {"TIME_BUDGET_EXCEEDED"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_gets_no_request_at_all(status: int) -> None:
    with serving(lambda call: call.page({"items": [{"id": 1}]})) as thief:
        with serving(lambda call: call.answer(status, location=thief.url)) as server:
            result = attacked(server)
        assert thief.calls == []
    assert (result.status, codes(result)) == ("unavailable", {"SOURCE_UNAVAILABLE"})
    shows_nothing(result)


@pytest.mark.parametrize("where", ["//{host}/x", "http://api@{host}/x", "http:\\\\{host}/x", "http://{host}%2f@x/"])
def test_a_redirect_in_disguise_leads_nowhere_either(where: str) -> None:
    with serving(lambda call: call.page({"items": []})) as thief:
        host = thief.url.split("/")[2]
        with serving(lambda call: call.answer(302, location=where.format(host=host))) as server:
            result = attacked(server)
        assert thief.calls == []
    assert codes(result) == {"SOURCE_UNAVAILABLE"}


def test_a_link_to_another_origin_gets_no_credential_and_no_request() -> None:
    made = profile({"by": "link", "where": "body", "path": "next"})
    with serving(lambda call: call.page({"items": []})) as thief:
        with serving(lambda call: call.page({"items": [{"id": 1}], "next": thief.url})) as server:
            result = attacked(server, made)
        assert thief.calls == []
    assert keys(result) == {"PROTOCOL_ANOMALY:cross_origin_link"}
    shows_nothing(result)


def test_a_link_that_may_leave_its_origin_takes_nothing_along() -> None:
    made = profile({"by": "link", "where": "body", "path": "next", "same_origin": False})
    with serving(lambda call: call.page({"items": [{"id": 2}]})) as other:
        with serving(lambda call: call.page({"items": [{"id": 1}], "next": other.url})) as server:
            client = httpx.Client(headers={"X-Client": SECRET}, cookies={"session": "k4narie"}, auth=("me", "k4narie"))
            with client:
                result = read(made, "things", url=server.url, headers=HEADERS, client=client)
        assert result.complete
        assert "k4narie" in json.dumps(server.calls[0].headers)
        assert "k4narie" not in json.dumps(other.calls[0].headers)
        assert "authorization" not in other.calls[0].headers


def test_redirects_in_a_circle_are_left() -> None:
    with serving(lambda call: call.answer(302, location="/things?again")) as server, bounded(mib=20):
        result = attacked(server)
    assert codes(result) == {"SOURCE_UNAVAILABLE"}
    assert len(server.calls) < 12


@pytest.mark.parametrize("interval_s", [0.02, 0.4])
def test_a_slow_drip_ends_with_the_time(interval_s: float) -> None:
    is_over = threading.Event()

    def respond(call: Call) -> None:
        call.head(200, {"content-length": "100000"})
        while not is_over.wait(interval_s):
            call.write(b"[")

    with serving(respond) as server, bounded(seconds=30, mib=20):
        result = attacked(server, max_seconds=1)
        is_over.set()
    assert keys(result) == {"TIME_BUDGET_EXCEEDED:max_seconds"}


def test_a_head_that_drips_ends_with_the_time_too() -> None:
    is_over = threading.Event()

    def respond(call: Call) -> None:
        call.write(b"HTTP/1.1 200 OK\r\n")
        while not is_over.wait(0.05):
            call.write(b"X-A: b\r\n")

    with serving(respond) as server, bounded(seconds=30, mib=20):
        result = attacked(server, max_seconds=1)
        is_over.set()
    assert result.status == "unavailable"
    assert codes(result) <= {"TIME_BUDGET_EXCEEDED", "SOURCE_UNAVAILABLE"}


def test_answers_before_the_answer_without_end_stop_with_the_time() -> None:
    outlasted = threading.Event()

    def respond(call: Call) -> None:
        until = time.monotonic() + PATIENT_S / 10
        while time.monotonic() < until:  # there is always something to read, so that no read ever waits
            call.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 200)
        outlasted.set()

    with serving(respond) as server, bounded(mib=20):
        result = attacked(server, max_seconds=1)
    assert keys(result) == {"TIME_BUDGET_EXCEEDED:max_seconds"}
    assert not outlasted.is_set()


async def test_a_head_that_drips_ends_with_the_time_on_an_event_loop() -> None:
    is_over = threading.Event()

    def respond(call: Call) -> None:
        call.write(b"HTTP/1.1 200 OK\r\n")
        while not is_over.wait(0.05):
            call.write(b"X-A: b\r\n")

    with serving(respond) as server:
        start = time.monotonic()
        result = await aread(profile(), "things", url=server.url, budget=Budget(max_seconds=1, max_retries=0))
        assert time.monotonic() - start < 30
        is_over.set()
    assert codes(result) <= {"TIME_BUDGET_EXCEEDED", "SOURCE_UNAVAILABLE"}


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"items":[{"id":1,"a":' + "["])
def test_deeply_nested_json_is_no_page(opening: str) -> None:
    body = (opening * (6 * MIB // len(opening))).encode()
    with serving(lambda call: call.answer(200, body)) as server, bounded(mib=120):
        result = attacked(server)
    assert (result.status, keys(result)) == ("unavailable", {"TRANSPORT_TRUNCATED:invalid_json"})


def test_deeply_nested_json_that_closes_is_a_page_or_none_but_no_crash() -> None:
    for depth in (200, 900, 5_000, 100_000):
        body = b'{"items":[{"id":1,"deep":' + b"[" * depth + b"]" * depth + b"}]}"
        with serving(lambda call, body=body: call.answer(200, body)) as server, bounded(mib=60):
            result = attacked(server)
        assert result.status in ("complete", "unavailable")
        if result.status == "unavailable":
            assert keys(result) == {"TRANSPORT_TRUNCATED:invalid_json"}


def test_a_number_of_a_million_digits_is_no_number() -> None:
    body = b'{"items":[{"id":' + b"9" * MIB + b"}]}"
    with serving(lambda call: call.answer(200, body)) as server, bounded(mib=40, cpu_s=10):
        result = attacked(server)
    assert keys(result) == {"TRANSPORT_TRUNCATED:invalid_json"}


def test_a_header_of_a_megabyte_is_a_dead_source() -> None:
    with (
        serving(lambda call: call.answer(200, b'{"items": []}', x_long="a" * MIB)) as server,
        bounded(mib=40),
    ):
        result = attacked(server)
    assert result.status in ("unavailable", "complete")
    assert codes(result) <= {"SOURCE_UNAVAILABLE", "TIME_BUDGET_EXCEEDED"}


@pytest.mark.parametrize(
    "value",
    [
        "<a>" + ";a=b" * 12_000,
        '<a>;rel="' + "next " * 10_000 + '"',
        "<" * 60_000,
        ", " * 30_000 + "<a>",
        "<a>;" + " " * 60_000,
        '<a>;x="' + "\\" * 60_000,
    ],
)
def test_a_long_link_header_is_parsed_in_linear_time(value: str) -> None:
    made = profile({"by": "link", "where": "header"})
    with serving(lambda call: call.page({"items": [{"id": 1}]}, link=value)) as server, bounded(mib=40, cpu_s=5):
        result = attacked(server, made)
    assert result.status in ("complete", "partial", "unavailable")


def test_ten_thousand_headers_are_bounded() -> None:
    def respond(call: Call) -> None:
        call.head(200, {"content-length": "13", **{f"x-{n}": "a" * 50 for n in range(10_000)}})
        call.write(b'{"items": []}')

    with serving(respond) as server, bounded(mib=60, cpu_s=20):
        result = attacked(server)
    assert result.status in ("complete", "unavailable")


def test_a_total_of_a_trillion_sends_no_more_than_the_budget_allows() -> None:
    def respond(call: Call) -> None:
        call.page({"items": [{"id": int(call.query["at"])}], "total": 10**12})

    with serving(respond) as server, bounded(mib=40):
        result = attacked(server, profile(OFFSET), max_pages=30)
    assert result.returned == 30
    assert len(server.calls) <= 30


JOB = {"by": "job", "state": "s", "running": ["R"], "ok": ["D"], "poll_s": 0.5}


def test_a_job_that_runs_for_ever_ends_with_the_time() -> None:
    with serving(lambda call: call.page({"s": "R", "items": []})) as server, bounded(mib=20):
        result = run_read(
            profile(JOB), "things", url=server.url, transport=HttpTransport(), clock=VirtualClock(),
            budget=Budget(max_seconds=10, max_retries=0),
        )  # fmt: skip
    assert codes(result) == {"TIME_BUDGET_EXCEEDED", "JOB_NOT_FINISHED"}
    assert len(server.calls) < 25


def test_a_job_that_stops_answering_while_it_runs_is_known_to_run() -> None:
    clock, is_over = VirtualClock(), threading.Event()

    def respond(call: Call) -> None:
        if call.number > 0:
            is_over.wait(PATIENT_S)
        clock.advance(19)
        call.page({"s": "R", "items": []})

    with serving(respond) as server:
        result = run_read(
            profile(JOB), "things", url=server.url, transport=HttpTransport(), clock=clock,
            budget=Budget(max_seconds=20, max_retries=0),
        )  # fmt: skip
        is_over.set()
    assert len(server.calls) == 2
    assert codes(result) == {"TIME_BUDGET_EXCEEDED", "JOB_NOT_FINISHED"}
    assert result.continuation.kind == "poll_job"


def test_counts_that_never_shrink_end_at_the_narrowest_part() -> None:
    walk = {
        "by": "partition", "axis": "n", "cap": 1,
        "parts": {"from": 0, "to": 10**15, "send": {"from": {"query": "ge"}, "to": {"query": "lt"}}},
        "count": {"name": "c", "version": 1, "walk": {"by": "single"}, "count": {"path": "n", "kind": "exact"}},
        "inner": {"name": "i", "version": 1, "items": "items", "id": "id", "walk": {"by": "single", "cap": 1}},
    }  # fmt: skip
    made = load_profile({"name": "p", "version": 1, "walk": walk})
    with serving(lambda call: call.page({"n": 10**9, "items": []})) as server, bounded(mib=60):
        result = attacked(server, made, max_requests=300)
    assert not result.complete
    assert len(server.calls) <= 300


def test_ranges_of_one_byte_end_with_the_budget() -> None:
    def respond(call: Call) -> None:
        start = int(call.headers["range"].removeprefix("bytes=").split("-")[0])
        call.answer(206, b"x", content_range=f"bytes {start}-{start}/{10**12}")

    made = load_profile({"name": "d", "version": 1, "walk": {"by": "range", "unit": "bytes", "size": 1}})
    with serving(respond) as server, bounded(mib=40):
        result = attacked(server, made, max_pages=50)
    assert (result.returned, result.continuation.kind) == (1, "read_range")


def test_a_wait_of_a_century_is_not_waited_out() -> None:
    with serving(lambda call: call.answer(429, retry_after="3153600000")) as server, bounded(seconds=30, mib=20):
        result = attacked(server)
    assert (codes(result), result.continuation.kind) == ({"RATE_LIMITED"}, "retry_after")


def test_ids_as_long_as_pages_stay_within_the_budget_of_bytes() -> None:
    numbers = count()

    def respond(call: Call) -> None:
        n = next(numbers)
        call.page({"items": [{"id": str(n) + "x" * 4 * MIB}], "next": str(n)})

    with serving(respond) as server, bounded(mib=110):
        result = attacked(server, max_bytes=20 * MIB)
    assert "CLIENT_LIMIT_REACHED:max_bytes" in keys(result)
