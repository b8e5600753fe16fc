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
AT_ONCE = sorted({way for name, way in CASES if way not in PASSES and not SOURCES[name].is_async})
"""The ways that sources go which nobody awaits."""


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

    def seen(self, task: Any, place: Place) -> Seen:
        """Returns what ran, and what came out."""
        read = {each.resource for each in place.session.reads}
        return Seen(
            asked=all(up.commands for up in self.ups.values()) or self.way == "invalid",
            died=task.died is not None,
            recorded=task.died is not None or read >= set(self.names),
            refunded=bool(self.provider.commands),
            shown=bool(place.cards) or self.way != "valid",
            leaks=_leaks(task, place, but=self.others()),
        )

    @property
    def wanted(self) -> Seen:
        """What is to be seen: that each was asked, that a person was told what was read, and no value."""
        return Seen(died=self.way in PASSES, refunded=self.way == "valid")


@dataclass(frozen=True)
class Seen:
    """What was seen of a run; the defaults are what is right of every run."""

    died: bool
    refunded: bool = False
    asked: bool = True
    recorded: bool = True
    shown: bool = True
    leaks: tuple[Any, ...] = ({}, {}, {}, {})


def _leaks(task: Any, place: Place, *, but: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Returns the values that reached the model, the tracers, the logs and errors, and what is kept."""
    found = {} if task.died is not None else not_of_model(task.found.places)
    return task.told(), found, task.watch.leaks(but=but), place.leaks()


async def with_langchain(reads: Reads, *, is_async: bool) -> Seen:
    from unabridged_langchain import action_tool, protect

    with placed("memory", reads.folder) as place:
        task = await langchain_desk.follow(
            reads.tools(protect, action_tool), [calls(*asked) for asked in reads.turns()],
            next(iter(reads.ups.values())), is_async=is_async, layers=[CoverageMiddleware()], saver=InMemorySaver(),
        )  # fmt: skip
    return reads.seen(task, place)


async def with_llamaindex(reads: Reads) -> Seen:
    from unabridged_llamaindex import action_tool, protect

    with placed("memory", reads.folder) as place:
        task = await llamaindex_desk.follow(
            reads.tools(protect, action_tool), reads.turns(), next(iter(reads.ups.values()))
        )
    return reads.seen(task, place)


@pytest.mark.parametrize(("way", "is_async"), [*((way, True) for way in TOLD), *((way, False) for way in AT_ONCE)])
async def test_an_agent_of_langchain_that_reads_everywhere_lets_no_value_out(
    way: str, is_async: bool, tmp_path: Path
) -> None:
    reads = Reads.all_that(way, tmp_path, but_awaited=not is_async)
    assert reads.names
    assert await with_langchain(reads, is_async=is_async) == reads.wanted


@pytest.mark.parametrize("way", TOLD)
async def test_an_agent_of_llamaindex_that_reads_everywhere_lets_no_value_out(way: str, tmp_path: Path) -> None:
    reads = Reads.all_that(way, tmp_path)
    assert await with_llamaindex(reads) == reads.wanted


@pytest.mark.parametrize(("name", "way"), ENDS)
async def test_a_read_that_ends_the_run_of_langchain_lets_no_value_out(name: str, way: str, tmp_path: Path) -> None:
    reads = Reads(way, tmp_path, [name])
    assert await with_langchain(reads, is_async=SOURCES[name].is_async) == reads.wanted


@pytest.mark.parametrize(("name", "way"), ENDS)
async def test_a_read_that_ends_the_run_of_llamaindex_lets_no_value_out(name: str, way: str, tmp_path: Path) -> None:
    reads = Reads(way, tmp_path, [name])
    assert await with_llamaindex(reads) == reads.wanted


GOES_ON = [(source, way) for source, ways in PAGED for way in ways]


def went_on(task: Any, place: Place, up: Upstream) -> Seen:
    """Returns what was seen of a read that went on."""
    read = len(place.session.reads) >= 2
    return Seen(asked=bool(up.commands), died=task.died is not None, recorded=read, leaks=_leaks(task, place))


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
    assert went_on(task, place, up) == Seen(died=way in PASSES)


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
    assert went_on(task, place, up) == Seen(died=way in PASSES)
