"""Reads of a database through SQLAlchemy, on SQLite: one snapshot, no write, no changed text, no silent cut."""

from __future__ import annotations

import asyncio
import pickle
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from unabridged import Budget, Query, WriteIntent, session
from unabridged.contract import InvalidInput, resume_of
from unabridged.sources.sql import aread_sql, read_sql, sql_pages
from unabridged.sources.sql.failures import Trouble, failure_of, is_write
from unabridged.sources.sql.shape import Family
from unabridged.sources.sql.values import field_names, plain
from unabridged.testing import VirtualClock

SECRET = "s3cr3t-value"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
def engine(path: Path) -> Iterator[sa.Engine]:
    with sqlite3.connect(path) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")
        made.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"body {n}") for n in range(1, 26)])
    made.close()
    found = sa.create_engine(f"sqlite:///{path}")
    yield found
    found.dispose()


def rows_in(path: Path) -> int:
    with sqlite3.connect(path) as other:
        (count,) = other.execute("SELECT count(*) FROM t").fetchone()
    other.close()
    return int(count)


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def test_a_read_to_the_end_is_complete_in_one_snapshot(engine: sa.Engine) -> None:
    result = read_sql(engine, "SELECT * FROM t", resource="t", id="id", count="SELECT count(*) FROM t")
    assert (result.status, result.consistency, result.proof.level) == ("complete", "snapshot", "snapshot")
    assert (result.proof.end, result.proof.count, result.proof.basis) == ("end_of_result", 25, "server")
    assert (result.total.value, result.total.kind) == (25, "exact")
    assert result.ids == tuple(range(1, 26))
    assert result.scope.visibility == "caller"


def test_an_empty_table_is_empty_and_complete(engine: sa.Engine) -> None:
    result = read_sql(engine, "SELECT * FROM t WHERE id > 99", resource="t", id="id")
    assert (result.status, result.items) == ("complete", [])
    assert result.proves_absence()


@pytest.mark.parametrize(("most", "status"), [(26, "complete"), (25, "complete"), (24, "partial"), (1, "partial")])
def test_the_limit_of_records_is_exact(engine: sa.Engine, most: int, status: str) -> None:
    result = read_sql(engine, "SELECT * FROM t", resource="t", id="id", budget=Budget(max_items=most))
    assert (result.status, result.returned) == (status, min(25, most))
    if status == "partial":
        assert keys(result) == ["CLIENT_LIMIT_REACHED:max_items"]
        assert result.reasons[0].limit == most


def test_a_limit_of_records_with_its_count_says_how_many_there_are(engine: sa.Engine) -> None:
    count = "SELECT count(*) FROM t"
    result = read_sql(engine, "SELECT * FROM t", resource="t", id="id", count=count, budget=Budget(max_items=3))
    assert (result.returned, result.total.value, result.status) == (3, 25, "partial")


# R17: a cap is a matter of fetching, not of the text.
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM t",
        "SELECT 1 UNION SELECT 2",
        "WITH a AS (SELECT id FROM t) SELECT * FROM a",
        "SELECT id FROM t -- x",
    ],
)
def test_r17_a_statement_runs_to_the_letter(engine: sa.Engine, statement: str) -> None:
    sent: list[str] = []
    sa.event.listen(engine, "before_cursor_execute", lambda _c, _cu, text, *_: sent.append(text))
    result = read_sql(engine, statement, resource="t", id=None, budget=Budget(max_items=10))
    assert statement in sent
    assert not any("LIMIT" in text.upper() for text in sent)
    assert result.status == ("complete" if result.returned < 10 else "partial")
    assert result.returned <= 10


