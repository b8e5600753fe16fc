"""Executors that take no work or drop it, and what comes back from other processes."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, Literal

import pytest
from reading.asking import TOKEN, keys
from reading.served import Call, serving
from unabridged.contract import InvalidInput, resume_of
from unabridged.evidence import session
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Budget, Resume, aread, read

INNER: dict[str, Any] = {"name": "t", "version": 1, "items": "items", "id": "id", "walk": TOKEN}


def fan(inner: dict[str, Any] | None = None) -> Profile:
    walk = {"by": "fanout", "over": ["a", "b"], "inner": inner or INNER}
    return load_profile({"name": "all", "version": 1, "walk": walk})


def two_pages(call: Call) -> None:
    at = int(call.query.get("cursor", "0"))
    call.page({"items": [{"id": f"{call.path}-{at}"}], **({"next": "1"} if at == 0 else {})})


class Refusing(Executor):
    """An executor that does the first unit of work, and not the second."""

    def __init__(self, how: Literal["raises", "cancels"]) -> None:
        self.how = how
        self.asked = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.asked += 1
        if self.asked == 1:
            future.set_result(fn(*args, **kwargs))
        elif self.how == "raises":
            raise BrokenExecutor("s3cret")
        else:
            future.cancel()
            future.set_running_or_notify_cancel()
        return future


@pytest.mark.parametrize("how", ["raises", "cancels"])
def test_a_source_that_no_worker_takes_is_unavailable_and_the_read_is_evidence(how: Any) -> None:
    with serving(two_pages) as server, session(f"refused {how}") as s:
        result = read(fan(), "things", url=server.url + "/{source}", executor=Refusing(how))
        assert [one.status for one in s.reads] == ["partial"]
    assert {one.name: one.status for one in result.sources} == {"a": "complete", "b": "unavailable"}
    assert keys(result) == {"SOURCE_UNAVAILABLE:disconnect"}
    assert "s3cret" not in result.model_dump_json()


@pytest.mark.parametrize("how", ["raises", "cancels"])
async def test_an_event_loop_knows_of_a_source_that_no_worker_takes(how: Any) -> None:
    with serving(two_pages) as server, session(f"refused there {how}") as s:
        result = await aread(fan(), "things", url=server.url + "/{source}", executor=Refusing(how))
        assert [one.status for one in s.reads] == ["partial"]
    assert {one.name: one.status for one in result.sources} == {"a": "complete", "b": "unavailable"}


def test_a_fleet_goes_on_without_being_told_over_which_transport() -> None:
    with serving(two_pages) as server, ThreadPoolExecutor(2) as executor:
        first = read(
            fan(), "things", url=server.url + "/{source}", executor=executor, budget=Budget(max_pages=2)
        )  # fmt: skip
        assert first.continuation.kind == "next_page"
        resume = resume_of(first)
        assert isinstance(resume, Resume)
        rest = resume.read()
    assert rest.complete
    assert len({*first.ids, *rest.ids}) == 4


def test_records_that_stand_under_another_key_than_id_keep_their_ids_over_processes() -> None:
    text = {"name": "t", "version": 1, "walk": {"by": "range", "unit": "bytes", "size": 100}}
    keyed = {**INNER, "id": "key"}
    parts = {
        "name": "p", "version": 1,
        "walk": {"by": "partition", "axis": "n", "cap": 10, "inner": keyed,
                 "parts": {"from": 0, "to": 4, "send": {"from": {"query": "ge"}, "to": {"query": "lt"}}},
                 "count": {"name": "c", "version": 1, "walk": {"by": "single"},
                           "count": {"path": "n", "kind": "exact"}}},
    }  # fmt: skip
    with serving(lambda call: call.page({"n": 1, "items": [{"key": "k1"}]})) as server, ProcessPoolExecutor(1) as there:
        url = server.url + "/{source}"
        for inner in (text, parts):
            assert list(read(fan(inner), "things", url=url, executor=there).ids) == list(
                read(fan(inner), "things", url=url).ids
            )


def test_a_name_that_is_never_sent_is_no_place_for_the_names_of_sources() -> None:
    with pytest.raises(InvalidInput, match=r"must hold \{source\}"):
        read(fan(), "things", url="https://api.example/things#{source}")


def test_no_more_requests_go_out_than_the_limit_says_however_the_pages_fall() -> None:
    walk = {
        "by": "offset", "send": {"query": "at"}, "unit": "item", "origin": 0, "ends_on": ["total"], "total": "total"
    }  # fmt: skip
    rules = load_profile({**INNER, "walk": walk, "order": {"by": "id", "unique": True}})

    def uneven(call: Call) -> None:
        at, size = int(call.query["at"]), (9, 2, 5, 3, 4, 2)[call.number % 6]
        call.page({"items": [{"id": n} for n in range(at, min(at + size, 60))], "total": 60})

    with serving(uneven) as server:
        result = read(rules, "things", url=server.url, budget=Budget(max_requests=5))
    assert (len(server.calls), result.read.requests) == (5, 5)
    assert "CLIENT_LIMIT_REACHED:max_requests" in keys(result)
