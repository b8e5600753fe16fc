"""A fan-out on a local cluster of two processes: the same result as here, in any order of merging."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from reading.served import Call, serving
from unabridged import merge
from unabridged.contract import ReadResult, resume_of
from unabridged.profiles import load_profile
from unabridged.reading import Budget, Resume, aread, read
from unabridged.reading.http import HttpTransport

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("default")]
NAMES = [f"account-{n}" for n in range(16)]
INNER: dict[str, Any] = {
    "name": "t", "version": 1, "items": "items", "id": "id", "count": {"path": "total", "kind": "exact"},
    "walk": {"by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent"], "empty_token": "end",
             "repeated_token": "anomaly"},
}  # fmt: skip
FLEET = load_profile({"name": "fleet", "version": 1, "walk": {"by": "fanout", "over": NAMES, "inner": INNER}})
HEADERS = {"Authorization": "Bearer t0ken"}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def respond(call: Call) -> None:
    name = call.path.rsplit("/", 1)[1]
    if name == "account-7":
        call.answer(503)
    elif call.headers.get("authorization") != "Bearer t0ken":
        call.answer(401)
    else:
        at = int(call.query.get("cursor", "0"))
        more = {"next": str(at + 1)} if at < 2 else {}
        call.page({"items": [{"id": f"{name}-{at}-{n}"} for n in range(5)], "total": 15, **more})


def plain(result: ReadResult) -> Any:
    wire = result.to_wire()
    del wire["read"]
    wire["continuation"] = {k: v for k, v in wire["continuation"].items() if k != "handle"}
    return wire


def test_a_fleet_of_accounts_reads_the_same_on_a_cluster(client: Any) -> None:
    budget = Budget(max_retries=0)
    with serving(respond) as server:
        url = server.url + "/{source}"
        here = read(FLEET, "users", url=url, headers=HEADERS, budget=budget)
        there = read(FLEET, "users", url=url, headers=HEADERS, budget=budget, executor=client.get_executor())
        assert plain(there) == plain(here)
        assert list(there.ids) == list(here.ids)
        assert (there.returned, there.continuation.kind) == (15 * 15, "retry_sources")
        resume = resume_of(there)
        assert isinstance(resume, Resume)
        again = resume.read(transport=HttpTransport())
        assert {s.name for s in again.sources if s.status == "unavailable"} == {"account-7"}


async def test_an_event_loop_reads_on_a_cluster_too(client: Any) -> None:
    with serving(respond) as server:
        result = await aread(
            FLEET, "users", url=server.url + "/{source}", headers=HEADERS, budget=Budget(max_retries=0),
            executor=client.get_executor(),
        )  # fmt: skip
    assert result.returned == 15 * 15


def merged(*parts: ReadResult) -> ReadResult:
    """Merges on a worker."""
    return merge(parts, resource="users")


def test_parts_merge_on_a_cluster_in_any_order_and_grouping(client: Any) -> None:
    with serving(respond) as server:
        parts = [
            read(load_profile({**INNER, "name": name}), "users", url=f"{server.url}/{name}", headers=HEADERS,
                 budget=Budget(max_retries=0))
            for name in NAMES
        ]  # fmt: skip
    whole = merge(parts, resource="users")
    rng = random.Random(7)
    for size in (2, 3, 5, 16):
        order = parts[:]
        rng.shuffle(order)
        groups = [order[n : n + size] for n in range(0, len(order), size)]
        futures = [client.submit(merged, *group, pure=False) for group in groups]
        tree = client.submit(merged, *futures, pure=False).result()
        assert tree == whole


def test_a_worker_that_dies_makes_its_source_unavailable_and_no_other(client: Any) -> None:
    executor = client.get_executor()
    with serving(respond) as server:
        result = read(
            FLEET, "users", url=server.url + "/{source}", headers=HEADERS, budget=Budget(max_retries=0),
            executor=_Losing(executor),
        )  # fmt: skip
    dead = {s.name for s in result.sources if s.status == "unavailable"}
    assert dead == {"account-0", "account-7"}


def lost(_: Any) -> None:
    """Stands for a worker that is gone."""
    raise ConnectionError("gone")


class _Losing:
    """Hands the first unit to a worker that dies."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self._count = 0

    def submit(self, fn: Any, /, unit: Any) -> Any:
        self._count += 1
        return self._executor.submit(lost if self._count == 1 else fn, unit)
