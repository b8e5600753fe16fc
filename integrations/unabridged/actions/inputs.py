"""Strict input: what a model sends is taken as declared or refused, and a refusal names fields and rules only.

pydantic's own errors carry what was refused (`input_value`, `input`, `ctx`), whatever is hidden in their text. They end
here: what leaves is made of names that the author declared and of rules that this module writes.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core.core_schema import ErrorType

from unabridged.contract import InvalidInput

from .fields import Shape
from .values import Unfit, as_json, plain

Problem = tuple[str, str]
"""A field and the rule that it breaks."""
REQUEST: Final = "request"
"""Stands for the field where a rule concerns the request as a whole."""
_log = logging.getLogger("unabridged.actions")
_UNNAMED: Final = "<unnamed>"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}\Z")
_RULE: Final = re.compile(r"[a-z][a-z0-9_]{0,59}\Z")
_BUILT_IN: Final = frozenset(get_args(ErrorType))
_OF_AUTHORS: Final = ("value_error", "assertion_error")
_WORDS: Final = {
    "missing": "is required",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "set_type": "must be a list",
    "frozen_set_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "none_required": "must be null",
    "date_type": "must be a date, YYYY-MM-DD",
    "date_parsing": "must be a date, YYYY-MM-DD",
    "date_from_datetime_parsing": "must be a date, YYYY-MM-DD",
    "datetime_type": "must be a date and time",
    "datetime_parsing": "must be a date and time",
    "datetime_from_date_parsing": "must be a date and time",
    "time_type": "must be a time",
    "time_parsing": "must be a time",
    "uuid_type": "must be a uuid",
    "uuid_parsing": "must be a uuid",
    "string_pattern_mismatch": "must fit its pattern",
    "literal_error": "must be one of its choices",
    "enum": "must be one of its choices",
}  # fmt: skip
_LIMITS: Final = {
    "string_too_long": ("max_length", "must have {} characters at most"),
    "string_too_short": ("min_length", "must have {} characters at least"),
    "too_long": ("max_length", "must have {} entries at most"),
    "too_short": ("min_length", "must have {} entries at least"),
    "greater_than_equal": ("ge", "must be at least {}"),
    "greater_than": ("gt", "must be greater than {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "less_than": ("lt", "must be less than {}"),
    "multiple_of": ("multiple_of", "must be a multiple of {}"),
}


def told_name(name: object) -> str | None:
    """Returns the name of a field that was not declared where it looks like one, else nothing: it could be a value."""
    return name if isinstance(name, str) and _NAME.match(name) else None


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of an input.

    Attributes:
        fields: the validated model; nothing where there are problems.
        values: its fields as JSON values.
        problems: what is wrong.
        unnamed: how many fields were sent whose names cannot be told.
    """

    fields: BaseModel | None = field(default=None, repr=False)
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    problems: tuple[Problem, ...] = ()
    unnamed: int = 0


