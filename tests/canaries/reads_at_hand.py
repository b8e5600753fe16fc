"""Reads of APIs, databases, documents and folders, each fed with canaries."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx
from canaries.desk import ROWS, said
from canaries.upstream import ONCE, Upstream, asked
from canaries.watching import IDS, SAID, UP, customer
from unabridged import Budget, Query
from unabridged.reading import SystemClock

_PROFILE: Final[dict[str, Any]] = {
    "name": "orders", "version": 1, "items": "orders", "id": "id", "filters": {"mail": {"query": "mail"}},
    "walk": {"by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["null"],
             "empty_token": "illegal", "repeated_token": "anomaly"},
}  # fmt: skip


def _page(request: Any) -> Any:
    first = "cursor" not in request.url.params
    rows = ROWS[:1] if first else ROWS[1:]
    page = {"orders": rows, "next": f"{UP}cursor" if first else None, "note": customer(UP)}
    return httpx.Response(200, json=page, headers={"x-note": f"{UP}header"})


def refusing(text: str) -> Exception:
    return httpx.ConnectError(text)


def _of_http(up: Upstream, request: Any) -> Any:
    if up.mode == "free text":
        return httpx.Response(500, text=said(up.secret))
    return _page(request)


def _http_options(mail: str, up: Upstream) -> dict[str, Any]:
    line = "\n" if up.mode == "invalid" else ""
    return {"url": f"https://orders.example/{UP}path", "headers": {"X-Of": mail + line, "Authorization": up.secret},
            "budget": ONCE}  # fmt: skip


def http(up: Upstream, mail: str, _: Path) -> Any:
    """An API, page by page; the second page fails."""
    from unabridged import read

    def respond(request: Any) -> Any:
        if "cursor" in request.url.params or up.mode == "free text":
            up.meet(refusing)
        return _of_http(up, request)

    with httpx.Client(transport=httpx.MockTransport(respond)) as client:
        return read(_PROFILE, asked(mail), client=client, **_http_options(mail, up))


async def ahttp(up: Upstream, mail: str, _: Path) -> Any:
    """As `http`, on an event loop."""
    from unabridged import aread

    async def respond(request: Any) -> Any:
        if "cursor" in request.url.params or up.mode == "free text":
            await up.ameet(refusing)
        return _of_http(up, request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as client:
        return await aread(_PROFILE, asked(mail), client=client, **_http_options(mail, up))


def paged(up: Upstream, mail: str, _: Path) -> Any:
    """As `http`, one page at a time: the second is asked for when the agent goes on."""
    from unabridged import read

    def respond(request: Any) -> Any:
        if "cursor" in request.url.params:
            up.meet(refusing)
        return _page(request)

    client = httpx.Client(transport=httpx.MockTransport(respond))
    options = {**_http_options(mail, up), "budget": Budget(max_pages=1, max_retries=0)}
    return read(_PROFILE, asked(mail), client=client, **options)


async def apaged(up: Upstream, mail: str, _: Path) -> Any:
    """As `paged`, on an event loop."""
    from unabridged import aread

    async def respond(request: Any) -> Any:
        if "cursor" in request.url.params:
            await up.ameet(refusing)
        return _page(request)

    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    options = {**_http_options(mail, up), "budget": Budget(max_pages=1, max_retries=0)}
    return await aread(_PROFILE, asked(mail), client=client, **options)


_STATEMENT: Final = "SELECT id, state, customer, :mail AS mail FROM orders WHERE :mail = :mail"


def _database(up: Upstream) -> sqlite3.Connection:
    """A database that fails when the second row is decoded."""
    made = sqlite3.connect(":memory:", check_same_thread=False)
    made.execute("CREATE TABLE orders (id TEXT, state TEXT, customer TEXT)")
    made.executemany(
        "INSERT INTO orders VALUES (?, ?, ?)", [(r["id"], r["state"], json.dumps(r["customer"])) for r in ROWS]
    )
    made.commit()

    def decoded(raw: bytes) -> str:
        if b"two" in raw:
            up.meet(sqlite3.OperationalError)
        return raw.decode()

    made.text_factory = decoded
    return made


def sql(up: Upstream, mail: str, _: Path) -> Any:
    """A statement on SQLite, row by row."""
    import sqlalchemy as sa
    from unabridged.sources.sql import read_sql

    engine = sa.create_engine("sqlite://", creator=lambda: _database(up))
    query = Query("orders", filters={"mail": mail}, page_size=1)
    sent = {"mail": customer(mail) if up.mode == "invalid" else mail}
    try:
        return read_sql(engine, _STATEMENT, resource=query, id="id", params=sent, budget=ONCE)
    finally:
        engine.dispose()


async def asql(up: Upstream, mail: str, _: Path) -> Any:
    """As `sql`, over an asynchronous engine that never connects."""
    from sqlalchemy.ext.asyncio import create_async_engine
    from unabridged.sources.sql import aread_sql

    async def connect() -> Any:
        await up.ameet(sqlite3.OperationalError)
        raise sqlite3.OperationalError(said(up.secret))

    engine = create_async_engine("sqlite+aiosqlite://", async_creator=connect)
    try:
        return await aread_sql(engine, _STATEMENT, resource=asked(mail), id="id", params={"mail": mail}, budget=ONCE)
    finally:
        await engine.dispose()


def document(up: Upstream, mail: str, _: Path) -> Any:
    """A document that is loaded as a text."""
    from unabridged.sources.documents import TextSource, read_document

    def load(reference: str) -> tuple[str, str]:
        up.meet(LookupError)
        return f"Of {reference}: {json.dumps(customer(UP))}", "v1"

    unit: Any = mail if up.mode == "invalid" else "chars"
    return read_document(TextSource(load), f"{IDS}one of {mail}", resource="orders", unit=unit, max_units=20)


class _Clock(SystemClock):
    """A clock at whose second look the upstream is met: in the middle of a read."""

    def __init__(self, up: Upstream, refusal: Callable[[str], BaseException]) -> None:
        object.__setattr__(self, "_up", [up, refusal, 2])

    def monotonic(self) -> float:
        self._up[2] -= 1  # type: ignore[attr-defined]
        if self._up[2] == 0:  # type: ignore[attr-defined]
            self._up[0].meet(self._up[1])  # type: ignore[attr-defined]
        return super().monotonic()


def file(up: Upstream, mail: str, folder: Path) -> Any:
    """A file below a folder, or one that is not there, is no text, or lies elsewhere."""
    from unabridged.sources.files import read_file

    root = folder / f"{UP}files"
    root.mkdir(exist_ok=True)
    name = f"{IDS}one of {mail}"
    up.commands.append("asked")  # type: ignore[arg-type]
    if up.mode != "refused":
        (root / name).write_bytes(f"{json.dumps(customer(UP))}\n".encode() * 3 + b"\xff" * (up.mode == "raises"))
    path = f"../{name}" if up.mode == "timeout" else name
    unit: Any = mail if up.mode == "invalid" else "chars"
    return read_file(path, resource="orders", root=root, unit=unit, max_units=20)


def directory(up: Upstream, mail: str, folder: Path) -> Any:
    """A folder with its entries, or one that is not there."""
    from unabridged.sources.directories import read_directory

    root = folder / f"{UP}folder"
    for row in ROWS:
        (root / f"{row['id']} {IDS}").mkdir(parents=True, exist_ok=True)
    if up.mode == "refused":
        up.commands.append("asked")  # type: ignore[arg-type]
        root = folder / f"{SAID}elsewhere"
    ignore: Any = mail if up.mode == "invalid" else [f"{mail}*"]
    return read_directory(root, resource="orders", include=f"*{IDS}", ignore=ignore, clock=_Clock(up, OSError))
