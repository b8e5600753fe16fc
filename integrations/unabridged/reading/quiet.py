"""What an HTTP client may log while it works for us: that it did, and nothing that was asked or answered.

The clients log whole addresses at info level and response heads at debug level: filter values, cursors and cookies.
So does the library that packs the heads of HTTP/2 for them. What they log for anyone else is left alone.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Final

from unabridged._ambient import Held

from .deadlines import is_in_force

_LOGGERS: Final = (
    "httpx", "httpx2", "hpack.hpack", "hpack.table",
    *(f"{core}.{part}" for core in ("httpcore", "httpcore2") for part in
      ("connection", "http11", "http2", "proxy", "socks")),
)  # fmt: skip
_at_work: Final[ContextVar[bool]] = ContextVar("unabridged_at_work", default=False)


class _NoValues(logging.Filter):
    """Leaves of a record of ours its first word, and of a request its status; reads and writes are told alike."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record pass; one that was logged for us says less."""
        if _at_work.get() or is_in_force():
            args = record.args if isinstance(record.args, tuple) else ()
            numbers = [one for one in args if type(one) is int]
            record.msg = " ".join(["unabridged:", str(record.msg).split(" ", 1)[0], *map(str, numbers)])
            record.args = ()
        return True


def keep_quiet() -> None:
    """Makes the loggers of the HTTP clients say nothing of what a read or a write asks."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)


def at_work() -> Held[bool]:
    """Marks what a block logs as logged for a read or a write. What keeps a deadline is marked by that."""
    return Held(_at_work, True)


_FILTER: Final = _NoValues()
