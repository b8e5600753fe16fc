"""One text for each JSON value, whatever order or spelling it came in, after RFC 8785.

It differs from the RFC in one point: an integer is written out in full, however large, where the RFC rounds to a
double. Numbers that are equal as JSON values are written alike: `1.0` is `1`.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, Final

from unabridged.contract.errors import InvalidInput

_FIELD: Final = "audit.digest"
_TEXTS: Final = frozenset({str})
_PARTS: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:e([+-][0-9]+))?\Z")


def canonical(value: Any) -> bytes:
    """Returns the canonical JSON of a value as UTF-8.

    What JSON does not know (a date, a decimal, a model) is first turned into JSON as pydantic does. A lone surrogate
    is kept as it is, since a model can write one.

    Raises:
        InvalidInput: for a number that is not finite, and for a value that has no JSON, or no end.
    """
    rule = None
    try:
        return _text(value).encode("utf-8", "surrogatepass")
    except RecursionError:
        rule = "must not be nested that deep"
    except ValueError:
        rule = "must hold finite numbers only"
    except TypeError:
        rule = "must be made of JSON values"
    raise InvalidInput(field=_FIELD, rule=rule)


def _text(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if value is None or kind is bool:
        return "null" if value is None else "true" if value else "false"
    if kind is int:
        return _whole(value)
    if kind is float:
        return number(value)
    if kind is dict:
        return "{" + ",".join(f"{encode_basestring(k)}:{_text(value[k])}" for k in _ordered(value)) + "}"
    if kind is list or kind is tuple:
        plain = _TEXTS.issuperset(map(type, value))
        return "[" + ",".join(map(encode_basestring if plain else _text, value)) + "]"
    return _text(_as_json(value))


def _ordered(value: dict[Any, Any]) -> list[str]:
    """Returns the keys in the order of their UTF-16 code units, as the RFC wants it."""
    if not all(type(key) is str for key in value):
        raise TypeError
    if all(map(str.isascii, value)):
        return sorted(value)
    return sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))


def _whole(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # Python refuses to write more than some thousand digits
        return f"{value:#x}"


def number(value: float) -> str:
    """Returns a number as ECMAScript writes it.

    Raises:
        ValueError: when it is not finite.
    """
    if not isfinite(value):
        raise ValueError
    if value == 0:
        return "0"
    found = _PARTS.match(repr(value))
    assert found is not None
    sign, whole, part, power = found.groups()
    part = "" if part in (None, "0") else part
    point = len(whole) + int(power or 0)
    digits = whole + part
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """Returns digits with their decimal point after the first `point` of them."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"


def _as_json(value: Any) -> Any:
    """Returns a value of another kind as pydantic writes it to JSON; one that stays what it is has none."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    if isinstance(value, str):  # a class of one's own, such as an enum
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    try:
        made = to_jsonable_python(value, inf_nan_mode="constants")
    except PydanticSerializationError:
        made = value
    if type(made) not in (str, int, float, bool, dict, list, type(None)):
        raise TypeError
    return made
