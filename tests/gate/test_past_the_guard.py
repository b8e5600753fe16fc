"""Ways past the guard of a write that its author may not think of: no ids, a selection of many, changes midway."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from audit_kit import Log
from evidence.made_reads import made
from gate.write_cases import IDS, PART, WHOLE, Case, Person, codes, told
from pydantic import BaseModel, Field, RootModel, SecretBytes, SecretStr, field_serializer
from unabridged.actions.approvals import ApprovalStale, Decision, Threshold, approve
from unabridged.gate import FromArgument, WriteSpec
from unabridged.gate.arguments import whole


def select(case: Case, ids: list[str]) -> str:
    result = made(*WHOLE)
    case.session.record(result)
    return str(case.session.tickets.select(result, ids, action="archive"))


@pytest.mark.parametrize("bound", [{"max_targets": 1}, {"recheck": lambda _: True}])
@pytest.mark.parametrize("args", [{}, {"ids": None}, {"ids": []}])
def test_a_write_whose_ids_are_counted_or_looked_at_must_name_them(bound: dict[str, Any], args: dict[str, Any]) -> None:
    case = Case(made(*WHOLE), **bound)
    assert told(case.call(**args))["problems"] == [{"field": "ids", "rule": "must name at least one id"}]
    assert case.ran == []


def test_a_person_cannot_let_a_write_run_that_must_name_its_ids_and_names_none() -> None:
    case = Case(made(*WHOLE), max_targets=1, approval="always", approve=lambda _: True)
    assert told(case.call())["error"] == "invalid_request"
    assert case.ran == []


def test_a_selection_holds_no_more_ids_than_one_call_may_touch() -> None:
    case = Case(max_targets=2, selection="sel")
    assert told(case.call(sel=select(case, IDS)))["error"] == "invalid_request"
    assert case.ran == []
    assert case.call(sel=select(case, IDS[:2])).value == "archived"


def test_a_write_that_relies_on_nothing_still_touches_no_more_ids_than_it_says() -> None:
    case = Case(independent="a test", max_targets=2)
    assert told(case.call(ids=IDS))["error"] == "invalid_request"
    assert case.ran == []
    assert case.call(ids=IDS[:2]).value == "archived"
    assert not WriteSpec(independent="a test", targets="ids", max_targets=2).is_plain


@pytest.mark.parametrize("kind", [tuple, set, frozenset, list])
def test_ids_that_are_narrowed_keep_the_form_in_which_the_tool_takes_them(kind: Any) -> None:
    case = Case(made(*WHOLE), recheck=lambda target: target == IDS[0])
    case.call(ids=kind(IDS[:2]))
    assert case.ran == [{"ids": kind(IDS[:1])}]


def test_ids_that_are_added_while_the_targets_are_looked_at_again_reach_no_body() -> None:
    ids = IDS[:1]

    def recheck(_: str) -> bool:
        ids.append("k4narie-9")
        return True

    case = Case(made(*WHOLE), recheck=recheck)
    assert codes(case.call(ids=ids)) == ["GUARD_FAILED"]
    assert case.ran == []


def test_what_is_read_while_the_targets_are_looked_at_again_counts() -> None:
    def recheck(_: str) -> bool:
        case.session.record(made(*PART))
        return True

    case = Case(made(*WHOLE), recheck=recheck)
    assert codes(case.call(ids=IDS[:1])) == ["EVIDENCE_INCOMPLETE"]
    assert case.ran == []


def test_what_a_person_decided_on_holds_after_the_targets_were_looked_at_again() -> None:
    case = Case(
        made(*PART), recheck=lambda target: target != IDS[0],
        approve=lambda _: Decision.go_ahead(IDS[:2]),
    )  # fmt: skip
    case.call(ids=IDS)
    assert case.ran == [{"ids": [IDS[1]]}]


class Transfer(BaseModel):
    """An argument that keeps a part of itself out of JSON, and masks another."""

    amount: int = Field(exclude=True)
    account: str = "a-1"

    @field_serializer("account")
    def masked(self, _: str) -> str:
        return "***"


def test_a_clock_that_is_set_back_makes_nothing_good_again() -> None:
    """What was too old a minute ago is too old now, whatever the clock says: evidence, a selection, a question."""
    asks = Person(False)
    case = Case(made(*WHOLE), selection="selection", max_age_s=4_000)
    fresh = made("orders", IDS)
    case.session.record(fresh)
    token = str(case.session.tickets.select(fresh, IDS, action="archive", ttl_s=60))
    case.session.approve = asks
    case.clock[0] += timedelta(hours=2)
    assert codes(case.call(selection=token)) == ["SELECTION_INVALID"]
    case.call(ids=IDS)
    case.clock[0] += timedelta(hours=1)
    case.clock[0] -= timedelta(hours=3)
    asks.answer = lambda card: {"decision": "approve", "binding": card.binding}
    assert codes(case.call(selection=token)) == ["SELECTION_INVALID"]
    case.session.approve = None
    assert codes(case.call(ids=IDS)) == ["EVIDENCE_STALE"]
    assert case.ran == []


@dataclass
class Note:
    text: SecretStr


class Names(RootModel[list[str]]):
    """A list, as pydantic's own pages make one."""

    def __iter__(self) -> Any:
        return iter(self.root)


