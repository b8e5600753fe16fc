"""Moments as the log writes them: in UTC, to the microsecond."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime


class Stamps:
    """Writes moments. A clock of nanoseconds costs a tenth of one that returns moments."""

    def __init__(self, now: Callable[[], datetime] | None) -> None:
        self._now = now
        self._second, self._text = -1, ""

    def __call__(self) -> str:
        """Returns this moment."""
        if self._now is not None:
            return _stamp(self._now())
        second, rest = divmod(time.time_ns(), 1_000_000_000)
        if second != self._second:
            self._second, self._text = second, time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second))
        return f"{self._text}{rest // 1000:06d}Z"


def _stamp(moment: datetime) -> str:
    text = moment.isoformat(timespec="microseconds")
    if not text.endswith("+00:00") and moment.tzinfo is not None:
        text = moment.astimezone(UTC).isoformat(timespec="microseconds")
    return text[:26] + "Z"
