"""A provider of refunds behind HTTP: what it answers, and the executor that asks it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

from actions.executors.wire import Heard, Wire
from actions.executors.wire import said as response
from canaries.desk import ANSWER, said
from canaries.watching import KEY, SAID, UP
from unabridged.actions.executors import FromCallable, HttpExecutor, Route

TOKEN = f"{KEY}token"
ROUTE = Route(
    "POST", "/orders/{target}/refund", body=["mail", "cents"], unused=["low", "high"],
    idempotency_header="Idempotency-Key",
)  # fmt: skip
_CUT = b"HTTP/1.1 200 X\r\ncontent-length: 999\r\n\r\n" + json.dumps(ANSWER).encode()


def _later(heard: Heard) -> bytes:
    return response(429, {"error": said(TOKEN)}, retry_after="0") if heard.number == 0 else response(200, ANSWER)


HTTP: dict[str, bytes | Callable[[Heard], bytes]] = {
    "valid": response(200, ANSWER, x_note=f"{UP}header"),
    "rejected": response(400, {"error": said(TOKEN)}, www_authenticate=f"{SAID}realm"),
    "failing": response(500, said(TOKEN)),
    "retry": _later,
    "other form": response(200, {"ref": f"{UP}ref", "queued": f"{UP}queued", "customer": [f"{UP}customer"]}),
    "free text": response(200)[:-4].replace(b"content-length: 0", b"content-length: 6") + b"\r\n\r\nqzup x",
    "cut": _CUT,
    "gone": lambda _: b"",
    "redirect": response(302, None, location=f"https://{UP}.example/{SAID}?token={TOKEN}"),
    "slow": b"",
    "no credential": b"",
    "no place": b"",
}


def _no_credential() -> str:
    raise KeyError(said(TOKEN))


def http_of(server: Wire, way: str) -> HttpExecutor:
    """Returns the executor as a way needs it."""
    route = Route("POST", "/orders/{target}", unused=["mail"]) if way == "no place" else ROUTE
    credential = FromCallable(_no_credential if way == "no credential" else lambda: TOKEN)
    options: dict[str, Any] = {"timeout_s": 0.2} if way == "slow" else {}
    return HttpExecutor(origin=server.origin, routes={"refund": route}, credential=credential, **options)


class Holding:
    """An answer that does not come before the test is over."""

    mode = "hangs"

    def __init__(self) -> None:
        self.holds, self._over, self._loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def __call__(self, _: Heard) -> bytes:
        self._loop.call_soon_threadsafe(self.holds.set)
        self._over.wait(60)
        return b""

    def __enter__(self) -> Holding:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
