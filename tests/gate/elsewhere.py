"""A worker of a session on a SQL ledger, for tests that start it in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evidence.made_ledgers import file_ledger
from evidence.made_reads import made
from gate.write_cases import IDS
from unabridged.actions.approvals import Card
from unabridged.evidence import session
from unabridged.gate import Entered, Gate, WriteSpec
from unabridged.gate.boundary import run_body


def asked(path: Path, answers: list[dict[str, Any] | None], *, reads: bool = False) -> tuple[list[bool], list[str]]:
    """Calls one write as often as there are answers; `None` approves what is asked.

    Args:
        path: the file of the ledger.
        answers: what a person decides, in turn.
        reads: whether it reads what it writes about first.

    Returns:
        Whether each call ran, and the bindings of what was asked.
    """
    ledger = file_ledger(path)
    ran: list[bool] = []
    bindings: list[str] = []

    def decides(card: Card) -> Any:
        bindings.append(card.binding)
        answer = answers[len(ran)]
        return {"decision": "approve", "binding": card.binding} if answer is None else answer

    case = session("case", ledger=ledger, approve=decides)
    if reads:
        case.record(made("orders", IDS))
    gate = Gate("archive", WriteSpec(relies_on=["orders"], targets="ids", approval="always"))
    for _ in answers:
        body: list[bool] = []
        entered = gate.enter({"ids": IDS[:1]}, session=case, call_id="one")
        if isinstance(entered, Entered):
            run_body(gate, entered, lambda body=body: body.append(True))
        ran.append(bool(body))
    ledger.close()
    return ran, bindings
