"""What stands between the leave to write and the write: a person, a ticket, a second look, and a line in the log."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from audit_kit import Log
from evidence.made_reads import at as moment
from evidence.made_reads import frozen, made, page
from gate.write_cases import IDS, PART, WHOLE, Case, Person, codes, inside_a_loop, told
from unabridged import session
from unabridged.actions.approvals import ApprovalStale, Card, Decision, Threshold, approve
from unabridged.contract import InvalidInput, RetryWithDeadline, new_handle
from unabridged.gate import Entered, Turn
from unabridged.gate.boundary import run_body


def test_a_selection_gives_the_write_its_targets_once() -> None:
    case = Case(selection="selection", relies_on=["orders"])
    with case.session:
        token = str(made(*WHOLE).select(IDS[:2], action="archive"))
    assert case.call(selection=token).value == "archived"
    assert case.ran == [{"selection": token, "ids": IDS[:2]}]
    assert codes(case.call(selection=token)) == ["SELECTION_INVALID"]
    assert len(case.ran) == 1


def test_a_part_of_a_selection_may_be_written_and_a_refused_call_spends_nothing() -> None:
    case = Case(selection="selection", relies_on=["orders"])
    with case.session:
        token = str(made(*WHOLE).select(IDS[:2], action="archive"))
    assert codes(case.call(selection=token, ids=IDS)) == ["SELECTION_INVALID"]
    assert case.call(selection=token, ids=IDS[:1]).value == "archived"
    assert case.ran == [{"selection": token, "ids": IDS[:1]}]


@pytest.mark.parametrize("token", ["sel_" + "A" * 22, "", 7, ["k4narie"], {"k4narie": 1}])
def test_what_is_no_selection_of_this_session_is_refused(token: Any) -> None:
    case = Case(made(*WHOLE), selection="selection")
    assert codes(case.call(selection=token, ids=IDS)) == ["SELECTION_INVALID"]
    assert case.ran == []


def test_a_selection_for_another_action_or_of_another_session_is_refused() -> None:
    case = Case(selection="selection")
    with case.session:
        other = str(made(*WHOLE).select(IDS, action="delete"))
    with session("other", ledger=case.ledger, now=lambda: moment(10)):
        foreign = str(made(*WHOLE).select(IDS, action="archive"))
    for token in (other, foreign):
        assert codes(case.call(selection=token)) == ["SELECTION_INVALID"]


def test_two_that_present_one_selection_at_once_write_once() -> None:
    case = Case(selection="selection")
    with case.session:
        token = str(made(*WHOLE).select(IDS, action="archive"))
    first, second = case.enter(selection=token), case.enter(selection=token)
    assert isinstance(first, Entered)
    assert isinstance(second, Entered)
    assert run_body(case.gate, first, lambda: "archived").passes
    assert codes(run_body(case.gate, second, lambda: case.ran.append(1))) == ["SELECTION_INVALID"]
    assert case.ran == []


@pytest.mark.parametrize("call", [Case.call, Case.acall])
def test_a_recheck_lets_the_write_go_ahead_for_those_that_still_hold(call: Any) -> None:
    case = Case(made(*WHOLE), destructive=True, recheck=lambda target: target != IDS[1])
    reply = call(case, ids=IDS)
    assert case.ran == [{"ids": [IDS[0], IDS[2]]}]
    document = json.loads(reply.content)
    assert (document["status"], document["done"], document["not_done"]) == ("partial", 2, 1)
    assert document["left_out"] == [{"target": IDS[1], "code": "RECHECK_FAILED"}]
    assert document["result"] == "archived"


def test_an_async_recheck_is_waited_for_and_refuses_where_nothing_can_wait() -> None:
    async def holds(target: str) -> bool:
        return target == IDS[0]

    case = Case(made(*WHOLE), destructive=True, recheck=holds)
    for call in (case.acall, case.call):
        assert json.loads(call(ids=IDS).content)["done"] == 1
    assert codes(inside_a_loop(case)) == ["RECHECK_FAILED"]
    assert case.ran == [{"ids": IDS[:1]}] * 2


@pytest.mark.parametrize("answer", [False, None, "yes", 1, KeyError("k4narie")])
def test_a_target_that_does_not_hold_for_certain_is_not_written(answer: Any) -> None:
    def recheck(_: str) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    case = Case(made(*WHOLE), recheck=recheck)
    assert codes(case.call(ids=IDS)) == ["RECHECK_FAILED"]
    assert case.ran == []


def test_a_target_that_is_no_token_is_told_by_its_position() -> None:
    ids = ["a b k4narie", "o-2"]
    case = Case(made("orders", ids), recheck=lambda target: target == "o-2")
    assert told(case.call(ids=ids))["left_out"] == [{"target": "#1", "code": "RECHECK_FAILED"}]


def test_a_destructive_write_on_an_interval_is_a_question_for_a_person() -> None:
    asks = Person(True)
    case = Case(made(*WHOLE), destructive=True, approve=asks)
    assert case.call(ids=IDS).value == "archived"
    (card,) = asks.cards
    assert card.options == ("approve", "go_ahead_for", "abandon")
    assert (card.codes, card.targets, card.known, card.scope) == (("EVIDENCE_WEAK",), 3, 3, ("orders",))
    assert "k4narie" not in json.dumps(card.to_dict())


def test_without_a_person_it_is_refused() -> None:
    case = Case(made(*WHOLE), destructive=True)
    assert codes(case.call(ids=IDS)) == ["EVIDENCE_WEAK"]


def test_a_routine_continuation_asks_nobody() -> None:
    asks = Person(True)
    case = Case(approve=asks)
    case.session.record(page("orders", IDS))
    assert told(case.call())["options"][0] == "continue_read"
    assert asks.cards == []


@pytest.mark.parametrize("call", [Case.call, Case.acall])
def test_one_who_approves_everything_lets_no_write_run_on_what_was_not_read(call: Any) -> None:
    asks = Person(True)
    case = Case(made(*PART), approve=asks)
    reply = call(case)
    assert codes(reply) == ["EVIDENCE_INCOMPLETE", "APPROVAL_STALE"]
    assert case.ran == []
    (card,) = asks.cards
    assert "approve" not in card.options
    assert [(u.resource, u.status, u.codes) for u in card.unread] == [("orders", "partial", ("VISIBILITY_RESTRICTED",))]


def test_a_person_may_restrict_a_write_to_what_was_returned() -> None:
    case = Case(made(*PART), approve=Person(Decision.restrict()))
    assert case.call().value == "archived"
    assert case.ran == [{"ids": IDS}]
    document = json.loads(case.call(ids=[IDS[0], "k4narie-9"]).content)
    assert case.ran[1] == {"ids": [IDS[0]]}
    assert (document["status"], document["done"], document["not_done"]) == ("partial", 1, 1)
    assert document["left_out"] == [{"target": "k4narie-9", "code": "NOT_APPROVED"}]
    assert document["result"] == "archived"


def test_what_was_not_approved_and_what_did_not_hold_are_told_apart() -> None:
    case = Case(made(*PART), approve=Person(Decision.go_ahead(IDS[:2])), recheck=lambda target: target != IDS[0])
    document = json.loads(case.call(ids=IDS).content)
    assert case.ran == [{"ids": [IDS[1]]}]
    assert document["left_out"] == [
        {"target": IDS[0], "code": "RECHECK_FAILED"}, {"target": IDS[2], "code": "NOT_APPROVED"},
    ]  # fmt: skip


def test_a_person_may_name_the_ids_that_a_write_goes_ahead_for() -> None:
    case = Case(made(*PART), approve=Person(Decision.go_ahead([IDS[1]])))
    assert case.call().value == "archived"
    assert case.ran == [{"ids": [IDS[1]]}]
    assert "APPROVAL_STALE" in codes(case.call(ids=[IDS[0]])), "an id that the write did not name"


@pytest.mark.parametrize(
    ("decision", "options", "note"),
    [(Decision.abandon(), ["abandon"], "It was decided"), (False, ["abandon"], "It was decided")],
)
def test_a_no_is_a_no(decision: Any, options: list[str], note: str) -> None:
    case = Case(made(*WHOLE), destructive=True, approve=Person(decision))
    document = told(case.call(ids=IDS))
    assert document["options"] == options
    assert note in document["message"]
    assert case.ran == []


def test_a_person_may_have_the_read_tried_again_with_more_time() -> None:
    late = made(
        "orders", IDS, "TIME_BUDGET_EXCEEDED:max_seconds",
        continuation=RetryWithDeadline(handle=new_handle(), seconds=20),
    )  # fmt: skip
    asks = Person(Decision.retry(30))
    case = Case(late, approve=asks)
    document = told(case.call())
    assert (document["options"], document["deadline_s"]) == (["retry_with_deadline", "abandon"], 30)
    assert [card.options for card in asks.cards] == [
        ("retry_with_deadline", "restrict_to_returned", "go_ahead_for", "abandon")
    ]
    assert case.ran == []


@pytest.mark.parametrize(
    "answer",
    ["no token", 7, [], {"decision": "approve"}, {"decision": "approve", "binding": "other"}, {"binding": "x"},
     {"decision": "approve", "binding": 1, "k4narie": 2}],
)  # fmt: skip
def test_an_answer_that_is_no_decision_about_this_card_lets_nothing_run(answer: Any) -> None:
    case = Case(made(*WHOLE), destructive=True, approve=Person(answer))
    assert codes(case.call(ids=IDS)) == ["EVIDENCE_WEAK", "APPROVAL_STALE"]
    assert case.ran == []


def test_whoever_runs_it_is_told_why_an_answer_counts_for_nothing(caplog: pytest.LogCaptureFixture) -> None:
    Case(made(*WHOLE), destructive=True, approve=Person({"decision": "approve"})).call(ids=IDS)
    assert "decision.binding: must be that of the card" in caplog.text
    assert "k4narie" not in caplog.text


def test_an_approver_that_fails_lets_nothing_run_and_its_error_is_not_told() -> None:
    def fails(_: Card) -> Any:
        raise RuntimeError("k4narie")

    case = Case(made(*WHOLE), destructive=True, approve=fails)
    assert codes(case.call(ids=IDS)) == ["GUARD_FAILED"]
    assert case.ran == []


def test_an_async_approver_is_waited_for_and_refuses_where_nothing_can_wait() -> None:
    async def decides(_: Card) -> bool:
        return True

    case = Case(made(*WHOLE), destructive=True, approve=decides)
    for call in (case.acall, case.call):
        assert call(ids=IDS).value == "archived"
    assert codes(inside_a_loop(case)) == ["GUARD_FAILED"]
    assert len(case.ran) == 2


def test_what_changes_while_a_person_thinks_makes_the_approval_stale() -> None:
    case = Case(made(*WHOLE), destructive=True)

    def thinks(_: Card) -> bool:
        case.session.record(made(*PART))
        return True

    case.session.approve = thinks
    assert codes(case.call(ids=IDS)) == ["EVIDENCE_INCOMPLETE", "EVIDENCE_WEAK", "APPROVAL_STALE"]
    assert case.ran == []


def test_a_write_may_want_a_persons_word_on_good_evidence_too() -> None:
    case = Case(frozen(*WHOLE), approval="always")
    assert codes(case.call(ids=IDS)) == ["APPROVAL_STALE"], "nobody is there to ask"
    asks = Person(True)
    case = Case(frozen(*WHOLE), approval="always", approve=asks)
    assert case.call(ids=IDS).value == "archived"
    assert [c.codes for c in asks.cards] == [()]


@pytest.mark.parametrize(
    ("threshold", "targets", "asked"),
    [({"count": 2}, 2, False), ({"count": 2}, 3, True), ({"share": 0.5}, 5, False), ({"share": 0.5}, 6, True),
     ({"count": 10, "share": 0.1}, 9, False), ({"count": 5, "share": 0.9}, 6, False)],
)  # fmt: skip
def test_a_threshold_asks_only_over_both_of_its_numbers(threshold: Any, targets: int, asked: bool) -> None:
    ids = [f"o-{n}" for n in range(10)]
    asks = Person(True)
    case = Case(frozen("orders", ids), approval=Threshold(**threshold), approve=asks)
    assert case.call(ids=ids[:targets]).value == "archived"
    assert bool(asks.cards) == asked


def test_deletions_by_absence_are_withheld_and_their_approval_is_a_ceiling() -> None:
    """R44: 100 are indexed, a listing holds none of them, and the approval of 12 does not carry 40."""
    indexed = [f"o-{n}" for n in range(100)]
    asks = Person(None)
    case = Case(frozen("index", indexed), relies_on=["index"], approval=Threshold(count=10, share=0.1), approve=asks)
    asks.answer = False
    assert told(case.call(ids=indexed))["verdict"] == "refuse"
    assert asks.cards[-1].targets == 100
    kept: list[str] = []

    def keep(card: Card) -> bool:
        kept.append(approve(case.session, card, True))
        return False

    asks.answer = keep
    case.call(ids=indexed[:12])
    asks.answer = lambda _: kept[0]
    assert "APPROVAL_STALE" in codes(case.call(ids=indexed[:40])), "more than was approved asks again"
    assert case.ran == []
    assert case.call(ids=indexed[:9]).value == "archived", "9 are under the threshold"
    assert case.call(ids=indexed[:11]).value == "archived", "11 are under the ceiling"
    assert "APPROVAL_STALE" in codes(case.call(ids=indexed[:11])), "an approval is used once"


def test_an_approval_is_for_the_arguments_that_were_shown() -> None:
    """R48: the path was changed after it was approved."""
    asks = Person(False)
    case = Case(frozen(*WHOLE), approval="always", approve=asks, show=["path"], targets=None)
    case.call(path="/tmp/a")
    (card,) = asks.cards
    assert [(p.name, p.shown) for p in card.parameters] == [("path", "/tmp/a")]
    token = approve(case.session, card, True)
    asks.answer = lambda _: token
    assert codes(case.call(path="/data/a")) == ["APPROVAL_STALE"]
    assert case.call(path="/tmp/a").value == "archived"


def test_an_approval_expires_and_holds_in_its_session_only() -> None:
    asks = Person(False)
    case = Case(frozen(*WHOLE), approval="always", approve=asks)
    case.call(ids=IDS)
    token = approve(case.session, asks.cards[0], True, ttl_s=60)
    other = session("other", ledger=case.ledger, now=lambda: case.clock[0], approve=lambda _: token)
    other.record(frozen(*WHOLE))
    entered = case.gate.enter({"ids": IDS}, session=other)
    assert isinstance(entered, Entered)
    assert codes(run_body(case.gate, entered, lambda: case.ran.append(1))) == ["APPROVAL_STALE"]
    case.clock[0] += timedelta(seconds=61)
    asks.answer = lambda _: token
    assert codes(case.call(ids=IDS)) == ["APPROVAL_STALE"]
    assert case.ran == []


def test_a_decision_that_the_card_does_not_offer_cannot_be_kept() -> None:
    asks = Person(False)
    case = Case(made(*PART), approve=asks)
    case.call()
    with pytest.raises(ApprovalStale):
        approve(case.session, asks.cards[0], True)
    with pytest.raises(InvalidInput):
        Decision("approve", ids=("a",))


def test_no_more_ids_are_touched_than_a_write_says() -> None:
    case = Case(made(*WHOLE), max_targets=2)
    assert told(case.call(ids=IDS))["problems"] == [{"field": "ids", "rule": "names more ids than one call may touch"}]
    assert case.call(ids=IDS[:2]).value == "archived"


def test_a_write_that_ran_has_an_intent_before_it_and_an_outcome_after_it() -> None:
    log = Log()
    case = Case(made(*WHOLE), audit=log)

    def runs() -> str:
        assert log.kinds == ["intent"]
        return "archived"

    assert case.call(ids=IDS, runs=runs).value == "archived"
    intent, outcome = log.events
    assert (intent.kind, outcome.kind, intent.ref) == ("intent", "outcome", outcome.ref)
    assert (intent.verdict, intent.fields, outcome.outcome, outcome.done) == ("allow", ("ids",), "done", 3)
    assert len(intent.reads) == 1
    assert set(intent.digests) == {"args", "targets"}
    assert "k4narie" not in repr(log.events)


def test_a_write_whose_intent_cannot_be_written_does_not_run() -> None:
    case = Case(made(*WHOLE), audit=Log("intent"))
    assert codes(case.call(ids=IDS)) == ["GUARD_FAILED"]
    assert case.ran == []


def test_an_outcome_that_cannot_be_written_is_no_refusal_of_what_was_done() -> None:
    log = Log("outcome")
    case = Case(made(*WHOLE), audit=log)
    assert case.call(ids=IDS).value == "archived"
    assert log.kinds == ["intent"], "the open intent tells of it"


@pytest.mark.parametrize(
    ("error", "outcome"), [(RuntimeError("k4narie"), "failed"), (KeyboardInterrupt(), "cancelled")]
)
def test_a_body_that_brings_nothing_has_its_outcome_too(error: BaseException, outcome: str) -> None:
    log = Log()
    case = Case(made(*WHOLE), audit=log)

    def fails() -> Any:
        raise error

    if isinstance(error, Exception):
        case.call(ids=IDS, runs=fails)
    else:
        with pytest.raises(KeyboardInterrupt):
            case.call(ids=IDS, runs=fails)
    assert [(e.kind, e.outcome) for e in log.events] == [("intent", None), ("outcome", outcome)]


def test_every_refusal_leaves_one_decision() -> None:
    log = Log()
    case = Case(made(*PART), audit=log)
    case.call()
    case.gate.enter({"ids": {"k4narie": 1}}, session=case.session)
    assert [(e.kind, e.verdict, e.codes, e.outcome) for e in log.events] == [
        ("decision", "refuse", ("EVIDENCE_INCOMPLETE",), "refused"),
        ("decision", "refuse", (), "invalid_request"),
    ]


def test_a_refusal_stands_also_where_it_cannot_be_written_down() -> None:
    case = Case(made(*PART), audit=Log("decision"))
    assert codes(case.call()) == ["EVIDENCE_INCOMPLETE"]


def test_an_approval_says_what_kind_of_approver_it_was() -> None:
    log = Log()
    case = Case(made(*WHOLE), destructive=True, audit=log, approve=Person(Decision.approve(by="policy")))
    case.call(ids=IDS)
    assert [(e.kind, e.approver) for e in log.events] == [("approval", "policy"), ("intent", None), ("outcome", None)]


def test_an_independent_write_is_written_down_with_its_reason() -> None:
    log = Log()
    case = Case(independent="free text, names no record", targets=None, audit=log)
    assert case.call(text="k4narie").value == "archived"
    assert {e.why for e in log.events} == {"free text, names no record"}
    assert "k4narie" not in repr(log.events)


def test_the_turn_brings_what_the_session_does_not_say() -> None:
    log = Log()
    case = Case(made(*WHOLE), destructive=True)
    entered = case.gate.enter({"ids": IDS}, session=case.session, turn=Turn(approve=lambda _: True, audit=log))
    assert isinstance(entered, Entered)
    assert run_body(case.gate, entered, lambda: "archived").value == "archived"
    assert log.kinds == ["approval", "intent", "outcome"]


def test_a_call_that_is_judged_twice_is_written_down_once_and_spends_nothing_before_it_runs() -> None:
    log = Log()
    case = Case(selection="selection", audit=log)
    with case.session:
        token = str(made(*WHOLE).select(IDS, action="archive"))
    looked = case.gate.enter({"selection": token}, session=case.session, tentative=True)
    assert isinstance(looked, Entered)
    assert case.call(selection=token).value == "archived"
    assert log.kinds == ["intent", "outcome"]
