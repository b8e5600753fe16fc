"""The judge: what the facts of a read mean. Pure; the only place of the reader that decides whether a read is whole.

The judge never looks at a page. It gets the facts that the loop gathered, and returns reasons, warnings, proof,
consistency and total; the status follows from the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from unabridged.contract.codes import Consistency, ReasonCode
from unabridged.contract.parts import ItemCut, Notice, Proof, Reason, Total
from unabridged.profiles.format import Profile, ScopeLimit
from unabridged.profiles.walks import KeyWalk, OffsetWalk, SingleWalk

from .observe import Observations
from .page import Failure
from .walkers import Anomaly, Bounded, Ended, Silent, Stop

EXPLAIN_NOTHING: Final = frozenset(
    {"ITEM_TRUNCATED", "SAMPLE_REQUESTED", "PRESENTATION_LIMIT", "CONSISTENCY_LOST", "PROTOCOL_ANOMALY"}
)
"""Reasons that do not account for records that an exact count promises and the pages lack."""
_STOPPED_BY: Final = frozenset(
    {"RESULT_LIMIT_REACHED", "CLIENT_LIMIT_REACHED", "TIME_BUDGET_EXCEEDED", "SAMPLE_REQUESTED", "APPROXIMATE_METHOD"}
)
_LAYERS: Final = {"CLIENT_LIMIT_REACHED": "client", "TRANSPORT_TRUNCATED": "transport"}
_CAP_DETAILS: Final = {"items": "source_cap", "window": "result_window", "page": "page_cap"}


@dataclass(frozen=True)
class Facts:
    """What is known when a walk stops. Numbers are those of the whole chain unless said otherwise."""

    profile: Profile
    source: str
    seen: Observations
    stop: Stop | None
    """Why the walk stopped by itself; `None` when a failure or a limit of ours stopped it."""
    failure: Failure | None
    limits: tuple[tuple[ReasonCode, str, int | None], ...]
    """Every exhausted budget: code, detail and limit."""
    on_offer: bool
    """Whether the source offered a page that was not asked for."""
    window_hit: bool
    """Whether the next request would stand at or beyond a declared window."""
    is_sample: bool
    unique: int | None
    """Unique ids; `None` where records have no identity."""
    raw: int
    last_raw: int | None
    """Raw records of the last page."""
    window: int
    """How deep into the source's window the walk has come."""
    across: int
    """Records that an earlier page had held."""
    inside: int
    """Records of this envelope that their own page held twice."""
    has_content: bool
    """Whether this envelope holds validated content, an empty page included."""
    cuts: tuple[ItemCut, ...]
    retried: int
    job: Literal["running", "partial"] | None
    """What is known of a job that is not through."""
    poll_s: float
    reference: str
    """The address of what is read."""
    range_start: int
    """Where the next range would start."""
    notices: tuple[Notice, ...]
    """Warnings about the request itself."""


@dataclass(frozen=True)
class Judgement:
    """What the facts mean."""

    reasons: tuple[Reason, ...]
    notices: tuple[Notice, ...]
    total: Total
    consistency: Consistency
    proof: Proof
    snapshot: Any = None


def judge(facts: Facts) -> Judgement:
    """Returns reasons, warnings, total, consistency and proof of a read."""
    reasons = _unavailable(facts) if not facts.has_content else _reasons(facts)
    codes = {reason.code for reason in reasons}
    consistency: Consistency = "interval"
    if not facts.has_content or "CONSISTENCY_LOST" in codes:
        consistency = "not_established"
    elif facts.seen.is_snapshot:
        consistency = "snapshot"
    return Judgement(
        reasons=tuple(reasons),
        notices=tuple(_notices(facts)),
        total=_total(facts),
        consistency=consistency,
        proof=_proof(facts, whole=not reasons, consistency=consistency),
        snapshot=facts.seen.snapshot if consistency == "snapshot" else None,
    )


def is_counted(facts: Facts) -> bool:
    """Tells whether an exact count equals the unique ids."""
    count = facts.seen.count
    return count is not None and count.kind == "exact" and count.value == facts.unique


