"""Every source as a tool of an agent, whichever way its read goes: what is told, what is traced and what is kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from canaries import langchain_desk, llamaindex_desk
from canaries.desk import GOOD, Provider, refund
from canaries.places import Place, placed
from canaries.shelf import CASES, PAGED, PASSES, SOURCES
from canaries.upstream import MAIL, Source, Upstream, reads_of
from canaries.watching import not_of_model
from chat_scripts import calls
from langgraph.checkpoint.memory import InMemorySaver
from unabridged_langchain import CoverageMiddleware

ENDS = [case for case in CASES if case[1] in PASSES]
TOLD = sorted({way for _, way in CASES if way not in PASSES})


@dataclass
class Reads:
    """The reads of several sources as tools of one agent, each of a resource of its own, with a refund after them."""

    way: str
    folder: Path
    names: list[str]
    provider: Provider = field(default_factory=Provider)

    def __post_init__(self) -> None:
        self.ups = {name: Upstream(self.way) for name in self.names}
        self.covering = [name for name in self.names if SOURCES[name].covers or self.way != "valid"]

    @classmethod
    def all_that(cls, way: str, folder: Path, *, but_awaited: bool = False) -> Reads:
        """Returns all reads that can go this way."""
        names = [n for n, each in SOURCES.items() if way in each.ways and not (but_awaited and each.is_async)]
        return cls(way, folder, names)

    def tools(self, protect: Any, action_tool: Any) -> list[Any]:
        """Returns the tools, protected by a room."""
        tools = [SOURCES[name].tool(self.ups[name], self.folder, name=f"look_up_{name}") for name in self.names]
        reads = {f"look_up_{n}": {"resource": n, "fields": SOURCES[n].shown} for n in self.names}
        relies_on = self.covering or self.names
        return [*protect(tools, reads=reads),
                action_tool(refund(self.provider, approval="always", relies_on=relies_on))]  # fmt: skip

    def turns(self) -> list[list[tuple[str, dict[str, Any]]]]:
        """Returns what a model asks for: all reads at once, then the refund."""
        return [[(f"look_up_{name}", {"mail": MAIL}) for name in self.names], [("refund", GOOD)]]

    def others(self) -> tuple[str, ...]:
        """Returns the loggers of client libraries."""
        return tuple(other for name in self.names for other in SOURCES[name].others)

    def check(self, task: Any, place: Place) -> None:
        """Checks that everything ran, and that no value came out."""
        assert all(up.commands for up in self.ups.values()) or self.way == "invalid", "each was asked"
        assert (task.died is None) == (self.way not in PASSES)
        assert task.died is not None or {read.resource for read in place.session.reads} >= set(self.names)
        assert bool(self.provider.commands) == (self.way == "valid")
        assert place.cards or self.way != "valid", "a person was told what was read"
        assert task.told() == {}
        assert task.died is not None or not_of_model(task.found.places) == {}
        assert (task.watch.leaks(but=self.others()), place.leaks()) == ({}, {})


async def with_langchain(reads: Reads, *, is_async: bool) -> None:
    from unabridged_langchain import action_tool, protect

    with placed("memory", reads.folder) as place:
        task = await langchain_desk.follow(
            reads.tools(protect, action_tool), [calls(*asked) for asked in reads.turns()],
            next(iter(reads.ups.values())), is_async=is_async, layers=[CoverageMiddleware()], saver=InMemorySaver(),
        )  # fmt: skip
    reads.check(task, place)


async def with_llamaindex(reads: Reads) -> None:
    from unabridged_llamaindex import action_tool, protect

    with placed("memory", reads.folder) as place:
        task = await llamaindex_desk.follow(
            reads.tools(protect, action_tool), reads.turns(), next(iter(reads.ups.values()))
        )
    reads.check(task, place)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("way", TOLD)
async def test_an_agent_of_langchain_that_reads_everywhere_lets_no_value_out(
    way: str, is_async: bool, tmp_path: Path
) -> None:
    reads = Reads.all_that(way, tmp_path, but_awaited=not is_async)
    if reads.names:
        await with_langchain(reads, is_async=is_async)


@pytest.mark.parametrize("way", TOLD)
async def test_an_agent_of_llamaindex_that_reads_everywhere_lets_no_value_out(way: str, tmp_path: Path) -> None:
    await with_llamaindex(Reads.all_that(way, tmp_path))


@pytest.mark.parametrize(("name", "way"), ENDS)
async def test_a_read_that_ends_the_run_of_langchain_lets_no_value_out(name: str, way: str, tmp_path: Path) -> None:
    await with_langchain(Reads(way, tmp_path, [name]), is_async=SOURCES[name].is_async)


@pytest.mark.parametrize(("name", "way"), ENDS)
async def test_a_read_that_ends_the_run_of_llamaindex_lets_no_value_out(name: str, way: str, tmp_path: Path) -> None:
    await with_llamaindex(Reads(way, tmp_path, [name]))


GOES_ON = [(source, way) for source, ways in PAGED for way in ways]


def went_on(task: Any, place: Place, up: Upstream, way: str) -> None:
    """Checks a read that went on, and that no value came out."""
    assert up.commands, "it went on"
    assert (task.died is None) == (way not in PASSES)
    assert len(place.session.reads) >= 2
    assert task.told() == {}
    assert task.died is not None or not_of_model(task.found.places) == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


def handle_in(told: Any) -> dict[str, Any]:
    """Returns what a model sends to go on with what it was told."""
    return {"handle": json.loads(str(told))["continuation"]["handle"]}


@pytest.mark.parametrize(("source", "way"), GOES_ON)
async def test_an_agent_of_langchain_that_goes_on_reading_lets_no_value_out(
    source: Source, way: str, tmp_path: Path
) -> None:
    from unabridged_langchain import protect

    up = Upstream(way)
    turns: list[Any] = [
        calls(("look_up", {"mail": MAIL})),
        lambda seen: calls(("continue_read", handle_in(seen[-1].content))),
    ]
    with placed("sqlite", tmp_path) as place:
        task = await langchain_desk.follow(
            protect([source.tool(up, tmp_path, name="look_up")], reads=reads_of(source)), turns, up,
            is_async=source.is_async, layers=[CoverageMiddleware()],
        )  # fmt: skip
    went_on(task, place, up, way)


@pytest.mark.parametrize(("source", "way"), GOES_ON)
async def test_an_agent_of_llamaindex_that_goes_on_reading_lets_no_value_out(
    source: Source, way: str, tmp_path: Path
) -> None:
    from unabridged_llamaindex import protect

    up = Upstream(way)
    turns: list[Any] = [
        [("look_up", {"mail": MAIL})],
        lambda seen: [("continue_read", handle_in(seen[-1].content))],
    ]
    with placed("sqlite", tmp_path) as place:
        tools = protect([source.tool(up, tmp_path, name="look_up")], reads=reads_of(source))
        task = await llamaindex_desk.follow(list(tools), turns, up)
    went_on(task, place, up, way)
