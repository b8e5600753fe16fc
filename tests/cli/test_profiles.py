"""`unabridged profiles`: the list and one explanation, for people and as JSON."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("click")

from click.testing import CliRunner, Result
from unabridged.cli.app import cli
from unabridged.profiles import shipped_profiles


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["profiles", *args])


def test_the_list_shows_walk_proof_and_evidence_of_every_profile() -> None:
    result = run()
    assert result.exit_code == 0
    head, *rows = result.output.splitlines()
    assert head.split() == ["NAME", "WALK", "PROOF", "EVIDENCE", "SERVICE"]
    assert [row.split()[0] for row in rows] == list(shipped_profiles())


def test_the_list_as_json_holds_the_same() -> None:
    rows = json.loads(run("--json").stdout)
    assert [row["name"] for row in rows] == list(shipped_profiles())
    assert all(set(row) == {"name", "service", "walk", "proof", "evidence"} for row in rows)


def test_an_unknown_name_is_wrong_use() -> None:
    result = run("no_such_profile")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "must be the name of a shipped profile" in result.stderr


@pytest.mark.parametrize("name", shipped_profiles())
def test_an_explanation_says_when_the_end_is_proven_what_is_not_seen_and_what_it_rests_on(name: str) -> None:
    result = run(name)
    assert result.exit_code == 0
    for title in ("A response looks like", "How it goes on", "When it ends", "What it cannot see", "Facts it rests on"):
        assert f"\n{title}:\n" in result.output
    assert re.search(r"\bhttps?://", result.output)
    assert "None" not in result.output.partition("How it goes on")[2]


@pytest.mark.parametrize("name", shipped_profiles())
def test_an_explanation_as_json_holds_the_profile_itself(name: str) -> None:
    said = json.loads(run(name, "--json").stdout)
    assert said["profile"]["name"] == said["name"] == name
    assert said["end_rule"]
    assert said["facts"][0]["source"].startswith("http")
