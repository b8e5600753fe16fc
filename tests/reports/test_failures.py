"""Reports of kind K10: a failure, or no access, that came out as an empty list."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest
from reports.asked import SINGLE, TOKEN, Asked, Call, ask, decision, go_on, is_refused, keys, listing, records, write
from unabridged import Query
from unabridged.evidence import WriteIntent
from unabridged.gate import ReadSpec, read_reply
from unabridged.reading import judge_value

HIDDEN = "db-master-7.internal"

# R70: LibreChat-AI/agents#504
SEARCH = listing(
    TOKEN, items="results", id="url", errors=[{"path": "error", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}]
)  # fmt: skip
CITED = [{"kind": "found", "resource": "pages", "ids": ["https://docs.example.test/limits"]}]
NOTHING = [{"kind": "absence", "resource": "pages", "filters": {"q": "limits"}}]


class Late(httpx.HTTPTransport):
    """Asks the source, and gives up on it."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        super().handle_request(request).close()
        raise httpx.ReadTimeout("late")


def searched(respond: Any, transport: type[httpx.HTTPTransport] = httpx.HTTPTransport) -> Asked:
    with httpx.Client(transport=transport(), trust_env=False) as client:
        return ask(SEARCH, respond, query=Query("pages", filters={"q": "limits"}), client=client)


@pytest.mark.parametrize(
    ("respond", "transport", "key"),
    [
        (lambda call: call.answer(401, b'{"results":[]}'), httpx.HTTPTransport, "VISIBILITY_RESTRICTED:unauthorized"),
        (lambda call: call.page({"results": []}), Late, "SOURCE_UNAVAILABLE:timeout"),
    ],
    ids=["401", "timeout"],
)
def test_r70_a_search_that_failed_is_not_an_empty_one(respond: Any, transport: Any, key: str) -> None:
    asked = searched(respond, transport)
    result = asked.result
    assert (result.status, result.items, result.finding_count, keys(result)) == ("unavailable", None, None, {key})
    assert (asked.session.judge_answer("Sources used: limits.", CITED).outcome, len(asked.queries)) == ("reject", 1)
    assert asked.session.judge_answer("Nothing was found.", NOTHING).outcome == "reject"
    shown = read_reply(result, ReadSpec(resource="pages"))
    assert (shown.is_error, "could not" in shown.content or "not answer" in shown.content) == (True, True)
    assert asked.session.judge_write(WriteIntent("publish")).codes == ("EVIDENCE_INCOMPLETE",)


@pytest.mark.parametrize("body", [{"results": []}, {"results": [], "error": ""}])
def test_r70_a_search_that_found_nothing_is_complete(body: dict[str, Any]) -> None:
    asked = searched(lambda call: call.page(body))
    assert (asked.result.status, asked.result.items, asked.result.finding_count) == ("complete", [], 0)
    assert asked.result.proves_absence()
    assert asked.session.judge_answer("Nothing was found.", NOTHING).outcome == "accept"
    assert asked.session.judge_answer("Sources used: limits.", CITED).outcome == "reject"


# R71: langchain4j/langchain4j#5855
def test_r71_three_files_that_failed_for_three_causes_give_three_reasons() -> None:
    def counted(cause: str, code: str) -> dict[str, Any]:
        return {"path": f"failed.{cause}", "when": {"gt": 0}, "code": code}

    profile = listing(
        SINGLE,
        items="documents",
        count={"path": "attempted", "kind": "exact"},
        signals=[
            counted("parse", "PARTIAL_FAILURE"),
            counted("forbidden", "VISIBILITY_RESTRICTED"),
            counted("timeout", "TIME_BUDGET_EXCEEDED"),
        ],
    )
    loaded = {
        "documents": records(0, 10), "attempted": 13, "failed": {"parse": 1, "forbidden": 1, "timeout": 1},
        "not_loaded": [HIDDEN],
    }  # fmt: skip
    result = judge_value(profile, loaded, resource="files")
    assert (result.status, result.returned, result.finding_count) == ("partial", 10, None)
    assert (result.total.value, result.total.kind) == (13, "exact")
    assert {(reason.code, *(reason.native or {}).values()) for reason in result.reasons} == {
        ("PARTIAL_FAILURE", 1), ("VISIBILITY_RESTRICTED", 1), ("TIME_BUDGET_EXCEEDED", 1),
    }  # fmt: skip
    assert HIDDEN not in str(result.to_wire())
    assert HIDDEN not in read_reply(result, ReadSpec(resource="files")).content


