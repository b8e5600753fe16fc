"""Paths into a decoded body, into a record and, where a page is meant, into its headers.

A plain path (`a.b`, `"@odata.nextLink"`, `@`) is walked directly and tells a missing key from a null. Any other
JMESPath expression is compiled once; jmespath is imported only then, and null and missing are one to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, Final, Literal

_NAME = r'[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)+"'
_PLAIN: Final = re.compile(rf"(?:{_NAME})(?:\.(?:{_NAME}))*\Z")
_PART: Final = re.compile(_NAME)
_HEADER: Final = re.compile(r"header:([!#$%&'*+\-.^_`|~0-9A-Za-z]+)\Z")
_EMPTY: Final[tuple[Any, ...]] = ("", [], {})
_DIGITS: Final = re.compile(r"[0-9]{1,18}\Z")


class _Missing:
    """The value of a path that leads nowhere."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


class PathFailed(Exception):
    """An expression cannot be evaluated on this value: a function met a type that it does not take."""


class InvalidPath(Exception):
    """A text is no path. Carries nothing of the text."""


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled path. `parts` are the keys of a plain one; `@` has none and is the value itself."""

    kind: Literal["plain", "expression", "header"]
    text: str
    parts: tuple[str, ...] = ()
    search: Callable[[Any], Any] | None = None
    search_list: Callable[[Any], Any] | None = None
    """As `search`, but a list keeps the nulls that its projections find."""

    def read_list(self, value: Any) -> Any:
        """As `read`, for a list of records: an element that is null is a null in the list, and is not passed over.

        `edges[*].node` leaves out an edge without a node, and `groups[].rows[]` a group without rows, so a list that
        they shorten would look whole.

        Raises:
            PathFailed: the expression cannot be evaluated on this value.
        """
        return self.read(value) if self.search_list is None else self.search_list(value)

    def read(self, value: Any) -> Any:
        """Returns what stands at the path, or `MISSING`; an expression that finds nothing is null.

        Raises:
            PathFailed: the expression cannot be evaluated on this value.
        """
        if self.kind == "plain":
            for part in self.parts:
                if type(value) is not dict or part not in value:
                    return MISSING
                value = value[part]
            return value
        if self.search is None:
            raise PathFailed
        return self.search(value)

    def read_page(self, body: Any, headers: Mapping[str, str]) -> Any:
        """As `read`, for a page: a `header:NAME` path looks at the headers, whose names are in lower case."""
        if self.kind != "header":
            return self.read(body)
        text = headers.get(self.text)
        if text is None:
            return MISSING
        return int(text) if _DIGITS.match(text) else text

    def obstacle(self, value: Any) -> Any:
        """Returns what a plain path meets that is no object, so that it goes no further: the text in
        `{"error": "gone"}` for `error.code`. `MISSING` where it meets nothing; the body itself may be of any kind.
        """
        for n, part in enumerate(self.parts):
            if type(value) is not dict:
                return value if n > 0 else MISSING
            if part not in value:
                return MISSING
            value = value[part]
        return MISSING

    @property
    def label(self) -> str:
        """The name under which an observed value is shown: the last key, or the header's name."""
        return self.parts[-1] if self.parts else (self.text if self.kind == "header" else "value")


@lru_cache(maxsize=4096)
def compile_path(text: str, *, page: bool = True) -> Path:
    """Returns the compiled path; `page` allows `header:NAME`.

    Raises:
        InvalidPath: the text is neither a JMESPath expression nor an allowed header.
    """
    header = _HEADER.match(text) if page else None
    if header is not None:
        return Path(kind="header", text=header[1].lower())
    if text == "@":
        return Path(kind="plain", text=text)
    if _PLAIN.match(text):
        return Path(kind="plain", text=text, parts=tuple(_key(m.group()) for m in _PART.finditer(text)))
    search, search_list = _expression(text)
    return Path(kind="expression", text=text, search=search, search_list=search_list)


def _key(part: str) -> str:
    if not part.startswith('"'):
        return part
    try:
        key = json.loads(part)
    except ValueError:
        raise InvalidPath from None
    return str(key)


def _expression(text: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Returns the search of an expression, and the one that keeps the nulls of its projections."""
    from jmespath import compile as compile_expression
    from jmespath.exceptions import JMESPathError
    from jmespath.visitor import TreeInterpreter

    try:
        compiled = compile_expression(text)
    except (JMESPathError, RecursionError):
        raise InvalidPath from None
    interpreter = TreeInterpreter()

    def safely(found: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def search(value: Any) -> Any:
            try:
                return found(value)
            except (JMESPathError, TypeError, AttributeError, ValueError, RecursionError):
                raise PathFailed from None

        return search

    return safely(compiled.search), safely(partial(_keeping_nulls, interpreter, compiled.parsed))


def _keeping_nulls(interpreter: Any, node: Any, value: Any) -> Any:
    """Evaluates a parsed expression; the projections that make its list pass over no element, one in another neither.

    Which branch an `&&`, an `||` or a `not_null` takes is decided as ever.
    """
    kind, children = node["type"], node["children"]
    keep = partial(_keeping_nulls, interpreter)
    match kind:
        case "pipe":
            return keep(children[1], interpreter.visit(children[0], value))
        case "and_expression" | "or_expression":
            takes_left = _is_true(interpreter.visit(children[0], value)) == (kind == "or_expression")
            return keep(children[0 if takes_left else 1], value)
        case "function_expression" if node["value"] == "not_null":
            return next((keep(one, value) for one in children if interpreter.visit(one, value) is not None), None)
        case "multi_select_list" if value is not None:
            return [keep(one, value) for one in children]
        case "flatten":
            return _flattened(keep(children[0], value))
        case "projection" | "filter_projection" | "value_projection":
            return _projected(interpreter, node, value)
        case _:
            return interpreter.visit(node, value)


def _flattened(found: Any) -> list[Any] | None:
    if not isinstance(found, list):
        return None
    return [one for part in found for one in (part if isinstance(part, list) else [part])]


def _projected(interpreter: Any, node: Any, value: Any) -> list[Any] | None:
    kind, children = node["type"], node["children"]
    found = _keeping_nulls(interpreter, children[0], value)
    if kind == "value_projection" and isinstance(found, dict):
        found = list(found.values())
    if not isinstance(found, list):
        return None
    if kind == "filter_projection":
        found = [one for one in found if _is_true(interpreter.visit(children[2], one))]
    return [_keeping_nulls(interpreter, children[1], one) for one in found]


def _is_true(value: Any) -> bool:
    """Tells what an expression takes for true: all but null, false and what is empty."""
    return not (value is None or value is False or value in _EMPTY)


def column(records: Sequence[Any], path: Path) -> list[Any]:
    """Returns the value of one path in many records, in order; the fast way for a single plain key.

    Raises:
        LookupError: a record is no object, or lacks the key.
        PathFailed: an expression cannot be evaluated on a record.
    """
    if path.kind == "plain" and len(path.parts) == 1:
        try:
            return list(map(itemgetter(path.parts[0]), records))
        except TypeError:
            raise LookupError from None
    values = [path.read(record) for record in records]
    if any(value is MISSING for value in values):
        raise LookupError
    return values
