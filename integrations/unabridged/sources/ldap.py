"""Directories through ldap3: a paged search with our own loop. Install `unabridged[ldap]`.

ldap3's own pager ends silently where the server stopped at a limit; here the result code of every page is read.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit

from unabridged.contract import InvalidInput, ReadResult
from unabridged.contract.errors import MissingExtra, value_free
from unabridged.reading import Budget, Clock, Fault, Query, Request, Response, SystemClock

from .walking import CURSOR, SIZE, cursor_of, page, plain, refused, size_of, walked

if importlib.util.find_spec("ldap3") is None:
    raise MissingExtra(extra="ldap", module="ldap3")

from ldap3.core import exceptions

__all__ = ["read_ldap"]

SearchScope = Literal["subtree", "one_level", "base"]
_SCOPES: Final = {"subtree": "SUBTREE", "one_level": "LEVEL", "base": "BASE"}
_PAGED: Final = "1.2.840.113556.1.4.319"
_PAGE_SIZE: Final = 500
_RANGE: Final = re.compile(r";range=\d+-(\d+|\*)", re.IGNORECASE)
_LONGEST_S: Final = 2**31 - 1
_RULES: Final = (
    ("filter", exceptions.LDAPInvalidFilterError, "must be a search filter of RFC 4515"),
    ("filter", exceptions.LDAPObjectClassError, "names an object class that the server's schema does not know"),
    ("attributes", exceptions.LDAPAttributeError, "name an attribute that the server's schema does not know"),
    ("base", exceptions.LDAPInvalidDnError, "must be a distinguished name"),
)
"""What ldap3 refuses before anything is sent."""

SUCCESS, PROTOCOL_ERROR, TIME_LIMIT, SIZE_LIMIT, REFERRAL, ADMIN_LIMIT = 0, 2, 3, 4, 10, 11
_HIDDEN: Final = frozenset({8, 13, 48, 49, 50})
"""Codes that say no to this caller: stronger or other credentials, insufficientAccessRights."""
_STATUS: Final = {32: 404, 51: 503, 52: 503}
_STOPPED: Final = [SUCCESS, TIME_LIMIT, SIZE_LIMIT, REFERRAL, ADMIN_LIMIT]
_PROFILE: Final[dict[str, Any]] = {
    "items": "entries",
    "id": "dn",
    "walk": {
        "by": "token",
        "read": "cookie",
        "send": {"query": CURSOR},
        "ends_on": ["absent"],
        "empty_token": "illegal",
        "repeated_token": "progress",
    },
    "size": {"send": {"query": SIZE}},
    "signals": [
        {"path": "code", "when": {"equals": TIME_LIMIT}, "code": "TIME_BUDGET_EXCEEDED", "detail": "time_limit"},
        {"path": "code", "when": {"equals": SIZE_LIMIT}, "code": "RESULT_LIMIT_REACHED", "detail": "size_limit"},
        {"path": "code", "when": {"equals": ADMIN_LIMIT}, "code": "RESULT_LIMIT_REACHED", "detail": "admin_limit"},
        {"path": "hidden", "when": {"equals": True}, "code": "VISIBILITY_RESTRICTED"},
        {"path": "failed", "when": {"equals": True}, "code": "SOURCE_UNAVAILABLE", "detail": "result_code"},
        {"path": "referrals", "when": "nonempty", "code": "SOURCE_UNAVAILABLE", "detail": "referral",
         "names_sources": True},
        {"path": "ranged", "when": "nonempty", "code": "ITEM_TRUNCATED", "detail": "range"},
        {"path": "unpaged", "when": {"equals": True}, "code": "COVERAGE_UNKNOWN"},
    ],
    "expired": [{"status": 410}],
    "cursor": {"freezes": False, "resumable": False},
}  # fmt: skip
"""Result codes of RFC 4511, 4.1.9, and the paging of RFC 2696, as OpenLDAP sends them."""


@value_free
def read_ldap(
    connection: Any,
    base: str,
    filter: str = "(objectClass=*)",
    *,
    resource: str | Query,
    attributes: Sequence[str] = ("*",),
    scope: SearchScope = "subtree",
    single: Sequence[str] = (),
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads the entries of a search, page by page, until the server says that this was all.

    A record is the entry's `dn` and its attributes, each a list of values (see `single`).

    Entries that came with an error are kept, and the error says why there are no more: a limit of the server's time
    or size, another server that holds a part of the tree (a referral, which is not followed), a refusal. A cookie
    lives on its connection only; elsewhere it is `CONTINUATION_EXPIRED`. The result records itself in the session in
    scope.

    Where the connection follows ranges (`auto_range`, as ldap3 does by default), an attribute whose values come in
    parts, as those of large groups in Active Directory do, is asked for to its end; where that fails, the part that
    came keeps its name (`member;range=0-1499`) and the read is partial (`ITEM_TRUNCATED`).

    Entries and attributes that the caller may not see are missing without a word, so a complete read speaks of what
    this caller can see. A search over several pages is no snapshot.

    Args:
        connection: an open, bound `ldap3.Connection` with a synchronous strategy. Its `receive_timeout` bounds each
            wait for the server.
        base: the distinguished name where the search starts.
        filter: a search filter; whatever comes from outside is escaped by the caller
            (`ldap3.utils.conv.escape_filter_chars`).
        resource: the name of what is read, or a `Query`: its filters are the scope that `filter` stands for, its page
            size is that of the paging (500 when not given).
        attributes: the attributes asked for.
        scope: how deep the search goes.
        single: attributes that hold one value: they stand in a record as that value, all others as a list.
        budget: what may be spent; `Budget()` when not given. The time that is left goes to the server as its limit.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule. The error holds no value.
    """
    if scope not in get_args(SearchScope):
        raise InvalidInput(field="scope", rule=f"must be one of {', '.join(get_args(SearchScope))}")
    if not getattr(getattr(connection, "strategy", None), "sync", False):
        raise InvalidInput(field="connection", rule="must be an ldap3.Connection with a synchronous strategy")
    query = Query.of(resource)
    if query.page_size is None:
        query = replace(query, page_size=_PAGE_SIZE)
    search = {"search_base": base, "search_filter": filter, "search_scope": _SCOPES[scope], "attributes": [*attributes]}
    time = clock or SystemClock()
    directory = _Directory(connection, search, frozenset(name.lower() for name in single), time)
    return walked({**_PROFILE, "name": "ldap"}, query, transport=directory, budget=budget, clock=time)


