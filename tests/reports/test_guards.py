"""Reports of the kind K6 that need no framework: guards, approvals, and writes by absence, told again."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from evidence.made_reads import at as moment
from evidence.made_reads import frozen, made
from gate.write_cases import WHOLE, Case, Person, codes, told
from reading.served import Call
from reports.asked import TOKEN, Asked, ask, fresh, keys, listing, offset, records
from unabridged.actions.approvals import Card, Decision, Threshold, approve
from unabridged.audit import AuditEvent
from unabridged.contract import InvalidInput
from unabridged.evidence import MemoryLedger, WriteIntent, session
from unabridged.gate import UNDECLARED, Entered, Gate, Reply, WriteSpec, plan
from unabridged.gate.annotations import hints
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


@pytest.mark.parametrize("relies_on", [["labels", "things"], None])
def test_r43_a_whole_listing_of_nothing_is_no_word_where_the_query_came_from_a_read_that_failed(relies_on: Any) -> None:
    listed = ask(LISTING, serve(lambda _: {"items": []}))
    assert (listed.result.complete, listed.result.ids) == (True, ())
    labels = made("labels", None)
    listed.session.record(labels)
    assert labels.codes == ("SOURCE_UNAVAILABLE",)
    entered = Gate("delete_absent", WriteSpec(relies_on=relies_on)).enter({}, session=listed.session)
    assert isinstance(entered, Reply)
    assert codes(entered) == ["EVIDENCE_INCOMPLETE"]
    assert told(entered)["reads"][0]["resource"] == "labels"


def test_r43_an_empty_page_that_names_another_is_no_end_of_the_listing() -> None:
    sync = Sync()

    def respond(call: Call) -> None:
        call.page({"items": [], "next": "c2"} if "cursor" not in call.query else {"items": records(1, 201)})

    one = ask(listing(TOKEN), respond, budget={"max_pages": 1})
    assert "MORE_PAGES_AVAILABLE" in one.result.codes
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


def test_r44_deletions_by_absence_wait_for_a_word_that_is_a_ceiling() -> None:
    """Destrayon/Connapse#406: 100 are indexed, the listing is well and empty, and 12 are approved."""
    indexed = [f"o-{n}" for n in range(100)]
    case = Case(frozen("index", indexed), relies_on=["index", "bucket"], approval=Threshold(count=10, share=0.1))
    asks = Person(False)

    def absent_in(*listed: str) -> list[str]:
        case.session.record(frozen("bucket", listed))
        return [key for key in indexed if key not in listed]

    withheld = case.call(ids=absent_in())
    assert (told(withheld)["verdict"], codes(withheld)) == ("review", ["APPROVAL_STALE"])
    added = Gate("add", WriteSpec(relies_on=["bucket"])).enter({}, session=case.session)
    assert isinstance(added, Entered), "what is added is not held back by what is deleted"
    case.session.approve = asks
    case.call(ids=absent_in())
    case.call(ids=absent_in(*indexed[12:]))
    assert [card.targets for card in asks.cards] == [100, 12]
    twelve = approve(case.session, asks.cards[-1], True)
    asks.answer = lambda _: twelve
    assert "APPROVAL_STALE" in codes(case.call(ids=absent_in(*indexed[40:])))
    assert asks.cards[-1].targets == 40
    assert case.ran == []
    assert case.call(ids=absent_in(*indexed[9:])).value == "archived"
    assert case.ran == [{"ids": indexed[:9]}]


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


TOLD: list[tuple[Any, str]] = [
    ({"readOnlyHint": True}, "read"),
    ({"read_only_hint": True}, "read"),
    ({"readOnlyHint": "true"}, "write"),
    ({"readOnlyHint": True, "destructiveHint": True}, "write"),
    (None, "write"),
    ({}, "write"),
    ({"readOnlyHint": 1}, "write"),
    ({"readOnlyHint": False}, "write"),
    ({"readOnlyHint": True, "read_only_hint": False}, "write"),
    ({"readOnlyHint": True, "destructive_hint": "yes"}, "write"),
    ({"readOnlyHint": True, "read_only_hint": None, "destructiveHint": False}, "read"),
    ("readOnlyHint", "write"),
]


@pytest.mark.parametrize(("annotations", "effect"), TOLD)
@pytest.mark.parametrize("as_object", [False, True])
def test_r53_annotations_make_a_read_in_both_spellings_and_only_without_a_doubt(
    annotations: Any, effect: str, as_object: bool
) -> None:
    """NousResearch/hermes-agent#108972: the newer spelling was not read."""
    if as_object and isinstance(annotations, dict):
        annotations = SimpleNamespace(**annotations)
    assert hints(annotations).effect == effect


