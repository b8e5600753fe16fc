"""Reports of the kind K6 that need no framework: guards, approvals, and writes by absence, told again.

R44 and R48 are told where the gate's approvals are tested (`gate/test_writing.py`).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from evidence.made_reads import at as moment
from evidence.made_reads import frozen, made
from gate.write_cases import WHOLE, Case, codes
from reading.served import Call
from reports.asked import TOKEN, Asked, ask, fresh, keys, listing, offset, records
from unabridged.actions.approvals import Card, Decision, approve
from unabridged.audit import AuditEvent
from unabridged.evidence import MemoryLedger, WriteIntent, session
from unabridged.gate import Entered, Gate, Reply, WriteSpec
from unabridged.gate.boundary import arun_body, run_body

KNOWN = range(1, 201)
LISTING = listing(offset("empty_page"), order={"by": "id", "unique": True})


class Sync:
    """A sync that deletes what a listing does not hold, behind a gate."""

    def __init__(self) -> None:
        self.deleted: list[int] = []
        self.gate = Gate("delete_absent", WriteSpec(relies_on=["things"]))

    def __call__(self, listed: Asked) -> Reply:
        entered = self.gate.enter({}, session=listed.session)
        if isinstance(entered, Reply):
            return entered
        return run_body(self.gate, entered, lambda: self._delete(listed))

    def _delete(self, listed: Asked) -> str:
        self.deleted += [n for n in KNOWN if n not in set(listed.result.ids)]
        return "synchronised"


def serve(pages: Callable[[int], Any], status: int = 200) -> Callable[[Call], None]:
    def respond(call: Call) -> None:
        call.answer(
            status, json.dumps(pages(int(call.query.get("offset", "0")))).encode(), content_type="application/json"
        )

    return respond


def whole(start: int) -> Any:
    return {"items": records(start + 1, min(start + 101, 201))}


def test_r43_nothing_is_deleted_because_a_listing_stopped_early() -> None:
    """simstudioai/sim#6757: what a listing does not hold was deleted, whatever had ended the listing."""
    sync = Sync()
    stopped = ask(LISTING, serve(whole), budget={"max_pages": 1})
    assert codes(sync(stopped)) == ["EVIDENCE_INCOMPLETE"]
    assert "MORE_PAGES_AVAILABLE" in stopped.result.codes or "CLIENT_LIMIT_REACHED" in stopped.result.codes
    failed = ask(LISTING, serve(lambda _: {"error": "labels"}, 500))
    assert codes(sync(failed)) == ["EVIDENCE_INCOMPLETE"]
    assert failed.result.codes == ("SOURCE_UNAVAILABLE",)
    assert sync.deleted == []


def test_r43_an_empty_page_that_names_another_is_no_end_of_the_listing() -> None:
    sync = Sync()

    def respond(call: Call) -> None:
        call.page({"items": [], "next": "c2"} if "cursor" not in call.query else {"items": records(1, 201)})

    one = ask(listing(TOKEN), respond, budget={"max_pages": 1})
    assert codes(sync(one)) == ["EVIDENCE_INCOMPLETE"]
    assert sync.deleted == []
    both = ask(listing(TOKEN), respond)
    assert both.result.complete
    assert sync(both).value == "synchronised"
    assert sync.deleted == []


def test_r43_a_page_size_that_changes_under_a_cursor_deletes_nothing() -> None:
    sized = listing(TOKEN, size={"send": {"query": "limit"}, "max": 100, "read": "used"})
    sync = Sync()

    def respond(call: Call) -> None:
        if "cursor" not in call.query:
            call.page({"items": records(1, 101), "next": "c2", "used": 100})
        else:
            call.page({"items": records(151, 201), "used": 50})

    changed = ask(sized, respond)
    assert keys(changed.result) == {"PROTOCOL_ANOMALY:page_size_changed"}
    assert codes(sync(changed)) == ["EVIDENCE_INCOMPLETE"]
    assert sync.deleted == []


