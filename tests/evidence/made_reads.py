"""Small results that the tests of evidence and answers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from unabridged.contract import (
    ItemCut,
    NextPage,
    Proof,
    ReadHeader,
    ReadResult,
    Reason,
    Scope,
    Total,
    build_result,
    new_handle,
    new_read_id,
    with_resume,
)

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)
_OF_SCOPE = ("intent", "visibility", "snapshot", "selection", "window", "excludes")
OWN_LIMIT = ("CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE")


def at(seconds: float) -> datetime:
    """Returns the moment so many seconds after nine o'clock."""
    return AT + timedelta(seconds=seconds)


def made(
    resource: str = "widgets",
    items: Iterable[Any] | None = (),
    *codes: str,
    filters: Mapping[str, Any] | None = None,
    start_s: float = 0.0,
    end_s: float | None = None,
    continues: str | None = None,
    **parts: Any,
) -> ReadResult:
    """Returns a result; items that are no objects are taken as ids, and `None` makes it unavailable."""
    scope = {name: parts.pop(name) for name in _OF_SCOPE if name in parts}
    header = {name: parts.pop(name) for name in ("derived_from", "duplicates", "query_id") if name in parts}
    held = None if items is None else [i if isinstance(i, dict) else {"id": i} for i in items]
    reasons = [_reason(code) for code in codes]
    if held is None and not reasons:
        reasons = [_reason("SOURCE_UNAVAILABLE:status")]
    return build_result(
        items=held,
        reasons=reasons,
        scope=Scope(resource=resource, filters=dict(filters or {}), **scope),
        read=ReadHeader(
            id=new_read_id(), started_at=at(start_s), finished_at=at(start_s if end_s is None else end_s),
            continues=continues, **header,
        ),
        **parts,
    )  # fmt: skip


def _reason(code: str) -> Reason:
    name, _, detail = code.partition(":")
    ours = name in ("CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE", "SAMPLE_REQUESTED") or detail == "max_seconds"
    return Reason(code=name, detail=detail or None, layer="client" if ours else "source")


def page(resource: str = "widgets", items: Iterable[Any] = (), **parts: Any) -> ReadResult:
    """Returns a read that our own limit stopped before a page on offer, with the way on to it."""
    codes = parts.pop("codes", OWN_LIMIT)
    result = made(resource, items, *codes, continuation=NextPage(handle=new_handle()), **parts)
    return with_resume(result, f"the way on from {result.read.id}")


def frozen(resource: str = "widgets", items: Iterable[Any] = (), **parts: Any) -> ReadResult:
    """Returns a complete read of one snapshot."""
    parts.setdefault("snapshot", "v1")
    return made(resource, items, consistency="snapshot", proof=Proof(level="snapshot", end="absent"), **parts)


def counted(resource: str = "widgets", items: Iterable[Any] = (), **parts: Any) -> ReadResult:
    """Returns a complete read whose exact count equals its ids."""
    held = list(items)
    total, proof = Total(value=len(held), kind="exact"), Proof(level="counted", count=len(held))
    return made(resource, held, total=total, proof=proof, **parts)


def cut(item: Any, field: str, why: str = "abridged") -> ItemCut:
    """Returns a mark of a field that is not whole."""
    return ItemCut(item=item, field=field, why=why)
