"""What stands behind a selection, and which part of it a write may touch (`CONTRACT.md` 4)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unabridged.contract import InvalidInput, TicketRefused, id_key
from unabridged.contract.ids import id_key_set

from .scope import FilterKey


@dataclass(frozen=True, slots=True)
class Selected:
    """What a selection stands for, as the guard sees it.

    Attributes:
        read_id: the complete read that the ids were taken from.
        resource: its resource.
        filters: the filters of that read, as they compare in this session.
        ids: the ids that this write touches, all of the selection or some of them.
    """

    read_id: str
    resource: str
    filters: FilterKey = field(repr=False)
    ids: tuple[Any, ...] = field(repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("what a selection stands for cannot be pickled; pass its token")


def chosen_ids(ids: Iterable[Any], known: Iterable[Hashable]) -> list[Any]:
    """Returns ids once each, all of them among the known ones.

    Raises:
        InvalidInput: there are none, one is no id, or one is not known.
    """
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise InvalidInput(field="ids", rule="must be a list of ids")
    chosen: dict[Hashable, Any] = {}
    for value in ids:
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise InvalidInput(field="ids", rule="must hold ids only: texts and numbers")
        chosen[id_key(value)] = value
    if not chosen:
        raise InvalidInput(field="ids", rule="must not be empty; to many tools an empty list means everything")
    if not chosen.keys() <= set(known):
        raise InvalidInput(field="ids", rule="must all be among the ids of the read")
    return list(chosen.values())


def part_of(selected: list[Any], ids: Iterable[Any] | None) -> tuple[Any, ...]:
    """Returns what a write touches of a selection: all of it, or the ids that it names.

    Raises:
        TicketRefused: it names one that the selection does not hold, or none at all, or what it names are no ids.
    """
    if ids is None:
        return tuple(selected)
    if isinstance(ids, str | bytes | Mapping) or not isinstance(ids, Iterable):
        raise TicketRefused
    named = list(ids)
    if not named or not id_key_set(named) <= id_key_set(selected):
        raise TicketRefused
    return tuple(named)
