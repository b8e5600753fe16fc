"""Laws of the guard and of the judgement of answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evidence.made_reads import AT, OWN_LIMIT, at, made
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.naive_guard import naive_codes, units_of
from unabridged.answers import Claim, caveats, judge_answer
from unabridged.contract import NextPage, Proof, ReadResult, Total, new_handle
from unabridged.evidence import Asked, Evidence, RecordedRead, WriteIntent, header_of, judge_write

RESOURCES = ("widgets", "gadgets")
FILTERS: tuple[dict[str, Any], ...] = ({}, {"id": 1}, {"id": 2}, {"x": None}, {"id": 1, "x": None}, {"id": 2, "x": 0})
CODES: tuple[tuple[str, ...], ...] = (
    (), (), OWN_LIMIT, ("SOURCE_UNAVAILABLE:status",), ("COVERAGE_UNKNOWN",), ("APPROXIMATE_METHOD",),
    (*OWN_LIMIT, "SOURCE_UNAVAILABLE:status"),
)  # fmt: skip
ids = st.lists(st.sampled_from((1, 2, 3, "1", "two")), unique=True, max_size=4)


@st.composite
def one_read(draw: st.DrawFn, earlier: list[RecordedRead]) -> RecordedRead:
    """Draws a read, in flight, gone on from an earlier one, or derived from some."""
    resource, filters = draw(st.sampled_from(RESOURCES)), draw(st.sampled_from(FILTERS))
    intent = draw(st.sampled_from(("inventory", "inventory", "inventory", "lookup", "sample")))
    start = draw(st.integers(0, 200))
    kind = draw(st.sampled_from(("plain", "plain", "plain", "dead", "pending", "chain", "derived")))
    if kind == "pending":
        deadline = draw(st.sampled_from((None, at(100), at(400))))
        asked = Asked(resource, filters, "inventory" if intent == "sample" else intent)
        return asked.pending(deadline=deadline)
    parts: dict[str, Any] = {}
    if kind == "chain" and earlier:
        before = draw(st.sampled_from(earlier))
        parts["continues"] = before.id
        if draw(st.booleans()):
            resource, filters, intent = before.resource, dict(before.filters), before.intent
    if kind == "derived" and earlier:
        parts["derived_from"] = tuple(draw(st.lists(st.sampled_from([*(r.id for r in earlier), "r_gone"]), max_size=2)))
    codes = draw(st.sampled_from(CODES))
    if intent == "sample":
        codes = (*codes, "SAMPLE_REQUESTED")
    if kind == "dead":
        return header_of(made(resource, None, filters=filters, intent=intent, start_s=start, **parts))
    held = draw(ids)
    if codes and draw(st.booleans()):
        parts["continuation"] = NextPage(handle=new_handle())
    if draw(st.booleans()):
        parts.update(snapshot=draw(st.sampled_from(("v1", "v2"))), consistency="snapshot")
    if not codes and draw(st.booleans()):
        parts.update(total=Total(value=len(held), kind="exact"), proof=Proof(level="counted", count=len(held)))
    parts["visibility"] = draw(st.sampled_from(("all", "caller")))
    header = header_of(made(resource, held, *codes, filters=filters, intent=intent, start_s=start, **parts))
    return replace(header, shown=draw(st.sampled_from((None, None, None, 0))))


@st.composite
def sessions(draw: st.DrawFn, max_size: int = 9) -> list[RecordedRead]:
    """Draws the reads of a session in their order."""
    reads: list[RecordedRead] = []
    for _ in range(draw(st.integers(0, max_size))):
        reads.append(draw(one_read([r for r in reads if not r.is_pending])))
    return reads


reliances = st.none() | st.lists(
    st.sampled_from(RESOURCES)
    | st.builds(lambda r, f: {"resource": r, "filters": f}, st.sampled_from(RESOURCES), st.sampled_from(FILTERS)),
    min_size=1,
    max_size=3,
)
intents = st.builds(
    WriteIntent,
    st.just("purge"),
    relies_on=reliances,
    targets=st.none() | ids,
    require=st.sampled_from(("complete", "counted", "snapshot", "double_walk", "visibility_all")),
    max_age_s=st.sampled_from((None, 50, 150)),
    allow_returned_targets=st.booleans(),
    destructive=st.booleans(),
    recheck=st.booleans(),
)
turns = st.lists(st.builds(Asked, st.sampled_from(RESOURCES), st.sampled_from(FILTERS)), max_size=1)


@given(sessions(), intents, turns, st.sampled_from((0, 150, 300)))
@settings(max_examples=400)
def test_the_indexed_guard_agrees_with_the_plain_one(
    reads: list[RecordedRead], intent: WriteIntent, same_turn: list[Asked], now_s: int
) -> None:
    verdict = judge_write(intent, Evidence(reads), now=at(now_s), same_turn=same_turn)
    assert set(verdict.codes) == naive_codes(intent, reads, now=at(now_s), same_turn=same_turn)
    assert verdict.allowed == (not verdict.codes)


@given(sessions(), intents)
@settings(max_examples=200)
def test_judging_after_every_read_changes_nothing(reads: list[RecordedRead], intent: WriteIntent) -> None:
    grown = Evidence()
    for read in reads:
        grown.add(read)
        judge_write(intent, grown, now=at(300))
    assert judge_write(intent, grown, now=at(300)) == judge_write(intent, reads, now=at(300))


@given(sessions(max_size=12))
@settings(max_examples=250)
def test_the_standing_reads_are_those_that_nothing_later_covers(reads: list[RecordedRead]) -> None:
    standing, _ = units_of(reads)
    found = Evidence(reads).standing
    assert [[link.id for link in s.links] for s in found] == [[link.id for link in u.links] for u in standing]
    assert [s.keys for s in found] == [u.ids for u in standing]


@given(sessions(max_size=6), intents, st.sampled_from(CODES[2:]), st.sampled_from(RESOURCES))
def test_an_incomplete_read_that_it_relies_on_never_lets_a_write_run(
    reads: list[RecordedRead], intent: WriteIntent, codes: tuple[str, ...], resource: str
) -> None:
    more = made(resource, [1], *codes)
    verdict = judge_write(intent, [*reads, more], now=at(300))
    relies = any(r.resource == resource for r in intent.relies_on or ()) or (
        intent.relies_on is None and (intent.destructive or codes != ("APPROXIMATE_METHOD",))
    )
    if relies and not (intent.allow_returned_targets and intent.targets):
        assert "EVIDENCE_INCOMPLETE" in verdict.codes
    if not judge_write(intent, reads, now=at(300)).allowed and intent.relies_on is None:
        assert not verdict.allowed or "TARGET_NOT_IN_EVIDENCE" in judge_write(intent, reads, now=at(300)).codes


@given(sessions(max_size=6), intents, st.integers(0, 200))
def test_a_complete_read_of_everything_clears_what_came_before(
    reads: list[RecordedRead], intent: WriteIntent, start_s: int
) -> None:
    settled = [r for r in reads if not r.is_pending]
    whole = [header_of(made(resource, [1, 2, 3, "1", "two"], start_s=start_s)) for resource in RESOURCES]
    alone = judge_write(intent, whole, now=at(300))
    assert judge_write(intent, [*settled, *whole], now=at(300)).codes == alone.codes


@given(sessions(max_size=5), intents, st.integers(1, 60))
def test_the_verdict_does_not_depend_on_what_was_cleared_long_ago(
    reads: list[RecordedRead], intent: WriteIntent, times: int
) -> None:
    whole = [header_of(made(resource, [1])) for resource in RESOURCES]
    short = Evidence([*whole, *reads])
    old = [header_of(made(RESOURCES[n % 2], [n], *OWN_LIMIT)) for n in range(times)]
    long = Evidence([*old, *whole, *reads])
    assert judge_write(intent, long, now=at(300)).codes == judge_write(intent, short, now=at(300)).codes


@given(sessions(), st.sampled_from(RESOURCES), st.sampled_from(FILTERS), st.integers(0, 5))
def test_no_claim_about_the_unseen_is_accepted_without_a_whole_read_of_its_scope(
    reads: list[RecordedRead], resource: str, filters: dict[str, Any], value: int
) -> None:
    claim = Claim("count", resource, filters=filters, value=value)
    answer = judge_answer("So many.", reads, claims=[claim])
    standing, _ = units_of(reads)
    whole = [u for u in standing if u.complete and u.resource == resource and u.filters.items() <= filters.items()]
    if not whole:
        assert answer.outcome == "reject"
    incomplete = [u for u in standing if not u.complete or u.cut]
    assert len(answer.caveats) == len(incomplete)
    assert answer.outcome != "accept" or not incomplete


@given(sessions())
def test_every_read_that_is_not_complete_has_a_caveat_and_no_other_has(reads: list[RecordedRead]) -> None:
    standing, _ = units_of(reads)
    expected = [u.links[-1].id for u in standing if not u.complete or u.cut]
    for language in ("en", "de"):
        assert [c.read for c in caveats(reads, language=language)] == expected


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=4, unique=True), st.text(max_size=20))
def test_no_value_stands_in_a_caveat_a_refusal_or_a_repr(values: list[str], filter_value: str) -> None:
    secret = [f"kanarie{n}~{v}" for n, v in enumerate(values)]
    wanted = f"kanarie-filter~{filter_value}"
    result: ReadResult = made("widgets", secret, *OWN_LIMIT, filters={"owner": wanted})
    claim = Claim("all", "widgets", filters={"owner": wanted}, ids=secret)
    answer = judge_answer("Done.", [result], claims=[claim])
    verdict = judge_write(WriteIntent("purge", targets=secret), [result], now=AT)
    texts = [
        str(answer), repr(answer), answer.correction, repr(answer.coverage), repr(answer.caveats), repr(claim),
        repr(verdict), repr(header_of(result)), repr(Evidence([result])), repr(WriteIntent("purge", targets=secret)),
    ]  # fmt: skip
    assert not any("kanarie" in text for text in texts)