def _unavailable(facts: Facts) -> list[Reason]:
    """Nothing was validated: only what stopped the read is known."""
    reasons = [_reason(facts, code, detail, layer="client", limit=limit) for code, detail, limit in facts.limits]
    if facts.failure is not None:
        reasons.append(_failed(facts, facts.failure))
    if facts.job == "running":
        reasons.append(_reason(facts, "JOB_NOT_FINISHED", None))
    if facts.on_offer and facts.limits:
        reasons.append(_reason(facts, "MORE_PAGES_AVAILABLE", None, layer="client"))
    return reasons or [_reason(facts, "SOURCE_UNAVAILABLE", None)]


def _reasons(facts: Facts) -> list[Reason]:
    reasons = list(facts.seen.reasons.values())
    reasons += _cut_reasons(facts)
    if facts.job is not None:
        reasons.append(_reason(facts, "JOB_NOT_FINISHED", None))
    reasons += [_reason(facts, "SCOPE_NARROWED", None) for limit in facts.profile.scope if limit.narrows][:1]
    if facts.seen.size_changed:
        reasons.append(_reason(facts, "PROTOCOL_ANOMALY", "page_size_changed"))
    reasons += _stop_reasons(facts)
    reasons += _cap_reasons(facts)
    if facts.failure is not None:
        reasons.append(_apart(_failed(facts, facts.failure), reasons))
    if facts.is_sample:
        reasons.append(_reason(facts, "SAMPLE_REQUESTED", None, layer="client"))
    reasons += [_reason(facts, code, detail, layer="client", limit=limit) for code, detail, limit in facts.limits]
    if facts.on_offer and (facts.is_sample or facts.limits):
        reasons.append(_reason(facts, "MORE_PAGES_AVAILABLE", None, layer="client"))
    reasons += _consistency_reasons(facts)
    reasons += _count_reasons(facts, {reason.code for reason in reasons})
    unproven = not isinstance(facts.stop, Ended) or _order_is_open(facts)
    if _is_silent(facts, reasons) or (not reasons and unproven):
        reasons.append(_reason(facts, "COVERAGE_UNKNOWN", None))
    return reasons


def _cut_reasons(facts: Facts) -> list[Reason]:
    reasons = []
    if any(cut.why in ("abridged", "source_failed") for cut in facts.cuts):
        reasons.append(_reason(facts, "ITEM_TRUNCATED", None))
    if any(cut.why == "no_access" for cut in facts.cuts):
        reasons.append(_reason(facts, "VISIBILITY_RESTRICTED", "field"))
    return reasons


def _stop_reasons(facts: Facts) -> list[Reason]:
    match facts.stop:
        case Anomaly(detail=detail):
            return [_reason(facts, "PROTOCOL_ANOMALY", detail)]
        case Bounded(findings=findings):
            return [
                _reason(facts, code, detail, limit=limit, layer=_LAYERS.get(code, "source"))
                for code, detail, limit in findings
            ]
        case Ended() | Silent() | None:
            return []


def _cap_reasons(facts: Facts) -> list[Reason]:
    """A cap that was reached is a cap hit, unless an exact count equals the unique ids."""
    if is_counted(facts) and not facts.window_hit:
        return []
    depth = {
        "items": facts.raw,
        "window": facts.window,
        "page": facts.last_raw or 0 if facts.stop is not None else 0,
    }
    return [
        _reason(facts, "RESULT_LIMIT_REACHED", _CAP_DETAILS[cap.on], limit=cap.limit)
        for cap in facts.profile.caps
        if depth[cap.on] >= cap.limit
    ]


def _consistency_reasons(facts: Facts) -> list[Reason]:
    reasons = []
    if facts.seen.total_changed:
        reasons.append(_reason(facts, "CONSISTENCY_LOST", "total_changed"))
    if facts.seen.snapshot_changed:
        reasons.append(_reason(facts, "CONSISTENCY_LOST", "snapshot_changed"))
    if facts.across and facts.profile.duplicates == "anomaly" and not is_counted(facts):
        reasons.append(_reason(facts, "CONSISTENCY_LOST", "duplicate_ids"))
    return reasons


