"""What reading a million records adds to the memory of keeping them, and what a stream adds with its length."""

from __future__ import annotations

from typing import Final

from .children import output_of
from .harness import Figure
from .server import served

_PER_PAGE: Final = 1_000
_MILLION: Final = 1_000
_SHORT: Final = 100
_ADDED_MB: Final = 35.0
_GROWTH_MB: Final = 1.0
_HEAD: Final = """
import sys, tracemalloc, httpx
from benchmarks.reading import profile, raw_loop
from unabridged import Budget, pages, read
url, count = sys.argv[1], int(sys.argv[2])
rules, client = profile(1_000), httpx.Client()
everything = Budget(max_pages=None, max_items=None, max_bytes=None, max_seconds=None)
client.get(url)
tracemalloc.start()
"""
_PEAK: Final = "\nprint(tracemalloc.get_traced_memory()[1] / 1e6)\n"
_RAW: Final = _HEAD + "found = raw_loop(client, url, 1_000)\nassert len(found) == count" + _PEAK
_READ: Final = (
    _HEAD
    + "result = read(rules, 'accounts', url=url, client=client, budget=everything)\n"
    + "assert result.complete and result.returned == count"
    + _PEAK
)
_STREAM: Final = (
    _HEAD
    + "total = sum(page.returned for page in pages(rules, 'accounts', url=url, client=client, budget=everything))\n"
    + "assert total == count"
    + _PEAK
)
_STREAM_RAW: Final = (
    _HEAD
    + """
seen, cursor = set(), None
while True:
    page = client.get(url, params={"limit": 1_000} | ({} if cursor is None else {"cursor": cursor})).json()
    seen.update([item["id"] for item in page["items"]])
    cursor = page.get("next")
    if cursor is None:
        break
assert len(seen) == count"""
    + _PEAK
)


def _peak_mb(program: str, pages: int) -> float:
    with served(per_page=_PER_PAGE, pages=pages, small=True) as url:
        return float(output_of(program, url, str(pages * _PER_PAGE)))


def run() -> list[Figure]:
    """Measures peaks of traced memory; they are exact, so one run of each is enough."""
    kept, raw = _peak_mb(_READ, _MILLION), _peak_mb(_RAW, _MILLION)
    long, short = (_peak_mb(_STREAM, n) - _peak_mb(_STREAM_RAW, n) for n in (_MILLION, _SHORT))
    return [
        Figure(
            what="read, 1M records kept: added to the raw loop", value=kept - raw, unit="MB", budget=_ADDED_MB,
            note=f"peak of the raw loop {raw:,.0f} MB",
        ),
        Figure(
            what="pages, 1M records: added to a raw loop that keeps the ids only", value=long, unit="MB",
            note=f"at 100,000 records {short:.2f} MB",
        ),
        Figure(
            what="pages: growth of that from 100,000 to 1M records", value=long - short, unit="MB", budget=_GROWTH_MB,
        ),
    ]  # fmt: skip
