"""What a header of the ledger says of its read."""

from __future__ import annotations

from datetime import UTC, datetime

from unabridged import session
from unabridged.contract import ReadHeader, Reason, Scope, build_result


def test_a_header_states_status_and_scope_of_its_read_under_the_declared_name() -> None:
    now = datetime(2026, 11, 30, 9, tzinfo=UTC)
    scope = Scope(resource="raw", filters={"owner": None}, window="90 days", excludes=("archived",))
    header = ReadHeader(id="r_header", started_at=now, finished_at=now)
    with session("headers") as case:
        case.record(build_result(items=[], reasons=[Reason(code="RATE_LIMITED")], scope=scope, read=header))
        partial = case.record(
            build_result(items=[], reasons=[Reason(code="RATE_LIMITED")], scope=scope, read=header), resource="orders"
        )
        whole = case.record(build_result(items=[], scope=scope, read=ReadHeader(**{**dict(header), "id": "r_whole"})))
    assert (partial.complete, whole.complete) == (False, True)
    assert partial.scope == scope.model_copy(update={"resource": "orders"})
