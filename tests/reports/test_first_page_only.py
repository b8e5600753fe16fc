"""Reports of kind K1: the first page taken for all of it. Numbers and shapes are the reports' own."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from gate.calling import read as read_tool
from gate.calling import result as stated
from gate.calling import told
from reports.asked import (
    SINGLE,
    TOKEN,
    Call,
    ask,
    decision,
    fresh,
    go_on,
    is_refused,
    keys,
    listing,
    offset,
    records,
    warned,
    write,
)
from unabridged import Query
from unabridged.contract import ReadResult
from unabridged.gate import ReadSpec, read_reply
from unabridged.sources.mcp import read_mcp_tool

# R01: run-llama/llama_index#12508
ISSUES = listing(
    offset("total", "startAt", total="total"), items="issues", count={"path": "total", "kind": "exact"},
    size={"send": {"query": "maxResults"}, "read": "maxResults"},
)  # fmt: skip


def issues(call: Call) -> None:
    start = int(call.query["startAt"])
    held = records(start, min(start + 50, 137))
    call.page({"startAt": start, "maxResults": 50, "total": 137, "issues": held})


def test_r01_a_page_size_that_the_server_lowers_does_not_shorten_the_list() -> None:
    asked = ask(ISSUES, issues, query=Query("things", page_size=200))
    assert [(q["startAt"], q["maxResults"]) for q in asked.queries] == [("0", "200"), ("50", "200"), ("100", "200")]
    assert (asked.result.status, asked.result.reasons, asked.result.finding_count) == ("complete", (), 137)
    assert set(asked.result.ids) == set(range(137))
    assert "PARAMETER_ADJUSTED" in warned(asked.result)


def test_r01_one_page_of_three_is_partial_and_goes_on_at_50() -> None:
    asked = ask(ISSUES, issues, query=Query("things", page_size=200), budget={"max_pages": 1})
    result = asked.result
    assert (result.status, result.returned, result.finding_count) == ("partial", 50, None)
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_pages", "MORE_PAGES_AVAILABLE"}
    assert (result.continuation.kind, result.total.value, len(asked.queries)) == ("next_page", 137, 1)
    assert "PARAMETER_ADJUSTED" in warned(result)
    assert decision(result) == "continue_search"
    last = go_on(result, {"startAt": "50"}, {"maxResults": 50, "total": 51, "issues": records(50, 51)})
    assert last.ids == (50,)


# R02: run-llama/llama_index#14702
SITES = listing({"by": "link", "where": "body", "path": '"@odata.nextLink"'}, items="value", id="name")
FIRST = {"value": [{"name": f"s{n}"} for n in (1, 2, 3)], "@odata.nextLink": "?$skiptoken=A"}


def test_r02_a_site_on_the_second_page_is_found() -> None:
    def respond(call: Call) -> None:
        call.page({"value": [{"name": "s4"}, {"name": "target"}]} if "$skiptoken" in call.query else FIRST)

    asked = ask(SITES, respond, query=Query("sites", intent="lookup"))
    assert (asked.result.status, asked.result.ids) == ("complete", ("s1", "s2", "s3", "s4", "target"))
    assert [q.get("$skiptoken") for q in asked.queries] == [None, "A"]
    found = asked.session.judge_answer("It is there.", [{"kind": "found", "resource": "sites", "ids": ["target"]}])
    assert found.outcome == "accept"


def test_r02_a_site_on_a_page_that_failed_is_not_absent() -> None:
    def respond(call: Call) -> None:
        if "$skiptoken" in call.query:
            call.answer(503)
        else:
            call.page(FIRST)

    asked = ask(SITES, respond, query=Query("sites", filters={"name": "target"}, intent="lookup"))
    result = asked.result
    assert (result.status, result.ids, set(result.codes)) == ("partial", ("s1", "s2", "s3"), {"SOURCE_UNAVAILABLE"})
    assert (result.finding_count, result.proves_absence()) == (None, False)
    absent = {"kind": "absence", "resource": "sites", "filters": {"name": "target"}}
    assert asked.session.judge_answer("There is no such site.", [absent]).outcome == "reject"
    assert is_refused(asked.session, "sites")


# R03: langchain-ai/langchain#16864
def linked(call: Call) -> None:
    number = int(call.query.get("page", "1"))
    start = (number - 1) * 30
    links = {"Link": f'<?page={number + 1}>; rel="next", <?page=4>; rel="last"'} if number < 4 else {}
    call.page(records(start, min(start + 30, 97)), **links)


def test_r03_links_lead_to_the_last_of_97() -> None:
    asked = ask(listing({"by": "link", "where": "header"}, items="@"), linked)
    assert (asked.result.status, asked.result.finding_count, len(asked.queries)) == ("complete", 97, 4)


def test_r03_a_cap_of_ours_at_60_is_named_as_ours() -> None:
    asked = ask(listing({"by": "link", "where": "header"}, items="@"), linked, budget={"max_items": 60})
    result = asked.result
    assert (result.status, result.returned, len(asked.queries)) == ("partial", 60, 2)
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_items", "MORE_PAGES_AVAILABLE"}
    (ours,) = [reason for reason in result.reasons if reason.code == "CLIENT_LIMIT_REACHED"]
    assert (ours.limit, ours.layer) == (60, "client")


# R04: github/github-mcp-server#2363
class Alerts:
    """An MCP session whose tool shows the first 30 of 300 alerts, and no way on."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        shown = {"alerts": records(0, 30, state="open")}
        return SimpleNamespace(content=[], isError=False, structuredContent=shown)


