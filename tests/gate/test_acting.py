"""An action through the gate, without a framework: admitted, judged, written down, done, and told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from actions.kit import SENTINEL, Archived, Provider, Token, archive
from audit_kit import Log
from evidence.made_reads import at as moment
from evidence.made_reads import frozen, made
from pydantic import BaseModel, ConfigDict
from unabridged import session
from unabridged.actions import Action, ExecutorError, Grants, reference
from unabridged.evidence import MemoryLedger, Session
from unabridged.gate import Reply, arun_action, run_action, write_spec

IDS = ["a-1", "a-2", "a-3"]
ARGS: dict[str, Any] = {"tenant": "acme", "account_ids": IDS}


def opened(**options: Any) -> Session:
    return session("case", ledger=MemoryLedger(), now=lambda: moment(10), **options)


def told(reply: Reply) -> dict[str, Any]:
    assert SENTINEL not in reply.content + json.dumps(reply.artifact)
    document: dict[str, Any] = json.loads(reply.content)
    return document


@pytest.mark.parametrize("is_async", [False, True])
def test_an_action_on_whole_evidence_is_done_and_its_output_is_what_it_declares(is_async: bool) -> None:
    log, provider = Log(), Provider({i: {"archived": True, "note": SENTINEL, "deep": {"x": SENTINEL}} for i in IDS})
    s = opened(audit=log)
    s.record(made("accounts", IDS))
    action = archive(provider)
    reply = asyncio.run(arun_action(action, ARGS, session=s)) if is_async else run_action(action, ARGS, session=s)
    document = told(reply)
    assert (document["status"], document["done"], document["not_done"], reply.is_error) == ("done", 3, 0, False)
    assert provider.targets == IDS
    assert [(e.kind, e.outcome) for e in log.events] == [("intent", None), ("outcome", "done")]
    assert SENTINEL not in repr(log.events)


def test_an_action_on_partial_evidence_is_refused_and_its_executor_is_not_reached() -> None:
    log, provider = Log(), Provider()
    s = opened(audit=log)
    s.record(made("accounts", IDS[:2], "MORE_PAGES_AVAILABLE"))
    reply = run_action(archive(provider), ARGS, session=s)
    assert told(reply)["codes"] == ["EVIDENCE_INCOMPLETE"]
    assert provider.commands == []
    assert [(e.kind, e.outcome) for e in log.events] == [("decision", "refused")]


@pytest.mark.parametrize("through", ["a person", "a second look"])
def test_a_grant_that_is_taken_back_while_a_write_waits_lets_nothing_run(through: str) -> None:
    log, provider, granted = Log(), Provider(), [True]

    def meanwhile(_: Any) -> bool:
        granted.clear()
        return True

    waits: Any = {"approval": "always"} if through == "a person" else {"recheck": meanwhile}
    s = opened(audit=log, approve=meanwhile)
    s.record(made("accounts", IDS))
    action = archive(provider, authorize=lambda *_: bool(granted), **waits)
    assert told(run_action(action, ARGS, session=s))["error"] == "forbidden"
    assert provider.commands == []
    assert log.events[-1].outcome == "forbidden"


@pytest.mark.parametrize(
    ("args", "error", "outcome"),
    [
        ({"case": SENTINEL, "tenant": "acme"}, "invalid_request", "invalid_request"),
        ({**ARGS, SENTINEL: 1, "customer_email": SENTINEL}, "invalid_request", "invalid_request"),
        ({**ARGS, "tenant": {"x": SENTINEL}}, "invalid_request", "invalid_request"),
        ({**ARGS, "low": 9, "high": 1}, "invalid_request", "invalid_request"),
        ({**ARGS, "account_ids": []}, "invalid_request", "invalid_request"),
    ],
)
def test_what_breaks_the_contract_is_refused_before_anything_else(
    args: dict[str, Any], error: str, outcome: str
) -> None:
    asked: list[Any] = []
    log, provider = Log(), Provider()
    s = opened(audit=log, approve=asked.append)
    s.record(frozen("accounts", IDS))
    reply = run_action(archive(provider, approval="always"), args, session=s)
    document = told(reply)
    assert (document["error"], reply.is_error) == (error, True)
    assert document["problems"]
    assert (asked, provider.commands) == ([], []), "validation comes before any card"
    assert [(e.kind, e.outcome) for e in log.events] == [("decision", outcome)]


def test_what_was_not_granted_is_forbidden_whatever_the_evidence_and_the_approver_say() -> None:
    asked: list[Any] = []
    provider = Provider()
    s = opened(approve=lambda card: asked.append(card) or True)
    s.record(frozen("accounts", IDS))
    for authorize in (None, Grants(anyone=["draft"]), lambda *_: "yes"):
        reply = run_action(archive(provider, authorize=authorize, approval="always"), ARGS, session=s)
        assert told(reply)["error"] == "forbidden"
    assert (asked, provider.commands) == ([], [])


def test_an_action_that_must_be_approved_shows_what_may_be_shown() -> None:
    cards: list[Any] = []
    s = opened(approve=lambda card: cards.append(card) or True)
    s.record(frozen("accounts", IDS))
    action = archive(approval="always", show=["reason"])
    assert told(run_action(action, {**ARGS, "reason": "duplicate"}, session=s))["status"] == "done"
    shown = {p.name: p.shown for p in cards[0].parameters}
    assert (shown["reason"], shown["tenant"]) == ("duplicate", "<not shown>")
    assert cards[0].purpose == action.purpose


def test_a_part_that_failed_is_told_by_target_and_a_repeated_call_goes_on_with_it() -> None:
    log = Log()
    provider = Provider({"a-2": ExecutorError(code="provider_retryable")})
    s = opened(audit=log)
    s.record(made("accounts", IDS))
    action = archive(provider)
    first = told(run_action(action, ARGS, session=s))
    assert (first["status"], first["done"], first["not_done"]) == ("partial", 2, 1)
    provider.script = {}
    provider.commands.clear()
    second = told(run_action(action, ARGS, session=s))
    assert (second["status"], second["done"]) == ("done", 3)
    assert second["message"] == "What an earlier call of this session did was not done again."
    assert provider.targets == ["a-2"], "what was done is not done again"
    assert [(e.kind, e.done, e.not_done) for e in log.events if e.kind == "outcome"] == [
        ("outcome", 2, 1),
        ("outcome", 3, 0),
    ]


def test_a_target_that_changed_is_told_beside_those_that_were_done() -> None:
    provider = Provider()
    s = opened()
    s.record(made("accounts", IDS))
    action = archive(provider, recheck=lambda target: target != "a-2")
    document = told(run_action(action, ARGS, session=s))
    assert (document["status"], document["done"], document["not_done"]) == ("partial", 2, 1)
    assert {"target": "a-2", "status": "changed", "code": "target_changed"} in document["targets"]
    assert provider.targets == ["a-1", "a-3"]


def test_a_question_on_incomplete_evidence_is_undetermined_and_not_refused() -> None:
    class Customer(BaseModel):
        model_config = ConfigDict(extra="forbid")
        blocked: bool = False

    asks = Action(
        "may_be_contacted", purpose="Tells whether a customer may be contacted", verb="ask", effect="read",
        question=True, input=Customer, output=Archived, relies_on=["objections"],
        executor=lambda _: {"archived": True}, authorize=Grants(anyone=["read"]),
    )  # fmt: skip
    log = Log()
    s = opened(audit=log)
    s.record(made("objections", [], "SOURCE_UNAVAILABLE"))
    reply = run_action(asks, {}, session=s)
    assert (told(reply)["status"], reply.is_error) == ("undetermined", False)
    assert told(reply)["reasons"] == ["EVIDENCE_INCOMPLETE"]
    assert [(e.kind, e.outcome) for e in log.events] == [("decision", "undetermined")]
    s.record(made("objections", []))
    assert told(run_action(asks, {}, session=s))["output"] == {"archived": True, "state": None}


def test_a_reference_of_another_action_is_refused_and_no_part_of_why_is_told() -> None:
    class Close(BaseModel):
        model_config = ConfigDict(extra="forbid")
        case: Token

    seen: list[Any] = []

    def execute(command: Any) -> dict[str, bool]:
        seen.append(command.references)
        return {"archived": True}

    closes = Action(
        "close_case", purpose="Closes a case", verb="close", effect="change", input=Close, output=Archived,
        references={"case": "case"}, max_targets=1, independent="the case is named by its reference",
        executor=execute, authorize=Grants(anyone=["change"]),
    )  # fmt: skip
    s = opened()
    right = reference(s, "case", SENTINEL, action="close_case")
    wrong = [
        reference(s, "case", SENTINEL, action="other"), reference(s, "account", SENTINEL, action="close_case"),
        "ref_" + "A" * 22, reference(session("other", ledger=s.ledger, now=lambda: moment(10)), "case", SENTINEL),
    ]  # fmt: skip
    said = {run_action(closes, {"case": token}, session=s).content for token in wrong}
    assert len(said) == 1
    assert json.loads(said.pop())["error"] == "reference_invalid"
    assert told(run_action(closes, {"case": right}, session=s))["status"] == "done"
    assert [dict(each) for each in seen] == [{"case": SENTINEL}]


def test_what_an_executor_raises_reaches_nobody_but_the_hook() -> None:
    hooked: list[Any] = []
    provider = Provider(dict.fromkeys(IDS, RuntimeError(SENTINEL)))
    s = opened()
    s.record(made("accounts", IDS))
    reply = run_action(archive(provider, diagnostics=hooked.append), ARGS, session=s)
    assert reply.is_error
    assert told(reply)["code"] == "internal"
    assert [str(d.error) for d in hooked] == [SENTINEL] * 3


def test_the_declaration_of_an_action_is_that_of_its_write() -> None:
    spec = write_spec(archive(destructive=True, max_age_s=60, selection=None))
    assert (spec.targets, spec.destructive, spec.max_age_s, spec.max_targets) == ("account_ids", True, 60, 6)
    assert spec.action is not None
