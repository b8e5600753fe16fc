"""Wrong readers, sources and profiles that take a part for the whole, and the tests that kill them."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import Enum
from typing import Any, Final

from mutants.mutating import Mutant
from unabridged.reading import deadlines, exchange
from unabridged.reading.walkers import Ended


def _proof_is_not_looked_at(right: Any) -> Any:
    def check(self: Any, count: int) -> None:
        if self.proof.level != "none":
            right(self, count)

    return check


def _only_waits_are_bounded(_: Any) -> Any:
    def bounded(read: Any) -> Any:
        return lambda max_bytes, timeout=None: read(max_bytes, deadlines._within(timeout))

    return bounded


def _sources_are_left_out(right: Any) -> Any:
    return lambda result: right(result).model_copy(update={"sources": ()})


def _only_the_last_page_gives(right: Any) -> Any:
    return lambda rules, view: right(rules, view._replace(step=replace(view.step, carried=())))


def _a_judge_is_enough(_: Any) -> Any:
    return lambda self: self.judge is not None or self.exhaustive


_OTHER: Final = "tests/reading/test_other_walks.py::"
_PLAN: Final = "tests/gate/test_plan.py::"
_LATER: Final = "tests/reading/test_contradictions.py::"


def _coded_is_framed(right: Any) -> Any:
    def opens(self: Any, response: Any) -> Any:
        found = right(self, response)
        self._is_framed |= "content-encoding" in response.headers
        return found

    return opens


READING: Final = (
    Mutant(
        name="a complete document needs no proof",
        target="unabridged.contract.results:Result._check_complete", wrong=_proof_is_not_looked_at,
        killers=["tests/contract/test_wire.py::test_a_contradictory_document_is_refused_by_the_name_of_the_rule"],
    ),
    Mutant(
        name="a deadline bounds waits alone", target="unabridged.reading.deadlines:_bounded",
        wrong=_only_waits_are_bounded,
        killers=["tests/reading/test_hostile_server.py::test_answers_before_the_answer_without_end_stop_with_the_time"],
    ),
    Mutant(
        name="an empty page ends a walk whatever its flag says", target="unabridged.reading.walkers:_empty",
        wrong=lambda _: lambda **_says: Ended("empty_page"),
        killers=["tests/reading/test_contradictions.py::test_an_empty_page_that_says_there_is_more_is_not_the_end"],
    ),
    Mutant(
        name="only the outermost projection keeps its nulls", target="unabridged.profiles.paths:_flattened",
        wrong=lambda right: lambda found: [one for one in right(found) or () if one is not None],
        killers=["tests/reading/test_contradictions.py::"
                 "test_a_list_in_a_list_that_an_expression_would_pass_over_makes_its_page_malformed"],
    ),
    Mutant(
        name="a later page names no missing source",
        target="unabridged.reading.value:_unproven", wrong=_sources_are_left_out,
        killers=[_LATER + "test_a_later_page_keeps_the_sources_that_it_names_as_missing"],
    ),
    Mutant(
        name="what a page does not carry on is lost",
        target="unabridged.reading.walkers:_carried", wrong=_only_the_last_page_gives,
        killers=[
            _OTHER + "test_a_walk_by_key_carries_too_and_goes_on_with_what_a_response_gave_last",
            _OTHER + "test_what_is_carried_goes_on_with_a_read_that_goes_on",
        ],
    ),
    Mutant(
        name="an address in mid-list is one of the whole list",
        target="unabridged.reading.requests:_begins_later", wrong=lambda _: lambda _parameter: False,
        killers=["tests/profiles/test_scope.py::test_an_address_in_mid_list_is_never_one_of_the_whole_list"],
    ),
    Mutant(
        name="any judge may find a read complete",
        target="unabridged.gate.declare:ReadSpec.may_be_complete", wrong=_a_judge_is_enough,
        killers=[
            _PLAN + "test_a_write_relies_in_vain_on_values_that_their_profile_never_takes_for_the_whole",
            _PLAN + "test_a_write_relies_in_vain_on_samples",
        ],
    ),
    Mutant(
        name="a condition may wait for a number that never comes",
        target="unabridged.profiles.conditions:is_finite", wrong=lambda _: lambda _value: True,
        killers=[
            "tests/profiles/test_format.py::test_a_profile_is_refused_with_the_key_and_the_rule_and_never_the_value"
        ],
    ),
    Mutant(
        name="a flag in another spelling leaves the end as it is", target="unabridged.reading.walkers:_stated",
        wrong=lambda _: lambda outcome, *_seen, **_says: outcome,
        killers=["tests/reading/test_contradictions.py::"
                 "test_a_flag_that_may_say_there_is_more_leaves_the_end_open",
                 "tests/reading/test_contradictions.py::"
                 "test_a_flag_that_may_say_that_a_page_is_not_the_last_leaves_the_end_open"],
    ),
    Mutant(
        name="an error in another spelling or shape is none", target="unabridged.reading.observe:says_unclearly",
        wrong=lambda _: lambda *_seen: False,
        killers=["tests/reading/test_contradictions.py::"
                 "test_what_may_be_an_error_in_another_spelling_or_shape_is_not_passed_over"],
    ),
    Mutant(
        name="a word that says no may mean yes", target="unabridged.profiles.conditions:_NO",
        wrong=lambda _: frozenset({"", "0", "false", "no"}),
        killers=["tests/reading/test_contradictions.py::"
                 "test_what_says_in_any_spelling_that_nothing_is_wrong_is_whole"],
    ),
    Mutant(
        name="a date is a place in a list", target="unabridged.contract.asked:_is_date",
        wrong=lambda _: lambda _value: False,
        killers=["tests/gate/test_judging_values.py::"
                 "test_a_date_is_no_place_in_a_list_in_whatever_spelling_its_argument_is",
                 "tests/profiles/test_scope.py::test_an_address_that_begins_with_the_first_page_is_one_of_the_whole_list"],
    ),
    Mutant(
        name="a choice is sent by its name", target="unabridged.reading.query:_json_value",
        wrong=lambda _: lambda value, *_where: value,
        killers=["tests/reading/test_requests.py::"
                 "test_a_choice_is_sent_and_kept_as_the_value_that_it_stands_for"],
    ),
    Mutant(
        name="an id of a class of its own is another one", target="unabridged.contract.ids:id_key",
        wrong=lambda right: lambda value: right([value] if isinstance(value, Enum) else value),
        killers=["tests/contract/test_results.py::test_an_id_of_a_class_of_its_own_is_the_one_that_json_knows"],
    ),
    Mutant(
        name="a redirect may add to what was asked", target="unabridged.reading.exchange:Exchange._asks_the_same",
        wrong=lambda _: lambda self, target: set(exchange._parameters(target)) >= set(exchange._parameters(self._url)),
        killers=["tests/reading/test_quiet.py::test_a_redirect_that_adds_to_what_was_asked_is_not_followed"],
    ),
    Mutant(
        name="a coded body knows its own end", target="unabridged.reading.exchange:Exchange.opens",
        wrong=_coded_is_framed,
        killers=["tests/reading/test_states.py::"
                 "test_a_coded_text_that_ends_with_its_connection_may_have_been_cut_before_or_between_its_members"],
    ),
    Mutant(
        name="one row is looked for in the next part alone", target="unabridged.sources.sql.shape:_rises",
        wrong=lambda right: lambda tokens, at, depth, outermost, seen: (
            depth <= outermost + 1 and right(tokens, at, depth, outermost, seen)
        ),
        killers=["tests/sources/test_sql_shape.py::test_one_row_that_all_rows_come_from_is_a_limit"],
    ),
    Mutant(
        name="a key that says two things is believed", target="unabridged.sources.etcd:decode_json",
        wrong=lambda _: json.loads, only_here=True,
        killers=["tests/sources/test_etcd.py::test_what_is_no_range_is_malformed",
                 "tests/sources/test_etcd.py::test_what_is_no_json_ends_no_process"],
        errors=("AssertionError", "Failed", "RecursionError", "JSONDecodeError"),
    ),
    Mutant(
        name="an error beside a range is none", target="unabridged.sources.etcd:_ERROR", wrong=lambda _: (),
        killers=["tests/sources/test_etcd.py::"
                 "test_an_error_is_one_whatever_stands_beside_it_and_under_any_status"],
    ),
    Mutant(
        name="what stands beside a list is not looked at", target="unabridged.sources.oaipmh:_is_astray",
        wrong=lambda _: lambda _child: False,
        killers=["tests/sources/test_oaipmh.py::test_what_is_no_list_of_the_protocol_is_malformed"],
    ),
    Mutant(
        name="what an empty status holds is not looked at", target="unabridged.reading.classify:_holds_records",
        wrong=lambda _: lambda *_seen: False,
        killers=["tests/reading/test_contradictions.py::"
                 "test_an_empty_list_by_its_status_that_holds_records_is_neither"],
    ),
)  # fmt: skip
