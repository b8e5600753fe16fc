"""Honest sources for the laws of walking: each serves one collection by one walk, as its profile says.

A source holds records, hands them out in pages (some empty, some with records served before), and may be struck by
faults at any request. It knows what it holds, so a law can compare.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from hypothesis import strategies as st
from unabridged.reading import Fault, Request, Response

FAULTS: tuple[Callable[[], Response | Fault], ...] = (
    lambda: Fault("timeout"),
    lambda: Fault("disconnect"),
    lambda: Fault("dns"),
    lambda: Fault("short_body", body=b'{"items": [{"id":'),
    lambda: Response(500),
    lambda: Response(503, (("Retry-After", "7"),)),
    lambda: Response(429, (("Retry-After", "7"),)),
    lambda: Response(429),
    lambda: Response(404),
    lambda: Response(401),
    lambda: Response(403),
    lambda: Response(410),
    lambda: Response(301, (("Location", "/elsewhere"),)),
    lambda: Response(206, (), b'{"items": []}'),
    lambda: Response(200, (), b""),
    lambda: Response(200, (), b'{"items": [{"id": 1}'),
    lambda: Response(200, (("Content-Length", "900"),), b'{"items": []}'),
    lambda: Response(200, (), b'{"items": null}'),
    lambda: Response(200, (), b'{"message": "ok"}'),
    lambda: Response(200, (), b'{"items": [{"name": "no id"}]}'),
    lambda: Response(200, (), b'{"items": [7]}'),
    lambda: Response(200, (), b'{"items": [], "error": "upstream"}'),
    lambda: Response(200, (), b"[" * 5000),
    lambda: Response(200, (), b'{"items": NaN}'),
    lambda: Response(200, (), b"\xff\xfe"),
)
"""Answers that hold no page."""


@dataclass
class Source:
    """One collection behind one walk."""

    profile: dict[str, Any]
    pages: list[list[Any]]
    """What each page holds, as ids; the truth is all of them together."""
    serve: Callable[[Source, Request], Response]
    faults: dict[int, int] = field(default_factory=dict)
    """Number of a request, from 0, to the fault that strikes it."""
    requests: int = 0

    @property
    def truth(self) -> set[Any]:
        """Every id that the collection holds."""
        return {one for page in self.pages for one in page}

    @property
    def flat(self) -> list[Any]:
        """Every id in order, each once."""
        return list(dict.fromkeys(one for page in self.pages for one in page))

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Answers one request, unless a fault strikes it."""
        number = self.requests
        self.requests += 1
        fault = self.faults.get(number)
        return self.serve(self, request) if fault is None else FAULTS[fault % len(FAULTS)]()


def body(ids: Sequence[Any], headers: tuple[tuple[str, str], ...] = (), **more: Any) -> Response:
    """Returns a page of records."""
    return Response(200, headers, json.dumps({"items": [{"id": one} for one in ids], **more}).encode())


