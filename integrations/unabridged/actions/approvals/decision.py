"""A decision about a card, and the ticket that carries it where it is taken elsewhere."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from typing import Any, Final, Literal, get_args

from unabridged.contract import InvalidInput, UnabridgedError
from unabridged.evidence import Session

from .card import CARD_OPTIONS, TTL_S, Card, CardOption, seal_of
from .questions import answer as answer_once

By = Literal["person", "policy"]
_MAPPED: Final = frozenset({"decision", "ids", "deadline_s", "binding", "by"})
_MOST_IDS: Final = 100_000


class ApprovalStale(UnabridgedError):
    """A decision is not one about this card: other arguments, other evidence, more targets, or no option of it."""

    def __init__(self) -> None:
        super().__init__()

    def _message(self, **fields: Any) -> str:
        return "the decision does not fit what was asked"


def _is_id(value: object) -> bool:
    """Tells whether it is a text or a number; what is no number (`nan`) is not itself."""
    return isinstance(value, str) or (isinstance(value, int | float) and type(value) is not bool and value == value)


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a card.

    Attributes:
        kind: one of the options of the card.
        ids: for `go_ahead_for`, the ids that may be touched.
        deadline_s: for `retry_with_deadline`, the seconds that the read may take.
        by: who decided, a person or a policy.
        binding: the binding of the card that was decided on, where the decision travelled.
    """

    kind: CardOption
    ids: tuple[Any, ...] | None = field(default=None, repr=False)
    deadline_s: float | None = None
    by: By = "person"
    binding: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in CARD_OPTIONS:
            raise InvalidInput(field="decision", rule=f"must be one of {', '.join(CARD_OPTIONS)}")
        if self.by not in get_args(By):
            raise InvalidInput(field="by", rule="must be person or policy")
        if (self.ids is not None) != (self.kind == "go_ahead_for"):
            raise InvalidInput(field="ids", rule="go with go_ahead_for, and only with it")
        if self.ids is not None:
            if isinstance(self.ids, str | bytes | Mapping) or not isinstance(self.ids, Iterable):
                raise InvalidInput(field="ids", rule="must be a list of ids")
            object.__setattr__(self, "ids", tuple(self.ids))  # a list could still change once it was decided on
        if self.ids is not None and not 0 < len(self.ids) <= _MOST_IDS:
            raise InvalidInput(field="ids", rule=f"must be 1 to {_MOST_IDS} ids")
        if self.ids is not None and not all(map(_is_id, self.ids)):
            raise InvalidInput(field="ids", rule="must hold ids only: texts and numbers")
        if self.deadline_s is not None and (
            isinstance(self.deadline_s, bool)
            or not isinstance(self.deadline_s, int | float)
            or not 0 < self.deadline_s < inf
        ):
            raise InvalidInput(field="deadline_s", rule="must be a number of seconds above 0")

    @classmethod
    def approve(cls, *, by: By = "person") -> Decision:
        """The write may run as it is."""
        return cls("approve", by=by)

    @classmethod
    def restrict(cls, *, by: By = "person") -> Decision:
        """The write may touch those of its targets that the reads returned."""
        return cls("restrict_to_returned", by=by)

    @classmethod
    def go_ahead(cls, ids: Iterable[Any], *, by: By = "person") -> Decision:
        """The write may touch these ids, whatever was not read."""
        return cls("go_ahead_for", ids, by=by)  # type: ignore[arg-type]  # made a tuple there

    @classmethod
    def retry(cls, deadline_s: float | None = None, *, by: By = "person") -> Decision:
        """The read is to be tried again, with more time."""
        return cls("retry_with_deadline", deadline_s=deadline_s, by=by)

    @classmethod
    def abandon(cls, *, by: By = "person") -> Decision:
        """The write does not run."""
        return cls("abandon", by=by)


Approver = Callable[[Card], "Decision | bool | str | Mapping[str, Any] | Awaitable[Any]"]
"""Decides on a card: yes or no, a decision, the token of one that was taken elsewhere, or one as JSON."""


def decision_of(value: Any, card: Card) -> Decision:
    """Returns what an approver answered, as a decision about just this card.

    Raises:
        InvalidInput: it is no decision.
        ApprovalStale: it is one about something else, or none of the options.
    """
    decision = _read(value)
    if decision.binding is not None and decision.binding != card.binding:
        raise ApprovalStale
    if decision.kind not in card.options:
        raise ApprovalStale
    return replace(decision, binding=card.binding)


