"""The same operations give the same verdicts in memory and in a SQL ledger, whichever process does them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evidence.made_ledgers import Clock, file_ledger
from evidence.made_reads import OWN_LIMIT, cut, made
from hypothesis import given, settings
from hypothesis import strategies as st
from unabridged.contract import NextPage, Proof, ReadResult, RepeatRead, Total, UnresolvedHandle, with_resume
from unabridged.evidence import Asked, MemoryLedger, Pending, Session, StoredRest, WriteIntent, session

RESOURCES = ("widgets", "gadgets")
FILTERS: tuple[dict[str, Any], ...] = ({}, {"id": 1}, {"id": [1, 2]}, {"x": None}, {"id": 1, "x": True}, {"x": "s"})
CODES: tuple[tuple[str, ...], ...] = ((), (), OWN_LIMIT, ("COVERAGE_UNKNOWN",), ("APPROXIMATE_METHOD",))
IDS = (1, 2, 3, "1", "two")
ids = st.lists(st.sampled_from(IDS), unique=True, max_size=4)
scopes = st.tuples(st.sampled_from(RESOURCES), st.sampled_from(FILTERS))
reliances = st.none() | st.lists(
    st.sampled_from(RESOURCES) | st.builds(lambda s: {"resource": s[0], "filters": s[1]}, scopes),
    min_size=1,
    max_size=2,
)
intents = st.builds(
    WriteIntent, st.just("purge"), relies_on=reliances, targets=st.none() | ids,
    require=st.sampled_from(("complete", "counted", "snapshot")), max_age_s=st.sampled_from((None, 50)),
    allow_returned_targets=st.booleans(), destructive=st.booleans(),
)  # fmt: skip
claims = st.builds(
    lambda kind, scope, named, value: {
        "kind": kind, "resource": scope[0], "filters": scope[1], "ids": named, "value": value,
    },
    st.sampled_from(("found", "absence", "all", "count")), scopes, st.none() | ids, st.integers(0, 3),
)  # fmt: skip


@st.composite
def results(draw: st.DrawFn, earlier: list[ReadResult]) -> ReadResult:
    """Draws a result, also one that goes on from an earlier one or was derived from some."""
    resource, filters = draw(scopes)
    intent = draw(st.sampled_from(("inventory", "inventory", "lookup")))
    parts: dict[str, Any] = {"filters": filters, "intent": intent, "start_s": draw(st.integers(0, 100))}
    if earlier and draw(st.booleans()):
        before = draw(st.sampled_from(earlier))
        if draw(st.booleans()):
            resource, parts["filters"], parts["continues"] = before.scope.resource, before.scope.filters, before.read.id
        else:
            parts["derived_from"] = (before.read.id,)
    if draw(st.integers(0, 5)) == 0:
        repeat = RepeatRead(attempts_left=3, handle=f"h_{len(earlier)}")
        return with_resume(made(resource, None, continuation=repeat, **parts), "again")
    codes, held = draw(st.sampled_from(CODES)), [{"id": i, "x": draw(st.sampled_from((None, "s")))} for i in draw(ids)]
    if codes == OWN_LIMIT:
        parts["continuation"] = NextPage(handle=f"h_{len(earlier)}")
    if not codes and draw(st.booleans()):
        parts.update(total=Total(value=len(held), kind="exact"), proof=Proof(level="counted", count=len(held)))
    elif draw(st.booleans()):
        parts.update(snapshot="v1", consistency="snapshot")
    if held and codes and draw(st.booleans()):
        codes, parts["item_cuts"] = (*codes, "ITEM_TRUNCATED"), (cut(held[0]["id"], "x"),)
    return made(resource, held, *codes, **parts)


class Both:
    """One session in memory, and the same one in two processes of a SQL ledger, which take turns."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        bounds = {"max_age_s": 500}
        self.ledgers = [file_ledger(folder / "ledger.db", self.clock, **bounds) for _ in range(2)]
        self.memory = session("case", ledger=MemoryLedger(**bounds), now=self.clock)
        self.sql = [session("case", ledger=ledger, now=self.clock) for ledger in self.ledgers]
        self.pending: list[tuple[Pending, Pending]] = []
        self.results: list[ReadResult] = []

    def on(self, n: int) -> tuple[Session, Session]:
        return self.memory, self.sql[n]

    def said(self, intent: WriteIntent, asked: list[Asked], claim: dict[str, Any]) -> tuple[list[Any], list[list[Any]]]:
        """Returns what the session in memory says, and what each process of the SQL ledger does."""
        return _said(self.memory, intent, asked, claim), [_said(found, intent, asked, claim) for found in self.sql]


