"""What the fields of an action's models may hold, read from the schema by which pydantic validates them.

A field that could carry anything is refused when the action is declared: a text needs a pattern, a length and a
sensitivity, a list needs a length, and what has no closed form (`dict`, `Any`, `object`) has no place. Where a schema
holds something that is not known here, it is refused too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal, cast, get_args

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic_core import CoreSchema

from unabridged.contract import InvalidInput

from .patterns import is_anchored, says_nothing

Level = Literal["public", "internal", "personal", "secret"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
_MARK: Final = "unabridged_sensitivity"
MAX_TEXT: Final = 10_000
MAX_MANY: Final = 10_000
_PLAIN: Final = {
    "none": "null", "bool": "true or false", "int": "integer", "float": "number", "date": "date", "time": "time",
    "datetime": "date and time", "timedelta": "duration", "uuid": "uuid",
}  # fmt: skip
_MANY: Final = {"list": "list", "set": "set", "frozenset": "set"}
_AROUND: Final = frozenset({"nullable", "default", "function-before", "function-after", "function-wrap", "model-field"})
_WAYS: Final = {
    **dict.fromkeys(("definitions", "definition-ref"), "_defined"),
    **dict.fromkeys(_AROUND, "_around"),
    **dict.fromkeys((*_MANY, "tuple"), "_many"),
    **dict.fromkeys(("model", "model-fields"), "_model"),
    **dict.fromkeys(("union", "tagged-union"), "_union"),
    **dict.fromkeys(("literal", "enum"), "_choice"),
    "str": "_text",
    "decimal": "_decimal",
    "dict": "_mapping",
    "chain": "_chain",
}
"""The kinds of schema that are looked into, each with the method that does; no other is let in."""
_LIMITS: Final = ("ge", "gt", "le", "lt", "multiple_of", "max_digits", "decimal_places", "min_length", "max_length")


class Sensitivity:
    """Says in an annotation how sensitive a field is: `public`, `internal`, `personal` or `secret`.

    >>> from typing import Annotated
    >>> from pydantic import StringConstraints
    >>> CaseId = Annotated[str, StringConstraints(pattern="^C-[0-9]{6}$", max_length=8), Sensitivity("internal")]
    """

    def __init__(self, level: Level) -> None:
        if level not in LEVELS:
            raise InvalidInput(field="sensitivity", rule=f"must be one of {', '.join(LEVELS)}")
        self.level = level

    def __repr__(self) -> str:
        return f"Sensitivity({self.level!r})"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: dict[str, Any] = dict(handler(source))
        schema["metadata"] = {**schema.get("metadata", {}), _MARK: self.level}
        return cast("CoreSchema", schema)


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """What is known of a field, or of a part of one.

    Attributes:
        name: its name, dotted below the top; `[]` stands for the items of a list.
        type: what it may be, in words.
        bounds: its limits.
        sensitivity: as declared, or nothing.
        required: whether it must be given.
    """

    name: str
    type: str
    bounds: Mapping[str, Any] = field(default_factory=dict)
    sensitivity: Level | None = None
    required: bool = True

    def to_json(self) -> dict[str, Any]:
        """Returns it as JSON."""
        return {
            "field": self.name,
            "type": self.type,
            "bounds": dict(self.bounds),
            "sensitivity": self.sensitivity,
            "required": self.required,
        }


@dataclass(frozen=True, slots=True)
class _At:
    """Where the walk stands."""

    path: str
    side: str
    level: Level | None = None
    required: bool = True
    inside: tuple[str, ...] = ()
    free: bool = False
    """Whether a text is checked elsewhere, as a token is."""
    in_python: bool = False
    """Whether Python's own expressions check the patterns of texts."""

    def refuse(self, rule: str) -> InvalidInput:
        return InvalidInput(field=f"{self.side}.{self.path}" if self.path else self.side, rule=rule)

    def below(self, **changes: Any) -> _At:
        at = {name: getattr(self, name) for name in self.__slots__}
        return _At(**{**at, **changes})


