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
_DIGITS: Final = 18
_PAGES: Final = ("page", "page_number", "pageNumber")


def size_in(args: Mapping[str, Any]) -> int | None:
    """Returns how many records a call asked for at most, where it said so; the least of several sizes."""
    return min(filter(None, map(_size, _sizes(args))), default=None)


def _sizes(args: Mapping[str, Any]) -> list[Any]:
    return [args[name] for name in SIZES if args.get(name) not in (None, "")]


def _size(value: Any) -> int | None:
    """Returns a size as a number above 0; nothing for what is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1 or value <= 0:
        return None
    return int(value)


def may_be_all(args: Mapping[str, Any], *, origin: int | None = None) -> bool:
    """Tells whether what a call asked for may be the whole: it begins at the first page, and each size is a number.

    What ends at a later page is not the whole. A size of 0 asks for nothing, and of what is no number above 0 nobody
    knows how much it asks for.

    Args:
        args: the arguments of the call.
        origin: the number of the first page or record, where it is known.
    """
    if None in map(_size, _sizes(args)):
        return False
    for name in PLACES:
        value = args.get(name)
        if value is None or value == "":
            continue
        starts = (0, 1) if origin is None and name in _PAGES else (origin or 0,)
        if str(value) not in map(str, starts) or isinstance(value, bool):
            return False
    return True
