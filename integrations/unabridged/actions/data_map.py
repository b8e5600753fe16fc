"""What crosses between an agent, an executor and a provider, read from the declaration of an action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from unabridged.contract import is_token

from .failures import BUILT_IN_CODES

if TYPE_CHECKING:
    from .declaring import Action
    from .fields import FieldFacts


def data_map(action: Action) -> dict[str, Any]:
    """Returns the data map of an action as JSON."""
    executor = action.executor
    return {
        "action": action.name,
        "purpose": action.purpose,
        "verb": action.verb,
        "effect": action.effect,
        "destructive": action.destructive,
        "question": action.question,
        "given": [f.to_json() for f in action.inputs.shape.facts],
        "references": {name: kind.name for name, kind in action.kinds.items()},
        "targets": action.targets,
        "selection": action.selection,
        "max_targets": action.most_targets,
        "lookups": list(action.lookups),
        "never": list(action.never),
        "learned": [] if action.reducer is None else [f.to_json() for f in action.reducer.shape.facts],
        "errors": [*BUILT_IN_CODES, *action.errors],
        "declared_errors": list(action.errors),
        "shown_for_approval": list(action.show),
        "approval": action.approval if action.approval is None or action.approval == "always" else "threshold",
        "authority": "nobody may start it" if action.authorize is None else type(action.authorize).__name__,
        "executor": {
            "kind": _said(getattr(executor, "kind", type(executor).__name__)),
            "origin": _said(getattr(executor, "origin", None)),
            "idempotent": bool(getattr(executor, "idempotent", False)),
        },
        "diagnostics": action.diagnostics is not None,
    }


def _said(value: Any) -> str | None:
    """Returns what an executor says of itself, where it is a short line."""
    text = None if value is None else str(value)
    return text if text is None or is_token(text) or (text.isprintable() and len(text) <= 200) else "<text>"


def lines_of(document: dict[str, Any]) -> Iterator[str]:
    """Yields a data map as lines of text."""
    yield f"{document['action']}: {document['purpose']}"
    gravity = ", cannot be taken back" if document["destructive"] else ""
    yield f"  {document['verb']} ({document['effect']}{gravity}), {_bound(document)}"
    yield f"  may be started by: {document['authority']}"
    yield from _part("the agent gives", [_field(f) for f in document["given"]])
    yield from _part("references", [f"{name}: {kind}" for name, kind in document["references"].items()])
    yield from _part("the executor looks up", document["lookups"])
    yield from _part("never crosses", document["never"])
    yield from _part("the agent learns", [_field(f) for f in document["learned"]] or ["that it was done, or a code"])
    yield from _part("a card may show", document["shown_for_approval"])
    yield from _part("errors", [", ".join(document["errors"])])
    executor = document["executor"]
    again = ", a repeated command has no further effect" if executor["idempotent"] else ""
    at = f" at {executor['origin']}" if executor["origin"] is not None else ""
    yield f"  executor: {executor['kind']}{at}{again}"
    yield f"  raw diagnostics: {'go to a hook' if document['diagnostics'] else 'are dropped'}"


def _bound(document: dict[str, Any]) -> str:
    most = document["max_targets"]
    if most is None:
        return "touches nothing" if document["targets"] is None else "touches as many as are named"
    return f"touches {most:,} at most"


def _field(fact: dict[str, Any] | FieldFacts) -> str:
    told = fact if isinstance(fact, dict) else fact.to_json()
    bounds = ", ".join(f"{name} {_value(value)}" for name, value in told["bounds"].items())
    parts = [told["type"], bounds, told["sensitivity"], "" if told["required"] else "optional"]
    return f"{told['field']}: {', '.join(p for p in parts if p)}"


def _value(value: Any) -> str:
    return " | ".join(str(v) for v in value) if isinstance(value, list) else str(value)


def _part(title: str, entries: list[str]) -> Iterator[str]:
    if entries:
        yield f"  {title}:"
        yield from (f"    - {entry}" for entry in entries)
