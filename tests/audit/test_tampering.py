"""No sequence of changes to the files of a log is accepted where a head or an anchor lies elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest
from audit.logs import intent, opened, outcome, written
from hypothesis import given
from hypothesis import strategies as st
from unabridged.audit import verify
from unabridged.audit.blocks import Block, run_of

Files: TypeAlias = list[list[bytes]]
_folder: list[Path] = []


@pytest.fixture(scope="module", autouse=True)
def _a_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    _folder.append(tmp_path_factory.mktemp("tampering"))
    yield
    _folder.clear()
    _logs.cache_clear()
    _long.cache_clear()


@cache
def _logs() -> tuple[Path, Files, Files]:
    """Returns the folder of a log of three files with a sealed tear, its lines, and those of another log."""
    folders = [_folder[-1] / name for name in ("mine", "other")]
    for folder in folders:
        folder.mkdir()
        written(folder / "audit.jsonl", 6, max_bytes=4_096)
        with (folder / "audit.jsonl").open("ab") as file:
            file.write(b"torn\0")
        with opened(folder / "audit.jsonl", max_bytes=4_096, head=folder / "head") as log:
            for number in range(10, 22):
                log.write(intent(number))
                log.write(outcome(number))
    mine, other = (_lines(folder) for folder in folders)
    assert len(mine) == 3
    assert verify(folders[0] / "audit.jsonl", head=folders[0] / "head").intact
    return folders[0], mine, other


def _lines(folder: Path) -> Files:
    return [Path(file).read_bytes().splitlines(keepends=True) for file in verify(folder / "audit.jsonl").files]


def _at(draw: st.DrawFn, files: Files) -> tuple[list[bytes], int]:
    file = files[draw(st.integers(0, len(files) - 1))]
    return file, draw(st.integers(0, max(0, len(file) - 1)))


@st.composite
def tampered(draw: st.DrawFn) -> Files:
    """Draws what is left of a log after one change, or some."""
    _, mine, other = _logs()
    files = [list(file) for file in mine]
    for _ in range(draw(st.integers(1, 4))):
        file, at = _at(draw, files)
        if not file:
            continue
        what = draw(st.sampled_from(["edit", "delete", "insert", "swap", "repeat", "cut", "splice", "away", "empty"]))
        if what == "edit":
            place = draw(st.integers(0, len(file[at]) - 1))
            file[at] = file[at][:place] + bytes([draw(st.integers(0, 255))]) + file[at][place + 1 :]
        elif what == "delete":
            del file[at : at + draw(st.integers(1, 3))]
        elif what == "insert":
            file.insert(at, draw(st.sampled_from([*other[0], b"\n", b"torn\0\n", b"{}\n"]) | st.binary(max_size=9)))
        elif what == "swap":
            other_file, other_at = _at(draw, files)
            if other_file:
                file[at], other_file[other_at] = other_file[other_at], file[at]
        elif what == "repeat":
            file.insert(draw(st.integers(0, len(file))), file[at])
        elif what == "cut":
            file[at:] = [file[at][: draw(st.integers(0, len(file[at]) - 1))]]
        elif what == "splice":
            file[at:] = other[draw(st.integers(0, 2))][at:]
        elif what == "away" and len(files) > 1:
            files.remove(file)
        else:
            file.clear()
    return files


def _put(files: Files) -> Path:
    folder = _folder[-1] / "left"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for number, file in enumerate(files, 1):
        name = "audit.jsonl" if number == 1 else f"audit.jsonl.{number:06d}"
        (folder / name).write_bytes(b"".join(file))
    return folder / "audit.jsonl"


def _same(files: Files) -> bool:
    return [b"".join(file) for file in files] == [b"".join(file) for file in _logs()[1]]


@given(tampered())
def test_no_sequence_of_changes_is_accepted_given_the_head(files: Files) -> None:
    folder, *_ = _logs()
    found = verify(_put(files), head=folder / "head")
    assert found.intact is _same(files)
    if not found.intact:
        assert all(finding.file and finding.line >= 0 and finding.message for finding in found.findings)


@given(tampered())
def test_no_sequence_of_changes_is_accepted_given_an_anchor_of_the_last_line(files: Files) -> None:
    folder, *_ = _logs()
    anchor = verify(folder / "audit.jsonl").head
    assert verify(_put(files), anchors=[str(anchor)]).intact is _same(files)


@given(tampered())
def test_without_head_and_anchor_only_the_end_can_be_cut_off(files: Files) -> None:
    _, mine, _ = _logs()
    whole = b"".join(b"".join(file) for file in mine)
    found = verify(_put(files))
    if found.intact and not _same(files):
        left = b"".join(b"".join(file) for file in files)
        last = left[left.rfind(b"\n", 0, -1) + 1 :]
        assert (
            left.removesuffix(last) == whole[: len(left) - len(last)]
        )  # what stands before the last line is as it was


@given(st.integers(0, 10**9))
def test_any_changed_byte_of_the_log_is_found_given_the_head(place: int) -> None:
    folder, mine, _ = _logs()
    whole = bytearray(b"".join(mine[0]))
    place %= len(whole)
    whole[place] ^= 1 + place % 255
    files = [[bytes(whole)], *mine[1:]]
    assert not verify(_put(files), head=folder / "head").intact


@cache
def _long() -> tuple[Path, bytes, str]:
    """Returns a log of several segments that are looked at at once, its bytes, and an anchor of its last line."""
    folder = _folder[-1] / "long"
    folder.mkdir()
    path = written(folder / "audit.jsonl", 300)
    start, end, run = run_of(Block(str(path), 0, path.stat().st_size))
    assert run is not None
    assert (run.n, run.count) == (100, 500)
    assert 0 < start < end < path.stat().st_size
    return path, path.read_bytes(), str(verify(path).head)


@given(st.integers(0, 10**9), st.integers(1, 255))
def test_any_changed_byte_of_a_long_log_is_found_given_an_anchor(place: int, change: int) -> None:
    _, whole, anchor = _long()
    place %= len(whole)
    changed = bytearray(whole)
    changed[place] ^= change
    found = verify(_put([[bytes(changed)]]), anchors=[anchor])
    assert not found.intact
    at = whole[:place].count(b"\n") + 1
    assert found.findings[0].line in (at, at + 1)


@given(st.integers(1, 599), st.integers(0, 120), st.integers(1, 120), st.booleans())
def test_lines_of_a_long_log_that_are_cut_out_or_moved_are_found(at: int, reach: int, count: int, moved: bool) -> None:
    _, whole, anchor = _long()
    lines = whole.splitlines(keepends=True)
    taken = lines[at : at + count]
    left = lines[:at] + lines[at + count :]
    if moved:
        left[at + reach : at + reach] = taken
    assert verify(_put([left]), anchors=[anchor]).intact is (left == lines)


def test_a_log_that_goes_on_behind_its_head_is_proven_up_to_it() -> None:
    folder, mine, _ = _logs()
    path = _put(mine)
    before = verify(path).last
    written(path, 3, start=50)
    found = verify(path, head=folder / "head")
    assert found.intact
    assert before is not None
    assert found.proven == before.n
