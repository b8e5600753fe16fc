"""What an answer claims, in a form that can be checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from unabridged.contract import InvalidInput
from unabridged.evidence.scope import FilterKey, filter_key

ClaimKind = Literal["found", "absence", "all", "count"]
KINDS: Final[tuple[ClaimKind, ...]] = get_args(ClaimKind)
UNIVERSAL: Final[frozenset[str]] = frozenset({"absence", "all", "count"})
"""Claims that say something about what was not seen, too."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of an answer. Without filters it speaks of the whole resource."""

    kind: ClaimKind
    """`found`: these exist; `absence`: none exists; `all`: these are all; `count`: so many exist."""
    resource: str
    filters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The scope it speaks of, as field and value."""
    ids: tuple[Any, ...] | None = field(default=None, repr=False)
    """The records it speaks of."""
    value: Any = field(default=None, repr=False)
    """The number of a `count`."""
    key: FilterKey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput(field="kind", rule=f"must be one of {', '.join(KINDS)}")
        if not isinstance(self.resource, str) or not self.resource:
            raise InvalidInput(field="resource", rule="must be a non-empty name")
        filters = {} if self.filters is None else self.filters
        if not isinstance(filters, Mapping) or not all(isinstance(name, str) for name in filters):
            raise InvalidInput(field="filters", rule="must be an object")
        ids = self.ids
        if ids is not None and (isinstance(ids, str | bytes | Mapping) or not isinstance(ids, Iterable)):
            raise InvalidInput(field="ids", rule="must be a list of ids")
        object.__setattr__(self, "filters", dict(filters))
        object.__setattr__(self, "ids", None if ids is None else tuple(ids))
        object.__setattr__(self, "key", filter_key(filters))

    def __hash__(self) -> int:
        return hash((self.kind, self.resource, self.key))

    @property
    def is_universal(self) -> bool:
        """Whether it says something about what was not seen, too."""
        return self.kind in UNIVERSAL

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its filters."""
        return tuple(sorted(self.filters))


def claim_of(given: Claim | Mapping[str, Any]) -> Claim:
    """Returns a claim, also from an object with the same keys.

    Raises:
        InvalidInput: a key is unknown or missing, or a value breaks a rule.
    """
    if isinstance(given, Claim):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput(field="claims", rule="must hold claims")
    known = {"kind", "resource", "filters", "ids", "value"}
    if not set(given) <= known:
        raise InvalidInput(field="claims", rule=f"may hold {', '.join(sorted(known))} only")
    if "kind" not in given or "resource" not in given:
        raise InvalidInput(field="claims", rule="must hold kind and resource")
    return Claim(
        given["kind"],
        given["resource"],
        filters=given.get("filters") or {},
        ids=given.get("ids"),
        value=given.get("value"),
    )
