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
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import ModuleType
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx
import tenacity

from unabridged.contract.errors import InvalidInput, printable_name, value_free

from .bodies import Body, Stopped
from .deadlines import keeps_time, until, watch
from .links import MalformedLink, absolute, origin
from .quiet import in_a_read, keep_quiet
from .requests import Plan, spelled, walk_places
from .transport import Fault, Request, Response

MAX_PAGE_BYTES: Final = 8 * 1024 * 1024
REQUEST_TIMEOUT_S: Final = 30.0
"""How long one exchange may take where the time budget allows more."""
MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_BELOW: Final = (OSError, UnicodeError)
"""What comes from below the client: sockets, and host names that no resolver takes."""
_CODINGS: Final = "gzip, deflate"
_ASKS: Final = {"accept-encoding": _CODINGS}


class HttpTransport:
    """Sends over a synchronous client."""

    def __init__(self, client: Any = None, *, max_page_bytes: int | None = MAX_PAGE_BYTES) -> None:
        self._client = client
        self._most = max_page_bytes
        self._lib = httpx if client is None else library_of(client, "Client")
        self._asks_plainly = client is None or asks_plainly(client)
        self._watched: dict[str, Any] | None = None

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Returns the response, or what went wrong; follows redirects within the origin."""
        client = self._client if self._client is not None else shared_client()
        if self._watched is None:
            self._watched = {} if keeps_time(client) else {"trace": watch}
        exchange = Exchange(self._lib, request, timeout_s, self._most, extensions=self._watched)
        with in_a_read(), until(exchange.until):
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
                        for chunk in response.iter_raw():
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

    async def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Returns the response, or what went wrong; follows redirects within the origin."""
        client = self._client if self._client is not None else self._opened()
        with in_a_read():
            return await self._exchanged(client, Exchange(self._lib, request, timeout_s, self._most))

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
                            async for chunk in response.aiter_raw():
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


