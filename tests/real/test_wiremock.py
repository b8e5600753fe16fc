"""Faults in the middle of a walk, made by WireMock: resets, quotas, broken chunks and silence."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from real.servers import free_port, served
from unabridged import Budget, Query, pages, read
from unabridged.contract import resume_of
from unabridged.profiles import load_profile

pytestmark = pytest.mark.real

WIREMOCK = Path(__file__).parent / "node_modules" / ".bin" / "wiremock"
LIST = load_profile(
    {
        "name": "widgets", "version": 1, "items": "items", "id": "id",
        "walk": {"by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["null"],
                 "empty_token": "illegal", "repeated_token": "anomaly"},
        "count": {"path": "total", "kind": "exact"}, "evidence": "server",
    }
)  # fmt: skip
ONCE = Budget(max_retries=0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("wiremock"), free_port()
    command = [WIREMOCK, "--port", str(port), "--bind-address", "127.0.0.1", "--root-dir", folder, "--disable-banner"]
    with served(command, port=port, folder=folder) as running:
        yield f"http://127.0.0.1:{port}"
        os.killpg(running.pid, signal.SIGTERM)  # it started a Java runtime, in a group of its own


class Mock:
    """What the server answers, set through its own API."""

    def __init__(self, address: str, client: httpx.Client) -> None:
        self.url = f"{address}/widgets"
        self.client = client
        self._admin = f"{address}/__admin"
        client.delete(f"{self._admin}/mappings").raise_for_status()
        client.post(f"{self._admin}/scenarios/reset").raise_for_status()

    def answers(self, cursor: str | None, *responses: dict[str, Any]) -> None:
        """Answers a page's requests with these, one after another, the last one again and again."""
        for n, response in enumerate(responses):
            query = {"cursor": {"absent": True} if cursor is None else {"equalTo": cursor}}
            scenario: dict[str, Any] = {}
            if len(responses) > 1:
                state = "Started" if n == 0 else f"after-{n}"
                scenario = {"scenarioName": f"page-{cursor}", "requiredScenarioState": state}
                if n + 1 < len(responses):
                    scenario["newScenarioState"] = f"after-{n + 1}"
            stub = {"request": {"method": "GET", "urlPath": "/widgets", "queryParameters": query}, "response": response}
            self.client.post(f"{self._admin}/mappings", json={**stub, **scenario}).raise_for_status()

    def read(self, budget: Budget | None = None) -> Any:
        return read(LIST, Query("widgets"), url=self.url, client=self.client, budget=budget)


@pytest.fixture
def mock(server: str) -> Iterator[Mock]:
    with httpx.Client(trust_env=False) as client:
        yield Mock(server, client)


def page(*ids: int, next: str | None = None, total: int = 4, **more: Any) -> dict[str, Any]:
    body = {"items": [{"id": one} for one in ids], "next": next, "total": total}
    return {"status": 200, "headers": {"Content-Type": "application/json"}, "body": json.dumps(body), **more}


RESET = {"fault": "CONNECTION_RESET_BY_PEER"}
BROKEN_CHUNK = {"fault": "MALFORMED_RESPONSE_CHUNK"}
EMPTY = {"fault": "EMPTY_RESPONSE"}


def quota(wait_s: int) -> dict[str, Any]:
    return {"status": 429, "headers": {"Retry-After": str(wait_s)}}


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def test_a_whole_walk_is_counted(mock: Mock) -> None:
    mock.answers(None, page(1, 2, next="b"))
    mock.answers("b", page(next="c"))
    mock.answers("c", page(3, 4))
    result = mock.read()
    assert (result.status, result.ids, result.proof.level) == ("complete", (1, 2, 3, 4), "counted")


