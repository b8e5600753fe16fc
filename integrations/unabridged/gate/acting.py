"""An action as a tool: what the guard must know of it, and a way to start it without a framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unabridged._ambient import Boxed
from unabridged.evidence import Session, current_session

from .boundary import arun_body, run_body
from .declare import WriteSpec
from .presenting import Reply
from .runtime import ALONE, Entered, Gate, Turn

if TYPE_CHECKING:
    from unabridged.actions import Action


def write_spec(action: Action) -> WriteSpec:
    """Returns the declaration of a write whose contract is an action."""
    return WriteSpec(
        relies_on=action.relies_on, targets=action.targets, independent=action.independent,
        destructive=action.destructive, require=action.require, max_age_s=action.max_age_s, recheck=action.recheck,
        selection=action.selection, approval=action.approval, show=action.show, purpose=action.purpose,
        max_targets=None if action.targets is None else action.most_targets,
        allow_returned_targets=action.allow_returned_targets, action=action,
    )  # fmt: skip


def run_action(
    action: Action, fields: Mapping[str, Any], *, session: Session | None = None, turn: Turn = ALONE
) -> Reply:
    """Starts an action as an agent would: admitted, judged, written down, done. Returns what an agent would be told.

    Args:
        action: the action.
        fields: its input, as a model sends it.
        session: the session; the one in scope when not given.
        turn: what is known of the model's turn.
    """
    gate = Gate(action.name, write_spec(action))
    given = Boxed(fields)
    del fields
    entered = gate.enter(given.take(), session=session or current_session(), turn=turn)
    return entered if isinstance(entered, Reply) else run_body(gate, entered, _no_body)


async def arun_action(
    action: Action, fields: Mapping[str, Any], *, session: Session | None = None, turn: Turn = ALONE
) -> Reply:
    """As `run_action`, without blocking."""
    gate = Gate(action.name, write_spec(action))
    given = Boxed(fields)
    del fields
    entered: Entered | Reply = gate.enter(given.take(), session=session or current_session(), turn=turn)
    return entered if isinstance(entered, Reply) else await arun_body(gate, entered, _no_async_body)


def _no_body() -> Any:
    raise NotImplementedError


async def _no_async_body() -> Any:
    raise NotImplementedError
