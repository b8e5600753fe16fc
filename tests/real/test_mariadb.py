"""MariaDB: what it says only in a warning, what it does not say at all, and one snapshot."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from real.databases import mariadb, wait_until
from unabridged import Budget, Query
from unabridged.contract import InvalidInput, resume_of
from unabridged.sources.sql import read_sql, sql_pages

pytestmark = pytest.mark.real

ROWS = 1000


def _engine(socket: Path, *, user: str = "root", database: str = "") -> sa.Engine:
    url = sa.URL.create("mariadb+pymysql", username=user, database=database, query={"unix_socket": str(socket)})
    return sa.create_engine(url)


@pytest.fixture(scope="module")
def socket() -> Iterator[Path]:
    with mariadb() as found:
        engine = _engine(found)
        wait_until(lambda: engine.connect().close())
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE DATABASE d")
            connection.exec_driver_sql("CREATE USER low@localhost")
            connection.exec_driver_sql("CREATE TABLE d.secret (id int PRIMARY KEY)")
            connection.exec_driver_sql("GRANT INSERT ON d.secret TO low@localhost")
        engine.dispose()
        yield found


@pytest.fixture
def engine(socket: Path) -> Iterator[sa.Engine]:
    found = _engine(socket, database="d")
    with found.begin() as connection:
        connection.exec_driver_sql("CREATE OR REPLACE TABLE t (id int PRIMARY KEY, v varchar(20))")
        connection.exec_driver_sql(f"INSERT INTO t SELECT seq, concat('x', seq) FROM seq_1_to_{ROWS}")
    yield found
    found.dispose()


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def rows(engine: sa.Engine) -> Any:
    with engine.connect() as connection:
        return connection.exec_driver_sql("SELECT count(*) FROM t").scalar()


def test_a_complete_read_is_proven_by_its_snapshot_and_count(engine: sa.Engine) -> None:
    result = read_sql(engine, "SELECT * FROM t", resource="t", id="id", count="SELECT count(*) FROM t")
    assert (result.status, result.returned, result.consistency) == ("complete", ROWS, "snapshot")
    assert (result.proof.level, result.proof.count) == ("snapshot", ROWS)


def test_a_warning_that_the_result_may_be_incomplete_makes_it_partial(engine: sa.Engine) -> None:
    statement = "SELECT id FROM t WHERE id % 7 = 0 LIMIT ROWS EXAMINED 500"
    result = read_sql(engine, statement, resource="t", id="id")
    assert (result.status, keys(result)) == ("partial", ["RESULT_LIMIT_REACHED:source_cap"])
    assert 0 < result.returned < ROWS // 7
    assert result.reasons[0].native == {"warning": 1931}
    assert result.continuation.kind == "narrow_query"


def test_the_same_warning_without_rows_is_partial_and_empty(engine: sa.Engine) -> None:
    result = read_sql(engine, "SELECT id FROM t WHERE v = 'none' LIMIT ROWS EXAMINED 500", resource="t", id="id")
    assert (result.status, result.items, keys(result)) == ("partial", [], ["RESULT_LIMIT_REACHED:source_cap"])


@pytest.mark.parametrize(
    ("limit", "status"), [(10, "partial"), (0, "partial"), (ROWS, "partial"), (ROWS + 1, "complete")]
)
def test_a_session_that_cuts_in_silence_is_found_out(engine: sa.Engine, limit: int, status: str) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql(f"SET SESSION sql_select_limit = {limit}")
        connection.rollback()
        result = read_sql(connection, "SELECT * FROM t", resource="t", id="id")
        connection.invalidate()
    assert (result.status, result.returned) == (status, min(limit, ROWS))
    if status == "partial":
        assert (keys(result), result.reasons[0].limit) == (["RESULT_LIMIT_REACHED:source_cap"], limit)


def test_a_count_in_the_same_snapshot_disproves_the_cut(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql(f"SET SESSION sql_select_limit = {ROWS}")
        connection.rollback()
        result = read_sql(connection, "SELECT * FROM t", resource="t", id="id", count="SELECT count(*) FROM t")
        connection.invalidate()
    assert (result.status, result.returned) == ("complete", ROWS)


def test_more_warnings_than_are_shown_may_hide_the_one_that_matters(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("SET SESSION max_error_count = 1")
        connection.rollback()
        result = read_sql(connection, "SELECT id, 1 / 0, v + 0 FROM t WHERE id < 5", resource="t", id="id")
        connection.invalidate()
    assert (result.status, keys(result)) == ("unknown", ["COVERAGE_UNKNOWN"])


def test_a_group_that_is_cut_inside_is_said_to_be(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("SET SESSION group_concat_max_len = 20")
        connection.rollback()
        result = read_sql(connection, "SELECT 1 AS id, group_concat(v) AS all_v FROM t", resource="t", id="id")
        connection.invalidate()
    assert (result.status, result.returned, keys(result)) == ("partial", 1, ["ITEM_TRUNCATED"])


def test_the_servers_own_time_limit_is_named_as_the_servers(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("SET SESSION max_statement_time = 0.2")
        connection.rollback()
        result = read_sql(connection, "SELECT sleep(5) AS id FROM t", resource="t", id="id")
        connection.invalidate()
    assert (result.status, keys(result)) == ("unavailable", ["TIME_BUDGET_EXCEEDED:source_timeout"])
    assert result.reasons[0].native == {"errno": 1969}


def test_our_time_limit_keeps_what_came_and_is_taken_back(engine: sa.Engine) -> None:
    slow = "SELECT id, sleep(0.01), repeat('x', 9000) FROM t"  # the server sends rows once it has 16 KiB of them
    with engine.connect() as connection:
        result = read_sql(connection, slow, resource=Query("t", page_size=10), id="id", budget=Budget(max_seconds=3))
        left = connection.exec_driver_sql("SELECT @@max_statement_time").scalar()
    assert keys(result) == ["TIME_BUDGET_EXCEEDED:max_seconds"]
    assert (result.status, left) == ("partial", 0)
    assert 0 < result.returned < ROWS


def test_a_limit_of_records_is_exact_and_leaves_no_rows_on_the_way(engine: sa.Engine) -> None:
    result = read_sql(engine, "SELECT * FROM t", resource="t", id="id", budget=Budget(max_items=10))
    assert (result.status, result.returned) == ("partial", 10)
    assert read_sql(engine, "SELECT * FROM t", resource="t", id="id").returned == ROWS
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_one_state_is_read_while_another_session_inserts_deletes_and_reorders(engine: sa.Engine) -> None:
    links = sql_pages(engine, "SELECT * FROM t ORDER BY id", resource=Query("t", page_size=100), id="id")
    seen = list(next(links).ids)
    with engine.begin() as other:
        other.exec_driver_sql("DELETE FROM t WHERE id > 500")
        other.exec_driver_sql("INSERT INTO t SELECT seq, 'new' FROM seq_2000_to_2100")
        other.exec_driver_sql("UPDATE t SET id = -id WHERE id < 50")
    for link in links:
        seen += link.ids
    assert seen == list(range(1, ROWS + 1))
    assert (link.status, link.consistency) == ("complete", "snapshot")
    assert rows(engine) == 601


def test_tables_that_the_server_makes_up_lie_in_no_snapshot(engine: sa.Engine) -> None:
    statement = "SELECT id FROM information_schema.PROCESSLIST"
    result = read_sql(engine, statement, resource="sessions", id="id")
    assert (result.status, result.consistency, result.proof.level) == ("complete", "interval", "end_marker")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t MODIFY v varchar(90) CHARACTER SET utf8mb4",
        "TRUNCATE t",
        "CREATE OR REPLACE TABLE n AS SELECT * FROM t; DROP TABLE t; RENAME TABLE n TO t",
    ],
)
def test_a_table_that_was_replaced_after_the_snapshot_is_not_empty(engine: sa.Engine, change: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE OR REPLACE TABLE gate (id int) ENGINE = InnoDB")
    count, found = "SELECT count(*) FROM gate", []
    with engine.connect() as other:
        other.exec_driver_sql("LOCK TABLES gate WRITE")
        reading = threading.Thread(
            target=lambda: found.append(read_sql(engine, "SELECT * FROM t", resource="t", id="id", count=count)),
            daemon=True,
        )
        reading.start()

        def waits() -> None:
            asked = "SELECT count(*) FROM information_schema.PROCESSLIST WHERE state LIKE 'Waiting for table%%'"
            with engine.connect() as watching:
                assert watching.exec_driver_sql(asked).scalar()

        wait_until(waits, seconds=30)
        with engine.begin() as third:
            for statement in change.split("; "):
                third.exec_driver_sql(statement)
        other.exec_driver_sql("UNLOCK TABLES")
        reading.join(timeout=60)
    (result,) = found
    assert (result.status, result.items, keys(result)) == ("unavailable", None, ["CONSISTENCY_LOST:snapshot_changed"])


def test_a_read_that_cannot_begin_leaves_no_setting_behind(engine: sa.Engine) -> None:
    def broken(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        if text.startswith("START TRANSACTION"):
            raise sa.exc.OperationalError(text, None, RuntimeError())

    with engine.connect() as connection:
        sa.event.listen(engine, "before_cursor_execute", broken)
        result = read_sql(connection, "SELECT * FROM t", resource="t", id="id", budget=Budget(max_seconds=7))
        sa.event.remove(engine, "before_cursor_execute", broken)
        left = connection.exec_driver_sql("SELECT @@max_statement_time").scalar()
    assert (result.status, left) == ("unavailable", 0)


def test_a_count_that_was_cut_itself_counts_nothing(engine: sa.Engine) -> None:
    count = "SELECT count(*) FROM t LIMIT ROWS EXAMINED 100"
    result = read_sql(engine, "SELECT * FROM t", resource="t", id="id", count=count)
    assert (result.status, result.returned, result.total.kind) == ("complete", ROWS, "unknown")


def test_a_transaction_that_was_begun_since_is_refused_and_left_as_it_is(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        count = "SELECT count(*) FROM t"
        lost = read_sql(connection, "SELECT * FROM t WHERE id > 3", resource="t", id="id", count=count)
        assert lost.continuation.kind == "restart_scan"
        connection.exec_driver_sql("INSERT INTO t VALUES (-7, 'new')")
        with pytest.raises(InvalidInput, match="transaction"):
            resume_of(lost).read()
        connection.commit()
    assert rows(engine) == ROWS + 1


def test_a_connection_lost_in_the_middle_keeps_what_was_validated(engine: sa.Engine) -> None:
    many = "SELECT seq AS id, repeat('x', 1000) AS v FROM seq_1_to_1000000"
    links = sql_pages(engine, many, resource="t", id="id", budget=Budget.unlimited())
    assert next(links).status == "partial"
    with engine.connect() as other:
        reader = other.exec_driver_sql(
            "SELECT id FROM information_schema.PROCESSLIST WHERE info LIKE %s", ("%seq_1_to%",)
        )
        for (number,) in reader.fetchall():
            if number != other.exec_driver_sql("SELECT connection_id()").scalar():
                other.exec_driver_sql(f"KILL CONNECTION {number}")
    last = list(links)[-1]
    assert (last.status, keys(last)) == ("partial", ["SOURCE_UNAVAILABLE:disconnect"])
    assert last.returned > 0


def test_a_server_that_is_not_there_or_lets_nobody_in_is_unavailable(socket: Path) -> None:
    absent = read_sql(sa.create_engine("mariadb+pymysql://root@127.0.0.1:1/"), "SELECT 1 AS id", resource="t", id="id")
    stranger = read_sql(_engine(socket, user="stranger"), "SELECT 1 AS id", resource="t", id="id")
    assert (absent.status, keys(absent)) == ("unavailable", ["SOURCE_UNAVAILABLE:disconnect"])
    assert (stranger.status, keys(stranger)) == ("unavailable", ["VISIBILITY_RESTRICTED:unauthorized"])


def test_a_table_without_the_right_to_read_is_unavailable(socket: Path) -> None:
    engine = _engine(socket, user="low", database="d")
    result = read_sql(engine, "SELECT * FROM secret", resource="t", id="id")
    engine.dispose()
    assert (result.status, keys(result)) == ("unavailable", ["VISIBILITY_RESTRICTED:forbidden"])


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM t",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "SELECT 1; DROP TABLE t",
        "/*x*/ DELETE FROM t",
        "SELECT wipe() AS id",
        "SELECT * FROM t INTO OUTFILE '/tmp/never'",
        "SELECT 1 /*! INTO OUTFILE '/tmp/never' */",
        "SELECT * FROM t FOR UPDATE",
        "SELECT NEXT VALUE FOR numbers AS id",
        "SELECT `get_lock`('mine', 1) AS id",
        "SELECT @mine := 5 AS id",
    ],
)
def test_a_write_is_refused_and_changes_nothing(engine: sa.Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE OR REPLACE FUNCTION wipe() RETURNS int BEGIN DELETE FROM t; RETURN 1; END")
        connection.exec_driver_sql("CREATE OR REPLACE SEQUENCE numbers")
    with pytest.raises(InvalidInput, match="must"):
        read_sql(engine, statement, resource="t", id="id")
    assert rows(engine) == ROWS
    with engine.connect() as connection:
        left = connection.exec_driver_sql("SELECT is_used_lock('mine'), @mine, previous value for numbers").fetchone()
    assert left == (None, None, None)
    assert not Path("/tmp/never").exists()
