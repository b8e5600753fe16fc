"""The text of a statement is looked at, never changed; where two readings are possible the worse one counts."""

from __future__ import annotations

import pytest
from unabridged.contract import InvalidInput
from unabridged.sources.sql.shape import Family, Shape, shape_of


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("SELECT 1; DROP TABLE t", "sqlite"),
        ("SELECT 1;;DELETE FROM t", "postgresql"),
        ("SELECT '\\'; DROP TABLE t; --'", "postgresql"),
        ("SELECT 'a\\'; DROP TABLE t -- '", "mysql"),
        ("SELECT $x$;$x$; COMMIT", "postgresql"),
        ("SELECT 1 --; comment\n; COMMIT", "sqlite"),
        ("SELECT 1 --; DROP TABLE t", "mysql"),
        ("SELECT 5 --\u00a0; DROP TABLE t", "mysql"),
        ("SELECT 1 -- x\r; DROP TABLE t", "postgresql"),
        ("SELECT $\u2013$ ' $\u2013$; DROP TABLE t -- '", "postgresql"),
        ("SELECT a\u2013$x$ FROM t; DROP TABLE t; SELECT 1 AS b$x$", "postgresql"),
        ("SELECT E'a'\n'b\\''; DROP TABLE t --'", "postgresql"),
    ],
)
def test_two_statements_are_refused_however_they_are_hidden(text: str, family: Family) -> None:
    with pytest.raises(InvalidInput, match="must be one statement"):
        shape_of(text, family)


@pytest.mark.parametrize(
    "text",
    ["DELETE FROM t", "/*x*/ DELETE FROM t", "", "  -- nothing", "((", "PRAGMA query_only = OFF", "ATTACH 'x' AS y"],
)
def test_what_does_not_begin_like_a_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="must begin with one of"):
        shape_of(text, "sqlite")


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("SELECT 1 INTO OUTFILE '/x'", "mysql"),
        ("SELECT * INTO copy FROM t", "postgresql"),
        ("SELECT 1 /*! INTO OUTFILE '/x' */", "mysql"),
        ("SELECT 1 /*M! INTO OUTFILE '/x' */", "mysql"),
        ("SELECT lo_unlink(1)", "postgresql"),
        ('SELECT pg_catalog."lo_unlink" (1)', "postgresql"),
        ("SELECT set_config('row_security', 'on', true)", "postgresql"),
        ("SELECT load_extension('x')", "sqlite"),
        ("SELECT * FROM t LOCK IN SHARE MODE SKIP LOCKED", "mysql"),
        ("SELECT * FROM t FOR SHARE", "postgresql"),
    ],
)
def test_what_acts_is_refused(text: str, family: Family) -> None:
    with pytest.raises(InvalidInput, match="must"):
        shape_of(text, family)


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("SELECT ';' AS a;", "postgresql"),
        ("SELECT $$ ; $$ /* a /* ; */ ; */ ;", "postgresql"),
        ("SELECT 'it''s; fine'", "sqlite"),
        ("SELECT 'delete', \"a;b\", [c;d], `e;f`", "sqlite"),
        ("(SELECT 1) UNION (SELECT 2)", "mysql"),
        ("WITH a AS (SELECT 1) SELECT * FROM a -- x", "sqlite"),
        ("SELECT a::int, '12:30', 5 % 2 FROM t", "postgresql"),
        ("SELECT 5--3", "mysql"),
        ("EXPLAIN DELETE FROM t", "sqlite"),
    ],
)
def test_what_only_reads_passes(text: str, family: Family) -> None:
    assert isinstance(shape_of(text, family), Shape)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("SELECT * FROM t LIMIT 10", Shape(limit=10, limited=True)),
        ("SELECT * FROM t LIMIT 10 OFFSET 5", Shape(limit=10, limited=True, offset=True)),
        ("SELECT * FROM t LIMIT 5, 10", Shape(limit=10, limited=True, offset=True)),
        ("SELECT * FROM t OFFSET 0", Shape()),
        ("SELECT * FROM t FETCH FIRST 7 ROWS ONLY", Shape(limit=7, limited=True)),
        ("SELECT * FROM t FETCH NEXT ROW ONLY", Shape(limit=1, limited=True)),
        ("SELECT * FROM t LIMIT ALL", Shape()),
        ("SELECT * FROM t LIMIT 2 + 3", Shape(limited=True)),
        ("(SELECT * FROM t LIMIT 3)", Shape(limit=3, limited=True)),
        ("SELECT * FROM (SELECT * FROM t LIMIT 3) x", Shape(inner_limit=True)),
        ("SELECT (SELECT a FROM u LIMIT 1) FROM t", Shape()),
        ("SELECT 'LIMIT 3' FROM t -- LIMIT 4", Shape()),
        ("SELECT * FROM t TABLESAMPLE SYSTEM (1)", Shape(sampled=True)),
        ("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", Shape(writes=True)),
    ],
)
def test_a_limit_of_the_statement_is_seen(text: str, shape: Shape) -> None:
    assert shape_of(text, "postgresql") == shape


def test_limits_of_one_family_only() -> None:
    assert shape_of("SELECT * FROM t LIMIT ROWS EXAMINED 500", "mysql") == Shape()
    assert shape_of("SELECT * FROM t LIMIT -1", "sqlite") == Shape()


def test_a_limit_that_is_a_parameter_is_looked_up() -> None:
    found = shape_of("SELECT * FROM t WHERE a = :a LIMIT :n", "sqlite", bound=lambda name, _: {":a": 1, ":n": 9}[name])
    assert found == Shape(limit=9, limited=True)
