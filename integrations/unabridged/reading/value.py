"""Judging a value that something else fetched, such as a tool's answer, as one page of a profile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unabridged.contract.parts import Reason, SourceOutcome
from unabridged.contract.results import ReadResult, build_result, status_for, with_ids, with_resume
from unabridged.profiles.combinators import PartitionWalk
from unabridged.profiles.conditions import Send
from unabridged.profiles.format import Profile, Size
from unabridged.profiles.paths import compile_path
from unabridged.profiles.walks import JobWalk, LinkWalk, RangeSend, RangeWalk, SingleWalk, StreamWalk

from .query import Budget, Query
from .run import run_read
from .transport import Fault, Request, Response

_URL = "https://value.invalid/"
_MOST = 2**53
_OURS = "unabridged.value"
"""Begins the names of parameters that no filter has, and that nobody is sent."""
_KEPT = ("scope", "read", "total", "consistency", "proof", "item_cuts", "warnings", "continuation")


class _OneAnswer:
    """Answers every request with the value; one page is all that is ever asked for."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def send(self, request: Request, *, timeout_s: float | None = None) -> Response | Fault:
        return Response(status=200, headers=(), body=self._body)


def judge_value(
    profile: Profile,
    value: Any,
    *,
    resource: str,
    filters: Mapping[str, Any] | None = None,
    page_size: int | None = None,
    from_the_start: bool = True,
) -> ReadResult:
    """Returns what a value says about itself under a profile.

    The value is one page: where the profile finds a way on in it, the read is partial, and no handle leads on, since
    only whoever fetched the value can fetch more. Nothing is assumed of how the value was asked for: without
    `page_size` no page is short, and none is a whole overfetch. A value has neither headers nor a status: where the
    profile looks for its end or for what is wrong there, nothing says that the value is the whole.

    Args:
        profile: what the service's responses mean.
        value: the decoded body, or its JSON as text or bytes. One that JSON cannot hold makes the read unavailable.
        resource: the name of what was read.
        filters: what was asked for.
        page_size: how many records were asked for, where that is known.
        from_the_start: whether the value is the first page. A later one is the end of something, and never the whole.
    """
    result = run_read(
        _of_no_status(_of_no_size(profile) if page_size is None else _of_a_size(profile)),
        Query(resource, filters=dict(filters or {}), page_size=page_size),
        url=_URL,
        transport=_OneAnswer(_body(value)),
        budget=_one_page(profile),
    )
    if (not from_the_start and result.items is not None) or (result.complete and _looks_into_headers(profile)):
        result = _unproven(result)
    route = result.continuation
    if getattr(route, "handle", None) is not None:
        result = result.model_copy(update={"continuation": route.model_copy(update={"handle": None})})
    return with_resume(result, None)


def _one_page(profile: Profile) -> Budget:
    """Returns what one value can answer: a page, and where asking again is no page, one request."""
    once = 1 if isinstance(profile.walk, JobWalk | PartitionWalk) else None
    return Budget(
        max_pages=1, max_items=None, max_bytes=None, max_seconds=None, max_requests=once, max_retries=0
    )  # fmt: skip


def _of_no_size(profile: Profile) -> Profile:
    """Returns the profile of a request that names no page size."""
    inner, size = getattr(profile.walk, "inner", None), profile.size
    if isinstance(inner, Profile):
        return profile.model_copy(update={"walk": profile.walk.model_copy(update={"inner": _of_no_size(inner)})})
    if size is None:
        return profile
    return profile.model_copy(update={"size": size.model_copy(update={"send": None})})


def _of_a_size(profile: Profile) -> Profile:
    """Returns the profile of a request that names a page size, also where it does not say how one is sent."""
    inner, size = getattr(profile.walk, "inner", None), profile.size
    if isinstance(inner, Profile):
        return profile.model_copy(update={"walk": profile.walk.model_copy(update={"inner": _of_a_size(inner)})})
    if size is not None and size.send is not None:
        return profile
    sent = Send.model_validate({"query": "limit"})
    return profile.model_copy(
        update={"size": Size(send=sent) if size is None else size.model_copy(update={"send": sent})}
    )


def _of_no_status(profile: Profile) -> Profile:
    """Returns the profile of a request for ranges of which no status says whether they were given."""
    walk = profile.walk
    inner = getattr(walk, "inner", None)
    if isinstance(inner, Profile):
        return profile.model_copy(update={"walk": walk.model_copy(update={"inner": _of_no_status(inner)})})
    if not isinstance(walk, RangeWalk):
        return profile
    send = RangeSend.model_validate({"start": {"query": f"{_OURS}.start"}, "end": {"query": f"{_OURS}.end"}})
    return profile.model_copy(update={"walk": walk.model_copy(update={"send": send, "size": _MOST})})


def can_be_whole(profile: Profile) -> bool:
    """Tells whether any value can be the whole under a profile.

    None can where the profile looks into headers, where it names a limit that no request lifts, and where it states
    no end that one value could show.
    """
    if _looks_into_headers(profile) or any(limit.narrows and limit.unless is None for limit in profile.inner.scope):
        return False
    if profile.inner is not profile:
        return not isinstance(profile.walk, PartitionWalk) and can_be_whole(profile.inner)
    match profile.walk:
        case SingleWalk() as walk:
            counted = profile.count is not None and profile.count.kind in (None, "exact")
            return counted or (walk.cap, walk.overfetch, walk.exact_flag) != (None, None, None)
        case StreamWalk() as walk:
            return walk.terminator is not None
        case _:
            return getattr(profile.paging, "ends_on", None) != ()


def _looks_into_headers(profile: Profile) -> bool:
    """Whether the profile reads in headers where a walk ends, or what is wrong with a page."""
    inner = getattr(profile.walk, "inner", None)
    if isinstance(inner, Profile):
        return _looks_into_headers(inner)
    walk, size = profile.paging, profile.size
    places = [*(signal.path for signal in profile.signals), *(error.path for error in profile.errors)]
    named = [getattr(walk, name, None) for name in ("read", "path", "more_flag", "last_flag", "total")]
    if size is not None and (isinstance(walk, SingleWalk) or "short_page" in getattr(walk, "ends_on", ())):
        named.append(size.read)
    in_header = isinstance(walk, LinkWalk) and walk.where == "header"
    places += [path for path in named if path is not None]
    return in_header or any(compile_path(path).kind == "header" for path in places)


def _body(value: Any) -> bytes:
    """Returns a value as the JSON text that it is, or would be; nothing where it cannot be one."""
    if isinstance(value, bytes):
        return value
    try:
        return (value if isinstance(value, str) else json.dumps(value, default=str)).encode()
    except (ValueError, TypeError, RecursionError):  # it may hold itself, be too deep, or be no text for UTF-8
        return b""


def _unproven(result: ReadResult) -> ReadResult:
    """Returns the same records without a claim about what is not in them."""
    reason = Reason(code="COVERAGE_UNKNOWN", layer="adapter")
    fields = {name: getattr(result, name) for name in _KEPT}
    sources = tuple(map(_doubted, result.sources))
    unproven = build_result(items=result.items, reasons=[*result.reasons, reason], sources=sources, **fields)
    return unproven if result._ids is None else with_ids(unproven, result._ids)


def _doubted(source: SourceOutcome) -> SourceOutcome:
    """Returns what a source gave without the claim that this was all; one that failed has failed still."""
    if source.status == "unavailable":
        return source
    reasons = tuple(dict.fromkeys([*source.reasons, "COVERAGE_UNKNOWN"]))
    return source.model_copy(update={"status": status_for((), reasons), "reasons": reasons})
