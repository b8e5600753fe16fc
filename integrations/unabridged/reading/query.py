"""What is asked, and how much may be spent on the answer. Both check themselves and never echo a value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, get_args

from unabridged.contract import InvalidInput
from unabridged.contract.codes import Intent
from unabridged.contract.errors import printable_name

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_MAX_DEPTH: Final = 32
MOST_SECONDS: Final = 1_000_000_000
"""Some thirty years: the moment that it ends at must have a date."""


@dataclass(frozen=True)
class Query:
    """One question to a source.

    Filters never stand in the repr: they may be personal data.
    """

    resource: str
    """The name of what is read, such as `orders`."""
    filters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Field to value, JSON values only. Null is a filter where the profile says how it is sent."""
    intent: Intent = "inventory"
    """`sample` stops early by design; a `lookup` is read as an inventory is."""
    fields: tuple[str, ...] | None = None
    """The fields asked for; what the source leaves out is a warning, never a reason."""
    page_size: int | None = None
    """Records a page; lowered to the server's maximum."""

    def __post_init__(self) -> None:
        if not isinstance(self.resource, str) or not 0 < len(self.resource) <= 200 or _CONTROL.search(self.resource):
            raise InvalidInput(field="query.resource", rule="must be a text of 1 to 200 printable characters")
        if self.intent not in get_args(Intent):
            raise InvalidInput(field="query.intent", rule=f"must be one of {', '.join(get_args(Intent))}")
        object.__setattr__(self, "filters", _checked_filters(self.filters))
        object.__setattr__(self, "fields", _checked_fields(self.fields))
        if self.page_size is not None and not _whole(self.page_size, at_least=1):
            raise InvalidInput(field="query.page_size", rule="must be a whole number of at least 1")

    @classmethod
    def of(cls, value: Query | str) -> Query:
        """Returns a query as it is, and a resource name as a query without filters."""
        if isinstance(value, Query):
            return value
        return cls(value)


@dataclass(frozen=True)
class Budget:
    """How much a read may spend. A limit stops the next request and never discards a page that arrived."""

    max_pages: int | None = 1000
    max_items: int | None = 100_000
    """Counted in unique ids, and exact."""
    max_bytes: int | None = 64 * 1024 * 1024
    """Bytes of all bodies together, after decompression."""
    max_seconds: float | None = 60
    max_requests: int | None = None
    max_retries: int = 3
    """How often, over the whole read, a failed request may be sent again."""

    def __post_init__(self) -> None:
        for name in ("max_pages", "max_items", "max_bytes", "max_requests"):
            value = getattr(self, name)
            if value is not None and not _whole(value, at_least=1):
                raise InvalidInput(field=f"budget.{name}", rule="must be a whole number of at least 1, or null")
        if not _whole(self.max_retries, at_least=0):
            raise InvalidInput(field="budget.max_retries", rule="must be a whole number of at least 0")
        seconds = self.max_seconds
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= MOST_SECONDS
        ):
            raise InvalidInput(
                field="budget.max_seconds", rule=f"must be a number above 0, {MOST_SECONDS} at most, or null"
            )

    @classmethod
    def unlimited(cls, *, max_retries: int = 0, **stated: Any) -> Budget:
        """Returns a budget without limits but the ones stated; nothing is retried unless `max_retries` says so."""
        known = {f.name for f in fields(cls)} - {"max_retries"}
        for name in stated:
            if name not in known:
                raise InvalidInput(field=f"budget.{printable_name(name)}", rule="is not a known budget")
        none = cls(max_pages=None, max_items=None, max_bytes=None, max_seconds=None, max_requests=None)
        return replace(none, max_retries=max_retries, **stated)


def _whole(value: object, *, at_least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= at_least


def _checked_filters(filters: object) -> dict[str, Any]:
    if not isinstance(filters, Mapping):
        raise InvalidInput(field="query.filters", rule="must be an object of field and value")
    for name in filters:
        if not isinstance(name, str) or not name or _CONTROL.search(name):
            raise InvalidInput(field="query.filters", rule="must have printable texts as names")
    return {
        str.__str__(name): _json_value(value, f"query.filters.{printable_name(name)}", 0)
        for name, value in filters.items()
    }


def _json_value(value: object, where: str, depth: int) -> Any:
    """Returns a copy of a value as JSON knows it: a choice that is a text or a number is that text or number.

    What JSON cannot hold is refused, so that nothing is sent in a form that nobody chose.
    """
    if depth > _MAX_DEPTH:
        raise InvalidInput(field=where, rule=f"must not be nested deeper than {_MAX_DEPTH}")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise InvalidInput(field=where, rule="must be text that UTF-8 can hold")
        return str.__str__(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(field=where, rule="must be a finite number")
        return float(value)
    if isinstance(value, list | tuple):
        return [_json_value(part, where, depth + 1) for part in value]
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise InvalidInput(field=where, rule="must have texts as keys")
        return {_json_value(n, where, depth + 1): _json_value(p, where, depth + 1) for n, p in value.items()}
    raise InvalidInput(field=where, rule="must be a JSON value: text, number, true, false, null, list or object")


def _checked_fields(names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, list | tuple) or not names:
        raise InvalidInput(field="query.fields", rule="must be a list of at least one field name")
    if any(not isinstance(n, str) or not n or _CONTROL.search(n) for n in names):
        raise InvalidInput(field="query.fields", rule="must hold printable texts")
    return tuple(names)
