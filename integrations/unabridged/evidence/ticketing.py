"""The tickets of one session: made out, looked at and redeemed under its key and by its clock."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from unabridged.audit.canonical import canonical
from unabridged.contract import InvalidInput, NotComplete, ReadResult, Selection, TicketRefused

from .selections import Selected, chosen_ids, part_of
from .tickets import Ticket, TicketKind, ends_at

if TYPE_CHECKING:
    from .sessions import Session


class SessionTickets:
    """Makes out and takes back the tickets of a session. Tickets of an evicted or erased session are good for nothing.

    Args of the constructor:
        session: the session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"<SessionTickets of {self._session!r}>"

    def now(self) -> datetime:
        """Returns the present moment, as it counts in the session: by the ledger's clock, and never an earlier one."""
        with self._session._turn() as (_, now):
            return now

    def digest(self, value: Any) -> str:
        """Returns a keyed digest of JSON values, hex; the key is the ledger's, so that nothing can be guessed from it.

        Raises:
            InvalidInput: the value has no JSON form.
        """
        return hmac.digest(self._session.ledger.secret, canonical(value), "sha256").hex()

    def issue(
        self,
        kind: TicketKind,
        *,
        action: str | None = None,
        audience: str | None = None,
        ttl_s: float,
        uses: int = 1,
        payload: Any = None,
    ) -> str:
        """Makes out a ticket that holds in this session, and returns its token; see `Ticket`.

        Raises:
            InvalidInput: an argument breaks its rule.
            TicketRefused: the session was evicted or erased.
        """
        with self._session._turn() as (journal, now):
            if not journal.alive:
                raise TicketRefused
            ticket = Ticket(
                kind=kind, session=self._session.key.digest, action=action, audience=audience,
                expires_at=ends_at(now, ttl_s), uses=uses, payload=payload,
            )  # fmt: skip
            return self._session.ledger.desk.issue(ticket, now=now)

    def look(
        self, token: object, *, kind: TicketKind, action: str | None = None, audience: str | None = None
    ) -> Ticket:
        """Returns the ticket of a token and spends nothing.

        Raises:
            TicketRefused: it is not good for this, here and now.
        """
        return self._presented(self._session.ledger.desk.look, token, kind, action, audience)

    def redeem(
        self, token: object, *, kind: TicketKind, action: str | None = None, audience: str | None = None
    ) -> Ticket:
        """Returns the ticket of a token and spends one use of it.

        Raises:
            TicketRefused: it is not good for this, here and now.
        """
        return self._presented(self._session.ledger.desk.redeem, token, kind, action, audience)

    def _presented(
        self, verb: Callable[..., Ticket], token: object, kind: TicketKind, action: str | None, audience: str | None
    ) -> Ticket:
        """Presents a token at the desk, under the key of the session and by its clock."""
        with self._session._turn() as (journal, now):
            if not journal.alive:
                raise TicketRefused
            session = self._session.key.digest
            return verb(token, kind=kind, session=session, action=action, audience=audience, now=now)

    def select(self, result: ReadResult, ids: Iterable[Any], *, action: str, ttl_s: float = 300.0) -> Selection:
        """Returns a selection of ids of a complete read; see `ReadResult.select`.

        Raises:
            NotComplete: the read is not complete, as it stands in this session.
            InvalidInput: an id is not of this read, or an argument breaks its rule.
            TicketRefused: the session was evicted or erased.
        """
        if not isinstance(action, str) or not action:
            raise InvalidInput(field="action", rule="must be the name of a write")
        read = self._session.record(result)
        with self._session._turn() as (journal, now):
            strand = journal.evidence.strand(read.id)
            if strand is None or not strand.complete:
                raise NotComplete(status=read.status, codes=read.codes)
            chosen = chosen_ids(ids, strand.keys)
            until = ends_at(now, ttl_s)
        token = self.issue(
            "selection", action=action, ttl_s=ttl_s, payload={"read": strand.head.id, "ids": chosen}
        )  # fmt: skip
        return Selection(token, action=action, count=len(chosen), resource=read.resource, expires_at=until)

    def selected(self, token: object, *, action: str, ids: Iterable[Any] | None = None) -> Selected:
        """Returns what a selection stands for and spends nothing.

        Args:
            token: the token, or the selection itself.
            action: the write that it is presented for.
            ids: what the write touches of it; all of it when not given.

        Raises:
            TicketRefused: the selection is not good for this write, or holds fewer ids than the write names.
        """
        token = str(token) if isinstance(token, Selection) else token
        payload = self.look(token, kind="selection", action=action).payload
        with self._session._turn() as (journal, _):
            read = journal.evidence.find(payload["read"])
            if read is None:
                raise TicketRefused
            return Selected(read.id, read.resource, read.filter_key, part_of(payload["ids"], ids))

    def spend(self, token: object, *, action: str) -> None:
        """Spends a selection, right before its write runs; of two writes that present it, one runs.

        Raises:
            TicketRefused: it is not good for this write any more.
        """
        self.redeem(str(token) if isinstance(token, Selection) else token, kind="selection", action=action)
