"""What a result is, and what it refuses to be."""

from __future__ import annotations

import copy
import enum
import json
import pickle
import threading
from typing import Annotated

import pytest
from contract.examples import four_empties, read
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from unabridged.contract import (
    Complete,
    ContractViolation,
    Excerpt,
    InvalidInput,
    NextPage,
    NotComplete,
    Partial,
    Proof,
    ReadResult,
    Total,
    Unavailable,
    Unknown,
    decision,
    findings,
    id_key,
    id_set,
    merge,
    presented,
    resume_of,
    with_ids,
    with_resume,
)


def test_the_four_empties_are_four_claims_in_every_form() -> None:
    empties = four_empties()
    assert [type(r) for r in empties.values()] == [Complete, Partial, Unknown, Unavailable]
    for form in (
        lambda r: json.dumps(r.to_wire()),
        lambda r: r.short()["note"],
        repr,
        lambda r: r._repr_html_(),
        lambda r: (r.status, r.complete),
    ):
        assert len({form(r) for r in empties.values()}) == 4


def test_only_an_unavailable_read_has_no_list() -> None:
    assert {s: r.to_wire()["items"] for s, r in four_empties().items()} == {
        "complete": [],
        "partial": [],
        "unknown": [],
        "unavailable": None,
    }


@pytest.mark.parametrize("status", ["complete", "partial", "unknown", "unavailable"])
def test_a_result_has_no_length_and_no_iteration_and_its_truth_says_nothing(status: str) -> None:
    result = four_empties()[status]
    with pytest.raises(TypeError):
        len(result)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        iter(result)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        "x" in result  # type: ignore[operator] # noqa: B015
    assert bool(result) is True
    assert bool(read([{"id": 1}])) is True


def test_a_caller_says_which_question_it_asks() -> None:
    whole, some = read([{"id": 1}]), read([{"id": 1}], "RATE_LIMITED")
    assert whole.proves_absence()
    assert not some.proves_absence()
    assert whole.require_complete() == [{"id": 1}]
    with pytest.raises(NotComplete, match="RATE_LIMITED"):
        some.require_complete()


@pytest.mark.parametrize("name", ["partial", "unknown", "unavailable"])
def test_requiring_a_complete_read_refuses_every_other(name: str) -> None:
    with pytest.raises(NotComplete):
        four_empties()[name].require_complete()


def test_a_result_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        read([]).status = "partial"  # type: ignore[misc, assignment]


def test_the_union_validates_by_status_in_a_model_of_the_caller() -> None:
    class Holder(BaseModel):
        result: ReadResult

    held = Holder(result=four_empties()["partial"]).result
    assert type(held) is Partial
    by_status: TypeAdapter[ReadResult] = TypeAdapter(Annotated[ReadResult, Field(discriminator="status")])
    assert by_status.validate_python(held.to_wire()) == held
    with pytest.raises(ContractViolation):
        by_status.validate_python({**held.to_wire(), "items": None})


def test_the_resume_state_is_copied_by_reference_and_never_written_down() -> None:
    cannot_be_copied = threading.Lock()
    result = with_resume(
        read([{"id": 1}], "MORE_PAGES_AVAILABLE", continuation=NextPage(handle="h_1")), cannot_be_copied
    )
    assert resume_of(copy.deepcopy(result)) is cannot_be_copied
    assert resume_of(copy.copy(result)) is cannot_be_copied
    assert resume_of(pickle.loads(pickle.dumps(result))) is None
    assert "lock" not in repr(result) + json.dumps(result.to_wire()) + str(result.model_dump())


def test_ids_are_those_of_the_reader_and_compare_as_json_values() -> None:
    result = with_ids(read([{"key": 1}, {"key": "1"}, {"key": True}, {"key": 1.0}]), [1, "1", True, 1.0])
    assert result.ids == (1, "1", True, 1.0)
    assert len(id_set(result)) == 3


def test_a_decision_follows_from_the_status_and_the_route() -> None:
    assert decision(read([])) == "proceed"
    assert decision(read([], "RATE_LIMITED")) == "refuse_or_request_review"
    assert decision(read([], "RATE_LIMITED", continuation=NextPage(handle="h_1"))) == "continue_search"


def test_findings_are_a_result_of_their_own_with_the_coverage_of_their_read() -> None:
    base = read([{"id": 1, "owner": None}, {"id": 2, "owner": "ops"}], "RATE_LIMITED")
    ownerless = base.findings(lambda r: r["owner"] is None, name="ownerless")
    assert (ownerless.status, ownerless.codes, ownerless.checked, ownerless.finding_count) == (
        "partial",
        ("RATE_LIMITED",),
        2,
        None,
    )
    assert ownerless.items == [{"id": 1, "owner": None}]
    assert ownerless.scope.resource == "ownerless"
    assert ownerless.read.derived_from == ("r_1",)
    assert ownerless.read.id != "r_1"


