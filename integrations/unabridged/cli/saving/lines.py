"""Records as JSON lines: whole pages are appended, and what is not a whole page is taken back."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from unabridged.contract.errors import InvalidInput

try:
    import fcntl
except ModuleNotFoundError:  # a platform without advisory locks
    fcntl = None  # type: ignore[assignment]

_BREAKS: Final = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\u0085", "\\u0085"))
"""Characters at which some readers break lines although JSON allows them in a text."""
_CHUNK: Final = 1024 * 1024
_LOCK_ATTEMPTS: Final = 10
_LOCK_PAUSE_S: Final = 0.05
"""A sweeper holds the lock for a moment after a run was killed."""
_compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def as_lines(records: Sequence[Any]) -> bytes:
    """Returns records as JSON lines, each ending in a newline, with no other line break in any of them."""
    if not records:
        return b""
    text = "\n".join(map(_compact, records)) + "\n"
    for mark, escape in _BREAKS:
        if mark in text:
            text = text.replace(mark, escape)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can spell and UTF-8 cannot
        return ("\n".join(map(json.dumps, records)) + "\n").encode("ascii")


def can_lock() -> bool:
    """Tells whether the platform has advisory locks."""
    return fcntl is not None


class Stream:
    """Records to a stream, such as standard output."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def append(self, records: Sequence[Any]) -> None:
        """Writes a whole page of records, and lets it go at once."""
        self._stream.write(as_lines(records))
        self._stream.flush()


class PartFile:
    """The file of a run that goes on, `NAME.part`. It loses that suffix only when the read is complete.

    `settled` is how many bytes of it are whole pages; what stands after them is taken back when the run stops, and
    when a later one goes on. The kernel lets the lock go when the process ends, however it ends.

    Args:
        path: the file.
        keep: how many bytes of an earlier run are gone on from.
        content: the digest of these bytes.

    Raises:
        InvalidInput: another run has the file, or it is not what the earlier run left.
    """

    def __init__(self, path: Path, *, keep: int = 0, content: str | None = None) -> None:
        self.path = path
        self.settled = keep
        self._hash = hashlib.sha256()
        self._file = _opened(path)
        try:
            self._lock()
            if not self._is_mine():
                raise InvalidInput(field="--output", rule="is being written by another run")
            if os.fstat(self._file.fileno()).st_size < keep:
                raise InvalidInput(field="--resume", rule="the file of the earlier run was changed since")
            if keep:
                self._hash = digest_of(path, upto=keep)
            if content is not None and content != self.content:
                raise InvalidInput(field="--resume", rule="the file of the earlier run was changed since")
            self._file.truncate(keep)
        except BaseException:
            self._file.close()
            raise

    @property
    def content(self) -> str:
        """The digest of its whole pages."""
        return f"sha256:{self._hash.hexdigest()}"

    def append(self, records: Sequence[Any]) -> None:
        """Writes a whole page of records."""
        data = as_lines(records)
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]
        self.settled += len(data)
        self._hash.update(data)

    def sync(self) -> None:
        """Brings it to the disk."""
        os.fsync(self._file.fileno())

    def settle(self) -> None:
        """Takes back what is not a whole page, and brings the rest to the disk."""
        self._file.truncate(self.settled)
        self.sync()

    def finish(self, target: Path) -> None:
        """Gives the file its own name, in one step."""
        self.settle()
        os.replace(self.path, target)
        self.close()

    def replace_lines(self, lines: Iterator[bytes]) -> None:
        """Puts other lines in the place of all lines, in one step."""
        other = self.path.with_name(f"{self.path.name}.tmp")
        with fresh(other) as file:
            file.writelines(lines)
            self.settled = file.tell()
        self._hash = digest_of(other)
        self._file.close()
        os.replace(other, self.path)
        self._file = _opened(self.path)
        self._lock()

    def close(self) -> None:
        """Closes the file and lets its lock go."""
        self._file.close()

    def remove(self) -> None:
        """Removes the file, which holds nothing that counts."""
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
        self.close()

    def _is_mine(self) -> bool:
        """Tells whether the file still bears its name: a run that held the lock may have given it another one."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        except FileNotFoundError:
            return False

    def _lock(self) -> None:
        if fcntl is None:
            return
        for attempt in range(_LOCK_ATTEMPTS):
            try:
                fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if attempt + 1 == _LOCK_ATTEMPTS:
                    raise InvalidInput(field="--output", rule="is being written by another run") from None
                time.sleep(_LOCK_PAUSE_S)
            else:
                return


def _opened(path: Path) -> Any:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InvalidInput(field="--output", rule="must not lead over a link, a pipe or a device")
    try:
        return path.open("ab", buffering=0)
    except OSError:
        raise InvalidInput(field="--output", rule="must name a file that can be written") from None


def fresh(path: Path) -> BinaryIO:
    """Opens a new file for a moment's use; what a killed run left there, or a link that somebody laid, is removed."""
    path.unlink(missing_ok=True)
    return path.open("xb")


def digest_of(path: Path, *, upto: int | None = None) -> Any:
    """Returns the running digest of a file, or of its first bytes."""
    found = hashlib.sha256()
    left = upto
    with path.open("rb") as file:
        while data := file.read(_CHUNK if left is None else min(_CHUNK, left)):
            found.update(data)
            left = None if left is None else left - len(data)
    return found


def read_lines(path: Path, *, upto: int | None = None) -> Iterator[bytes]:
    """Yields the whole lines of a file, without their ends; a last line without an end is none.

    Args:
        path: the file.
        upto: how many bytes of it count; all of them when not given.
    """
    left = upto
    with path.open("rb") as file:
        for line in file:
            if left is not None:
                left -= len(line)
                if left < 0:
                    return
            if not line.endswith(b"\n"):
                return
            yield line[:-1]


def in_batches(lines: Iterator[bytes], *, size: int = 1000) -> Iterator[list[Any]]:
    """Yields the records of lines, some at a time.

    Raises:
        InvalidInput: a line is no JSON.
    """
    batch: list[Any] = []
    for line in lines:
        try:
            batch.append(json.loads(line))
        except ValueError:
            raise InvalidInput(field="--resume", rule="the file of the earlier run was changed since") from None
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def last_of_each(path: Path, keys_of: Callable[[list[Any]], Sequence[Any]]) -> Iterator[bytes]:
    """Yields the lines of a file, of those with one id only the last."""
    last: dict[Any, int] = {}
    number = 0
    for batch in in_batches(read_lines(path)):
        for key in keys_of(batch):
            last[key] = number
            number += 1
    keep = set(last.values())
    del last
    for at, line in enumerate(read_lines(path)):
        if at in keep:
            yield line + b"\n"
