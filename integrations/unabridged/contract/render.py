"""How a result looks to a person: a short line in a terminal, a table with its coverage on top in a notebook.

No renderer shows a 0 or a total for a read that is not complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from .codes import reason_message
from .results import Result

_HTML_ROWS: Final = 20
_HTML_COLUMNS: Final = 12
_COLOURS: Final = {"complete": "#1a7f37", "partial": "#9a6700", "unknown": "#57606a", "unavailable": "#cf222e"}


def text_line(result: Result) -> str:
    """Returns the coverage in one line, such as `partial orders: some records (RATE_LIMITED), go on: next_page`."""
    resource = result.scope.resource
    match result.status:
        case "complete":
            return f"complete {resource}: {result.returned} records, all of them"
        case "unavailable":
            what = "nothing was read"
        case _:
            what = f"{result.returned} records so far" if result.items else "no record seen so far, more may exist"
    route = "" if result.continuation.kind == "none" else f", go on: {result.continuation.kind}"
    return f"{result.status} {resource}: {what} ({', '.join(result.codes)}){route}"


def html(result: Result) -> str:
    """Returns a table of the first records with the coverage above it. Everything is escaped."""
    colour = _COLOURS[result.status]
    lines = [
        "<div style='font-family:sans-serif'>",
        f"<p style='border-left:4px solid {colour};padding-left:8px;margin:4px 0'>",
        f"<b style='color:{colour}'>{result.status.upper()}</b> {escape(text_line(result).split(' ', 1)[1])}</p>",
    ]
    if result.reasons:
        lines.append("<ul style='margin:4px 0'>")
        for r in result.reasons:
            where = f" <i>({escape(r.layer)})</i>"
            message = escape(reason_message(r.code, r.detail, r.limit))
            lines.append(f"<li><code>{escape(r.key)}</code> {message}{where}</li>")
        lines.append("</ul>")
    if result.items:
        lines.append(_table(result.items))
        if len(result.items) > _HTML_ROWS:
            lines.append(f"<p>The first {_HTML_ROWS} records are shown.</p>")
    lines.append("</div>")
    return "".join(lines)


def _table(items: list[Any]) -> str:
    rows = items[:_HTML_ROWS]
    columns = list(dict.fromkeys(str(k) for row in rows if isinstance(row, Mapping) for k in row))[:_HTML_COLUMNS]
    if not columns:
        body = "".join(f"<tr><td>{escape(str(row)[:200])}</td></tr>" for row in rows)
        return f"<table>{body}</table>"
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row, c)}</td>" for c in columns) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(row: Any, column: str) -> str:
    value = row.get(column) if isinstance(row, Mapping) else row
    return "<i>null</i>" if value is None else escape(str(value)[:200])
