"""Arguments of a call that say how much of a list is asked for, and from where on; they are known by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SIZES: Final = (
    "limit", "page_size", "per_page", "size", "top_k", "k", "max_results", "max_items", "max_records", "num_results",
    "pageSize", "perPage", "topK", "maxResults", "maxItems",
)  # fmt: skip
PLACES: Final = (
    "cursor", "page_token", "offset", "page", "skip", "page_number", "next_token", "pageToken", "pageNumber",
    "nextToken", "nextPageToken", "startAt",
)  # fmt: skip
_PAGES: Final = ("page", "page_number", "pageNumber")


def size_in(args: Mapping[str, Any]) -> int | None:
    """Returns how many records a call asked for, where it said so."""
    for name in SIZES:
        value = args.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def is_from_the_start(args: Mapping[str, Any], *, origin: int | None = None) -> bool:
    """Tells whether a call asked for the first page. What ends at a later one is not the whole.

    Args:
        args: the arguments of the call.
        origin: the number of the first page or record, where it is known.
    """
    for name in PLACES:
        value = args.get(name)
        if value is None or value == "":
            continue
        starts = (0, 1) if origin is None and name in _PAGES else (origin or 0,)
        if str(value) not in map(str, starts) or isinstance(value, bool):
            return False
    return True
