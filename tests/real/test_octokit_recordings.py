"""GitHub pages as they were recorded by others, served by a local server and read with the shipped profiles."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from unabridged import Budget, Query, pages, read
from unabridged.contract import resume_of

pytestmark = pytest.mark.real

SCENARIOS = Path(__file__).parent / "node_modules/@octokit/fixtures/scenarios/api.github.com"
ISSUES = "/repos/octokit-fixture-org/paginate-issues/issues"
SEARCH = "/search/issues?q=sesame%20repo%3Aoctokit-fixture-org%2Fsearch-issues"
THREE = Query("issues", page_size=3)
LEFT_OUT = {"content-length", "content-encoding", "transfer-encoding", "connection"}
Change = Callable[[str, dict[str, Any]], dict[str, Any]]


def recorded(scenario: str) -> dict[str, dict[str, Any]]:
    """The recorded exchanges of a scenario, by path."""
    found = json.loads((SCENARIOS / scenario / "normalized-fixture.json").read_text())
    return {exchange["path"]: exchange for exchange in found}


@contextmanager
def replayed(scenario: str, change: Change = lambda _, exchange: exchange) -> Iterator[str]:
    """Serves a scenario with its links led here, and yields the server's address."""
    exchanges = recorded(scenario)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            exchange = exchanges.get(self.path) or exchanges.get(re.sub("[?&]per_page=100", "", self.path))
            answer = change(self.path, exchange) if exchange else {"status": 404, "headers": {}, "response": {}}
            body = json.dumps(answer["response"]).encode()
            self.send_response(answer["status"])
            for name, value in answer["headers"].items():
                if name.lower() not in LEFT_OUT:
                    self.send_header(name, str(value).replace("https://api.github.com", address))
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False) as found:
        yield found


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def everything() -> list[int]:
    return [issue["id"] for exchange in recorded("paginate-issues").values() for issue in exchange["response"]]


def with_fields(exchange: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**exchange, **fields}


def test_five_recorded_pages_are_complete_in_their_order(client: httpx.Client) -> None:
    with replayed("paginate-issues") as address:
        result = read("github_list", THREE, url=address + ISSUES, client=client)
    assert (result.status, result.read.pages, list(result.ids)) == ("complete", 5, everything())
    assert (result.returned, result.proof.basis) == (13, "recording")


def test_a_limit_of_ours_is_partial_and_goes_on(client: httpx.Client) -> None:
    with replayed("paginate-issues") as address:
        part = read("github_list", THREE, url=address + ISSUES, client=client, budget=Budget(max_pages=2))
        rest = resume_of(part).read(budget=Budget())
    assert (part.status, part.returned, part.continuation.kind) == ("partial", 6, "next_page")
    assert (rest.status, [*part.ids, *rest.ids]) == ("complete", everything())


def test_a_page_that_the_quota_refuses_leaves_the_pages_before_it(client: httpx.Client) -> None:
    def limited(path: str, exchange: dict[str, Any]) -> dict[str, Any]:
        if not path.endswith("&page=3"):
            return exchange
        message = {"message": "API rate limit exceeded for user ID 1."}
        return with_fields(exchange, status=403, headers={"retry-after": "3600"}, response=message)

    with replayed("paginate-issues", limited) as address:
        result = read("github_list", THREE, url=address + ISSUES, client=client)
    assert (result.status, result.codes) == ("partial", ("RATE_LIMITED",))
    assert (result.returned, result.continuation.kind) == (6, "retry_after")


def test_an_issue_that_is_closed_meanwhile_shifts_the_pages_and_is_found_out(client: httpx.Client) -> None:
    exchanges = recorded("paginate-issues")
    second = next(exchange for path, exchange in exchanges.items() if path.endswith("&page=2"))
    moved = second["response"][-1]

    def shifted(path: str, exchange: dict[str, Any]) -> dict[str, Any]:
        if not path.endswith("&page=3"):
            return exchange
        return with_fields(exchange, response=[moved, *exchange["response"][:-1]])

    with replayed("paginate-issues", shifted) as address:
        links = list(pages("github_list", THREE, url=address + ISSUES, client=client))
    assert links[-1].status == "partial"
    assert "CONSISTENCY_LOST:duplicate_ids" in keys(links[-1])


def test_a_recorded_search_is_complete_and_one_that_ran_out_of_time_is_not(client: httpx.Client) -> None:
    def late(_: str, exchange: dict[str, Any]) -> dict[str, Any]:
        return with_fields(exchange, response={**exchange["response"], "incomplete_results": True})

    def late_and_empty(_: str, exchange: dict[str, Any]) -> dict[str, Any]:
        return with_fields(exchange, response={"total_count": 0, "incomplete_results": True, "items": []})

    found = []
    for change in (lambda _, exchange: exchange, late, late_and_empty):
        with replayed("search-issues", change) as address:
            found.append(read("github_search", Query("issues"), url=address + SEARCH, client=client))
    whole, some, none = found
    assert (whole.status, whole.returned > 0) == ("complete", True)
    assert (some.status, some.codes, some.returned) == ("partial", ("TIME_BUDGET_EXCEEDED",), whole.returned)
    assert (none.status, none.items) == ("partial", [])


def test_what_is_hidden_or_gone_is_unavailable_and_never_empty(client: httpx.Client) -> None:
    with replayed("paginate-issues") as address:
        hidden = read("github_list", "issues", url=f"{address}/repos/private/private/issues", client=client)
    gone = read("github_list", THREE, url=address + ISSUES, client=client, budget=Budget(max_retries=0))
    assert (hidden.status, hidden.items, keys(hidden)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:status"])
    assert (gone.status, gone.items) == ("unavailable", None)
