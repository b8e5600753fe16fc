"""Every source under the tool boundary, whichever way its read goes: what is told, what is traced and what is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from canaries.places import placed
from canaries.shelf import CASES, PASSES, SOURCES
from canaries.upstream import MAIL, Upstream, reads_of
from canaries.watching import IDS, TheirOwn, Watch, beyond_scope, found_in
from unabridged.gate import Entered, Gate
from unabridged.gate.boundary import arun_body, run_body
from unabridged.gate.declarations import declarations

every_way = pytest.mark.parametrize(("name", "way"), CASES)


@every_way
async def test_no_read_that_a_tool_makes_lets_a_value_out(name: str, way: str, tmp_path: Path) -> None:
    source, up, told = SOURCES[name], Upstream(way), ""
    gate = Gate("look_up", declarations(reads=reads_of(source)).of("look_up"))
    with Watch() as watch, placed("sqlite", tmp_path) as place:
        entered = gate.enter({"mail": MAIL}, session=place.session)
        assert isinstance(entered, Entered)

        async def body() -> Any:
            return await source.read(up, MAIL, tmp_path)

        try:
            if source.is_async:
                running = asyncio.ensure_future(arun_body(gate, entered, body))
                if way == "hangs":
                    await up.holds.wait()
                    running.cancel()
                reply = await running
            else:
                reply = run_body(gate, entered, lambda: source.read(up, MAIL, tmp_path))
            told = f"{beyond_scope(reply.content)} {reply.artifact} {reply!r}"
        except (TheirOwn, asyncio.CancelledError) as error:
            watch.raised(error)
    assert up.commands or way == "invalid", "it was asked"
    assert bool(told) == (way not in PASSES)
    assert not (source.covers and way == "valid") or '"status": "complete"' in told
    assert {hit for hit in found_in(told) if not hit.startswith(IDS)} == set()
    assert [read.status for read in place.session.reads], "and it left evidence"
    assert (watch.leaks(but=source.others), place.leaks()) == ({}, {})
