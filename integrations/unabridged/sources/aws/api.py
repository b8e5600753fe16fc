"""`read_aws`: one operation of one service in one region, walked to its end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from unabridged.contract import InvalidInput, ReadResult
from unabridged.contract.errors import value_free
from unabridged.reading import Budget, Clock, Query
from unabridged.sources.walking import CURSOR, SIZE, walked

from .answers import Service
from .paging import KNOWN, AwsWalk, Known, walk_of

_READS: Final = re.compile(r"(list|describe|get|scan|query|filter|lookup|search|batch_get)(_|\Z)")
_ENUMERATES: Final = re.compile(r"(list|describe|lookup|search)(_|\Z)|get_resources\Z")
_WORLDWIDE: Final = frozenset(
    {"iam", "s3", "route53", "cloudfront", "organizations", "sts", "ce", "budgets", "support", "shield"}
)
_PATH: Final = re.compile(r"[A-Za-z0-9_\-]+(\[\])?(\.[A-Za-z0-9_\-]+(\[\])?)*\Z")


@value_free
def read_aws(
    client: Any,
    operation: str,
    *,
    resource: str | Query,
    items: str,
    id: str | None,
    params: Mapping[str, Any] | None = None,
    walk: AwsWalk | None = None,
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads every page of an operation until the service says that this was all.

    botocore says how the operation pages; whether that was all is judged here. A short or empty page with a token
    goes on. A true flag without a token is `PROTOCOL_ANOMALY:continuation_missing`. What stands beside the results as
    failed or unprocessed is `PARTIAL_FAILURE`. Throttling that outlasts the retries of boto3 and of the budget is
    `RATE_LIMITED`, a refusal and credentials that have run out are `VISIBILITY_RESTRICTED`. The result records itself
    in the session in scope.

    A list is of one account in one region and no snapshot. A bound on the time of one call is the client's own
    (`botocore.config.Config`).

    Args:
        client: a client of boto3.
        operation: an operation that reads, as the client spells it: `list_objects_v2`.
        resource: the name of what is read, or a `Query`: its filters are the scope that `params` stands for.
        items: where the records stand in an answer: `Contents`, `Reservations[].Instances[]`.
        id: the path of the id in a record (`@` for a record that is a text); `None` where records have none.
        params: the operation's own parameters. No token may be among them.
        walk: how the operation pages, where botocore does not know it. It is required where the answer has a
            token all the same, beside the records or above them.
        budget: what may be spent; `Budget()` when not given.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule. The error holds no value.
    """
    service, name = _operation(client, operation)
    known = KNOWN.get((service.service_name, operation), Known())
    _check_items(items, service.operation_model(name).output_shape)
    way = walk_of(service, operation, name, items, walk)
    query = Query.of(resource)
    given = _checked_params(params, way, known)
    if query.page_size is None and way.size not in given:
        query = replace(query, page_size=known.page_size)
    if query.page_size is not None and way.size is None:
        raise InvalidInput(field="resource", rule="must have no page size: the operation takes none")
    transport = Service(getattr(client, operation), given, items, way)
    lags = service.service_name == "dynamodb" and not given.get("ConsistentRead")
    profile = _profile(client, operation, id, way, known, lags=lags)
    return walked(profile, query, transport=transport, budget=budget, clock=clock)


def _operation(client: Any, operation: str) -> tuple[Any, str]:
    meta = getattr(client, "meta", None)
    names = getattr(meta, "method_to_api_mapping", None)
    if meta is None or names is None:
        raise InvalidInput(field="client", rule="must be a client of boto3")
    if not isinstance(operation, str) or operation not in names or _READS.match(operation) is None:
        raise InvalidInput(field="operation", rule="must be an operation of the client that only reads")
    return meta.service_model, names[operation]


def _checked_params(params: Mapping[str, Any] | None, walk: AwsWalk, known: Known) -> dict[str, Any]:
    given = dict(params or {})
    if any(name in given for name in walk.sends):
        raise InvalidInput(field="params", rule="must hold no token: a read starts at the first page")
    if any(name in given and given[name] != value for name, value in known.fixed.items()):
        raise InvalidInput(field="params", rule=f"must not set {', '.join(known.fixed)} otherwise: the walk needs it")
    if given.get("Select") == "COUNT":
        raise InvalidInput(field="params", rule="must ask for records, not for their number")
    return {**given, **known.fixed}


def _check_items(items: str, shape: Any) -> None:
    """Follows the path through the service's model: a name that is spelled wrongly must not read as an empty list."""
    if not isinstance(items, str) or _PATH.match(items) is None:
        raise InvalidInput(field="items", rule="must be names with dots between, and [] after a list inside the path")
    pieces = items.split(".")
    for n, piece in enumerate(pieces):
        name, is_spread = piece.removesuffix("[]"), piece.endswith("[]")
        shape = _member(shape, name)
        is_list = getattr(shape, "type_name", None) == "list"
        if is_spread and is_list:
            shape = shape.member
        if is_list != (is_spread or n == len(pieces) - 1):
            raise InvalidInput(field="items", rule="must name a list of the operation's answer")


def _member(shape: Any, name: str) -> Any:
    match getattr(shape, "type_name", None):
        case "structure" if name in shape.members:
            return shape.members[name]
        case "map":
            return shape.value
        case _:
            raise InvalidInput(field="items", rule="must name a list of the operation's answer")


def _profile(client: Any, operation: str, id: str | None, walk: AwsWalk, known: Known, *, lags: bool) -> dict[str, Any]:
    service = client.meta.service_model.service_name
    regional = service not in _WORLDWIDE and _ENUMERATES.match(operation) is not None
    regions = [{"excludes": "other regions", "warning": "DEFAULT_SCOPE_APPLIED"}] if regional else []
    signals = [
        {"path": "failed", "when": {"equals": True}, "code": "PARTIAL_FAILURE"},
        {"path": "below", "when": {"equals": True}, "code": "SCOPE_NARROWED", "detail": "common_prefixes"},
        {"path": "unshown", "when": {"equals": True}, "code": "PROTOCOL_ANOMALY", "detail": "contradictory_signals"},
    ]
    always = {"path": "type(items) == 'array'", "when": {"expr": True}, "warning": "EVENTUALLY_CONSISTENT"}
    flag = {} if walk.more is None else {"more_flag": "more"}
    return {
        **known.profile,
        "name": f"aws_{re.sub('[^a-z0-9]', '_', service)}_{operation}",
        "items": "items",
        "id": id,
        "walk": {
            "by": "token",
            "read": "next",
            "send": {"query": CURSOR},
            "ends_on": ["absent", *(["flag"] if flag else []), *(["same_token"] if walk.repeats_at_end else [])],
            "empty_token": "illegal",
            "repeated_token": "end" if walk.repeats_at_end else "anomaly",
            **flag,
        },
        "size": {"send": {"query": SIZE}},
        "signals": [*signals, *([always] if lags else []), *known.profile.get("signals", ())],
        "scope": [*regions, *known.profile.get("scope", ())],
        "expired": [{"status": 410}],
        "cursor": {"freezes": False, "resumable": False},
    }
