"""The standard tests of LangChain hold for protected tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langchain_kit import Shop
from langchain_tests.unit_tests import ToolsUnitTests
from unabridged.evidence import session
from unabridged_langchain import as_write_tool, continue_read_tool, count_read_tool


@pytest.fixture(autouse=True)
def _in_session() -> Iterator[None]:
    with session("standard"):
        yield


class TestReadTool(ToolsUnitTests):
    @property
    def tool_constructor(self) -> BaseTool:
        tool: BaseTool = Shop().by_name()["list_orders"]
        return tool

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"owner": "ops", "limit": 3}


class TestWriteTool(ToolsUnitTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return as_write_tool(Shop().archive, relies_on=["orders"])

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"ids": [1]}


class TestContinueReadTool(ToolsUnitTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return continue_read_tool

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"handle": "h_1"}


class TestCountReadTool(ToolsUnitTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return count_read_tool

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"handle": "h_1", "where": {"owner": None}}
