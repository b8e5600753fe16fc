"""What no model may see stays unseen, and what was decided is used up, where another process goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from evidence.made_ledgers import file_ledger
from gate.elsewhere import asked
from unabridged.actions.approvals.questions import Questions, answer, ask, standing
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


def test_a_decision_is_good_for_one_call_in_all_processes_together(tmp_path: Path) -> None:
    """Two workers may both be sent what a person decided, and a graph may be gone on with twice."""
    path = tmp_path / "ledger.db"
    ran, (binding,) = asked(path, [None], reads=True)
    assert ran == [True]
    decision = {"decision": "approve", "binding": binding}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        ran, others = pool.submit(asked, path, [decision, None, None, decision]).result(timeout=300)
    assert ran == [False, True, True, False]
    assert others[0] == others[1] != binding, "it knows that the question was answered, and asks another one"
    assert len(set(others)) == 3
    ran, _ = asked(path, [*({"decision": "approve", "binding": each} for each in others[1:3]), None])
    assert ran == [False, False, True], "what was answered there is answered here"


def test_a_question_lapses_for_the_worker_that_goes_on_when_it_lapses_for_the_one_that_asked(
    pair: tuple[Session, Session],
) -> None:
    one, two = pair
    until = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    ask(one, ("k", 0), until=until)
    other = Questions()
    assert standing(two, "k", kept=other) == (0, until)
    assert answer(two, ("k", 0), kept=other)
    assert not answer(one, ("k", 0))
    assert standing(one, "k", kept=Questions()) == (1, None)
