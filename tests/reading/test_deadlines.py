"""The deadline of an exchange, over connections that were open before it and clients that try again by themselves."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import httpx2
import pytest
from reading.asking import codes, keys, profile
from reading.served import Call, serving
from unabridged.contract import ReadResult
from unabridged.reading import Budget, aread, read

LIBRARIES = pytest.mark.parametrize("lib", [httpx, httpx2], ids=["httpx", "httpx2"])
ENOUGH_S = 60.0
"""How long a source drips: a read that waits for its end takes longer than any busy machine needs for one second."""


def soon(url: str, client: Any) -> ReadResult:
    began = time.monotonic()
    result = read(profile(), "things", url=url, client=client, budget=Budget(max_seconds=1, max_retries=0))
    assert time.monotonic() - began < ENOUGH_S / 2
    return result


@LIBRARIES
def test_a_head_that_drips_over_a_connection_opened_before_ends_with_the_time(lib: Any) -> None:
    is_over = threading.Event()

    def respond(call: Call) -> None:
        if call.path == "/warm":
            call.answer(200, b"warm")
            return
        call.write(b"HTTP/1.1 200 OK\r\n")
        until = time.monotonic() + ENOUGH_S
        while not is_over.wait(0.05) and time.monotonic() < until:
            call.write(b"X-A: b\r\n")

    with serving(respond) as server, lib.Client() as client:
        client.get(server.url.replace("/things", "/warm"))
        result = soon(server.url, client)
        is_over.set()
    assert codes(result) <= {"TIME_BUDGET_EXCEEDED", "SOURCE_UNAVAILABLE"}
    assert result.status == "unavailable"


@LIBRARIES
def test_a_client_that_tries_again_by_itself_ends_with_the_time(lib: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with lib.Client(transport=lib.HTTPTransport(retries=8)) as client:  # its pauses add up to more than a minute
            result = soon(f"http://127.0.0.1:{port}/things", client)
    assert (result.status, codes(result) <= {"SOURCE_UNAVAILABLE", "TIME_BUDGET_EXCEEDED"}) == ("unavailable", True)


@LIBRARIES
def test_a_client_goes_on_as_it_was_after_a_read(lib: Any) -> None:
    def respond(call: Call) -> None:
        call.page({"items": [{"id": 1}]})

    with serving(respond) as server, lib.Client() as client:
        assert client.get(server.url).json() == {"items": [{"id": 1}]}
        assert soon(server.url, client).complete
        time.sleep(1.1)  # the deadline of the read is over, and binds nothing of the caller's
        assert client.get(server.url).json() == {"items": [{"id": 1}]}
        assert soon(server.url, client).complete


def late(is_over: threading.Event) -> Callable[[Call], None]:
    """A whole list that comes only when the test is over, or after a while to a reader that waits for it."""

    def respond(call: Call) -> None:
        is_over.wait(ENOUGH_S / 6)
        call.page({"items": [{"id": 1}]})

    return respond


@LIBRARIES
def test_a_timeout_that_a_client_was_given_ends_an_attempt(lib: Any) -> None:
    is_over = threading.Event()
    with serving(late(is_over)) as server, lib.Client(timeout=0.2) as client:
        result = read(profile(), "things", url=server.url, client=client, budget=Budget(max_retries=1))
        is_over.set()
    assert (result.status, keys(result)) == ("unavailable", {"SOURCE_UNAVAILABLE:timeout"})
    assert result.read.requests == 2


@LIBRARIES
async def test_a_timeout_that_a_client_was_given_ends_an_attempt_on_an_event_loop(lib: Any) -> None:
    is_over = threading.Event()
    with serving(late(is_over)) as server:
        async with lib.AsyncClient(timeout=0.2) as client:
            result = await aread(profile(), "things", url=server.url, client=client, budget=Budget(max_retries=1))
        is_over.set()
    assert (result.status, keys(result)) == ("unavailable", {"SOURCE_UNAVAILABLE:timeout"})
    assert result.read.requests == 2


def waits(lib: Any, *, max_seconds: float = 60, **given: Any) -> dict[str, float]:
    """Returns how long a client is told to wait for each step of an exchange."""
    told: list[dict[str, float]] = []

    def respond(request: Any) -> Any:
        told.append(request.extensions["timeout"])
        return lib.Response(200, json={"items": []})

    with lib.Client(transport=lib.MockTransport(respond), **given) as client:
        budget = Budget(max_seconds=max_seconds)
        assert read(profile(), "things", url="https://example.test/", client=client, budget=budget).complete
    return told[0]


@LIBRARIES
def test_each_step_waits_as_long_as_its_client_was_told_and_no_longer_than_the_budget(lib: Any) -> None:
    own = lib.Timeout(7, connect=2, pool=None)
    given = waits(lib, timeout=own)
    assert {name: given[name] for name in ("connect", "read", "write")} == {"connect": 2, "read": 7, "write": 7}
    assert given["pool"] > 7
    assert max(waits(lib, timeout=own, max_seconds=1).values()) <= 1
    assert max(waits(lib, timeout=None, max_seconds=1).values()) <= 1


@LIBRARIES
def test_the_timeout_that_a_library_gives_to_every_client_is_nobodys_wish(lib: Any) -> None:
    assert min(waits(lib).values()) > lib.Client().timeout.read
