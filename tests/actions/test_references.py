"""References: a token in the place of a value, good for what it was made out for and for nothing else."""

from __future__ import annotations

import datetime as dt
import json
from typing import Annotated, Any

import pytest
from actions.kit import SENTINEL, Archived, Provider, admitted, opened
from pydantic import BaseModel, Field
from unabridged.actions import Action, Grants, ReferenceKind, Rejected, reference
from unabridged.actions.references import resolve
from unabridged.contract import InvalidInput
from unabridged.evidence import MemoryLedger

START = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)


class Notify(BaseModel):
    customer: str
    others: Annotated[list[str], Field(max_length=3)] | None = None
    count: int = 0


def notify(name: str = "notify", executor: Any = None, **changes: Any) -> Action:
    given = {
        "purpose": "Tells a customer.",
        "verb": "notify",
        "effect": "send",
        "input": Notify,
        "output": Archived,
        "references": {"customer": "customer", "others": "customer"},
        "executor": executor or Provider(),
        "max_targets": 1,
        "authorize": Grants(anyone=["send"]),
        **changes,
    }
    return Action(name, **given)


def rejected(action: Action, s: Any, **args: Any) -> Rejected:
    found = action.admit(args, session=s)
    assert isinstance(found, Rejected)
    return found


def test_the_executor_gets_what_a_reference_stands_for_and_the_agent_holds_a_token() -> None:
    provider = Provider()
    action = notify(executor=provider)
    with opened() as s:
        token = reference(s, "customer", {"email": SENTINEL}, action="notify")
        others = [reference(s, "customer", n) for n in (1, 2)]
        outcome = action.perform(admitted(action, {"customer": token, "others": others}, s), session=s)
    assert len(token) <= 64
    assert SENTINEL not in token + json.dumps(outcome.document()) + repr(provider.commands)
    assert provider.commands[0].references == {"customer": {"email": SENTINEL}, "others": [1, 2]}
    assert provider.commands[0].fields == {"count": 0}


def test_nobody_who_holds_the_value_changes_what_a_reference_stands_for() -> None:
    value = {"email": SENTINEL, "tags": ["a"]}
    kinds = {"customer": ReferenceKind("customer")}
    with opened() as s:
        token = reference(s, "customer", value, action="notify")
        value["tags"].append("b")
        for _ in range(2):
            found = resolve(s, kinds, {"customer": token}, action="notify").values["customer"]
            assert found == {"email": SENTINEL, "tags": ["a"]}
            found["tags"].append("c")


def test_a_reference_that_is_not_good_is_refused_and_the_answer_does_not_say_why() -> None:
    ledger, now = MemoryLedger(), [START]
    action = notify()
    with opened("other", ledger=ledger, now=lambda: now[0]) as other:
        foreign = reference(other, "customer", 1)
    with opened(ledger=ledger, now=lambda: now[0]) as s:
        late = reference(s, "customer", 1, ttl_s=10)
        now[0] += dt.timedelta(seconds=11)
        flawed = {
            "another action": reference(s, "customer", 1, action="archive_accounts"),
            "another kind": reference(s, "invoice", 1),
            "another audience": reference(s, ReferenceKind("customer", audience="crm"), 1),
            "another session": foreign,
            "late": late,
            "forged": "ref_" + "A" * 22,
            "no token": SENTINEL,
            "empty": "",
            "a selection": s.tickets.issue("selection", ttl_s=60, payload={"kind": "customer", "value": 1}),
            "without a kind": s.tickets.issue("reference", ttl_s=60, payload=1),
        }
        answers = {json.dumps(rejected(action, s, customer=token).document()) for token in flawed.values()}
        assert len(answers) == 1
        (answer,) = answers
        assert json.loads(answer)["error"] == "reference_invalid"
        assert json.loads(answer)["problems"] == [{"field": "customer", "rule": "is not valid here"}]
        good = reference(s, "customer", 1)
        assert rejected(action, s, customer=good, others=[good, flawed["late"], good]).problems == (
            ("others", "is not valid here"),
        )
        assert rejected(action, None, customer=good).error == "reference_invalid"


def test_a_reference_for_one_audience_is_taken_by_it() -> None:
    kind = ReferenceKind("customer", audience="crm")
    action = notify(references={"customer": kind, "others": kind})
    with opened() as s:
        assert admitted(action, {"customer": reference(s, kind, 1)}, s)


def test_admission_spends_nothing_and_a_run_spends_one_use() -> None:
    provider = Provider()
    action = notify(executor=provider)
    with opened() as s:
        token = reference(s, "customer", 1, uses=1)
        for _ in range(3):
            found = admitted(action, {"customer": token}, s)
        assert action.perform(found, session=s).status == "done"
        assert rejected(action, s, customer=token).error == "reference_invalid"


def test_a_reference_that_ended_after_admission_stops_the_run() -> None:
    provider = Provider()
    action = notify(executor=provider)
    with opened() as s:
        token = reference(s, "customer", 1)
        found = admitted(action, {"customer": token}, s)
        s.tickets._session.ledger.desk.revoke(token)
        outcome = action.perform(found, session=s)
    assert (outcome.status, outcome.code) == ("failed", "reference_invalid")
    assert provider.commands == []


def test_two_tokens_of_one_value_are_one_thing_to_do() -> None:
    provider = Provider()
    action = notify(executor=provider)
    with opened() as s:
        for _ in range(2):
            outcome = action.perform(admitted(action, {"customer": reference(s, "customer", 7)}, s), session=s)
        assert outcome.document() == {"status": "done", "already_done": True}
        action.perform(admitted(action, {"customer": reference(s, "customer", 8)}, s), session=s)
    assert [c.references["customer"] for c in provider.commands] == [7, 8]


@pytest.mark.parametrize("kind", ["", 5, None])
def test_a_kind_has_a_name(kind: Any) -> None:
    with pytest.raises(InvalidInput):
        notify(references={"customer": kind, "others": "customer"})
    with pytest.raises(InvalidInput):
        ReferenceKind("customer", audience="")
