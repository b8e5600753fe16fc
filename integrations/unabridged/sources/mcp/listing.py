"""`read_mcp_list`: the list calls of a session, walked to their end by our own reader."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never, get_args

from mcp.types import PaginatedRequestParams

from unabridged.contract import InvalidInput, ReadResult
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Budget, Clock, Fault, Query, Request, Response, Resume, SystemClock
from unabridged.reading.ask import Chain
from unabridged.reading.run import afinish_read, make_ask

from .exchange import INVALID_PARAMS, Broken, exchanged

if TYPE_CHECKING:
    from mcp import ClientSession

Listing = Literal["tools", "resources", "resource_templates", "prompts"]
REPEATS: Final = 3
_URL: Final = "https://mcp.invalid/"
_CURSOR: Final = "cursor"
_KEYS: Final[dict[str, tuple[str, str]]] = {
    "tools": ("tools", "name"),
    "resources": ("resources", "uri"),
    "resource_templates": ("resourceTemplates", "uriTemplate"),
    "prompts": ("prompts", "name"),
}
"""For each list the key of its records in a page, and the field that tells them apart."""


async def read_mcp_list(
    session: ClientSession,
    listing: Listing,
    *,
    resource: str | Query | None = None,
    server: str | None = None,
    budget: Budget | None = None,
    timeout_s: float | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads a list of a session until the server says that this was all, and says whether it was.

    Only a cursor that is absent or null ends a list: an empty string is a cursor and is sent back as one. A cursor
    that this walk has already sent ends it as `PROTOCOL_ANOMALY:cursor_repeated`; each record is kept once, by its
    name or address. A cursor that the server refuses is `CONTINUATION_EXPIRED`. A server that is gone, or has no such
    list, makes the read unavailable, never empty. The result records itself in the session in scope.

    A list that ends is whole for this connection: what the server hides from it, and what it adds later, is not seen.

    Args:
        session: a connected and initialised `ClientSession` of the SDK, version 1 or 2.
        listing: which list.
        resource: the name of what is read, or a `Query`; `mcp_tools` and so on when not given.
        server: a name for the server, where several are read: lower case letters, digits and `_`.
        budget: what may be spent; `Budget()` when not given.
        timeout_s: how long one exchange may take; 30 when not given.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule.
    """
    if listing not in get_args(Listing):
        raise InvalidInput(field="listing", rule=f"must be one of {', '.join(get_args(Listing))}")
    profile = _profile(listing, server or f"mcp_{listing}")
    query = Query.of(resource if resource is not None else f"mcp_{listing}")
    if query.filters or query.page_size is not None:
        raise InvalidInput(field="resource", rule="must have no filters and no page size: a list call takes neither")
    ask = make_ask(profile, query, url=_URL, clock=clock or SystemClock(), budget=budget or Budget())
    begun = Resume(ask=replace(ask, repeats_left=REPEATS), chain=Chain())
    return await afinish_read(begun, transport=_Session(session, listing, timeout_s))


def _profile(listing: Listing, name: str) -> Profile:
    """What the pages of a list call mean (https://modelcontextprotocol.io/specification, Pagination)."""
    key, identity = _KEYS[listing]
    return load_profile(
        {
            "name": name,
            "version": 1,
            "items": key,
            "id": identity,
            "walk": {
                "by": "token",
                "read": "nextCursor",
                "send": {"query": _CURSOR},
                "ends_on": ["absent", "null"],
                "empty_token": "cursor",
                "repeated_token": "anomaly",
            },
            "expired": [{"path": "error.code", "when": {"equals": INVALID_PARAMS}}],
            "errors": [{"path": "error.code", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}],
            "evidence": "server",
        }
    )


@dataclass(frozen=True)
class _Session:
    """Answers the reader's requests from a session, in the JSON that went over the wire."""

    session: ClientSession = field(repr=False)
    listing: Listing
    timeout_s: float | None

    async def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Makes one list call; the cursor is the request's only parameter."""
        cursor = dict(request.query).get(_CURSOR)
        params = None if cursor is None else PaginatedRequestParams(cursor=cursor)
        call = getattr(self.session, f"list_{self.listing}")
        page = await exchanged(lambda: call(params=params), timeout_s=self.timeout_s, left_s=timeout_s)
        return _faulty(page) if isinstance(page, Broken) else Response(200, body=_json(_body(page)))


def _faulty(broken: Broken) -> Response | Fault:
    match broken.kind:
        case "timeout" | "deadline" | "disconnect":
            return Fault(broken.kind)
        case "malformed":
            return Response(200, body=b"{}")  # an answer without the list is a malformed page to the reader
        case "refused":
            return Response(200, body=_json({"error": {"code": broken.code}}))
        case _:
            assert_never(broken.kind)


def _body(page: Any) -> dict[str, Any]:
    """Returns a page in the spelling of the wire; the attributes of the SDK's versions differ, the JSON does not."""
    body: dict[str, Any] = page.model_dump(mode="json", by_alias=True, exclude_none=True)
    return body


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
