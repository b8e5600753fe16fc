"""What a crash, a full disk or a killed process leaves is sealed and told; no write that failed counts as written."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest
from audit.logs import NOW, Failing, checked, in_a_child, intent, lines, opened, outcome, rules, written
from unabridged.audit import AuditFailed, System, verify

TORN = [
    b'{"prev":"00',
    b"\0" * 5_000,
    b'{"prev":"\xc3',
    b"\xe2\x82",
    b"{",
    b'{"prev":"00\n\0\0\0',
    b"garbage\nmore garbage\n",
    b"\0" * 200_000,
]


@pytest.mark.parametrize("torn", TORN, ids=lambda t: repr(t[:12]))
def test_a_torn_line_is_told_and_then_sealed_and_stays(tmp_path: Path, torn: bytes) -> None:
    path = written(tmp_path / "audit.jsonl", 3)
    with path.open("ab") as file:
        file.write(torn)
    assert checked(path) == ["torn"]
    opened(path).close()
    seal = json.loads(lines(path)[-1])
    assert (seal["kind"], seal["torn"], seal["hash"]) == ("seal", len(torn), hashlib.sha256(torn).hexdigest())
    assert torn in path.read_bytes()
    written(path, 2, start=3)
    found = verify(path)
    assert (found.findings, found.events, [t.bytes for t in found.tears]) == ((), 10, [len(torn)])


def test_every_cut_of_the_last_line_is_sealed_and_the_log_goes_on(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole.jsonl", 2).read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    for cut in range(1, last):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(whole[:-cut])
        written(path, 1, start=2)
        found = verify(path)
        assert (rules(found), len(found.tears)) == ([], 1)
        assert found.events == (6 if cut == 1 else 5)
        assert found.tears[0].bytes == (0 if cut == 1 else last - cut)


def test_tears_longer_than_any_line_are_measured_over_all_that_is_read_at_once(tmp_path: Path) -> None:
    path = written(tmp_path / "audit.jsonl", 3)
    torn = [b"\0" * 1_300_000, b"torn", b"x" * 700_000 + b"\n" + b"y" * 600_000]
    for number, left in enumerate(torn, 10):
        with path.open("ab") as file:
            file.write(left)
        written(path, 1, start=number)
    found = verify(path)
    assert (rules(found), [tear.bytes for tear in found.tears]) == ([], [len(left) for left in torn])


def test_a_first_line_that_was_torn_is_sealed_too(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole.jsonl", 1).read_bytes()
    first = whole.splitlines(keepends=True)[0]
    for cut in (1, 40, len(first) - 1):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(first[:-cut])
        written(path, 1)
        found = verify(path)
        assert (rules(found), found.events, len(found.tears)) == ([], 2, 1)


def test_a_turn_to_a_file_that_was_not_begun_is_gone_on_with(tmp_path: Path) -> None:
    path = written(tmp_path / "audit.jsonl", 30, max_bytes=4_096)
    files = [Path(file) for file in verify(path).files]
    for content in (None, b"", b'{"prev":"'):
        for file in files[2:]:
            file.unlink(missing_ok=True)
        if content is not None:
            files[2].write_bytes(content)
        else:
            assert checked(path) == ["file_missing"]
        written(path, 1, start=90)
        assert checked(path) == []


def first_file(folder: Path) -> Path:
    """Returns a log whose first file is full, as a process leaves it that is killed before it begins the next."""
    path = written(folder / "audit.jsonl", 12, max_bytes=4_096)
    (folder / "audit.jsonl.000002").unlink()
    assert json.loads(lines(path)[-1])["kind"] == "turn"
    return path


@pytest.mark.parametrize("behind", ["nobody", "a writer that has the file open"])
def test_a_last_line_of_a_file_that_lacks_its_newline_gets_it_and_the_next_file_follows(
    tmp_path: Path, behind: str
) -> None:
    path = first_file(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole.splitlines(keepends=True)[0])
    log = opened(path) if behind != "nobody" else None
    with path.open("r+b") as file:
        file.write(whole[:-1])
    with log or opened(path) as going_on:
        going_on.write(intent(50))
    assert path.read_bytes() == whole
    assert checked(path) == []


@pytest.mark.parametrize(("number", "knows"), [(1, False), (2, False), (2, True)])
def test_a_file_whose_first_line_is_a_seal_gets_the_line_that_opens_it(
    tmp_path: Path, number: int, knows: bool
) -> None:
    path = first_file(tmp_path) if number == 2 else tmp_path / "audit.jsonl"
    log = None
    if knows:
        whole = path.read_bytes()
        path.write_bytes(whole.splitlines(keepends=True)[0])
        log = opened(path)
        path.write_bytes(whole)
    (tmp_path / "audit.jsonl.000002" if number == 2 else path).write_bytes(b'{"prev":"')

    def fails(fd: int, data: bytes) -> int:
        if b'"kind":"file"' in data:
            raise OSError(errno.ENOSPC, "canary")
        return os.write(fd, data)

    with pytest.raises(AuditFailed, match="no space is left"):
        opened(path, system=System(write=fails))
    with log or opened(path) as going_on:
        going_on.write(intent(50))
    found = verify(path)
    assert (rules(found), len(found.tears), len(found.files)) == ([], 1, number)


def test_a_beginning_of_a_file_that_was_torn_for_longer_than_any_line_is_sealed_once(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b"\0" * 2_700_000)
    for number in range(3):
        written(path, 1, start=number)
    found = verify(path)
    assert (rules(found), found.events, [tear.bytes for tear in found.tears]) == ([], 6, [2_700_000])


class _Broken(Exception):
    """What a clock raises."""


@pytest.mark.parametrize("call", range(1, 36))
def test_a_clock_that_fails_at_any_moment_leaves_no_line_out_of_place(tmp_path: Path, call: int) -> None:
    calls = iter(range(1, 1_000))

    def now() -> datetime:
        if next(calls) == call:
            raise _Broken
        return NOW

    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"prev":"')
    log, failed = None, 0
    for number in range(30):
        try:
            log = log or opened(path, now=now, max_bytes=4_096, sync_s=3_600)
            if number == 4:
                with path.open("r+b") as file:
                    file.truncate(path.stat().st_size - 1)
                log._writer._end = -1
            log.write(intent(number))
        except _Broken:
            failed += 1
    assert log is not None
    log.close()
    found = verify(path)
    assert (rules(found), found.events + failed) == ([], 30)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("room", [0, 1, 100])
def test_a_write_that_fails_is_an_error_and_leaves_no_half_line_unsealed(tmp_path: Path, error: int, room: int) -> None:
    path, files = tmp_path / "audit.jsonl", Failing(error)
    log = opened(path, system=files.system())
    log.write(intent(1))
    files.room = room
    for _ in range(2):
        with pytest.raises(AuditFailed) as caught:
            log.write(outcome(1))
        assert "canary" not in str(caught.value)
        assert caught.value.__context__ is None
    assert verify(path).open_intents
    files.room = None
    log.write(outcome(1))
    log.close()
    found = verify(path)
    assert (rules(found), found.events, found.open_intents) == ([], 2, ())
    assert [tear.bytes for tear in found.tears] == ([room] if room else [])


def test_a_half_line_is_sealed_at_once_where_the_next_write_goes_through(tmp_path: Path) -> None:
    path, files = tmp_path / "audit.jsonl", Failing()
    real = files.write

    def once(fd: int, data: bytes) -> int:
        if b'"outcome"' in data and not files.sync_fails:
            files.sync_fails = True  # from here on writes go through
            os.write(fd, data[:50])
            raise OSError(errno.EIO, "canary")
        return real(fd, data)

    log = opened(path, system=System(write=once))
    with pytest.raises(AuditFailed, match="the device failed"):
        log.write(outcome(1))
    found = verify(path)
    assert (rules(found), [tear.bytes for tear in found.tears]) == ([], [50])
    log.close()


def test_a_write_in_parts_is_a_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with opened(path, system=System(write=lambda fd, data: os.write(fd, data[:7]))) as log:
        log.write(intent(1))
    assert checked(path) == []


def _fills_the_file(path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))
    log = opened(path)
    failed = 0
    for number in range(20):
        try:
            log.write(intent(number))
        except AuditFailed:
            failed += 1
    assert failed > 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the limit is set in a forked process")
def test_a_limit_of_the_system_cuts_a_line_and_the_next_process_seals_it(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    assert in_a_child(lambda: _fills_the_file(path)) == 0
    assert path.stat().st_size == 2_000
    assert checked(path) == ["torn"]
    written(path, 1, start=50)
    found = verify(path)
    assert (rules(found), len(found.tears)) == ([], 1)


@pytest.mark.parametrize("fsync", ["group", "event"])
def test_after_a_sync_that_failed_nothing_more_is_written(tmp_path: Path, fsync: str) -> None:
    files = Failing()
    log = opened(tmp_path / "audit.jsonl", fsync=fsync, sync_s=3_600, system=files.system())
    log.write(intent(1))
    files.sync_fails = True
    with pytest.raises(AuditFailed):
        log.sync() if fsync == "group" else log.write(outcome(1))
    files.sync_fails = False
    with pytest.raises(AuditFailed, match="a sync of its file failed"):
        log.write(intent(2))


@pytest.mark.parametrize("at", ["the end of a file", "the name of the next"])
def test_a_sync_that_fails_where_a_file_is_full_stops_the_log_and_its_files_go_on_when_it_is_opened(
    tmp_path: Path, at: str
) -> None:
    path, files = tmp_path / "audit.jsonl", Failing()
    files.syncs_left = 1 + (at == "the name of the next")  # the first one is of the name of the first file
    log = opened(path, max_bytes=4_096, sync_s=3_600, system=files.system())
    said = []
    for number in range(60):
        try:
            log.write(intent(number))
        except AuditFailed as error:
            said.append(str(error))
            files.syncs_left = None
    assert said[0].endswith("the device failed")
    assert len(said) > 20
    assert set(said[1:]) == {"the audit log failed: a sync of its file failed"}
    written(path, 1, start=90)
    assert checked(path) == []


def test_a_log_whose_name_cannot_be_made_to_last_is_not_opened(tmp_path: Path) -> None:
    files = Failing()
    files.sync_fails = True
    with pytest.raises(AuditFailed, match="the device failed"):
        opened(tmp_path / "audit.jsonl", system=files.system())


def test_a_sync_that_fails_in_the_background_stops_the_next_write(tmp_path: Path) -> None:
    files = Failing()
    log = opened(tmp_path / "audit.jsonl", sync_s=0.001, system=files.system())
    files.sync_fails = True
    log.write(intent(0))
    until = time.monotonic() + 60
    while log._writer._failed is None and time.monotonic() < until:
        time.sleep(0.005)
    with pytest.raises(AuditFailed, match="a sync of its file failed"):
        log.write(intent(1))


def test_a_head_that_cannot_be_moved_stops_writing_until_it_can(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    log = opened(tmp_path / "audit.jsonl", head=folder / "head", sync_s=3_600)
    log.write(intent(1))
    with pytest.raises(AuditFailed, match="folder is gone"):
        log.sync()
    with pytest.raises(AuditFailed, match="folder is gone"):
        log.write(intent(2))
    folder.mkdir()
    log.write(intent(2))
    log.close()
    assert checked(tmp_path / "audit.jsonl", head=folder / "head") == []


@pytest.mark.parametrize("how", ["truncated", "rewritten", "deleted", "moved"])
def test_a_log_that_was_changed_behind_its_writer_takes_no_event(tmp_path: Path, how: str) -> None:
    path = tmp_path / "audit.jsonl"
    log = opened(path, sync_s=3_600)
    for number in range(3):
        log.write(intent(number))
    everything = path.read_bytes()
    if how == "truncated":
        os.truncate(path, len(everything) - 10)
    elif how == "rewritten":
        with path.open("ab") as file:
            file.write(everything)
    elif how == "deleted":
        path.unlink()
    else:
        path.rename(tmp_path / "other")
    with pytest.raises(AuditFailed, match=r"shorter|changed|moved away"):
        log.sync()
    with pytest.raises(AuditFailed):
        log.write(intent(9))


WRITER = """
import sys
sys.path[:0] = sys.argv[3:]
from audit.logs import intent, opened
from pathlib import Path
start = int(sys.argv[2])
log = opened(Path(sys.argv[1]), max_bytes=60_000, lock_s=60)
print("ready", flush=True)
sys.stdin.readline()
for number in range(start, start + (1_500 if start < 9_000_000 else 10**9)):
    log.write(intent(number, reads=("r_1",) * 5))
