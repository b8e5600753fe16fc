"""Looking at many lines at once: the segments of a block of a file, where all their lines are events.

That is nearly every segment of every log. Whatever else there is, is left to the walk line by line, which is slower and
says what is wrong; both accept the same lines. Of a segment whose hash fits, the links within it and the form of most
lines are looked at only where that is asked for: they are what was written, or all that follows was written anew.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import compress
from operator import itemgetter
from typing import Final

from .chain import SEGMENT, Chain
from .lines import EVENTS, MAX_LINE, START

BLOCK: Final = 1 << 20
_N: Final = 120
_DIGITS: Final = 19
_MORE: Final = 1 << 16
_MOST: Final = 1 << 20
_LINK: Final = slice(9, 73)
_REF: Final = slice(82, 114)
_KIND: Final = b',"kind":"'
_HEAD: Final = 76
"""Where the beginning of a line is looked at from: its reference, number and kind. The link before them is looked at
with its segment."""
_CONSTANT: Final = ((76, ord("r")), (81, ord('"')), (114, ord('"')), (119, ord(":")))
_BEGINS: Final = b"%s%s" % (str(SEGMENT)[1:].encode(), _KIND)
"""What stands in each line that begins a segment, but for those of a file."""
_BACK: Final = 256
_HEX: Final = b"0123456789abcdef"
_PATTERNS: Final = {unit: b"".join([b"%d" % digit * unit for digit in range(10)]) for unit in (1, 10, 100)}
_INTENT: Final = ord("i")
_ACTING: Final = bytes(chr(byte) in "io" for byte in range(256))
_CLOSING: Final = bytes(chr(byte) == "o" for byte in range(256))


@dataclass(frozen=True, slots=True)
class Run:
    """Segments of events that follow each other without a fault."""

    prev: str
    """What the first line is linked to."""
    n: int
    """The number of the first line."""
    count: int
    hash: str
    """What the line behind the last is linked to."""
    open: dict[bytes, int]
    """The references of intents without an outcome, and their place in the run, from 0; in the order of places."""
    outcomes: bytes
    """The references of all outcomes, joined by spaces."""
    hashes: dict[int, str]
    """The hashes of the numbers that were asked for."""


@dataclass(frozen=True, slots=True)
class Block:
    """The segments of a file that begin in `start:end`."""

    path: str
    start: int
    end: int


def run_of(block: Block, wanted: Sequence[int] = (), *, strict: bool = False) -> tuple[int, int, Run | None]:
    """Returns where the segments of a block begin and end, and their run, or nothing when not all lines are events."""
    with open(block.path, "rb", buffering=0) as file:
        start, data, after = _segments_in(file.fileno(), block)
    return start, start + len(data), _run(data, after, wanted, strict=strict) if data else None


def _segments_in(fd: int, block: Block) -> tuple[int, bytes, bytes]:
    """Returns the segments that begin in a block: the offset of the first, their bytes, and what is linked to them."""
    first = max(0, block.start - _BACK)
    data = os.pread(fd, block.end + _MORE - first, first)
    found = data.find(_BEGINS, block.end - first)
    if found < 0 and len(data) == block.end + _MORE - first:
        data += os.pread(fd, _MOST, first + len(data))
        found = data.find(_BEGINS, block.end - first)
    begin = _line_with(data, data.find(_BEGINS, block.start - first))
    end = _line_with(data, data.rfind(_BEGINS) if found < 0 else found)
    if not 0 < begin < end:
        return block.start, b"", b""
    return first + begin, data[begin:end], data[end + _LINK.start : end + _LINK.stop]


def _line_with(data: bytes, place: int) -> int:
    """Returns where the line begins in which a place lies."""
    return data.rfind(b"\n", 0, place) + 1 if place > 0 else 0


def _run(data: bytes, after: bytes, wanted: Sequence[int], *, strict: bool = False) -> Run | None:
    if not data.startswith(START) or not data.endswith(b"\n") or not data.isascii():
        return None
    lines = data.split(b"\n")
    lines.pop()
    count, digits = len(lines), data.find(b",", _N) - _N
    if not 0 < digits < _DIGITS or not data[_N : _N + digits].isdigit():
        return None
    width = _N + digits + len(_KIND) + 1
    heads = b"".join([line[_HEAD:width] for line in lines])
    width -= _HEAD
    first = int(data[_N : _N + digits])
    if len(heads) != width * count or not _is_usual(heads, width, first, digits):
        return None
    lengths = list(map(len, lines))
    last_hash = _proven(data, lines, lengths, first, strict=strict)
    if last_hash is None or last_hash.encode() != after or not _have_form(data, lines, lengths, strict=strict):
        return None
    refs, prev = [line[_REF] for line in lines], data[_LINK]
    if b"".join([prev, *refs]).translate(None, _HEX):
        return None
    opened, outcomes = _acts(refs, heads[width - 1 :: width])
    hashes = {n: _hash_at(lines, n - first) for n in wanted if first <= n < first + count}
    return Run(prev.decode(), first, count, last_hash, opened, b" ".join(outcomes), hashes)


def _is_usual(heads: bytes, width: int, first: int, digits: int) -> bool:
    """Tells whether lines begin as events do, with numbers that follow each other.

    The beginnings stand behind each other and are all of one width, so that a place of each is a slice with a step.
    Where numbers become a digit more they are not, and the lines are looked at one by one.
    """
    count = len(heads) // width
    for place, byte in (*_CONSTANT, (_N + digits, _KIND[0]), (_HEAD + width - 2, _KIND[-1])):
        if heads[place - _HEAD :: width].count(byte) != count:
            return False
    last = first + count - 1
    return last < 10**digits and all(
        heads[_N - _HEAD + place :: width] == _digits(first, last, 10 ** (digits - 1 - place))
        for place in range(digits)
    )


def _digits(first: int, last: int, unit: int) -> bytes:
    """Returns the digit of one decimal place in all numbers from the first to the last."""
    pattern = _PATTERNS.get(unit)
    if pattern is not None:
        start, count = first % len(pattern), last - first + 1
        return (pattern * ((start + count) // len(pattern) + 1))[start : start + count]
    parts = []
    while first <= last:
        after = min(last + 1, (first // unit + 1) * unit)
        parts.append(b"%d" % (first // unit % 10) * (after - first))
        first = after
    return b"".join(parts)


def _proven(data: bytes, lines: list[bytes], lengths: list[int], first: int, *, strict: bool) -> str | None:
    """Returns the hash of the last segment, or nothing where a segment is not linked to the one before."""
    if first % SEGMENT or len(lines) % SEGMENT:
        return None
    link, all_bytes, start = lines[0][_LINK].decode(), memoryview(data), 0
    for at in range(0, len(lines), SEGMENT):
        if lines[at][_LINK] != link.encode():
            return None
        end = start + sum(lengths[at : at + SEGMENT]) + SEGMENT
        link, start = sha256(all_bytes[start:end]).hexdigest(), end
    if strict:
        chain = Chain()
        for n, line in enumerate(lines, first):
            if n > first and line[_LINK] != chain.hash.encode():
                return None
            chain.add(line + b"\n", n)
    return link


def _hash_at(lines: list[bytes], place: int) -> str:
    """Returns the hash of the line at a place, that is what the next one is linked to."""
    return sha256(b"\n".join([*lines[place - place % SEGMENT : place + 1], b""])).hexdigest()


def _have_form(data: bytes, lines: list[bytes], lengths: list[int], *, strict: bool) -> bool:
    """Tells whether lines have the form of events: all of them, or the last of each length."""
    if max(lengths) > MAX_LINE:
        return False
    some = data if strict else b"\n".join([*dict(zip(lengths, lines, strict=True)).values(), b""])
    return EVENTS.fullmatch(some) is not None


def _acts(refs: list[bytes], kinds: bytes) -> tuple[dict[bytes, int], list[bytes]]:
    """Returns the intents that stay open, and the references of all outcomes."""
    acting = kinds.translate(_ACTING)
    last = dict(zip(compress(refs, acting), compress(kinds, acting), strict=True))
    outcomes = list(compress(refs, kinds.translate(_CLOSING)))
    if _INTENT not in last.values():
        return {}, outcomes
    opened = {ref for ref, kind in last.items() if kind == _INTENT}
    begun = {ref: place for place, ref in enumerate(refs) if ref in opened and kinds[place] == _INTENT}
    return dict(sorted(begun.items(), key=itemgetter(1))), outcomes
