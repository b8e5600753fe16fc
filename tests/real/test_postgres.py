"""PostgreSQL 18 and 15: one snapshot, nothing hidden in silence, nothing written, whatever ends the read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from real.databases import postgres_15, standby_of, wait_until
from sqlalchemy.ext.asyncio import create_async_engine
from unabridged import Budget, Query
from unabridged.contract import InvalidInput, resume_of
from unabridged.demo.postgres import postgres
from unabridged.sources.sql import aread_sql, read_sql, sql_pages

pytestmark = pytest.mark.real

ROWS = 1000
PASSWORD = "low-0001"
Connect = Callable[[str], sa.Engine]


@contextmanager
def _server(version: int) -> Iterator[tuple[Path, str]]:
    if version == 18:
        with postgres() as running:
            yield running.folder / "run", running.password
    else:
        with postgres_15() as folder:
            yield folder, PASSWORD


@pytest.fixture(scope="module", params=[18, 15])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes an engine for a role. The server runs for all tests of this module, once for each version."""
    with _server(request.param) as (folder, password):
        made: list[sa.Engine] = []

        def engine(role: str) -> sa.Engine:
            url = sa.URL.create(
                "postgresql+psycopg",
                username=role,
                password=password if role == "postgres" else PASSWORD,
                database="postgres",
                query={"host": str(folder), "port": "5432"},
            )
            made.append(sa.create_engine(url))
            return made[-1]

        wait_until(lambda: engine("postgres").connect().close())
        with engine("postgres").begin() as connection:
            connection.exec_driver_sql(f"CREATE ROLE low LOGIN PASSWORD '{PASSWORD}'")
        yield engine
        for one in made:
            one.dispose()


@pytest.fixture
def owner(connect: Connect) -> Iterator[sa.Engine]:
    """The superuser, with a fresh table of ROWS rows of two tenants; a policy shows only tenant 1."""
    engine = connect("postgres")
    with engine.begin() as connection:
        for statement in (
            "DROP TABLE IF EXISTS t, hidden, secret CASCADE",
            "CREATE TABLE t (id int PRIMARY KEY, tenant int)",
            f"INSERT INTO t SELECT i, mod(i, 2) FROM generate_series(1, {ROWS}) i",
            "CREATE TABLE hidden (id int PRIMARY KEY)",
            "INSERT INTO hidden VALUES (1)",
            "CREATE TABLE secret (id int PRIMARY KEY)",
            "CREATE POLICY one ON t USING (tenant = 1)",
            "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY",
            "GRANT SELECT ON t, hidden TO low",
        ):
            connection.exec_driver_sql(statement)
    yield engine
    engine.dispose()


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def scalar(engine: sa.Engine, statement: str) -> Any:
    with engine.connect() as connection:
        return connection.exec_driver_sql(statement).scalar()


def test_a_complete_read_is_proven_by_its_snapshot_and_count(owner: sa.Engine) -> None:
    result = read_sql(owner, "SELECT * FROM t", resource="t", id="id", count="SELECT count(*) FROM t")
    assert (result.status, result.returned, result.consistency) == ("complete", ROWS, "snapshot")
    assert (result.proof.level, result.proof.count) == ("snapshot", ROWS)
    assert str(result.scope.snapshot).startswith("sha256:")


def test_the_snapshot_tells_two_states_apart(owner: sa.Engine) -> None:
    first, second = (read_sql(owner, "SELECT * FROM t", resource="t", id="id").scope.snapshot for _ in range(2))
    with owner.begin() as connection:
        connection.exec_driver_sql("DELETE FROM t WHERE id = 1")
    third = read_sql(owner, "SELECT * FROM t", resource="t", id="id").scope.snapshot
    assert first == second
    assert first != third


