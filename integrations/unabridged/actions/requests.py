"""What an action is asked to do, and whether it may: a request, and what admission makes of it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import BaseModel

from unabridged.contract import UnabridgedError

from .inputs import REQUEST, Problem

RejectedAs = Literal["invalid_request", "reference_invalid", "forbidden"]
_TOLD: Final = 20
_SENTENCES: Final[dict[RejectedAs, str]] = {
    "invalid_request": "The call was not run: its arguments break the rules named.",
    "reference_invalid": "The call was not run: a reference is not valid here. Get a new one.",
    "forbidden": "The call was not run: it was not granted here.",
}


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why an action does not start. It holds fields and rules, and no value.

    Attributes:
        error: `invalid_request`, `reference_invalid` or `forbidden`.
        problems: fields, each with the rule that it breaks.
        unnamed: how many fields were sent that were not declared and whose names do not look like names.
    """

    error: RejectedAs
    problems: tuple[Problem, ...] = ()
    unnamed: int = 0

    @property
    def all_problems(self) -> tuple[Problem, ...]:
        """The first problems, one that counts the fields whose names cannot be told, and one that counts the rest."""
        found = list(self.problems[:_TOLD])
        if self.unnamed:
            many = "a field" if self.unnamed == 1 else f"{self.unnamed} fields"
            found.append((REQUEST, f"holds {many} that this action does not have"))
        if len(self.problems) > _TOLD:
            found.append((REQUEST, f"breaks {len(self.problems) - _TOLD} rules more"))
        return tuple(found)

    def document(self) -> dict[str, Any]:
        """Returns what the agent is told, as JSON."""
        return {
            "error": self.error,
            "message": _SENTENCES[self.error],
            "problems": [{"field": name, "rule": rule} for name, rule in self.all_problems],
        }


class InvalidRequest(UnabridgedError):
    """A request breaks the rules of its action. It names fields and rules and carries no value.

    Args of the constructor:
        problems: fields, each with the rule that it breaks.
    """

    def __init__(self, *, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems=problems)

    def _message(self, **fields: Any) -> str:
        return "invalid_request: " + "; ".join(f"{name}: {rule}" for name, rule in fields["problems"])


@dataclass(frozen=True, slots=True)
class Request:
    """Validated fields of one action. Its repr shows names only, and it cannot be pickled.

    Attributes:
        action: the action's name.
        args: the fields as JSON values.
    """

    action: str
    args: Mapping[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        return f"Request({self.action!r}, fields={sorted(self.args)})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a request cannot be pickled: it holds values")


@dataclass(frozen=True, slots=True)
class Admitted:
    """What may be performed. Only the `admit` of its action makes one; its repr shows names only.

    Attributes:
        args: the fields as JSON values, the targets among them.
        fields: the validated model.
        references: what the references stand for, by field.
        by: the action that admitted it.
        session: the digest of the key of the session that it was admitted in; nothing without one.
        nonce: tells this admission from others of the same arguments.
    """

    args: Mapping[str, Any] = field(repr=False)
    fields: BaseModel = field(repr=False)
    references: Mapping[str, Any] = field(default_factory=dict, repr=False)
    by: Any = field(default=None, repr=False, compare=False)
    session: str | None = field(default=None, repr=False, compare=False)
    nonce: str = field(default_factory=lambda: secrets.token_hex(16), repr=False, compare=False)

    def __repr__(self) -> str:
        return f"Admitted(fields={sorted(self.args)}, references={sorted(self.references)})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("what was admitted cannot be pickled: it holds values")
