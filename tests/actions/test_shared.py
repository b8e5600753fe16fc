"""Workers that share a ledger share the memory of what was done; two ledgers of one file stand for two processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from actions.kit import Provider, admitted, archive, raised

pytest.importorskip("sqlalchemy")

from evidence.made_ledgers import Clock, file_ledger
from unabridged.actions import reference
from unabridged.evidence import Session, session

ARGS = {"tenant": "k4narie", "account_ids": ["a1", "a2"]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def pair(path: Path) -> Iterator[tuple[Session, Session]]:
    clock = Clock()
    ledgers = [file_ledger(path, clock) for _ in range(2)]
    one, two = (session("case", ledger=ledger, principal="clerk") for ledger in ledgers)
    yield one, two
    for ledger in ledgers:
        ledger.close()


def test_what_one_worker_did_another_does_not_do_again(pair: tuple[Session, Session]) -> None:
    one, two = pair
    provider = Provider({"a2": ConnectionRefusedError()})
    action = archive(provider)
    assert action.perform(admitted(action, ARGS, one), session=one).status == "partial"
    provider.script.clear()
    outcome = action.perform(admitted(action, ARGS, two), session=two)
    assert [t.status for t in outcome.targets] == ["already_done", "done"]
    assert provider.targets == ["a1", "a2", "a2"]
    assert provider.commands[1].idempotency_key == provider.commands[2].idempotency_key


def test_what_a_worker_left_unfinished_may_have_happened(pair: tuple[Session, Session]) -> None:
    one, two = pair
    provider = Provider({"a1": KeyboardInterrupt()})
    action = archive(provider)
    found = admitted(action, ARGS, one)
    assert isinstance(raised(lambda: action.perform(found, session=one)), KeyboardInterrupt)
    provider.script.clear()
    outcome = action.perform(admitted(action, ARGS, two), session=two)
    assert [(t.status, t.code) for t in outcome.targets] == [("unknown", "outcome_unknown"), ("done", None)]
    assert provider.targets == ["a1", "a2"]


def test_the_files_of_the_ledger_hold_no_value_of_what_was_done(pair: tuple[Session, Session], path: Path) -> None:
    one, _ = pair
    action = archive()
    action.perform(admitted(action, ARGS, one), session=one)
    with closing(sqlite3.connect(path)) as connection:
        dump = "\n".join(connection.iterdump())
    assert "noted" in dump
    assert "k4narie" not in dump
    assert "archive_accounts" not in dump


def test_a_reference_of_one_worker_is_good_with_another(pair: tuple[Session, Session]) -> None:
    from actions.test_references import notify

    one, two = pair
    provider = Provider()
    action: Any = notify(executor=provider)
    token = reference(one, "customer", {"email": "k4narie@example.org"}, uses=1)
    assert action.perform(admitted(action, {"customer": token}, two), session=two).status == "done"
    assert provider.commands[0].references == {"customer": {"email": "k4narie@example.org"}}
    assert action.admit({"customer": token}, session=one).error == "reference_invalid"
