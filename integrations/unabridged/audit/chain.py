"""The hash that each line is linked to: over all lines of its segment before it, the first of which carries the one
of the segment before. So each link holds all that stands before it, and a segment is proven by one hash."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

from .lines import NO_LINE

SEGMENT: Final = 100
"""A line whose number this divides begins a segment; so do the line that opens a file, and its first."""


class Chain:
    """The hash as far as lines were added."""

    __slots__ = ("_made", "hash")

    def __init__(self) -> None:
        self._made: Any = None
        self.hash = NO_LINE

    def add(self, line: bytes, n: int, *, opens: bool = False) -> None:
        """Takes the next line, with its newline."""
        if self._made is None or opens or n % SEGMENT == 0:
            self._made = sha256(line)
        else:
            self._made.update(line)
        self.hash = self._made.hexdigest()

    def cut(self, link: str | None = None) -> None:
        """Lets the next line begin a segment; it is linked to what is given, or to what was added."""
        self._made = None
        self.hash = link or self.hash
