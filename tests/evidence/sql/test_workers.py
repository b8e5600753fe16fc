"""Several workers on one session, each a process of its own: none loses what another has read, none acts twice.

The same tests run on PostgreSQL in `tests/real`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from evidence.made_ledgers import KEY
from evidence.made_reads import made, page
from evidence.sql.worker import PATIENCE_S
from evidence.sql.workers import worker, workers
from unabridged.evidence import Session, WriteIntent, session
from unabridged.evidence.sql import SqlLedger
from unabridged.evidence.sql.tables import events, results, sessions

ALL = WriteIntent("purge")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def here(url: str) -> Iterator[Session]:
    """The same session in this process."""
    ledger = SqlLedger(url, key=KEY, timeout_s=PATIENCE_S)
    yield session("case", principal="ann", ledger=ledger)
    ledger.close()


def test_workers_that_append_at_once_lose_nothing_and_agree(url: str, here: Session) -> None:
    with workers(url, 3) as all_of_them:
        for n, one in enumerate(all_of_them):
            one.tell("append", f"w{n}", 20)
        here.record(made("queues", [1]))
        assert [one.hear() for one in all_of_them] == [20, 20, 20]
        known = [[r.id, r.status, len(r.ids)] for r in here.reads]
        assert len({read_id for read_id, _, _ in known}) == 61
        assert all(one.ask("digest") == known for one in all_of_them)
    labels = {f"w{n}-{m}" for n in range(3) for m in range(20)}
    assert labels <= {i for r in here.reads for i in r.ids}


def test_a_worker_that_is_killed_while_it_writes_leaves_whole_reads_and_no_lock(url: str, here: Session) -> None:
    with worker(url) as killed, worker(url) as other:
        killed.tell("forever", "killed")
        said = [killed.hear() for _ in range(5)]
        other.tell("append", "other", 10)
        said += killed.kill()
        assert other.hear() == 10
    known = [r.id for r in here.reads]
    assert set(said) <= set(known), "what was written down is there"
    assert len(known) - len(said) - 10 in (0, 1), "and at most the one that was not told any more"
    assert all(r.ids for r in here.reads)
    _assert_whole(url)


def test_what_a_killed_worker_had_not_committed_never_was(url: str, here: Session) -> None:
    with worker(url) as killed:
        lost = killed.ask("hold")
        killed.kill()
    here.record(page("widgets", [1]))
    assert lost not in {r.id for r in here.reads}
    assert here.result(lost) is None
    _assert_whole(url)


def _assert_whole(url: str) -> None:
    """The events of every session are numbered without a gap, and every read has its records."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        for row in connection.execute(sa.select(sessions.c.id, sessions.c.head)):
            numbers = connection.execute(sa.select(events.c.seq).where(events.c.session_id == row.id)).scalars()
            assert sorted(numbers) == list(range(1, row.head + 1))
        recorded = connection.execute(
            sa.select(sa.func.count()).select_from(events).where(events.c.body.like('["recorded"%'))
        ).scalar_one()
        assert connection.execute(sa.select(sa.func.count()).select_from(results)).scalar_one() == recorded
    engine.dispose()


def test_a_partial_read_of_one_worker_refuses_the_write_of_another(url: str, here: Session) -> None:
    with worker(url) as other:
        assert other.ask("judge") == []
        here.record(page("widgets", [1]))
        assert other.ask("judge") == ["EVIDENCE_INCOMPLETE"]
        here.record(made("widgets", [1]))
        assert other.ask("judge") == []
        other.ask("append", "other", 1)
        assert list(here.judge_write(ALL).codes) == ["EVIDENCE_INCOMPLETE"]


def test_of_the_workers_that_redeem_one_ticket_one_wins(url: str, here: Session) -> None:
    tokens = [here.tickets.issue("reference", ttl_s=600) for _ in range(10)]
    with workers(url, 2) as both:
        for one in both:
            one.tell("redeem", *tokens)
        won = [token for one in both for token in one.hear()]
    assert sorted(won) == sorted(tokens)


def test_a_read_in_flight_of_a_killed_worker_expires_into_unavailable(url: str, here: Session) -> None:
    with worker(url) as killed:
        pending = killed.ask("begin", 4)
        first = list(here.judge_write(ALL).codes)
        killed.kill()
    end = time.monotonic() + 60
    while list(here.judge_write(ALL).codes) == ["EVIDENCE_PENDING"] and time.monotonic() < end:
        time.sleep(0.1)
    assert first in (["EVIDENCE_PENDING"], ["EVIDENCE_INCOMPLETE"])  # the second on a very slow machine only
    assert list(here.judge_write(ALL).codes) == ["EVIDENCE_INCOMPLETE"]
    assert [(r.id, r.status, r.reasons[0].detail) for r in here.reads] == [(pending, "unavailable", "deadline")]


def test_erasing_forgets_in_every_worker(url: str, here: Session) -> None:
    with worker(url) as other:
        other.ask("append", "other", 3)
        assert len(here.reads) == 3
        here.erase()
        assert other.ask("judge") == ["GUARD_FAILED"]
        assert other.ask("count") == 0
    again = session("case", principal="ann", ledger=here.ledger)
    assert len(again.reads) == 0
    assert again.judge_write(ALL).allowed


def test_an_evicted_session_refuses_in_every_worker(url: str, here: Session) -> None:
    crowded = SqlLedger(url, key=KEY, timeout_s=PATIENCE_S, max_sessions=1)
    with worker(url) as other:
        other.ask("append", "other", 1)
        session("another", principal="bob", ledger=crowded)
        assert other.ask("judge") == ["GUARD_FAILED"]
        assert here.judge_write(ALL).codes == ("GUARD_FAILED",)
        assert session("case", principal="ann", ledger=crowded).judge_write(ALL).codes == ("GUARD_FAILED",)
    crowded.close()
