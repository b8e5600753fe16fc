"""What no model may see of a read stays unseen where another process of the session goes on with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evidence.made_ledgers import file_ledger
from unabridged.evidence import Session, session
from unabridged.gate import Gate, ReadSpec, Reply, continue_read, count_read


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Session, Session]]:
    """One session in two processes."""
    ledgers = [file_ledger(tmp_path / "ledger.db") for _ in range(2)]
    one, two = (session("case", ledger=ledger) for ledger in ledgers)
    yield one, two
    for ledger in ledgers:
        ledger.close()


def test_the_rest_of_a_read_is_shown_in_another_process_as_its_tool_shows_it(pair: tuple[Session, Session]) -> None:
    one, two = pair
    spec = ReadSpec(resource="orders", exhaustive=True, fields=["id"])
    gate = Gate("list_orders", spec, max_bytes=1_500)
    entered = gate.enter({}, session=one)
    assert not isinstance(entered, Reply)
    orders: list[dict[str, Any]] = [{"id": n, "card": "k4narie"} for n in range(200)]
    first = gate.leave(entered, orders)
    handle = json.loads(first.content)["continuation"]["handle"]
    rest = continue_read(two, handle, max_bytes=1_500)
    assert isinstance(rest, Reply)
    assert json.loads(rest.content)["items"][0].keys() == {"id"}
    assert "k4narie" not in first.content + rest.content
    told = json.loads(count_read(two, handle, {"card": "k4narie"}).content)
    assert told["error"] == "invalid_request", "a field that cannot be seen cannot be asked for"
    assert json.loads(count_read(two, handle).content)["count"] == 200
