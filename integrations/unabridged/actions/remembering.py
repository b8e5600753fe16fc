"""What was done already: for each thing that an action did in a session, a note without a value.

The note stands in the ledger, so that workers who share it share the memory. Its name is a keyed digest. An attempt is
claimed before it is made; one that was claimed and never settled may have happened.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from unabridged.audit.canonical import canonical
from unabridged.contract import LedgerUnavailable, UnabridgedError

if TYPE_CHECKING:
    from unabridged.evidence import Session

State = Literal["begun", "done", "failed", "unknown"]
Claim = Literal["run", "again", "done", "unknown"]
_log = logging.getLogger("unabridged.actions")
_OPEN: Final = ("begun", "unknown")
_KEPT: Final = 10_000


class Memory(Protocol):
    """Remembers attempts by their keys."""

    def key(self, value: Any) -> str:
        """Returns the keyed digest of JSON values, 64 hex digits."""
        ...

    def claim(self, key: str, *, under: str, again: bool) -> Claim:
        """Returns whether the attempt may be made now, and if so claims it: `run`, or `again` after one that is open.

        Args:
            key: what is to be done.
            under: the key of the command that it goes out with.
            again: whether it may be repeated, under the same key, although it may have happened.
        """
        ...

    def sent_under(self, key: str) -> str | None:
        """Returns the key under which something went out that was done or may have been; nothing where it was not."""
        ...

    def settle(self, key: str, state: State) -> None:
        """Notes what came of an attempt."""
        ...

    def resolve(self, key: str, *, done: bool) -> bool:
        """Notes what someone found out about an attempt that may have happened; tells whether there was one."""
        ...


class SessionMemory:
    """Remembers in the notes of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._attempts: dict[str, tuple[int, str]] = {}

    def __repr__(self) -> str:
        return f"<SessionMemory of {self._session!r}>"

    def key(self, value: Any) -> str:
        """Returns the keyed digest of JSON values in this session, by the key of the ledger."""
        return self._session.tickets.digest([self._session.key.digest, value])

    def claim(self, key: str, *, under: str, again: bool) -> Claim:
        """Returns whether the attempt may be made now, and if so claims it."""
        while True:
            note = self._session.note_of(_name(key))
            state, attempt, sent = note or ("failed", -1, under)
            if state == "done":
                return "done"
            if state != "failed" and not (again and sent == under):
                return "unknown"
            if self._session.first_time(f"{_name(key)}:{attempt + 1}"):
                if not self._session.alive:  # looked at last: what was forgotten before cannot be told from new
                    raise LedgerUnavailable(why="the session was evicted or erased")
                self._attempts[key] = attempt + 1, under
                self._session.keep_note(_name(key), ["begun", attempt + 1, under])
                return "run" if state == "failed" else "again"
            if self._session.note_of(_name(key)) == note:
                return "unknown"  # another has claimed it and not noted it yet

    def sent_under(self, key: str) -> str | None:
        """Returns the key under which something went out that was done or may have been; nothing where it was not."""
        note = self._session.note_of(_name(key))
        return None if note is None or note[0] == "failed" else str(note[2])

    def settle(self, key: str, state: State) -> None:
        """Notes what came of an attempt. Where that fails it stays begun: it may have happened."""
        try:
            self._session.keep_note(_name(key), [state, *self._attempts.get(key, (0, key))])
        except UnabridgedError as error:
            _log.error("what an action did was not noted: %s", type(error).__name__)

    def resolve(self, key: str, *, done: bool) -> bool:
        """Notes what someone found out about an attempt that may have happened; tells whether there was one."""
        note = self._session.note_of(_name(key))
        if note is None or note[0] not in _OPEN:
            return False
        self._session.keep_note(_name(key), ["done" if done else "failed", *note[1:]])
        return True


class ProcessMemory:
    """Remembers in this process, for actions that run without a session; bounded, the oldest go first."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._states: OrderedDict[str, tuple[State, str]] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<ProcessMemory of {len(self._states)}>"

    def key(self, value: Any) -> str:
        """Returns the keyed digest of JSON values, by a random key of this process."""
        return hmac.digest(self._secret, canonical(value), "sha256").hex()

    def claim(self, key: str, *, under: str, again: bool) -> Claim:
        """Returns whether the attempt may be made now, and if so claims it."""
        with self._lock:
            state, sent = self._states.get(key, ("failed", under))
            if state == "done":
                return "done"
            if state != "failed" and not (again and sent == under):
                return "unknown"
            self._states[key] = "begun", under
            while len(self._states) > _KEPT:
                self._states.popitem(last=False)
            return "run" if state == "failed" else "again"

    def sent_under(self, key: str) -> str | None:
        """Returns the key under which something went out that was done or may have been; nothing where it was not."""
        with self._lock:
            state, sent = self._states.get(key, ("failed", key))
            return None if state == "failed" else sent

    def settle(self, key: str, state: State) -> None:
        """Notes what came of an attempt."""
        with self._lock:
            self._states[key] = state, self._states.get(key, (state, key))[1]

    def resolve(self, key: str, *, done: bool) -> bool:
        """Notes what someone found out about an attempt that may have happened; tells whether there was one."""
        with self._lock:
            state, sent = self._states.get(key, ("failed", key))
            if state in _OPEN:
                self._states[key] = "done" if done else "failed", sent
            return state in _OPEN


class NoMemory(ProcessMemory):
    """Remembers nothing: what only looks may look again."""

    def claim(self, key: str, *, under: str, again: bool) -> Claim:
        """Lets every attempt be made."""
        return "run"

    def settle(self, key: str, state: State) -> None:
        """Notes nothing."""


def _name(key: str) -> str:
    return f"action:{key}"
