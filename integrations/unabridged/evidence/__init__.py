"""Evidence: what was read in a session, and whether a write may run on it."""

from .guard import Reach, judge_write
from .header import Asked, Held, RecordedRead, WhyPart, header_of
from .intent import REQUIREMENTS, OnFail, Option, Outcome, Reliance, Requirement, Verdict, WriteIntent
from .ledger import (
    Called,
    Dropped,
    Event,
    Handed,
    Journal,
    Ledger,
    MemoryLedger,
    Noted,
    Recorded,
    Repeated,
    SessionKey,
    Settled,
    Shown,
    Withdrawn,
)
from .opening import current_session, default_ledger, session
from .pending import MAX_REPEATS, Pending, Route, SourceRoute, StoredRest
from .scope import covers, filter_key
from .selections import Selected
from .sessions import DEADLINE_S, Session
from .store import MemoryStore, ResultStore
from .strand import Strand
from .tickets import MemoryDesk, Ticket, TicketDesk, TicketKind, is_ticket_token
from .view import Evidence, view_of

__all__ = [
    "DEADLINE_S",
    "MAX_REPEATS",
    "REQUIREMENTS",
    "Asked",
    "Called",
    "Dropped",
    "Event",
    "Evidence",
    "Handed",
    "Held",
    "Journal",
    "Ledger",
    "MemoryDesk",
    "MemoryLedger",
    "MemoryStore",
    "Noted",
    "OnFail",
    "Option",
    "Outcome",
    "Pending",
    "Reach",
    "Recorded",
    "RecordedRead",
    "Reliance",
    "Repeated",
    "Requirement",
    "ResultStore",
    "Route",
    "Selected",
    "Session",
    "SessionKey",
    "Settled",
    "Shown",
    "SourceRoute",
    "StoredRest",
    "Strand",
    "Ticket",
    "TicketDesk",
    "TicketKind",
    "Verdict",
    "WhyPart",
    "Withdrawn",
    "WriteIntent",
    "covers",
    "current_session",
    "default_ledger",
    "filter_key",
    "header_of",
    "is_ticket_token",
    "judge_write",
    "session",
    "view_of",
]
