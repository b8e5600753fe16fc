"""Comparing the scopes of reads: which filters cover which.

A read without filters is the widest. A null filter that was sent is a filter (`CONTRACT.md` 4).
"""

from __future__ import annotations

import hmac
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


class Digest(str):
    """Stands for a filter value where none may be written down. Equal for values that are equal as JSON."""

    __slots__ = ("parts",)
    parts: tuple[Digest, ...] | None
    """For a list the digests of what it holds, where a lookup asked for it."""

    def __new__(cls, text: str, parts: tuple[Digest, ...] | None = None) -> Digest:
        digest = super().__new__(cls, text)
        digest.parts = parts
        return digest

    def __repr__(self) -> str:
        return "<digest>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Withheld, ())


class Mask:
    """Puts a keyed digest in the place of a value, so that scopes compare and tell nothing.

    Values of small domains are common (a status, an owner), hence the key: a plain hash could be looked up.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __call__(self, value: Any, *, parts: bool = False) -> Digest | Withheld:
        """Returns the digest of a value; what is a digest already stays as it is.

        Args:
            value: the value.
            parts: whether what a list holds is told apart.
        """
        if isinstance(value, Digest | Withheld):
            return value
        told = tuple([self.key(id_key(v)) for v in value]) if parts and isinstance(value, list | tuple) else None
        return Digest(self.key(id_key(value)), told)

    def key(self, key: Hashable) -> Digest:
        """Returns the digest of a value that is given as its key (`id_key`)."""
        if isinstance(key, Digest):
            return key
        if isinstance(key, float) and key.is_integer():
            key = int(key)
        return Digest(hmac.digest(self._key, repr(key).encode("utf-8", "surrogatepass"), "sha256")[:16].hex())

    def scope(self, key: FilterKey) -> FilterKey:
        """Returns the scope of filters in the form in which it compares with masked ones."""
        return frozenset([(name, value if isinstance(value, Withheld) else self.key(value)) for name, value in key])

    def __repr__(self) -> str:
        return "<mask>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a mask cannot be pickled: it holds a key")


def filter_key(filters: Mapping[str, Any]) -> FilterKey:
    """Returns filters as a set of pairs that compares as JSON values."""
    if not filters:
        return NO_FILTERS
    return frozenset(
        (name, value if isinstance(value, Withheld | Digest) else id_key(value)) for name, value in filters.items()
    )


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