class Input:
    """The input of an action.

    Args of the constructor:
        model: its fields.
        tokens: the fields that hold references or a selection.
        rules: names of rules that the model's validators raise as `PydanticCustomError`.

    Raises:
        InvalidInput: a field may hold too much, or a rule's name is none.
    """

    def __init__(
        self, model: type[BaseModel], *, tokens: frozenset[str] = frozenset(), rules: Collection[str] = ()
    ) -> None:
        if isinstance(rules, str) or any(not isinstance(r, str) or not _RULE.match(r) for r in rules):
            raise InvalidInput(field="rules", rule="must be a list of names: small letters, digits and _, 60 at most")
        self.model = model
        self.shape = Shape(model, side="input", tokens=tokens)
        self._rules = frozenset(rules)
        self._limits = {
            (name, limit)
            for fact in self.shape.facts
            for name, limit in fact.bounds.items()
            if isinstance(limit, int | float)
        }
        """The limits that were declared; a validator of the author may raise an error with any number in it."""
        self._choices = {
            f.name for f in self.shape.facts if not all(isinstance(v, str) for v in f.bounds.get("one_of", ""))
        }
        """Where a number or a truth value is chosen."""

    def check(self, sent: Mapping[str, Any]) -> Checked:
        """Returns the validated input, or what is wrong with it. It raises nothing and keeps nothing."""
        made: dict[str, Any] = {}
        problems: list[Problem] = []
        unnamed = 0
        for name, value in sent.items():
            if name not in self.model.model_fields:
                told = told_name(name)
                unnamed += told is None
                problems += [] if told is None else [(told, "is not a field of this action")]
                continue
            found = as_json(value)
            if isinstance(found, Unfit):
                problems.append((name, found.rule))
            else:
                made[name] = found
        flawed = {name for name, _ in problems}
        checked = self._validated(made, flawed)
        if not problems and not unnamed and not checked.problems and not checked.unnamed:
            return checked
        return Checked(problems=(*problems, *checked.problems), unnamed=unnamed + checked.unnamed)

    def _validated(self, made: dict[str, Any], flawed: set[str]) -> Checked:
        try:
            validator = self.model.__pydantic_validator__
            fields = validator.validate_json(json.dumps(made), strict=True, extra="forbid")
            values = plain(fields)
            if not (swapped := [(where, _WORDS["enum"]) for where in self._swapped(made, values)]):
                return Checked(fields, values)
            problems, unnamed = swapped, 0
        except ValidationError as error:
            problems, unnamed = self._problems(error)
        except Exception as error:  # noqa: BLE001 - a validator of the author: its error may quote what it was given
            _log.error("a validator of %s failed with %s", self.model.__name__, type(error).__name__)
            problems, unnamed = [(REQUEST, "could not be checked")], 0
        return Checked(problems=tuple(p for p in problems if p[0] not in flawed), unnamed=unnamed)

    def _swapped(self, sent: Any, taken: Any, *, name: str = "", where: str = "") -> Iterator[str]:
        """Yields where `true` was sent for a choice of 1, or 1 for one of `true`: they are equal to pydantic.

        Args:
            sent: what was sent.
            taken: what it was taken for.
            name: the name of the field, as its facts have it.
            where: the place of the value, as it may be told.
        """
        if not self._choices:
            return
        if isinstance(sent, dict) and isinstance(taken, dict):
            for key in [key for key in sent if key in taken]:
                below, told = f"{name}.{key}" if name else key, f"{where}.{key}" if where else key
                known = below in self.shape.paths
                yield from self._swapped(
                    sent[key], taken[key], name=below if known else f"{name}[]", where=told if known else where
                )
        elif isinstance(sent, list) and isinstance(taken, list):
            if f"{name}[]" in self._choices and {type(v) is bool for v in sent} != {type(v) is bool for v in taken}:
                yield where
            for at, (one, other) in enumerate(zip(sent, taken, strict=False)):
                if isinstance(one, dict | list):
                    yield from self._swapped(one, other, name=f"{name}[]", where=f"{where}[{at}]")
        elif name in self._choices and isinstance(sent, bool) is not isinstance(taken, bool):
            yield where

    def _problems(self, error: ValidationError) -> tuple[list[Problem], int]:
        found: dict[Problem, None] = {}
        unnamed = 0
        for line in error.errors(include_url=False, include_input=False):
            where = self._where(line["loc"], unknown=line["type"] == "extra_forbidden")
            if where is None:
                unnamed += 1
            else:
                found[where, self._rule(line)] = None
        return list(found), unnamed

    def _where(self, location: tuple[int | str, ...], *, unknown: bool) -> str | None:
        """Returns the field that a location means, made of declared names; nothing for an unknown one without name."""
        path = ""
        for part in location[:-1] if unknown else location:
            if isinstance(part, int):
                path += f"[{part}]"
            elif part in self.shape.names:
                path += f".{part}" if path else part
        if not unknown:
            return path or REQUEST
        name = told_name(location[-1])
        return None if name is None else f"{path}.{name}" if path else name

    def _rule(self, line: Any) -> str:
        kind = line["type"]
        if kind == "extra_forbidden":
            return "is not a field of this action"
        context = line.get("ctx") or {}
        if kind in _OF_AUTHORS:
            name = next((n for n in _functions(context.get("error")) if n in self.shape.validators), None)
            return "breaks a rule" if name is None else f"breaks the rule {name}"
        if kind in self._rules:
            return f"breaks the rule {kind}"
        if kind in _WORDS:
            return _WORDS[kind]
        limit, words = _LIMITS.get(kind, ("", ""))
        if (limit, context.get(limit)) in self._limits:
            return words.format(context[limit])
        return f"is not valid: {kind}" if kind in _BUILT_IN else "breaks a rule"


def _functions(error: Any) -> Iterator[str]:
    """Yields the functions through which an error came, the outermost first."""
    trace: TracebackType | None = getattr(error, "__traceback__", None)
    while trace is not None:
        yield trace.tb_frame.f_code.co_name
        trace = trace.tb_next
