"""What a read has spent of its budget. One is shared by the sources of a fan-out."""

from __future__ import annotations

from dataclasses import dataclass

from unabridged.contract.codes import ReasonCode
from unabridged.contract.parts import BudgetSpent

from .query import Budget
from .transport import Clock


@dataclass(slots=True)
class Spend:
    """A running account. Limits stop the next request; they never take back a page that arrived."""

    budget: Budget
    clock: Clock
    started: float
    pages: int = 0
    items: int = 0
    """Records that envelopes of this read hold: those delivered, and those of readings that go on."""
    in_flight: int = 0
    """Pages that were asked for and have not arrived; each counts as a page, so that the limit is exact."""
    requests: int = 0
    size_bytes: int = 0
    retries: int = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the read began."""
        return self.clock.monotonic() - self.started

    @property
    def remaining_s(self) -> float | None:
        """Seconds left of a stated time budget."""
        return None if self.budget.max_seconds is None else self.budget.max_seconds - self.elapsed_s

    @property
    def most_items(self) -> int | None:
        """Records that may still be delivered."""
        return None if self.budget.max_items is None else max(0, self.budget.max_items - self.items)

    def exhausted(self, *, own: int = 0) -> tuple[tuple[ReasonCode, str, int | None], ...]:
        """Returns every exhausted budget: code, detail and limit.

        Args:
            own: the pages in flight that belong to whoever asks.
        """
        budget = self.budget
        found: list[tuple[ReasonCode, str, int | None]] = []
        if budget.max_pages is not None and self.pages + self.in_flight - own >= budget.max_pages:
            found.append(("CLIENT_LIMIT_REACHED", "max_pages", budget.max_pages))
        if budget.max_items is not None and self.items >= budget.max_items:
            found.append(("CLIENT_LIMIT_REACHED", "max_items", budget.max_items))
        if budget.max_requests is not None and self.requests >= budget.max_requests:
            found.append(("CLIENT_LIMIT_REACHED", "max_requests", budget.max_requests))
        if budget.max_bytes is not None and self.size_bytes >= budget.max_bytes:
            found.append(("CLIENT_LIMIT_REACHED", "max_bytes", budget.max_bytes))
        if budget.max_seconds is not None and self.elapsed_s >= budget.max_seconds:
            found.append(("TIME_BUDGET_EXCEEDED", "max_seconds", None))
        return tuple(found)

    def may_resend(self) -> bool:
        """Tells whether the budget allows the same request once more."""
        budget = self.budget
        if budget.max_requests is not None and self.requests >= budget.max_requests:
            return False
        return budget.max_seconds is None or self.elapsed_s < budget.max_seconds

    def spent(self) -> BudgetSpent:
        """Returns the limits and the time spent, for the header of the read."""
        budget = self.budget
        return BudgetSpent(
            max_pages=budget.max_pages,
            max_items=budget.max_items,
            max_requests=budget.max_requests,
            max_bytes=budget.max_bytes,
            max_seconds=budget.max_seconds,
            spent_seconds=round(self.elapsed_s, 6),
        )
