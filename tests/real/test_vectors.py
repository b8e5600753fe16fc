"""faiss and pgvector: filters that take hits away behind the index, and the exact modes that cure it."""

from __future__ import annotations

from collections.abc import Iterator
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
