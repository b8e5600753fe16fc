"""Runs mutants: `python -m mutants.runner ROOM`, a JSON list of names on stdin, a JSON line for each on stdout.

Everything is imported once. Each mutant then lives in a forked child of its own, where pytest runs its killers only.
The name `none` is the control: nothing is changed.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from mutants.mutating import Mutant, Room, apply, load
from mutants.registry import MUTANTS

ROOT = Path(__file__).parents[2]
CONTROL = "none"
_ASYNCIO = "pytest_asyncio.plugin"


class Outcomes:
    """A pytest plugin that notes how each test came out, and with what kind of error.

    Of a killer that has failed once, no further rows are run.
    """

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self._done: set[str] = set()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if _function(item.nodeid) in self._done:
            pytest.skip("killed already")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Any:
        report = yield
        if report.outcome == "failed":
            self._done.add(_function(item.nodeid))
        if report.when == "call" or report.outcome == "failed":
            error = None if call.excinfo is None else call.excinfo.type.__name__
            self.found.append({"test": item.nodeid, "when": report.when, "outcome": report.outcome, "error": error})
        return report


def _function(test: str) -> str:
    return test.partition("[")[0]


def run(mutant: Mutant | None, killers: Sequence[str]) -> dict[str, Any]:
    """Runs tests in this process, which is over afterwards, and returns how they came out."""
    runs = [CONTROL] if mutant is None else apply(mutant)
    outcomes = Outcomes()
    arguments = ["-p", "no:cacheprovider", "--no-header", "--tb=no"]
    arguments += ["-o", "addopts=--import-mode=importlib"]
    code = pytest.main([*arguments, f"--rootdir={ROOT}", *killers], plugins=[sys.modules[_ASYNCIO], outcomes])
    return {"exit": int(code), "outcomes": outcomes.found, "runs": len(runs)}


def _in_a_child(name: str, mutant: Mutant | None, killers: Sequence[str]) -> dict[str, Any]:
    inward, outward = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(inward)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            told = run(mutant, killers)
        except BaseException:  # noqa: BLE001 - the child's end: whatever it is, the parent tells it
            told = {"exit": -1, "outcomes": [], "runs": 0, "broken": traceback.format_exc()}
        with os.fdopen(outward, "w") as pipe:
            json.dump({"name": name, **told}, pipe)
        os._exit(0)
    os.close(outward)
    with os.fdopen(inward) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return cast("dict[str, Any]", json.loads(text)) if text else {"name": name, "exit": -1, "broken": "it died"}


def main(room: Room) -> None:
    """Runs the mutants that are named on stdin."""
    os.chdir(ROOT)
    os.environ["HYPOTHESIS"] = "mutants"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # importing all of them takes longer than the killers
    importlib.import_module(_ASYNCIO)
    load(room)
    known = {mutant.name: mutant for mutant in MUTANTS}
    for name in json.load(sys.stdin):
        mutant = known.get(name)
        killers = list(dict.fromkeys(k for m in MUTANTS if m.room == room for k in m.killers))
        told = _in_a_child(name, mutant, killers if mutant is None else mutant.killers)
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(cast("Room", sys.argv[1]))
