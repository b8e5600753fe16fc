"""The decision about a write: every code that needs no approval, and what each rule does not say."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from evidence.made_reads import AT, OWN_LIMIT, at, counted, cut, frozen, made, page
from unabridged.contract import (
    REASON_CODES,
    InvalidInput,
    NextPage,
    Reason,
    RetrySources,
    RetryWithDeadline,
    SourceOutcome,
    merge,
    presented,
)
from unabridged.evidence import Asked, Evidence, RecordedRead, WriteIntent, header_of, judge_write


def codes(intent: WriteIntent, *reads: object, now_s: float = 0, **how: Any) -> list[str]:
    verdict = judge_write(intent, list(reads), now=at(now_s), **how)
    assert verdict.allowed == (not verdict.codes)
    return list(verdict.codes)


def write(**parts: Any) -> WriteIntent:
    return WriteIntent("purge", **parts)


@dataclass(frozen=True)
class Row:
    """One line of the table: a write, the reads before it, and every code that applies."""

    name: str
    intent: WriteIntent
    reads: list[Any]
    codes: list[str] = field(default_factory=list)
    now_s: float = 0


WHOLE = made("widgets", [1, 2])
PART = page("widgets", [1, 2])
DEAD = made("widgets", None)
SILENT = made("widgets", [1], "COVERAGE_UNKNOWN")
TABLE = [
    Row("nothing was read and nothing is relied on", write(), []),
    Row("a whole read lets it run", write(), [WHOLE]),
    Row("a partial read holds it back", write(), [PART], ["EVIDENCE_INCOMPLETE"]),
    Row("an unknown read holds it back", write(), [SILENT], ["EVIDENCE_INCOMPLETE"]),
    Row("an unavailable read holds it back", write(), [DEAD], ["EVIDENCE_INCOMPLETE"]),
    Row("a read of something else holds it back too", write(), [made("queues", [1]), PART], ["EVIDENCE_INCOMPLETE"]),
    Row("unless it says what it relies on", write(relies_on=["queues"]), [made("queues", [1]), PART]),
    Row("what it relies on was never read", write(relies_on=["queues"]), [WHOLE], ["EVIDENCE_MISSING"]),
    Row("one of two was never read, the other in part", write(relies_on=["widgets", "queues"]), [PART],
        ["EVIDENCE_INCOMPLETE", "EVIDENCE_MISSING"]),
    Row("a named scope that no read covers", write(relies_on=[{"resource": "widgets", "filters": {"x": 1}}]),
        [made("widgets", filters={"x": 2})], ["EVIDENCE_MISSING"]),
    Row("a named scope that a wider read covers", write(relies_on=[{"resource": "widgets", "filters": {"x": 1}}]),
        [WHOLE]),
    Row("a named scope without filters is the widest", write(relies_on=[{"resource": "widgets", "filters": {}}]),
        [made("widgets", filters={"x": 2})], ["EVIDENCE_MISSING"]),
    Row("true is not one in a filter", write(relies_on=[{"resource": "widgets", "filters": {"x": 1}}]),
        [made("widgets", filters={"x": True})], ["EVIDENCE_MISSING"]),
    Row("one is one point zero in a filter", write(relies_on=[{"resource": "widgets", "filters": {"x": 1}}]),
        [made("widgets", filters={"x": 1.0})]),
    Row("a read in flight", write(), [WHOLE, Asked("widgets").pending()], ["EVIDENCE_PENDING"]),
    Row("a read in flight is not missing", write(relies_on=["gears"]), [Asked("gears").pending()],
        ["EVIDENCE_PENDING"]),
    Row("a read in flight past its deadline", write(), [Asked("gears").pending(deadline=at(120))],
        ["EVIDENCE_INCOMPLETE"], 120),
    Row("as old as it may be", write(max_age_s=60), [WHOLE], [], 60),
    Row("older than it may be", write(max_age_s=60), [WHOLE], ["EVIDENCE_STALE"], 60.001),
    Row("age counts from the start", write(max_age_s=60), [made("widgets", [1], end_s=50)], ["EVIDENCE_STALE"], 61),
    Row("no rule on age unless it states one", write(), [WHOLE], [], 10_000_000),
    Row("a start that lies five seconds ahead", write(), [made("widgets", [1], start_s=5)]),
    Row("a start that lies further ahead", write(), [made("widgets", [1], start_s=5.001)], ["EVIDENCE_STALE"]),
    Row("a stale partial read is both", write(max_age_s=1), [PART], ["EVIDENCE_INCOMPLETE", "EVIDENCE_STALE"], 2),
    Row("a count is demanded and given", write(require="counted"), [counted("widgets", [1])]),
    Row("a count is demanded and not given", write(require="counted"), [WHOLE], ["EVIDENCE_WEAK"]),
    Row("a snapshot is demanded and given", write(require="snapshot"), [frozen("widgets", [1])]),
    Row("a snapshot is demanded and not given", write(require="snapshot"), [WHOLE], ["EVIDENCE_WEAK"]),
    Row("a double walk is demanded", write(require=["double_walk"]), [frozen("widgets", [1])], ["EVIDENCE_WEAK"]),
    Row("all must be visible, and are", write(require="visibility_all"), [made("widgets", [1], visibility="all")]),
    Row("all must be visible, and may not be", write(require="visibility_all"), [WHOLE], ["EVIDENCE_WEAK"]),
    Row("a weak partial read is both", write(require="snapshot"), [PART], ["EVIDENCE_INCOMPLETE", "EVIDENCE_WEAK"]),
    Row("every read it rests on must be strong", write(require="counted"), [counted("widgets", [1]), made("queues")],
        ["EVIDENCE_WEAK"]),
    Row("a destructive write without a read", write(destructive=True), [], ["EVIDENCE_MISSING"]),
    Row("a destructive write on an interval", write(destructive=True), [WHOLE], ["EVIDENCE_WEAK"]),
    Row("a destructive write on a snapshot", write(destructive=True), [frozen("widgets", [1])]),
    Row("a destructive write with targets on an interval", write(destructive=True, targets=[1]), [WHOLE],
        ["EVIDENCE_WEAK"]),
    Row("a recheck of each target serves", write(destructive=True, targets=[1], recheck=True), [WHOLE]),
    Row("a recheck of nothing serves nothing", write(destructive=True, recheck=True), [WHOLE], ["EVIDENCE_WEAK"]),
    Row("a destructive write relies on samples too", write(destructive=True),
        [frozen("widgets"), made("docs", [1], "SAMPLE_REQUESTED", intent="sample")],
        ["EVIDENCE_INCOMPLETE", "EVIDENCE_WEAK"]),
    Row("targets that were read", write(targets=[2, 1.0]), [WHOLE]),
    Row("a target that was not read", write(targets=[1, 3]), [WHOLE], ["TARGET_NOT_IN_EVIDENCE"]),
    Row("a text is not the number that looks like it", write(targets=["1"]), [WHOLE], ["TARGET_NOT_IN_EVIDENCE"]),
    Row("true is not one", write(targets=[True]), [WHOLE], ["TARGET_NOT_IN_EVIDENCE"]),
    Row("targets of two resources are united", write(targets=[1, 9]), [WHOLE, made("queues", [9])]),
    Row("targets when nothing was read", write(targets=[1]), [], ["TARGET_NOT_IN_EVIDENCE"]),
    Row("targets are not looked at on partial evidence", write(targets=[7]), [PART], ["EVIDENCE_INCOMPLETE"]),
    Row("an empty list of targets names none", write(targets=[], allow_returned_targets=True), [PART],
        ["EVIDENCE_INCOMPLETE"]),
    Row("returned targets of a partial read", write(targets=[2], allow_returned_targets=True), [PART]),
    Row("returned targets of an unknown read", write(targets=[1], allow_returned_targets=True), [SILENT]),
    Row("a target that a partial read did not return", write(targets=[7], allow_returned_targets=True), [PART],
        ["TARGET_NOT_IN_EVIDENCE"]),
    Row("returned targets beside an unavailable read", write(targets=[2], allow_returned_targets=True),
        [PART, made("queues", None)], ["EVIDENCE_INCOMPLETE"]),
    Row("both at once", write(targets=[7], allow_returned_targets=True), [PART, made("queues", None)],
        ["EVIDENCE_INCOMPLETE", "TARGET_NOT_IN_EVIDENCE"]),
    Row("returned targets without targets", write(allow_returned_targets=True), [PART], ["EVIDENCE_INCOMPLETE"]),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_rule_of_the_table_holds(row: Row) -> None:
    assert codes(row.intent, *row.reads, now_s=row.now_s) == row.codes


@pytest.mark.parametrize("code", REASON_CODES)
@pytest.mark.parametrize("items", [[1], [], None], ids=["with items", "empty", "unavailable"])
def test_every_reason_holds_back_a_write_that_relies_on_the_read(code: str, items: list[int] | None) -> None:
    read = made("widgets", items, code)
    found = judge_write(write(relies_on=["widgets"]), [read], now=AT)
    assert found.codes == ("EVIDENCE_INCOMPLETE",)
    assert [r.id for r in found.reads] == [read.read.id]
    assert found.reads[0].codes == (code,)


def test_a_reason_that_this_version_does_not_know_holds_back_a_write() -> None:
    assert codes(write(), made("widgets", [1], "NEW_REASON_OF_NEXT_YEAR")) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize("code", ["APPROXIMATE_METHOD", "SAMPLE_REQUESTED"])
def test_an_approximate_search_binds_a_plain_write_only_where_it_is_named(code: str) -> None:
    read = made("docs", [1], code)
    assert codes(write(), read) == []
    assert codes(write(relies_on=["docs"]), read) == ["EVIDENCE_INCOMPLETE"]
    assert "EVIDENCE_INCOMPLETE" in codes(write(destructive=True), read)


def test_an_approximate_search_with_a_failure_binds_every_write() -> None:
    assert codes(write(), made("docs", [1], "APPROXIMATE_METHOD", "RATE_LIMITED")) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(), made("docs", None, "APPROXIMATE_METHOD")) == ["EVIDENCE_INCOMPLETE"]


def lookup(order: Any, *found: Any, dead: bool = False, **parts: Any) -> Any:
    items = None if dead else list(found)
    return made("orders", items, filters={"id": order}, intent="lookup", **parts)


def test_a_lookup_binds_a_plain_write_only_where_it_is_named() -> None:
    assert codes(write(), lookup(5, dead=True)) == []
    assert codes(write(relies_on=["orders"]), lookup(5, dead=True)) == ["EVIDENCE_INCOMPLETE"]


def test_lookups_of_other_keys_do_not_bind_a_write_with_targets() -> None:
    found, lost = lookup(5, 5), lookup(6, dead=True)
    assert codes(write(relies_on=["orders"], targets=[5]), found, lost) == []
    assert codes(write(relies_on=["orders"], targets=[6]), found, lost) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(relies_on=["orders"], targets=[5, 6]), found, lost) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(relies_on=["orders"], targets=[7]), found, lost) == ["TARGET_NOT_IN_EVIDENCE"]
    assert codes(write(relies_on=["orders"]), found, lost) == ["EVIDENCE_INCOMPLETE"]


def test_a_whole_lookup_of_a_target_is_evidence_for_a_plain_write_on_it() -> None:
    assert codes(write(targets=[5]), made("queues", [1]), lookup(5, 5)) == []
    assert codes(write(targets=[5]), lookup(5)) == ["TARGET_NOT_IN_EVIDENCE"]


def test_a_lookup_whose_key_is_not_known_binds_by_name_whatever_the_target() -> None:
    vague = made("orders", None, filters={"name": "a", "city": "b"}, intent="lookup")
    assert codes(write(relies_on=["orders"], targets=[5]), lookup(5, 5), vague) == ["EVIDENCE_INCOMPLETE"]


def test_a_later_complete_read_clears_what_its_filters_cover_and_nothing_else() -> None:
    narrow = page("widgets", [1], filters={"region": "eu"})
    assert codes(write(), narrow, made("widgets", [1, 2])) == []
    assert codes(write(), narrow, made("widgets", [1], filters={"region": "eu"})) == []
    assert codes(write(), narrow, made("widgets", [1], filters={"region": "us"})) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(), page("widgets", [1]), made("widgets", filters={"owner": None})) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(), made("widgets", [1, 2]), narrow) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(), narrow, made("gadgets", [1, 2])) == ["EVIDENCE_INCOMPLETE"]


def test_a_scope_of_two_filters_covers_neither_of_them_alone() -> None:
    both = made("widgets", filters={"region": "eu", "owner": None})
    for one in ({"region": "eu"}, {"owner": None}):
        assert codes(write(), page("widgets", [1], filters=one), both) == ["EVIDENCE_INCOMPLETE"]
    ones = [page("widgets", [1], filters={"region": "eu"}), page("widgets", [1], filters={"owner": None})]
    assert len(Evidence([*ones, both]).standing) == 3
    narrower = page("widgets", [1], filters={"region": "eu", "owner": None, "state": "open"})
    assert codes(write(), narrower, both) == []


def test_an_id_that_two_reads_hold_is_evidence_while_one_of_them_stands() -> None:
    evidence = Evidence([made("widgets", [1, 2], filters={"x": 1}), made("widgets", [1, 3], filters={"y": 1})])
    assert judge_write(write(targets=[1, 2, 3]), evidence, now=AT).allowed
    evidence.add(header_of(made("widgets", filters={"x": 1})))
    assert judge_write(write(targets=[1, 3]), evidence, now=AT).allowed
    assert judge_write(write(targets=[2]), evidence, now=AT).codes == ("TARGET_NOT_IN_EVIDENCE",)
    evidence.add(header_of(made("widgets", filters={"y": 1})))
    assert judge_write(write(targets=[1]), evidence, now=AT).codes == ("TARGET_NOT_IN_EVIDENCE",)


def test_what_was_cleared_leaves_nothing_behind_in_the_index() -> None:
    evidence = Evidence()
    for n in range(200):
        evidence.add(header_of(page("orders", [n], filters={"id": n, "x": n})))
    evidence.add(header_of(made("orders", [1])))
    assert len(evidence.standing) == 1
    assert len(evidence._scopes["orders"]) == 1
    assert evidence._pairs["orders"] == {}


def test_a_cleared_read_counts_for_nothing_any_more() -> None:
    old, new = made("widgets", [1, 2]), made("widgets", [2, 3], start_s=100)
    assert codes(write(targets=[1]), old, new, now_s=100) == ["TARGET_NOT_IN_EVIDENCE"]
    assert codes(write(targets=[3], max_age_s=50), old, new, now_s=100) == []
    assert codes(write(require="counted"), made("widgets", [1]), counted("widgets", [1])) == []


def test_a_read_in_flight_holds_no_ids_and_clears_nothing() -> None:
    asked = Asked("widgets").pending(deadline=at(100))
    assert codes(write(targets=[1]), asked, now_s=50) == ["EVIDENCE_PENDING"]
    assert codes(write(), page("widgets", [1]), asked) == ["EVIDENCE_INCOMPLETE", "EVIDENCE_PENDING"]
    whole = made("widgets", [1], start_s=10)
    assert codes(write(), asked, whole, now_s=50) == ["EVIDENCE_PENDING"]
    assert codes(write(), asked, whole, now_s=150) == []


def test_a_read_of_the_same_turn_is_not_yet_evidence() -> None:
    turn = [Asked("widgets")]
    assert codes(write(), made("widgets", [1]), same_turn=turn) == ["EVIDENCE_PENDING"]
    assert codes(write(relies_on=["widgets"]), same_turn=turn) == ["EVIDENCE_PENDING"]
    assert codes(write(relies_on=["queues"]), made("queues", [1]), same_turn=turn) == []
    assert codes(write(), same_turn=[Asked("orders", {"id": 5}, "lookup")]) == []
    five = write(relies_on=["orders"], targets=[5])
    assert codes(five, lookup(5, 5), same_turn=[Asked("orders", {"id": 6}, "lookup")]) == []
    assert codes(five, lookup(5, 5), same_turn=[Asked("orders", {"id": 5}, "lookup")]) == ["EVIDENCE_PENDING"]


def test_a_chain_counts_as_one_read() -> None:
    first = page("widgets", [1], start_s=0)
    last = made("widgets", [2], continues=first.read.id, start_s=50)
    assert codes(write(targets=[1, 2]), first, last, now_s=50) == []
    assert codes(write(targets=[3]), first, last, now_s=50) == ["TARGET_NOT_IN_EVIDENCE"]
    assert codes(write(max_age_s=60), first, last, now_s=61) == ["EVIDENCE_STALE"]
    assert codes(write(), last, now_s=50) == ["EVIDENCE_INCOMPLETE"], "a tail without its head is no whole"


def test_a_chain_heals_a_failed_page_only_when_the_next_link_asks_for_it_again() -> None:
    failed = page("widgets", [1], codes=("SOURCE_UNAVAILABLE:status",))
    assert codes(write(), failed, made("widgets", [2], continues=failed.read.id)) == []
    dead_zone = page("widgets", [1], codes=(*OWN_LIMIT, "SOURCE_UNAVAILABLE"))
    assert codes(write(), dead_zone, made("widgets", [2], continues=dead_zone.read.id)) == ["EVIDENCE_INCOMPLETE"]
    both = page("widgets", [1], codes=("SOURCE_UNAVAILABLE:status", "PARTIAL_FAILURE"))
    assert codes(write(), both, made("widgets", [2], continues=both.read.id)) == ["EVIDENCE_INCOMPLETE"]
    no_way = made("widgets", [1], "RATE_LIMITED")
    assert codes(write(), no_way, made("widgets", [2], continues=no_way.read.id)) == ["EVIDENCE_INCOMPLETE"]


def test_an_answer_that_its_page_size_cut_stays_cut_however_the_chain_goes_on() -> None:
    budget = page("widgets", [1], codes=("CLIENT_LIMIT_REACHED:max_items", "MORE_PAGES_AVAILABLE"))
    assert codes(write(), budget, made("widgets", [2], continues=budget.read.id)) == []
    cut = page("widgets", [1], codes=("CLIENT_LIMIT_REACHED:page_size", "MORE_PAGES_AVAILABLE"))
    assert codes(write(), cut, made("widgets", [2], continues=cut.read.id)) == ["EVIDENCE_INCOMPLETE"]


def test_a_chain_is_a_snapshot_only_when_one_spans_it() -> None:
    def chain(one: Any, two: Any) -> list[Any]:
        first = page("widgets", [1], snapshot=one, consistency="snapshot")
        return [first, frozen("widgets", [2], snapshot=two, continues=first.read.id)]

    assert codes(write(require="snapshot"), *chain("v1", "v1")) == []
    assert codes(write(require="snapshot"), *chain("v1", "v2")) == ["EVIDENCE_WEAK"]
    first = page("widgets", [1], snapshot="v1")
    assert first.consistency == "interval"
    last = frozen("widgets", [2], snapshot="v1", continues=first.read.id)
    assert codes(write(require="snapshot"), first, last) == ["EVIDENCE_WEAK"]


def test_two_ways_on_from_one_page_are_two_chains() -> None:
    first = page("widgets", [1])
    one = page("widgets", [2], continues=first.read.id)
    other = made("widgets", [3], continues=first.read.id)
    assert codes(write(targets=[1, 3]), first, one, other) == []
    assert codes(write(targets=[2]), first, one, other) == ["TARGET_NOT_IN_EVIDENCE"]
    assert codes(write(), first, other, page("widgets", [2], continues=first.read.id)) == ["EVIDENCE_INCOMPLETE"]


def test_relying_on_a_derived_read_is_relying_on_what_it_was_derived_from() -> None:
    rely = write(relies_on=["summary"])
    part, whole = page("tickets", [1, 2]), made("tickets", [1, 2], start_s=-100)

    def summary(*sources: Any) -> Any:
        return made("summary", ["s"], derived_from=tuple(s.read.id for s in sources))

    assert codes(rely, part, summary(part)) == ["EVIDENCE_INCOMPLETE"]
    assert codes(rely, whole, summary(whole)) == []
    assert codes(write(relies_on=["summary"], targets=[2, "s"]), whole, summary(whole)) == []
    assert codes(write(relies_on=["summary"], max_age_s=60), whole, summary(whole)) == ["EVIDENCE_STALE"]
    assert codes(write(relies_on=["summary"], require="counted"), whole, summary(whole)) == ["EVIDENCE_WEAK"]
    twice = summary(part)
    of_summary = made("digest", ["d"], derived_from=(twice.read.id,))
    assert codes(write(relies_on=["digest"]), part, twice, of_summary) == ["EVIDENCE_INCOMPLETE"]
    assert codes(rely, summary(part)) == ["EVIDENCE_INCOMPLETE"], "what it was derived from is not known"


def test_reading_the_list_again_does_not_make_an_old_summary_of_a_part_whole() -> None:
    part = page("tickets", [1, 2])
    summary = made("summary", ["s"], derived_from=(part.read.id,))
    again = made("tickets", [1, 2, 3])
    assert codes(write(relies_on=["summary"]), part, summary, again) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(relies_on=["summary"]), part, summary, again, made("summary", ["t"])) == []


def test_findings_over_a_read_are_as_good_as_the_read() -> None:
    part, whole = page("tickets", [1, 2]), made("tickets", [1, 2])
    assert codes(write(relies_on=["open"]), part, part.findings(lambda _: True, name="open")) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(relies_on=["open"]), whole, whole.findings(lambda _: False, name="open")) == []


def test_an_envelope_that_shows_a_part_holds_back_only_a_write_without_targets() -> None:
    shown = presented(made("widgets", ["a", "b", "c"]), 2)
    assert codes(write(), shown) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(targets=["a"]), shown) == []
    assert codes(write(targets=["c"]), shown) == ["TARGET_NOT_IN_EVIDENCE"]
    partly = presented(page("widgets", ["a", "b", "c"]), 2)
    assert codes(write(targets=["a"]), partly) == ["EVIDENCE_INCOMPLETE"]


def test_a_merged_read_is_judged_as_a_whole() -> None:
    good, dead = made("eu", [1]), made("us", None)
    assert codes(write(relies_on=["all"]), merge([good, dead], resource="all")) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(relies_on=["all"]), merge([good, made("us", [2])], resource="all")) == []


def test_a_cut_field_makes_the_read_incomplete() -> None:
    read = made("docs", [1], "ITEM_TRUNCATED", item_cuts=(cut(1, "body"),))
    assert codes(write(relies_on=["docs"]), read) == ["EVIDENCE_INCOMPLETE"]


def test_a_policy_may_send_what_fails_to_a_person() -> None:
    def verdict(intent: WriteIntent, read: Any, **how: Any) -> str:
        return judge_write(intent, [read], now=AT, **how).verdict

    assert verdict(write(), PART, on_fail="review") == "review"
    assert verdict(write(), WHOLE, on_fail="review") == "allow"
    assert verdict(write(destructive=True), WHOLE) == "refuse"
    assert verdict(write(destructive=True), WHOLE, has_approver=True) == "review"
    assert verdict(write(destructive=True), PART, has_approver=True) == "refuse"
    assert verdict(write(require="counted"), WHOLE, has_approver=True) == "refuse"


def test_a_refusal_offers_only_what_would_help() -> None:
    def options(intent: WriteIntent, *reads: Any, **how: Any) -> list[str]:
        return list(judge_write(intent, list(reads), now=AT, **how).options)

    assert options(write(), WHOLE) == []
    assert options(write(), PART) == ["continue_read", "abandon"]
    assert options(write(allow_returned_targets=True), PART) == ["continue_read", "restrict_to_returned", "abandon"]
    assert options(write(), DEAD) == ["abandon"]
    slow = made("widgets", None, continuation=RetryWithDeadline(seconds=30))
    assert options(write(), slow) == ["retry_with_deadline", "abandon"]
    assert options(write(targets=[9]), WHOLE) == ["restrict_to_returned", "abandon"]
    assert options(write(), presented(WHOLE, 1)) == ["continue_read", "restrict_to_returned", "abandon"]
    assert options(write(), PART, has_approver=True) == ["continue_read", "request_review", "abandon"]


def test_a_refusal_names_at_most_twenty_reads() -> None:
    many = [made("widgets", [n], "RATE_LIMITED") for n in range(50)]
    assert len(judge_write(write(), many, now=AT).reads) == 20


def test_a_naive_moment_is_taken_as_utc() -> None:
    naive = (AT + timedelta(seconds=30)).replace(tzinfo=None)
    assert judge_write(write(max_age_s=60), [WHOLE], now=naive).allowed


def test_what_is_no_read_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"reads: must hold results or recorded reads"):
        judge_write(write(), ["secret"], now=AT)


BAD_INTENTS: list[tuple[dict[str, Any], str]] = [
    ({"tool": ""}, "tool: must be a non-empty text"),
    ({"relies_on": []}, "relies_on: must not be empty"),
    ({"relies_on": [""]}, r"relies_on\[0\]: must be a non-empty name"),
    ({"relies_on": [7]}, r"relies_on\[0\]: must be a name"),
    ({"relies_on": {"resource": "a"}}, "relies_on: must be a list"),
    ({"relies_on": [{"filters": {}}]}, r"relies_on\[0\].resource: must be a non-empty name"),
    ({"relies_on": ["a", {"resource": "b", "filters": [1]}]}, r"relies_on\[1\].filters: must be an object"),
    ({"relies_on": [{"resource": "b", "filter": {}}]}, r"relies_on\[0\]: may hold resource and filters only"),
    ({"targets": "kanarie"}, "targets: must be a list of ids"),
    ({"targets": 7}, "targets: must be a list of ids"),
    ({"targets": [None]}, "targets: must hold no null"),
    ({"require": []}, "require: must be one or more of"),
    ({"require": "kanarie"}, "require: must be one or more of"),
    ({"require": ["complete", 7]}, "require: must be one or more of"),
    ({"max_age_s": -1}, "max_age_s: must be a number"),
    ({"max_age_s": True}, "max_age_s: must be a number"),
    ({"max_age_s": float("nan")}, "max_age_s: must be a number"),
    ({"destructive": "yes"}, "destructive: must be true or false"),
    ({"allow_returned_targets": 1}, "allow_returned_targets: must be true or false"),
]


@pytest.mark.parametrize(("parts", "message"), BAD_INTENTS, ids=[str(sorted(p)) + m[:30] for p, m in BAD_INTENTS])
def test_a_bad_intent_is_refused_by_field_and_rule(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        WriteIntent(**{"tool": "purge", **parts})
    assert "kanarie" not in str(caught.value)


def test_the_evidence_of_a_session_is_judged_as_its_reads_are() -> None:
    reads: list[RecordedRead] = list(Evidence([PART, WHOLE, page("queues", [1])]))
    assert judge_write(write(), reads, now=AT) == judge_write(write(), Evidence(reads), now=AT)


RESTED_ON = {"continuation": NextPage(handle="h_1")}


@pytest.mark.parametrize(
    "said",
    [
        ("SOURCE_UNAVAILABLE", "TIME_BUDGET_EXCEEDED:max_seconds"),
        ("PROTOCOL_ANOMALY:page_size_changed", "TIME_BUDGET_EXCEEDED:max_seconds"),
        ("RATE_LIMITED", "RATE_LIMITED:page_failed"),
    ],
)
def test_a_page_that_is_asked_for_again_makes_good_no_signal_of_an_earlier_page(
    said: tuple[str, ...],
) -> None:
    first = made("widgets", [1], *said, **RESTED_ON)
    assert codes(write(), first, made("widgets", [2], continues=first.read.id)) == ["EVIDENCE_INCOMPLETE"]


@pytest.mark.parametrize(
    "code", ["SOURCE_UNAVAILABLE:status", "RATE_LIMITED", "TIME_BUDGET_EXCEEDED:max_seconds", "PROTOCOL_ANOMALY:x"]
)
def test_a_page_that_is_asked_for_again_makes_good_its_own_failure(code: str) -> None:
    first = made("widgets", [1], code, **RESTED_ON)
    assert codes(write(), first, made("widgets", [2], continues=first.read.id)) == []


@pytest.mark.parametrize("code", ["CLIENT_LIMIT_REACHED", "PRESENTATION_LIMIT", "TIME_BUDGET_EXCEEDED"])
def test_what_a_source_says_of_itself_is_no_limit_of_ours_whatever_its_code(code: str) -> None:
    said = Reason(code=code, detail="max_seconds", layer="source")
    limits = [Reason(code=name, layer="client") for name in OWN_LIMIT]
    plain = page("widgets", [1])
    first = plain.model_copy(update={"incomplete_reasons": (said, *limits), "truncated": True})
    assert codes(write(), plain, made("widgets", [2], continues=plain.read.id)) == []
    assert codes(write(), first, made("widgets", [2], continues=first.read.id)) == ["EVIDENCE_INCOMPLETE"]


def test_the_last_link_of_a_chain_is_not_the_whole_because_it_was_merged() -> None:
    first = page("widgets", [1], codes=("CONSISTENCY_LOST:total_changed",), consistency="not_established")
    last = made("widgets", [2], continues=first.read.id)
    whole = merge([last], resource="widgets")
    assert codes(write(), whole) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(), first, last, whole) == ["EVIDENCE_INCOMPLETE"]
    good = page("widgets", [1])
    rest = made("widgets", [2], continues=good.read.id)
    both = merge([rest, made("widgets", [3])], resource="widgets")
    assert codes(write(targets=[2, 3]), good, rest, both) == []


def test_a_snapshot_without_a_count_lets_no_merge_pass_for_counted() -> None:
    both = merge([counted("eu", [1]), frozen("us", [2])], resource="widgets")
    assert both.proof.level == "end_marker"
    assert codes(write(require="counted"), both) == ["EVIDENCE_WEAK"]
    assert codes(write(require="counted"), merge([counted("eu", [1]), counted("us", [2])], resource="widgets")) == []


@pytest.mark.parametrize("code", ["SOURCE_UNAVAILABLE:status", "RATE_LIMITED", "TRANSPORT_TRUNCATED:short_body"])
def test_a_dead_source_that_answers_when_it_is_asked_again_makes_its_failure_good(code: str) -> None:
    name, _, detail = code.partition(":")
    said = Reason(code=name, detail=detail or None, source="us")
    live, dead = SourceOutcome(name="eu", status="complete"), SourceOutcome(name="us", status="unavailable")
    first = made("widgets", [1], "SOURCE_UNAVAILABLE", sources=(live, dead), continuation=RetrySources(names=("us",)))
    first = first.model_copy(update={"incomplete_reasons": (said,), "truncated": None})
    whole = (live, SourceOutcome(name="us", status="complete", returned=1))
    assert codes(write(), first, made("widgets", [2], continues=first.read.id, sources=whole)) == []
    silent = made("widgets", [2], continues=first.read.id, sources=(live,))
    assert codes(write(), first, silent) == ["EVIDENCE_INCOMPLETE"]
