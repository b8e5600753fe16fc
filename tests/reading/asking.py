"""Short ways to ask a scripted source, for the tests of this folder."""

from __future__ import annotations

from typing import Any

from unabridged.contract import ReadResult
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Budget, Query, run_read
from unabridged.testing import ScriptedTransport, VirtualClock

URL = "https://api.example/things"
TOKEN: dict[str, Any] = {
    "by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent", "null"], "empty_token": "end",
    "repeated_token": "anomaly",
}  # fmt: skip


def profile(walk: dict[str, Any] | None = None, **changes: Any) -> Profile:
    """Returns a profile around a walk, a token walk when none is given."""
    return load_profile(
        {"name": "things", "version": 1, "items": "items", "id": "id", "walk": walk or TOKEN, **changes}
    )


def page(*ids: Any, **more: Any) -> dict[str, Any]:
    """Returns an exchange that holds a page of records."""
    headers = more.pop("headers", {})
    return {"status": 200, "headers": headers, "json": {"items": [{"id": one} for one in ids], **more}}


def ask(
    given: Profile | dict[str, Any] | None,
    *exchanges: dict[str, Any],
    budget: dict[str, Any] | None = None,
    script: ScriptedTransport | None = None,
    **asked: Any,
) -> ReadResult:
    """Reads a scripted source by a profile, or by changes to the plain one."""
    used = given if isinstance(given, Profile) else profile(**(given or {}))
    clock = VirtualClock()
    transport = script or ScriptedTransport(exchanges, clock=clock)
    result = run_read(
        used,
        Query(asked.pop("resource", "things"), **asked),
        url=URL,
        transport=transport,
        clock=transport.clock,
        budget=Budget.unlimited(**(budget or {})),
    )
    assert not transport.problems, transport.problems
    return result


def keys(result: ReadResult) -> set[str]:
    """Returns the reasons as `CODE` or `CODE:detail`."""
    return {reason.key for reason in result.reasons}


def codes(result: ReadResult) -> set[str]:
    """Returns the reason codes."""
    return set(result.codes)


def warned(result: ReadResult) -> set[str]:
    """Returns the warning codes."""
    return {notice.code for notice in result.warnings}
