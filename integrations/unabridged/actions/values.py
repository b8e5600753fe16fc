"""Values as JSON: what a caller gives on the way in, what a validated model holds on the way out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from unabridged.audit.canonical import canonical

_DEEPEST: Final = 32
_MOST_INTEGER: Final = 2**63
_EXACT: Final = 2.0**53
_TEXTUAL: Final = (date, datetime, time, timedelta, UUID, Decimal)
NO_JSON: Final = {"<no json>": True}
"""Stands for what has no JSON form where that may pass unseen: no declared field but an object takes it."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a value has no place in a request; nothing of the value."""

    rule: str


def as_json(value: Any, *, lenient: bool = False, depth: int = 0) -> Any:
    """Returns a value as JSON values, or `Unfit`. Nothing is coerced: whole floats alone become integers, as in JSON.

    Args:
        value: JSON values, and what Python has in their place: dates, UUIDs, decimals, enums, tuples, sets, models.
        lenient: puts `NO_JSON` in the place of what has no JSON form.
        depth: how deep it stands.
    """
    if depth > _DEEPEST:
        return Unfit("must not be nested that deep")
    if value is None or value is True or value is False:
        return value
    if isinstance(value, Enum):
        return as_json(value.value, lenient=lenient, depth=depth + 1)
    found = _scalar(value)
    if found is not NO_JSON:
        return found
    if isinstance(value, BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields if name in value.model_fields_set}
    if isinstance(value, Mapping):
        return _object(value, lenient=lenient, depth=depth)
    if isinstance(value, list | tuple | set | frozenset):
        return _array(value, lenient=lenient, depth=depth)
    return NO_JSON if lenient else Unfit("must be made of JSON values")


def _scalar(value: Any) -> Any:
    """Returns a number or a text as JSON, `Unfit`, or `NO_JSON` where it is neither."""
    if isinstance(value, str):
        return str.__str__(value) if _is_text(value) else Unfit("must be well-formed text")
    if isinstance(value, int):
        return int(value) if -_MOST_INTEGER <= value < _MOST_INTEGER else Unfit("must be an integer of 64 bits")
    if isinstance(value, float):
        if not isfinite(value):
            return Unfit("must be a finite number")
        return int(value) if value.is_integer() and abs(value) < _EXACT else float(value)
    if isinstance(value, _TEXTUAL):
        return to_jsonable_python(value)
    return NO_JSON


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _object(value: Mapping[Any, Any], *, lenient: bool, depth: int) -> Any:
    made = {}
    for name, one in value.items():
        if not isinstance(name, str) or not _is_text(name):
            if lenient:
                continue
            return Unfit("must have texts as names")
        found = made[str.__str__(name)] = as_json(one, lenient=lenient, depth=depth + 1)
        if isinstance(found, Unfit):
            if not lenient:
                return found
            made[name] = NO_JSON
    return made


def _array(value: Any, *, lenient: bool, depth: int) -> Any:
    made = []
    for one in value:
        found = as_json(one, lenient=lenient, depth=depth + 1)
        if isinstance(found, Unfit) and not lenient:
            return found
        made.append(NO_JSON if isinstance(found, Unfit) else found)
    return made


def _key(name: Any) -> str:
    return name if isinstance(name, str) else json.dumps(name)


def plain(value: Any) -> Any:
    """Returns what a validated model holds as JSON values: its declared fields and nothing that it computes.

    Sets come in one order, so that equal values are equal texts.

    Raises:
        TypeError: a validator of the author put something there that has no JSON form.
    """
    if isinstance(value, BaseModel):
        if type(value).__pydantic_root_model__:
            return plain(value.root)  # type: ignore[attr-defined] # what a root model is
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {_key(plain(name)): plain(one) for name, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(one) for one in value), key=canonical)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    found = as_json(value)
    if isinstance(found, Unfit):
        raise TypeError("a value without a JSON form")
    return found
