"""LlamaIndex itself uses what pydantic has deprecated; everything else stays an error."""

from __future__ import annotations

from pathlib import Path

import pytest

_THEIRS = (
    "ignore::pydantic.warnings.PydanticDeprecationWarning",
    "ignore::workflows.context.state_store.UnserializableKeyWarning",
    "ignore:is_running called from within a step:DeprecationWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent and (
            "llamaindex" in item.nodeid or "framework" in item.path.name or "transcripts" in item.path.name
        ):
            for rule in _THEIRS:
                item.add_marker(pytest.mark.filterwarnings(rule))
