"""`unabridged read` as a process that is stopped: whatever ends it, records are whole and the files say so."""

from __future__ import annotations

import fcntl
import json
import random
import resource
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")

from cli.saved import RESUMABLE, TOKEN, Place, ids, paged, records
from reading.served import Call, serving
from unabridged.cli.saving.sweeper import sweep

TEXT = "a long text, " * 40
PATIENT_S = 120
"""More than anything here takes on a slow machine."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def endless(call: Call) -> None:
    """A source without an end, slow enough to be stopped in the middle."""
    number = int(call.query.get("cursor", "0"))
    time.sleep(0.01)
    items = [{"id": number * 100 + n, "text": TEXT, "mark": "\u2028\u0085"} for n in range(100)]
    call.page({"items": items, "next": str(number + 1)})


def grown(place: Place, *, pages: int) -> None:
    """Waits until a run has saved some pages."""
    until = time.monotonic() + PATIENT_S
    while time.monotonic() < until:
        if place.part.exists() and place.part.stat().st_size > pages * 100 * len(TEXT):
            return
        time.sleep(0.01)
    raise AssertionError("the run saved nothing")


def swept(place: Place) -> None:
    """Waits until a run that was killed is swept up."""
    until = time.monotonic() + PATIENT_S
    while place.status()["state"] == "running" and time.monotonic() < until:
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_whole_records_a_header_and_a_status_that_says_so(place: Place, number: int) -> None:
    with serving(endless) as server:
        process = place.start(server.url, "--max-seconds", "600")
        grown(place, pages=3)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENT_S)
    assert process.returncode == 3
    header = json.loads(out)
    status = place.status()
    found = ids(place.part)
    assert len(found) == header["returned"] == status["records"] > 0
    assert len(found) % 100 == 0
    assert header["incomplete_reasons"][0]["code"] == "CLIENT_LIMIT_REACHED"
    assert header["incomplete_reasons"][0]["detail"] == "cancelled"
    assert (status["state"], status["complete"], status["file"]) == ("interrupted", False, "things.jsonl.part")
    assert signal.Signals(number).name in err.decode()
    assert not place.target.exists()


def test_a_signal_before_the_first_page_leaves_nothing_and_is_unavailable(place: Place) -> None:
    def respond(call: Call) -> None:
        time.sleep(PATIENT_S)
        call.hang_up()

    with serving(respond) as server:
        process = place.start(server.url)
        until = time.monotonic() + PATIENT_S
        while not server.calls and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENT_S)
    assert process.returncode == 4
    assert json.loads(out)["status"] == "unavailable"
    assert place.files() == {"things.jsonl.status.json"}


def test_requests_in_flight_do_not_hold_a_run_that_is_asked_to_stop(place: Place) -> None:
    def respond(call: Call) -> None:
        if call.path.startswith("/eu"):
            call.page({"items": [{"id": 1}], "next": None})
        else:
            time.sleep(PATIENT_S)
            call.hang_up()

    inner = {"name": "things", "version": 1, "items": "items", "id": "id", "walk": TOKEN}
    profile = place.folder / "fanout.json"
    walk = {"by": "fanout", "over": ["eu", "us"], "inner": inner}
    profile.write_text(json.dumps({"name": "things", "version": 1, "walk": walk}))
    with serving(respond) as server:
        url = server.url.replace("/things", "/{source}/things")
        process = place.start(url, "--profile", str(profile))
        until = time.monotonic() + PATIENT_S
        while len(server.calls) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        process.terminate()
        began = time.monotonic()
        out, _ = process.communicate(timeout=PATIENT_S)
        assert time.monotonic() - began < 60
    assert process.returncode == 4
    assert json.loads(out)["status"] == "unavailable"


@pytest.mark.parametrize("attempt", range(3))
def test_a_killed_run_leaves_whole_records_and_a_status_that_says_so(place: Place, attempt: int) -> None:
    with serving(endless) as server:
        process = place.start(server.url, "--max-seconds", "600", **RESUMABLE)
        grown(place, pages=2 + attempt)
        time.sleep(random.random() / 20)
        process.kill()
        process.communicate(timeout=PATIENT_S)
        swept(place)
    status = place.status()
    assert (status["state"], status["complete"], status["header"]) == ("killed", False, None)
    assert "was killed" in status["note"]
    assert ids(place.part) == list(range(status["records"]))
    assert not place.target.exists()


def test_a_sweeper_cuts_what_is_no_whole_page_and_leaves_a_file_that_another_run_has_taken(place: Place) -> None:
    with serving(paged([1], [2], [3])) as server:
        assert place.run(server.url, "--max-pages", "2").exit_code == 3
    status = place.folder / "things.jsonl.status.json"
    place.change_status(place.status() | {"state": "running"})
    whole = place.part.read_bytes()
    place.part.write_bytes(whole + b'{"id":3,"te')
    with place.part.open("ab") as taken:
        fcntl.flock(taken, fcntl.LOCK_EX)
        with pytest.raises(OSError):
            sweep(str(place.part), str(status), "killed", patience_s=0.05)
    assert place.part.read_bytes() != whole
    sweep(str(place.part), str(status), "it was killed")
    assert place.part.read_bytes() == whole
    assert (place.status()["state"], place.status()["note"]) == ("killed", "it was killed")
    sweep(str(place.part), str(status), "it was killed again")
    assert place.status()["note"] == "it was killed"


def test_a_run_that_ends_by_itself_leaves_no_sweeper(place: Place) -> None:
    with serving(paged([1])) as server:
        process = place.start(server.url)
        process.communicate(timeout=PATIENT_S)
    assert process.returncode == 0
    mine = str(place.folder).encode()
    running = [path for path in Path("/proc").glob("[0-9]*/cmdline") if _holds(path, mine)]
    assert running == []


def _holds(path: Path, text: bytes) -> bool:
    try:
        return text in path.read_bytes()
    except OSError:
        return False


@pytest.mark.parametrize("changes", [{}, RESUMABLE])
def test_a_killed_run_is_gone_on_from_without_its_torn_tail(place: Place, changes: dict[str, Any]) -> None:
    pages = [[n * 2, n * 2 + 1] for n in range(40)]
    is_killed = threading.Event()

    def respond(call: Call) -> None:
        if call.number == 5:
            is_killed.wait(PATIENT_S)
        paged(*pages)(call)

    with serving(respond) as server:
        process = place.start(server.url, "--no-limit", **changes)
        until = time.monotonic() + PATIENT_S
        while len(server.calls) < 6 and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
        process.communicate(timeout=PATIENT_S)
        swept(place)
        with place.part.open("ab") as file:
            file.write(b'{"id":99999}\n{"id":')
        is_killed.set()
        saved, calls = place.status()["records"], len(server.calls)
        assert 0 < saved < 80
        result = place.run(server.url, "--resume", "--no-limit", **changes)
        asked = len(server.calls) - calls
    assert result.exit_code == 0, result.stderr
    assert ids(place.target) == list(range(80))
    assert asked == (40 - saved // 2 if changes else 40)
    assert json.loads(result.stdout)["finding_count"] == 80


def test_two_runs_do_not_write_one_file(place: Place) -> None:
    with serving(endless) as server:
        process = place.start(server.url, "--max-seconds", "600")
        grown(place, pages=1)
        result = place.run(server.url, "--resume")
        assert result.exit_code == 2
        assert "is being written by another run" in result.stderr
        result = place.run(server.url, "--overwrite")
        assert "is being written by another run" in result.stderr
        process.terminate()
        process.communicate(timeout=PATIENT_S)
    assert len(records(place.part)) == place.status()["records"]


def test_a_disk_that_is_full_leaves_whole_pages(place: Place) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    with serving(endless) as server:
        process = place.start(server.url, "--max-seconds", "600", setup=small)
        out, err = process.communicate(timeout=PATIENT_S)
    assert process.returncode == 3
    assert json.loads(out)["returned"] == 100
    assert len(records(place.part)) == 100
    assert place.status()["state"] == "failed"
    assert "could not be saved" in err.decode()
    assert "Traceback" not in err.decode()


def test_a_reader_that_goes_away_ends_the_run(place: Place) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "unabridged.cli.main", "read"]
    with serving(endless) as server:
        args = [server.url, "--profile", str(place.profile()), "--output", "-"]
        pipe = subprocess.PIPE
        with subprocess.Popen([*command, *args], stdout=pipe, stderr=pipe) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert json.loads(process.stdout.readline())["id"] == 0
            process.stdout.close()
            err = process.stderr.read().decode()
        assert process.returncode == 3
    assert json.loads(err.splitlines()[-1])["status"] == "partial"
