"""Asking a person by pausing the graph: the card goes out as the interrupt, the decision comes back with the resume."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unabridged.actions.approvals import ApprovalStale, Card


def interrupt_for_approval(card: Card) -> Mapping[str, Any]:
    """Pauses the graph with the card as JSON, and returns what it was resumed with. Needs a checkpointer.

    Resume with `Command(resume={"decision": "approve", "binding": card["binding"]})`, where `decision` is one of the
    options of the card, and `ids` go with `go_ahead_for`. Without the binding of just this card nothing is approved:
    the arguments, the evidence or the call may be other ones when the graph goes on.

    Raises:
        ApprovalStale: the answer is no object, so that it does not say which card it is about.
    """
    from langgraph.types import interrupt

    answer = interrupt(card.to_dict())
    if not isinstance(answer, Mapping):
        raise ApprovalStale
    return answer
