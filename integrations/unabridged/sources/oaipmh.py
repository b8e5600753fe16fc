"""OAI-PMH 2.0: the lists of a repository, which answers in XML. Needs nothing beyond the standard library.

Each answer becomes one JSON page, and the shipped profile `oai_pmh_list` says what it means; the reader walks and
judges. The protocol: http://www.openarchives.org/OAI/openarchivesprotocol.html (read 2026-11-30).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args
from xml.etree import ElementTree
from xml.parsers import expat

from unabridged.contract import InvalidInput, ReadResult
from unabridged.contract.errors import value_free
from unabridged.profiles import load_profile
from unabridged.reading import Budget, Clock, Fault, Query, Request, Response, Transport
from unabridged.reading.links import check_url
from unabridged.reading.requests import check_headers

from .walking import walked

__all__ = ["OaiVerb", "read_oai_pmh"]

OaiVerb = Literal["ListRecords", "ListIdentifiers", "ListSets"]
_ARGUMENTS: Final = ("from", "until", "set")
_TOKEN: Final = "resumptionToken"
_OWN: Final = frozenset({"verb", "metadataPrefix", _TOKEN, *_ARGUMENTS})
_OAI: Final = "{http://www.openarchives.org/OAI/2.0/}"
_ENTRIES: Final[Mapping[OaiVerb, str]] = {"ListRecords": "record", "ListIdentifiers": "header", "ListSets": "set"}
_ERRORS: Final = frozenset(
    {"badArgument", "badResumptionToken", "badVerb", "cannotDisseminateFormat", "idDoesNotExist", "noRecordsMatch",
     "noMetadataFormats", "noSetHierarchy"}
)  # fmt: skip
_NO_XML: Final = b"<"
"""What stands for a body that cannot be decoded: never JSON, so that no body of a source passes unread."""


@value_free
def read_oai_pmh(
    url: str,
    *,
    resource: str | Query,
    verb: OaiVerb = "ListRecords",
    metadata_prefix: str = "oai_dc",
    client: Any = None,
    headers: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads one list of a repository to its end, and records the result in the session in scope.

    A list that comes in one piece ends with it; one that comes in pieces ends with an empty `resumptionToken` only: a
    later piece without one is `unknown`. `noRecordsMatch` is an empty list, and no error; as an answer to a token it
    is. A token that died (`badResumptionToken`) is `CONTINUATION_EXPIRED`. `completeListSize` may be an estimate, and
    proves nothing; where the last piece itself says that it is not the last, the read is `unknown`.

    A record of ListRecords is `{"identifier", "datestamp", "sets", "deleted", "metadata", "about"}`, `metadata` the
    XML text of what is inside (null where there is none) and `about` a list of such texts; one of ListIdentifiers
    has no `metadata` and no `about`; one of ListSets is `{"setSpec", "setName"}`. A document type is refused in any
    answer, so no entity is expanded.

    Args:
        url: the base URL of the repository, without a verb.
        resource: the name of what is read, or a `Query`. Its filters may be `from`, `until` and `set`, which are the
            arguments of the protocol; `ListSets` takes none.
        verb: which list.
        metadata_prefix: the format of the records; `ListSets` has none.
        client: an `httpx.Client` or `httpx2.Client`; a shared one when not given.
        headers: header fields such as credentials.
        budget: what may be spent; `Budget()` when not given.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule. The error holds no value.
    """
    from unabridged.reading.http import HttpTransport, check_host

    address = _base_url(url)
    check_host(address)
    query = Query.of(resource)
    arguments = _arguments(query, verb, metadata_prefix)
    is_bounded = budget is None or getattr(budget, "max_bytes", None) is not None
    http = HttpTransport(client) if is_bounded else HttpTransport(client, max_page_bytes=None)
    transport = _Repository(http, address, check_headers(headers), verb, arguments)
    return walked(load_profile("oai_pmh_list"), query, transport=transport, budget=budget, clock=clock)


