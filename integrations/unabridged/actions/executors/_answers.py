"""What an answer means to an action: a document, or a code of the closed set."""

from __future__ import annotations

import json
from typing import Any, Final

from unabridged.reading.pinned import Unsent, announced_wait_s
from unabridged.reading.transport import Fault, Response, SystemClock

from .routes import Route

UNREADABLE: Final = object()
"""In place of a document that is none."""
Told = tuple[str, bool]
"""A code, and whether the effect may be there all the same."""


def document_of(body: bytes) -> Any:
    """Returns the JSON of a body, nothing where it is empty, and `UNREADABLE` where it is no JSON."""
    if not body.strip():
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return UNREADABLE


def told_of(route: Route, reply: Any) -> Told:
    """Returns what an answer that is no success means: a code of the closed set, and whether the effect may be there.

    A route that only reads has no effect.
    """
    code, may = _told(route, reply)
    return code, may and route.method != "GET"


def _told(route: Route, reply: Any) -> Told:
    if isinstance(reply, Unsent):
        return ("internal" if reply.is_ours else "provider_retryable"), False
    if not isinstance(reply, Response | Fault):
        return "internal", True
    if reply.status is None or (reply.status < 300 and isinstance(reply, Fault)):
        return _broken(reply)
    if reply.status < 300:
        return "provider_invalid_response", True
    has_wait = announced_wait_s(reply.headers, now=SystemClock().now()) is not None
    code, may = _by_status(reply.status, has_wait=has_wait)
    return route.codes.get(reply.status, code), may


def _broken(reply: Response | Fault) -> Told:
    kind = reply.kind if isinstance(reply, Fault) else None
    if kind in ("too_large", "undecodable", "short_body"):
        return "provider_invalid_response", True
    return ("timeout" if kind in ("timeout", "deadline") else "provider_retryable"), True


def _by_status(status: int, *, has_wait: bool) -> Told:
    """Returns what a status from 300 on means (RFC 9110).

    A 503 is often a gateway's, whose server may have begun; with a wait it is the provider's own word. A 301, 302 or
    303 may be the answer to a form that was taken.
    """
    match status:
        case 301 | 302 | 303:
            return "provider_rejected", True
        case 404 | 410:
            return "reference_invalid", False
        case 412:
            return "target_changed", False
        case 408 | 425 | 429:
            return "provider_retryable", False
        case 503:
            return "provider_retryable", not has_wait
        case 501 | 505:
            return "provider_rejected", False
        case _:
            return ("provider_retryable", True) if status >= 500 else ("provider_rejected", False)
