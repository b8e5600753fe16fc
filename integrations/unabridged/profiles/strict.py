"""JSON taken strictly: what another reader might read otherwise is refused."""

from __future__ import annotations

import json
from math import isinf
from typing import Any

from unabridged.contract.errors import InvalidInput, ProfileError, printable_name, value_free


@value_free
def parse_strict(text: str, *, field: str, error: type[InvalidInput] = ProfileError) -> Any:
    """Returns the value of a JSON text; a key that stands twice, NaN and Infinity are refused.

    Args:
        text: the JSON text.
        field: the name under which an error speaks of the whole.
        error: the class of the error.

    Raises:
        InvalidInput: of the class asked for, naming the rule.
    """

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = dict(found)
        if len(keys) != len(found):
            seen: set[str] = set()
            for name, _ in found:
                if name in seen:
                    raise error(field=printable_name(name), rule="stands twice")
                seen.add(name)
        return keys

    def constant(_: str) -> Any:
        raise error(field=field, rule="must not hold NaN or Infinity")

    def number(digits: str) -> float:
        found = float(digits)
        if isinf(found):
            raise error(field=field, rule="must not hold a number that is too large for JSON readers")
        return found

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_float=number)
    except RecursionError:
        rule = "is nested too deeply"
    except ValueError:
        rule = "is not valid JSON"
    raise error(field=field, rule=rule)  # outside the handlers: the decoder's error holds the whole text
