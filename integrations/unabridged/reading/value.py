"""Judging a value that something else fetched, such as a tool's answer, as one page of a profile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unabridged.contract.results import ReadResult, with_resume
from unabridged.profiles.format import Profile

from .query import Budget, Query
from .run import run_read
from .transport import Fault, Request, Response

_URL = "https://value.invalid/"


class _OneAnswer:
    """Answers every request with the value; one page is all that is ever asked for."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def send(self, request: Request, *, timeout_s: float | None = None) -> Response | Fault:
        return Response(status=200, headers=(), body=self._body)


def judge_value(profile: Profile, value: Any, *, resource: str, filters: Mapping[str, Any] | None = None) -> ReadResult:
    """Returns what a value says about itself under a profile.

    The value is one page: where the profile finds a way on in it, the read is partial, and no handle leads on, since
    only whoever fetched the value can fetch more.

    Args:
        profile: what the service's responses mean.
        value: the decoded body, or its JSON as text or bytes.
        resource: the name of what was read.
        filters: what was asked for.
    """
    if isinstance(value, bytes):
        body = value
    else:
        body = (value if isinstance(value, str) else json.dumps(value, default=str)).encode()
    result = run_read(
        profile,
        Query(resource, filters=dict(filters or {})),
        url=_URL,
        transport=_OneAnswer(body),
        budget=Budget(max_pages=1, max_items=None, max_bytes=None, max_seconds=None, max_retries=0),
    )
    route = result.continuation
    if getattr(route, "handle", None) is not None:
        result = result.model_copy(update={"continuation": route.model_copy(update={"handle": None})})
    return with_resume(result, None)
