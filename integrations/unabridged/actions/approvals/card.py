"""The card that a person decides on: what would happen, on what evidence, and what was not read.

It is made of names, numbers and codes. The value of a parameter stands on it only where the action's author says that
it may be shown. What a source wrote never does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, get_args

from unabridged.answers import Language
from unabridged.contract import Consistency, InvalidInput, id_key, iso, printable_name, safe_phrase
from unabridged.evidence import RecordedRead, Session, Verdict
from unabridged.evidence.scope import Withheld

from .questions import standing

CardOption = Literal["approve", "retry_with_deadline", "restrict_to_returned", "go_ahead_for", "abandon"]
CARD_OPTIONS: Final[tuple[CardOption, ...]] = get_args(CardOption)
CARD: Final = "unabridged-card/1"
NOT_SHOWN: Final = "<not shown>"
TTL_S: Final = 900.0
"""How long a question stands, in seconds."""
_LONGEST_SHOWN: Final = 80
_LONGEST_PURPOSE: Final = 200
_GREATEST_SHOWN: Final = 2**63
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
        if self.share is not None and (
            isinstance(self.share, bool) or not isinstance(self.share, int | float) or not 0 <= self.share <= 1
        ):
            raise InvalidInput(field="threshold.share", rule="must be a number between 0 and 1")

    def is_exceeded(self, targets: int | None, *, known: int) -> bool:
        """Tells whether a write of so many targets must be approved; one that names none always must.

        Args:
            targets: how many ids it touches; none at all means everything to many tools.
            known: how many records were read.
        """
        if not targets:
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
        targets: how many ids it touches; `None`: it names none, which means everything to many tools.
        known: how many records the reads hold that the card tells of. A total only where nothing is unread.
        scope: the resources that it relies on, with the names of their filters.
        unread: what was not read, and why.
        freshness: how old the evidence is; nothing where nothing was read.
        codes: what speaks against the write; empty where only a person's word is asked for.
        options: what can be decided.
        binding: a keyed digest of just this question: session, action, arguments, ids, evidence and call. A decision
            that travels carries it, and is good for one answer.
        subject: a keyed digest of session, action, arguments and evidence, without the ids and the call: what a
            decision that is kept for later (`approve`) is bound to.
        expires_at: when the question lapses.
        seal: a keyed digest of all the rest, so that a card that came back can be told from one that was changed.
        question: what the process knows the question by, and how often it was answered; no part of what is shown.
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
    subject: str = ""
    expires_at: datetime = field(default_factory=lambda: datetime.now(UTC) + timedelta(minutes=15))
    seal: str = ""
    question: tuple[str, int] = field(default=("", 0), repr=False, compare=False)

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
            "subject": self.subject,
            "expires_at": iso(self.expires_at),
            "seal": self.seal,
        }  # fmt: skip

    def to_text(self, language: Language = "en") -> str:
        """Returns the card as plain text, in English or German."""
        from .rendering import text

        return text(self.to_dict(), language)

    def to_html(self, language: Language = "en") -> str:
        """Returns the card as HTML. Everything is escaped, and there is no script in it."""
        from .rendering import html

        return html(self.to_dict(), language)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __rich__(self) -> Any:
        from .rendering import rich

        return rich(self.to_dict(), "en")

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
    whole: Mapping[str, Any] | None = None,
    returned: Sequence[Any] | None = None,
    ttl_s: float = TTL_S,
    call_id: str | None = None,
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
        whole: the arguments with all that the code gets, also what `args` masks; a decision is bound to these.
        returned: the ids that it may touch where only what was returned may be; those of the reads when not given.
        ttl_s: how long the question stands, in seconds, from when it is first asked.
        call_id: the id of the call.
    """
    reads = verdict.reads
    bound = args if whole is None else whole
    subject = binding_of(session, action=action, args=bound, targets_arg=targets_arg, reads=reads)
    held = [key for read in reads for key in read.ids]
    restricts = targets_arg is not None and bool(held if returned is None else returned)
    options = _options(verdict, takes_targets=targets_arg is not None, restricts=restricts)
    touched = targets or (held if "restrict_to_returned" in options else ())
    question = _question(session, subject, verdict, touched, call_id)
    answered, until = standing(session, question)
    card = Card(
        action=printable_name(action),
        purpose=None if purpose is None else _phrase(purpose),
        parameters=tuple(_parameter(name, value, show) for name, value in args.items()),
        targets=len(targets) if targets else None,
        known=_known(reads),
        scope=tuple(dict.fromkeys(_label(read) for read in reads)) or tuple(map(safe_phrase, verdict.missing)),
        unread=tuple(_unread(read) for read in reads if not read.complete),
        freshness=_freshness(reads, now),
        codes=verdict.codes,
        options=options,
        binding=session.tickets.digest({"question": question, "answered": answered}),
        subject=subject,
        expires_at=until or now + timedelta(seconds=ttl_s),
        question=(question, answered),
    )
    return replace(card, seal=seal_of(session, card))


