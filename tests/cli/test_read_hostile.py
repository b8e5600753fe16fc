"""What would make `unabridged read` call something whole that is not, or let go of a secret."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from cli.saved import RESUMABLE, Place, paged, records
from reading.served import Call, serving
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


@pytest.mark.parametrize("text", ["c=canary%2Fof%3Dall", "c=canary/of=all", "c=canary%2fof%3dall&d=1"])
def test_a_secret_is_found_however_an_address_spells_it(text: str) -> None:
    assert Secrets.of((("X-Key", "canary/of=all"),), url="https://api.example/").stand_in(text)


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
    waiting.join(timeout=0.1)
    first.finish(target)
    waiting.join(timeout=5)
    assert len(caught) == 1
    assert records(target) == [{"id": 1}]
