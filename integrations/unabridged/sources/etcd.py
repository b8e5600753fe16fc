"""etcd over its HTTP and JSON gateway: a range of keys at one revision, page by page.

A range request without a revision sees the newest state each time. Here the revision of the first page is asked for
again on each later one, so that all pages are one state, and the count of the first page is that of the whole.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from unabridged.contract import InvalidInput, ReadResult
from unabridged.contract.errors import value_free
from unabridged.reading import Budget, Clock, Fault, Query, Request, Response, Transport
from unabridged.reading.links import check_url
from unabridged.reading.page import SaidTwice, Undecodable, decode_json
from unabridged.reading.requests import check_headers

from .walking import CURSOR, SIZE, awalked, cursor_of, page, plain, refused, size_of, walked

if TYPE_CHECKING:
    from unabridged.reading.http import AsyncHttpTransport

__all__ = ["aread_etcd", "read_etcd"]

_LIMIT: Final = 500
_PROFILE: Final[dict[str, Any]] = {
    "name": "etcd_range",
    "items": "kvs",
    "id": "key",
    "walk": {
        "by": "token",
        "read": "next",
        "send": {"query": CURSOR},
        "ends_on": ["absent", "flag"],
        "empty_token": "illegal",
        "repeated_token": "anomaly",
        "more_flag": "more",
    },
    "size": {"send": {"query": SIZE}},
    "count": {"path": "total", "kind": "exact"},
    "snapshot": {"path": "revision"},
    "expired": [{"status": 410}],
    "cursor": {"freezes": True, "resumable": False},
    "order": {"by": "key", "unique": True},
}
_COMPACTED: Final = 11
_ERROR: Final = ("error", "code", "grpc_code")
"""What an answer of the gateway holds in the place of a range."""
_CODES: Final = {7: 403, 16: 401, 8: 429}
"""What numbers of gRPC mean as a status: permission denied, unauthenticated, resource exhausted."""


@value_free
def read_etcd(
    url: str,
    prefix: str | bytes = "",
    *,
    resource: str | Query,
    keys_only: bool = False,
    headers: Mapping[str, str] | None = None,
    client: Any = None,
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads all keys under a prefix at one revision, and proves it by etcd's own count.

    A revision that was compacted while it was read is `CONTINUATION_EXPIRED`. The result records itself in the session
    in scope. A record is `{"key", "value", "create_revision", "mod_revision", "version"}`; a key or a value that is no
    UTF-8 stands there as `{"base64": ...}`.

    Args:
        url: the address of the server, such as `http://127.0.0.1:2379`.
        prefix: what the keys begin with; all keys when empty.
        resource: the name of what is read, or a `Query`: its filters are the scope that `prefix` stands for, its page
            size is the limit of a page (500 when not given).
        keys_only: whether values are left out.
        headers: header fields such as credentials.
        client: an `httpx.Client`; a shared one when not given.
        budget: what may be spent; `Budget()` when not given.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule. The error holds no value.
    """
    from unabridged.reading.http import HttpTransport

    query, store = _question(url, prefix, resource, keys_only, headers)
    transport = _Store(HttpTransport(client, **_room(budget)), store)
    return walked(_PROFILE, query, transport=transport, budget=budget, clock=clock)


