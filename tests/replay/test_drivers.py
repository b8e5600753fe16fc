"""The drivers share every decision: what a thread reads, an event loop reads, and pages read one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from unabridged.contract import CaseError, ReadResult, id_set
from unabridged.evidence.view import view_of
from unabridged.reading.ask import Chain
from unabridged.reading.resume import Resume
from unabridged.reading.run import afinish_read, finish_pages, finish_read, make_ask
from unabridged.testing import Case, ScriptedTransport, ScriptExhausted, VirtualClock, default_url, load_case

FILES = sorted(Path(__file__).with_name("cases").glob("*.json"))


def cases() -> list[Any]:
    found = []
    for file in FILES:
        try:
            found.append(pytest.param(load_case(file), id=file.stem))
        except CaseError as error:  # pragma: no cover - told by the name of the file
            raise AssertionError(file.name) from error
    return found


def start(case: Case, n: int) -> tuple[Resume, ScriptedTransport]:
    step, query, clock = case.reads[n], case.queries[n], VirtualClock()
    url = step.url or default_url(query.resource)
    ask = make_ask(case.profiles[n], query, url=url, clock=clock, budget=case.budgets[n])
    script = ScriptedTransport(step.exchanges or (), clock=clock, sources=step.sources, repeat_last=step.repeat_last)
    return Resume(ask=ask, chain=Chain()), script


def plain(value: Any, *, key: str = "") -> Any:
    """A wire form without what is drawn at random."""
    if isinstance(value, dict):
        return {k: plain(v, key=k) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if key in ("handle", "query_id") or (isinstance(value, str) and value.startswith("r_") and len(value) == 18):
        return "<random>"
    return value


def firsts(case: Case) -> list[int]:
    return [n for n, step in enumerate(case.reads) if step.continues is None]


@pytest.mark.parametrize("case", cases())
def test_a_thread_and_an_event_loop_read_the_same(case: Case) -> None:
    for n in firsts(case):
        resume, script = start(case, n)
        one = finish_read(resume, transport=script, records=False)
        resume, script = start(case, n)
        other = asyncio.run(afinish_read(resume, transport=script.as_async(), records=False))
        assert plain(one.to_wire()) == plain(other.to_wire())
        assert script.problems == []


@pytest.mark.parametrize("case", cases())
def test_pages_read_one_by_one_come_to_what_the_whole_read_comes_to(case: Case) -> None:
    for n in firsts(case):
        if any(rule.then == "restart_once" for rule in case.profiles[n].expired):
            continue  # a page that was handed out cannot be taken back, so a stream never begins again
        resume, script = start(case, n)
        whole = finish_read(resume, transport=script, records=False)
        resume, script = start(case, n)
        links: list[ReadResult] = list(finish_pages(resume, transport=script, records=False))
        assert len(script.requests) == whole.read.requests
        assert all(strand.complete for strand in view_of(links).standing) == whole.complete
        assert frozenset().union(*map(id_set, links)) >= id_set(whole)
        assert set(whole.codes) <= {code for link in links for code in link.codes} or whole.items is None


DRIVERS: dict[str, Callable[[Resume, ScriptedTransport], object]] = {
    "read": lambda resume, script: finish_read(resume, transport=script, records=False),
    "pages": lambda resume, script: list(finish_pages(resume, transport=script, records=False)),
    "aread": lambda resume, script: asyncio.run(afinish_read(resume, transport=script.as_async(), records=False)),
}


@pytest.mark.parametrize("name", sorted(DRIVERS))
def test_a_script_that_ends_too_early_is_told_through_every_driver(name: str) -> None:
    case = load_case(next(f for f in FILES if f.stem.startswith("o01a")))
    resume, _ = start(case, 0)
    with pytest.raises(ScriptExhausted):
        DRIVERS[name](resume, ScriptedTransport())


def test_an_item_budget_counts_over_all_pages_of_a_stream() -> None:
    case = load_case(next(f for f in FILES if f.stem.startswith("o03b")))
    resume, script = start(case, 0)
    links = list(finish_pages(resume, transport=script, records=False))
    assert sum(link.returned for link in links) == 4
    assert "CLIENT_LIMIT_REACHED" in links[-1].codes
