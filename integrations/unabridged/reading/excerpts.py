"""Pieces of a text, put together as one excerpt; no character is cut in two."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Any, Literal

from unabridged.contract.parts import Excerpt


class Pieces:
    """The pieces that one link of a read has brought, in order and without a gap.

    Args:
        unit: what the bounds count.
        start: the first unit of the first piece.
    """

    def __init__(self, unit: Literal["bytes", "lines"], start: int) -> None:
        self._unit = unit
        self._start = start
        self._units = 0
        self._pieces: list[bytes] = []
        self.total: int | None = None
        """How many units the whole text has, as far as it is stated."""

    def add(self, piece: bytes, *, units: int) -> None:
        """Adds the next piece."""
        if self._unit == "lines" and self._pieces and piece and not self._pieces[-1].endswith(b"\n"):
            self._pieces[-1] += b"\n"
        self._pieces.append(piece)
        self._units += units

    @property
    def next_start(self) -> int:
        """Where the next excerpt starts: before a character that this one holds only in part."""
        left = _decoded(b"".join(self._pieces), is_end=False)[1] if self._unit == "bytes" else 0
        return self._start + self._units - left

    def excerpt(self, *, reference: str, version: str | None, is_end: bool) -> tuple[Mapping[str, Any], bool]:
        """Returns the excerpt, and whether its text is exactly what the bytes say.

        Args:
            reference: the address of the text.
            version: what identifies its state.
            is_end: whether the text ends here; else a character that is cut in two is left to the next excerpt.
        """
        data = b"".join(self._pieces)
        text, left, exact = _decoded(data, is_end=is_end or self._unit != "bytes")
        end = self._start + self._units - left
        whole = Excerpt(
            reference=reference,
            version=version,
            unit=self._unit,
            start=self._start,
            end=end,
            total=self.total if self.total is not None and self.total >= end else None,
            text=text,
        )
        return whole.to_item(), exact


def _decoded(data: bytes, *, is_end: bool) -> tuple[str, int, bool]:
    """Returns the text, how many bytes of an unfinished character are left, and whether all of it was UTF-8."""
    for errors in ("strict", "replace"):
        decoder = codecs.getincrementaldecoder("utf-8")(errors)
        try:
            text = decoder.decode(data, final=is_end)
        except UnicodeDecodeError:
            continue
        return text, len(decoder.getstate()[0]), errors == "strict"
    return "", 0, False
