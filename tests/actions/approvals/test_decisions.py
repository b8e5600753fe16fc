"""What a decision is bound to: question, arguments, ids, evidence, session, time, and one use."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from evidence.made_reads import at as moment
from evidence.made_reads import frozen, made
from gate.write_cases import IDS, PART, WHOLE, Case, Person, codes
from unabridged import session
from unabridged.actions.approvals import ApprovalStale, Card, Decision, Threshold, approve, card_from_dict
from unabridged.actions.approvals.card import binding_of
from unabridged.actions.approvals.questions import Questions
from unabridged.contract import InvalidInput
from unabridged.evidence import MemoryLedger, Session
from unabridged.evidence.sql import SqlLedger
from unabridged.gate import Entered, Reply
from unabridged.gate.boundary import run_body

Wrote = list[dict[str, Any]]


class Paused(Exception):
    """What an approver raises that pauses the run; the call is made again when it goes on."""


class Elsewhere:
    """A person who sits elsewhere: the first call of a question pauses, a later one brings the answer."""

    def __init__(self) -> None:
        self.cards: list[dict[str, Any]] = []
        self.answer: Callable[[], Any] | None = None

    def __call__(self, card: Card) -> Any:
        if self.answer is None:
            self.cards.append(card.to_dict())
            raise Paused
        return self.answer()

    def says(self, decision: str, card: int = -1, **more: Any) -> None:
        answer = {"decision": decision, "binding": self.cards[card]["binding"], **more}
        self.answer = lambda: answer


def asked(case: Case, **args: Any) -> dict[str, Any]:
    """Makes a call that pauses, and returns the card."""
    asks = case.session.approve
    assert isinstance(asks, Elsewhere)
    asks.answer = None
    entered = case.enter(**args)
    assert isinstance(entered, Entered)
    with pytest.raises(Paused):
        run_body(case.gate, entered, lambda: None, interrupts=(Paused,))
    return asks.cards[-1]


def paused(*reads: Any, **spec: Any) -> tuple[Case, Elsewhere]:
    asks = Elsewhere()
    return Case(*reads, approve=asks, **({"destructive": True} | spec)), asks


def test_the_card_is_the_same_when_the_run_goes_on() -> None:
    case, asks = paused(made(*WHOLE))
    first = asked(case, ids=IDS)
    case.clock[0] += timedelta(seconds=60)
    again = asked(case, ids=IDS)
    assert (again["binding"], again["expires_at"]) == (first["binding"], first["expires_at"])
    asks.says("approve", 0)
    assert case.call(ids=IDS).value == "archived"


def test_a_decision_that_was_used_is_used_up() -> None:
    case, asks = paused(made(*WHOLE))
    asked(case, ids=IDS)
    asks.says("approve")
    assert case.call(ids=IDS).value == "archived"
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS))
    assert len(case.ran) == 1
    asked(case, ids=IDS)
    asks.says("approve")
    assert case.call(ids=IDS).value == "archived", "a question that is put anew can be answered anew"


def test_a_no_that_was_given_is_not_answered_by_a_later_yes_to_the_same_card() -> None:
    case, asks = paused(made(*WHOLE))
    asked(case, ids=IDS)
    asks.says("abandon")
    case.call(ids=IDS)
    asks.says("approve", 0)
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS))
    assert case.ran == []


def test_a_decision_that_comes_too_late_approves_nothing() -> None:
    case, asks = paused(made(*WHOLE))
    asked(case, ids=IDS)
    asks.says("approve")
    case.clock[0] += timedelta(seconds=900)
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS))
    assert case.ran == []
    asked(case, ids=IDS)
    asks.says("approve")
    assert case.call(ids=IDS).value == "archived"


def test_one_who_thinks_for_too_long_approves_nothing() -> None:
    case = Case(made(*WHOLE), destructive=True)

    def thinks(_: Card) -> bool:
        case.clock[0] += timedelta(seconds=901)
        return True

    case.session.approve = thinks
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS))
    assert case.ran == []


@pytest.mark.parametrize("other", [IDS[:2], [*IDS[:2], "k4narie-9"], [*reversed(IDS)][:1], None])
def test_a_decision_about_some_ids_is_none_about_others(other: Any) -> None:
    case, asks = paused(made("orders", [*IDS, "k4narie-9"]), recheck=lambda _: True, approval="always")
    asked(case, ids=IDS)
    asks.says("approve")
    assert "APPROVAL_STALE" in codes(case.call(ids=other) if other is not None else case.call())
    assert case.ran == []


def test_the_same_ids_in_another_order_and_as_another_number_are_the_same_question() -> None:
    case, asks = paused(frozen("orders", [1, 2]), approval="always")
    asked(case, ids=[1, 2])
    asks.says("approve")
    assert case.call(ids=[2, 1.0]).value == "archived"


@pytest.mark.parametrize(
    ("shown", "ran"),
    [({"n": 1}, {"n": True}), ({"n": 1}, {"n": "1"}), ({"n": 0}, {"n": False}), ({"n": None}, {"n": "null"}),
     ({"n": {"a": [1, {"b": 2}]}}, {"n": {"a": [1, {"b": 3}]}}), ({"n": [1, 2]}, {"n": [2, 1]}),
     ({"n": "\u00e9"}, {"n": "e\u0301"}), ({"n": "a"}, {"n": "\u0430"}), ({"n": "a"}, {"n": "a "}),
     ({"n": 1}, {"m": 1}), ({"n": 1}, {}), ({}, {"n": None}), ({"n": 2**53}, {"n": 2**53 + 1})],
)  # fmt: skip
def test_a_decision_about_some_arguments_is_none_about_others(shown: Any, ran: Any) -> None:
    case, asks = paused(frozen(*WHOLE), approval="always")
    asked(case, ids=IDS, **shown)
    asks.says("approve")
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS, **ran))
    case.session.approve = Person(False)
    case.call(ids=IDS, **shown)
    token = approve(case.session, case.session.approve.cards[0], True)
    case.session.approve = Person(token)
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS, **ran))
    assert case.ran == []
    assert case.call(ids=IDS, **shown).value == "archived"


@pytest.mark.parametrize(("shown", "ran"), [({"n": 1}, {"n": 1.0}), ({"a": 1, "b": 2}, {"b": 2, "a": 1})])
def test_arguments_that_are_equal_as_json_are_the_same_question(shown: Any, ran: Any) -> None:
    case, asks = paused(frozen(*WHOLE), approval="always")
    asked(case, ids=IDS, **shown)
    asks.says("approve")
    assert case.call(ids=IDS, **ran).value == "archived"


def test_a_filter_that_is_a_number_is_not_one_that_is_its_text() -> None:
    with session("filters", ledger=MemoryLedger()) as s:
        values = [1, "1", True, "True", None, "None", [1], ["1"], "[1]", 1.5, "1.5"]
        reads = [s.record(made(*WHOLE, filters={"n": value})) for value in values]
        same = [s.record(made(*WHOLE, filters={"n": value})) for value in (1.0, [1.0])]
        found = [binding_of(s, action="archive", args={}, targets_arg=None, reads=[r]) for r in [*reads, *same]]
    assert len(set(found)) == len(values)
    assert found[-2:] == [found[0], found[6]]


def test_a_card_of_one_session_is_not_answered_in_another() -> None:
    asks = Elsewhere()
    case = Case(made(*WHOLE), destructive=True, approve=asks)
    asked(case, ids=IDS)
    asks.says("approve")
    other = session("other", ledger=case.ledger, now=lambda: moment(10), approve=asks)
    other.record(made(*WHOLE))
    entered = case.gate.enter({"ids": IDS}, session=other)
    assert isinstance(entered, Entered)
    assert "APPROVAL_STALE" in codes(run_body(case.gate, entered, lambda: case.ran.append({})))
    with pytest.raises(ApprovalStale):
        approve(other, card_from_dict(asks.cards[0]), True)
    assert case.ran == []


def test_a_card_of_one_process_is_not_answered_in_another() -> None:
    """A memory ledger's key is its own: what another process was shown opens nothing here."""
    case, asks = paused(made(*WHOLE))
    asked(case, ids=IDS)
    card = asks.cards[0]
    other, there = paused(made(*WHOLE))
    there.answer = lambda: {"decision": "approve", "binding": card["binding"]}
    assert "APPROVAL_STALE" in codes(other.call(ids=IDS))
    assert other.ran == []


