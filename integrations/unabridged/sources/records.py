"""What is missing inside a record, and why: a field was not asked for, hidden, failed, absent or cut.

A list of whole records says nothing about its fields. These functions say it, as `item_cuts` of the result, so that a
claim about a field that nobody was allowed to see is no claim about the record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from unabridged._ambient import record as keep
from unabridged.contract import (
    Continuation,
    CutWhy,
    FetchRestOfItem,
    InvalidInput,
    ItemCut,
    Notice,
    Proof,
    ReadHeader,
    ReadResult,
    Reason,
    RequestAccess,
    Scope,
    SourceOutcome,
    build_result,
    first_that_applies,
    json_equal,
    new_query_id,
    new_read_id,
    safe_id,
    safe_value,
    status_for,
    with_ids,
)
from unabridged.reading import Clock, SystemClock

Fields = Iterable[str] | Callable[[Mapping[str, Any]], Iterable[str]]
"""Names of fields, for all records or from each record."""
NotFound = Literal["absent", "may_be_hidden"]
_ADAPTER: Final = "record/1"


def record_result(
    record: Mapping[str, Any] | None,
    *,
    resource: str,
    id: Any,
    expected: Sequence[str] = (),
    requested: Sequence[str] | None = None,
    hidden: Fields = (),
    failed: Fields = (),
    id_field: str = "id",
    not_found: NotFound = "may_be_hidden",
    clock: Clock | None = None,
) -> ReadResult:
    """Returns a lookup of one record, and records it in the session in scope.

    Args:
        record: what the source gave; `None` where it says that there is no such record.
        resource: the name of what was read.
        id: the id that was asked for.
        expected: the fields that a whole record has.
        requested: the fields that were asked for; all of them when not given.
        hidden: fields that the source says this caller may not see, also where they stand there as null or masked.
        failed: fields that the source could not fill in, also where a default stands there.
        id_field: the field that holds the id.
        not_found: what it means that there is no such record. Many sources answer so for what the caller may not see,
            so it proves an absence only where this says `absent`.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: the record has another id than was asked for.
    """
    now = (clock or SystemClock()).now()
    if record is not None and id_field in record and not json_equal(record[id_field], id):
        raise InvalidInput(field=f"record.{id_field}", rule="must be the id that was asked for")
    unproven = record is None and not_found == "may_be_hidden"
    reasons = [Reason(code="COVERAGE_UNKNOWN", source=resource)] if unproven else []
    result = build_result(
        items=[] if record is None else [dict(record)],
        reasons=reasons,
        scope=Scope(resource=resource, filters={id_field: id}, intent="lookup"),
        read=ReadHeader(
            id=new_read_id(), query_id=new_query_id(), adapter=_ADAPTER, started_at=now, finished_at=now, requests=1,
            pages=1,
        ),
        consistency="interval",
        proof=Proof(level="none" if unproven else "end_marker", end=None if unproven else "lookup", basis="server"),
    )  # fmt: skip
    with_ids(result, [] if record is None else [id])
    explained = _explained(result, expected, requested, hidden, failed, derived=False)
    keep(explained)
    return explained


def explain_fields(
    result: ReadResult,
    *,
    expected: Sequence[str],
    requested: Sequence[str] | None = None,
    hidden: Fields = (),
    failed: Fields = (),
) -> ReadResult:
    """Returns a read with a reason for each field that its records lack, and records that in the session in scope.

    The arguments are those of `record_result`. A hidden or failed field makes the read partial; one that was not asked
    for, or that the record does not have, does not. An unavailable read comes back as it is.
    """
    if result.items is None:
        return result
    explained = _explained(result, expected, requested, hidden, failed)
    if explained is not result:
        keep(explained)
    return explained


def cut_long_fields(result: ReadResult, *, max_chars: int) -> ReadResult:
    """Returns a read whose long texts are cut, each cut marked with what is shown of how much.

    Whole records stay whole in number: ids and counts hold, and the read is partial by `ITEM_TRUNCATED` only.

    Raises:
        InvalidInput: the limit is below 1.
    """
    if max_chars < 1:
        raise InvalidInput(field="max_chars", rule="must be at least 1")
    if result.items is None:
        return result
    items, cuts = [], []
    for n, (name, item) in enumerate(_named(result), 1):
        if not isinstance(item, Mapping):
            items.append(item)
            continue
        long = {k: v for k, v in item.items() if isinstance(v, str) and len(v) > max_chars}
        items.append({**item, **{k: v[:max_chars] for k, v in long.items()}} if long else item)
        for field, text in long.items():
            cut = ItemCut(
                item=safe_id(name, n), field=field, why="abridged", shown=max_chars, total=len(text), unit="chars"
            )
            cuts.append(cut)
    if not cuts:
        return result
    changed = _changed(result, items, cuts, [Reason(code="ITEM_TRUNCATED", layer="adapter")], ())
    keep(changed)
    return changed


def _named(result: ReadResult) -> list[tuple[Any, Any]]:
    items, ids = result.items or [], result.ids
    names = ids if len(ids) == len(items) else [None] * len(items)
    return list(zip(names, items, strict=True))


def _explained(
    result: ReadResult,
    expected: Sequence[str],
    requested: Sequence[str] | None,
    hidden: Fields,
    failed: Fields,
    *,
    derived: bool = True,
) -> ReadResult:
    cuts: list[ItemCut] = []
    for n, (name, item) in enumerate(_named(result), 1):
        if isinstance(item, Mapping):
            out_of_sight, broken = _fields(hidden, item), _fields(failed, item)
            for field in dict.fromkeys((*expected, *out_of_sight, *broken)):
                why = _why(field, item, requested, out_of_sight, broken)
                if why is not None:
                    cuts.append(ItemCut(item=safe_id(name, n), field=field, why=why))
    if not cuts:
        return result
    whys = {cut.why for cut in cuts}
    reasons = []
    if "source_failed" in whys:
        reasons.append(Reason(code="ITEM_TRUNCATED"))
    if "no_access" in whys:
        reasons.append(Reason(code="VISIBILITY_RESTRICTED", detail="field"))
    unasked = dict.fromkeys((cut.field for cut in cuts if cut.why == "not_requested"), "not_requested")
    notices = (
        [Notice(code="PARTIAL_FIELD_SET", observed={k: safe_value(v) for k, v in unasked.items()})] if unasked else []
    )
    return _changed(result, result.items or [], cuts, reasons, notices, derived=derived)


def _fields(names: Fields, item: Mapping[str, Any]) -> list[str]:
    return list(names(item) if callable(names) else names)


def _why(
    field: str,
    item: Mapping[str, Any],
    requested: Sequence[str] | None,
    hidden: Collection[str],
    failed: Collection[str],
) -> CutWhy | None:
    """Hidden and failed are the source's own words and weigh more than whatever stands there instead."""
    if requested is not None and field not in requested:
        return None if field in item else "not_requested"
    if field in hidden:
        return "no_access"
    if field in failed:
        return "source_failed"
    return None if field in item else "absent"


