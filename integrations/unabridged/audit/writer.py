"""Appending to a log: locks, links, seals, the turn to the next file, and the fsync of many events at once."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from unabridged.contract.errors import InvalidInput

from .chain import Chain
from .errors import AuditFailed, why
from .events import AuditEvent
from .heads import NOT_KNOWN, Head, head_there, write_head
from .holding import UNKNOWN, Held, open_here, sync_on
from .keys import Keyed
from .lines import MAX_LINE, event_tail
from .stamps import Stamps
from .system import LEAVE, System, flock, is_at, numbered, numbers_of, open_file, sync_folder, take
from .tail import Tail, chain_at, closed, follow, hash_at, is_ours, opening_of, read_at, tail_of

_SEEN: Final = 16_384
_FOLLOWED: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Rules:
    """How a log is written."""

    each: bool
    max_bytes: int
    sync_s: float
    lock_s: float
    now: Callable[[], datetime] | None
    head: Path | None
    system: System


class Writer:
    """One open log of one process. `_end` is where its last line ends as far as it knows; after a failure, unknown."""

    def __init__(self, base: Path, rules: Rules, keyed: Keyed) -> None:
        self._base, self._rules, self._keyed = base, rules, keyed
        self._write, self._stamp = rules.system.write, Stamps(rules.now)
        self._held = Held(self)
        self._forked = False
        self._in_background = not rules.each or rules.head is not None
        self._lock = threading.Lock()
        self._seen: set[str] = set()
        self._older: set[str] = set()
        self._fd = UNKNOWN
        self._end, self._n, self._chain, self._log, self._number = UNKNOWN, 0, Chain(), "", 1
        self._failed: str | None = None
        self._head_due: Head | None = None
        self._dirty = threading.Event()
        self._stop = threading.Event()
        self._syncer: threading.Thread | None = None
        self._begin()
        open_here.add(self)

    # what a log does

    def append(self, event: AuditEvent, session: str | None) -> None:
        """Writes an event, unless one of its kind and reference was written before."""
        tail = event_tail(event, session)
        key = event.kind + event.ref
        with self._held:
            if key in self._seen or key in self._older:
                return
            line = (
                f'{{"prev":"{self._chain.hash}","ref":"{event.ref}","n":{self._n + 1},"kind":"{event.kind}",'
                f'"at":"{self._stamp()}","process":"{self._process}"{tail}\n'
            ).encode()
            if len(line) > MAX_LINE + 1:
                raise InvalidInput(field="audit.event", rule=f"must fit into a line of {MAX_LINE} bytes")
            self._put(line)
            if self._rules.each:
                self._make_last(self._fd, self._number)
            if len(self._seen) >= _SEEN:
                self._seen, self._older = set(), self._seen
            self._seen.add(key)
        if self._in_background and not self._dirty.is_set():
            self._dirty.set()
            if self._syncer is None:
                self._start_syncer()

    def sync(self) -> None:
        """Makes everything last that was written so far, and then moves the head."""
        with self._held:
            self._dirty.clear()
            head = Head(self._log, self._n, self._chain.hash, self._stamp())
            fd, number = os.dup(self._fd), self._number
        rule = None
        try:
            self._make_last(fd, number)
        except OSError as error:
            rule = why(error)
        finally:
            os.close(fd)
        if rule is not None:
            raise AuditFailed(rule=rule)
        if self._rules.head is not None:
            self._head_due = head
            with self._held:  # moves the head; where that fails, the next write tries again, and fails with it
                pass

    def _make_last(self, fd: int, number: int) -> None:
        """Syncs a file that is still where it was."""
        self._fsync(fd)
        if not is_at(fd, numbered(self._base, number)):
            self._failed = "its file was moved away"
            raise AuditFailed(rule=self._failed)

    def _fsync(self, fd: int) -> None:
        """Syncs a file or its folder. A failure stays: no later fsync would tell what was lost."""
        try:
            self._rules.system.fsync(fd)
        except OSError:
            self._failed = "a sync of its file failed"
            raise

    def _check_head(self) -> None:
        """Refuses a log that its head knows better: it was cut off, or another one was put in its place."""
        there = None if self._rules.head is None else head_there(self._rules.head)
        if there is not None and (there.log != self._log or there.n > self._n):
            raise AuditFailed(rule=NOT_KNOWN)

    def _move_head(self) -> None:
        if self._rules.head is not None and self._head_due is not None:
            write_head(self._rules.head, self._head_due.signed(self._keyed))
            self._head_due = None

    def head(self) -> Head:
        """Returns the head, signed."""
        with self._held:
            made = Head(self._log, self._n, self._chain.hash, self._stamp())
        return made.signed(self._keyed)

    def close(self) -> None:
        """Syncs and closes; once."""
        if self._fd == UNKNOWN:
            return
        try:
            if self._pid == os.getpid() and self._failed is None:
                self.sync()
        finally:
            with self._lock:
                self._failed = self._failed or "it is closed"
                fd, self._fd = self._fd, UNKNOWN
                if fd != UNKNOWN:
                    os.close(fd)
            self._stop.set()
            self._dirty.set()

    def close_quietly(self) -> None:
        """Closes a log that nobody holds any more, or when the interpreter ends: nobody could be told."""
        try:
            self.close()
        except (AuditFailed, OSError):
            return

    def said(self) -> str:
        """Returns what its repr says."""
        state = "closed" if self._fd == UNKNOWN else f"{self._n} lines"
        return f"file {self._number}, {state}"

    # how it comes to hold the file

    def _ready(self) -> None:
        """Opens the file anew in a process that was forked, and fails where no more may be written."""
        if self._failed is not None:
            raise AuditFailed(rule=self._failed)
        if self._forked:
            self._open_after_fork()

    def _take(self, fd: int) -> None:
        if not take(fd, within_s=self._rules.lock_s):
            raise AuditFailed(rule="another process holds it")

    def _begin(self) -> None:
        """Opens the newest file of the set, or the first."""
        numbers = numbers_of(self._base)
        self._number = numbers[-1] if numbers else 1
        self._pid, self._process = os.getpid(), secrets.token_hex(8)
        rule = None
        try:
            self._fd = self._opened(self._number)
        except OSError as error:
            rule = why(error)
        if rule is not None:
            raise AuditFailed(rule=rule)
        try:
            with self._held:
                self._check_head()
        except BaseException:
            os.close(self._fd)
            self._fd = UNKNOWN
            raise

    def _opened(self, number: int) -> int:
        path = numbered(self._base, number)
        if path.exists() and not path.is_file():
            raise InvalidInput(field="audit.path", rule="must name a file")
        return open_file(path, create=True)

    def _open_after_fork(self) -> None:
        """Opens the file for this process: what was inherited shares its lock with the parent."""
        inherited = self._fd
        self._fd = open_file(numbered(self._base, self._number), create=False)
        os.close(inherited)
        self._pid, self._process, self._forked = os.getpid(), secrets.token_hex(8), False
        self._syncer, self._dirty, self._stop = None, threading.Event(), threading.Event()

    # what it writes

    def _put(self, line: bytes, *, before: bytes = b"", opens: bool = False) -> None:
        """Appends a line, behind what ends the one before. Until it is whole, the end of the file counts as unknown."""
        end, self._end = self._end, UNKNOWN
        self._write_all(before + line)
        self._n += 1
        self._chain.add(line, self._n, opens=opens)
        self._end = end + len(before) + len(line)

    def _write_all(self, data: bytes) -> None:
        taken = self._write(self._fd, data)
        while taken < len(data):
            more = self._write(self._fd, data[taken:])
            if more <= 0:
                raise OSError
            taken += more

    def _own(self, said: str, *, before: bytes = b"") -> None:
        """Appends a line of the log's own."""
        kind, _, rest = said.partition(",")
        stamped = f'"at":"{self._stamp()}","process":"{self._process}"'
        line = f'{{"prev":"{self._chain.hash}","n":{self._n + 1},"kind":"{kind}",{stamped},{rest}}}\n'.encode()
        self._put(line, before=before, opens=kind == "file")

    def _catch_up(self, size: int) -> None:
        """Makes the log ready for a line. Whatever fails in the midst of it leaves the end of the file unknown."""
        try:
            if size != self._end:
                self._settle(size)
            if self._end >= self._rules.max_bytes:
                self._turn()
        except BaseException:
            self._end = UNKNOWN
            raise

    def _settle(self, size: int) -> None:
        """Finds out how the file ends, since it is not as this writer left it, and makes its end whole."""
        if size < self._end:
            self._failed = "the file is shorter than what was written to it"
            raise AuditFailed(rule=self._failed)
        if self._end > 0 and not self._goes_on():
            self._failed = "the file was changed behind what was written to it"
            raise AuditFailed(rule=self._failed)
        tail = tail_of(self._fd, size)
        if tail.line is None:
            self._start_file(size)
            return
        self._follow(tail)
        if tail.line.kind == "turn":  # no line may stand behind it, also no seal
            if not tail.finished:
                self._write_all(b"\n")
            self._fsync(self._fd)
            self._move(tail.line.next)
            return
        if not tail.finished or tail.end < size:
            self._seal(size)
        if not self._log or tail.line.kind == "seal":
            self._learn_log()

    def _follow(self, tail: Tail) -> None:
        """Takes the end of the file as its own: the lines that others wrote behind its last one, or the segment."""
        assert tail.line is not None
        if 0 < self._end <= tail.end and tail.end - self._end <= _FOLLOWED:
            follow(self._chain, read_at(self._fd, self._end, tail.end - self._end))
        else:
            self._chain = chain_at(self._fd, tail.end)
        self._n, self._end = tail.line.n, tail.end

    def _mend(self) -> None:
        """Seals what a failed write left, where that can be done at once; else the next writer does."""
        with suppress(OSError, AuditFailed):
            self._catch_up(os.lseek(self._fd, 0, os.SEEK_END))

    def _goes_on(self) -> bool:
        """Tells whether what stands behind our last line is linked to it, or is no line at all."""
        found = read_at(self._fd, self._end, 73)
        return len(found) < 73 or not found.startswith(b'{"prev":"') or found[9:] == self._chain.hash.encode()

    def _seal(self, size: int) -> None:
        """Says what a crash left behind the last whole line: so many bytes, and their hash."""
        torn, found = size - self._end, hash_at(self._fd, self._end, size)
        self._end = size
        self._own(f'seal,"torn":{torn},"hash":"{found}"', before=b"\n")

    def _start_file(self, size: int) -> None:
        """Writes the line that opens a file, behind the seal of what a crash left of an earlier try."""
        if size and not is_ours(self._fd):
            raise InvalidInput(field="audit.path", rule="must be an audit log, or a file that is new")
        self._n, self._chain, self._end = 0, Chain(), 0
        self._log = self._link_to_earlier()
        if size:
            self._seal(size)
        self._open_file()
        sync_folder(self._base, self._fsync)

    def _open_file(self) -> None:
        self._log = self._log or secrets.token_hex(16)
        self._own(f'file,"log":"{self._log}","file":{self._number}')

    def _link_to_earlier(self) -> str:
        """Takes number and hash from the end of the file before, and returns the id of the log, where there is one."""
        if self._number == 1:
            return ""
        earlier = open_file(numbered(self._base, self._number - 1), create=False)
        try:
            found = closed(earlier, os.lseek(earlier, 0, os.SEEK_END))
        finally:
            os.close(earlier)
        if found is None:
            raise AuditFailed(rule="the file before the newest one does not end as it should")
        self._n, self._chain, log = found
        return log

    def _learn_log(self) -> None:
        """Takes the id of the log from the line that opens the file, or writes that line where a crash took it."""
        opening = opening_of(self._fd)
        if opening is not None:
            self._log = opening.log
            return
        n, chain = self._n, self._chain
        self._log = self._link_to_earlier()
        self._n, self._chain = n, chain
        self._open_file()

    def _turn(self) -> None:
        """Closes the file with a line that says so, and goes on in the next."""
        self._own(f'turn,"next":{self._number + 1}')
        self._make_last(self._fd, self._number)
        self._move(self._number + 1)

    def _move(self, number: int) -> None:
        """Goes to the next file, or to the newest: other writers may be there already, and those before it archived.

        The lock of the old one is held until then.
        """
        self._end = UNKNOWN
        number = max([number, *numbers_of(self._base)])
        after = self._opened(number)
        try:
            self._take(after)
        except BaseException:
            os.close(after)
            raise
        left, self._fd, self._number = self._fd, after, number
        flock(left, LEAVE)  # a process that was forked meanwhile may hold it open as well
        os.close(left)
        self._settle(os.lseek(after, 0, os.SEEK_END))

    # the fsync of many events at once

    def _start_syncer(self) -> None:
        with self._lock:
            if self._syncer is None and not self._stop.is_set():
                self._syncer = threading.Thread(
                    target=sync_on, args=(self, self._dirty, self._stop), name="unabridged-audit", daemon=True
                )
                self._syncer.start()
