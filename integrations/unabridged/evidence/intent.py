"""What a write demands of the evidence, and what was decided about it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from unabridged.contract import GUARD_CODES, GuardCode, InvalidInput, id_key
from unabridged.contract.ids import id_key_set

from .scope import FilterKey, filter_key
from .selections import Selected

if TYPE_CHECKING:
    from .header import RecordedRead

Requirement = Literal["complete", "counted", "snapshot", "double_walk", "visibility_all"]
Outcome = Literal["allow", "refuse", "review"]
OnFail = Literal["refuse", "review"]
Option = Literal["continue_read", "retry_with_deadline", "restrict_to_returned", "request_review", "abandon"]
REQUIREMENTS: Final[tuple[Requirement, ...]] = get_args(Requirement)
_NO_KEYS: Final[frozenset[Hashable]] = frozenset()
_NULL: Final = id_key(None)
_A_LONG_TIME_S: Final = 86_400.0 * 365 * 1000


@dataclass(frozen=True, slots=True)
class Reliance:
    """One entry of `relies_on`. Without filters it means every read of the resource."""

    resource: str
    filters: Mapping[str, Any] | None = None
    key: FilterKey | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"Reliance({self.resource!r}, filters={None if self.filters is None else sorted(self.filters)})"

    @property
    def label(self) -> str:
        """The resource and the names of the filters, never their values."""
        return self.resource if not self.filters else f"{self.resource} ({', '.join(sorted(self.filters))})"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class WriteIntent:
    """A write that is about to happen, and what its author demands of the evidence for it.

    An empty list of targets names no targets: to many tools an empty list means everything.
    """

    tool: str
    """The name of the write tool."""
    relies_on: tuple[Reliance, ...] | None
    """The evidence it relies on; `None`: every inventory read of the session."""
    targets: tuple[Any, ...] | None
    """The ids it touches; `None`: it names none."""
    require: tuple[Requirement, ...]
    """What each read must give; `complete` is always among it."""
    max_age_s: float | None
    """The greatest age of a read in seconds, counted from its start; `None`: no rule."""
    allow_returned_targets: bool
    """Whether named targets that a partial or unknown read returned may be touched."""
    destructive: bool
    """Whether it destroys something: it then may rely on every read and needs at least one."""
    recheck: bool
    """Whether the executor looks at each target again right before it writes."""
    selection: Selected | None
    """The selection that the targets were taken from."""
    target_keys: frozenset[Hashable]
    """The targets, comparable as JSON values."""
    demands: frozenset[str]
    """What is demanded beyond `complete`."""
    max_age: timedelta | None
    """The greatest age of a read."""

    def __init__(
        self,
        tool: str,
        relies_on: Iterable[str | Mapping[str, Any]] | str | None = None,
        targets: Iterable[Any] | None = None,
        require: str | Iterable[str] = "complete",
        max_age_s: float | None = None,
        allow_returned_targets: bool = False,
        destructive: bool = False,
        *,
        recheck: bool = False,
        selection: Selected | None = None,
    ) -> None:
        if not isinstance(tool, str) or not tool:
            raise InvalidInput(field="tool", rule="must be a non-empty text")
        for name, flag in (
            ("allow_returned_targets", allow_returned_targets), ("destructive", destructive), ("recheck", recheck),
        ):  # fmt: skip
            if not isinstance(flag, bool):
                raise InvalidInput(field=name, rule="must be true or false")
        required = _requirements(require)
        put = object.__setattr__
        put(self, "tool", tool)
        put(self, "relies_on", _reliances(relies_on))
        put(self, "require", required)
        put(self, "max_age_s", _max_age(max_age_s))
        put(self, "max_age", None if max_age_s is None else timedelta(seconds=min(max_age_s, _A_LONG_TIME_S)))
        put(self, "allow_returned_targets", allow_returned_targets)
        put(self, "destructive", destructive)
        put(self, "recheck", recheck)
        put(self, "demands", frozenset(required) - {"complete"})
        put(self, "selection", selection)
        self._aim(targets if targets is not None or selection is None else selection.ids)

    def _aim(self, targets: Iterable[Any] | None) -> None:
        named = _targets(targets)
        keys = id_key_set(named) if named else _NO_KEYS
        if _NULL in keys:
            raise InvalidInput(field="targets", rule="must hold no null")
        object.__setattr__(self, "targets", named)
        object.__setattr__(self, "target_keys", keys)

    def aimed_at(self, targets: Iterable[Any] | None, *, tool: str, selection: Selected | None = None) -> WriteIntent:
        """Returns the same demands for a call of `tool` that touches `targets`; what was checked is not checked anew.

        Raises:
            InvalidInput: the targets are no list of ids, or hold a null.
        """
        aimed, put = object.__new__(WriteIntent), object.__setattr__
        put(aimed, "tool", tool)
        put(aimed, "relies_on", self.relies_on)
        put(aimed, "require", self.require)
        put(aimed, "max_age_s", self.max_age_s)
        put(aimed, "max_age", self.max_age)
        put(aimed, "allow_returned_targets", self.allow_returned_targets)
        put(aimed, "destructive", self.destructive)
        put(aimed, "recheck", self.recheck)
        put(aimed, "demands", self.demands)
        put(aimed, "selection", selection)
        aimed._aim(targets)
        return aimed

    def __repr__(self) -> str:
        relies = None if self.relies_on is None else [r.label for r in self.relies_on]
        count = None if self.targets is None else len(self.targets)
        return (
            f"WriteIntent({self.tool!r}, relies_on={relies}, targets={count}, require={list(self.require)}, "
            f"max_age_s={self.max_age_s}, destructive={self.destructive})"
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided about a write. Value-free: it holds headers of reads, never records or arguments."""

    verdict: Outcome
    """`allow`, `refuse` or `review`."""
    codes: tuple[GuardCode, ...] = ()
    """Every code that applies, in the order of the contract; empty exactly when the write is allowed."""
    reads: tuple[RecordedRead, ...] = ()
    """The reads that speak against the write; on `allow`, the reads it rests on."""
    options: tuple[Option, ...] = ()
    """What the agent can do instead; only what would help."""
    missing: tuple[str, ...] = ()
    """The entries of `relies_on` that were never read, by resource and filter names."""

    @property
    def allowed(self) -> bool:
        """Whether the write may run."""
        return self.verdict == "allow"


