"""Independent pages: which requests of an offset walk will follow, so that they may be in flight together.

The walk decides page by page as ever; a request that was foreseen is only sent earlier. What was foreseen wrongly is
thrown away unread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.profiles.walks import OffsetWalk

from .requests import CannotSend
from .transport import Request
from .walkers import Step

if TYPE_CHECKING:
    from .loop import Loop


class Foresight:
    """The requests of one walk that are known before their turn."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._known: dict[int, Request] = {}

    def request(self, step: Step) -> Request | None:
        """Returns the request of a step where it was foreseen, the same object as then."""
        return self._known.pop(step.offset, None)

    def following(self) -> tuple[Request, ...]:
        """Returns the requests that will follow the present one, as far as a count and the budgets allow.

        Under a limit of requests none is sent ahead: one that was foreseen wrongly would be a request too many.
        """
        loop = self._loop
        walk, step = loop.walk, loop.step
        if not isinstance(walk, OffsetWalk) or loop.seen.pages == 0 or loop.ask.query.intent == "sample":
            return ()
        if loop.spend.budget.max_requests is not None:
            return ()
        total = loop.seen.exact if loop.seen.exact is not None else loop.seen.before
        size = self._size(walk)
        if not size or not total:
            return ()
        stride, last = (1, -(-total // size) - 1) if walk.unit == "page" else (size, total - 1)
        found: list[Request] = []
        for n in range(1, min(loop.ask.in_flight, self._left(size)) + 1):
            offset = step.offset + n * stride
            depth = (offset - walk.origin) * (size if walk.unit == "page" else 1)
            if offset - walk.origin > last or any(c.on == "window" and depth >= c.limit for c in loop.ask.profile.caps):
                break
            request = self._known.get(offset) or self._plan(offset)
            if request is None:
                break
            found.append(request)
        return tuple(found)

    def _plan(self, offset: int) -> Request | None:
        try:
            request = self._loop.plan.request(Step(offset=offset))
        except CannotSend:
            return None
        self._known[offset] = request
        return request

    def _size(self, walk: OffsetWalk) -> int:
        """Returns how far one page reaches, judged by what is known of the pages so far."""
        loop = self._loop
        if walk.unit == "item" and walk.advance == "requested":
            return loop.seen.size_used or loop.plan.size_sent or 0
        return loop.last_raw or 0

    def _left(self, size: int) -> int:
        """Returns how many pages beyond the present request the budgets allow."""
        spend = self._loop.spend
        budget = spend.budget
        left = self._loop.ask.in_flight - 1
        if budget.max_pages is not None:
            left = min(left, budget.max_pages - spend.pages - 1)
        if budget.max_items is not None:
            left = min(left, -(-(budget.max_items - spend.items) // size) - 1)
        return max(0, left)
