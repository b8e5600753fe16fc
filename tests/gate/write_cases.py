"""A write with a session, a log and a person, for the tests of what stands between the leave to write and the write."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from evidence.made_reads import at as moment
from unabridged import session
from unabridged.actions.approvals import Card
from unabridged.evidence import MemoryLedger, Session
from unabridged.gate import Entered, Gate, Reply, WriteSpec
from unabridged.gate.boundary import arun_body, run_body

IDS = ["k4narie-1", "k4narie-2", "k4narie-3"]


class Case:
    """A session with a write whose body keeps what it was called with."""

    def __init__(self, *reads: Any, **spec: Any) -> None:
        self.clock = [moment(10)]
        self.options = {name: spec.pop(name) for name in ("approve", "audit") if name in spec}
        self.ledger = MemoryLedger()
        self.session: Session = session("case", ledger=self.ledger, now=lambda: self.clock[0], **self.options)
        for read in reads:
            self.session.record(read)
        self.gate = Gate("archive", WriteSpec(**{"targets": "ids", **spec}))
        self.ran: list[Any] = []

    def enter(self, **args: Any) -> Entered | Reply:
        return self.gate.enter(args, session=self.session)

    def call(self, *, runs: Callable[[], Any] = lambda: "archived", **args: Any) -> Reply:
        entered = self.enter(**args)
        if isinstance(entered, Reply):
            return entered
        return run_body(self.gate, entered, lambda: self._body(entered, args, runs))

    def acall(self, **args: Any) -> Reply:
        entered = self.enter(**args)
        if isinstance(entered, Reply):
            return entered

        async def body() -> Any:
            return self._body(entered, args, lambda: "archived")

        return asyncio.run(arun_body(self.gate, entered, body))

    def _body(self, entered: Entered, args: Mapping[str, Any], runs: Callable[[], Any]) -> Any:
        self.ran.append({**args, **entered.changes})
        return runs()


def told(reply: Reply) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(reply.content)
    assert "k4narie" not in reply.content, "no value of an argument stands in a refusal"
    return document


def codes(reply: Reply) -> list[str]:
    return list(told(reply)["codes"])


def inside_a_loop(case: Case) -> Reply:
    """Calls a write in sync code of a thread whose loop runs, so that it can wait for nothing."""

    async def run() -> Reply:
        return case.call(ids=IDS)

    return asyncio.run(run())


class Person:
    """Answers every card alike, and keeps the cards."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.cards: list[Card] = []

    def __call__(self, card: Card) -> Any:
        self.cards.append(card)
        return self.answer(card) if callable(self.answer) else self.answer


WHOLE = ("orders", IDS)
PART = ("orders", IDS, "VISIBILITY_RESTRICTED")
