"""What `protect`, or a guard without wrapped tools, was told: one declaration a tool name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unabridged.contract import InvalidInput

from .declare import NEUTRAL, UNDECLARED, ReadSpec, Spec, WriteSpec


@dataclass(frozen=True, slots=True)
class Declarations:
    """What `protect`, or a guard without wrapped tools, was told: one spec a tool name."""

    specs: Mapping[str, Spec] = field(default_factory=dict)

    def of(self, name: str) -> Spec:
        """Returns the spec of a tool; one that was not declared fails closed both ways."""
        return self.specs.get(name, UNDECLARED)


def _one(value: Any, *, name: str, build: Callable[..., Spec], first: str) -> Spec:
    """A value is a name (or names), or the keywords of the decorator."""
    if isinstance(value, Mapping):
        try:
            return build(**value)
        except TypeError:
            raise InvalidInput(field=name, rule="has a keyword that the decorator does not take") from None
    if first == "relies_on" and isinstance(value, str):
        return build(relies_on=[value])
    return build(**{first: value})


def declarations(
    *,
    reads: Mapping[str, Any] | None = None,
    writes: Mapping[str, Any] | None = None,
    neutral: Iterable[str] = (),
    independent: Mapping[str, str] | None = None,
) -> Declarations:
    """Returns the specs that the keywords of `protect` state.

    Raises:
        InvalidInput: a tool is declared twice, or a value breaks a rule of its decorator.
    """
    specs: dict[str, Spec] = {}
    rows: list[tuple[str, Spec]] = [
        *((n, _one(v, name=f"reads.{n}", build=ReadSpec, first="resource")) for n, v in (reads or {}).items()),
        *((n, _one(v, name=f"writes.{n}", build=WriteSpec, first="relies_on")) for n, v in (writes or {}).items()),
        *((n, WriteSpec(independent=why)) for n, why in (independent or {}).items()),
        *((n, NEUTRAL) for n in neutral),
    ]
    for name, spec in rows:
        if name in specs:
            raise InvalidInput(field=name, rule="is declared more than once")
        specs[name] = spec
    return Declarations(specs)
