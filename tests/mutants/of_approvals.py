"""Wrong approvals, and the tests that kill them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from mutants.mutating import Mutant
from unabridged.actions.approvals import Decision

_DECISIONS: Final = "actions/approvals/test_decisions.py::"
_CARDS: Final = "actions/approvals/test_cards.py::"
_WRITING: Final = "gate/test_writing.py::"
_REPLY: Final = ("AssertionError", "Failed", "JSONDecodeError", "TypeError")
"""A reply that should have been a refusal is no JSON."""


def _arguments_are_left_out(right: Any) -> Any:
    return lambda session, **given: right(session, **{**given, "args": {}})


def _yes_is_always_offered(right: Any) -> Any:
    return lambda value, card: (
        replace(Decision.approve(), binding=card.binding) if value is True else right(value, card)
    )


def _approvals_are_not_spent(right: Any) -> Any:
    def redeem(self: Any, token: Any, *, kind: Any, action: Any = None, audience: Any = None) -> Any:
        redeems = self.look if kind == "approval" else right.__get__(self)
        return redeems(token, kind=kind, action=action, audience=audience)

    return redeem


def _what_raises_holds(right: Any) -> Any:
    def kept(recheck: Any) -> Any:
        def look(target: Any) -> Any:
            try:
                return recheck(target)
            except Exception:  # noqa: BLE001 - the mutant
                return True

        return look

    return lambda self, recheck, *rest: right(self, kept(recheck), *rest)


def _what_was_not_approved_is_not_told(right: Any) -> Any:
    def narrowed(self: Any, *args: Any) -> Any:
        refused = right(self, *args)
        self._unapproved = []
        return refused

    return narrowed


def _intent_comes_late(right: Any) -> Any:
    from unabridged.gate.recording import Record

    told, late = Record.outcome, {}

    def outcome(self: Any, *args: Any, **rest: Any) -> None:
        if id(self) in late:
            right(self, *late.pop(id(self)))
        told(self, *args, **rest)

    def intent(self: Any, *args: Any) -> None:
        late[id(self)] = args

    Record.outcome = outcome  # type: ignore[method-assign]
    return intent


def m(name: str, target: str, wrong: Any, *killers: str, **more: Any) -> Mutant:
    return Mutant(name, target, wrong, tuple(f"tests/{k}" for k in killers), **more)


APPROVALS: Final = (
    m("a binding leaves out the arguments", "unabridged.actions.approvals.card:binding_of", _arguments_are_left_out,
      _DECISIONS + "test_a_decision_about_some_arguments_is_none_about_others", errors=_REPLY),
    m("a yes is taken for what a card does not offer", "unabridged.actions.approvals.decision:decision_of",
      _yes_is_always_offered,
      _DECISIONS + "test_an_approver_that_changes_the_arguments_or_the_card_changes_nothing_that_is_approved",
      _WRITING + "test_a_decision_that_the_card_does_not_offer_cannot_be_kept", errors=_REPLY),
    m("a kept approval is good twice", "unabridged.evidence.ticketing:SessionTickets.redeem", _approvals_are_not_spent,
      _DECISIONS + "test_of_two_that_present_one_approval_at_once_one_writes"),
    m("a decision that travelled is good twice", "unabridged.actions.approvals.questions:answer",
      lambda _: lambda *_args, **_kwargs: True,
      _DECISIONS + "test_a_decision_that_was_used_is_used_up", errors=_REPLY),
    m("a changed card is taken", "unabridged.actions.approvals.decision:_is_sealed",
      lambda _: lambda *_args: True,
      _DECISIONS + "test_a_card_that_was_changed_on_its_way_cannot_be_approved"),
    m("what was read so far is told as all", "unabridged.actions.approvals.rendering:_known",
      lambda _: lambda card, _language: f"records: {card['known']}, all there are",
      _CARDS + "test_a_read_that_is_not_complete_gives_no_total"),
    m("a recheck that raises keeps its target", "unabridged.gate.writing:Write._look_again", _what_raises_holds,
      _WRITING + "test_a_target_that_does_not_hold_for_certain_is_not_written", errors=_REPLY),
    m("what was not approved passes for done", "unabridged.gate.writing:Write._narrowed",
      _what_was_not_approved_is_not_told,
      _WRITING + "test_a_person_may_restrict_a_write_to_what_was_returned",
      _WRITING + "test_what_was_not_approved_and_what_did_not_hold_are_told_apart", errors=_REPLY),
    m("an intent is written after the body", "unabridged.gate.recording:Record.intent", _intent_comes_late,
      _WRITING + "test_a_write_that_ran_has_an_intent_before_it_and_an_outcome_after_it"),
)  # fmt: skip
