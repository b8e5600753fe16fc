"""One exchange with one origin: no redirect, no proxy, no cookie, no connection that something else used before.

It is how an executor writes. A connection is opened for each request and closed after it, since of a kept one that the
server closes meanwhile nobody can say whether it took the request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import Any, Final, Literal

from unabridged.contract import InvalidInput, UnabridgedError

from .deadlines import keeps_time, until, watch
from .exchange import Exchange
from .http import AsyncHttpTransport, HttpTransport, pinned_async_client, pinned_client
from .quiet import at_work
from .transport import Fault, Request, Response

PinnedMethod = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
_LONGEST_WAIT_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class PinnedRequest:
    """One request to one origin. `attach` puts the credential into the headers, when everything else stands."""

    method: PinnedMethod
    origin: str
    path: str = field(repr=False)
    """The path and the query, encoded."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes | None = field(default=None, repr=False)
    attach: Callable[[MutableMapping[str, str]], None] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Unsent:
    """The request did not leave: nothing can have happened."""

    is_ours: bool = False
    """Whether it was refused here; else the origin was not reached."""


class Refused(Exception):
    """The request would not have gone where it is pinned to."""


class _Pinned(Exchange):
    """One exchange that follows nothing, and that knows whether its request can have left."""

    def __init__(
        self, lib: ModuleType, request: PinnedRequest, timeout_s: float, most: int, extensions: dict[str, Any] | None
    ) -> None:
        url = f"{request.origin}{request.path}"
        super().__init__(
            lib, Request("POST", url, headers=request.headers, body=request.body), timeout_s, most, extensions
        )
        self._pinned = request
        self._limit_s = timeout_s
        self._is_our_deadline = True
        self.until = time.monotonic() + timeout_s
        self.is_unsent = False

    def built(self, client: Any, asks_plainly: bool) -> Any:
        """Returns the client's own request, the credential attached last.

        Raises:
            Refused: the client would send it elsewhere.
        """
        asked, left = self._pinned, self.remaining_s()
        headers = [*asked.headers, *([("content-type", "application/json")] if asked.body is not None else [])]
        timeouts = {"connect": left, "read": left, "write": left, "pool": left}
        built = client.build_request(
            asked.method,
            self._url,
            content=asked.body,
            headers=headers,
            extensions={**self._extensions, "timeout": timeouts},
        )
        path = built.url.raw_path.decode("ascii")
        if self._url != f"{_origin(built.url)}{path}" or path != asked.path:
            raise Refused
        if asked.attach is not None:
            asked.attach(built.headers)
        return built

    def options(self) -> dict[str, Any]:
        """Returns how the client is to send: following nothing, and with no credential but the one attached."""
        return {"follow_redirects": False, "auth": None}

    def fault_of(self, error: Exception) -> Fault:
        """Returns what an exception of the client means, and notes whether it came before anything was sent."""
        lib = self._lib
        before = (lib.ConnectError, lib.ConnectTimeout, lib.PoolTimeout, lib.UnsupportedProtocol, lib.InvalidURL)
        self.is_unsent = self._status is None and isinstance(error, before)
        return super().fault_of(error)

    def _redirect(self) -> str | None:
        return None


def _origin(url: Any) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


class PinnedTransport:
    """Sends single requests, synchronously and on an event loop.

    Args of the constructor:
        ca_file: certificates to trust instead of the usual ones, or nothing.
        max_bytes: how long an answer may be.

    Raises:
        InvalidInput: `ca_file` holds no certificates.
    """

    def __init__(self, *, ca_file: str | None, max_bytes: int) -> None:
        if not _holds_certificates(ca_file):
            raise InvalidInput(field="ca_file", rule="must be a file of certificates in PEM form")
        self._ca_file = ca_file
        self._most = max_bytes

    def send(self, request: PinnedRequest, *, timeout_s: float) -> Response | Fault | Unsent:
        """Returns the response, also one that redirects, or what went wrong. An error shows no frame of the client."""
        try:
            return self._sent(request, timeout_s)
        except Refused:
            return Unsent(is_ours=True)
        except BaseException as error:  # noqa: BLE001 - also what interrupts must not carry the frames
            raise _bare(error) from None

    async def send_async(self, request: PinnedRequest, *, timeout_s: float) -> Response | Fault | Unsent:
        """As `send`, on an event loop."""
        try:
            return await self._sent_async(request, timeout_s)
        except Refused:
            return Unsent(is_ours=True)
        except BaseException as error:  # noqa: BLE001 - also what interrupts must not carry the frames
            raise _bare(error) from None

    def _sent(self, request: PinnedRequest, timeout_s: float) -> Response | Fault | Unsent:
        with pinned_client(self._ca_file) as client:
            watched = None if keeps_time(client) else {"trace": watch}
            transport = _Sync(client, max_page_bytes=self._most)
            exchange = _Pinned(transport.lib, request, timeout_s, self._most, watched)
            with until(exchange.until):
                return _told(transport.exchanged(client, exchange), exchange)

    async def _sent_async(self, request: PinnedRequest, timeout_s: float) -> Response | Fault | Unsent:
        async with pinned_async_client(self._ca_file) as client:
            transport = _Async(client, max_page_bytes=self._most)
            exchange = _Pinned(transport.lib, request, timeout_s, self._most, None)
            with at_work():
                return _told(await transport.exchanged(client, exchange), exchange)


def _holds_certificates(ca_file: str | None) -> bool:
    try:
        pinned_client(ca_file).close()
    except OSError:
        return False
    return True


class _Sync(HttpTransport):
    @property
    def lib(self) -> ModuleType:
        return self._lib

    def exchanged(self, client: Any, exchange: Exchange) -> Response | Fault:
        return self._exchanged(client, exchange)


class _Async(AsyncHttpTransport):
    @property
    def lib(self) -> ModuleType:
        return self._lib

    async def exchanged(self, client: Any, exchange: Exchange) -> Response | Fault:
        return await self._exchanged(client, exchange)


def _told(outcome: Response | Fault, exchange: _Pinned) -> Response | Fault | Unsent:
    return Unsent() if exchange.is_unsent else outcome


def _bare(error: BaseException) -> BaseException:
    """Returns an error without the frames of the client, whose variables hold the credential."""
    if isinstance(error, Exception) and not isinstance(error, UnabridgedError):
        return Broken()
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)


class Broken(Exception):
    """The client failed in a way that is not foreseen. The request may have left."""


def announced_wait_s(headers: Mapping[str, str] | tuple[tuple[str, str], ...], *, now: datetime) -> float | None:
    """Returns the seconds that a `Retry-After` names, as a number or as a date; nothing where there is none."""
    given = headers.items() if isinstance(headers, Mapping) else headers
    text = next((value.strip() for name, value in given if name.lower() == "retry-after"), "")
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), _LONGEST_WAIT_S)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return min(max(0.0, (aware - now).total_seconds()), _LONGEST_WAIT_S)
