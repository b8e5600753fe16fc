"""What a framework gets from a read: the text that the model sees, and the header that stands as its artifact.

The text is the short form within a budget. The artifact is 1 KB or less at any result size: the items stay in the
result store, since a checkpoint keeps every version of the message list.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from unabridged.actions.outcomes import Outcome
from unabridged.contract import (
    MARK,
    FetchRestOfItem,
    ItemCut,
    ReadResult,
    Reason,
    RetryItems,
    ShortForm,
    build_result,
    id_key,
    new_handle,
    presented,
    safe_id,
    short_form,
)
from unabridged.contract.short import header
from unabridged.evidence import Session

from .declare import ReadSpec

MAX_BYTES: Final = 16_384
_CODES_IN_ARTIFACT: Final = 12
_ROOM: Final = 400
"""Bytes kept free for what a presentation limit adds to the header, and for the read's handle."""
_CUTS: Final = 20
_WHOLE: Final = "record"
"""Stands for the field of a record that is cut as a whole."""
_LAST_PART: Final = "These are the last records of the read; with those shown before they are all that was read."

_LAST_OF_OPEN: Final = "These are the last records of the source, but a part before them is missing: more may exist."


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool call gives back to its framework.

    Attributes:
        content: the text for the model.
        artifact: a small JSON object for programs; nothing for writes that ran.
        is_error: whether the framework must mark the call as failed.
        value: what a write or a neutral tool returned, as it was; used instead of `content` when `passes`.
        passes: whether `value` is handed on untouched.
    """

    content: str = field(default="", repr=False)
    artifact: dict[str, Any] | None = None
    is_error: bool = False
    value: Any = field(default=None, repr=False)
    passes: bool = False


def outcome_reply(outcome: Outcome) -> Reply:
    """Returns what an agent is told of what came of an action."""
    told = {"status": outcome.status, "code": outcome.code, "codes": list(outcome.reasons)}
    artifact = {"unabridged": {name: value for name, value in told.items() if value}}
    return Reply(content=dumps(outcome.document()), artifact=artifact, is_error=outcome.is_error)


def dumps(document: Any) -> str:
    """Returns compact JSON that any parser and any encoder takes.

    A value that JSON cannot hold becomes its text, and half of a surrogate pair a question mark.
    """
    try:
        text = _json(document)
    except (TypeError, ValueError):
        text = _json(_speakable(document))
    return text if text.isascii() else text.encode(errors="replace").decode()


def _json(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, default=str, allow_nan=False)


def _speakable(value: Any) -> Any:
    """Returns a value without what strict JSON has no word for: infinities and what is no number, odd keys."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else str(k): _speakable(v) for k, v in value.items()}
    return [_speakable(v) for v in value] if isinstance(value, list | tuple) else value


def read_reply(
    result: ReadResult, spec: ReadSpec, *, session: Session | None = None, max_bytes: int = MAX_BYTES, start: int = 0
) -> Reply:
    """Returns the reply of a read: as many whole records as fit, and an honest word on the rest.

    Args:
        result: what is shown, from its first record on.
        spec: the declaration; its `fields` are all that a model sees of a record.
        session: keeps the rest under a handle.
        max_bytes: the budget of the text.
        start: how many records of the read were shown before.
    """
    if (filters := spec.shown(result.scope.filters)) is not None:
        result = result.model_copy(update={"scope": result.scope.model_copy(update={"filters": filters})})
    kept = session is not None and result.items is not None and session.evidence.find(result.read.id) is not None
    handle = new_handle() if kept else None
    room = max_bytes - _ROOM
    while True:
        form = _form(result, spec, room)
        content = dumps(_document(result, form, spec, start=start, rest=handle, session=session if kept else None))
        over = len(content.encode()) - max_bytes
        if over <= 0 or form.shown == 0 or room <= 0:
            break
        room -= over
    if session is not None and result.items:
        session.presented(result.read.id, start + form.shown, handle=handle)
    return Reply(content=content, artifact=artifact_of(result, content), is_error=result.items is None)