def _question(session: Session, subject: str, verdict: Verdict, touched: Sequence[Any], call_id: str | None) -> str:
    """Returns the digest by which a question is known: of what is asked, for which ids, why, and in which call."""
    keys = sorted({repr(id_key(_whole(value))) for value in touched})
    return session.tickets.digest({"subject": subject, "targets": keys, "codes": verdict.codes, "call": call_id})


def seal_of(session: Session, card: Card) -> str:
    """Returns the keyed digest of what a card tells."""
    return session.tickets.digest({"session": session.key.digest, "card": {**card.to_dict(), "seal": ""}})


def binding_of(
    session: Session, *, action: str, args: Mapping[str, Any], targets_arg: str | None, reads: Iterable[RecordedRead]
) -> str:
    """Returns the keyed digest of a write and of its evidence. Which ids it touches is no part: they have a ceiling.

    It is the same for arguments and filters that are equal as JSON values, and another one for any others.

    Raises:
        InvalidInput: an argument has no JSON form.
    """
    evidence = sorted(
        [r.resource, r.status, r.consistency, sorted(_pair(r, name, value) for name, value in r.filter_key),
         sorted(r.codes)]
        for r in reads
    )  # fmt: skip
    others = {name: value for name, value in args.items() if name != targets_arg}
    of = session.key.digest
    return session.tickets.digest({"session": of, "action": action, "args": others, "evidence": evidence})


def _pair(read: RecordedRead, name: str, value: Hashable) -> list[str]:
    """Returns a filter as texts. A value that was withheld is equal to nothing, as it is for the guard."""
    kind = "text" if isinstance(value, str) else "other"
    told = str(value) if isinstance(value, str) else repr(_whole(value))
    return [name, "withheld", read.id] if isinstance(value, Withheld) else [name, kind, told]


def _whole(value: Any) -> Any:
    """Makes numbers that are equal as JSON values alike: 1.0 becomes 1."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _known(reads: Iterable[RecordedRead]) -> int:
    """Returns how many records were read: those of one resource once, those without ids as the largest read."""
    ids: dict[str, set[Hashable]] = {}
    most: dict[str, int] = {}
    for read in reads:
        ids.setdefault(read.resource, set()).update(read.ids)
        most[read.resource] = max(most.get(read.resource, 0), read.returned)
    return sum(len(found) or most[resource] for resource, found in ids.items())


def known_with(reads: Iterable[RecordedRead], targets: Iterable[Any]) -> int:
    """Returns of how many records the targets are a part: those that were read of the resource that holds them.

    Ids of other resources make no share smaller. Where several hold a target the smallest counts.
    """
    keys, ids = frozenset(map(id_key, targets)), dict[str, set[Hashable]]()
    for read in reads:
        ids.setdefault(read.resource, set()).update(read.ids)
    return min((len(found) for found in ids.values() if not keys.isdisjoint(found)), default=0)


def _options(verdict: Verdict, *, takes_targets: bool, restricts: bool) -> tuple[CardOption, ...]:
    options: list[CardOption] = []
    is_whole = _WHOLE_AGAIN.issuperset(verdict.codes)
    if is_whole:
        options.append("approve")
    if "retry_with_deadline" in verdict.options:
        options.append("retry_with_deadline")
    if restricts and not is_whole:
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
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < _GREATEST_SHOWN else NOT_SHOWN
    if isinstance(value, str) and len(value) <= _LONGEST_SHOWN and _PLAIN.match(value):
        return value
    return NOT_SHOWN


def _phrase(purpose: str) -> str:
    """Returns the words of the author of the write on one line."""
    return purpose if purpose.isprintable() and len(purpose) <= _LONGEST_PURPOSE else safe_phrase(purpose)


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
