"""HTTP: the one module that imports an HTTP client and tenacity.

Bodies are read in a bounded way, decompression included. Credentials stay with the origin of the read, and a redirect
to another origin is not followed. Clients of httpx and of httpx2 are taken as they are; without one, reads share a
client of the process that keeps no cookies.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import random
import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import tenacity

from unabridged.contract.errors import InvalidInput, value_free

from .bodies import Stopped
from .clients import CODINGS, asks_plainly, library_of, waits_of
from .deadlines import keeps_time, until, watch
from .exchange import Exchange
from .quiet import at_work, keep_quiet
from .transport import Fault, Request, Response

MAX_PAGE_BYTES: Final = 8 * 1024 * 1024
_BELOW: Final = (OSError, UnicodeError)
"""What comes from below the client: sockets, and host names that no resolver takes."""
_ASKS: Final = {"accept-encoding": CODINGS}


class HttpTransport:
    """Sends over a synchronous client."""

    def __init__(self, client: Any = None, *, max_page_bytes: int | None = MAX_PAGE_BYTES) -> None:
        self._client = client
        self._most = max_page_bytes
        self._lib = httpx if client is None else library_of(client, "Client")
        self._asks_plainly = client is None or asks_plainly(client)
        self._waits = None if client is None else waits_of(client, self._lib)
        self._watched: dict[str, Any] | None = None

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Returns the response, or what went wrong; follows redirects within the origin."""
        client = self._client if self._client is not None else shared_client()
        if self._watched is None:
            self._watched = {} if keeps_time(client) else {"trace": watch}
        exchange = Exchange(self._lib, request, timeout_s, self._most, self._watched, self._waits)
        with until(exchange.until):
            return self._exchanged(client, exchange)

    def _exchanged(self, client: Any, exchange: Exchange) -> Response | Fault:
        while True:
            try:
                response = client.send(exchange.built(client, self._asks_plainly), stream=True, **exchange.options())
                try:
                    if not exchange.opens(response):
                        return exchange.too_large(response)
                    if response.is_stream_consumed:
                        exchange.feed_decoded(response.content)
                    else:
                        for chunk in response.stream:  # as `iter_raw` does, without its counting
                            exchange.feed(chunk)
                finally:
                    response.close()
            except (self._lib.HTTPError, self._lib.InvalidURL, self._lib.StreamError, *_BELOW) as error:
                return exchange.fault_of(error)
            except Stopped as stopped:
                return stopped.fault
            outcome = exchange.finished()
            if outcome is not None:
                return outcome


class AsyncHttpTransport:
    """Sends over an asynchronous client; without one it opens its own, which `release` closes."""

    def __init__(self, client: Any = None, *, max_page_bytes: int | None = MAX_PAGE_BYTES) -> None:
        self._client = client
        self._own: httpx.AsyncClient | None = None
        self._most = max_page_bytes
        self._lib = httpx if client is None else library_of(client, "AsyncClient")
        self._asks_plainly = client is None or asks_plainly(client)
        self._waits = None if client is None else waits_of(client, self._lib)

    async def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Returns the response, or what went wrong; follows redirects within the origin."""
        client = self._client if self._client is not None else self._opened()
        exchange = Exchange(self._lib, request, timeout_s, self._most, waits=self._waits)
        with at_work():
            return await self._exchanged(client, exchange)

    async def _exchanged(self, client: Any, exchange: Exchange) -> Response | Fault:
        while True:
            try:
                async with asyncio.timeout(exchange.remaining_s()):
                    response = await client.send(
                        exchange.built(client, self._asks_plainly), stream=True, **exchange.options()
                    )
                    try:
                        if not exchange.opens(response):
                            return exchange.too_large(response)
                        if response.is_stream_consumed:
                            exchange.feed_decoded(response.content)
                        else:
                            async for chunk in response.stream:
                                exchange.feed(chunk)
                    finally:
                        await response.aclose()
            except TimeoutError:
                return exchange.timed_out()
            except (self._lib.HTTPError, self._lib.InvalidURL, self._lib.StreamError, *_BELOW) as error:
                return exchange.fault_of(error)
            except Stopped as stopped:
                return stopped.fault
            outcome = exchange.finished()
            if outcome is not None:
                return outcome

    def _opened(self) -> httpx.AsyncClient:
        if self._own is None:
            self._own = httpx.AsyncClient(verify=_tls(), cookies=_no_cookies(), headers=_ASKS)
        return self._own

    async def release(self) -> None:
        """Closes the client that this transport opened itself."""
        own, self._own = self._own, None
        if own is not None:
            await own.aclose()


@dataclass(frozen=True, slots=True)
class BackoffRetries:
    """Retries of a live reader: exponential waits with jitter; their number is the budget's `max_retries`."""

    waits: int = 3
    first_s: float = 0.25
    longest_s: float = 8.0
    jitter: Callable[[], float] = random.random

    def backoff_s(self, attempt: int) -> float:
        """Returns the seconds before an attempt: between half of the curve and all of it."""
        retrying = tenacity.Retrying(
            wait=tenacity.wait_exponential(multiplier=self.first_s, max=self.longest_s),
            stop=tenacity.stop_after_attempt(max(1, attempt)),
            reraise=True,
        )
        state = tenacity.RetryCallState(retry_object=retrying, fn=None, args=(), kwargs={})
        state.attempt_number = max(1, attempt)
        return float(retrying.wait(state)) * (0.5 + self.jitter() / 2)


