"""Opening sessions, and finding the one in scope."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from unabridged import _ambient
from unabridged.contract import InvalidInput

from .header import utc_now
from .ledger import Kind, Ledger, MemoryLedger, SessionKey
from .sessions import Session
from .store import ResultStore

if TYPE_CHECKING:
    from unabridged.audit import AuditSink

_lock: Final = threading.Lock()
_default: Final[list[MemoryLedger]] = []


def default_ledger() -> MemoryLedger:
    """Returns the ledger of this process: memory, 1,000 sessions, 24 hours."""
    with _lock:
        if not _default:
            _default.append(MemoryLedger())
        return _default[0]


def session(
    id: str,
    *,
    principal: str | None = None,
    namespace: str | None = None,
    ledger: Ledger | None = None,
    audit: AuditSink | None = None,
    approve: Callable[[Any], Any] | None = None,
    kind: Kind = "session",
    store: ResultStore | None = None,
    now: Callable[[], datetime] = utc_now,
) -> Session:
    """Returns the session of a key; use it in a `with` block, or `open()` it.

    Args:
        id: the name of the conversation or the case.
        principal: on whose behalf is read; required with a shared ledger.
        namespace: keeps applications apart that share a ledger.
        ledger: where the headers are kept; the memory of this process when not given.
        audit: where decisions, intents and outcomes of writes are written down.
        approve: who decides on a write that a person must decide on: `(card) -> decision`, sync or async.
        kind: tells an explicit session from a thread or a run of the same name.
        store: where the records are kept; the ledger's own store when not given.
        now: the clock.

    Raises:
        InvalidInput: a name is empty, or the ledger is shared and no principal is named.
    """
    for name, value in (("id", id), ("principal", principal), ("namespace", namespace)):
        if (value is not None or name == "id") and (not isinstance(value, str) or not value):
            raise InvalidInput(field=name, rule="must be a non-empty text")
    if principal is None and ledger is not None and ledger.shared:
        raise InvalidInput(field="principal", rule="is required with a shared ledger")
    key = SessionKey(id, principal, namespace, kind)
    kept = default_ledger() if ledger is None else ledger
    return Session(key, ledger=kept, store=store, audit=audit, approve=approve, now=now)


def current_session() -> Session | None:
    """Returns the session in scope, or nothing."""
    found = _ambient.current()
    return found if isinstance(found, Session) else None
