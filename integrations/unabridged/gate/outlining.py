"""What may be known of a value where the value itself must not go: its type, its size, the names in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from unabridged.contract import printable_name

DEEP: Final = 6
LISTED: Final = 50
"""How many entries of a list or an object are told of."""


class Redacted(Exception):
    """Stands for an error whose text a tracer must not learn. Its own text is the name of the kind."""


def outline(value: Any, *, depth: int = 0) -> Any:
    """Returns what may be known of a value: its type and size, and of what holds others their outlines by name.

    A key that does not look like a name is counted, not repeated.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str | bytes):
        return f"<{type(value).__name__} of {len(value)}>"
    if isinstance(value, Mapping) and depth < DEEP:
        named = {k: v for k, v in list(value.items())[:LISTED] if isinstance(k, str) and printable_name(k) == k}
        told = {k: outline(v, depth=depth + 1) for k, v in named.items()}
        unnamed = len(value) - len(named)
        return {**told, "<unnamed>": unnamed} if unnamed else told
    if isinstance(value, list | tuple) and depth < DEEP:
        return [outline(each, depth=depth + 1) for each in value[:LISTED]]
    size = f" of {len(value)}" if isinstance(value, Mapping | Sequence | set | frozenset) else ""
    return f"<{printable_name(type(value).__name__)}{size}>"
