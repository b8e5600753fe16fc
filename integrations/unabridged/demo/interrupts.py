"""Signals that end the demo: everything is taken down first, and no signal falls into the middle of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

ENDING: Final = tuple(
    number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)
"""The signals that ask a program to end."""


class Interrupts:
    """Turns each ending signal into an exception, except while something must not be torn apart.

    SIGINT raises `KeyboardInterrupt`, the others raise `SystemExit(128 + number)`, so that every `finally` runs.
    """

    def __init__(self) -> None:
        self._held = 0
        self._received: int | None = None

    def receive(self, number: int, _frame: FrameType | None) -> None:
        """Is the signal handler."""
        self._received = number
        if not self._held:
            self._end(number)

    def check(self) -> None:
        """Raises when a signal arrived that somebody's broad `except` has swallowed."""
        if self._received is not None:
            self._end(self._received)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Puts signals off until the block is left. The block must be bounded in time."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    @staticmethod
    def _end(number: int) -> NoReturn:
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Installs the handlers for the block and puts back what was there.

    Outside the main thread Python allows no handlers: there the block runs with those of its caller.
    """
    watch = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield watch
        return
    before = {number: signal.signal(number, watch.receive) for number in ENDING}
    try:
        yield watch
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
