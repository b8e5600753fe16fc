"""What an agent reads when a call is not run: codes, names and options, and never a value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gate.calling import ROWS, SECRET, codes, fresh, read, result, size, told, write
from unabridged.contract import GUARD_CODES, NextPage, new_handle, with_resume
from unabridged.evidence import Verdict
from unabridged.gate import MAX_BYTES, ReadSpec, Turn, invalid_request, refusal, tool_failed


def partial() -> Any:
    """Returns a page that our own limit stopped, under filters that hold a secret."""
    page = result(ROWS, "CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE", filters={"owner": SECRET},
                  continuation=NextPage(handle=new_handle()))  # fmt: skip
    return with_resume(page, "the way on")


def test_a_refusal_names_the_read_its_reasons_and_the_way_on_and_no_value() -> None:
    s = fresh()
    read(partial(), session=s)
    reply = write(s, {"ids": [SECRET], "note": SECRET}, relies_on=["orders"], targets="ids")
    document = told(reply)
    assert reply.is_error
    assert document["error"] == "refused"
    assert document["codes"] == ["EVIDENCE_INCOMPLETE"]
    (note,) = document["reads"]
    assert note["resource"] == "orders"
    assert note["status"] == "partial"
    assert note["reasons"] == ["CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE"]
    assert note["filters"] == ["owner"]
    assert note["continuation"]["kind"] == "next_page"
    assert document["options"] == ["continue_read", "abandon"]
    assert SECRET not in reply.content + json.dumps(reply.artifact) + repr(reply)


@pytest.mark.parametrize(
    ("has", "offered"), [(None, True), ({"continue_read"}, True), ({"archive"}, False), ((), False)]
)
def test_an_option_is_offered_only_to_an_agent_that_has_it(has: Any, offered: bool) -> None:
    s = fresh()
    read(partial(), session=s)
    turn = Turn(has=None if has is None else frozenset(has))
    assert ("continue_read" in told(write(s, None, turn))["options"]) == offered


@pytest.mark.parametrize("code", GUARD_CODES)
def test_every_code_of_the_guard_has_its_words(code: Any) -> None:
    reply = refusal("archive", Verdict("refuse", (code,), options=("abandon",)))
    message = told(reply)["message"]
    assert message.startswith("The call was not run. ")
    assert len(message) > len("The call was not run. ")
    assert reply.artifact == {"unabridged": {"error": "refused", "codes": [code]}}


def test_the_codes_of_the_guard_read_unlike_each_other() -> None:
    messages = [told(refusal("t", Verdict("refuse", (c,))))["message"] for c in GUARD_CODES]
    assert len(set(messages)) == len(GUARD_CODES)


def test_a_read_in_flight_is_pending() -> None:
    s = fresh()
    turn = Turn(siblings=[("list_orders", {"owner": SECRET})], spec_of=lambda _: ReadSpec(resource="orders"))
    reply = write(s, None, turn)
    assert told(reply)["reads"] == [{"resource": "orders", "status": "pending", "filters": ["owner"]}]
    assert codes(reply) == ["EVIDENCE_PENDING"]


def test_a_refusal_stays_within_the_budget_of_a_message() -> None:
    s = fresh()
    for n in range(100):
        wide = {f"filter_{n}_{m}": m for m in range(100)}
        read(result(ROWS, *(f"CODE_{c}" for c in range(100)), filters=wide), session=s, resource=f"resource_{n}")
    assert size(write(s)) <= MAX_BYTES
    assert size(write(s, relies_on=[f"nothing_{n}" for n in range(2_000)])) <= MAX_BYTES


@pytest.mark.parametrize("name", [f"a tool, {SECRET}", "", "x" * 500, "a\nb"])
def test_a_tool_whose_name_is_no_name_is_not_repeated(name: str) -> None:
    for reply in (
        refusal(name, Verdict("refuse", ("GUARD_FAILED",))), tool_failed(name), invalid_request(name, []),
    ):  # fmt: skip
        assert told(reply)["tool"] == "<name>"


def test_problems_are_told_by_field_and_rule_and_a_field_that_is_no_name_is_counted() -> None:
    problems = [("ids", "is required"), (f"my {SECRET}", "is not an argument of this tool")]
    document = told(invalid_request("archive", problems))
    assert document["problems"] == [{"field": "ids", "rule": "is required"}]
    assert document["unnamed_problems"] == 1
    assert SECRET not in str(document)


def test_no_more_problems_are_told_than_can_be_read() -> None:
    reply = invalid_request("archive", [(f"f{n}", "is not an argument of this tool") for n in range(5_000)])
    assert size(reply) <= 2_500