def test_two_calls_of_one_turn_are_two_questions() -> None:
    asks = Elsewhere()
    case = Case(made(*WHOLE), destructive=True, approve=asks)
    for call_id in ("c1", "c2"):
        entered = case.gate.enter({"ids": IDS}, session=case.session, call_id=call_id)
        assert isinstance(entered, Entered)
        with pytest.raises(Paused):
            run_body(case.gate, entered, lambda: None, interrupts=(Paused,))
    first, second = (card["binding"] for card in asks.cards)
    assert first != second
    asks.says("approve", 0)
    entered = case.gate.enter({"ids": IDS}, session=case.session, call_id="c2")
    assert isinstance(entered, Entered)
    assert "APPROVAL_STALE" in codes(run_body(case.gate, entered, lambda: case.ran.append({})))
    assert case.ran == []


def test_an_approver_that_changes_the_arguments_or_the_card_changes_nothing_that_is_approved() -> None:
    for change in ("path", "ids", "options"):
        ids, path = list(IDS[:2]), {"at": "/tmp/a"}

        def meddles(card: Card, ids: list[str] = ids, path: dict[str, str] = path, change: str = change) -> Any:
            if change == "path":
                path["at"] = "/data"
            elif change == "ids":
                ids.append(IDS[2])
            else:
                object.__setattr__(card, "options", ("approve",))
            return True

        case = Case(made(*(PART if change == "options" else WHOLE)), destructive=True, approve=meddles)
        assert "APPROVAL_STALE" in codes(case.call(ids=ids, path=path))
        assert case.ran == []


