"""A client library under our own reader: the library makes one call, the reader walks and judges.

A module that uses this turns one request of the reader into one call, and what came back into the JSON of a page.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from unabridged.contract import InvalidInput, ReadResult
from unabridged.profiles import Profile, load_profile
from unabridged.reading import AsyncTransport, Budget, Clock, Query, Request, Response, Resume, SystemClock, Transport
from unabridged.reading.ask import Chain
from unabridged.reading.run import afinish_read, finish_read, make_ask

CURSOR: Final = "$cursor"
SIZE: Final = "$size"
"""How a request to a library carries a cursor and a page size; no filter of a caller bears such a name."""
_REPEATS: Final = 3


def walked(
    profile: Profile | Mapping[str, Any],
    query: Query,
    *,
    transport: Transport,
    budget: Budget | None,
    clock: Clock | None,
) -> ReadResult:
    """Reads over a library to the end, and records the result in the session in scope.

    Args:
        profile: what the pages mean that the transport makes; or a profile, whose pages the transport passes on.
        query: what is asked. Its filters are the scope; the transport knows by itself how they are asked for.
        transport: turns one request into one call.
        budget: what may be spent; `Budget()` when not given.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule.
    """
    return finish_read(_resume(profile, query, budget, clock), transport=transport)


async def awalked(
    profile: Profile | Mapping[str, Any],
    query: Query,
    *,
    transport: AsyncTransport,
    budget: Budget | None,
    clock: Clock | None,
) -> ReadResult:
    """As `walked`, on an event loop."""
    return await afinish_read(_resume(profile, query, budget, clock), transport=transport)


def _resume(profile: Profile | Mapping[str, Any], query: Query, budget: Budget | None, clock: Clock | None) -> Resume:
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidInput(field="budget", rule="must be a Budget")
    from unabridged.reading.http import BackoffRetries

    if isinstance(profile, Profile):
        found = profile
    else:
        filters = {name: {"query": name, "null": "null"} for name in query.filters}
        found = load_profile({**profile, "version": 1, "evidence": "server", "filters": filters})
    url = f"https://{found.name.replace('_', '-')}.invalid/"
    ask = make_ask(found, query, url=url, clock=clock or SystemClock(), budget=budget or Budget())
    ask = replace(ask, retries=BackoffRetries(), repeats_left=_REPEATS)
    return Resume(ask=ask, chain=Chain())


def cursor_of(request: Request) -> str | None:
    """Returns the cursor that a request carries."""
    return dict(request.query).get(CURSOR)


def size_of(request: Request) -> int | None:
    """Returns the page size that a request carries."""
    size = dict(request.query).get(SIZE)
    return None if size is None else int(size)


def page(body: Mapping[str, Any]) -> Response:
    """Returns the response that holds a page."""
    return Response(200, body=json.dumps(body, separators=(",", ":"), default=plain).encode())


def refused(status: int, code: str | int | None = None) -> Response:
    """Returns the response of a call that was refused. `code` is a number or a word of the protocol, no text."""
    return Response(status, body=json.dumps({"code": code}).encode())


def plain(value: Any) -> Any:
    """Returns a value of a library as JSON: bytes as text where they are UTF-8, else as `{"base64": ...}`."""
    match value:
        case bytes() | bytearray() | memoryview():
            return text_of(bytes(value))
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() and abs(value) < 1 << 53 else str(value)
        case float() if not math.isfinite(value):
            return str(value)
        case Mapping():
            return {str(key): plain(entry) for key, entry in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(entry) for entry in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def text_of(value: bytes) -> str | dict[str, str]:
    """Returns bytes as text, or marked as base64 where they are none."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
