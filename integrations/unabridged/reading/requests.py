"""Building requests: which values go where, on which request of the walk, and what is not sent at all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote_plus, urlsplit

from unabridged.contract.asked import is_place, may_be_all
from unabridged.contract.errors import InvalidInput, printable_name, value_free
from unabridged.profiles.conditions import Send
from unabridged.profiles.format import FilterSend, Profile, ScopeLimit
from unabridged.profiles.paths import MISSING
from unabridged.profiles.rules import sends_of, walk_sends_of
from unabridged.profiles.walks import LinkWalk, OffsetWalk, RangeWalk, SingleWalk, StreamWalk, TokenWalk

from .forms import Asked
from .links import check_url, origin
from .query import Query
from .transport import Request
from .walkers import Step

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}\Z")
_HEADER_VALUE: Final = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?\Z")
_RESERVED: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})
_BETWEEN: Final = re.compile("[&;]")
_PLACES: Final = {
    "page[number]": "page", "page[offset]": "offset", "page[cursor]": "cursor", "page[after]": "cursor",
    "$skip": "skip", "$skiptoken": "cursor", "page_info": "cursor",
}  # fmt: skip
"""Names in addresses that say from where on a list is asked for, and those by which arguments of calls say it."""
_BEFORE: Final = ScopeLimit(excludes="what stands before the page that was asked for")


class CannotSend(Exception):
    """A value that the source gave out cannot be sent where the profile says. Carries nothing of it."""


@dataclass(frozen=True)
class Plan:
    """Everything about a read's requests that does not change from page to page."""

    profile: Profile
    """The profile, with those limits of its scope that the requests do not lift."""
    url: str
    origin: tuple[str, str, int]
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    pairs: tuple[tuple[str, str], ...] = field(repr=False)
    """Query parameters of every request: the size first, then the filters."""
    filter_pairs: tuple[tuple[str, str], ...] = field(repr=False)
    body: tuple[tuple[str, Any], ...] = field(repr=False)
    """Dotted keys and values of the JSON body of every request."""
    uses_body: bool
    sent_filters: dict[str, Any] = field(repr=False)
    """The filters that are part of the scope."""
    unsent: tuple[str, ...]
    """The names of filters that could not be sent."""
    size_sent: int | None
    size_asked: int | None
    """The size without what an overfetch adds."""
    size_wanted: int | None
    """The size that the query asked for."""
    source: str | None = None

    @property
    def first_step(self) -> Step:
        """Where the walk starts."""
        walk = self.profile.paging
        if isinstance(walk, OffsetWalk):
            return Step(offset=walk.origin)
        if isinstance(walk, TokenWalk) and walk.first is not None:
            return Step(value=walk.first, is_opening=True)
        return Step()

    def asked(self, step: Step) -> Asked | None:
        """Returns the range that the request of a step asks for."""
        walk = self.profile.walk
        if walk.by != "range":
            return None
        return Asked(step.offset, walk.size, by_header=walk.send is None)

    def request(self, step: Step) -> Request:
        """Returns the request of a step.

        Raises:
            CannotSend: the step's value fits no request.
        """
        if step.url is not None:
            return self._follow(step.url)
        pairs, headers, body = list(self.pairs), list(self.headers), list(self.body)
        walk = self.profile.paging
        if walk.by == "offset":
            _place(walk.send, step.offset, pairs, headers, body)
        elif walk.by in ("token", "key") and step.value is not MISSING:
            _place(walk.send, step.value, pairs, headers, body)
            for rule, value in zip(walk.carry, step.carried, strict=False):
                if value is not MISSING and value is not None:
                    _place(rule.send, value, pairs, headers, body)
        elif walk.by == "range":
            _place_range(walk, step.offset, pairs, headers, body)
        return Request(
            method="POST" if self.uses_body else "GET",
            url=self.url,
            query=tuple(pairs),
            headers=tuple(headers),
            body=_json_body(body) if self.uses_body else None,
            source=self.source,
        )

    def _follow(self, url: str) -> Request:
        """A followed link is left as it is, but for filters that it does not carry. Headers stay with their origin."""
        own = origin(url) == self.origin
        carried = {name for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)}
        added = tuple((name, value) for name, value in self.filter_pairs if name not in carried)
        headers = self.headers if own else ()
        return Request(method="GET", url=url, query=added, headers=headers, source=self.source, credentials=own)