def test_arguments_that_change_while_a_person_names_ids_are_not_approved_either() -> None:
    path = {"at": "/tmp/a"}

    def meddles(_: Card) -> Decision:
        path["at"] = "/data"
        return Decision.go_ahead(IDS[:1])

    case = Case(made(*PART), approve=meddles)
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS, path=path))
    assert case.ran == []


@pytest.mark.parametrize("decision", [Decision.restrict(), Decision.go_ahead(IDS[:1])])
def test_evidence_that_changes_while_a_person_narrows_the_write_asks_again(decision: Decision) -> None:
    case = Case(made(*PART))

    def thinks(_: Card) -> Decision:
        case.session.record(made("orders", ["k4narie-8", "k4narie-9"], "VISIBILITY_RESTRICTED"))
        return decision

    case.session.approve = thinks
    assert "APPROVAL_STALE" in codes(case.call())
    assert case.ran == []


@pytest.mark.parametrize(
    "ids",
    [["k4narie-1", 1], [True], [None], [[1]], [{"a": 1}], [float("nan")], [], "k4narie-1", {"k4narie-1": 1}, 7],
)
def test_what_are_no_ids_of_the_write_lets_nothing_run(ids: Any) -> None:
    case, asks = paused(made(*PART), destructive=False)
    asked(case, ids=IDS)
    asks.says("go_ahead_for", ids=ids)
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS))
    assert case.ran == []


@pytest.mark.parametrize(("known", "named"), [([1, 2], ["1"]), (["1", "2"], [1]), ([1, 2], [1, "2"])])
def test_ids_of_another_type_than_those_that_were_read_let_nothing_run(known: Any, named: Any) -> None:
    case, asks = paused(made("orders", known, "VISIBILITY_RESTRICTED"), destructive=False)
    for args in ({}, {"ids": known}):
        asked(case, **args)
        asks.says("go_ahead_for", ids=named)
        assert "APPROVAL_STALE" in codes(case.call(**args))
    assert case.ran == []


def test_ids_that_are_named_twice_are_touched_once_and_count_once() -> None:
    case = Case(made(*PART), max_targets=1, approve=Person(Decision.go_ahead([IDS[0], IDS[0]])))
    assert case.call().value == "archived"
    assert case.ran == [{"ids": IDS[:1]}]


@pytest.mark.parametrize("decision", [Decision.go_ahead(IDS), Decision.restrict()])
def test_a_person_cannot_let_more_be_touched_than_a_call_may(decision: Decision) -> None:
    case = Case(made(*PART), max_targets=2, approve=Person(decision))
    assert "APPROVAL_STALE" in codes(case.call())
    assert case.ran == []


