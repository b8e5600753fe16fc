"""A record says of each missing field whether it was not asked for, hidden, failed, absent or cut."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from unabridged import Claim, WriteIntent, session
from unabridged.contract import InvalidInput
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
