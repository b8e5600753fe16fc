"""A clock that moves only when it is told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

REPLAY_START: Final = datetime(2026, 11, 30, 9, tzinfo=UTC)
"""When every replay starts."""
_LAST: Final = datetime.max.replace(tzinfo=UTC)


class VirtualClock:
    """A clock for tests: sleeping moves it and takes no real time.

    >>> clock = VirtualClock()
    >>> clock.sleep(90)
    >>> clock.now().isoformat()
    '2026-11-30T09:01:30+00:00'
    """

    def __init__(self, start: datetime = REPLAY_START) -> None:
        self._start = start
        self._elapsed_s = 0.0
        self.slept_s: list[float] = []
        """Every wait that was asked for, in order, in seconds."""

    def now(self) -> datetime:
        """Returns the wall-clock time in UTC; where no date is late enough, the last one."""
        left_s = (_LAST - self._start).total_seconds()
        return self._start + timedelta(seconds=self._elapsed_s) if self._elapsed_s < left_s else _LAST

    def monotonic(self) -> float:
        """Returns the seconds since the start."""
        return self._elapsed_s

    def advance(self, seconds: float) -> None:
        """Moves the clock; it never goes back."""
        self._elapsed_s += max(0.0, seconds)

    def sleep(self, seconds: float) -> None:
        """Moves the clock and remembers the wait."""
        self.slept_s.append(seconds)
        self.advance(seconds)

    async def asleep(self, seconds: float) -> None:
        """As `sleep`."""
        self.sleep(seconds)