def test_r53_the_annotations_of_the_protocols_own_library_are_read() -> None:
    types = pytest.importorskip("mcp.types")
    for sent, expected in (
        ({"readOnlyHint": True}, ("read", False)),
        ({"readOnlyHint": True, "destructiveHint": True}, ("write", True)),
        ({}, ("write", False)),
    ):
        made = types.ToolAnnotations.model_validate(sent)
        for found in (hints(made), hints(made.model_dump()), hints(made.model_dump(by_alias=True))):
            assert (found.effect, found.destructive) == expected


@pytest.mark.parametrize(
    ("annotations", "destructive"),
    [({"destructiveHint": True}, True), ({"destructive_hint": True}, True), ({"destructiveHint": "true"}, False),
     ({"destructiveHint": False, "destructive_hint": True}, True), ({"destructiveHint": False}, False), (None, False)],
)  # fmt: skip
def test_r53_a_tool_that_nobody_declared_is_judged_as_destructive_where_it_says_so(
    annotations: Any, destructive: bool
) -> None:
    for trusts in (False, True):
        told = plan(["purge"], annotations={"purge": annotations}, trust_annotations=trusts)
        gate = Gate("purge", told.of("purge"))
        case = fresh()
        assert isinstance(gate.enter({}, session=case), Reply) == destructive, "without any read"
        assert gate.is_covered(case) != destructive
        case.record(made(*WHOLE))
        found = gate.enter({}, session=case)
        assert (codes(found) if isinstance(found, Reply) else []) == (["EVIDENCE_WEAK"] if destructive else [])


@pytest.mark.parametrize("annotations", [a for a, _ in TOLD])
def test_r53_annotations_loosen_nothing_unless_they_are_trusted(annotations: Any) -> None:
    is_read = hints(annotations).effect == "read"
    for trusts in (False, True):
        told = plan(["peek"], annotations={"peek": annotations}, trust_annotations=trusts)
        gate, case = Gate("peek", told.of("peek")), fresh()
        case.record(made("widgets", [1], "MORE_PAGES_AVAILABLE"))
        entered = gate.enter({}, session=case)
        assert isinstance(entered, Entered) == (trusts and is_read)
        if isinstance(entered, Entered):
            run_body(gate, entered, lambda: [1])
            read = case.reads[-1]
            assert (read.resource, read.status, read.codes) == ("tool:peek", "unknown", ("COVERAGE_UNKNOWN",))
        else:
            assert told.of("peek").effect == UNDECLARED.effect


def test_r53_what_an_author_declared_is_tightened_and_never_loosened() -> None:
    both = {"readOnlyHint": True}
    said = {"a": {"destructiveHint": True}, "b": both, "c": {"destructiveHint": True}, "d": {"destructiveHint": True}}
    told = plan(
        ["a", "b", "c", "d", "e"], reads={"c": "widgets"}, neutral=["d"], writes={"a": ["widgets"], "b": ["widgets"]},
        annotations={**said, "not a tool of ours": both}, trust_annotations=True,
    )  # fmt: skip
    assert told.of("a") == WriteSpec(relies_on=["widgets"], destructive=True)
    assert told.of("b") == WriteSpec(relies_on=["widgets"])
    assert (told.of("c").effect, told.of("d").effect, told.of("e")) == ("read", "neutral", UNDECLARED)
    entered = Gate("a", told.of("a")).enter({}, session=(case := fresh()))
    assert isinstance(entered, Reply)
    case.record(made("widgets", [1]))
    weak = Gate("a", told.of("a")).enter({}, session=case)
    assert isinstance(weak, Reply)
    assert codes(weak) == ["EVIDENCE_WEAK"]
    assert isinstance(Gate("b", told.of("b")).enter({}, session=case), Entered)


@pytest.mark.parametrize("keywords", [{"trust_annotations": "yes"}, {"trust_annotations": 1}, {"annotations": [{}]}])
def test_r53_trust_is_true_or_false_and_annotations_have_names(keywords: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        plan(["a"], **keywords)


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


def test_r54_a_ledger_that_cannot_be_read_refuses(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from unabridged.evidence.sql import SqlLedger

    path, ran = tmp_path / "ledger.db", []
    ledger = SqlLedger(f"sqlite:///{path}", key=b"k" * 32)
    case = session("r54", principal="ann", ledger=ledger)
    case.record(made(*WHOLE))
    ledger.close()
    for file in tmp_path.iterdir():
        file.write_bytes(b"this is no database" * 500)
    gate = Gate("archive", WriteSpec(targets="ids"))
    reply = gate.enter({"ids": WHOLE[1]}, session=case)
    if isinstance(reply, Entered):
        reply = run_body(gate, reply, lambda: ran.append(1))
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
