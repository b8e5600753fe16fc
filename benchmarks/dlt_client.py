"""`read` against the client of a toolkit for the same job: dlt's `RESTClient.paginate`."""

from __future__ import annotations

from typing import Any, Final

import httpx
from dlt.sources.helpers.rest_client.client import RESTClient
from dlt.sources.helpers.rest_client.paginators import JSONResponseCursorPaginator

from .harness import Figure, measure
from .reading import checked_read, profile, raw_loop
from .server import served

_PAGES: Final = {100: 60, 1_000: 20}
_ROUNDS: Final = 41


def dlt_loop(url: str, per_page: int) -> list[Any]:
    """Reads all pages with dlt."""
    base, _, path = url.rpartition("/")
    paginator = JSONResponseCursorPaginator(cursor_path="next", cursor_param="cursor")
    client = RESTClient(base_url=base, paginator=paginator, data_selector="items")
    found: list[Any] = []
    for page in client.paginate(path, params={"limit": per_page}):
        found.extend(page)
    return found


def run() -> list[Figure]:
    """Measures how much less CPU time a read takes, at both page sizes."""
    figures = []
    for per_page, pages in _PAGES.items():
        rules, expected = profile(per_page), per_page * pages
        with served(per_page=per_page, pages=pages) as url, httpx.Client() as client:
            if len(dlt_loop(url, per_page)) != expected:
                raise RuntimeError("dlt did not read everything")
            samples = measure(
                {
                    "read": lambda: checked_read(client, url, rules, expected=expected),  # noqa: B023 - runs in the block
                    "dlt": lambda: dlt_loop(url, per_page),  # noqa: B023 - runs in the block
                    "raw": lambda: raw_loop(client, url, per_page),  # noqa: B023 - runs in the block
                },
                baseline="read",
                rounds=_ROUNDS,
            )
        note = f"dlt {samples.ratio('dlt', over='raw'):.2f}x the raw loop"
        figures.append(
            samples.times(
                "dlt", what=f"{per_page:,} records a page, dlt over read", budget=2.0, at_least=True, note=note
            )
        )
    return figures