def base(walk: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Returns a profile around a walk."""
    return {
        "name": "law", "version": 1, "items": "items", "id": "id", "walk": walk,
        "errors": [{"path": "error", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}],
        "expired": [{"status": 410}], **more,
    }  # fmt: skip


def _param(request: Request, name: str, default: str) -> str:
    return dict(request.pairs).get(name, default)


TOKEN_ENDS: dict[str, dict[str, Any]] = {
    "absent": {},
    "null": {"next": None},
    "zero": {"next": 0},
    "empty": {"next": ""},
    "flag": {"more": False},
    "same_token": {},
    "empty_page": {"next": "beyond"},
}


def token_source(pages: list[list[Any]], end: str, *, counted: bool) -> Source:
    """A source whose pages name a token, and end in any of the ways a token walk knows."""
    walk = {
        "by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": [end],
        "empty_token": "end" if end == "empty" else "illegal",
        "repeated_token": "end" if end == "same_token" else "anomaly", "more_flag": "more",
    }  # fmt: skip

    def serve(source: Source, request: Request) -> Response:
        sent = _param(request, "cursor", "p0")
        at = len(source.pages) if sent == "beyond" else int(sent[1:])
        more: dict[str, Any] = {"total": len(source.truth)} if counted else {}
        if at >= len(source.pages):
            return body([], **more, next="beyond")
        if at + 1 < len(source.pages):
            return body(source.pages[at], **more, next=f"p{at + 1}", **({"more": True} if end == "flag" else {}))
        if end == "same_token":
            more["next"] = sent if at else None
        return body(source.pages[at], **{**more, **TOKEN_ENDS[end]})

    return Source(base(walk, **_count(counted)), _no_early_end(pages, end), serve)


def _no_early_end(pages: list[list[Any]], end: str) -> list[list[Any]]:
    """A source that ends on an empty page has none before."""
    return [page for page in pages if page] or [[]] if end == "empty_page" else pages


def _count(counted: bool) -> dict[str, Any]:
    return {"count": {"path": "total", "kind": "exact"}} if counted else {}


def link_source(pages: list[list[Any]], where: str, *, counted: bool) -> Source:
    """A source whose pages name the address of the next one."""
    walk: dict[str, Any] = {"by": "link", "where": where} | ({"path": "next"} if where == "body" else {})

    def serve(source: Source, request: Request) -> Response:
        at = int(_param(request, "page", "0"))
        more: dict[str, Any] = {"total": len(source.truth)} if counted else {}
        if at + 1 >= len(source.pages):
            return body(source.pages[at], **more)
        target = f"{urlsplit(request.url).path}?page={at + 1}"
        if where == "body":
            return body(source.pages[at], next=target, **more)
        return body(source.pages[at], (("Link", f'<{target}>; rel="next"'),), **more)

    return Source(base(walk, **_count(counted)), pages, serve)


def key_source(ids: list[int], size: int, end: str) -> Source:
    """A source in the order of a unique key."""
    walk: dict[str, Any] = {
        "by": "key", "from_item": "id", "send": {"query": "after"}, "unique": True, "ends_on": [end],
        "more_flag": "more",
    }  # fmt: skip

    def serve(source: Source, request: Request) -> Response:
        after = int(_param(request, "after", "-1"))
        limit = int(_param(request, "limit", str(size)))
        rest = sorted(one for one in source.truth if one > after)
        return body(rest[:limit], more=len(rest) > limit)

    sized = {"size": {"send": {"query": "limit"}, "max": size}}
    return Source(base(walk, **sized), [sorted(set(ids))], serve)


def offset_source(ids: list[int], size: int, end: str, *, unit: str, origin: int, counted: bool) -> Source:
    """A source that counts records or pages, and clamps the size that it is asked for."""
    walk: dict[str, Any] = {
        "by": "offset", "send": {"query": "at"}, "unit": unit, "origin": origin, "ends_on": [end],
        "total": "total", "last_flag": "last",
    }  # fmt: skip
    more: dict[str, Any] = {"order": {"by": "id", "unique": True}, "size": {"send": {"query": "limit"}, "max": size}}

    def serve(source: Source, request: Request) -> Response:
        at = int(_param(request, "at", "0")) - origin
        flat = source.flat
        start = at if unit == "item" else at * size
        part = flat[start : start + size]
        total = {"total": len(flat)} if counted or end == "total" else {}
        return body(part, last=start + size >= len(flat), **total)

    return Source(base(walk, **more, **_count(counted)), [ids], serve)


def single_source(ids: list[int], cap: int, *, counted: bool, overfetch: int | None) -> Source:
    """A bounded answer: never more than the cap, nor than what was asked for."""
    walk: dict[str, Any] = {"by": "single", "cap": cap}
    more: dict[str, Any] = {}
    if overfetch is not None:
        walk["overfetch"] = overfetch
        more["size"] = {"send": {"query": "limit"}, "max": cap + overfetch + 2}

    def serve(source: Source, request: Request) -> Response:
        limit = int(_param(request, "limit", str(cap)))
        total = {"total": len(source.flat)} if counted else {}
        return body(source.flat[: min(cap, limit)], **total)

    return Source(base(walk, **more, **_count(counted)), [ids], serve)


def range_source(ids: list[int], size: int, most: int) -> Source:
    """A source of ranges that may give fewer records than it was asked for."""
    walk: dict[str, Any] = {
        "by": "range", "unit": "items", "size": size, "total": "total",
        "send": {"start": {"query": "from"}, "end": {"query": "to"}},
    }  # fmt: skip

    def serve(source: Source, request: Request) -> Response:
        start, end = int(_param(request, "from", "0")), int(_param(request, "to", "0")) + 1
        return body(source.flat[start : min(end, start + most)], total=len(source.flat))

    return Source(base(walk), [ids], serve)


def stream_source(ids: list[int], cut: int) -> Source:
    """A source of lines, which may be cut after any number of bytes."""
    walk: dict[str, Any] = {"by": "stream", "terminator": "type == 'done'"}

    def serve(source: Source, _: Request) -> Response:
        rows = [{"id": one} for one in source.flat]
        whole = "".join(json.dumps(row) + "\n" for row in [*rows, {"type": "done"}]).encode()
        return Response(200, (), whole[:cut])

    return Source({**base(walk), "items": "@"}, [ids], serve)


def job_source(inner: Source, running: int) -> Source:
    """A source that runs for some time before it gives its pages."""
    walk = {
        "by": "job", "state": "state", "running": ["RUNNING"], "ok": ["DONE"], "failed": ["FAILED"], "poll_s": 5,
        "inner": inner.profile["walk"],
    }  # fmt: skip
    left = [running]

    def serve(source: Source, request: Request) -> Response:
        if left[0] > 0:
            left[0] -= 1
            return Response(200, (), json.dumps({"state": "RUNNING", "items": [{"id": 999}]}).encode())
        reply = inner.serve(source, request)
        return Response(200, reply.headers, json.dumps({**json.loads(reply.body), "state": "DONE"}).encode())

    return Source({**inner.profile, "walk": walk}, inner.pages, serve)


def partition_source(ids: list[int], cap: int, *, split: bool) -> Source:
    """A source that counts exactly and gives at most `cap` records of any part."""
    inner = base({"by": "single", "cap": cap})
    walk = {
        "by": "partition", "axis": "id", "cap": cap, "min_width": 1 if split else 64,
        "parts": {"from": 0, "to": 64, "send": {"from": {"query": "ge"}, "to": {"query": "lt"}}},
        "count": {"name": "count", "version": 1, "walk": {"by": "single"}, "count": {"path": "n", "kind": "exact"}},
        "inner": inner,
    }  # fmt: skip

    def serve(source: Source, request: Request) -> Response:
        low, high = int(_param(request, "ge", "0")), int(_param(request, "lt", "64"))
        part = [one for one in source.flat if low <= one < high]
        return body(part[:cap], n=len(part))

    return Source({"name": "law", "version": 1, "walk": walk}, [ids], serve)


paged = st.lists(st.lists(st.integers(0, 40), max_size=4), min_size=1, max_size=7)
unique_ids = st.lists(st.integers(0, 60), max_size=14, unique=True)
faults = st.dictionaries(st.integers(0, 8), st.integers(0, len(FAULTS) - 1), max_size=3)


finished = st.one_of(
    st.builds(lambda pages: token_source(pages, "absent", counted=False), paged),
    st.builds(lambda pages: link_source(pages, "body", counted=True), paged),
    st.builds(lambda ids: offset_source(ids, 3, "total", unit="item", origin=0, counted=False), unique_ids),
    st.builds(lambda ids: single_source(ids, 6, counted=False, overfetch=None), unique_ids),
)
"""What a job may give once it has finished."""
KINDS = ["token", "link", "key", "offset", "single", "range", "stream", "job", "partition"]


@st.composite
def sources(draw: st.DrawFn) -> Source:
    """Returns a source of any walk, with any collection, page size and faults."""
    counted = draw(st.booleans())
    kind = draw(st.sampled_from(KINDS))
    if kind == "token":
        source = token_source(draw(paged), draw(st.sampled_from(sorted(TOKEN_ENDS))), counted=counted)
    elif kind == "link":
        source = link_source(draw(paged), draw(st.sampled_from(["header", "body"])), counted=counted)
    elif kind == "key":
        end = draw(st.sampled_from(["empty_page", "flag", "short_page"]))
        source = key_source(draw(unique_ids), draw(st.integers(1, 5)), end)
    elif kind == "offset":
        source = offset_source(
            draw(unique_ids),
            draw(st.integers(1, 5)),
            draw(st.sampled_from(["total", "empty_page", "flag", "short_page"])),
            unit=draw(st.sampled_from(["item", "page"])),
            origin=draw(st.integers(0, 1)),
            counted=counted,
        )
    elif kind == "range":
        source = range_source(draw(unique_ids), draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    elif kind == "stream":
        source = stream_source(draw(unique_ids), draw(st.integers(0, 400)))
    elif kind == "job":
        source = job_source(draw(finished), draw(st.integers(0, 3)))
    elif kind == "partition":
        source = partition_source(draw(unique_ids), draw(st.integers(1, 6)), split=draw(st.booleans()))
    else:
        overfetch = draw(st.none() | st.integers(1, 2))
        source = single_source(draw(unique_ids), draw(st.integers(1, 8)), counted=counted, overfetch=overfetch)
    source.faults = draw(faults)
    return source


@st.composite
def budgets(draw: st.DrawFn) -> dict[str, int]:
    """Returns limits that may cut a read anywhere."""
    names = draw(st.lists(st.sampled_from(["max_pages", "max_items", "max_requests", "max_bytes"]), unique=True))
    limits = {name: draw(st.integers(1, 200 if name == "max_bytes" else 6)) for name in names}
    return limits | {"max_retries": draw(st.integers(0, 2))}
