"""What a caller may not send beside the read: in the address, in a header, or as a client's default."""

from __future__ import annotations

from typing import Any

import httpx
import httpx2
import pytest
from reading.asking import TOKEN, keys
from reading.served import Call, serving
from unabridged.contract import InvalidInput, ReadResult
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Budget, Query, aread, read
from unabridged.reading.requests import plan_read

LIBRARIES = pytest.mark.parametrize("lib", [httpx, httpx2], ids=["httpx", "httpx2"])
OFFSET: dict[str, Any] = {
    "by": "offset", "send": {"query": "at"}, "unit": "item", "origin": 0, "ends_on": ["short_page"]
}  # fmt: skip


def listed(walk: dict[str, Any] = TOKEN, **more: Any) -> Profile:
    made = {"name": "listed", "version": 1, "items": "items", "id": "id", "order": {"by": "id", "unique": True}}
    return load_profile({**made, "walk": walk, "size": {"send": {"query": "limit"}, "max": 5}, **more})


def plan(address: str, *, headers: Any = (), profile: Profile | None = None, **filters: Any) -> str:
    made = plan_read(profile or listed(), Query("things", filters=filters), url=address, headers=headers)
    return made.request(made.first_step).full_url


@pytest.mark.parametrize(
    "query",
    ["?limit=1", "?li%6Dit=1", "?Limit=1", "?a=1;limit=1", "?+limit=1", "?limit", "?limit[]=1", "?limit%5B%5D=1",
     "?a=1&&limit=2", "?CURSOR=c9", "?a=1;cursor=c9", ";limit=1", ";cursor=c9?a=1", "/;LIMIT=1/x", "?Owner=ops"],
)  # fmt: skip
def test_a_parameter_of_the_read_is_refused_however_it_is_spelled(query: str) -> None:
    with pytest.raises(InvalidInput, match="url: must not carry the parameter"):
        plan(f"https://api.example/list{query}", owner="x")


@pytest.mark.parametrize(
    "query", ["?limits=1", "?a=limit", "?a=cursor%3D1", "#limit=1", ";jsessionid=limit", "/limit=1", "?owner=ops"]
)
def test_what_only_looks_like_a_parameter_of_the_read_is_taken(query: str) -> None:
    assert "limit=5" in plan(f"https://api.example/list{query}")


def test_a_filter_that_is_not_asked_for_may_stand_in_the_address() -> None:
    mapped = listed(filters={"owner": {"query": "owner_id"}})
    assert plan("https://api.example/list?owner_id=7", profile=mapped).startswith("https://api.example/list?owner_id=7")
    with pytest.raises(InvalidInput, match="parameter owner_id, which is a filter of the query already"):
        plan("https://api.example/list?owner_id=7", profile=mapped, owner="x")


def test_a_filter_is_refused_in_every_spelling_of_a_parameter_of_the_walk() -> None:
    with pytest.raises(InvalidInput, match="is a parameter that the walk itself sends"):
        plan("https://api.example/list", Limit=1)


IN_HEADERS: dict[str, Any] = {
    "walk": {**TOKEN, "send": {"header": "X-Cursor"}}, "size": {"send": {"header": "X-Limit"}, "max": 5},
    "filters": {"owner": {"header": "X-Owner"}},
}  # fmt: skip


@pytest.mark.parametrize("name", ["x-cursor", "X-LIMIT", "X-Owner"])
def test_a_header_of_the_read_is_refused_without_its_value(name: str) -> None:
    with pytest.raises(InvalidInput, match="is a header that the read itself sends") as caught:
        plan("https://api.example/list", headers={name: "s3cret"}, profile=listed(**IN_HEADERS), owner="x")
    assert "s3cret" not in str(caught.value)


def test_a_header_of_a_filter_that_is_not_asked_for_is_the_callers() -> None:
    assert plan("https://api.example/list", headers={"X-Owner": "a"}, profile=listed(**IN_HEADERS))


def test_a_range_of_the_callers_is_refused_where_the_walk_asks_for_ranges() -> None:
    text = load_profile({"name": "t", "version": 1, "walk": {"by": "range", "unit": "bytes", "size": 5}})
    with pytest.raises(InvalidInput, match=r"headers\.range: is a header that the read itself sends"):
        plan_read(text, Query("things"), url="https://api.example/t", headers={"range": "bytes=3-5"})


def seventeen(call: Call) -> None:
    at, size = int(call.query.get("at", "0")), int(call.query.get("limit", "5"))
    call.page({"items": [{"id": n} for n in range(at, min(at + size, 17))]})


@LIBRARIES
@pytest.mark.parametrize("params", [{"limit": "2"}, {"Limit": "2"}, {"at": "15"}])
def test_a_client_that_sends_what_the_walk_sends_is_refused(lib: Any, params: dict[str, str]) -> None:
    with serving(seventeen) as server, lib.Client(params=params) as client:
        with pytest.raises(InvalidInput, match="client: must not send the parameter"):
            read(listed(OFFSET), "things", url=server.url, client=client)
        assert server.calls == []


@LIBRARIES
def test_a_client_with_a_header_of_the_walk_is_refused(lib: Any) -> None:
    refused = pytest.raises(InvalidInput, match="client: must not send the header x-cursor")
    with lib.Client(headers={"X-Cursor": "2"}) as client, refused:
        read(listed(**IN_HEADERS), "things", url="https://api.example/list", client=client)


def check_defaults(result: ReadResult, calls: list[Call]) -> None:
    assert result.complete, keys(result)
    assert list(result.ids) == list(range(17))
    assert {call.query["api"] for call in calls} == {"3"}
    assert {call.query["owner"] for call in calls} == {"x"}


@LIBRARIES
def test_a_default_parameter_of_a_client_goes_along_and_takes_no_other_ones_place(lib: Any) -> None:
    with serving(seventeen) as server, lib.Client(params={"api": "3", "owner": "else"}) as client:
        result = read(listed(OFFSET), Query("things", filters={"owner": "x"}), url=server.url, client=client)
    check_defaults(result, server.calls)


@LIBRARIES
async def test_a_default_parameter_of_an_asynchronous_client_goes_along_too(lib: Any) -> None:
    with serving(seventeen) as server:
        async with lib.AsyncClient(params={"api": "3", "owner": "else"}) as client:
            asked = Query("things", filters={"owner": "x"})
            result = await aread(listed(OFFSET), asked, url=server.url, client=client)
    check_defaults(result, server.calls)


@LIBRARIES
def test_a_followed_link_keeps_its_parameters_beside_those_of_a_client(lib: Any) -> None:
    def linked(call: Call) -> None:
        at = int(call.query.get("page", "1"))
        more = {"link": f'<{call.path}?page={at + 1}&a=b%2Fc>; rel="next"'} if at < 3 else {}
        call.page({"items": [{"id": at}]}, **more)

    profile = listed({"by": "link", "where": "header"})
    with serving(linked) as server, lib.Client(params={"api": "3"}) as client:
        result = read(profile, "things", url=server.url, client=client, budget=Budget(max_pages=9))
    assert (result.complete, list(result.ids)) == (True, [1, 2, 3])
    assert [call.query.get("a") for call in server.calls] == [None, "b/c", "b/c"]
    assert {call.query["api"] for call in server.calls} == {"3"}
