"""`unabridged actions`: the data map of a module, for people and as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("click")

from click.testing import CliRunner, Result
from unabridged.cli.app import cli

MODULE = """
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints
from unabridged.actions import Action, Grants, Sensitivity

print("loading")
CaseId = Annotated[str, StringConstraints(pattern="^C-[0-9]{6}$", max_length=8), Sensitivity("internal")]


class CloseCases(BaseModel):
    case_ids: Annotated[list[CaseId], Field(max_length=20)]
    customer: str
    reason: Literal["duplicate", "solved"] = "solved"


class Closed(BaseModel):
    closed: bool


def close(command):
    raise AssertionError("a data map runs nothing")


close_cases = Action(
    "close_cases", purpose="Closes cases that are solved.", verb="close", effect="change", input=CloseCases,
    output=Closed, executor=close, targets="case_ids", references={"customer": "customer"}, errors=["case_locked"],
    lookups=["the customer's address, from the CRM"], never=["email"], show=["reason"],
    authorize=Grants({"lead": ["change"]}),
)
ALSO = [close_cases]
"""


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["actions", *args])


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "cases_of_the_test.py"
    path.write_text(MODULE)
    return path


def test_the_map_tells_what_crosses_each_way(module: Path) -> None:
    result = run(str(module))
    assert result.exit_code == 0
    lines = [line.strip() for line in result.stdout.splitlines()]
    for line in (
        "close_cases: Closes cases that are solved.",
        "close (change), touches 20 at most",
        "- case_ids[]: text, max_length 8, pattern ^C-[0-9]{6}$, internal",
        "- reason: choice, one_of duplicate | solved, optional",
        "- customer: customer",
        "- the customer's address, from the CRM",
        "- email",
        "- closed: true or false",
        "executor: function at cases_of_the_test:close",
        "raw diagnostics: are dropped",
    ):
        assert line in lines
    assert "case_locked" in result.stdout
    assert "loading" not in result.stdout


def test_the_map_as_json_holds_each_action_once(module: Path) -> None:
    (found,) = json.loads(run(str(module), "--json").stdout)
    assert found["action"] == "close_cases"
    assert {f["field"]: f["sensitivity"] for f in found["given"]}["case_ids[]"] == "internal"
    assert found["executor"]["kind"] == "function"


def test_a_module_is_found_by_its_name_from_where_one_stands(module: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unabridged.cli.main", "actions", "cases_of_the_test", "--json"],
        cwd=module.parent, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["action"] == "close_cases"
    assert "loading" in done.stderr


def test_a_declaration_that_breaks_a_rule_is_a_finding_by_field(module: Path) -> None:
    module.write_text(MODULE.replace("customer: str", "customer: str\n    notes: str"))
    result = run(str(module))
    assert result.exit_code == 1
    assert "input.notes: is text without a pattern" in result.stderr
    assert result.stdout == ""


def test_a_module_without_actions_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "nothing_of_the_test.py"
    path.write_text("x = 1\n")
    result = run(str(path), "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == []
    assert "no action" in result.stderr


@pytest.mark.parametrize("text", ["raise ValueError('SENTINEL')", "SENTINEL ="])
def test_a_module_that_cannot_be_imported_is_wrong_use(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken_of_the_test.py"
    path.write_text(text)
    result = run(str(path))
    assert result.exit_code == 2
    assert "cannot be imported" in result.stderr
    assert "SENTINEL" not in result.output


def test_a_module_that_a_module_needs_and_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "needy_of_the_test.py"
    path.write_text("import no_such_module_of_the_test")
    assert "there is no module no_such_module_of_the_test" in run(str(path)).stderr


@pytest.mark.parametrize("name", ["no_such_module_of_the_test", "no_such_file.py"])
def test_what_is_not_there_is_wrong_use(name: str) -> None:
    result = run(name)
    assert result.exit_code == 2
    assert result.stdout == ""
