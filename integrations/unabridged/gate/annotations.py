"""What an MCP server says of its tools by annotations.

They are hints, and a client must not trust those of a server that it does not trust (Model Context Protocol, schema of
`ToolAnnotations`). So they tighten always, and loosen only where the author says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from .declare import ReadSpec, Spec, UndeclaredSpec, WriteSpec

_READ_ONLY: Final = ("readOnlyHint", "read_only_hint")
_DESTRUCTIVE: Final = ("destructiveHint", "destructive_hint")
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Hints:
    """What annotations tell of a tool.

    Attributes:
        effect: `read` where they say so without a doubt, else `write`.
        destructive: whether they say that it may destroy something.
    """

    effect: Literal["read", "write"]
    destructive: bool


def hints(annotations: Any) -> Hints:
    """Returns what annotations tell; what is missing, contradictory or no boolean makes no read.

    Args:
        annotations: a mapping or an object, with names in `camelCase` or in `snake_case`; or nothing.

    >>> hints({"readOnlyHint": True})
    Hints(effect='read', destructive=False)
    >>> hints({"read_only_hint": True, "destructive_hint": True})
    Hints(effect='write', destructive=True)
    """
    read_only, destructive = _told(annotations, _READ_ONLY), _told(annotations, _DESTRUCTIVE)
    is_read = bool(read_only) and all(v is True for v in read_only) and all(v is False for v in destructive)
    return Hints("read" if is_read else "write", any(v is True for v in destructive))


def _told(annotations: Any, names: tuple[str, ...]) -> list[Any]:
    """Returns what is told under any of the names; nulls tell nothing."""
    if isinstance(annotations, Mapping):
        found = [annotations.get(name) for name in names]
    else:
        found = [getattr(annotations, name, None) for name in names]
    return [value for value in found if value is not None]


def hinted(name: str, spec: Spec, annotations: Any, *, trusted: bool = False) -> Spec:
    """Returns the declaration of a tool with what its annotations add.

    A write that they call destructive is one, whether its author declared it or nobody did. A tool that nobody declared
    and that they call a read is read as `tool:NAME` where they are trusted; what it returns is `unknown` as before.
    What an author declared as a read or as neutral stays that.

    Args:
        name: the name of the tool.
        spec: its declaration.
        annotations: as in `hints`.
        trusted: whether the author trusts the server that wrote them.
    """
    told = hints(annotations)
    if isinstance(spec, WriteSpec | UndeclaredSpec) and told.destructive and not spec.destructive:
        return replace(spec, destructive=True)
    if trusted and isinstance(spec, UndeclaredSpec) and told.effect == "read":
        return ReadSpec(resource=f"tool:{name}"[:_LONGEST_NAME])
    return spec
