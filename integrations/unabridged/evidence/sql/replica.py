"""What one process knows of a session that several processes keep."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from unabridged.contract import LedgerUnavailable, ReadResult
from unabridged.evidence.header import RecordedRead
from unabridged.evidence.ledger import Event, Journal, Recorded, SessionKey, Shown
from unabridged.evidence.scope import Mask
from unabridged.evidence.view import Evidence

from .database import Link
from .events import decode, encode
from .store import SqlStore


class Replica(Journal):
    """A journal as this process knows it: the events of the database up to `seen`, and those of the turn under way."""

    __slots__ = ("base", "depth", "link", "mask", "moment", "owner", "row_id", "seen", "store", "unsaved", "used_us")

    def __init__(self, key: SessionKey, now: datetime, *, owner: str, mask: Mask, store: SqlStore) -> None:
        super().__init__(key, now, evidence=Evidence(mask=mask))
        self.owner = owner
        self.mask = mask
        self.store = store
        self.row_id: int | None = None
        """The session's row; `None` while the database was never reached."""
        self.seen = 0
        self.used_us = 0
        self.unsaved: list[str] = []
        self.base = 0
        """How many of the unsaved events were due by themselves, and not the block's."""
        self.depth = 0
        """How many blocks of this thread hold the turn."""
        self.link: Link | None = None
        self.moment = now

    def append(self, event: Event) -> RecordedRead | None:
        """Takes an event in, and keeps it for the end of the turn; one that changes nothing is not written down."""
        if not self.alive:
            return super().append(event)
        if self.link is None:
            raise LedgerUnavailable(why="a session changes within a turn of it only")
        known = self._known(event)
        if known is not None and isinstance(event, Recorded) and not known.is_pending:
            event = replace(event, read=replace(event.read, held=known.held))  # what the store has is what counts
        calls = len(self.calls)
        read = super().append(event)
        if known is None or read is not known or len(self.calls) > calls:
            self.unsaved.append(encode(event, self.mask))
        return read

    def _known(self, event: Event) -> RecordedRead | None:
        match event:
            case Recorded(read):
                return self.evidence.find(read.id)
            case Shown(read_id):
                return self.evidence.find(read_id)
            case _:
                return None

    def replay(self, body: str) -> None:
        """Takes in what another process wrote down."""
        super().append(decode(body, self._load))

    def _load(self, read_id: str) -> ReadResult | None:
        return self.store.get(self.key.digest, read_id, now=self.moment)

    def start_over(self) -> None:
        """Forgets what was taken in, so that the next turn takes it from the database; the handles of sources stay."""
        routes = {name: route for name, route in self.handles.items() if not isinstance(route, tuple)}
        notes = dict(self.notes)
        alive = self.alive
        self.forget()
        self.handles.update(routes)
        self.notes.update(notes)
        self.alive = alive
        self.seen = 0

    def forget(self) -> None:
        """Forgets everything; what is asked of the evidence from now on is refused."""
        super().forget()
        self.unsaved.clear()
