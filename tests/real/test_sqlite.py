"""SQLite in files of their own: whole, cut, empty, out of reach, and read while another session changes everything."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from unabridged import Budget, Query
from unabridged.sources.sql import read_sql, sql_pages

pytestmark = pytest.mark.real

ROWS = 1000
COUNT = "SELECT count(*) FROM t"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture(params=["wal", "delete"])
def engine(request: pytest.FixtureRequest, path: Path) -> Iterator[sa.Engine]:
    with sqlite3.connect(path) as made:
        made.execute(f"PRAGMA journal_mode = {request.param}")
        made.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
        made.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"v{n}") for n in range(1, ROWS + 1)])
    made.close()
    found = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": 0.05})
    yield found
    found.dispose()


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def test_a_complete_read_is_proven_by_its_snapshot_and_count(engine: sa.Engine) -> None:
    result = read_sql(engine, "SELECT * FROM t", resource="t", id="id", count="SELECT count(*) FROM t")
    assert (result.status, result.returned, result.consistency) == ("complete", ROWS, "snapshot")
    assert (result.proof.level, result.proof.count) == ("snapshot", ROWS)


def test_a_statement_that_fails_in_the_middle_is_partial_with_what_came(engine: sa.Engine) -> None:
    """From the row on that the engine cannot work out nothing comes; the batches before it are kept."""
    statement = "SELECT id, CASE WHEN id > 350 THEN abs(-9223372036854775807 - 1) END AS n FROM t ORDER BY id"
    result = read_sql(engine, statement, resource=Query("t", page_size=100), id="id", count="SELECT count(*) FROM t")
    assert (result.status, result.ids) == ("partial", tuple(range(1, 301)))
    assert keys(result) == ["SOURCE_UNAVAILABLE:error_in_body"]
    assert (result.total.value, result.finding_count) == (ROWS, None)


def test_a_statement_that_skips_every_row_is_partial_and_empty(engine: sa.Engine) -> None:
    result = read_sql(engine, f"SELECT * FROM t LIMIT 100 OFFSET {ROWS}", resource="t", id="id")
    assert (result.status, result.items, keys(result)) == ("partial", [], ["SCOPE_NARROWED"])
    assert not result.proves_absence()


def test_a_file_that_is_held_or_is_no_database_is_unavailable(engine: sa.Engine, path: Path, tmp_path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        held = read_sql(engine, "SELECT * FROM t", resource="t", id="id")
        other.rollback()
    other.close()
    (tmp_path / "text.db").write_text("no database " * 100)
    text = sa.create_engine(f"sqlite:///{tmp_path / 'text.db'}")
    strange = read_sql(text, "SELECT * FROM t", resource="t", id="id")
    text.dispose()
    assert (held.status, held.items, keys(held)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:timeout"])
    assert (strange.status, strange.items, keys(strange)) == (
        "unavailable",
        None,
        ["SOURCE_UNAVAILABLE:error_in_body"],
    )


CHANGES = (
    "DELETE FROM t WHERE id > 500",
    "INSERT INTO t SELECT id + 2000, 'new' FROM t WHERE id <= 100",
    "UPDATE t SET id = -id WHERE id < 50",
)


def test_one_state_is_read_while_another_session_inserts_deletes_and_reorders(engine: sa.Engine, path: Path) -> None:
    with engine.connect() as connection:
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
    links = sql_pages(
        engine, "SELECT * FROM t ORDER BY id", resource=Query("t", page_size=100), id="id", count=COUNT
    )  # fmt: skip
    seen = list(next(links).ids)
    with sqlite3.connect(path, timeout=0.05) as other:
        if mode == "wal":
            for change in CHANGES:
                other.execute(change)
        else:  # without a log, whoever reads keeps the others from writing
            for change in CHANGES:
                other.execute(change)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.commit()
            other.rollback()
    other.close()
    for link in links:
        seen += link.ids
    assert seen == list(range(1, ROWS + 1))
    assert (link.status, link.consistency, link.proof.level) == ("complete", "snapshot", "snapshot")
    after = read_sql(engine, "SELECT * FROM t", resource="t", id="id", budget=Budget.unlimited())
    assert after.returned == (600 if mode == "wal" else ROWS)
