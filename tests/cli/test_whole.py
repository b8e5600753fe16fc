"""The links of a stream, summed, say what a plain read of the same pages says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from unabridged.cli.saving.whole import Whole
from unabridged.contract import ReadResult, from_wire
from unabridged.profiles import load_profile
from unabridged.reading import Budget, Query, Resume, run_read
from unabridged.reading.ask import Chain
from unabridged.reading.run import finish_pages, make_ask
from unabridged.testing import ScriptedTransport, VirtualClock

FOLDER = Path(__file__).parents[1] / "replay"
FILES = sorted([*(FOLDER / "cases").glob("*.json"), *(FOLDER / "shipped").glob("*.json")])


def read_of(file: Path) -> dict[str, Any]:
    """Returns the first read of a case; nothing where it has none."""
    steps = json.loads(file.read_text())["reads"]
    return steps[0] if steps else {}


def is_plain(step: dict[str, Any]) -> bool:
    """Tells whether a read asks for pages one after the other, all of them, as the command does."""
    odd = {"continues", "derived_from", "pending", "present", "sources", "in_flight", "double_walk"} & set(step)
    query = step.get("query", {})
    return not odd and "exchanges" in step and query.get("intent") != "sample" and "limit" not in query


RESTARTS = "y25-a-dead-cursor-restarts-the-walk-once-where-the-profile-say"
"""Records that were saved cannot be taken back: the command stops there, and the next run reads afresh."""
PLAIN = [file for file in FILES if is_plain(read_of(file)) and file.stem != RESTARTS]


def plain_read(step: dict[str, Any]) -> ReadResult:
    asked, transport = _asked(step)
    return run_read(**asked, transport=transport, clock=transport.clock)


def summed_read(step: dict[str, Any]) -> tuple[ReadResult, dict[str, Any]]:
    asked, transport = _asked(step)
    whole = Whole()
    for link in finish_pages(_resume(asked, transport), transport=transport, records=False):
        whole.add(link)
        whole.unique += link.returned
    return whole.result(), whole.header()


def _resume(asked: dict[str, Any], transport: ScriptedTransport) -> Resume:
    given = {"url": asked["url"], "clock": transport.clock, "budget": asked["budget"]}
    return Resume(ask=make_ask(asked["profile"], asked["query"], **given), chain=Chain())


def _asked(step: dict[str, Any]) -> tuple[dict[str, Any], ScriptedTransport]:
    query = {name: value for name, value in step["query"].items() if value is not None}
    if "fields" in query:
        query["fields"] = tuple(query["fields"])
    budget = {name: value for name, value in step.get("budget", {}).items() if value is not None}
    transport = ScriptedTransport(step["exchanges"], clock=VirtualClock(), repeat_last=step.get("repeat_last", False))
    asked = {
        "profile": load_profile(step["profile"]),
        "query": Query(**query),
        "url": step.get("url", f"https://replay.invalid/{query['resource']}"),
        "budget": Budget.unlimited(**budget),
    }
    return asked, transport


def test_there_are_many_such_cases() -> None:
    assert len(PLAIN) > 300


@pytest.mark.parametrize("file", PLAIN, ids=lambda file: file.stem)
def test_a_summed_stream_says_what_a_plain_read_says(file: Path) -> None:
    step = read_of(file)
    plain = plain_read(step)
    summed, header = summed_read(step)
    strict = load_profile(step["profile"]).on_failure == "unavailable" and plain.status == "unavailable"
    if strict:  # the command drops what it has saved then; see test_read
        return
    assert summed.status == plain.status
    assert {r.key for r in summed.incomplete_reasons} == {r.key for r in plain.incomplete_reasons}
    assert summed.total == plain.total
    assert summed.proof == plain.proof
    assert summed.consistency == plain.consistency
    assert summed.continuation.kind == plain.continuation.kind
    assert {n.code for n in summed.warnings} == {n.code for n in plain.warnings}
    assert {s.name: (s.status, set(s.reasons)) for s in summed.sources} == {
        s.name: (s.status, set(s.reasons)) for s in plain.sources
    }
    assert (summed.read.pages, summed.read.requests) == (plain.read.pages, plain.read.requests)
    assert header["complete"] == plain.complete
    if plain.items is not None and not plain.read.duplicates:
        assert header["returned"] == plain.returned
        assert from_wire({**header, "items": plain.items}).status == plain.status