class Shape:
    """The fields of a model, checked when it is made.

    Args of the constructor:
        model: the model.
        side: `input` or `output`, for the errors.
        tokens: top-level fields that hold tokens of the toolkit, which are checked by their form.

    Raises:
        InvalidInput: a field may hold too much; names the field and the rule.
    """

    def __init__(self, model: type[BaseModel], *, side: str, tokens: frozenset[str] = frozenset()) -> None:
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise InvalidInput(field=side, rule="must be a pydantic model")
        if not _is_built(model):
            raise InvalidInput(field=side, rule="must be a model whose types are all defined")
        self._definitions: dict[str, Any] = {}
        self._tokens = tokens
        self.validators: set[str] = set()
        """The names of the functions by which the model checks more than types."""
        self.names: set[str] = set()
        """The names of all fields, at any depth."""
        self.facts = tuple(self._walk(model.__pydantic_core_schema__, _At("", side)))
        self.paths = frozenset(fact.name for fact in self.facts)
        """The names of all fields, dotted below the top."""
        missing = tokens - set(model.model_fields)
        if missing:
            raise InvalidInput(field=side, rule="must have a field for each reference and for the selection")

    def top(self, name: str) -> FieldFacts:
        """Returns what is known of a top-level field."""
        return next(f for f in self.facts if f.name == name)

    def below(self, name: str) -> tuple[FieldFacts, ...]:
        """Returns what is known of a top-level field and of everything in it."""
        return tuple(f for f in self.facts if re.split(r"[.\[]", f.name, maxsplit=1)[0] == name)

    def _walk(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        mark = (schema.get("metadata") or {}).get(_MARK)
        if mark is not None:
            at = at.below(level=mark)
        if at.level == "secret" and at.side == "output":
            raise at.refuse("must not be secret: the agent learns what is given")
        kind = schema["type"]
        if kind in _PLAIN:
            yield self._fact(schema, at, _PLAIN[kind])
        elif kind in _WAYS:
            yield from getattr(self, _WAYS[kind])(schema, at)
        else:
            raise at.refuse(f"must be of a type with a closed form, not {_words(kind)}")

    def _union(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        choices = schema["choices"]
        for choice in choices.values() if isinstance(choices, dict) else choices:
            yield from self._walk(choice[0] if isinstance(choice, tuple) else choice, at)

    def _chain(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        for step in schema["steps"]:
            yield from self._walk(step, at)

    def _decimal(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        if "max_digits" not in schema:
            raise at.refuse("must have max_digits")
        yield self._fact(schema, at, "decimal number")

    def _fact(self, schema: Any, at: _At, words: str) -> FieldFacts:
        bounds = {name: _plain(schema[name]) for name in _LIMITS if name in schema}
        if "pattern" in schema:
            bounds["pattern"] = _pattern(schema)
        return FieldFacts(at.path, words, bounds, at.level, at.required)

    def _defined(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        if schema["type"] == "definitions":
            self._definitions.update({d["ref"]: d for d in schema["definitions"]})
            yield from self._walk(schema["schema"], at)
            return
        ref = schema["schema_ref"]
        if ref in at.inside:
            raise at.refuse("must not hold itself: nothing bounds how deep it nests")
        yield from self._walk(self._definitions[ref], at.below(inside=(*at.inside, ref)))

    def _around(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        if schema["type"] in ("default", "nullable"):
            at = at.below(required=at.required and schema["type"] == "nullable")
        function = (schema.get("function") or {}).get("function")
        name = getattr(function, "__name__", None)
        if isinstance(name, str) and name.isidentifier():
            self.validators.add(name)
        yield from self._walk(schema["schema"], at)

    def _many(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        most = schema.get("max_length")
        if schema["type"] == "tuple":
            parts = schema["items_schema"]
            if schema.get("variadic_item_index") is None:
                most = len(parts)
        else:
            parts = [schema.get("items_schema") or {"type": "any"}]
        if most is None or most > MAX_MANY:
            raise at.refuse(f"must have a max_length, {MAX_MANY:,} at most")
        words = _MANY.get(schema["type"], "list")
        bounds = {"max_length": most, **({"min_length": schema["min_length"]} if "min_length" in schema else {})}
        yield FieldFacts(at.path, words, bounds, at.level, at.required)
        for part in parts:
            yield from self._walk(part, at.below(path=f"{at.path}[]", required=True))

    def _model(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        if schema["type"] == "model-fields":
            for name, one in schema["fields"].items():
                if one.get("validation_alias") is not None or one.get("serialization_alias") is not None:
                    raise at.below(path=_join(at.path, name)).refuse("must have no alias: a field has one name")
                self.names.add(name)
                path = _join(at.path, name)
                free = not at.path and name in self._tokens
                yield from self._walk(one["schema"], at.below(path=path, required=True, free=free))
            return
        ref = f"model {id(schema['cls'])}"
        if ref in at.inside:
            raise at.refuse("must not hold itself: nothing bounds how deep it nests")
        extra = schema["cls"].model_config.get("extra")
        if extra == "allow" or (schema["cls"].__pydantic_root_model__ and not at.path):
            raise at.refuse("must be a model of named fields that allows no others")
        if schema["schema"].get("extras_schema") is not None:
            raise at.refuse("must be a model of named fields that allows no others")
        in_python = (schema.get("config") or {}).get("regex_engine") == "python-re"
        at = at.below(inside=(*at.inside, ref), in_python=in_python)
        if at.path and not schema["cls"].__pydantic_root_model__:
            yield FieldFacts(at.path, f"object {schema['cls'].__name__}", {}, at.level, at.required)
        yield from self._walk(schema["schema"], at)

    def _choice(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        if schema["type"] == "enum":
            if schema["cls"]._missing_.__func__ is not Enum._missing_.__func__:  # type: ignore[attr-defined] # a method
                raise at.refuse("must be an enum that takes its own values only")
            values = [member.value for member in schema["members"]]
        else:
            values = [getattr(value, "value", value) for value in schema["expected"]]
        if any(isinstance(v, str) and len(v) > MAX_TEXT for v in values):
            raise at.refuse(f"must have choices of {MAX_TEXT:,} characters at most")
        yield FieldFacts(at.path, "choice", {"one_of": [_plain(v) for v in values]}, at.level, at.required)

    def _text(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        if at.free:
            yield FieldFacts(at.path, "token", {"max_length": 64}, at.level or "internal", at.required)
            return
        pattern = _pattern(schema)
        if pattern is None:
            raise at.refuse("is text without a pattern; give it one, or make it a choice")
        compiled = schema["pattern"] if isinstance(schema["pattern"], re.Pattern) else None
        if at.in_python or compiled is not None:
            is_loose = compiled is not None and bool(compiled.flags & (re.MULTILINE | re.VERBOSE))
            if is_loose or not is_anchored(pattern, in_python=True):
                raise at.refuse(r"must have a pattern from ^ to \Z, as Python's own lets a line break follow a $")
        elif not is_anchored(pattern):
            raise at.refuse("must have a pattern that begins with ^ and ends with $, else it says nothing of the rest")
        if says_nothing(pattern):
            raise at.refuse("must have a pattern that not every text fits")
        if schema.get("max_length") is None or schema["max_length"] > MAX_TEXT:
            raise at.refuse(f"is text without a max_length, {MAX_TEXT:,} at most")
        if at.level is None:
            raise at.refuse("is text without a Sensitivity")
        yield self._fact(schema, at, "text")

    def _mapping(self, schema: Any, at: _At) -> Iterator[FieldFacts]:
        keys = schema.get("keys_schema") or {"type": "any"}
        values = schema.get("values_schema") or {"type": "any"}
        if keys["type"] == "any" or values["type"] == "any":
            raise at.refuse("must not be a dict of anything; name its fields in a model")
        most = schema.get("max_length")
        if most is None or most > MAX_MANY:
            raise at.refuse(f"must have a max_length, {MAX_MANY:,} at most")
        yield FieldFacts(at.path, "object by key", {"max_length": most}, at.level, at.required)
        yield from self._walk(keys, at.below(path=f"{at.path}{{}}", required=True))
        yield from self._walk(values, at.below(path=f"{at.path}[]", required=True))


def _is_built(model: type[BaseModel]) -> bool:
    try:
        model.model_rebuild()
    except PydanticUndefinedAnnotation:
        return False
    return True


def _words(kind: str) -> str:
    return {
        "any": "Any", "is-instance": "an object", "callable": "a function", "url": "a URL, which is free text",
        "multi-host-url": "a URL, which is free text", "dataclass": "a dataclass, which ignores what it does not know",
        "typed-dict": "a TypedDict", "bytes": "bytes",
        "lax-or-strict": "one that is made from free text, such as a SecretStr",
        "function-plain": "one that only a function checks",
    }.get(kind, kind)  # fmt: skip


def _pattern(schema: Any) -> str | None:
    pattern: str | re.Pattern[str] | None = schema.get("pattern")
    return pattern.pattern if isinstance(pattern, re.Pattern) else pattern


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
