"""How a card looks to a person: plain text, HTML, a terminal's rich. All show what `Card.to_dict` holds, and the same.

Nothing is called a total while something is unread.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from unabridged.answers import LANGUAGES, Language
from unabridged.answers import catalogue as answers
from unabridged.contract import InvalidInput, MissingExtra

from . import catalogue
from .card import NOT_SHOWN

Block = tuple[str, tuple[str, ...]]
"""A heading and its lines."""
_STYLE: Final = "font-family:sans-serif;border-left:4px solid {colour};padding-left:8px"
_AMBER: Final = "#9a6700"
_GREY: Final = "#57606a"


def blocks(card: Mapping[str, Any], language: Language) -> tuple[str, list[Block]]:
    """Returns the question of a card, and what it tells under its headings.

    Args:
        card: the card as JSON.
        language: `en` or `de`.

    Raises:
        InvalidInput: the language is another one.
    """
    if language not in LANGUAGES:
        raise InvalidInput(field="language", rule=f"must be one of {', '.join(LANGUAGES)}")
    told: dict[str, Sequence[str]] = {
        "purpose": [card["purpose"]] if card["purpose"] is not None else [],
        "parameters": [_parameter(each, language) for each in card["parameters"]],
        "targets": [_targets(card["targets"], language)],
        "scope": card["scope"] or [catalogue.NO_EVIDENCE[language]],
        "known": [_known(card, language)],
        "unread": [_unread(each, language) for each in card["unread"]],
        "freshness": [] if card["freshness"] is None else [_freshness(card["freshness"], language)],
        "codes": [
            f"{code}: {catalogue.AGAINST.get(code, catalogue.AGAINST_OTHER)[language]}" for code in card["codes"]
        ],
        "options": [f"{option}: {catalogue.OPTIONS[option][language]}" for option in card["options"]],
        "expires_at": [card["expires_at"]],
    }
    title = catalogue.QUESTION[language].format(action=card["action"])
    return title, [(catalogue.HEADINGS[name][language], tuple(lines)) for name, lines in told.items() if lines]


def text(card: Mapping[str, Any], language: Language = "en") -> str:
    """Returns a card as plain text: a question, then a heading and its lines each."""
    title, told = blocks(card, language)
    lines = [title]
    for heading, under in told:
        lines += [f"{heading}: {under[0]}"] if len(under) == 1 else [f"{heading}:", *(f"  - {line}" for line in under)]
    return "\n".join(lines)


def html(card: Mapping[str, Any], language: Language = "en") -> str:
    """Returns a card as HTML. Everything is escaped; there is no script, no link and no form in it."""
    title, told = blocks(card, language)
    colour = _AMBER if card["unread"] or card["codes"] else _GREY
    rows = "".join(
        f"<tr><th style='text-align:left;vertical-align:top;padding-right:12px'>{escape(heading)}</th>"
        f"<td style='text-align:left'>{'<br>'.join(map(escape, under))}</td></tr>"
        for heading, under in told
    )
    style = _STYLE.format(colour=colour)
    return f"<div lang='{language}' style='{style}'><b>{escape(title)}</b><table>{rows}</table></div>"


def rich(card: Mapping[str, Any], language: Language = "en") -> Any:
    """Returns a card as a panel for a terminal; its texts are no markup.

    Raises:
        MissingExtra: rich is not installed.
    """
    try:
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text
    except ImportError as error:
        raise MissingExtra(extra="cli", module="rich") from error
    title, told = blocks(card, language)
    table = Table.grid(padding=(0, 2))
    for heading, under in told:
        table.add_row(Text(heading, style="bold"), Text("\n".join(under)))
    return Panel(table, title=Text(title), title_align="left", expand=False)


def _parameter(parameter: Mapping[str, Any], language: Language) -> str:
    kind = parameter["kind"]
    count = kind.removeprefix("list of ")
    key = "list" if count != kind else kind
    word = catalogue.KINDS[key][language].format(count=count)
    shown = parameter["shown"]
    if shown == NOT_SHOWN:
        return catalogue.HIDDEN[language].format(name=parameter["name"], kind=word)
    value = shown if isinstance(shown, str) else json.dumps(shown)
    return catalogue.PARAMETER[language].format(name=parameter["name"], shown=value, kind=word)


def _targets(targets: int | None, language: Language) -> str:
    return catalogue.NO_TARGETS[language] if targets is None else catalogue.TARGETS[language].format(count=targets)


def _known(card: Mapping[str, Any], language: Language) -> str:
    """Says how many records were read; all there are only where nothing that the card tells of is missing."""
    if card["freshness"] is None:
        return catalogue.NOTHING_KNOWN[language]
    is_whole = not card["unread"] and not {"EVIDENCE_INCOMPLETE", "EVIDENCE_MISSING"} & set(card["codes"])
    words = catalogue.KNOWN if is_whole else catalogue.KNOWN_SO_FAR
    return words[language].format(count=card["known"])


def _unread(read: Mapping[str, Any], language: Language) -> str:
    name = read["resource"]
    if read["filters"]:
        name += f" ({catalogue.FILTERED[language].format(fields=', '.join(read['filters']))})"
    whys = " ".join(answers.WHY.get(code, answers.UNKNOWN_CODE)[language] for code in read["codes"])
    codes = f" [{', '.join(read['codes'])}]" if read["codes"] else ""
    return f"{name}: {catalogue.UNREAD[read['status']][language]}. {whys}{codes}".rstrip()


def _freshness(fresh: Mapping[str, Any], language: Language) -> str:
    return catalogue.FRESHNESS[language].format(
        age=fresh["age_s"], start=fresh["started_at"], consistency=catalogue.CONSISTENCY[fresh["consistency"]][language]
    )
