"""Reads over the client libraries of services, each fed with canaries: the client is played, and our reader is ours."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from canaries.desk import ROWS, said
from canaries.reads_at_hand import refusing
from canaries.upstream import ONCE, Upstream, asked
from canaries.watching import SAID, UP, customer
from unabridged import Query


def redis(up: Upstream, mail: str, _: Path) -> Any:
    """The keys of a server; the second SCAN fails."""
    from redis import Redis, exceptions
    from unabridged.sources.redis import read_redis

    client: Any = type("Client", (Redis,), {"pipeline": lambda *_, **__: _Pipe(up, exceptions.ConnectionError)})()
    given = SimpleNamespace(mail=mail) if up.mode == "invalid" else client
    return read_redis(given, resource=asked(mail), match=f"{mail}*", budget=ONCE)


async def aredis(up: Upstream, mail: str, _: Path) -> Any:
    """As `redis`, on an event loop."""
    from redis import exceptions
    from redis.asyncio import Redis
    from unabridged.sources.redis import aread_redis

    pipe = _Pipe(up, exceptions.ConnectionError)

    class Client(Redis):
        def pipeline(self, *_: Any, **__: Any) -> Any:
            return _AsyncPipe(pipe)

    return await aread_redis(Client(), resource=asked(mail), match=f"{mail}*", budget=ONCE)


class _Pipe:
    """Answers two SCANs, with what else a server says of itself."""

    def __init__(self, up: Upstream, refusal: Callable[[str], BaseException]) -> None:
        self.up, self.refusal, self.cursor = up, refusal, 0

    def __enter__(self) -> _Pipe:
        return self

    def __exit__(self, *_: object) -> None: ...

    def scan(self, *, cursor: int, **_: Any) -> None:
        """Asks."""
        self.cursor = cursor

    def info(self, *_: Any, **__: Any) -> None:
        """Asks."""

    def execute(self, **_: Any) -> Any:
        """Answers."""
        if self.cursor:
            self.up.meet(self.refusal)
        return self.answer()

    def answer(self) -> Any:
        """Returns a page."""
        keys = [row["id"].encode() for row in (ROWS[1:] if self.cursor else ROWS[:1])]
        return [(0 if self.cursor else 7, keys), {"run_id": f"{UP}run", "executable": f"{UP}path"}]


class _AsyncPipe:
    def __init__(self, pipe: _Pipe) -> None:
        self.pipe, self.scan, self.info = pipe, pipe.scan, pipe.info

    async def __aenter__(self) -> _AsyncPipe:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def execute(self, **_: Any) -> Any:
        if self.pipe.cursor:
            await self.pipe.up.ameet(self.pipe.refusal)
        return self.pipe.answer()


def ldap(up: Upstream, mail: str, _: Path) -> Any:
    """The entries of a directory; the second page fails, or refers to another server."""
    from ldap3.core import exceptions
    from unabridged.sources.ldap import read_ldap

    paged = "1.2.840.113556.1.4.319"
    connection = SimpleNamespace(
        strategy=SimpleNamespace(sync=True), auto_referrals=True, auto_range=False, closed=False, result=None,
        response=None, password=up.secret,
    )  # fmt: skip

    def search(*, paged_cookie: bytes | None, search_filter: str, **_: Any) -> bool:
        if up.mode == "invalid":
            raise exceptions.LDAPInvalidFilterError(f"invalid filter {search_filter}")
        if paged_cookie:
            up.meet(exceptions.LDAPSessionTerminatedByServerError)
        rows, cookie = (ROWS[1:], b"") if paged_cookie else (ROWS[:1], f"{UP}cookie".encode())
        entries = [{"type": "searchResEntry", "dn": r["id"], "raw_attributes": {"note": [f"{UP}note".encode()]}}
                   for r in rows]  # fmt: skip
        refers = {"type": "searchResRef", "uri": [f"ldap://{UP}user:{UP}word@{UP} host/dc={UP}"]}
        code = {"result": 0, "message": said(up.secret), "controls": {paged: {"value": {"size": 0, "cookie": cookie}}}}
        connection.result, connection.response = code, [*entries, *([refers] if paged_cookie else [])]
        return True

    connection.search = search
    return read_ldap(connection, f"dc={mail}", f"(mail={mail})", resource=asked(mail), budget=ONCE)


@cache
def _client() -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client(
        "iam", region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b",
        config=Config(retries={"max_attempts": 0}),
    )  # fmt: skip


def aws(up: Upstream, mail: str, _: Path) -> Any:
    """An operation of a service; the second page fails."""
    from botocore.exceptions import ClientError
    from unabridged.sources.aws import read_aws

    def refusal(text: str) -> Exception:
        return ClientError({"Error": {"Code": f"{SAID}Code", "Message": text}}, "ListRoles")

    def respond(params: Any, **_: Any) -> Any:
        is_later = b"Marker" in json.dumps(params["body"]).encode()
        if is_later:
            up.meet(refusal)
        rows = ROWS[1:] if is_later else ROWS[:1]
        roles = [{"RoleName": r["id"], "Arn": f"{UP}arn", "Description": json.dumps(r["customer"])} for r in rows]
        page = {"Roles": roles, "IsTruncated": not is_later, **({} if is_later else {"Marker": f"{UP}marker"})}
        return SimpleNamespace(status_code=200), page

    client = _client()
    params = {"PathPrefix": f"/{mail}/", **({mail: customer(mail)} if up.mode == "invalid" else {})}
    client.meta.events.register("before-call.iam.ListRoles", respond)
    try:
        return read_aws(client, "list_roles", resource=asked(mail), items="Roles", id="RoleName", params=params,
                        budget=ONCE)  # fmt: skip
    finally:
        client.meta.events.unregister("before-call.iam.ListRoles", respond)


def kubernetes(up: Upstream, mail: str, _: Path) -> Any:
    """A list of a cluster; the second chunk fails."""
    from kubernetes.client.exceptions import ApiException
    from unabridged.sources.kubernetes import read_kubernetes

    def refusal(text: str) -> Exception:
        error = ApiException(status=500, reason=text)
        error.body, error.headers = json.dumps({"message": text}), {"x-note": text}
        return error

    def list_pods(*_: Any, **given: Any) -> Any:
        if up.mode == "invalid":
            raise TypeError(f"no such argument {given}")
        if "_continue" in given:
            up.meet(refusal)
        rows, token = (ROWS[1:], "") if "_continue" in given else (ROWS[:1], f"{UP}token")
        items = [{"metadata": {"uid": r["id"], "annotations": r["customer"]}} for r in rows]
        page = {"kind": "PodList", "metadata": {"resourceVersion": "7", "continue": token}, "items": items}
        return SimpleNamespace(status=200, headers={"x-note": f"{UP}header"}, data=json.dumps(page).encode())

    return read_kubernetes(
        list_pods, mail, resource=asked(mail), options={"label_selector": f"mail={mail}"}, budget=ONCE
    )


def oai(up: Upstream, mail: str, _: Path) -> Any:
    """The list of a repository, in XML."""
    from unabridged.sources.oaipmh import read_oai_pmh

    space = "http://www.openarchives.org/OAI/2.0/"

    def respond(request: Any) -> Any:
        is_later = "resumptionToken" in request.url.params
        if is_later:
            up.meet(refusing)
        rows, token = (ROWS[1:], "") if is_later else (ROWS[:1], f"{UP}token")
        told = "".join(
            f"<record><header><identifier>{r['id']}</identifier><datestamp>2026-11-29</datestamp></header>"
            f"<metadata><d xmlns='urn:d'>{UP}title</d></metadata></record>" for r in rows
        )  # fmt: skip
        text = (
            f"<OAI-PMH xmlns='{space}'><request>{UP}request</request><ListRecords>{told}"
            f"<resumptionToken>{token}</resumptionToken></ListRecords></OAI-PMH>"
        )
        return httpx.Response(200, content=text.encode())

    query = Query("orders", filters={"set": mail, **({mail: mail} if up.mode == "invalid" else {})})
    with httpx.Client(transport=httpx.MockTransport(respond)) as client:
        return read_oai_pmh("https://a.example/oai", resource=query, client=client, budget=ONCE,
                            headers={"Authorization": up.secret})  # fmt: skip


def etcd(up: Upstream, mail: str, _: Path) -> Any:
    """The keys of a store under a prefix; the second page fails."""
    from unabridged.sources.etcd import read_etcd

    def coded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    def respond(request: Any) -> Any:
        is_later = "revision" in json.loads(request.content)
        if is_later:
            up.meet(refusing)
        rows = ROWS[1:] if is_later else ROWS[:1]
        kvs = [{"key": coded(f"{mail} {r['id']}"), "value": coded(json.dumps(r["customer"])), "version": "1"}
               for r in rows]  # fmt: skip
        page = {"header": {"revision": "9"}, "kvs": kvs, "more": not is_later, "count": "2" if is_later else "3"}
        return httpx.Response(200, json=page)

    bad: Any = [mail] if up.mode == "invalid" else mail
    with httpx.Client(transport=httpx.MockTransport(respond)) as client:
        return read_etcd("https://a.example", bad, resource=asked(mail), client=client, budget=ONCE)


async def mcp(up: Upstream, mail: str, _: Path) -> Any:
    """A tool of a server in this process, which answers with text and records."""
    from mcp import types
    from mcp.client import Client
    from mcp.server.lowlevel import Server
    from unabridged.sources.mcp import read_mcp_tool
    from unabridged.sources.mcp.exchange import ServerError

    async def called(*_: Any) -> Any:
        await up.ameet(lambda text: ServerError(-32603, text, {"of": customer(SAID)}))
        text = types.TextContent(type="text", text=f"{UP}text")
        return types.CallToolResult.model_validate(
            {"content": [text], "structuredContent": {"result": ROWS}, "isError": up.mode == "retry"}
        )

    async def listed(*_: Any) -> Any:
        return types.ListToolsResult.model_validate({"tools": [{"name": "orders", "inputSchema": {"type": "object"}}]})

    async with Client(Server("orders", on_call_tool=called, on_list_tools=listed)) as client:
        return await read_mcp_tool(
            client.session, "orders", {"mail": mail}, resource="orders", filters={"mail": mail}, timeout_s=30
        )


async def mcp_list(up: Upstream, mail: str, _: Path) -> Any:
    """The tools of a server in this process."""
    from mcp import types
    from mcp.client import Client
    from mcp.server.lowlevel import Server
    from unabridged.sources.mcp import read_mcp_list
    from unabridged.sources.mcp.exchange import ServerError

    async def listed(_: Any, params: Any) -> Any:
        is_later = params is not None and params.cursor is not None
        if is_later:
            await up.ameet(lambda text: ServerError(-32603, text))
        tools = [{"name": r["id"], "description": json.dumps(r["customer"]), "inputSchema": {"type": "object"}}
                 for r in (ROWS[1:] if is_later else ROWS[:1])]  # fmt: skip
        return types.ListToolsResult.model_validate({"tools": tools, "nextCursor": None if is_later else f"{UP}cursor"})

    bad = asked(mail) if up.mode == "invalid" else "orders"
    async with Client(Server("orders", on_list_tools=listed)) as client:
        return await read_mcp_list(client.session, "tools", resource=bad, budget=ONCE)
