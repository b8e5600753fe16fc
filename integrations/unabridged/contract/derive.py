"""Results made from another result: findings over a read, and the part of a read that is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .continuation import ReadMore
from .ids import new_read_id, safe_id
from .parts import ItemCut, Proof, Reason
from .results import Partial, ReadResult, build_result, with_ids


def findings(read: ReadResult, predicate: Callable[[Any], bool], *, name: str | None = None) -> ReadResult:
    """Returns the records of `read` that meet `predicate`, with the coverage of `read`.

    Args:
        read: the read that is checked. An unavailable read has findings of its own: none that can be stated.
        predicate: called with each record. What it raises is raised.
        name: the resource name of the findings; `RESOURCE.findings` when not given.
    """
    header = read.read.model_copy(update={"id": new_read_id(), "continues": None, "derived_from": (read.read.id,)})
    scope = read.scope.model_copy(update={"resource": name or f"{read.scope.resource}.findings"})
    if read.items is None:
        return build_result(items=None, reasons=read.reasons, scope=scope, read=header, checked=0, sources=read.sources)
    ids = list(read._ids) if read._ids is not None else None
    kept = [(n, record) for n, record in enumerate(read.items) if predicate(record)]
    result = build_result(
        items=[record for _, record in kept],
        reasons=read.reasons,
        scope=scope,
        read=header,
        checked=len(read.items),
        consistency=read.consistency,
        proof=read.proof,
        sources=read.sources,
        item_cuts=read.item_cuts,
        warnings=read.warnings,
    )
    if ids is not None and len(ids) == len(read.items):
        with_ids(result, [ids[n] for n, _ in kept])
    return result


def presented(read: ReadResult, shown: int, *, handle: str | None = None, cut_fields: Sequence[str] = ()) -> ReadResult:
    """Returns the first `shown` records of a read as an envelope of its own, incomplete by `PRESENTATION_LIMIT`.

    A read that fits comes back as it is. The ledger keeps the status before presentation.

    Args:
        read: the read, as it was before it was shown.
        shown: how many of its records are shown, from the first.
        handle: resolves to the records that are not shown.
        cut_fields: the fields of the first record that are cut where they are shown.
    """
    if read.items is None or (shown >= len(read.items) and not cut_fields):
        return read
    shown = max(0, shown)
    reason = Reason(code="PRESENTATION_LIMIT", limit=shown, layer="presentation", source=None)
    kept = tuple(r for r in read.reasons if r.code != "PRESENTATION_LIMIT")
    first = safe_id(next(iter(read.ids), None), 1)
    result = Partial(
        items=read.items[:shown],
        incomplete_reasons=(*kept, reason),
        continuation=ReadMore(handle=handle),
        scope=read.scope,
        read=read.read,
        total=read.total,
        consistency=read.consistency,
        proof=Proof(level="none", count=read.proof.count, basis=read.proof.basis),
        sources=read.sources,
        item_cuts=(*read.item_cuts, *(ItemCut(item=first, field=name, why="abridged") for name in cut_fields)),
        warnings=read.warnings,
        checked=read.checked,
    )
    if read._ids is not None:
        with_ids(result, list(read._ids)[:shown])
    return result
