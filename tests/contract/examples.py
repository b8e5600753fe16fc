"""Small results that the tests of the contract share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from unabridged.contract import ReadHeader, ReadResult, Reason, Scope, build_result

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)


def read(items: list[Any] | None, *codes: str, resource: str = "orders", **parts: Any) -> ReadResult:
    """Returns the result that the items and the codes imply."""
    reasons = [Reason(code=c.split(":")[0], detail=c.split(":")[1] if ":" in c else None) for c in codes]
    header = ReadHeader(id="r_1", query_id="q_1", adapter="orders/1", started_at=AT, finished_at=AT)
    scope = parts.pop("scope", Scope(resource=resource))
    return build_result(items=items, reasons=reasons, scope=scope, read=header, **parts)


def four_empties() -> dict[str, ReadResult]:
    """Returns the four claims that an empty answer can make."""
    return {
        "complete": read([]),
        "partial": read([], "RATE_LIMITED"),
        "unknown": read([], "COVERAGE_UNKNOWN"),
        "unavailable": read(None, "SOURCE_UNAVAILABLE:timeout"),
    }
