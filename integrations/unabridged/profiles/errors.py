"""Errors of the format, without the values that were refused, and the features of a later version, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from unabridged.contract.errors import NotYetSupported, ProfileError, printable_name

LATER_WALKS: Final = ("range", "job", "stream", "partition")
_WALKS: Final = ("token", "link", "key", "offset", "single", "fanout")


def refuse_next_issue(data: Mapping[str, Any]) -> None:
    """Refuses what the format knows and this version does not, by name.

    Raises:
        NotYetSupported: naming the walk or the key.
    """
    walk = data.get("walk")
    if isinstance(walk, Mapping):
        by = walk.get("by")
        if isinstance(by, str) and by in LATER_WALKS:
            raise NotYetSupported(feature=f"walk {by}")
        for key in ("first", "carry"):
            if key in walk:
                raise NotYetSupported(feature=key)
        if walk.get("repeated_token") == "progress":
            raise NotYetSupported(feature="progress")
    expired = data.get("expired")
    if isinstance(expired, Sequence) and not isinstance(expired, str):
        for rule in expired:
            if isinstance(rule, Mapping) and rule.get("then") == "restart_once":
                raise NotYetSupported(feature="restart_once")
    if "scope" in data:
        raise NotYetSupported(feature="scope")


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
    elif kind == "union_tag_not_found":
        where, rule = f"{where}.by", "is required"
    elif kind == "union_tag_invalid":
        where, rule = f"{where}.by", f"must be one of {', '.join((*_WALKS, *LATER_WALKS))}"
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
        if n and loc[n - 1] == "walk" and part in _WALKS:
            continue
        parts.append(str(part) if isinstance(part, int) else printable_name(part))
    return ".".join(parts)