@value_free
def check_host(url: str) -> None:
    """Refuses an address that the client could not even parse.

    Raises:
        InvalidInput: naming the rule.
    """
    try:
        httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError):
        raise InvalidInput(field="url", rule="must be a valid URL") from None
    if not urlsplit(url).hostname:
        raise InvalidInput(field="url", rule="must have a host")


_lock = threading.Lock()
_shared: dict[str, Any] = {}


def shared_client() -> httpx.Client:
    """Returns the client of this process, made on first use: its TLS context costs 20 ms. It keeps no cookies."""
    client = _shared.get("client")
    if client is None or client.is_closed:
        tls = _tls()
        with _lock:
            client = _shared.get("client")
            if client is None or client.is_closed:
                client = _shared["client"] = httpx.Client(verify=tls, cookies=_no_cookies(), headers=_ASKS)
    return client


def close_shared_client() -> None:
    """Closes the client of this process; the next read makes a new one."""
    with _lock:
        client = _shared.pop("client", None)
    if client is not None:
        client.close()


def pinned_client(ca_file: str | None = None) -> httpx.Client:
    """Returns a client that takes nothing from the environment, keeps no cookie and no connection, and follows nothing.

    Args:
        ca_file: certificates to trust instead of the usual ones.
    """
    return httpx.Client(**_pinned(ca_file))


def pinned_async_client(ca_file: str | None = None) -> httpx.AsyncClient:
    """Returns a client as `pinned_client`, for an event loop."""
    return httpx.AsyncClient(**_pinned(ca_file))


def _pinned(ca_file: str | None) -> dict[str, Any]:
    name = f"pinned:{ca_file or ''}"
    with _lock:
        if name not in _shared:
            _shared[name] = ssl.create_default_context(cafile=ca_file) if ca_file else _own_tls()
        tls = _shared[name]
    limits = httpx.Limits(max_keepalive_connections=0)
    return {"verify": tls, "trust_env": False, "cookies": _no_cookies(), "headers": _ASKS, "limits": limits}


def _own_tls() -> ssl.SSLContext:
    """Returns a context that no variable of the environment can give another authority to trust."""
    return httpx.create_ssl_context(trust_env=False)


def _tls() -> Any:
    with _lock:
        if "tls" not in _shared:
            _shared["tls"] = httpx.create_ssl_context()
        return _shared["tls"]


def _no_cookies() -> CookieJar:
    """A jar that takes nothing: a shared client must not carry one caller's session into another's read."""
    domains: Iterable[str] = ()
    return CookieJar(policy=DefaultCookiePolicy(allowed_domains=tuple(domains)))


def _forget_after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _shared.pop("client", None)


keep_quiet()
atexit.register(close_shared_client)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
