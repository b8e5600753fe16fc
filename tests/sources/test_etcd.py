"""etcd as a server that means harm would play it: nothing of what it says is taken for the whole."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from unabridged.contract import ReadResult
from unabridged.reading import Budget
from unabridged.sources.etcd import read_etcd

HEADER = {"revision": "5"}
A, B = {"key": "YQ==", "value": "dg=="}, {"key": "Yg==", "value": "dg=="}


def asked(*bodies: Any, status: int = 200, **headers: str) -> ReadResult:
    """Returns a read of bodies, one after the other: bytes as they are, anything else as JSON."""
    left = [body if isinstance(body, bytes) else json.dumps(body).encode() for body in bodies]

    def respond(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, content=left.pop(0), headers=headers)

    with httpx.Client(transport=httpx.MockTransport(respond)) as client:
        return read_etcd("http://etcd.invalid", resource="keys", client=client, budget=Budget(max_retries=0))


def keys(result: ReadResult) -> set[str]:
    return {reason.key for reason in result.reasons}


def test_pages_of_one_revision_are_whole_and_a_gateway_leaves_out_what_is_empty() -> None:
    two = asked({"header": HEADER, "kvs": [A], "more": True, "count": "2"}, {"header": HEADER, "kvs": [B], "count": 1})
    assert (two.status, [item["key"] for item in two.items or ()]) == ("complete", ["a", "b"])
    assert asked({"header": HEADER}).proves_absence()


@pytest.mark.parametrize(
    "body",
    [
        b'{"header": {"revision": "5"}, "kvs": [{"key": "YQ=="}], "kvs": [], "count": "0"}',
        {"header": HEADER, "kvs": "", "count": "0"},
        {"header": HEADER, "kvs": {}, "count": "0"},
        {"header": HEADER, "kvs": [{"key": ["YQ=="]}], "count": "1"},
        {"header": {"revision": {}}, "kvs": []},
        {"header": HEADER, "count": "9" * 5000},
    ],
)
def test_what_is_no_range_is_malformed(body: Any) -> None:
    result = asked(body)
    assert (result.status, keys(result)) == ("unavailable", {"PROTOCOL_ANOMALY:malformed_page"})


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"header": {"revision": "5"}, "count": NaN}', b'{"header": {'])
def test_what_is_no_json_ends_no_process(body: bytes) -> None:
    assert keys(asked(body)) == {"TRANSPORT_TRUNCATED:invalid_json"}


@pytest.mark.parametrize("beside", [{}, {"header": HEADER, "kvs": []}])
@pytest.mark.parametrize("status", [200, 500])
def test_an_error_is_one_whatever_stands_beside_it_and_under_any_status(status: int, beside: dict[str, Any]) -> None:
    result = asked({"error": "never to be shown", "code": 13, **beside}, status=status)
    assert (result.status, keys(result)) == ("unavailable", {"SOURCE_UNAVAILABLE:status"})
    assert "never to be shown" not in json.dumps(result.to_wire())


def test_a_quota_keeps_its_wait() -> None:
    result = asked({"error": "quota", "code": 8}, status=429, **{"Retry-After": "7200"})
    assert (keys(result), result.continuation.kind) == ({"RATE_LIMITED"}, "retry_after")
