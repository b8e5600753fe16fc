"""What is no valid case is refused with the field and the rule, never with a value."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay.case_documents import PROFILE, case, page, read
from unabridged.contract import CaseError
from unabridged.testing import load_case

CANARY = "kanarie 7f3a private"


ABSURD = (-1, 1e308, 10**12, 10**400, float("nan"), float("inf"), True)


def refusal(document: Any) -> tuple[str, str]:
    with pytest.raises(CaseError) as caught:
        load_case(document)
    error = caught.value
    shown = "".join(traceback.format_exception(error)) + str(error.fields)
    assert CANARY not in shown
    assert error.__context__ is None
    return error.field, error.rule


@pytest.mark.parametrize("key", ["case", "reads"])
def test_a_missing_field_is_named(key: str) -> None:
    document = case()
    del document[key]
    assert refusal(document) == (key, "is required")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"noise": CANARY}, "noise"),
        ({CANARY: 1}, "<name>"),
        ({"reads": [read(page(1), noise=CANARY)]}, "reads[0].noise"),
        ({"reads": [read({**page(1), "noise": CANARY})]}, "reads[0].exchanges[0].noise"),
        ({"reads": [read(page(1), expect={"statuz": CANARY})]}, "reads[0].expect.statuz"),
        ({"reads": [read(page(1), budget={"max_page": 1})]}, "reads[0].budget.max_page"),
        ({"reads": [read({**page(1), "expect_request": {"path": CANARY}})]},
         "reads[0].exchanges[0].expect_request.path"),
        ({"writes": [{"tool": "purge", "target": CANARY}]}, "writes[0].target"),
        ({"writes": [{"tool": "purge", "policy": {"requires": CANARY}}]}, "writes[0].policy.requires"),
        ({"answer": {"text": "x", "claim": [CANARY]}}, "answer.claim"),
        ({"answer": {"text": "x", "claims": [{"kind": "found", "resource": "x", "id": CANARY}]}},
         "answer.claims[0].id"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_refused_by_its_name(changes: dict[str, Any], field: str) -> None:
    assert refusal(case(**changes)) == (field, "is not a known key")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"case": ""}, "case"),
        ({"case": 7}, "case"),
        ({"reads": {}}, "reads"),
        ({"reads": [CANARY]}, "reads[0]"),
        ({"reads": [read(page(1), query={"filters": {}})]}, "reads[0].query.resource"),
        ({"reads": [read(page(1), query={"resource": "w", "intent": CANARY})]}, "reads[0].query.intent"),
        ({"reads": [read(page(1), query={"resource": "w", "page_size": 0})]}, "reads[0].query.page_size"),
        ({"reads": [read(page(1), query={"resource": "w", "page_size": 3, "limit": 4})]}, "reads[0].query.limit"),
        ({"reads": [read(page(1), budget={"max_pages": 0})]}, "reads[0].budget.max_pages"),
        ({"reads": [read(page(1), budget={"max_pages": True})]}, "reads[0].budget.max_pages"),
        ({"reads": [read(page(1), budget={"max_seconds": 0})]}, "reads[0].budget.max_seconds"),
        ({"reads": [read({"headers": {}, "json": {}})]}, "reads[0].exchanges[0].status"),
        ({"reads": [read({**page(1), "body": CANARY})]}, "reads[0].exchanges[0].body"),
        ({"reads": [read({"fault": CANARY})]}, "reads[0].exchanges[0].fault"),
        ({"reads": [read({"fault": "timeout", "body": CANARY})]}, "reads[0].exchanges[0].body"),
        ({"reads": [read({"fault": "timeout", "status": 200})]}, "reads[0].exchanges[0].status"),
        ({"reads": [read({**page(1), "delay_s": -1})]}, "reads[0].exchanges[0].delay_s"),
        *(({"reads": [read({**page(1), "delay_s": absurd})]}, "reads[0].exchanges[0].delay_s") for absurd in ABSURD),
        *(({"reads": [read(page(1), budget={"max_seconds": absurd})]}, "reads[0].budget.max_seconds")
          for absurd in ABSURD),
        *(({"writes": [{"tool": "purge", "after_s": absurd}]}, "writes[0].after_s") for absurd in ABSURD),
        ({"reads": [read({**page(1), "status": 99})]}, "reads[0].exchanges[0].status"),
        ({"reads": [{**read(), "sources": {"eu": []}}]}, "reads[0].sources"),
        ({"reads": [{k: v for k, v in read().items() if k != "exchanges"}]}, "reads[0].exchanges"),
        ({"reads": [{**{k: v for k, v in read().items() if k != "exchanges"}, "sources": {"eu": []}}]},
         "reads[0].sources"),
        ({"reads": [read(page(1), url=CANARY)]}, "reads[0].url"),
        ({"reads": [read(page(1), continues=0)]}, "reads[0].continues"),
        ({"reads": [read(page(1)), read(continues=-1)]}, "reads[1].continues"),
        ({"reads": [read(page(1), pending=True), read(continues=0)]}, "reads[1].continues"),
        ({"reads": [read(page(1)), read(continues=0, query={"resource": "other"})]}, "reads[1].query.resource"),
        ({"reads": [read(page(1), derived_from=[0])]}, "reads[0].derived_from[0]"),
        ({"reads": [read(page(1), present={"max_items": -1})]}, "reads[0].present.max_items"),
        ({"reads": [read(page(1), expect={"status": CANARY})]}, "reads[0].expect.status"),
        ({"reads": [read(page(1), expect={"status": None})]}, "reads[0].expect.status"),
        ({"reads": [read(page(1), expect={"reasons": [CANARY]})]}, "reads[0].expect.reasons[0]"),
        ({"reads": [read(page(1), expect={"warnings": [CANARY]})]}, "reads[0].expect.warnings[0]"),
        ({"reads": [read(page(1), expect={"continuation": CANARY})]}, "reads[0].expect.continuation"),
        ({"reads": [read(page(1), profile=CANARY)]}, "reads[0].profile"),
        ({"reads": [read(page(1), profile={**PROFILE, "noise": CANARY})]}, "reads[0].profile.noise"),
        ({"reads": [read(page(1), profile={**PROFILE, "walk": {"by": CANARY}})]}, "reads[0].profile.walk.by"),
        ({"reads": [read(page(1), profile={k: v for k, v in PROFILE.items() if k != "items"})]},
         "reads[0].profile.items"),
        ({"writes": [{"tool": "purge", "relies_on": []}]}, "writes[0].relies_on"),
        ({"writes": [{"tool": "purge", "relies_on": [{"resource": "w", "where": CANARY}]}]}, "writes[0].relies_on[0]"),
        ({"writes": [{"tool": "purge", "policy": {"require": CANARY}}]}, "writes[0].require"),
        ({"writes": [{"tool": "purge", "policy": {"max_age_s": -1}}]}, "writes[0].policy.max_age_s"),
        ({"writes": [{"tool": "purge", "expect": {"codes": [CANARY]}}]}, "writes[0].expect.codes[0]"),
        ({"writes": [{"tool": "purge", "expect": {"verdict": CANARY}}]}, "writes[0].expect.verdict"),
        ({"answer": {"claims": []}}, "answer.text"),
        ({"answer": {"text": "x", "claims": [{"kind": CANARY, "resource": "w"}]}}, "answer.claims[0].kind"),
        ({"answer": {"text": "x", "expect": {"outcome": CANARY}}}, "answer.expect.outcome"),
        ({"answer": {"text": "x", "language": CANARY}}, "answer.language"),
    ],
)  # fmt: skip
def test_a_field_that_breaks_its_rule_is_named_without_its_value(changes: dict[str, Any], field: str) -> None:
    assert refusal(case(**changes))[0] == field


@pytest.mark.parametrize(
    ("text", "field", "rule"),
    [
        (f'{{"case": "{CANARY}"', "case", "is not valid JSON"),
        (CANARY, "case", "is not valid JSON"),
        ("", "case", "is not valid JSON"),
        ("[]", "case", "must be one JSON object a file"),
        ("null", "case", "must be one JSON object a file"),
        ('{"case": "a", "case": "b", "reads": []}', "case", "stands twice"),
        ('{"case": "a", "reads": [{"profile": {"id": "a", "id": "b"}}]}', "id", "stands twice"),
        ('{"case": "a", "reads": [NaN]}', "case", "must not hold NaN or Infinity"),
        ("[" * 100_000, "case", "is nested too deeply"),
    ],
)
def test_a_file_that_holds_no_case_is_refused(tmp_path: Path, text: str, field: str, rule: str) -> None:
    file = tmp_path / "case.json"
    file.write_text(text)
    assert refusal(file) == (field, rule)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_bytes(b"\xff\xfe\x00")
    assert refusal(file) == ("file", "must be UTF-8")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.json") == ("file", "must be a file that can be read")
    assert refusal(tmp_path) == ("file", "must be a file that can be read")


def test_a_number_that_no_float_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case(reads=[read({**page(1), "delay_s": 7})])).replace("7", "1e400"))
    assert refusal(path) == ("case", "must not hold a number that is too large for JSON readers")


def test_a_form_that_is_broken_is_told_before_a_profile_that_is() -> None:
    broken = {**PROFILE, "walk": {"by": "stream", "terminator": "("}}
    document = case(read(page(1), profile=broken))
    assert refusal(document) == ("reads[0].profile.walk.terminator", "must be a JMESPath expression")
    assert refusal({**document, "noise": 1}) == ("noise", "is not a known key")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(CANARY),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["case", "reads", "profile", "query", "exchanges", CANARY]), inner, max_size=3
        )
    ),
)


@given(json_values, st.sampled_from(["case", "reads", "writes", "answer"]))
def test_any_document_is_a_case_or_a_case_error_that_names_no_value(value: Any, key: str) -> None:
    try:
        load_case({**case(), key: value})
    except CaseError as error:
        assert CANARY not in "".join(traceback.format_exception(error))  # noqa: PT017


def test_a_case_can_be_loaded_from_a_path_and_from_a_dict(tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_text("\ufeff" + json.dumps(case()))
    assert load_case(str(file)) == load_case(case())
    assert load_case(load_case(file)).case == "a case"