# R51: writes in disguise.
@pytest.mark.parametrize(
    "statement", ["WITH a AS (SELECT 1) DELETE FROM t", "SELECT 1; DROP TABLE t", "/*x*/ DELETE FROM t"]
)
def test_r51_a_write_in_disguise_is_refused(engine: sa.Engine, path: Path, statement: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_sql(engine, statement, resource="t", id=None)
    assert refused.value.__context__ is None
    assert rows_in(path) == 25


def test_r51_what_reads_like_a_read_is_refused_by_the_connection_itself(engine: sa.Engine, path: Path) -> None:
    with pytest.raises(InvalidInput, match="the database refused it as a write"):
        read_sql(engine, "WITH a AS (SELECT 1) DELETE FROM t", resource="t", id=None)
    assert rows_in(path) == 25


@pytest.mark.parametrize("statement", ["EXPLAIN DELETE FROM t", "SELECT 'delete'"])
def test_r51_what_only_looks_like_a_write_runs(engine: sa.Engine, path: Path, statement: str) -> None:
    assert read_sql(engine, statement, resource="t", id=None).status == "complete"
    assert rows_in(path) == 25


def test_the_connection_may_write_again_after_a_read(engine: sa.Engine, path: Path) -> None:
    read_sql(engine, "SELECT * FROM t", resource="t", id="id")
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM t WHERE id = 1")
    assert rows_in(path) == 24


# R12: a long text is whole, whatever SQLAlchemy's own repr would show.
def test_r12_a_long_text_is_not_cut(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO t VALUES (99, :body)"), {"body": "x" * 2000})
        assert "truncated" in str(connection.exec_driver_sql("SELECT * FROM t WHERE id = 99").fetchall())
    result = read_sql(engine, "SELECT * FROM t WHERE id = 99", resource="t", id="id")
    assert result.items is not None
    assert len(result.items[0]["body"]) == 2000


def test_a_statement_of_sqlalchemy_is_read_with_its_own_limit(engine: sa.Engine) -> None:
    t = sa.table("t", sa.column("id"), sa.column("body"))
    whole = read_sql(engine, sa.select(t).where(t.c.id.in_([1, 2, 3])).limit(5), resource="t", id="id")
    cut = read_sql(engine, sa.select(t).where(t.c.id.in_([1, 2, 3])).limit(3), resource="t", id="id")
    assert (whole.status, cut.status) == ("complete", "partial")
    assert keys(cut) == ["CLIENT_LIMIT_REACHED:page_size"]


def test_parameters_are_bound_by_name(engine: sa.Engine) -> None:
    result = read_sql(
        engine, "SELECT * FROM t WHERE id <= :n", resource="t", id="id", params={"n": 3}, filters={"id_at_most": 3}
    )
    assert (result.status, result.returned, result.scope.filters) == ("complete", 3, {"id_at_most": 3})
    with pytest.raises(InvalidInput, match="params"):
        read_sql(engine, "SELECT * FROM t WHERE id <= :n", resource="t", id="id", params={})


def test_a_parameter_of_a_wrong_type_is_the_callers_and_is_not_told(engine: sa.Engine) -> None:
    statement = sa.text("SELECT * FROM t WHERE id = :n").bindparams(sa.bindparam("n", type_=sa.DateTime))
    with pytest.raises(InvalidInput) as refused:
        read_sql(engine, statement, resource="t", id="id", params={"n": SECRET})
    assert SECRET not in repr(refused.value)
    assert refused.value.__context__ is None


def test_an_offset_leaves_rows_out_and_says_so(engine: sa.Engine) -> None:
    result = read_sql(engine, "SELECT * FROM t LIMIT 100 OFFSET 20", resource="t", id="id")
    assert keys(result) == ["SCOPE_NARROWED"]


def test_a_limit_inside_leaves_the_end_unknown_unless_a_count_agrees(engine: sa.Engine) -> None:
    statement = "SELECT * FROM (SELECT * FROM t LIMIT 100) x"
    assert read_sql(engine, statement, resource="t", id="id").status == "unknown"
    counted = read_sql(engine, statement, resource="t", id="id", count="SELECT count(*) FROM t")
    assert counted.status == "complete"


@pytest.mark.parametrize(
    "count",
    [
        "SELECT count(*) FROM (SELECT * FROM t LIMIT 10) x",
        "SELECT count(*) FROM (SELECT * FROM t LIMIT 99 OFFSET 15) x",
        sa.select(sa.func.count()).select_from(sa.select(sa.text("1")).select_from(sa.text("t")).limit(10).subquery()),
    ],
)
def test_a_count_that_is_cut_itself_disproves_no_cut_and_is_no_total(engine: sa.Engine, count: Any) -> None:
    result = read_sql(engine, "SELECT * FROM t LIMIT 10", resource="t", id="id", count=count)
    assert (result.status, keys(result)) == ("partial", ["CLIENT_LIMIT_REACHED:page_size"])
    assert (result.total.value, result.total.kind) == (10, "lower_bound")
    whole = read_sql(engine, "SELECT * FROM t", resource="t", id="id", count=count)
    assert (whole.status, whole.returned, whole.proof.count) == ("complete", 25, None)
    fewer = read_sql(engine, "SELECT * FROM t WHERE id < 4", resource="t", id="id", count=count)
    assert keys(fewer) == ["CONSISTENCY_LOST:count_mismatch"]


def test_a_count_that_differs_inside_the_snapshot_is_a_contradiction(engine: sa.Engine) -> None:
    count = "SELECT count(*) FROM t"
    result = read_sql(engine, "SELECT * FROM t WHERE id > 5", resource="t", id="id", count=count)
    assert keys(result) == ["CONSISTENCY_LOST:count_mismatch"]
    assert (result.continuation.kind, result.consistency) == ("restart_scan", "not_established")


def test_rows_with_one_id_are_listed_once_the_later_one_in_place(engine: sa.Engine) -> None:
    statement = "SELECT 1 AS id, 'a' AS v UNION ALL SELECT 2, 'b' UNION ALL SELECT 1, 'c'"
    result = read_sql(engine, statement, resource="t", id="id")
    assert result.items == [{"id": 1, "v": "c"}, {"id": 2, "v": "b"}]
    assert (result.read.duplicates, [n.code for n in result.warnings]) == (1, ["DUPLICATES_REMOVED"])


@pytest.mark.parametrize("statement", ["SELECT NULL AS id", "SELECT 1 AS other"])
def test_a_row_without_its_id_is_no_record(engine: sa.Engine, statement: str) -> None:
    result = read_sql(engine, statement, resource="t", id="id")
    assert (result.status, keys(result)) == ("unavailable", ["PROTOCOL_ANOMALY:malformed_page"])


def test_several_columns_may_tell_rows_apart(engine: sa.Engine) -> None:
    statement = "SELECT 1 AS a, 1 AS b UNION ALL SELECT 1, 2"
    result = read_sql(engine, statement, resource="t", id=("a", "b"))
    assert result.ids == ([1, 1], [1, 2])


def test_rows_without_identity_are_counted_and_have_no_ids(engine: sa.Engine) -> None:
    statement = "SELECT 1 AS a UNION ALL SELECT 1"
    result = read_sql(engine, statement, resource="t", id=None, budget=Budget(max_items=2))
    assert (result.status, result.returned, result.ids) == ("complete", 2, ())


def test_a_missing_table_is_unavailable_and_no_value_is_told(engine: sa.Engine) -> None:
    result = read_sql(engine, f"SELECT '{SECRET}' FROM nowhere", resource="t", id="id")
    assert (result.status, result.items, keys(result)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:error_in_body"])
    assert result.reasons[0].native == {"errno": 1}
    assert SECRET not in str(result.to_wire())


def test_a_file_that_cannot_be_opened_is_unavailable_and_may_be_tried_again(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'no' / 'where.db'}")
    result = read_sql(engine, "SELECT 1 AS id", resource="t", id="id")
    assert (result.status, keys(result)) == ("unavailable", ["SOURCE_UNAVAILABLE:disconnect"])
    assert result.continuation.kind == "repeat_read"
    again = result
    for _ in range(3):
        again = resume_of(again).read()
    assert again.continuation.kind == "none"


@pytest.mark.usefixtures("engine")
def test_a_locked_database_is_unavailable(path: Path) -> None:
    hasty = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": 0.05})
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        result = read_sql(hasty, "SELECT * FROM t", resource="t", id="id")
        other.rollback()
    other.close()
    hasty.dispose()
    assert (result.status, keys(result)) == ("unavailable", ["SOURCE_UNAVAILABLE:timeout"])


ENDLESS = "WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM r) SELECT id FROM r"


class Glanced(VirtualClock):
    """A clock that goes on by a tenth of a second whenever somebody looks at it."""

    def monotonic(self) -> float:
        self.advance(0.1)
        return super().monotonic()


def test_time_ends_an_endless_statement_and_keeps_what_came(engine: sa.Engine) -> None:
    budget = Budget(max_seconds=30, max_items=None, max_pages=None)
    result = read_sql(engine, ENDLESS, resource="t", id="id", budget=budget, clock=Glanced())
    assert (result.status, keys(result)) == ("partial", ["TIME_BUDGET_EXCEEDED:max_seconds"])
    assert result.returned > 0
    assert result.continuation.kind == "retry_with_deadline"


def test_time_ends_a_statement_that_brings_nothing(engine: sa.Engine) -> None:
    statement = f"SELECT max(id) AS id FROM ({ENDLESS})"
    result = read_sql(engine, statement, resource="t", id="id", budget=Budget(max_seconds=30), clock=Glanced())
    assert (result.status, keys(result)) == ("unavailable", ["TIME_BUDGET_EXCEEDED:max_seconds"])


@pytest.mark.parametrize(
    ("budget", "key"),
    [(Budget(max_pages=1), "CLIENT_LIMIT_REACHED:max_pages"), (Budget(max_bytes=40), "CLIENT_LIMIT_REACHED:max_bytes")],
)
def test_other_limits_stop_between_two_batches(engine: sa.Engine, budget: Budget, key: str) -> None:
    result = read_sql(engine, "SELECT * FROM t", resource=Query("t", page_size=10), id="id", budget=budget)
    assert (result.returned, keys(result)) == (10, [key])


def test_a_read_sees_one_state_while_another_session_changes_everything(engine: sa.Engine, path: Path) -> None:
    links = sql_pages(engine, "SELECT * FROM t ORDER BY id", resource=Query("t", page_size=5), id="id")
    seen = list(next(links).ids)
    with sqlite3.connect(path) as other:
        other.execute("DELETE FROM t WHERE id > 10")
        other.execute("INSERT INTO t VALUES (500, 'new')")
        other.execute("UPDATE t SET id = -id WHERE id < 5")
    other.close()
    for link in links:
        seen += link.ids
    assert seen == list(range(1, 26))
    assert (link.status, link.consistency) == ("complete", "snapshot")
    assert read_sql(engine, "SELECT * FROM t", resource="t", id="id").returned == 11


# R24: a cleanup that pages over what it changes visits every row when it reads first, in one snapshot.
def test_r24_a_walk_over_what_its_own_writes_change_misses_nothing(engine: sa.Engine, path: Path) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE jobs (id INTEGER PRIMARY KEY, status TEXT)")
        connection.execute(
            sa.text("INSERT INTO jobs VALUES (:id, 'stuck')"), [{"id": number} for number in range(1, 251)]
        )
    visited: list[Any] = []
    statement = "SELECT * FROM jobs WHERE status = 'stuck'"
    with sqlite3.connect(path) as other:
        for link in sql_pages(engine, statement, resource=Query("jobs", page_size=100), id="id"):
            visited += link.ids
            other.executemany("UPDATE jobs SET status = 'failed' WHERE id = ?", [(id_,) for id_ in link.ids])
            other.commit()
    other.close()
    assert (link.status, visited) == ("complete", list(range(1, 251)))
    assert read_sql(engine, statement, resource="jobs", id="id").items == []


# R25: an order with ties is no danger within one statement; a page of an offset walk is never the whole.
def test_r25_ties_are_harmless_in_one_statement_and_an_offset_page_is_never_complete(engine: sa.Engine) -> None:
    tied = "SELECT * FROM t ORDER BY 'same'"
    assert read_sql(engine, tied, resource="t", id="id").complete
    pages = [read_sql(engine, f"{tied} LIMIT 10 OFFSET {at}", resource="t", id="id") for at in (0, 10, 20)]
    assert [page.status for page in pages] == ["partial"] * 3


class Interrupting:
    """A clock of a machine on which somebody presses Ctrl-C in the middle of the read."""

    def __init__(self, after: int) -> None:
        self._left = after

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt
        return 0.0

    def sleep(self, seconds: float) -> None: ...

    async def asleep(self, seconds: float) -> None: ...


def test_a_read_that_is_broken_off_leaves_evidence_and_no_transaction(engine: sa.Engine) -> None:
    with session("sql-broken-off") as s:
        with pytest.raises(KeyboardInterrupt):
            read_sql(engine, "SELECT * FROM t", resource="t", id="id", clock=Interrupting(after=5))
        (read,) = s.reads
    assert (read.status, [(r.code, r.detail) for r in read.reasons]) == (
        "unavailable",
        [("SOURCE_UNAVAILABLE", "cancelled")],
    )
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("options", [{"isolation_level": "AUTOCOMMIT"}, {}])
def test_a_file_that_is_opened_for_reading_only_is_read(engine: sa.Engine, path: Path, options: dict[str, Any]) -> None:
    engine.dispose()
    read_only = sa.create_engine(f"sqlite:///file:{path}?mode=ro&uri=true", **options)
    for _ in range(2):
        assert read_sql(read_only, "SELECT * FROM t", resource="t", id="id").complete
    read_only.dispose()


def test_the_links_of_a_stream_are_one_chain(engine: sa.Engine) -> None:
    with session("stream") as s:
        links = list(sql_pages(engine, "SELECT * FROM t", resource=Query("t", page_size=10), id="id"))
        verdict = s.judge_write(WriteIntent(tool="x", relies_on=["t"], targets=[1, 25], require="snapshot"))
    assert [link.status for link in links] == ["partial", "partial", "complete"]
    assert keys(links[0]) == ["MORE_PAGES_AVAILABLE"]
    assert [link.read.continues for link in links] == [None, links[0].read.id, links[1].read.id]
    assert len({link.scope.snapshot for link in links}) == 1
    assert verdict.verdict == "allow"


def test_a_stream_that_is_left_stays_partial_and_gives_its_connection_back(engine: sa.Engine) -> None:
    with session("left") as s:
        links = sql_pages(engine, "SELECT * FROM t", resource=Query("t", page_size=10), id="id")
        next(links)
        links.close()  # type: ignore[attr-defined]
        verdict = s.judge_write(WriteIntent(tool="x", relies_on=["t"], targets=[1]))
    assert verdict.codes == ("EVIDENCE_INCOMPLETE",)
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_a_read_records_itself(engine: sa.Engine) -> None:
    with session("one") as s:
        result = read_sql(engine, "SELECT * FROM t", resource="t", id="id")
        assert [read.id for read in s.reads] == [result.read.id]


async def test_a_read_in_a_thread_records_itself_with_its_caller(engine: sa.Engine) -> None:
    with session("async") as s:
        result = await aread_sql(engine, "SELECT * FROM t", resource="t", id="id")
        assert [read.id for read in s.reads] == [result.read.id]


@pytest.fixture
async def on_the_loop(engine: sa.Engine) -> AsyncIterator[AsyncEngine]:
    found = create_async_engine(f"sqlite+aiosqlite:///{engine.url.database}")
    yield found
    await found.dispose()


async def test_an_asynchronous_engine_or_connection_is_read_on_the_loop(on_the_loop: AsyncEngine) -> None:
    count = "SELECT count(*) FROM t"
    with session("on the loop") as s:
        result = await aread_sql(on_the_loop, "SELECT * FROM t", resource="t", id="id", count=count)
        assert [read.id for read in s.reads] == [result.read.id]
    assert (result.status, result.returned, result.proof.level) == ("complete", 25, "snapshot")
    async with on_the_loop.connect() as connection:
        same = await aread_sql(connection, "SELECT * FROM t", resource="t", id="id")
        assert (same.status, connection.in_transaction()) == ("complete", False)
        with pytest.raises(InvalidInput, match="only read"):
            await aread_sql(connection, "WITH a AS (SELECT 1) DELETE FROM t", resource="t", id=None)


async def test_time_ends_a_statement_on_the_loop_too_and_more_time_reads_it(on_the_loop: AsyncEngine) -> None:
    endless = f"SELECT max(id) AS id FROM ({ENDLESS})"
    late = await aread_sql(on_the_loop, endless, resource="t", id="id", budget=Budget(max_seconds=0.1))
    assert (late.status, keys(late)) == ("unavailable", ["TIME_BUDGET_EXCEEDED:max_seconds"])
    again = await resume_of(late).aread(budget=Budget(max_seconds=0.1))
    assert (again.status, again.continuation.kind) == ("unavailable", "retry_with_deadline")
    whole = await aread_sql(on_the_loop, "SELECT * FROM t", resource="t", id="id")
    assert whole.status == "complete"


async def test_a_read_on_the_loop_that_is_cancelled_leaves_evidence_and_no_transaction(
    on_the_loop: AsyncEngine,
) -> None:
    endless = f"SELECT max(id) AS id FROM ({ENDLESS})"
    with session("cancelled on the loop") as s:
        read = aread_sql(on_the_loop, endless, resource="t", id="id", budget=Budget(max_seconds=1))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(read, timeout=0.2)
        (found,) = s.reads
    assert (found.status, found.reasons[0].detail) == ("unavailable", "cancelled")
    assert on_the_loop.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_reads_run_side_by_side(engine: sa.Engine) -> None:
    found: list[int] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(read_sql(engine, "SELECT * FROM t", resource="t", id="id").returned)
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [25] * 4


def test_a_connection_keeps_its_own_settings_and_is_free_afterwards(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert read_sql(connection, "SELECT * FROM t", resource="t", id="id").complete
        assert not connection.in_transaction()
        connection.exec_driver_sql("DELETE FROM t WHERE id = 1")
        with pytest.raises(InvalidInput, match="transaction"):
            read_sql(connection, "SELECT * FROM t", resource="t", id="id")
        connection.rollback()
    assert read_sql(connection, "SELECT * FROM t", resource="t", id="id").status == "unavailable"


def test_a_transaction_that_was_begun_since_is_refused_and_left_as_it_is(engine: sa.Engine) -> None:
    limit = Budget(max_seconds=0.001)
    with engine.connect() as connection:
        late = read_sql(connection, f"SELECT max(id) AS id FROM ({ENDLESS})", resource="t", id="id", budget=limit)
        links = sql_pages(connection, "SELECT * FROM t", resource="t", id="id")
        connection.exec_driver_sql("DELETE FROM t WHERE id = 1")
        for again in (lambda: next(links), resume_of(late).read):
            with pytest.raises(InvalidInput, match="transaction"):
                again()
        assert connection.in_transaction()
        connection.commit()
    assert read_sql(engine, "SELECT * FROM t", resource="t", id="id").returned == 24


def _dated() -> sa.Select[Any]:
    t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("body", sa.DateTime))
    return sa.select(t).order_by(t.c.id)


@pytest.mark.parametrize("good", [0, 10])
def test_a_value_that_is_not_of_its_type_is_no_record_and_is_not_told(engine: sa.Engine, good: int) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE t SET body = '{SECRET}'"))
        connection.execute(sa.text("UPDATE t SET body = '2026-11-30 09:00:00' WHERE id <= :n"), {"n": good})
    result = read_sql(engine, _dated(), resource=Query("t", page_size=5), id="id")
    assert (result.status, keys(result)) == (
        "partial" if good else "unavailable",
        ["PROTOCOL_ANOMALY:malformed_page"],
    )
    assert len(result.items or []) == good
    assert SECRET not in str(result.to_wire())
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_a_value_that_the_driver_cannot_send_is_the_callers(engine: sa.Engine) -> None:
    with pytest.raises(InvalidInput, match="params") as refused:
        read_sql(engine, "SELECT * FROM t WHERE id = :n", resource="t", id="id", params={"n": 2**80})
    assert refused.value.__context__ is None
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_files_that_are_attached_are_not_one_snapshot(engine: sa.Engine, tmp_path: Path) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql(f"ATTACH '{tmp_path / 'other.db'}' AS other")
        connection.rollback()
        result = read_sql(connection, "SELECT * FROM t", resource="t", id="id", count="SELECT count(*) FROM t")
        connection.exec_driver_sql("DETACH other")
    assert (result.status, result.consistency, result.proof.level) == ("complete", "interval", "counted")


def test_what_is_not_committed_is_in_no_snapshot(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA read_uncommitted = ON")
        connection.rollback()
        assert read_sql(connection, "SELECT * FROM t", resource="t", id="id").consistency == "interval"
        connection.exec_driver_sql("PRAGMA read_uncommitted = OFF")
        connection.rollback()
        assert read_sql(connection, "SELECT * FROM t", resource="t", id="id").consistency == "snapshot"


def test_a_read_without_a_time_limit_leaves_the_callers_own_watch_in_place(engine: sa.Engine) -> None:
    called: list[int] = []
    with engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        raw.set_progress_handler(lambda: called.append(1), 1)
        read_sql(connection, "SELECT * FROM t", resource="t", id="id", budget=Budget.unlimited())
        before = len(called)
        connection.exec_driver_sql("SELECT count(*) FROM t").fetchall()
    assert 0 < before < len(called)


@pytest.mark.parametrize("step", ["PRAGMA database_list", "BEGIN", "PRAGMA query_only = ON"])
def test_a_read_that_cannot_begin_leaves_no_setting_behind(engine: sa.Engine, path: Path, step: str) -> None:
    def broken(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        if text == step:
            raise sa.exc.OperationalError(text, None, sqlite3.OperationalError("disk I/O error"))

    sa.event.listen(engine, "before_cursor_execute", broken)
    result = read_sql(engine, "SELECT * FROM t", resource="t", id="id")
    sa.event.remove(engine, "before_cursor_execute", broken)
    assert (result.status, result.items) == ("unavailable", None)
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM t WHERE id = 1")
    assert rows_in(path) == 24


class Failing(Interrupting):
    """A clock that breaks in the middle of the read."""

    def monotonic(self) -> float:
        self._left -= 1
        if self._left == 0:
            raise RuntimeError
        return 0.0


def test_a_read_that_anything_breaks_off_leaves_evidence(engine: sa.Engine) -> None:
    with session("sql-broken") as s:
        with pytest.raises(RuntimeError):
            read_sql(engine, "SELECT * FROM t", resource="t", id="id", clock=Failing(after=5))
        with pytest.raises(InvalidInput):
            read_sql(engine, "WITH a AS (SELECT 1) DELETE FROM t", resource="t", id="id")
        (read,) = s.reads
    assert (read.status, read.reasons[0].detail) == ("unavailable", "cancelled")
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_a_sample_is_never_complete(engine: sa.Engine) -> None:
    result = read_sql(
        engine, "SELECT * FROM t", resource=Query("t", intent="sample"), id="id", budget=Budget(max_items=3)
    )
    assert (keys(result), result.scope.selection) == (
        ["SAMPLE_REQUESTED", "CLIENT_LIMIT_REACHED:max_items"],
        "the first 3",
    )


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("bind", {"bind": "sqlite://"}),
        ("id", {"id": ()}),
        ("id", {"id": ""}),
        ("params", {"params": [1]}),
        ("budget", {"budget": 5}),
        ("statement", {"statement": 5}),
        ("filters", {"resource": Query("t"), "filters": {}}),
    ],
)
def test_a_wrong_argument_is_named_without_its_value(engine: sa.Engine, field: str, options: dict[str, Any]) -> None:
    given: dict[str, Any] = {"bind": engine, "statement": "SELECT 1", "resource": "t", "id": None, **options}
    bind, statement = given.pop("bind"), given.pop("statement")
    with pytest.raises(InvalidInput) as refused:
        read_sql(bind, statement, **given)
    assert refused.value.field == field


def test_a_result_survives_pickling_without_its_connection(engine: sa.Engine) -> None:
    result = read_sql(engine, "SELECT * FROM nowhere", resource="t", id="id")
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (Decimal("10"), 10),
        (Decimal("10.50"), "10.50"),
        (Decimal("NaN"), "NaN"),
        (datetime(2026, 11, 30, 9, tzinfo=UTC), "2026-11-30T09:00:00Z"),
        (datetime(2026, 11, 30, 9), "2026-11-30T09:00:00"),
        (b"x", "eA=="),
        (float("inf"), "inf"),
        ({"a": (1, Decimal("2"))}, {"a": [1, 2]}),
    ],
)
def test_a_value_becomes_what_json_holds(value: Any, made: Any) -> None:
    assert plain(value) == made


def test_no_column_is_lost_to_its_name() -> None:
    assert field_names(["id", "id", "id_2"]) == ("id", "id_2", "id_2_2")


@pytest.mark.parametrize(
    ("trouble", "code", "detail"),
    [
        (Trouble(sqlstate="57014", kind="postgresql"), "TIME_BUDGET_EXCEEDED", "source_timeout"),
        (Trouble(sqlstate="25P03", kind="postgresql"), "TIME_BUDGET_EXCEEDED", "source_timeout"),
        (Trouble(sqlstate="40001", kind="postgresql"), "CONSISTENCY_LOST", "snapshot_changed"),
        (Trouble(sqlstate="34000", kind="postgresql"), "CONTINUATION_EXPIRED", None),
        (Trouble(sqlstate="42501", kind="postgresql"), "VISIBILITY_RESTRICTED", "forbidden"),
        (Trouble(sqlstate="57P01", kind="postgresql"), "SOURCE_UNAVAILABLE", "disconnect"),
        (Trouble(sqlstate="08006", kind="postgresql"), "SOURCE_UNAVAILABLE", "disconnect"),
        (Trouble(sqlstate="53300", kind="postgresql"), "RATE_LIMITED", None),
        (Trouble(sqlstate="22012", kind="postgresql"), "SOURCE_UNAVAILABLE", "error_in_body"),
        (Trouble(errno=1969, kind="mysql"), "TIME_BUDGET_EXCEEDED", "source_timeout"),
        (Trouble(errno=3024, kind="mysql"), "TIME_BUDGET_EXCEEDED", "source_timeout"),
        (Trouble(errno=1412, kind="mysql"), "CONSISTENCY_LOST", "snapshot_changed"),
        (Trouble(errno=1142, kind="mysql"), "VISIBILITY_RESTRICTED", "forbidden"),
        (Trouble(kind="dns"), "SOURCE_UNAVAILABLE", "dns"),
        (Trouble(kind="pool"), "SOURCE_UNAVAILABLE", "timeout"),
        (Trouble(kind="data"), "PROTOCOL_ANOMALY", "malformed_page"),
    ],
)
def test_an_error_is_judged_by_its_number(trouble: Trouble, code: str, detail: str | None) -> None:
    failure = failure_of(trouble, opened=True)
    assert (failure.code, failure.detail) == (code, detail)


@pytest.mark.parametrize(("family", "trouble"), [
    ("postgresql", Trouble(sqlstate="25006")), ("mysql", Trouble(errno=1792)), ("sqlite", Trouble(errno=8)),
])  # fmt: skip
def test_a_database_that_refuses_a_write_is_understood(family: Family, trouble: Trouble) -> None:
    assert is_write(trouble, family, writes=False)
    assert not is_write(Trouble(sqlstate="42P01", errno=1146), family, writes=True)
