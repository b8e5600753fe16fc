"""`unabridged demo` as a program: what it prints, and how it exits."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner
from unabridged.cli.app import cli


@pytest.mark.parametrize(
    "arguments", [["--framework", "crewai"], ["--framework", "llamaindex", "--model", "openai:gpt"], ["--nothing"]]
)
def test_wrong_use_exits_with_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, ["demo", *arguments]).exit_code == 2


@pytest.mark.real
def test_it_compares_both_frameworks_and_prints_json() -> None:
    command = [sys.executable, "-m", "unabridged.cli.main", "demo", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["frameworks"].keys() == {"langchain", "llamaindex"}
    for comparison in document["frameworks"].values():
        plain, guarded = comparison["plain"], comparison["guarded"]
        assert plain["wrong_writes"] > 20
        assert guarded["wrong_writes"] == 0
        assert guarded["right_writes"] > 100
        assert guarded["refusals"]
        assert guarded["answer"]["caveats"]
        assert guarded["coverage"]["complete"] is False
        assert "Nothing is left." in plain["answer"]["text"]
    assert "starting PostgreSQL" in done.stderr
