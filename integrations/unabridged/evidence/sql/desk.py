"""The ticket desk in a SQL database. A token opens what is kept under it, and nothing else does.

A row holds a keyed hash of the token and a seal: what the ticket stands for, under a key that is made from the token
and from the ledger's key. Whoever reads the table learns whose session it is by a digest, how often it may still be
used and when it ends. Whoever writes to it can end a ticket or give back its uses, and change nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from unabridged.contract import InvalidInput, TicketRefused
from unabridged.evidence.tickets import ISSUER, Ticket, TicketKind, is_ticket_token, name_of, new_token

from .database import Database, Link, from_us, to_us
from .tables import tickets

_COUNT: Final = sa.select(sa.func.count()).select_from(tickets)
_TAG: Final = 32


class SqlDesk:
    """Keeps tickets in a SQL database, bounded in number; the oldest go first. Made by `SqlLedger`."""

    def __init__(self, database: Database, owner_of: Callable[[str], str], *, key: bytes, max_tickets: int) -> None:
        if isinstance(max_tickets, bool) or not isinstance(max_tickets, int) or max_tickets < 1:
            raise InvalidInput(field="max_tickets", rule="must be at least 1")
        self._database = database
        self._owner_of = owner_of
        self._key = key
        self._max_tickets = max_tickets

    def __repr__(self) -> str:
        return f"<SqlDesk in {self._database.dialect}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a ticket desk cannot be pickled: it says what tokens are good for")

    def issue(self, ticket: Ticket, *, now: datetime) -> str:
        """Keeps a ticket and returns its token.

        Raises:
            InvalidInput: what it stands for is no JSON.
        """
        token = new_token(ticket.kind)
        sealed = _seal(self._key, token, ticket)
        with self._database.transaction() as link:
            self._make_room(link)
            row = {
                "name": self._name(token), "owner": self._owner_of(ticket.session), "uses": ticket.uses,
                "expires_us": to_us(ticket.expires_at), "sealed": sealed,
            }  # fmt: skip
            link.execute(tickets.insert().values(row))
        return token

    def look(
        self, token: object, *, kind: TicketKind, session: str, action: str | None = None,
        audience: str | None = None, issuer: str = ISSUER, now: datetime,
    ) -> Ticket:  # fmt: skip
        """Returns the ticket of a token and spends nothing; the moment is the database's, and no earlier than `now`."""
        with self._database.transaction(reads=True) as link:
            ticket = self._found(link, token, session)
            moment = max(from_us(link.now_us), now)
        if ticket is None or not ticket.holds(
            kind=kind, session=session, action=action, audience=audience, issuer=issuer, now=moment
        ):
            raise TicketRefused
        return ticket

    def redeem(
        self, token: object, *, kind: TicketKind, session: str, action: str | None = None,
        audience: str | None = None, issuer: str = ISSUER, now: datetime,
    ) -> Ticket:  # fmt: skip
        """Returns the ticket of a token and spends one use of it; of two that redeem the last one, one succeeds."""
        with self._database.transaction() as link:
            ticket = self.look(
                token, kind=kind, session=session, action=action, audience=audience, issuer=issuer, now=now
            )
            if not self._spend(link, self._name(token)):
                raise TicketRefused
        return ticket

    def _spend(self, link: Link, name: str) -> bool:
        """Takes one use away, where there is one; the database lets one transaction after the other do so."""
        one_less = tickets.update().where(tickets.c.name == name, tickets.c.uses > 0).values(uses=tickets.c.uses - 1)
        return link.execute(one_less) == 1

    def revoke(self, token: object) -> None:
        """Ends a ticket; one that is not known is none already."""
        if is_ticket_token(token):
            with self._database.transaction() as link:
                link.execute(tickets.delete().where(tickets.c.name == self._name(token)))

    def erase(self, session: str) -> None:
        """Ends all tickets of a session."""
        with self._database.transaction() as link:
            link.execute(tickets.delete().where(tickets.c.owner == self._owner_of(session)))

    def _name(self, token: object) -> str:
        return hmac.digest(self._key, b"name" + name_of(token).encode(), "sha256").hex()

    def _found(self, link: Link, token: object, session: str) -> Ticket | None:
        name = self._name(token)
        row = link.first(sa.select(tickets).where(tickets.c.name == name))
        if row is None or row.uses < 1:
            return None
        told = _open(self._key, str(token), row.sealed)
        if told is None or row.owner != self._owner_of(told["session"]):
            return None
        return replace(Ticket(**told), uses=row.uses)

    def _make_room(self, link: Link) -> None:
        count = link.rows(_COUNT)[0][0]
        if count < self._max_tickets:
            return
        link.execute(tickets.delete().where((tickets.c.expires_us <= link.now_us) | (tickets.c.uses < 1)))
        count = link.rows(_COUNT)[0][0]
        if count >= self._max_tickets:
            oldest = sa.select(tickets.c.id).order_by(tickets.c.id).limit(count - self._max_tickets + 1)
            link.execute(tickets.delete().where(tickets.c.id.in_(oldest.scalar_subquery())))


def _seal(key: bytes, token: str, ticket: Ticket) -> bytes:
    """Returns what a ticket stands for, unreadable without its token. A token seals one ticket only, ever."""
    told = [
        ticket.kind, ticket.session, ticket.action, ticket.audience, ticket.issuer, to_us(ticket.expires_at),
        ticket.payload,
    ]  # fmt: skip
    try:
        plain = json.dumps(told, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError):
        plain = None
    if plain is None:
        raise InvalidInput(field="payload", rule="must be JSON")
    stream, tag_key = _keys(key, token, len(plain))
    sealed = bytes(a ^ b for a, b in zip(plain, stream, strict=True))
    return hmac.digest(tag_key, sealed, "sha256") + sealed


def _open(key: bytes, token: str, sealed: bytes) -> dict[str, Any] | None:
    """Returns what a seal holds; nothing where it was changed."""
    tag, body = bytes(sealed[:_TAG]), bytes(sealed[_TAG:])
    stream, tag_key = _keys(key, token, len(body))
    if not hmac.compare_digest(tag, hmac.digest(tag_key, body, "sha256")):
        return None
    told = json.loads(bytes(a ^ b for a, b in zip(body, stream, strict=True)))
    names = ("kind", "session", "action", "audience", "issuer", "expires_at", "payload")
    found = dict(zip(names, told, strict=True))
    return {**found, "expires_at": from_us(found["expires_at"])}


def _keys(key: bytes, token: str, length: int) -> tuple[bytes, bytes]:
    secret = hmac.digest(key, b"seal" + token.encode(), "sha256")
    return hashlib.shake_256(b"stream" + secret).digest(length), hmac.digest(secret, b"tag", "sha256")
