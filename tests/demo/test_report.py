"""The report: refusals are found in the tool messages, and a person and a program are told the same."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console
from unabridged.demo.directory import Changes, Truth
from unabridged.demo.render import render
from unabridged.demo.report import Comparison, DemoReport, RunReport, refusals, run_report
from unabridged.demo.runs import Answer, RunOutcome, Step

REFUSAL = {
    "error": "refused",
    "verdict": "refuse",
    "codes": ["EVIDENCE_INCOMPLETE"],
    "reads": [
        {"resource": "accounts", "status": "partial", "reasons": ["CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE"]},
        {"resource": "assignments", "status": "unavailable"},
    ],
    "options": ["continue_read", "abandon"],
}
ARGS = {"tenant": "acme", "account_ids": ["svc-1"]}


def _report(
    *,
    wrong: tuple[str, ...] = (),
    right: tuple[str, ...] = ("svc-2",),
    answer: str = "Done.",
    frameworks: tuple[str, ...] = ("langchain",),
) -> DemoReport:
    outcome = RunOutcome(
        answer=Answer(
            text=answer, caveats=[{"code": "RATE_LIMITED"}], coverage=[{"resource": "a", "status": "partial"}]
        ),
        steps=[Step("archive_accounts", ARGS, json.dumps(REFUSAL))],
    )
    plain = run_report(RunOutcome(Answer("Nothing is left.")), Changes(("svc-2",), ("svc-1",), 3), seconds=1.234)
    guarded = run_report(outcome, Changes(right, wrong, 2, {"dune": 2}), seconds=2.0)
    comparison = Comparison(plain=plain, guarded=guarded, model="scripted")
    return DemoReport("Archive them.", Truth(10, 2, 1, 4, 1), dict.fromkeys(frameworks, comparison), seconds=3.2)


def test_a_refusal_is_told_with_its_codes_reasons_and_options() -> None:
    (refusal,) = refusals([Step("archive_accounts", ARGS, json.dumps(REFUSAL))])
    assert refusal.tenant == "acme"
    assert refusal.codes == ("EVIDENCE_INCOMPLETE",)
    assert refusal.reasons == (
        "accounts: CLIENT_LIMIT_REACHED",
        "accounts: MORE_PAGES_AVAILABLE",
        "assignments: unavailable",
    )
    assert refusal.options == ("continue_read", "abandon")


@pytest.mark.parametrize("text", ["boom", "[]", "{}", '{"error": "tool_failed"}', '{"archived": []}', "null"])
def test_no_other_message_is_a_refusal(text: str) -> None:
    assert refusals([Step("archive_accounts", {}, text)]) == ()


def test_the_json_holds_what_a_program_asks_for() -> None:
    document: dict[str, Any] = json.loads(json.dumps(_report().to_json()))
    plain, guarded = (document["frameworks"]["langchain"][kind] for kind in ("plain", "guarded"))
    assert (plain["wrong_writes"], plain["right_writes"]) == (1, 1)
    assert (guarded["wrong_writes"], guarded["right_writes"]) == (0, 1)
    assert guarded["refusals"][0]["codes"] == ["EVIDENCE_INCOMPLETE"]
    assert guarded["answer"] == {"text": "Done.", "caveats": [{"code": "RATE_LIMITED"}]}
    assert guarded["coverage"] == [{"resource": "a", "status": "partial"}]
    assert document["truth"]["unowned"] == 4


def test_it_holds_only_when_the_guarded_run_wrote_something_and_nothing_wrong() -> None:
    assert _report().holds
    assert not _report(wrong=("svc-1",)).holds
    assert not _report(right=()).holds


def test_a_person_sees_the_numbers_the_refusals_and_both_answers() -> None:
    out = io.StringIO()
    render(_report(answer="Done [bold]or[/bold] not."), Console(file=out, width=110))
    text = out.getvalue()
    for expected in ("LangChain, plain", "LangChain, guarded", "EVIDENCE_INCOMPLETE", "accounts: MORE_PAGES_AVAILABLE"):
        assert expected in text
    assert "Nothing is left." in text
    assert "Done [bold]or[/bold] not." in text


def test_it_fits_a_terminal_of_80_columns_without_breaking_a_code() -> None:
    out = io.StringIO()
    render(_report(frameworks=("langchain", "llamaindex")), Console(file=out, width=80))
    assert max(len(line) for line in out.getvalue().splitlines()) <= 80
    for whole in ("EVIDENCE_INCOMPLETE", "accounts: MORE_PAGES_AVAILABLE", "LlamaIndex, guarded"):
        assert whole in out.getvalue()


def test_what_went_alike_in_both_frameworks_is_told_once() -> None:
    out = io.StringIO()
    render(_report(frameworks=("langchain", "llamaindex")), Console(file=out, width=110))
    assert out.getvalue().count("EVIDENCE_INCOMPLETE") == 1
    assert "LangChain and LlamaIndex, guarded" in out.getvalue()


def test_a_run_report_names_a_few_wrong_writes() -> None:
    changes = Changes(right=(), wrong=tuple(f"svc-{n}" for n in range(9)), left=0)
    report: RunReport = run_report(RunOutcome(Answer("x")), changes, seconds=0.1)
    assert report.wrong_writes == 9
    assert len(report.wrong_examples) == 5
