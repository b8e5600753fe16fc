"""Reading over real sockets: retries, resets, slow and cut bodies, bombs, redirects, credentials."""

from __future__ import annotations

import gzip
import json
import socket
import time
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import httpx2
import pytest
from reading.asking import codes, keys, profile, warned
from reading.served import Call, serving
from unabridged.contract import InvalidInput, resume_of
from unabridged.reading import Budget, apages, aread, pages, read
from unabridged.reading.http import MAX_PAGE_BYTES, BackoffRetries, close_shared_client, shared_client

QUICK = Budget(max_seconds=120, max_retries=0)


@pytest.fixture(autouse=True)
def _no_open_sockets() -> Iterator[None]:
    yield
    close_shared_client()


def three_pages(call: Call) -> None:
    at = int(call.query.get("cursor", "0"))
    document: dict[str, Any] = {"items": [{"id": at * 2}, {"id": at * 2 + 1}], "total": 6}
    if at < 2:
        document["next"] = str(at + 1)
    call.page(document)


COUNTED = profile(count={"path": "total", "kind": "exact"})


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_clients_of_both_libraries_are_taken_as_they_are(library: Any) -> None:
    with serving(three_pages) as server, library.Client() as client:
        result = read(COUNTED, "things", url=server.url, client=client)
    assert result.complete
    assert result.ids == (0, 1, 2, 3, 4, 5)
    assert result.proof.level == "counted"


@pytest.mark.parametrize("library", [httpx, httpx2])
async def test_asynchronous_clients_of_both_libraries_are_taken_too(library: Any) -> None:
    with serving(three_pages) as server:
        async with library.AsyncClient() as client:
            result = await aread(COUNTED, "things", url=server.url, client=client)
    assert result.complete
    assert result.returned == 6


async def test_reading_without_a_client_on_an_event_loop_leaves_nothing_open() -> None:
    with serving(three_pages) as server:
        result = await aread(COUNTED, "things", url=server.url)
        streamed = [page async for page in apages(COUNTED, "things", url=server.url)]
    assert result.complete
    assert [page.returned for page in streamed] == [2, 2, 2]
    assert streamed[-1].complete


def test_reads_without_a_client_share_one_that_keeps_no_cookies() -> None:
    def respond(call: Call) -> None:
        call.page({"items": []}, set_cookie="sid=secret; Path=/")

    with serving(respond) as server:
        read(profile(), "things", url=server.url)
        first = shared_client()
        read(profile(), "things", url=server.url)
        assert shared_client() is first
    assert "cookie" not in server.calls[1].headers


def test_a_stream_of_pages_is_one_chain_and_its_last_link_says_what_the_whole_is() -> None:
    with serving(three_pages) as server:
        links = list(pages(COUNTED, "things", url=server.url))
    assert [link.ids for link in links] == [(0, 1), (2, 3), (4, 5)]
    assert [link.status for link in links] == ["partial", "partial", "complete"]
    assert [codes(link) for link in links[:2]] == [{"MORE_PAGES_AVAILABLE"}] * 2
    assert [link.read.continues for link in links] == [None, links[0].read.id, links[1].read.id]


def test_a_wait_that_the_source_announces_is_waited_out() -> None:
    def respond(call: Call) -> None:
        if call.number == 0:
            call.answer(429, Retry_After="1")
        else:
            call.page({"items": [{"id": 1}]})

    started = time.monotonic()
    with serving(respond) as server:
        result = read(profile(), "things", url=server.url)
    assert result.complete
    assert "RETRIED" in warned(result)
    assert time.monotonic() - started >= 1


def test_a_wait_beyond_the_time_budget_is_handed_on() -> None:
    with serving(lambda call: call.answer(429, Retry_After="3600")) as server:
        result = read(profile(), "things", url=server.url)
    assert keys(result) == {"RATE_LIMITED"}
    assert result.continuation.to_wire() | {"handle": None} == {
        "kind": "retry_after",
        "seconds": 3600,
        "handle": None,
    }
    assert len(server.calls) == 1


