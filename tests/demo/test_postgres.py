"""The server of the demo is a real PostgreSQL 18 that runs without rights and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from unabridged.demo.interrupts import Interrupts
from unabridged.demo.postgres import Postgres, PostgresNotStarted, postgres

pytestmark = pytest.mark.real

_HOLD = """
import os, sys, time
from unabridged.demo.postgres import postgres
{before}
with postgres() as running:
    print(running.pid, running.folder, flush=True)
    {inside}
"""


def _script(*, before: str = "", inside: str = "time.sleep(600)") -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(_HOLD).format(before=before, inside=inside)]


def _runs(pid: int) -> bool:
    """A process that has ended and that nobody has asked for its exit code does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _gone_within(pid: int, folder: Path, *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not _runs(pid) and not folder.exists():
            return True
        time.sleep(0.05)
    return False


def test_it_is_postgresql_18(server: Postgres) -> None:
    with psycopg.connect(server.conninfo()) as connection:
        (version,) = connection.execute("SHOW server_version_num").fetchone() or ("",)
    assert 180_000 <= int(version) < 190_000


def test_it_listens_on_no_network(server: Postgres) -> None:
    with psycopg.connect(server.conninfo()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


def test_a_wrong_password_does_not_open_it(server: Postgres) -> None:
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.conninfo(password="wrong"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
def test_under_root_it_runs_as_somebody_else_and_nobody_can_list_its_folder(server: Postgres) -> None:
    assert os.stat(f"/proc/{server.pid}").st_uid != 0
    assert stat.S_IMODE(server.folder.stat().st_mode) == 0o711
    assert stat.S_IMODE((server.folder / "run").stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_it_runs_for_a_user_without_rights_too() -> None:
    become = "import pwd; who = pwd.getpwnam('nobody'); os.setgroups([]); os.setgid(who.pw_gid); os.setuid(who.pw_uid)"
    done = subprocess.run(
        _script(before=become, inside="pass"), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    pid, folder = done.stdout.split()
    assert not _runs(int(pid))
    assert not Path(folder).exists()


def test_nothing_is_left_after_the_block() -> None:
    with postgres() as running:
        assert _runs(running.pid)
    assert not _runs(running.pid)
    assert not running.folder.exists()


def test_nothing_is_left_after_an_error_in_the_block() -> None:
    with pytest.raises(RuntimeError), postgres() as running:
        raise RuntimeError
    assert not _runs(running.pid)
    assert not running.folder.exists()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 128 + signal.SIGHUP), (signal.SIGINT, -signal.SIGINT)],
)
def test_nothing_is_left_after_a_signal(number: signal.Signals, code: int) -> None:
    with subprocess.Popen(_script(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        process.send_signal(number)
        assert process.wait(timeout=120) == code
    assert not _runs(int(pid))
    assert not Path(folder).exists()


def test_nothing_is_left_when_the_process_is_killed_outright() -> None:
    with subprocess.Popen(_script(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        process.kill()
    assert _gone_within(int(pid), Path(folder), seconds=120)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that a user without rights may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("delay_s", [0.02, 0.1, 0.2, 0.35])
def test_a_signal_during_the_start_leaves_nothing(open_folder: Path, delay_s: float) -> None:
    script = _script(before="print('starting', flush=True)")
    environment = {**os.environ, "TMPDIR": str(open_folder)}
    with subprocess.Popen(
        script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "starting\n"
        time.sleep(delay_s)
        process.terminate()
        process.wait(timeout=120)
    assert list(open_folder.iterdir()) == []


def test_a_held_signal_waits_for_the_end_of_the_block() -> None:
    watch = Interrupts()
    with watch.held():
        watch.receive(signal.SIGTERM, None)
    with pytest.raises(SystemExit):
        watch.check()


def test_a_failed_start_names_the_step() -> None:
    error = PostgresNotStarted(step="running initdb", hint="not done after 60 s")
    assert str(error) == "PostgreSQL did not start while running initdb: not done after 60 s"
