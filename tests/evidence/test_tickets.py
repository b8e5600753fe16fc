"""Tickets open nothing but what they were made out for; selections bind a write to a whole inventory."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from evidence.made_ledgers import NewDesk
from evidence.made_reads import at as moment
from evidence.made_reads import frozen, made
from hypothesis import given
from hypothesis import strategies as st
from unabridged import Selection, session
from unabridged.actions import ReferenceKind, reference
from unabridged.actions.references import resolve
from unabridged.contract import InvalidInput, NotComplete, TicketRefused, is_token
from unabridged.evidence import MemoryDesk, MemoryLedger, Session, Ticket, WriteIntent
from unabridged.evidence.tickets import KINDS, name_of

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ONE_HOUR = timedelta(hours=1)
IDS = ["k4narie-1", "k4narie-2", "k4narie-3"]


def a_ticket(**changes: Any) -> Ticket:
    made = {"kind": "reference", "session": "s-1", "action": "close", "audience": "desk", "expires_at": NOW + ONE_HOUR}
    return Ticket(**{**made, **changes})


RIGHT: dict[str, Any] = {
    "kind": "reference", "session": "s-1", "action": "close", "audience": "desk", "issuer": "unabridged", "now": NOW,
}  # fmt: skip
WRONG: dict[str, Any] = {
    "kind": "approval", "session": "s-2", "action": "delete", "audience": "agent", "issuer": "someone",
    "now": NOW + ONE_HOUR,
}  # fmt: skip


def test_a_token_holds_128_random_bits_and_nothing_of_its_ticket(new_desk: NewDesk) -> None:
    desk = new_desk()
    tokens = {desk.issue(a_ticket(kind=kind, payload=IDS), now=NOW) for kind in KINDS for _ in range(50)}
    assert len(tokens) == 50 * len(KINDS)
    assert all(len(t) <= 64 and is_token(t) for t in tokens)
    assert not any("k4narie" in t for t in tokens)


def test_a_desk_keeps_no_token_and_shows_no_payload(new_desk: NewDesk) -> None:
    desk = new_desk()
    token = desk.issue(a_ticket(payload=IDS), now=NOW)
    assert token not in desk.everything()
    assert "k4narie" not in repr(desk.look(token, **RIGHT)) + repr(desk)
    with pytest.raises(TypeError):
        pickle.dumps(desk)


@pytest.mark.parametrize("part", WRONG)
def test_a_ticket_is_refused_by_everything_but_what_it_was_made_out_for_and_the_error_is_the_same(
    part: str, new_desk: NewDesk
) -> None:
    desk = new_desk()
    token = desk.issue(a_ticket(), now=NOW)
    assert desk.look(token, **RIGHT).action == "close"
    said = []
    for verb in (desk.look, desk.redeem):
        with pytest.raises(TicketRefused) as refused:
            verb(token, **{**RIGHT, part: WRONG[part]})
        said.append(str(refused.value))
    with pytest.raises(TicketRefused) as forged:
        desk.look("ref_" + "A" * 22, **RIGHT)
    assert {*said, str(forged.value)} == {"the ticket is not valid here"}
    assert desk.redeem(token, **RIGHT).action == "close", "a refusal spends nothing"


@given(st.one_of(st.none(), st.integers(), st.text(max_size=80), st.binary(max_size=40), st.lists(st.text())))
def test_nothing_but_an_issued_token_is_taken(value: Any) -> None:
    desk = MemoryDesk()
    desk.issue(a_ticket(), now=NOW)
    with pytest.raises(TicketRefused):
        desk.redeem(value, **RIGHT)


@given(st.data())
def test_a_token_with_one_other_character_is_refused(data: st.DataObject) -> None:
    desk = MemoryDesk()
    token = desk.issue(a_ticket(), now=NOW)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda c: c != token[at]))
    with pytest.raises(TicketRefused):
        desk.look(token[:at] + other + token[at + 1 :], **RIGHT)


@pytest.mark.parametrize("uses", [1, 3])
def test_a_ticket_is_redeemed_as_often_as_it_says_also_when_many_try_at_once(uses: int, new_desk: NewDesk) -> None:
    desk = new_desk()
    token, won, start = desk.issue(a_ticket(uses=uses), now=NOW), [], threading.Barrier(8)

    def redeem() -> None:
        start.wait()
        for _ in range(5):
            with contextlib.suppress(TicketRefused):
                won.append(desk.redeem(token, **RIGHT))

    threads = [threading.Thread(target=redeem) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == uses


def test_a_desk_is_bounded_and_drops_what_has_ended_before_what_has_not(new_desk: NewDesk) -> None:
    desk = new_desk(max_tickets=2)
    ended = desk.issue(a_ticket(expires_at=NOW + timedelta(seconds=1)), now=NOW)
    kept = desk.issue(a_ticket(), now=NOW)
    later = {**RIGHT, "now": NOW + timedelta(seconds=2)}
    newest = desk.issue(a_ticket(), now=later["now"])
    assert desk.look(kept, **later)
    assert desk.look(newest, **later)
    desk.issue(a_ticket(), now=later["now"])
    for token in (ended, kept):
        with pytest.raises(TicketRefused):
            desk.look(token, **later)


def test_a_revoked_ticket_is_none_and_erasing_a_session_ends_its_tickets_only(new_desk: NewDesk) -> None:
    desk = new_desk()
    revoked, erased, other = (desk.issue(a_ticket(session=s), now=NOW) for s in ("s-1", "s-1", "s-2"))
    desk.revoke(revoked)
    desk.revoke("no token")
    desk.erase("s-1")
    for token in (revoked, erased):
        with pytest.raises(TicketRefused):
            desk.look(token, **RIGHT)
    assert desk.look(other, **{**RIGHT, "session": "s-2"})


@pytest.mark.parametrize(
    ("field", "value"),
    [("kind", "key"), ("session", ""), ("action", ""), ("audience", 3), ("issuer", ""), ("uses", 0), ("uses", True),
     ("expires_at", datetime(2026, 1, 1))],
)  # fmt: skip
def test_a_ticket_that_breaks_a_rule_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=field):
        a_ticket(**{field: value})


def test_the_name_under_which_a_token_is_kept_is_not_the_token(new_desk: NewDesk) -> None:
    desk = new_desk()
    token = desk.issue(a_ticket(), now=NOW)
    assert token not in name_of(token)
    with pytest.raises(TicketRefused):
        desk.look(name_of(token), **RIGHT)


def a_session(name: str = "case", *, at: list[datetime] | None = None, ledger: MemoryLedger | None = None) -> Session:
    clock = at or [moment(10)]
    return session(name, ledger=ledger or MemoryLedger(), now=lambda: clock[0])


def test_a_selection_names_no_ids_and_its_token_is_opaque() -> None:
    with a_session() as s:
        selection = made("orders", IDS).select(IDS[:2], action="archive", ttl_s=60)
        assert isinstance(selection, Selection)
        assert (selection.count, selection.action, selection.resource) == (2, "archive", "orders")
        assert "k4narie" not in repr(selection) + str(selection)
        assert s.tickets.selected(str(selection), action="archive").ids == tuple(IDS[:2])
        with pytest.raises(TypeError):
            pickle.dumps(selection)
        with pytest.raises(TypeError):
            copy.deepcopy(selection)


def test_only_a_complete_read_can_be_selected_from() -> None:
    with a_session(), pytest.raises(NotComplete) as refused:
        made("orders", IDS, "MORE_PAGES_AVAILABLE").select(IDS[:1], action="archive")
    assert "k4narie" not in str(refused.value)


def test_a_selection_needs_a_session_in_scope() -> None:
    with pytest.raises(InvalidInput, match="session"):
        made("orders", IDS).select(IDS[:1], action="archive")


@pytest.mark.parametrize(
    ("ids", "rule"),
    [([], "empty"), ("k4narie-1", "list"), (["k4narie-9"], "among"), ([None], "texts and numbers"), ([True], "texts")],
)
def test_ids_that_cannot_be_selected_are_refused_without_their_values(ids: Any, rule: str) -> None:
    with a_session(), pytest.raises(InvalidInput, match=rule) as refused:
        made("orders", IDS).select(ids, action="archive")
    assert "k4narie" not in str(refused.value)


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), True, "60"])
def test_a_time_to_live_that_is_none_is_refused(ttl: Any) -> None:
    with a_session(), pytest.raises(InvalidInput, match="ttl_s"):
        made("orders", IDS).select(IDS[:1], action="archive", ttl_s=ttl)


def test_a_part_of_a_selection_may_be_written_and_nothing_beyond_it() -> None:
    with a_session() as s:
        token = str(made("orders", IDS).select(IDS[:2], action="archive"))
        assert s.tickets.selected(token, action="archive", ids=IDS[:1]).ids == (IDS[0],)
        for ids in (IDS, [IDS[2]], []):
            with pytest.raises(TicketRefused):
                s.tickets.selected(token, action="archive", ids=ids)


def test_what_stands_behind_a_token_is_not_pickled_and_not_copied() -> None:
    with a_session() as s:
        token = s.tickets.issue("reference", ttl_s=60, payload=["k4narie"])
        selection = made("orders", IDS).select(IDS[:1], action="archive")
        behind = [s.tickets.look(token, kind="reference"), s.tickets.selected(selection, action="archive"), selection]
        behind.append(resolve(s, {"a": ReferenceKind("x")}, {"a": reference(s, "x", "k4narie")}, action="archive"))
    for held in behind:
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled"):
                way(held)
        assert "k4narie" not in repr(held)


@pytest.mark.parametrize("ids", ["12", b"12", {"1": 1}, 1])
def test_what_are_no_ids_name_no_part_of_a_selection(ids: Any) -> None:
    with a_session() as s:
        token = str(made("orders", ["1", "2"]).select(["1", "2"], action="archive"))
        with pytest.raises(TicketRefused):
            s.tickets.selected(token, action="archive", ids=ids)


def test_a_selection_is_refused_once_spent_expired_moved_or_forged() -> None:
    ledger, at = MemoryLedger(), [moment(10)]
    with a_session(at=at, ledger=ledger) as s:
        token, spent, late = (str(made("orders", IDS).select(IDS, action="archive", ttl_s=60)) for _ in range(3))
        s.tickets.spend(spent, action="archive")
        for verb in (s.tickets.selected, s.tickets.spend):
            for used, action in ((spent, "archive"), (token, "delete"), (token[:-1] + "_", "archive")):
                with pytest.raises(TicketRefused):
                    verb(used, action=action)
        with pytest.raises(TicketRefused):
            a_session("other", at=at, ledger=ledger).tickets.selected(token, action="archive")
        at[0] += timedelta(seconds=61)
        with pytest.raises(TicketRefused):
            s.tickets.selected(late, action="archive")


def test_an_erased_session_keeps_no_selection() -> None:
    with a_session() as s:
        token = str(made("orders", IDS).select(IDS, action="archive"))
        s.erase()
        with pytest.raises(TicketRefused):
            s.tickets.selected(token, action="archive")


def judged(s: Session, token: str, **demands: Any) -> Any:
    selection = s.tickets.selected(token, action="archive")
    return s.judge_write(WriteIntent("archive", selection=selection, **demands))


def test_a_write_of_a_selection_is_bound_to_the_resource_that_it_was_taken_from() -> None:
    with a_session() as s:
        token = str(made("orders", IDS).select(IDS, action="archive"))
        s.record(made("notes", ["n-1"], "MORE_PAGES_AVAILABLE"))
        assert judged(s, token).allowed
        assert not s.judge_write(WriteIntent("archive", targets=IDS)).allowed
        s.record(made("orders", IDS, "MORE_PAGES_AVAILABLE"))
        assert judged(s, token).codes == ("EVIDENCE_INCOMPLETE",)


def test_a_selection_of_another_scope_than_the_write_relies_on_is_invalid() -> None:
    with a_session() as s:
        s.record(made("notes", IDS))
        token = str(made("orders", IDS).select(IDS, action="archive"))
        assert "SELECTION_INVALID" in judged(s, token, relies_on=["notes"]).codes
        narrow = {"resource": "orders", "filters": {"tenant": "k4narie"}}
        assert judged(s, token, relies_on=[narrow]).allowed, "a wider read covers it"
        other = str(made("orders", IDS, filters={"tenant": "a"}).select(IDS, action="archive"))
        assert "SELECTION_INVALID" in judged(s, other, relies_on=[narrow]).codes


def test_a_selected_target_that_a_later_whole_read_does_not_hold_is_not_in_evidence() -> None:
    with a_session() as s:
        token = str(made("orders", IDS).select(IDS, action="archive"))
        s.record(made("orders", IDS[:2]))
        assert judged(s, token).codes == ("TARGET_NOT_IN_EVIDENCE",)


def test_a_destructive_write_of_a_selection_still_needs_a_snapshot_or_a_recheck() -> None:
    with a_session() as s:
        token = str(made("orders", IDS).select(IDS, action="archive"))
        assert judged(s, token, destructive=True).codes == ("EVIDENCE_WEAK",)
        assert judged(s, token, destructive=True, recheck=True).allowed
    with a_session() as s:
        token = str(frozen("orders", IDS).select(IDS, action="archive"))
        assert judged(s, token, destructive=True).allowed


def test_no_selection_travels_in_the_wire_form() -> None:
    with a_session():
        read = made("orders", IDS)
        token = str(read.select(IDS, action="archive"))
        assert token not in json.dumps(read.to_wire())
