"""Bodies of other forms than one JSON page: ranges of an object, lines of JSON, and the state of a job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from unabridged.contract.ids import json_equal
from unabridged.profiles.paths import MISSING, PathFailed, compile_path
from unabridged.profiles.walks import JobWalk, RangeWalk, StreamWalk

from .page import Failure, Page, Span, Undecodable, decode_json
from .transport import Response

_CONTENT_RANGE: Final = re.compile(r"([a-z]+) (?:([0-9]{1,18})-([0-9]{1,18})|\*)/([0-9]{1,18}|\*)\Z", re.IGNORECASE)
UNREQUESTED: Final = Failure(code="TRANSPORT_TRUNCATED", detail="unrequested_range", layer="transport")
SHORT: Final = Failure(code="TRANSPORT_TRUNCATED", detail="short_body", layer="transport")
CHANGED: Final = Failure(
    code="CONSISTENCY_LOST", detail="snapshot_changed", resend=False, again=False, passing=False
)  # fmt: skip
UNKNOWN_STATE: Final = Failure(code="PROTOCOL_ANOMALY", detail="unknown_value", passing=False)
FAILED_JOB: Final = Failure(code="JOB_NOT_FINISHED", resend=False, again=False, passing=False)
JobState = Literal["running", "ok", "partial", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The range that a request asked for."""

    start: int
    size: int
    by_header: bool
    """Whether the `Range` header asked for it, so that the status says whether it was honoured."""

    @property
    def end(self) -> int:
        """The end, exclusive."""
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class Running:
    """A job that has not finished: neither a page nor a failure."""


def job_state(walk: JobWalk, value: Any, *, is_later: bool) -> JobState:
    """Returns what a stated state means; a later page of a finished job need not repeat it."""
    if is_later and (value is MISSING or value is None):
        return "ok"
    names: tuple[tuple[JobState, tuple[Any, ...]], ...] = (
        ("running", walk.running), ("ok", walk.ok), ("partial", walk.partial), ("failed", walk.failed),
    )  # fmt: skip
    for name, values in names:
        if value is not MISSING and any(json_equal(value, one) for one in values):
            return name
    return "unknown"


def stream_page(walk: StreamWalk, items: str, response: Response) -> Page | None:
    """Returns the page of a newline-delimited body, or nothing when it holds no list of records.

    A last line that does not decode was cut: what stands before it is whole.

    Raises:
        Undecodable: another line does not decode.
        SaidTwice: a line says two things under one key.
    """
    lines: list[Any] = []
    rows = [row for row in response.body.split(b"\n") if row.strip()]
    is_cut = False
    for n, row in enumerate(rows, 1):
        try:
            lines.append(decode_json(row))
        except Undecodable:
            if n < len(rows) or response.body.endswith(b"\n"):
                raise
            is_cut = True
    closing = [one for one in lines if _closes(walk, one)]
    closed = {id(one) for one in closing}
    try:
        records = compile_path(items).read_list([one for one in lines if id(one) not in closed])
    except PathFailed:
        return None
    if type(records) is not list:
        return None
    if walk.terminator is None:
        end: Literal["silent", "cut", "ended", "contradictory"] = "cut" if is_cut else "silent"
    elif len(closing) > 1 or (closing and (is_cut or lines[-1] is not closing[-1])):
        end = "contradictory"
    else:
        end = "ended" if closing else "cut"
    return Page(lines, response.headers, records, stream_end=end)


def _closes(walk: StreamWalk, record: Any) -> bool:
    if walk.terminator is None:
        return False
    try:
        return compile_path(walk.terminator, page=False).read(record) is True
    except PathFailed:
        return False


def text_page(response: Response) -> Page:
    """Returns the page of a piece of text."""
    return Page(None, response.headers, [], text=response.body)


def units_of(walk: RangeWalk, page: Page) -> int:
    """Returns how many units of its object a page holds."""
    if page.text is None:
        return len(page.records)
    if walk.unit == "bytes":
        return len(page.text)
    return page.text.count(b"\n") + (bool(page.text) and not page.text.endswith(b"\n"))


def is_empty_object(walk: RangeWalk, asked: Asked, status: int, headers: Mapping[str, str]) -> bool:
    """Tells whether a 416 says that the object has no first unit: it is empty, and that is the whole of it."""
    span = _span(walk, headers)
    return status == 416 and asked.by_header and asked.start == 0 and span is not None and span.total == 0


def ranged(
    walk: RangeWalk, asked: Asked, page: Page, *, status: int, headers: Mapping[str, str], is_framed: bool = True
) -> Page | Failure:
    """Returns a page with the range that it covers, or why it is not the one that was asked for.

    A text without a frame that is the whole is not known to be: where its connection ended, it may have been cut.
    """
    units = units_of(walk, page)
    if asked.by_header and status != 206:
        whole = units if is_framed or page.text is None else None
        return page.with_span(Span(0, units, whole)) if asked.start == 0 else UNREQUESTED
    span = _span(walk, headers)
    if span is None:
        if asked.by_header or units > asked.size:
            return UNREQUESTED
        return page.with_span(Span(asked.start, asked.start + units, None))
    is_last = span.total is None or span.end == span.total
    if span.start != asked.start or span.end > asked.end or (span.end < asked.end and not is_last):
        return UNREQUESTED
    return page.with_span(span) if units == span.end - span.start else SHORT


def _span(walk: RangeWalk, headers: Mapping[str, str]) -> Span | None:
    found = _CONTENT_RANGE.match(headers.get("content-range", "").strip())
    if found is None or found[1].lower() != walk.unit:
        return None
    total = None if found[4] == "*" else int(found[4])
    if found[2] is None:
        return Span(0, 0, total)
    start, end = int(found[2]), int(found[3]) + 1
    return Span(start, end, total) if start < end and (total is None or end <= total) else None


def total_of(walk: RangeWalk, page: Page) -> int | None:
    """Returns how many units the object has, as a page states it."""
    in_span = None if page.span is None else page.span.total
    if walk.total is None or (page.span is not None and page.span.is_whole):
        return in_span
    return _declared_total(walk, page)


def says_two_totals(walk: RangeWalk, page: Page) -> bool:
    """Tells whether the range of a page and the place of its total name two different totals."""
    in_span = None if page.span is None else page.span.total
    declared = _declared_total(walk, page)
    return in_span is not None and declared is not None and in_span != declared


def _declared_total(walk: RangeWalk, page: Page) -> int | None:
    try:
        value = MISSING if walk.total is None else page.get(compile_path(walk.total))
    except PathFailed:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
