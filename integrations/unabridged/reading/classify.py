"""What a response is, decided in the one order that the format states (`PROFILES.md`, Classification)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from unabridged.contract.ids import safe_value
from unabridged.profiles.conditions import When
from unabridged.profiles.format import Expired, Profile
from unabridged.profiles.paths import MISSING, Path, PathFailed, compile_path
from unabridged.profiles.walks import JobWalk, RangeWalk, StreamWalk

from .forms import (
    FAILED_JOB,
    UNKNOWN_STATE,
    Asked,
    Running,
    is_empty_object,
    job_state,
    ranged,
    stream_page,
    text_page,
)
from .page import Failure, Page, SaidTwice, Span, Undecodable, decode_json, header_map
from .transport import Fault, Response

_SECONDS: Final = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,9})?\Z")
_LONGEST_WAIT_S: Final = 10.0 * 365 * 86400
_NO_BODY: Final = object()
_PASSING_STATUS: Final = frozenset({408, 425, 429})
_OWN_FORM: Final = frozenset({"job", "range", "stream"})
"""The walks whose pages have a form of their own."""
MALFORMED: Final = Failure(code="PROTOCOL_ANOMALY", detail="malformed_page", passing=False)
UNDECODABLE: Final = Failure(code="TRANSPORT_TRUNCATED", detail="invalid_json", layer="transport")
TRUNCATED: Final = Failure(code="TRANSPORT_TRUNCATED", detail="short_body", layer="transport")


def classify(
    reply: Response | Fault, profile: Profile, *, continuation_sent: bool, now: datetime, asked: Asked | None = None
) -> Page | Failure | Running:
    """Returns the page that a reply holds, or why it holds none.

    Args:
        reply: what the transport brought.
        profile: what the service's responses mean.
        continuation_sent: whether the request carried a continuation; only then can one have expired.
        now: the time of the reply, for waits that name a moment.
        asked: the range that the request asked for.
    """
    if isinstance(reply, Response) and reply.status == 200 and is_plain(profile):
        return plain_page(reply, profile)
    if isinstance(reply, Fault):
        failure = _fault(reply)
        if failure is not None:
            return failure
        reply, cut = Response(status=reply.status or 200, headers=reply.headers, body=reply.body), True
    else:
        cut = False
    seen = _Seen(reply)
    return (
        _continuation_failure(seen, profile, continuation_sent=continuation_sent, now=now)
        or _transport_failure(seen, profile, cut=cut, now=now, asked=asked)
        or _formed(seen, profile, continuation_sent=continuation_sent, asked=asked)
    )


def is_plain(profile: Profile) -> bool:
    """Tells whether a 200 can be nothing but a page or a cut one, so that no other question need be asked of it."""
    if profile.walk.by in _OWN_FORM or profile.items is None:
        return False
    return not (profile.expired or profile.errors or 200 in profile.rate_limit.status or 200 in profile.empty_status)


def plain_page(response: Response, profile: Profile) -> Page | Failure:
    """Returns the page of a 200, where it can be nothing but a page or a cut one."""
    if _is_short(response):
        return TRUNCATED
    try:
        body = decode_json(response.body)
    except Undecodable:
        return UNDECODABLE
    except SaidTwice:
        return MALFORMED
    path = compile_path(profile.items or "@")
    if path.kind != "plain":
        return _listed(path, body, response)
    records = path.read(body)
    if type(records) is not list:
        return MALFORMED
    return Page(body, response.headers, records)


def _listed(path: Path, body: Any, response: Response) -> Page | Failure:
    try:
        records = path.read_page(body, header_map(response.headers)) if path.kind == "header" else path.read_list(body)
    except PathFailed:
        return MALFORMED
    return Page(body, response.headers, records) if type(records) is list else MALFORMED


class _Seen:
    """A response whose body is decoded at most once, and only when something looks into it."""

    def __init__(self, response: Response, *, decoded: Any = None) -> None:
        self.response = response
        self.status = response.status
        self.says_twice = False
        """Whether the body, once it was looked at, held two values under one key."""
        self._body: Any = None if decoded is None else (decoded,)
        self._headers: dict[str, str] | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        if self._headers is None:
            self._headers = header_map(self.response.headers)
        return self._headers

    @property
    def body(self) -> Any:
        """The decoded body, or `_NO_BODY` when it does not decode."""
        if self._body is None:
            try:
                self._body = (decode_json(self.response.body),)
            except Undecodable:
                self._body = (_NO_BODY,)
            except SaidTwice:
                self._body = (_NO_BODY,)
                self.says_twice = True
        return self._body[0]

    def meets(self, path: str, when: When) -> bool:
        return when.holds(self.value(path))

    def value(self, path: str) -> Any:
        compiled = compile_path(path)
        if compiled.kind == "header":
            return compiled.read_page(None, self.headers)
        if self.body is _NO_BODY:
            return MISSING
        try:
            return compiled.read(self.body)
        except PathFailed:
            return MISSING


def _fault(fault: Fault) -> Failure | None:
    match fault.kind:
        case "timeout" | "dns" | "disconnect":
            return Failure(code="SOURCE_UNAVAILABLE", detail=fault.kind, layer="transport")
        case "deadline":
            return Failure(code="TIME_BUDGET_EXCEEDED", detail="max_seconds", layer="client", resend=False)
        case "too_large":
            return Failure(
                code="CLIENT_LIMIT_REACHED",
                detail="max_bytes",
                layer="client",
                resend=False,
                again=False,
                passing=False,
            )
        case "undecodable":
            return UNDECODABLE
        case "short_body":
            return None


def _continuation_failure(seen: _Seen, profile: Profile, *, continuation_sent: bool, now: datetime) -> Failure | None:
    dead = [rule for rule in profile.expired if _is_expired(seen, rule)] if continuation_sent else []
    if dead:
        restarts = all(rule.then == "restart_once" for rule in dead)
        return Failure("CONTINUATION_EXPIRED", resend=False, again=False, passing=False, restarts=restarts)
    limit = profile.rate_limit
    if seen.status in limit.status and (
        seen.status == 429 or limit.when is None or seen.meets(limit.when.path, limit.when.when)
    ):
        return Failure(code="RATE_LIMITED", wait_s=_announced_wait(seen, limit.wait_from, now))
    return None


def _is_expired(seen: _Seen, rule: Expired) -> bool:
    if rule.status is not None and seen.status != rule.status:
        return False
    return rule.path is None or rule.when is None or seen.meets(rule.path, rule.when)


def _transport_failure(
    seen: _Seen, profile: Profile, *, cut: bool, now: datetime, asked: Asked | None
) -> Failure | None:
    status = seen.status
    if status in (401, 403):
        detail = "unauthorized" if status == 401 else "forbidden"
        native = {"status": status}
        return Failure("VISIBILITY_RESTRICTED", detail, native=native, resend=False, again=False, passing=False)
    by_header = asked is not None and asked.by_header
    if status == 206 and not by_header:
        return Failure(code="TRANSPORT_TRUNCATED", detail="unrequested_range", layer="transport")
    if cut or _is_short(seen.response):
        return TRUNCATED
    if not 200 <= status < 300 and not _is_empty(seen, profile, asked):
        wait = _announced_wait(seen, profile.rate_limit.wait_from, now) if status == 503 else None
        passing = status >= 500 or status in _PASSING_STATUS
        return Failure("SOURCE_UNAVAILABLE", "status", native={"status": status}, passing=passing, wait_s=wait)
    return None


def _is_short(response: Response) -> bool:
    """A body shorter than its declared length. The length counts coded bytes, so a coded body is not compared."""
    length = ""
    for name, value in response.headers:
        if len(name) == 14 and name.lower() == "content-length":
            length = value
        elif len(name) == 16 and name.lower() == "content-encoding":
            return False
    return length.isascii() and length.isdigit() and len(response.body) < int(length[:18])


def _is_empty(seen: _Seen, profile: Profile, asked: Asked | None) -> bool:
    """Tells whether a range could not be had because its object is empty."""
    walk = profile.walk
    return asked is not None and isinstance(walk, RangeWalk) and is_empty_object(walk, asked, seen.status, seen.headers)


def _formed(seen: _Seen, profile: Profile, *, continuation_sent: bool, asked: Asked | None) -> Page | Failure | Running:
    """Returns the page in the form that the walk gives it."""
    walk = profile.walk
    match walk:
        case JobWalk():
            return _job_page(seen, profile, walk, is_later=continuation_sent)
        case RangeWalk() if asked is not None:
            if _is_empty(seen, profile, asked):
                text = b"" if walk.is_text else None
                return Page(None, seen.response.headers, [], text=text, span=Span(0, 0, 0))
            page = _page(seen, profile)
            if isinstance(page, Failure):
                return page
            framed = seen.response.is_framed
            return ranged(walk, asked, page, status=seen.status, headers=seen.headers, is_framed=framed)
        case _:
            return _page(seen, profile)


def _job_page(seen: _Seen, profile: Profile, walk: JobWalk, *, is_later: bool) -> Page | Failure | Running:
    error = _error_in(seen, profile)
    if error is not None:
        return error
    if seen.body is _NO_BODY and seen.status not in profile.empty_status:
        return MALFORMED if seen.says_twice else UNDECODABLE
    match job_state(walk, seen.value(walk.state), is_later=is_later):
        case "running":
            return Running()
        case "failed":
            return FAILED_JOB
        case "unknown":
            return UNKNOWN_STATE
        case "ok":
            return _page(seen, profile)
        case "partial":
            page = _page(seen, profile)
            return page if isinstance(page, Failure) else replace(page, is_partial_job=True)


def _error_in(seen: _Seen, profile: Profile) -> Failure | None:
    """Returns the error that a successful response holds."""
    for rule in profile.errors:
        if seen.meets(rule.path, rule.when):
            final = rule.code in ("CONTINUATION_EXPIRED", "VISIBILITY_RESTRICTED")
            native = {compile_path(rule.path).label: safe_value(_scalar(seen.value(rule.path)))}
            detail = rule.detail or ("error_in_body" if rule.code == "SOURCE_UNAVAILABLE" else None)
            return Failure(rule.code, detail, native=native, resend=not final, again=not final, passing=not final)
    return None


def _page(seen: _Seen, profile: Profile) -> Page | Failure:
    is_empty = seen.status in profile.empty_status
    walk = profile.walk
    if isinstance(walk, StreamWalk) and not is_empty:
        return _stream(seen, profile, walk)
    if isinstance(walk, RangeWalk) and walk.is_text:
        return _error_in(seen, profile) or text_page(seen.response)
    if not is_empty and seen.body is _NO_BODY:
        return MALFORMED if seen.says_twice else UNDECODABLE
    error = _error_in(seen, profile)
    if error is not None:
        return error
    if is_empty:
        nothing = Page(None, seen.response.headers, [], is_empty_status=True)
        return MALFORMED if _holds_records(seen, profile) else nothing
    if profile.items is None:
        return Page(seen.body, seen.response.headers, [])
    return _listed(compile_path(profile.items or "@"), seen.body, seen.response)


def _holds_records(seen: _Seen, profile: Profile) -> bool:
    """Tells whether a response whose status says that the list is empty holds one that is not."""
    if not seen.response.body or profile.items is None or seen.body is _NO_BODY:
        return False
    try:
        return bool(compile_path(profile.items).read_list(seen.body))
    except PathFailed:
        return False


def _stream(seen: _Seen, profile: Profile, walk: StreamWalk) -> Page | Failure:
    try:
        page = stream_page(walk, profile.items or "@", seen.response)
    except Undecodable:
        return UNDECODABLE
    except SaidTwice:
        return MALFORMED
    if page is None:
        return MALFORMED
    lines = _Seen(seen.response, decoded=page.body)
    return _error_in(lines, profile) or page


def _scalar(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else "<value>"


def _announced_wait(seen: _Seen, places: Sequence[str], now: datetime) -> float | None:
    """Returns the first wait that the response states, in seconds; a moment that has passed is no wait at all."""
    for place in places:
        kind, _, rest = place.partition(":")
        value = seen.value(rest if kind == "body" else f"header:{rest}")
        moment = kind == "header_epoch"
        seconds = _seconds(value, now=now, is_epoch=moment)
        if seconds is not None:
            return min(max(seconds, 0), _LONGEST_WAIT_S)
    return None


def _seconds(value: Any, *, now: datetime, is_epoch: bool) -> float | None:
    if isinstance(value, str):
        text = value.strip()
        if not _SECONDS.match(text):
            return None if is_epoch else _until(text, now)
        value = float(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -1e15 < value < 1e15 or not math.isfinite(value):
        return None
    return value - now.timestamp() if is_epoch else value


def _until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - now).total_seconds()
