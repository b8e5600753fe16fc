"""How an operation pages: botocore's own data, the few operations that it leaves out, and what no answer mentions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import jmespath
from botocore.exceptions import DataNotFoundError
from botocore.loaders import Loader
from botocore.paginate import TokenDecoder, TokenEncoder

from unabridged.contract import InvalidInput

_TOKENS: Final = re.compile(
    r"(next|continuation|pagination|page).*(token|marker|key|cursor)|next\w*iterator|marker|position|cursor"
    r"|lastevaluated\w*|\w*truncated|hasmore\w*",
    re.IGNORECASE,
)
"""Members of an answer that say that an operation pages."""


@dataclass(frozen=True)
class AwsWalk:
    """How one operation pages.

    Attributes:
        sends: parameters that take the token, in the order of `reads`.
        reads: expressions over the answer that give the token.
        more: an expression that says whether there is more; a false one is the end.
        size: the parameter that takes a page size.
        repeats_at_end: whether the end is the token just sent, sent back.
    """

    sends: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    more: str | None = None
    size: str | None = None
    repeats_at_end: bool = False

    def token(self, answer: Mapping[str, Any]) -> str | None:
        """Returns the token of an answer as one opaque text; one that is empty is none, as it is to botocore."""
        found = {name: jmespath.search(path, answer) for name, path in zip(self.sends, self.reads, strict=True)}
        found = {name: value for name, value in found.items() if value not in (None, "", {}, [])}
        return str(TokenEncoder().encode(found)) if found else None

    def says_more(self, answer: Mapping[str, Any]) -> bool | None:
        """Returns what an answer says about more, if anything."""
        said = None if self.more is None else jmespath.search(self.more, answer)
        return said if isinstance(said, bool) else None


def parameters_of(token: str | None) -> dict[str, Any]:
    """Returns the parameters that carry a token."""
    if token is None:
        return {}
    try:
        found = TokenDecoder().decode(token)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput(field="cursor", rule="must be a cursor of this source")
    return found


@dataclass(frozen=True)
class Known:
    """What is known of an operation beyond botocore's data."""

    walk: AwsWalk | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that the walk needs."""
    profile: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the profile."""
    page_size: int | None = None
    """A size to ask for, where the service cuts the list and gives no token unless one is asked for."""


_LEAVES_OUT: Final = {"signals": [{"path": "items", "when": "nonempty", "warning": "PARTIAL_FIELD_SET"}]}
_UNFINISHED: Final = ["Scheduled", "Running", "Timeout", "Cancelled", "Failed", "Unknown"]
KNOWN: Final[dict[tuple[str, str], Known]] = {
    ("logs", "get_log_events"): Known(
        AwsWalk(("nextToken",), ("nextForwardToken",), size="limit", repeats_at_end=True), {"startFromHead": True}
    ),
    ("logs", "get_query_results"): Known(
        AwsWalk(),
        profile={
            "signals": [{"path": "answer.status", "when": {"in": _UNFINISHED}, "code": "JOB_NOT_FINISHED"}],
            "caps": [{"limit": 10000, "on": "items"}],
        },
    ),
    ("ce", "get_cost_and_usage"): Known(AwsWalk(("NextPageToken",), ("NextPageToken",))),
    ("cloudtrail", "lookup_events"): Known(profile={"scope": [{"window": "90 days"}]}),
    ("resourcegroupstaggingapi", "get_resources"): Known(profile={"scope": [{"excludes": "untagged resources"}]}),
    ("resource-explorer-2", "search"): Known(
        profile={
            "signals": [{"path": "answer.Count.Complete", "when": {"equals": False}, "code": "RESULT_LIMIT_REACHED"}]
        }
    ),
    ("cloudwatch", "get_metric_data"): Known(
        profile={
            "item_cuts": [
                {"path": "StatusCode", "when": {"in": ["PartialData", "InternalError"]}, "field": "Values",
                 "why": "source_failed"},
                {"path": "StatusCode", "when": {"equals": "Forbidden"}, "field": "Values", "why": "no_access"},
            ]
        }
    ),
    ("sqs", "list_queues"): Known(page_size=1000),
    ("sqs", "list_dead_letter_source_queues"): Known(page_size=1000),
    ("iam", "list_roles"): Known(profile=_LEAVES_OUT),
    ("iam", "list_users"): Known(profile=_LEAVES_OUT),
    ("iam", "list_policies"): Known(profile=_LEAVES_OUT),
}  # fmt: skip
"""From the service models of botocore 1.44 and the API references of the services."""


def walk_of(service: Any, operation: str, name: str, items: str, stated: AwsWalk | None) -> AwsWalk:
    """Returns how an operation pages.

    Args:
        service: the client's service model.
        operation: the operation as the client spells it.
        name: the operation as the API spells it.
        items: where the records stand: what says that there are more stands beside them, or above.
        stated: how the caller says that it pages.

    Raises:
        InvalidInput: nothing says how it pages, and its answer looks as if it did.
    """
    known = KNOWN.get((service.service_name, operation))
    if stated is not None or (known is not None and known.walk is not None):
        return stated or known.walk  # type: ignore[union-attr, return-value]
    found = _pagination(service.service_name, service.api_version).get(name)
    if found is not None:
        more = found.get("more_results")
        return AwsWalk(_listed(found["input_token"]), _listed(found["output_token"]), more, found.get("limit_key"))
    if any(_TOKENS.fullmatch(member) for member in _beside(service.operation_model(name).output_shape, items)):
        raise InvalidInput(field="walk", rule="must say how this operation pages: botocore does not")
    return AwsWalk()


def _beside(shape: Any, items: str) -> Iterator[str]:
    """Returns the names of what stands on the way to the records."""
    for step in items.split("."):
        if getattr(shape, "type_name", None) != "structure":
            return
        yield from shape.members
        shape = shape.members.get(step)


@lru_cache(maxsize=32)
def _pagination(service_name: str, api_version: str) -> Mapping[str, Any]:
    try:
        found = Loader().load_service_model(service_name, "paginators-1", api_version)
    except DataNotFoundError:
        return {}
    pagination: Mapping[str, Any] = found["pagination"]
    return pagination


def _listed(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
