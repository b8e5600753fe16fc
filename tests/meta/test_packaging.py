"""The layout: rooms hold packages and nothing else, so that nothing stray becomes importable."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = {
    "integrations": "unabridged",
    "langchain_tools": "unabridged_langchain",
    "llamaindex_tools": "unabridged_llamaindex",
}
CODE_SUFFIXES = {".py", ".json", ".typed", ".sql", ".md"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_holds_its_package_and_nothing_else(room: str) -> None:
    found = {p.name for p in (ROOT / room).iterdir() if p.name not in {"__pycache__", "README.md"}}
    assert found == {ROOMS[room]}
    assert not (ROOT / room / "__init__.py").exists()


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_package_holds_code_and_data_only_and_says_that_it_is_typed(room: str) -> None:
    package = ROOT / room / ROOMS[room]
    files = [p for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert {p.suffix for p in files} - CODE_SUFFIXES == set()
    assert (package / "py.typed").exists()
    for folder in {p.parent for p in files if p.suffix == ".py"}:
        assert (folder / "__init__.py").exists(), folder.name


def test_the_wheel_holds_the_three_packages() -> None:
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [
        f"{room}/{package}" for room, package in ROOMS.items()
    ]


def test_the_command_and_the_demo_runs_are_entry_points() -> None:
    assert PROJECT["project"]["scripts"] == {"unabridged": "unabridged.cli.main:main"}
    assert set(PROJECT["project"]["entry-points"]["unabridged.demo"]) == {"langchain", "llamaindex"}


def test_modules_and_functions_stay_small() -> None:
    long = [
        str(p.relative_to(ROOT))
        for room in ROOMS
        for p in (ROOT / room).rglob("*.py")
        if len(p.read_text().splitlines()) > 425
    ]
    assert long == []


def test_tests_do_not_patch() -> None:
    here = Path(__file__).name
    words = ("mock." + "patch", "monkeypatch." + "setattr")
    found = [
        p.name for p in (ROOT / "tests").rglob("*.py") if p.name != here and any(w in p.read_text() for w in words)
    ]
    assert found == []
