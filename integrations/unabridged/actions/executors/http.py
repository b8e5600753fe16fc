"""An executor that speaks HTTP to one origin, by routes that an author wrote down, and nothing else.

The model's values fill named places of a route; they choose neither the address, nor the method, nor a header.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from unabridged.actions.executing import Command
from unabridged.actions.failures import ExecutorError
from unabridged.contract import InvalidInput, UnabridgedError
from unabridged.reading.http import BackoffRetries
from unabridged.reading.pinned import Broken, PinnedRequest, PinnedTransport, Unsent, announced_wait_s
from unabridged.reading.transport import Clock, Response, SystemClock

from ._answers import UNREADABLE, document_of, told_of
from ._paths import origin_of
from .credentials import Credential, CredentialUnavailable, Secret
from .routes import Route, check_header, fill, is_word

_log = logging.getLogger("unabridged.actions")


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What a provider answered, for the protected hook and nobody else.

    Attributes:
        action: the action's name.
        code: the code that the agent is told.
        status: the HTTP status; nothing where none came.
        body: the body. It may hold anything.
    """

    action: str
    code: str
    status: int | None
    body: bytes = field(default=b"", repr=False)


class HttpExecutor:
    """Sends each command to one origin, by the route of its action.

    No redirect is followed: an answer that redirects is a failure. Nothing of the environment counts, neither proxies
    nor netrc. TLS is verified. The credential is asked for when the request stands, and put into its head last.

    Args of the constructor:
        origin: such as `https://api.example.org`. Plain HTTP is for this machine only, unless `plain_http`.
        routes: a `Route` for each action, by its name.
        credential: a provider, or nothing where the provider asks for none.
        scheme: what stands before the credential in its header; `None` where it stands alone.
        header: the header that carries the credential.
        headers: further headers, the same in each request; none that carries a credential or says where it goes.
        timeout_s: how long a command may take, with all its attempts.
        attempts: how often at most a route with an idempotency header is tried.
        max_bytes: how long an answer may be.
        ca_file: certificates to trust instead of the usual ones.
        plain_http: whether another machine may be spoken to without TLS.
        per_target: false where one request takes all targets, by a place called `targets`.
        diagnostics: a hook that is given what the provider answered when a command fails. Keep what it writes safe.
        clock: the time.

    Raises:
        InvalidInput: an argument breaks its rule.
    """

    kind: Final = "http"

    def __init__(
        self,
        *,
        origin: str,
        routes: Mapping[str, Route],
        credential: Credential | None = None,
        scheme: str | None = "Bearer",
        header: str = "Authorization",
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
        attempts: int = 3,
        max_bytes: int = 1024 * 1024,
        ca_file: str | None = None,
        plain_http: bool = False,
        per_target: bool = True,
        diagnostics: Callable[[RawAnswer], Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._origin = origin_of(origin, plain_http=plain_http)
        if not routes or not all(isinstance(route, Route) for route in routes.values()):
            raise InvalidInput(field="routes", rule="must be a Route for each action")
        if not 0 < timeout_s <= 3600 or not 1 <= attempts <= 10 or max_bytes < 1:
            raise InvalidInput(field="timeout_s", rule="must be up to 3,600 s, with 1 to 10 attempts and a size")
        if credential is not None and not callable(getattr(credential, "take", None)):
            raise InvalidInput(field="credential", rule="must be a provider, such as FromFile(path)")
        if scheme is not None and not (scheme and is_word(scheme)):
            raise InvalidInput(field="scheme", rule="must be one word, such as Bearer")
        if header.lower() != "authorization":
            check_header(header, "header")
        self.per_target = per_target
        self._headers = _fixed(headers or {}, header)
        self._routes = dict(routes)
        self._credential = credential
        self._scheme = scheme
        self._header = header
        self._timeout_s = timeout_s
        self._attempts = attempts
        self._diagnostics = diagnostics
        self._clock = clock or SystemClock()
        self._transport = PinnedTransport(ca_file=ca_file, max_bytes=max_bytes)

    def __repr__(self) -> str:
        return f"<HttpExecutor {self.__dict__.get('_origin', '')}>"

    def __deepcopy__(self, _: Any) -> HttpExecutor:
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise InvalidInput(field="executor", rule="is never pickled: make it in the process that uses it")

    @property
    def origin(self) -> str:
        """Where requests go."""
        return str(self._origin)

    @property
    def idempotent(self) -> bool:
        """Whether two commands of one key have the effect of one: each route only reads, or carries the key."""
        return all(r.method == "GET" or r.idempotency_header is not None for r in self._routes.values())

    def execute(self, command: Command) -> Any:
        """Returns the JSON document of the answer; nothing where it is empty.

        Raises:
            ExecutorError: with a code of the closed set, and whether the effect may be there all the same.
        """
        steps = self._steps(command)
        reply: Any = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return _given(end.value)
            if isinstance(step, float):
                self._clock.sleep(step)
            else:
                reply = self._sent(step)

    async def aexecute(self, command: Command) -> Any:
        """As `execute`, on an event loop. Of a command that is cancelled it is not known whether it was carried out."""
        steps = self._steps(command)
        reply: Any = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return _given(end.value)
            if isinstance(step, float):
                await self._clock.asleep(step)
            else:
                reply = await self._asent(step)

    def _sent(self, step: tuple[PinnedRequest, float]) -> Any:
        try:
            return self._transport.send(step[0], timeout_s=step[1])
        except UnabridgedError as error:
            return _unattached(error)
        except Broken:
            return None

    async def _asent(self, step: tuple[PinnedRequest, float]) -> Any:
        try:
            return await self._transport.send_async(step[0], timeout_s=step[1])
        except UnabridgedError as error:
            return _unattached(error)
        except Broken:
            return None

    def _steps(self, command: Command) -> Generator[Any, Any, Any]:
        """Yields requests with their seconds, and waits in seconds; returns a document or an `ExecutorError`."""
        route = self._routes.get(command.action)
        request = None if route is None else self._request(route, command)
        if route is None or request is None:
            return ExecutorError(code="internal")
        end = self._clock.monotonic() + self._timeout_s
        left, attempt = self._timeout_s, 1
        while True:
            reply = yield request, left
            wait = self._wait_s(route, reply, attempt)
            left = end - self._clock.monotonic() - (wait or 0.0)
            if wait is None or attempt >= self._attempts or left <= 0:
                return self._outcome(command.action, route, reply)
            yield float(wait)
            left = end - self._clock.monotonic()
            attempt += 1

    def _wait_s(self, route: Route, reply: Any, attempt: int) -> float | None:
        """Returns how long to wait before the next attempt; nothing where there must be none."""
        if route.idempotency_header is None or not isinstance(reply, Response) or reply.status not in (429, 503):
            return None
        wait = announced_wait_s(reply.headers, now=self._clock.now())
        if wait is not None or reply.status == 503:
            return wait
        return BackoffRetries().backoff_s(attempt)

    def _outcome(self, action: str, route: Route, reply: Any) -> Any:
        body, status = getattr(reply, "body", b""), getattr(reply, "status", None)
        if isinstance(reply, Response) and 200 <= reply.status < 300:
            document = document_of(reply.body)
            if document is not UNREADABLE:
                return document
        code, may = told_of(route, reply)
        self._tell(RawAnswer(action, code, status, body))
        return ExecutorError(code=code, may_have_happened=may)

    def _tell(self, raw: RawAnswer) -> None:
        if self._diagnostics is None:
            return
        try:
            self._diagnostics(raw)
        except Exception as fault:  # noqa: BLE001 - a hook that fails must not change what the agent is told
            _log.error("the diagnostics hook failed with %s", type(fault).__name__)

    def _request(self, route: Route, command: Command) -> PinnedRequest | None:
        filled = fill(route, command)
        if filled is None:
            _log.error("a command does not fit its route: a field has no place there, or may not stand in it")
            return None
        headers = tuple({**self._headers, **filled.headers}.items())
        return PinnedRequest(route.method, self.origin, filled.path, headers, filled.body, self._attach())

    def _attach(self) -> Callable[[MutableMapping[str, str]], None] | None:
        credential, header, scheme = self._credential, self._header, self._scheme
        if credential is None:
            return None

        def attach(headers: MutableMapping[str, str]) -> None:
            secret = _secret_of(credential)
            headers[header] = f"{scheme} {secret.reveal()}" if scheme else secret.reveal()

        return attach


def _secret_of(credential: Credential) -> Secret:
    secret: Any = None
    try:
        secret = credential.take()
    except UnabridgedError:
        raise
    except Exception:  # noqa: BLE001 - a provider of the caller may raise anything, and may quote the value
        secret = None
    if not isinstance(secret, Secret):
        raise CredentialUnavailable(rule="cannot be had: its provider failed")
    return secret


def _unattached(error: UnabridgedError) -> Unsent:
    """Notes for the operator why the credential could not be attached; nothing was sent."""
    _log.error("an executor has no credential: %s", error)
    return Unsent(is_ours=True)


def _fixed(headers: Mapping[str, str], credential: str) -> dict[str, str]:
    for name, value in headers.items():
        check_header(name, "headers")
        if name.lower() == credential.lower() or not value.isascii() or not value.isprintable():
            raise InvalidInput(field="headers", rule="must be printable, and none that carries the credential")
    return dict(headers)


def _given(end: Any) -> Any:
    """Returns a document, and raises what is an error: from a frame that holds no value of the command."""
    if isinstance(end, ExecutorError):
        raise end
    return end
