"""Actions over an executor of HTTP, and actions that take tokens, as tools of an agent."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from actions.executors.wire import wire
from canaries import langchain_desk, llamaindex_desk
from canaries.by_token import FLAWED, ByToken, Quoting, tokens
from canaries.desk import GOOD, Provider
from canaries.over_http import HTTP, Holding, http_of
from canaries.places import placed
from canaries.watching import not_of_model
from chat_scripts import calls
from langgraph.checkpoint.memory import InMemorySaver
from unabridged_langchain import CoverageMiddleware

both_ways = pytest.mark.parametrize("is_async", [False, True])


@both_ways
@pytest.mark.parametrize("way", ["valid", "rejected", "free text", "cut", "hangs"])
@pytest.mark.parametrize("room", ["langchain", "llamaindex"])
async def test_an_agent_learns_of_a_request_what_was_declared(
    room: str, way: str, is_async: bool, tmp_path: Path
) -> None:
    if way == "hangs" and not is_async:
        pytest.skip("what is not awaited cannot be cancelled")
    upstream: Any = SimpleNamespace(mode=way)
    with Holding() as never, wire(never if way == "hangs" else HTTP[way]) as server:
        upstream.holds = never.holds
        executor = http_of(server, way)
        with placed("memory", tmp_path) as place:
            if room == "langchain":
                task: Any = await langchain_desk.follow(
                    langchain_desk.tools_of(executor, "action", is_async=is_async, approval="always"),
                    [calls(("list_orders", {"owner": None})), calls(("refund", GOOD))], upstream, is_async=is_async,
                    layers=[CoverageMiddleware()], saver=InMemorySaver(),
                )  # fmt: skip
            else:
                tools = llamaindex_desk.tools_of(executor, "action", is_async=is_async, approval="always")
                turns = [[("list_orders", {})], [("refund", GOOD)]]
                task = await llamaindex_desk.follow(tools, turns, upstream)
    assert (task.died is None) == (way != "hangs")
    assert server.heard
    assert task.told() == {}
    assert not_of_model(task.found.places) == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


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
