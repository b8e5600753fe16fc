"""The audit log: append-only lines, chained by their hashes, that hold no value. It knows the contract only."""

from .canonical import canonical
from .errors import AuditFailed, AuditKeyMissing
from .events import AuditEvent, AuditSink, EventKind, accepted_fields, new_ref
from .heads import Head, read_head, write_head
from .keys import Correlate, Key, Keyed, key_file
from .log import AuditLog
from .system import System
from .verification import Anchor, Finding, OpenIntent, Tear, Verification
from .verifying import verify

__all__ = [
    "Anchor",
    "AuditEvent",
    "AuditFailed",
    "AuditKeyMissing",
    "AuditLog",
    "AuditSink",
    "Correlate",
    "EventKind",
    "Finding",
    "Head",
    "Key",
    "Keyed",
    "OpenIntent",
    "System",
    "Tear",
    "Verification",
    "accepted_fields",
    "canonical",
    "key_file",
    "new_ref",
    "read_head",
    "verify",
    "write_head",
]
