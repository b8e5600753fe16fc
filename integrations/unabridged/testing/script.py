"""A transport that answers from a script and checks what it is asked. Nothing touches the network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from unabridged.contract import UnabridgedError
from unabridged.reading import Fault, Request, Response

from .clock import VirtualClock
from .exchanges import Exchange, parse
from .matching import request_differences


class ScriptExhausted(UnabridgedError):
    """One request more was sent than the script holds."""

    def __init__(self, *, sent: int) -> None:
        super().__init__(sent=sent)

    def _message(self, **fields: Any) -> str:
        return f"request {fields['sent']} is one more than the script holds; script it, or set repeat_last"


MOST_REPEATS: Final = 10_000
"""How often a last exchange is repeated."""


class ScriptedTransport:
    """Serves exchanges in order, one request in flight, and moves a virtual clock by their delays.

    Wrong requests do not stop a read: they are collected in `problems`, so that one run shows all of them. One
    request more than scripted raises, since no answer to it would be honest.

    Args:
        exchanges: what is answered, in order; dicts of the case format are taken too.
        clock: is moved by each exchange's `delay_s`.
        sources: for a fan-out, the exchanges of each source by its name.
        repeat_last: whether the last exchange answers every further request, up to `MOST_REPEATS` of them: a read
            that goes on without an end is told instead of waited for.
    """

    def __init__(
        self,
        exchanges: Iterable[Exchange | Mapping[str, Any]] = (),
        *,
        clock: VirtualClock | None = None,
        sources: Mapping[str, Iterable[Exchange | Mapping[str, Any]]] | None = None,
        repeat_last: bool = False,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.requests: list[Request] = []
        """Every request that was sent."""
        self.problems: list[str] = []
        """How requests differed from what the script expects."""
        self._repeat_last = repeat_last
        self._scripts: dict[str | None, list[Exchange]] = {None: _checked(exchanges)}
        self._scripts.update({name: _checked(script) for name, script in (sources or {}).items()})
        self._served: dict[str | None, int] = {}

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Answers from the script. The page that a script holds always arrives, whatever `timeout_s` is.

        Raises:
            ScriptExhausted: the script holds no further exchange.
        """
        self.requests.append(request)
        exchange = self._next(request.source)
        if exchange.expect_request is not None:
            number = len(self.requests)
            found = request_differences(exchange.expect_request, request)
            self.problems += [f"request {number}: {difference}" for difference in found]
        self.clock.advance(exchange.delay_s)
        if exchange.fault is not None:
            return Fault(exchange.fault, body=exchange.body_bytes)
        return Response(status=exchange.status or 200, headers=exchange.header_fields, body=exchange.body_bytes)

    def as_async(self) -> AsyncScriptedTransport:
        """Returns the same script for an event loop."""
        return AsyncScriptedTransport(self)

    def _next(self, source: str | None) -> Exchange:
        name = source if source in self._scripts else None
        script, served = self._scripts[name], self._served.get(name, 0)
        self._served[name] = served + 1
        if served < len(script):
            return script[served]
        if script and self._repeat_last and served < len(script) + MOST_REPEATS:
            return script[-1]
        self.problems.append(f"request {len(self.requests)}: one more than the script holds")
        raise ScriptExhausted(sent=len(self.requests))


class AsyncScriptedTransport:
    """A `ScriptedTransport` for an event loop."""

    def __init__(self, script: ScriptedTransport) -> None:
        self.script = script

    async def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """As `ScriptedTransport.send`."""
        return self.script.send(request, timeout_s=timeout_s)


def _checked(script: Iterable[Exchange | Mapping[str, Any]]) -> list[Exchange]:
    return [
        one if isinstance(one, Exchange) else parse(Exchange, one, field=f"exchanges[{n}]")
        for n, one in enumerate(script)
    ]
