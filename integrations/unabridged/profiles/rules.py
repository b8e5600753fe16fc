"""What a profile may not say at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .walks import FanoutWalk, KeyWalk, LinkWalk, OffsetWalk, SingleWalk, TokenWalk

if TYPE_CHECKING:
    from .format import Profile

_OWN_TO_PAGES = (
    "items", "id", "empty_status", "filters", "size", "count", "signals", "caps", "snapshot", "errors", "expired",
    "rate_limit", "item_cuts", "order", "drop_ids", "required", "reference", "cursor",
)  # fmt: skip


def contradiction(profile: Profile) -> str | None:
    """Returns the rule that a profile breaks as a whole, led by the key that breaks it, or nothing."""
    for rule in (_pages, _places, _sizes, _ends, _identity):
        found = rule(profile)
        if found is not None:
            return found
    return None


def _pages(profile: Profile) -> str | None:
    if isinstance(profile.walk, FanoutWalk):
        return None
    if profile.items is None:
        return "items: is required"
    if "id" not in profile.model_fields_set:
        return "id: is required (null when records have no identity)"
    return None


def _places(profile: Profile) -> str | None:
    """Two values in one place of a request would overwrite each other."""
    places: list[tuple[str, str]] = []
    walk = profile.walk
    if isinstance(walk, TokenWalk | KeyWalk | OffsetWalk):
        places.append(walk.send.place)
    if profile.size is not None and profile.size.send is not None:
        places.append(profile.size.send.place)
    places += [send.place for send in profile.filters.values()]
    if len(set(places)) != len(places):
        return "filters: two values are sent in one place"
    bodies = [name for kind, name in places if kind == "body"]
    if any(a != b and b.startswith(f"{a}.") for a in bodies for b in bodies):
        return "filters: a value in the body stands inside another"
    if bodies and isinstance(walk, LinkWalk):
        return "filters: a followed link carries no body"
    return None


def _sizes(profile: Profile) -> str | None:
    size = profile.size
    walk = profile.walk
    if size is not None and size.send is None and size.max is None and size.read is None:
        return "size: must have one of send, max, read"
    if isinstance(walk, SingleWalk) and walk.overfetch is not None:
        if size is None or size.send is None:
            return "walk.overfetch: needs size.send"
        if size.max is not None and walk.overfetch >= size.max:
            return "walk.overfetch: must be below size.max"
    if isinstance(walk, KeyWalk | OffsetWalk) and "short_page" in walk.ends_on and size is None:
        return "walk.ends_on: short_page needs size"
    if isinstance(walk, OffsetWalk) and walk.advance == "requested" and size is None:
        return "walk.advance: requested needs size"
    return None


def _ends(profile: Profile) -> str | None:
    walk = profile.walk
    if isinstance(walk, OffsetWalk) and "total" in walk.ends_on and walk.total is None and profile.count is None:
        return "walk.ends_on: total needs walk.total or count"
    if any(cap.on == "window" for cap in profile.caps) and not isinstance(walk, OffsetWalk):
        return "caps: window belongs to an offset walk"
    return None


def _identity(profile: Profile) -> str | None:
    if profile.id is None and not isinstance(profile.walk, FanoutWalk):
        if profile.drop_ids:
            return "drop_ids: needs an id"
        if profile.duplicates == "expected":
            return "duplicates: needs an id"
    return None
