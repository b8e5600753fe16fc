"""What stands in any log while a source is read, and where a redirect may lead."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import httpx
import httpx2
import pytest
from reading.asking import keys, profile
from reading.served import Call, serving
from unabridged.contract import ReadResult
from unabridged.reading import Budget, Query, aread, read
from unabridged.reading.http import close_shared_client

QUICK = Budget(max_seconds=120, max_retries=0)
SECRETS = ("filter-7f3a", "cursor-7f3a", "link-7f3a", "cookie-7f3a", "header-7f3a", "reason-7f3a")


def two_pages(call: Call) -> None:
    more = {} if "cursor" in call.query else {"next": "cursor-7f3a"}
    call.page({"items": [{"id": call.number}], **more}, Link='</?link-7f3a>; rel="up"', Set_Cookie="a=cookie-7f3a")


def with_the_shared_client(url: str) -> ReadResult:
    return read(profile(), asked(), url=url, headers={"Authorization": "header-7f3a"}, budget=QUICK)


def on_an_event_loop(url: str) -> ReadResult:
    return asyncio.run(aread(profile(), asked(), url=url, headers={"Authorization": "header-7f3a"}, budget=QUICK))


def with_a_client_of(library: Any) -> Callable[[str], ReadResult]:
    def reading(url: str) -> ReadResult:
        with library.Client(headers={"X-Key": "header-7f3a"}) as client:
            return read(profile(), asked(), url=url, client=client, budget=QUICK)

    return reading


def asked() -> Query:
    return Query("things", filters={"owner": "filter-7f3a"})


@pytest.mark.parametrize(
    "reading", [with_the_shared_client, on_an_event_loop, with_a_client_of(httpx), with_a_client_of(httpx2)]
)
def test_no_log_of_any_library_holds_what_a_read_asks_or_is_answered(
    reading: Callable[[str], ReadResult], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(two_pages) as server:
        assert reading(server.url).complete
    close_shared_client()
    assert any(record.name.startswith("http") for record in caplog.records)
    written = "".join(f"{r.getMessage()} {r.__dict__}" for r in caplog.records)
    assert [secret for secret in SECRETS if secret in written] == []
    assert "unabridged: HTTP 200" in caplog.messages


@pytest.mark.parametrize("name", ["hpack.hpack", "hpack.table"])
def test_what_packs_the_heads_of_http_2_logs_none_of_them(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def respond(request: httpx.Request) -> httpx.Response:
        head = request.headers["authorization"].encode()
        logging.getLogger(name).debug("Adding %s=%s to the header table, huffman:%s", b"authorization", head, True)
        return httpx.Response(200, json={"items": []})

    with httpx.Client(transport=httpx.MockTransport(respond)) as client:
        headers = {"Authorization": "header-7f3a"}
        assert read(profile(), "things", url="https://a.test/", client=client, headers=headers, budget=QUICK).complete
    assert [record.name for record in caplog.records if record.name == name] == [name]
    assert "header-7f3a" not in caplog.text


def test_what_a_client_logs_for_anyone_else_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serving(two_pages) as server, httpx.Client() as client:
        client.get(f"{server.url}?a=1")
    assert any("?a=1" in message for message in caplog.messages)


def test_a_redirect_that_loses_what_was_asked_is_not_followed() -> None:
    def respond(call: Call) -> None:
        if call.path == "/things":
            call.answer(302, Location="/things/")
        else:
            call.page({"items": [{"id": 1}, {"id": 2}]})

    with serving(respond) as server:
        result = read(profile(), asked(), url=server.url, budget=QUICK)
    assert keys(result) == {"SOURCE_UNAVAILABLE:status"}
    assert len(server.calls) == 1


@pytest.mark.parametrize("more", ["limit=10", "Limit=10", "cursor=c9", "state=open", "api_key=k"])
def test_a_redirect_that_adds_to_what_was_asked_is_not_followed(more: str) -> None:
    def respond(call: Call) -> None:
        if call.path == "/things":
            call.answer(302, Location=f"/things/?limit=100&{more}")
        else:
            call.page({"items": [{"id": 1}, {"id": 2}]})

    key = {"by": "key", "from_item": "id", "send": {"query": "after"}, "unique": True, "ends_on": ["short_page"]}
    given = profile(key, size={"send": {"query": "limit"}, "max": 100})
    with serving(respond) as server:
        result = read(given, "things", url=server.url, budget=QUICK)
    assert keys(result) == {"SOURCE_UNAVAILABLE:status"}
    assert len(server.calls) == 1


@pytest.mark.parametrize("carried", ["", "?a=1%20b", "?key=k&a=1+b"])
def test_a_redirect_that_carries_what_was_asked_is_followed_with_and_without_what_a_client_adds(carried: str) -> None:
    def respond(call: Call) -> None:
        if call.path == "/things":
            call.answer(302, Location=f"/moved{carried}")
        else:
            call.page({"items": [{"id": 1}]})

    filters = {"a": "1 b"} if carried else {}
    with serving(respond) as server, httpx.Client(params={"key": "k"}) as client:
        result = read(profile(), Query("things", filters=filters), url=server.url, client=client, budget=QUICK)
    assert result.complete
    assert server.calls[1].query == {**filters, "key": "k"}


def test_a_relative_link_is_relative_to_where_the_redirect_led() -> None:
    def respond(call: Call) -> None:
        if call.path == "/things":
            call.answer(302, Location="/v2/list/things")
        elif call.query:
            call.page({"items": [{"id": 2}]})
        else:
            call.page({"items": [{"id": 1}]}, Link='<things?page=2>; rel="next"')

    with serving(respond) as server:
        result = read(profile({"by": "link", "where": "header"}), "things", url=server.url, budget=QUICK)
    assert result.complete
    assert result.ids == (1, 2)
    assert server.calls[2].path == "/v2/list/things"
