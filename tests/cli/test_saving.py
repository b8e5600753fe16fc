"""The pieces of a saved run: lines, progress, signals, credentials, and the sum of its links."""

from __future__ import annotations

import io
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unabridged.cli.saving.credentials import Secrets, gather_headers
from unabridged.cli.saving.ids import Digest, reconcile
from unabridged.cli.saving.lines import PartFile, as_lines, last_of_each, read_lines
from unabridged.cli.saving.place import CannotKeep, chain_at
from unabridged.cli.saving.progress import Progress
from unabridged.cli.saving.signals import Interrupted, Interruptible
from unabridged.contract import InvalidInput

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.lists(JSON))
def test_each_record_is_one_line_whatever_stands_in_it(records: list[Any]) -> None:
    data = as_lines(records)
    assert [json.loads(line) for line in data.split(b"\n")[:-1]] == records
    assert len(data.decode().splitlines()) == len(records)


def test_half_a_surrogate_pair_is_kept_as_an_escape() -> None:
    assert as_lines([{"id": "\ud800"}]) == b'{"id": "\\ud800"}\n'


def test_a_last_line_without_an_end_is_none(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1\n2\n3")
    assert list(read_lines(path)) == [b"1", b"2"]
    assert list(read_lines(path, upto=3)) == [b"1"]
    assert list(read_lines(path, upto=0)) == []


def test_of_lines_with_one_id_the_last_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(as_lines([{"id": 1, "v": 1}, {"id": 2}, {"id": 1, "v": 2}]))
    kept = list(last_of_each(path, lambda records: [record["id"] for record in records]))
    assert [json.loads(line) for line in kept] == [{"id": 2}, {"id": 1, "v": 2}]


def test_what_is_not_a_whole_page_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "x.part"
    path.write_bytes(b"1\n2\n3")
    part = PartFile(path, keep=4)
    part.append([3, 4])
    with path.open("ab") as other:
        other.write(b"torn")
    part.settle()
    part.close()
    assert path.read_bytes() == b"1\n2\n3\n4\n"


def test_a_digest_does_not_depend_on_where_pages_end() -> None:
    one, two = Digest(), Digest()
    one.add([1, "1", None])
    two.add([1])
    two.add(["1", None])
    assert one.text == two.text != Digest().text


def test_ids_are_compared_as_json_values() -> None:
    found = reconcile({1: 1, "2": "2"}, {1: 1, 2: 2})
    assert (found.again, found.new, found.missing) == (1, (2,), ("2",))


@pytest.mark.parametrize(
    "place", [{}, {"step": 1}, {"step": {"canary": {"is": 1}}, "kept": {}}, {"step": {}, "kept": {}}]
)
def test_a_place_of_another_version_is_none(place: Any) -> None:
    with pytest.raises(CannotKeep):
        chain_at(place, seen=())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_rewrites_one_line_on_a_terminal_and_adds_few_lines_elsewhere() -> None:
    now = [0.0]
    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        now[0] = 0.0
        progress = Progress(stream, clock=lambda: now[0])
        for page in range(1, 11):
            now[0] += 1.0
            progress.page(pages=page, records=page * 10)
        progress.say("done")
    assert terminal.getvalue().count("\r") == 10
    assert terminal.getvalue().endswith("10 pages, 100 records, 10.0 s\x1b[K\ndone\n")
    assert log.getvalue() == "1 page, 10 records, 1.0 s\n6 pages, 60 records, 6.0 s\ndone\n"


def test_quiet_progress_still_says_what_the_records_are_worth() -> None:
    stream = io.StringIO()
    progress = Progress(stream, clock=lambda: 0.0, quiet=True)
    progress.page(pages=1, records=1)
    progress.say("partial")
    assert stream.getvalue() == "partial\n"


def test_a_signal_waits_until_a_page_is_saved() -> None:
    saved = []

    def save_a_page() -> None:
        with stop.held():
            os.kill(os.getpid(), signal.SIGTERM)
            saved.append(1)

    with Interruptible() as stop:
        with pytest.raises(Interrupted, match="SIGTERM"):
            save_a_page()
        os.kill(os.getpid(), signal.SIGTERM)  # a second one changes nothing
    assert saved == [1]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_that_comes_before_a_run_can_be_stopped_stops_it_then() -> None:
    begun: list[str] = []
    with Interruptible(armed=False) as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        begun.append("files")
        with pytest.raises(Interrupted, match="SIGTERM"):
            stop.arm()
    assert begun == ["files"]


def test_a_run_that_is_being_closed_is_not_stopped() -> None:
    closed = []
    with Interruptible() as stop:
        stop.disarm()
        os.kill(os.getpid(), signal.SIGINT)
        closed.append("files")
    assert closed == ["files"]


def test_header_fields_come_from_files_the_environment_and_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_text("# note\n\nX-A: 1: 2\n")
    found = gather_headers(
        ["X-D: 4"], bearer_env="T", from_env=["X-B: V"], files=[file], environ={"V": "2", "T": " 3 "}
    )
    assert found == (("X-A", "1: 2"), ("X-B", "2"), ("Authorization", "Bearer 3"), ("X-D", "4"))


@pytest.mark.parametrize("content", [b"canary\n", b": canary\n", b"\xff", b"x" * 70_000])
def test_a_file_of_fields_that_is_none_is_refused_without_its_content(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "headers"
    file.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        gather_headers([], files=[file])
    assert "canary" not in str(caught.value)
    assert str(caught.value.field).startswith("--header-file")


def test_secrets_are_found_and_never_shown() -> None:
    secrets = Secrets.of([("Authorization", "Bearer canary-1")], url="https://x.example/?key=canary-22&n=1")
    assert secrets.stand_in("https://x.example/?key=canary-22")
    assert secrets.stand_in("see canary-1")
    assert not secrets.stand_in("Bearer n=1")
    assert "canary" not in repr(secrets)