log.close()
"""


def test_of_several_processes_one_is_killed_in_mid_write_and_no_event_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    starts = [0, 1_000_000, 2_000_000, 9_000_000]
    tests = str(Path(__file__).parents[1])
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(start), tests], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for start in starts
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write(b"go\n")
            writer.stdin.flush()
        victim = f'"ref":"{9_000_100:032x}"'.encode()
        until = time.monotonic() + 120
        while not any(victim in p.read_bytes() for p in tmp_path.iterdir()) and time.monotonic() < until:
            time.sleep(0.01)
        writers[-1].send_signal(signal.SIGKILL)
        assert [writer.wait(timeout=300) for writer in writers] == [0, 0, 0, -signal.SIGKILL]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            for pipe in (writer.stdin, writer.stdout):
                assert pipe is not None
                pipe.close()
    found = verify(path)
    assert rules(found) in ([], ["torn"])
    opened(path).close()
    found = verify(path)
    assert rules(found) == []
    refs = {int(it.ref, 16) for it in found.open_intents}
    assert {n for start in starts[:3] for n in range(start, start + 1_500)} <= refs
    killed = sorted(n for n in refs if n >= 9_000_000)
    assert len(killed) > 100
    assert killed == list(range(9_000_000, 9_000_000 + len(killed)))
    assert len(found.files) > 5
