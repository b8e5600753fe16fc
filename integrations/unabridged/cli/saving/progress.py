"""How far a run is, on standard error: one line that is rewritten on a terminal, else a line now and then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TextIO

_EVERY_S: Final = {True: 0.1, False: 5.0}


class Progress:
    """Says how many pages and records there are."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float], quiet: bool = False) -> None:
        self._stream: Any = stream
        self._clock = clock
        self._quiet = quiet
        self._is_terminal = stream.isatty()
        self._started = clock()
        self._last: float | None = None
        self._open = False

    def page(self, *, pages: int, records: int) -> None:
        """Notes that a page was saved."""
        now = self._clock()
        if self._quiet or (self._last is not None and now - self._last < _EVERY_S[self._is_terminal]):
            return
        self._last = now
        text = f"{pages} {'page' if pages == 1 else 'pages'}, {records} records, {now - self._started:.1f} s"
        self._write(f"\r{text}\x1b[K" if self._is_terminal else f"{text}\n")
        self._open = self._is_terminal

    def say(self, sentence: str) -> None:
        """Says a sentence, also when it is to be quiet: it tells what the records are worth."""
        self._write(f"\n{sentence}\n" if self._open else f"{sentence}\n")
        self._open = False

    def _write(self, text: str) -> None:
        """Writes a note; one that cannot be written ends no run."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
