"""`read` against the loop that it replaces: the same client, the same pages, the records kept."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

import httpx
import httpx2
from unabridged import Budget, Profile, load_profile, read

from .harness import Figure, measure
from .server import served

_PAGES: Final = {100: 100, 1_000: 30}
_BUDGET: Final = {100: 1.10, 1_000: 1.25}
_ROUNDS: Final = 61


def profile(per_page: int) -> Profile:
    """Returns what the local server's responses mean."""
    return load_profile(
        {
            "name": "bench",
            "version": 1,
            "items": "items",
            "id": "id",
            "walk": {
                "by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent"],
                "empty_token": "end", "repeated_token": "anomaly",
            },
            "count": {"path": "total", "kind": "exact"},
            "size": {"send": {"query": "limit"}, "max": per_page},
        }
    )  # fmt: skip


def raw_loop(client: Any, url: str, per_page: int) -> list[Any]:
    """Reads all pages as a tutorial would."""
    found: list[Any] = []
    cursor = None
    while True:
        parameters = {"limit": per_page} if cursor is None else {"limit": per_page, "cursor": cursor}
        response = client.get(url, params=parameters)
        response.raise_for_status()
        page = response.json()
        found.extend(page["items"])
        cursor = page.get("next")
        if not cursor:
            return found


def checked_read(client: Any, url: str, rules: Profile, *, expected: int) -> list[Any]:
    """Reads with the toolkit, and makes sure that it read everything."""
    result = read(rules, "accounts", url=url, client=client, budget=Budget(max_items=None, max_bytes=None))
    if result.status != "complete" or result.returned != expected:
        raise RuntimeError(f"the benchmark's read is {result.status}: {result.codes}")
    return result.require_complete()


def _compared(library: ModuleType, per_page: int) -> Figure:
    pages, rules = _PAGES[per_page], profile(per_page)
    with served(per_page=per_page, pages=pages) as url, library.Client() as client:
        samples = measure(
            {
                "raw": lambda: raw_loop(client, url, per_page),
                "read": lambda: checked_read(client, url, rules, expected=per_page * pages),
            },
            baseline="raw",
            rounds=_ROUNDS,
        )
    raw_us = samples.median_s("raw") / pages * 1e6
    return samples.times(
        "read", what=f"{per_page:,} records a page, {library.__name__}", budget=_BUDGET[per_page],
        note=f"raw loop {raw_us:,.0f} us a page",
    )  # fmt: skip


def run() -> list[Figure]:
    """Measures both page sizes with both clients."""
    return [_compared(library, per_page) for library in (httpx, httpx2) for per_page in _PAGES]
