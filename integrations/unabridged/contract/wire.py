"""The wire form `unabridged/1`: to it, from it, and its key order (`CONTRACT.md` 2).

Everything that decides stands before `items`, so that a cut tail never removes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .continuation import KINDS
from .errors import ContractViolation
from .results import CONTRACT, Complete, Partial, ReadResult, Result, Unavailable, Unknown

_CLASSES: Final[dict[str, type[Result]]] = {
    "complete": Complete,
    "partial": Partial,
    "unknown": Unknown,
    "unavailable": Unavailable,
}
_REQUIRED: Final = ("contract", "status", "complete", "finding_count", "scope", "consistency", "read", "items")
MAX_SOURCES: Final = 10_000


def to_wire(result: Result) -> dict[str, Any]:
    """Returns the wire form of a result. `items` is the list itself, not a copy."""
    wire: dict[str, Any] = {
        "contract": result.contract,
        "status": result.status,
        "complete": result.complete,
        "truncated": result.truncated,
        "finding_count": result.finding_count,
        "returned": result.returned,
    }
    if result.checked is not None:
        wire["checked"] = result.checked
    wire.update(
        total={"value": result.total.value, "kind": result.total.kind},
        incomplete_reasons=[r.to_wire() for r in result.incomplete_reasons],
        continuation=result.continuation.to_wire(),
        scope=result.scope.to_wire(),
        consistency=result.consistency,
        proof=result.proof.to_wire(),
        sources=[s.to_wire() for s in result.sources],
        item_cuts=[c.to_wire() for c in result.item_cuts],
        warnings=[w.to_wire() for w in result.warnings],
        read=result.read.to_wire(),
        items=result.items,
    )
    return wire


def from_wire(document: Any) -> ReadResult:
    """Returns the result that a wire document states.

    Unknown keys are passed over and an unknown reason code counts as incomplete, since the form only grows.

    Raises:
        ContractViolation: the document lacks a deciding key or contradicts itself. The error names the rule and the
            field, never a value.
    """
    if not isinstance(document, Mapping):
        raise ContractViolation(rule="result_is_an_object")
    for key in _REQUIRED:
        if key not in document:
            raise ContractViolation(rule="deciding_keys_are_present", field=key)
    if document["contract"] != CONTRACT:
        raise ContractViolation(rule="contract_is_unabridged_1", field="contract")
    status = document["status"]
    kind = _CLASSES.get(status) if isinstance(status, str) else None
    if kind is None:
        raise ContractViolation(rule="status_is_one_of_four", field="status")
    if type(document["complete"]) is not bool or document["complete"] != (status == "complete"):
        raise ContractViolation(rule="complete_exactly_when_status_is", field="complete")
    fields = {**document, "continuation": _known_route(document.get("continuation"))}
    return kind(**{str(k): v for k, v in fields.items()})  # type: ignore[return-value]


def _known_route(route: Any) -> Any:
    """An unknown kind of a later minor version offers this version no route."""
    if route is None:
        return {"kind": "none"}
    if isinstance(route, Mapping) and isinstance(route.get("kind"), str) and route["kind"] not in KINDS:
        return {"kind": "none"}
    return route
