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
        ("SELECT [load_extension]('x')", "sqlite"),
        ("SELECT `get_lock` ('x', 1)", "mysql"),
        ("SELECT @a := 1", "mysql"),
        ('SELECT U&"set\\005Fconfig"(1)', "postgresql"),
        ("SELECT u&\"set!005Fconfig\" UESCAPE '!' (1)", "postgresql"),
        ("SELECT pg_backup_start('x')", "postgresql"),
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
        ("SELECT u & \"x\", U&'a;b' FROM t", "postgresql"),
        ("SELECT `a;b`, `get_lock` FROM t WHERE a = b", "mysql"),
        ("SELECT a FROM t WHERE d = ':=' AND e = ':' = f", "mysql"),
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


SKIPS = ("+3", "-(-3)", "(3)", "max(3, 3)", "'3'", "CAST(3 AS int)", "case when 1 then 3 end", "not 0", "~-4", "0 + 3",
         "0x3", "0 or 1", "exists(select 1)")  # fmt: skip


@pytest.mark.parametrize("skip", SKIPS)
@pytest.mark.parametrize("family", ["sqlite", "postgresql"])
def test_whatever_says_how_many_rows_are_passed_over_passes_over_rows(family: Family, skip: str) -> None:
    assert shape_of(f"SELECT * FROM t ORDER BY id LIMIT 100 OFFSET {skip}", family).offset
    assert shape_of(f"SELECT * FROM (SELECT * FROM t LIMIT 100 OFFSET {skip}) x", family).offset
    if family == "postgresql":
        assert shape_of(f"SELECT * FROM t OFFSET {skip}", family).offset


@pytest.mark.parametrize("none", ["0", "0::int", "0 ROWS", ":n"])
def test_no_rows_passed_over_are_none(none: str) -> None:
    found = shape_of(f"SELECT * FROM t LIMIT 100 OFFSET {none}", "postgresql", bound=lambda _name, _place: 0)
    assert found == Shape(limit=100, limited=True)


@pytest.mark.parametrize("number", ["100 AND 5", "100 IS 100", "100 NOT NULL", "100 - 95", "0, 100 - 95", "100. - 95"])
def test_a_number_that_is_a_part_of_an_expression_is_not_the_limit(number: str) -> None:
    assert shape_of(f"SELECT * FROM t LIMIT {number}", "sqlite") == Shape(limited=True)


@pytest.mark.parametrize("family", ["sqlite", "postgresql", "mysql"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT q.limit, q.offset FROM q",
        'SELECT "q".offset + 1 FROM q',
        "SELECT rate AS limit, start AS offset FROM q",
        "WITH x AS (SELECT a FROM u LIMIT 1), y AS (SELECT q.offset + 1 FROM q) SELECT * FROM y WHERE y.a = 1",
    ],
)
def test_a_column_that_is_called_so_limits_nothing(family: Family, text: str) -> None:
    assert shape_of(text, family) == Shape()


def test_a_point_after_a_number_names_nothing() -> None:
    assert shape_of("SELECT * FROM t WHERE a < 5. LIMIT 3", "sqlite") == Shape(limit=3, limited=True)
    assert shape_of("SELECT * FROM t LIMIT 100. OFFSET 3", "sqlite").offset
    assert shape_of('SELECT a "AS" FROM t LIMIT 3', "sqlite").limited


