"""Writing: order, one event once, files, threads, processes and forks."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from audit.logs import KEY, NOW, Failing, checked, in_a_child, intent, lines, opened, outcome, ref, written
from unabridged.audit import AuditFailed, AuditLog, System, read_head, verify
from unabridged.contract import InvalidInput


def test_a_line_is_canonical_json_in_one_order_and_leaves_out_what_is_not_said(tmp_path: Path) -> None:
    with opened(tmp_path / "audit.jsonl") as log:
        log.write(
            intent(1, verdict="allow", codes=("A",), reads=("r_1",), fields=("limit",), unnamed=2, approver="person",
                   why="free text", digests={"b": "ab" * 48, "a": "cd" * 48}, done=0, not_done=1, outcome="done"),
        )  # fmt: skip
        log.write(outcome(1))
    _, full, short = (json.loads(line) for line in lines(tmp_path / "audit.jsonl"))
    assert list(full) == [
        "prev", "ref", "n", "kind", "at", "process", "action", "verdict", "codes", "reads", "fields", "unnamed",
        "outcome", "done", "not_done", "approver", "why", "digests",
    ]  # fmt: skip
    assert list(full["digests"]) == ["a", "b"]
    assert list(short) == ["prev", "ref", "n", "kind", "at", "process", "action", "outcome"]
    assert (full["at"], full["n"], short["n"]) == ("2026-11-30T09:00:00.000000Z", 2, 3)
    for line in lines(tmp_path / "audit.jsonl"):
        assert json.dumps(json.loads(line), separators=(",", ":")).encode() + b"\n" == line


def test_an_event_is_in_the_file_when_write_returns(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = opened(path)
    for number in range(3):
        log.write(intent(number))
        assert json.loads(lines(path)[-1])["ref"] == ref(number)
    log.close()


def test_an_event_of_the_same_kind_and_reference_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with opened(path) as log:
        for _ in range(4):  # a node that is run again on every resume
            log.write(intent(1, verdict="allow"))
        log.write(outcome(1))
        log.write(outcome(1))
    assert [json.loads(line)["kind"] for line in lines(path)] == ["file", "intent", "outcome"]


def test_what_is_remembered_of_written_events_is_bounded(tmp_path: Path) -> None:
    with opened(tmp_path / "audit.jsonl") as log:
        for number in range(40_000):
            log.write(intent(number))
        log.write(intent(39_999))
        assert len(log._writer._seen) + len(log._writer._older) <= 2 * 16_384
    assert verify(tmp_path / "audit.jsonl").events == 40_000


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = written(tmp_path / "audit.jsonl", 20, max_bytes=4_096, head=tmp_path / "head")
    finally:
        os.umask(before)
    assert len(list(tmp_path.iterdir())) >= 3
    assert {stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()} == {0o600}


def test_a_log_goes_on_where_it_stood(tmp_path: Path) -> None:
    path = written(tmp_path / "audit.jsonl", 3)
    written(path, 2, start=3)
    found = verify(path)
    assert (found.intact, found.events, found.last and found.last.n) == (True, 10, 11)


def test_a_closed_log_takes_no_event_and_closes_twice(tmp_path: Path) -> None:
    log = opened(tmp_path / "audit.jsonl")
    log.close()
    log.close()
    with pytest.raises(AuditFailed, match="it is closed"):
        log.write(intent(1))
    assert repr(log) == "AuditLog(file 1, closed)"


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_bytes", 10), ("fsync", "never"), ("sync_s", 0), ("lock_s", -1), ("max_bytes", "many")],
)
def test_settings_are_checked_by_field_and_rule(tmp_path: Path, field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"audit\.{field}: must"):
        opened(tmp_path / "audit.jsonl", **{field: value})


def test_a_file_that_is_no_log_and_a_folder_are_left_alone(tmp_path: Path) -> None:
    notes = tmp_path / "canary.txt"
    notes.write_text("dear diary\nnothing happened\n")
    for path in (notes, tmp_path):
        with pytest.raises(InvalidInput, match=r"audit\.path: must") as caught:
            opened(path)
        assert "canary" not in str(caught.value)
    assert notes.read_text() == "dear diary\nnothing happened\n"


def test_a_folder_that_is_missing_is_told_without_its_name(tmp_path: Path) -> None:
    with pytest.raises(AuditFailed, match="its file or its folder is gone") as caught:
        opened(tmp_path / "canary" / "audit.jsonl")
    assert caught.value.__context__ is None
    assert "canary" not in str(caught.value)


def test_an_event_that_fits_into_no_line_is_refused_and_the_log_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with opened(path) as log:
        with pytest.raises(InvalidInput, match=r"audit\.event: must fit"):
            log.write(intent(1, codes=("C" * 64,) * 10_000))
        log.write(intent(2, reads=("r_1",) * 5_000))
    assert '"unlisted":4000' in path.read_text()
    assert checked(path) == []


@pytest.mark.parametrize(
    "moment",
    [NOW, NOW.astimezone(timezone(timedelta(hours=5, minutes=30))), NOW.replace(tzinfo=None)],
)
def test_times_are_written_in_utc(tmp_path: Path, moment: datetime) -> None:
    with opened(tmp_path / "audit.jsonl", now=lambda: moment) as log:
        log.write(intent(1))
    assert json.loads(lines(tmp_path / "audit.jsonl")[1])["at"] == "2026-11-30T09:00:00.000000Z"


def test_the_systems_clock_counts_where_no_other_is_given(tmp_path: Path) -> None:
    before = datetime.now().astimezone()
    with AuditLog(tmp_path / "audit.jsonl", key=KEY) as log:
        log.write(intent(1))
    at = datetime.fromisoformat(json.loads(lines(tmp_path / "audit.jsonl")[1])["at"])
    assert before - timedelta(seconds=1) <= at <= datetime.now().astimezone() + timedelta(seconds=1)


def test_threads_write_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with opened(path, max_bytes=20_000) as log:

        def work(start: int) -> None:
            for number in range(start, start + 100):
                log.write(intent(number))
                log.write(outcome(number))

        threads = [threading.Thread(target=work, args=(1_000 * n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = verify(path)
    assert (found.findings, found.events, found.open_intents) == ((), 1_600, ())
    assert len(found.files) > 5


def test_two_logs_of_one_process_on_one_file_write_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with opened(path, max_bytes=5_000) as one, opened(path, max_bytes=5_000) as two:
        for number in range(50):
            one.write(intent(number))
            two.write(outcome(number))
    found = verify(path)
    assert (found.findings, found.events, found.open_intents) == ((), 100, ())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_that_inherits_a_log_writes_to_it_beside_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with opened(path, max_bytes=30_000) as log:
        log.write(intent(0))
        children = []
        for each in range(3):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    for number in range(100):
                        log.write(intent(1_000 * (each + 1) + number))
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        for number in range(1, 100):
            log.write(intent(number))
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    found = verify(path)
    assert (found.findings, found.events) == ((), 400)
    everything = [json.loads(line) for file in found.files for line in lines(Path(file))]
    assert len({document["process"] for document in everything if document["kind"] == "intent"}) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_does_not_wait_for_a_thread_that_it_does_not_have(tmp_path: Path) -> None:
    with opened(tmp_path / "audit.jsonl") as log:
        log._writer._lock.acquire()
        try:
            assert in_a_child(lambda: log.write(intent(1))) == 0
        finally:
            log._writer._lock.release()
        log.write(intent(2))
    assert verify(tmp_path / "audit.jsonl").events == 2


def _waits_in_a_child() -> int:
    """Forks a child that keeps open what it inherited, until the end of a pipe that is returned is closed."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(theirs)
        os.read(ours, 1)
        os._exit(0)
    os.close(ours)
    return theirs


