"""Wrong programs that the laws kill, one or more for each law: what chance is to find, it must be seen to find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from mutants.mutating import Mutant
from unabridged.contract import ContractViolation, build_result
from unabridged.contract.short import MARK
from unabridged.evidence import Evidence
from unabridged.reading.page import Failure, Page
from unabridged.reading.walkers import Anomaly, Ended, Follow

Wrong = Callable[[Any], Any]


def _gives(value: Any) -> Wrong:
    return lambda _: lambda *_args, **_kwargs: value


def _is(value: Any) -> Wrong:
    return lambda _: value


def _without(code: str) -> Wrong:
    return lambda right: lambda *args, **how: [r for r in right(*args, **how) if r.code != code]


# the contract


def _items_first(right: Any) -> Any:
    return lambda result: {"items": result.items, **right(result)}


def _unknown_reads_prove_absence(self: Any) -> bool:
    return self.status in ("complete", "unknown")


def _refused_is_shown(_: Any) -> Any:
    return lambda kind, error: ContractViolation(rule=kind, field=repr(error.errors()[0]["input"]))


def _any_document_is_an_object(right: Any) -> Any:
    return lambda document: right({**document})


def _whole_parts_are_one_leaf(right: Any) -> Any:
    return lambda part, items, ids: right(part, items, ids)[:1]


def _findings_are_complete(right: Any) -> Any:
    def found(read: Any, *args: Any, **how: Any) -> Any:
        part = right(read, *args, **how)
        if part.items is None:
            return part
        return build_result(items=part.items, scope=part.scope, read=part.read, checked=part.checked)

    return found


def _budget_is_a_hundred_times_larger(right: Any) -> Any:
    return lambda result, *, max_bytes: right(result, max_bytes=100 * max_bytes)


def _cuts_are_not_marked(right: Any) -> Any:
    def cut(record: Any, room: int) -> Any:
        found, names = right(record, room)
        return {name: str(v).removesuffix(MARK) if name in names else v for name, v in found.items()}, names

    return cut


# evidence and answers


def _narrower_reads_clear(self: Any, resource: str, _key: Any) -> Any:
    return list(self._scopes.get(resource, {}).values())


def _says_nothing_of_what_is_incomplete(right: Any) -> Any:
    return lambda self, code, strands: None if code == "EVIDENCE_INCOMPLETE" else right(self, code, strands)


def _judging_wears_out(right: Any) -> Any:
    def judge(intent: Any, reads: Any, **how: Any) -> Any:
        verdict = right(intent, reads, **how)
        if isinstance(reads, Evidence) and len(reads):
            reads.drop(reads[0].id)
        return verdict

    return judge


# walks


def _failure_becomes_an_empty_list(right: Any) -> Any:
    def classify(*args: Any, **how: Any) -> Any:
        outcome = right(*args, **how)
        return Page({"items": []}, (), [], 0) if isinstance(outcome, Failure) else outcome

    return classify


def _empty_page_is_the_end(right: Any) -> Any:
    def walk(rules: Any, view: Any) -> Any:
        return Ended("empty_page") if view.raw == 0 else right(rules, view)

    return walk


def _falsy_token_is_the_end(right: Any) -> Any:
    def token(rules: Any, view: Any) -> Any:
        outcome = right(rules, view)
        return Ended("absent") if isinstance(outcome, Follow) and not outcome.step.value else outcome

    return token


def _rest_is_forgotten(right: Any) -> Any:
    def resume(*args: Any, **how: Any) -> Any:
        way = right(*args, **how)
        return replace(way, chain=replace(way.chain, rest=()))

    return resume


def _links_are_not_told(right: Any) -> Any:
    return lambda *args, **how: right(*args, **how).model_copy(update={"continues": None})


def _any_page_that_came_is_taken(self: Any, _step: Any) -> Any:
    return self._known.popitem()[1] if self._known else None


def _malformed_links_break_the_read(right: Any) -> Any:
    def walk(rules: Any, view: Any) -> Any:
        outcome = right(rules, view)
        if isinstance(outcome, Anomaly):
            raise AssertionError("a page that cannot be walked")
        return outcome

    return walk


def _dead_sources_are_left_out(right: Any) -> Any:
    def merged(results: Any, *, resource: str) -> Any:
        parts = list(results)
        return right([p for p in parts if p.items is not None] or parts, resource=resource)

    return merged


def _law(name: str, target: str, wrong: Wrong, *laws: str, errors: tuple[str, ...] = ()) -> Mutant:
    killers = [f"tests/laws/{law}" for law in laws]
    return Mutant(name, target, wrong, killers, errors=("AssertionError", "Failed", *errors))


_CONTRACT: Final = "test_contract.py::"
_EVIDENCE: Final = "test_evidence.py::"
_WALKS: Final = "test_walks.py::"
_OF: Final = "unabridged.contract."
_VIEW: Final = "unabridged.evidence.view:Evidence."
_BOUND: Final = "unabridged.evidence.guard:_Bound."
_READ: Final = "unabridged.reading."

LAWS: Final = (
    _law("law: a way on is lost on the wire", _OF + "wire:_known_route", _gives({"kind": "none"}),
         _CONTRACT + "test_the_wire_form_round_trips_byte_for_byte",
         _WALKS + "test_every_result_of_a_read_survives_the_wire"),
    _law("law: items stand before what decides", _OF + "wire:to_wire", _items_first,
         _CONTRACT + "test_everything_that_decides_stands_before_the_items"),
    _law("law: an unknown read proves absence", _OF + "results:Result.proves_absence",
         _is(_unknown_reads_prove_absence), _CONTRACT + "test_complete_is_the_only_status_that_counts_or_proves"),
    _law("law: the way on is pickled", _OF + "results:Result._fields", _is(lambda self: dict(self.__dict__)),
         _CONTRACT + "test_pickle_copy_and_deepcopy_keep_the_wire_form_and_no_resume_state_is_pickled",
         errors=("PicklingError", "AttributeError")),
    _law("law: any document is an object", _OF + "wire:from_wire", _any_document_is_an_object,
         _CONTRACT + "test_any_json_document_is_a_result_or_a_contract_violation", errors=("TypeError", "KeyError")),
    _law("law: a violation shows what it refused", _OF + "results:_violation", _refused_is_shown,
         _CONTRACT + "test_a_changed_document_is_a_result_or_a_violation_that_names_no_value"),
    _law("law: no key decides", _OF + "wire:_REQUIRED", _is(()),
         _CONTRACT + "test_a_document_that_lost_a_key_is_a_result_or_a_violation", errors=("KeyError",)),
    _law("law: sources stand as they came", _OF + "merge:_in_order", _is(list),
         _CONTRACT + "test_merging_is_commutative"),
    _law("law: what was merged is one source", _OF + "merge:_split", _whole_parts_are_one_leaf,
         _CONTRACT + "test_merging_is_associative_however_it_is_nested"),
    _law("law: dead sources are left out of a merge", _OF + "merge:merge", _dead_sources_are_left_out,
         _CONTRACT + "test_merging_removes_nothing_and_a_working_source_hides_no_dead_one",
         _WALKS + "test_a_fan_out_is_complete_only_when_every_source_has_delivered_every_id"),
    _law("law: what is not shown goes unsaid", _OF + "derive:presented", _is(lambda read, *_args, **_how: read),
         _CONTRACT + "test_a_presented_read_is_whole_or_says_that_it_is_not"),
    _law("law: findings are complete", _OF + "derive:findings", _findings_are_complete,
         _CONTRACT + "test_findings_inherit_the_status_and_the_reasons_of_their_read"),
    _law("law: a short form may be long", _OF + "short:honest_short_form", _budget_is_a_hundred_times_larger,
         _CONTRACT + "test_the_short_form_holds_whole_or_marked_records_and_admits_its_cuts"),
    _law("law: a field is cut without a mark", _OF + "short:cut_record", _cuts_are_not_marked,
         _CONTRACT + "test_a_single_record_too_large_is_cut_in_marked_fields"),
    _law("law: age does not matter", _BOUND + "_judge_age", _gives(None),
         _EVIDENCE + "test_the_indexed_guard_agrees_with_the_plain_one"),
    _law("law: judging wears the evidence out", "unabridged.evidence.guard:judge_write", _judging_wears_out,
         _EVIDENCE + "test_judging_after_every_read_changes_nothing"),
    _law("law: a narrower read clears", _VIEW + "_covered", _is(_narrower_reads_clear),
         _EVIDENCE + "test_the_standing_reads_are_those_that_nothing_later_covers"),
    _law("law: incomplete reads bind no write", _BOUND + "_speak", _says_nothing_of_what_is_incomplete,
         _EVIDENCE + "test_an_incomplete_read_that_it_relies_on_never_lets_a_write_run"),
    _law("law: nothing clears", _VIEW + "_covered", _gives([]),
         _EVIDENCE + "test_a_complete_read_of_everything_clears_what_came_before",
         _EVIDENCE + "test_the_verdict_does_not_depend_on_what_was_cleared_long_ago"),
    _law("law: every claim is supported", "unabridged.answers.support:why_unsupported", _gives(None),
         _EVIDENCE + "test_no_claim_about_the_unseen_is_accepted_without_a_whole_read_of_its_scope"),
    _law("law: an unknown read needs no caveat", "unabridged.answers.caveat:is_whole",
         lambda right: lambda strand: strand.status == "unknown" or right(strand),
         _EVIDENCE + "test_every_read_that_is_not_complete_has_a_caveat_and_no_other_has"),
    _law("law: targets stand in a repr", "unabridged.evidence.intent:WriteIntent.__repr__",
         _is(lambda self: f"{self.tool} {self.targets}"),
         _EVIDENCE + "test_no_value_stands_in_a_caveat_a_refusal_or_a_repr"),
    _law("law: a page that failed is empty", _READ + "classify:classify", _failure_becomes_an_empty_list,
         _WALKS + "test_complete_implies_that_every_id_was_delivered",
         _WALKS + "test_a_chain_that_asks_again_for_failed_pages_has_delivered_every_id_once_it_is_complete"),
    _law("law: an empty page is the end", _READ + "walkers:walk", _empty_page_is_the_end,
         _WALKS + "test_complete_implies_that_every_id_was_delivered",
         _WALKS + "test_a_stream_of_pages_that_ends_complete_has_delivered_every_id"),
    _law("law: what a limit cut off is forgotten", _READ + "envelope:_resume", _rest_is_forgotten,
         _WALKS + "test_a_chain_that_ends_complete_after_limits_of_ours_has_delivered_every_id"),
    _law("law: a later page goes on from nothing", _READ + "envelope:_header", _links_are_not_told,
         _WALKS + "test_a_stream_of_pages_that_ends_complete_has_delivered_every_id"),
    _law("law: a sample may be the whole", _READ + "judge:_reasons", _without("SAMPLE_REQUESTED"),
         _WALKS + "test_a_sample_is_never_complete_and_never_longer_than_asked", errors=("ContractViolation",)),
    _law("law: a limit of items is not kept", _READ + "records:Collector.trim", _gives(False),
         _WALKS + "test_the_limit_of_items_is_exact"),
    _law("law: a count that does not agree is hidden", _READ + "judge:_count_reasons", _gives([]),
         _WALKS + "test_a_dropped_page_is_never_taken_for_the_end"),
    _law("law: pages are taken as they arrive", _READ + "ahead:Foresight.request", _is(_any_page_that_came_is_taken),
         _WALKS + "test_requests_in_flight_change_nothing"),
    _law("law: two walks prove no more than one", _READ + "twice:_has_ids", _gives(False),
         _WALKS + "test_two_walks_of_a_source_that_stands_still_prove_it_and_never_more"),
    _law("law: a character is cut in two", _READ + "excerpts:_decoded",
         _is(lambda data, *, is_end: (data.decode("utf-8", "replace"), 0, is_end)),
         _WALKS + "test_a_text_read_in_ranges_and_links_is_the_text"),
    _law("law: an empty cursor is the end", _READ + "walkers:_token", _falsy_token_is_the_end,
         "test_mcp_lists.py::test_a_list_is_whole_exactly_when_every_page_came"),
    _law("law: a page that cannot be walked breaks a read", _READ + "walkers:walk", _malformed_links_break_the_read,
         _WALKS + "test_no_answer_of_a_source_breaks_a_read"),
)  # fmt: skip
