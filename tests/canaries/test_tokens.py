"""References and selections: what a token stands for reaches the executor, and nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from canaries import langchain_desk, llamaindex_desk
from canaries.desk import GOOD, Provider, Refund, Waiting, act, heard, orders, refund, said
from canaries.places import placed
from canaries.watching import IDS, SENT, UP, Watch, customer, found_in, not_of_model, places
from chat_scripts import calls
from langgraph.checkpoint.memory import InMemorySaver
from unabridged.actions import Command, reference
from unabridged_langchain import CoverageMiddleware

both_ways = pytest.mark.parametrize("is_async", [False, True])
BEHIND = customer(UP)
"""What a reference stands for: no model may learn it."""


class ByToken(Refund):
    """A refund whose customer is a reference, and whose orders are a selection."""

    customer: str
    chosen: str | None = None


class Quoting(Waiting):
    """A provider that quotes its command where it fails."""

    def answer(self) -> Any:
        """Answers, or fails with all that it was told."""
        command: Command = self.commands[-1]
        if self.mode == "raises":
            raise RuntimeError(f"{said(self.secret)} {command.to_message()}")
        return super().answer()


def by_token(provider: Any, **declared: Any) -> Any:
    return refund(
        provider, input=ByToken, references={"customer": "customer"}, selection="chosen", approval="always", **declared
    )


def tokens(session: Any, **of: Any) -> dict[str, Any]:
    """Returns a request whose customer and orders are tokens of a session."""
    read = orders(filters={"owner": f"{SENT}owner"})
    session.record(read)
    chosen = session.tickets.select(read, [f"o {IDS}one", f"o {IDS}two"], action="refund")
    token = reference(session, "customer", BEHIND, **{"action": "refund", **of})
    return {"mail": GOOD["mail"], "cents": GOOD["cents"], "ids": [f"o {IDS}one"], "customer": token,
            "chosen": str(chosen)}  # fmt: skip


FLAWED: dict[str, dict[str, Any]] = {
    "forged": {"customer": f"ref_{SENT}forged"},
    "no token": {"customer": f"{SENT} customer"},
    "no selection": {"chosen": f"sel_{SENT}forged"},
    "another order": {"ids": [f"o {IDS}three"]},
}


@both_ways
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


@both_ways
@pytest.mark.parametrize("way", ["valid", "raises", "no token"])
@pytest.mark.parametrize("room", ["langchain", "llamaindex"])
async def test_an_agent_that_holds_tokens_learns_nothing_of_what_they_stand_for(
    room: str, way: str, is_async: bool, tmp_path: Path
) -> None:
    provider: Provider = Quoting("valid" if way == "no token" else way)
    desk: Any = langchain_desk if room == "langchain" else llamaindex_desk
    declared = {"input": ByToken, "references": {"customer": "customer"}, "selection": "chosen"}
    with placed("sqlite", tmp_path) as place:
        fields = {**tokens(place.session), **FLAWED.get(way, {})}
        tools = desk.tools_of(provider, "action", is_async=is_async, approval="always", **declared)
        if room == "langchain":
            turns: list[Any] = [calls(("list_orders", {"owner": None})), calls(("refund", fields))]
            task = await desk.follow(tools, turns, provider, is_async=is_async, layers=[CoverageMiddleware()],
                                     saver=InMemorySaver())  # fmt: skip
        else:
            task = await desk.follow(tools, [[("list_orders", {})], [("refund", fields)]], provider)
    assert task.died is None
    assert bool(provider.commands) == (way != "no token")
    assert task.told() == {}
    assert not_of_model(task.found.places) == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


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