def _changed(
    result: ReadResult,
    items: list[Any],
    cuts: Sequence[ItemCut],
    reasons: Sequence[Reason],
    notices: Sequence[Notice],
    *,
    derived: bool = True,
) -> ReadResult:
    """Returns a read that admits more than another: one of its own, derived from it, unless nobody knows the other."""
    header = result.read
    if derived:
        header = header.model_copy(update={"id": new_read_id(), "continues": None, "derived_from": (result.read.id,)})
    every = (*result.reasons, *reasons)
    made = build_result(
        items=items,
        reasons=every,
        scope=result.scope,
        read=header,
        continuation=_route(result.continuation, cuts, {reason.code for reason in reasons}),
        total=result.total,
        consistency=result.consistency,
        proof=result.proof,
        sources=_outcomes(result, reasons),
        item_cuts=(*result.item_cuts, *cuts),
        warnings=(*result.warnings, *notices),
        checked=result.checked,
    )
    return with_ids(made, result.ids) if len(result.ids) == len(items) else made


def _route(before: Continuation, cuts: Sequence[ItemCut], codes: Collection[str]) -> Continuation:
    routes = [before] if before.kind != "none" else []
    if "ITEM_TRUNCATED" in codes:
        cut = next(c for c in cuts if c.why in ("abridged", "source_failed"))
        routes.append(FetchRestOfItem(item=cut.item, field=cut.field))
    if "VISIBILITY_RESTRICTED" in codes:
        routes.append(RequestAccess())
    return first_that_applies(routes)


def _outcomes(result: ReadResult, reasons: Sequence[Reason]) -> tuple[SourceOutcome, ...]:
    """Which of several sources gave the records that are cut is not known; a dead one gave none."""
    if not reasons:
        return result.sources
    more = [reason.code for reason in reasons]
    return tuple(source if source.status == "unavailable" else _outcome(source, more) for source in result.sources)


def _outcome(source: SourceOutcome, more: Sequence[str]) -> SourceOutcome:
    codes = tuple(dict.fromkeys((*source.reasons, *more)))
    return source.model_copy(update={"reasons": codes, "status": status_for([], codes)})
