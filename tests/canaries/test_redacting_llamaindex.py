"""Redacting handlers: they learn of every span and event, and of no value, whichever way a run ends (R63)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from canaries.desk import Provider, Waiting
from canaries.llamaindex_desk import run_task
from canaries.places import placed
from canaries.watching import SENT
from unabridged.contract import InvalidInput
from unabridged_llamaindex import redacted

WAYS = [("valid", False), ("valid", True), ("raises", True), ("hangs", True)]


@pytest.mark.parametrize(("mode", "is_async"), WAYS)
async def test_a_redacted_handler_learns_every_span_and_event_and_no_value(
    mode: str, is_async: bool, tmp_path: Path
) -> None:
    kind = Waiting if is_async else Provider
    with placed("memory", tmp_path):
        before = await run_task(kind(mode), "write", is_async=is_async)
    with placed("memory", tmp_path):
        after = await run_task(kind(mode), "write", is_async=is_async, wrap=redacted)
    assert any(hit.startswith(SENT) for hit in before.found.places.values()), "the plain handlers learn them"
    assert after.found.places == {}
    assert {k for k in after.found.kinds if "context" not in k} == {k for k in before.found.kinds if "context" not in k}
    assert after.watch.leaks() == {}


def test_only_handlers_can_be_redacted() -> None:
    nothing: Any = object()
    with pytest.raises(InvalidInput, match="handler"):
        redacted(nothing)
