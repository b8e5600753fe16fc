"""The short form: what a model sees of a result (`DESIGN.md`, What the model sees).

Nulls are left out and the deciding keys come first. Records are left out whole, never cut in the middle; a single
record over the budget is cut in marked fields. No `native` value and no text of a source stands outside `items`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .codes import Status, reason_message, warning_message
from .continuation import Continuation
from .derive import presented
from .ids import is_token, safe_id
from .results import ReadResult, Result

MARK: Final = "<cut>"
"""Stands at the end of a field that was cut to fit the budget."""
_LISTED: Final = 20
"""How many names a header lists at most; it must stay small whatever a source says."""
_FILTERS_BYTES: Final = 2_000
_AT_ONCE: Final = 256
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=str)

_NOTES: Final[dict[tuple[Status, bool], str]] = {
    ("complete", True): "Nothing matches: the whole scope was read and it is empty.",
    ("partial", True): "No record was seen, but the scope was not read to its end: this proves no absence.",
    ("unknown", True): "No record came back and the source does not say whether that is all: this proves no absence.",
    ("unavailable", True): "Nothing was read: the source did not answer. This says nothing about what exists.",
    ("complete", False): "These are all the records of the scope.",
    ("partial", False): "These are some of the records; more may exist.",
    ("unknown", False): "The source does not say whether these are all the records; more may exist.",
}


@dataclass(frozen=True, slots=True)
class ShortForm:
    """A short form and how much of the result it shows.

    `shown` counts whole records from the first; `cut_fields` names the fields of a single oversized record.
    """

    document: dict[str, Any]
    shown: int
    cut_fields: tuple[str, ...] = ()


def short_form(result: Result, *, max_bytes: int = 16_384, fields: Sequence[str] | None = None) -> ShortForm:
    """Returns the short form of a result within `max_bytes` of compact UTF-8 JSON.

    Args:
        result: the result.
        max_bytes: the budget. The header is never cut: a budget below it shows no records.
        fields: the allow-list of record fields that may be seen; all when not given.
    """
    head = header(result)
    if result.items is None:
        return ShortForm(head, 0)
    room = max_bytes - _size(head) - len(',"items":[]')
    shown = _fitting(result.items, fields, room)
    if shown or not result.items:
        return ShortForm({**head, "items": shown}, len(shown))
    cut, names = cut_record(_allowed(result.items[0], fields), room)
    if not names:
        return ShortForm({**head, "items": []}, 0)
    return ShortForm({**head, "items": [cut]}, 1, names)


def _fitting(items: Sequence[Any], fields: Sequence[str] | None, room: int) -> list[Any]:
    """Returns the first records that fit, whole. Many are sized at once, and one by one only at the edge."""
    shown: list[Any] = []
    many = _AT_ONCE
    while len(shown) < len(items):
        batch = items[len(shown) : len(shown) + many]
        if fields is not None:
            batch = [_allowed(record, fields) for record in batch]
        try:
            size = _size(batch) - 1  # the brackets weigh as much as the last record's comma, and one more
        except (TypeError, ValueError):
            if many == 1:
                raise
            size = room + 1  # the record that cannot be told may lie beyond the edge
        if size <= room:
            shown += batch
            room -= size
        elif many == 1:
            break
        else:
            many = max(1, min(many, len(batch)) // 2)
    return shown


def honest_short_form(read: ReadResult, *, max_bytes: int = 16_384, handle: str | None = None) -> ShortForm:
    """Returns a short form that admits its own cuts: what does not fit makes it incomplete (`PRESENTATION_LIMIT`).

    Args:
        read: the read, as it was before it was shown.
        max_bytes: as in `short_form`.
        handle: resolves to the records that are not shown.
    """
    form = short_form(read, max_bytes=max_bytes)
    before: ShortForm | None = None
    while form != before and read.items is not None and (form.shown < len(read.items) or form.cut_fields):
        before = form  # a longer header leaves less room, so what is shown only shrinks
        view = presented(read, form.shown, handle=handle, cut_fields=form.cut_fields)
        form = short_form(view, max_bytes=max_bytes)
    return form


def header(result: Result) -> dict[str, Any]:
    """Returns the short form without its items: the deciding keys, then scope and warnings."""
    empty = not result.items
    document: dict[str, Any] = {"status": result.status, "complete": result.complete}
    if result.items is not None:
        document["returned"] = result.returned
    if result.checked is not None and result.status == "complete":
        document["checked"] = result.checked
    if result.total.value is not None:
        document["total"] = {"value": result.total.value, "kind": result.total.kind}
    document["note"] = _NOTES[result.status, empty]
    if result.incomplete_reasons:
        messages = [(r.code, reason_message(r.code, r.detail, r.limit)) for r in result.incomplete_reasons]
        document["reasons"] = _coded(messages)
    if result.continuation.kind != "none":
        document["continuation"] = route_in_short(result.continuation)
    document["scope"] = _scope(result)
    dead = [n for n, s in zip(_names(result), result.sources, strict=True) if s.status != "complete"]
    if dead and len(result.sources) > 1:
        document["sources_not_complete"] = dead[:_LISTED]
        if len(dead) > _LISTED:
            document["more_sources_not_complete"] = len(dead) - _LISTED
    if result.item_cuts:
        document["item_cuts"] = [
            {"item": safe_id(c.item, n), "field": c.field, "why": c.why} for n, c in enumerate(result.item_cuts, 1)
        ][:_LISTED]
    if result.warnings:
        document["warnings"] = _coded([(w.code, warning_message(w.code)) for w in result.warnings])
    return document


def _coded(messages: list[tuple[str, str]]) -> list[dict[str, str]]:
    """Says each thing once, however many sources say it, and never more than the catalogue has to say."""
    return [{"code": code, "message": message} for code, message in dict.fromkeys(messages)][: 2 * _LISTED]


def route_in_short(route: Continuation) -> dict[str, Any]:
    """Returns a continuation as models see it: of many names or ids the first ones, since the handle leads to all."""
    wire = route.to_wire()
    for name, value in list(wire.items()):
        if isinstance(value, list) and len(value) > _LISTED:
            wire[name], wire[f"more_{name}"] = value[:_LISTED], len(value) - _LISTED
    return wire


def _names(result: Result) -> list[str]:
    return [s.name if is_token(s.name) else f"source-{n}" for n, s in enumerate(result.sources, 1)]


def _scope(result: Result) -> dict[str, Any]:
    scope = {k: v for k, v in result.scope.to_wire().items() if v not in (None, [], {})}
    filters = result.scope.filters
    if not filters:
        scope.pop("filters", None)
    elif _size(filters) > _FILTERS_BYTES:
        each = _FILTERS_BYTES // _LISTED
        shown = {n: v if _size({n: v}) <= each else MARK for n, v in filters.items() if _size(n) <= each}
        scope["filters"] = dict(list(shown.items())[:_LISTED])
    return scope


def _allowed(record: Any, fields: Sequence[str] | None) -> Any:
    if fields is None:
        return record
    if not isinstance(record, Mapping):  # what has no fields can show none: a text may hold every hidden one
        return {}
    return {name: record[name] for name in fields if name in record}


def _size(value: Any) -> int:
    text = _ENCODER.encode(value)
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def cut_record(record: Any, room: int) -> tuple[Any, tuple[str, ...]]:
    """Returns a record with its largest fields cut, each ending in a mark, so that it fits; and their names.

    A record that does not fit even so, or that is not an object, comes back with no names: it cannot be shown.
    """
    if not isinstance(record, Mapping):
        return record, ()
    cut: dict[str, Any] = dict(record)
    names: list[str] = []
    sizes = {name: _size(value) for name, value in record.items()}
    over = _size(record) - room
    for name in sorted(record, key=lambda n: sizes[n], reverse=True):
        if over <= 0:
            break
        value = record[name]
        if isinstance(value, str):
            raw = value.encode(errors="replace")
            cut[name] = raw[: max(0, len(raw) - over - len(MARK))].decode(errors="ignore") + MARK
        else:
            cut[name] = MARK
        over += _size(cut[name]) - sizes[name]
        names.append(str(name))
    return (cut, tuple(names)) if _size(cut) <= room else (record, ())
