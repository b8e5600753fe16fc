"""Reports of kind K3, first half: what leads on, and how a source says that nothing does."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import types
from reports.asked import TOKEN, Asked, Call, ask, decision, fresh, is_refused, keys, listing, records, warned, write
from unabridged import Query
from unabridged.sources.mcp import read_mcp_list


def token(read: str, send: str, **walk: Any) -> dict[str, Any]:
    """Returns a token walk."""
    return {**TOKEN, "read": read, "send": {"query": send}, "empty_token": "illegal", **walk}


# R18: boto/boto#1713
SCAN = {**token("LastEvaluatedKey", "", ends_on=["absent"]), "send": {"body": "ExclusiveStartKey"}}


def scanned(budget: dict[str, Any]) -> Asked:
    def respond(call: Call) -> None:
        call.page([
            {"Items": [], "Count": 0, "LastEvaluatedKey": {"id": 5}},
            {"Items": [], "Count": 0, "LastEvaluatedKey": {"id": 9}},
            {"Items": [{"id": "x"}], "Count": 1},
        ][call.number])  # fmt: skip

    return ask(listing(SCAN, items="Items"), respond, budget=budget)


def test_r18_two_empty_pages_with_a_key_are_no_end() -> None:
    asked = scanned({})
    assert (asked.result.status, asked.result.ids, asked.result.read.requests) == ("complete", ("x",), 3)
    assert asked.bodies == [{}, {"ExclusiveStartKey": {"id": 5}}, {"ExclusiveStartKey": {"id": 9}}]


def test_r18_an_empty_scan_that_was_stopped_proves_nothing() -> None:
    asked = scanned({"max_pages": 2})
    assert (asked.result.status, asked.result.items, asked.result.read.requests) == ("partial", [], 2)
    assert decision(asked.result) == "continue_search"
    assert is_refused(asked.session)


# R19: boto/botocore#641
@pytest.mark.parametrize(
    ("walk", "status", "found"),
    [
        ({"ends_on": ["same_token"], "repeated_token": "end"}, "complete", set()),
        ({"ends_on": ["absent", "null"], "repeated_token": "anomaly"}, "partial", {"PROTOCOL_ANOMALY:cursor_repeated"}),
    ],
)
def test_r19_a_repeated_token_is_the_end_where_the_source_says_so(
    walk: dict[str, Any], status: str, found: set[str]
) -> None:
    def respond(call: Call) -> None:
        call.page([
            {"items": records(0, 10), "forward": "f/1"},
            {"items": records(10, 14), "forward": "f/2"},
            {"items": [], "forward": "f/2"},
        ][call.number])  # fmt: skip

    asked = ask(listing(token("forward", "t", **walk)), respond)
    assert (asked.result.status, asked.result.returned, keys(asked.result)) == (status, 14, found)
    assert [q.get("t") for q in asked.queries] == [None, "f/1", "f/2"]


# R20: PrefectHQ/fastmcp#5025
class Scripted:
    """An MCP session that answers list calls in order, the last one for ever, and remembers the cursors it was sent."""

    def __init__(self, *pages: Any) -> None:
        self._pages = pages
        self.cursors: list[str | None] = []

    async def list_tools(self, *, params: Any = None) -> Any:
        self.cursors.append(None if params is None else params.cursor)
        return self._pages[min(len(self.cursors), len(self._pages)) - 1]


def tools(*names: str, cursor: str | None = None) -> types.ListToolsResult:
    listed = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    return types.ListToolsResult.model_validate({"tools": listed, "nextCursor": cursor})


async def test_r20_an_empty_string_is_a_cursor_to_mcp() -> None:
    pages = Scripted(tools("first", cursor=""), tools("second"))
    result = await read_mcp_list(pages, "tools")  # type: ignore[arg-type]
    assert (result.status, result.ids, pages.cursors) == ("complete", ("first", "second"), [None, ""])


# R21: DeusData/codebase-memory-mcp#1247
async def test_r21_eight_tools_behind_a_cursor_that_stands_still_stay_eight() -> None:
    pages = Scripted(tools(*(f"t{n}" for n in range(8)), cursor="0"))
    case = fresh()
    with case:
        result = await read_mcp_list(pages, "tools")  # type: ignore[arg-type]
    assert (result.status, result.returned, len(set(result.ids)), result.finding_count) == ("partial", 8, 8, None)
    assert "PROTOCOL_ANOMALY:cursor_repeated" in keys(result)
    assert pages.cursors == [None, "0"]
    many = {"kind": "count", "resource": "tools", "value": 16}
    assert case.judge_answer("There are 16 tools.", [many]).outcome == "reject"


# R22: Glitchedpixel-io/media-api#66
@pytest.mark.parametrize(
    ("walk", "status", "found"),
    [
        ({}, "partial", {"PROTOCOL_ANOMALY:cursor_repeated"}),
        ({"ends_on": ["same_token"], "repeated_token": "end"}, "complete", set()),
        ({"ends_on": ["empty_page"], "repeated_token": "progress"}, "complete", set()),
    ],
)
def test_r22_a_cursor_that_is_never_null_does_not_loop(walk: dict[str, Any], status: str, found: set[str]) -> None:
    def respond(call: Call) -> None:
        start = int(call.query.get("after", ">0")[1:])
        held = records(start + 1, min(start + 3, 7) + 1)
        call.page({"items": held, "next": f">{held[-1]['id'] if held else start}"})

    asked = ask(listing(token("next", "after", **walk)), respond)
    assert (asked.result.status, asked.result.returned, keys(asked.result)) == (status, 7, found)
    assert [q.get("after") for q in asked.queries] == [None, ">3", ">6", ">7"]


# R23: kubernetes-client/python#953
PODS = token("metadata.continue", "continue", ends_on=["absent", "null", "empty"], empty_token="end")


def pods(names: str, onward: str | None, version: str) -> dict[str, Any]:
    return {
        "items": [{"id": name} for name in names],
        "metadata": {"resourceVersion": version, **({"continue": onward} if onward else {})},
    }


def expiring(then: str) -> Asked:
    """The first walk dies at its second page, whose error names another token; a fresh walk comes to its end."""

    def respond(call: Call) -> None:
        match call.query.get("continue"), call.number:
            case None, 0:
                call.page(pods("ab", "k1", "1"))
            case "k1", _:
                call.answer(410, b'{"reason":"Expired","metadata":{"continue":"k2"}}')
            case None, _:
                call.page(pods("abc", "k3", "2"))
            case _:
                call.page(pods("d", None, "2"))

    profile = listing(
        PODS, expired=[{"status": 410, "then": then}], snapshot={"path": "metadata.resourceVersion"}
    )  # fmt: skip
    return ask(profile, respond, query=Query("pods"))


def test_r23_the_token_in_the_error_is_not_followed() -> None:
    asked = expiring("stop")
    assert (asked.result.status, asked.result.ids) == ("partial", ("a", "b"))
    assert (keys(asked.result), asked.result.continuation.kind) == ({"CONTINUATION_EXPIRED"}, "restart_scan")
    assert [q.get("continue") for q in asked.queries] == [None, "k1"]
    assert is_refused(asked.session, "pods")


def test_r23_a_restart_begins_again_and_keeps_nothing_of_the_first_walk() -> None:
    asked = expiring("restart_once")
    assert (asked.result.status, asked.result.ids) == ("complete", ("a", "b", "c", "d"))
    assert [q.get("continue") for q in asked.queries] == [None, "k1", None, "k3"]
    assert (asked.result.consistency, "RETRIED" in warned(asked.result)) == ("snapshot", True)
    assert asked.result.read.duplicates == 0
    assert write(asked.session, "pods", require=["snapshot"]).verdict == "allow"


def test_r23_pages_of_two_states_are_never_complete() -> None:
    def respond(call: Call) -> None:
        call.page(pods("cd", None, "2") if call.query.get("continue") else pods("ab", "k2", "1"))

    profile = listing(PODS, snapshot={"path": "metadata.resourceVersion"})
    asked = ask(profile, respond, query=Query("pods"))
    assert (asked.result.status, asked.result.ids) == ("partial", ("a", "b", "c", "d"))
    assert keys(asked.result) == {"CONSISTENCY_LOST:snapshot_changed"}
    assert is_refused(asked.session, "pods")