def test_a_passing_failure_is_retried_within_the_stated_number() -> None:
    def respond(call: Call) -> None:
        if call.number < 2:
            call.answer(500)
        else:
            call.page({"items": [{"id": 1}]})

    with serving(respond) as server:
        result = read(profile(), "things", url=server.url, budget=Budget(max_retries=2))
    assert result.complete
    assert result.read.requests == 3


def test_a_failure_that_stands_after_the_retries_offers_a_bounded_number_of_repeats() -> None:
    with serving(lambda call: call.answer(500)) as server:
        result = read(profile(), "things", url=server.url, budget=Budget(max_retries=1))
        left = []
        while result.continuation.kind == "repeat_read":
            left.append(result.continuation.attempts_left)
            result = resume_of(result).read()
    assert left == [3, 2, 1]
    assert result.continuation.kind == "none"
    assert codes(result) == {"SOURCE_UNAVAILABLE"}


def test_a_connection_that_is_closed_without_an_answer_is_a_dead_source() -> None:
    with serving(lambda call: call.hang_up()) as server:
        result = read(profile(), "things", url=server.url, budget=QUICK)
    assert result.items is None
    assert keys(result) == {"SOURCE_UNAVAILABLE:disconnect"}


def test_a_refused_connection_is_a_dead_source() -> None:
    with serving(three_pages) as server:
        url = server.url
    result = read(profile(), "things", url=url, budget=QUICK)
    assert keys(result) == {"SOURCE_UNAVAILABLE:disconnect"}


def test_a_body_cut_on_its_way_on_page_two_keeps_page_one() -> None:
    def respond(call: Call) -> None:
        if "cursor" not in call.query:
            call.page({"items": [{"id": 1}], "next": "2"})
            return
        call.head(200, {"content-length": "5000"})
        call.write(b'{"items": [{"id": 2}')
        call.hang_up()

    with serving(respond) as server:
        result = read(profile(), "things", url=server.url, budget=QUICK)
    assert result.ids == (1,)
    assert keys(result) == {"TRANSPORT_TRUNCATED:short_body"}
    assert result.continuation.kind == "next_page"


def drips(call: Call) -> None:
    """Sends a body that is whole after half a minute."""
    call.head(200, {"content-length": "600"})
    for _ in range(600):
        call.write(b" ")
        time.sleep(0.05)


def test_a_body_that_drips_is_stopped_at_the_time_budget() -> None:
    started = time.monotonic()
    with serving(drips) as server:
        result = read(profile(), "things", url=server.url, budget=Budget(max_seconds=0.5, max_retries=0))
    assert time.monotonic() - started < 25
    assert keys(result) == {"TIME_BUDGET_EXCEEDED:max_seconds"}
    assert result.continuation.kind == "retry_with_deadline"


async def test_a_body_that_drips_is_stopped_on_an_event_loop_too() -> None:
    started = time.monotonic()
    with serving(drips) as server:
        result = await aread(profile(), "things", url=server.url, budget=Budget(max_seconds=0.5, max_retries=0))
    assert time.monotonic() - started < 25
    assert codes(result) == {"TIME_BUDGET_EXCEEDED"}


