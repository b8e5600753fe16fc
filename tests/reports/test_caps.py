"""Reports of kind K2: caps and cut payloads. Numbers and shapes are the reports' own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gate.calling import call as call_tool
from gate.calling import read as read_tool
from gate.calling import size, told
from reports.asked import (
    SINGLE,
    TOKEN,
    Asked,
    Call,
    ask,
    fresh,
    is_refused,
    keys,
    listing,
    offset,
    records,
    write,
)
from unabridged import Query
from unabridged.contract import presented
from unabridged.gate import Call as ToolCall
from unabridged.gate import ReadSpec
from unabridged.reading import judge_value


# R09: xorbitsai/xagent#2392
def assets() -> list[dict[str, Any]]:
    return [{"id": n, "owner": None if n % 2 else "ops", "note": "x" * 240} for n in range(276)]


def test_r09_whole_records_are_dropped_and_no_total_comes_from_what_is_left() -> None:
    case = fresh()
    spec = ReadSpec(resource="assets", judge=lambda rows, asked: asked.result(rows, total=276))
    reply = call_tool(spec, assets(), session=case, max_bytes=51_000)
    shown = told(reply)
    assert size(reply) <= 51_000
    assert (shown["status"], shown["complete"], [r["code"] for r in shown["reasons"]]) == (
        "partial", False, ["PRESENTATION_LIMIT"],
    )  # fmt: skip
    assert shown["returned"] == len(shown["items"]) < 276
    assert shown["items"] == assets()[: shown["returned"]]
    assert shown["total"] == {"value": 276, "kind": "exact"}
    unassigned = {"kind": "count", "resource": "assets", "filters": {"owner": None}, "value": 254}
    assert case.judge_answer("254 are unassigned.", [unassigned]).outcome == "reject"
    assert case.judge_answer("138 are unassigned.", [{**unassigned, "value": 138}]).outcome == "accept_with_caveat"


# R10: ondata/ckan-mcp-server#39
def hundred() -> list[dict[str, Any]]:
    return [{"id": n, "text": "x" * 770} for n in range(100)]


def test_r10_a_tool_that_cuts_the_text_of_its_json_gave_nothing() -> None:
    case = fresh()
    reply = read_tool(json.dumps({"items": hundred()})[:2_000], judge=listing(SINGLE), session=case)
    assert (told(reply)["status"], "items" in told(reply), reply.is_error) == ("unavailable", False, True)
    (found,) = case.reads
    assert [(why.code, why.detail) for why in found.reasons] == [("TRANSPORT_TRUNCATED", "invalid_json")]
    assert is_refused(case, "orders")


def test_r10_a_tool_that_trims_rows_and_says_so_is_partial() -> None:
    trims = listing(SINGLE, signals=[{"path": "trimmed", "when": {"equals": True}, "code": "RESULT_LIMIT_REACHED"}])
    case = fresh()
    shown = told(read_tool({"items": hundred()[:10], "trimmed": True}, judge=trims, session=case))
    assert (shown["status"], shown["returned"]) == ("partial", 10)
    assert case.reads[0].codes == ("RESULT_LIMIT_REACHED",)
    assert is_refused(case, "orders")


@pytest.mark.parametrize(
    ("max_bytes", "status", "codes"), [(100_000, "complete", []), (20_000, "partial", ["PRESENTATION_LIMIT"])]
)
def test_r10_a_tool_that_caps_nothing_is_capped_by_us_in_whole_rows(
    max_bytes: int, status: str, codes: list[str]
) -> None:
    case = fresh()
    reply = call_tool(
        ReadSpec(resource="orders", exhaustive=True), hundred(), session=case, max_bytes=max_bytes
    )  # fmt: skip
    shown = told(reply)
    assert size(reply) <= max_bytes
    assert (shown["status"], [r["code"] for r in shown.get("reasons", [])]) == (status, codes)
    assert shown["items"] == hundred()[: shown["returned"]]
    assert (shown["returned"] == 100) is (status == "complete")


# R11: runpod/runpod-mcp#3
def test_r11_a_list_beyond_the_limit_of_the_client_is_shown_in_parts() -> None:
    templates = [{"id": n, "text": "x" * 1_280} for n in range(1_200)]
    case = fresh()
    reply = call_tool(ReadSpec(resource="templates", exhaustive=True), templates, session=case, max_bytes=80_000)
    shown = told(reply)
    assert size(reply) <= 80_000  # 20,000 tokens of four bytes
    assert (shown["status"], shown["reasons"][0]["code"]) == ("partial", "PRESENTATION_LIMIT")
    assert (shown["continuation"]["kind"], 0 < shown["returned"] < 1_200) == ("read_more", True)
    assert shown["items"] == templates[: shown["returned"]]


def test_r11_a_call_that_the_client_rejected_is_unavailable_and_no_empty_list() -> None:
    def judge(_answer: Any, asked: ToolCall) -> Any:
        return asked.result(None, "TRANSPORT_TRUNCATED")

    case = fresh()
    shown = told(read_tool("response too large", judge=judge, session=case))
    assert (shown["status"], "items" in shown, "finding_count" in shown) == ("unavailable", False, False)
    assert case.reads[0].codes == ("TRANSPORT_TRUNCATED",)
    assert is_refused(case, "orders")


# R13: Digital-Process-Tools/claude-supertool#1073
@pytest.mark.parametrize(
    ("stated", "value", "kind"),
    [({"matches": 500}, 500, "exact"), ({"at_least": 21}, 21, "lower_bound"), ({}, None, "unknown")],
)
def test_r13_a_cut_search_says_how_many_there_are_or_that_it_does_not_know(
    stated: dict[str, int], value: int | None, kind: str
) -> None:
    exact = "matches" in stated
    profile = listing(
        SINGLE,
        count={"path": "matches" if exact else "at_least", "kind": "exact" if exact else "lower_bound"},
        signals=[{"path": "truncated", "when": {"equals": True}, "code": "RESULT_LIMIT_REACHED"}],
    )
    page = {"items": records(0, 20), "truncated": True, **stated}
    result = judge_value(profile, page, resource="matches", page_size=20)
    assert (result.status, result.returned, result.finding_count) == ("partial", 20, None)
    assert "RESULT_LIMIT_REACHED" in result.codes
    assert (result.total.value, result.total.kind) == (value, kind)


# R14: simstudioai/sim#6699
def drained(held: int) -> Asked:
    def respond(call: Call) -> None:
        start = int(call.query.get("cursor", "0"))
        stop = min(start + 100, held)
        call.page({"items": records(start, stop), **({"next": str(stop)} if stop < held else {})})

    return ask(listing(TOKEN), respond, budget={"max_items": 500})


def test_r14_a_cap_met_on_a_full_page_with_more_to_come_is_a_cap() -> None:
    asked = drained(740)
    result = asked.result
    assert (result.status, result.truncated, result.returned, len(asked.queries)) == ("partial", True, 500, 5)
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_items", "MORE_PAGES_AVAILABLE"}
    assert is_refused(asked.session)
    named = write(asked.session, targets=[499], allow_returned_targets=True)
    assert named.verdict == "allow"
    assert write(asked.session, targets=[500], allow_returned_targets=True).codes == ("TARGET_NOT_IN_EVIDENCE",)


def test_r14_a_cap_met_by_the_last_record_was_not_touched() -> None:
    asked = drained(500)
    assert (asked.result.status, asked.result.finding_count, len(asked.queries)) == ("complete", 500, 5)
    assert write(asked.session).verdict == "allow"


# R15: Polymarket/ts-sdk#240
def clamped(call: Call) -> None:
    start = int(call.query.get("offset", "0"))
    call.page({"items": records(start, min(start + 50, 180))})


def test_r15_a_page_that_the_server_shortens_is_no_end() -> None:
    profile = listing(
        offset("empty_page"), size={"send": {"query": "limit"}}, order={"by": "id", "unique": True}
    )  # fmt: skip
    asked = ask(profile, clamped, query=Query("things", page_size=101))
    assert (asked.result.status, asked.result.finding_count) == ("complete", 180)
    assert [q["offset"] for q in asked.queries] == ["0", "50", "100", "150", "180"]
    assert {q["limit"] for q in asked.queries} == {"101"}


@pytest.mark.parametrize("walk", [SINGLE, offset("total", total="total")], ids=["one page", "a total that is missing"])
def test_r15_where_no_end_is_stated_none_is_assumed(walk: dict[str, Any]) -> None:
    asked = ask(listing(walk, size={"send": {"query": "limit"}}), clamped, query=Query("things", page_size=101))
    assert (asked.result.status, keys(asked.result)) == ("unknown", {"COVERAGE_UNKNOWN"})
    assert (asked.result.returned, len(asked.queries)) == (50, 1)
    assert is_refused(asked.session)


# R16: aks129/HealthClawGuardrails#298
def test_r16_two_losses_on_top_of_each_other_are_both_told() -> None:
    def bundle(call: Call) -> None:
        call.page({"total": 88, "entry": records(0, 50), "link": [{"relation": "next", "url": "?page=2"}]})

    profile = listing(
        {"by": "link", "where": "body", "path": "link[?relation=='next'].url | [0]"}, items="entry",
        count={"path": "total", "kind": "exact"},
    )  # fmt: skip
    asked = ask(profile, bundle, query=Query("entries"), budget={"max_pages": 1})
    summary = presented(asked.result, 12)
    assert (summary.status, summary.returned, asked.result.returned, summary.total.value) == ("partial", 12, 50, 88)
    assert set(summary.codes) == {"CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE", "PRESENTATION_LIMIT"}
    (limit,) = [reason for reason in summary.reasons if reason.code == "PRESENTATION_LIMIT"]
    assert (limit.limit, limit.layer) == (12, "presentation")
    only = [{"kind": "count", "resource": "entries", "value": 12}]
    assert asked.session.judge_answer("There are only 12 items.", only).outcome == "reject"