def test_rows_that_a_policy_hides_are_not_hidden_in_silence(owner: sa.Engine, connect: Connect) -> None:
    result = read_sql(connect("low"), "SELECT * FROM t", resource="t", id="id", count="SELECT count(*) FROM t")
    assert (result.status, result.returned, keys(result)) == ("partial", ROWS // 2, ["VISIBILITY_RESTRICTED"])
    assert result.continuation.kind == "request_access"
    assert (result.total.value, result.total.kind) == (ROWS // 2, "lower_bound")
    assert scalar(owner, "SELECT count(*) FROM t") == ROWS


@pytest.mark.usefixtures("owner")
def test_a_table_that_a_policy_hides_whole_is_partial_and_empty(connect: Connect) -> None:
    result = read_sql(connect("low"), "SELECT * FROM hidden", resource="t", id="id")
    assert (result.status, result.items, keys(result)) == ("partial", [], ["VISIBILITY_RESTRICTED"])


@pytest.mark.usefixtures("owner")
def test_a_table_without_the_right_to_read_is_unavailable(connect: Connect) -> None:
    result = read_sql(connect("low"), "SELECT * FROM secret", resource="t", id="id")
    assert (result.status, keys(result)) == ("unavailable", ["VISIBILITY_RESTRICTED:forbidden"])


@pytest.mark.usefixtures("owner")
def test_a_stream_says_with_each_link_that_rows_are_hidden(connect: Connect) -> None:
    links = list(sql_pages(connect("low"), "SELECT * FROM t", resource=Query("t", page_size=300), id="id"))
    assert [link.returned for link in links] == [300, 200]
    assert [keys(link) for link in links] == [
        ["VISIBILITY_RESTRICTED", "MORE_PAGES_AVAILABLE"],
        ["VISIBILITY_RESTRICTED"],
    ]


def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    engine = sa.create_engine("postgresql+psycopg://x@/x", connect_args={"host": str(tmp_path)})
    result = read_sql(engine, "SELECT 1 AS id", resource="t", id="id")
    assert (result.status, result.items, keys(result)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:disconnect"])
    assert result.continuation.kind == "repeat_read"


def test_one_state_is_read_while_another_session_inserts_deletes_and_reorders(owner: sa.Engine) -> None:
    links = sql_pages(
        owner,
        "SELECT * FROM t ORDER BY id",
        resource=Query("t", page_size=100),
        id="id",
        count="SELECT count(*) FROM t",
    )
    seen = list(next(links).ids)
    with owner.begin() as other:
        other.exec_driver_sql("DELETE FROM t WHERE id > 500")
        other.exec_driver_sql("INSERT INTO t SELECT i, 1 FROM generate_series(2000, 2100) i")
        other.exec_driver_sql("UPDATE t SET id = -id WHERE id < 50")
    for link in links:
        seen += link.ids
    assert seen == list(range(1, ROWS + 1))
    assert (link.status, link.consistency, link.proof.level) == ("complete", "snapshot", "snapshot")
    assert scalar(owner, "SELECT count(*) FROM t") == 601


REPLACED = [
    ("ALTER TABLE t ALTER COLUMN id TYPE bigint", ROWS),
    ("TRUNCATE t; INSERT INTO t VALUES (5000, 1)", 1),
    ("CREATE TABLE n AS SELECT * FROM t LIMIT 400; ALTER TABLE t RENAME TO o; ALTER TABLE n RENAME TO t", 400),
]


def _wait_for_a_lock(owner: sa.Engine) -> None:
    """Waits until another session waits for a lock."""

    def waits() -> None:
        found = scalar(owner, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        assert found

    wait_until(waits, seconds=30)


def _read_while_locked(owner: sa.Engine, table: str, then: Callable[[sa.Connection], None], read: Any) -> Any:
    """Starts a read that waits for a table, lets `then` happen, and returns what was read."""
    found: list[Any] = []
    with owner.connect() as other:
        other.exec_driver_sql(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        reading = threading.Thread(target=lambda: found.append(read()), daemon=True)
        reading.start()
        _wait_for_a_lock(owner)
        then(other)
        other.commit()
        reading.join(timeout=60)
    return found[0]


@pytest.mark.parametrize(("change", "left"), REPLACED)
def test_a_table_that_was_replaced_while_the_read_waited_for_it_is_not_empty(
    owner: sa.Engine, change: str, left: int
) -> None:
    def replace(other: sa.Connection) -> None:
        other.exec_driver_sql("DROP TABLE IF EXISTS n, o")
        for statement in change.split("; "):
            other.exec_driver_sql(statement)

    result = _read_while_locked(owner, "t", replace, lambda: read_sql(owner, "SELECT * FROM t", resource="t", id="id"))
    with owner.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS n, o")
    assert (result.status, result.returned, result.consistency) == ("complete", left, "snapshot")
    assert [(n.code, n.observed) for n in result.warnings] == [("RETRIED", {"times": 1})]


def test_a_replaced_table_is_read_again_only_where_a_request_is_left(owner: sa.Engine) -> None:
    once = Budget(max_requests=1)
    result = _read_while_locked(
        owner,
        "t",
        lambda other: other.exec_driver_sql("ALTER TABLE t ALTER COLUMN id TYPE bigint") and None,
        lambda: read_sql(owner, "SELECT * FROM t", resource="t", id="id", budget=once),
    )
    assert (result.status, result.items, keys(result)) == ("unavailable", None, ["CONSISTENCY_LOST:snapshot_changed"])
    assert result.continuation.kind == "restart_scan"
    assert resume_of(result).read(budget=Budget()).returned == ROWS


def test_a_table_that_a_function_reads_after_it_was_replaced_is_not_empty(owner: sa.Engine) -> None:
    with owner.begin() as connection:
        connection.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION rows_now() RETURNS bigint LANGUAGE plpgsql STABLE AS "
            "'BEGIN RETURN (SELECT count(*) FROM t); END'"
        )
    statement = "SELECT i AS id, CASE WHEN i > 9000 THEN rows_now() END AS n FROM generate_series(1, 9001) i"
    links = sql_pages(owner, statement, resource=Query("t", page_size=100), id="id")
    next(links)
    with owner.begin() as other:
        other.exec_driver_sql("TRUNCATE t")
    last = list(links)[-1]
    assert last.items[-1] == {"id": 9001, "n": 0}
    assert (last.status, keys(last), last.consistency) == (
        "partial",
        ["CONSISTENCY_LOST:snapshot_changed"],
        "not_established",
    )


@pytest.mark.parametrize(
    "change", ["ALTER TABLE parts DETACH PARTITION p2", "ALTER TABLE parts ATTACH PARTITION p3 FOR VALUES IN (3)"]
)
def test_a_partition_that_came_or_went_while_the_read_waited_is_no_other_state(owner: sa.Engine, change: str) -> None:
    with owner.begin() as connection:
        for statement in (
            "DROP TABLE IF EXISTS parts, p1, p2, p3",
            "CREATE TABLE parts (id int, part int) PARTITION BY LIST (part)",
            "CREATE TABLE p1 PARTITION OF parts FOR VALUES IN (1)",
            "CREATE TABLE p2 PARTITION OF parts FOR VALUES IN (2)",
            "CREATE TABLE p3 (id int, part int)",
            "INSERT INTO parts VALUES (1, 1), (2, 2)",
            "INSERT INTO p3 VALUES (3, 3)",
        ):
            connection.exec_driver_sql(statement)
    first = read_sql(owner, "SELECT * FROM parts", resource="t", id="id")
    result = _read_while_locked(
        owner,
        "parts",
        lambda other: other.exec_driver_sql(change) and None,
        lambda: read_sql(owner, "SELECT * FROM parts", resource="t", id="id"),
    )
    assert (first.returned, first.warnings) == (2, ())
    assert (result.status, result.returned) == ("complete", 1 if "DETACH" in change else 3)
    assert [n.code for n in result.warnings] == ["RETRIED"]


def test_an_index_that_was_made_since_loses_nothing(owner: sa.Engine) -> None:
    links = sql_pages(owner, "SELECT * FROM t", resource=Query("t", page_size=600), id="id")
    next(links)
    with owner.begin() as other:
        other.exec_driver_sql("CREATE INDEX later ON t (tenant)")
    last = list(links)[-1]
    assert (last.status, last.consistency, last.returned) == ("complete", "snapshot", ROWS - 600)


@pytest.mark.parametrize(
    "statement",
    ["SELECT last_value AS id FROM numbers", "SELECT number() AS id", "SELECT pid AS id FROM pg_stat_activity"],
)
def test_what_lies_in_no_snapshot_makes_none(owner: sa.Engine, statement: str) -> None:
    with owner.begin() as connection:
        for made in (
            "CREATE SEQUENCE IF NOT EXISTS numbers",
            "CREATE OR REPLACE FUNCTION number() RETURNS bigint LANGUAGE plpgsql STABLE AS "
            "'BEGIN RETURN (SELECT last_value FROM numbers); END'",
        ):
            connection.exec_driver_sql(made)
    result = read_sql(owner, statement, resource="t", id="id")
    assert (result.status, result.consistency, result.proof.level) == ("complete", "interval", "end_marker")


def test_two_states_of_a_standby_are_never_called_one_snapshot() -> None:
    """A standby does not tell which transactions run, so that its snapshots may look alike and differ."""

    def engine(folder: Path) -> sa.Engine:
        place = {"host": str(folder), "port": "5432"}
        return sa.create_engine(sa.URL.create("postgresql+psycopg", "postgres", database="postgres", query=place))

    with postgres_15() as folder:
        primary = engine(folder)
        wait_until(lambda: primary.connect().close())
        with primary.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE s (id int)")
        with standby_of(folder) as own:
            standby = engine(own)

            def read() -> Any:
                return read_sql(standby, "SELECT * FROM s", resource="s", id="id")

            def shows(number: int) -> None:
                assert number in read().ids

            wait_until(lambda: read().require_complete(), seconds=30)
            with primary.connect() as oldest, primary.connect() as other:
                oldest.exec_driver_sql("INSERT INTO s VALUES (1)")
                other.exec_driver_sql("INSERT INTO s VALUES (2)")
                with primary.begin() as third:
                    third.exec_driver_sql("INSERT INTO s VALUES (3)")
                wait_until(lambda: shows(3), seconds=30)
                before, named = read(), scalar(standby, "SELECT pg_current_snapshot()::text")
                other.commit()
                wait_until(lambda: shows(2), seconds=30)
                after, again = read(), scalar(standby, "SELECT pg_current_snapshot()::text")
            standby.dispose()
        primary.dispose()
    assert (before.ids, sorted(after.ids), before.consistency) == ((3,), [2, 3], "snapshot")
    assert named == again  # what the server says of its snapshots does not tell them apart
    assert before.scope.snapshot != after.scope.snapshot


def test_a_transaction_that_was_begun_since_is_refused_and_left_as_it_is(owner: sa.Engine) -> None:
    with owner.connect() as connection:
        links = sql_pages(connection, "SELECT * FROM t", resource="t", id="id")
        connection.exec_driver_sql("INSERT INTO t VALUES (-7, 1)")
        with pytest.raises(InvalidInput, match="transaction"):
            next(links)
        connection.commit()
    assert scalar(owner, "SELECT count(*) FROM t WHERE id = -7") == 1


def test_the_servers_own_time_limit_is_named_as_the_servers(owner: sa.Engine) -> None:
    with owner.connect() as connection:
        connection.exec_driver_sql("SET statement_timeout = 200")
        connection.commit()
        result = read_sql(connection, "SELECT 1 AS id FROM pg_sleep(5)", resource="t", id="id")
        assert (result.status, keys(result)) == ("unavailable", ["TIME_BUDGET_EXCEEDED:source_timeout"])
        assert (result.reasons[0].native, result.reasons[0].layer) == ({"sqlstate": "57014"}, "source")
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "200ms"


SLOW = "SELECT i AS id, pg_sleep(0.002) FROM generate_series(1, 100000) i"


def test_our_time_limit_keeps_what_came_and_reads_anew_with_more_time(owner: sa.Engine) -> None:
    result = read_sql(owner, SLOW, resource=Query("t", page_size=10), id="id", budget=Budget(max_seconds=3))
    assert (result.status, keys(result)) == ("partial", ["TIME_BUDGET_EXCEEDED:max_seconds"])
    assert 0 < result.returned < 10_000
    assert result.continuation.kind == "retry_with_deadline"


async def test_an_asynchronous_engine_is_read_in_one_snapshot_and_hides_nothing(
    owner: sa.Engine, connect: Connect
) -> None:
    for one, returned, reasons in ((owner, ROWS, []), (connect("low"), ROWS // 2, ["VISIBILITY_RESTRICTED"])):
        engine = create_async_engine(one.url)
        result = await aread_sql(engine, "SELECT * FROM t", resource=Query("t", page_size=100), id="id")
        late = await aread_sql(engine, SLOW, resource=Query("t", page_size=10), id="id", budget=Budget(max_seconds=0.3))
        await engine.dispose()
        assert (result.returned, keys(result), result.consistency) == (returned, reasons, "snapshot")
        assert (late.status, keys(late)) == ("partial", ["TIME_BUDGET_EXCEEDED:max_seconds"])


def test_a_server_side_cursor_never_holds_all_rows(owner: sa.Engine) -> None:
    endless = "SELECT generate_series(1, 2000000000) AS id"
    result = read_sql(owner, endless, resource=Query("t", page_size=10), id="id", budget=Budget(max_items=25))
    assert (result.status, result.returned) == ("partial", 25)
    assert result.read.budget.spent_seconds < 20


def _end_the_reader(owner: sa.Engine) -> None:
    with owner.connect() as other:
        other.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE state = 'idle in transaction' AND pid <> pg_backend_pid()"
        )


def test_a_connection_lost_in_the_middle_keeps_what_was_validated(owner: sa.Engine) -> None:
    links = sql_pages(owner, "SELECT i AS id FROM generate_series(1, 100000) i", resource="t", id="id")
    first = next(links)
    _end_the_reader(owner)
    last = list(links)[-1]
    assert first.status == "partial"
    assert (last.status, keys(last)) == ("partial", ["SOURCE_UNAVAILABLE:disconnect"])
    assert last.returned > 0
    assert last.continuation.kind == "repeat_read"
    again = resume_of(last).read(budget=Budget.unlimited())
    assert (again.status, again.returned, again.read.continues) == ("complete", 100000, None)


def test_a_row_that_fails_keeps_the_batches_before_it(owner: sa.Engine) -> None:
    statement = "SELECT 1 / (5 - i) AS v, i AS id FROM generate_series(1, 10) i"
    result = read_sql(owner, statement, resource=Query("t", page_size=2), id="id")
    assert (result.status, result.ids, keys(result)) == ("partial", (1, 2, 3, 4), ["SOURCE_UNAVAILABLE:error_in_body"])
    assert result.reasons[0].native == {"sqlstate": "22012"}


# R52: a writable common table expression, and a function that writes.
def test_r52_a_writable_expression_is_refused_and_changes_nothing(owner: sa.Engine) -> None:
    with pytest.raises(InvalidInput, match="must only read"):
        read_sql(owner, "WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", resource="t", id="id")
    assert scalar(owner, "SELECT count(*) FROM t") == ROWS


def test_r52_a_function_that_writes_is_refused_and_changes_nothing(owner: sa.Engine) -> None:
    with owner.begin() as connection:
        large = connection.exec_driver_sql("SELECT lo_create(0)").scalar()
        connection.exec_driver_sql("CREATE OR REPLACE FUNCTION wipe() RETURNS oid LANGUAGE sql AS "
                                   f"'SELECT lo_unlink({large})::oid'")  # fmt: skip
        connection.exec_driver_sql("CREATE OR REPLACE FUNCTION fill() RETURNS int LANGUAGE sql AS "
                                   "'INSERT INTO t VALUES (-1, 1) RETURNING id'")  # fmt: skip
    for statement in (
        f"SELECT lo_unlink({large}) AS id",
        "SELECT fill() AS id",
        "SELECT 1 AS id; COMMIT; DROP TABLE t",
    ):
        with pytest.raises(InvalidInput):
            read_sql(owner, statement, resource="t", id="id")
    with suppress(InvalidInput):  # behind a function the text says nothing: it is refused, or else rolled back
        read_sql(owner, "SELECT wipe() AS id", resource="t", id="id")
    assert scalar(owner, f"SELECT count(*) FROM pg_largeobject_metadata WHERE oid = {large}") == 1
    assert scalar(owner, "SELECT count(*) FROM t") == ROWS


def test_a_view_that_is_kept_says_that_it_may_lag(owner: sa.Engine) -> None:
    with owner.begin() as connection:
        connection.exec_driver_sql("CREATE MATERIALIZED VIEW kept AS SELECT id FROM t")
    result = read_sql(owner, "SELECT * FROM kept", resource="t", id="id")
    assert result.status == "complete"
    assert [(n.code, n.observed) for n in result.warnings] == [("STALE_INDEX", {"index": "kept"})]


def test_a_foreign_table_lies_outside_the_snapshot(owner: sa.Engine) -> None:
    extensions = "SELECT count(*) FROM pg_available_extensions WHERE name = 'file_fdw'"
    if not scalar(owner, extensions):
        pytest.skip("this server comes without file_fdw")
    with owner.begin() as connection:
        for statement in (
            "CREATE EXTENSION IF NOT EXISTS file_fdw",
            "DROP SERVER IF EXISTS files CASCADE",
            "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw",
            "CREATE FOREIGN TABLE outside (id int) SERVER files OPTIONS (program 'echo 1')",
        ):
            connection.exec_driver_sql(statement)
    result = read_sql(owner, "SELECT * FROM outside", resource="t", id="id")
    assert (result.status, result.consistency, result.proof.level) == ("complete", "interval", "end_marker")


def test_an_engine_in_autocommit_mode_is_read_in_a_transaction_all_the_same(owner: sa.Engine) -> None:
    engine = owner.execution_options(isolation_level="AUTOCOMMIT")
    assert read_sql(engine, "SELECT * FROM t", resource="t", id="id").consistency == "snapshot"
    with engine.connect() as connection, pytest.raises(InvalidInput, match="autocommit"):
        read_sql(connection, "SELECT * FROM t", resource="t", id="id")


def test_values_come_as_json_holds_them(owner: sa.Engine) -> None:
    statement = (
        "SELECT 1 AS id, 1.50::numeric AS a, 3::numeric AS b, 'x'::bytea AS c, array[1, 2] AS d,"
        " '{\"a\": 1}'::jsonb AS e, interval '1 day' AS f, 'infinity'::float8 AS g, '5 % 2 :x' AS h"
    )
    result = read_sql(owner, statement, resource="t", id="id")
    assert result.items == [
        {
            "id": 1,
            "a": "1.50",
            "b": 3,
            "c": "eA==",
            "d": [1, 2],
            "e": {"a": 1},
            "f": 86400.0,
            "g": "inf",
            "h": "5 % 2 :x",
        }
    ]


def test_no_value_stands_in_what_is_told_of_a_failure(owner: sa.Engine) -> None:
    result = read_sql(owner, "SELECT 's3cr3t'::int AS id", resource="t", id="id")
    assert (result.status, result.reasons[0].native) == ("unavailable", {"sqlstate": "22P02"})
    assert "s3cr3t" not in str(result.to_wire())
