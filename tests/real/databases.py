"""Starts database servers for the length of a `with` block, on unix sockets in temporary folders, without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

POSTGRESQL_15 = Path("/usr/lib/postgresql/15/bin")
MARIADB = Path("/usr/sbin/mariadbd")


def _rights() -> dict[str, Any]:
    """Database servers refuse to run as root; then they run as nobody."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _run(command: Sequence[str | Path], folder: Path) -> None:
    subprocess.run(
        [str(part) for part in command],
        check=True, capture_output=True, cwd=folder, env={"PATH": os.defpath, "LC_ALL": "C"}, timeout=300, **_rights(),
    )  # fmt: skip


@contextmanager
def _served(command: Sequence[str | Path], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}, start_new_session=True, **_rights(),
        )  # fmt: skip
    try:
        yield server
    finally:
        server.terminate()
        try:
            server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="unabridged-db-", dir="/tmp"))
    rights = _rights()
    if rights:
        os.chown(folder, rights["user"], rights["group"])
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(socket: Path, server: subprocess.Popen[bytes]) -> None:
    for _ in range(2400):
        if server.poll() is not None:
            raise RuntimeError("the server has ended")
        if socket.exists():
            return
        time.sleep(0.05)
    raise RuntimeError("the server did not start")


@contextmanager
def postgres_15() -> Iterator[Path]:
    """Starts Debian's PostgreSQL 15, yields the folder of its socket; the superuser `postgres` has no password."""
    with _folder() as folder:
        data = folder / "data"
        _run([POSTGRESQL_15 / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], folder)
        settings = ("listen_addresses=", "fsync=off", "full_page_writes=off", "max_prepared_transactions=0")
        options = [part for setting in settings for part in ("-c", setting)]
        with _served([POSTGRESQL_15 / "postgres", "-D", data, "-k", folder, *options], folder) as server:
            _wait_for(folder / ".s.PGSQL.5432", server)
            yield folder


@contextmanager
def standby_of(folder: Path) -> Iterator[Path]:
    """Starts a standby of the PostgreSQL 15 whose socket is in a folder, yields the folder of its own."""
    with _folder() as own:
        data = own / "data"
        copy = [POSTGRESQL_15 / "pg_basebackup", "-D", data, "-h", folder, "-U", "postgres", "-R", "-c", "fast"]
        _run(copy, own)
        with _served([POSTGRESQL_15 / "postgres", "-D", data, "-k", own, "-c", "listen_addresses="], own) as server:
            _wait_for(own / ".s.PGSQL.5432", server)
            yield own


@contextmanager
def mariadb() -> Iterator[Path]:
    """Starts MariaDB and yields its socket; the superuser is `root`, without password."""
    with _folder() as folder:
        data, socket = folder / "data", folder / "s"
        _run(
            ["/usr/bin/mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
             "--auth-root-authentication-method=normal"],
            folder,
        )  # fmt: skip
        command = [
            MARIADB, "--no-defaults", f"--datadir={data}", f"--socket={socket}", f"--pid-file={folder / 'pid'}",
            f"--secure-file-priv={folder}", "--skip-networking", "--innodb-flush-log-at-trx-commit=0",
        ]  # fmt: skip
        with _served(command, folder) as server:
            _wait_for(socket, server)
            yield socket


def wait_until(ready: Any, *, seconds: float = 120) -> None:
    """Calls `ready` until it raises nothing."""
    end = time.monotonic() + seconds
    while True:
        with suppress(Exception):
            ready()
            return
        if time.monotonic() > end:
            ready()
            return
        time.sleep(0.05)