def _form(result: ReadResult, spec: ReadSpec, room: int) -> ShortForm:
    """As many whole records as fit. A first record that cannot be cut to fit is marked: the rest stays in reach."""
    form = short_form(result, max_bytes=room, fields=spec.fields)
    if form.shown == 0 and result.items and room > 0:
        return ShortForm({**form.document, "items": [MARK]}, 1, (_WHOLE,))
    return form


def _document(
    result: ReadResult, form: ShortForm, spec: ReadSpec, *, start: int, rest: str | None, session: Session | None
) -> dict[str, Any]:
    shown = presented(result, form.shown, handle=rest)
    if form.cut_fields:
        shown = _with_cuts(shown, form)
    shown = _named_in_view(shown, form, spec)
    document = form.document
    if shown is not result:
        document = {**header(shown), **({} if shown.items is None else {"items": document["items"]})}
    elif start:
        document = {**document, "note": _LAST_PART}
    elif result.read.continues is not None and result.complete:
        document = {**document, "note": _last_link(result, session)}
    return _with_handle(document, result, session)


def _last_link(result: ReadResult, session: Session | None) -> str:
    """Returns what is said of the last part of a read that went on: it is complete, and it is not all the records."""
    strand = None if session is None else session.evidence.strand(result.read.id)
    return _LAST_PART if strand is None or strand.complete else _LAST_OF_OPEN


def _with_cuts(shown: ReadResult, form: ShortForm) -> ReadResult:
    """A single record over the budget, with the fields that were cut marked as such."""
    item = safe_id(next(iter(shown.ids), None), 1)
    cuts = tuple(ItemCut(item=item, field=name, why="abridged") for name in form.cut_fields[:_CUTS])
    return build_result(
        items=form.document["items"],
        reasons=[*shown.reasons, Reason(code="ITEM_TRUNCATED", layer="presentation")],
        scope=shown.scope,
        read=shown.read,
        continuation=shown.continuation,
        total=shown.total,
        consistency=shown.consistency,
        sources=shown.sources,
        item_cuts=(*cuts, *shown.item_cuts),
        warnings=shown.warnings,
    )


def _named_in_view(shown: ReadResult, form: ShortForm, spec: ReadSpec) -> ReadResult:
    """Names items by their position where the field that holds their id is not one that a model may see."""
    if spec.fields is None:
        return shown
    seen = {id_key(v) for i in form.document.get("items") or () if isinstance(i, Mapping) for v in i.values()}
    changes: dict[str, Any] = {}
    if any(id_key(c.item) not in seen for c in shown.item_cuts):
        changes["item_cuts"] = tuple(
            c if id_key(c.item) in seen else c.model_copy(update={"item": f"#{n}"})
            for n, c in enumerate(shown.item_cuts, 1)
        )
    route = shown.continuation
    if isinstance(route, FetchRestOfItem) and id_key(route.item) not in seen:
        changes["continuation"] = route.model_copy(update={"item": "#1"})
    if isinstance(route, RetryItems):
        changes["continuation"] = route.model_copy(update={"ids": tuple(f"#{n}" for n in range(1, len(route.ids) + 1))})
    return shown.model_copy(update=changes) if changes else shown


def _with_handle(document: dict[str, Any], result: ReadResult, session: Session | None) -> dict[str, Any]:
    """Names the read for `count_read`, before the items."""
    handle = session.whole(result.read.id) if session is not None else None
    if handle is None:
        return document
    items = document["items"]
    return {**{k: v for k, v in document.items() if k != "items"}, "handle": handle, "items": items}


def artifact_of(result: ReadResult, content: str) -> dict[str, Any]:
    """Returns the header of a read for programs: id, status, codes and a digest of what was shown."""
    return {
        "unabridged": {
            "read": result.read.id,
            "status": result.status,
            "complete": result.complete,
            "codes": list(result.codes[:_CODES_IN_ARTIFACT]),
            "digest": hashlib.sha256(content.encode()).hexdigest()[:32],
        }
    }
