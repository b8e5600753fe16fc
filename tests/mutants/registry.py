"""The wrong programs, from the reader up to the answer and out to the rooms, and the tests that kill them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

from mutants.mutating import Mutant, Room
from mutants.of_actions import ACTIONS
from mutants.of_annotations import ANNOTATIONS
from mutants.of_approvals import APPROVALS
from mutants.of_audit import AUDIT
from mutants.of_canaries import CANARIES
from mutants.of_executors import EXECUTORS
from mutants.of_guards import GUARDS
from mutants.of_laws import LAWS
from mutants.of_reading import READING
from mutants.of_sql import SQL
from unabridged.contract import build_result
from unabridged.evidence import Verdict
from unabridged.gate import Entered, Reply, Turn
from unabridged.gate.declare import UndeclaredSpec
from unabridged.reading.fleet import read_unit
from unabridged.reading.page import Failure, Page
from unabridged.reading.walkers import Ended, Follow, Silent
from unabridged.sources.sql.servers import Signals

Wrong = Callable[[Any], Any]


def gives(value: Any) -> Wrong:
    """A function that gives the same whatever it is asked."""
    return lambda _: lambda *_args, **_kwargs: value


def agives(value: Any) -> Wrong:
    """As `gives`, to be awaited."""

    async def same(*_args: Any, **_kwargs: Any) -> Any:
        return value

    return lambda _: same


def is_(value: Any) -> Wrong:
    """Another value."""
    return lambda _: value


def then(change: Callable[..., Any]) -> Wrong:
    """A function that does what it should, and then something is done to what came of it."""
    return lambda right: lambda *args, **kwargs: change(right(*args, **kwargs), *args, **kwargs)


# the reader


def _failure_becomes_an_empty_list(outcome: Any, *_args: Any, **_kwargs: Any) -> Any:
    return Page({"items": []}, (), [], 0) if isinstance(outcome, Failure) else outcome


def _empty_page_is_the_end(stop: Any, _rules: Any, view: Any) -> Any:
    return Ended("empty_page") if view.raw == 0 else stop


def _first_page_is_all(stop: Any, *_args: Any) -> Any:
    return Ended("absent") if isinstance(stop, Follow) else stop


def _falsy_token_is_the_end(stop: Any, *_args: Any) -> Any:
    return Ended("absent") if isinstance(stop, Follow) and not stop.step.value else stop


def _short_page_ends_any_walk(stop: Any, _rules: Any, view: Any) -> Any:
    short = view.size_sent is not None and view.raw < view.size_sent
    return Ended("short_page") if short and isinstance(stop, Follow) else stop


def _lost_token_is_the_end(flow: dict[str, Any], *_args: Any, **_kwargs: Any) -> dict[str, Any]:
    return {name: value for name, value in flow.items() if value is not None}


def _silence_is_the_end(stop: Any, *_args: Any) -> Any:
    return Ended("silence") if isinstance(stop, Silent) else stop


def _short_page_is_the_end(view: Any) -> bool:
    return view.size_sent is not None and view.raw < view.size_sent


def _more_pages_go_unsaid(reasons: Any, *_args: Any) -> Any:
    return [r for r in reasons if r.code != "MORE_PAGES_AVAILABLE"]


def _duplicates_are_not_counted(right: Any) -> Any:
    def absorb(self: Any, records: Any, keys: Any, new: int) -> None:
        kept = self.across, self.inside, self.duplicates
        right(self, records, keys, new)
        self.across, self.inside, self.duplicates = kept

    return absorb


def _new_attempt_goes_on_with_the_old(right: Any) -> Any:
    def resume(loop: Any, way: Any, items: Any) -> Any:
        return right(loop, replace(way, goes_on="chain"), items)

    return resume


def _no_limits_of_ours(reasons: list[Any], *_args: Any) -> list[Any]:
    return [reason for reason in reasons if reason.code != "CLIENT_LIMIT_REACHED"]


def _some_snapshots_are_a_snapshot(self: Any) -> bool:
    return bool(self.pages > 0 and self.snapshots > 0)


def _redirected_anywhere(right: Any) -> Any:
    def redirect(self: Any) -> Any:
        found = next((v for n, v in self._headers if n.lower() == "location"), None)
        return right(self) or found

    return redirect


def _interval_is_a_snapshot(right: Any) -> Any:
    def merged(results: Any, *, resource: str) -> Any:
        whole = right(results, resource=resource)
        return whole.model_copy(update={"consistency": "snapshot"}) if whole.complete else whole

    return merged


# the contract


def _dead_sources_are_left_out(right: Any) -> Any:
    def merged(results: Any, *, resource: str) -> Any:
        parts = list(results)
        return right([p for p in parts if p.items is not None] or parts, resource=resource)

    return merged


def _value_is_echoed(right: Any) -> Any:
    def problems(error: Any) -> Any:
        return [(field, f"{rule}, not {error.errors()[0]['input']}") for field, rule in right(error)]

    return problems


# evidence


def _partial_reads_are_forgotten(right: Any) -> Any:
    def add(self: Any, read: Any, **keywords: Any) -> Any:
        return read if read.status == "partial" else right(self, read, **keywords)

    return add


def _narrower_reads_clear(self: Any, resource: str, _key: Any) -> Any:
    return list(self._scopes.get(resource, {}).values())


# the gate


def _undeclared_is_neutral(right: Any) -> Any:
    def enter(self: Any, call: Any, session: Any, turn: Any) -> Any:
        return Entered(call, session) if isinstance(self.spec, UndeclaredSpec) else right(self, call, session, turn)

    return enter


def _failing_guard_lets_in(right: Any) -> Any:
    def enter(self: Any, args: Any, **keywords: Any) -> Any:
        answer = right(self, args, **keywords)
        failed = isinstance(answer, Reply) and "GUARD_FAILED" in answer.content
        return Entered(None, None) if failed else answer  # type: ignore[arg-type]

    return enter


def _bare_values_are_exhaustive(right: Any) -> Any:
    def init(self: Any, **keywords: Any) -> None:
        right(self, **{"exhaustive": True, **keywords})

    return init


def _failing_judge_is_passed_over(right: Any) -> Any:
    def judged(value: Any, spec: Any, call: Any, started_at: Any) -> Any:
        from unabridged.gate.values import _bare

        found = right(value, spec, call, started_at)
        return _bare(value, replace(spec, judge=None), call, started_at) if found.items is None else found

    return judged


def _failed_tool_found_nothing(right: Any) -> Any:
    def unavailable(spec: Any, call: Any, **keywords: Any) -> Any:
        dead = right(spec, call, **keywords)
        return build_result(items=[], reasons=dead.reasons, scope=dead.scope, read=dead.read)

    return unavailable


def _error_is_told(right: Any) -> Any:
    def fail(self: Any, entered: Any, error: BaseException) -> Any:
        reply = right(self, entered, error)
        return replace(reply, content=f"{reply.content} {error}")

    return fail


def _bytes_are_cut(right: Any) -> Any:
    def reply(result: Any, spec: Any, *, max_bytes: int = 16_384, **keywords: Any) -> Any:
        whole = right(result, spec, max_bytes=100 * max_bytes, **keywords)
        return replace(whole, content=whole.content[:max_bytes])

    return reply


def _items_stand_in_the_artifact(right: Any) -> Any:
    def artifact(result: Any, content: str) -> Any:
        return {**right(result, content), "items": result.items}

    return artifact


def _steps_know_no_declaration(right: Any) -> Any:
    def spec(session: Any, read: Any, handle: str) -> Any:
        return replace(right(session, read, handle), fields=None)

    return spec


def _count_of_a_part_is_a_count(right: Any) -> Any:
    def counted(session: Any, strand: Any, records: Any, wanted: Any) -> Any:
        reply = right(session, strand, records, wanted)
        return replace(reply, content=reply.content.replace("found_so_far", "count"))

    return counted


# answers and rooms


def _caveats_are_dropped(answer: Any, *_args: Any, **_kwargs: Any) -> Any:
    return replace(answer, caveats=(), outcome="accept")


def _lets_in(right: Any) -> Any:
    """Whatever is refused is let in, in the form that its room takes."""

    def enter(self: Any, *args: Any, **keywords: Any) -> Any:
        found = right(self, *args, **keywords)
        entered = Entered(None, None)  # type: ignore[arg-type]
        if isinstance(found, tuple):
            return (entered, found[1]) if isinstance(found[0], Reply) else found
        return entered if isinstance(found, Reply) else found

    return enter


def _every_text_is_framed(right: Any) -> Any:
    return lambda *args, **keywords: right(*args, **{**keywords, "is_framed": True})


def _defaults_take_all(_: Any) -> Any:
    return lambda self, pairs: f"{self._url.partition('?')[0]}?{urlencode(list(pairs))}"


def _handed_over(executor: Any, unit: Any) -> Any:
    return executor.submit(read_unit, unit)


def m(
    name: str, target: str, wrong: Wrong, *killers: str, room: Room = "core", only_here: bool = False,
    errors: tuple[str, ...] = (),
) -> Mutant:  # fmt: skip
    ids = [f"tests/{k}" for k in killers]
    return Mutant(name, target, wrong, ids, room, only_here, ("AssertionError", "Failed", *errors))


_KILLERS: Final = "mutants/test_killers.py::"
_WALK: Final = "unabridged.reading.walkers:"
_PARTS: Final = "unabridged.reading.partition:"
_JUDGE: Final = "unabridged.reading.judge:"
_EVERY: Final = "layers/test_every_reason.py::"
_MIXED: Final = "layers/test_mixed_state.py::"
_WALKING: Final = "reading/test_walking.py::"
_SCOPE: Final = "profiles/test_scope.py::"
_JUDGING: Final = "reading/test_judging.py::"
_RUNTIME: Final = "gate/test_runtime.py::"
_VALUES: Final = "gate/test_values.py::"
_SHOWN: Final = "gate/test_presenting.py::"
_GUARD: Final = "evidence/test_guard.py::"
_LC: Final = "langchain/"
_LI: Final = "llamaindex/"

READER: Final = (
    m("every limit is lifted", "unabridged.profiles.format:Asked.holds", gives(True),
      _SCOPE + "test_a_limit_that_the_request_does_not_lift_narrows_the_read"),
    m("no limit is lifted", "unabridged.profiles.format:Asked.holds", gives(False),
      _SCOPE + "test_a_limit_that_the_request_lifts_is_none"),
    m("limits are nobody's", "unabridged.reading.requests:_within",
      lambda _: lambda profile, *_rest: profile.model_copy(update={"scope": ()}),
      _SCOPE + "test_a_limit_of_a_combinator_is_a_limit_of_each_of_its_parts"),
    m("a document type is read", "unabridged.sources.oaipmh:_refuse", gives(None),
      "sources/test_oaipmh.py::test_what_is_no_plain_xml_is_not_read"),
    m("a lost token is the end", "unabridged.sources.oaipmh:_flow", then(_lost_token_is_the_end),
      "sources/test_oaipmh.py::test_a_later_piece_without_a_token_leaves_the_end_open"),
    m("a failure becomes an empty list", "unabridged.reading.classify:classify", then(_failure_becomes_an_empty_list),
      "reading/test_classification.py::test_a_first_page_that_is_none_leaves_nothing_and_says_why"),
    m("a cap is ignored", _JUDGE + "_cap_reasons", gives([]),
      _WALKING + "test_a_silent_cap_is_reached_by_raw_records_and_disproved_by_an_exact_count_only"),
    m("a bounded answer is taken for all", _WALK + "_single", gives(Ended("below_cap")),
      _WALKING + "test_a_bounded_answer_is_whole_only_where_something_says_so"),
    m("an empty page is the end", _WALK + "walk", then(_empty_page_is_the_end),
      _WALKING + "test_an_empty_page_ends_only_where_the_profile_says_so",
      _KILLERS + "test_a_page_that_is_short_or_empty_is_no_end_of_its_own"),
    m("the cursor is dropped", _WALK + "walk", then(_first_page_is_all),
      _KILLERS + "test_a_cursor_is_followed_whatever_its_truth",
      _WALKING + "test_a_key_walk_goes_on_from_the_last_record"),
    m("a cursor is tested for truth", _WALK + "_token", then(_falsy_token_is_the_end),
      _KILLERS + "test_a_cursor_is_followed_whatever_its_truth"),
    m("a short page is the end of any walk", _WALK + "walk", then(_short_page_ends_any_walk),
      _KILLERS + "test_a_page_that_is_short_or_empty_is_no_end_of_its_own"),
    m("silence is the end", _WALK + "walk", then(_silence_is_the_end),
      _WALKING + "test_absent_and_null_do_not_imply_each_other"),
    m("a page below the size sent is the end", _WALK + "_is_short", is_(_short_page_is_the_end),
      _WALKING + "test_a_short_page_ends_only_below_the_size_sent_and_the_size_used"),
    m("more pages go unsaid", _JUDGE + "_reasons", then(_more_pages_go_unsaid),
      "reading/test_limits.py::test_every_exhausted_budget_is_named"),
    m("duplicates are not counted", "unabridged.reading.records:Collector._absorb_duplicates",
      _duplicates_are_not_counted,
      _JUDGING + "test_a_duplicate_across_pages_loses_consistency_unless_a_count_or_the_profile_says_otherwise"),
    m("a count that does not agree is hidden", _JUDGE + "_count_reasons", gives([]),
      _JUDGING + "test_a_count_is_judged_by_its_kind_at_a_proven_end"),
    m("a signal is ignored", "unabridged.reading.observe:Observations._signal", gives(None),
      _JUDGING + "test_a_signal_counts_on_whichever_page_it_stands"),
    m("a restart goes on with the old attempt", "unabridged.reading.envelope:_resume",
      _new_attempt_goes_on_with_the_old, "reading/test_going_on.py::test_a_restart_begins_anew_and_merges_nothing"),
    m("a link to another origin is followed", _WALK + "origin", gives(("https", "same", 443)),
      _WALKING + "test_a_body_link_that_leads_nowhere_good_is_not_followed", only_here=True),
    m("a redirect to another origin is followed", "unabridged.reading.exchange:Exchange._redirect",
      _redirected_anywhere, "reading/test_http.py::test_a_redirect_to_another_origin_is_not_followed"),
    m("a snapshot on some pages is a snapshot", "unabridged.reading.observe:Observations.is_snapshot",
      is_(_some_snapshots_are_a_snapshot), _MIXED + "test_only_one_version_on_every_page_is_one_state"),
    m("a limit of items is not kept", "unabridged.reading.records:Collector.trim", gives(False),
      _KILLERS + "test_a_limit_of_items_is_exact_and_says_so"),
    m("a cursor stands in the log", "unabridged._trail:fingerprint", is_(str),
      "reading/test_hostile_text.py::test_cursors_and_values_stand_in_no_log"),
    m("a part's own count is not compared", _PARTS + "Splitter._misses", gives(None),
      "reading/test_partitions.py::test_two_parts_that_are_wrong_do_not_add_up_to_a_whole_that_is_right"),
    m("records up to a part's cap are all of it", _PARTS + "Splitter._is_over", gives(False),
      "reading/test_partitions.py::test_a_part_as_long_as_the_cap_is_cut_whatever_its_count_said"),
    m("a value has every header that its profile reads", "unabridged.reading.value:_looks_into_headers", gives(False),
      "reading/test_contradictions.py::"
      "test_a_value_is_not_whole_where_its_profile_looks_into_headers_that_no_value_has"),
    m("a value was asked for without a size", "unabridged.reading.value:_of_a_size", lambda _: lambda profile: profile,
      "reading/test_contradictions.py::"
      "test_a_value_as_long_as_was_asked_for_is_not_whole_though_the_source_has_a_higher_cap"),
    m("a value is a range that was honoured", "unabridged.reading.value:_of_no_status",
      lambda _: lambda profile: profile,
      "reading/test_contradictions.py::test_no_status_says_of_a_value_that_a_range_is_the_whole"),
    m("what cut a part is a budget of the whole", "unabridged.reading.partitioned:reasons_of", then(_no_limits_of_ours),
      "reading/test_partitions.py::test_a_part_that_its_own_page_size_cuts_leaves_the_whole_cut"),
    m("what is said of a combinator's pages is taken and not heard", "unabridged.profiles.rules:_combined",
      gives(None), "reading/test_partitions.py::test_a_rule_about_pages_is_refused_where_no_page_would_hear_of_it"),
    m("weak validators say nothing", "unabridged.reading.observe:_is_same", gives(True),
      "reading/test_states.py::test_validators_that_differ_are_two_states_weak_or_not"),
    m("one of two totals is believed", "unabridged.reading.forms:says_two_totals", gives(False),
      "reading/test_states.py::test_a_range_that_names_two_totals_proves_neither"),
    m("a text that ends with its connection is whole", "unabridged.reading.forms:ranged", _every_text_is_framed,
      "reading/test_states.py::test_a_text_that_ends_with_its_connection_may_have_been_cut"),
    m("names of parameters compare letter by letter", "unabridged.reading.requests:spelled", is_(str),
      "reading/test_sent_twice.py::test_a_parameter_of_the_read_is_refused_however_it_is_spelled"),
    m("a header is sent beside the walk's own", "unabridged.reading.requests:_check_fields", gives(None),
      "reading/test_sent_twice.py::test_a_header_of_the_read_is_refused_without_its_value"),
    m("a client's defaults are not looked at", "unabridged.reading.clients:check_defaults", gives(None),
      "reading/test_sent_twice.py::test_a_client_with_a_header_of_the_walk_is_refused"),
    m("a client's own timeout is nothing", "unabridged.reading.clients:waits_of", gives(None),
      "reading/test_deadlines.py::test_each_step_waits_as_long_as_its_client_was_told_and_no_longer_than_the_budget"),
    m("a client's default takes the place of a parameter", "unabridged.reading.exchange:Exchange._with_defaults",
      _defaults_take_all,
      "reading/test_sent_twice.py::test_a_default_parameter_of_a_client_goes_along_and_takes_no_other_ones_place"),
    m("a worker that is not there is an error and no source", "unabridged.reading.fleet:_submitted",
      is_(_handed_over),
      "reading/test_fleets.py::test_a_source_that_no_worker_takes_is_unavailable_and_the_read_is_evidence",
      errors=("BrokenExecutor",)),
)  # fmt: skip
CONTRACT: Final = (
    m("merging hides a dead source", "unabridged.contract.merge:merge", _dead_sources_are_left_out,
      "contract/test_results.py::test_a_dead_source_is_named_and_can_be_asked_again"),
    m("an interval is merged into a snapshot", "unabridged.contract.merge:merge", _interval_is_a_snapshot,
      _MIXED + "test_it_is_complete_only_as_an_interval",
      _MIXED + "test_merging_whole_reads_of_two_times_makes_no_snapshot"),
    m("the empties read alike", "unabridged.contract.short:_NOTES",
      lambda notes: dict.fromkeys(notes, "No records."),
      _EVERY + "test_the_four_empties_never_serialise_or_read_alike"),
    m("every read proves absence", "unabridged.contract.results:Result.proves_absence", gives(True),
      _EVERY + "test_only_the_whole_empty_read_proves_absence"),
    m("an agent goes on whatever was read", "unabridged.contract.results:decision", gives("proceed"),
      _EVERY + "test_only_the_whole_empty_read_proves_absence"),
    m("the allow-list of fields is ignored", "unabridged.contract.short:_allowed", lambda _: lambda record, _f: record,
      _SHOWN + "test_a_model_sees_the_fields_of_the_allow_list_only", _SHOWN + "test_what_has_no_fields_shows_none"),
)  # fmt: skip
EVIDENCE: Final = (
    m("the guard allows", "unabridged.evidence.guard:judge_write", gives(Verdict("allow")),
      _EVERY + "test_the_guard_refuses_on_it"),
    m("the guard ignores the turn", "unabridged.evidence.guard:_Bound._judge_same_turn", gives(None),
      _RUNTIME + "test_a_write_that_names_no_evidence_waits_for_every_read_of_its_turn"),
    m("partial reads are forgotten", "unabridged.evidence.view:Evidence.add", _partial_reads_are_forgotten,
      _RUNTIME + "test_a_write_is_refused_while_a_read_is_partial_and_runs_once_it_is_whole"),
    m("a narrower read clears", "unabridged.evidence.view:Evidence._covered", is_(_narrower_reads_clear),
      _EVERY + "test_a_later_whole_read_clears_it_and_a_narrower_one_does_not"),
    m("a chain forgets how its links failed", "unabridged.evidence.strand:unhealed_by", gives(()),
      _GUARD + "test_a_chain_heals_a_failed_page_only_when_the_next_link_asks_for_it_again"),
    m("targets are not looked up", "unabridged.evidence.guard:_Bound._absent", gives(frozenset()),
      _RUNTIME + "test_targets_that_were_not_read_may_not"),
    m("age does not matter", "unabridged.evidence.guard:_Bound._judge_age", gives(None),
      _GUARD + "test_every_rule_of_the_table_holds"),
    m("what a write demands is ignored", "unabridged.evidence.guard:_Bound._judge_strength", gives(None),
      _MIXED + "test_a_write_that_needs_one_state_is_refused_and_one_that_needs_a_whole_read_is_not"),
    m("a history without its ledger is innocent", "unabridged.gate.history:import_results", gives(0),
      "gate/test_history.py::test_an_old_history_allows_nothing_that_a_fresh_ledger_would"),
    m("what was not shown is forgotten", "unabridged.evidence.sessions:Session.presented", gives(None),
      _RUNTIME + "test_no_targets_are_judged_as_a_write_without_any"),
    m("a read in flight is nothing", "unabridged.evidence.guard:_Bound._judge_pending", gives(None),
      _RUNTIME + "test_a_read_is_in_flight_from_before_its_body_until_it_returns"),
)  # fmt: skip
GATE: Final = (
    m("an undeclared tool is neutral", "unabridged.gate.runtime:Gate._enter", _undeclared_is_neutral,
      _RUNTIME + "test_an_undeclared_tool_is_judged_as_a_write_and_leaves_an_unknown_read"),
    m("a failing guard lets in", "unabridged.gate.runtime:Gate.enter", _failing_guard_lets_in,
      _RUNTIME + "test_a_guard_that_fails_refuses"),
    m("bare values are exhaustive", "unabridged.gate.declare:ReadSpec.__init__", _bare_values_are_exhaustive,
      _VALUES + "test_a_bare_value_without_a_judge_says_nothing_about_its_end",
      "gate/test_declare.py::test_a_bare_read_is_not_declared_exhaustive"),
    m("a judge that fails is passed over", "unabridged.gate.values:_judged", _failing_judge_is_passed_over,
      _VALUES + "test_a_judge_that_raises_makes_the_read_unavailable_and_says_nothing"),
    m("a failed tool found nothing", "unabridged.gate.values:unavailable", _failed_tool_found_nothing,
      _RUNTIME + "test_a_tool_that_raises_is_an_unavailable_read_and_its_text_goes_nowhere"),
    m("the text of an error is told", "unabridged.gate.runtime:Gate.fail", _error_is_told,
      _RUNTIME + "test_a_tool_that_raises_is_an_unavailable_read_and_its_text_goes_nowhere",
      errors=("JSONDecodeError",)),
    m("a refused value is echoed", "unabridged.gate.arguments:problems_of", _value_is_echoed,
      "gate/test_small_parts.py::test_a_schema_tells_fields_and_rules_and_no_value"),
    m("any record answers a lookup", "unabridged.gate.values:_answers_its_key", gives(True),
      _VALUES + "test_a_lookup_that_brings_anything_else_is_not_complete"),
    m("bytes of JSON are cut", "unabridged.gate.presenting:read_reply", _bytes_are_cut,
      _SHOWN + "test_bytes_of_json_are_never_cut", errors=("JSONDecodeError",)),
    m("items stand in the artifact", "unabridged.gate.presenting:artifact_of", _items_stand_in_the_artifact,
      _SHOWN + "test_an_artifact_is_a_kilobyte_or_less_and_holds_no_items"),
    m("two reads of one id are one", "unabridged.gate.followup:told_apart", lambda _: lambda _s, result, _spec: result,
      _RUNTIME + "test_two_reads_that_bear_one_id_are_two"),
    m("a hidden field comes out behind a handle", "unabridged.gate.followup:spec_of", _steps_know_no_declaration,
      "gate/test_followup.py::test_what_was_hidden_stays_hidden_on_every_way"),
    m("a count of a part is a count", "unabridged.gate.followup:_counted", _count_of_a_part_is_a_count,
      "gate/test_followup.py::test_a_read_that_is_not_complete_gives_no_count_and_no_zero", errors=("KeyError",)),
)  # fmt: skip
ANSWERS: Final = (
    m("an answer drops its caveats", "unabridged.answers.answer:FinalAnswer.__str__",
      is_(lambda self: self.text), _EVERY + "test_an_answer_must_admit_it"),
    m("every claim is supported", "unabridged.answers.support:why_unsupported", gives(None),
      _EVERY + "test_an_answer_must_admit_it"),
    m("an unknown read needs no caveat", "unabridged.answers.caveat:is_whole",
      lambda right: lambda strand: strand.status == "unknown" or right(strand),
      _EVERY + "test_an_answer_must_admit_it"),
)  # fmt: skip
LANGCHAIN: Final = (
    m("langchain: the body is not judged", "unabridged_langchain._body:Body._enter", _lets_in,
      _LC + "test_body.py::test_every_way_to_a_write_is_refused_after_a_read_that_is_not_complete",
      room="langchain", errors=("JSONDecodeError",)),
    m("langchain: the turn is not seen", "unabridged_langchain._place:turn_here", gives(Turn()),
      _LC + "test_agents.py::test_a_read_and_a_write_of_one_turn_do_not_go_together", room="langchain",
      errors=("JSONDecodeError",)),
    m("langchain: the history is not looked at", "unabridged_langchain._history:look_back", gives(None),
      _LC + "test_agents.py::test_a_history_without_its_ledger_blocks", room="langchain"),
    m("langchain: the handler lets everything pass", "unabridged_langchain._handler:PartialReadGuard.on_tool_start",
      gives(None), _LC + "test_handler.py::test_a_plain_tool_is_judged_by_what_was_read_before", room="langchain"),
    m("langchain: the last message admits nothing", "unabridged_langchain._answers:caveated", gives(None),
      _LC + "test_answers.py::test_the_caveat_stands_before_the_text_in_the_same_message", room="langchain"),
    m("langchain: the parser drops the caveats", "unabridged_langchain._parser:CoverageOutputParser._parsed",
      then(_caveats_are_dropped),
      _LC + "test_parser.py::test_plain_text_becomes_an_answer_with_its_caveats", room="langchain"),
)  # fmt: skip
LLAMAINDEX: Final = (
    m("llamaindex: the body is not judged", "unabridged_llamaindex.tools:Door._enter", _lets_in,
      _LI + "test_tools.py::test_no_way_to_a_write_leads_around_the_guard", room="llamaindex"),
    m("llamaindex: the turn is not seen", "unabridged_llamaindex.run:_turn", gives(Turn()),
      _LI + "test_agents.py::test_a_read_and_a_write_of_one_turn_are_refused_in_both_orders", room="llamaindex"),
    m("llamaindex: the history is not looked at", "unabridged_llamaindex.run:import_results", gives(0),
      _LI + "test_agents.py::test_results_in_a_history_that_the_ledger_does_not_know_block", room="llamaindex",
      only_here=True),
    m("llamaindex: the answer admits nothing", "unabridged_llamaindex.agents:CoverageFunctionAgent._admit",
      agives(None), _LI + "test_agents.py::test_the_caveat_stands_before_the_text_in_answer_memory_and_stream",
      room="llamaindex", errors=("KeyError",)),
    m("llamaindex: the parser drops the caveats", "unabridged_llamaindex.parser:CoverageOutputParser.parse",
      then(_caveats_are_dropped), _LI + "test_parser.py::test_an_answer_carries_the_caveats_of_the_session_in_scope",
      room="llamaindex"),
)  # fmt: skip
SOURCES: Final = (
    m("a count that is cut itself disproves a cut", "unabridged.sources.sql.judging:_count_is_exact", gives(True),
      "sources/test_sql.py::test_a_count_that_is_cut_itself_disproves_no_cut_and_is_no_total"),
    m("one row is no limit wherever it stands", "unabridged.sources.sql.shape:_brings_the_rows", gives(False),
      "sources/test_sql_shape.py::test_one_row_that_all_rows_come_from_is_a_limit"),
    m("an expression passes over no rows", "unabridged.sources.sql.shape:_says_how_much", gives(False),
      "sources/test_sql_shape.py::test_whatever_says_how_many_rows_are_passed_over_passes_over_rows"),
    m("a number in an expression is the limit", "unabridged.sources.sql.shape:_is_by_itself", gives(True),
      "sources/test_sql_shape.py::test_a_number_that_is_a_part_of_an_expression_is_not_the_limit"),
    m("attached files are one snapshot", "unabridged.sources.sql.servers:SQLite.touched", gives(Signals()),
      "sources/test_sql.py::test_files_that_are_attached_are_not_one_snapshot"),
    m("a token below the top is not looked for", "unabridged.sources.aws.paging:_beside",
      lambda _: lambda shape, _items: iter(shape.members),
      "sources/test_aws.py::test_a_token_beside_the_list_is_found_also_below_the_top"),
    m("what did not come is not missed", "unabridged.sources.aws.answers:_says_failed", gives(False),
      "sources/test_aws.py::test_what_was_asked_for_and_did_not_come_is_a_partial_failure"),
    m("the first values of a range are all", "unabridged.sources.ldap:_last_of", gives(None),
      "sources/test_ldap.py::test_values_that_come_in_parts_are_asked_for_to_their_end",
      "sources/test_ldap.py::test_values_whose_rest_does_not_come_are_not_taken_for_all"),
    m("any function lists", "unabridged.sources.kubernetes:_name_of", gives("list_"),
      "sources/test_kubernetes.py::test_arguments_are_refused_without_their_values"),
)  # fmt: skip
MUTANTS: Final = (
    *READER,
    *READING,
    *LAWS,
    *CONTRACT,
    *AUDIT,
    *CANARIES,
    *SQL,
    *EVIDENCE,
    *GATE,
    *GUARDS,
    *ANSWERS,
    *SOURCES,
    *ACTIONS,
    *EXECUTORS,
    *APPROVALS,
    *ANNOTATIONS,
    *LANGCHAIN,
    *LLAMAINDEX,
)
