"""Claim tickets: what stands on the server's side behind a token that an agent or a person may hold.

One kind of thing serves handles, references, selections and approvals. A token holds 128 random bits and nothing else;
a desk keeps a hash of it, so that what it keeps opens nothing. A ticket is bound to its issuer, its session, its action
and its audience, and lives for a time and a number of uses. Whatever part of that fails, the answer is the same.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Protocol, get_args

from unabridged.contract import InvalidInput, TicketRefused

TicketKind = Literal["handle", "reference", "selection", "approval"]
KINDS: Final[tuple[TicketKind, ...]] = get_args(TicketKind)
_PREFIXES: Final[dict[TicketKind, str]] = {"handle": "hdl", "reference": "ref", "selection": "sel", "approval": "apr"}
_TOKEN: Final = re.compile(r"[a-z]{3}_[A-Za-z0-9_-]{22}\Z")
ISSUER: Final = "unabridged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What a token stands for.

    Attributes:
        kind: what it is good for.
        session: the digest of the key of the session that it holds in.
        action: the action that it holds for; `None`: any.
        audience: who may present it, such as a tool or an executor; `None`: anyone in the session.
        issuer: who made it out.
        expires_at: when it ends.
        uses: how often it may still be redeemed.
        payload: what is kept under it; JSON values.
    """

    kind: TicketKind
    session: str
    action: str | None = None
    audience: str | None = None
    issuer: str = ISSUER
    expires_at: datetime
    uses: int = 1
    payload: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput(field="kind", rule=f"must be one of {', '.join(KINDS)}")
        for name in ("session", "issuer"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise InvalidInput(field=name, rule="must be a non-empty text")
        for name in ("action", "audience"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise InvalidInput(field=name, rule="must be a non-empty text")
        if isinstance(self.uses, bool) or not isinstance(self.uses, int) or self.uses < 1:
            raise InvalidInput(field="uses", rule="must be a number of at least 1")
        if not isinstance(self.expires_at, datetime) or self.expires_at.tzinfo is None:
            raise InvalidInput(field="expires_at", rule="must be a time with a zone")

    def holds(
        self, *, kind: TicketKind, session: str, action: str | None, audience: str | None, issuer: str, now: datetime
    ) -> bool:
        """Tells whether it is good for all of this at this moment."""
        return (
            self.kind == kind
            and self.session == session
            and self.issuer == issuer
            and (self.action is None or self.action == action)
            and (self.audience is None or self.audience == audience)
            and self.uses > 0
            and now < self.expires_at
        )

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a ticket cannot be pickled: it holds what stands behind a token; pass the token")


def new_token(kind: TicketKind) -> str:
    """Returns a token of 128 random bits, 26 characters."""
    return f"{_PREFIXES[kind]}_{secrets.token_urlsafe(16)}"


def is_ticket_token(value: object) -> bool:
    """Tells whether a value has the form of a token; nothing about whether it is good for anything."""
    return isinstance(value, str) and _TOKEN.match(value) is not None


def name_of(token: object) -> str:
    """Returns the name under which a desk keeps what stands behind a token; the token cannot be made from it.

    Raises:
        TicketRefused: the value has not the form of a token.
    """
    if not isinstance(token, str) or not is_ticket_token(token):
        raise TicketRefused
    return hashlib.sha256(token.encode()).hexdigest()


class TicketDesk(Protocol):
    """Makes out tickets and takes them back."""

    def issue(self, ticket: Ticket, *, now: datetime) -> str:
        """Keeps a ticket and returns its token."""
        ...

    def look(
        self, token: object, *, kind: TicketKind, session: str, action: str | None = None,
        audience: str | None = None, issuer: str = ISSUER, now: datetime,
    ) -> Ticket:  # fmt: skip
        """Returns the ticket of a token and spends nothing.

        Raises:
            TicketRefused: it is not good for all of this, whichever part it is.
        """
        ...

    def redeem(
        self, token: object, *, kind: TicketKind, session: str, action: str | None = None,
        audience: str | None = None, issuer: str = ISSUER, now: datetime,
    ) -> Ticket:  # fmt: skip
        """Returns the ticket of a token and spends one use of it; of two that redeem the last one, one succeeds.

        Raises:
            TicketRefused: it is not good for all of this, whichever part it is.
        """
        ...

    def revoke(self, token: object) -> None:
        """Ends a ticket; one that is not known is none already."""
        ...

    def erase(self, session: str) -> None:
        """Ends all tickets of a session."""
        ...


class MemoryDesk:
    """Keeps tickets in the memory of this process, bounded in number; the oldest go first.

    Args of the constructor:
        max_tickets: how many are kept.
    """

    def __init__(self, *, max_tickets: int = 10_000) -> None:
        if isinstance(max_tickets, bool) or not isinstance(max_tickets, int) or max_tickets < 1:
            raise InvalidInput(field="max_tickets", rule="must be at least 1")
        self._max_tickets = max_tickets
        self._kept: OrderedDict[str, Ticket] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<MemoryDesk {len(self._kept)} tickets>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a ticket desk cannot be pickled: it says what tokens are good for")

    def issue(self, ticket: Ticket, *, now: datetime) -> str:
        """Keeps a ticket and returns its token."""
        token = new_token(ticket.kind)
        with self._lock:
            if len(self._kept) >= self._max_tickets:
                for name in [n for n, t in self._kept.items() if t.expires_at <= now]:
                    del self._kept[name]
            while len(self._kept) >= self._max_tickets:
                self._kept.popitem(last=False)
            self._kept[name_of(token)] = ticket
        return token

    def look(
        self, token: object, *, kind: TicketKind, session: str, action: str | None = None,
        audience: str | None = None, issuer: str = ISSUER, now: datetime,
    ) -> Ticket:  # fmt: skip
        """Returns the ticket of a token and spends nothing."""
        ticket = self._kept.get(name_of(token))
        if ticket is None or not ticket.holds(
            kind=kind, session=session, action=action, audience=audience, issuer=issuer, now=now
        ):
            raise TicketRefused
        return ticket

    def redeem(
        self, token: object, *, kind: TicketKind, session: str, action: str | None = None,
        audience: str | None = None, issuer: str = ISSUER, now: datetime,
    ) -> Ticket:  # fmt: skip
        """Returns the ticket of a token and spends one use of it."""
        with self._lock:
            ticket = self.look(
                token, kind=kind, session=session, action=action, audience=audience, issuer=issuer, now=now
            )
            if ticket.uses == 1:
                del self._kept[name_of(token)]
            else:
                self._kept[name_of(token)] = replace(ticket, uses=ticket.uses - 1)
        return ticket

    def revoke(self, token: object) -> None:
        """Ends a ticket; one that is not known is none already."""
        if is_ticket_token(token):
            with self._lock:
                self._kept.pop(name_of(token), None)

    def erase(self, session: str) -> None:
        """Ends all tickets of a session."""
        with self._lock:
            for name in [n for n, t in self._kept.items() if t.session == session]:
                del self._kept[name]


def ends_at(now: datetime, ttl_s: float) -> datetime:
    """Returns the moment `ttl_s` seconds after `now`.

    Raises:
        InvalidInput: it is no number of seconds above 0 and of a year at most.
    """
    if isinstance(ttl_s, bool) or not isinstance(ttl_s, int | float) or not 0 < ttl_s <= 86_400.0 * 366:
        raise InvalidInput(field="ttl_s", rule="must be a number of seconds above 0, a year at most")
    return now + timedelta(seconds=ttl_s)