def test_a_kept_approval_to_restrict_is_for_no_more_records_than_were_read_then() -> None:
    asks = Person(False)
    case = Case(made(*PART), approve=asks)
    case.call()
    token = approve(case.session, asks.cards[0], Decision.restrict())
    case.session.record(made("orders", [f"k4narie-{n}" for n in range(9)], "VISIBILITY_RESTRICTED"))
    asks.answer = token
    assert "APPROVAL_STALE" in codes(case.call())
    assert case.ran == []


def test_an_empty_list_of_ids_is_everything_for_a_threshold_too() -> None:
    asks = Person(False)
    case = Case(frozen(*WHOLE), approval=Threshold(count=2), approve=asks)
    case.call(ids=[])
    assert [card.targets for card in asks.cards] == [None]
    assert case.ran == []


@pytest.mark.parametrize(
    "numbers",
    [{}, {"count": -1}, {"count": True}, {"count": 1.5}, {"share": -0.1}, {"share": 1.1}, {"share": True},
     {"share": float("nan")}, {"share": "a"}],
)  # fmt: skip
def test_a_threshold_that_is_none_is_refused(numbers: Any) -> None:
    with pytest.raises(InvalidInput):
        Threshold(**numbers)


def test_a_threshold_of_nothing_read_is_exceeded_by_one() -> None:
    assert Threshold(share=1.0).is_exceeded(1, known=0)
    assert not Threshold(share=1.0).is_exceeded(1, known=1)
    assert not Threshold(count=0, share=1.0).is_exceeded(1, known=1)
    assert Threshold(count=0).is_exceeded(1, known=1)
    assert Threshold(count=10**9).is_exceeded(None, known=10**9)


def test_a_selection_and_an_approval_are_both_needed_and_both_spent() -> None:
    asks = Person(False)
    case = Case(selection="selection", approval="always", approve=asks)
    with case.session:
        chosen = str(frozen(*WHOLE).select(IDS[:2], action="archive"))
    case.call(selection=chosen)
    (card,) = asks.cards
    assert (card.targets, case.ran) == (2, [])
    token = approve(case.session, card, True)
    asks.answer = token
    assert case.call(selection=chosen).value == "archived", "what was not approved spent no selection"
    assert codes(case.call(selection=chosen)) == ["SELECTION_INVALID"]
    with case.session:
        other = str(frozen(*WHOLE).select(IDS, action="archive"))
    assert "APPROVAL_STALE" in codes(case.call(selection=other))
    assert [r["ids"] for r in case.ran] == [IDS[:2]]


def test_destruction_that_is_approved_is_looked_at_again_all_the_same() -> None:
    asks = Person(Decision.go_ahead(IDS[:2]))
    seen: list[str] = []

    def recheck(target: str) -> bool:
        seen.append(target)
        return target != IDS[0]

    case = Case(made(*WHOLE), destructive=True, approval="always", recheck=recheck, approve=asks)
    assert json.loads(case.call(ids=IDS).content)["status"] == "partial"
    assert seen == IDS[:2], "only what was approved is looked at"
    assert case.ran == [{"ids": [IDS[1]]}]


def test_a_write_that_relies_on_nothing_may_want_a_persons_word_too() -> None:
    asks = Person(True)
    case = Case(independent="tells the operators", targets=None, approval="always", approve=asks)
    assert case.call(text="k4narie").value == "archived"
    assert [(c.scope, c.known, c.freshness) for c in asks.cards] == [((), 0, None)]
    asks.answer = False
    case.call(text="k4narie")
    assert len(case.ran) == 1
    entered = case.gate.enter({"text": "x"}, session=None)
    assert not isinstance(entered, Entered), "without a session nobody can be asked"


@pytest.mark.parametrize("ids", ["k4narie-1", b"k", {"k4narie-1": 1}, 7])
def test_a_text_is_no_list_of_ids(ids: Any) -> None:
    for made_of in (Decision.go_ahead, lambda given: Decision("go_ahead_for", given)):
        with pytest.raises(InvalidInput, match="must be a list of ids") as caught:
            made_of(ids)
        assert "k4narie" not in str(caught.value)


def test_ids_that_were_decided_on_do_not_change_any_more() -> None:
    ids = ["k4narie-1"]
    for decision in (Decision.go_ahead(ids), Decision("go_ahead_for", ids)):  # type: ignore[arg-type]
        ids.append("k4narie-2")
        assert decision.ids == ("k4narie-1",)
        ids.pop()


