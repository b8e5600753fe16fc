"""The scripted transport and the virtual clock, which other people's tests use too."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from unabridged.contract import CaseError
from unabridged.profiles import load_profile
from unabridged.reading import Fault, Request, Response, run_read
from unabridged.testing import ScriptedTransport, ScriptExhausted, VirtualClock
from unabridged.testing.script import MOST_REPEATS

URL = "https://replay.invalid/widgets"


def ask(transport: ScriptedTransport, **parts: Any) -> Response | Fault:
    return transport.send(Request("GET", parts.pop("url", URL), **parts), timeout_s=None)


def problems(expected: dict[str, Any], **parts: Any) -> list[str]:
    transport = ScriptedTransport([{"status": 200, "expect_request": expected}])
    ask(transport, **parts)
    return transport.problems


def test_exchanges_are_served_in_order_and_move_the_clock() -> None:
    clock = VirtualClock()
    transport = ScriptedTransport(
        [{"status": 200, "json": {"\u00e9": 1}, "delay_s": 2.5}, {"status": 404, "body": "no"}], clock=clock
    )
    first, second = ask(transport), ask(transport)
    assert first == Response(200, (), '{"\u00e9":1}'.encode())
    assert second == Response(404, (), b"no")
    assert clock.now() == datetime(2026, 11, 30, 9, 0, 2, 500_000, tzinfo=UTC)


def test_a_clock_that_is_moved_beyond_the_last_date_stays_there() -> None:
    clock = VirtualClock()
    for _ in range(400):
        clock.advance(1_000_000_000)
    assert clock.now() == datetime.max.replace(tzinfo=UTC)
    assert clock.monotonic() == 400e9


@pytest.mark.parametrize("kind", ["timeout", "disconnect", "dns", "short_body"])
def test_a_fault_brings_no_response(kind: str) -> None:
    reply = ask(ScriptedTransport([{"fault": kind}]))
    assert isinstance(reply, Fault)
    assert reply.kind == kind


def test_repeated_header_fields_are_served_one_by_one() -> None:
    reply = ask(ScriptedTransport([{"status": 200, "headers": {"Link": ["<a>", "<b>"], "X-Count": 3}}]))
    assert isinstance(reply, Response)
    assert reply.headers == (("Link", "<a>"), ("Link", "<b>"), ("X-Count", "3"))


def test_one_request_more_than_scripted_is_a_failure() -> None:
    transport = ScriptedTransport([{"status": 200}])
    ask(transport)
    with pytest.raises(ScriptExhausted):
        ask(transport)
    assert transport.problems == ["request 2: one more than the script holds"]


def test_the_last_exchange_repeats_where_the_case_says_so() -> None:
    transport = ScriptedTransport([{"status": 200}, {"status": 503}], repeat_last=True)
    assert [reply.status for reply in [ask(transport) for _ in range(4)] if isinstance(reply, Response)] == [
        200,
        503,
        503,
        503,
    ]


def test_an_empty_script_has_nothing_to_repeat() -> None:
    with pytest.raises(ScriptExhausted):
        ask(ScriptedTransport([], repeat_last=True))


def test_each_source_of_a_fan_out_has_its_own_script() -> None:
    transport = ScriptedTransport(
        sources={"eu": [{"status": 200, "body": "eu"}], "us": [{"status": 200, "body": "us"}]}
    )
    bodies = [reply.body for reply in [ask(transport, source=s) for s in ("us", "eu")] if isinstance(reply, Response)]
    assert bodies == [b"us", b"eu"]
    with pytest.raises(ScriptExhausted):
        ask(transport, source="eu")


def test_query_values_are_compared_as_text_and_null_means_absent() -> None:
    sent = {"query": (("limit", "3"), ("all", "true"), ("n", ""))}
    assert problems({"query": {"limit": 3, "all": True, "n": "", "cursor": None}}, **sent) == []
    assert problems({"query": {"limit": "4"}}, **sent) == ["request 1: query 'limit' has another value"]
    assert problems({"query": {"limit": None}}, **sent) == ["request 1: query 'limit' is there and must not be"]
    assert problems({"query": {"cursor": "x"}}, **sent) == ["request 1: query 'cursor' is absent"]
    assert problems({"query": {"n": None}}, **sent) == ["request 1: query 'n' is there and must not be"]


def test_a_parameter_that_stands_twice_is_compared_as_a_list() -> None:
    sent = {"query": (("tag", "a"), ("tag", "b"))}
    assert problems({"query": {"tag": ["a", "b"]}}, **sent) == []
    assert problems({"query": {"tag": "a"}}, **sent) == ["request 1: query 'tag' has another value"]


def test_the_query_of_the_address_counts_too() -> None:
    assert problems({"query": {"page": 2}}, url=f"{URL}?page=2") == []


def test_headers_are_compared_by_name_in_any_case() -> None:
    sent = {"headers": (("Range", "bytes=0-3"),)}
    assert problems({"headers": {"range": "bytes=0-3", "X-Other": None}}, **sent) == []
    assert problems({"headers": {"RANGE": "bytes=4-7"}}, **sent) == ["request 1: header 'RANGE' has another value"]


def test_a_body_holds_a_subset() -> None:
    body = {"body": b'{"variables": {"after": "e1", "first": 10}, "ids": [1, 2.0]}'}
    assert problems({"body": {"variables": {"after": "e1"}, "cursor": None}}, **body) == []
    assert problems({"body": {"ids": [1, 2]}}, **body) == []
    for other in ({"variables": {"after": "e2"}}, {"ids": [1]}, {"ids": ["1", 2]}, {"after": "e1"}, "text"):
        assert problems({"body": other}, **body) == ["request 1: body does not hold what is expected"]
    assert problems({"body": {"a": 1}}) == ["request 1: body does not hold what is expected"]


def test_an_address_holds_a_subset_of_the_query() -> None:
    url = "https://Pages.example.test:443/r?p=2&x=1"
    assert problems({"url": "https://pages.example.test/r?p=2"}, url=url) == []
    assert problems({"url": "https://pages.example.test/r"}, url=url) == []
    for other in ("https://pages.example.test/r?p=3", "http://pages.example.test/r", "https://pages.example.test/s"):
        assert problems({"url": other}, url=url) == ["request 1: url is another one"]


def test_a_wrong_request_is_told_without_the_values_that_were_sent() -> None:
    found = problems({"query": {"cursor": "n2"}}, query=(("cursor", "secret-cursor"),))
    assert "secret" not in "".join(found)


def test_the_script_serves_an_event_loop_too() -> None:
    transport = ScriptedTransport([{"status": 200, "body": "x"}])
    reply = asyncio.run(transport.as_async().send(Request("GET", URL), timeout_s=1))
    assert isinstance(reply, Response)
    assert transport.requests[0].url == URL


def test_an_exchange_that_is_none_is_refused_by_its_place() -> None:
    with pytest.raises(CaseError, match=r"exchanges\[1\]\.statuz"):
        ScriptedTransport([{"status": 200}, {"statuz": 200}])


def test_a_virtual_clock_moves_only_when_it_is_told_to() -> None:
    clock = VirtualClock()
    assert clock.now() == clock.now() == datetime(2026, 11, 30, 9, tzinfo=UTC)
    clock.sleep(1.5)
    asyncio.run(clock.asleep(2))
    clock.advance(-5)
    assert clock.monotonic() == 3.5
    assert clock.slept_s == [1.5, 2]


def test_a_script_that_repeats_its_last_exchange_does_not_do_so_for_ever() -> None:
    walk = {"by": "offset", "send": {"query": "page"}, "unit": "page", "origin": 0, "ends_on": ["flag"],
            "last_flag": "last"}  # fmt: skip
    transport = ScriptedTransport([{"status": 200, "json": {"items": []}}], repeat_last=True)
    profile = load_profile({"name": "p", "version": 1, "items": "items", "id": "id", "walk": walk})
    with pytest.raises(ScriptExhausted):
        run_read(profile, "things", url="https://a.example/x", transport=transport, clock=transport.clock)
    assert len(transport.requests) == MOST_REPEATS + 2
