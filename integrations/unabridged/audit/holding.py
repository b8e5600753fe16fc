"""Holding a log: for one thread of one process at a time, whatever else happens, and over a fork."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from .errors import AuditFailed, why
from .system import LEAVE, TAKE, flock

if TYPE_CHECKING:
    from .writer import Writer

UNKNOWN: Final = -1


class Held:
    """The log, held by one thread of one process. What the operating system refuses leaves as an `AuditFailed`."""

    __slots__ = ("_writer",)

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def __enter__(self) -> None:
        writer = self._writer
        if not (writer._lock.acquire(blocking=False) or writer._lock.acquire(timeout=writer._rules.lock_s)):
            raise AuditFailed(rule="another thread holds it")
        try:
            if writer._failed is not None or writer._forked:
                writer._ready()
            try:
                flock(writer._fd, TAKE)
            except BlockingIOError:
                writer._take(writer._fd)
            end = os.lseek(writer._fd, 0, os.SEEK_END)
            if end != writer._end or end >= writer._rules.max_bytes:
                writer._catch_up(end)
            if writer._head_due is not None:
                writer._move_head()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        writer = self._writer
        rule = why(error) if isinstance(error, OSError) else None
        try:
            if rule is not None and writer._end == UNKNOWN:
                writer._mend()
        finally:
            try:
                if writer._fd != UNKNOWN:
                    flock(writer._fd, LEAVE)
            finally:
                writer._lock.release()
        if rule is not None:
            raise AuditFailed(rule=rule)


def sync_on(writer: Writer, dirty: threading.Event, stop: threading.Event) -> None:
    """Syncs a while after something was written. A failure is told by the next write."""
    while True:
        dirty.wait()
        if stop.wait(writer._rules.sync_s):
            return
        try:
            writer.sync()
        except AuditFailed:
            if writer._failed is not None:
                return


open_here: Final[weakref.WeakSet[Writer]] = weakref.WeakSet()
"""The logs of this process."""


def _after_fork() -> None:
    """Lets no child wait for a thread that it does not have, and nobody for a lock that a child has inherited."""
    for writer in open_here:
        writer._lock, writer._forked = threading.Lock(), True
        if writer._fd != UNKNOWN:
            with suppress(OSError):
                _let_go(writer._fd)


def _let_go(fd: int) -> None:
    """Puts nothing in the place of an open file."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(nothing, fd, inheritable=False)
    os.close(nothing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
