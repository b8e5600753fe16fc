"""The artifact of a guarded read: what a checkpoint keeps of every call, whatever the read returned."""

from __future__ import annotations

import json
from typing import Final

from unabridged import session
from unabridged.contract import ReadHeader, Reason, Scope, build_result, new_read_id
from unabridged.gate import ALONE, Gate, ReadSpec, Reply

from .envelope import records
from .guard import NOW
from .harness import Figure

_SIZES: Final = (1, 1_000, 100_000)
_BUDGET_BYTES: Final = 1_024
_CODES: Final = (
    "RESULT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE", "CONTINUATION_EXPIRED", "TRANSPORT_TRUNCATED", "CONSISTENCY_LOST",
    "SOURCE_UNAVAILABLE", "RATE_LIMITED", "VISIBILITY_RESTRICTED", "CLIENT_LIMIT_REACHED", "TIME_BUDGET_EXCEEDED",
    "ITEM_TRUNCATED", "PROTOCOL_ANOMALY", "APPROXIMATE_METHOD",
)  # fmt: skip


def artifact_bytes(count: int, *, codes: tuple[str, ...] = ()) -> int:
    """Returns the size of the artifact of a read of `count` records, as JSON."""
    gate = Gate("list_accounts", ReadSpec(resource="accounts"))
    result = build_result(
        items=records(count),
        reasons=[Reason(code=code) for code in codes],
        scope=Scope(resource="accounts"),
        read=ReadHeader(id=new_read_id(), adapter="bench", started_at=NOW, finished_at=NOW),
    )
    with session("bench") as s:
        entered = gate.enter({}, session=s, turn=ALONE)
        if isinstance(entered, Reply):
            raise RuntimeError("the benchmark's read was refused")
        reply = gate.leave(entered, result)
    return len(json.dumps(reply.artifact).encode())


def run() -> list[Figure]:
    """Measures whole reads of several sizes, and a read with every reason at once."""
    figures = [
        Figure(what=f"complete, {n:,} records", value=artifact_bytes(n), unit="bytes", budget=_BUDGET_BYTES)
        for n in _SIZES
    ]
    every = artifact_bytes(1_000, codes=_CODES)
    return [*figures, Figure(what=f"{len(_CODES)} reasons", value=every, unit="bytes", budget=_BUDGET_BYTES)]
