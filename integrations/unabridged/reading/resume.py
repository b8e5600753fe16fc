"""How a read goes on from where it stopped. A resume knows cursors, ids and headers; it never shows them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from unabridged.contract.errors import InvalidInput
from unabridged.contract.results import ReadResult

from .ask import Ask, Chain
from .query import Budget
from .transport import AsyncTransport, Clock, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Resume:
    """The way on from one result. It can be taken more than once; each time it starts from the same place."""

    ask: Ask = field(repr=False)
    chain: Chain = field(repr=False)
    parts: tuple[tuple[str, ReadResult], ...] = field(default=(), repr=False)
    """The outcomes of a fan-out's sources, each with a resume of its own where it has one."""
    kind: Literal["chain", "fresh"] = "chain"
    """`chain`: the next link of the same read; `fresh`: a new read, merged with nothing."""
    transport: Transport | None = field(default=None, repr=False)
    async_transport: AsyncTransport | None = field(default=None, repr=False)

    def read(
        self, *, budget: Budget | None = None, transport: Transport | None = None, clock: Clock | None = None
    ) -> ReadResult:
        """Reads on and returns the next link.

        Args:
            budget: a budget of the new link; the earlier one's limits, afresh, when not given.
            transport: another transport than the earlier read's.
            clock: another clock.

        Raises:
            InvalidInput: the earlier read ran on an event loop and no transport is given.
        """
        from .run import finish_read

        way = transport or self.transport
        if way is None:
            raise InvalidInput(field="transport", rule="must be given; the earlier read ran on an event loop")
        return finish_read(self._with(budget, clock), transport=way)

    async def aread(
        self, *, budget: Budget | None = None, transport: AsyncTransport | None = None, clock: Clock | None = None
    ) -> ReadResult:
        """As `read`, on an event loop; an earlier read that was synchronous goes on in a thread."""
        from .run import afinish_read

        way = transport or self.async_transport
        if way is None:
            return await asyncio.to_thread(self.read, budget=budget, clock=clock)
        return await afinish_read(self._with(budget, clock), transport=way)

    def pages(self, *, transport: Transport | None = None) -> Iterator[ReadResult]:
        """Reads on, one result a page.

        Raises:
            InvalidInput: the earlier read ran on an event loop and no transport is given.
        """
        from .run import finish_pages

        way = transport or self.transport
        if way is None:
            raise InvalidInput(field="transport", rule="must be given; the earlier read ran on an event loop")
        return finish_pages(self, transport=way)

    def _with(self, budget: Budget | None, clock: Clock | None) -> Resume:
        ask = replace(self.ask, budget=budget or self.ask.budget, clock=clock or self.ask.clock)
        return replace(self, ask=ask)
