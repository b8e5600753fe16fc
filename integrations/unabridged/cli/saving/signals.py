"""SIGINT, SIGTERM and SIGHUP as one exception, never raised while a page is saved or a run is being closed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Final, Self

_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupted(BaseException):
    """The run was asked to stop. Not an `Exception`, so that nothing on the way takes it for a failure."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Interruptible:
    """While it is open, the first signal raises `Interrupted`: at once, or once a page has been saved.

    Args:
        armed: whether it does so from the beginning, or from when it is armed.
    """

    def __init__(self, *, armed: bool = True) -> None:
        self._armed = armed
        self._waiting: str | None = None
        self._before: dict[int, Any] = {}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lets nothing inside the block be stopped halfway; a signal that came meanwhile is raised after it."""
        armed, self._armed = self._armed, False
        yield
        if armed:
            self.arm()

    def arm(self) -> None:
        """From here on the run can be stopped; a signal that came before is raised now."""
        self._armed = True
        if self._waiting is not None:
            self._armed = False
            raise Interrupted(self._waiting)

    def disarm(self) -> None:
        """From here on the run is being closed, and is not stopped any more."""
        self._armed = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {one: signal.signal(one, self._stop) for one in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _stop(self, number: int, _: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self._armed:
            self._armed = False
            raise Interrupted(name)
        self._waiting = self._waiting or name
