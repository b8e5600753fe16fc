"""Where a walk stands, as JSON. Only a cursor that its service calls resumable is ever written down."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from unabridged.profiles.format import Profile
from unabridged.profiles.paths import MISSING
from unabridged.reading.ask import Chain
from unabridged.reading.observe import Kept
from unabridged.reading.walkers import Counted, Step

if TYPE_CHECKING:
    from unabridged.reading.loop import Loop

PAGED: Final = frozenset({"token", "link", "key", "offset"})
"""The walks whose place is one value between two pages."""
_NUMBERS: Final = ("raw", "across", "window", "last_raw")


class CannotKeep(Exception):
    """A place holds what JSON cannot hold, or what this version does not know. Carries nothing of it."""


def is_resumable(profile: Profile) -> bool:
    """Tells whether the service allows a cursor to outlive its session, and the walk has one."""
    return profile.cursor is not None and profile.cursor.resumable and profile.walk.by in PAGED


def place_of(loop: Loop, rest: Iterable[Any] = ()) -> dict[str, Any] | None:
    """Returns where a loop would go on, as JSON; nothing where that cannot be written down.

    Args:
        loop: a loop at rest between two pages.
        rest: records that were read and not delivered.
    """
    try:
        return {
            "step": _to_json(loop.step),
            "kept": _to_json(loop.seen.kept),
            "raw": loop.collector.raw,
            "across": loop.collector.across,
            "window": loop.window,
            "last_raw": loop.last_raw,
            "read_id": loop.read_id,
            "rest": list(rest),
        }
    except CannotKeep:
        return None


def chain_at(place: Mapping[str, Any], *, seen: Iterable[Hashable]) -> Chain:
    """Returns the chain that goes on at a place.

    Args:
        place: what `place_of` returned.
        seen: the keys of the records that the earlier run has saved.

    Raises:
        CannotKeep: it is no place of this version.
    """
    try:
        step = Step(**_from_json(place["step"]))
        kept = Kept(**_from_json(place["kept"]))
        numbers = {name: place[name] for name in _NUMBERS}
        rest = tuple(place["rest"])
        return Chain(step=step, kept=kept, seen=frozenset(seen), rest=rest, read_id=place["read_id"], **numbers)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CannotKeep from None


def _to_json(part: Step | Kept) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in fields(part):
        value = getattr(part, one.name)
        match value:
            case Counted(value=number, kind=kind):
                found[one.name] = {"counted": [number, kind]}
            case tuple():
                found[one.name] = {"each": [_plain(part) for part in value]}
            case _:
                if value is not MISSING:
                    found[one.name] = {"is": _plain(value)}
    return found


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {name: _plain(one) for name, one in value.items()}
    raise CannotKeep


def _from_json(found: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in found.items():
        match value:
            case {"counted": [number, kind]}:
                read[name] = Counted(value=number, kind=kind)
            case {"each": [*parts]}:
                read[name] = tuple(parts)
            case _:
                read[name] = value["is"]
    return read
