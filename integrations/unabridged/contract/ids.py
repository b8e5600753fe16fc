"""Identity of records, handles and read ids.

Ids compare as JSON values (`CONTRACT.md` 3.6): `1` is not `"1"`, `true` is not `1`, and `1` is `1.0`.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

_TOKEN: Final = re.compile(r"[A-Za-z0-9_.:\-]{1,64}\Z")
_PHRASE: Final = re.compile(r"[A-Za-z0-9_.:,;/()<>=+\- ]{1,120}\Z")
_POSITION: Final = re.compile(r"#[1-9][0-9]{0,11}\Z")
_PLAIN: Final = frozenset({str, int, float})
TEXT: Final = "<text>"


def id_key(value: Any) -> Hashable:
    """Returns a hashable key that is equal for two ids exactly when they are equal as JSON values.

    A text or a number of a class of its own, such as a choice, is the text or the number that JSON knows it as.
    """
    kind = type(value)
    if kind is str or kind is int or kind is float:
        return value  # type: ignore[no-any-return]
    if kind is bool or value is None:
        return ("json", repr(value))
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    return ("json", json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), default=str))


def _plain(value: Any) -> Any:
    """Makes equal numbers serialise alike: 1.0 becomes 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def id_keys(values: Iterable[Any]) -> list[Hashable]:
    """Returns the keys of many ids, in order. Texts and numbers are their own keys and are not looked at one by one."""
    found = list(values)
    return found if _PLAIN.issuperset(map(type, found)) else [id_key(v) for v in found]


def id_key_set(values: Sequence[Any]) -> frozenset[Hashable]:
    """As `id_keys`, as a set."""
    return frozenset(values) if _PLAIN.issuperset(map(type, values)) else frozenset(map(id_key, values))


def json_equal(left: Any, right: Any) -> bool:
    """Tells whether two values are equal as JSON values."""
    if type(left) is type(right) and type(left) in _PLAIN:
        return bool(left == right)
    return id_key(left) == id_key(right)


def is_token(value: object) -> bool:
    """Tells whether a text is short and plain enough to stand outside `items`."""
    return isinstance(value, str) and _TOKEN.match(value) is not None


def safe_value(value: object) -> bool | int | float | str | None:
    """Returns a boolean, a number or a token as it is, and `"<text>"` for anything else."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return value if isinstance(value, str) and _TOKEN.match(value) else TEXT


def safe_token(value: object) -> str | None:
    """Returns a token, or a number as one; `"<text>"` for any other value but null."""
    return None if value is None else str(safe_value(value))


def safe_item(value: object) -> bool | int | float | str | None:
    """As `safe_value`, for the id of an item: the position of an item whose id is no token stands as it is."""
    return value if isinstance(value, str) and _POSITION.match(value) else safe_value(value)


def safe_id(value: object, position: int) -> str | int | float:
    """Returns an id that may stand in a message of ours, else its position from 1, such as `#3`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return value if isinstance(value, str) and _TOKEN.match(value) else f"#{position}"


def safe_phrase(value: object) -> str:
    """Returns a short plain phrase of an author ("the newest 3") as it is, and `"<text>"` for anything else."""
    return value if isinstance(value, str) and _PHRASE.match(value) else TEXT


def new_handle() -> str:
    """Returns a handle of 128 random bits; only the session that issued it resolves it."""
    return "h_" + secrets.token_urlsafe(16)


def new_read_id() -> str:
    """Returns the id of a read."""
    return "r_" + secrets.token_hex(8)


def new_query_id() -> str:
    """Returns the id of a query; the reads of one chain share it."""
    return "q_" + secrets.token_hex(8)
