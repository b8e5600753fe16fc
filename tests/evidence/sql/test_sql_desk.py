"""The desk in a SQL database: what stands in its table, and what another process may do with a token."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from evidence.made_ledgers import Clock, file_ledger
from evidence.made_reads import AT, at, made
from unabridged.contract import InvalidInput, TicketRefused
from unabridged.evidence import Session, WriteIntent, session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def pair(path: Path, clock: Clock) -> Iterator[tuple[Session, Session]]:
    """One session in two processes."""
    ledgers = [file_ledger(path, clock) for _ in range(2)]
    one, two = (session("case", ledger=ledger) for ledger in ledgers)
    yield one, two
    for ledger in ledgers:
        ledger.close()


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_ticket_of_one_process_is_redeemed_in_another_and_once(pair: tuple[Session, Session]) -> None:
    one, two = pair
    token = one.tickets.issue("reference", action="close", ttl_s=60, payload={"a": [1]})
    assert two.tickets.look(token, kind="reference", action="close").payload == {"a": [1]}
    assert two.tickets.redeem(token, kind="reference", action="close").payload == {"a": [1]}
    for found in pair:
        with pytest.raises(TicketRefused):
            found.tickets.redeem(token, kind="reference", action="close")


def test_a_selection_of_one_process_holds_in_another_and_is_spent_once(pair: tuple[Session, Session]) -> None:
    one, two = pair
    with one:
        token = str(made("orders", ["o1", "o2"], filters={"owner": "ann"}).select(["o1"], action="archive"))
    chosen = two.tickets.selected(token, action="archive")
    assert chosen.ids == ("o1",)
    assert two.judge_write(WriteIntent("archive", selection=chosen)).allowed
    two.record(made("orders", ["o2"], filters={"owner": "ann"}))
    assert one.judge_write(WriteIntent("archive", selection=chosen)).codes == ("TARGET_NOT_IN_EVIDENCE",)
    two.tickets.spend(token, action="archive")
    with pytest.raises(TicketRefused):
        one.tickets.spend(token, action="archive")


def test_a_use_that_was_spent_in_a_turn_that_failed_is_not_spent(pair: tuple[Session, Session]) -> None:
    one, two = pair
    token = one.tickets.issue("reference", ttl_s=60)
    with pytest.raises(ZeroDivisionError), one._turn():
        one.tickets.redeem(token, kind="reference").uses / 0
    assert two.tickets.redeem(token, kind="reference")


def test_the_clock_of_the_database_ends_a_ticket(pair: tuple[Session, Session], clock: Clock) -> None:
    one, two = pair
    token = one.tickets.issue("reference", ttl_s=60)
    clock.advance(60)
    with pytest.raises(TicketRefused):
        two.ledger.desk.look(token, kind="reference", session=two.key.digest, now=AT)


def test_a_clock_that_is_set_back_makes_no_ticket_good_again(pair: tuple[Session, Session], clock: Clock) -> None:
    one, two = pair
    token = one.tickets.issue("reference", ttl_s=60)
    clock.advance(3_600)
    assert one.tickets.now() == clock()
    clock.advance(-3_599)
    for verb in (one.tickets.look, two.tickets.redeem):
        with pytest.raises(TicketRefused):
            verb(token, kind="reference")


def test_a_ticket_ends_when_it_was_made_out_to_end_whatever_its_row_says(
    pair: tuple[Session, Session], path: Path, clock: Clock
) -> None:
    one, _ = pair
    token = one.tickets.issue("reference", ttl_s=60)
    change(path, "UPDATE unabridged_tickets SET expires_us = expires_us + 3600000000")
    assert one.tickets.look(token, kind="reference").expires_at == at(60)
    clock.advance(60)
    with pytest.raises(TicketRefused):
        one.tickets.redeem(token, kind="reference")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE unabridged_tickets SET sealed = zeroblob(length(sealed))",
        "UPDATE unabridged_tickets SET sealed = CAST(substr(sealed, 1, 32) || substr(sealed, 34) AS BLOB)",
        "UPDATE unabridged_tickets SET sealed = x'00'",
        "UPDATE unabridged_tickets SET owner = 'another'",
        "UPDATE unabridged_tickets SET uses = 0",
        "DELETE FROM unabridged_tickets",
    ],
)
def test_a_row_that_was_changed_is_no_ticket(pair: tuple[Session, Session], path: Path, statement: str) -> None:
    one, _ = pair
    token = one.tickets.issue("reference", ttl_s=60, payload=["x"])
    change(path, statement)
    with pytest.raises(TicketRefused):
        one.tickets.redeem(token, kind="reference")


def test_a_row_that_was_put_under_another_token_is_no_ticket(pair: tuple[Session, Session], path: Path) -> None:
    one, _ = pair
    tokens = [one.tickets.issue("reference", ttl_s=60, payload=[n]) for n in range(2)]
    change(path, "UPDATE unabridged_tickets SET sealed = (SELECT sealed FROM unabridged_tickets WHERE id = 1)")
    assert one.tickets.look(tokens[0], kind="reference").payload == [0]
    with pytest.raises(TicketRefused):
        one.tickets.look(tokens[1], kind="reference")


def test_what_a_ticket_stands_for_must_be_json(pair: tuple[Session, Session]) -> None:
    with pytest.raises(InvalidInput, match="payload"):
        pair[0].tickets.issue("reference", ttl_s=60, payload=object())


def test_tickets_that_have_ended_make_room(path: Path, clock: Clock) -> None:
    ledger = file_ledger(path, clock, max_tickets=2)
    found = session("case", ledger=ledger)
    short, spent = found.tickets.issue("reference", ttl_s=5), found.tickets.issue("reference", ttl_s=500)
    found.tickets.redeem(spent, kind="reference")
    clock.moment = AT + timedelta(seconds=6)
    kept = [found.tickets.issue("reference", ttl_s=60) for _ in range(2)]
    assert all(found.tickets.look(token, kind="reference") for token in kept)
    with pytest.raises(TicketRefused):
        found.tickets.look(short, kind="reference")
    ledger.close()
