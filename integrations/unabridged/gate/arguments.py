"""What is wrong with the arguments of a call, by field and rule, never by value.

A validator's own message repeats what it was given (`input_value=...`), and a model would read it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

Problem = tuple[str, str]
"""A field and the rule that it breaks."""


def undeclared(sent: Iterable[str], *, declared: Container[str], fixed: Container[str] = ()) -> list[Problem]:
    """Returns the arguments that were sent and may not be.

    Args:
        sent: the names of the arguments as the model sent them.
        declared: the names that the tool declares.
        fixed: names that the tool's author has set, so that no model may.
    """
    problems = []
    for name in sent:
        if name in fixed:
            problems.append((name, "is set by the author of the tool and cannot be sent"))
        elif name not in declared:
            problems.append((name, "is not an argument of this tool"))
    return problems


def problems_of(error: ValidationError) -> list[Problem]:
    """Returns what a schema found wrong: the argument, and pydantic's name of the rule.

    Only the first part of a location is told, since the deeper parts can be keys that the model sent.
    """
    found: dict[Problem, None] = {}
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        where = problem["loc"]
        name = str(where[0]) if where else "arguments"
        rule = "is required" if problem["type"] == "missing" and len(where) == 1 else f"is not valid: {problem['type']}"
        found[name, rule] = None
    return list(found)
