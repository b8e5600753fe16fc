"""What a framework gets from a read: the text that the model sees, and the header that stands as its artifact.

The text is the short form within a budget. The artifact is 1 KB or less at any result size: the items stay in the
result store, since a checkpoint keeps every version of the message list.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from unabridged.contract import ItemCut, ReadResult, Reason, build_result, presented, short_form
from unabridged.evidence import Session

from .declare import ReadSpec

MAX_BYTES: Final = 16_384
_CODES_IN_ARTIFACT: Final = 12
_ROOM: Final = 400
"""Bytes kept free for what a presentation limit adds to the header, and for the read's handle."""
_LAST_PART: Final = "These are the last records of the read; with those shown before they are all that was read."


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

    content: str = ""
    artifact: dict[str, Any] | None = None
    is_error: bool = False
    value: Any = None
    passes: bool = False


def dumps(document: Any) -> str:
    """Returns compact JSON; a value that JSON cannot hold becomes its text."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, default=str)


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
    form = short_form(result, max_bytes=max_bytes - _ROOM, fields=spec.fields)
    count = len(result.items or ())
    rest = session.presented(result.read.id, start + form.shown) if session is not None and count else None
    shown = presented(result, form.shown, handle=rest)
    if form.cut_fields:
        shown = _with_cuts(shown, form.document["items"], form.cut_fields)
    document = form.document
    if shown is not result:
        document = short_form(shown, max_bytes=10 * max_bytes, fields=spec.fields).document
    elif start:
        document = {**document, "note": _LAST_PART}
    document = _with_handle(document, result, session)
    content = dumps(document)
    return Reply(content=content, artifact=artifact_of(result, content), is_error=result.items is None)


def _with_cuts(shown: ReadResult, items: list[Any], names: tuple[str, ...]) -> ReadResult:
    """A single record over the budget, with the fields that were cut marked as such."""
    item = shown.ids[0] if shown.ids else "#1"
    cuts = tuple(ItemCut(item=item, field=name, why="abridged") for name in names)
    return build_result(
        items=items,
        reasons=[*shown.reasons, Reason(code="ITEM_TRUNCATED", layer="presentation")],
        scope=shown.scope,
        read=shown.read,
        continuation=shown.continuation,
        total=shown.total,
        consistency=shown.consistency,
        item_cuts=(*shown.item_cuts, *cuts),
        warnings=shown.warnings,
    )


def _with_handle(document: dict[str, Any], result: ReadResult, session: Session | None) -> dict[str, Any]:
    """Names the read for `count_read`, before the items."""
    handle = session.whole(result.read.id) if session is not None and result.items is not None else None
    if handle is None:
        return document
    items = document.pop("items")
    return {**document, "handle": handle, "items": items}


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
