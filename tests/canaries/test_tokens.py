"""References and selections: what a token stands for reaches the executor, and nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest
from canaries.by_token import BEHIND, FLAWED, Quoting, by_token, tokens
from canaries.desk import act, heard, orders
from canaries.places import placed
from canaries.watching import IDS, SENT, Watch, customer, found_in, places


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("ledger", ["memory", "sqlite"])
@pytest.mark.parametrize("way", ["valid", "raises", "rejected", "another action", *FLAWED])
async def test_what_a_token_stands_for_is_told_to_the_executor_alone(
    way: str, ledger: str, is_async: bool, tmp_path: Path
) -> None:
    provider = Quoting(way if way in ("raises", "rejected") else "valid")
    with Watch() as watch, placed(ledger, tmp_path) as place:
        fields = tokens(place.session, action="archive" if way == "another action" else "refund")
        told = [heard(await act(is_async, by_token(provider), {**fields, **FLAWED.get(way, {})})) for _ in range(2)]
    runs = way in ("valid", "raises", "rejected")
    assert bool(provider.commands) == runs
    assert all(command.references == {"customer": BEHIND} for command in provider.commands)
    assert bool(place.cards) == runs
    assert [found_in(t) for t in told] == [set(), set()]
    assert found_in(repr(provider.commands) + str(fields["customer"]) + str(fields["chosen"])) == set()
    assert (watch.leaks(), place.leaks()) == ({}, {})


def test_a_selection_shows_nothing_of_what_it_holds(tmp_path: Path) -> None:
    with Watch() as watch, placed("sqlite", tmp_path) as place:
        read = orders(filters={"owner": f"{SENT}owner"})
        place.session.record(read)
        chosen = read.select([f"o {IDS}one"], action="refund")
        assert (
            places({"all": [str(chosen), repr(chosen)], "slots": [getattr(chosen, n) for n in chosen.__slots__]}) == {}
        )
        for wrong in ([f"o {SENT}none"], [], [customer(SENT)]):
            with pytest.raises(Exception, match="ids") as refused:
                read.select(wrong, action="refund")
            watch.errors.append(("", refused.value.with_traceback(None)))
    assert (watch.leaks(), place.leaks()) == ({}, {})
