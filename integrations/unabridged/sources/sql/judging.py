"""What the facts of a walk mean. Pure: the only place of this package that decides whether a read was whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from unabridged.contract import (
    BudgetSpent,
    Consistency,
    Continuation,
    NarrowQuery,
    NextPage,
    Notice,
    Proof,
    ReadHeader,
    ReadResult,
    Reason,
    RepeatRead,
    RequestAccess,
    RestartScan,
    RetryWithDeadline,
    Scope,
    SourceOutcome,
    Total,
    WidenScope,
    build_result,
    first_that_applies,
    is_token,
    new_handle,
    new_read_id,
    status_for,
    with_ids,
    with_resume,
)
from unabridged.contract.codes import ReasonCode

from .ask import Ask
from .walk import Walk

ADAPTER: Final = "1"
DEADLINE_S: Final = 120.0
_EXPLAIN_NOTHING: Final = frozenset(
    {"ITEM_TRUNCATED", "SAMPLE_REQUESTED", "PRESENTATION_LIMIT", "CONSISTENCY_LOST", "PROTOCOL_ANOMALY"}
)
_FRESH: Final = frozenset({"restart_scan", "retry_with_deadline", "repeat_read"})


def result_of(
    walk: Walk,
    *,
    started_at: datetime,
    continues: str | None = None,
    page: list[dict[str, Any]] | None = None,
) -> ReadResult:
    """Returns the result of what a walk has in its envelope.

    Args:
        walk: the walk, at rest.
        started_at: when this link began.
        continues: the id of the link before, in a stream.
        page: the records of one link of a stream, after which more come; the walk's own when not given.
    """
    ask, streamed = walk.ask, page is not None
    has_content = walk.ended or walk.batches > 0
    items = page if streamed else walk.items if has_content else None
    reasons = _streamed(walk) if streamed else _reasons(walk) if has_content else _unavailable(walk)
    consistency = _consistency(walk, reasons, has_content=has_content)
    route = NextPage() if streamed else first_that_applies(_routes(walk, reasons))
    if route.kind in _FRESH:
        route = route.model_copy(update={"handle": new_handle()})
    result = build_result(
        items=items,
        reasons=reasons,
        scope=_scope(walk, consistency, items),
        read=_header(walk, started_at, continues),
        continuation=route,
        total=_total(walk) if has_content else Total(),
        consistency=consistency,
        proof=_proof(walk, whole=not reasons, consistency=consistency),
        sources=_sources(walk, reasons, items),
        warnings=_notices(walk, items) if has_content else (),
    )
    if items is not None and ask.id is not None:
        with_ids(result, _ids(ask, items))
    return result if route.kind not in _FRESH else with_resume(result, _resume(walk, route))


def cancelled_result(walk: Walk, *, started_at: datetime, continues: str | None = None) -> ReadResult:
    """Returns what is recorded of a read that was broken off: unavailable, whatever had arrived."""
    reason = _reason(walk, "SOURCE_UNAVAILABLE", "cancelled", layer="client")
    return build_result(
        items=None,
        reasons=[reason],
        scope=_scope(walk, "not_established", None),
        read=_header(walk, started_at, continues),
        consistency="not_established",
        proof=Proof(basis="server"),
        sources=_sources(walk, [reason], None),
    )


def _unavailable(walk: Walk) -> list[Reason]:
    reasons = [_reason(walk, code, detail, layer="client", limit=limit) for code, detail, limit in walk.limits]
    reasons += _failed(walk)
    if walk.hidden:
        reasons.append(_hidden(walk))
    return reasons or [_reason(walk, "SOURCE_UNAVAILABLE", None)]


def _streamed(walk: Walk) -> list[Reason]:
    """A page of a stream is partial because more pages come."""
    found = [_hidden(walk)] if walk.hidden else []
    return [*found, Reason(code="MORE_PAGES_AVAILABLE", layer="client")]


def _reasons(walk: Walk) -> list[Reason]:
    reasons = list(walk.signals.reasons)
    if walk.hidden:
        reasons.append(_hidden(walk))
    reasons += _of_the_statement(walk)
    reasons += _failed(walk)
    if walk.ask.query.intent == "sample":
        reasons.append(_reason(walk, "SAMPLE_REQUESTED", None, layer="client"))
    reasons += [_reason(walk, code, detail, layer="client", limit=limit) for code, detail, limit in walk.limits]
    reasons += _count_reasons(walk, {reason.code for reason in reasons})
    if not reasons and not walk.ended:
        reasons.append(_reason(walk, "COVERAGE_UNKNOWN", None))
    return reasons


def _hidden(walk: Walk) -> Reason:
    return _reason(walk, "VISIBILITY_RESTRICTED", None, native={"sqlstate": "42501"})


def _failed(walk: Walk) -> list[Reason]:
    failure = walk.failure
    if failure is None:
        return []
    return [_reason(walk, failure.code, failure.detail, layer=failure.layer, native=failure.native)]


def _of_the_statement(walk: Walk) -> list[Reason]:
    """Cuts that the statement, or the session it ran in, makes by itself. An exact count that agrees disproves them."""
    shape = walk.ask.statement.shape
    reasons = []
    if shape.sampled:
        reasons.append(_reason(walk, "APPROXIMATE_METHOD", "sampled"))
    if _is_counted(walk):
        return reasons
    if shape.offset:
        reasons.append(_reason(walk, "SCOPE_NARROWED", None, layer="client"))
    if not walk.ended:
        return reasons
    if shape.limited and (shape.limit is None or walk.raw >= shape.limit):
        reasons.append(_reason(walk, "CLIENT_LIMIT_REACHED", "page_size", layer="client", limit=shape.limit))
    cap = walk.opened.cap if walk.opened is not None else None
    if cap is not None and not shape.limited and walk.raw >= cap:
        reasons.append(_reason(walk, "RESULT_LIMIT_REACHED", "source_cap", limit=cap))
    if shape.inner_limit:
        reasons.append(_reason(walk, "COVERAGE_UNKNOWN", None, layer="client"))
    return reasons


def _total(walk: Walk) -> Total:
    if walk.count is None:
        return Total()
    return Total(value=walk.count, kind="exact" if _count_is_exact(walk) and not walk.hidden else "lower_bound")


def _count_is_exact(walk: Walk) -> bool:
    """A count over a part that is cut itself counts no more than that part lets through."""
    return walk.ask.count is not None and not walk.ask.count.shape.cuts


def _count_reasons(walk: Walk, codes: set[str]) -> list[Reason]:
    """What an exact count says about a proven end: more than counted is a mismatch, fewer may be explained."""
    if not walk.ended or walk.count is None:
        return []
    found = walk.raw if walk.unique is None else walk.unique
    if (found > walk.count and _count_is_exact(walk)) or (found < walk.count and not codes - _EXPLAIN_NOTHING):
        return [_reason(walk, "CONSISTENCY_LOST", "count_mismatch")]
    return []


def _is_counted(walk: Walk) -> bool:
    return walk.ended and walk.count is not None and walk.count == walk.unique and _count_is_exact(walk)


def _reason(
    walk: Walk,
    code: ReasonCode,
    detail: str | None,
    *,
    layer: str = "source",
    limit: int | None = None,
    native: Any = None,
) -> Reason:
    source = None if layer == "client" else walk.server.name
    return Reason.model_validate(
        {"code": code, "detail": detail, "layer": layer, "limit": limit, "source": source, "native": native}
    )


def _consistency(walk: Walk, reasons: Sequence[Reason], *, has_content: bool) -> Consistency:
    if not has_content or any(reason.code == "CONSISTENCY_LOST" for reason in reasons):
        return "not_established"
    lies_in_it = walk.touched.is_snapshot and walk.signals.is_snapshot and not walk.ask.statement.shape.live
    return "snapshot" if lies_in_it else "interval"


def _proof(walk: Walk, *, whole: bool, consistency: Consistency) -> Proof:
    if not whole:
        return Proof(basis="server")
    counted = _is_counted(walk)
    level: Any = "snapshot" if consistency == "snapshot" else "counted" if counted else "end_marker"
    return Proof(level=level, end="end_of_result", count=walk.unique if counted else None, basis="server")


def _scope(walk: Walk, consistency: Consistency, items: list[Any] | None) -> Scope:
    query = walk.ask.query
    taken = f"the first {len(items) if items is not None else walk.ask.batch}"
    return Scope(
        resource=query.resource,
        filters=dict(query.filters),
        intent=query.intent,
        snapshot=walk.opened.snapshot if walk.opened is not None and consistency == "snapshot" else None,
        selection=taken if query.intent == "sample" else None,
    )


def _header(walk: Walk, started_at: datetime, continues: str | None) -> ReadHeader:
    ask, budget = walk.ask, walk.ask.budget
    return ReadHeader(
        id=new_read_id(),
        query_id=ask.query_id,
        adapter=f"{walk.server.name}/{ADAPTER}",
        started_at=started_at,
        finished_at=ask.clock.now(),
        requests=walk.requests,
        pages=walk.batches,
        duplicates=walk.duplicates,
        page_size=ask.batch,
        budget=BudgetSpent(
            max_pages=budget.max_pages,
            max_items=budget.max_items,
            max_requests=budget.max_requests,
            max_bytes=budget.max_bytes,
            max_seconds=budget.max_seconds,
            spent_seconds=round(walk.elapsed_s, 6),
        ),
        continues=continues,
    )


def _sources(walk: Walk, reasons: Sequence[Reason], items: list[Any] | None) -> tuple[SourceOutcome, ...]:
    codes = tuple(dict.fromkeys(reason.code for reason in reasons))
    count = 0 if items is None else len(items)
    return (SourceOutcome(name=walk.server.name, status=status_for(items, codes), returned=count, reasons=codes),)


def _notices(walk: Walk, items: list[Any] | None) -> tuple[Notice, ...]:
    again = [notice for notice in walk.signals.notices if notice not in walk.touched.notices]
    notices = [*walk.touched.notices, *again]
    if walk.redone:
        notices.append(Notice(code="RETRIED", observed={"times": 1}))
    if walk.duplicates:
        notices.append(Notice(code="DUPLICATES_REMOVED", observed={"records": walk.duplicates}))
    absent = [name for name in walk.ask.query.fields or () if items and name not in items[0]]
    if absent:
        notices.append(Notice(code="PARTIAL_FIELD_SET", observed=dict.fromkeys(absent, "absent")))
    return tuple(notices)


def _ids(ask: Ask, items: list[dict[str, Any]]) -> list[Any]:
    columns = ask.id or ()
    if ask.composite:
        return [[record[name] for name in columns] for record in items]
    return [record[columns[0]] for record in items]


def _routes(walk: Walk, reasons: Sequence[Reason]) -> list[Continuation]:
    codes = {reason.code for reason in reasons}
    ask, failure = walk.ask, walk.failure
    routes: list[Continuation] = []
    if ask.attempts_left > 0:
        if codes & {"CONTINUATION_EXPIRED", "CONSISTENCY_LOST"}:
            expired = "CONTINUATION_EXPIRED" in codes
            routes.append(RestartScan(why="continuation_expired" if expired else "consistency_lost"))
        if "TIME_BUDGET_EXCEEDED" in codes:
            routes.append(RetryWithDeadline(seconds=_deadline_s(ask)))
        if failure is not None and failure.passing:
            routes.append(RepeatRead(attempts_left=ask.attempts_left))
    limits = [r.limit for r in reasons if r.code == "RESULT_LIMIT_REACHED" and r.limit is not None]
    if "RESULT_LIMIT_REACHED" in codes:
        routes.append(NarrowQuery(axis=_axis(ask), limit=min(limits, default=None)))
    if "VISIBILITY_RESTRICTED" in codes:
        routes.append(RequestAccess())
    if "SCOPE_NARROWED" in codes:
        routes.append(WidenScope())
    return routes


def _axis(ask: Ask) -> str | None:
    return ask.id[0] if ask.id is not None and is_token(ask.id[0]) else None


def _deadline_s(ask: Ask) -> float:
    return max(DEADLINE_S, 2 * (ask.budget.max_seconds or 0))


def _resume(walk: Walk, route: Continuation) -> Any:
    from .api import SqlResume

    ask = replace(walk.ask, attempts_left=walk.ask.attempts_left - 1)
    if isinstance(route, RetryWithDeadline):
        ask = replace(ask, budget=replace(ask.budget, max_seconds=float(route.seconds)))
    return SqlResume(ask=ask)
