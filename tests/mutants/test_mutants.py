"""Wrong programs go red, each by the tests that are named for it; without them the same tests pass."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from mutants.mutating import Missing, Mutant, Room, apply
from mutants.registry import MUTANTS

TESTS = Path(__file__).parents[1]
CONTROL = "none"
ROOMS: tuple[Room, ...] = get_args(Room)
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each mutant lives in a forked process")

Outcome = dict[str, Any]


@pytest.fixture(scope="module")
def outcome_of(request: pytest.FixtureRequest) -> Callable[[str, Room], Outcome]:
    """Returns how the killers of a mutant came out; all mutants of a room that are selected run in one go."""
    selected = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    chosen = {p["mutant"].name for p in selected if isinstance(p.get("mutant"), Mutant)}
    controls = {p["room"] for p in selected if "room" in p}

    @cache
    def outcomes(room: Room) -> dict[str, Outcome]:
        names = [m.name for m in MUTANTS if m.room == room and m.name in chosen]
        return _run(room, [*([CONTROL] if room in controls else []), *names])

    return lambda name, room: outcomes(room)[name]


def _run(room: Room, names: list[str]) -> dict[str, Outcome]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])),
    }
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, "-m", "mutants.runner", room],
        input=json.dumps(names), capture_output=True, text=True, timeout=3600, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4_000:]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"name"')]
    return {each["name"]: each for each in told}


@pytest.mark.parametrize("room", ROOMS)
def test_without_a_mutant_every_killer_passes(room: Room, outcome_of: Callable[[str, Room], Outcome]) -> None:
    told = outcome_of(CONTROL, room)
    assert told["exit"] == 0, told
    assert {o["outcome"] for o in told["outcomes"]} <= {"passed"}
    ran = {o["test"].partition("[")[0] for o in told["outcomes"]}
    assert {k.partition("[")[0] for m in MUTANTS if m.room == room for k in m.killers} <= ran


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_wrong_program_is_killed_by_its_tests(mutant: Mutant, outcome_of: Callable[[str, Room], Outcome]) -> None:
    told = outcome_of(mutant.name, mutant.room)
    assert told["exit"] == 1, told.get("broken") or told
    assert told["runs"] > 0, "the wrong program never ran"
    failed = [o for o in told["outcomes"] if o["outcome"] == "failed"]
    assert {o["test"].partition("[")[0] for o in failed} == {k.partition("[")[0] for k in mutant.killers}
    assert {o["when"] for o in failed} == {"call"}
    assert {o["error"] for o in failed} <= set(mutant.errors), failed


def test_each_mutant_has_a_name_and_a_killer_of_its_own() -> None:
    assert len({m.name for m in MUTANTS}) == len(MUTANTS) >= 25
    assert all(m.killers for m in MUTANTS)


def test_every_law_kills_a_mutant() -> None:
    laws = {
        f"tests/laws/{file.name}::{node.name}"
        for file in (TESTS / "laws").glob("test_*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert laws
    assert laws - {killer for mutant in MUTANTS for killer in mutant.killers} == set()


def test_a_target_that_is_gone_fails_loudly() -> None:
    for target in ("unabridged.gate.values:no_such_name", "unabridged.gate.values:Call.no_such_name"):
        with pytest.raises(Missing):
            apply(Mutant("lost", target, lambda _: None, ["tests/none.py"]))
