"""What a read needs to run, what its chain remembers, and what the loop asks of a driver."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Protocol

from unabridged.contract.ids import new_query_id
from unabridged.contract.results import ReadResult
from unabridged.profiles.conditions import Send as SendTo
from unabridged.profiles.format import Profile

from .observe import Kept
from .query import Budget, Query
from .requests import Plan, plan_read
from .transport import Clock, Request
from .walkers import Step, Stop


class Retries(Protocol):
    """How failed requests are sent again. The number over a read is the budget's `max_retries`."""

    @property
    def waits(self) -> int:
        """How often an announced wait may be waited out for one request."""

    def backoff_s(self, attempt: int) -> float:
        """Returns the seconds to wait before the attempt of this number, from 1."""


@dataclass(frozen=True, slots=True)
class PlainRetries:
    """Resends at once, and waits out one announced wait a request: the rule of replay."""

    waits: int = 1

    def backoff_s(self, attempt: int) -> float:
        """Returns no wait at all."""
        return 0.0


@dataclass(frozen=True)
class Ask:
    """One question with everything that answering it needs, apart from the transport."""

    profile: Profile
    query: Query
    url: str = field(repr=False)
    budget: Budget
    clock: Clock
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    retries: Retries = PlainRetries()
    repeats_left: int = 0
    """How often a read that failed in passing may still be repeated; replay grants none."""
    idle: int = 0
    """How many attempts in a row have brought nothing; after a few, no route offers one more."""
    source: str | None = None
    in_flight: int = 1
    """Requests at a time; in replay one."""
    twice: bool = False
    """Whether the source is walked a second time, to see whether it stood still."""
    bounds: tuple[tuple[SendTo, Any], ...] = field(default=(), repr=False)
    """Values of every request that belong to a part, not to the scope."""
    label: str | None = None
    """The name of the whole, where this is a part of it."""
    query_id: str = field(default_factory=new_query_id)

    @cached_property
    def plan(self) -> Plan:
        """What its requests have in common, made once.

        Raises:
            InvalidInput: the URL, a header, a filter or the page size breaks a rule.
        """
        return plan_read(
            self.profile, self.query, url=self.url, headers=self.headers, source=self.source, bounds=self.bounds
        )

    @property
    def name(self) -> str:
        """The name under which reasons and sources speak of what is read."""
        return self.label or self.source or self.profile.name


@dataclass(frozen=True)
class Chain:
    """What the next link of a chain must know of the earlier ones. Holds cursors and ids, and never shows them."""

    step: Step | None = None
    """Where the next request starts; `None` is the first page."""
    stop: Stop | None = None
    """Why the walk had stopped, when only the rest of a page is left to deliver."""
    rest: tuple[Any, ...] = ()
    """Records that were read but not delivered."""
    sent: frozenset[Hashable] = frozenset()
    seen: frozenset[Hashable] = frozenset()
    raw: int = 0
    across: int = 0
    window: int = 0
    last_raw: int | None = None
    kept: Kept = field(default_factory=Kept)
    read_id: str | None = None
    """The id of the link before."""
    parts: tuple[Any, ...] = ()
    """The parts of a partition that are still to be read."""

    def __repr__(self) -> str:
        return f"<Chain after {self.read_id}>"


@dataclass(slots=True)
class Send:
    """Asks the driver to send a request."""

    request: Final[Request]
    timeout_s: Final[float | None]
    ahead: Final[tuple[Request, ...]] = ()
    """Requests that will follow this one; a driver that has several in flight may send them along."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Asks the driver to wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Emit:
    """Hands out the envelope of one page of a stream; more follow."""

    result: ReadResult


@dataclass(frozen=True, slots=True)
class Gather:
    """Asks the driver to run several readings, at once or one after another, and to return their values in order."""

    readings: tuple[Generator[Any, Any, Any], ...]


Command = Send | Sleep | Emit | Gather


def key_set(keys: Iterable[Hashable]) -> frozenset[Hashable]:
    """Returns keys as a set that no later link can change."""
    return frozenset(keys)