def test_a_child_that_writes_nothing_keeps_nobody_out_of_a_file_that_its_parent_has_left(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log, other = (opened(path, max_bytes=4_096, lock_s=0.2, sync_s=3_600) for _ in range(2))
    end = _waits_in_a_child()
    for number in range(40):
        log.write(intent(number))
    other.write(intent(99))
    os.close(end)
    os.wait()
    log.close()
    other.close()
    assert checked(path) == []


def test_a_child_of_a_process_that_was_killed_while_it_wrote_keeps_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    ours, theirs = os.pipe()

    def dies() -> None:
        log = opened(path, sync_s=3_600)
        with log._writer._held:
            if os.fork() == 0:
                os.close(theirs)
                os.read(ours, 1)
            os._exit(0)

    assert in_a_child(dies) == 0
    with opened(path, lock_s=0.2) as log:
        log.write(intent(1))
    os.close(theirs)
    assert checked(path) == []


def test_a_writer_that_was_left_behind_by_hundreds_of_files_goes_on_in_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    quick = System(fsync=lambda _fd: None)
    log, other = (opened(path, max_bytes=4_096, sync_s=3_600, system=quick) for _ in range(2))
    for number in range(9_000):
        log.write(intent(number))
    files = verify(path).files
    assert len(files) > 500
    for file in files[:-2]:
        os.unlink(file)
    other.write(intent(10_000))
    assert b"%032x" % 10_000 in Path(files[-1]).read_bytes()
    assert sorted(map(str, tmp_path.iterdir())) == sorted(files[-2:])
    log.close()
    other.close()


def test_a_writer_that_cannot_have_the_file_fails_in_time(tmp_path: Path) -> None:
    import fcntl

    path = tmp_path / "audit.jsonl"
    with opened(path, lock_s=0.05) as log:
        holder = os.open(path, os.O_RDWR)
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(AuditFailed, match="another process holds it"):
            log.write(intent(1))
        os.close(holder)
        log.write(intent(1))
    assert verify(path).events == 1


def test_events_are_synced_together_or_each_alone(tmp_path: Path) -> None:
    for fsync, least in (("group", 1), ("event", 50)):
        files = Failing()
        with opened(tmp_path / fsync, fsync=fsync, sync_s=3_600, system=files.system()) as log:
            before = files.synced
            for number in range(50):
                log.write(intent(number))
            during = files.synced - before
        assert during == (0 if fsync == "group" else 50)
        assert files.synced - before >= least


def test_a_group_is_synced_without_another_write(tmp_path: Path) -> None:
    files = Failing()
    log = opened(tmp_path / "audit.jsonl", sync_s=0.001, system=files.system(), head=tmp_path / "head")
    log.write(intent(1))
    until = time.monotonic() + 60
    while not (tmp_path / "head").exists() and time.monotonic() < until:
        time.sleep(0.005)
    assert files.synced >= 1
    assert read_head(tmp_path / "head").n == 2
    log.close()


def test_a_log_that_nobody_holds_any_more_is_synced_and_closed(tmp_path: Path) -> None:
    files = Failing()
    log = opened(tmp_path / "audit.jsonl", sync_s=3_600, system=files.system(), head=tmp_path / "head")
    log.write(intent(1))
    fd = log._writer._fd
    del log
    assert files.synced >= 1
    assert read_head(tmp_path / "head").n == 2
    with pytest.raises(OSError):
        os.fstat(fd)


def test_a_new_file_is_begun_by_size_and_linked_to_the_old(tmp_path: Path) -> None:
    path = written(tmp_path / "audit.jsonl", 30, max_bytes=4_096)
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names[:3] == ["audit.jsonl", "audit.jsonl.000002", "audit.jsonl.000003"]
    found = verify(path)
    assert (found.findings, found.events, len(found.files)) == ((), 60, len(names))
    assert verify(tmp_path / "audit.jsonl.000002") == found
    first, second = (lines(tmp_path / name) for name in names[:2])
    assert json.loads(first[-1])["next"] == 2
    opening = json.loads(second[0])
    assert (opening["file"], opening["log"]) == (2, json.loads(first[0])["log"])
    assert opening["n"] == json.loads(first[-1])["n"] + 1


def test_a_log_whose_older_files_were_archived_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path / "audit.jsonl", 30, max_bytes=4_096)
    before = verify(path)
    path.unlink()
    written(path, 5, start=30, max_bytes=4_096)
    assert not path.exists()
    opening = json.loads(lines(tmp_path / "audit.jsonl.000002")[0])
    newest = tmp_path / "audit.jsonl.000002"
    assert checked(newest) == ["file_missing"]
    found = verify(newest, anchors=[f"{opening['n'] - 1}:{opening['prev']}"])
    assert found.intact
    assert found.last
    assert before.last
    assert found.last.n > before.last.n


@pytest.mark.parametrize("how", ["cut off", "replaced", "garbage"])
def test_a_log_that_its_head_knows_better_is_not_gone_on_with(tmp_path: Path, how: str) -> None:
    path = written(tmp_path / "audit.jsonl", 3, head=tmp_path / "head")
    known = (tmp_path / "head").read_bytes()
    if how == "cut off":
        path.write_bytes(b"".join(lines(path)[:-1]))
    elif how == "replaced":
        path.unlink()
        written(path, 9)
    else:
        (tmp_path / "head").write_bytes(known := b"garbage")
    with pytest.raises((AuditFailed, InvalidInput), match=r"its head knows|head of an audit log"):
        opened(path, head=tmp_path / "head")
    assert (tmp_path / "head").read_bytes() == known


def test_a_log_that_is_being_written_is_intact_at_any_time(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    done = threading.Event()

    def work() -> None:
        with opened(path, max_bytes=30_000) as log:
            number = 0
            while not done.is_set():
                log.write(intent(number, reads=("r_1",) * 90))
                number += 1

    opened(path).close()
    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(10):
            assert checked(path) == []
    finally:
        done.set()
        thread.join()
