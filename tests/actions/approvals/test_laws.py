"""Laws of approvals: no tampering is accepted, and the binding tells apart what is not equal as JSON, and only that."""

from __future__ import annotations

import copy
import json
from typing import Any

from evidence.made_reads import at as moment
from evidence.made_reads import made
from gate.write_cases import IDS, WHOLE, Case, Person, codes
from hypothesis import assume, given
from hypothesis import strategies as st
from unabridged import session
from unabridged.actions.approvals import ApprovalStale, Card, approve, card_from_dict
from unabridged.actions.approvals.card import CARD_OPTIONS, binding_of
from unabridged.contract import InvalidInput, json_equal
from unabridged.evidence import MemoryLedger, Session

NUMBERS = st.integers(-(2**53), 2**53) | st.integers(-9, 9).map(float) | st.floats(-1e15, 1e15)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=4) | st.sampled_from(["1", "True", "null"])
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=2), v, max_size=3), max_leaves=6
)
ARGS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns where something stands in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *[path for key, each in inner for path in paths(each, (*at, key))]]


@st.composite
def tampered(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    """Returns a document with one to three changes: a value replaced, left out, doubled, or moved in its text."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from([p for p in paths(changed) if p] or [("binding",)]))
        owner: Any = changed
        for key in parents:
            owner = owner[key]
        old = owner.get(last) if isinstance(owner, dict) else owner[last]
        kinds = [VALUES, st.just(old), st.sampled_from([*CARD_OPTIONS, "orders", 1, 2, 1000, None])]
        if isinstance(old, str) and old:
            at = draw(st.integers(0, len(old) - 1))
            kinds.append(st.sampled_from("0123456789abcdefZ").map(lambda c, s=old, n=at: s[:n] + c + s[n + 1 :]))
        if isinstance(old, list):
            kinds.append(st.just([*old, *old]))
        owner[last] = draw(st.one_of(kinds))
        if draw(st.integers(0, 5)) == 0:
            del owner[last]
    return changed


def asked() -> tuple[Case, Card]:
    asks = Person(False)
    case = Case(made(*WHOLE), destructive=True, approve=asks, show=["path"])
    case.call(ids=IDS, path="/tmp/a")
    return case, asks.cards[0]


CASE, CARD = asked()


@given(tampered(json.loads(json.dumps(CARD.to_dict()))))
def test_no_change_of_a_card_is_accepted(document: dict[str, Any]) -> None:
    try:
        card = card_from_dict(document)
    except InvalidInput:
        return
    try:
        approve(CASE.session, card, True)
    except ApprovalStale:
        return
    assert json_equal(document, CARD.to_dict())


@given(st.data())
def test_no_change_of_a_decision_lets_a_write_run_that_was_not_decided_on(data: st.DataObject) -> None:
    case = Case(made(*WHOLE), destructive=True)
    given_back: list[Any] = []

    def elsewhere(card: Card) -> Any:
        right = {"decision": "approve", "binding": card.binding}
        given_back.append((right, data.draw(tampered(right))))
        return given_back[-1][1]

    case.session.approve = elsewhere
    reply = case.call(ids=IDS)
    right, sent = given_back[0]
    names = sent.get("decision") == "go_ahead_for" and sent.get("ids")
    if {k: v for k, v in sent.items() if v is not None} != right and not names:
        assert case.ran == []
        assert "error" in reply.content
    elif case.ran:
        assert sent["binding"] == right["binding"]


@given(
    st.integers(0, 25), st.sampled_from("abcdefghijklmnopqrstuvwxyzABCXYZ0189_-~ \n"), st.sampled_from(["", "x", "="])
)
def test_no_change_of_a_token_is_accepted(at: int, letter: str, tail: str) -> None:
    case, card = asked()
    token = approve(case.session, card, True)
    changed = token[:at] + letter + token[at + 1 :] + tail
    assume(changed != token)
    case.session.approve = Person(changed)
    assert "APPROVAL_STALE" in codes(case.call(ids=IDS, path="/tmp/a"))
    case.session.approve = Person(token)
    assert case.call(ids=IDS, path="/tmp/a").value == "archived", "a wrong token spends nothing"
    assert len(case.ran) == 1


SESSION: Session = session("laws", ledger=MemoryLedger(), now=lambda: moment(10))


def bound(args: Any, filters: Any = None, action: str = "archive", targets: Any = 1) -> str:
    read = SESSION.record(made("orders", IDS, filters=filters or {}))
    return binding_of(SESSION, action=action, args={**args, "ids": targets}, targets_arg="ids", reads=[read])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two values that are often nearly the same, and often equal as JSON though not of one type."""
    one = draw(ARGS)
    other = draw(st.just(retyped(one)) | tampered(one) | ARGS) if one else draw(ARGS)
    return one, other


def retyped(value: Any) -> Any:
    """Returns an equal JSON value: whole numbers as floats, keys in another order."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, dict):
        return {k: retyped(v) for k, v in reversed(value.items())}
    return [retyped(v) for v in value] if isinstance(value, list) else value


@given(pairs())
def test_the_binding_differs_exactly_where_the_arguments_do(pair: tuple[Any, Any]) -> None:
    one, other = pair
    assert (bound(one) == bound(other)) == json_equal(one, other)


@given(pairs())
def test_the_binding_differs_exactly_where_the_filters_of_the_evidence_do(pair: tuple[Any, Any]) -> None:
    one, other = pair
    assert (bound({}, one) == bound({}, other)) == json_equal(one, other)


@given(st.lists(st.text(max_size=3)), st.lists(st.integers()), st.text(min_size=1, max_size=5))
def test_the_binding_holds_for_any_ids_and_for_one_action_only(one: Any, other: Any, action: str) -> None:
    assert bound({}, targets=one) == bound({}, targets=other)
    assert (bound({}, action=action) == bound({})) == (action == "archive")
