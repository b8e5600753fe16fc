"""References: what an agent may hold in the place of a value. The value stays on the server's side, under a ticket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from unabridged.contract import InvalidInput, TicketRefused, UnabridgedError

if TYPE_CHECKING:
    from unabridged.evidence import Session

_USES: Final = 100
_NOT_GOOD: Final = "is not valid here"


@dataclass(frozen=True, slots=True)
class ReferenceKind:
    """What a reference of an action stands for.

    Attributes:
        name: the kind of thing, such as `account`.
        audience: who the ticket must be made out to; `None`: a ticket that names nobody.
    """

    name: str
    audience: str | None = None

    def __post_init__(self) -> None:
        for name in ("name", "audience"):
            value = getattr(self, name)
            if (value is not None or name == "name") and (not isinstance(value, str) or not value):
                raise InvalidInput(field=f"references.{name}", rule="must be a non-empty text")


def reference(
    session: Session,
    kind: ReferenceKind | str,
    value: Any,
    *,
    action: str | None = None,
    ttl_s: float = 900.0,
    uses: int = _USES,
) -> str:
    """Returns a token that stands for a value in a session; it tells nothing of it.

    Args:
        session: the session that it holds in.
        kind: what it stands for.
        value: the value, JSON.
        action: the one action that it is good for; `None`: each that takes the kind.
        ttl_s: how long, in seconds.
        uses: for how many runs of an action. A repeated call after a partial one is a run too.

    Raises:
        InvalidInput: an argument breaks its rule.
        TicketRefused: the session was evicted or erased.
    """
    kind = kind_of(kind)
    payload = {"kind": kind.name, "value": deepcopy(value)}
    return session.tickets.issue(
        "reference", action=action, audience=kind.audience, ttl_s=ttl_s, uses=uses, payload=payload
    )


def kind_of(kind: ReferenceKind | str) -> ReferenceKind:
    """Returns a kind by its name, or as it is."""
    return kind if isinstance(kind, ReferenceKind) else ReferenceKind(kind)


@dataclass(frozen=True, slots=True)
class Resolved:
    """What the references of a request stand for, or the fields where they are not good. Its repr shows no value."""

    values: Mapping[str, Any]
    flawed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Resolved of {len(self.values)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("what references stand for cannot be pickled; pass their tokens")


def resolve(
    session: Session | None,
    kinds: Mapping[str, ReferenceKind],
    sent: Mapping[str, Any],
    *,
    action: str,
    spend: bool = False,
) -> Resolved:
    """Returns what the references of a request stand for.

    Args:
        session: the session; without one no reference is good.
        kinds: the fields that take one, or a list of them.
        sent: the validated fields.
        action: the action that they are presented for.
        spend: spends a use of each.
    """
    values: dict[str, Any] = {}
    flawed = []
    for name, kind in kinds.items():
        given = sent.get(name)
        if given is None:
            continue
        many = isinstance(given, Sequence) and not isinstance(given, str)
        try:
            found = [_one(session, kind, token, action=action, spend=spend) for token in (given if many else [given])]
        except UnabridgedError:
            flawed.append(name)
        else:
            values[name] = found if many else found[0]
    return Resolved(values, tuple(flawed))


def _one(session: Session | None, kind: ReferenceKind, token: object, *, action: str, spend: bool) -> Any:
    if session is None:
        raise TicketRefused
    payload = session.tickets.look(token, kind="reference", action=action, audience=kind.audience).payload
    if not isinstance(payload, Mapping) or payload.get("kind") != kind.name:
        raise TicketRefused
    if spend:
        session.tickets.redeem(token, kind="reference", action=action, audience=kind.audience)
    return deepcopy(payload["value"])  # whoever changes what it got changes nothing for those who come after


def problems_of(resolved: Resolved) -> tuple[tuple[str, str], ...]:
    """Returns which fields hold a reference that is not good; not why."""
    return tuple((name, _NOT_GOOD) for name in resolved.flawed)