@value_free
def plan_read(
    profile: Profile,
    query: Query,
    *,
    url: object,
    headers: object = (),
    source: str | None = None,
    bounds: Iterable[tuple[Send, Any]] = (),
) -> Plan:
    """Returns the plan of a read.

    Raises:
        InvalidInput: the URL, a header, a filter or the page size breaks a rule; never with the value.
    """
    if source is not None and isinstance(url, str):
        url = url.replace("{source}", quote(source, safe=""))
    address = check_url(url)
    _check_parameters(address, profile)
    own_headers = list(check_headers(headers))
    given = len(own_headers)
    pairs: list[tuple[str, str]] = []
    body: list[tuple[str, Any]] = []
    asked, sent = _sizes(profile, query)
    if sent is not None and profile.size is not None and profile.size.send is not None:
        _place(profile.size.send, sent, pairs, own_headers, body)
    filter_pairs: list[tuple[str, str]] = []
    bounded = tuple(bounds)
    taken = _own_places(profile) | {send.place for send, _ in bounded}
    scope, unsent = _filters(profile, query, taken, filter_pairs, own_headers, body)
    for send, value in bounded:
        _place(send, value, filter_pairs, own_headers, body)
    _refuse_twice(address, {name for name, _ in filter_pairs}, "is a filter of the query already")
    _check_fields(own_headers[:given], own_headers[given:], profile)
    return Plan(
        profile=_within(profile, address, (*pairs, *filter_pairs), body),
        url=address,
        origin=origin(address),
        headers=tuple(own_headers),
        pairs=(*pairs, *filter_pairs),
        filter_pairs=tuple(filter_pairs),
        body=tuple(body),
        uses_body=_uses_body(profile) or any(send.body is not None for send, _ in bounded),
        sent_filters=scope,
        unsent=tuple(unsent),
        size_sent=sent,
        size_asked=asked,
        size_wanted=query.page_size if profile.size is not None and profile.size.send is not None else None,
        source=source,
    )


def _within(profile: Profile, url: str, pairs: Sequence[tuple[str, str]], body: Sequence[tuple[str, Any]]) -> Profile:
    """Returns a profile without those limits of its scope that the requests lift, and with the one that they set."""
    stands = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    if isinstance(profile.paging, LinkWalk | SingleWalk | StreamWalk) and any(map(_begins_later, stands)):
        profile = profile.model_copy(update={"scope": (*profile.scope, _BEFORE)})
    if all(limit.unless is None for limit in profile.scope):
        return profile
    stated: dict[str, set[str]] = {}
    for name, value in (*stands, *pairs):
        stated.setdefault(name, set()).add(value)
    parameters = {name: next(iter(values)) for name, values in stated.items() if len(values) == 1}
    asked = {"path": urlsplit(url).path, "query": parameters, "body": _nested(body)}
    left = tuple(limit for limit in profile.scope if limit.unless is None or not limit.unless.holds(asked))
    return profile.model_copy(update={"scope": left})


def _begins_later(parameter: tuple[str, str]) -> bool:
    """Tells whether a parameter of an address asks for a later page than the first."""
    name = _PLACES.get(spelled(parameter[0]), parameter[0])
    return is_place(name, parameter[1]) and not may_be_all({name: parameter[1]})


def _check_parameters(url: str, profile: Profile) -> None:
    """Refuses a URL that carries what the read itself sends: sent twice, services differ in which one they take.

    A size of the URL's would make a cut page look short, and a cursor or an offset would begin in mid-list.
    """
    size = profile.size.send if profile.size is not None else None
    if size is not None and size.query is not None:
        _refuse_twice(url, {size.query}, "is the page size: give it as the query's page_size")
    own = {name for place, name in walk_places(profile) if place == "query"}
    _refuse_twice(url, own, "is a parameter that the walk itself sends")


def _refuse_twice(url: str, names: set[str], rule: str) -> None:
    carried = {spelled(name) for name in _names_in(url)}
    for name in sorted(names):
        if spelled(name) in carried:
            raise InvalidInput(field="url", rule=f"must not carry the parameter {printable_name(name)}, which {rule}")


def _names_in(url: str) -> Iterable[str]:
    """Returns the names of the parameters that a service may find in an address: its query's, and its segments'."""
    parts = urlsplit(url)
    segments = (piece for segment in parts.path.split("/") for piece in segment.split(";")[1:])
    return (unquote_plus(piece.partition("=")[0]) for piece in (*_BETWEEN.split(parts.query), *segments))


def spelled(name: str) -> str:
    """Returns the one spelling of the names that services take for each other: `Limit`, ` limit` and `limit[]`."""
    return name.strip().casefold().removesuffix("[]")


def _check_fields(given: Iterable[tuple[str, str]], placed: Iterable[tuple[str, str]], profile: Profile) -> None:
    """Refuses a header of the caller's that the read itself sends, for the same reason as a parameter."""
    own = {name for place, name in walk_places(profile) if place == "header"} | {name.lower() for name, _ in placed}
    walk = profile.paging
    if isinstance(walk, RangeWalk) and walk.send is None:
        own |= {"range", "accept-encoding"}
    for name, _ in given:
        if name.lower() in own:
            raise InvalidInput(field=f"headers.{printable_name(name)}", rule="is a header that the read itself sends")


