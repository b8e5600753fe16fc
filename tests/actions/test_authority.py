"""Who may start an action, what the executor needs, what the agent learns: three controls, each by itself."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from actions.kit import SENTINEL, Provider, admitted, archive, opened
from unabridged.actions import EFFECTS, Action, Admitted, Effect, ExecutorError, Grant, Grants, Rejected
from unabridged.contract import InvalidInput
from unabridged.evidence import MemoryLedger

GOOD = {"tenant": "t1", "account_ids": ["a1"]}


def error_of(action: Action, s: Any = None) -> str | None:
    found = action.admit(GOOD, session=s)
    return found.error if isinstance(found, Rejected) else None


def test_nobody_may_start_an_action_unless_it_was_granted() -> None:
    provider = Provider()
    with opened(principal="lead") as s:
        assert error_of(archive(provider, authorize=None), s) == "forbidden"
        assert error_of(archive(provider, authorize=Grants()), s) == "forbidden"
        assert error_of(archive(provider, authorize=Grants({"clerk": ["change"]})), s) == "forbidden"
    assert provider.commands == []


@pytest.mark.parametrize("granted", EFFECTS)
@pytest.mark.parametrize("effect", EFFECTS)
def test_a_grant_of_one_effect_is_a_grant_of_no_other(effect: Effect, granted: Effect) -> None:
    action = archive(effect=effect, authorize=Grants({"clerk": [granted]}))
    with opened(principal="clerk") as s:
        assert error_of(action, s) == (None if effect == granted else "forbidden")


def test_drafting_is_not_sending() -> None:
    grants = Grants({"clerk": ["draft"]})
    with opened(principal="clerk") as s:
        assert error_of(archive(effect="draft", authorize=grants), s) is None
        assert error_of(archive(effect="send", authorize=grants), s) == "forbidden"


def test_a_grant_may_name_its_actions() -> None:
    with opened(principal="clerk") as s:
        assert error_of(archive(authorize=Grants({"clerk": [Grant("change", ["archive_accounts"])]})), s) is None
        assert error_of(archive(authorize=Grants({"clerk": [Grant("change", ["other"])]})), s) == "forbidden"
        assert error_of(archive(authorize=Grants({"clerk": [Grant("change", [])]})), s) == "forbidden"


def test_a_session_without_a_principal_has_what_anyone_has() -> None:
    action = archive(authorize=Grants({"clerk": ["change"]}))
    assert error_of(action, None) == "forbidden"
    with opened() as s:
        assert error_of(action, s) == "forbidden"
        assert error_of(archive(authorize=Grants(anyone=["change"])), s) is None


@pytest.mark.parametrize("answer", [1, "yes", object(), None, False, [True]])
def test_nothing_but_true_lets_an_action_start(answer: Any) -> None:
    assert error_of(archive(authorize=lambda *_: answer)) == "forbidden"


def test_an_authority_that_fails_or_must_be_awaited_lets_nothing_start(caplog: pytest.LogCaptureFixture) -> None:
    def fails(*_: Any) -> bool:
        raise RuntimeError(SENTINEL)

    async def later(*_: Any) -> bool:
        return True

    assert error_of(archive(authorize=fails)) == "forbidden"
    assert error_of(archive(authorize=later)) == "forbidden"
    assert SENTINEL not in caplog.text


def test_authority_is_told_who_where_what_and_about_whom() -> None:
    seen: list[Any] = []

    def authorize(*told: Any) -> bool:
        seen.append(told)
        return True

    action = archive(authorize=authorize)
    with opened(principal="clerk") as s:
        admitted(action, GOOD, s)
    assert seen == [("clerk", s, action, {})]


def test_a_request_is_checked_before_authority_is_asked() -> None:
    asked: list[Any] = []
    found = archive(authorize=lambda *told: asked.append(told) or True).admit({"tenant": 5}, session=None)  # type: ignore[func-returns-value]
    assert isinstance(found, Rejected)
    assert found.error == "invalid_request"
    assert asked == []


def test_who_may_start_learns_no_more_for_it() -> None:
    action = archive(Provider({"a1": {"archived": True, "note": SENTINEL}}), authorize=lambda *_: True)
    with opened() as s:
        outcome = action.perform(admitted(action, GOOD, s), session=s)
    assert SENTINEL not in json.dumps(outcome.document())


def test_what_the_executor_lacks_is_no_matter_of_who_may_start() -> None:
    action = archive(Provider({"a1": ExecutorError(code="provider_rejected")}), authorize=lambda *_: True)
    with opened() as s:
        outcome = action.perform(admitted(action, GOOD, s), session=s)
    assert (outcome.status, outcome.code) == ("failed", "provider_rejected")


def test_what_was_not_admitted_is_not_performed() -> None:
    provider = Provider()
    action = archive(provider, authorize=None)
    made = action.inputs.check(GOOD)
    assert made.fields is not None
    with opened() as s:
        for forged in (Admitted(made.values, made.fields), Admitted(made.values, made.fields, by=archive()), None):
            with pytest.raises(InvalidInput):
                action.perform(forged, session=s)  # type: ignore[arg-type]
    assert provider.commands == []


def test_what_was_admitted_in_one_session_is_not_performed_in_another() -> None:
    provider, ledger = Provider(), MemoryLedger()
    action = archive(provider, authorize=Grants({"lead": ["change"]}))
    with opened(principal="lead", ledger=ledger) as s:
        found = admitted(action, GOOD, s)
    with opened(principal="clerk", ledger=ledger) as other:
        for elsewhere in (other, None):
            with pytest.raises(InvalidInput):
                action.perform(found, session=elsewhere)
    assert provider.commands == []


def test_the_effects_are_told_from_the_lightest_to_the_gravest() -> None:
    assert EFFECTS == get_args(Effect) == ("read", "draft", "change", "send", "destroy")