def test_findings_of_a_complete_read_are_counted() -> None:
    found = read([{"id": 1}, {"id": 2}]).findings(lambda r: r["id"] > 1)
    assert (found.status, found.checked, found.finding_count) == ("complete", 2, 1)


def test_findings_of_an_unavailable_read_are_unavailable() -> None:
    found = findings(read(None, "SOURCE_UNAVAILABLE"), lambda record: bool(record))
    assert (found.status, found.items, found.checked) == ("unavailable", None, 0)


def test_findings_keep_the_ids_that_the_reader_took() -> None:
    base = with_ids(read([{"key": "a", "n": 1}, {"key": "b", "n": 2}]), ["a", "b"])
    assert base.findings(lambda r: r["n"] == 2).ids == ("b",)


def test_what_a_predicate_raises_is_raised() -> None:
    with pytest.raises(KeyError):
        read([{"id": 1}]).findings(lambda r: r["missing"])


def test_a_read_that_is_shown_in_part_says_so() -> None:
    view = presented(read([{"id": n} for n in range(5)], total=Total(value=5, kind="exact")), 2, handle="h_1")
    assert (view.status, view.codes, view.returned, view.truncated) == ("partial", ("PRESENTATION_LIMIT",), 2, True)
    assert view.continuation.to_wire() == {"kind": "read_more", "handle": "h_1"}
    assert view.reasons[0].layer == "presentation"
    assert view.total.value == 5
    assert view.proof.level == "none"


def test_a_read_shown_in_part_twice_says_so_once() -> None:
    once = presented(read([{"id": n} for n in range(5)]), 3)
    assert [r.limit for r in presented(once, 1).reasons] == [1]


@pytest.mark.parametrize("shown", [0, -1])
def test_a_limit_of_nothing_shows_nothing(shown: int) -> None:
    assert presented(read([{"id": 1}]), shown).items == []


def test_an_excerpt_knows_whether_it_is_whole() -> None:
    part = Excerpt(reference="doc-1", unit="lines", start=0, end=10, total=40, text="x")
    assert not part.is_whole
    assert Excerpt(reference="doc-1", unit="lines", start=0, end=40, total=40, text="x").is_whole
    assert not Excerpt(reference="doc-1", unit="lines", start=0, end=40, text="x").is_whole
    assert list(part.to_item()) == ["reference", "version", "unit", "start", "end", "total", "text"]


@pytest.mark.parametrize(("start", "end", "total"), [(5, 4, None), (0, 9, 8)])
def test_an_excerpt_outside_its_document_is_refused(start: int, end: int, total: int | None) -> None:
    with pytest.raises(ContractViolation, match="excerpt_range_is_ordered"):
        Excerpt(reference="doc-1", unit="lines", start=start, end=end, total=total, text="x")


def test_a_proof_is_dropped_when_the_result_is_not_complete() -> None:
    proof = Proof(level="counted", end="total", count=1, basis="server")
    assert read([{"id": 1}], proof=proof).proof.level == "counted"
    assert read([{"id": 1}], "RATE_LIMITED", proof=proof).proof.to_wire() == {
        "level": "none",
        "end": None,
        "count": 1,
        "basis": "server",
    }


def test_equal_reasons_are_stated_once_in_their_order() -> None:
    result = read([], "RATE_LIMITED", "PARTIAL_FAILURE", "RATE_LIMITED")
    assert [r.key for r in result.reasons] == ["RATE_LIMITED", "PARTIAL_FAILURE"]


def test_merging_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="results"):
        merge([], resource="all")


def test_equal_ids_of_two_sources_are_two_records() -> None:
    both = merge([read([{"id": 1}]), read([{"id": 1}])], resource="all")
    assert both.returned == 2


def test_a_dead_source_is_named_and_can_be_asked_again() -> None:
    both = merge([read([{"id": 1}]), read(None, "SOURCE_UNAVAILABLE:dns")], resource="all")
    assert both.status == "partial"
    assert both.reasons[0].source == "orders"
    assert both.continuation.to_wire() == {"kind": "retry_sources", "names": ["orders"]}


def test_all_sources_dead_is_unavailable() -> None:
    assert merge([read(None, "RATE_LIMITED")] * 2, resource="all").status == "unavailable"


class Colour(str, enum.Enum):  # noqa: UP042 - whose own text is not its value
    RED = "red"


class Rank(enum.IntEnum):
    FIRST = 1


def test_an_id_of_a_class_of_its_own_is_the_one_that_json_knows() -> None:
    assert id_key(Colour.RED) == "red"
    assert {id_key(Rank.FIRST), id_key(1.0)} == {1}
    assert id_key(Rank.FIRST) != id_key(True)
    assert id_key([Colour.RED]) == id_key(["red"])