class Exchange:
    """One request and its redirects: what both transports decide alike."""

    def __init__(
        self,
        lib: ModuleType,
        request: Request,
        timeout_s: float | None,
        most: int | None,
        extensions: dict[str, Any] | None = None,
    ) -> None:
        self._lib = lib
        self._request = request
        self._url = request.full_url
        self._most = most
        self._limit_s = REQUEST_TIMEOUT_S if timeout_s is None else max(0.001, min(timeout_s, REQUEST_TIMEOUT_S))
        self._is_our_deadline = timeout_s is not None and timeout_s <= REQUEST_TIMEOUT_S
        self.until = time.monotonic() + self._limit_s
        """When the exchange ends, in seconds of the monotonic clock."""
        self._extensions = extensions or {}
        self._redirects = 0
        self._status: int | None = None
        self._headers: tuple[tuple[str, str], ...] = ()
        self._is_framed = True
        self._body = Body(None, most)

    def remaining_s(self) -> float:
        """Seconds left for the exchange."""
        return max(0.001, self.until - time.monotonic())

    def built(self, client: Any, asks_plainly: bool) -> Any:
        """Returns the client's own request. Towards another origin nothing of the client's goes along.

        Args:
            client: the client.
            asks_plainly: whether the client asks by itself for the codings that are decoded here, and for no other.
        """
        request = self._request
        headers = list(request.headers)
        if request.body is not None:
            headers.append(("content-type", "application/json"))
        left = self.remaining_s()
        timeouts = {"connect": left, "read": left, "write": left, "pool": left}
        extensions = {**self._extensions, "timeout": timeouts}
        self._status = None
        if request.credentials:
            built = client.build_request(
                request.method,
                self._url,
                content=request.body,
                headers=headers or None,
                extensions=extensions,
            )
            if client.params:
                built.url = self._lib.URL(self._with_defaults(client.params.multi_items()))
            if (not asks_plainly or headers) and not any(name.lower() == "accept-encoding" for name, _ in headers):
                built.headers["accept-encoding"] = _CODINGS
            return built
        headers += [("accept", "*/*"), ("accept-encoding", _CODINGS)]
        return self._lib.Request(
            request.method, self._url, content=request.body, headers=headers, extensions=extensions
        )

    def _with_defaults(self, pairs: Iterable[tuple[str, str]]) -> str:
        """Returns the address with those of a client's default parameters that it does not carry itself."""
        carried = {spelled(name) for name, _ in parse_qsl(urlsplit(self._url).query, keep_blank_values=True)}
        added = tuple((name, value) for name, value in pairs if spelled(name) not in carried)
        return Request("GET", self._url, query=added).full_url

    def options(self) -> dict[str, Any]:
        """Returns how the client is to send: never following redirects, and without its credentials abroad."""
        return {"follow_redirects": False} | ({} if self._request.credentials else {"auth": None})

    def opens(self, response: Any) -> bool:
        """Takes in the head of a response; tells whether its body may be read at all."""
        self._status = int(response.status_code)
        self._headers = headers = tuple([(n.decode("latin-1"), v.decode("latin-1")) for n, v in response.headers.raw])
        coding = length = frame = ""
        for name, value in headers:
            if len(name) == 16 and name.lower() == "content-encoding":
                coding = value.strip().lower()
            elif len(name) == 14 and name.lower() == "content-length":
                length = frame = value
            elif len(name) == 17 and name.lower() == "transfer-encoding":
                frame = value
        self._is_framed = bool(frame or response.is_stream_consumed or not response.http_version.startswith("HTTP/1"))
        if coding in ("", "identity"):
            return self._most is None or not length.isdigit() or int(length[:18]) <= self._most
        coded = ("content-encoding", "content-length")
        self._headers = tuple((name, value) for name, value in headers if name.lower() not in coded)
        self._body = Body(coding, self._most)
        self._is_framed = True  # a coded body knows its own end
        return True

    def too_large(self, response: Any) -> Fault:
        """Returns the fault of a body that is longer than a page may be."""
        return Fault("too_large", status=int(response.status_code))

    def feed(self, chunk: bytes) -> None:
        """Takes in a piece of the body as it came over the wire."""
        if time.monotonic() > self.until:
            raise Stopped(self.timed_out())
        self._body.feed(chunk)

    def feed_decoded(self, content: bytes) -> None:
        """Takes in a body that the client held already, decoded."""
        self._body = Body(None, self._most)
        self._body.feed(content)

    def timed_out(self) -> Fault:
        """Returns the fault of an exchange that took too long: for the source, or for the time we had."""
        is_over = time.monotonic() >= self.until - 0.05
        return Fault("deadline" if self._is_our_deadline and is_over else "timeout", status=self._status)

    def fault_of(self, error: Exception) -> Fault:
        """Returns what an exception of the client means."""
        if isinstance(error, self._lib.TimeoutException):
            return self.timed_out()
        if self._status is not None:
            return Fault("short_body", status=self._status, headers=self._headers)
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, socket.gaierror | UnicodeError):
                return Fault("dns")
            cause = cause.__cause__ or cause.__context__
        return Fault("disconnect")

    def finished(self) -> Response | Fault | None:
        """Returns the outcome; nothing means that a redirect within the origin is followed."""
        target = self._redirect()
        if target is not None:
            self._url = target
            self._request = replace(self._request, url=target, query=())
            return None
        status = self._status or 0
        if not self._body.is_whole:
            return Fault("short_body", status=status, headers=self._headers)
        elsewhere = self._url if self._redirects else None
        body = self._body.content()
        return Response(status, self._headers, body, url=elsewhere, is_framed=self._is_framed)

    def _redirect(self) -> str | None:
        if self._status not in _REDIRECTS or self._redirects >= MAX_REDIRECTS:
            return None
        if self._request.method != "GET" and self._status not in (307, 308):
            return None
        location = next((value for name, value in self._headers if name.lower() == "location"), None)
        if location is None:
            return None
        try:
            target = absolute(location, context=self._url)
        except MalformedLink:
            return None
        if origin(target) != origin(self._url) or not self._asks_the_same(target):
            return None
        self._redirects += 1
        self._body = Body(None, self._most)
        return target

    def _asks_the_same(self, target: str) -> bool:
        """Tells whether an address carries every parameter of the request: without one it answers something else."""
        there = set(parse_qsl(urlsplit(target).query, keep_blank_values=True))
        return there.issuperset(parse_qsl(urlsplit(self._url).query, keep_blank_values=True))


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
    return bool(client.headers.get("accept-encoding") == _CODINGS)


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
