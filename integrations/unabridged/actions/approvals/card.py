"""The card that a person decides on: what would happen, on what evidence, and what was not read.

It is made of names, numbers and codes. The value of a parameter stands on it only where the action's author says that
it may be shown. What a source wrote never does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, get_args

from unabridged.contract import Consistency, InvalidInput, iso, printable_name, safe_phrase
from unabridged.evidence import RecordedRead, Session, Verdict

CardOption = Literal["approve", "retry_with_deadline", "restrict_to_returned", "go_ahead_for", "abandon"]
CARD_OPTIONS: Final[tuple[CardOption, ...]] = get_args(CardOption)
CARD: Final = "unabridged-card/1"
NOT_SHOWN: Final = "<not shown>"
_LONGEST_SHOWN: Final = 80
_PLAIN: Final = re.compile(r"[\w .,:;/()+\-@#]*\Z")
_KINDS: Final = ((bool, "true or false"), (int, "number"), (float, "number"), (str, "text"), (type(None), "nothing"))
_WHOLE_AGAIN: Final = frozenset({"EVIDENCE_WEAK"})
"""Codes of a write whose evidence is whole: a person may let it run as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """How much a write may touch before a person is asked. Both numbers, where both are given, must be exceeded.

    Attributes:
        count: how many targets.
        share: which part of the records that were read, between 0 and 1.
    """

    count: int | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        if self.count is None and self.share is None:
            raise InvalidInput(field="threshold", rule="must give a count or a share")
        if self.count is not None and (
            isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 0
        ):
            raise InvalidInput(field="threshold.count", rule="must be a number of at least 0")
        if self.share is not None and (isinstance(self.share, bool) or not 0 <= self.share <= 1):
            raise InvalidInput(field="threshold.share", rule="must be a number between 0 and 1")

    def is_exceeded(self, targets: int | None, *, known: int) -> bool:
        """Tells whether a write of so many targets must be approved; one that names none always must.

        Args:
            targets: how many ids it touches.
            known: how many records were read.
        """
        if targets is None:
            return True
        by_count = self.count is None or targets > self.count
        by_share = self.share is None or targets > self.share * known
        return by_count and by_share


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of the write.

    Attributes:
        name: its name.
        kind: what sort of value it has, such as `text` or `list of 3`.
        shown: its value where it may be shown, else `<not shown>`.
    """

    name: str
    kind: str
    shown: Any = NOT_SHOWN


@dataclass(frozen=True, slots=True)
class Unread:
    """A read that is not complete, and why.

    Attributes:
        resource: the declared name.
        status: `partial`, `unknown`, `unavailable` or `pending`.
        codes: its reasons.
        filters: the names of its filters.
    """

    resource: str
    status: str
    codes: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old the evidence is.

    Attributes:
        started_at: when its oldest read began.
        age_s: seconds since then.
        consistency: the weakest that any of the reads gives.
    """

    started_at: datetime
    age_s: float
    consistency: Consistency


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a person is asked. Data: `to_dict`, `to_text`, `to_html` and a terminal's rich show the same.

    Attributes:
        action: the name of the write.
        purpose: what it is for, in its author's words.
        parameters: its final arguments.
        targets: how many ids it touches; `None`: it names none.
        known: how many records were read in its scope.
        scope: the resources that it relies on, with the names of their filters.
        unread: what was not read, and why.
        freshness: how old the evidence is; nothing where nothing was read.
        codes: what speaks against the write; empty where only a person's word is asked for.
        options: what can be decided.
        binding: a keyed digest of action, arguments and evidence, to which a decision is bound.
        expires_at: when the question lapses.
    """

    action: str
    purpose: str | None = None
    parameters: tuple[Parameter, ...] = ()
    targets: int | None = None
    known: int = 0
    scope: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    freshness: Freshness | None = None
    codes: tuple[str, ...] = ()
    options: tuple[CardOption, ...] = ("abandon",)
    binding: str = ""
    expires_at: datetime = field(default_factory=lambda: datetime.now(UTC) + timedelta(minutes=15))

    def to_dict(self) -> dict[str, Any]:
        """Returns the card as JSON values."""
        fresh = self.freshness
        return {
            "card": CARD,
            "action": self.action,
            "purpose": self.purpose,
            "parameters": [{"name": p.name, "kind": p.kind, "shown": p.shown} for p in self.parameters],
            "targets": self.targets,
            "known": self.known,
            "scope": list(self.scope),
            "unread": [
                {"resource": u.resource, "status": u.status, "codes": list(u.codes), "filters": list(u.filters)}
                for u in self.unread
            ],
            "freshness": None
            if fresh is None
            else {
                "started_at": iso(fresh.started_at), "age_s": round(fresh.age_s, 1), "consistency": fresh.consistency,
            },
            "codes": list(self.codes),
            "options": list(self.options),
            "binding": self.binding,
            "expires_at": iso(self.expires_at),
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Card {self.action} ({', '.join(self.options)})>"


def make_card(
    *,
    session: Session,
    action: str,
    args: Mapping[str, Any],
    verdict: Verdict,
    now: datetime,
    purpose: str | None = None,
    targets_arg: str | None = None,
    targets: Sequence[Any] | None = None,
    show: Collection[str] = (),
    ttl_s: float = 900.0,
) -> Card:
    """Returns the card of a write that a person must decide on.

    Args:
        session: the session of the write; its key binds the decision.
        action: the name of the write.
        args: its final arguments.
        verdict: what the guard says.
        now: the present moment.
        purpose: what the write is for, in its author's words.
        targets_arg: the argument that holds the ids.
        targets: the ids.
        show: the names of the arguments whose values may be shown.
        ttl_s: how long the question stands, in seconds.
    """
    reads = verdict.reads
    return Card(
        action=printable_name(action),
        purpose=None if purpose is None else safe_phrase(purpose),
        parameters=tuple(_parameter(name, value, show) for name, value in args.items()),
        targets=None if targets is None else len(targets),
        known=len({key for read in reads for key in read.ids}),
        scope=tuple(dict.fromkeys(_label(read) for read in reads)) or tuple(map(safe_phrase, verdict.missing)),
        unread=tuple(_unread(read) for read in reads if not read.complete),
        freshness=_freshness(reads, now),
        codes=verdict.codes,
        options=_options(verdict, takes_targets=targets_arg is not None),
        binding=binding_of(session, action=action, args=args, targets_arg=targets_arg, reads=reads),
        expires_at=now + timedelta(seconds=ttl_s),
    )


def binding_of(
    session: Session, *, action: str, args: Mapping[str, Any], targets_arg: str | None, reads: Iterable[RecordedRead]
) -> str:
    """Returns the keyed digest of a write and of its evidence. Which ids it touches is no part: they have a ceiling."""
    evidence = sorted(
        [
            r.resource,
            r.status,
            r.consistency,
            sorted([n, str(v) if isinstance(v, str) else repr(v)] for n, v in r.filter_key),
            sorted(r.codes),
        ]
        for r in reads
    )
    others = {name: value for name, value in args.items() if name != targets_arg}
    return session.tickets.digest({"action": action, "args": others, "evidence": evidence})


def _options(verdict: Verdict, *, takes_targets: bool) -> tuple[CardOption, ...]:
    options: list[CardOption] = []
    is_whole = _WHOLE_AGAIN.issuperset(verdict.codes)
    if is_whole:
        options.append("approve")
    if "retry_with_deadline" in verdict.options:
        options.append("retry_with_deadline")
    if takes_targets and not is_whole and any(r.ids for r in verdict.reads):
        options.append("restrict_to_returned")
    if takes_targets:
        options.append("go_ahead_for")
    return (*options, "abandon")


def _parameter(name: str, value: Any, show: Collection[str]) -> Parameter:
    kind = next((word for cls, word in _KINDS if isinstance(value, cls)), None)
    if kind is None:
        sized = isinstance(value, list | tuple | set | frozenset)
        kind = f"list of {len(value)}" if sized else "object"
    return Parameter(printable_name(name), kind, _shown(value) if name in show else NOT_SHOWN)


def _shown(value: Any) -> Any:
    """Returns a value that may be shown, where it is short and plain."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str) and len(value) <= _LONGEST_SHOWN and _PLAIN.match(value):
        return value
    return NOT_SHOWN


def _label(read: RecordedRead) -> str:
    names = ", ".join(printable_name(n) for n in read.fields)
    resource = printable_name(read.resource)
    return f"{resource} ({names})" if names else resource


def _unread(read: RecordedRead) -> Unread:
    status = "pending" if read.is_pending else read.status
    return Unread(printable_name(read.resource), status, read.codes, tuple(printable_name(n) for n in read.fields))


def _freshness(reads: Sequence[RecordedRead], now: datetime) -> Freshness | None:
    found = [r for r in reads if r.origin not in ("history", "pending")]
    if not found:
        return None
    oldest = min(r.started_at for r in found)
    rank: tuple[Consistency, ...] = ("not_established", "interval", "snapshot")
    weakest = min((r.consistency for r in found), key=rank.index)
    return Freshness(oldest, max(0.0, (now - oldest).total_seconds()), weakest)
