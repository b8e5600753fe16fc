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


def is_in_force() -> bool:
    """Tells whether a deadline is kept here: what runs, runs for a read or a write."""
    return _deadline.get() is not None


def keeps_time(client: Any) -> bool:
    """Sees to it that the connections which a client opens from now on keep the deadlines; tells whether it could.

    It looks for the pools of the client's own transports, by the names that httpx and httpx2 give them. Where a part
    of a client is something else, `watch` does the same for each request, at a price.
    """
    transports = [getattr(client, "_transport", None), *(getattr(client, "_mounts", None) or {}).values()]
    return all(_watched(transport) for transport in transports if transport is not None)


def _watched(transport: Any) -> bool:
    pool: Any = getattr(transport, "_pool", None)
    backend = getattr(pool, "_network_backend", None)
    if backend is None:
        return False
    if not isinstance(backend, _Backend):
        pool._network_backend = _Backend(backend)
        for connection in tuple(getattr(pool, "_connections", None) or ()):
            _keep_open(connection)
    return True


def _keep_open(connection: Any) -> None:
    """Bounds a connection that a client had opened before, below whatever stands between it and its stream."""
    while connection is not None:
        stream = getattr(connection, "_network_stream", None)
        if stream is not None:
            _kept(stream)
            return
        connection = getattr(connection, "_connection", None)


class _Backend:
    """Opens connections as the backend under it does, and bounds each one, the opening and the waits before it too."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def connect_tcp(self, *args: Any, **options: Any) -> Any:
        return _kept(self._backend.connect_tcp(*args, **_in_time(options)))

    def connect_unix_socket(self, *args: Any, **options: Any) -> Any:
        return _kept(self._backend.connect_unix_socket(*args, **_in_time(options)))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(_within(seconds))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


def _in_time(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of an opening that ends with the deadline; a client may try several times."""
    return {**options, "timeout": _within(options.get("timeout"))}


def _within(seconds: float | None) -> Any:
    """Returns how long something may take: as long as it was given, and not beyond the deadline."""
    moment = _deadline.get()
    if moment is None:
        return seconds
    left = max(_SHORTEST_S, moment - time.monotonic())
    return left if seconds is None else min(seconds, left)


def _kept(stream: Any) -> Any:
    """Bounds a stream, and the one that it becomes under TLS."""
    stream.read = _bounded(stream.read)
    begin = stream.start_tls
    stream.start_tls = lambda *args, **options: _kept(begin(*args, **options))
    return stream


def watch(event: str, info: Mapping[str, Any]) -> None:
    """Is told by the client what happens on its connections, and bounds each one as it is opened."""
    if event.endswith(_OPENED):
        stream = info.get("return_value")
        read = getattr(stream, "read", None)
        if stream is not None and callable(read):
            stream.read = _bounded(read)


def _bounded(read: Callable[..., bytes]) -> Callable[..., bytes]:
    """Bounds each read, also where something is always there to be read and no read has to wait."""

    def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
        moment = _deadline.get()
        if moment is not None and time.monotonic() > moment:
            raise TimeoutError
        return read(max_bytes, _within(timeout))

    return read_in_time
