"""Arguments of a call that say how much of a list is asked for, and from where on; they are known by their names.

A name is known in every spelling: `page_size`, `pageSize`, `PageSize` and `page-size` are one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, Final

SIZES: Final = (
    "limit", "page_size", "per_page", "size", "top_k", "k", "max_results", "max_items", "max_records", "max_rows",
    "max_count", "num_results", "num_records", "num_items", "num_rows", "page_limit", "result_limit", "record_limit",
    "row_limit", "item_limit", "items_per_page", "results_per_page", "records_per_page", "rows_per_page",
)  # fmt: skip
PLACES: Final = (
    "cursor", "page_token", "offset", "page", "skip", "page_number", "page_no", "page_num", "page_index", "page_cursor",
    "page_offset", "next_token", "next_page_token", "next_page", "next_cursor", "after_cursor", "before_cursor",
    "start_cursor", "end_cursor", "continuation_token", "continuation", "start_index", "start_row", "start_offset",
    "row_offset", "first_result", "starting_after", "ending_before", "skip_token", "scroll_id", "pageToken",
    "pageNumber", "nextToken", "nextPageToken", "startAt",
)  # fmt: skip
_START_AT: Final = "startAt"
"""A place in this spelling alone, and where it is no date: elsewhere `start_at` is a time."""
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_DIGITS: Final = 18


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


_SIZES: Final = frozenset(map(_plain, SIZES))
_PLACES: Final = frozenset(_plain(name) for name in PLACES if name != _START_AT)
_PAGES: Final = frozenset(map(_plain, ("page", "page_number", "page_no", "page_num")))
"""Numbers of pages: the first is 0 or 1. An index begins at 0."""


def is_size(name: str) -> bool:
    """Tells whether an argument of this name says how much is asked for."""
    return _plain(name) in _SIZES


def is_place(name: str, value: Any = None) -> bool:
    """Tells whether an argument of this name, with this value, says from where on is asked."""
    return not _is_date(value) if name == _START_AT else _plain(name) in _PLACES


def _is_date(value: Any) -> bool:
    return isinstance(value, date) or (isinstance(value, str) and _DATE.match(value) is not None)


def paging_in(args: Mapping[str, Any]) -> dict[str, Any]:
    """Returns those of the arguments that say how much is asked for, and from where on."""
    return {name: value for name, value in args.items() if is_size(name) or is_place(name, value)}


def size_in(args: Mapping[str, Any]) -> int | None:
    """Returns how many records a call asked for at most, where it said so; the least of several sizes."""
    return min(filter(None, map(_size, _sizes(args))), default=None)


def _sizes(args: Mapping[str, Any]) -> list[Any]:
    return [value for name, value in args.items() if is_size(name) and value not in (None, "")]


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
    for name, value in args.items():
        if not is_place(name, value) or value is None or value == "":
            continue
        starts = (0, 1) if origin is None and _plain(name) in _PAGES else (origin or 0,)
        if str(value) not in map(str, starts) or isinstance(value, bool):
            return False
    return True