def test_a_reset_and_a_quota_in_mid_walk_are_retried_and_said(mock: Mock) -> None:
    mock.answers(None, page(1, 2, next="b"))
    mock.answers("b", RESET, quota(1), page(3, 4))
    result = mock.read()
    assert (result.status, result.ids, result.read.requests) == ("complete", (1, 2, 3, 4), 4)
    assert [notice.code for notice in result.warnings] == ["RETRIED"]


@pytest.mark.parametrize("fault", [RESET, EMPTY, BROKEN_CHUNK], ids=["reset", "nothing", "broken chunk"])
def test_a_page_that_does_not_come_leaves_the_pages_before_it_and_can_be_asked_for_again(
    mock: Mock, fault: dict[str, Any]
) -> None:
    mock.answers(None, page(1, 2, next="b"))
    mock.answers("b", fault, page(3, 4))
    part = mock.read(ONCE)
    rest = resume_of(part).read()
    assert (part.status, part.ids, part.items is None) == ("partial", (1, 2), False)
    assert part.codes[0] in ("SOURCE_UNAVAILABLE", "TRANSPORT_TRUNCATED")
    assert (rest.status, rest.ids, rest.read.continues) == ("complete", (3, 4), part.read.id)


def test_an_empty_first_page_before_a_fault_is_partial_and_empty(mock: Mock) -> None:
    mock.answers(None, page(next="b"))
    mock.answers("b", RESET)
    result = mock.read(ONCE)
    assert (result.status, result.items, keys(result)) == ("partial", [], ["SOURCE_UNAVAILABLE:disconnect"])


@pytest.mark.parametrize(
    "fault", [RESET, EMPTY, BROKEN_CHUNK, quota(3600), {"status": 500}, {"status": 404}],
    ids=["reset", "nothing", "broken chunk", "quota", "500", "404"],
)  # fmt: skip
def test_a_first_page_that_does_not_come_is_unavailable_and_never_empty(mock: Mock, fault: dict[str, Any]) -> None:
    mock.answers(None, fault)
    result = mock.read(ONCE)
    assert (result.status, result.items) == ("unavailable", None)


def test_a_long_quota_in_mid_walk_is_not_waited_for(mock: Mock) -> None:
    mock.answers(None, page(1, 2, next="b"))
    mock.answers("b", quota(3600))
    result = mock.read()
    assert (result.status, result.ids, result.codes) == ("partial", (1, 2), ("RATE_LIMITED",))
    assert (result.continuation.kind, result.continuation.seconds) == ("retry_after", 3600)


def test_a_page_that_is_late_runs_into_our_time(mock: Mock) -> None:
    mock.answers(None, page(1, 2, next="b"))
    mock.answers("b", page(3, 4, fixedDelayMilliseconds=30_000))
    result = mock.read(Budget(max_seconds=4, max_retries=0))
    assert (result.status, result.ids, keys(result)) == ("partial", (1, 2), ["TIME_BUDGET_EXCEEDED:max_seconds"])
    assert result.read.budget.spent_seconds < 25


def test_a_page_that_drips_runs_into_our_time(mock: Mock) -> None:
    drip = {"chunkedDribbleDelay": {"numberOfChunks": 10, "totalDuration": 30_000}}
    mock.answers(None, page(1, 2, next="b"))
    mock.answers("b", page(3, 4, **drip))
    result = mock.read(Budget(max_seconds=4, max_retries=0))
    assert (result.status, result.ids, keys(result)) == ("partial", (1, 2), ["TIME_BUDGET_EXCEEDED:max_seconds"])


def test_a_list_that_changes_while_it_is_read_is_not_whole(mock: Mock) -> None:
    mock.answers(None, page(1, 2, next="b"))
    links = pages(LIST, Query("widgets"), url=mock.url, client=mock.client)
    first = next(links)
    mock.answers("b", page(2, 3, 5, total=5))  # one was deleted, two came, the order moved
    last = list(links)[-1]
    assert (first.status, last.status) == ("partial", "partial")
    assert "CONSISTENCY_LOST:total_changed" in keys(last)
