"""The directory behind a small HTTP API on the loopback, with the habits of real ones.

Every answer here is an honest HTTP 200 unless it says otherwise, and none of them is the whole list. Rows are read
under the agent's role in PostgreSQL, so row level security decides what it sees; counts and searches come from an index
that sees everything, as search services do.
"""

from __future__ import annotations

import base64
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unabridged.contract.errors import UnabridgedError

from .directory import AGENT, BLOCK, INDEX, SHARDS, TENANTS, Directory

TENANTS_A_PAGE: Final = 5
ASSIGNMENTS_A_PAGE: Final = 20
ASSIGNMENTS_MAX: Final = 50
CANDIDATES: Final = 200
"""How many of the newest accounts the search looks at."""
SLOW_S: Final = 1.6
"""How long a cold shard takes: longer than `plain.HASTY_S` and `guarded.TURN_S`, in which the others answer easily."""
_START_S: Final = 60.0
_STOP_S: Final = 30.0


class ApiNotStarted(UnabridgedError):
    """The HTTP API of the demo did not come up, or did not go down, in the time it is given."""

    def __init__(self, *, step: str) -> None:
        super().__init__(step=step)

    def _message(self, **fields: Any) -> str:
        return f"the HTTP API of the demo hangs while {fields['step']}"


@dataclass(frozen=True, slots=True)
class Api:
    """Where the API listens and how a client proves itself."""

    url: str
    token: str = field(repr=False)
    """Stands for the role of the agent."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers that every request needs."""
        return {"Authorization": f"Bearer {self.token}"}


class _Service:
    """The endpoints. Each is one page of a listing, or the one action."""

    def __init__(self, directory: Directory, token: str) -> None:
        self._directory = directory
        self._token = token

    def app(self) -> Starlette:
        routes = [
            Route("/tenants", self.tenants),
            Route("/accounts", self.accounts),
            Route("/accounts/archive", self.archive, methods=["POST"]),
            Route("/shards/{shard}/assignments", self.assignments),
            Route("/search", self.search),
        ]
        return Starlette(routes=routes, exception_handlers={HTTPException: _refusal})

    def tenants(self, request: Request) -> Response:
        """Lists the tenants, five a page; the next page stands in a `Link` header and nowhere in the body.

        ```
        GET /tenants
        Link: <http://127.0.0.1:40123/tenants?page=2>; rel="next"
        {"tenants": [{"id": "acme", "name": "Acme Freight"}]}
        ```
        """
        self._authorise(request)
        page = _whole(request, "page", default=1, least=1)
        with self._directory.connect(AGENT) as connection:
            rows = connection.execute(
                "SELECT id, name FROM tenants ORDER BY id LIMIT %s OFFSET %s",
                (TENANTS_A_PAGE + 1, (page - 1) * TENANTS_A_PAGE),
            ).fetchall()
        headers = {}
        if len(rows) > TENANTS_A_PAGE:
            headers["Link"] = f'<{request.url.replace(query=f"page={page + 1}")}>; rel="next"'
        return JSONResponse({"tenants": rows[:TENANTS_A_PAGE]}, headers=headers)

    def accounts(self, request: Request) -> Response:
        """Lists the active accounts of a tenant that the role may see, by id.

        Looks at a hundred rows a page and filters them afterwards: with `owner=none` a page can be empty although
        more pages follow. Only `next_cursor: null` is the end. The total is counted before permissions are applied,
        so it is larger than the list where the role may not see everything.

        ```
        GET /accounts?tenant=acme&owner=none
        {"accounts": [{"id": "svc-0007", "name": "batch-mail-07", "owner": null}],
         "next_cursor": "c3ZjLTAxMDA", "total_before_permissions": 87}
        ```
        """
        self._authorise(request)
        tenant = self._tenant(request)
        unowned = _owner_none(request)
        after = _decoded(request.query_params.get("cursor"))
        with self._directory.connect(AGENT) as connection:
            rows = connection.execute(
                """SELECT id, name, owner FROM accounts
                   WHERE tenant = %s AND status = 'active' AND id > %s ORDER BY id LIMIT %s""",
                (tenant, after, BLOCK + 1),
            ).fetchall()
        with self._directory.connect(INDEX) as connection:
            total = connection.execute(
                """SELECT count(*) AS n FROM accounts
                   WHERE tenant = %s AND status = 'active' AND (owner IS NULL OR NOT %s)""",
                (tenant, unowned),
            ).fetchone()
        block, more = rows[:BLOCK], len(rows) > BLOCK
        body = {
            "accounts": [row for row in block if row["owner"] is None or not unowned],
            "next_cursor": _encoded(block[-1]["id"]) if more else None,
            "total_before_permissions": total["n"] if total else 0,
        }
        return JSONResponse(body)

    def assignments(self, request: Request) -> Response:
        """Lists which team looks after which account of a tenant, as far as one shard knows. Twenty a page, by offset.

        A shard that is cold for the tenant takes `SLOW_S` seconds, each time. A shard that has lost the tenant's part
        answers 503.

        ```
        GET /shards/eu/assignments?tenant=acme&offset=20
        {"assignments": [{"id": "asg-0021", "account": "svc-0118", "team": "sre"}], "total": 43}
        ```
        """
        self._authorise(request)
        shard = str(request.path_params["shard"])
        if shard not in SHARDS:
            raise HTTPException(404, "no such shard")
        tenant = self._tenant(request)
        faults = next(t for t in TENANTS if t.id == tenant)
        offset = _whole(request, "offset", default=0, least=0)
        limit = min(_whole(request, "limit", default=ASSIGNMENTS_A_PAGE, least=1), ASSIGNMENTS_MAX)
        if shard in faults.dead:
            raise HTTPException(503, "this part of the shard is down")
        with self._directory.connect(AGENT) as connection:
            if shard in faults.slow:
                connection.execute("SELECT pg_sleep(%s)", (SLOW_S,))
            rows = connection.execute(
                "SELECT id, account, team FROM assignments WHERE tenant = %s AND shard = %s ORDER BY id",
                (tenant, shard),
            ).fetchall()
        return JSONResponse({"assignments": rows[offset : offset + limit], "total": len(rows)})

    def search(self, request: Request) -> Response:
        """Searches active accounts over all tenants, newest first.

        Takes the newest 200 matches of the index and applies the owner filter and the permissions to those: the hits
        can be none while many accounts match further down. `capped` says that it stopped there.

        ```
        GET /search?owner=none
        {"hits": [], "capped": true, "candidates": 200}
        ```
        """
        self._authorise(request)
        unowned = _owner_none(request)
        with self._directory.connect(INDEX) as connection:
            rows = connection.execute(
                """SELECT id, tenant, name, owner, confidential FROM accounts
                   WHERE status = 'active' ORDER BY created_on DESC, id DESC LIMIT %s""",
                (CANDIDATES + 1,),
            ).fetchall()
        hits = [
            {name: row[name] for name in ("id", "tenant", "name", "owner")}
            for row in rows[:CANDIDATES]
            if not row["confidential"] and (row["owner"] is None or not unowned)
        ]
        return JSONResponse({"hits": hits, "capped": len(rows) > CANDIDATES, "candidates": min(len(rows), CANDIDATES)})

    async def archive(self, request: Request) -> Response:
        """Archives accounts of one tenant. Takes the client's word that nobody owns them.

        ```
        POST /accounts/archive   {"tenant": "acme", "ids": ["svc-0007"]}
        {"archived": ["svc-0007"], "count": 1}
        ```
        """
        self._authorise(request)
        try:
            body = await request.json()
        except ValueError:
            body = None
        match body:
            case {"tenant": str(tenant), "ids": [*ids]} if all(isinstance(each, str) for each in ids):
                archived = await run_in_threadpool(self._directory.archive, tenant, ids)
            case _:
                raise HTTPException(400, "the body must hold a tenant and a list of ids")
        return JSONResponse({"archived": archived, "count": len(archived)})

    def _authorise(self, request: Request) -> None:
        given = request.headers.get("authorization", "")
        if not secrets.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            raise HTTPException(401, "a token is needed")

    @staticmethod
    def _tenant(request: Request) -> str:
        tenant = request.query_params.get("tenant", "")
        if all(t.id != tenant for t in TENANTS):
            raise HTTPException(404, "no such tenant")
        return tenant


