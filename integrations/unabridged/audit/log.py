"""The audit log as its user sees it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, Self

from unabridged.contract.errors import InvalidInput, NotYetSupported, UnabridgedError, value_free

from .events import AuditEvent
from .heads import Head
from .keys import Correlate, Key, Keyed, keyed_or_fault
from .system import HAS_LOCKS, System
from .writer import Rules, Writer

_MIN_BYTES: Final = 4_096
_NO_KEY: Final[Any] = None


class AuditLog:
    """An append-only, hash-chained file of events, which several threads and processes may write.

    `write` returns when the event was handed to the operating system: it survives the death of the process. A crash of
    the machine can take what was written since the last fsync, that is `sync_s` seconds, or nothing with
    `fsync="event"`; it can never take it unseen where a head or an anchor lies elsewhere.

    Bytes that a crash left behind are kept and sealed by a line of their own when the log is opened or written next.
    After a process was forked, the child opens the file anew by itself.

    Args:
        path: the first file of the log. The next ones bear its name and a number: `audit.jsonl.000002`.
        key: 16 bytes or more (32 random ones are best), or a function that returns them; see `key_file`.
        fsync: `group` makes events last together, `event` each before `write` returns.
        max_bytes: the size from which a new file is begun.
        correlate: where two digests of one value are equal: nowhere (`never`), within a session, or in the whole log.
        head: where the signed head of the log is kept up to date, best on another machine's disk. It proves that
            nothing is missing at the end of the log.
        sync_s: how long an event may wait for its fsync, in seconds.
        lock_s: how long a write waits for other writers, in seconds.
        now: the clock; the system's, without one.
        system: the calls that write.

    Raises:
        AuditKeyMissing: without a key.
        InvalidInput: for a key that is too short, and for a path that is no audit log.
        AuditFailed: when the file cannot be opened.
    """

    __slots__ = ("__weakref__", "_finalizer", "_keyed", "_writer")

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: Key = _NO_KEY,
        fsync: Literal["group", "event"] = "group",
        max_bytes: int = 256 * 1024 * 1024,
        correlate: Correlate = "never",
        head: str | os.PathLike[str] | None = None,
        sync_s: float = 1.0,
        lock_s: float = 10.0,
        now: Callable[[], datetime] | None = None,
        system: System | None = None,
    ) -> None:
        keyed = keyed_or_fault(key, correlate)
        del key
        if not isinstance(keyed, Keyed):
            raise keyed
        self._keyed = keyed
        if not HAS_LOCKS:
            raise NotYetSupported(feature="an audit log on a system without flock")
        if fsync not in ("group", "event"):
            raise InvalidInput(field="audit.fsync", rule="must be group or event")
        if type(max_bytes) is not int or max_bytes < _MIN_BYTES:
            raise InvalidInput(field="audit.max_bytes", rule=f"must be {_MIN_BYTES} or more")
        for name, seconds in (("sync_s", sync_s), ("lock_s", lock_s)):
            if not 0 < seconds < 86_400:
                raise InvalidInput(field=f"audit.{name}", rule="must be more than 0 and less than a day")
        rules = Rules(
            each=fsync == "event", max_bytes=max_bytes, sync_s=sync_s, lock_s=lock_s, now=now,
            head=None if head is None else Path(head), system=system or System(),
        )  # fmt: skip
        try:
            self._writer = Writer(Path(path), rules, self._keyed)
        except UnabridgedError as error:
            error.__context__ = error.__cause__ = None
            raise
        self._finalizer = weakref.finalize(self, self._writer.close_quietly)

    def write(self, event: AuditEvent) -> None:
        """Hands an event to the operating system. A second event of the same kind and reference writes nothing.

        Raises:
            AuditFailed: when the event could not be written whole. What it speaks of must not run.
            InvalidInput: for an event that does not fit into a line.
        """
        session = event.session
        try:
            self._writer.append(event, None if session is None else self._keyed.session(session))
        except UnabridgedError as error:
            error.__context__ = error.__cause__ = None  # the system's own error names the path
            raise

    @value_free
    def digest(self, value: Any, *, session: str | None = None) -> str:
        """Returns a keyed digest of a value: a salt of 8 bytes and 24 of an HMAC-SHA256, in 64 hexadecimal digits.

        By default no two digests are equal, also of equal values; see `correlate`. `matches` tells with the key
        whether a digest is one of a value.

        Raises:
            InvalidInput: for a value that has no JSON.
        """
        return self._keyed.digest(value, session=session)

    def matches(self, digest: str, value: Any) -> bool:
        """Tells whether a digest of this log, or of another with the same key, is one of this value."""
        return self._keyed.matches(digest, value)

    def session_name(self, session: str) -> str:
        """Returns what the log writes for the digest of a session's key."""
        return self._keyed.session(session)

    @value_free
    def sync(self) -> None:
        """Makes everything that was written last, and brings the head up to date.

        Raises:
            AuditFailed: when the operating system could not; nothing more is written then.
        """
        self._writer.sync()

    @value_free
    def head(self) -> Head:
        """Returns the signed head: number and hash of the last line that this log has written or seen."""
        return self._writer.head()

    @value_free
    def close(self) -> None:
        """Syncs and closes the log; more writes fail. Closing twice does nothing.

        Raises:
            AuditFailed: when the last events could not be made to last.
        """
        self._finalizer.detach()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        writer = getattr(self, "_writer", None)
        return f"AuditLog({'closed' if writer is None else writer.said()})"

    def __reduce__(self) -> Any:
        raise TypeError("an audit log is not pickled; open it anew")
