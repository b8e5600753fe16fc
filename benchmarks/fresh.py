"""A session that is new in every turn, so that no turn pays for the records that an earlier one left in it."""

from __future__ import annotations

from itertools import count

from unabridged import session
from unabridged.audit import AuditLog
from unabridged.evidence import Session

from .harness import Work


class FreshSession:
    """Opens a new session each time it is called, and reads in it what the measured calls rely on, if anything."""

    def __init__(self, read: Work | None = None, *, audit: AuditLog | None = None) -> None:
        self._read = read
        self._audit = audit
        self._numbers = count()
        self._open: Session | None = None

    def __call__(self) -> None:
        self.close()
        self._open = session(f"bench-{next(self._numbers)}", audit=self._audit).open()
        if self._read is not None:
            self._read()

    def close(self) -> None:
        """Takes the session out of scope and forgets it."""
        if self._open is not None:
            self._open.close()
            self._open.erase()
            self._open = None
