"""The SQL ledger on PostgreSQL 18: what holds for sessions, tickets and workers in a SQLite file holds there too."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
import sqlalchemy as sa
from evidence.made_ledgers import KEY, Clock, NewLedger
from evidence.made_reads import made, page
from evidence.sql.test_workers import *  # noqa: F403 - the same tests, on another database
from evidence.sql.workers import worker
from evidence.test_sessions import *  # noqa: F403
from real.databases import wait_until
from unabridged.contract import InvalidInput, LedgerUnavailable
from unabridged.demo.postgres import Postgres, postgres
from unabridged.evidence import Ledger, WriteIntent, session
from unabridged.evidence.sql import SqlLedger
from unabridged.evidence.sql.database import Database
from unabridged.evidence.sql.migrations import MIGRATIONS, migrate
from unabridged.evidence.sql.tables import metadata

pytestmark = pytest.mark.real
_NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


def fresh_url(server: Postgres) -> str:
    """Returns the address of a schema of its own, which is as good as a database and made at once."""
    name = f"ledger_{next(_NUMBERS)}"
    url = sa.URL.create(
        "postgresql+psycopg", username="postgres", password=server.password, database="postgres",
        query={"host": str(server.folder / "run"), "port": "5432", "options": f"-csearch_path={name}"},
    )  # fmt: skip
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    return url.render_as_string(hide_password=False)


@pytest.fixture
def url(server: Postgres) -> str:
    return fresh_url(server)


@pytest.fixture
def new_ledger(server: Postgres, clock: Clock) -> Iterator[NewLedger]:
    made_here: list[SqlLedger] = []

    def new(**bounds: Any) -> Ledger:
        given = {"shared": False, **bounds}
        made_here.append(SqlLedger(fresh_url(server), key=KEY, now=clock, timeout_s=60, **given))
        return made_here[-1]

    yield new
    for ledger in made_here:
        ledger.close()


ALL = WriteIntent("purge")


def test_the_clock_of_the_database_counts(url: str) -> None:
    ledger = SqlLedger(url, key=KEY)
    found = session("case", principal="ann", ledger=ledger, now=lambda: datetime(2000, 1, 1, tzinfo=UTC))
    assert found.begin("widgets").started_at.year > 2000
    ledger.close()


def test_a_connection_that_broke_while_it_was_idle_is_replaced(url: str) -> None:
    ledger = SqlLedger(url, key=KEY)
    found = session("case", principal="ann", ledger=ledger)
    found.record(page("widgets", [1]))
    other = sa.create_engine(url)
    with other.begin() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle' AND pid <> pg_backend_pid()"
        )
    assert found.judge_write(ALL).codes == ("EVIDENCE_INCOMPLETE",)
    other.dispose()
    ledger.close()


def test_a_worker_that_does_not_let_go_lets_the_others_be_refused_and_not_wait_for_good(url: str) -> None:
    ledger = SqlLedger(url, key=KEY, timeout_s=0.3)
    found = session("case", principal="ann", ledger=ledger)
    with worker(url) as other:
        other.ask("hold")
        assert found.judge_write(ALL).codes == ("GUARD_FAILED",)
        with pytest.raises(LedgerUnavailable, match=r"55P03|57014"):
            found.record(made("widgets", [1]))
        other.kill()
    wait_until(lambda: found.record(made("widgets", [1])), seconds=60)
    assert found.judge_write(ALL).allowed
    ledger.close()


def test_a_server_that_is_gone_lets_writes_be_refused() -> None:
    with postgres() as running:
        ledger = SqlLedger(fresh_url(running), key=KEY)
        found = session("case", principal="ann", ledger=ledger)
        found.record(made("widgets", [1]))
        assert found.judge_write(ALL).allowed
    assert found.judge_write(ALL).codes == ("GUARD_FAILED",)
    with pytest.raises(LedgerUnavailable) as caught:
        found.record(made("widgets", [2]))
    assert running.password not in repr(caught.value)
    assert session("another", principal="ann", ledger=ledger).judge_write(ALL).codes == ("GUARD_FAILED",)
    ledger.close()


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
def test_processes_that_start_at_once_bring_an_older_schema_up_to_date_once(url: str, version: int) -> None:
    elsewhere = SqlLedger(fresh_copy(url), key=KEY)
    elsewhere.close()
    check = elsewhere._derived("check").hex()
    database = Database(url, timeout_s=60, clock=None)
    with database.transaction() as link:
        migrate(link, key_check=check, steps=MIGRATIONS[:version])
    with ThreadPoolExecutor(6) as pool:
        ledgers = list(pool.map(lambda _: SqlLedger(url, key=KEY, timeout_s=60), range(6)))
    for n, ledger in enumerate(ledgers):
        session("case", principal="ann", ledger=ledger).record(made("widgets", [n], filters={"n": n}))
    assert len(session("case", principal="ann", ledger=ledgers[0]).reads) == 6
    engine = sa.create_engine(url)
    found = sa.inspect(engine)
    for table in metadata.sorted_tables:
        assert {c["name"] for c in found.get_columns(table.name)} == {c.name for c in table.columns}
    engine.dispose()
    database.close()
    for ledger in ledgers:
        ledger.close()


def fresh_copy(url: str) -> str:
    """Returns the address of another schema of the same server."""
    name = f"ledger_{next(_NUMBERS)}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    return sa.make_url(url).update_query_dict({"options": f"-csearch_path={name}"}).render_as_string(False)


def test_a_newer_schema_is_refused_by_name(url: str) -> None:
    SqlLedger(url, key=KEY).close()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE unabridged_schema SET version = 99")
    engine.dispose()
    with pytest.raises(InvalidInput, match=r"schema 99, and this version knows 2"):
        SqlLedger(url, key=KEY)


def test_the_store_is_bounded_and_every_session_takes_note(url: str) -> None:
    one, two = (SqlLedger(url, key=KEY, max_results=2) for _ in range(2))
    first, second = session("case", principal="ann", ledger=one), session("other", principal="bob", ledger=two)
    first.record(made("widgets", [1]))
    for n in range(2):
        second.record(made("widgets", [n], filters={"n": n}))
    assert first.judge_write(WriteIntent("purge", targets=[1])).codes == ("TARGET_NOT_IN_EVIDENCE",)
    assert second.judge_write(WriteIntent("purge", targets=[0, 1])).allowed
    for ledger in (one, two):
        ledger.close()
