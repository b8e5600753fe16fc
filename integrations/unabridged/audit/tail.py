"""The end of a log file: its last whole line, and what a crash left behind it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from .chain import SEGMENT, Chain
from .lines import MAX_LINE, START, Line, parse

_WINDOW: Final = 1 << 13
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Tail:
    """Where a file ends."""

    line: Line | None
    """The last whole line, nothing in a file without one."""
    end: int
    """Where the last whole line ends: the offset behind its newline."""
    size: int
    finished: bool = True
    """Whether the last line has its newline; else only that is missing."""


def tail_of(fd: int, size: int) -> Tail:
    """Returns the end of a file of that size. It reads backwards and no further than it must."""
    window = _WINDOW
    while True:
        start = max(0, size - window)
        found = _last_in(fd, read_at(fd, start, size - start), start, size)
        if found is not None:
            return found
        if start == 0:
            return _first_of(read_at(fd, 0, size), size)
        window *= 8


def _last_in(fd: int, data: bytes, start: int, size: int) -> Tail | None:
    """Returns the end of a file, given its last bytes, or nothing when they hold no whole line."""
    newline = data.rfind(b"\n")
    rest = data[newline + 1 :]
    while newline >= 0:
        before = data.rfind(b"\n", 0, newline)
        if before < 0 and start > 0:
            return None
        raw = data[before + 1 : newline]
        line = parse(raw)
        if line is not None:
            return _with_rest(fd, Tail(line, start + newline + 1, size), rest)
        newline = before
    return None


def _first_of(data: bytes, size: int) -> Tail:
    """Returns the end of a file without a whole line; its first one may lack nothing but its newline."""
    rest = data[data.rfind(b"\n") + 1 :]
    first = parse(rest)
    if first is not None and first.kind in ("file", "seal"):
        return Tail(first, size, size, finished=False)
    return Tail(None, 0, size)


def _with_rest(fd: int, tail: Tail, rest: bytes) -> Tail:
    """Counts a line as whole that lacks nothing but its newline."""
    last = parse(rest) if rest else None
    assert tail.line is not None
    if last is not None and (last.prev, last.n) == (chain_at(fd, tail.end).hash, tail.line.n + 1):
        return Tail(last, tail.size, tail.size, finished=False)
    return tail


def chain_at(fd: int, end: int) -> Chain:
    """Returns what a line is linked to that begins at an offset: reads back to where its segment begins."""
    window = _WINDOW
    while True:
        start = max(0, end - window)
        data = read_at(fd, start, end - start)
        lines = data.removesuffix(b"\n").split(b"\n")
        if start:
            del lines[0]
        segment = _segment_in(lines, whole=start == 0)
        if segment is not None:
            chain = Chain()
            for raw, line in segment:
                chain.add(raw + b"\n", line.n, opens=line.kind == "file")
            return chain
        window *= 8


def follow(chain: Chain, data: bytes) -> None:
    """Adds the lines in bytes that begin with one to a chain; the last may lack its newline."""
    for raw in data.removesuffix(b"\n").split(b"\n"):
        line = parse(raw)
        if line is not None:
            chain.add(raw + b"\n", line.n, opens=line.kind == "file")


def _segment_in(lines: list[bytes], *, whole: bool) -> list[tuple[bytes, Line]] | None:
    """Returns the lines of the last segment, or nothing when it begins before these lines."""
    segment: list[tuple[bytes, Line]] = []
    for raw in reversed(lines):
        line = parse(raw)
        if line is not None:
            segment.append((raw, line))
            if line.kind == "file" or line.n % SEGMENT == 0:
                return segment[::-1]
    return segment[::-1] if whole else None


def read_at(fd: int, start: int, count: int) -> bytes:
    """Returns bytes of a file from an offset, fewer only at its end."""
    parts: list[bytes] = []
    while count > 0:
        part = os.pread(fd, min(count, _CHUNK), start)
        if not part:
            break
        parts.append(part)
        start += len(part)
        count -= len(part)
    return b"".join(parts)


def hash_at(fd: int, start: int, end: int) -> str:
    """Returns the SHA-256 of a range of a file, however long."""
    made = sha256()
    for part in _chunks(fd, start, end):
        made.update(part)
    return made.hexdigest()


def _chunks(fd: int, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        part = os.pread(fd, min(end - start, _CHUNK), start)
        if not part:
            return
        yield part
        start += len(part)


def opening_of(fd: int) -> Line | None:
    """Returns the line that opens a file, nothing when a crash took it. Sealed bytes may stand before it."""
    rest, at = b"", 0
    while part := os.pread(fd, _CHUNK, at):
        at += len(part)
        *lines, rest = (rest + part).split(b"\n")
        for raw in lines:
            line = parse(raw)
            if line is not None and line.kind != "seal":
                return line if line.kind == "file" else None
        rest = rest[: MAX_LINE + 1]  # what is longer is no line
    last = parse(rest)
    return last if last is not None and last.kind == "file" else None


def closed(fd: int, size: int) -> tuple[int, Chain, str] | None:
    """Returns the number of the line that closes a file, what the next file is linked to, and the id of the log.

    Nothing where the file is not closed.
    """
    tail = tail_of(fd, size)
    if tail.line is None or tail.line.kind != "turn":
        return None
    chain, opening = chain_at(fd, tail.end), opening_of(fd)
    chain.cut()
    return tail.line.n, chain, "" if opening is None else opening.log


def is_ours(fd: int) -> bool:
    """Tells whether a file without a whole line may be the beginning of a log, which a crash cut short."""
    head = read_at(fd, 0, len(START))
    return head.startswith((b"\0", START)) or START.startswith(head)
