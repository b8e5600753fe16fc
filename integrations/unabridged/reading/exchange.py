"""One request and its redirects: how it is sent, and what its outcome means. Knows no HTTP library by itself."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from dataclasses import replace
from types import ModuleType
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from .bodies import Body, Stopped
from .clients import CODINGS, Waits
from .links import MalformedLink, absolute, origin
from .requests import spelled
from .transport import Fault, Request, Response

REQUEST_TIMEOUT_S: Final = 30.0
"""How long one exchange may take where the time budget allows more."""
MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_WITH_CREDENTIALS: Final[dict[str, Any]] = {"follow_redirects": False}
_WITHOUT_CREDENTIALS: Final[dict[str, Any]] = {"follow_redirects": False, "auth": None}


class Exchange:
    """One request and its redirects: what both transports decide alike."""

    def __init__(
        self,
        lib: ModuleType,
        request: Request,
        timeout_s: float | None,
        most: int | None,
        extensions: dict[str, Any] | None = None,
        waits: Waits | None = None,
    ) -> None:
        self._lib = lib
        self._request = request
        self._url = self._sent = request.full_url
        self._most = most
        self._limit_s = REQUEST_TIMEOUT_S if timeout_s is None else max(0.001, min(timeout_s, REQUEST_TIMEOUT_S))
        self._is_our_deadline = timeout_s is not None and timeout_s <= REQUEST_TIMEOUT_S
        self.until = time.monotonic() + self._limit_s
        """When the exchange ends, in seconds of the monotonic clock."""
        self._extensions = extensions or {}
        self._waits = waits
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
        extensions = {**self._extensions, "timeout": self._timeouts()}
        self._status = None
        if request.credentials:
            built = client.build_request(
                request.method,
                self._url,
                content=request.body,
                headers=headers or None,
                extensions=extensions,
            )
            self._sent = self._url
            if client.params:
                self._sent = self._with_defaults(client.params.multi_items())
                built.url = self._lib.URL(self._sent)
            is_set = any(name.lower() == "accept-encoding" for name, _ in headers) if headers else asks_plainly
            if not is_set:
                built.headers["accept-encoding"] = CODINGS
            return built
        headers += [("accept", "*/*"), ("accept-encoding", CODINGS)]
        return self._lib.Request(
            request.method, self._url, content=request.body, headers=headers, extensions=extensions
        )

    def _timeouts(self) -> Waits:
        """Returns how long the client waits for each step: what is left, or less where its owner said so."""
        left = self.remaining_s()
        if self._waits is None:
            return {"connect": left, "read": left, "write": left, "pool": left}
        return {step: left if most is None else min(left, most) for step, most in self._waits.items()}

    def _with_defaults(self, pairs: Iterable[tuple[str, str]]) -> str:
        """Returns the address with those of a client's default parameters that it does not carry itself."""
        carried = {spelled(name) for name, _ in parse_qsl(urlsplit(self._url).query, keep_blank_values=True)}
        added = tuple((name, value) for name, value in pairs if spelled(name) not in carried)
        return Request("GET", self._url, query=added).full_url

    def options(self) -> dict[str, Any]:
        """Returns how the client is to send: never following redirects, and without its credentials abroad."""
        return _WITH_CREDENTIALS if self._request.credentials else _WITHOUT_CREDENTIALS

    def opens(self, response: Any) -> bool:
        """Takes in the head of a response; tells whether its body may be read at all."""
        self._status = int(response.status_code)
        headers: list[tuple[str, str]] = []
        coding = length = frame = ""
        for raw_name, raw_value in response.headers.raw:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            headers.append((name, value))
            if len(name) == 16 and name.lower() == "content-encoding":
                coding = f"{coding}, {value}".strip(", ").lower()
            elif len(name) == 14 and name.lower() == "content-length":
                length = frame = value
            elif len(name) == 17 and name.lower() == "transfer-encoding":
                frame = value
        self._headers = tuple(headers)
        self._is_framed = bool(frame or response.is_stream_consumed or not response.http_version.startswith("HTTP/1"))
        if coding in ("", "identity"):
            return self._most is None or not length.isdigit() or int(length[:18]) <= self._most
        coded = ("content-encoding", "content-length")
        self._headers = tuple((name, value) for name, value in headers if name.lower() not in coded)
        self._body = Body(coding, self._most)
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
        if isinstance(error, self._lib.TimeoutException | TimeoutError):
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
        target = self._redirect() if self._status in _REDIRECTS else None
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
        if self._redirects >= MAX_REDIRECTS:
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
        """Tells whether an address carries every parameter of the request and no other.

        Without one it answers a wider question, and one more may be a limit, a filter or a place in mid-list.
        """
        return _parameters(target) in (_parameters(self._url), _parameters(self._sent))


def _parameters(url: str) -> list[tuple[str, str]]:
    return sorted(parse_qsl(urlsplit(url).query, keep_blank_values=True))
