"""What would make `unabridged read` call something whole that is not, or let go of a secret."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")

from cli.saved import RESUMABLE, Place, paged, records
from click.testing import CliRunner
from reading.served import Call, serving
from unabridged.cli.app import cli
from unabridged.cli.saving.credentials import Secrets
from unabridged.cli.saving.lines import PartFile
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


def test_another_tenant_does_not_go_on_and_a_renewed_credential_does(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        first = ["--max-pages", "1", "--header", "X-Tenant: a", "--header", "Authorization: Bearer first-one"]
        assert place.run(server.url, *first, **RESUMABLE).exit_code == 3
        other = ["--resume", "--header", "X-Tenant: b", "--header", "Authorization: Bearer first-one"]
        result = place.run(server.url, *other, **RESUMABLE)
        assert len(server.calls) == 1
        assert "(headers)" in result.stderr
        renewed = ["--resume", "--header", "x-tenant: a", "--header", "Authorization: Bearer second-one"]
        assert place.run(server.url, *renewed, **RESUMABLE).exit_code == 0
    assert [record["id"] for record in records(place.target)] == [1, 2, 3, 4, 5]


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
