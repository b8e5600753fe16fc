"""The end of an exchange, kept at every read of its socket.

A client's own timeouts bound one read each, so a head that comes byte by byte would never end. Connections that are
opened while a deadline is in force look at it before each read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final

from unabridged._ambient import Held

_SHORTEST_S: Final = 0.001
_OPENED: Final = ("connect_tcp.complete", "start_tls.complete", "connect_unix_socket.complete")
_deadline: ContextVar[float | None] = ContextVar("unabridged_deadline", default=None)


def until(moment: float) -> Held[float | None]:
    """Keeps what a block reads within a deadline, in seconds of the monotonic clock."""
    return Held(_deadline, moment)


def watch(event: str, info: Mapping[str, Any]) -> None:
    """Is told by the client what happens on its connections, and bounds each one as it is opened."""
    if event.endswith(_OPENED):
        stream = info.get("return_value")
        read = getattr(stream, "read", None)
        if stream is not None and callable(read):
            stream.read = _bounded(read)


def _bounded(read: Callable[..., bytes]) -> Callable[..., bytes]:
    def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
        moment = _deadline.get()
        if moment is not None:
            left = max(_SHORTEST_S, moment - time.monotonic())
            timeout = left if timeout is None else min(timeout, left)
        return read(max_bytes, timeout)

    return read_in_time