def _count_reasons(facts: Facts, codes: set[str]) -> list[Reason]:
    """What the counts say about a proven end. More ids than counted is a mismatch; fewer may be explained.

    No count that a page stated is forgotten because a later page states a lower one, or one of another kind.
    """
    unique = facts.unique
    if not isinstance(facts.stop, Ended):
        return []
    known = facts.raw if unique is None else unique  # without identity no more is known than that these are too few
    if facts.seen.before > known:
        return [_reason(facts, "VISIBILITY_RESTRICTED", "count_before_permissions")]
    exact = facts.seen.exact
    above = exact is not None and unique is not None and unique > exact
    below = known < facts.seen.at_least
    if above or (below and not codes - EXPLAIN_NOTHING):
        return [_reason(facts, "CONSISTENCY_LOST", "count_mismatch")]
    return []


def _is_silent(facts: Facts, reasons: Sequence[Reason]) -> bool:
    """A walk that stopped without a stated end, and that nothing else is known to have stopped."""
    return isinstance(facts.stop, Silent) and not any(reason.code in _STOPPED_BY for reason in reasons)


def _order_is_open(facts: Facts) -> bool:
    """More than one page in an order that is not total: a record may have slipped between two of them."""
    walk = facts.profile.paging
    match walk:
        case OffsetWalk():
            unique = facts.profile.order is not None and facts.profile.order.unique
        case KeyWalk():
            unique = walk.unique
        case _:
            return False
    return not unique and facts.seen.pages > 1 and not is_counted(facts)


def _notices(facts: Facts) -> list[Notice]:
    notices = [*facts.notices, *facts.seen.notices.values()]
    notices += [
        Notice(code="DEFAULT_SCOPE_APPLIED", observed=_limit_names(limit))
        for limit in facts.profile.scope
        if not limit.narrows
    ]
    count = facts.seen.count
    if facts.has_content:
        if count is not None and count.kind not in ("exact", "page"):
            notices.append(Notice(code="COUNT_NOT_EXACT", observed={"kind": count.kind, "value": count.value}))
        if facts.seen.count_changed:
            notices.append(Notice(code="COUNT_CHANGED"))
        if facts.across or facts.inside:
            notices.append(Notice(code="DUPLICATES_REMOVED", observed={"records": facts.across + facts.inside}))
        if _order_is_open(facts):
            notices.append(Notice(code="ORDER_NOT_UNIQUE"))
    if facts.retried:
        notices.append(Notice(code="RETRIED", observed={"times": facts.retried}))
    return notices


def _limit_names(limit: ScopeLimit) -> dict[str, str]:
    """A limit as a token: blanks are no part of one."""
    stated = {"window": limit.window, "excludes": limit.excludes}
    return {name: text.replace(" ", "_")[:64] for name, text in stated.items() if text is not None}


def _total(facts: Facts) -> Total:
    count = facts.seen.count if facts.has_content else None
    return Total() if count is None else Total(value=count.value, kind=count.kind)


def _proof(facts: Facts, *, whole: bool, consistency: Consistency) -> Proof:
    basis = facts.profile.basis
    if not whole or not isinstance(facts.stop, Ended):
        return Proof(basis=basis)
    counted = is_counted(facts)
    level: Any = "counted" if counted else "end_marker"
    if consistency == "snapshot":
        level = "snapshot"
    return Proof(level=level, end=facts.stop.rule, count=facts.unique if counted else None, basis=basis)


def _failed(facts: Facts, failure: Failure) -> Reason:
    return _reason(facts, failure.code, failure.detail, layer=failure.layer, native=failure.native)


def _reason(
    facts: Facts,
    code: str,
    detail: str | None,
    *,
    layer: str = "source",
    limit: int | None = None,
    native: dict[str, Any] | None = None,
) -> Reason:
    source = None if layer == "client" else facts.source
    return Reason.model_validate(
        {"code": code, "detail": detail, "layer": layer, "limit": limit, "source": source, "native": native}
    )


def _apart(failed: Reason, others: Sequence[Reason]) -> Reason:
    """Keeps the reason of a failed page apart from one that an earlier page gave.

    The page may be asked for again, and then only its own reason is gone.
    """
    if all((r.code, r.detail, r.source) != (failed.code, failed.detail, failed.source) for r in others):
        return failed
    return failed.model_copy(update={"detail": "page_failed"})


def exact_flag_of(profile: Profile) -> str | None:
    """Returns the parameter that switches an exact search on, as the profile names its flag."""
    return profile.paging.exact_flag if isinstance(profile.paging, SingleWalk) else None
