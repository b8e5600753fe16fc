"""Starts small servers for the length of a `with` block, on free ports of the loopback, stopped by their process id."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    """Returns a port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def served(
    command: Sequence[str | Path], *, port: int, folder: Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a server in the foreground and waits until it listens."""
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, start_new_session=True,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC", **(env or {})},
        )  # fmt: skip
    try:
        for _ in range(2400):
            if _listens(port):
                break
            if server.poll() is not None:
                raise RuntimeError("the server has ended")
            time.sleep(0.05)
        else:
            raise RuntimeError("the server did not start")
        yield server
    finally:
        server.terminate()
        try:
            server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
