"""Who may start an action. Nobody, unless it was granted: drafting granted is not sending granted."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from unabridged.contract import InvalidInput

if TYPE_CHECKING:
    from unabridged.evidence import Session

    from .declaring import Action

_log = logging.getLogger("unabridged.actions")
Effect = Literal["read", "draft", "change", "send", "destroy"]
EFFECTS: Final[tuple[Effect, ...]] = get_args(Effect)
"""What an action does, the gravest last: looks, prepares what a person sees first, changes records, tells someone
outside, destroys. A grant of one is a grant of no other."""
WRITES: Final[frozenset[Effect]] = frozenset({"change", "send", "destroy"})

Authorize = Callable[[str | None, "Session | None", "Action", Mapping[str, Any]], bool]
"""`(principal, session, action, references) -> bool`; nothing but `True` lets an action start."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to start actions of one effect.

    Attributes:
        effect: the effect.
        actions: the names of the actions; `None`: every action of that effect.
    """

    effect: Effect
    actions: frozenset[str] | None = None

    def __init__(self, effect: Effect, actions: Collection[str] | None = None) -> None:
        if effect not in EFFECTS:
            raise InvalidInput(field="effect", rule=f"must be one of {', '.join(EFFECTS)}")
        if isinstance(actions, str):
            raise InvalidInput(field="actions", rule="must be a list of names")
        object.__setattr__(self, "effect", effect)
        object.__setattr__(self, "actions", None if actions is None else frozenset(actions))

    def covers(self, *, effect: str, action: str) -> bool:
        """Tells whether it lets this action start."""
        return self.effect == effect and (self.actions is None or action in self.actions)


class Grants:
    """Lets principals start what was granted to them, by effect and where wanted by action.

    Args of the constructor:
        granted: for each principal its effects or `Grant`s.
        anyone: what everyone may start, also a session that names no principal.

    >>> grants = Grants({"lead": ["draft", Grant("send", ["notify_owner"])]}, anyone=["read"])
    """

    def __init__(
        self, granted: Mapping[str, Iterable[Effect | Grant]] | None = None, *, anyone: Iterable[Effect | Grant] = ()
    ) -> None:
        self._granted = {principal: _grants(grants) for principal, grants in (granted or {}).items()}
        self._anyone = _grants(anyone)

    def __repr__(self) -> str:
        return f"<Grants of {len(self._granted)} principals>"

    def __call__(
        self, principal: str | None, session: Session | None, action: Action, references: Mapping[str, Any]
    ) -> bool:
        """Tells whether the principal may start the action."""
        given = self._granted.get(principal, ()) if principal is not None else ()
        return any(g.covers(effect=action.effect, action=action.name) for g in (*given, *self._anyone))


def _grants(grants: Iterable[Effect | Grant]) -> tuple[Grant, ...]:
    if isinstance(grants, str):
        raise InvalidInput(field="grants", rule="must be a list of effects or grants")
    return tuple(g if isinstance(g, Grant) else Grant(g) for g in grants)


def is_allowed(
    authorize: Authorize | None, *, session: Session | None, action: Action, references: Mapping[str, Any]
) -> bool:
    """Tells whether an action may start. Without a rule, and where the rule fails, it may not."""
    if authorize is None:
        return False
    principal = None if session is None else session.key.principal
    try:
        answer: Any = authorize(principal, session, action, references)
    except Exception as error:  # noqa: BLE001 - the author's own rule: whatever it raises, nothing was granted
        _log.error("the authority of %s failed with %s", action.name, type(error).__name__)
        return False
    if inspect.iscoroutine(answer):
        answer.close()
    return answer is True