def check_headers(headers: object) -> tuple[tuple[str, str], ...]:
    """Returns header fields as pairs.

    Raises:
        InvalidInput: a field is outside the grammar, or belongs to the connection.
    """
    if headers is None:
        return ()
    found: Iterable[Any] = headers.items() if isinstance(headers, Mapping) else headers  # type: ignore[assignment]
    if isinstance(headers, str | bytes) or not isinstance(headers, Mapping | list | tuple):
        raise InvalidInput(field="headers", rule="must be an object of name and value")
    pairs: list[tuple[str, str]] = []
    for pair in found:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InvalidInput(field="headers", rule="must be an object of name and value")
        name, value = pair
        if not isinstance(name, str) or not _HEADER_NAME.match(name):
            raise InvalidInput(field="headers", rule="must have names in the grammar of header fields")
        where = f"headers.{printable_name(name)}"
        if name.lower() in _RESERVED:
            raise InvalidInput(field=where, rule="belongs to the connection and cannot be set")
        if not isinstance(value, str) or not _HEADER_VALUE.match(value):
            raise InvalidInput(field=where, rule="must be one line of printable ASCII text")
        pairs.append((name, value))
    return tuple(pairs)


def _sizes(profile: Profile, query: Query) -> tuple[int | None, int | None]:
    """Returns the size that counts as asked for, and the size that is sent."""
    size = profile.size
    if size is None or size.send is None:
        return None, None
    extra = profile.paging.overfetch or 0 if isinstance(profile.paging, SingleWalk) else 0
    most = None if size.max is None else size.max - extra
    asked = query.page_size if query.page_size is not None else most
    if asked is None:
        return None, None
    if most is not None:
        asked = min(asked, most)
    return asked, asked + extra


def _uses_body(profile: Profile) -> bool:
    return any(send.body is not None for send in sends_of(profile))


def _filters(
    profile: Profile,
    query: Query,
    taken: set[tuple[str, str]],
    pairs: list[tuple[str, str]],
    headers: list[tuple[str, str]],
    body: list[tuple[str, Any]],
) -> tuple[dict[str, Any], list[str]]:
    """Places the filters; returns those that are part of the scope, and the names of those that were not sent."""
    scope: dict[str, Any] = {}
    unsent: list[str] = []
    own = {spelled(name) for place, name in taken if place == "query"}
    for name, value in query.filters.items():
        send = profile.filters.get(name)
        if send is None and spelled(name) in own:
            raise InvalidInput(
                field=f"query.filters.{printable_name(name)}", rule="is a parameter that the walk itself sends"
            )
        if (value is None and (send is None or not send.sends_null)) or _is_nothing(value, send):
            unsent.append(name)
            continue
        place = send if send is not None else _query_parameter(name)
        sent = send.null if value is None and send is not None else value
        try:
            for one in _repeated(place, sent):
                _place(place, one, pairs, headers, body)
        except CannotSend:
            raise InvalidInput(
                field=f"query.filters.{printable_name(name)}", rule="must be one line of printable ASCII in a header"
            ) from None
        scope[name] = value
    return scope, unsent


def _repeated(send: Send, value: Any) -> Sequence[Any]:
    """A list of plain values is a repeated query parameter; anywhere else it is one value."""
    is_list = isinstance(value, list | tuple) and not any(isinstance(one, list | tuple | Mapping) for one in value)
    return value if is_list and send.query is not None else [value]


def _is_nothing(value: Any, send: FilterSend | None) -> bool:
    """An empty list has no form as a query parameter."""
    return isinstance(value, list | tuple) and not value and (send is None or send.query is not None)


def _query_parameter(name: str) -> Send:
    return Send.model_construct(query=name, body=None, header=None)


def _own_places(profile: Profile) -> set[tuple[str, str]]:
    return {send.place for send in sends_of(profile)}


def walk_places(profile: Profile) -> set[tuple[str, str]]:
    """Returns the places of a request that a walk and its page size fill: those of filters are left to the query."""
    return {send.place for send in walk_sends_of(profile)}


def _place_range(
    walk: RangeWalk,
    start: int,
    pairs: list[tuple[str, str]],
    headers: list[tuple[str, str]],
    body: list[tuple[str, Any]],
) -> None:
    end = start + walk.size - 1
    if walk.send is not None:
        _place(walk.send.start, start, pairs, headers, body)
        _place(walk.send.end, end, pairs, headers, body)
        return
    headers.append(("Range", f"{walk.unit}={start}-{end}"))
    headers.append(("Accept-Encoding", "identity"))  # the range counts the bytes of the object, not of a coded one


def _place(
    send: Send,
    value: Any,
    pairs: list[tuple[str, str]],
    headers: list[tuple[str, str]],
    body: list[tuple[str, Any]],
) -> None:
    if send.body is not None:
        body.append((send.body, value))
    elif send.query is not None:
        pairs.append((send.query, as_text(value)))
    else:
        text = as_text(value)
        if not _HEADER_VALUE.match(text):
            raise CannotSend
        headers.append((send.header or "", text))


def as_text(value: Any) -> str:
    """Returns a JSON value as it is sent outside a body: a text as it is, anything else as compact JSON.

    Raises:
        CannotSend: UTF-8 cannot hold it.
    """
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise CannotSend from None
    return text


def _nested(entries: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for path, value in entries:
        *parents, last = path.split(".")
        at = body
        for part in parents:
            at = at.setdefault(part, {})
        at[last] = value
    return body


def _json_body(entries: Iterable[tuple[str, Any]]) -> bytes:
    try:
        return json.dumps(_nested(entries), separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise CannotSend from None
