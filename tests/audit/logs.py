"""What the tests of the audit log share: a key, events, logs with something in them, and a clock that stands."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unabridged.audit import AuditEvent, AuditLog, System, Verification, verify

KEY = b"a key for tests only, 32 bytes!!"
OTHER_KEY = b"another key for tests, 32 bytes!"
SESSION = "5e" * 16
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def ref(number: int) -> str:
    return f"{number:032x}"


def intent(number: int, **more: Any) -> AuditEvent:
    return AuditEvent(kind="intent", action="archive_orders", ref=ref(number), **more)


def outcome(number: int, **more: Any) -> AuditEvent:
    return AuditEvent(kind="outcome", action="archive_orders", ref=ref(number), **{"outcome": "done", **more})


def opened(path: Path, **more: Any) -> AuditLog:
    return AuditLog(path, **{"key": KEY, "now": lambda: NOW, **more})


def written(path: Path, count: int, *, start: int = 0, **more: Any) -> Path:
    """Writes so many intents with their outcomes, and closes the log."""
    with opened(path, **more) as log:
        for number in range(start, start + count):
            log.write(intent(number, session=SESSION, verdict="allow", codes=("EVIDENCE_STALE",), reads=("r_1",)))
            log.write(outcome(number, done=number, not_done=0))
    return path


def rules(found: Verification) -> list[str]:
    return [finding.rule for finding in found.findings]


def checked(path: Path, **more: Any) -> list[str]:
    return rules(verify(path, **more))


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


class Failing:
    """Writes and syncs that fail from the moment they are told to: after so many bytes, with this error."""

    def __init__(self, error: int = errno.ENOSPC) -> None:
        self.error = error
        self.room: int | None = None
        self.sync_fails = False
        self.syncs_left: int | None = None
        self.synced = 0

    def write(self, fd: int, data: bytes) -> int:
        if self.room is None:
            return os.write(fd, data)
        taken = min(self.room, len(data))
        if not taken:
            raise OSError(self.error, "canary", "/canary/path")
        self.room -= taken
        return os.write(fd, data[:taken])

    def fsync(self, fd: int) -> None:
        self.synced += 1
        if self.syncs_left is not None:
            self.sync_fails, self.syncs_left = self.syncs_left == 0, max(0, self.syncs_left - 1)
        if self.sync_fails:
            raise OSError(errno.EIO, "canary", "/canary/path")
        os.fsync(fd)

    def system(self) -> System:
        return System(write=self.write, fsync=self.fsync)


def in_a_child(work: Callable[[], object]) -> int:
    """Runs work in a forked process and returns its exit code: 0 when it returned."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
