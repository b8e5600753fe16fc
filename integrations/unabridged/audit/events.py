"""What an audit log records. An event holds names, tokens, numbers and digests: no value can stand in it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from unabridged.contract.errors import InvalidInput
from unabridged.contract.ids import TEXT, safe_phrase

EventKind: TypeAlias = Literal["decision", "intent", "outcome", "approval"]
KINDS: Final[frozenset[str]] = frozenset({"decision", "intent", "outcome", "approval"})
MAX_LISTED: Final = 1_000
"""So many reads are listed by an event; more are counted."""
MAX_FIELDS: Final = 256
_TOKEN: Final = re.compile(r"[A-Za-z0-9_.:\-]{1,64}\Z")
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}\Z")
_REF: Final = re.compile(r"[0-9a-f]{32}\Z")
_DIGEST: Final = re.compile(r"[0-9a-f]{32,128}\Z")
_KNOWN: Final = 4_096
_DEEPEST: Final = 32

_good: set[str] = set()
_names: set[str] = set()
"""Tokens and names of fields that were looked at before; each starts anew when it is full."""


def new_ref() -> str:
    """Returns a reference that ties an intent to its outcome: 128 random bits as 32 hexadecimal digits."""
    return secrets.token_hex(16)


_put: Final = object.__setattr__


def _token(text: object) -> str:
    return text if type(text) is str and (text in _good or _is(text, _TOKEN, _good)) else TEXT


def _is_name(text: object) -> bool:
    return type(text) is str and (text in _names or _is(text, _FIELD, _names))


def _is(text: str, form: re.Pattern[str], known: set[str]) -> bool:
    """Tells whether a text has a form, and remembers one that has."""
    if not form.match(text):
        return False
    if len(known) >= _KNOWN:
        known.clear()
    known.add(text)
    return True


def _count(number: object, name: str) -> int:
    if type(number) is not int or not 0 <= number < 10**15:
        raise InvalidInput(field=f"audit.{name}", rule="must be a number from 0")
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One thing that happened: a decision, an intent, its outcome, or an approval.

    Texts are checked when the event is made. One that is no token (`[A-Za-z0-9_.:-]`, 64 at most) becomes `<text>`; a
    field name that is no identifier is counted in `unnamed` and not kept.

    Raises:
        InvalidInput: for a kind, a reference or a number that is none.
    """

    kind: EventKind
    action: str
    """The name of the action or the tool."""
    ref: str
    """What an intent and its outcome share: 32 hexadecimal digits, see `new_ref`."""
    session: str | None = None
    """The digest of the session's key; the log writes a keyed digest of it."""
    verdict: str | None = None
    codes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    """The ids of the reads that the decision rests on."""
    fields: tuple[str, ...] = ()
    """The names of the accepted arguments, dotted: `filter.status`."""
    unnamed: int = 0
    """How many names were given that are no identifiers."""
    outcome: str | None = None
    """`done`, `partial`, `failed`, `cancelled`, `refused`, `undetermined`, or a declared error code."""
    done: int | None = None
    """How many targets were changed."""
    not_done: int | None = None
    approver: str | None = None
    """The kind of approver: `person`, `policy`."""
    why: str | None = None
    """The author's declared reason of an independent write: a plain phrase of at most 120 characters."""
    digests: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Keyed digests by name, as `AuditSink.digest` makes them."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput(field="audit.kind", rule="must be decision, intent, outcome or approval")
        if type(self.ref) is not str or not _REF.match(self.ref):
            raise InvalidInput(field="audit.ref", rule="must be 32 hexadecimal digits")
        if self.action not in _good:
            _put(self, "action", _token(self.action))
        if self.session is not None and self.session not in _good:
            _put(self, "session", _token(self.session))
        if self.verdict is not None and self.verdict not in _good:
            _put(self, "verdict", _token(self.verdict))
        if self.outcome is not None and self.outcome not in _good:
            _put(self, "outcome", _token(self.outcome))
        if self.approver is not None and self.approver not in _good:
            _put(self, "approver", _token(self.approver))
        if self.codes:
            _put(self, "codes", tuple([_token(code) for code in self.codes]))
        if self.reads:
            _put(self, "reads", tuple([r if type(r) is str and _TOKEN.match(r) else TEXT for r in self.reads]))
        if self.fields or self.unnamed:
            self._count_names()
        if self.done is not None:
            _count(self.done, "done")
        if self.not_done is not None:
            _count(self.not_done, "not_done")
        if self.why is not None:
            _put(self, "why", safe_phrase(self.why))
        if self.digests:
            given = self.digests.items()
            _put(self, "digests", {name: _digest(digest) for name, digest in given if _is_name(name)})

    def _count_names(self) -> None:
        named = tuple([name for name in self.fields if _is_name(name)])[:MAX_FIELDS]
        _put(self, "unnamed", _count(self.unnamed, "unnamed") + len(self.fields) - len(named))
        _put(self, "fields", named)


def _digest(text: object) -> str:
    return text if type(text) is str and _DIGEST.match(text) else TEXT


class AuditSink(Protocol):
    """Where events go: what a session's `audit` is."""

    def write(self, event: AuditEvent) -> None:
        """Hands an event to the operating system before it returns.

        Raises:
            AuditFailed: when it could not. What the event speaks of must then not run.
        """

    def digest(self, value: Any, *, session: str | None = None) -> str:
        """Returns a keyed digest of a value, in hexadecimal digits.

        Args:
            value: what is made of JSON values.
            session: the digest of the session's key, where equal values of one session shall have equal digests. It
                counts only where the sink is configured so.
        """
        ...


def accepted_fields(
    arguments: Mapping[str, Any], *, declared: Container[str] | None = None
) -> tuple[tuple[str, ...], int]:
    """Returns the dotted names of arguments, sorted, and how many names are none.

    `{"limit": 5, "filter": {"status": "paid"}}` has the names `filter.status` and `limit`. The values are not looked
    at, but for mappings, whose own names count. In a list there are no names.

    Args:
        arguments: the arguments of a call.
        declared: the dotted names that the action declares. Others are counted, however plain they look.
    """
    names: set[str] = set()
    unnamed = 0
    for name in _dotted(arguments, "", 0):
        if name is not None and _FIELD.match(name) and (declared is None or name in declared):
            names.add(name)
        else:
            unnamed += 1
    return tuple(sorted(names)), unnamed


def _dotted(value: Mapping[Any, Any], above: str, depth: int) -> Iterator[str | None]:
    for key, part in value.items():
        plain = isinstance(key, str) and "." not in key and _FIELD.match(key) is not None
        if not plain:
            yield None
        elif isinstance(part, Mapping) and part and depth < _DEEPEST:
            yield from _dotted(part, f"{above}{key}.", depth + 1)
        else:
            yield f"{above}{key}"
