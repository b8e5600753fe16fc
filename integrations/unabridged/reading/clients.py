"""The clients that callers hand in: which library they are of, and what they do by themselves."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

from unabridged.contract.errors import InvalidInput, printable_name

from .requests import Plan, spelled, walk_places

CODINGS: Final = "gzip, deflate"
"""The codings that are decoded here."""
Waits = dict[str, float | None]
"""Seconds for each step of an exchange (`connect`, `read`, `write`, `pool`); null where a step has no limit."""
_LIBRARY_TIMEOUT_S: Final = 5.0
"""What httpx and httpx2 give to a client: https://www.python-httpx.org/advanced/timeouts/ (read 2026-11-30)."""


def library_of(client: Any, kind: str) -> ModuleType:
    """Returns the library whose client this is, httpx or httpx2.

    Args:
        client: the client.
        kind: `Client` or `AsyncClient`.

    Raises:
        InvalidInput: it is another kind of client, or closed.
    """
    names = {(c.__module__.split(".")[0], c.__name__) for c in type(client).__mro__}
    for name in ("httpx", "httpx2"):
        if (name, kind) in names:
            if client.is_closed:
                raise InvalidInput(field="client", rule="must be open")
            return sys.modules[name]
    raise InvalidInput(field="client", rule=f"must be an httpx.{kind} or an httpx2.{kind}")


def asks_plainly(client: Any) -> bool:
    """Tells whether a client asks by itself for the codings that are decoded here, and for no other."""
    return bool(client.headers.get("accept-encoding") == CODINGS)


def waits_of(client: Any, lib: ModuleType) -> Waits | None:
    """Returns how long a client waits for each step of an exchange, where its owner said so.

    Nothing where the client has the timeouts that its library gives to every client: nobody chose them.

    Args:
        client: the client.
        lib: its library.
    """
    given = client.timeout
    if given == lib.Timeout(_LIBRARY_TIMEOUT_S):
        return None
    return {"connect": given.connect, "read": given.read, "write": given.write, "pool": given.pool}


def check_defaults(client: Any, plan: Plan) -> None:
    """Refuses a client that by default sends what the walk sends: its first request would begin in mid-list.

    Raises:
        InvalidInput: naming the parameter or the header.
    """
    if client is None or isinstance(client, type):
        return
    given = {("query", spelled(name)) for name in getattr(client, "params", ())}
    given |= {("header", name.lower()) for name in getattr(client, "headers", ())}
    for place, name in sorted(walk_places(plan.profile)):
        if (place, spelled(name) if place == "query" else name) in given:
            kind = "parameter" if place == "query" else "header"
            rule = f"must not send the {kind} {printable_name(name)}, which the walk itself sends"
            raise InvalidInput(field="client", rule=rule)