@contextmanager
def serve(directory: Directory) -> Iterator[Api]:
    """Serves the directory on a free port of the loopback until the block is left.

    Raises:
        ApiNotStarted: the server thread hangs.
    """
    token = secrets.token_urlsafe(24)
    config = uvicorn.Config(
        _Service(directory, token).app(),
        lifespan="off",
        ws="none",
        access_log=False,
        log_config=None,  # the logging of the host program stays as it is
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    # With the protocol named, asyncio switches off Nagle's algorithm, which would cost 40 ms a response.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, args=([listener],), name="unabridged-demo-api", daemon=True)
        thread.start()
        try:
            _wait_until_started(server, thread)
            yield Api(url=f"http://127.0.0.1:{port}", token=token)
        finally:
            server.should_exit = True
            thread.join(timeout=_STOP_S)
    if thread.is_alive():
        raise ApiNotStarted(step="stopping")


def _wait_until_started(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + _START_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise ApiNotStarted(step="starting")
        time.sleep(0.01)


def _refusal(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else "failed"
    return JSONResponse({"error": detail}, status_code=status)


def _owner_none(request: Request) -> bool:
    owner = request.query_params.get("owner")
    if owner not in (None, "none"):
        raise HTTPException(400, "owner must be none or left out")
    return owner == "none"


def _whole(request: Request, name: str, *, default: int, least: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isdecimal() or int(text) < least:
        raise HTTPException(400, f"{name} must be a whole number of at least {least}")
    return int(text)


def _encoded(row_id: str) -> str:
    return base64.urlsafe_b64encode(row_id.encode()).decode().rstrip("=")


def _decoded(cursor: str | None) -> str:
    if cursor is None:
        return ""
    try:
        row_id = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except ValueError:
        row_id = "\0"
    if not row_id.isprintable():
        raise HTTPException(400, "this is no cursor of ours")
    return row_id
