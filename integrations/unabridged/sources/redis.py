"""Redis: the keys of one server by SCAN. Install `unabridged[redis]`.

Only cursor 0 ends a scan. Most of its pages may be empty, and a key may come more than once.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from unabridged.contract import InvalidInput, ReadResult
from unabridged.contract.errors import MissingExtra, value_free
from unabridged.reading import Budget, Clock, Fault, Query, Request, Response

from .walking import CURSOR, cursor_of, page, plain, refused, walked

if importlib.util.find_spec("redis") is None:
    raise MissingExtra(extra="redis", module="redis")

from redis import Redis, exceptions
from redis.client import Pipeline

__all__ = ["read_redis"]

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
    query = Query.of(resource)
    asked = {"match": match, "_type": type, "count": query.page_size or _COUNT}
    return walked(_PROFILE, query, transport=_Server(client, asked), budget=budget, clock=clock)


@dataclass(frozen=True)
class _Server:
    """Answers the reader's requests with one SCAN each. A cursor goes with the process that gave it."""

    client: Redis = field(repr=False)
    asked: Mapping[str, Any] = field(repr=False)

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Makes one SCAN. The client's `socket_timeout` bounds its time."""
        process, _, cursor = (cursor_of(request) or "/0").partition("/")
        try:
            with self.client.pipeline(transaction=False) as pipe:  # both are answered over one connection
                pipe.scan(cursor=int(cursor), **self.asked, NEVER_DECODE=True)
                pipe.info("server", NEVER_DECODE=True)
                found, info = pipe.execute(raise_on_error=False)
            if isinstance(found, Exception):
                raise found
        except (exceptions.NoPermissionError, exceptions.AuthenticationError):
            return refused(403)
        except exceptions.TimeoutError:
            return Fault("timeout")
        except exceptions.ConnectionError:  # also while the server is loading its data
            return Fault("disconnect")
        except exceptions.ResponseError:
            return refused(400)
        except exceptions.RedisError:
            return Fault("disconnect")
        now = str(info.get("run_id", "")) if isinstance(info, Mapping) else ""
        if process and now and now != process:  # another table, in which the cursor points anywhere
            return refused(410)
        following, keys = found
        body = {"keys": [{"key": plain(key)} for key in keys], "cursor": f"{now or process}/{following}"}
        return page(body if following else {**body, "cursor": 0})