# R72: Icinga/icinga2#4945
HOSTS = listing(
    TOKEN, items="results", id="name",
    signals=[{"path": "header:x-scopes", "when": {"equals": "(none)"}, "code": "VISIBILITY_RESTRICTED"}],
)  # fmt: skip
NO_HOSTS = [{"kind": "absence", "resource": "hosts"}]


def test_r72_a_404_that_may_mean_no_right_is_no_empty_list() -> None:
    refusal = f'{{"error":404,"status":"No objects found.","hidden":["{HIDDEN}"]}}'.encode()
    asked = ask(HOSTS, lambda call: call.answer(404, refusal), query=Query("hosts"))
    assert (asked.result.status, asked.result.items, asked.result.finding_count) == ("unavailable", None, None)
    assert (set(asked.result.codes), len(asked.queries)) == ({"SOURCE_UNAVAILABLE"}, 1)
    assert HIDDEN not in str(asked.result.to_wire())
    assert is_refused(asked.session, "hosts")
    assert asked.session.judge_answer("There are no hosts.", NO_HOSTS).outcome == "reject"


def test_r72_an_empty_list_for_a_caller_without_a_scope_is_restricted() -> None:
    asked = ask(HOSTS, lambda call: call.page({"results": []}, X_Scopes="(none)"), query=Query("hosts"))
    assert (asked.result.status, asked.result.items) == ("partial", [])
    assert (set(asked.result.codes), asked.result.finding_count) == ({"VISIBILITY_RESTRICTED"}, None)
    assert asked.result.continuation.kind == "request_access"
    assert is_refused(asked.session, "hosts")


def test_r72_an_empty_list_in_full_scope_is_empty_for_this_caller() -> None:
    asked = ask(HOSTS, lambda call: call.page({"results": []}, X_Scopes="objects/query"), query=Query("hosts"))
    assert (asked.result.status, asked.result.items, asked.result.finding_count) == ("complete", [], 0)
    assert asked.result.scope.visibility == "caller"
    assert write(asked.session, "hosts").verdict == "allow"
    assert write(asked.session, "hosts", require=["visibility_all"]).codes == ("EVIDENCE_WEAK",)


# R73: sjkingo/python-freshdesk#95
def test_r73_a_quota_in_mid_walk_keeps_60_tickets_and_waits_no_longer_than_it_may() -> None:
    def respond(call: Call) -> None:
        number = int(call.query.get("cursor", "1"))
        if number == 3:
            call.answer(429, b"{}", Retry_After="30")
        else:
            call.page({"items": records(number * 30, number * 30 + 30), "next": str(number + 1)})

    began = time.monotonic()
    asked = ask(listing(TOKEN), respond, budget={"max_seconds": 25, "max_retries": 3})
    result = asked.result
    assert time.monotonic() - began < 20
    assert (result.status, result.returned, result.finding_count) == ("partial", 60, None)
    assert set(result.codes) == {"RATE_LIMITED"}
    assert (result.continuation.kind, getattr(result.continuation, "seconds", None)) == ("retry_after", 30)
    assert [q.get("cursor") for q in asked.queries] == [None, "2", "3"]
    assert decision(result) == "continue_search"
    rest = go_on(result, {"cursor": "3"}, {"items": records(90, 97)})
    assert (rest.status, rest.ids) == ("complete", tuple(range(90, 97)))
    assert is_refused(asked.session)
