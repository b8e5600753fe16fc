"""What `protect`, or a guard without wrapped tools, was told: one declaration a tool name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from unabridged.contract import InvalidInput, printable_name

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
    if first == "relies_on" and isinstance(value, str):
        value = [value]
    keywords = value if isinstance(value, Mapping) and first != "independent" else {first: value}
    unknown = next((k for k in keywords if k not in signature(build).parameters), None)
    if unknown is not None:
        raise InvalidInput(field=f"{name}.{printable_name(unknown)}", rule="is no keyword that the decorator takes")
    try:
        return build(**keywords)
    except InvalidInput as error:
        field, rule = error.fields["field"], error.fields["rule"]
    except TypeError:
        field, rule = "", "lacks a keyword that the decorator needs, or has one of another type"
    raise InvalidInput(field=f"{name}.{field}" if field else name, rule=rule)


def _rows(kind: str, given: Any, *, build: Callable[..., Spec], first: str) -> list[tuple[str, Spec]]:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInput(field=kind, rule="must map the names of tools to what is declared of them")
    return [(name, _one(v, name=f"{kind}.{name}", build=build, first=first)) for name, v in (given or {}).items()]


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
    if isinstance(neutral, str):
        raise InvalidInput(field="neutral", rule="must be a list of names")
    specs: dict[str, Spec] = {}
    rows: list[tuple[str, Spec]] = [
        *_rows("reads", reads, build=ReadSpec, first="resource"),
        *_rows("writes", writes, build=WriteSpec, first="relies_on"),
        *_rows("independent", independent, build=WriteSpec, first="independent"),
        *((n, NEUTRAL) for n in neutral),
    ]
    for name, spec in rows:
        if name in specs:
            raise InvalidInput(field=name, rule="is declared more than once")
        specs[name] = spec
    return Declarations(specs)