@pytest.mark.parametrize("family", ["sqlite", "mysql"])
def test_a_column_called_offset_is_one_where_the_word_is_not_reserved(family: Family) -> None:
    assert shape_of("SELECT offset + 1 FROM q ORDER BY offset LIMIT 10", family) == Shape(limit=10, limited=True)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM (SELECT * FROM t LIMIT 1) x",
        "SELECT * FROM (SELECT * FROM t LIMIT 1) AS x WHERE a > 1",
        "(SELECT * FROM (SELECT * FROM t LIMIT 1) x)",
        "SELECT * FROM t UNION ALL (SELECT * FROM u LIMIT 1)",
        "(SELECT * FROM t LIMIT 1) UNION SELECT * FROM u",
        "WITH x AS (SELECT * FROM t LIMIT 1) SELECT * FROM x",
        "WITH x AS NOT MATERIALIZED (SELECT * FROM t LIMIT 1) SELECT * FROM x WHERE a > 1",
        "SELECT * FROM (SELECT * FROM t FETCH FIRST ROW ONLY) x",
        "((SELECT * FROM t LIMIT 1))",
        "SELECT * FROM ((SELECT * FROM t LIMIT 1)) x",
        "SELECT * FROM (SELECT * FROM (SELECT * FROM t LIMIT 1) a WHERE a.n > 1) b",
        "SELECT * FROM (SELECT * FROM t UNION ALL (SELECT * FROM u LIMIT 1)) x",
        "WITH x AS (SELECT * FROM t LIMIT 1), y AS (SELECT * FROM x) SELECT * FROM y",
        "WITH x AS (SELECT * FROM t LIMIT 1) SELECT * FROM (SELECT * FROM x) y",
        "WITH x (a, b) AS (SELECT * FROM t LIMIT 1) SELECT * FROM ONLY x",
        "WITH x AS (SELECT * FROM t LIMIT 1) TABLE x",
        "WITH RECURSIVE x AS ((SELECT * FROM t LIMIT 1) UNION ALL SELECT * FROM x) SELECT * FROM x",
    ],
)
def test_one_row_that_all_rows_come_from_is_a_limit(text: str) -> None:
    assert shape_of(text, "postgresql").inner_limit


@pytest.mark.parametrize(
    "text",
    [
        "SELECT DISTINCT (SELECT a FROM u LIMIT 1) FROM t",
        "SELECT * FROM t WHERE a = (SELECT max(a) FROM u LIMIT 1)",
        "SELECT * FROM t JOIN LATERAL (SELECT * FROM u WHERE u.t = t.id LIMIT 1) x ON true",
        "WITH x AS (SELECT * FROM runs ORDER BY id DESC LIMIT 1) SELECT t.* FROM t JOIN x ON t.run = x.id",
        "WITH x AS (SELECT * FROM runs LIMIT 1) SELECT t.* FROM x JOIN t ON t.run = x.id",
        "SELECT t.* FROM (SELECT * FROM runs LIMIT 1) x, t WHERE t.run = x.id",
        "SELECT * FROM t WHERE a IN (SELECT a FROM (SELECT a FROM u LIMIT 1) x)",
        "WITH x AS (SELECT * FROM runs LIMIT 1), y AS (SELECT * FROM x) SELECT t.* FROM t JOIN y ON t.run = y.id",
        "WITH RECURSIVE x AS (SELECT a FROM x WHERE a = (SELECT a FROM u LIMIT 1)) SELECT * FROM x",
    ],
)
def test_one_row_that_is_looked_up_or_joined_is_no_limit(text: str) -> None:
    assert shape_of(text, "postgresql") == Shape()


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("SELECT * FROM t LIMIT -1 + 3", Shape(limited=True)),
        ("SELECT * FROM t LIMIT -1;", Shape()),
        ("SELECT * FROM t LIMIT 10::bigint", Shape(limit=10, limited=True)),
        ("SELECT * FROM t LIMIT 10 # 3", Shape(limited=True)),
    ],
)
def test_a_limit_that_is_worked_out_cannot_be_told(text: str, shape: Shape) -> None:
    assert shape_of(text, "postgresql") == shape


@pytest.mark.parametrize("name", ["information_schema", "`Performance_Schema`"])
def test_tables_that_are_made_up_as_they_are_read_are_seen(name: str) -> None:
    assert shape_of(f"SELECT * FROM {name}.processlist", "mysql").live
    assert not shape_of("SELECT * FROM information_schema.tables", "postgresql").live


def test_limits_of_one_family_only() -> None:
    assert shape_of("SELECT * FROM t LIMIT ROWS EXAMINED 500", "mysql") == Shape()
    assert shape_of("SELECT * FROM t LIMIT -1", "sqlite") == Shape()


def test_a_limit_that_is_a_parameter_is_looked_up() -> None:
    found = shape_of("SELECT * FROM t WHERE a = :a LIMIT :n", "sqlite", bound=lambda name, _: {":a": 1, ":n": 9}[name])
    assert found == Shape(limit=9, limited=True)
