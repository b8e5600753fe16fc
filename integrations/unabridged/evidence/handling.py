"""Going on with what a session has read: how much of it was shown, and where a handle leads."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any

from unabridged.contract import UnresolvedHandle, new_handle

from .header import Asked, RecordedRead
from .ledger import Handed, Journal, Repeated, SessionKey, Shown
from .pending import MAX_REPEATS, Route, SourceRoute, StoredRest
from .store import ResultStore


class Handling:
    """What a session knows of its handles. A part of `Session`."""

    key: SessionKey
    store: ResultStore

    def _turn(self) -> AbstractContextManager[tuple[Journal, datetime]]:
        raise NotImplementedError

    def presented(self, read_id: str, shown: int, *, handle: str | None = None) -> str | None:
        """Notes that only the first `shown` records of a read were shown; returns a handle to the rest.

        Once all of them were shown, or where the read is not known, there is no rest and no handle.
        """
        with self._turn() as (journal, _):
            read = journal.evidence.find(read_id)
            if read is None or read.status == "unavailable":
                return None
            rest = shown < read.returned
            journal.append(Shown(read_id, shown if rest else None, read.counted))
            if not rest:
                return None
            handle = handle or new_handle()
            journal.append(Handed(handle, read_id, shown))
            return handle

    def counted(self, read_id: str) -> None:
        """Notes that code counted over the whole of a read: what was shown of it does not hold back a write."""
        with self._turn() as (journal, _):
            read = journal.evidence.find(read_id)
            if read is not None:
                journal.append(Shown(read_id, read.shown, True))

    def whole(self, read_id: str) -> str | None:
        """Returns a handle to a recorded read from its first record on; nothing where the read is not known."""
        with self._turn() as (journal, _):
            read = journal.evidence.find(read_id)
            if read is None or read.status == "unavailable":
                return None
            handle: str | None = journal.notes.get(f"{read_id}:whole")
            if handle is None:
                handle = journal.notes[f"{read_id}:whole"] = new_handle()
                journal.append(Handed(handle, read_id, 0))
            return handle

    def read_of(self, handle: str) -> RecordedRead | None:
        """Returns the read that a handle leads on from, without going there; nothing for a handle of no read."""
        with self._turn() as (journal, _):
            route = journal.route(handle)
            if isinstance(route, tuple):
                return journal.evidence.find(route[0])
            return route.read if isinstance(route, SourceRoute) else None

    def resolve(self, handle: str) -> Route:
        """Returns what a handle of this session leads to: the stored rest of a read, or the way on at its source.

        A read that starts again may do so three times in a session. The way on at a source leads on in the process
        that read there only: it holds what the source was asked with. The stored rest is found from every process.

        Raises:
            UnresolvedHandle: the handle is of another session, forgotten, spent, or never was one.
        """
        with self._turn() as (journal, now):
            route = journal.route(handle)
            if isinstance(route, tuple):
                return self._stored_rest(journal, *route, now=now)
            if not isinstance(route, SourceRoute) or not journal.alive:
                raise UnresolvedHandle
            if route.attempts_left is None:
                return route
            scope = (route.read.resource, route.read.filter_key)
            spent = journal.repeats.get(scope, 0)
            if spent >= MAX_REPEATS or route.attempts_left <= 0:
                raise UnresolvedHandle
            journal.append(Repeated(*scope))
            return replace(route, attempts_left=MAX_REPEATS - spent - 1)

    def _stored_rest(self, journal: Journal, read_id: str, start: int, *, now: datetime) -> StoredRest:
        read = journal.evidence.find(read_id)
        result = self.store.get(self.key.digest, read_id, now=now)
        if read is None or result is None:
            raise UnresolvedHandle
        return StoredRest(read, result, start)

    def repeats_left(self, resource: str, filters: Mapping[str, Any] | None = None) -> int:
        """Returns how often a read of this scope may still be started again after it failed altogether."""
        with self._turn() as (journal, _):
            scope = Asked(resource, filters or {}).pending().masked(journal.evidence.mask).filter_key
            return max(0, MAX_REPEATS - journal.repeats.get((resource, scope), 0))
