"""Comparing the scopes of reads: which filters cover which.

A read without filters is the widest. A null filter that was sent is a filter (`CONTRACT.md` 4).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

from unabridged.contract import id_key

FilterKey = frozenset[tuple[str, Hashable]]
NO_FILTERS: Final[FilterKey] = frozenset()
_WIDEST_ENUMERATED: Final = 8


class Withheld:
    """Stands for a filter value that was left out of a pickle: it is equal to nothing, so it covers nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<withheld>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Withheld, ())


def filter_key(filters: Mapping[str, Any]) -> FilterKey:
    """Returns filters as a set of pairs that compares as JSON values."""
    if not filters:
        return NO_FILTERS
    return frozenset((name, value if isinstance(value, Withheld) else id_key(value)) for name, value in filters.items())


def covers(wide: FilterKey, narrow: FilterKey) -> bool:
    """Tells whether every record of the scope `narrow` lies in the scope `wide`."""
    return wide <= narrow


def wider_scopes(key: FilterKey, known: Mapping[FilterKey, object]) -> Iterator[FilterKey]:
    """Yields those of the `known` scopes that cover `key`, by the cheaper of two ways."""
    if len(key) <= _WIDEST_ENUMERATED and 2 ** len(key) <= len(known):
        for size in range(len(key) + 1):
            for pairs in combinations(key, size):
                subset = frozenset(pairs)
                if subset in known:
                    yield subset
        return
    yield from (k for k in known if k <= key)
