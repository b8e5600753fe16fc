"""The one card: what it shows in each of its forms, and what stands in none of them."""

from __future__ import annotations

import html
import io
import json
import pickle
import re
import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from evidence.made_reads import frozen, made, page
from gate.write_cases import IDS, PART, WHOLE, Case, Person
from hypothesis import given
from hypothesis import strategies as st
from unabridged.actions.approvals import Card, Parameter, card_from_dict, catalogue, schema
from unabridged.actions.approvals.card import CARD_OPTIONS
from unabridged.answers import LANGUAGES
from unabridged.contract import InvalidInput
from unabridged.gate.writing import REVIEWABLE


def card_of(*reads: Any, args: dict[str, Any] | None = None, **spec: Any) -> Card:
    """Returns the card of a write that is asked about."""
    asks = Person(False)
    Case(*reads, approve=asks, **spec).call(**({"ids": IDS} if args is None else args))
    (card,) = asks.cards
    return card


def terminal(card: Card) -> str:
    from rich.console import Console

    console = Console(width=400, record=True, file=io.StringIO())
    console.print(card)
    return console.export_text()


def bare(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "\n", markup))


CARDS = {
    "partial": lambda: card_of(made(*PART, filters={"status": "k4narie"}), purpose="Cleans up.", show=["path"],
                               args={"ids": IDS, "path": "/tmp/a", "note": "k4narie"}),
    "weak": lambda: card_of(made(*WHOLE), destructive=True),
    "word": lambda: card_of(frozen(*WHOLE), approval="always"),
    "never read": lambda: card_of(relies_on=["orders"], args={}),
}  # fmt: skip


@pytest.mark.parametrize("made_card", CARDS.values(), ids=CARDS)
def test_text_html_and_rich_tell_the_same(made_card: Any) -> None:
    card = made_card()
    in_html, in_rich = bare(card.to_html()), terminal(card)
    for line in card.to_text().splitlines():
        heading, _, rest = line.partition(": ")
        for fact in (line.strip(" -:"),) if not rest or line.startswith(" ") else (heading, rest):
            assert fact in in_html
            assert fact in in_rich
    assert card._repr_html_() == card.to_html()