@pytest.mark.parametrize(
    ("shown", "ran"),
    [
        (SecretStr("one"), SecretStr("two")),
        (Transfer(amount=1), Transfer(amount=1_000_000)),
        ([Transfer(amount=1)], [Transfer(amount=1, account="b-2")]),
        ({"note": Note(SecretStr("one"))}, {"note": Note(SecretStr("two"))}),
        ({SecretStr("one")}, {SecretStr("two")}),
        (Names(["a1", "a2"]), Names(["a3", "a2"])),
        (Names(["a12"]), Names(["b12"])),
        (SecretBytes(b"\xff"), SecretBytes(b"\xfe")),
    ],
    ids=["secret", "excluded", "masked", "inside", "set", "pairs", "list", "bytes"],
)
def test_an_approval_is_for_what_an_argument_keeps_to_itself_too(shown: Any, ran: Any) -> None:
    asks = Person(False)
    case = Case(approve=asks, approval="always", independent="it says so", targets=None, show=["what"])
    case.call(what=shown)
    token = approve(case.session, asks.cards[0], True)
    asks.answer = lambda _: token
    assert codes(case.call(what=ran)) == ["APPROVAL_STALE"]
    assert "one" not in json.dumps(asks.cards[0].to_dict())
    assert case.call(what=shown).value == "archived"


def test_a_set_has_one_form_in_every_process() -> None:
    """The order of a set of texts is another one in each process, and an approval or a log may go on in another."""
    names = [f"k-{n}" for n in range(40)]
    assert whole({"names": set(names)}) == {"names": sorted(names)}
    assert whole({frozenset(names): {1.5, 2}, 1: None}) != whole({frozenset(names): {1.5, 3}, 1: None})


def test_a_write_is_restricted_to_what_was_read_of_all_that_it_relies_on() -> None:
    accounts, assignments = made("accounts", [1, 2]), made("assignments", [7, 8], "VISIBILITY_RESTRICTED")
    case = Case(accounts, assignments, approve=Person(Decision.restrict()), relies_on=["accounts", "assignments"])
    assert case.call(ids=[1, 9]).artifact == {"unabridged": {"status": "partial"}}
    assert case.ran == [{"ids": [1]}]


def test_ids_of_other_resources_make_the_share_of_a_write_no_smaller() -> None:
    asks = Person(False)
    half = Threshold(share=0.5)
    case = Case(made("accounts", [1, 2, 3]), made("assignments", list(range(100, 200))), approve=asks, approval=half)
    assert case.call(ids=[1]).passes
    case.call(ids=[1, 2])
    assert (len(asks.cards), len(case.ran)) == (1, 1)


@pytest.mark.parametrize("kept", [False, True])
def test_the_ids_of_another_resource_are_not_taken_for_what_a_write_touches(kept: bool) -> None:
    """Accounts and assignments are known by numbers of their own: 7 of the one is not 7 of the other."""
    asks = Person(False)
    case = Case(
        made("accounts", [1, 2], "VISIBILITY_RESTRICTED"), made("assignments", [7, 8]), approve=asks,
        relies_on=["accounts", "assignments"],
    )  # fmt: skip
    case.call()
    assert asks.cards[0].options == ("go_ahead_for", "abandon")
    if kept:
        with pytest.raises(ApprovalStale):
            approve(case.session, asks.cards[0], Decision.restrict())
    asks.answer = Decision.restrict()
    assert "APPROVAL_STALE" in codes(case.call())
    assert case.ran == []
    asks.answer = Decision.go_ahead([1])
    assert case.call().passes
    assert case.ran == [{"ids": [1]}]


def test_a_session_that_is_erased_while_the_targets_are_looked_at_again_lets_nothing_run() -> None:
    def recheck(_: str) -> bool:
        case.session.erase()
        return True

    case = Case(made(*WHOLE), recheck=recheck)
    assert codes(case.call(ids=IDS[:1])) == ["GUARD_FAILED"]
    assert case.ran == []


class AsyncLog(Log):
    """A sink that must be waited for, which nobody does."""

    async def write(self, event: Any) -> None:  # type: ignore[override]
        self.events.append(event)


def test_a_sink_that_has_not_written_when_it_returns_lets_nothing_run() -> None:
    log = AsyncLog()
    case = Case(made(*WHOLE), audit=log)
    assert told(case.call(ids=IDS))["codes"] == ["GUARD_FAILED"]
    assert case.ran == []
    assert log.events == []


def test_a_declaration_does_not_change_with_the_objects_that_it_was_made_from() -> None:
    filters: dict[str, Any] = {"tenant": FromArgument("tenant")}
    relies_on: list[Any] = [{"resource": "orders", "filters": filters}, "accounts"]
    show = ["ids"]
    case = Case(made("orders", IDS, filters={"tenant": "a"}), relies_on=relies_on, show=show)
    relies_on.pop()
    show.append("secret")
    assert codes(case.call(ids=IDS, tenant="a")) == ["EVIDENCE_MISSING"]
    filters["other"] = FromArgument("other")
    case.session.record(made("accounts", IDS))
    assert case.call(ids=IDS, tenant="a", other="b").value == "archived"
    assert (case.gate.spec.relies_on or ())[1:] == ("accounts",)  # type: ignore[union-attr]
    assert case.gate.spec.show == ("ids",)  # type: ignore[union-attr]
