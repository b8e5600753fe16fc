"""Wrong SQL ledgers, stores and desks, and the tests that kill them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa
from mutants.mutating import Mutant
from unabridged.evidence.scope import Digest
from unabridged.evidence.sql.database import EPOCH, from_us
from unabridged.evidence.sql.tables import tickets

_LEDGER: Final = "tests/evidence/sql/test_sql_ledger.py::"
_DESK: Final = "tests/evidence/sql/test_sql_desk.py::"
_TOLD: Final = _LEDGER + "test_no_value_stands_in_the_tables_but_in_the_payload_of_the_store"


def _nothing_is_replayed(right: Any) -> Any:
    def catch_up(self: Any, link: Any, replica: Any, head: int) -> None:
        replica.seen = head
        right(self, link, replica, head)

    return catch_up


def _nobody_is_waited_for(right: Any) -> Any:
    return lambda self, **_how: right(self, reads=True)


def _nothing_is_spent(_: Any) -> Any:
    return lambda *_args: True


def _row_counts(right: Any) -> Any:
    """A desk that believes what a row says of the end of its ticket."""

    def found(self: Any, link: Any, token: object, session: str) -> Any:
        ticket = right(self, link, token, session)
        row = link.first(sa.select(tickets).where(tickets.c.name == self._name(token)))
        return ticket and replace(ticket, expires_at=from_us(row.expires_us))

    return found


def _databases_clock_alone_counts(right: Any) -> Any:
    return lambda self, token, **how: right(self, token, **{**how, "now": EPOCH})


def _values_stay(_: Any) -> Any:
    return lambda _self, key: key if isinstance(key, Digest) else Digest(repr(key))


def _what_was_taken_in_stays(_: Any) -> Any:
    def give_up(self: Any, replica: Any, link: Any) -> None:
        replica.link = None
        self._database.join(None)
        link.end(commit=False)
        replica.unsaved.clear()

    return give_up


def _commits_all_the_same(right: Any) -> Any:
    return lambda self, replica, _error: right(self, replica, None)


def _none_is_dropped(_: Any) -> Any:
    return lambda *_args: []


def _any_key(right: Any) -> Any:
    def migrate(link: Any, **how: Any) -> None:
        try:
            right(link, **how)
        except Exception as error:
            if getattr(error, "field", "") != "key":
                raise

    return migrate


def _alive(ledger: Any, link: Any, replica: Any, right: Any) -> Any:
    found = ledger._row(link, replica.owner)
    return right(ledger, link, replica) if found is None or not found.evicted else found


SQL: Final = (
    Mutant("sql: nothing is replayed", "unabridged.evidence.sql.ledger:SqlLedger._catch_up", _nothing_is_replayed,
           (_LEDGER + "test_filters_compare_by_digest_wherever_they_enter",
            _LEDGER + "test_a_call_that_another_process_noted_is_not_foreign")),
    Mutant("sql: a turn holds no lock", "unabridged.evidence.sql.database:Database.begin", _nobody_is_waited_for,
           (_LEDGER + "test_a_turn_waits_for_that_of_another_process",)),
    Mutant("sql: a ticket is redeemed twice", "unabridged.evidence.sql.desk:SqlDesk._spend", _nothing_is_spent,
           (_DESK + "test_a_ticket_of_one_process_is_redeemed_in_another_and_once",
            "tests/evidence/test_tickets.py::test_a_ticket_is_redeemed_as_often_as_it_says_also_when_many_try_at_once")),
    Mutant("sql: a row says when its ticket ends", "unabridged.evidence.sql.desk:SqlDesk._found", _row_counts,
           (_DESK + "test_a_ticket_ends_when_it_was_made_out_to_end_whatever_its_row_says",)),
    Mutant("sql: a clock set back makes a ticket good again", "unabridged.evidence.sql.desk:SqlDesk.look",
           _databases_clock_alone_counts, (_DESK + "test_a_clock_that_is_set_back_makes_no_ticket_good_again",)),
    Mutant("sql: values stand in the ledger", "unabridged.evidence.scope:Mask.key", _values_stay, (_TOLD,)),
    Mutant("sql: a continuation tells of records", "unabridged.evidence.sql.events:_TOLD", lambda _: {}, (_TOLD,)),
    Mutant("sql: what was taken back stays in the replica", "unabridged.evidence.sql.ledger:SqlLedger._give_up",
           _what_was_taken_in_stays, (_LEDGER + "test_an_error_in_the_middle_of_a_turn_takes_back_what_it_did",)),
    Mutant("sql: a turn that failed is committed", "unabridged.evidence.sql.ledger:SqlLedger.finish",
           _commits_all_the_same, (_LEDGER + "test_an_error_in_the_middle_of_a_turn_takes_back_what_it_did",
                                   _DESK + "test_a_use_that_was_spent_in_a_turn_that_failed_is_not_spent"),
           errors=("AssertionError", "Failed", "TicketRefused")),
    Mutant("sql: no session hears of what was dropped", "unabridged.evidence.sql.store:SqlStore.take_dropped",
           _none_is_dropped,
           (_LEDGER + "test_the_store_is_bounded_and_the_session_takes_note_in_every_process",)),
    Mutant("sql: any key will do", "unabridged.evidence.sql.migrations:migrate", _any_key,
           (_LEDGER + "test_another_key_is_refused_since_nothing_would_compare",)),
    Mutant("sql: an evicted session starts anew", "unabridged.evidence.sql.ledger:SqlLedger._locked",
           lambda right: lambda self, link, replica: _alive(self, link, replica, right),
           ("tests/evidence/test_sessions.py::test_an_evicted_session_refuses_also_when_it_is_opened_again",)),
)  # fmt: skip
