"""Local files: excerpts that go on from where they stopped, and only in the version they had."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from unabridged import session
from unabridged.contract import InvalidInput, resume_of
from unabridged.sources.files import _without_waiting, read_file

LINES = [f"line {n} ä\n" for n in range(10)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("".join(LINES))
    return tmp_path


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def text(result: Any) -> str:
    (item,) = result.items
    return str(item["text"])


def rewritten(path: Path, content: str) -> None:
    """Writes a file anew, with the size and the times that it had: only the number or its change time tells."""
    before = path.stat()
    path.write_text(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_whole_file_is_complete_and_names_version_and_range(folder: Path) -> None:
    with session("files-whole") as s:
        result = read_file("a.txt", resource="notes", root=folder)
        assert [read.status for read in s.reads] == ["complete"]
    (item,) = result.items or []
    assert (result.status, item["start"], item["end"], item["total"], item["unit"]) == ("complete", 0, 10, 10, "lines")
    assert (text(result), result.ids, bool(item["version"])) == ("".join(LINES), ("a.txt",), True)
    assert result.continuation.kind == "none"


@pytest.mark.parametrize("unit", ["bytes", "lines", "chars"])
@pytest.mark.parametrize("version_by", ["stat", "digest"])
def test_a_cut_file_goes_on_until_every_character_was_read_once(folder: Path, unit: Any, version_by: Any) -> None:
    link = read_file("a.txt", resource="notes", root=folder, unit=unit, max_units=3, version_by=version_by)
    parts = [text(link)]
    while link.continuation.kind == "read_range":
        assert link.codes[0] in ("CLIENT_LIMIT_REACHED", "ITEM_TRUNCATED")
        link = resume_of(link).read()
        parts.append(text(link))
    assert (link.status, "".join(parts)) == ("complete", "".join(LINES))


def test_a_range_that_was_asked_for_is_complete_for_that_range(folder: Path) -> None:
    result = read_file("a.txt", resource="notes", root=folder, start=2, length=3)
    assert (result.status, text(result)) == ("complete", "".join(LINES[2:5]))
    assert result.scope.filters["start"] == 2
    rest = resume_of(result).read()
    assert (rest.status, text(rest)) == ("complete", "".join(LINES[5:]))


def test_pages_end_at_form_feeds(folder: Path) -> None:
    (folder / "p.txt").write_text("one\ftwo\fthree")
    result = read_file("p.txt", resource="notes", root=folder, unit="pages", start=1, length=1)
    assert (result.status, text(result), (result.items or [])[0]["total"]) == ("complete", "two\f", 3)


@pytest.mark.parametrize("version_by", ["stat", "digest"])
def test_a_file_that_changed_in_between_is_not_gone_on_with(folder: Path, version_by: Any) -> None:
    first = read_file("a.txt", resource="notes", root=folder, max_units=3, version_by=version_by)
    rewritten(folder / "a.txt", "".join(reversed(LINES)))
    second = resume_of(first).read()
    assert (second.status, second.items, keys(second)) == ("unavailable", None, ["CONSISTENCY_LOST:snapshot_changed"])
    assert second.continuation.kind == "restart_scan"
    anew = resume_of(second).read()
    assert text(anew) == "".join(reversed(LINES))[: len(text(anew))]


def test_a_version_that_was_demanded_must_be_there(folder: Path) -> None:
    version = (read_file("a.txt", resource="notes", root=folder, version_by="digest").items or [])[0]["version"]
    same = read_file("a.txt", resource="notes", root=folder, version_by="digest", version=version)
    other = read_file("a.txt", resource="notes", root=folder, version_by="digest", version="sha256:0")
    assert (same.status, keys(other)) == ("complete", ["CONSISTENCY_LOST:snapshot_changed"])


def test_an_empty_file_is_complete_and_a_missing_one_is_unavailable(folder: Path) -> None:
    (folder / "empty").write_bytes(b"")
    for unit in ("bytes", "lines", "chars", "pages"):
        empty = read_file("empty", resource="notes", root=folder, unit=unit)
        assert (empty.status, text(empty)) == ("complete", "")
    missing = read_file("nothing", resource="notes", root=folder)
    assert (missing.status, missing.items, keys(missing)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:status"])
    assert read_file(".", resource="notes", root=folder).status == "unavailable"


def test_a_pipe_is_no_file_and_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert read_file("pipe", resource="notes", root=folder).status == "unavailable"


@pytest.mark.parametrize("unit", ["bytes", "lines", "chars"])
def test_what_is_not_utf_8_is_no_document(folder: Path, unit: Any) -> None:
    (folder / "b").write_bytes(b"\xff\xfe\x00")
    result = read_file("b", resource="notes", root=folder, unit=unit)
    assert (result.status, keys(result)) == ("unavailable", ["PROTOCOL_ANOMALY:malformed_page"])


@pytest.mark.parametrize("reference", ["../a.txt", "/etc/hosts", "link", "nul\0"])
def test_no_reference_leads_out_of_the_folder(folder: Path, reference: str) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "link").symlink_to(folder / "a.txt")
    assert read_file(reference, resource="notes", root=inner).status == "unavailable"


def test_a_wrong_unit_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidInput):
        read_file("a.txt", resource="notes", root=folder, unit="words")  # type: ignore[arg-type]


def test_a_range_that_a_character_crosses_says_where_it_was_cut(folder: Path) -> None:
    (folder / "b.txt").write_text("aäb")
    end = read_file("b.txt", root=folder, resource="docs", unit="bytes", length=2)
    begin = read_file("b.txt", root=folder, resource="docs", unit="bytes", start=2)
    assert (end.status, text(end), keys(end)) == ("partial", "a", ["ITEM_TRUNCATED"])
    assert (begin.status, keys(begin)) == ("unavailable", ["PROTOCOL_ANOMALY:malformed_page"])


def test_a_loop_of_symlinks_is_unavailable_and_its_name_is_not_shown(folder: Path) -> None:
    (folder / "canary").symlink_to("canary")
    result = read_file("canary", root=folder, resource="docs")
    assert (result.status, keys(result)) == ("unavailable", ["SOURCE_UNAVAILABLE:status"])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs files whose size is no size")
def test_a_file_that_says_it_is_empty_and_is_not_is_never_an_empty_document() -> None:
    found = read_file("self/limits", root="/proc", resource="docs", unit="bytes")
    assert (found.status, keys(found)) == ("unavailable", ["PROTOCOL_ANOMALY:contradictory_signals"])
    assert text(read_file("self/limits", root="/proc", resource="docs", unit="lines")) != ""


@pytest.mark.parametrize("unit", ["bytes", "lines", "chars", "pages"])
def test_a_device_is_no_file(unit: Any) -> None:
    result = read_file("zero", root="/dev", resource="docs", unit=unit)
    assert (result.status, keys(result)) == ("unavailable", ["SOURCE_UNAVAILABLE:status"])


def test_a_symlink_that_was_laid_there_since_is_not_followed(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "a.txt")
    with pytest.raises(OSError):
        _without_waiting(os.fspath(folder / "link"), os.O_RDONLY)
