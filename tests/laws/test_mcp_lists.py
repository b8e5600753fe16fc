"""A list of an MCP server is called whole exactly when every page of it came, whatever its cursors look like."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st
from mcp import types
from unabridged import Budget
from unabridged.sources.mcp import read_mcp_list

CURSORS = st.lists(st.text(max_size=3), max_size=5, unique=True)
TROUBLE = st.sampled_from([None, "gone", "same cursor"])
SIZES = st.lists(st.integers(0, 3), min_size=1, max_size=6)


class Served:
    """A server whose pages are found by their cursors; trouble comes with the page of a number."""

    def __init__(self, sizes: list[int], cursors: list[str], trouble: str | None, at: int) -> None:
        self.pages: dict[str | None, Any] = {}
        self.names: list[str] = []
        following = [*cursors, None]
        for n, cursor in enumerate([None, *cursors]):
            names = [f"t{n}-{i}" for i in range(sizes[n % len(sizes)])]
            self.names += names
            sent = cursor if trouble == "same cursor" and n == at and cursor is not None else following[n]
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
            page = types.ListToolsResult.model_validate({"tools": tools, "nextCursor": sent})
            self.pages[cursor] = anyio.ClosedResourceError() if trouble == "gone" and n == at else page
        self.is_whole = trouble is None or at > len(cursors) or (trouble == "same cursor" and at == 0)

    async def list_tools(self, *, params: Any = None) -> Any:
        page = self.pages[None if params is None else params.cursor]
        if isinstance(page, Exception):
            raise page
        return page


@given(
    sizes=st.lists(st.integers(0, 3), min_size=1, max_size=6), cursors=CURSORS, trouble=TROUBLE, at=st.integers(0, 6)
)
def test_a_list_is_whole_exactly_when_every_page_came(
    sizes: list[int], cursors: list[str], trouble: str | None, at: int
) -> None:
    served = Served(sizes, cursors, trouble, at)
    result = asyncio.run(read_mcp_list(served, "tools", budget=Budget(max_retries=0)))  # type: ignore[arg-type]
    assert (result.status == "complete") == served.is_whole
    assert set(result.ids) <= set(served.names)
    if served.is_whole:
        assert list(result.ids) == served.names
