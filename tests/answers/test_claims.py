"""Which claims the evidence supports, and what an answer then comes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from evidence.made_reads import cut, made, page
from unabridged.answers import Claim, claim_of, judge_answer
from unabridged.contract import InvalidInput, SourceOutcome, merge, presented
from unabridged.evidence import Asked, header_of

ROWS = [{"id": 1, "owner": None}, {"id": 2, "owner": "ann"}, {"id": 3, "owner": None}]


@dataclass(frozen=True)
class Row:
    """One line of the table: a claim, the reads behind it, and why it is unsupported."""

    name: str
    claim: Claim
    reads: list[Any]
    why: str | None = None
    outcome: str = field(default="")


def about(kind: Any, **parts: Any) -> Claim:
    return Claim(kind, "widgets", **parts)


NOBODYS = {"owner": None}
ALL = made("widgets", ROWS)
TABLE = [
    Row("absence in a whole empty read", about("absence"), [made("widgets")]),
    Row("absence in an empty partial read", about("absence"), [page("widgets")], "not_complete"),
    Row("absence in an empty unknown read", about("absence"), [made("widgets", [], "COVERAGE_UNKNOWN")],
        "not_complete"),
    Row("absence after an unavailable read", about("absence"), [made("widgets", None)], "not_complete"),
    Row("absence of what was never read", about("absence"), [made("gadgets")], "never_read"),
    Row("absence of what is being read", about("absence"), [Asked("widgets").pending()], "never_read"),
    Row("absence where there are records", about("absence"), [ALL], "contradicted"),
    Row("absence in the scope that was read", about("absence", filters={"x": 1}),
        [made("widgets", filters={"x": 1})]),
    Row("absence in another scope", about("absence", filters={"x": 2}), [made("widgets", filters={"x": 1})],
        "not_covered"),
    Row("absence in a wider scope than was read", about("absence"), [made("widgets", filters={"x": 1})],
        "not_covered"),
    Row("absence in a narrower scope, by the records", about("absence", filters={"owner": "bob"}), [ALL]),
    Row("absence that the records contradict", about("absence", filters=NOBODYS), [ALL], "contradicted"),
    Row("absence by a field that a record lacks", about("absence", filters={"team": "ops"}), [ALL],
        "field_not_held"),
    Row("absence by a field that is cut", about("absence", filters={"owner": "bob"}),
        [made("widgets", ROWS, item_cuts=(cut(2, "owner", "not_requested"),))], "field_cut"),
    Row("absence by a field of records that are texts", about("absence", filters={"owner": "bob"}),
        [made("widgets", [{"id": 1}, {"id": 2}])], "field_not_held"),
    Row("absence in nothing needs no field", about("absence", filters={"owner": "bob"}), [made("widgets")]),
    Row("absence that a later partial read contradicts", about("absence"), [made("widgets"), page("widgets", [1])],
        "contradicted", "reject"),
    Row("absence beside an earlier partial read of more", about("absence", filters={"x": 1}),
        [page("widgets", [1]), made("widgets", filters={"x": 1})], None, "accept_with_caveat"),
    Row("absence after a sample", about("absence"), [made("widgets", [], "SAMPLE_REQUESTED", intent="sample")],
        "not_complete"),
    Row("absence after a whole part that was shown", about("absence"), [presented(ALL, 0)], "not_complete"),
    Row("a count of a whole read", about("count", value=3), [ALL]),
    Row("a count is a number whatever its type", about("count", value=3.0), [ALL]),
    Row("another count", about("count", value=4), [ALL], "contradicted"),
    Row("a count in words", about("count", value="3"), [ALL], "no_value"),
    Row("a count without a number", about("count"), [ALL], "no_value"),
    Row("true is no count", about("count", value=True), [made("widgets", [1])], "no_value"),
    Row("a count by a field", about("count", filters=NOBODYS, value=2), [ALL]),
    Row("another count by a field", about("count", filters=NOBODYS, value=3), [ALL], "contradicted"),
    Row("a count of a partial read", about("count", value=2), [page("widgets", [1, 2])], "not_complete"),
    Row("a count that a later partial read outdates", about("count", value=3), [ALL, page("widgets", [4])],
        "contradicted"),
    Row("a count that a later partial read repeats", about("count", value=3), [ALL, page("widgets", [1])], None,
        "accept_with_caveat"),
    Row("a count over two sources", about("count", value=2),
        [merge([made("eu", [1]), made("us", [1])], resource="widgets")]),
    Row("all, with the ids read", about("all", ids=[3, 1, 2]), [ALL]),
    Row("all, with an id missing", about("all", ids=[1, 2]), [ALL], "contradicted"),
    Row("all, with an id too many", about("all", ids=[1, 2, 3, 4]), [ALL], "contradicted"),
    Row("all, with ids of another type", about("all", ids=["1", "2", "3"]), [ALL], "contradicted"),
    Row("all, without ids", about("all"), [ALL]),
    Row("all of nothing", about("all", ids=[]), [made("widgets")]),
    Row("all, by a field", about("all", filters=NOBODYS, ids=[1, 3]), [ALL]),
    Row("all of a partial read", about("all", ids=[1]), [page("widgets", [1])], "not_complete"),
    Row("all where records have no ids", about("all", ids=[1]), [made("widgets", [{"n": 1}])], "no_identity"),
    Row("found in a whole read", about("found", ids=[1]), [ALL]),
    Row("found in a partial read", about("found", ids=[1]), [page("widgets", [1])], None, "accept_with_caveat"),
    Row("found in a sample", about("found", ids=[1]), [made("widgets", [1], "SAMPLE_REQUESTED", intent="sample")],
        None, "accept_with_caveat"),
    Row("found in either of two reads", about("found", ids=[1, 5]), [page("widgets", [1]), page("widgets", [5])], None,
        "accept_with_caveat"),
    Row("found, but not read", about("found", ids=[9]), [ALL], "not_in_evidence"),
    Row("found, one of two not read", about("found", ids=[1, 9]), [ALL], "not_in_evidence"),
    Row("found with an id of another type", about("found", ids=["1"]), [ALL], "not_in_evidence"),
    Row("found in a resource never read", about("found", ids=[1]), [made("gadgets", [1])], "never_read"),
    Row("found after an unavailable read", about("found", ids=[1]), [made("widgets", None)], "not_in_evidence"),
    Row("found in a read that was cleared", about("found", ids=[1]), [made("widgets", [1]), made("widgets", [2])],
        "not_in_evidence"),
    Row("found with what its field says", about("found", ids=[1, 3], filters=NOBODYS), [ALL]),
    Row("found with what its field does not say", about("found", ids=[2], filters=NOBODYS), [ALL], "contradicted"),
    Row("found with a field that the record lacks", about("found", ids=[1], filters={"team": "ops"}), [ALL],
        "field_not_held"),
    Row("found with a field that the read filtered by", about("found", ids=[1], filters={"team": "ops"}),
        [made("widgets", [1], filters={"team": "ops"})]),
    Row("found with a field that was cut", about("found", ids=[1], filters={"body": "Lorem"}),
        [made("widgets", [{"id": 1, "body": "Lorem"}], "ITEM_TRUNCATED", item_cuts=(cut(1, "body"),))], "field_cut"),
    Row("found beside a field that was cut", about("found", ids=[1], filters={"title": "a"}),
        [made("widgets", [{"id": 1, "title": "a"}], "ITEM_TRUNCATED", item_cuts=(cut(1, "body"),))], None,
        "accept_with_caveat"),
    Row("found beside a record that was cut", about("found", ids=[2], filters={"body": "b"}),
        [made("widgets", [{"id": 2, "body": "b"}], "ITEM_TRUNCATED", item_cuts=(cut(1, "body"),))], None,
        "accept_with_caveat"),
    Row("found in a record whose cut bears no plain id", about("found", ids=["a b"], filters={"body": "b"}),
        [made("widgets", [{"id": "a b", "body": "b"}], "ITEM_TRUNCATED", item_cuts=(cut("a b", "body"),))],
        "field_cut"),
    Row("found by what a newer read says", about("found", ids=[1], filters={"owner": "bob"}),
        [page("widgets", [{"id": 1, "owner": "bob"}]), page("widgets", [{"id": 1, "owner": "ann"}])], "contradicted"),
    Row("some were found", about("found"), [page("widgets", [1])], None, "accept_with_caveat"),
    Row("some were found in nothing", about("found"), [page("widgets")], "not_in_evidence"),
    Row("some were found by a field", about("found", filters=NOBODYS), [ALL]),
    Row("some were found by no field", about("found", filters={"owner": "bob"}), [ALL], "not_in_evidence"),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_rule_of_the_table_holds(row: Row) -> None:
    answer = judge_answer("So it is.", row.reads, claims=[row.claim])
    assert [u.why for u in answer.unsupported] == ([row.why] if row.why else [])
    assert answer.outcome == (row.outcome or ("reject" if row.why else "accept"))


def test_a_chain_is_claimed_as_one_read() -> None:
    first = page("widgets", [{"id": 1, "owner": "ann"}, {"id": 2, "owner": None}])
    last = made("widgets", [{"id": 2, "owner": "bob"}, {"id": 3, "owner": "bob"}], continues=first.read.id)
    claims = [
        about("count", value=3),
        about("all", ids=[1, 2, 3]),
        about("count", filters={"owner": "bob"}, value=2),
        about("absence", filters={"owner": None}),
    ]
    assert judge_answer("Three.", [first, last], claims=claims).outcome == "accept"
    assert judge_answer("Two.", [last], claims=[about("count", value=2)]).outcome == "reject"


def test_a_summary_of_a_part_supports_no_claim_about_all() -> None:
    part = page("tickets", [1])
    summary = made("widgets", [1], derived_from=(part.read.id,))
    assert judge_answer("One.", [part, summary], claims=[about("count", value=1)]).unsupported[0].why == "not_complete"


def test_records_that_are_gone_support_nothing() -> None:
    header = header_of(ALL)
    header.held.drop()
    for claim in (about("all", ids=[1, 2, 3]), about("count", filters=NOBODYS, value=2), about("found", ids=[1])):
        assert judge_answer("So.", [header], claims=[claim]).unsupported[0].why == "records_gone"


BAD_CLAIMS: list[tuple[Any, str]] = [
    ({"kind": "some", "resource": "widgets"}, "kind: must be one of found, absence, all, count"),
    ({"kind": "found", "resource": ""}, "resource: must be a non-empty name"),
    ({"kind": "found", "resource": "widgets", "filters": ["kanarie"]}, "filters: must be an object"),
    ({"kind": "found", "resource": "widgets", "ids": "kanarie"}, "ids: must be a list of ids"),
    ({"kind": "found"}, "claims: must hold kind and resource"),
    ({"kind": "found", "resource": "widgets", "kanarie": 1}, "claims: may hold"),
    ("kanarie", "claims: must hold claims"),
]


@pytest.mark.parametrize(("claim", "message"), BAD_CLAIMS, ids=[m for _, m in BAD_CLAIMS])
def test_a_bad_claim_is_refused_by_field_and_rule(claim: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        claim_of(claim)
    assert message in str(caught.value)
    assert "kanarie" not in str(caught.value)


def test_a_claim_shows_no_value_and_can_be_told_apart() -> None:
    claim = about("found", filters={"owner": "kanarie"}, ids=["kanarie"])
    assert "kanarie" not in repr(claim)
    assert claim == claim_of(
        {"kind": "found", "resource": "widgets", "filters": {"owner": "kanarie"}, "ids": ["kanarie"]}
    )
    assert len({claim, about("absence")}) == 2


FOLDED = made("widgets", [{"id": 1, "owner": {"login": "ann"}, "labels": ["bug"], "size": 17, "gone": None}])


@pytest.mark.parametrize(
    "filters",
    [{"owner": "ann"}, {"labels": "bug"}, {"size": "17"}, {"size": {"any_of": [17, 18]}}, {"labels": ["bug", 1]}],
)
def test_nothing_is_absent_because_a_field_is_of_another_kind_than_the_claim(filters: dict[str, Any]) -> None:
    for kind in ("absence", "count"):
        claim = Claim(kind, "widgets", filters, value=0 if kind == "count" else None)
        judged = judge_answer("", [FOLDED], claims=[claim])
        assert [u.why for u in judged.unsupported] == ["field_not_held"]


@pytest.mark.parametrize("filters", [{"size": 18}, {"gone": "ann"}, {"owner": None}, {"size": 18, "owner": "ann"}])
def test_a_field_of_the_same_kind_or_null_tells(filters: dict[str, Any]) -> None:
    assert judge_answer("", [FOLDED], claims=[about("absence", filters=filters)]).unsupported == ()


def test_a_cut_inside_a_field_is_a_cut_of_it() -> None:
    rows = [{"id": 1, "labels": ["bug"]}]
    part = made("widgets", rows, item_cuts=(cut(1, "labels.nodes", "absent"),))
    judged = judge_answer("", [part], claims=[about("absence", filters={"labels": ["x"]})])
    assert [u.why for u in judged.unsupported] == ["field_cut"]


def test_a_record_that_two_links_of_several_sources_hold_is_counted_once_for_each_source() -> None:
    def link(items: list[int], *shares: tuple[str, int], **parts: Any) -> Any:
        sources = tuple(SourceOutcome(name=name, status="complete", returned=n) for name, n in shares)
        return (page if "continues" not in parts else made)("widgets", items, sources=sources, **parts)

    first = link([1, 1], ("eu", 1), ("us", 1))
    last = link([1, 2], ("eu", 2), ("us", 0), continues=first.read.id)
    for number, outcome in ((3, "accept"), (4, "reject")):
        assert judge_answer("", [first, last], claims=[about("count", value=number)]).outcome == outcome