@pytest.mark.parametrize(
    "changes",
    [{"targets": 100}, {"targets": None}, {"options": ("approve",)}, {"subject": "0" * 64}, {"known": 10**6},
     {"expires_at": moment(10**6)}, {"action": "delete"}, {"purpose": "All is well."},
     *({"seal": seal} for seal in ("", "\u00e9", "\ud800", None, 7, b"0"))],
)  # fmt: skip
def test_a_card_that_was_changed_on_its_way_cannot_be_approved(changes: Any) -> None:
    asks = Person(False)
    case = Case(made(*WHOLE), destructive=True, approve=asks)
    case.call(ids=IDS)
    assert approve(case.session, asks.cards[0], True)
    with pytest.raises(ApprovalStale):
        approve(case.session, replace(asks.cards[0], **changes), True)


def test_a_card_that_has_lapsed_cannot_be_approved() -> None:
    asks = Person(False)
    case = Case(made(*WHOLE), destructive=True, approve=asks)
    case.call(ids=IDS)
    case.clock[0] += timedelta(seconds=900)
    with pytest.raises(ApprovalStale):
        approve(case.session, asks.cards[0], True)


@pytest.mark.parametrize("token", ["apr_" + "A" * 22, "sel_" + "A" * 22, "", "apr_", "\ud800"])
def test_a_token_that_was_not_given_out_approves_nothing(token: str) -> None:
    case = Case(made(*WHOLE), destructive=True, approve=Person(token))
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS))
    assert case.ran == []


def test_a_token_for_one_action_approves_no_other_and_a_selection_is_no_approval() -> None:
    asks = Person(False)
    case = Case(made(*WHOLE), destructive=True, approve=asks)
    case.call(ids=IDS)
    token = approve(case.session, asks.cards[0], True)
    case.gate = replace(case.gate, name="delete")
    asks.answer = token
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS))
    case.gate = replace(case.gate, name="archive")
    with case.session:
        asks.answer = str(made(*WHOLE).select(IDS, action="archive"))
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS))
    asks.answer = token
    assert case.call(ids=IDS).value == "archived", "what was refused has spent nothing"


def test_of_two_that_present_one_approval_at_once_one_writes() -> None:
    asks = Person(False)
    case = Case(made(*WHOLE), destructive=True, approve=asks)
    case.call(ids=IDS)
    token = approve(case.session, asks.cards[0], True)
    asks.answer = token
    entered = [case.enter(ids=IDS), case.enter(ids=IDS)]
    replies = [run_body(case.gate, e, lambda: case.ran.append({})) for e in entered if isinstance(e, Entered)]
    assert [reply.passes for reply in replies] == [True, False]
    assert len(case.ran) == 1


def test_questions_are_forgotten_in_the_order_in_which_they_were_last_asked() -> None:
    kept = Questions(most=2)
    for name in ("a", "b", "a", "c"):
        kept.ask(name, until=moment(1))
        kept.answer(name, number=kept.look(name)[0])
    assert [kept.look(name)[0] for name in "abc"] == [2, 0, 1]
    assert not kept.answer("a", number=0)


def test_a_sql_ledger_lets_another_worker_go_on_and_spend_an_approval_once(tmp_path: Path) -> None:
    """Both have the key and the evidence; what is asked there is what was asked here."""
    workers = [SqlLedger(f"sqlite:///{tmp_path / 'shared.db'}", key=b"k" * 32, shared=False) for _ in range(2)]
    asks = [Person(False), Person(False)]
    sessions = [
        session("shared", ledger=ledger, now=lambda: moment(10), approve=ask)
        for ledger, ask in zip(workers, asks, strict=True)
    ]
    case = Case(destructive=True)
    sessions[0].record(made(*WHOLE, filters={"status": "open"}))

    def call(s: Session) -> Reply:
        entered = case.gate.enter({"ids": IDS}, session=s, call_id="c1")
        return entered if isinstance(entered, Reply) else run_body(case.gate, entered, lambda: case.ran.append({}))

    for s in sessions:
        call(s)
    here, there = asks[0].cards[0], asks[1].cards[0]
    assert here.subject == there.subject
    token = approve(sessions[1], card_from_dict(here.to_dict()), True)
    for ask in asks:
        ask.answer = token
    assert [call(s).passes for s in (sessions[1], sessions[0], sessions[1])] == [True, False, False]
    assert len(case.ran) == 1
