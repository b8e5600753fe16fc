"""Every reason code, with items, with none and with nothing, through every layer; and the four empties stay four."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest
from gate.calling import ROWS, codes, fresh, ran, read, result, told, write
from unabridged import caveats, from_wire, judge_answer
from unabridged.contract import DETAILS, REASON_CODES, TRUNCATING, ReadResult, decision, reason_message
from unabridged.contract.continuation import READS_AGAIN
from unabridged.evidence import Session

CONTENTS: dict[str, list[Any] | None] = {"records": ROWS, "empty": [], "nothing": None}
BY_CHOICE = frozenset({"APPROXIMATE_METHOD", "SAMPLE_REQUESTED"})
NOT_A_WORD_OF_A_NUMBER = re.compile(r"\b0\b")


@dataclass(frozen=True)
class Row:
    """One row of the table: a reason, and what the read brought."""

    reason: str
    content: str

    @property
    def code(self) -> str:
        return self.reason.partition(":")[0]

    @property
    def detail(self) -> str | None:
        return self.reason.partition(":")[2] or None

    @property
    def status(self) -> str:
        if self.content == "nothing":
            return "unavailable"
        return "unknown" if self.code == "COVERAGE_UNKNOWN" else "partial"

    @property
    def is_by_choice(self) -> bool:
        return self.code in BY_CHOICE and self.content != "nothing"

    def result(self) -> ReadResult:
        items = CONTENTS[self.content]
        return result(None if items is None else list(items), self.reason)

    def recorded(self) -> tuple[Session, ReadResult]:
        session, made = fresh(), self.result()
        session.record(made)
        return session, made


REASONS = [r for c in REASON_CODES for r in (c, *(f"{c}:{d}" for d in DETAILS.get(c, ())))]
TABLE = [Row(reason, content) for reason in REASONS for content in CONTENTS]


def by_row(function: Any) -> Any:
    return pytest.mark.parametrize("row", TABLE, ids=lambda r: f"{r.reason}-{r.content}")(function)


def test_the_table_holds_every_code_of_the_contract() -> None:
    assert {row.code for row in TABLE} == set(REASON_CODES)
    assert len(TABLE) >= 3 * len(REASON_CODES)


@by_row
def test_the_wire_form_says_it_before_the_items(row: Row) -> None:
    made = row.result()
    wire = json.loads(json.dumps(made.to_wire()))
    assert (wire["status"], wire["complete"], wire["finding_count"]) == (row.status, False, None)
    assert [(r["code"], r["detail"]) for r in wire["incomplete_reasons"]] == [(row.code, row.detail)]
    assert wire["incomplete_reasons"][0]["message"] == reason_message(row.code, row.detail)
    assert wire["truncated"] == (row.code in TRUNCATING)
    assert (wire["items"] is None) == (row.content == "nothing")
    assert list(wire)[-1] == "items"
    assert from_wire(wire) == made


@by_row
def test_the_short_form_says_it_before_the_items(row: Row) -> None:
    short = row.result().short()
    assert (short["status"], short["complete"]) == (row.status, False)
    assert short["reasons"] == [{"code": row.code, "message": reason_message(row.code, row.detail)}]
    assert short.get("items") == CONTENTS[row.content]
    assert ("items" in short) == (row.content != "nothing")
    assert list(short).index("reasons") < list(short).index("scope")
    assert "total" not in short


@by_row
def test_a_model_reads_it_in_the_tool_message(row: Row) -> None:
    reply = read(row.result(), session=fresh())
    document = told(reply)
    assert (document["status"], document["complete"]) == (row.status, False)
    assert [r["code"] for r in document["reasons"]] == [row.code]
    assert reply.is_error == (row.content == "nothing")
    assert reply.artifact is not None
    assert (reply.artifact["unabridged"]["status"], reply.artifact["unabridged"]["complete"]) == (row.status, False)
    assert reply.artifact["unabridged"]["codes"] == [row.code]
    assert len(json.dumps(reply.artifact)) <= 1_024


@by_row
def test_the_ledger_keeps_it(row: Row) -> None:
    session, made = row.recorded()
    (header,) = session.reads
    assert (header.status, header.codes) == (row.status, (row.code,))
    assert [r.detail for r in header.reasons] == [row.detail]
    assert header.ids == (frozenset({1, 2, 3}) if row.content == "records" else frozenset())
    assert session.evidence.standing[0].complete is False
    assert decision(made) == "refuse_or_request_review"


@by_row
def test_the_guard_refuses_on_it(row: Row) -> None:
    session, _ = row.recorded()
    refused = write(session, relies_on=["orders"])
    assert codes(refused) == ["EVIDENCE_INCOMPLETE"]
    assert [(r["status"], r["reasons"]) for r in told(refused)["reads"]] == [(row.status, [row.code])]
    assert ran(write(session)) == row.is_by_choice
    assert not ran(write(session, destructive=True))


@by_row
def test_named_targets_do_not_make_it_whole(row: Row) -> None:
    session, _ = row.recorded()
    shown_only = row.code == "PRESENTATION_LIMIT"
    touched = write(session, {"ids": [1]}, relies_on=["orders"], targets="ids")
    assert ran(touched) == (shown_only and row.content == "records")
    waived = write(session, {"ids": [1]}, relies_on=["orders"], targets="ids", allow_returned_targets=True)
    assert ran(waived) == (row.content == "records")
    foreign = write(session, {"ids": [9]}, relies_on=["orders"], targets="ids", allow_returned_targets=True)
    assert not ran(foreign)


@by_row
def test_a_later_whole_read_clears_it_and_a_narrower_one_does_not(row: Row) -> None:
    session, _ = row.recorded()
    session.record(result(ROWS, filters={"owner": "ops"}))
    assert not ran(write(session, relies_on=["orders"]))
    session.record(result(ROWS))
    assert ran(write(session, relies_on=["orders"]))


@by_row
@pytest.mark.parametrize("language", ["en", "de"])
def test_an_answer_must_admit_it(row: Row, language: str) -> None:
    made = row.result()
    found = caveats([made], language=language)
    assert len(found) == 1
    caveat = found[0]
    assert caveat.codes == (row.code,)
    assert caveat.status == row.status
    assert "orders" in caveat
    assert "{" not in caveat
    text = {"en": "There are none.", "de": "Es gibt keine."}[language]
    answer = judge_answer(text, [made], language=language)
    assert answer.outcome == "accept_with_caveat"
    assert str(answer).startswith(caveat.text)
    for kind in ("absence", "all", "count"):
        claim = {"kind": kind, "resource": "orders", "value": 0 if row.content != "records" else 3}
        assert judge_answer(text, [made], claims=[claim], language=language).outcome == "reject"


@by_row
def test_people_see_no_zero_for_it(row: Row) -> None:
    made = row.result()
    for text in (repr(made), re.sub(r"style='[^']*'", "", made._repr_html_())):
        assert not NOT_A_WORD_OF_A_NUMBER.search(text)
        assert row.code in text
        assert row.status in text.lower()


def test_each_reason_has_words_of_its_own_in_both_languages() -> None:
    for language in ("en", "de"):
        said = {c: caveats([result(ROWS, c)], language=language)[0].text for c in REASON_CODES}
        assert len(set(said.values())) == len(REASON_CODES)
    messages = [reason_message(c) for c in REASON_CODES]
    assert len(set(messages)) == len(messages)


def test_the_two_languages_do_not_say_the_same_words() -> None:
    for code in REASON_CODES:
        made = result(ROWS, code)
        assert caveats([made], language="en")[0].text != caveats([made], language="de")[0].text


# the four empties

_FORMS = {
    "wire form": lambda r: {**r.to_wire(), "read": None},
    "short form": lambda r: r.short(),
    "tool message": lambda r: {k: v for k, v in told(read(r, session=fresh())).items() if k != "handle"},
    "artifact": lambda r: _decided(read(r).artifact),
    "text": repr,
    "table": lambda r: r._repr_html_(),
    "note": lambda r: r.short()["note"],
    "caveat": lambda r: [c.text for c in caveats([r], language="en")],
    "Vorbehalt": lambda r: [c.text for c in caveats([r], language="de")],
    "ledger": lambda r: _header(r),
}


def _decided(artifact: Any) -> Any:
    return {k: artifact["unabridged"][k] for k in ("status", "complete", "codes")}


def _header(made: ReadResult) -> Any:
    session = fresh()
    session.record(made)
    return session.reads[0].status, session.reads[0].codes


def empties(code: str) -> dict[str, ReadResult]:
    """Returns the four empties, the partial and the unavailable one for the same reason."""
    return {
        "complete": result([]),
        "partial": result([], code),
        "unknown": result([], "COVERAGE_UNKNOWN"),
        "unavailable": result(None, code),
    }


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("code", [c for c in REASON_CODES if c != "COVERAGE_UNKNOWN"])
def test_the_four_empties_never_serialise_or_read_alike(form: str, code: str) -> None:
    shown = {name: json.dumps(_FORMS[form](made), default=str) for name, made in empties(code).items()}
    for (one, left), (other, right) in combinations(shown.items(), 2):
        assert left != right, f"{one} and {other} look alike in the {form}"


@pytest.mark.parametrize("code", REASON_CODES)
def test_only_the_whole_empty_read_proves_absence(code: str) -> None:
    for name, made in empties(code).items():
        whole = name == "complete"
        session = fresh()
        session.record(made)
        claim = {"kind": "absence", "resource": "orders"}
        assert made.proves_absence() is whole
        assert made.complete is whole
        assert (made.finding_count == 0) is whole
        assert ran(write(session, relies_on=["orders"])) is whole
        assert (session.judge_answer("There are none.", [claim]).outcome == "accept") is whole
        assert (decision(made) == "proceed") is whole


def test_an_unavailable_read_is_no_list_anywhere() -> None:
    made = result(None, "SOURCE_UNAVAILABLE")
    assert made.items is None
    assert made.to_wire()["items"] is None
    assert "items" not in made.short()
    assert "[]" not in json.dumps(made.short()["note"])
    assert made.continuation.kind not in READS_AGAIN
