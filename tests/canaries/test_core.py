"""Every way that an action can go, without a framework: what the agent is told, and all that is left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from canaries.desk import BAD, GOOD, MODES, Provider, Waiting, act, heard, orders, refund
from canaries.places import placed
from canaries.watching import TheirOwn, Watch, found_in
from unabridged.gate.acting import arun_action, run_action

LEDGERS = ("memory", "sqlite")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("ledger", LEDGERS)
@pytest.mark.parametrize("mode", MODES)
async def test_no_way_that_an_executor_ends_lets_a_value_out(
    mode: str, ledger: str, is_async: bool, tmp_path: Path
) -> None:
    provider = Waiting(mode) if is_async else Provider(mode)
    with Watch() as watch, placed(ledger, tmp_path) as place:
        place.session.record(orders(filters={"owner": GOOD["mail"]}))
        action = refund(provider, approval="always")
        told = [heard(await act(is_async, action, GOOD)) for _ in range(2)]
    assert provider.commands, "it did run"
    assert place.cards, "and a person was asked"
    assert [found_in(t) for t in told] == [set(), set()]
    assert watch.leaks() == {}
    assert place.leaks() == {}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("bad", BAD)
async def test_a_request_that_is_not_valid_is_told_by_names_and_rules(bad: str, is_async: bool, tmp_path: Path) -> None:
    provider = Provider()
    with Watch() as watch, placed("sqlite", tmp_path) as place:
        place.session.record(orders())
        told = heard(await act(is_async, refund(provider), BAD[bad]))
    assert "invalid_request" in told
    assert provider.commands == []
    assert found_in(told) == set()
    assert (watch.leaks(), place.leaks()) == ({}, {})


REFUSED: dict[str, dict[str, Any]] = {
    "without evidence": {"reads": ()},
    "on a part": {"reads": (("MORE_PAGES_AVAILABLE",),), "answer": None},
    "abandoned": {"reads": ((),), "answer": False, "approval": "always"},
    "not granted": {"reads": ((),), "authorize": None},
    "by a rule that fails": {"reads": ((),), "authorize": lambda *_: 1 / 0},
    "changed since": {"reads": ((),), "recheck": lambda _: False},
    "a look that fails": {"reads": ((),), "recheck": lambda target: {}[target]},
    "approved by nonsense": {"reads": ((),), "answer": GOOD, "approval": "always"},
    "an approver that fails": {"reads": ((),), "answer": lambda _: {}[GOOD["mail"]], "approval": "always"},
}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("why", REFUSED)
async def test_no_refusal_lets_a_value_out(why: str, is_async: bool, tmp_path: Path) -> None:
    case = dict(REFUSED[why])
    reads, answer, provider = case.pop("reads"), case.pop("answer", True), Provider()
    with Watch() as watch, placed("sqlite", tmp_path, answer=answer) as place:
        for codes in reads:
            place.session.record(orders(*codes, filters={"owner": GOOD["mail"]}))
        told = heard(await act(is_async, refund(provider, **case), GOOD))
    assert provider.commands == []
    assert found_in(told) == set()
    assert (watch.leaks(), place.leaks()) == ({}, {})


def test_what_dies_in_mid_call_takes_no_value_of_ours_along(tmp_path: Path) -> None:
    with Watch() as watch, placed("sqlite", tmp_path) as place:
        place.session.record(orders())
        with pytest.raises(TheirOwn) as died:
            run_action(refund(Provider("dies"), approval="always"), GOOD)
        watch.raised(died.value)
    assert (watch.leaks(), place.leaks()) == ({}, {})


async def test_what_is_cancelled_in_mid_call_leaves_no_value(tmp_path: Path) -> None:
    provider = Waiting("hangs")
    with Watch() as watch, placed("sqlite", tmp_path) as place:
        place.session.record(orders())
        task = asyncio.ensure_future(arun_action(refund(provider, approval="always"), GOOD))
        await provider.holds.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        watch.raised(cancelled.value)
    assert (watch.leaks(), place.leaks()) == ({}, {})


def test_an_approver_that_dies_takes_no_value_of_ours_along(tmp_path: Path) -> None:
    def dies(card: Any) -> Any:
        raise TheirOwn(f"{GOOD} {card.to_text()}")

    with Watch() as watch, placed("sqlite", tmp_path, answer=dies) as place:
        place.session.record(orders(filters={"owner": GOOD["mail"]}))
        with pytest.raises(TheirOwn) as died:
            run_action(refund(Provider(), approval="always"), GOOD)
        watch.raised(died.value)
    assert place.cards
    assert (watch.leaks(), place.leaks()) == ({}, {})


async def test_what_is_cancelled_while_a_person_thinks_leaves_no_value(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def thinks(_: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    provider = Provider()
    with Watch() as watch, placed("sqlite", tmp_path, answer=thinks) as place:
        place.session.record(orders(filters={"owner": GOOD["mail"]}))
        task = asyncio.ensure_future(arun_action(refund(provider, approval="always"), GOOD))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        watch.raised(cancelled.value)
    assert provider.commands == []
    assert (watch.leaks(), place.leaks()) == ({}, {})
