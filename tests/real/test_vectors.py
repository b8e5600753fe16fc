"""faiss and pgvector: filters that take hits away behind the index, and the exact modes that cure it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa
from real.databases import wait_until
from unabridged import session
from unabridged.demo.postgres import postgres
from unabridged.sources.vectors import read_faiss, read_pgvector

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

ROWS, TENANT_ROWS, WIDTH = 5000, 50, 8


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


@pytest.fixture(scope="module")
def points() -> Any:
    import numpy

    return numpy.random.default_rng(7).random((ROWS, WIDTH), dtype="float32")


def test_a_flat_index_of_faiss_is_exact_and_complete_when_all_of_it_came(points: Any) -> None:
    import faiss

    index = faiss.IndexFlatL2(WIDTH)
    index.add(points[:20])
    whole = read_faiss(index, points[:1], k=30, resource="points")
    first = read_faiss(index, points[:1], k=10, resource="points")
    empty = read_faiss(faiss.IndexFlatL2(WIDTH), points[:1], k=10, resource="points")
    assert (whole.status, sorted(whole.ids), whole.proof.level) == ("complete", list(range(20)), "counted")
    assert (first.status, first.returned, keys(first)) == ("partial", 10, ["CLIENT_LIMIT_REACHED:page_size"])
    assert (empty.status, empty.items) == ("complete", [])


def test_an_approximate_index_of_faiss_brings_fewer_than_match(points: Any) -> None:
    import faiss

    graph = faiss.IndexHNSWFlat(WIDTH, 8)
    graph.hnsw.efSearch = 16
    graph.add(points)
    matching = list(range(0, ROWS, ROWS // TENANT_ROWS))
    chosen = faiss.SearchParametersHNSW(sel=faiss.IDSelectorBatch(matching))
    few = read_faiss(graph, points[:1], k=TENANT_ROWS, resource="points", params=chosen, filters={"tenant": 1})
    assert (few.status, few.continuation.kind) == ("partial", "exact_mode")
    assert set(few.ids) <= set(matching)
    assert few.codes == ("APPROXIMATE_METHOD",)
    flat = faiss.IndexFlatL2(WIDTH)
    flat.add(points)
    exact = faiss.SearchParameters(sel=faiss.IDSelectorBatch(matching))
    whole = read_faiss(flat, points[:1], k=TENANT_ROWS + 1, resource="points", params=exact, filters={"tenant": 1})
    assert (whole.status, sorted(whole.ids)) == ("complete", matching)


@pytest.fixture(scope="module")
def engine(points: Any) -> Iterator[sa.Engine]:
    with postgres() as running:
        url = sa.URL.create(
            "postgresql+psycopg", username="postgres", password=running.password, database="postgres",
            query={"host": str(running.folder / "run"), "port": "5432"},
        )  # fmt: skip
        found = sa.create_engine(url)
        wait_until(lambda: found.connect().close())
        rows = [{"id": n, "tenant": n % (ROWS // TENANT_ROWS), "e": str(p.tolist())} for n, p in enumerate(points)]
        with found.begin() as connection:
            connection.exec_driver_sql("CREATE EXTENSION vector")
            connection.exec_driver_sql(f"CREATE TABLE v (id int PRIMARY KEY, tenant int, e vector({WIDTH}))")
            connection.execute(sa.text("INSERT INTO v VALUES (:id, :tenant, CAST(:e AS vector))"), rows)
            connection.exec_driver_sql("CREATE INDEX ON v USING hnsw (e vector_l2_ops)")
        yield found
        found.dispose()


NEAR = "SELECT id, tenant FROM v WHERE tenant = 1 ORDER BY e <-> (SELECT e FROM v WHERE id = 0) LIMIT {}"


def near(engine: sa.Engine, limit: int, **options: Any) -> Any:
    with engine.connect() as connection:
        connection.exec_driver_sql("SET enable_seqscan = off")
        connection.exec_driver_sql("SET enable_sort = off")
        connection.commit()
        return read_pgvector(
            connection, NEAR.format(limit), resource="points", id="id", filters={"tenant": 1}, **options
        )


def test_an_index_of_pgvector_brings_fewer_than_match_and_says_so(engine: sa.Engine) -> None:
    with session("pgvector-index") as s:
        few = near(engine, 10)
        assert [(read.status, read.codes) for read in s.reads] == [("partial", few.codes)]
    assert (few.status, few.continuation.kind) == ("partial", "exact_mode")
    assert "APPROXIMATE_METHOD:top_k" in keys(few)
    assert few.returned < 10


def test_the_exact_mode_of_pgvector_is_complete_below_its_limit(engine: sa.Engine) -> None:
    with session("pgvector-exact") as s:
        whole = near(engine, TENANT_ROWS + 1, exact=True)
        assert [read.status for read in s.reads] == ["complete"]
    assert (whole.status, whole.returned) == ("complete", TENANT_ROWS)
    full = near(engine, 10, exact=True)
    assert (full.status, full.returned, keys(full)) == ("partial", 10, ["CLIENT_LIMIT_REACHED:page_size"])


def test_an_approximate_search_that_finds_nothing_is_partial_and_empty(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        nothing = read_pgvector(
            connection, "SELECT id FROM v WHERE tenant = -1 ORDER BY e <-> (SELECT e FROM v WHERE id = 0) LIMIT 3",
            resource="points", id="id", filters={"tenant": -1},
        )  # fmt: skip
    assert (nothing.status, nothing.items) == ("partial", [])


def test_a_table_that_is_not_there_is_unavailable(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        absent = read_pgvector(connection, "SELECT id FROM absent LIMIT 3", resource="points", id="id")
    assert (absent.status, absent.items) == ("unavailable", None)


class IndexFlatL2:
    """A flat index of faiss that another thread changes while it is searched; faiss itself takes no part in that."""

    def __init__(self, index: Any, before: Callable[[], object], after: Callable[[], object]) -> None:
        self._index = index
        self._before = before
        self._after = after

    @property
    def ntotal(self) -> int:
        return int(self._index.ntotal)

    def search(self, vectors: Any, k: int) -> Any:
        with ThreadPoolExecutor(1) as other:
            other.submit(self._before).result()
            found = self._index.search(vectors, k)
            other.submit(self._after).result()
        return found


@pytest.mark.parametrize("change", ["insert", "delete"])
@pytest.mark.parametrize("at", ["before", "after"])
def test_a_flat_index_that_another_thread_changes_during_a_search_is_never_complete(
    points: Any, change: str, at: str
) -> None:
    import faiss
    import numpy

    index = faiss.IndexFlatL2(WIDTH)
    index.add(points[:20])

    def meddle() -> None:
        if change == "insert":
            index.add(points[20:21])
        else:
            index.remove_ids(numpy.array([3], dtype="int64"))

    changing = IndexFlatL2(index, *((meddle, list) if at == "before" else (list, meddle)))
    result = read_faiss(changing, points[:1], k=30, resource="points")
    assert (result.status, result.consistency) == ("partial", "not_established")
    assert "CONSISTENCY_LOST:mutated_during_read" in keys(result)
    again = read_faiss(index, points[:1], k=30, resource="points")
    assert (again.status, again.returned) == ("complete", 21 if change == "insert" else 19)


def test_a_vector_that_no_distance_reaches_makes_an_exact_search_doubtful(points: Any) -> None:
    import faiss

    holed = points[:20].copy()
    holed[4] = float("nan")
    index = faiss.IndexFlatL2(WIDTH)
    index.add(holed)
    chosen = faiss.SearchParameters(sel=faiss.IDSelectorRange(2, 8))
    for params in (None, chosen):
        result = read_faiss(index, points[:1], k=30, resource="points", params=params, filters={"part": 1})
        assert (result.status, keys(result)) == ("partial", ["CONSISTENCY_LOST:count_mismatch"])
    nothing = read_faiss(index, holed[4:5], k=30, resource="points", params=chosen, filters={"part": 1})
    assert (nothing.status, nothing.items) == ("partial", [])


@pytest.fixture
def moving(engine: sa.Engine) -> Iterator[int]:
    """Rows of tenant 1000: 20 ids in a row, of which another session removes the first and appends one, for ever."""
    first = 100_000
    with engine.begin() as connection:
        connection.execute(
            sa.text("INSERT INTO v SELECT n, 1000, (SELECT e FROM v WHERE id = 0) FROM generate_series(:a, :z) n"),
            {"a": first, "z": first + 19},
        )
    done, moved = threading.Event(), threading.Event()

    def move() -> None:
        at = first
        while not done.is_set():
            with engine.begin() as connection:
                connection.execute(sa.text("DELETE FROM v WHERE id = :a"), {"a": at})
                connection.execute(sa.text("INSERT INTO v SELECT :z, 1000, e FROM v WHERE id = 0"), {"z": at + 20})
            at += 1
            moved.set()

    other = threading.Thread(target=move)
    other.start()
    try:
        assert moved.wait(timeout=60)
        yield 20
    finally:
        done.set()
        other.join()
        with engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM v WHERE tenant = 1000")


MOVING = "SELECT id FROM v WHERE tenant = 1000 ORDER BY e <-> (SELECT e FROM v WHERE id = 0) LIMIT 50"


def test_an_exact_search_while_another_session_writes_sees_one_state(engine: sa.Engine, moving: int) -> None:
    found = set()
    for _ in range(100):
        with engine.connect() as connection:
            exact = read_pgvector(connection, MOVING, resource="points", id="id", exact=True)
        assert (exact.status, exact.returned) == ("complete", moving)
        assert sorted(exact.ids) == list(range(min(exact.ids), min(exact.ids) + moving))
        found.add(min(exact.ids))
        if len(found) > 2:
            break
    assert len(found) > 1


def test_a_search_through_an_index_while_another_session_writes_is_never_complete(
    engine: sa.Engine, moving: int
) -> None:
    for _ in range(5):
        with engine.connect() as connection:
            connection.exec_driver_sql("SET enable_seqscan = off")
            connection.exec_driver_sql("SET enable_sort = off")
            connection.commit()
            found = read_pgvector(connection, MOVING, resource="points", id="id")
        assert (found.status, found.returned <= moving) == ("partial", True)
        assert "APPROXIMATE_METHOD:top_k" in keys(found)


@pytest.mark.parametrize(
    "source",
    ["few()", "v TABLESAMPLE BERNOULLI (50)", "(SELECT * FROM v WHERE tenant = 1 LIMIT 5) v", "away"],
    ids=["function", "sample", "inner limit", "foreign table"],
)
def test_what_a_plan_does_not_show_is_no_exact_search(engine: sa.Engine, source: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION few() RETURNS SETOF v LANGUAGE plpgsql STABLE AS "
            "$$ BEGIN RETURN QUERY SELECT * FROM v WHERE tenant = 1 ORDER BY id LIMIT 5; END $$"
        )
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS file_fdw")
        connection.exec_driver_sql("CREATE SERVER IF NOT EXISTS files FOREIGN DATA WRAPPER file_fdw")
        connection.exec_driver_sql("DROP FOREIGN TABLE IF EXISTS away")
        connection.exec_driver_sql(
            f"CREATE FOREIGN TABLE away (id int, tenant int, e vector({WIDTH})) SERVER files "
            "OPTIONS (filename '/dev/null', format 'csv')"
        )
    statement = f"SELECT id FROM {source} ORDER BY e <-> (SELECT e FROM v WHERE id = 0) LIMIT 10000"
    with engine.connect() as connection:
        result = read_pgvector(connection, statement, resource="points", id="id", exact=True)
    assert (result.complete, result.items is None) == (False, False)


def test_the_settings_of_a_connection_are_as_before_after_an_exact_search(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("RESET ALL")
        connection.exec_driver_sql("SET enable_bitmapscan = off")
        connection.commit()
        read_pgvector(connection, NEAR.format(10), resource="points", id="id", exact=True)
        names = ("enable_indexscan", "enable_bitmapscan", "enable_seqscan")
        assert [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in names] == ["on", "off", "on"]