def _read(value: Any) -> Decision:
    if isinstance(value, Decision):
        return value
    if value is True:
        return Decision.approve()
    if value is False or value is None:
        return Decision.abandon()
    if not isinstance(value, Mapping):
        raise InvalidInput(field="decision", rule="must be true, false, a Decision or an object")
    if not _MAPPED.issuperset(value):
        raise InvalidInput(field="decision", rule=f"may hold {', '.join(sorted(_MAPPED))} only")
    if not isinstance(value.get("binding"), str):
        raise InvalidInput(field="decision.binding", rule="must be that of the card")
    ids = value.get("ids")
    if ids is not None and not isinstance(ids, list | tuple):
        raise InvalidInput(field="decision.ids", rule="must be a list of ids")
    return Decision(
        value.get("decision"),  # type: ignore[arg-type]
        None if ids is None else tuple(ids), value.get("deadline_s"), value.get("by", "person"), value["binding"],
    )  # fmt: skip


def approve(session: Session, card: Card, decision: Decision | bool, *, ttl_s: float = TTL_S) -> str:
    """Keeps a decision that is taken away from the run that asked; returns its token, good once for what it is about.

    It is a ceiling: more targets than the card told of ask again, and so do other arguments and other evidence. Where
    the write named no targets and is restricted to what was returned, the ceiling is the number of records read.

    Raises:
        InvalidInput: the decision, or the time, breaks a rule.
        ApprovalStale: the card does not offer it, has lapsed, was changed, or is none of this session.
    """
    if not _is_sealed(session, card) or session.tickets.now() >= card.expires_at:
        raise ApprovalStale
    taken = decision_of(decision, card)
    restricted = taken.kind == "restrict_to_returned" and card.targets is None
    payload = {
        "subject": card.subject, "ceiling": card.known if restricted else card.targets, "kind": taken.kind,
        "by": taken.by, "ids": None if taken.ids is None else list(taken.ids), "deadline_s": taken.deadline_s,
    }  # fmt: skip
    return session.tickets.issue("approval", action=card.action, ttl_s=ttl_s, payload=payload)


def _is_sealed(session: Session, card: Card) -> bool:
    """Tells whether a card is the one that this session asked with, whatever stands in the place of its seal."""
    told = card.seal.encode("utf-8", "surrogatepass") if isinstance(card.seal, str) else b""
    return hmac.compare_digest(seal_of(session, card).encode(), told)


def answered(session: Session, answer: Any, card: Card, *, lapses_at: datetime) -> Decision:
    """Returns what was answered to a card. What travelled answers one question once, and only while that stands.

    Args:
        session: the session of the write.
        answer: what the approver returned.
        card: the card.
        lapses_at: when an answer that did not travel comes too late.

    Raises:
        ApprovalStale: the question has lapsed or was answered, or the answer is about another one.
        InvalidInput: it is no answer.
        TicketRefused: it is a token that is not good for this.
    """
    if isinstance(answer, str):
        return redeem_approval(session, answer, card)
    decision = decision_of(answer, card)
    travelled = isinstance(answer, Mapping) or (isinstance(answer, Decision) and answer.binding is not None)
    is_first = answer_once(session, card.question)
    if session.tickets.now() >= (card.expires_at if travelled else lapses_at) or (travelled and not is_first):
        raise ApprovalStale
    return decision


def redeem_approval(session: Session, token: object, card: Card) -> Decision:
    """Spends a kept decision for what is asked now.

    Raises:
        TicketRefused: it is forged, expired, spent, or of another session or action.
        ApprovalStale: it is about other arguments or other evidence, or about fewer targets; it is not spent then.
    """
    payload = session.tickets.look(token, kind="approval", action=card.action).payload
    if (
        not isinstance(payload, Mapping)
        or payload.get("subject") != card.subject
        or payload["kind"] not in card.options
    ):
        raise ApprovalStale
    ceiling = payload["ceiling"]
    touched = card.known if payload["kind"] == "restrict_to_returned" and card.targets is None else card.targets
    if ceiling is not None and (touched is None or touched > ceiling):
        raise ApprovalStale
    session.tickets.redeem(token, kind="approval", action=card.action)
    ids = payload["ids"]
    return Decision(
        payload["kind"], None if ids is None else tuple(ids), payload["deadline_s"], payload["by"], card.binding
    )
