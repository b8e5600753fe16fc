"""Redis: the keys of one server by SCAN. Install `unabridged[redis]`.

Only cursor 0 ends a scan. Most of its pages may be empty, and a key may come more than once.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from unabridged.contract import InvalidInput, ReadResult
from unabridged.contract.errors import MissingExtra, value_free
from unabridged.reading import Budget, Clock, Fault, Query, Request, Response

from .walking import CURSOR, awalked, cursor_of, page, plain, refused, walked

if importlib.util.find_spec("redis") is None:
    raise MissingExtra(extra="redis", module="redis")

from redis import Redis, exceptions
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.client import Pipeline as AsyncPipeline
from redis.client import Pipeline

__all__ = ["aread_redis", "read_redis"]

_COUNT: Final = 1000
_PROFILE: Final[dict[str, Any]] = {
    "name": "redis_scan",
    "items": "keys",
    "id": "key",
    "walk": {
        "by": "token",
        "read": "cursor",
        "send": {"query": CURSOR},
        "ends_on": ["zero"],
        "empty_token": "illegal",
        "repeated_token": "anomaly",
    },
    "duplicates": "expected",
    "scope": [{"excludes": "keys that came or went during the scan", "warning": "DEFAULT_SCOPE_APPLIED"}],
    "expired": [{"status": 410}],
    "cursor": {"freezes": False, "resumable": False},
}
"""What SCAN guarantees (https://redis.io/docs/latest/commands/scan/): a key that is there throughout comes once at
least; for all others nothing is."""


@value_free
def read_redis(
    client: Redis,
    *,
    resource: str | Query,
    match: str | None = None,
    type: str | None = None,
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads the keys of one database of one server until the server gives cursor 0.

    A read over several calls is no snapshot: a key that was there from the first call to the last is among the
    records, each once; of a key that came or went in between nothing is known, and the result says so
    (`scope.excludes`). A cursor is not checked by the server, so it is never used after its session, nor with a server
    that was restarted or took another's place (`CONTINUATION_EXPIRED`); a caller who may not ask `INFO server` goes
    without that check. The result records itself in the session in scope.

    A record is `{"key": text}`. A key that is no UTF-8 stands there as `{"key": {"base64": ...}}`, whatever the client
    makes of its answers.

    Args:
        client: a `redis.Redis`. A cluster is read node by node, and the results merged.
        resource: the name of what is read, or a `Query`: its filters are the scope that `match` and `type` stand for,
            its page size is the hint `COUNT` (1000 when not given).
        match: a pattern of keys. It is applied after reading, so pages may be empty.
        type: a type of values, such as `hash`.
        budget: what may be spent; `Budget()` when not given.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule. The error holds no value.
    """
    if not isinstance(client, Redis) or isinstance(client, Pipeline):
        raise InvalidInput(field="client", rule="must be a redis.Redis: of a cluster read each primary, then merge")
    query, asked = _question(resource, match, type)
    return walked(_PROFILE, query, transport=_Server(client, asked), budget=budget, clock=clock)


async def aread_redis(
    client: AsyncRedis,
    *,
    resource: str | Query,
    match: str | None = None,
    type: str | None = None,
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """As `read_redis`, over a `redis.asyncio.Redis`; the time that is left bounds each call too."""
    if not isinstance(client, AsyncRedis) or isinstance(client, AsyncPipeline):
        raise InvalidInput(field="client", rule="must be a redis.asyncio.Redis: of a cluster read each primary")
    query, asked = _question(resource, match, type)
    return await awalked(_PROFILE, query, transport=_AsyncServer(client, asked), budget=budget, clock=clock)


def _question(resource: str | Query, match: str | None, type: str | None) -> tuple[Query, dict[str, Any]]:
    query = Query.of(resource)
    return query, {"match": match, "_type": type, "count": query.page_size or _COUNT, "NEVER_DECODE": True}


@dataclass(frozen=True)
class _Server:
    """Answers the reader's requests with one SCAN each. A cursor goes with the process that gave it."""

    client: Redis = field(repr=False)
    asked: Mapping[str, Any] = field(repr=False)

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Makes one SCAN. The client's `socket_timeout` bounds its time."""
        process, cursor = _place_of(request)
        try:
            with self.client.pipeline(transaction=False) as pipe:  # both are answered over one connection
                pipe.scan(cursor=cursor, **self.asked)
                pipe.info("server", NEVER_DECODE=True)
                answers = pipe.execute(raise_on_error=False)
        except exceptions.RedisError as error:
            return _refusal(error)
        return _answered(answers, process)


@dataclass(frozen=True)
class _AsyncServer:
    """As `_Server`, on an event loop."""

    client: AsyncRedis = field(repr=False)
    asked: Mapping[str, Any] = field(repr=False)

    async def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Makes one SCAN within the time that is left."""
        process, cursor = _place_of(request)
        try:
            async with asyncio.timeout(timeout_s), self.client.pipeline(transaction=False) as pipe:
                pipe.scan(cursor=cursor, **self.asked)
                pipe.info("server", NEVER_DECODE=True)
                answers = await pipe.execute(raise_on_error=False)
        except TimeoutError:
            return Fault("deadline")
        except exceptions.RedisError as error:
            return _refusal(error)
        return _answered(answers, process)


def _place_of(request: Request) -> tuple[str, int]:
    process, _, cursor = (cursor_of(request) or "/0").partition("/")
    return process, int(cursor)


def _answered(answers: list[Any], process: str) -> Response | Fault:
    found, info = answers
    if isinstance(found, exceptions.RedisError):
        return _refusal(found)
    now = str(info.get("run_id", "")) if isinstance(info, Mapping) else ""
    if process and now and now != process:  # another table, in which the cursor points anywhere
        return refused(410)
    following, keys = found
    body = {"keys": [{"key": plain(key)} for key in keys], "cursor": f"{now or process}/{following}"}
    return page(body if following else {**body, "cursor": 0})


def _refusal(error: exceptions.RedisError) -> Response | Fault:
    if isinstance(error, exceptions.NoPermissionError | exceptions.AuthenticationError):
        return refused(403)
    if isinstance(error, exceptions.TimeoutError):
        return Fault("timeout")
    if isinstance(error, exceptions.ResponseError):
        return refused(400)
    return Fault("disconnect")  # also while the server is loading its data
