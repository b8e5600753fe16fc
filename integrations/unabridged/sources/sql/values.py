"""From rows to records that JSON can hold. Values are never cut and never go through a repr."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from unabridged.contract.parts import iso

_PLAIN: Final = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Any:
    """Returns a value as JSON holds it.

    A decimal without a fraction becomes an integer, any other its exact text; times become ISO 8601, bytes base64,
    a duration its seconds; what JSON has no number for (an infinity) becomes a text.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if math.isfinite(value) else str(value)
    maker = _MAKERS.get(kind)
    if maker is not None:
        return maker(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if isinstance(value, Enum):
        return plain(value.value)
    for known, made in _MAKERS.items():
        if isinstance(value, known):
            return made(value)
    return str(value)


def _decimal(value: Decimal) -> int | str:
    return int(value) if value.is_finite() and value == value.to_integral_value() and _whole(value) else str(value)


def _whole(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= 0


def _moment(value: datetime) -> str:
    return value.isoformat() if value.tzinfo is None else iso(value)


def _binary(value: Any) -> str:
    return base64.b64encode(bytes(value)).decode("ascii")


_MAKERS: Final[dict[type, Callable[[Any], Any]]] = {
    Decimal: _decimal,
    datetime: _moment,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: timedelta.total_seconds,
    UUID: str,
    bytes: _binary,
    bytearray: _binary,
    memoryview: _binary,
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
}


def field_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Returns a name for each column. Of columns with one name the later ones get a number: none is lost."""
    taken: dict[str, None] = {}
    for column in columns:
        name, n = str(column), 2
        while name in taken:
            name, n = f"{column}_{n}", n + 1
        taken[name] = None
    return tuple(taken)


def records_of(rows: Sequence[Sequence[Any]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Returns rows as records. Columns whose values are plain in this batch are taken as they are."""
    if not rows:
        return []
    odd = [n for n, column in enumerate(zip(*rows, strict=True)) if not _PLAIN.issuperset(map(type, column))]
    records = [dict(zip(names, row, strict=True)) for row in rows]
    for n in odd:
        name = names[n]
        for record in records:
            record[name] = plain(record[name])
    return records


def size_bytes(records: Sequence[Mapping[str, Any]]) -> int:
    """Returns about how many bytes the values take: the length of texts, eight for anything else."""
    return sum(len(v) if isinstance(v, str) else 8 for record in records for v in record.values())
