"""Wrong actions, and the tests that kill them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from mutants.mutating import Mutant
from unabridged.actions.performing import Performance
from unabridged.actions.remembering import SessionMemory

_ACTIONS: Final = "actions/"


def gives(value: Any) -> Callable[[Any], Any]:
    """A function that gives the same whatever it is asked."""
    return lambda _: lambda *_args, **_kwargs: value


def m(name: str, target: str, wrong: Callable[[Any], Any], *killers: str, errors: tuple[str, ...] = ()) -> Mutant:
    return Mutant(name, target, wrong, [f"tests/{k}" for k in killers], errors=("AssertionError", "Failed", *errors))


class _Whole:
    """A session of which nobody learns that it was erased."""

    alive = True

    def __init__(self, session: Any) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


ACTIONS: Final = (
    m("an action tells everything that came", "unabridged.actions.outputs:Output.reduce",
      lambda _: lambda _self, raw: dict(raw),
      _ACTIONS + "test_outputs.py::test_a_new_field_upstream_does_not_reach_the_agent_through_an_action"),
    m("an action may be started by anyone", "unabridged.actions.authority:is_allowed",
      lambda right: lambda rule, **given: rule is None or right(rule, **given),
      _ACTIONS + "test_authority.py::test_nobody_may_start_an_action_unless_it_was_granted"),
    m("who may draft may send", "unabridged.actions.authority:Grant.covers",
      lambda _: lambda self, *, effect, action: bool(effect) and (self.actions is None or action in self.actions),
      _ACTIONS + "test_authority.py::test_drafting_is_not_sending"),
    m("a refusal repeats the value", "unabridged.actions.inputs:Input._rule", lambda _: lambda _self, line: line["msg"],
      _ACTIONS + "test_value_free.py::test_a_request_that_is_refused_shows_no_value_in_any_way"),
    m("a refusal repeats every name", "unabridged.actions.inputs:told_name", lambda _: str,
      _ACTIONS + "test_inputs.py::test_an_unexpected_name_that_does_not_look_like_one_is_only_counted"),
    m("an object is taken whole", "unabridged.actions.declaring:Action.request",
      lambda right: lambda self, *whole, **named: right(self, **{**(whole[0] if whole else {}), **named}),
      _ACTIONS + "test_inputs.py::test_a_mapping_is_not_passed_on_whole"),
    m("a retry repeats what was done", "unabridged.actions.remembering:SessionMemory.claim", gives("run"),
      _ACTIONS + "test_performing.py::test_a_part_that_failed_is_told_target_by_target_and_a_retry_does_the_rest_only"),
    m("what may have happened did not", "unabridged.actions.performing:Performance._settle",
      lambda right: lambda self, slot, failure: right(self, slot, replace(failure, may_have_happened=False)),
      _ACTIONS + "test_performing.py::test_what_may_have_happened_is_unknown_and_is_not_silently_repeated"),
    m("what may have been done goes out again in any command", "unabridged.actions.remembering:SessionMemory.claim",
      lambda right: lambda self, key, *, under, again: right(
          self, key, under=self.sent_under(key) or under, again=again
      ),
      _ACTIONS + "test_performing.py::"
      "test_what_may_have_been_done_in_one_command_goes_out_again_in_just_that_command"),
    m("a session that was erased in the midst counts as whole", "unabridged.actions.remembering:SessionMemory.claim",
      lambda right: lambda self, key, **given: right(SessionMemory(_Whole(self._session)), key, **given),
      _ACTIONS + "test_performing.py::test_a_session_that_is_erased_in_the_midst_does_nothing_twice"),
    m("a later attempt speaks for an earlier one", "unabridged.actions.performing:Performance._settle",
      lambda right: lambda self, slot, failure: (setattr(slot, "is_again", False), right(self, slot, failure))[1],
      _ACTIONS + "test_performing.py::"
      "test_that_a_later_attempt_did_nothing_does_not_say_that_an_earlier_one_did_nothing"),
    m("more is touched than was asked for", "unabridged.actions.declaring:Action.takes_targets", gives(True),
      _ACTIONS + "test_performing.py::test_less_may_be_touched_than_was_asked_for_and_never_more"),
    m("what was not admitted is performed", "unabridged.actions.declaring:Action._performance",
      lambda _: lambda self, admitted, session, targets: Performance(self, admitted, session=session, targets=targets),
      _ACTIONS + "test_authority.py::test_what_was_not_admitted_is_not_performed"),
    m("any pattern bounds a text", "unabridged.actions.patterns:is_anchored", gives(True),
      _ACTIONS + "test_declaring.py::test_a_field_that_could_carry_anything_is_refused_on_both_sides"),
    m("a line break may follow what a pattern bounds", "unabridged.actions.patterns:is_anchored",
      lambda right: lambda pattern, **_: right(pattern),
      _ACTIONS + "test_declaring.py::test_a_field_that_could_carry_anything_is_refused_on_both_sides",
      _ACTIONS + "test_declaring.py::test_nothing_hides_a_field_that_could_carry_anything"),
    m("true is taken for one", "unabridged.actions.inputs:Input._swapped", lambda _: lambda *_args, **_kwargs: iter(()),
      _ACTIONS + "test_inputs.py::test_true_is_no_choice_of_one_and_one_is_none_of_true"),
    m("a reference shares what it stands for", "unabridged.actions.references:deepcopy", lambda _: lambda value: value,
      _ACTIONS + "test_references.py::test_nobody_who_holds_the_value_changes_what_a_reference_stands_for"),
    m("a ticket is pickled", "unabridged.evidence.tickets:Ticket.__reduce__", gives((str, ())),
      "evidence/test_tickets.py::test_what_stands_behind_a_token_is_not_pickled_and_not_copied"),
    m("a text names a part of a selection", "unabridged.evidence.ticketing:part_of",
      lambda right: lambda selected, ids: right(selected, list(ids) if isinstance(ids, str) else ids),
      "evidence/test_tickets.py::test_what_are_no_ids_name_no_part_of_a_selection"),
    m("a reference stands for any kind of thing", "unabridged.actions.references:_one",
      lambda right: lambda s, kind, token, **given: (
          s.tickets.look(token, kind="reference", action=given["action"], audience=kind.audience).payload or {}
      )["value"] if token.startswith("ref_") and s is not None else right(s, kind, token, **given),
      _ACTIONS + "test_references.py::test_a_reference_that_is_not_good_is_refused_and_the_answer_does_not_say_why",
      errors=("TypeError",)),
)  # fmt: skip
