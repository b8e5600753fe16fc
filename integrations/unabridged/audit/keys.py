"""The key of an audit log: where it comes from, and what is made with it.

Three keys are derived from it, one a purpose, so that no digest can pass for a signature. The key itself is not kept.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from unabridged.contract.errors import InvalidInput

from .canonical import canonical
from .errors import AuditKeyMissing

Key: TypeAlias = bytes | Callable[[], bytes]
"""The key, or what brings it when the log is opened."""
Correlate: TypeAlias = Literal["never", "session", "log"]
"""Where two digests of one value are equal."""
MIN_KEY_BYTES: Final = 16
_SALT_BYTES: Final = 8
_MAC_DIGITS: Final = 48
_DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")
_SESSIONS: Final = 4_096
_HEX: Final = re.compile(rb"\s*([0-9A-Fa-f]{32,})\s*\Z")


class Keyed:
    """What an audit log does with its key. It shows nothing of it, and cannot be pickled."""

    __slots__ = ("_correlate", "_digests", "_heads", "_known", "_sessions")

    def __init__(self, key: Key | None, *, correlate: Correlate = "never") -> None:
        if correlate not in ("never", "session", "log"):
            raise InvalidInput(field="audit.correlate", rule="must be never, session or log")
        given: object = key() if callable(key) else key
        fault = _fault(given)
        if fault is not None:
            del key, given  # a tracker of errors may keep the locals of this frame
            raise fault
        self._digests, self._sessions, self._heads = (_derived(given, use) for use in ("digest", "session", "head"))
        self._correlate = correlate
        self._known: dict[str, str] = {}

    def digest(self, value: Any, *, session: str | None = None) -> str:
        """Returns a salt of 8 bytes and 24 of the HMAC-SHA256 of salt and canonical JSON, in 64 hexadecimal digits.

        The salt says where equal values have equal digests: it is random, or made from the session, or zero.
        """
        salt = self._salt(session)
        mac = self._digests.copy()
        mac.update(salt + canonical(value))
        return salt.hex() + mac.hexdigest()[:_MAC_DIGITS]

    def matches(self, digest: str, value: Any) -> bool:
        """Tells whether a digest is one of this value; needs the key, as making one does."""
        if type(digest) is not str or not _DIGEST.match(digest):
            return False
        salt, found = bytes.fromhex(digest[: 2 * _SALT_BYTES]), digest[2 * _SALT_BYTES :]
        mac = self._digests.copy()
        mac.update(salt + canonical(value))
        return hmac.compare_digest(mac.hexdigest()[:_MAC_DIGITS].encode(), found.encode())

    def session(self, name: str) -> str:
        """Returns the name of a session in the log: a digest of its digest, since that one is made without a key."""
        found = self._known.get(name)
        if found is None:
            mac = self._sessions.copy()
            mac.update(name.encode("utf-8", "surrogatepass"))
            found = mac.hexdigest()[:32]
            if len(self._known) >= _SESSIONS:
                self._known.clear()
            self._known[name] = found
        return found

    def sign(self, document: Any) -> str:
        """Returns the signature of a head."""
        mac = self._heads.copy()
        mac.update(canonical(document))
        return mac.hexdigest()

    def _salt(self, session: str | None) -> bytes:
        if self._correlate == "log":
            return bytes(_SALT_BYTES)
        if self._correlate == "session" and session is not None:
            return bytes.fromhex(self.session(session))[:_SALT_BYTES]
        return secrets.token_bytes(_SALT_BYTES)

    def __repr__(self) -> str:
        return "Keyed()"

    def __reduce__(self) -> Any:
        raise TypeError("a key is not pickled")


def _derived(key: Any, use: str) -> hmac.HMAC:
    return hmac.new(hmac.digest(key, f"unabridged/audit/{use}/1".encode(), "sha256"), digestmod=hashlib.sha256)


def keyed_or_fault(key: Key | None, correlate: Correlate) -> Keyed | InvalidInput:
    """Returns the fault of a key in place of raising it, so that the caller can forget the key first."""
    try:
        return Keyed(key, correlate=correlate)
    except InvalidInput as error:
        return error.with_traceback(None)


def _fault(key: object) -> InvalidInput | None:
    if key is None or key == b"":
        return AuditKeyMissing()
    if not isinstance(key, bytes | bytearray):
        return InvalidInput(field="audit.key", rule="must be bytes, or a function that returns bytes")
    if len(key) < MIN_KEY_BYTES:
        return InvalidInput(field="audit.key", rule=f"must have {MIN_KEY_BYTES} bytes or more")
    return None


def key_file(path: str | os.PathLike[str], *, create: bool = False) -> Callable[[], bytes]:
    """Returns a function that reads the key from a file when the log is opened.

    The file holds hexadecimal digits (32 or more), or else the bytes of the key. Nobody but its owner may read it.

    Args:
        path: the file.
        create: whether a file that is not there is made, with 32 random bytes.
    """

    def read() -> bytes:
        if create:
            _create(Path(path))
        return _key_in(Path(path))

    return read


def _key_in(path: Path) -> bytes:
    rule = "must be a file that can be read"
    try:
        with path.open("rb") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                rule = "must be readable for its owner only (chmod 600)"
            else:
                raw = file.read(65_536)
                digits = _HEX.match(raw)
                return bytes.fromhex(digits[1].decode()) if digits and len(digits[1]) % 2 == 0 else raw
    except OSError:
        pass
    raise InvalidInput(field="audit.key_file", rule=rule)


def _create(path: Path) -> None:
    """Makes the file whole or not at all: it is written elsewhere and gets its name when it is done."""
    if path.exists():
        return
    made = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    failed = False
    try:
        file = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(file, secrets.token_hex(32).encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)
        os.link(made, path)
    except FileExistsError:
        pass  # another process was first: its key counts
    except OSError:
        failed = True
    made.unlink(missing_ok=True)
    if failed:
        raise InvalidInput(field="audit.key_file", rule="must lie in a folder where it can be made")
