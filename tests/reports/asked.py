"""Short ways to tell a report's story again, for the tests of this folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

from reading.served import Call, Server, serving
from unabridged import Budget, Query, read
from unabridged.contract import ReadResult, decision, resume_of
from unabridged.evidence import MemoryLedger, Session, Verdict, WriteIntent, session
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Resume
from unabridged.testing import ScriptedTransport

QUIET: dict[str, Any] = {"max_retries": 0}
"""Nothing is asked for again, so that requests can be counted."""
TOKEN: dict[str, Any] = {
    "by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent", "null"], "empty_token": "end",
    "repeated_token": "anomaly",
}  # fmt: skip
SINGLE: dict[str, Any] = {"by": "single"}
_numbers = count(1)


def offset(ends_on: str, name: str = "offset", **more: Any) -> dict[str, Any]:
    """Returns an offset walk by items from 0."""
    return {
        "by": "offset", "send": {"query": name}, "unit": "item", "origin": 0, "advance": "returned",
        "ends_on": [ends_on], **more,
    }  # fmt: skip


def listing(walk: dict[str, Any], **changes: Any) -> Profile:
    """Returns a profile around a walk."""
    return load_profile({"name": "things", "version": 1, "items": "items", "id": "id", "walk": walk, **changes})


def records(start: int, stop: int, **fields: Any) -> list[dict[str, Any]]:
    """Returns records whose ids are the numbers from `start` up to `stop`, exclusive."""
    return [{"id": number, **fields} for number in range(start, stop)]


class Asked:
    """A read over the loopback interface: its result, what the server was asked, and the session that recorded it."""

    def __init__(self, result: ReadResult, server: Server, case: Session) -> None:
        self.result = result
        self.queries = [call.query for call in server.calls]
        self.bodies = [json.loads(call.body or b"{}") for call in server.calls]
        self.session = case


def ask(
    profile: Profile,
    respond: Callable[[Call], None],
    *,
    query: Query | None = None,
    budget: dict[str, Any] | None = None,
    **options: Any,
) -> Asked:
    """Reads a stub server with the live reader, one request at a time, within a session of its own."""
    case = fresh()
    with serving(respond) as server, case:
        asked = query or Query("things")
        limits = Budget(**{**QUIET, **(budget or {})})
        result = read(profile, asked, url=server.url, budget=limits, in_flight=1, **options)
    return Asked(result, server, case)


def go_on(result: ReadResult, sent: dict[str, str], page: Any) -> ReadResult:
    """Reads on from where a read stopped: one request, which must hold what is `sent`."""
    exchange = {"status": 200, "headers": {}, "json": page, "expect_request": {"query": sent}}
    script = ScriptedTransport([exchange])
    resume = resume_of(result)
    assert isinstance(resume, Resume)
    rest = resume.read(budget=Budget.unlimited(), transport=script, clock=script.clock)
    assert (script.problems, len(script.requests)) == ([], 1)
    return rest


def fresh() -> Session:
    """Returns a session of its own."""
    return session(f"report-{next(_numbers)}", ledger=MemoryLedger())


def write(case: Session, resource: str = "things", **demands: Any) -> Verdict:
    """Returns the verdict on a write that relies on the resource."""
    return case.judge_write(WriteIntent("change_things", relies_on=[resource], **demands))


def is_refused(case: Session, resource: str = "things") -> bool:
    """Tells whether a write by absence is refused because its evidence is incomplete, and for nothing else."""
    verdict = write(case, resource)
    return (verdict.verdict, verdict.codes) == ("refuse", ("EVIDENCE_INCOMPLETE",))


def keys(result: ReadResult) -> set[str]:
    """Returns the reasons as `CODE` or `CODE:detail`."""
    return {reason.key for reason in result.reasons}


def warned(result: ReadResult) -> set[str]:
    """Returns the warning codes."""
    return {notice.code for notice in result.warnings}


__all__ = [
    "SINGLE", "TOKEN", "Asked", "Call", "ask", "decision", "fresh", "go_on", "is_refused", "keys", "listing", "offset",
    "records", "warned", "write",
]  # fmt: skip
