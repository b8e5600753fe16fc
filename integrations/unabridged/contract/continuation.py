"""How a read goes on: a real recovery route, or none (`CONTRACT.md` 2, Continuations).

A continuation carries a handle, never a cursor: only the session can resolve it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from .ids import safe_item, safe_phrase, safe_token

Handle = Annotated[str, Field(pattern=r"^h_[A-Za-z0-9_\-]{1,64}$")]
SafeId = Annotated[str | int | float, BeforeValidator(safe_item)]
Token = Annotated[str, BeforeValidator(safe_token)]
Phrase = Annotated[str, BeforeValidator(safe_phrase)]


class _Route(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    def to_wire(self) -> dict[str, Any]:
        """Returns the wire form; what is not set is left out."""
        return {name: (list(v) if isinstance(v, tuple) else v) for name, v in self if v is not None}


class RestartScan(_Route):
    """Reads again from the first page; what was read before is not merged with it."""

    kind: Literal["restart_scan"] = "restart_scan"
    why: Token | None = None
    handle: Handle | None = None


class RetryAfter(_Route):
    """Asks for the failed page again once the source's own wait is over."""

    kind: Literal["retry_after"] = "retry_after"
    seconds: int | float
    handle: Handle | None = None


class ReadMore(_Route):
    """Shows records that were read but are not in this envelope; the source is not asked for them."""

    kind: Literal["read_more"] = "read_more"
    handle: Handle | None = None


class NextPage(_Route):
    """Asks for the page on offer, or for a failed one again."""

    kind: Literal["next_page"] = "next_page"
    handle: Handle | None = None


class PollJob(_Route):
    """Asks a running job for its state again."""

    kind: Literal["poll_job"] = "poll_job"
    seconds: int | float
    handle: Handle | None = None


class RetrySources(_Route):
    """Asks the named sources again."""

    kind: Literal["retry_sources"] = "retry_sources"
    names: tuple[Token, ...] = ()
    handle: Handle | None = None


class RetryItems(_Route):
    """Asks for the named items again."""

    kind: Literal["retry_items"] = "retry_items"
    ids: tuple[SafeId, ...] = ()
    handle: Handle | None = None


class RetryWithDeadline(_Route):
    """Asks again with more time."""

    kind: Literal["retry_with_deadline"] = "retry_with_deadline"
    seconds: int | float
    handle: Handle | None = None


class ReadRange(_Route):
    """Reads a document on from where it stopped."""

    kind: Literal["read_range"] = "read_range"
    reference: Token
    start: int
    handle: Handle | None = None


class NarrowQuery(_Route):
    """Asks in parts that stay below the source's cap, split along an axis."""

    kind: Literal["narrow_query"] = "narrow_query"
    axis: Token | None = None
    limit: int | None = None


class FetchRestOfItem(_Route):
    """Fetches what is missing inside one item."""

    kind: Literal["fetch_rest_of_item"] = "fetch_rest_of_item"
    item: SafeId
    field: Token
    handle: Handle | None = None


class RepeatRead(_Route):
    """Starts the read again; the failed attempt counts for nothing."""

    kind: Literal["repeat_read"] = "repeat_read"
    attempts_left: int
    handle: Handle | None = None


class RequestAccess(_Route):
    """A person with the right to do so may grant access to the rest."""

    kind: Literal["request_access"] = "request_access"
    advice: Phrase = "ask for access to the hidden part"


class WidenScope(_Route):
    """The query, or the source's settings, must name the wider domain."""

    kind: Literal["widen_scope"] = "widen_scope"
    advice: Phrase = "name the whole domain in the query"


class ExactMode(_Route):
    """The source has an exact mode, switched on by a parameter."""

    kind: Literal["exact_mode"] = "exact_mode"
    parameter: Token


class NoContinuation(_Route):
    """No route is known."""

    kind: Literal["none"] = "none"


Continuation = (
    RestartScan
    | RetryAfter
    | ReadMore
    | NextPage
    | PollJob
    | RetrySources
    | RetryItems
    | RetryWithDeadline
    | ReadRange
    | NarrowQuery
    | FetchRestOfItem
    | RepeatRead
    | RequestAccess
    | WidenScope
    | ExactMode
    | NoContinuation
)
ContinuationKind = Literal[
    "restart_scan", "retry_after", "read_more", "next_page", "poll_job", "retry_sources", "retry_items",
    "retry_with_deadline", "read_range", "narrow_query", "fetch_rest_of_item", "repeat_read", "request_access",
    "widen_scope", "exact_mode", "none",
]  # fmt: skip
KINDS: Final[tuple[ContinuationKind, ...]] = get_args(ContinuationKind)
NONE: Final = NoContinuation()

READS_AGAIN: Final[frozenset[str]] = frozenset(
    {
        "next_page", "read_more", "retry_after", "retry_with_deadline", "retry_sources", "retry_items", "poll_job",
        "read_range", "fetch_rest_of_item", "repeat_read",
    }
)  # fmt: skip
"""The kinds after which an agent goes on searching by itself (`PROFILES.md` 2, `decision`)."""

_PRECEDENCE: Final[dict[str, int]] = {
    kind: rank
    for rank, kind in enumerate(
        ("restart_scan", "retry_after", "read_more", "next_page", "read_range", "poll_job", "retry_sources",
         "retry_with_deadline", "narrow_query", "fetch_rest_of_item", "retry_items", "repeat_read", "request_access",
         "widen_scope", "exact_mode", "none")
    )
}  # fmt: skip


def first_that_applies(routes: Sequence[Continuation]) -> Continuation:
    """Returns the route that stands first in the contract's table; without any, none."""
    return min(routes, key=lambda r: (_PRECEDENCE[r.kind], repr(r)), default=NONE)
