"""What would make `unabridged read` call something whole that is not, or let go of a secret."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")

from cli.saved import RESUMABLE, Place, cursors, paged, records
from click.testing import CliRunner
from reading.served import Call, serving
from unabridged import Budget, Query, load_profile
from unabridged.cli.app import cli
from unabridged.cli.saving import Progress, SaveJob, save
from unabridged.cli.saving.credentials import Secrets
from unabridged.cli.saving.lines import PartFile
from unabridged.cli.saving.sweeper import sweep
from unabridged.contract import InvalidInput

PAGES: tuple[list[Any], ...] = ([1, 2], [3, 4], [5])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_whole_read_whose_file_cannot_bear_its_name_is_no_success(place: Place) -> None:
    answer = paged(*PAGES)

    def respond(call: Call) -> None:
        place.target.mkdir(exist_ok=True)
        answer(call)

    with serving(respond) as server:
        result = place.run(server.url)
    assert result.exit_code == 3
    header = json.loads(result.stdout)
    assert header["complete"] is False
    assert header["finding_count"] is None
    status = place.status()
    assert (status["state"], status["complete"]) == ("failed", False)
    assert len(records(place.part)) == 5


def test_a_profile_that_was_changed_without_a_new_version_does_not_go_on(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "1", **RESUMABLE).exit_code == 3
        result = place.run(server.url, "--resume", **RESUMABLE, caps=[{"limit": 9, "on": "items"}])
        assert len(server.calls) == 1
    assert result.exit_code == 2
    assert "(profile)" in result.stderr


def test_a_filter_that_is_only_equal_in_value_is_another_question(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "1", "--filter", "active=true", **RESUMABLE).exit_code == 3
        result = place.run(server.url, "--resume", "--filter", "active=1", **RESUMABLE)
        assert len(server.calls) == 1
    assert result.exit_code == 2
    assert "(filters)" in result.stderr


def test_another_tenant_does_not_go_on(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        first = ["--max-pages", "1", "--header", "X-Tenant: a", "--header", "Authorization: Bearer first-one"]
        assert place.run(server.url, *first, **RESUMABLE).exit_code == 3
        other = ["--resume", "--header", "X-Tenant: b", "--header", "Authorization: Bearer first-one"]
        result = place.run(server.url, *other, **RESUMABLE)
        assert len(server.calls) == 1
    assert "(headers)" in result.stderr


def mine(name: str) -> list[str]:
    return ["--header", f"Authorization: Bearer {name}"]


def test_other_credentials_do_not_go_on_from_a_cursor_unless_they_are_said_to_be_the_same_callers(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "1", *mine("one"), **RESUMABLE).exit_code == 3
        result = place.run(server.url, "--resume", "--max-pages", "2", *mine("two"), **RESUMABLE)
        assert cursors(server) == [None, None, "c1"]
        assert "--same-caller" in result.stderr
        assert place.run(server.url, "--resume", "--same-caller", *mine("three"), **RESUMABLE).exit_code == 0
        assert cursors(server) == [None, None, "c1", "c2"]
    assert [record["id"] for record in records(place.target)] == [1, 2, 3, 4, 5]


def test_what_another_caller_does_not_see_is_not_called_gone(place: Place) -> None:
    def respond(call: Call) -> None:
        paged(*PAGES)(call) if call.headers["authorization"].endswith("one") else paged([3, 4], [5])(call)

    with serving(respond) as server:
        assert place.run(server.url, "--max-pages", "1", *mine("one")).exit_code == 3
        assert place.run(server.url, "--resume", "--max-pages", "1", *mine("two")).exit_code == 3
        result = place.run(server.url, "--resume", *mine("two"))
    assert result.exit_code == 0
    found = place.status()["reconciled"]
    assert (found["not_seen_again_ids"], "gone" in found) == ([1, 2], False)
    assert "another caller may have read them" in result.stderr


def test_no_credential_stands_in_a_checkpoint_and_none_is_found_by_trying(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        place.run(server.url, "--max-pages", "1", "--header", "X-Api-Key: canary", **RESUMABLE)
    text = json.dumps(place.status())
    question = place.status()["checkpoint"]["question"]
    assert "canary" not in text
    for guess in (f"{question['salt']}\n{[('x-api-key', 'canary')]}", f"{question['salt']}\ncanary", "canary"):
        assert hashlib.sha256(guess.encode()).hexdigest() not in text


@pytest.mark.parametrize("text", ["c=canary%2Fof%3Dall", "c=canary/of=all", "c=canary%2fof%3dall&d=1"])
def test_a_secret_is_found_however_an_address_spells_it(text: str) -> None:
    assert Secrets.of((("X-Key", "canary/of=all"),), url="https://api.example/").stand_in(text)


def _times_open(path: Path) -> int:
    """Returns how many descriptors of this process lead to a file."""
    found = 0
    for one in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found += os.readlink(one) == str(path)
    return found


def test_a_run_that_waited_for_another_does_not_write_into_the_file_that_this_one_named(tmp_path: Path) -> None:
    part, target = tmp_path / "things.jsonl.part", tmp_path / "things.jsonl"
    first = PartFile(part)
    first.append([{"id": 1}])
    caught: list[InvalidInput] = []

    def second() -> None:
        try:
            PartFile(part)
        except InvalidInput as error:
            caught.append(error)

    waiting = threading.Thread(target=second)
    waiting.start()
    until = time.monotonic() + 60
    while _times_open(part) < 2 and time.monotonic() < until:
        time.sleep(0.001)
    first.finish(target)
    waiting.join(timeout=60)
    assert len(caught) == 1
    assert records(target) == [{"id": 1}]


def test_no_file_of_a_run_is_written_over_a_link_that_somebody_laid_there(place: Place) -> None:
    victim = place.folder / "victim"
    victim.write_text("precious")
    (place.folder / "things.jsonl.status.json.tmp").symlink_to(victim)
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url).exit_code == 0
        place.part.symlink_to(victim)
        result = place.run(server.url, "--overwrite")
    assert result.exit_code == 2
    assert "over a link" in result.stderr
    assert victim.read_text() == "precious"


def test_a_pipe_in_the_place_of_the_records_does_not_hold_a_run(place: Place) -> None:
    os.mkfifo(place.part)
    result = place.run("http://127.0.0.1:1/things", "--overwrite")
    assert result.exit_code == 2


@pytest.mark.parametrize("name", ["x.part", "x.earlier", "x.status.json", "x.tmp"])
def test_records_do_not_go_to_a_file_that_another_run_keeps_beside_its_own(place: Place, name: str) -> None:
    args = ["read", "http://127.0.0.1:1/x", "--profile", str(place.profile()), "--output", str(place.folder / name)]
    result = CliRunner().invoke(cli, args)
    assert result.exit_code == 2
    assert not place.files()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the platform has no device that is always full")
def test_a_header_that_cannot_be_written_is_no_success_and_a_note_ends_no_run(place: Place) -> None:
    with serving(paged(*PAGES)) as server, Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "unabridged.cli.main", *place.args(server.url)]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, check=False)
        assert (run.returncode, json.loads(run.stdout)["complete"]) == (0, True)
        run = subprocess.run([*command, "--overwrite"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert run.returncode == 3
    assert b"Traceback" not in run.stderr


def _edited(place: Place, *path: str, value: Any) -> None:
    status = place.status()
    at = status
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    (place.folder / "things.jsonl.status.json").write_text(json.dumps(status))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["checkpoint", "place", "step", "value"], {"is": "canary"}),
        (["checkpoint", "reasons"], []),
        (["checkpoint", "saved_at"], "2100-01-01T00:00:00Z"),
        (["checkpoint", "question", "credentials"], ""),
        (["bytes"], 0),
        (["bytes"], -1),
        (["state"], "killed"),
        (["check"], "canary"),
    ],
)  # fmt: skip
def test_a_checkpoint_that_was_edited_is_refused_without_its_content(place: Place, path: list[str], value: Any) -> None:
    signal = {"path": "lost", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}
    with serving(paged(*PAGES, lost=["eu"])) as server:
        first = place.run(server.url, "--max-pages", "1", *mine("one"), **RESUMABLE, signals=[signal])
        assert first.exit_code == 3
        _edited(place, *path, value=value)
        before = place.part.read_bytes()
        result = place.run(server.url, "--resume", *mine("one"), **RESUMABLE, signals=[signal])
        assert len(server.calls) == 1
    assert result.exit_code == 2
    assert "is torn, was edited, or is of another version" in " ".join(result.stderr.split())
    assert "canary" not in result.stderr
    assert place.part.read_bytes() == before


@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.99])
def test_a_checkpoint_that_is_torn_is_refused(place: Place, keep: float) -> None:
    status = place.folder / "things.jsonl.status.json"
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "1", **RESUMABLE).exit_code == 3
        data = status.read_bytes()
        status.write_bytes(data[: int(len(data) * keep)])
        result = place.run(server.url, "--resume", **RESUMABLE)
        assert len(server.calls) == 1
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("changes", [{}, {"id": None}])
def test_records_that_were_edited_since_are_not_gone_on_from_whatever_their_ids(
    place: Place, changes: dict[str, Any]
) -> None:
    def respond(call: Call) -> None:
        call.page({"items": [{"id": 1, "owner": "a"}], "next": None if call.query else "c1"})

    with serving(respond) as server:
        assert place.run(server.url, "--max-pages", "1", **RESUMABLE, **changes).exit_code == 3
        place.part.write_bytes(place.part.read_bytes().replace(b'"a"', b'"b"'))
        result = place.run(server.url, "--resume", **RESUMABLE, **changes)
        assert len(server.calls) == 1
    assert result.exit_code == 2
    assert "was changed since" in result.stderr


def test_a_fresh_scan_that_was_killed_before_its_first_status_loses_nothing(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "2").exit_code == 3
        place.part.rename(place.folder / "things.jsonl.earlier")
        place.part.touch()
        with place.part.open("ab") as taken:
            fcntl.flock(taken, fcntl.LOCK_EX)
            assert "is being written by another run" in place.run(server.url, "--resume").stderr
        assert place.run(server.url, "--resume").exit_code == 0
    assert place.status()["reconciled"]["earlier"] == 4
    assert place.files() == {"things.jsonl", "things.jsonl.status.json"}


class Stopping(Progress):
    """Notes that come with a signal, from the first one on."""

    def say(self, sentence: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        super().say(sentence)


def test_a_signal_while_a_run_begins_stops_it_in_order(place: Place) -> None:
    notes = io.StringIO()
    with serving(paged(*PAGES)) as server:
        job = SaveJob(
            profile=load_profile(str(place.profile())), query=Query("things"), url=server.url, budget=Budget(),
            output=place.target, resume=True,
        )  # fmt: skip
        saved = save(job, progress=Stopping(notes, clock=time.monotonic))
        assert server.calls == []
    assert (saved.state, saved.exit_code, saved.header["status"]) == ("interrupted", 4, "unavailable")
    assert (place.status()["state"], place.files()) == ("interrupted", {"things.jsonl.status.json"})
    assert "stopped by SIGTERM" in notes.getvalue()


def test_a_status_that_cannot_be_written_is_wrong_use_and_leaves_nothing(place: Place) -> None:
    (place.folder / "things.jsonl.status.json").mkdir()
    with serving(paged(*PAGES)) as server:
        result = place.run(server.url)
        assert server.calls == []
    assert result.exit_code == 2
    assert "must lie where files can be written" in " ".join(result.stderr.split())
    assert place.files() == {"things.jsonl.status.json"}


def test_a_disk_that_is_full_from_the_beginning_is_wrong_use_and_leaves_nothing(place: Place) -> None:
    def none() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))

    with serving(paged(*PAGES)) as server:
        process = place.start(server.url, setup=none)
        _, err = process.communicate(timeout=60)
        assert server.calls == []
    assert process.returncode == 2
    assert b"Traceback" not in err
    assert place.files() == set()


@pytest.mark.parametrize("kind", ["pipe", "link", "dangling link"])
@pytest.mark.parametrize("more", [[], ["--overwrite"], ["--resume"]])
def test_records_are_not_put_in_the_place_of_a_pipe_or_a_link(place: Place, kind: str, more: list[str]) -> None:
    victim = place.folder / "victim"
    if kind == "pipe":
        os.mkfifo(place.target)
    else:
        place.target.symlink_to(victim)
    if kind == "link":
        victim.write_text("precious")
    before = place.target.lstat()
    result = place.run("http://127.0.0.1:1/things", *more)
    assert result.exit_code == 2
    assert "over a link, a pipe or a device" in " ".join(result.stderr.split())
    assert place.target.lstat().st_ino == before.st_ino


def test_a_sweeper_follows_no_link_and_does_not_vouch_for_a_status_that_was_edited(place: Place) -> None:
    victim = place.folder / "victim"
    victim.write_text("precious")
    status = place.folder / "things.jsonl.status.json"
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "1").exit_code == 3
    _edited(place, "state", value="running")
    sweep(str(place.part), str(status), "killed")
    assert place.status()["state"] == "running"
    place.change_status(place.status())
    Path(f"{status}.tmp").symlink_to(victim)
    sweep(str(place.part), str(status), "killed")
    assert place.status()["state"] == "killed"
    place.change_status(place.status() | {"state": "running", "bytes": 1})
    place.part.unlink()
    place.part.symlink_to(victim)
    with pytest.raises(OSError):
        sweep(str(place.part), str(status), "killed")
    assert victim.read_text() == "precious"


def test_a_cursor_that_dies_after_a_page_was_saved_does_not_begin_anew_in_the_same_run(place: Place) -> None:
    changes: dict[str, Any] = {"expired": [{"status": 410, "then": "restart_once"}]}
    dead = [True]

    def respond(call: Call) -> None:
        call.answer(410) if dead[0] and call.query.get("cursor") == "c2" else paged(*PAGES)(call)

    with serving(respond) as server:
        result = place.run(server.url, **changes)
        assert cursors(server) == [None, "c1", "c2"]
        assert result.exit_code == 3
        header = json.loads(result.stdout)
        assert [reason["code"] for reason in header["incomplete_reasons"]] == ["CONTINUATION_EXPIRED"]
        assert header["continuation"]["kind"] == "restart_scan"
        assert len(records(place.part)) == 4
        dead[0] = False
        assert place.run(server.url, "--resume", **changes).exit_code == 0
    assert [record["id"] for record in records(place.target)] == [1, 2, 3, 4, 5]


def test_records_that_a_killed_scan_had_set_aside_are_not_removed_unasked(place: Place) -> None:
    aside = place.folder / "things.jsonl.earlier"
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "2").exit_code == 3
        place.part.rename(aside)
        result = place.run(server.url)
        assert len(server.calls) == 2
    assert result.exit_code == 2
    assert len(records(aside)) == 4


def test_a_run_that_is_refused_takes_nothing_from_the_one_that_has_the_file(place: Place) -> None:
    aside = place.folder / "things.jsonl.earlier"
    aside.write_bytes(b'{"id":1}\n')
    with place.part.open("ab") as taken:
        fcntl.flock(taken, fcntl.LOCK_EX)
        result = place.run("http://127.0.0.1:1/things", "--overwrite")
    assert result.exit_code == 2
    assert "is being written by another run" in result.stderr
    assert len(records(aside)) == 1


def test_a_pipe_in_the_place_of_the_status_does_not_hold_a_run(place: Place) -> None:
    place.part.write_bytes(b'{"id":1}\n')
    os.mkfifo(place.folder / "things.jsonl.status.json")
    result = place.run("http://127.0.0.1:1/things", "--resume")
    assert result.exit_code == 2
    assert "there is no status file" in result.stderr
