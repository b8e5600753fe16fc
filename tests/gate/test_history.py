"""Results that stand in a message history and that the ledger does not know: they block, and never allow or clear."""

from __future__ import annotations

from typing import Any

import pytest
from gate.calling import ROWS, SECRET, codes, fresh, ran, read, result, write
from unabridged.gate import NEUTRAL, UNDECLARED, FollowUpSpec, ReadSpec, Spec, WriteSpec
from unabridged.gate.history import PastCall, import_results, import_unknown_past

SPECS: dict[str, Spec] = {
    "list_orders": ReadSpec(resource="orders"),
    "get_order": ReadSpec(resource="orders", intent="lookup", key="number", filters={"number": "id"}),
    "archive": WriteSpec(),
    "clock": NEUTRAL,
    "continue_read": FollowUpSpec(),
}


def spec_of(name: str) -> Spec:
    return SPECS.get(name, UNDECLARED)


def taken(s: Any, *calls: PastCall) -> int:
    return import_results(s, calls, spec_of=spec_of, resources=["orders", "owners"])


def test_a_foreign_read_blocks_until_it_is_read_again() -> None:
    s = fresh()
    assert taken(s, PastCall("list_orders", {"owner": SECRET}, "c1")) == 1
    assert codes(write(s, relies_on=["orders"])) == ["EVIDENCE_INCOMPLETE"]
    read(result(ROWS), session=s)
    assert ran(write(s, relies_on=["orders"]))
    assert taken(s, PastCall("list_orders", {"owner": SECRET}, "c1")) == 0
    assert ran(write(s, relies_on=["orders"]))


def test_a_result_that_the_session_knows_is_not_foreign() -> None:
    s = fresh()
    read(result(ROWS), session=s)
    s.note_call("c1")
    assert taken(s, PastCall("list_orders", {}, "c1")) == 0
    assert ran(write(s))


def test_an_old_history_allows_nothing_that_a_fresh_ledger_would() -> None:
    s = fresh()
    assert ran(write(s))
    taken(s, PastCall("list_orders", {}, None))
    assert codes(write(s)) == ["EVIDENCE_INCOMPLETE"]
    assert [r.ids for r in s.reads] == [frozenset()]


@pytest.mark.parametrize("tool", ["archive", "clock"])
def test_writes_and_neutral_tools_leave_nothing(tool: str) -> None:
    s = fresh()
    assert taken(s, PastCall(tool, {}, "c1")) == 0
    assert ran(write(s))


def test_a_foreign_result_of_an_undeclared_tool_blocks() -> None:
    s = fresh()
    assert taken(s, PastCall("shell", {}, "c1")) == 1
    assert codes(write(s)) == ["EVIDENCE_INCOMPLETE"]


def test_a_result_that_cannot_be_told_apart_may_have_been_anything() -> None:
    for call in (PastCall(None, {}, "c1"), PastCall("continue_read", {"handle": "h_1"}, "c1")):
        s = fresh()
        taken(s, call)
        assert [r.resource for r in s.reads] == ["orders", "owners"]


def test_a_foreign_lookup_blocks_the_record_it_looked_up_and_no_other() -> None:
    s = fresh()
    read(result(ROWS), session=s)
    read({"id": 1}, {"number": 1}, session=s, intent="lookup", key="number", filters={"number": "id"})
    other = fresh()
    taken(other, PastCall("get_order", {"number": 7}, "c1"))
    assert other.reads[0].key == "id"
    read(result(ROWS, filters={"tenant": "a"}), session=other)
    assert ran(write(other, {"ids": [1]}, relies_on=["orders"], targets="ids"))
    assert not ran(write(other, {"ids": [7]}, relies_on=["orders"], targets="ids"))


def test_a_past_that_is_not_here_blocks_everything() -> None:
    s = fresh()
    import_unknown_past(s, ["orders"])
    assert codes(write(s, relies_on=["orders"])) == ["EVIDENCE_INCOMPLETE"]


def test_a_past_call_shows_no_argument() -> None:
    assert SECRET not in repr(PastCall("list_orders", {"q": SECRET}))
