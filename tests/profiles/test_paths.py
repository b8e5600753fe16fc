"""Paths and conditions: what is missing, what is null, and what counts."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import pytest
from unabridged.profiles.conditions import When
from unabridged.profiles.paths import MISSING, InvalidPath, PathFailed, column, compile_path


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("a", {"a": 1}, 1),
        ("a", {"a": None}, None),
        ("a", {}, MISSING),
        ("a.b", {"a": {"b": False}}, False),
        ("a.b", {"a": None}, MISSING),
        ("a.b", {"a": [1]}, MISSING),
        ("a.b", {}, MISSING),
        ('"@odata.nextLink"', {"@odata.nextLink": "x"}, "x"),
        ('a."b.c"', {"a": {"b.c": 2}}, 2),
        ("@", [1], [1]),
        ("_id", {"_id": 3}, 3),
        ("a[0]", {"a": [7]}, 7),
        ("a[0]", {}, None),
        ("a[*].b", {"a": [{"b": 1}, {"b": None}]}, [1]),
        ("length(a) < n", {"a": [1], "n": 2}, True),
        ("a.b", "text", MISSING),
        ("a", [{"a": 1}], MISSING),
    ],
)
def test_a_path_tells_what_stands_where(text: str, value: Any, found: Any) -> None:
    assert compile_path(text).read(value) == found or compile_path(text).read(value) is found


def test_a_missing_key_and_a_null_are_told_apart_in_plain_paths_only() -> None:
    assert compile_path("a").read({}) is MISSING
    assert compile_path("a").read({"a": None}) is None
    assert compile_path("a | b").read({}) is None


def test_an_expression_that_meets_a_type_it_does_not_take_fails_by_name() -> None:
    with pytest.raises(PathFailed):
        compile_path("sum([a, b]) < c").read({"a": 1})
    with pytest.raises(PathFailed):
        compile_path("length(a)").read({})


@pytest.mark.parametrize("text", ["", "a.", ".a", "a b", "a[", "'x", "header:", "header:a b", "length("])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(InvalidPath):
        compile_path(text)


def test_header_names_have_no_case_repeated_fields_are_joined_and_digits_are_numbers() -> None:
    path = compile_path("header:X-Total")
    assert path.read_page(None, {"x-total": "12"}) == 12
    assert path.read_page(None, {"x-total": "12, 13"}) == "12, 13"
    assert path.read_page(None, {"x-total": "-1"}) == "-1"
    assert path.read_page(None, {"x-total": "1" * 40}) == "1" * 40
    assert path.read_page(None, {}) is MISSING
    with pytest.raises(InvalidPath):
        compile_path("header:x", page=False)


def test_a_column_is_whole_or_refused() -> None:
    path = compile_path("id", page=False)
    assert column([{"id": 1}, {"id": None}], path) == [1, None]
    for records in ([{"id": 1}, {}], [{"id": 1}, 7], [{"id": 1}, None], ["text"], [[1]]):
        with pytest.raises(LookupError):
            column(records, path)
    deep = compile_path("a.id", page=False)
    assert column([{"a": {"id": 1}}], deep) == [1]
    with pytest.raises(LookupError):
        column([{"a": {}}], deep)


@pytest.mark.parametrize(
    ("when", "yes", "no"),
    [
        ("nonempty", [0, 1, "a", [0], {"a": None}, True], [None, False, "", [], {}, MISSING]),
        ({"equals": True}, [True], [1, "true", 1.0, MISSING]),
        ({"equals": 1}, [1, 1.0], [True, "1", MISSING]),
        ({"equals": None}, [None], [False, 0, "", MISSING]),
        ({"equals": []}, [[]], [None, {}, "", MISSING]),
        ({"equals": {"a": 1}}, [{"a": 1}, {"a": 1.0}], [{"a": True}, {}]),
        ({"in": ["a", 1, None]}, ["a", 1, 1.0, None], ["b", True, MISSING]),
        ({"gt": 0}, [1, 0.5], [0, -1, True, "1", None, MISSING]),
        ({"expr": True}, [True], [1, "true", None, MISSING]),
    ],
)
def test_conditions_compare_as_json_values(when: Any, yes: list[Any], no: list[Any]) -> None:
    condition = When.model_validate(when)
    assert [condition.holds(value) for value in yes] == [True] * len(yes)
    assert [condition.holds(value) for value in no] == [False] * len(no)


def test_missing_is_one_value_in_every_process() -> None:
    assert pickle.loads(pickle.dumps(MISSING)) is MISSING
    assert not MISSING


def test_plain_profiles_and_reads_need_neither_jmespath_nor_an_http_client_nor_tenacity() -> None:
    code = (
        "import sys\n"
        "from unabridged.profiles import load_profile\n"
        "import unabridged.reading\n"
        "load_profile({'name': 'a', 'version': 1, 'items': 'items', 'id': 'id', 'walk': {'by': 'single'}})\n"
        "print([m for m in ('jmespath', 'httpx', 'httpx2', 'tenacity') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert found.stdout.strip() == "[]"
