"""What the modules over client libraries share: values as JSON, filters as scope, and arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from unabridged import Query
from unabridged.contract import InvalidInput
from unabridged.reading import Request, Response
from unabridged.sources import walking

PROFILE = {
    "name": "library",
    "items": "items",
    "id": "id",
    "walk": {
        "by": "token",
        "read": "next",
        "send": {"query": walking.CURSOR},
        "ends_on": ["absent"],
        "empty_token": "illegal",
        "repeated_token": "anomaly",
    },
}


@dataclass
class Library:
    """Answers with one page each, and keeps what was asked."""

    pages: list[dict[str, Any]]
    asked: list[Request] = field(default_factory=list)

    def send(self, request: Request, *, timeout_s: float | None) -> Response:
        self.asked.append(request)
        return walking.page(self.pages.pop(0))


def test_filters_are_the_scope_also_those_that_ask_for_nothing() -> None:
    library = Library([{"items": [], "next": "t"}, {"items": [{"id": 1}]}])
    query = Query("things", filters={"owner": None, "limit": 3})
    result = walking.walked(PROFILE, query, transport=library, budget=None, clock=None)
    assert (result.status, result.scope.filters, result.proof.basis) == ("complete", query.filters, "server")
    assert [walking.cursor_of(request) for request in library.asked] == [None, "t"]
    assert walking.size_of(library.asked[0]) is None


def test_a_budget_of_another_kind_is_refused() -> None:
    with pytest.raises(InvalidInput, match="budget"):
        walking.walked(PROFILE, Query("things"), transport=Library([]), budget=3, clock=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"text", "text"),
        (bytearray(b"\xff"), {"base64": "/w=="}),
        (datetime(2026, 11, 30, tzinfo=UTC), "2026-11-30T00:00:00+00:00"),
        (date(2026, 11, 30), "2026-11-30"),
        (Decimal("7.00"), 7),
        (Decimal("7.5"), "7.5"),
        (Decimal("12345678901234567890"), "12345678901234567890"),
        (Decimal("NaN"), "NaN"),
        (float("inf"), "inf"),
        ({"a": (1, None, True)}, {"a": [1, None, True]}),
    ],
)
def test_a_value_of_a_library_is_json_of_the_same_meaning(value: Any, expected: Any) -> None:
    assert walking.plain(value) == expected
    json.dumps(walking.plain(value), allow_nan=False)


def test_a_missing_library_is_named_with_the_extra_that_brings_it() -> None:
    script = (
        "import sys; from unabridged.contract.errors import MissingExtra\n"
        "for extra in ('ldap', 'aws', 'redis', 'kubernetes'):\n"
        "    sys.modules[{'ldap': 'ldap3', 'aws': 'boto3'}.get(extra, extra)] = None\n"
        "    try: __import__(f'unabridged.sources.{extra}')\n"
        "    except MissingExtra as missing: print(missing.extra)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=600)
    assert done.stdout.split() == ["ldap", "aws", "redis", "kubernetes"]
