"""`read`, `aread`, `pages` and `apages`: a read over HTTP, in a thread, on an event loop, whole or page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unabridged.contract.errors import InvalidInput
from unabridged.contract.results import ReadResult
from unabridged.profiles import Profile, load_profile
from unabridged.profiles.combinators import FanoutWalk, PartitionWalk

from .ask import Ask, Chain
from .links import check_url
from .query import Budget, Query
from .requests import Plan, plan_read
from .resume import Resume
from .run import afinish_pages, afinish_read, finish_pages, finish_read, make_ask
from .transport import SystemClock

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from .http import AsyncHttpTransport, HttpTransport

Headers = Mapping[str, str] | Sequence[tuple[str, str]]
REPEATS = 3
IN_FLIGHT = 8
"""Requests at a time."""


@dataclass(frozen=True, slots=True)
class Driving:
    """How a read is driven: what comes out does not depend on it."""

    in_flight: int = IN_FLIGHT
    twice: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.in_flight, bool) or not isinstance(self.in_flight, int) or not 1 <= self.in_flight <= 64:
            raise InvalidInput(field="in_flight", rule="must be a whole number from 1 to 64")
        if not isinstance(self.twice, bool):
            raise InvalidInput(field="double_walk", rule="must be true or false")


def read(
    profile: Profile | str | Mapping[str, Any],
    query: Query | str,
    *,
    url: str | None = None,
    client: Any = None,
    headers: Headers | None = None,
    budget: Budget | None = None,
    in_flight: int = IN_FLIGHT,
    double_walk: bool = False,
    executor: Executor | None = None,
) -> ReadResult:
    """Reads a source until it says that this was all, or until something stops the read, and says which.

    What went wrong at the source is a result, not an error. The result records itself in the session in scope.

    Args:
        profile: a profile, the name of a shipped one, a path or a dict.
        query: what is asked, or a resource name.
        url: the address of the first page. A fan-out's holds `{source}` where each source's name goes.
        client: an `httpx.Client` or `httpx2.Client`; a shared one when not given. A timeout that it was given ends an
            attempt; the 5 s that its library gives to every client do not.
        headers: header fields such as credentials. They go to the URL's origin only.
        budget: what may be spent; `Budget()` when not given. One attempt takes at most 30 s of it.
        in_flight: requests at a time, where sources, parts or pages do not wait for each other. What comes out does
            not depend on it.
        double_walk: walks a second time and compares ids and records; where they are equal, the proof is
            `double_walk`. Costs twice the requests.
        executor: runs the sources of a fan-out: threads, processes or a cluster. Each worker uses its own client.

    Raises:
        InvalidInput: an argument breaks a rule; the error names the field, never the value.
    """
    begun = _start(profile, query, url, headers, budget, Driving(in_flight, double_walk), client)
    if executor is not None:
        from .fleet import read_on

        _check_fleet(begun, client)
        return read_on(executor, begun)
    return finish_read(begun, transport=_transport(client, budget))


async def aread(
    profile: Profile | str | Mapping[str, Any],
    query: Query | str,
    *,
    url: str | None = None,
    client: Any = None,
    headers: Headers | None = None,
    budget: Budget | None = None,
    in_flight: int = IN_FLIGHT,
    double_walk: bool = False,
    executor: Executor | None = None,
) -> ReadResult:
    """As `read`, on an event loop, with an `AsyncClient`."""
    begun = _start(profile, query, url, headers, budget, Driving(in_flight, double_walk), client)
    if executor is not None:
        from .fleet import aread_on

        _check_fleet(begun, client)
        return await aread_on(executor, begun)
    return await afinish_read(begun, transport=_async_transport(client, budget))


def pages(
    profile: Profile | str | Mapping[str, Any],
    query: Query | str,
    *,
    url: str | None = None,
    client: Any = None,
    headers: Headers | None = None,
    budget: Budget | None = None,
    in_flight: int = IN_FLIGHT,
) -> Iterator[ReadResult]:
    """As `read`, one result a page, in constant memory apart from ids.

    Each result is a link of one chain and holds its own page. Every link but the last is partial because more pages
    come. What a page says of itself stays with its link, so the chain is whole where the last link is complete and no
    earlier one has another reason than that more pages come. Breaking off leaves the chain partial.
    """
    begun = _start(profile, query, url, headers, budget, Driving(in_flight), client)
    return finish_pages(begun, transport=_transport(client, budget))


def apages(
    profile: Profile | str | Mapping[str, Any],
    query: Query | str,
    *,
    url: str | None = None,
    client: Any = None,
    headers: Headers | None = None,
    budget: Budget | None = None,
    in_flight: int = IN_FLIGHT,
) -> AsyncIterator[ReadResult]:
    """As `pages`, on an event loop."""
    begun = _start(profile, query, url, headers, budget, Driving(in_flight), client)
    return afinish_pages(begun, transport=_async_transport(client, budget))


def _start(
    profile: Profile | str | Mapping[str, Any],
    query: Query | str,
    url: str | None,
    headers: Headers | None,
    budget: Budget | None,
    driving: Driving | None = None,
    client: Any = None,
) -> Resume:
    """Checks every argument before anything is sent."""
    from .clients import check_defaults
    from .http import BackoffRetries, check_host

    found = load_profile(profile)
    if url is None:
        raise InvalidInput(field="url", rule="is required")
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidInput(field="budget", rule="must be a Budget")
    address = check_url(url.replace("{source}", "source") if isinstance(url, str) else url)
    check_host(address)
    if isinstance(found.walk, FanoutWalk) and len(found.walk.over) > 1 and "{source}" not in url.partition("#")[0]:
        raise InvalidInput(field="url", rule="must hold {source} where a fan-out has several sources")
    how = driving or Driving()
    ask = make_ask(found, query, url=url, clock=SystemClock(), budget=budget or Budget(), headers=headers)
    ask = replace(
        ask, retries=BackoffRetries(), repeats_left=REPEATS, in_flight=how.in_flight, twice=how.twice
    )  # fmt: skip
    for plan in _plans(found, ask):
        check_defaults(client, plan)
    return Resume(ask=ask, chain=Chain())


def _plans(profile: Profile, ask: Ask, source: str | None = None) -> Iterator[Plan]:
    """Yields the plans of a read, so that what could not be sent is refused before anything is."""
    walk = profile.walk
    if isinstance(walk, FanoutWalk):
        yield from _plans(walk.inner, ask, walk.over[0])
    elif isinstance(walk, PartitionWalk):
        send = walk.parts.send
        bounds = ((send.from_, walk.parts.from_), (send.to, walk.parts.to))
        for one in (walk.count, walk.inner):
            yield plan_read(one, ask.query, url=ask.url, headers=ask.headers, source=source, bounds=bounds)
    elif profile is ask.profile:
        yield ask.plan
    else:
        yield plan_read(profile, ask.query, url=ask.url, headers=ask.headers, source=source)


def _check_fleet(begun: Resume, client: Any) -> None:
    """Refuses what cannot be read on an executor."""
    if not isinstance(begun.ask.profile.walk, FanoutWalk):
        raise InvalidInput(field="executor", rule="is for a fan-out; its work units are the sources")
    if client is not None:
        raise InvalidInput(field="client", rule="cannot go along with an executor; each worker uses its own")
    if begun.ask.twice:
        raise InvalidInput(field="double_walk", rule="cannot go along with an executor")


def _transport(client: Any, budget: Budget | None) -> HttpTransport:
    from .http import HttpTransport

    return HttpTransport(client) if _is_bounded(budget) else HttpTransport(client, max_page_bytes=None)


def _async_transport(client: Any, budget: Budget | None) -> AsyncHttpTransport:
    from .http import AsyncHttpTransport

    return AsyncHttpTransport(client) if _is_bounded(budget) else AsyncHttpTransport(client, max_page_bytes=None)


def _is_bounded(budget: Budget | None) -> bool:
    """Whether a page has a limit of bytes: a budget that lifts the limit of the whole read lifts that of a page."""
    return budget is None or budget.max_bytes is not None
