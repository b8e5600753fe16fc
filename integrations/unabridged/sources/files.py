"""Local files as documents: excerpts with a version and a range, for `read_document`."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from unabridged.contract import ReadResult
from unabridged.reading import Clock

from .documents import DocumentUnavailable, Fetched, TextSource, Unit, read_document

VersionBy = Literal["stat", "digest"]
_CHUNK: Final = 1024 * 1024
_LONGEST_LINE: Final = 8 * _CHUNK
_MOST_IN_MEMORY: Final = 64 * _CHUNK


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files below a folder. A reference is a path relative to it, and never leads out of it, by no symlink either.

    A file that changes while it is read gives no text (`CONSISTENCY_LOST:mutated_during_read`), and one that is not
    UTF-8 is no document (`PROTOCOL_ANOMALY:malformed_page`): nothing is guessed or replaced.
    """

    root: Path = field(repr=False)
    version_by: VersionBy = "stat"
    """`stat`: times, size and number of the file, cheap; two changes within one tick of the file system's clock (some
    milliseconds) that keep the size look like one. `digest`: SHA-256 of all its bytes, read anew each time."""
    name: str = "files"

    def fetch(self, reference: str, *, unit: Unit, start: int, end: int | None) -> Fetched:
        """Returns a range in bytes, lines (each with its `\\n`), characters, or pages at form feeds.

        Raises:
            DocumentUnavailable: the file is not there, may not be read, is no text, or changed meanwhile.
        """
        try:
            with open(self._inside(reference), "rb", opener=_without_waiting) as file:
                before = os.fstat(file.fileno())
                if not stat.S_ISREG(before.st_mode):
                    raise DocumentUnavailable(detail="status")
                version = _stamp(before) if self.version_by == "stat" else _digest(file)
                try:
                    found = _fetched(file, before.st_size, unit, start, end)
                finally:  # what a changing file seems to be is not said either
                    if _stamp(os.fstat(file.fileno())) != _stamp(before):
                        raise DocumentUnavailable(code="CONSISTENCY_LOST", detail="mutated_during_read") from None
        except PermissionError:
            raise DocumentUnavailable(code="VISIBILITY_RESTRICTED", detail="forbidden") from None
        except (OSError, ValueError, RuntimeError) as error:  # a loop of symlinks is a RuntimeError before Python 3.13
            if isinstance(error, UnicodeDecodeError):
                raise DocumentUnavailable(code="PROTOCOL_ANOMALY", detail="malformed_page") from None
            raise DocumentUnavailable(detail="status") from None
        return Fetched(found.text, found.start, found.end, found.total, version)

    def _inside(self, reference: str) -> Path:
        """Returns the real path of a reference.

        Raises:
            DocumentUnavailable: it lies outside the folder.
        """
        root = self.root.resolve()
        path = (root / reference).resolve()
        if not path.is_relative_to(root):
            raise DocumentUnavailable(code="VISIBILITY_RESTRICTED", detail="forbidden")
        return path


def read_file(
    path: str | Path,
    *,
    resource: str,
    root: str | Path = ".",
    unit: Unit = "lines",
    start: int = 0,
    length: int | None = None,
    version: str | None = None,
    version_by: VersionBy = "stat",
    max_units: int | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads a file, or a range of it, as one excerpt, as `read_document` does, and records it.

    Where our own limit cuts, the continuation goes on from there, and only while the file has the version it had:
    another one gives `CONSISTENCY_LOST:snapshot_changed` and no text. A file that is not UTF-8 is no document. In
    `chars` and `pages` a file of more than 64 MiB is unavailable (`CLIENT_LIMIT_REACHED`), as the whole is decoded.

    Args:
        path: which file, relative to `root`.
        resource: the name of what is read.
        root: the folder that files may be read from.
        unit: what `start`, `length` and `max_units` count: `bytes`, `lines`, `chars` or `pages` (at form feeds).
        start: where the range begins, from 0.
        length: how long it is; to the end of the file when not given.
        version: the version that the file must have.
        version_by: what a version is made of.
        max_units: how much one excerpt holds.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule.
    """
    return read_document(
        FileSource(Path(root), version_by),
        os.fspath(path),
        resource=resource,
        unit=unit,
        start=start,
        length=length,
        version=version,
        max_units=max_units,
        clock=clock,
    )


def _without_waiting(path: str, flags: int) -> int:
    """Opens what may be a pipe, without waiting for a writer, or a symlink that was laid there since, not at all."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))


def _stamp(found: os.stat_result) -> str:
    """What changes when the file does; the time of the change itself cannot be set back."""
    return f"{found.st_mtime_ns:x}.{found.st_ctime_ns & 0xFFFFFFFFFF:x}.{found.st_size:x}.{found.st_ino:x}"


def _digest(file: BufferedReader) -> str:
    return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()[:48]


def _fetched(file: BufferedReader, size: int, unit: Unit, start: int, end: int | None) -> Fetched:
    match unit:
        case "bytes":
            return _bytes(file, size, start, end)
        case "lines":
            return _lines(file, start, end)
        case _:
            if size > _MOST_IN_MEMORY:
                raise DocumentUnavailable(code="CLIENT_LIMIT_REACHED", detail="max_bytes")
            file.seek(0)
            data = file.read(_MOST_IN_MEMORY + 1)
            if len(data) > _MOST_IN_MEMORY:  # its size was not its size
                raise DocumentUnavailable(code="CLIENT_LIMIT_REACHED", detail="max_bytes")
            text = data.decode()
            return TextSource(lambda _: (text, None)).fetch("", unit=unit, start=start, end=end)


def _bytes(file: BufferedReader, size: int, start: int, end: int | None) -> Fetched:
    """Reads a range of bytes; a character that its end would cut in two is left to the next one."""
    first = min(start, size)
    last = size if end is None else max(first, min(end, size))
    if last - first > _MOST_IN_MEMORY:
        raise DocumentUnavailable(code="CLIENT_LIMIT_REACHED", detail="max_bytes")
    file.seek(first)
    data = file.read(last - first)
    if len(data) < last - first or (last == size and file.read(1)):  # as files of the kernel do: `size` is no size
        raise DocumentUnavailable(code="PROTOCOL_ANOMALY", detail="contradictory_signals")
    if last < size:
        data = data[: _whole(data)]
    return Fetched(data.decode(), first, first + len(data), size)


def _whole(data: bytes) -> int:
    """Returns how many of the bytes belong to whole characters."""
    for back in range(1, min(4, len(data)) + 1):
        lead = data[-back]
        if lead & 0xC0 != 0x80:
            length = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return len(data) if length <= back else len(data) - back
    return len(data)


def _lines(file: BufferedReader, start: int, end: int | None) -> Fetched:
    """Reads whole lines; how many there are is known once the file's end is met."""
    file.seek(0)
    lines = _each_line(file)
    skipped = sum(1 for _ in islice(lines, start))
    kept: list[bytes] = []
    held = 0
    for line in islice(lines, None if end is None else max(0, end - start)):
        kept.append(line)
        held += len(line)
        if held > _MOST_IN_MEMORY:
            raise DocumentUnavailable(code="CLIENT_LIMIT_REACHED", detail="max_bytes")
    last = skipped + len(kept)
    total = last if next(lines, None) is None else None
    return Fetched(b"".join(kept).decode(), skipped, last, total)


def _each_line(file: BufferedReader) -> Iterator[bytes]:
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
            raise DocumentUnavailable(code="CLIENT_LIMIT_REACHED", detail="max_bytes")
        yield line
