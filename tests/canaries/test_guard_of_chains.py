"""`PartialReadGuard` before tools that nobody wrapped: what it refuses with, and what it leaves behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from canaries.desk import GOOD, ROWS, Waiting
from canaries.langchain_desk import Task, provider_of, tools_of
from canaries.places import placed
from canaries.seen_by_langchain import Hearing, Recorder
from canaries.watching import IDS, SENT, TheirOwn, not_of_model, places
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool
from unabridged_langchain import CallRefused, PartialReadGuard

both_ways = pytest.mark.parametrize("is_async", [False, True])
REFUSED: dict[str, dict[str, Any]] = {
    "on a part": {"codes": ("MORE_PAGES_AVAILABLE",)},
    "a judge that fails": {"codes": None},
    "without evidence": {"reads": False},
    "not in evidence": {"ids": [f"o {SENT}none"]},
    "ids that are none": {"ids": {"of": f"{SENT}ids"}},
    "changed since": {"recheck": lambda _: False},
    "a look that fails": {"recheck": lambda target: {}[target]},
    "abandoned": {"approval": "always", "answer": False},
    "not declared": {"writes": False, "codes": ("MORE_PAGES_AVAILABLE",)},
}
ASKED = ("on a part", "a judge that fails", "without evidence", "not in evidence", "abandoned", "not declared")
"""Where a person was asked first."""


async def run_chain(
    provider: Any, *, is_async: bool, codes: Any = (), reads: bool = True, ids: Any = GOOD["ids"], writes: bool = True,
    **declared: Any,
) -> Task:  # fmt: skip
    """Reads, and refunds in a chain, under a guard."""
    task = Task()

    def list_orders(owner: str | None = None) -> Any:  # noqa: ARG001
        """Lists orders."""
        return [dict(row) for row in ROWS]

    def judge(value: Any, call: Any) -> Any:
        return call.result([{"id": row["id"]} for row in value], *codes)

    def failing(value: Any, _: Any) -> Any:
        raise KeyError(str(value))

    read = StructuredTool.from_function(list_orders)
    write = tools_of(provider, "bare", is_async=is_async)[-1]
    told = {"relies_on": ["orders"], "targets": "ids", **declared}
    guard = PartialReadGuard(
        reads={"list_orders": {"resource": "orders", "judge": judge if codes is not None else failing}},
        writes={"refund": told} if writes else {},
    )
    config: Any = {"callbacks": [guard, Recorder(task.found), Hearing(task.found)]}
    chain = RunnableLambda(lambda _: {**GOOD, "ids": ids}) | write
    with task.watch:
        try:
            if reads:
                read.invoke({"owner": f"{SENT}owner"}, config)
            if is_async:
                running = asyncio.ensure_future(chain.ainvoke(None, config))
                if provider.mode == "hangs":
                    await provider.holds.wait()
                    running.cancel()
                task.state = await running
            else:
                task.state = chain.invoke(None, config)
        except (Exception, TheirOwn, asyncio.CancelledError) as error:  # noqa: BLE001 - what comes out is looked at
            task.died = error
            task.watch.raised(error, is_theirs=not isinstance(error, CallRefused))
    return task


@both_ways
@pytest.mark.parametrize("why", REFUSED)
async def test_no_refusal_before_a_plain_tool_lets_a_value_out(why: str, is_async: bool, tmp_path: Path) -> None:
    case = dict(REFUSED[why])
    provider = provider_of("valid", is_async=is_async)
    with placed("sqlite", tmp_path, answer=case.pop("answer", True)) as place:
        task = await run_chain(provider, is_async=is_async, **case)
    assert isinstance(task.died, CallRefused)
    assert provider.commands == []
    assert bool(place.cards) == (why in ASKED)
    assert places(task.died) == {}
    assert {w: h for w, h in not_of_model(task.found.places).items() if not h.startswith("qzup")} == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


@both_ways
@pytest.mark.parametrize("mode", ["valid", "raises", "group", "timeout", "dies"])
async def test_a_plain_tool_that_runs_leaves_no_value_in_what_is_ours(
    mode: str, is_async: bool, tmp_path: Path
) -> None:
    provider = provider_of(mode, is_async=is_async)
    with placed("sqlite", tmp_path) as place:
        task = await run_chain(provider, is_async=is_async)
    assert provider.commands
    assert (task.died is None) == (mode == "valid")
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


async def test_a_plain_tool_that_is_cancelled_leaves_no_value_in_what_is_ours(tmp_path: Path) -> None:
    provider = Waiting("hangs")
    with placed("sqlite", tmp_path) as place:
        task = await run_chain(provider, is_async=True)
    assert isinstance(task.died, asyncio.CancelledError)
    assert IDS in str(provider.commands), "it had begun"
    assert (task.watch.leaks(), place.leaks()) == ({}, {})
