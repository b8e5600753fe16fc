"""Documents as excerpts: each names its reference, its version and its range, and goes on from where it stopped.

A document that changed in between is not gone on with: two versions are never put together.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol

from unabridged._ambient import record as keep
from unabridged.contract import (
    NONE,
    Consistency,
    Continuation,
    Excerpt,
    InvalidInput,
    ItemCut,
    Proof,
    ReadHeader,
    ReadRange,
    ReadResult,
    Reason,
    RestartScan,
    Scope,
    SourceOutcome,
    UnabridgedError,
    build_result,
    is_token,
    new_handle,
    new_query_id,
    new_read_id,
    safe_id,
    status_for,
    with_ids,
    with_resume,
)
from unabridged.contract.codes import ReasonCode
from unabridged.reading import Clock, SystemClock

Unit = Literal["lines", "bytes", "chars", "pages"]
MAX_UNITS: Final[dict[Unit, int]] = {"lines": 2_000, "bytes": 64 * 1024, "chars": 64 * 1024, "pages": 50}
"""How much one excerpt holds when nothing else is said."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a source gave of a document: `text` is what stands from `start` to `end`, `end` excluded."""

    text: str = field(repr=False)
    start: int
    end: int
    total: int | None = None
    """How long the document is, in the unit that was asked for; `None` where the source does not say."""
    version: str | None = None
    """Changes whenever the document does, such as a strong ETag or a digest; `None` where there is none."""


class DocumentUnavailable(UnabridgedError):
    """A source could not give the document.

    Args of the constructor:
        code: the reason code, such as `SOURCE_UNAVAILABLE` or `VISIBILITY_RESTRICTED`.
        detail: its second-level code.
    """

    def __init__(self, *, code: ReasonCode = "SOURCE_UNAVAILABLE", detail: str | None = None) -> None:
        super().__init__(code=code, detail=detail)

    def _message(self, **fields: Any) -> str:
        return f"the document could not be read ({fields['code']})"


class DocumentSource(Protocol):
    """Where documents come from."""

    @property
    def name(self) -> str:
        """What the source is called in a result."""

    def fetch(self, reference: str, *, unit: Unit, start: int, end: int | None) -> Fetched:
        """Returns a range of a document, to its end where `end` is `None`.

        Raises:
            DocumentUnavailable: it cannot be read.
        """


@dataclass(frozen=True, slots=True)
class TextSource:
    """Documents that are loaded whole, as text and version."""

    load: Callable[[str], tuple[str, str | None]]
    """Returns the text and the version of a reference. A `LookupError` or `OSError` says that it cannot, a
    `UnicodeError` that it is no text."""
    name: str = "text"

    def fetch(self, reference: str, *, unit: Unit, start: int, end: int | None) -> Fetched:
        """Returns a range in characters, lines (each with its line end), bytes of UTF-8, or pages at form feeds."""
        try:
            text, version = self.load(reference)
        except PermissionError:
            raise DocumentUnavailable(code="VISIBILITY_RESTRICTED", detail="forbidden") from None
        except UnicodeError:
            raise DocumentUnavailable(code="PROTOCOL_ANOMALY", detail="malformed_page") from None
        except (LookupError, OSError):
            raise DocumentUnavailable(detail="status") from None
        parts = _parts(text, unit)
        total = len(parts)
        last = total if end is None else min(end, total)
        first = min(start, last)
        if isinstance(parts, bytes):
            while first < last and last < total and parts[last] & 0xC0 == 0x80:  # never in the middle of a character
                last -= 1
            return Fetched(_decoded(parts[first:last]), first, last, total, version)
        return Fetched("".join(parts[first:last]), first, last, total, version)


