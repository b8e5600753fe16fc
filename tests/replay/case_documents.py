"""A small case that passes, to be changed by the tests."""

from __future__ import annotations

import copy
from typing import Any

PROFILE: dict[str, Any] = {
    "name": "widgets",
    "version": 1,
    "items": "items",
    "id": "id",
    "walk": {
        "by": "token",
        "read": "next",
        "send": {"query": "cursor"},
        "ends_on": ["absent", "null"],
        "empty_token": "end",
        "repeated_token": "anomaly",
    },
}


def page(*ids: Any, **more: Any) -> dict[str, Any]:
    """One exchange that answers with records of these ids."""
    return {"status": 200, "headers": {}, "json": {"items": [{"id": i} for i in ids], **more}}


def read(*exchanges: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """One read of the resource `widgets`."""
    return {
        "profile": copy.deepcopy(PROFILE),
        "query": {"resource": "widgets", "filters": {}, "intent": "inventory"},
        "exchanges": list(exchanges),
        **changes,
    }


def case(*reads: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A case; without reads, one of a single complete page."""
    return {"case": "a case", "origin": None, "reads": list(reads) or [read(page(1, 2))], **changes}
