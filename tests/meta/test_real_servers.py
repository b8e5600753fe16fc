"""The table of what is tested against real servers is true to the tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "REAL_SERVERS.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if re.match(r"\| .*`", line)
]
STATES = 5


def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / "real" / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_state_of_a_server_names_tests_that_its_file_holds(row: list[str]) -> None:
    _, file, *states = row
    named = [re.findall(r"`([a-z0-9_]+)`", state) for state in states]
    assert len(states) == STATES
    assert {f"test_{name}" for names in named for name in names} <= names_in(file.strip("`"))
    assert all(names or row[0] == "faiss" for names in named)


def test_every_file_of_tests_against_real_servers_is_named() -> None:
    named = set(re.findall(r"`(test_[a-z0-9_]+\.py)`", PAGE))
    assert named == {path.name for path in (ROOT / "tests" / "real").glob("test_*.py")}
    assert len(ROWS) == 13
