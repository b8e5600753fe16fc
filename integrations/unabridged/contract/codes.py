"""Every code of the contract, as closed literal types, and what people read for each.

Programs branch on codes; messages are made from these catalogues and never from text that a source wrote.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

Status = Literal["complete", "partial", "unknown", "unavailable"]
Intent = Literal["inventory", "sample", "lookup"]
Visibility = Literal["all", "caller", "unknown"]
Consistency = Literal["snapshot", "interval", "not_established"]
ProofLevel = Literal["none", "end_marker", "counted", "snapshot", "double_walk"]
TotalKind = Literal["exact", "lower_bound", "estimate", "capped", "page", "before_permissions", "unknown"]
Layer = Literal["source", "adapter", "client", "presentation", "transport"]
CutWhy = Literal["not_requested", "no_access", "source_failed", "absent", "abridged"]
Decision = Literal["proceed", "continue_search", "refuse_or_request_review"]

ReasonCode = Literal[
    "MORE_PAGES_AVAILABLE",
    "RESULT_LIMIT_REACHED",
    "CLIENT_LIMIT_REACHED",
    "TIME_BUDGET_EXCEEDED",
    "SOURCE_UNAVAILABLE",
    "VISIBILITY_RESTRICTED",
    "RATE_LIMITED",
    "CONTINUATION_EXPIRED",
    "CONSISTENCY_LOST",
    "PROTOCOL_ANOMALY",
    "TRANSPORT_TRUNCATED",
    "ITEM_TRUNCATED",
    "PARTIAL_FAILURE",
    "SCOPE_NARROWED",
    "APPROXIMATE_METHOD",
    "JOB_NOT_FINISHED",
    "PRESENTATION_LIMIT",
    "SAMPLE_REQUESTED",
    "COVERAGE_UNKNOWN",
]
WarningCode = Literal[
    "STALE_INDEX",
    "EVENTUALLY_CONSISTENT",
    "READ_OVER_INTERVAL",
    "COUNT_NOT_EXACT",
    "COUNT_CHANGED",
    "DEFAULT_SCOPE_APPLIED",
    "PARAMETER_ADJUSTED",
    "PARTIAL_FIELD_SET",
    "DUPLICATES_REMOVED",
    "ORDER_NOT_UNIQUE",
    "RETRIED",
    "NATIVE_WARNING",
]
GuardCode = Literal[
    "EVIDENCE_INCOMPLETE",
    "EVIDENCE_MISSING",
    "EVIDENCE_PENDING",
    "EVIDENCE_STALE",
    "EVIDENCE_WEAK",
    "TARGET_NOT_IN_EVIDENCE",
    "SELECTION_INVALID",
    "RECHECK_FAILED",
    "APPROVAL_STALE",
    "GUARD_FAILED",
]

STATUSES: Final[tuple[Status, ...]] = get_args(Status)
REASON_CODES: Final[tuple[ReasonCode, ...]] = get_args(ReasonCode)
WARNING_CODES: Final[tuple[WarningCode, ...]] = get_args(WarningCode)
GUARD_CODES: Final[tuple[GuardCode, ...]] = get_args(GuardCode)
PROOF_LEVELS: Final[tuple[ProofLevel, ...]] = get_args(ProofLevel)
"""From the weakest to the strongest."""

TRUNCATING: Final[frozenset[str]] = frozenset(
    {"RESULT_LIMIT_REACHED", "CLIENT_LIMIT_REACHED", "PRESENTATION_LIMIT", "ITEM_TRUNCATED", "TRANSPORT_TRUNCATED"}
)
"""The reasons that make a result `truncated`; permission and source failures are not truncation."""

DETAILS: Final[dict[ReasonCode, tuple[str, ...]]] = {
    "RESULT_LIMIT_REACHED": ("source_cap", "result_window", "page_cap"),
    "CLIENT_LIMIT_REACHED": ("max_pages", "max_items", "max_requests", "max_bytes", "max_retries", "page_size"),
    "TIME_BUDGET_EXCEEDED": ("max_seconds", "source_timeout", "deadline"),
    "SOURCE_UNAVAILABLE": ("timeout", "dns", "disconnect", "status", "error_in_body", "cancelled", "deadline",
                           "judge_failed", "tool_failed", "history"),
    "VISIBILITY_RESTRICTED": ("unauthorized", "forbidden", "count_before_permissions", "field"),
    "CONSISTENCY_LOST": ("total_changed", "count_mismatch", "snapshot_changed", "duplicate_ids",
                         "mutated_during_read", "filter_drift"),
    "PROTOCOL_ANOMALY": ("cursor_repeated", "continuation_missing", "malformed_page", "malformed_link",
                         "page_size_changed", "illegal_token", "cross_origin_link", "contradictory_signals",
                         "unknown_value"),
    "TRANSPORT_TRUNCATED": ("short_body", "invalid_json", "unrequested_range"),
    "APPROXIMATE_METHOD": ("top_k", "score_threshold", "filtered_after_cap", "sampled"),
}  # fmt: skip
"""The documented second-level codes; a code without an entry has none of its own."""

REASON_MESSAGES: Final[dict[ReasonCode, str]] = {
    "MORE_PAGES_AVAILABLE": "The source has more pages.",
    "RESULT_LIMIT_REACHED": "The source stopped at a cap of its own.",
    "CLIENT_LIMIT_REACHED": "A limit of ours stopped the read.",
    "TIME_BUDGET_EXCEEDED": "The time for the read ran out.",
    "SOURCE_UNAVAILABLE": "The source did not answer.",
    "VISIBILITY_RESTRICTED": "Part of the requested records is hidden from this caller.",
    "RATE_LIMITED": "A quota of the source ended the read.",
    "CONTINUATION_EXPIRED": "The place to go on from has expired at the source.",
    "CONSISTENCY_LOST": "The pages come from different states of the source.",
    "PROTOCOL_ANOMALY": "The source contradicts itself or its pages loop.",
    "TRANSPORT_TRUNCATED": "The response was cut on its way.",
    "ITEM_TRUNCATED": "Some of the records are cut inside.",
    "PARTIAL_FAILURE": "Some of the requested records failed.",
    "SCOPE_NARROWED": "A smaller domain was searched than was asked for.",
    "APPROXIMATE_METHOD": "The method of the search cannot be exhaustive.",
    "JOB_NOT_FINISHED": "The job behind the answer has not finished.",
    "PRESENTATION_LIMIT": "More records were read than are shown here.",
    "SAMPLE_REQUESTED": "Only a sample was asked for.",
    "COVERAGE_UNKNOWN": "The source does not say whether this is all.",
}
DETAIL_MESSAGES: Final[dict[str, str]] = {
    "RESULT_LIMIT_REACHED:limit": "The source stops at {limit} matches.",
    "CLIENT_LIMIT_REACHED:max_pages": "Our limit of pages stopped the read.",
    "CLIENT_LIMIT_REACHED:max_items": "Our limit of records stopped the read.",
    "CLIENT_LIMIT_REACHED:max_requests": "Our limit of requests stopped the read.",
    "CLIENT_LIMIT_REACHED:max_bytes": "Our limit of bytes stopped the read.",
    "CLIENT_LIMIT_REACHED:page_size": "The answer is as long as what was asked for, so more may exist.",
    "SOURCE_UNAVAILABLE:timeout": "The source did not answer in time.",
    "SOURCE_UNAVAILABLE:cancelled": "The read was cancelled before it finished.",
    "SOURCE_UNAVAILABLE:deadline": "The read did not finish by its deadline.",
    "SOURCE_UNAVAILABLE:judge_failed": "The coverage of the answer could not be judged.",
    "SOURCE_UNAVAILABLE:tool_failed": "The tool failed.",
    "SOURCE_UNAVAILABLE:history": "The history holds a result that was not recorded here.",
    "VISIBILITY_RESTRICTED:count_before_permissions": "The source counted records that it did not show.",
    "CONSISTENCY_LOST:count_mismatch": "The number of records differs from the source's exact count.",
    "CONSISTENCY_LOST:total_changed": "The source's count changed during the read.",
    "CONSISTENCY_LOST:duplicate_ids": "A record was served on more than one page.",
    "CONSISTENCY_LOST:snapshot_changed": "The source's state changed between two pages.",
    "PROTOCOL_ANOMALY:cursor_repeated": "The source sent a place to go on from that leads nowhere new.",
    "PROTOCOL_ANOMALY:continuation_missing": "The source says there is more but not where.",
    "PROTOCOL_ANOMALY:malformed_page": "A page does not have the form it should have.",
    "PROTOCOL_ANOMALY:malformed_link": "The link to the next page cannot be read.",
    "PROTOCOL_ANOMALY:cross_origin_link": "The link to the next page leads to another origin.",
    "PROTOCOL_ANOMALY:page_size_changed": "The size of the pages changed during the read.",
}
WARNING_MESSAGES: Final[dict[WarningCode, str]] = {
    "STALE_INDEX": "The index may lag its source.",
    "EVENTUALLY_CONSISTENT": "The source is eventually consistent.",
    "READ_OVER_INTERVAL": "The pages were read over an interval of time.",
    "COUNT_NOT_EXACT": "The source's count is not exact.",
    "COUNT_CHANGED": "The source's count changed during the read.",
    "DEFAULT_SCOPE_APPLIED": "The source applied a default scope.",
    "PARAMETER_ADJUSTED": "A parameter was adjusted.",
    "PARTIAL_FIELD_SET": "Some fields were not asked for.",
    "DUPLICATES_REMOVED": "Records that were served twice are listed once.",
    "ORDER_NOT_UNIQUE": "The order of the records is not total.",
    "RETRIED": "A request was sent again.",
    "NATIVE_WARNING": "The source sent a warning.",
}


def reason_message(code: str, detail: str | None = None, limit: int | None = None) -> str:
    """Returns what a person reads for a reason. An unknown code is named as one that counts as incomplete."""
    if code == "RESULT_LIMIT_REACHED" and limit is not None:
        return DETAIL_MESSAGES["RESULT_LIMIT_REACHED:limit"].format(limit=limit)
    special = DETAIL_MESSAGES.get(f"{code}:{detail}")
    if special is not None:
        return special
    return REASON_MESSAGES.get(code, "A reason that this version does not know; the read is not complete.")  # type: ignore[call-overload, no-any-return]


def warning_message(code: str) -> str:
    """Returns what a person reads for a warning."""
    return WARNING_MESSAGES.get(code, "A warning that this version does not know.")  # type: ignore[call-overload, no-any-return]
