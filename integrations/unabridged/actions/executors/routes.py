"""Routes: how one action becomes one request. The author writes it; what a model sends fills its named places."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args
from urllib.parse import urlencode

from unabridged.actions.executing import Command
from unabridged.actions.failures import BUILT_IN_CODES, check_codes
from unabridged.contract import InvalidInput
from unabridged.reading.pinned import PinnedMethod

from ._paths import names_in, pairs, segment

_TOKEN: Final = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
_OURS: Final = frozenset(
    {"host", "authorization", "proxy-authorization", "cookie", "connection", "content-length", "content-type", "expect",
     "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "accept-encoding", "x-forwarded-host", "forwarded"}
)  # fmt: skip
_COMMAND: Final = ("target", "targets", "idempotency_key", "max_targets")


@dataclass(frozen=True)
class Route:
    """How one action becomes one request. A field of a command that has no place in it is an error.

    Args of the constructor:
        method: GET, POST, PUT, PATCH or DELETE.
        path: a template, such as `/accounts/{target}/archive`. A value fills one segment or a part of one.
        body: fields that form the JSON body, as a list, or as a mapping of the names in the body to fields.
        query: the same for the query. Null is left out, a list is repeated.
        unused: fields that are not sent.
        idempotency_header: the header that carries the command's key, where the provider knows one. Only such a route
            is tried again, and only after an answer that says that nothing was done (429, or 503 with a wait).
        codes: codes of the action by HTTP status, such as `{409: "already_archived"}`.

    Besides the input's fields and references a place may name `target`, `targets`, `idempotency_key` and `max_targets`.
    """

    method: PinnedMethod
    path: str
    body: Sequence[str] | Mapping[str, str] | None = None
    query: Sequence[str] | Mapping[str, str] = ()
    unused: Sequence[str] = ()
    idempotency_header: str | None = None
    codes: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in get_args(PinnedMethod):
            raise InvalidInput(field="method", rule=f"must be one of {', '.join(get_args(PinnedMethod))}")
        object.__setattr__(self, "in_path", names_in(self.path))
        object.__setattr__(self, "in_query", _places(self.query, "query"))
        object.__setattr__(self, "in_body", None if self.body is None else _places(self.body, "body"))
        _places(self.unused, "unused")
        if self.idempotency_header is not None:
            check_header(self.idempotency_header, "idempotency_header")
        for status, code in self.codes.items():
            if type(status) is not int or not 300 <= status <= 599:
                raise InvalidInput(field="codes", rule="must be by a status from 300 to 599")
            if code not in BUILT_IN_CODES:
                check_codes((code,))

    in_path: tuple[str, ...] = field(init=False, repr=False, compare=False)
    in_query: Mapping[str, str] = field(init=False, repr=False, compare=False)
    in_body: Mapping[str, str] | None = field(init=False, repr=False, compare=False)

    @property
    def places(self) -> frozenset[str]:
        """The names of all fields that have a place."""
        return frozenset({*self.in_path, *self.in_query.values(), *(self.in_body or {}).values(), *self.unused})


@dataclass(frozen=True, slots=True)
class Filled:
    """A route with the values of a command in its places."""

    path: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)


def fill(route: Route, command: Command) -> Filled | None:
    """Returns a route with the values of a command; nothing where one has no place, or may not stand in it."""
    values = {**command.fields, **command.references}
    if set(values) - route.places or set(values) & set(_COMMAND):
        return None
    values |= {name: getattr(command, name) for name in _COMMAND}
    path = _path(route, values)
    body = None if route.in_body is None else _body(route.in_body, values)
    if path is None or (route.in_body is not None and body is None):
        return None
    if route.idempotency_header is None:
        return Filled(path, {}, body)
    key = command.idempotency_key
    return Filled(path, {route.idempotency_header: key}, body) if is_word(key) else None


def is_word(text: str) -> bool:
    """Tells whether a text is one word of a header (a token of RFC 9110)."""
    return bool(text) and set(text.lower()) <= _TOKEN


def check_header(name: str, where: str) -> None:
    """Refuses a name that is no header, or one that says where a request goes, how it is framed or who sends it.

    Raises:
        InvalidInput: naming the argument.
    """
    if not is_word(name) or name.lower() in _OURS:
        raise InvalidInput(field=where, rule="must be a header that says neither where a request goes nor who sends it")


def _places(given: Sequence[str] | Mapping[str, str], where: str) -> Mapping[str, str]:
    if isinstance(given, str):
        raise InvalidInput(field=where, rule="must be a list of field names, or a mapping of names to fields")
    places = dict(given) if isinstance(given, Mapping) else {name: name for name in given}
    if not all(isinstance(v, str) and v.isidentifier() for v in places.values()):
        raise InvalidInput(field=where, rule="must name fields")
    return places


def _path(route: Route, values: Mapping[str, Any]) -> str | None:
    filled = {name: segment(values.get(name)) for name in route.in_path}
    if any(value is None for value in filled.values()):
        return None
    try:
        query = [p for name, source in route.in_query.items() for p in pairs(name, values.get(source))]
        encoded = urlencode(query)
    except (TypeError, UnicodeError):
        return None
    path = route.path.format(**filled)
    return f"{path}?{encoded}" if encoded else path


def _body(places: Mapping[str, str], values: Mapping[str, Any]) -> bytes | None:
    document = {name: values[source] for name, source in places.items() if source in values}
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError):
        return None