def ordered(codes: Iterable[GuardCode]) -> tuple[GuardCode, ...]:
    """Returns codes once each, in the order of the contract."""
    found = set(codes)
    return tuple(c for c in GUARD_CODES if c in found)


def _reliances(given: Iterable[str | Mapping[str, Any]] | str | None) -> tuple[Reliance, ...] | None:
    if given is None:
        return None
    entries = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else None
    if entries is None or isinstance(given, Mapping):
        raise InvalidInput(field="relies_on", rule="must be a list of names or of {resource, filters}")
    if not entries:
        raise InvalidInput(field="relies_on", rule="must not be empty; leave it out to rely on every inventory read")
    return tuple(dict.fromkeys(_reliance(entry, n) for n, entry in enumerate(entries)))


def _reliance(entry: object, position: int) -> Reliance:
    where = f"relies_on[{position}]"
    if isinstance(entry, Reliance):
        return entry
    if isinstance(entry, str):
        if not entry:
            raise InvalidInput(field=where, rule="must be a non-empty name")
        return Reliance(entry)
    if not isinstance(entry, Mapping):
        raise InvalidInput(field=where, rule="must be a name or {resource, filters}")
    if not set(entry) <= {"resource", "filters"}:
        raise InvalidInput(field=where, rule="may hold resource and filters only")
    resource, filters = entry.get("resource"), entry.get("filters")
    if not isinstance(resource, str) or not resource:
        raise InvalidInput(field=f"{where}.resource", rule="must be a non-empty name")
    if filters is None:
        return Reliance(resource)
    if not isinstance(filters, Mapping) or not all(isinstance(name, str) for name in filters):
        raise InvalidInput(field=f"{where}.filters", rule="must be an object")
    return Reliance(resource, _Filters(filters), filter_key(filters))


class _Filters(dict[str, Any]):
    """Filters that can stand in a frozen, hashable entry."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(filter_key(self))


def _targets(given: Iterable[Any] | None) -> tuple[Any, ...] | None:
    if given is None:
        return None
    if type(given) is not list and (isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable)):
        raise InvalidInput(field="targets", rule="must be a list of ids")
    return tuple(given)


def _requirements(given: str | Iterable[str]) -> tuple[Requirement, ...]:
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    if not names or not all(isinstance(n, str) and n in REQUIREMENTS for n in names):
        raise InvalidInput(field="require", rule=f"must be one or more of {', '.join(REQUIREMENTS)}")
    return tuple(r for r in REQUIREMENTS if r in names or r == "complete")


def _max_age(given: float | None) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < math.inf:
        raise InvalidInput(field="max_age_s", rule="must be a number of seconds of at least 0")
    return given
