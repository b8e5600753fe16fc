"""A small process that outlives a run which was killed: it takes back what is no whole page, and says what happened.

A run that is stopped by a signal closes its own files. One that is killed outright cannot, and the kernel may have
written half of its last page. The sweeper waits at a pipe for the run's last word; when the pipe ends without it, the
sweeper cuts the file of records to what the status file counts and changes the state there. It is started by its path
and uses the standard library only, so that it costs little and depends on nothing that the run has loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DONE = b"d"


def seal(document: dict[str, Any]) -> dict[str, Any]:
    """Returns the content of a status file with a digest of it, by which one that is torn or edited is told."""
    bare = {name: value for name, value in document.items() if name != "check"}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"))
    return {**bare, "check": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"}


class Sweeper:
    """The run's side of it. Where no sweeper can be started, the next run cuts the file instead."""

    def __init__(self, *, part: Path, status: Path, note: str) -> None:
        command = [sys.executable, "-I", "-S", __file__, str(part.absolute()), str(status.absolute()), note]
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )

    def dismiss(self) -> None:
        """Tells the sweeper that the run has closed its files by itself."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(OSError):
            process.stdin.write(DONE)
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.wait()


def sweep(part: str, status: str, note: str, *, patience_s: float = 5.0) -> None:
    """Cuts a file of records to its whole pages, and notes in the status file that the run was killed.

    Args:
        part: the file of records.
        status: the status file.
        note: what is noted.
        patience_s: how long to wait for the lock. A run that dies lets its pipe go before its lock; where the lock
            does not come free, another run has taken the file over.

    Raises:
        OSError: the file is another run's, or cannot be written.
    """
    with open(part, "r+b", opener=_no_link) as file:
        _lock(file.fileno(), patience_s)
        with open(status, encoding="utf-8") as found:
            document: dict[str, Any] = json.load(found)
        if document["state"] != "running" or document != seal(document):
            return
        if os.fstat(file.fileno()).st_size > document["bytes"]:
            file.truncate(document["bytes"])
        document = seal({**document, "state": "killed", "note": note})
        other = f"{status}.tmp"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(other)
        descriptor = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as out:
            json.dump(document, out, indent=1)
        os.replace(other, status)


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _lock(descriptor: int, patience_s: float) -> None:
    import fcntl

    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.01)
        else:
            return


def main() -> None:
    """Waits for the run's last word, and sweeps when it never comes."""
    if os.read(0, 1) != DONE:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            sweep(*sys.argv[1:4])


if __name__ == "__main__":
    main()
