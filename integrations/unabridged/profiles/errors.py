"""Errors of the format, without the values that were refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import ValidationError

from unabridged.contract.errors import ProfileError, printable_name

_WALKS: Final = (
    "token", "link", "key", "offset", "single", "range", "job", "stream", "fanout", "partition",
)  # fmt: skip


def profile_error(error: ValidationError) -> ProfileError:
    """Returns an error that names the first broken key and its rule."""
    details = error.errors(include_url=False, include_input=False)
    unknown = [e for e in details if e["type"] == "extra_forbidden"]
    first = unknown[0] if unknown else details[0]
    where = field_name(first["loc"])
    if unknown:
        return _unknown_keys(unknown)
    kind, message = str(first["type"]), str(first["msg"])
    if kind == "missing":
        rule = "is required"
    elif kind in ("model_type", "dict_type"):
        rule = "must be an object"
    elif kind == "union_tag_not_found":
        where, rule = f"{where}.by", "is required"
    elif kind == "union_tag_invalid":
        where, rule = f"{where}.by", f"must be one of {', '.join(_WALKS)}"
    else:
        rule = message.replace("Input should", "must", 1)
    head, colon, tail = rule.partition(": ")
    if kind == "profile" and colon:
        where, rule = (f"{where}.{head}" if where else head), tail
    return ProfileError(field=where or "profile", rule=rule)


def _unknown_keys(unknown: Sequence[Any]) -> ProfileError:
    named = [e for e in unknown if printable_name(e["loc"][-1]) != "<name>" and "." not in str(e["loc"][-1])]
    if named:
        return ProfileError(field=field_name(named[0]["loc"]), rule="is not a known key")
    parent = field_name(unknown[0]["loc"][:-1])
    return ProfileError(field=parent or "profile", rule=f"holds unknown keys: {len(unknown)}")


def field_name(loc: Sequence[int | str]) -> str:
    """Returns the dotted name of a place; tags of unions are left out, and odd names are not repeated."""
    parts: list[str] = []
    for n, part in enumerate(loc):
        if n and loc[n - 1] in ("walk", "inner") and part in _WALKS:
            continue
        parts.append(str(part) if isinstance(part, int) else printable_name(part))
    return ".".join(parts)
