"""The gate around a call: every effect, before the body and after it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from gate.calling import ROWS, SECRET, call, codes, enter, fresh, ran, read, result, told, write
from unabridged import _ambient, current_session
from unabridged.contract import InvalidInput, NextPage, new_handle
from unabridged.evidence import MemoryLedger, Session, session
from unabridged.gate import (
    ALONE,
    NEUTRAL,
    UNDECLARED,
    Entered,
    FollowUpSpec,
    Gate,
    ReadSpec,
    Reply,
    Turn,
    WriteSpec,
    targets_of,
)

ORDERS = ReadSpec(resource="orders")


@pytest.fixture(autouse=True)
def _everything_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    assert SECRET not in caplog.text


@pytest.fixture
def s() -> Session:
    return fresh()


# reads


def test_a_read_is_in_flight_from_before_its_body_until_it_returns(s: Session) -> None:
    entered = enter(ORDERS, {"owner": "ops"}, session=s, call_id="c1")
    assert isinstance(entered, Entered)
    assert s.reads[0].is_pending
    assert s.reads[0].filters == {"owner": "ops"}
    assert codes(write(s)) == ["EVIDENCE_PENDING"]
    Gate("tool", ORDERS).leave(entered, result(ROWS))
    assert [r.status for r in s.reads] == ["complete"]
    assert s.knows_call("c1")
    assert ran(write(s))


def test_a_read_without_a_session_runs_and_is_shown() -> None:
    assert told(read(result(ROWS)))["status"] == "complete"


def test_a_tool_that_raises_is_an_unavailable_read_and_its_text_goes_nowhere(s: Session) -> None:
    reply = read(RuntimeError(SECRET), session=s)
    assert reply.is_error
    assert told(reply)["reasons"] == [{"code": "SOURCE_UNAVAILABLE", "message": "The tool failed."}]
    assert SECRET not in reply.content + repr(reply) + repr(s.reads[0])
    assert codes(write(s)) == ["EVIDENCE_INCOMPLETE"]


def test_a_timeout_says_that_the_time_was_over(s: Session) -> None:
    read(TimeoutError(), session=s)
    assert s.reads[0].reasons[0].detail == "deadline"


def test_a_cancelled_read_is_unavailable(s: Session) -> None:
    entered = enter(ORDERS, session=s)
    assert isinstance(entered, Entered)
    Gate("tool", ORDERS).cancel(entered)
    assert [(r.status, r.reasons[0].detail) for r in s.reads] == [("unavailable", "cancelled")]


def test_an_interrupted_read_leaves_nothing(s: Session) -> None:
    entered = enter(ORDERS, session=s, call_id="c1")
    assert isinstance(entered, Entered)
    Gate("tool", ORDERS).withdraw(entered)
    assert len(s.reads) == 0
    assert not s.knows_call("c1")


@pytest.mark.parametrize("deadline", ["5", True, 0, -1, float("nan"), [], {}, "soon"])
def test_a_deadline_that_is_no_time_is_refused_by_its_rule(deadline: Any, s: Session) -> None:
    reply = enter(ReadSpec(resource="orders", deadline=True), {"deadline_s": deadline}, session=s)
    assert isinstance(reply, Reply)
    assert told(reply)["problems"] == [{"field": "deadline_s", "rule": "must be a number of seconds above 0"}]
    assert len(s.reads) == 0


@pytest.mark.parametrize(("deadline", "used"), [(None, None), (5, 5.0), (0.5, 0.5), (10**400, 300.0), (1e300, 300.0)])
def test_a_deadline_is_capped(deadline: Any, used: float | None, s: Session) -> None:
    entered = enter(ReadSpec(resource="orders", deadline=True), {"deadline_s": deadline}, session=s)
    assert isinstance(entered, Entered)
    assert entered.deadline_s == used
    assert "deadline_s" not in s.reads[0].filters


def test_a_deadline_that_was_not_declared_is_not_looked_at(s: Session) -> None:
    entered = enter(ORDERS, {"deadline_s": "x"}, session=s)
    assert isinstance(entered, Entered)
    assert entered.deadline_s is None


def test_what_cannot_be_shown_is_unavailable_and_blocks(s: Session) -> None:
    loop: list[Any] = []
    loop.append(loop)
    for value in ([loop], result([loop]), [{"id": 10**5_000}], b"\xff", [{"x": _Unspeakable()}]):
        reply = read(value, session=s, exhaustive=True)
        assert (reply.is_error, told(reply)["status"]) == (True, "unavailable")
        assert not ran(write(s))


class _Unspeakable:
    def __str__(self) -> str:
        raise ValueError(SECRET)


def test_a_read_that_cannot_be_recorded_is_not_shown_as_one() -> None:
    class Broken(Session):
        def finish(self, *args: Any, **keywords: Any) -> Any:
            raise OSError(SECRET)

    s = Broken(fresh().key, ledger=MemoryLedger())
    reply = read(result(ROWS), session=s)
    assert reply.is_error
    assert told(reply)["error"] == "tool_failed"
    assert codes(write(s)) == ["EVIDENCE_PENDING"]


# writes


def test_a_write_on_whole_evidence_runs_and_its_value_passes_untouched(s: Session) -> None:
    read(result(ROWS), session=s)
    value = object()
    reply = call(WriteSpec(relies_on=["orders"]), value, session=s)
    assert (reply.passes, reply.value, reply.is_error) == (True, value, False)


def test_a_write_without_a_session_is_refused() -> None:
    reply = write(None)
    assert codes(reply) == ["GUARD_FAILED"]
    assert "session" in told(reply)["message"]


def test_a_write_that_relies_on_nothing_needs_no_session() -> None:
    assert ran(write(None, independent="free text, names no record"))


def test_a_write_is_refused_while_a_read_is_partial_and_runs_once_it_is_whole(s: Session) -> None:
    read(result(ROWS, "RATE_LIMITED"), session=s)
    assert codes(write(s)) == ["EVIDENCE_INCOMPLETE"]
    read(result(ROWS), session=s)
    assert ran(write(s))


def test_a_resource_that_was_never_read_is_missing_and_named(s: Session) -> None:
    reply = write(s, relies_on=["orders", {"resource": "owners", "filters": {"team": SECRET}}])
    assert codes(reply) == ["EVIDENCE_MISSING"]
    assert told(reply)["missing"] == ["orders", "owners (team)"]
    assert SECRET not in reply.content


@pytest.mark.parametrize("ids", [[1, 3], (1,), {1}, 1, [1.0], []])
def test_targets_that_were_read_may_be_touched(ids: Any, s: Session) -> None:
    read(result(ROWS), session=s)
    assert ran(write(s, {"ids": ids}, targets="ids"))


@pytest.mark.parametrize("ids", [[1, 99], ["1"], "1", 99, "", [float("nan")], '["1"]', [10**30]])
def test_targets_that_were_not_read_may_not(ids: Any, s: Session) -> None:
    read(result(ROWS), session=s)
    reply = write(s, {"ids": ids}, targets="ids")
    assert codes(reply) == ["TARGET_NOT_IN_EVIDENCE"]


@pytest.mark.parametrize(
    "ids",
    [{"id": 1}, [[1]], [{"id": 1}], True, [True], [None], [1, None], b"1", [b"1"], object(), iter([1]), range(2)],
    ids=repr,
)
def test_targets_that_are_no_ids_are_refused_by_their_rule(ids: Any, s: Session) -> None:
    read(result(ROWS), session=s)
    reply = write(s, {"ids": ids}, targets="ids")
    assert told(reply)["problems"] == [{"field": "ids", "rule": "must be an id or a list of ids"}]
    assert not reply.passes


def test_no_targets_are_judged_as_a_write_without_any(s: Session) -> None:
    read([{"id": n, "body": "x" * 500} for n in range(200)], exhaustive=True, session=s)
    for args in ({}, {"ids": None}, {"ids": []}):
        assert codes(write(s, args, targets="ids")) == ["EVIDENCE_INCOMPLETE"]
    assert ran(write(s, {"ids": [7]}, targets="ids"))


def test_the_ids_of_a_partial_read_may_be_touched_only_where_that_is_declared(s: Session) -> None:
    read(result(ROWS, "RATE_LIMITED"), session=s)
    assert not ran(write(s, {"ids": [1]}, targets="ids"))
    assert ran(write(s, {"ids": [1]}, targets="ids", allow_returned_targets=True))
    assert not ran(write(s, {"ids": []}, targets="ids", allow_returned_targets=True))
    assert codes(write(s, {"ids": [9]}, targets="ids", allow_returned_targets=True)) == ["TARGET_NOT_IN_EVIDENCE"]


def test_a_write_that_raises_says_that_it_did_and_nothing_else(s: Session) -> None:
    reply = call(WriteSpec(), RuntimeError(SECRET), session=s)
    assert (reply.is_error, told(reply)["error"]) == (True, "tool_failed")
    assert SECRET not in reply.content


@pytest.mark.parametrize("name", ["begin", "judge_write"])
def test_a_guard_that_fails_refuses(name: str) -> None:
    def fail(_self: Session, *_args: Any, **_keywords: Any) -> Any:
        raise RuntimeError(SECRET)

    s = type("Broken", (Session,), {name: fail})(fresh().key, ledger=MemoryLedger())
    for spec in (WriteSpec(), UNDECLARED, ORDERS):
        entered = enter(spec, {"note": SECRET}, session=s)
        if (spec is ORDERS) == (name == "begin"):
            assert isinstance(entered, Reply)
            assert codes(entered) == ["GUARD_FAILED"]
            assert SECRET not in entered.content


def test_an_evicted_session_refuses() -> None:
    ledger = MemoryLedger(max_sessions=1)
    s = session("first", ledger=ledger)
    session("second", ledger=ledger)
    assert codes(write(s)) == ["GUARD_FAILED"]


def test_an_erased_session_refuses(s: Session) -> None:
    s.erase()
    assert codes(write(s)) == ["GUARD_FAILED"]


# tools that nobody declared, and neutral ones


def test_an_undeclared_tool_is_judged_as_a_write_and_leaves_an_unknown_read(s: Session) -> None:
    assert call(UNDECLARED, "anything", session=s, name="shell").passes
    assert [(r.resource, r.status) for r in s.reads] == [("tool:shell", "unknown")]
    refused = call(UNDECLARED, "anything", session=s, name="shell")
    assert codes(refused) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(s)) == ["EVIDENCE_INCOMPLETE"]


def test_an_undeclared_tool_is_named_once_with_the_line_that_would_declare_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(3):
        call(UNDECLARED, "x", session=fresh(), name="undeclared_once")
    lines = [r.getMessage() for r in caplog.records if "undeclared_once" in r.getMessage()]
    assert len(lines) == 1
    assert "reads={'undeclared_once': ...}" in lines[0]


@pytest.mark.parametrize("way", ["fails", "is cancelled"])
def test_an_undeclared_tool_that_brought_nothing_leaves_an_unknown_read_too(way: str, s: Session) -> None:
    gate = Gate("shell", UNDECLARED)
    entered = gate.enter({}, session=s)
    assert isinstance(entered, Entered)
    if way == "fails":
        assert told(gate.fail(entered, RuntimeError(SECRET)))["error"] == "tool_failed"
    else:
        gate.cancel(entered)
    assert [r.status for r in s.reads] == ["unknown"]


def test_an_undeclared_tool_without_a_session_is_refused() -> None:
    assert codes(call(UNDECLARED, "x")) == ["GUARD_FAILED"]


def test_a_neutral_tool_needs_nothing_and_leaves_nothing(s: Session) -> None:
    read(result(None, "SOURCE_UNAVAILABLE"), session=s)
    assert call(NEUTRAL, 7).value == 7
    assert call(NEUTRAL, 7, session=s).passes
    assert told(call(NEUTRAL, RuntimeError(SECRET), session=s))["error"] == "tool_failed"
    assert len(s.reads) == 1


def test_the_reply_of_a_follow_up_is_handed_on(s: Session) -> None:
    reply = Reply(content="{}")
    assert call(FollowUpSpec(), reply, session=s) is reply
    assert call(FollowUpSpec(), "text", session=s).value == "text"


# the other calls of the turn


@pytest.mark.parametrize(
    ("sibling", "blocked"),
    [
        ("list_orders", True), ("list_owners", False), ("shell", False), ("archive", False), ("clock", False),
        ("get_order", False),
    ],
)  # fmt: skip
def test_what_was_asked_for_in_the_same_turn_has_shown_nothing_yet(sibling: str, blocked: bool, s: Session) -> None:
    specs = {
        "list_orders": ORDERS, "list_owners": ReadSpec(resource="owners"), "shell": UNDECLARED,
        "archive": WriteSpec(), "clock": NEUTRAL,
        "get_order": ReadSpec(resource="orders", intent="lookup", key="id"),
    }  # fmt: skip
    read(result(ROWS), session=s)
    turn = Turn(siblings=[(sibling, {"id": 9})], spec_of=lambda name: specs[name])
    reply = write(s, {"ids": [1]}, turn, relies_on=["orders"], targets="ids")
    assert ran(reply) != blocked
    if blocked:
        assert codes(reply) == ["EVIDENCE_PENDING"]


@pytest.mark.parametrize("sibling", ["list_orders", "shell"])
def test_a_write_that_names_no_evidence_waits_for_every_read_of_its_turn(sibling: str, s: Session) -> None:
    turn = Turn(siblings=[(sibling, {})], spec_of=lambda name: ORDERS if name == "list_orders" else UNDECLARED)
    assert codes(write(s, None, turn)) == ["EVIDENCE_PENDING"]
    assert codes(write(s, None, Turn(siblings=[(sibling, {})]))) == ["EVIDENCE_PENDING"]
    assert ran(write(s, None, ALONE))


def test_going_on_with_a_read_is_asking_for_it(s: Session) -> None:
    reply = read([{"id": n, "body": "x" * 500} for n in range(200)], exhaustive=True, session=s)
    handle = told(reply)["continuation"]["handle"]
    turn = Turn(siblings=[("continue_read", {"handle": handle})], spec_of=lambda _: FollowUpSpec())
    assert codes(write(s, {"ids": [1]}, turn, targets="ids")) == ["EVIDENCE_PENDING"]
    for other in ("h_other", None, 7):
        turn = Turn(siblings=[("continue_read", {"handle": other})], spec_of=lambda _: FollowUpSpec())
        assert ran(write(s, {"ids": [1]}, turn, targets="ids"))


def test_siblings_that_are_no_calls_refuse(s: Session) -> None:
    turn = Turn(siblings=[("list_orders", "no arguments")], spec_of=lambda _: ORDERS)  # type: ignore[list-item]
    assert codes(write(s, None, turn)) == ["GUARD_FAILED"]


def test_a_turn_shows_no_argument() -> None:
    assert SECRET not in repr(Turn(siblings=[("list_orders", {"q": SECRET})]))


# what else the rooms ask a gate


def test_a_call_that_did_not_run_is_known_to_the_history(s: Session) -> None:
    gate = Gate("archive", WriteSpec(relies_on=["orders"]))
    gate.enter({}, session=s, call_id="c1")
    gate.refuse_arguments([("ids", "is required")], session=s, call_id="c2")
    assert s.knows_call("c1")
    assert s.knows_call("c2")
    assert codes(gate.refuse_unseen()) == ["GUARD_FAILED"]


def test_whether_a_call_could_be_allowed_now(s: Session) -> None:
    gate = Gate("archive", WriteSpec(relies_on=["orders"], targets="ids"))
    assert not gate.is_covered(None)
    assert not gate.is_covered(s)
    read(result(ROWS), session=s)
    assert gate.is_covered(s)
    read(result(ROWS, "RATE_LIMITED"), session=s)
    assert not gate.is_covered(s)
    assert not Gate("shell", UNDECLARED).is_covered(s)
    assert Gate("clock", NEUTRAL).is_covered(None)
    assert Gate("mail", WriteSpec(independent="free text")).is_covered(None)


def test_the_session_is_in_scope_inside_the_body_only(s: Session) -> None:
    entered = enter(ORDERS, session=s)
    assert isinstance(entered, Entered)
    with entered.scope():
        assert current_session() is s
        _ambient.record(result(ROWS, resource="rows"))
    assert current_session() is not s
    assert [r.resource for r in s.reads] == ["orders", "rows"]
    with Entered(entered.call, None).scope():
        assert current_session() is not s


# ids that meet


def test_two_reads_that_bear_one_id_are_two(s: Session) -> None:
    read(result(ROWS, id="r_1"), session=s)
    read(result(ROWS, "RATE_LIMITED", id="r_1"), session=s)
    assert [r.status for r in s.reads] == ["complete", "partial"]
    assert codes(write(s)) == ["EVIDENCE_INCOMPLETE"]


def test_the_same_read_handed_out_again_is_recorded_once(s: Session) -> None:
    whole = result(ROWS, id="r_1")
    for _ in range(3):
        read(whole, session=s)
    assert [r.id for r in s.reads] == ["r_1"]


def test_what_a_body_read_and_returns_bears_the_declared_name(s: Session) -> None:
    entered = enter(ORDERS, session=s)
    assert isinstance(entered, Entered)
    inner = result(ROWS, "RATE_LIMITED", resource="rows")
    with entered.scope():
        _ambient.record(inner)
    Gate("tool", ORDERS).leave(entered, inner)
    assert [(r.id, r.resource) for r in s.reads] == [(inner.read.id, "orders")]


def test_a_read_goes_on_from_no_read_of_another_resource(s: Session) -> None:
    page = result(ROWS, "CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE", id="r_1",
                  continuation=NextPage(handle=new_handle()))  # fmt: skip
    read(page, session=s)
    read(result([], continues="r_1"), session=s, resource="owners")
    assert codes(write(s, relies_on=["orders"])) == ["EVIDENCE_INCOMPLETE"]
    assert codes(write(s, relies_on=["owners"])) == ["EVIDENCE_INCOMPLETE"]
    read(result([], continues="r_1"), session=s, resource="orders")
    assert ran(write(s, relies_on=["orders"]))


@pytest.mark.parametrize("value", [None, {}, [[1]], True, object()])
def test_what_is_no_id_names_no_targets(value: Any) -> None:
    assert targets_of(value) is None


def test_a_tool_without_a_name_is_refused(s: Session) -> None:
    with pytest.raises(InvalidInput):
        UNDECLARED.intent("")
    assert codes(call(UNDECLARED, "x", session=s, name="")) == ["GUARD_FAILED"]
