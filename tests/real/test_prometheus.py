"""Prometheus with a dead remote: HTTP 200, data and a warning; and what it refuses with an error of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from real.servers import free_port, served
from unabridged import Budget, WriteIntent, read, session

pytestmark = pytest.mark.real

CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - {{job_name: app, static_configs: [{{targets: ["127.0.0.1:{target}"]}}]}}
  - {{job_name: down, static_configs: [{{targets: ["127.0.0.1:1"]}}]}}
"""
DEAD_REMOTE = 'remote_read: [{url: "http://127.0.0.1:1/r", read_recent: true}]\n'


class Target:
    """Something to scrape, whose series change when they are told to."""

    def __init__(self) -> None:
        self.names = ["a", "b"]
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = "".join(f'thing{{name="{name}"}} 1\n' for name in outer.names).encode()
                self.send_response(200)
                self.send_header("content-type", "text/plain; version=0.0.4")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @contextmanager
    def running(self) -> Iterator[Target]:
        thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            self.server.server_close()
            thread.join()


@contextmanager
def prometheus(folder: Path, target: Target, extra: str = "", *, samples: int = 50) -> Iterator[str]:
    """Runs Prometheus in a folder until it has scraped its targets once, and yields its address."""
    folder.mkdir()
    port = free_port()
    (folder / "c.yml").write_text(CONFIG.format(target=target.server.server_port) + extra)
    command = [
        "prometheus", f"--config.file={folder / 'c.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", f"--query.max-samples={samples}", "--log.level=error",
    ]  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    with served(command, port=port, folder=folder), httpx.Client(trust_env=False) as client:
        for _ in range(1200):
            answer = client.get(f"{address}/api/v1/query", params={"query": "count(up) == 2 and count(thing) > 0"})
            if answer.status_code == 200 and answer.json()["data"]["result"]:
                break
            time.sleep(0.1)
        yield address


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with Target().running() as found:
        yield found


@pytest.fixture(scope="module")
def whole(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prometheus(tmp_path_factory.mktemp("whole") / "p", target) as address:
        yield address


@pytest.fixture(scope="module")
def halved(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prometheus(tmp_path_factory.mktemp("halved") / "p", target, DEAD_REMOTE) as address:
        yield address


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False) as found:
        yield found


def queried(address: str, query: str, client: httpx.Client, **more: str) -> Any:
    url = str(httpx.URL(f"{address}/api/v1/query", params={"query": query, **more}))
    return read("prometheus_query", "series", url=url, client=client, budget=Budget(max_retries=0))


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def test_a_query_without_a_warning_is_complete_and_a_target_that_is_down_is_a_record(
    whole: str, client: httpx.Client
) -> None:
    result = queried(whole, "up", client)
    assert (result.status, result.returned) == ("complete", 2)
    assert sorted(item["value"][1] for item in result.items) == ["0", "1"]


def test_a_query_that_matches_nothing_is_complete_and_empty(whole: str, client: httpx.Client) -> None:
    result = queried(whole, 'thing{name="no"}', client)
    assert (result.status, result.items) == ("complete", [])


def test_a_dead_remote_makes_a_200_partial(halved: str, client: httpx.Client) -> None:
    result = queried(halved, "up", client)
    assert (result.status, result.returned, result.codes) == ("partial", 2, ("SOURCE_UNAVAILABLE",))


def test_a_dead_remote_makes_an_empty_200_partial_too(halved: str, client: httpx.Client) -> None:
    result = queried(halved, 'thing{name="no"}', client)
    assert (result.status, result.items, result.codes) == ("partial", [], ("SOURCE_UNAVAILABLE",))


def test_no_word_of_the_warning_stands_outside_the_items(halved: str, client: httpx.Client) -> None:
    assert "refused" not in str({**queried(halved, "up", client).to_wire(), "items": None})


@pytest.mark.parametrize(
    ("query", "more", "status"),
    [("{__name__=~\".+\"}[10m]", {}, 422), ("up", {"timeout": "0.000001"}, 503), ("up[", {}, 400)],
    ids=["too many samples", "out of time", "no query"],
)  # fmt: skip
def test_what_the_server_refuses_is_unavailable_and_never_empty(
    whole: str, client: httpx.Client, query: str, more: dict[str, str], status: int
) -> None:
    for _ in range(600):  # the first one needs a minute's worth of samples
        result = queried(whole, query, client, **more)
        if result.items is None:
            break
        time.sleep(0.1)
    assert (result.status, result.items) == ("unavailable", None)
    assert result.reasons[0].native == {"status": status}


def test_a_server_that_is_not_there_is_unavailable(client: httpx.Client) -> None:
    result = queried(f"http://127.0.0.1:{free_port()}", "up", client)
    assert (result.status, keys(result)) == ("unavailable", ["SOURCE_UNAVAILABLE:disconnect"])


def test_series_that_come_and_go_between_two_reads_are_two_reads(
    whole: str, target: Target, client: httpx.Client
) -> None:
    before = queried(whole, "thing", client)
    target.names = ["b", "c", "d"]
    for _ in range(600):
        after = queried(whole, "thing", client)
        if after.returned == 3:
            break
        time.sleep(0.1)
    assert (before.status, before.returned, after.status, after.returned) == ("complete", 2, "complete", 3)
    assert (before.consistency, after.consistency) == ("interval", "interval")


def test_a_remote_that_dies_between_two_reads_takes_the_second_its_end_and_the_first_no_more(
    target: Target, tmp_path: Path, client: httpx.Client
) -> None:
    with session("remote") as s, ExitStack() as remote:
        behind = remote.enter_context(prometheus(tmp_path / "remote", target, samples=5000))
        extra = f'remote_read: [{{url: "{behind}/api/v1/read", read_recent: true}}]\n'
        with prometheus(tmp_path / "front", target, extra, samples=5000) as front:
            before = queried(front, "up", client)
            allowed = s.judge_write(WriteIntent(tool="archive", relies_on=["series"]))
            remote.close()
            after = queried(front, "up", client)
        refused = s.judge_write(WriteIntent(tool="archive", relies_on=["series"]))
    assert (before.status, before.returned, allowed.verdict) == ("complete", 2, "allow")
    assert (after.status, after.codes) == (
        "partial",
        ("SOURCE_UNAVAILABLE",),
    )  # with what was scraped meanwhile, if any
    assert (refused.verdict, refused.codes) == ("refuse", ("EVIDENCE_INCOMPLETE",))


def test_every_read_while_series_come_and_go_is_one_state_of_them(
    whole: str, target: Target, client: httpx.Client
) -> None:
    """A scrape is one transaction and a query sees it whole or not at all."""
    states = [["s1", "s2", "s3"], ["t1", "t2"]]
    seen = set()
    for turn in range(2):
        target.names = states[turn]
        for _ in range(200):
            result = queried(whole, "thing", client)
            found = sorted(item["metric"]["name"] for item in result.items or [])
            if found in states:
                assert result.status == "complete"
                seen.add(tuple(found))
            if found == states[turn]:
                break
            assert not {*states[turn]} & {*found}, "a scrape was seen in part"
            time.sleep(0.05)
    assert seen == {tuple(state) for state in states}
