"""What a profile may not say at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .combinators import FanoutWalk, PartitionWalk
from .walks import KeyWalk, LinkWalk, OffsetWalk, RangeWalk, SingleWalk, TokenWalk

if TYPE_CHECKING:
    from .conditions import Send
    from .format import Profile


def contradiction(profile: Profile) -> str | None:
    """Returns the rule that a profile breaks as a whole, led by the key that breaks it, or nothing."""
    for rule in (_pages, _combined, _text, _places, _sizes, _ends, _identity):
        found = rule(profile)
        if found is not None:
            return found
    return None


def _pages(profile: Profile) -> str | None:
    from .format import CountProfile

    if isinstance(profile.walk, FanoutWalk | PartitionWalk) or _is_text(profile):
        return None
    if isinstance(profile, CountProfile):
        return "count: is required" if profile.count is None else None
    if profile.items is None:
        return "items: is required"
    if "id" not in profile.model_fields_set:
        return "id: is required (null when records have no identity)"
    return None


_OF_PAGES: Final[tuple[str, ...]] = (
    "empty_status", "filters", "size", "count", "signals", "caps", "snapshot", "errors", "expired", "rate_limit",
    "item_cuts", "order", "duplicates", "drop_ids", "required", "reference", "cursor",
)  # fmt: skip


def _combined(profile: Profile) -> str | None:
    """A combinator has no pages of its own: what is said of pages would be heard by nobody."""
    if not isinstance(profile.walk, FanoutWalk | PartitionWalk):
        return None
    said: list[str] = [key for key in _OF_PAGES if key in profile.model_fields_set]
    if isinstance(profile.walk, FanoutWalk):
        said += [key for key in ("visibility", "on_failure") if key in profile.model_fields_set]
    return f"{said[0]}: belongs to the inner profile" if said else None


def _is_text(profile: Profile) -> bool:
    return isinstance(profile.walk, RangeWalk) and profile.walk.is_text


def _text(profile: Profile) -> str | None:
    """A range of bytes or lines is a text: it has no records."""
    if not _is_text(profile):
        return None
    for key in ("items", "id", "size", "count", "caps", "item_cuts", "drop_ids", "required", "reference"):
        if getattr(profile, key) not in (None, ()):
            return f"{key}: belongs to records; a range of bytes or lines is a text"
    return None


def _places(profile: Profile) -> str | None:
    """Two values in one place of a request would overwrite each other."""
    paging = profile.paging
    places = [send.place for send in sends_of(profile)]
    if len(set(places)) != len(places) - len(_opened(profile)):
        return "filters: two values are sent in one place"
    bodies = [name for kind, name in places if kind == "body"]
    if any(a != b and b.startswith(f"{a}.") for a in bodies for b in bodies):
        return "filters: a value in the body stands inside another"
    if bodies and isinstance(paging, LinkWalk):
        return "filters: a followed link carries no body"
    return None


def _opened(profile: Profile) -> set[tuple[str, str]]:
    """Returns where a filter gives the first value of what is carried from then on, such as a point in time.

    In a body alone the carried value takes the filter's place; elsewhere both would be sent.
    """
    walk = profile.paging
    carried = {one.send.place for one in walk.carry} if isinstance(walk, TokenWalk | KeyWalk) else set()
    return {send.place for send in profile.filters.values() if send.body is not None} & carried


def sends_of(profile: Profile) -> list[Send]:
    """Returns every place of a request that the profile itself fills, filters among them."""
    return walk_sends_of(profile) + list(profile.filters.values())


def walk_sends_of(profile: Profile) -> list[Send]:
    """Returns every place of a request that the walk and the page size fill."""
    sends: list[Send] = []
    match profile.paging:
        case TokenWalk() | KeyWalk() as paging:
            sends += [paging.send, *(one.send for one in paging.carry)]
        case OffsetWalk() as paging:
            sends.append(paging.send)
        case RangeWalk(send=send) if send is not None:
            sends += [send.start, send.end]
        case _:
            pass
    if profile.size is not None and profile.size.send is not None:
        sends.append(profile.size.send)
    return sends


def _sizes(profile: Profile) -> str | None:
    size = profile.size
    walk = profile.paging
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
    walk = profile.paging
    if isinstance(walk, OffsetWalk) and "total" in walk.ends_on and walk.total is None and profile.count is None:
        return "walk.ends_on: total needs walk.total or count"
    if any(cap.on == "window" for cap in profile.caps) and not isinstance(walk, OffsetWalk):
        return "caps: window belongs to an offset walk"
    if isinstance(profile.walk, PartitionWalk) and set(_part_places(profile.walk)) & _inner_places(profile.walk):
        return "walk.parts: a value of the inner profile or of the count is sent in the same place"
    if isinstance(profile.walk, PartitionWalk) and _counts_a_page(profile.walk):
        return "walk.count.count: the count of a page says nothing about a part"
    if isinstance(walk, RangeWalk) and walk.validator is not None and profile.snapshot is not None:
        return "snapshot: the validator of a range walk is its snapshot"
    return None


def _counts_a_page(walk: PartitionWalk) -> bool:
    count = walk.count.count
    if count is None or count.kind_from is None:
        return count is not None and count.kind == "page"
    return any(kind == "page" for name, kind in count.kind_from.items() if name != "path")


def _part_places(walk: PartitionWalk) -> list[tuple[str, str]]:
    return [walk.parts.send.from_.place, walk.parts.send.to.place]


def _inner_places(walk: PartitionWalk) -> set[tuple[str, str]]:
    return {send.place for inner in (walk.inner, walk.count) for send in sends_of(inner)}


def _identity(profile: Profile) -> str | None:
    if profile.id is None and not isinstance(profile.walk, FanoutWalk | PartitionWalk):
        if profile.drop_ids:
            return "drop_ids: needs an id"
        if profile.duplicates == "expected":
            return "duplicates: needs an id"
        if isinstance(profile.paging, TokenWalk) and profile.paging.repeated_token == "progress":
            return "walk.repeated_token: progress needs an id"
    return None