async def aread_etcd(
    url: str,
    prefix: str | bytes = "",
    *,
    resource: str | Query,
    keys_only: bool = False,
    headers: Mapping[str, str] | None = None,
    client: Any = None,
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """As `read_etcd`, over an `httpx.AsyncClient`; one of its own when not given."""
    from unabridged.reading.http import AsyncHttpTransport

    query, store = _question(url, prefix, resource, keys_only, headers)
    transport = _AsyncStore(AsyncHttpTransport(client, **_room(budget)), store)
    return await awalked(_PROFILE, query, transport=transport, budget=budget, clock=clock)


def _room(budget: Budget | None) -> dict[str, None]:
    return {"max_page_bytes": None} if budget is not None and budget.max_bytes is None else {}


@value_free
def _question(
    url: str, prefix: str | bytes, resource: str | Query, keys_only: bool, headers: Mapping[str, str] | None
) -> tuple[Query, _Range]:
    from unabridged.reading.http import check_host

    check_host(check_url(url))
    if not isinstance(prefix, str | bytes):
        raise InvalidInput(field="prefix", rule="must be a text or bytes")
    query = Query.of(resource)
    if query.page_size is None:
        query = replace(query, page_size=_LIMIT)
    start = prefix.encode() if isinstance(prefix, str) else prefix
    return query, _Range(f"{url.rstrip('/')}/v3/kv/range", start, keys_only, check_headers(headers))


@dataclass(frozen=True)
class _Place:
    """Where the next page starts: a revision, how many keys lie before it, and its first key."""

    revision: int
    before: int
    key: bytes

    def __str__(self) -> str:
        return json.dumps([self.revision, self.before, _coded(self.key)])

    @classmethod
    def of(cls, cursor: str) -> _Place:
        revision, before, key = json.loads(cursor)
        return cls(revision, before, base64.b64decode(key))


@dataclass(frozen=True)
class _Range:
    """How a range is asked for, page by page."""

    url: str = field(repr=False)
    prefix: bytes = field(repr=False)
    keys_only: bool
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def asked(self, request: Request) -> Request:
        """Returns a range request. Without a cursor it sees the newest revision, else the one of the first page."""
        place = _place_of(request)
        asked: dict[str, Any] = {
            "key": _coded(place.key if place else self.prefix or b"\0"),
            "range_end": _coded(_end_of(self.prefix)),
            "limit": size_of(request),
            "keys_only": self.keys_only,
        }
        if place is not None:
            asked["revision"] = place.revision
        headers = (("content-type", "application/json"), *self.headers)
        return Request("POST", self.url, headers=headers, body=json.dumps(asked).encode())

    def answered(self, request: Request, answer: Response | Fault) -> Response | Fault:
        """Returns the page that an answer is."""
        if isinstance(answer, Fault):
            return answer
        return _answered(answer, _place_of(request), keys_only=self.keys_only)


@dataclass(frozen=True)
class _Store:
    """Answers the reader's requests with one range request each."""

    transport: Transport
    range: _Range

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Makes one range request."""
        return self.range.answered(request, self.transport.send(self.range.asked(request), timeout_s=timeout_s))


@dataclass(frozen=True)
class _AsyncStore:
    """As `_Store`, on an event loop."""

    transport: AsyncHttpTransport
    range: _Range

    async def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Makes one range request."""
        answer = await self.transport.send(self.range.asked(request), timeout_s=timeout_s)
        return self.range.answered(request, answer)

    async def release(self) -> None:
        """Closes a client that was opened for the read."""
        await self.transport.release()


def _place_of(request: Request) -> _Place | None:
    cursor = cursor_of(request)
    return None if cursor is None else _Place.of(cursor)


def _answered(answer: Response, place: _Place | None, *, keys_only: bool) -> Response:
    try:
        body = decode_json(answer.body)
    except (Undecodable, SaidTwice):
        return answer  # the reader decodes it as strictly
    if not isinstance(body, dict):
        return page({})
    if answer.status != 200 or "header" not in body or any(name in body for name in _ERROR):
        code = body.get("code", body.get("grpc_code"))
        if code == _COMPACTED and place is not None:
            return refused(410)
        status = answer.status if answer.status >= 400 else 500
        waits = tuple((name, value) for name, value in answer.headers if name.lower() == "retry-after")
        return replace(refused(_CODES.get(code, status) if isinstance(code, int) else status), headers=waits)
    try:
        return page(_page(body, place, keys_only=keys_only))
    except (ValueError, TypeError, KeyError, AttributeError, binascii.Error):
        return page({})  # without its list, a page is malformed to the reader


def _page(body: Mapping[str, Any], place: _Place | None, *, keys_only: bool) -> dict[str, Any]:
    """Returns a page; the gateway leaves out what is empty, false or zero, and writes whole numbers as texts."""
    found = body.get("kvs", [])
    if not isinstance(found, list):
        raise TypeError
    revision = int(body["header"]["revision"]) if place is None else place.revision
    before = 0 if place is None else place.before
    more = body.get("more", False)
    made: dict[str, Any] = {
        "kvs": [_record(kv, keys_only=keys_only) for kv in found],
        "more": more,
        "total": before + int(body.get("count", 0)),
        "revision": revision,
    }
    if more is not False and found:
        last = base64.b64decode(found[-1]["key"], validate=True)
        made["next"] = str(_Place(revision, before + len(found), last + b"\0"))
    return made


def _record(kv: Mapping[str, Any], *, keys_only: bool) -> dict[str, Any]:
    numbers = {name: int(kv[name]) for name in ("create_revision", "mod_revision", "version") if name in kv}
    value = {} if keys_only else {"value": plain(base64.b64decode(kv.get("value", ""), validate=True))}
    return {"key": plain(base64.b64decode(kv["key"], validate=True)), **value, **numbers}


def _coded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _end_of(prefix: bytes) -> bytes:
    """Returns the first key after all that begin with a prefix; a zero byte stands for no end."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else b"\0"
