"""A record says of each missing field whether it was not asked for, hidden, failed, absent or cut."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from unabridged import Claim, WriteIntent, merge, session
from unabridged.contract import (
    InvalidInput,
    Proof,
    ReadHeader,
    Reason,
    Scope,
    SourceOutcome,
    build_result,
    new_read_id,
)
from unabridged.sources.records import cut_long_fields, explain_fields, record_result
from unabridged.sources.sql import read_sql

FIELDS = ("id", "name", "owner", "phone", "notes")


def cuts(result: Any) -> dict[str, str]:
    return {cut.field: cut.why for cut in result.item_cuts}


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def test_each_missing_field_has_its_own_why() -> None:
    result = record_result(
        {"id": 7, "name": "x", "owner": None},
        resource="accounts",
        id=7,
        expected=(*FIELDS, "age"),
        requested=("id", "name", "owner", "phone", "notes"),
        hidden=["phone"],
        failed=["notes"],
    )
    assert cuts(result) == {"phone": "no_access", "notes": "source_failed", "age": "not_requested"}
    assert (result.status, keys(result)) == ("partial", ["ITEM_TRUNCATED", "VISIBILITY_RESTRICTED:field"])
    assert result.continuation.kind == "fetch_rest_of_item"
    assert [(n.code, n.observed) for n in result.warnings] == [("PARTIAL_FIELD_SET", {"age": "not_requested"})]


def test_a_null_that_is_there_is_a_value_and_a_null_that_hides_is_not() -> None:
    whole = record_result({"id": 7, "owner": None}, resource="accounts", id=7, expected=("id", "owner"))
    hidden = record_result({"id": 7, "owner": None}, resource="accounts", id=7, expected=("id",), hidden=["owner"])
    assert (whole.status, cuts(whole)) == ("complete", {})
    assert (hidden.status, cuts(hidden)) == ("partial", {"owner": "no_access"})


def test_what_was_not_asked_for_or_does_not_exist_leaves_the_read_complete() -> None:
    result = record_result(
        {"id": 7}, resource="accounts", id=7, expected=("id", "name", "owner"), requested=("id", "owner")
    )
    assert (result.status, cuts(result)) == ("complete", {"name": "not_requested", "owner": "absent"})


def test_no_such_record_proves_an_absence_only_where_the_source_hides_none() -> None:
    unsure = record_result(None, resource="accounts", id=7)
    sure = record_result(None, resource="accounts", id=7, not_found="absent")
    assert (unsure.status, unsure.items, keys(unsure)) == ("unknown", [], ["COVERAGE_UNKNOWN"])
    assert (sure.status, sure.items) == ("complete", [])
    assert sure.scope.intent == "lookup"
    assert sure.scope.filters == {"id": 7}


def test_another_record_than_was_asked_for_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"record\.id"):
        record_result({"id": 8}, resource="accounts", id=7)


def test_a_hidden_field_supports_no_claim_that_looks_at_it() -> None:
    with session("hidden") as s:
        record_result({"id": 7}, resource="accounts", id=7, expected=("id", "owner"), hidden=["owner"])
        answer = s.judge_answer(
            "x", claims=[Claim(kind="absence", resource="accounts", filters={"id": 7, "owner": None})]
        )
    assert answer.outcome == "reject"


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    with sqlite3.connect(tmp_path / "docs.db") as made:
        made.execute("CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT)")
        made.execute("INSERT INTO docs VALUES (1, ?), (2, 'short')", ("x" * 2000,))
    made.close()
    found = sa.create_engine(f"sqlite:///{tmp_path / 'docs.db'}")
    yield found
    found.dispose()


def test_r12_a_cut_text_says_how_much_of_it_is_shown(engine: sa.Engine) -> None:
    whole = read_sql(engine, "SELECT * FROM docs", resource="docs", id="id")
    cut = cut_long_fields(whole, max_chars=300)
    assert (whole.status, cut.status, keys(cut)) == ("complete", "partial", ["ITEM_TRUNCATED"])
    (mark,) = cut.item_cuts
    assert (mark.item, mark.field, mark.why, mark.shown, mark.total, mark.unit) == (
        1, "body", "abridged", 300, 2000, "chars",
    )  # fmt: skip
    assert cut.items is not None
    assert [len(item["body"]) for item in cut.items] == [300, 5]
    assert (cut.ids, cut.returned) == ((1, 2), 2)
    assert whole.items is not None
    assert len(whole.items[0]["body"]) == 2000


def test_a_read_without_long_texts_comes_back_as_it_is(engine: sa.Engine) -> None:
    whole = read_sql(engine, "SELECT * FROM docs", resource="docs", id="id")
    assert cut_long_fields(whole, max_chars=2000) is whole
    assert explain_fields(whole, expected=("id", "body")) is whole
    with pytest.raises(InvalidInput):
        cut_long_fields(whole, max_chars=0)


def test_a_field_that_is_hidden_in_some_records_binds_a_write(engine: sa.Engine) -> None:
    with session("some") as s:
        whole = read_sql(engine, "SELECT id FROM docs", resource="docs", id="id")
        explained = explain_fields(
            whole, expected=("id",), hidden=lambda record: ["owner"] if record["id"] == 2 else []
        )
        verdict = s.judge_write(WriteIntent(tool="x", relies_on=["docs"], targets=[1]))
    assert [(cut.item, cut.field) for cut in explained.item_cuts] == [(2, "owner")]
    assert explained.read.derived_from == (whole.read.id,)
    assert verdict.codes == ("EVIDENCE_INCOMPLETE",)


def test_an_unavailable_read_has_no_fields_to_explain(engine: sa.Engine) -> None:
    dead = read_sql(engine, "SELECT * FROM nowhere", resource="docs", id="id")
    assert explain_fields(dead, expected=("id",)) is dead
    assert cut_long_fields(dead, max_chars=1) is dead


def test_a_mask_or_a_default_that_stands_for_a_field_is_not_its_value() -> None:
    record = {"id": 7, "phone": "***", "balance": 0}
    result = record_result(record, resource="accounts", id=7, hidden=["phone"], failed=lambda _: ["balance"])
    assert cuts(result) == {"phone": "no_access", "balance": "source_failed"}
    assert (result.status, keys(result)) == ("partial", ["ITEM_TRUNCATED", "VISIBILITY_RESTRICTED:field"])


def test_an_id_that_is_only_equal_in_value_is_another_one() -> None:
    with pytest.raises(InvalidInput):
        record_result({"id": True}, resource="accounts", id=1)


def test_a_dead_source_stays_dead_beside_records_whose_fields_are_hidden() -> None:
    dead = build_result(
        items=None, reasons=[Reason(code="SOURCE_UNAVAILABLE")], scope=Scope(resource="eu"), read=header(),
        sources=(SourceOutcome(name="eu", status="unavailable", returned=0, reasons=("SOURCE_UNAVAILABLE",)),),
    )  # fmt: skip
    live = build_result(
        items=[{"id": 1, "phone": None}], reasons=[], scope=Scope(resource="us"), read=header(),
        proof=Proof(level="end_marker", end="last"), sources=(SourceOutcome(name="us", status="complete", returned=1),),
    )  # fmt: skip
    both = explain_fields(merge([dead, live], resource="accounts"), expected=("id",), hidden=["phone"])
    assert {source.name: source.status for source in both.sources} == {"eu": "unavailable", "us": "partial"}


def header() -> ReadHeader:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return ReadHeader(id=new_read_id(), adapter="x/1", started_at=now, finished_at=now, requests=1)