@pytest.mark.parametrize("made_card", CARDS.values(), ids=CARDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_part_of_the_card_is_told(made_card: Any, language: Any) -> None:
    card = made_card()
    for told in (card.to_text(language), bare(card.to_html(language))):
        for option in card.options:
            assert f"{option}: {catalogue.OPTIONS[option][language]}" in told
        for code in card.codes:
            assert f"{code}: {catalogue.AGAINST[code][language]}" in told
        for parameter in card.parameters:
            assert parameter.name in told
        for read in card.unread:
            assert read.resource in told
            assert all(code in told for code in read.codes)
        assert card.to_dict()["expires_at"] in told
        assert card.action in told
        assert "k4narie" not in told


def test_a_value_is_shown_only_where_the_author_says_so_and_only_when_it_is_short_and_plain() -> None:
    args = {"ids": IDS, "a": "x" * 81, "b": "line\nbreak", "c": "<b>", "d": {"k": 1}, "e": 10**30, "f": "\u202eevil",
            "g": "fine", "h": 7, "i": None, "j": True, "k": 1e300, "secret": "fine"}  # fmt: skip
    card = card_of(made(*WHOLE), destructive=True, args=args, show=[*"abcdefghijk", "ids"])
    shown = {p.name: p.shown for p in card.parameters if p.shown != "<not shown>"}
    assert shown == {"g": "fine", "h": 7, "i": None, "j": True}


def test_a_read_that_is_not_complete_gives_no_total() -> None:
    card = card_of(made(*PART))
    assert card.known == 3
    for told in (card.to_text(), bare(card.to_html()), terminal(card)):
        assert "records: 3 so far; how many there are is not known" in told
        assert "all there are" not in told
    assert "all there are" in card_of(made(*WHOLE), destructive=True).to_text()


def test_nothing_read_is_not_told_as_zero_records() -> None:
    told = card_of(relies_on=["orders"], args={}).to_text()
    assert "Was read: nothing" in told
    assert "0" not in told.partition("Was read")[2].partition("\n")[0]


def test_records_of_two_resources_with_the_same_ids_are_not_one() -> None:
    card = card_of(made("orders", ["a", "b"]), made("people", ["a", "b"]), destructive=True, args={"ids": ["a"]})
    assert card.known == 4
    assert card.scope == ("orders", "people")


def test_a_write_that_names_no_record_does_not_look_like_one_that_touches_none() -> None:
    for args in ({}, {"ids": []}):
        card = card_of(made(*PART), args=args)
        assert card.targets is None
        assert "whatever it finds" in card.to_text()


def test_a_purpose_in_german_is_told_as_it_is_and_one_that_turns_the_text_around_is_not() -> None:
    assert card_of(made(*PART), purpose="Räumt Aufträge auf.").purpose == "Räumt Aufträge auf."
    for purpose in ("\u202egnihton", "a\nb", "x" * 201):
        assert card_of(made(*PART), purpose=purpose).purpose == "<text>"


def test_html_holds_nothing_that_is_not_escaped() -> None:
    card = card_of(made(*PART), purpose="<script>alert('x')</script>")
    assert "<script" not in card.to_html()
    assert "&lt;script&gt;" in card.to_html()
    assert set(re.findall(r"<([a-z]+)", card.to_html())) == {"div", "b", "table", "tr", "th", "td", "br"}


def test_a_terminal_takes_no_text_for_markup() -> None:
    assert "[bold red]x[/]" in terminal(card_of(made(*PART), purpose="[bold red]x[/]"))


def test_the_catalogue_has_both_languages_for_every_sentence_and_every_choice() -> None:
    found = [value for name, value in vars(catalogue).items() if name.isupper()]
    assert len(found) > 10
    for texts in found:
        for each in texts.values() if set(texts) != set(LANGUAGES) else [texts]:
            assert set(each) == set(LANGUAGES)
    assert set(catalogue.OPTIONS) == set(CARD_OPTIONS)
    assert set(catalogue.AGAINST) == REVIEWABLE


def test_another_language_is_refused() -> None:
    with pytest.raises(InvalidInput, match="language"):
        card_of(made(*PART)).to_text("fr")  # type: ignore[arg-type]


def test_the_schema_that_is_kept_is_the_one_of_the_models() -> None:
    assert schema.PATH.read_text() == schema.rendered()


@pytest.mark.parametrize("made_card", CARDS.values(), ids=CARDS)
def test_a_card_fits_its_schema_and_comes_back_from_its_json(made_card: Any) -> None:
    card = made_card()
    document = json.loads(json.dumps(card.to_dict(), allow_nan=False))
    jsonschema.Draft202012Validator(schema.json_schema()).validate(document)
    again = card_from_dict(document)
    assert again.to_dict() == card.to_dict()
    assert again.to_text("de") == card.to_text("de")
    assert pickle.loads(pickle.dumps(card)).to_dict() == card.to_dict()


@given(st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5), max_size=3))
def test_what_is_no_card_is_refused_without_its_values(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        card_from_dict({**document, "action": "k4narie k4narie"})
    assert "k4narie" not in repr(refused.value) + str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("expires_at", "2026-02-30T00:00:00Z"), ("purpose", "a\x1b[31mb"), ("scope", ["\u202eb"]), ("options", ["all"]),
     ("options", []), ("targets", 0), ("targets", True), ("known", "1"), ("extra", 1), ("card", "unabridged-card/2"),
     ("seal", ""), ("parameters", [{"name": "a", "kind": "text", "shown": float("nan")}])],
)  # fmt: skip
def test_a_card_with_a_wrong_field_is_refused(field: str, value: Any) -> None:
    document = card_of(made(*PART)).to_dict()
    with pytest.raises(InvalidInput):
        card_from_dict({**document, field: value})


def test_a_card_says_nothing_of_its_values_in_its_repr() -> None:
    card = card_of(made(*PART), args={"ids": IDS, "path": "/tmp/secret"}, show=["path"])
    assert Parameter("path", "text", "/tmp/secret") in card.parameters
    assert "secret" not in repr(card)


def test_the_cards_need_no_rich_until_a_terminal_shows_one() -> None:
    code = "import sys, unabridged.actions.approvals; print('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_a_page_or_a_rest_on_offer_is_no_card() -> None:
    asks = Person(False)
    case = Case(page("orders", IDS), approve=asks)
    case.call()
    case = Case(approve=asks)
    case.session.presented(case.session.record(made(*WHOLE)).id, 1)
    case.call()
    assert asks.cards == []
