"""The arguments of a call: their names, their values as JSON holds them, and what is wrong with them.

What is wrong is told by field and rule, never by value: a validator's own message repeats what it was given
(`input_value=...`), and a model would read it.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from unabridged.audit.canonical import canonical
from unabridged.contract import json_equal, printable_name

if TYPE_CHECKING:
    from pydantic import ValidationError

Problem = tuple[str, str]
"""A field and the rule that it breaks."""
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_OF_ONE_FORM: Final = (str, int, float, UUID, Enum, date, time, timedelta)


def jsonable(value: Any) -> Any:
    """Returns a value that JSON can hold; what it cannot becomes its text, and a choice the value behind it."""
    if type(value) in _PLAIN:
        return value
    return to_jsonable_python(value, fallback=str, serialize_unknown=True)


def scoped(value: Any, *, sent: Any) -> Any:
    """Returns the value of an argument as a scope holds it: in the one form of its kind, however it was sent.

    So a date is one in every spelling, a choice is its value, and a set has one order. What may mask something or fill
    it in, such as a model, stays as it was sent; so does a decimal number, which JSON knows as a number and as a text.

    Args:
        value: what the code gets.
        sent: what the model sent for it.
    """
    return whole(value) if _has_one_form(value) else sent


def _has_one_form(value: Any) -> bool:
    if type(value) is dict:
        return all(map(_has_one_form, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_has_one_form, value))
    return value is None or isinstance(value, _OF_ONE_FORM)


def whole(value: Any) -> Any:
    """Returns a value as JSON with all that a tool's code gets, also what its model masks or keeps out of JSON.

    For digests only: what is bound to arguments is bound to secrets among them, too. Sets come in one order.
    """
    if type(value) in _PLAIN:
        return value
    if type(value) is dict:
        return {name if type(name) is str else _name(name): whole(one) for name, one in value.items()}
    if type(value) is list:
        return list(value) if _IDS.issuperset(map(type, value)) else [whole(one) for one in value]
    if callable(reveal := getattr(value, "get_secret_value", None)):
        return whole(reveal())
    if isinstance(value, BaseModel):  # not by its own iterator: that of a list yields what is in it, and no fields
        return {name: whole(one) for name, one in BaseModel.__iter__(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: whole(getattr(value, each.name, None)) for each in fields(value)}
    if hasattr(value, "__fields_set__"):  # a model of pydantic's first version
        return {name: whole(one) for name, one in vars(value).items()}
    if isinstance(value, Mapping):
        return {_name(name): whole(one) for name, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(whole, value), key=canonical)
    if isinstance(value, list | tuple):
        return [whole(one) for one in value]
    if isinstance(value, bytes | bytearray):
        return value.decode("latin-1")  # they need be no text
    return jsonable(value)


def _name(name: Any) -> str:
    return name if isinstance(name, str) else str(jsonable(name))


def in_a_scope(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the framework or the author gave, as far as a filter could hold it."""
    return {n: v for n, v in given.items() if isinstance(v, str | int) and not isinstance(v, bool) and v != ""}


def aliases_of(declared: Mapping[str, Any]) -> dict[str, str]:
    """Returns the names under which a model may send the fields of a schema, each with the field that it means.

    Args:
        declared: the fields of a pydantic model, with their aliases.
    """
    found: dict[str, str] = {}
    for name, info in declared.items():
        for alias in (info.alias, getattr(info, "validation_alias", None)):
            choices = [alias] if isinstance(alias, str) else getattr(alias, "choices", ())
            found.update((c, name) for c in choices if isinstance(c, str) and c != name)
    return found


def defaults_of(code: Callable[..., Any], names: Container[str]) -> dict[str, Any]:
    """Returns the values that a function gives to its parameters where a call does not: it touches them all the same.

    Args:
        code: the function.
        names: the parameters that are asked for.
    """
    try:
        parameters = inspect.signature(code).parameters.values()
    except (TypeError, ValueError):
        return {}
    given = {p.name: p.default for p in parameters if p.name in names and p.default is not inspect.Parameter.empty}
    return {name: value for name, value in given.items() if value is not None and not isinstance(value, FieldInfo)}


