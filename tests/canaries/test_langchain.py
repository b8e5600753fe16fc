"""Every way that a call of an agent of LangChain can go: what reaches the model, what is traced, and what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from canaries.desk import BAD, GOOD, MODES
from canaries.langchain_desk import Means, provider_of, run_task
from canaries.places import placed
from canaries.watching import not_of_model
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

both_ways = pytest.mark.parametrize("is_async", [False, True])
GUARDED: tuple[tuple[Means, bool], ...] = (("action", True), ("action", False), ("write", True), ("write", False))


@both_ways
@pytest.mark.parametrize(("means", "middleware"), GUARDED)
@pytest.mark.parametrize("mode", [*MODES, *BAD])
async def test_a_call_lets_out_no_value_but_what_the_model_sent_to_the_framework(
    mode: str, means: Means, middleware: bool, is_async: bool, tmp_path: Path
) -> None:
    provider = provider_of("valid" if mode in BAD else mode, is_async=is_async)
    with placed("memory", tmp_path) as place:
        task = await run_task(
            provider, means, is_async=is_async, args=BAD.get(mode, GOOD), middleware=middleware,
            saver=InMemorySaver(), **({"approval": "always"} if mode in MODES else {}),
        )  # fmt: skip
    assert task.died is None
    assert bool(provider.commands) == (mode in MODES)
    assert place.cards or mode in BAD
    assert task.told() == {}
    assert not_of_model(task.found.places) == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


@both_ways
@pytest.mark.parametrize(("means", "middleware"), [*GUARDED, ("bare", True)])
async def test_what_dies_takes_no_value_along_in_a_frame_of_ours(
    means: Means, middleware: bool, is_async: bool, tmp_path: Path
) -> None:
    provider = provider_of("hangs" if is_async else "dies", is_async=is_async)
    with placed("sqlite", tmp_path) as place:
        task = await run_task(provider, means, is_async=is_async, middleware=middleware)
    assert task.died is not None
    assert provider.commands
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


@both_ways
@pytest.mark.parametrize("mode", ["raises", "group", "rejected", *BAD])
async def test_a_tool_that_nobody_declared_lets_out_nothing_through_the_middleware(
    mode: str, is_async: bool, tmp_path: Path
) -> None:
    provider = provider_of("valid" if mode in BAD else mode, is_async=is_async)
    with placed("memory", tmp_path) as place:
        task = await run_task(provider, "bare", is_async=is_async, args=BAD.get(mode, GOOD))
    assert task.told() == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


REFUSED: dict[str, dict[str, Any]] = {
    "without evidence": {"reads": False},
    "changed since": {"recheck": lambda _: False},
    "a look that fails": {"recheck": lambda target: {}[target]},
}


@both_ways
@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.parametrize(("means", "middleware"), GUARDED)
async def test_no_refusal_lets_a_value_out(
    why: str, means: Means, middleware: bool, is_async: bool, tmp_path: Path
) -> None:
    provider = provider_of("valid", is_async=is_async)
    with placed("memory", tmp_path) as place:
        task = await run_task(provider, means, is_async=is_async, middleware=middleware, **REFUSED[why])
    assert provider.commands == []
    assert task.told() == {}
    assert not_of_model(task.found.places) == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


async def test_a_checkpoint_on_disk_holds_no_value_of_an_upstream_and_no_credential(tmp_path: Path) -> None:
    provider = provider_of("valid", is_async=False)
    with placed("memory", tmp_path), SqliteSaver.from_conn_string(str(tmp_path / "graph.sqlite")) as saver:
        await run_task(provider, "action", is_async=False, saver=saver)
    kept = (tmp_path / "graph.sqlite").read_bytes()
    assert b"qzsent" in kept, "the model's own arguments, which LangGraph keeps"
    assert not any(mark in kept for mark in (b"qzup", b"qzsaid", b"qzkey"))