def bomb(coding: str) -> bytes:
    """Returns a small body that decodes to 256 MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, (16 if coding == "gzip" else 0) + zlib.MAX_WBITS)
    piece = b" " * (1024 * 1024)
    return b"".join(packer.compress(piece) for _ in range(256)) + packer.flush()


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_decompression_bomb_is_stopped_at_its_first_pieces(coding: str) -> None:
    import tracemalloc

    body = bomb(coding)
    with serving(lambda call: call.answer(200, body, content_encoding=coding)) as server:
        read(profile(), "things", url=server.url, budget=QUICK)
        tracemalloc.start()
        result = read(profile(), "things", url=server.url, budget=QUICK)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert result.items is None
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_bytes"}
    assert result.continuation.kind == "none"
    assert peak < 3 * MAX_PAGE_BYTES


def test_a_body_that_announces_more_than_a_page_may_hold_is_not_read() -> None:
    def respond(call: Call) -> None:
        call.head(200, {"content-length": str(MAX_PAGE_BYTES + 1)})
        call.hang_up()

    with serving(respond) as server:
        result = read(profile(), "things", url=server.url, budget=QUICK)
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_bytes"}


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(b'{"items": [{"id": 1}]}')),
        ("deflate", zlib.compress(b'{"items": [{"id": 1}]}')),
        ("deflate", zlib.compress(b'{"items": [{"id": 1}]}', wbits=-15)),
        ("gzip", gzip.compress(b'{"items": [') + gzip.compress(b'{"id": 1}]}')),
    ],
)
def test_coded_bodies_are_decoded(coding: str, packed: bytes) -> None:
    with serving(lambda call: call.answer(200, packed, content_encoding=coding)) as server:
        result = read(profile(), "things", url=server.url, budget=QUICK)
    assert result.complete
    assert result.ids == (1,)


@pytest.mark.parametrize(
    ("coding", "packed", "detail"),
    [
        ("br", b"\x0b\x02\x80", "invalid_json"),
        ("gzip", b"not gzip at all", "invalid_json"),
        ("gzip\r\ncontent-encoding: identity", gzip.compress(b'{"items": []}'), "invalid_json"),
        ("br\r\ncontent-encoding: gzip", gzip.compress(b'{"items": []}'), "invalid_json"),
        ("gzip", gzip.compress(b'{"items": []}')[:-6], "short_body"),
    ],
)
def test_a_coding_that_cannot_be_decoded_is_a_cut_body(coding: str, packed: bytes, detail: str) -> None:
    with serving(lambda call: call.answer(200, packed, content_encoding=coding)) as server:
        result = read(profile(), "things", url=server.url, budget=QUICK)
    assert keys(result) == {f"TRANSPORT_TRUNCATED:{detail}"}


def test_a_redirect_within_the_origin_is_followed_with_its_headers() -> None:
    def respond(call: Call) -> None:
        if call.path == "/things":
            call.answer(302, Location="/moved")
        else:
            call.page({"items": [{"id": 1}]})

    with serving(respond) as server:
        result = read(profile(), "things", url=server.url, headers={"Authorization": "Bearer s3cret"}, budget=QUICK)
    assert result.complete
    assert server.calls[1].path == "/moved"
    assert server.calls[1].headers["authorization"] == "Bearer s3cret"


def test_a_redirect_to_another_origin_is_not_followed() -> None:
    with (
        serving(lambda call: call.page({"items": []})) as other,
        serving(lambda call: call.answer(302, Location=other.url)) as server,
    ):
        result = read(profile(), "things", url=server.url, headers={"Authorization": "Bearer s3cret"}, budget=QUICK)
    assert keys(result) == {"SOURCE_UNAVAILABLE:status"}
    assert other.calls == []


def test_a_redirect_that_never_ends_is_left_after_a_few() -> None:
    with serving(lambda call: call.answer(302, Location="/things")) as server:
        result = read(profile(), "things", url=server.url, budget=QUICK)
    assert codes(result) == {"SOURCE_UNAVAILABLE"}
    assert len(server.calls) <= 6


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_nothing_of_the_caller_goes_to_another_origin_that_the_profile_lets_a_link_lead_to(library: Any) -> None:
    walk = {"by": "link", "where": "body", "path": "next", "same_origin": False}
    with (
        serving(lambda call: call.page({"items": [{"id": 2}]})) as other,
        serving(lambda call: call.page({"items": [{"id": 1}], "next": other.url})) as server,
        library.Client(
            headers={"X-Api-Key": "k3y"}, auth=("user", "pass"), cookies={"sid": "c00kie"}, params={"key": "p4ram"}
        ) as client,
    ):
        result = read(
            profile(walk), "things", url=server.url, client=client, headers={"Authorization": "Bearer s3cret"},
            budget=QUICK,
        )  # fmt: skip
    assert result.complete
    assert result.ids == (1, 2)
    assert "s3cret" in json.dumps(server.calls[0].headers) or "Basic" in json.dumps(server.calls[0].headers)
    sent = json.dumps([other.calls[0].headers, other.calls[0].query])
    for secret in ("s3cret", "k3y", "c00kie", "p4ram", "Basic", "Bearer"):
        assert secret not in sent


def test_values_go_into_the_body_where_the_profile_says_so() -> None:
    walk = {
        "by": "token", "read": "next", "send": {"body": "page.after"}, "ends_on": ["absent"], "empty_token": "illegal",
        "repeated_token": "anomaly",
    }  # fmt: skip

    def respond(call: Call) -> None:
        call.page({"items": [{"id": call.number}], **({"next": {"k": 5}} if call.number == 0 else {})})

    with serving(respond) as server:
        result = read(profile(walk), "things", url=server.url, budget=QUICK)
    assert result.complete
    assert [(call.method, json.loads(call.body)) for call in server.calls] == [
        ("POST", {}),
        ("POST", {"page": {"after": {"k": 5}}}),
    ]


def test_a_fan_out_reads_each_source_at_its_own_address() -> None:
    walk = {"by": "fanout", "over": ["eu", "us"], "inner": profile().model_dump(by_alias=True, exclude_unset=True)}
    with serving(lambda call: call.page({"items": [{"id": call.path}]})) as server:
        result = read({"name": "all", "version": 1, "walk": walk}, "things", url=f"{server.url}/{{source}}")
    assert result.complete
    assert set(result.ids) == {"/things/eu", "/things/us"}


@pytest.mark.parametrize("client", [object(), "client", httpx.AsyncClient])
def test_what_is_no_client_is_refused_by_name(client: Any) -> None:
    with pytest.raises(InvalidInput, match=r"client: must be an httpx\.Client or an httpx2\.Client"):
        read(profile(), "things", url="http://127.0.0.1/", client=client)


def test_a_closed_client_is_refused() -> None:
    client = httpx.Client()
    client.close()
    with pytest.raises(InvalidInput, match="client: must be open"):
        read(profile(), "things", url="http://127.0.0.1/", client=client)


def test_a_mock_transport_of_the_client_works() -> None:
    def respond(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"items": [{"id": 1}]})

    with httpx.Client(transport=httpx.MockTransport(respond)) as client:
        assert read(profile(), "things", url="http://api.example/", client=client).complete


@pytest.mark.parametrize("error", [httpx.ConnectTimeout, httpx.ReadError, httpx.PoolTimeout, httpx.UnsupportedProtocol])
def test_no_exception_of_a_client_escapes(error: type[httpx.TransportError]) -> None:
    def respond(_: httpx.Request) -> httpx.Response:
        raise error("detail with a secret")

    with httpx.Client(transport=httpx.MockTransport(respond)) as client:
        result = read(profile(), "things", url="http://api.example/", client=client, budget=QUICK)
    assert result.items is None
    assert codes(result) == {"SOURCE_UNAVAILABLE"}
    assert "secret" not in json.dumps(result.to_wire())


def test_waits_between_retries_grow_and_stay_bounded() -> None:
    retries = BackoffRetries(jitter=lambda: 1.0)
    waits = [retries.backoff_s(n) for n in range(1, 12)]
    assert waits == sorted(waits)
    assert waits[0] == 0.25
    assert waits[-1] == 8.0
    assert BackoffRetries(jitter=lambda: 0.0).backoff_s(1) == 0.125


def test_a_name_that_does_not_resolve_is_told_from_a_connection_that_fails() -> None:
    def respond(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no") from socket.gaierror(-2, "no")

    with httpx.Client(transport=httpx.MockTransport(respond)) as client:
        result = read(profile(), "things", url="http://api.example/", client=client, budget=QUICK)
    assert keys(result) == {"SOURCE_UNAVAILABLE:dns"}


def test_a_budget_without_a_limit_of_bytes_has_none_a_page_either() -> None:
    body = json.dumps({"items": [{"id": 1, "text": "x" * (MAX_PAGE_BYTES + 1)}]}).encode()
    with serving(lambda call: call.answer(200, body)) as server:
        assert read(profile(), "things", url=server.url, budget=Budget.unlimited()).complete
        assert codes(read(profile(), "things", url=server.url, budget=QUICK)) == {"CLIENT_LIMIT_REACHED"}


async def test_a_host_that_no_resolver_takes_is_a_source_that_cannot_be_found() -> None:
    url = f"http://{'a' * 70}.example/"
    assert keys(read(profile(), "things", url=url, budget=QUICK)) == {"SOURCE_UNAVAILABLE:dns"}
    assert keys(await aread(profile(), "things", url=url, budget=QUICK)) == {"SOURCE_UNAVAILABLE:dns"}