def _base_url(url: object) -> str:
    address = check_url(url)
    if any(name in _OWN for name, _ in Request("GET", address).pairs):
        raise InvalidInput(field="url", rule="must be the base URL, without arguments of the protocol")
    return address


def _arguments(query: Query, verb: OaiVerb, prefix: str) -> tuple[tuple[str, str], ...]:
    if verb not in get_args(OaiVerb):
        raise InvalidInput(field="verb", rule=f"must be one of {', '.join(get_args(OaiVerb))}")
    known = () if verb == "ListSets" else _ARGUMENTS
    if any(name not in known for name in query.filters):
        raise InvalidInput(field="resource", rule=f"must have no filters but {', '.join(known) or 'none'}")
    if any(not isinstance(value, str) or not value for value in query.filters.values()):
        raise InvalidInput(field="resource", rule="must have texts as filters")
    if query.page_size is not None:
        raise InvalidInput(field="resource", rule="must have no page size: the repository alone decides it")
    if not isinstance(prefix, str) or not prefix:
        raise InvalidInput(field="metadata_prefix", rule="must be a text")
    prefixed = () if verb == "ListSets" else (("metadataPrefix", prefix),)
    return (*prefixed, *((name, str(query.filters[name])) for name in known if name in query.filters))


@dataclass(frozen=True)
class _Repository:
    """Answers the reader's requests with one request of the protocol each, and turns the answer into a page."""

    transport: Transport
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    verb: OaiVerb
    arguments: tuple[tuple[str, str], ...] = field(repr=False)

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Asks for one piece of the list. A token is an exclusive argument: nothing but the verb goes with it."""
        token = dict(request.query).get(_TOKEN)
        asked = self.arguments if token is None else ((_TOKEN, token),)
        sent = Request("GET", self.url, query=(("verb", self.verb), *asked), headers=self.headers)
        answer = self.transport.send(sent, timeout_s=timeout_s)
        if isinstance(answer, Fault) or _is_short(answer):
            return answer
        return Response(
            answer.status,
            headers=tuple((name, value) for name, value in answer.headers if name.lower() != "content-length"),
            body=page_of(answer.body, self.verb, is_first=token is None),
        )


def _is_short(answer: Response) -> bool:
    """Tells whether a body is shorter than its head says; it is left as it is, and judged by its length."""
    stated = [value for name, value in answer.headers if name.lower() == "content-length"]
    return any(value.isascii() and value.isdigit() and len(answer.body) < int(value[:18]) for value in stated)


def page_of(body: bytes, verb: OaiVerb, *, is_first: bool) -> bytes:
    """Returns an answer of the protocol as the JSON page that `oai_pmh_list` reads.

    Args:
        body: the answer as it came.
        verb: what was asked for.
        is_first: whether no token was sent.
    """
    root = _parsed(body)
    if root is None:
        return _NO_XML
    try:
        return json.dumps(_page(root, verb, is_first=is_first), ensure_ascii=False).encode()
    except (RecursionError, UnicodeEncodeError):
        return _NO_XML


class _Refused(Exception):
    """A document has a type. Carries nothing of it."""


class _Begun(Exception):
    """The root has begun, so no document type follows."""


def _refuse(*_: Any) -> None:
    raise _Refused


def _begin(*_: Any) -> None:
    raise _Begun


def _parsed(body: bytes) -> ElementTree.Element | None:
    """Returns the root of an XML text without a document type: entities could be declared nowhere else."""
    guard = expat.ParserCreate()
    guard.StartDoctypeDeclHandler = _refuse
    guard.StartElementHandler = _begin
    try:
        guard.Parse(body, True)
    except _Begun:
        pass
    except (_Refused, expat.ExpatError, LookupError, ValueError):
        return None
    try:
        return ElementTree.fromstring(body)
    except (ElementTree.ParseError, LookupError, ValueError):
        return None


def _page(root: ElementTree.Element, verb: OaiVerb, *, is_first: bool) -> dict[str, Any]:
    """Returns the page; what is no answer to the verb has no list, and is malformed."""
    if root.tag != f"{_OAI}OAI-PMH":
        return {}
    errors = [error.get("code") for error in root.findall(f"{_OAI}error")]
    lists = root.findall(f"{_OAI}{verb}")
    if errors:
        if errors == ["noRecordsMatch"] and is_first and not lists:
            return {"records": []}
        return {"error": _error(errors)}
    if len(lists) != 1 or len(lists[0].findall(f"{_OAI}{_TOKEN}")) > 1 or any(_is_astray(one) for one in root):
        return {}
    return {"records": _records(lists[0], verb), **_flow(lists[0], is_first=is_first)}


def _is_astray(child: ElementTree.Element) -> bool:
    """Tells whether a token or an error stands where none may: beside the list, or in another spelling."""
    name = child.tag.rpartition("}")[2].lower()
    return name == _TOKEN.lower() or (name == "error" and child.tag != f"{_OAI}error")


def _error(codes: Iterable[str | None]) -> str:
    """Returns the code that decides: a dead token before all others, and none that the protocol does not know."""
    known = sorted({code for code in codes if code in _ERRORS}, key=lambda code: (code != "badResumptionToken", code))
    return known[0] if known else "unknown"


def _flow(found: ElementTree.Element, *, is_first: bool) -> dict[str, Any]:
    """Returns what a list says of its rest.

    A list without a token is whole where none was sent; as an answer to a token it leaves its end open (null).
    """
    element = found.find(f"{_OAI}{_TOKEN}")
    if element is None:
        return {} if is_first else {_TOKEN: None}
    text = "".join(element.itertext())
    token = text if text.strip() else ""
    size, cursor = _number(element.get("completeListSize")), _number(element.get("cursor"))
    stated = {name: value for name, value in (("completeListSize", size), ("cursor", cursor)) if value is not None}
    entries = sum(entry.tag != f"{_OAI}{_TOKEN}" for entry in found)
    is_short = not token and size is not None and cursor is not None and cursor + entries < size
    return {_TOKEN: token, **stated, **({"short": True} if is_short else {})}


def _number(text: str | None) -> int | None:
    digits = (text or "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None


def _records(found: ElementTree.Element, verb: OaiVerb) -> list[Any]:
    """Returns one record an entry; an entry of another kind is null, which no page may hold."""
    entry = f"{_OAI}{_ENTRIES[verb]}"
    return [_record(one, verb) if one.tag == entry else None for one in found if one.tag != f"{_OAI}{_TOKEN}"]


def _record(entry: ElementTree.Element, verb: OaiVerb) -> dict[str, Any] | None:
    if verb == "ListSets":
        return _texts(entry, {"setSpec": "setSpec", "setName": "setName"})
    header = entry if verb == "ListIdentifiers" else entry.find(f"{_OAI}header")
    if header is None:
        return None
    record: dict[str, Any] = {
        **_texts(header, {"identifier": "identifier", "datestamp": "datestamp"}),
        "sets": [_text(one) for one in header.findall(f"{_OAI}setSpec")],
        "deleted": header.get("status") == "deleted",
    }
    if verb == "ListRecords":
        metadata = entry.find(f"{_OAI}metadata")
        record["metadata"] = None if metadata is None else _inside(metadata)
        record["about"] = [_inside(one) for one in entry.findall(f"{_OAI}about")]
    return record


def _texts(parent: ElementTree.Element, names: Mapping[str, str]) -> dict[str, str]:
    found = {name: parent.find(f"{_OAI}{tag}") for name, tag in names.items()}
    return {name: text for name, one in found.items() if one is not None and (text := _text(one))}


def _text(element: ElementTree.Element) -> str:
    return "".join(element.itertext()).strip()


def _inside(element: ElementTree.Element) -> str:
    """Returns the XML text of what stands in an element, names with their namespaces."""
    return "".join(ElementTree.tostring(one, encoding="unicode").strip() for one in element)
