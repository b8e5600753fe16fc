"""`unabridged replay`: its output, its last line, its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")

from click.testing import CliRunner, Result
from replay.case_documents import case, page, read
from unabridged.cli.app import cli

GOOD = case(read(page(1), expect={"status": "complete"}), case="good")
BAD = case(read(page(1), expect={"status": "partial"}), case="bad")
INVALID = {"case": "invalid", "canary": "kanarie 7f3a"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, document in (("good", GOOD), ("bad", BAD), ("invalid", INVALID)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    return tmp_path


def replay(*args: object) -> Result:
    return CliRunner().invoke(cli, ["replay", *map(str, args)])


def lines(result: Result) -> tuple[list[dict[str, Any]], str]:
    *documents, last = result.stdout.splitlines()
    return [json.loads(d) for d in documents], last


def test_one_json_line_a_case_and_the_count_at_the_end(folder: Path) -> None:
    result = replay(folder / "good.json")
    documents, last = lines(result)
    assert [d["case"] for d in documents] == ["good"]
    assert documents[0]["ok"] is True
    assert list(documents[0]) == ["case", "ok", "reads", "writes", "answer", "differences"]
    assert last == "1 passed, 0 failed"
    assert result.exit_code == 0
    assert result.stderr == ""


def test_a_case_that_fails_exits_with_1_and_tells_where(folder: Path) -> None:
    result = replay(folder / "good.json", folder / "bad.json")
    documents, last = lines(result)
    assert [d["ok"] for d in documents] == [True, False]
    assert documents[1]["differences"] == [{"where": "reads[0].status", "expected": "partial", "actual": "complete"}]
    assert last == "1 passed, 1 failed"
    assert result.exit_code == 1


def test_an_invalid_file_exits_with_2_and_does_not_stop_the_others(folder: Path) -> None:
    result = replay(folder / "invalid.json", folder / "good.json", folder / "none.json")
    documents, last = lines(result)
    assert [d["case"] for d in documents] == ["good"]
    assert last == "1 passed, 0 failed"
    assert result.exit_code == 2
    assert "invalid.json: reads: is required" not in result.stdout
    assert "invalid.json: canary: is not a known key" in result.stderr
    assert "none.json: file: must be a file that can be read" in result.stderr
    assert "kanarie" not in result.output


def test_a_folder_means_the_files_in_it_and_below(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "a.json").write_text(json.dumps(GOOD))
    (folder / "deep" / "notes.txt").write_text("no case")
    documents, last = lines(replay(folder / "deep"))
    assert [d["case"] for d in documents] == ["good"]
    assert last == "1 passed, 0 failed"


def test_a_pattern_that_the_shell_left_alone_is_expanded_and_no_file_runs_twice(folder: Path) -> None:
    documents, _ = lines(replay(folder / "g*.json", folder / "good.json"))
    assert len(documents) == 1


@pytest.mark.parametrize("name", ["x*.json", "empty"])
def test_a_pattern_or_a_folder_that_means_no_file_is_wrong_use(folder: Path, name: str) -> None:
    (folder / "empty").mkdir()
    result = replay(folder / "good.json", folder / name)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_output_is_plain_ascii_json_whatever_the_case_holds(folder: Path) -> None:
    odd = case(read(page("\u00e9", "\u4e16")), case="\u00e9tude")
    (folder / "odd.json").write_text(json.dumps(odd))
    documents, _ = lines(replay(folder / "odd.json"))
    assert documents[0]["case"] == "\u00e9tude"