@dataclass(frozen=True)
class _Directory:
    """Answers the reader's requests with one search each."""

    connection: Any = field(repr=False)
    search: Mapping[str, Any] = field(repr=False)
    single: frozenset[str]
    clock: Clock = field(repr=False)

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Makes one search; the cookie is the request's cursor."""
        cookie = cursor_of(request)
        result, response = None, None
        broken: tuple[str, str] | None = None
        try:
            result, response = self._page(_decoded(cookie), size_of(request), timeout_s)
        except exceptions.LDAPOperationResult as error:  # a connection that raises what others return
            result, response = {"result": error.result}, error.response
        except (exceptions.LDAPSocketReceiveError, exceptions.LDAPResponseTimeoutError):
            return Fault("timeout" if not self.connection.closed else "disconnect")
        except (exceptions.LDAPCommunicationError, exceptions.LDAPSessionTerminatedByServerError, OSError):
            return Fault("disconnect")
        except exceptions.LDAPExceptionError as error:
            broken = next(((name, rule) for name, kind, rule in _RULES if isinstance(error, kind)), None)
            if broken is None:
                return Fault("disconnect")
        if broken is not None:
            raise InvalidInput(field=broken[0], rule=broken[1])
        return self._answer(result or {}, response or [], continued=cookie is not None)

    def _page(self, cookie: bytes | None, size: int | None, timeout_s: float | None) -> tuple[Any, Any]:
        """Makes one search, and asks on for values that came as a range, where the connection is set to do so."""
        until_s = None if timeout_s is None else self.clock.monotonic() + timeout_s
        paging = {"paged_size": size, "paged_cookie": cookie, "paged_criticality": True}
        connection = self.connection
        before = connection.auto_referrals, getattr(connection, "auto_range", False)
        # ldap3 follows ranges by itself, and takes the first values for all where it is refused the others
        connection.auto_referrals = connection.auto_range = False
        try:
            result, response = self._searched({**self.search, **paging}, timeout_s)
            if before[1]:
                response = [self._with_ranges(entry, until_s) for entry in response or ()]
        finally:
            connection.auto_referrals, connection.auto_range = before
        return result, response

    def _searched(self, search: Mapping[str, Any], timeout_s: float | None) -> tuple[Any, Any]:
        limit_s = 0 if timeout_s is None else min(_LONGEST_S, max(1, math.ceil(timeout_s)))
        found = self.connection.search(**search, time_limit=limit_s)
        if isinstance(found, tuple):  # the strategies that are safe for threads
            return found[1], found[2]
        return self.connection.result, self.connection.response

    def _with_ranges(self, entry: Mapping[str, Any], until_s: float | None) -> Mapping[str, Any]:
        """Returns an entry with the values of its ranges whole; a range whose rest does not come stays as it is."""
        raw = entry.get("raw_attributes") or {}
        ranged = [name for name in raw if _RANGE.search(name)]
        if not ranged:
            return entry
        values = {name: raw[name] for name in raw}
        for name in ranged:
            whole = self._ranged(entry["dn"], name, raw[name], until_s)
            if whole is not None:
                del values[name]
                values[_RANGE.sub("", name)] = whole
        return {**entry, "raw_attributes": values}

    def _ranged(self, dn: str, name: str, first: Sequence[bytes], until_s: float | None) -> list[bytes] | None:
        """Asks for the rest of a range, as MS-ADTS 3.1.1.3.1.3.3 has it: the last one ends in `*`."""
        bare, values = _RANGE.sub("", name), list(first)
        last = _last_of(name)
        while last is not None:
            left_s = None if until_s is None else until_s - self.clock.monotonic()
            if left_s is not None and left_s <= 0:
                return None
            search = {"search_base": dn, "search_filter": "(objectClass=*)", "search_scope": "BASE"}
            try:
                result, response = self._searched({**search, "attributes": [f"{bare};range={last + 1}-*"]}, left_s)
            except (exceptions.LDAPException, OSError):
                return None
            entries = [e for e in response or () if e.get("type") == "searchResEntry"]
            if (result or {}).get("result") != SUCCESS or len(entries) != 1:
                return None
            raw = entries[0]["raw_attributes"]
            found = [key for key in raw if key.lower().startswith(f"{bare.lower()};range={last + 1}-") and raw[key]]
            if len(found) != 1:
                return None
            values += raw[found[0]]
            last = _last_of(found[0])
        return values

    def _answer(self, result: Mapping[str, Any], response: Sequence[Mapping[str, Any]], *, continued: bool) -> Response:
        code = result.get("result")
        entries = [self._record(entry) for entry in response if entry.get("type") == "searchResEntry"]
        if code == PROTOCOL_ERROR and continued and not entries:
            return refused(410)
        hidden, failed = code in _HIDDEN, code not in _HIDDEN and code not in _STOPPED
        if not entries and (hidden or failed):
            return refused(403 if hidden else _STATUS.get(code or 0, 500), code)
        paging = (result.get("controls") or {}).get(_PAGED)
        cookie = ((paging or {}).get("value") or {}).get("cookie") or b""
        body = {
            "entries": entries,
            "code": code,
            "hidden": hidden,
            "failed": failed,
            "referrals": _hosts(result, response),
            "ranged": any(";range=" in name.lower() for entry in entries for name in entry),
            "unpaged": code == SUCCESS and paging is None,
        }
        if cookie:
            body["cookie"] = base64.b64encode(cookie).decode()
        return page(body)

    def _record(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        record: dict[str, Any] = {"dn": entry["dn"]}
        for name, values in entry["raw_attributes"].items():
            if not values or name == "dn":  # ldap3 adds what was asked for and did not come
                continue
            listed = [plain(value) for value in values]
            record[name] = listed[0] if name.lower() in self.single and len(listed) == 1 else listed
        return record


def _last_of(name: str) -> int | None:
    """Returns where a range ends; nothing when it holds the last value."""
    found = _RANGE.search(name)
    return None if found is None or found[1] == "*" else int(found[1])


def _decoded(cookie: str | None) -> bytes | None:
    if cookie is None:
        return None
    try:
        return base64.b64decode(cookie, validate=True)
    except binascii.Error:
        raise InvalidInput(field="cursor", rule="must be a cursor of this source") from None


def _hosts(result: Mapping[str, Any], response: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the servers that hold other parts of what was asked, by name and without what else an address holds."""
    addresses = list(result.get("referrals") or ())
    for entry in response:
        if entry.get("type") == "searchResRef":
            addresses += entry.get("uri") or ()
    if result.get("result") == REFERRAL and not addresses:
        return ["referral"]
    return list(dict.fromkeys(_host(address) for address in addresses))


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or "referral"
    except ValueError:
        return "referral"
