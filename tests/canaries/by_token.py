"""A refund whose customer is a reference, and whose orders are a selection."""

from __future__ import annotations

from typing import Any, Final

from canaries.desk import GOOD, Refund, Waiting, orders, refund, said
from canaries.watching import IDS, SENT, UP, customer
from unabridged.actions import Command, reference

BEHIND: Final = customer(UP)
"""What a reference stands for: no model may learn it."""


class ByToken(Refund):
    """A refund whose customer is a reference, and whose orders are a selection."""

    customer: str
    chosen: str | None = None


class Quoting(Waiting):
    """A provider that quotes its command where it fails."""

    def answer(self) -> Any:
        """Answers, or fails with all that it was told."""
        command: Command = self.commands[-1]
        if self.mode == "raises":
            raise RuntimeError(f"{said(self.secret)} {command.to_message()}")
        return super().answer()


def by_token(provider: Any, **declared: Any) -> Any:
    """Returns the action."""
    return refund(
        provider, input=ByToken, references={"customer": "customer"}, selection="chosen", approval="always", **declared
    )


def tokens(session: Any, **of: Any) -> dict[str, Any]:
    """Returns a request whose customer and orders are tokens of a session."""
    read = orders(filters={"owner": f"{SENT}owner"})
    session.record(read)
    chosen = session.tickets.select(read, [f"o {IDS}one", f"o {IDS}two"], action="refund")
    token = reference(session, "customer", BEHIND, **{"action": "refund", **of})
    return {"mail": GOOD["mail"], "cents": GOOD["cents"], "ids": [f"o {IDS}one"], "customer": token,
            "chosen": str(chosen)}  # fmt: skip


FLAWED: dict[str, dict[str, Any]] = {
    "forged": {"customer": f"ref_{SENT}forged"},
    "no token": {"customer": f"{SENT} customer"},
    "no selection": {"chosen": f"sel_{SENT}forged"},
    "another order": {"ids": [f"o {IDS}three"]},
}
