"""Walking a folder. Walking decides nothing: it gathers facts, and `directories` says what they mean."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, Final

from unabridged.contract import iso
from unabridged.contract.codes import ReasonCode
from unabridged.reading import Budget, Clock

Parts = tuple[str, ...]
_ESCAPED: Final = re.compile(r"\\x[0-9a-f]{2}")
_TICK_S: Final = 3.0
"""The clocks of file systems are coarse: from milliseconds to two seconds, for FAT."""
_KINDS: Final = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "directory"), (stat.S_ISLNK, "symlink"))


@dataclass(frozen=True)
class Choice:
    """Which entries count. A pattern without a `/` is one of names, else one of paths below the root."""

    include: str | None = field(default=None, repr=False)
    ignore: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    hidden: bool = True
    follow: bool = False

    def excluded(self, parts: Parts) -> bool:
        """Whether an entry is no part of the resource."""
        return any(_fits(pattern, parts) for pattern in self.excludes)

    def ignored(self, parts: Parts) -> bool:
        """Whether an entry is left out."""
        if not self.hidden and parts[-1].startswith("."):
            return True
        return any(_fits(pattern, parts) for pattern in self.ignore)

    def included(self, parts: Parts) -> bool:
        """Whether an entry is what was asked for."""
        return self.include is None or _fits(self.include, parts)


def _fits(pattern: str, parts: Parts) -> bool:
    return fnmatchcase("/".join(parts) if "/" in pattern else parts[-1], pattern)


class Tree:
    """The facts of one walk, as they come in.

    Args:
        root: the folder.
        choice: which entries count.
        budget: what may be spent.
        clock: the time.
        after: where to go on: entries up to this path were delivered before.
        stamps: what the folders of earlier links looked like.
    """

    FORBIDDEN: ClassVar = frozenset({errno.EACCES, errno.EPERM})
    GONE: ClassVar = frozenset({errno.ENOENT, errno.ENOTDIR})
    NOWHERE: ClassVar = GONE | {errno.ELOOP}
    """What says of a symlink that it leads to no folder."""

    def __init__(
        self, root: Path, choice: Choice, budget: Budget, clock: Clock, *, after: Parts, stamps: Mapping[Parts, Any]
    ) -> None:
        self._root = os.path.abspath(root)
        self._choice = choice
        self._budget = budget
        self._clock = clock
        self._after = after
        self._started = clock.monotonic()
        self.stamps: dict[Parts, Any] = dict(stamps)
        self._entered: set[tuple[int, int]] = {(stamp[0], stamp[1]) for stamp in stamps.values()}
        self.items: list[dict[str, Any]] = []
        self.last: Parts = ()
        """The path that was looked at last."""
        self.folders = self.ignored = self.excluded = self.repeated = 0
        self.root_errno: int | None = None
        self.failures: list[tuple[str, int]] = []
        """Folders that could not be entered, and the number of the error."""
        self.unseen: list[tuple[str, int]] = []
        """Items, and their places, of which only the name could be seen."""
        self.changed = False
        self.limits: list[tuple[ReasonCode, str, int | None]] = []

    @property
    def elapsed_s(self) -> float:
        """Seconds since the walk began."""
        return self._clock.monotonic() - self._started

    def walk(self) -> None:
        """Walks depth first, each folder's entries by name, and looks at every folder once more at the end."""
        stack = [self._entries(())]
        while stack and not self.limits:
            parts = next(stack[-1], None)
            if parts is None:
                stack.pop()
            elif self._is_spent(parts):
                break
            elif self._look(parts) and self._may_enter():
                stack.append(self._entries(parts))
        if self.root_errno is None:
            self.changed = self.changed or not all(self._is_as_before(p, *seen) for p, seen in self.stamps.items())

    def _path(self, parts: Parts) -> str:
        return os.path.join(self._root, *parts)

    def _entries(self, parts: Parts) -> Iterator[Parts]:
        """Returns the paths in a folder that count, by name; nothing when it cannot be entered."""
        try:
            found = os.stat(self._path(parts))
            self._entered.add((found.st_dev, found.st_ino))
            names = sorted(os.listdir(self._path(parts)))
        except OSError as error:
            self._note(parts, error.errno or errno.EIO)
            return iter(())
        if parts not in self.stamps:  # an earlier link entered it: it is on the way to where this one goes on
            self.folders += 1
            just_now = abs(self._clock.now().timestamp() - found.st_mtime_ns / 1e9) < _TICK_S
            self.stamps[parts] = (found.st_dev, found.st_ino, found.st_mtime_ns, names if just_now else None)
        return iter([path for name in names if self._counts(path := (*parts, name))])

    def _note(self, parts: Parts, number: int) -> None:
        if not parts:
            self.root_errno = number
        elif number in self.GONE:
            self.changed = True
            return
        self.failures.append((_text(parts), number))

    def _counts(self, parts: Parts) -> bool:
        if self._choice.excluded(parts):
            self.excluded += 1
            return False
        if self._choice.ignored(parts):
            self.ignored += 1
            return False
        return True

    def _is_spent(self, parts: Parts) -> bool:
        """Notes the limits that keep the next entry out."""
        if parts <= self._after:
            return False
        budget = self._budget
        if budget.max_seconds is not None and self.elapsed_s >= budget.max_seconds:
            self.limits.append(("TIME_BUDGET_EXCEEDED", "max_seconds", None))
        is_full = budget.max_items is not None and len(self.items) >= budget.max_items
        if is_full and self._choice.included(parts):
            self.limits.append(("CLIENT_LIMIT_REACHED", "max_items", budget.max_items))
        return bool(self.limits)

    def _may_enter(self) -> bool:
        most = self._budget.max_pages
        if most is not None and self.folders >= most:
            self.limits.append(("CLIENT_LIMIT_REACHED", "max_pages", most))
        return not self.limits

    def _look(self, parts: Parts) -> bool:
        """Takes in one entry; tells whether it is a folder to be entered."""
        path = self._path(parts)
        is_new = parts > self._after
        if is_new:
            self.last = parts
        try:
            found = os.lstat(path)
        except OSError as error:
            if error.errno in self.GONE:
                self.changed = True
            elif is_new:
                self._take_unseen(parts, error.errno or errno.EIO)
            return False
        if is_new and self._choice.included(parts):
            self.items.append(_item(parts, found))
        if not is_new and self._after[: len(parts)] != parts:
            return False  # all of it was delivered before
        if stat.S_ISLNK(found.st_mode):
            return parts in self.stamps or (self._choice.follow and self._leads_on(parts))
        return stat.S_ISDIR(found.st_mode)

    def _take_unseen(self, parts: Parts, number: int) -> None:
        """Takes in an entry of which only the name can be seen; it may be a folder, also where it is not asked for."""
        if not self._choice.included(parts):
            self.failures.append((_text(parts), number))
            return
        self.items.append({"id": _text(parts), "kind": "unknown", "size": None, "modified": None})
        self.unseen.append((_text(parts), len(self.items)))

    def _leads_on(self, parts: Parts) -> bool:
        """Tells whether a symlink leads to a folder that was not entered yet; so that loops end."""
        try:
            found = os.stat(self._path(parts))
        except OSError as error:
            if error.errno not in self.NOWHERE:
                self.failures.append((_text(parts), error.errno or errno.EIO))
            return False
        if not stat.S_ISDIR(found.st_mode):
            return False
        if (found.st_dev, found.st_ino) in self._entered:
            self.repeated += 1
            return False
        return True

    def _is_as_before(self, parts: Parts, device: int, inode: int, mtime_ns: int, names: list[str] | None) -> bool:
        """Tells whether a folder is unchanged. One that had just been changed is listed: its time may not tell."""
        try:
            found = os.stat(self._path(parts))
            same = (found.st_dev, found.st_ino, found.st_mtime_ns) == (device, inode, mtime_ns)
            return same and (names is None or sorted(os.listdir(self._path(parts))) == names)
        except OSError:
            return False


def _item(parts: Parts, found: os.stat_result) -> dict[str, Any]:
    kind = next((name for test, name in _KINDS if test(found.st_mode)), "other")
    return {"id": _text(parts), "kind": kind, "size": found.st_size, "modified": _modified(found)}


def _modified(found: os.stat_result) -> str | None:
    """Returns when a file was changed; nothing where its time is one that no calendar holds."""
    try:
        return iso(datetime.fromtimestamp(found.st_mtime_ns // 1_000_000_000, UTC))
    except (OverflowError, ValueError, OSError):
        return None


def _text(parts: Parts) -> str:
    """A path as text; bytes of a name that are no UTF-8 stand as `\\xNN`.

    So that no two paths read alike, each backslash is doubled in a path that has such bytes, or that looks as if.
    """
    path = "/".join(parts)
    if "\\" in path and (_ESCAPED.search(path) or not _is_text(path)):
        path = path.replace("\\", "\\\\")
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _is_text(path: str) -> bool:
    return not any("\ud800" <= mark <= "\udfff" for mark in path)
