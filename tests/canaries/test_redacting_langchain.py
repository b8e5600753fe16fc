"""A redacting tracer: its trace has the shape of the other and no value, whichever way a run ends (R63)."""

from __future__ import annotations

from pathlib import Path

import pytest
from canaries.langchain_desk import provider_of, run_task
from canaries.places import placed
from canaries.watching import IDS, SENT
from unabridged_langchain import redacted

WAYS = [("valid", False), ("valid", True), ("raises", True), ("dies", False), ("hangs", True)]


@pytest.mark.parametrize(("mode", "is_async"), WAYS)
async def test_a_redacted_tracer_learns_every_event_and_no_value(mode: str, is_async: bool, tmp_path: Path) -> None:
    plain, clean = (provider_of(mode, is_async=is_async) for _ in range(2))
    with placed("memory", tmp_path):
        before = await run_task(plain, "write", is_async=is_async)
    with placed("memory", tmp_path):
        after = await run_task(clean, "write", is_async=is_async, wrap=redacted)
    assert before.recorder is not None
    assert after.recorder is not None
    assert any(hit.startswith(SENT) for hit in before.found.places.values()), "the plain tracer learns them"
    assert after.found.places == {}
    assert sorted(after.recorder.kinds) == sorted(before.recorder.kinds)
    assert before.hearing is not None
    assert after.hearing is not None
    assert sorted(after.hearing.heard) == sorted(before.hearing.heard)
    assert after.watch.leaks() == {}


def test_a_redacted_tracer_keeps_names_types_and_sizes() -> None:
    from unabridged.gate.outlining import outline

    value = {"mail": f"{SENT}mail", "limit": 5, "rows": [{"id": f"o {IDS}"}], f"{SENT} key": 1}
    assert outline(value) == {
        "mail": "<str of 10>", "limit": "<int>", "rows": [{"id": "<str of 6>"}], "<unnamed>": 1,
    }  # fmt: skip
