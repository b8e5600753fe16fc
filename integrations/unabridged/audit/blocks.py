"""Looking at many lines at once: a block of a file whose lines are all events that follow each other.

That is nearly every block of every log. Whatever else a block holds is left to the walk line by line, which is slower
and says what is wrong; both accept the same lines.
"""

from __future__ import annotations

import os
from binascii import hexlify, unhexlify
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from .lines import EVENTS, MAX_LINE

BLOCK: Final = 1 << 18
_PREV: Final = slice(9, 73)
_REF: Final = slice(82, 114)
_N: Final = 120
_MORE: Final = 1 << 12
_INTENT: Final = ord("i")
_OUTCOME: Final = ord("o")


@dataclass(frozen=True, slots=True)
class Run:
    """Events that follow each other without a fault."""

    prev: str
    """What the first of them is linked to."""
    n: int
    """The number of the first."""
    count: int
    hash: str
    """The hash of the last."""
    open: dict[bytes, int]
    """The references of intents without an outcome, and their place in the run, from 0."""
    outcomes: bytes
    """The references of all outcomes, joined by spaces."""
    hashes: dict[int, str]
    """The hashes of the numbers that were asked for."""


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of a file that begin in `start:end`."""

    path: str
    start: int
    end: int


def run_of(block: Block, wanted: Sequence[int] = ()) -> tuple[int, int, Run | None]:
    """Returns where the lines of a block begin and end, and their run, or nothing when they are not all of one."""
    with open(block.path, "rb", buffering=0) as file:
        start, data = _lines_in(file.fileno(), block)
    return start, start + len(data), _run(data, wanted) if data else None


def _lines_in(fd: int, block: Block) -> tuple[int, bytes]:
    """Returns the bytes of the lines that begin in a block, and the offset of the first."""
    before = 1 if block.start else 0
    first = block.start - before
    data = os.pread(fd, block.end - first + _MORE, first)
    skipped = data.find(b"\n", 0, block.end - first) + 1 if before else 0
    if before and not skipped:
        return block.end, b""  # no line begins here
    wanted = block.end - first
    newline = data.find(b"\n", wanted - 1) + 1
    while not newline:
        more = os.pread(fd, MAX_LINE, first + len(data))
        found = more.find(b"\n") + 1
        newline = len(data) + (found or len(more))
        data += more[: found or None]
        if not found and len(more) < MAX_LINE:
            break
        if not found:
            return block.start, b""
    return first + skipped, data[skipped:newline]


def _run(data: bytes, wanted: Sequence[int]) -> Run | None:
    if not data.endswith(b"\n") or EVENTS.fullmatch(data) is None:
        return None
    lines = data.split(b"\n")
    lines.pop()
    refs = [line[_REF] for line in lines]
    if not _all_hex(b"".join(refs)):
        return None
    digits = data.index(b",", _N) - _N  # where they become more, the lines are looked at one by one
    opened, outcomes = _acts(lines, refs, _N + digits + len(',"kind":"'))
    first = int(data[_N : _N + digits])
    if lines[-1][_N : _N + digits + 1] != b"%d," % (first + len(lines) - 1):
        return None
    if len(data) > MAX_LINE and max(map(len, lines)) > MAX_LINE:
        return None
    digests = [made.digest() for made in map(sha256, lines)]
    if b"".join([line[_PREV] for line in lines[1:]]) != b"".join(digests[:-1]).hex().encode():
        return None
    prev = data[_PREV]
    if not _all_hex(prev):
        return None
    last = first + len(lines)
    hashes = {n: digests[n - first].hex() for n in wanted if first <= n < last}
    return Run(prev.decode(), first, len(lines), digests[-1].hex(), opened, b" ".join(outcomes), hashes)


def _all_hex(text: bytes) -> bool:
    try:
        return hexlify(unhexlify(text)) == text
    except ValueError:
        return False


def _acts(lines: list[bytes], refs: list[bytes], kind: int) -> tuple[dict[bytes, int], list[bytes]]:
    """Returns the intents that stay open, and the references of all outcomes."""
    opened: dict[bytes, int] = {}
    outcomes: list[bytes] = []
    for place, (line, ref) in enumerate(zip(lines, refs, strict=True)):
        what = line[kind]
        if what == _INTENT:
            opened[ref] = place
        elif what == _OUTCOME:
            outcomes.append(ref)
            opened.pop(ref, None)
    return opened, outcomes