def _said(found: Session, intent: WriteIntent, asked: list[Asked], claim: dict[str, Any]) -> list[Any]:
    verdict = found.judge_write(intent, same_turn=asked)
    answer = found.judge_answer("So it is.", [claim])
    reads = (
        []
        if not found.alive
        else [(r.resource, r.status, r.codes, r.origin, sorted(map(repr, r.ids)), r.shown) for r in found.reads]
    )
    unsupported = [u.why for u in answer.unsupported]
    labels = [r.label for r in verdict.reads]
    caveats = [(c.status, c.codes) for c in answer.caveats]
    return [verdict.verdict, verdict.codes, verdict.options, verdict.missing, labels, unsupported, caveats, reads]


@contextmanager
def both() -> Iterator[Both]:
    with tempfile.TemporaryDirectory() as folder:
        made_here = Both(Path(folder))
        yield made_here
        for ledger in made_here.ledgers:
            ledger.close()


STEPS = ("record", "record", "record", "begin", "finish", "fail", "withdraw", "show", "count", "history", "resolve",
         "call", "wait", "declare", "erase")  # fmt: skip


@given(st.data())
@settings(max_examples=40)
def test_a_sql_ledger_says_what_a_ledger_in_memory_says(data: st.DataObject) -> None:
    with both() as pair:
        for _ in range(data.draw(st.integers(1, 8))):
            _step(pair, data, data.draw(st.sampled_from(STEPS)))
            if data.draw(st.booleans()):
                asked = [Asked(r, f) for r, f in data.draw(st.lists(scopes, max_size=1))]
                right, found = pair.said(data.draw(intents), asked, data.draw(claims))
                assert found == [right, right]
        right, found = pair.said(data.draw(intents), [], data.draw(claims))
        assert found == [right, right]


def _step(pair: Both, data: st.DataObject, step: str) -> None:
    found = pair.on(data.draw(st.integers(0, 1)))
    known = pair.results
    one = data.draw(st.sampled_from(known)) if known else None
    if step == "record":
        result = data.draw(results(known))
        known.append(result)
        for s in found:
            s.record(result, call_id=f"call_{len(known)}")
    elif step == "declare" and one is not None:
        for s in found:
            s.record(one, resource="gadgets")
    elif step == "begin":
        resource, filters = data.draw(scopes)
        pending = [s.begin(resource, filters, deadline_s=data.draw(st.just(60))) for s in found]
        pair.pending.append((pending[0], pending[1]))
    elif step in ("finish", "fail", "withdraw") and pair.pending:
        _end(pair, data, step, found)
    elif step == "show" and one is not None and one.items is not None:
        shown = data.draw(st.integers(0, len(one.items)))
        for s in found:
            s.presented(one.read.id, shown, handle=f"h_rest_{len(known)}")
    elif step == "count" and one is not None:
        for s in found:
            s.counted(one.read.id)
    elif step == "history":
        resource, filters = data.draw(scopes)
        call = Asked(resource, filters, call_id=data.draw(st.sampled_from(("call_1", "call_2", "call_9"))))
        assert len({s.import_history([call]) for s in found}) == 1
    elif step == "resolve" and one is not None:
        scope = (one.scope.resource, one.scope.filters)
        assert len({s.repeats_left(*scope) for s in found}) == 1
        assert len({_leads(s, f"h_rest_{len(known)}") for s in found}) == 1
    elif step == "call":
        for s in found:
            s.note_call("call_9")
    elif step == "wait":
        pair.clock.advance(data.draw(st.sampled_from((1, 30, 70, 400))))
    elif step == "erase" and data.draw(st.integers(0, 3)) == 0:
        for s in found:
            s.erase()


def _end(pair: Both, data: st.DataObject, step: str, found: tuple[Session, Session]) -> None:
    ended = pair.pending.pop(data.draw(st.integers(0, len(pair.pending) - 1)))
    if any(s.evidence.find(p.id) is None for s, p in zip(found, ended, strict=True)):
        return
    result = data.draw(results(pair.results))
    if step == "finish":
        pair.results.append(result)
    for s, pending in zip(found, ended, strict=True):
        if step == "finish":
            s.finish(pending, result)
        elif step == "fail":
            s.fail(pending)
        else:
            s.withdraw(pending)


def _leads(found: Session, handle: str) -> Any:
    try:
        route = found.resolve(handle)
    except UnresolvedHandle:
        return None
    return (route.start, repr(route.items)) if isinstance(route, StoredRest) else "a source"
