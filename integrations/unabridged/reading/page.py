"""One page: a response that was decoded and holds a list of records. And what stands in its place: a failure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NoReturn

from unabridged.contract.codes import Layer, ReasonCode
from unabridged.profiles.paths import Path

_BOM: Final = b"\xef\xbb\xbf"


class Undecodable(Exception):
    """A body is no JSON text. Carries nothing of the body."""


def _refused(_: str) -> NoReturn:
    raise Undecodable


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise Undecodable
    return value


_DECODER: Final = json.JSONDecoder(parse_constant=_refused, parse_float=_finite)


def decode_json(body: bytes) -> Any:
    """Returns the value of a JSON body: UTF-8, no NaN, no Infinity, no number that a float cannot hold.

    Raises:
        Undecodable: the body is anything else, or nested too deeply.
    """
    try:
        return _DECODER.decode(body.removeprefix(_BOM).decode("utf-8"))
    except (ValueError, RecursionError):
        raise Undecodable from None


def header_map(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the header fields by name in lower case, repeated ones joined in order."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


@dataclass(frozen=True)
class Page:
    """A decoded page. `records` are the raw ones, padding and all; nothing of it is copied."""

    body: Any
    raw_headers: Sequence[tuple[str, str]]
    records: list[Any]
    is_empty_status: bool = False
    """A status that the profile declares as an empty list: there is no body to look into."""

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