async def test_r04_thirty_alerts_without_an_end_are_not_all_alerts() -> None:
    case = fresh()
    with case:
        result = await read_mcp_tool(
            Alerts(),  # type: ignore[arg-type]
            "list_alerts", resource="alerts", judge=listing(SINGLE, items="alerts"), arguments={"state": "open"},
        )  # fmt: skip
    assert (result.status, keys(result), result.returned) == ("unknown", {"COVERAGE_UNKNOWN"}, 30)
    assert (result.total.value, result.total.kind, result.finding_count) == (None, "unknown", None)
    assert is_refused(case, "alerts")
    every = {"kind": "all", "resource": "alerts", "ids": list(range(30))}
    assert case.judge_answer("Nothing else was found.", [every]).outcome == "reject"
    report = case.judge_answer("Alert 7 is open.", [{"kind": "found", "resource": "alerts", "ids": [7]}])
    assert report.outcome == "accept_with_caveat"
    shown = json.loads(read_reply(result, ReadSpec(resource="alerts")).content)
    assert (shown["complete"], shown["returned"], "total" in shown) == (False, 30, False)
    assert "more may exist" in shown["note"]


# R05: langchain4j/langchain4j#5661
OBJECTS = listing(
    {"by": "token", "read": "NextContinuationToken", "send": {"query": "continuation-token"}, "ends_on": ["flag"],
     "empty_token": "illegal", "repeated_token": "anomaly", "more_flag": "IsTruncated"},
    items="Contents",
)  # fmt: skip


def test_r05_the_token_of_an_object_list_arrives_as_it_was_given() -> None:
    def respond(call: Call) -> None:
        if call.query.get("continuation-token") == "t/+=":  # a plus sign that was not encoded would be a space here
            call.page({"Contents": records(1000, 1250), "IsTruncated": False})
        else:
            call.page({"Contents": records(0, 1000), "IsTruncated": True, "NextContinuationToken": "t/+="})

    asked = ask(OBJECTS, respond)
    assert (asked.result.status, asked.result.finding_count, len(asked.queries)) == ("complete", 1250, 2)
    assert asked.result.proof.level == "end_marker"


def test_r05_a_list_that_is_cut_and_names_no_token_is_partial() -> None:
    asked = ask(OBJECTS, lambda call: call.page({"Contents": records(0, 1000), "IsTruncated": True}))
    assert (asked.result.status, asked.result.returned, len(asked.queries)) == ("partial", 1000, 1)
    assert keys(asked.result) == {"PROTOCOL_ANOMALY:continuation_missing"}
    assert is_refused(asked.session)