def by_declared_names(
    args: Mapping[str, Any], *, aliases: Mapping[str, str], declared: Container[str]
) -> Mapping[str, Any]:
    """Returns arguments under the names that a declaration uses for them, where the two differ by an alias.

    What a declaration calls otherwise than the model would be judged as if it had not been sent.

    Args:
        args: the arguments, under either name.
        aliases: each alias with its field.
        declared: the names that the declaration uses.
    """
    named = dict(args)
    for alias, name in aliases.items():
        for known, other in ((alias, name), (name, alias)):
            if known in named and other in declared and other not in named:
                named[other] = named[known] if known in declared else named.pop(known)
    return named


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


def sent_twice(sent: Iterable[str], *, aliases: Mapping[str, str]) -> list[Problem]:
    """Returns the fields that were sent under more than one of their names: one counts, and the other may be judged.

    Args:
        sent: the names of the arguments as the model sent them.
        aliases: each alias with its field.
    """
    times = Counter(aliases.get(name, name) for name in sent)
    return [(name, "is sent under more than one of its names") for name, count in times.items() if count > 1]


def problems_of(error: ValidationError) -> list[Problem]:
    """Returns what a schema found wrong: the argument, and pydantic's name of the rule.

    Only the first part of a location is told, since the deeper parts can be keys that the model sent.
    """
    found: dict[Problem, None] = {}
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        where = problem["loc"]
        name = str(where[0]) if where else "arguments"
        kind = printable_name(problem["type"])
        rule = "is required" if kind == "missing" and len(where) == 1 else f"is not valid: {kind}"
        found[name, rule] = None
    return list(found)


_JSON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list, tuple),
    "object": (dict,), "null": (type(None),),
}  # fmt: skip


def json_schema_problems(
    schema: Mapping[str, Any], sent: Mapping[str, Any], *, given: Container[str] = ()
) -> list[Problem]:
    """Returns what a JSON Schema finds wrong with arguments: undeclared and missing names, types, closed choices.

    It is no whole validator: what it cannot tell, such as a reference, it lets pass, and the tool judges for itself.

    Args:
        schema: the schema of the arguments, an object.
        sent: the arguments as the model sent them.
        given: names that the framework gives, not the model.
    """
    properties = schema.get("properties") or {}
    problems: list[Problem] = []
    if not schema.get("additionalProperties"):
        problems += undeclared([n for n in sent if n not in given], declared=properties)
    problems += [(n, "is required") for n in schema.get("required") or () if n not in sent and n not in given]
    for name, value in sent.items():
        rule = properties.get(name)
        if isinstance(rule, Mapping) and name not in given and not _fits(rule, value):
            problems.append((name, "does not fit the schema"))
    return problems


def _fits(rule: Mapping[str, Any], value: Any) -> bool:
    options = rule.get("anyOf") or rule.get("oneOf")
    if isinstance(options, list) and not any(_fits(o, value) for o in options if isinstance(o, Mapping)):
        return False
    if isinstance(choices := rule.get("enum"), list) and not any(json_equal(value, c) for c in choices):
        return False
    if "const" in rule and not json_equal(value, rule["const"]):
        return False
    kinds = rule.get("type")
    if kinds is not None and not _is_of(kinds if isinstance(kinds, list) else [kinds], value):
        return False
    items = rule.get("items")
    if isinstance(items, Mapping) and isinstance(value, list | tuple):
        return all(_fits(items, v) for v in value)
    return True


def _is_of(kinds: Sequence[Any], value: Any) -> bool:
    for kind in kinds:
        types = _JSON_TYPES.get(kind) if isinstance(kind, str) else None
        if types is None:
            return True
        whole = kind == "integer" and isinstance(value, float) and value.is_integer()
        if (isinstance(value, types) or whole) and (kind == "boolean" or not isinstance(value, bool)):
            return True
    return False


_IDS: Final = frozenset({str, int, float})
_READ_AS_OBJECTS: Final = (UUID, Enum, date, Decimal)


def targets_of(value: Any) -> list[Any] | None:
    """Returns the ids that an argument names: one id, or a list of them; nothing for anything else.

    An id that a tool reads as an object, such as a UUID or a choice, stands as a text in the records.
    """
    ids = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    if _IDS.issuperset(map(type, ids)):
        return ids
    ids = [jsonable(v) if isinstance(v, _READ_AS_OBJECTS) else v for v in ids]
    return ids if all(map(_is_id, ids)) else None


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
