"""The head of a log: number and hash of its last line, signed with the key. It is what truncation is found by."""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from unabridged.contract.errors import InvalidInput

from .errors import AuditFailed
from .keys import Keyed

FORM: Final = "unabridged/audit-head/1"
_FIELD: Final = "audit.head"
_HASH: Final = re.compile(r"[0-9a-f]{64}\Z")
_LOG: Final = re.compile(r"[0-9a-f]{32}\Z")
_MAX_BYTES: Final = 4_096
NOT_KNOWN: Final = "it is not the log that its head knows, or its end was cut off"


@dataclass(frozen=True, slots=True)
class Head:
    """What a log said of its end."""

    log: str
    """The id of the log, 32 hexadecimal digits."""
    n: int
    """The number of its last line, from 1."""
    hash: str
    """What the line behind it is linked to."""
    at: str
    """When that was, ISO 8601 in UTC."""
    signature: str = ""

    def signed(self, keyed: Keyed) -> Self:
        """Returns the head with its signature."""
        return type(self)(self.log, self.n, self.hash, self.at, keyed.sign(self._said()))

    def is_signed_with(self, keyed: Keyed) -> bool:
        """Tells whether the signature is the one that this key makes."""
        return hmac.compare_digest(keyed.sign(self._said()), self.signature)

    def to_json(self) -> dict[str, Any]:
        """Returns the head as JSON."""
        return {"form": FORM, **asdict(self)}

    def _said(self) -> list[Any]:
        return [FORM, self.log, self.n, self.hash, self.at]


def read_head(path: Path) -> Head:
    """Returns the head in a file.

    Raises:
        InvalidInput: when the file cannot be read or holds none.
    """
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MAX_BYTES))
        keys = {"form", "log", "n", "hash", "at", "signature"}
        if set(found) == keys and found.pop("form") == FORM and type(found["n"]) is int and found["n"] > 0:
            texts = [found[name] for name in ("log", "hash", "at", "signature")]
            if all(isinstance(text, str) and text.isascii() for text in texts):
                head = Head(**found)
                if _LOG.match(head.log) and _HASH.match(head.hash) and _HASH.match(head.signature):
                    return head
    except (OSError, ValueError, TypeError, RecursionError):
        pass
    raise InvalidInput(field=_FIELD, rule="must be a file with the head of an audit log")


def head_there(path: Path) -> Head | None:
    """Returns the head in a file, nothing where there is no file yet, or an empty one."""
    try:
        if path.stat().st_size == 0:
            return None
    except FileNotFoundError:
        return None
    return read_head(path)


def write_head(path: Path, head: Head) -> None:
    """Puts a head in place of an older one, whole or not at all; one that is newer stays.

    Raises:
        AuditFailed: when the head of another log stands there.
    """
    before = head_there(path)
    if before is not None and before.log != head.log:
        raise AuditFailed(rule=NOT_KNOWN)
    if before is not None and before.n >= head.n:
        return
    made = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    fd = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(fd, json.dumps(head.to_json()).encode() + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(made, path)
    except OSError:
        made.unlink(missing_ok=True)
        raise
