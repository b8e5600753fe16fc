"""The short form that models see, and what people see in a terminal and a notebook."""

from __future__ import annotations

import json
import re

import pytest
from contract.examples import four_empties, read
from unabridged.contract import NextPage, SourceOutcome, Total, short_form


def size(document: object) -> int:
    return len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())


def test_the_deciding_keys_of_the_short_form_come_first_and_nulls_are_left_out() -> None:
    result = read(
        [{"id": 1, "owner": None}],
        "CLIENT_LIMIT_REACHED:max_pages",
        total=Total(value=7, kind="exact"),
        continuation=NextPage(handle="h_1"),
    )
    short = result.short()
    keys = [
        k
        for k in short
        if k in ("status", "complete", "returned", "total", "reasons", "continuation", "scope", "items")
    ]
    assert keys == ["status", "complete", "returned", "total", "reasons", "continuation", "scope", "items"]
    assert list(short)[:2] == ["status", "complete"]
    assert short["reasons"] == [{"code": "CLIENT_LIMIT_REACHED", "message": "Our limit of pages stopped the read."}]
    assert short["continuation"] == {"kind": "next_page", "handle": "h_1"}
    assert short["items"] == [{"id": 1, "owner": None}]
    assert None not in [v for k, v in short.items() if k != "items"]


def test_an_unavailable_read_has_no_items_and_no_number_in_its_short_form() -> None:
    short = four_empties()["unavailable"].short()
    assert "items" not in short
    assert "returned" not in short


def test_whole_records_are_shown_within_the_budget_and_the_cut_is_admitted() -> None:
    result = read([{"id": n, "body": "x" * 50} for n in range(100)])
    short = result.short(max_bytes=2_000)
    assert size(short) <= 2_000
    assert 0 < len(short["items"]) < 100
    assert all(len(record["body"]) == 50 for record in short["items"])
    assert (short["status"], short["complete"]) == ("partial", False)
    assert [r["code"] for r in short["reasons"]] == ["PRESENTATION_LIMIT"]
    assert short["continuation"]["kind"] == "read_more"
    assert short["returned"] == len(short["items"])


def test_a_read_that_fits_is_shown_as_it_is() -> None:
    assert read([{"id": 1}]).short()["status"] == "complete"


def test_a_single_oversized_record_is_cut_in_marked_fields_and_says_so() -> None:
    short = read([{"id": "a", "body": "\u00e9" * 5_000, "tags": list(range(2_000))}]).short(max_bytes=1_500)
    assert size(short) <= 1_500
    record = short["items"][0]
    assert record["id"] == "a"
    assert record["body"].endswith("<cut>")
    assert record["tags"] == "<cut>"
    assert short["complete"] is False
    assert {c["field"] for c in short["item_cuts"]} == {"body", "tags"}


def test_an_oversized_text_as_a_record_is_not_shown_cut() -> None:
    form = short_form(read(["x" * 5_000]), max_bytes=1_000)
    assert (form.shown, form.document["items"]) == (0, [])


def test_an_allow_list_of_fields_hides_the_others() -> None:
    form = short_form(read([{"id": 1, "secret": "x"}]), fields=["id"])
    assert form.document["items"] == [{"id": 1}]


def test_a_budget_below_the_header_shows_no_records_and_keeps_the_header() -> None:
    short = read([{"id": 1}]).short(max_bytes=10)
    assert short["items"] == []
    assert short["complete"] is False


@pytest.mark.parametrize("name", ["partial", "unknown", "unavailable"])
def test_no_renderer_shows_a_zero_or_a_total_for_a_read_that_is_not_complete(name: str) -> None:
    result = four_empties()[name].model_copy(update={"total": Total(value=7310, kind="exact")})
    for text in (repr(result), re.sub(r"style='[^']*'", "", result._repr_html_())):
        assert "7310" not in text
        assert not re.search(r"\b0\b", text)


def test_a_terminal_shows_one_line_with_the_status_first() -> None:
    assert repr(read([{"id": 1}])) == "<Complete complete orders: 1 records, all of them>"
    assert "\n" not in repr(read([], "RATE_LIMITED", continuation=NextPage(handle="h_1")))
    assert "next_page" in repr(read([], "RATE_LIMITED", continuation=NextPage(handle="h_1")))


def test_a_notebook_shows_the_coverage_above_a_table_and_escapes_everything() -> None:
    result = read(
        [{"id": "<script>", "<b>": None}] * 30,
        "RATE_LIMITED",
        resource="<i>orders</i>",
        sources=(SourceOutcome(name="eu", status="partial"),),
    )
    html = result._repr_html_()
    assert "<script>" not in html
    assert "<i>orders" not in html
    assert html.index("PARTIAL") < html.index("<table>")
    assert "The first 20 records are shown." in html


def test_a_notebook_shows_records_that_are_no_objects() -> None:
    assert "<td>plain</td>" in read(["plain"])._repr_html_()