def _decoded(data: bytes) -> str:
    """Returns a range of bytes as text; one that begins within a character is none."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise DocumentUnavailable(code="PROTOCOL_ANOMALY", detail="malformed_page") from None


def _parts(text: str, unit: Unit) -> str | bytes | list[str]:
    match unit:
        case "chars":
            return text
        case "bytes":
            try:
                return text.encode()
            except UnicodeEncodeError:  # half a surrogate pair has no bytes
                raise DocumentUnavailable(code="PROTOCOL_ANOMALY", detail="malformed_page") from None
        case "lines":
            return text.splitlines(keepends=True)
        case "pages":
            pages = text.split("\f")
            return [page + "\f" for page in pages[:-1]] + pages[-1:]


@dataclass(frozen=True)
class _Ask:
    source: DocumentSource = field(repr=False)
    reference: str = field(repr=False)
    resource: str
    unit: Unit
    start: int
    end: int | None
    """The end that was asked for; `None` is the end of the document."""
    most: int
    version: str | None = field(repr=False)
    clock: Clock
    query_id: str
    earlier: str | None = None
    origin: int = 0
    """Where the first link of the chain began."""
    total: int | None = None
    """How long the document was when the link before was read, where that was said."""


@dataclass(frozen=True)
class DocumentResume:
    """The way on in one document; it holds only while the document has the version it had."""

    ask: _Ask = field(repr=False)

    def read(self, **_: Any) -> ReadResult:
        """Reads on from where the excerpt stopped."""
        return _read(self.ask)

    async def aread(self, **_: Any) -> ReadResult:
        """As `read`, in a thread."""
        return await asyncio.to_thread(self.read)


def read_document(
    source: DocumentSource,
    reference: str,
    *,
    resource: str,
    unit: Unit = "chars",
    start: int = 0,
    length: int | None = None,
    version: str | None = None,
    max_units: int | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads a document, or a range of it, as one excerpt, and records it in the session in scope.

    A range that was asked for is complete for that range. Where our own limit cuts, the read is partial and its
    continuation (`read_range`) goes on; the links are one chain, which is complete when its last link is. A text that
    is not the range asked for, or not as long as its range, is `TRANSPORT_TRUNCATED` and not kept.

    Args:
        source: where the document comes from.
        reference: which document.
        resource: the name of what is read.
        unit: what `start`, `length` and `max_units` count.
        start: where the range begins, from 0.
        length: how long it is; to the end of the document when not given.
        version: the version that it must have; another one gives `CONSISTENCY_LOST:snapshot_changed` and no text.
        max_units: how much one excerpt holds.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule.
    """
    if unit not in MAX_UNITS:
        raise InvalidInput(field="unit", rule=f"must be one of {', '.join(MAX_UNITS)}")
    for name, value, least in (("start", start, 0), ("length", length, 1), ("max_units", max_units, 1)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise InvalidInput(field=name, rule=f"must be a whole number of at least {least}")
    return _read(
        _Ask(
            source=source,
            reference=reference,
            resource=resource,
            unit=unit,
            start=start,
            end=None if length is None else start + length,
            most=max_units or MAX_UNITS[unit],
            version=version,
            clock=clock or SystemClock(),
            query_id=new_query_id(),
            origin=start,
        )
    )


def _read(ask: _Ask) -> ReadResult:
    started_at = ask.clock.now()
    wanted = ask.start + ask.most if ask.end is None else min(ask.end, ask.start + ask.most)
    found: Fetched | None = None
    try:
        found = ask.source.fetch(ask.reference, unit=ask.unit, start=ask.start, end=wanted)
        reasons = _reasons(ask, found, wanted)
    except DocumentUnavailable as error:
        reasons = [Reason(code=error.code, detail=error.detail, source=ask.source.name)]
    except BaseException:
        reasons = [Reason(code="SOURCE_UNAVAILABLE", detail="cancelled", layer="client")]
        keep(_result(ask, None, reasons, started_at))
        raise
    lost = any(reason.code in ("CONSISTENCY_LOST", "TRANSPORT_TRUNCATED") for reason in reasons)
    result = _result(ask, None if lost else found, reasons, started_at)
    keep(result)
    return result


def _reasons(ask: _Ask, found: Fetched, wanted: int) -> list[Reason]:
    source = ask.source.name
    if ask.version is not None and found.version is not None and found.version != ask.version:
        return [Reason(code="CONSISTENCY_LOST", detail="snapshot_changed", source=source)]
    if ask.total is not None and found.total is not None and found.total != ask.total:
        return [Reason(code="CONSISTENCY_LOST", detail="total_changed", source=source)]
    if not _is_asked_for(ask, found, wanted):
        return [Reason(code="TRANSPORT_TRUNCATED", detail="unrequested_range", layer="transport", source=source)]
    if not _is_as_long_as_it_says(ask.unit, found):
        return [Reason(code="TRANSPORT_TRUNCATED", detail="short_body", layer="transport", source=source)]
    if found.total is not None and found.end >= found.total:
        return []
    if found.end < wanted:
        return [Reason(code="ITEM_TRUNCATED", source=source)]
    if ask.end is not None and found.end >= ask.end:
        return []
    return [
        Reason(code="CLIENT_LIMIT_REACHED", detail="max_bytes", limit=ask.most, layer="client"),
        Reason(code="MORE_PAGES_AVAILABLE", layer="client"),
    ]


def _is_asked_for(ask: _Ask, found: Fetched, wanted: int) -> bool:
    """Tells whether a range lies where it was asked for. An empty one may lie before it, at a document's end."""
    if not 0 <= found.start <= found.end <= wanted or (found.total is not None and found.end > found.total):
        return False
    return found.start == ask.start or (found.start < ask.start and found.start == found.end)


def _is_as_long_as_it_says(unit: Unit, found: Fetched) -> bool:
    """Tells whether a text has the length of its range. What a line or a page is, its source knows."""
    match unit:
        case "chars":
            return len(found.text) == found.end - found.start
        case "bytes":
            return len(found.text.encode("utf-8", "surrogatepass")) == found.end - found.start
        case "lines" | "pages":
            return found.end > found.start or not found.text


def _result(ask: _Ask, found: Fetched | None, reasons: list[Reason], started_at: Any) -> ReadResult:
    route, resume = _way_on(ask, found, reasons)
    items = None if found is None else [_excerpt(ask, found)]
    version = found.version if found is not None else None
    consistency: Consistency = "not_established" if items is None else "interval" if version is None else "snapshot"
    codes = tuple(dict.fromkeys(reason.code for reason in reasons))
    level: Any = "snapshot" if consistency == "snapshot" else "end_marker"
    result = build_result(
        items=items,
        reasons=reasons,
        scope=_scope(ask, found),
        read=ReadHeader(
            id=new_read_id(), query_id=ask.query_id, adapter=f"{ask.source.name}/1", started_at=started_at,
            finished_at=ask.clock.now(), requests=1, pages=0 if items is None else 1, continues=ask.earlier,
        ),
        continuation=route,
        consistency=consistency,
        proof=Proof() if reasons else Proof(level=level, end="range_end", basis="server"),
        sources=(
            SourceOutcome(
                name=ask.source.name, status=status_for(items, codes), returned=len(items or ()), reasons=codes
            ),
        ),
        item_cuts=_cuts(ask, found, codes),
    )  # fmt: skip
    if items is not None:
        with_ids(result, [ask.reference])
    if resume is not None:
        with_resume(result, DocumentResume(replace(resume, earlier=_link(result, resume))))
    return result


def _link(result: ReadResult, resume: _Ask) -> str | None:
    """A way on continues this read; one that begins anew continues nothing."""
    return result.read.id if resume.start > resume.origin else None


def _excerpt(ask: _Ask, found: Fetched) -> dict[str, Any]:
    return Excerpt(
        reference=ask.reference,
        version=found.version,
        unit=ask.unit,
        start=found.start,
        end=found.end,
        total=found.total,
        text=found.text,
    ).to_item()


def _scope(ask: _Ask, found: Fetched | None) -> Scope:
    """A range that does not reach from the beginning to the end is a narrower scope than the document."""
    filters: dict[str, Any] = {"reference": ask.reference}
    if ask.origin > 0 or ask.end is not None:
        filters |= {"start": ask.origin, "end": ask.end, "unit": ask.unit}
    version = found.version if found is not None else None
    snapshot = version if version is None or is_token(version) else _digest(version)
    return Scope(resource=ask.resource, filters=filters, intent="lookup", snapshot=snapshot)


def _digest(version: str) -> str:
    return "sha256:" + hashlib.sha256(version.encode("utf-8", "replace")).hexdigest()[:32]


def _cuts(ask: _Ask, found: Fetched | None, codes: tuple[str, ...]) -> tuple[ItemCut, ...]:
    if found is None or "ITEM_TRUNCATED" not in codes:
        return ()
    shown = found.end - found.start
    name = safe_id(ask.reference, 1)
    return (ItemCut(item=name, field="text", why="abridged", shown=shown, total=found.total, unit=ask.unit),)


def _way_on(ask: _Ask, found: Fetched | None, reasons: list[Reason]) -> tuple[Continuation, _Ask | None]:
    if any(reason.code == "CONSISTENCY_LOST" for reason in reasons):
        anew = replace(ask, start=ask.origin, version=None, total=None, query_id=new_query_id())
        return RestartScan(why="consistency_lost", handle=new_handle()), anew
    at_the_end = found is None or (found.total is not None and found.end >= found.total)
    if found is None or at_the_end or found.end <= ask.start:
        return NONE, None
    total = ask.total if found.total is None else found.total
    further = replace(ask, start=found.end, version=found.version or ask.version, total=total)
    if not reasons:  # complete for the range that was asked for: the rest is a read of its own
        further = replace(further, end=None, origin=found.end, total=None, query_id=new_query_id())
    return ReadRange(reference=ask.reference, start=found.end, handle=new_handle()), further
