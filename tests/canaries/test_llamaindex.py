"""Every way that a call of an agent of LlamaIndex can go: what reaches the model, what is traced, and what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from canaries.desk import BAD, GOOD, MODES, Provider, Waiting
from canaries.llamaindex_desk import Means, run_task, tools_of
from canaries.places import placed
from canaries.watching import TheirOwn, Watch, not_of_model

both_ways = pytest.mark.parametrize("is_async", [False, True])
GUARDED: tuple[tuple[Means, bool, bool], ...] = (
    ("action", True, False), ("action", False, True), ("write", True, True), ("write", False, False),
)  # fmt: skip


@both_ways
@pytest.mark.parametrize(("means", "coverage", "workflow"), GUARDED)
@pytest.mark.parametrize("mode", [*MODES, *BAD])
async def test_a_call_lets_out_no_value_but_what_the_model_sent_to_the_framework(
    mode: str, means: Means, coverage: bool, workflow: bool, is_async: bool, tmp_path: Path
) -> None:
    provider = (Waiting if is_async else Provider)("valid" if mode in BAD else mode)
    with placed("memory", tmp_path) as place:
        task = await run_task(
            provider, means, is_async=is_async, args=BAD.get(mode, GOOD), coverage=coverage, workflow=workflow,
            **({"approval": "always"} if mode in MODES else {}),
        )  # fmt: skip
    assert task.died is None
    assert bool(provider.commands) == (mode in MODES)
    assert place.cards or mode in BAD
    assert task.told() == {}
    assert not_of_model(task.found.places) == {}
    assert not [p for p in task.found.places if "unabridged" in p], "what the toolkit writes into a context"
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


@pytest.mark.parametrize("means", ["action", "write", "bare"])
@pytest.mark.parametrize("coverage", [True, False])
async def test_what_is_cancelled_in_mid_call_takes_no_value_along(means: Means, coverage: bool, tmp_path: Path) -> None:
    provider = Waiting("hangs")
    with placed("sqlite", tmp_path) as place:
        task = await run_task(provider, means, is_async=True, coverage=coverage)
    assert task.died is not None
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


@both_ways
@pytest.mark.parametrize("means", ["action", "write"])
async def test_what_dies_takes_no_value_along_in_a_frame_of_ours(means: Means, is_async: bool, tmp_path: Path) -> None:
    provider = (Waiting if is_async else Provider)("dies")
    with Watch() as watch, placed("sqlite", tmp_path) as place:
        read, tool = tools_of(provider, means, is_async=is_async)
        read.call()
        with pytest.raises(TheirOwn) as died:
            await tool.acall(**GOOD) if is_async else tool.call(**GOOD)
        watch.raised(died.value, is_theirs=True)
    assert provider.commands
    assert (watch.leaks(), place.leaks()) == ({}, {})


@both_ways
@pytest.mark.parametrize("mode", ["raises", "group", "rejected", *BAD])
async def test_a_tool_that_nobody_declared_lets_out_nothing_through_a_coverage_agent(
    mode: str, is_async: bool, tmp_path: Path
) -> None:
    provider = (Waiting if is_async else Provider)("valid" if mode in BAD else mode)
    with placed("memory", tmp_path) as place:
        task = await run_task(provider, "bare", is_async=is_async, args=BAD.get(mode, GOOD))
    assert task.told() == {}
    assert not_of_model(task.found.places) == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


REFUSED: dict[str, dict[str, Any]] = {
    "without evidence": {"reads": False},
    "changed since": {"recheck": lambda _: False},
    "a look that fails": {"recheck": lambda target: {}[target]},
}


@both_ways
@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.parametrize(("means", "coverage", "workflow"), GUARDED)
async def test_no_refusal_lets_a_value_out(
    why: str, means: Means, coverage: bool, workflow: bool, is_async: bool, tmp_path: Path
) -> None:
    provider = (Waiting if is_async else Provider)("valid")
    with placed("memory", tmp_path) as place:
        task = await run_task(provider, means, is_async=is_async, coverage=coverage, workflow=workflow, **REFUSED[why])
    assert provider.commands == []
    assert task.told() == {}
    assert not_of_model(task.found.places) == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})
