"""Sessions: what is in scope, what is recorded, what is in flight, and what a session forgets."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import logging
import pickle
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from evidence.made_ledgers import Clock, NewLedger
from evidence.made_reads import AT, at, made, page
from unabridged import _ambient
from unabridged.contract import InvalidInput, RepeatRead, UnresolvedHandle, new_handle, with_resume
from unabridged.evidence import (
    Asked,
    Evidence,
    MemoryStore,
    RecordedRead,
    Session,
    SessionKey,
    SourceRoute,
    StoredRest,
    WriteIntent,
    current_session,
    default_ledger,
    header_of,
    session,
)

WRITE = WriteIntent("purge")


@pytest.fixture
def case(clock: Clock, new_ledger: NewLedger) -> Iterator[Session]:
    with session("case-42", ledger=new_ledger(), now=clock) as opened:
        yield opened


def codes(found: Session, intent: WriteIntent = WRITE, **how: Any) -> list[str]:
    return list(found.judge_write(intent, **how).codes)


def test_a_read_finds_the_session_in_scope_and_records_itself(case: Session) -> None:
    result = made("widgets", [1])
    _ambient.record(result)
    assert current_session() is case
    assert [r.id for r in case.reads] == [result.read.id]


def test_without_a_session_nothing_is_recorded() -> None:
    _ambient.record(made("widgets", [1]))
    assert current_session() is None


def test_sessions_nest_and_give_back_the_outer_one(new_ledger: NewLedger) -> None:
    ledger = new_ledger()
    with session("outer", ledger=ledger) as outer:
        with session("inner", ledger=ledger) as inner:
            _ambient.record(made("widgets", [1]))
            assert current_session() is inner
        assert current_session() is outer
        assert len(outer.reads) == 0


def test_a_session_that_is_opened_reaches_code_that_shares_no_context_with_it(new_ledger: NewLedger) -> None:
    """The cells of a notebook: each may run in a context of its own."""
    opened = session("notebook", ledger=new_ledger())
    contextvars.Context().run(opened.open)
    try:
        assert contextvars.Context().run(current_session) is opened
        found: list[Session | None] = []

        def cell() -> None:
            current_session()
            inside = contextvars.copy_context()
            thread = threading.Thread(target=lambda: found.append(inside.run(current_session)))
            thread.start()
            thread.join()

        contextvars.Context().run(cell)
        assert found == [opened]
    finally:
        opened.close()
    assert current_session() is None


def test_a_context_that_still_holds_a_closed_session_finds_none(new_ledger: NewLedger) -> None:
    opened = session("notebook", ledger=new_ledger()).open()
    inside = contextvars.copy_context()
    opened.close()
    assert inside.run(current_session) is None
    assert current_session() is None


def test_closing_gives_back_the_session_that_was_opened_before(new_ledger: NewLedger) -> None:
    ledger = new_ledger()
    one, two = session("one", ledger=ledger).open(), session("two", ledger=ledger).open()
    assert current_session() is two
    two.close()
    assert current_session() is one
    one.close()
    assert current_session() is None


def test_a_raw_thread_that_copied_no_context_finds_no_session(new_ledger: NewLedger) -> None:
    found: list[Session | None] = []
    with_open = session("opened", ledger=new_ledger()).open()
    thread = threading.Thread(target=lambda: found.append(current_session()))
    thread.start()
    thread.join()
    with_open.close()
    assert found == [None]


async def test_tasks_and_threads_of_asyncio_share_the_session(case: Session) -> None:
    async def task(n: int) -> None:
        await asyncio.to_thread(_ambient.record, made("widgets", [n], filters={"n": n}))

    await asyncio.gather(*(task(n) for n in range(20)))
    assert len(case.reads) == 20


def test_many_threads_record_without_losing_a_read(case: Session) -> None:
    inside = [contextvars.copy_context() for _ in range(8)]

    def work(n: int) -> None:
        for m in range(50):
            _ambient.record(made("widgets", [m], "RATE_LIMITED", filters={"n": n, "m": m}))
            case.judge_write(WriteIntent("purge", targets=[m], allow_returned_targets=True))

    threads = [threading.Thread(target=inside[n].run, args=(work, n)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(case.reads) == 400
    assert codes(case) == ["EVIDENCE_INCOMPLETE"]


def test_two_sessions_of_one_key_share_their_evidence(clock: Clock, new_ledger: NewLedger) -> None:
    ledger = new_ledger()
    session("x", ledger=ledger, now=clock).record(page("widgets", [1]))
    assert codes(session("x", ledger=ledger, now=clock)) == ["EVIDENCE_INCOMPLETE"]
    for other in (
        session("y", ledger=ledger),
        session("x", ledger=ledger, principal="ann"),
        session("x", ledger=ledger, namespace="shop"),
        session("x", ledger=ledger, kind="thread"),
        session("x", ledger=new_ledger()),
    ):
        assert codes(other) == []


def test_the_ledger_of_the_process_is_used_unless_another_is_given() -> None:
    assert session("a").ledger is session("b").ledger is default_ledger()


def test_recording_is_idempotent_by_read_id(case: Session) -> None:
    result = page("widgets", [1])
    first = case.record(result)
    assert case.record(result) is first
    assert case.finish(case.begin("widgets"), result).id == first.id
    assert len(case.reads) == 1


def test_a_declared_name_holds_also_when_the_read_recorded_itself_before(case: Session) -> None:
    case.record(page("orders_v2", [1]))
    result = made("orders_v2", [1])
    case.record(result)
    case.record(page("orders", [2]))
    case.finish(case.begin("orders"), result)
    case.record(result)
    assert codes(case, WriteIntent("purge", relies_on=["orders_v2"])) == ["EVIDENCE_MISSING"]
    assert codes(case, WriteIntent("purge", relies_on=["orders"])) == ["EVIDENCE_INCOMPLETE"]
    case.record(made("orders", [2]))
    assert codes(case) == []


def test_a_declaration_does_not_make_a_known_read_whole(case: Session) -> None:
    part = page("widgets", [1])
    case.record(part)
    forged = made("widgets", [1])
    whole = forged.model_copy(update={"read": forged.read.model_copy(update={"id": part.read.id})})
    case.record(whole, resource="widgets")
    assert codes(case) == ["EVIDENCE_INCOMPLETE"]


def test_a_declaration_may_say_that_a_read_was_only_a_sample(case: Session) -> None:
    whole = made("docs", [1])
    case.record(whole)
    sample = made("docs", [1], "SAMPLE_REQUESTED", intent="sample")
    case.record(
        sample.model_copy(update={"read": sample.read.model_copy(update={"id": whole.read.id})}), resource="docs"
    )
    assert codes(case, WriteIntent("purge", relies_on=["docs"])) == ["EVIDENCE_INCOMPLETE"]


def test_a_read_in_flight_is_pending_until_it_finishes(case: Session) -> None:
    pending = case.begin("widgets", {"owner": None})
    assert codes(case) == ["EVIDENCE_PENDING"]
    case.finish(pending, made("widgets", [1], filters={"owner": None}))
    assert codes(case) == []


def test_a_read_in_flight_expires_with_its_deadline_into_unavailable(case: Session, clock: Clock) -> None:
    pending = case.begin("widgets")
    clock.advance(119)
    assert codes(case) == ["EVIDENCE_PENDING"]
    clock.advance(1)
    assert codes(case) == ["EVIDENCE_INCOMPLETE"]
    assert [(r.status, r.reasons[0].detail) for r in case.reads] == [("unavailable", "deadline")]
    case.finish(pending, made("widgets", [1]))
    assert codes(case) == []
    assert len(case.reads) == 1


def test_a_read_has_the_deadline_it_asks_for(case: Session, clock: Clock) -> None:
    case.begin("widgets", deadline_s=5)
    clock.advance(5)
    assert codes(case) == ["EVIDENCE_INCOMPLETE"]


def test_reading_again_clears_a_read_that_expired(case: Session, clock: Clock) -> None:
    case.begin("widgets")
    clock.advance(60)
    case.record(made("widgets", [1]))
    clock.advance(100)
    assert codes(case) == [], "the whole read was asked for after the one that got lost"


def test_a_cancelled_read_is_unavailable(case: Session) -> None:
    read = case.cancel(case.begin("widgets"))
    assert (read.status, read.reasons[0].detail) == ("unavailable", "cancelled")
    assert codes(case) == ["EVIDENCE_INCOMPLETE"]


def test_a_failed_read_is_unavailable_with_its_code(case: Session) -> None:
    read = case.fail(case.begin("widgets"), "RATE_LIMITED")
    assert read.codes == ("RATE_LIMITED",)
    assert case.caveats()[0].codes == ("RATE_LIMITED",)


def test_an_interrupted_read_is_taken_back(case: Session) -> None:
    pending = case.begin("widgets", call_id="call_1")
    case.withdraw(pending)
    assert codes(case) == []
    assert len(case.reads) == 0
    assert not case.knows_call("call_1")
    with pytest.raises(InvalidInput):
        case.fail(pending)


def test_what_was_asked_for_in_the_same_turn_may_be_given_as_pairs(case: Session) -> None:
    assert codes(case, same_turn=[("widgets", {})]) == ["EVIDENCE_PENDING"]
    assert codes(case, same_turn=[("docs", {}, "sample")]) == []


def test_a_foreign_result_in_the_history_blocks_until_it_is_read_again(case: Session) -> None:
    call = Asked("widgets", {"owner": "ann"}, call_id="call_1")
    assert case.import_history([call]) == 1
    assert case.import_history([call]) == 0
    assert codes(case) == ["EVIDENCE_INCOMPLETE"]
    case.record(made("widgets", [1], filters={"owner": "bob"}))
    assert codes(case) == ["EVIDENCE_INCOMPLETE"]
    case.record(made("widgets", [1]))
    assert codes(case) == []


def test_a_foreign_result_is_older_than_everything_and_clears_nothing(case: Session) -> None:
    case.record(made("widgets", [1]))
    case.import_history([Asked("widgets", {"owner": "ann"}, call_id="call_1")])
    assert codes(case, WriteIntent("purge", targets=[1])) == []
    case.import_history([Asked("queues", call_id="call_2")])
    assert codes(case) == ["EVIDENCE_INCOMPLETE"]
    assert codes(case, WriteIntent("purge", max_age_s=60)) == ["EVIDENCE_INCOMPLETE", "EVIDENCE_STALE"]
    assert [r.resource for r in case.reads] == ["widgets", "queues", "widgets"]


def test_a_result_that_was_recorded_here_is_not_foreign(case: Session) -> None:
    case.finish(case.begin("widgets", call_id="call_1"), made("widgets", [1]))
    case.record(made("queues", [1]), call_id="call_2")
    case.note_call("call_3")
    calls = [Asked("widgets", call_id=f"call_{n}") for n in (1, 2, 3)]
    assert case.import_history(calls) == 0
    assert codes(case) == []


def test_a_whole_read_that_was_shown_in_part_holds_back_a_write_without_targets(case: Session) -> None:
    result = made("widgets", ["a", "b", "c"])
    case.record(result)
    handle = case.presented(result.read.id, 2)
    assert handle is not None
    assert codes(case) == ["EVIDENCE_INCOMPLETE"]
    assert codes(case, WriteIntent("purge", targets=["c"])) == []
    assert case.judge_answer("See above.").outcome == "accept_with_caveat"
    rest = case.resolve(handle)
    assert isinstance(rest, StoredRest)
    assert (rest.start, rest.items) == (2, [{"id": "c"}])
    assert case.presented(result.read.id, 3) is None
    assert codes(case) == []
    assert case.judge_answer("See above.").outcome == "accept"


def test_counting_by_code_lifts_what_was_not_shown(case: Session) -> None:
    result = made("widgets", ["a", "b", "c"])
    case.record(result)
    case.presented(result.read.id, 1)
    case.counted(result.read.id)
    assert codes(case) == []


def test_presenting_a_partial_read_does_not_make_it_whole(case: Session) -> None:
    result = page("widgets", ["a", "b", "c"])
    case.record(result)
    case.presented(result.read.id, 2)
    case.counted(result.read.id)
    assert codes(case, WriteIntent("purge", targets=["a"])) == ["EVIDENCE_INCOMPLETE"]


def test_what_was_shown_of_a_link_holds_back_the_chain(case: Session) -> None:
    first = page("widgets", [1, 2, 3])
    case.record(first)
    case.presented(first.read.id, 1)
    case.record(made("widgets", [4], continues=first.read.id))
    assert codes(case) == ["EVIDENCE_INCOMPLETE"]
    case.presented(first.read.id, 3)
    assert codes(case) == []


def test_a_handle_leads_to_the_readers_own_state(case: Session) -> None:
    result = page("widgets", [1])
    case.record(result)
    route = case.resolve(result.continuation.handle)
    assert isinstance(route, SourceRoute)
    assert route.resume == f"the way on from {result.read.id}"
    assert route.read.id == result.read.id
    assert "way on" not in repr(route)


@pytest.mark.parametrize("handle", ["h_forged", "", None, 7, "h_" + "x" * 22])
def test_a_handle_that_was_never_given_out_leads_nowhere(case: Session, handle: Any) -> None:
    with pytest.raises(UnresolvedHandle):
        case.resolve(handle)


def test_a_handle_resolves_in_its_own_session_only(clock: Clock, new_ledger: NewLedger) -> None:
    ledger = new_ledger()
    result = page("widgets", [1])
    session("one", ledger=ledger, now=clock).record(result)
    with pytest.raises(UnresolvedHandle):
        session("two", ledger=ledger, now=clock).resolve(result.continuation.handle)
    assert session("one", ledger=ledger, now=clock).resolve(result.continuation.handle)


def test_a_failed_read_is_started_again_three_times_at_most(case: Session) -> None:
    for left in (2, 1, 0):
        failed = made("widgets", None, continuation=RepeatRead(attempts_left=3, handle=new_handle()))
        case.record(with_resume(failed, "again"))
        route = case.resolve(failed.continuation.handle)
        assert isinstance(route, SourceRoute)
        assert route.attempts_left == left
        assert case.repeats_left("widgets") == left
    with pytest.raises(UnresolvedHandle):
        case.resolve(failed.continuation.handle)
    assert case.repeats_left("queues") == 3


def test_a_way_on_under_a_declared_name_joins_the_chain(case: Session) -> None:
    first = page("orders_v2", [1])
    case.record(first, resource="orders")
    case.record(made("orders_v2", [2], continues=first.read.id))
    assert codes(case, WriteIntent("purge", relies_on=["orders"], targets=[1, 2])) == []
    assert codes(case, WriteIntent("purge", relies_on=["orders_v2"])) == ["EVIDENCE_MISSING"]


def test_a_guard_that_fails_refuses(new_ledger: NewLedger) -> None:
    class Broken(Clock):
        def __call__(self) -> datetime:
            if self.moment > AT:
                raise RuntimeError("kanarie")
            return self.moment

    broken = Broken()
    found = session("x", ledger=new_ledger(), now=broken)
    broken.advance(1)
    verdict = found.judge_write(WRITE, on_fail="review")
    assert (verdict.verdict, verdict.codes) == ("refuse", ("GUARD_FAILED",))


def test_an_intent_that_is_none_is_refused(case: Session) -> None:
    assert codes(case, "purge") == ["GUARD_FAILED"]  # type: ignore[arg-type]


def test_erasing_forgets_and_refuses_until_the_session_is_opened_anew(clock: Clock, new_ledger: NewLedger) -> None:
    ledger = new_ledger()
    found = session("x", ledger=ledger, now=clock)
    result = page("widgets", [1])
    found.record(result)
    found.erase()
    assert len(found.reads) == 0
    assert found.result(result.read.id) is None
    assert not found.alive
    with pytest.raises(UnresolvedHandle):
        found.resolve(result.continuation.handle)
    assert codes(found) == ["GUARD_FAILED"]
    assert found.judge_answer("Done.").outcome == "accept_with_caveat"
    assert found.caveats()[0].status == "unavailable"
    assert codes(session("x", ledger=ledger, now=clock)) == []
    assert session("x", ledger=ledger, now=clock).judge_answer("Done.").outcome == "accept"


def test_an_evicted_session_refuses_also_when_it_is_opened_again(clock: Clock, new_ledger: NewLedger) -> None:
    ledger = new_ledger(max_sessions=2)
    first = session("first", ledger=ledger, now=clock)
    first.record(page("widgets", [1]))
    for name in ("second", "third"):
        clock.advance(1)
        session(name, ledger=ledger, now=clock)
    assert session("second", ledger=ledger, now=clock).alive
    assert codes(first) == ["GUARD_FAILED"]
    assert codes(session("first", ledger=ledger, now=clock)) == ["GUARD_FAILED"]
    assert codes(session("third", ledger=ledger, now=clock)) == []
    clock.advance(90_000)
    assert codes(session("first", ledger=ledger, now=clock)) == [], "its time is over: it starts anew"


def test_the_session_used_longest_ago_is_evicted(clock: Clock, new_ledger: NewLedger) -> None:
    ledger = new_ledger(max_sessions=2)
    old, new = session("old", ledger=ledger, now=clock), session("new", ledger=ledger, now=clock)
    clock.advance(1)
    old.record(made("widgets", [1]))
    session("third", ledger=ledger, now=clock)
    assert (old.alive, new.alive) == (True, False)


def test_a_session_ends_a_day_after_its_last_use(clock: Clock, new_ledger: NewLedger) -> None:
    found = session("x", ledger=new_ledger(), now=clock)
    clock.advance(80_000)
    assert codes(found) == []
    clock.advance(80_000)
    assert codes(found) == []
    clock.advance(86_401)
    assert codes(found) == ["GUARD_FAILED"]


def test_a_shared_ledger_demands_a_principal(new_ledger: NewLedger) -> None:
    ledger = new_ledger(shared=True)
    with pytest.raises(InvalidInput, match="principal: is required"):
        session("x", ledger=ledger)
    assert session("x", ledger=ledger, principal="ann")
    for bad in ({"id": ""}, {"id": "x", "principal": ""}, {"id": "x", "namespace": 7}):
        with pytest.raises(InvalidInput):
            session(**bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        new_ledger(max_sessions=0)


def test_what_the_store_has_dropped_is_no_evidence_for_targets_or_claims(clock: Clock, new_ledger: NewLedger) -> None:
    found = session("x", ledger=new_ledger(), store=MemoryStore(max_results=1), now=clock)
    old = made("widgets", [1, 2])
    found.record(old)
    assert codes(found, WriteIntent("purge", targets=[1])) == []
    found.record(made("queues", [9]))
    assert codes(found) == []
    assert codes(found, WriteIntent("purge", targets=[1])) == ["TARGET_NOT_IN_EVIDENCE"]
    claim = {"kind": "found", "resource": "widgets", "ids": [1]}
    assert found.judge_answer("It exists.", [claim]).outcome == "reject"
    assert found.judge_answer("There are two.", [{"kind": "count", "resource": "widgets", "value": 2}]).outcome == (
        "accept"
    )


def test_a_result_too_large_for_the_store_leaves_its_header_only(clock: Clock, new_ledger: NewLedger) -> None:
    found = session("x", ledger=new_ledger(), store=MemoryStore(max_records=3), now=clock)
    found.record(made("widgets", [1, 2, 3]))
    assert codes(found) == []
    assert codes(found, WriteIntent("purge", targets=[1])) == ["TARGET_NOT_IN_EVIDENCE"]


def test_something_is_noted_for_the_first_time_once(case: Session) -> None:
    assert [case.first_time("STALE_INDEX") for _ in range(3)] == [True, False, False]


def test_no_value_stands_in_a_repr_a_pickle_or_a_log(
    clock: Clock, caplog: pytest.LogCaptureFixture, new_ledger: NewLedger
) -> None:
    secret = "kanarie"
    with caplog.at_level(logging.DEBUG, logger="unabridged"):
        found = session(secret, principal=secret, ledger=new_ledger(), now=clock)
        found.record(page("widgets", [secret], filters={"owner": secret}, query_id="q_1", duplicates=2))
        found.begin("widgets", {"owner": secret})
        found.judge_write(WriteIntent("purge", targets=[secret]))
    held: list[object] = [
        found, found.key, found.ledger, found.store, found.evidence, list(found.reads), found._journal,
        found.evidence.standing,
    ]  # fmt: skip
    assert not any(secret in repr(thing) for thing in held)
    assert secret.encode() not in pickle.dumps(list(found.reads))
    assert secret not in caplog.text
    assert not any(secret in repr(record.__dict__) for record in caplog.records)
    trail = [r.getMessage() for r in caplog.records if r.name == "unabridged.trail"]
    assert "query=q_1" in trail[0]
    assert "received=3 used=1" in trail[0]
    for thing in (found, found.ledger, found.store, found._journal):
        with pytest.raises(TypeError):
            pickle.dumps(thing)


def test_a_header_that_was_pickled_covers_nothing_and_holds_no_ids() -> None:
    read = header_of(made("widgets", [1], filters={"owner": "ann"}))
    again: RecordedRead = pickle.loads(pickle.dumps(read))
    assert (again.id, again.status, again.fields, again.ids) == (read.id, "complete", ("owner",), frozenset())
    old = header_of(page("widgets", [2], filters={"owner": "ann"}))
    assert len(Evidence([old, read]).standing) == 1
    assert len(Evidence([old, again]).standing) == 2
    assert len(Evidence([pickle.loads(pickle.dumps(old)), again]).standing) == 2
    assert copy.copy(again).fields == ("owner",)
    assert len(pickle.loads(pickle.dumps(Evidence([old, read])))) == 2


def test_a_key_shows_none_of_its_parts() -> None:
    key = SessionKey("case", "ann", "shop")
    assert "case" not in repr(key)
    assert key.digest == SessionKey("case", "ann", "shop").digest
    assert key.digest != SessionKey("case", "ann", "shop", "thread").digest


def test_evidence_is_a_sequence_of_headers(case: Session) -> None:
    one, two = case.record(made("widgets", [1])), case.record(page("queues", [2]))
    assert list(case.reads) == [one, two]
    assert (case.reads[0], case.reads[-1], list(case.reads[:1]), len(case.reads)) == (one, two, [one], 2)
    assert case.reads is case.evidence
    assert (one.items, two.label) == ([{"id": 1}], "queues")
    assert case.caveats(language="de")[0].read == two.id


def test_a_pending_read_started_when_it_was_asked_for(case: Session, clock: Clock) -> None:
    clock.advance(30)
    pending = case.begin("widgets", deadline_s=10)
    assert pending.started_at == at(30)
    clock.advance(10)
    assert codes(case, WriteIntent("purge", max_age_s=5)) == ["EVIDENCE_INCOMPLETE", "EVIDENCE_STALE"]