# R06: Unstructured-IO/unstructured-ingest#48
def test_r06_a_filter_of_ours_over_the_newest_page_finds_nothing_and_proves_nothing() -> None:
    def respond(call: Call) -> None:
        start = int(call.query.get("cursor", "0"))
        held = [
            {"id": n, "month": "2022-01" if 180 <= n <= 200 else "2024"} for n in range(start, min(start + 100, 250))
        ]
        call.page({"items": held, "next": str(start + 100) if start + 100 < 250 else None})

    def in_window(thread: Any) -> bool:
        return bool(thread["month"] == "2022-01")

    asked = ask(listing(TOKEN), respond, budget={"max_pages": 1})
    window = asked.result.findings(in_window, name="january")
    assert (window.status, window.items, window.finding_count, window.checked) == ("partial", [], None, 100)
    assert keys(window) == {"CLIENT_LIMIT_REACHED:max_pages", "MORE_PAGES_AVAILABLE"}
    assert (decision(asked.result), window.proves_absence()) == ("continue_search", False)
    assert is_refused(asked.session)
    whole = ask(listing(TOKEN), respond)
    assert (whole.result.findings(in_window).finding_count, len(whole.queries)) == (21, 3)


def test_r06_a_tool_that_filters_what_it_fetched_says_so_through_its_judge() -> None:
    def judge(_page: Any, _asked: Any) -> ReadResult:
        return stated([], "MORE_PAGES_AVAILABLE", "APPROXIMATE_METHOD:filtered_after_cap")

    case = fresh()
    reply = read_tool([], judge=judge, session=case)
    assert (told(reply)["status"], told(reply)["items"], "finding_count" in told(reply)) == ("partial", [], False)
    (found,) = case.reads
    assert {(why.code, why.detail) for why in found.reasons} == {
        ("MORE_PAGES_AVAILABLE", None), ("APPROXIMATE_METHOD", "filtered_after_cap"),
    }  # fmt: skip
    assert is_refused(case, "orders")


# R07: forcedotcom/SalesforceMobileSDK-iOS#231
ROWS = listing(
    {"by": "link", "where": "body", "path": "nextRecordsUrl"}, items="records",
    count={"path": "totalSize", "kind": "exact"},
)  # fmt: skip


def soql(last_total: int) -> Any:
    def respond(call: Call) -> None:
        start = int(call.query.get("q", "0"))
        more = start + 2000 < 5989
        page: dict[str, Any] = {
            "totalSize": 5989 if more else last_total, "done": not more,
            "records": records(start, min(start + 2000, 5989)),
        }  # fmt: skip
        call.page(page | {"nextRecordsUrl": f"?q={start + 2000}"} if more else page)

    return respond


def test_r07_done_is_false_until_all_5989_rows_are_there() -> None:
    asked = ask(ROWS, soql(5989))
    assert (asked.result.status, asked.result.finding_count, len(asked.queries)) == ("complete", 5989, 3)
    assert (asked.result.total.value, asked.result.proof.level) == (5989, "counted")


def test_r07_a_total_that_changes_on_the_last_part_is_not_believed() -> None:
    asked = ask(ROWS, soql(5990))
    assert (asked.result.status, asked.result.returned, asked.result.finding_count) == ("partial", 5989, None)
    assert "CONSISTENCY_LOST:total_changed" in keys(asked.result)
    assert set(asked.result.codes) == {"CONSISTENCY_LOST"}
    assert is_refused(asked.session)


# R08: elastic/connectors#3320
def contents(call: Call) -> None:
    start = int(call.query.get("start", "0"))
    held = records(start, min(start + 50, 180))
    call.page({"results": held, "start": start, "limit": 50, "size": len(held), "totalSize": 180, "_links": {}})


def test_r08_no_next_link_is_no_end_where_a_count_disproves_it() -> None:
    profile = listing(
        {"by": "link", "where": "body", "path": "_links.next"}, items="results",
        count={"path": "totalSize", "kind": "exact"},
    )  # fmt: skip
    asked = ask(profile, contents)
    assert (asked.result.status, asked.result.returned, asked.result.total.value) == ("partial", 50, 180)
    assert (keys(asked.result), len(asked.queries)) == ({"CONSISTENCY_LOST:count_mismatch"}, 1)
    assert is_refused(asked.session)


def test_r08_the_same_source_read_by_offset_is_complete() -> None:
    asked = ask(listing(offset("total", "start", total="totalSize"), items="results"), contents)
    assert (asked.result.status, asked.result.finding_count) == ("complete", 180)
    assert [q["start"] for q in asked.queries] == ["0", "50", "100", "150"]
    assert write(asked.session).verdict == "allow"
