"""`unabridged audit verify`: what it says, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("click")

from audit.logs import KEY, intent, lines, opened, written
from click.testing import CliRunner, Result
from unabridged.audit import verify
from unabridged.cli.app import cli


def audit(*args: object) -> Result:
    return CliRunner().invoke(cli, ["audit", "verify", "--processes", "1", *map(str, args)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return written(tmp_path / "audit.jsonl", 4, head=tmp_path / "head")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(KEY)
    path.chmod(0o600)
    return path


def test_an_intact_log_exits_with_0_and_says_what_is_not_proven(log: Path) -> None:
    result = audit(log)
    anchor = verify(log).head
    assert result.stdout.splitlines() == [
        "intact: 8 events in 1 file",
        f"the end is proven by nothing; note the last line elsewhere: {anchor}",
    ]
    assert result.exit_code == 0


def test_with_its_head_or_an_anchor_the_end_is_proven_too(log: Path, key: Path) -> None:
    for given in (
        ["--head", log.parent / "head"],
        ["--head", log.parent / "head", "--key-file", key],
        ["--anchor", verify(log).head, "--anchor", f"1:{json.loads(lines(log)[1])['prev']}"],
    ):
        result = audit(log, *given)
        assert (result.stdout, result.exit_code) == ("intact: 8 events in 1 file\n", 0)


def test_a_broken_log_exits_with_1_and_says_where(log: Path) -> None:
    log.write_bytes(b"".join(lines(log)[:3] + lines(log)[4:]))
    result = audit(log)
    first, *_, last = result.stdout.splitlines()
    assert first.startswith(f"{log}:4: number: the number does not follow")
    assert first.endswith("(number 5)")
    assert last == "broken: 1 fault, 7 events in 1 file"
    assert result.exit_code == 1


def test_one_is_told_as_one_and_more_as_more(log: Path) -> None:
    kept = lines(log)
    log.write_bytes(b"".join([*kept[:2], kept[3], *kept[5:]]))
    assert audit(log).stdout.splitlines()[-1] == "broken: 2 faults, 6 events in 1 file, 2 intents without an outcome"
    log.write_bytes(b"".join(kept[:2]))
    assert audit(log).stdout.splitlines()[1] == "intact: 1 event in 1 file, 1 intent without an outcome"


def test_a_truncated_log_exits_with_1_where_a_head_is_given(log: Path) -> None:
    log.write_bytes(b"".join(lines(log)[:5]))
    assert audit(log).exit_code == 0
    result = audit(log, "--head", log.parent / "head")
    assert "truncated: the log ends before a line that an anchor or the head knows (number 9)" in result.stdout
    assert result.exit_code == 1


def test_open_intents_and_sealed_tears_are_told_and_are_no_fault(log: Path) -> None:
    with log.open("ab") as file:
        file.write(b"torn")
    with opened(log) as again:
        again.write(intent(77))
    result = audit(log)
    assert f"{log}:11: sealed tear of 4 bytes" in result.stdout
    assert f"{log}:12: intent without an outcome: {77:032x}" in result.stdout
    assert "intact: 9 events in 1 file, 1 intent without an outcome" in result.stdout
    assert result.exit_code == 0


def test_json_says_the_same(log: Path) -> None:
    document = json.loads(audit(log, "--json").stdout)
    assert document == verify(log).to_json()
    assert (document["intact"], document["events"]) == (True, 8)
    log.write_bytes(b"".join(lines(log)[1:]))
    result = audit(log, "--json")
    assert json.loads(result.stdout)["findings"][0]["rule"] == "file_order"
    assert result.exit_code == 1


def test_wrong_use_exits_with_2_and_shows_no_value(log: Path, key: Path, tmp_path: Path) -> None:
    key.chmod(0o644)
    for given in (
        [],
        [tmp_path / "none"],
        [log, "--anchor", "canary"],
        [log, "--head", key],
        [log, "--key-file", key],
        [log, "--head", tmp_path / "head", "--key-file", key],
        [log, "--processes", "0"],
    ):
        result = audit(*given)
        assert result.exit_code == 2, given
        assert "canary" not in result.output
        assert KEY.decode() not in result.output
