"""What a reader asks of the outside: to send one request, to know the time, and to wait.

Everything that touches a network or a clock stands behind these protocols, so that a read can be driven by a script
and a virtual clock as well as by a real client. A transport never raises for what a source did: it returns a `Fault`.

What is made for every page has `Final` fields and is not frozen: a frozen one costs three times as much to make. It
has a hash as a frozen one has, so that a transport may know requests again.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, Protocol, runtime_checkable
from urllib.parse import parse_qsl, quote_plus, urlsplit, urlunsplit

FaultKind = Literal["timeout", "disconnect", "dns", "short_body", "deadline", "too_large", "undecodable"]
_SAFE: Final = re.compile(r"[A-Za-z0-9_.~\-]*\Z")


def _encoded(pairs: Iterable[tuple[str, str]]) -> str:
    parts = []
    for name, value in pairs:
        safe_name = name if _SAFE.match(name) else quote_plus(name)
        parts.append(f"{safe_name}={value if _SAFE.match(value) else quote_plus(value)}")
    return "&".join(parts)


@dataclass(unsafe_hash=True)
class Request:
    """One request. `url` may carry a query of its own; `query` is added to it, and replaces keys of the same name."""

    method: Final[Literal["GET", "POST"]]
    url: Final[str] = field(repr=False)
    query: Final[tuple[tuple[str, str], ...]] = field(default=(), repr=False)
    headers: Final[tuple[tuple[str, str], ...]] = field(default=(), repr=False)
    body: Final[bytes | None] = field(default=None, repr=False)
    source: Final[str | None] = None
    """The source of a fan-out that is being read; `None` in a plain read."""
    credentials: Final[bool] = True
    """Whether the client's own headers and authentication may go along; false towards another origin."""
    timeout_s: Final[float | None] = field(default=None, compare=False)

    @property
    def full_url(self) -> str:
        """The address as it goes out, every query parameter included. A URL without `query` is left as it is."""
        found = self.__dict__.get("_full_url")
        if found is None:
            found = self.__dict__["_full_url"] = self._joined()
        return str(found)

    def _joined(self) -> str:
        if not self.query:
            return self.url
        if "?" not in self.url and "#" not in self.url:
            return f"{self.url}?{_encoded(self.query)}"
        scheme, netloc, path, query, _ = urlsplit(self.url)
        mine = {name for name, _ in self.query}
        if query and any(name in mine for name, _ in parse_qsl(query, keep_blank_values=True)):
            kept = [(n, v) for n, v in parse_qsl(query, keep_blank_values=True) if n not in mine]
            query = _encoded(kept)
        added = _encoded(self.query)
        return urlunsplit((scheme, netloc, path, f"{query}&{added}" if query else added, ""))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every query parameter in effect, decoded, in order."""
        return tuple(parse_qsl(urlsplit(self.full_url).query, keep_blank_values=True))


@dataclass(slots=True, unsafe_hash=True)
class Response:
    """One response, read to its end and decoded from its content coding."""

    status: Final[int]
    headers: Final[tuple[tuple[str, str], ...]] = field(default=(), repr=False)
    body: Final[bytes] = field(default=b"", repr=False)
    url: Final[str | None] = field(default=None, repr=False)
    """Where it came from, when a redirect led elsewhere than the request; relative links are relative to it."""
    is_framed: Final[bool] = True
    """Whether something else than the end of the connection says where the body ends."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A request that brought no whole response.

    `deadline` is our own time limit in the middle of a response, `too_large` our own limit of bytes a page;
    `undecodable` a content coding that was not asked for or is broken.
    """

    kind: FaultKind
    body: bytes = field(default=b"", repr=False)
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


class Transport(Protocol):
    """Sends one request and waits for the whole response."""

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Returns the response, or what went wrong; `timeout_s` bounds the whole exchange in seconds."""


class AsyncTransport(Protocol):
    """As `Transport`, for an event loop."""

    async def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Returns the response, or what went wrong; `timeout_s` bounds the whole exchange in seconds."""


@runtime_checkable
class Clock(Protocol):
    """The time, and waiting for it."""

    def now(self) -> datetime:
        """Returns the wall-clock time in UTC."""

    def monotonic(self) -> float:
        """Returns seconds from an arbitrary origin; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Waits."""

    async def asleep(self, seconds: float) -> None:
        """Waits without blocking the event loop."""


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """Returns the wall-clock time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Returns seconds from an arbitrary origin."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        """Waits without blocking the event loop."""
        await asyncio.sleep(seconds)
