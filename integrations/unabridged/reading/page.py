"""One page: a response that was decoded and holds a list of records. And what stands in its place: a failure."""

from __future__ import annotations

import json
import json.decoder
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, NoReturn

from unabridged.contract.codes import Layer, ReasonCode
from unabridged.contract.ids import json_equal
from unabridged.profiles.paths import Path

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = re.compile(r"[ \t\n\r]*")
_CLOSE: Final = re.compile(r"[ \t\n\r]*\}")
_KEY: Final = re.compile(r'[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
"""A key without an escape, with its colon and the blanks around both."""
_COLON: Final = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_AFTER: Final = re.compile(r"[ \t\n\r]*([,}])")
_DEPTH: Final = 8
"""How deep a key that stands twice is looked for: GraphQL names its pages below five. Records are not searched."""


class Undecodable(Exception):
    """A body is no JSON text. Carries nothing of the body."""


class SaidTwice(Exception):
    """An object of a body says two things under one key. Carries nothing of the body."""


def _refused(_: str) -> NoReturn:
    raise Undecodable


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise Undecodable
    return value


_DECODER: Final[Any] = json.JSONDecoder(parse_constant=_refused, parse_float=_finite)
_SCAN: Final[Callable[[str, int], tuple[Any, int]]] = _DECODER.scan_once
_SCAN_TEXT: Final[Callable[[str, int], tuple[str, int]]] = vars(json.decoder)["scanstring"]


def decode_json(body: bytes) -> Any:
    """Returns the value of a JSON body: UTF-8, no NaN, no Infinity, no number that a float cannot hold.

    Raises:
        Undecodable: the body is anything else, or nested too deeply.
        SaidTwice: an object near the top holds a key twice, with different values: neither can be believed.
    """
    try:
        text = body.removeprefix(_BOM).decode("utf-8")
        value, at = _value(text, _after_blank(text, 0), _DEPTH)
    except (ValueError, IndexError, StopIteration, RecursionError):
        raise Undecodable from None
    if _after_blank(text, at) != len(text):
        raise Undecodable
    return value


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """Returns the value that starts at a place, and where it ends; objects near the top are read key by key."""
    return _object(text, at + 1, depth - 1) if depth and text[at] == "{" else _SCAN(text, at)


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    """Returns the object whose brace was opened before a place, and where it ends."""
    found: dict[str, Any] = {}
    closed = _CLOSE.match(text, at)
    if closed is not None:
        return found, closed.end()
    while True:
        named = _KEY.match(text, at)
        key, at = _escaped_key(text, at) if named is None else (named[1], named.end())
        value, at = _object(text, at + 1, depth - 1) if depth and text[at] == "{" else _SCAN(text, at)
        if key in found and not json_equal(found[key], value):
            raise SaidTwice
        found[key] = value
        after = _AFTER.match(text, at)
        if after is None:
            raise Undecodable
        at = after.end()
        if after[1] == "}":
            return found, at


def _escaped_key(text: str, at: int) -> tuple[str, int]:
    """Returns a key that has an escape in it, and where its value starts."""
    at = _after_blank(text, at)
    if text[at] != '"':
        raise Undecodable
    key, at = _SCAN_TEXT(text, at + 1)
    colon = _COLON.match(text, at)
    if colon is None:
        raise Undecodable
    return key, colon.end()


def header_map(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the header fields by name in lower case, repeated ones joined in order."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


@dataclass(frozen=True, slots=True)
class Span:
    """A range of an object: from `start` to `end`, exclusive, of `total`, which may not be stated."""

    start: int
    end: int
    total: int | None

    @property
    def is_whole(self) -> bool:
        """Whether the range is the whole object."""
        return self.start == 0 and self.end == self.total


@dataclass(eq=False)
class Page:
    """A decoded page. `records` are the raw ones, padding and all; nothing of it is copied."""

    body: Final[Any]
    raw_headers: Final[Sequence[tuple[str, str]]]
    records: Final[list[Any]]
    is_empty_status: Final[bool] = False
    """A status that the profile declares as an empty list: there is no body to look into."""
    text: Final[bytes | None] = None
    """The piece of a text that a range brought; there are no records then."""
    span: Final[Span | None] = None
    """The range of its object that the page covers."""
    stream_end: Final[Literal["silent", "cut", "ended", "contradictory"]] = "silent"
    """How a newline-delimited body ends."""
    is_partial_job: Final[bool] = False
    """Whether the job that gave the page stopped before it was through."""

    def with_span(self, span: Span) -> Page:
        """Returns the page with the range that it covers."""
        return replace(self, span=span)

    @cached_property
    def headers(self) -> dict[str, str]:
        """The header fields by name in lower case."""
        return header_map(self.raw_headers)

    def get(self, path: Path) -> Any:
        """Returns what stands at a page-level path, or `MISSING`.

        Raises:
            PathFailed: the expression cannot be evaluated on this body.
        """
        if path.kind == "header":
            return path.read_page(self.body, self.headers)
        return path.read(self.body)


@dataclass(frozen=True, slots=True)
class Failure:
    """A response, or its absence, that brought no page."""

    code: ReasonCode
    detail: str | None = None
    layer: Layer = "source"
    native: dict[str, Any] | None = field(default=None, repr=False)
    resend: bool = True
    """Whether the same request may be sent again at once."""
    again: bool = True
    """Whether a later read may ask for the same page again."""
    passing: bool = True
    """Whether the same question may be answered tomorrow without anybody having done anything."""
    wait_s: float | None = None
    """The wait that the source announced, in seconds."""
    restarts: bool = False
    """Whether the profile lets the walk begin again, once and openly."""
