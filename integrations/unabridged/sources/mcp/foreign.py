"""A wire document that another program sent: its statement about coverage is taken, its words are not.

Whatever decides (status, reasons, proof, counts, scope) is kept. Texts are made anew from our catalogue, names that
are no tokens become `<text>`, and its handles and read ids, which mean nothing here, are left behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from unabridged.contract import (
    Notice,
    ReadHeader,
    ReadResult,
    Reason,
    Scope,
    from_wire,
    is_token,
    json_equal,
    new_read_id,
    printable_name,
    safe_value,
    with_ids,
)
from unabridged.contract.continuation import READS_AGAIN, RequestAccess, WidenScope

_SAYS_CONTRACT: Final = "unabridged/"


def is_wire(value: Any) -> bool:
    """Tells whether a value is a wire document, or means to be one."""
    contract = value.get("contract") if isinstance(value, Mapping) else None
    return isinstance(contract, str) and contract.startswith(_SAYS_CONTRACT)


def taken_over(document: Any, *, resource: str, filters: Mapping[str, Any]) -> ReadResult:
    """Returns the result that a foreign wire document states, under our name for the resource.

    Args:
        document: the document.
        resource: what was read, as the caller names it.
        filters: what the caller asked for; the document's own filters hold, and their values stand as they are only
            where the caller sent the same.

    Raises:
        ContractViolation: the document contradicts itself.
    """
    stated = from_wire(document)
    update = {
        "incomplete_reasons": tuple(_reason(reason) for reason in stated.reasons),
        "continuation": _route(stated),
        "scope": _scope(stated.scope, resource, filters),
        "sources": tuple(s.model_copy(update={"name": _named(s.name, n)}) for n, s in enumerate(stated.sources, 1)),
        "warnings": tuple(_notice(notice) for notice in stated.warnings),
        "read": _header(stated.read),
    }
    result = stated.model_copy(update=update)
    items = result.items or []
    ids = [i["id"] for i in items if isinstance(i, Mapping) and "id" in i]
    return with_ids(result, ids if len(ids) == len(items) else [])


def _reason(stated: Reason) -> Reason:
    name = None if stated.source is None else _named(stated.source, 1)
    kept = {"code": stated.code, "detail": stated.detail, "limit": stated.limit, "layer": stated.layer}
    return Reason.model_validate({**kept, "source": name, "native": stated.native})


def _notice(stated: Notice) -> Notice:
    return Notice(code=stated.code, severity=stated.severity, observed=stated.observed, expires=stated.expires)


def _route(stated: ReadResult) -> Any:
    """A route that another program would have to walk leads nowhere here; advice is given in our words."""
    route = stated.continuation
    if isinstance(route, RequestAccess | WidenScope):
        return type(route)()
    if route.kind in READS_AGAIN or getattr(route, "handle", None) is not None:
        return route.model_copy(update={"handle": None})
    return route


def _scope(stated: Scope, resource: str, asked: Mapping[str, Any]) -> Scope:
    filters = {
        printable_name(name): value if name in asked and json_equal(asked[name], value) else safe_value(value)
        for name, value in stated.filters.items()
    }
    return stated.model_copy(
        update={
            "resource": resource,
            "filters": filters,
            "window": _phrase(stated.window),
            "excludes": tuple(_phrase(text) for text in stated.excludes),
            "selection": _phrase(stated.selection),
        }
    )


def _header(stated: ReadHeader) -> ReadHeader:
    """The read is ours and new: a document that is sent twice is two reads."""
    blank = {"query_id": "", "continues": None, "derived_from": (), "parts": ()}
    order = _phrase(stated.order)
    return stated.model_copy(update={"id": new_read_id(), "adapter": "mcp", "order": order, **blank})


def _phrase(text: str | None) -> str | None:
    return text if text is None or is_token(text) else "<text>"


def _named(name: str, position: int) -> str:
    return name if is_token(name) else f"source-{position}"
