"""What a log asks of the operating system, and where the files of a set lie."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

try:
    import fcntl
except ImportError:  # pragma: no cover - no POSIX
    fcntl = None  # type: ignore[assignment]  # told apart by `HAS_LOCKS`

HAS_LOCKS: Final = fcntl is not None
flock: Final[Any] = fcntl.flock if HAS_LOCKS else None
TAKE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB if HAS_LOCKS else 0
LEAVE: Final = fcntl.LOCK_UN if HAS_LOCKS else 0
_POLL_S: Final = 0.000_2
_SUFFIX: Final = re.compile(r"(?P<base>.+)\.(?P<number>[0-9]{6})\Z")


@dataclass(frozen=True, slots=True)
class System:
    """The calls that can fail; a test hands in others."""

    write: Callable[[int, bytes], int] = os.write
    """Returns how many bytes it took."""
    fsync: Callable[[int], None] = os.fsync


def open_file(path: Path, *, create: bool) -> int:
    """Opens a file to append to, readable for its owner only where it is made."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    return os.open(path, flags, 0o600)


def take(fd: int, *, within_s: float) -> bool:
    """Takes the lock of an open file, and says whether it could in time. Threads and processes count alike."""
    until = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(fd, TAKE)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(_POLL_S)
        else:
            return True


def whole_size(fd: int) -> int:
    """Returns the size of a file while nobody writes to it, as far as that can be had without waiting for long."""
    for _ in range(100):
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.005)
            continue
        except (OSError, AttributeError):  # a file system, or a system, without locks
            break
        try:
            return os.fstat(fd).st_size
        finally:
            fcntl.flock(fd, LEAVE)
    return os.fstat(fd).st_size


def is_at(fd: int, path: Path) -> bool:
    """Tells whether an open file is the one that a path names."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        return False


def sync_folder(path: Path, fsync: Callable[[int], None]) -> None:
    """Makes the name of a new file last."""
    fd = os.open(path.parent, os.O_RDONLY)
    try:
        fsync(fd)
    finally:
        os.close(fd)


def numbered(base: Path, number: int) -> Path:
    """Returns the path of a file of the set: the first bears the name of the log, the others a number behind it."""
    return base if number == 1 else base.with_name(f"{base.name}.{number:06d}")


def base_of(path: Path) -> Path:
    """Returns the name of the log that a file belongs to."""
    found = _SUFFIX.match(path.name)
    return path if found is None else path.with_name(found["base"])


def numbers_of(base: Path) -> list[int]:
    """Returns the numbers of the files of a set that are there, sorted."""
    try:
        names = os.listdir(base.parent)
    except OSError:
        return []
    found = {1} if base.name in names else set()
    for name in names:
        match = _SUFFIX.match(name)
        if match is not None and match["base"] == base.name and int(match["number"]) > 1:
            found.add(int(match["number"]))
    return sorted(found)