def test_r43_a_whole_listing_deletes_just_what_it_misses() -> None:
    sync = Sync()
    full = ask(LISTING, serve(whole))
    assert sync(full).value == "synchronised"
    assert sync.deleted == []

    def thinned(start: int) -> Any:
        kept = [r for r in records(1, 201) if r["id"] not in (7, 70, 170)]
        return {"items": kept[start : start + 100]}

    fewer = ask(LISTING, serve(thinned))
    assert sync(fewer).value == "synchronised"
    assert sync.deleted == [7, 70, 170]


async def test_r47_no_tool_runs_while_its_guard_still_thinks() -> None:
    """openai/openai-agents-python#991: the guard ran beside the tool, and the tool was faster."""
    asked, decided = asyncio.Event(), asyncio.Event()

    async def thinks(_: Card) -> Decision:
        asked.set()
        await decided.wait()
        return Decision.abandon()

    case = Case(made(*WHOLE), destructive=True, approve=thinks)
    entered = case.enter(ids=WHOLE[1])
    assert isinstance(entered, Entered)

    async def body() -> None:
        case.ran.append("at once")

    running = asyncio.create_task(arun_body(case.gate, entered, body))
    await asyncio.wait_for(asked.wait(), 60)
    for _ in range(20):
        await asyncio.sleep(0)
    assert case.ran == []
    decided.set()
    assert (await running).is_error
    assert case.ran == []


def test_r48_the_approver_sees_the_arguments_that_run() -> None:
    """pydantic/pydantic-ai#6968: the screen showed the arguments of before a hook."""
    cards: list[Card] = []

    def asks(card: Card) -> bool:
        cards.append(card)
        return False

    case = Case(frozen(*WHOLE), approval="always", approve=asks, targets=None, show=["path"])
    case.call(path="/tmp/a", mode="fast")
    token = approve(case.session, cards[0], True)
    case.session.approve = lambda _: token
    assert codes(case.call(path="/data/a", mode="fast")) == ["APPROVAL_STALE"]
    assert case.ran == []
    assert [(p.name, p.shown) for p in cards[0].parameters] == [("path", "/tmp/a"), ("mode", "<not shown>")]


class _Broken:
    def write(self, event: AuditEvent) -> None:
        raise KeyError(event.kind)

    def digest(self, value: Any, *, session: str | None = None) -> str:
        raise KeyError("no key")


def _no_clock() -> Any:
    raise KeyError("the clock is missing")


def _no_decision(_: Card) -> Any:
    raise KeyError("the policy has no rule")


@pytest.mark.parametrize(
    "fails",
    [{"approve": _no_decision}, {"audit": _Broken()}, {"now": _no_clock}, {"now": lambda: None}, {"now": time.time}],
    ids=["policy", "audit", "no clock", "no time", "a number"],
)
def test_r54_a_guard_that_fails_refuses(fails: dict[str, Any]) -> None:
    """chatwoot/ai-agents#59: a guard that raised was logged, and the tool ran."""
    ran: list[int] = []
    clock = [lambda: moment(10)]
    case = session(
        "r54", ledger=MemoryLedger(), now=lambda: clock[0](), approve=fails.get("approve", lambda _: True),
        audit=fails.get("audit"),
    )  # fmt: skip
    case.record(made(*WHOLE))
    clock[0] = fails.get("now", clock[0])
    gate = Gate("archive", WriteSpec(targets="ids", destructive=True))
    entered = gate.enter({"ids": WHOLE[1]}, session=case)
    reply = run_body(gate, entered, lambda: ran.append(1)) if isinstance(entered, Entered) else entered
    assert codes(reply) == ["GUARD_FAILED"]
    assert ran == []


def test_r54_a_judgement_that_fails_refuses_and_says_nothing_of_why() -> None:
    class Policy(WriteSpec):
        def intent(self, *_args: Any, **_rest: Any) -> WriteIntent:
            raise KeyError("k4narie")

    case = fresh()
    reply = Gate("archive", Policy(targets="ids")).enter({"ids": [1]}, session=case)
    assert isinstance(reply, Reply)
    assert codes(reply) == ["GUARD_FAILED"]
