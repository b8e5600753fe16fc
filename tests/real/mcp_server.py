"""An MCP server on stdin and stdout, built on the low level of the SDK, version 1 or 2.

Its tools are the names in a file, ten a page, so that something else can change them while they are read.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared import exceptions

NAMES = Path(sys.argv[1])
SIZE = 10
IS_2 = not hasattr(exceptions, "McpError")
EMPTY = {"kind": "none"}


def tools(cursor: str | None) -> types.ListToolsResult:
    """One page; its cursor is the place to go on from, and an empty one leads to the second page."""
    names = json.loads(NAMES.read_text())
    start = 0 if cursor is None else SIZE if cursor == "" else int(cursor)
    if start > len(names):
        raise refusal("no such cursor")
    end = start + SIZE
    following = None if end >= len(names) else "" if end == SIZE else str(end)
    page = [{"name": name, "inputSchema": {"type": "object"}} for name in names[start:end]]
    return types.ListToolsResult.model_validate({"tools": page, "nextCursor": following})


def refusal(message: str) -> Exception:
    """An error of the protocol, number -32602, in the class of either version."""
    if IS_2:
        return exceptions.MCPError(-32602, message)
    return exceptions.McpError(types.ErrorData(code=-32602, message=message))  # type: ignore[attr-defined]


def wire(status: str, items: list[Any] | None, *codes: str) -> dict[str, Any]:
    """A wire document, written by hand: the server does not know the toolkit."""
    moment = "2026-11-30T09:00:00Z"
    return {
        "contract": "unabridged/1",
        "status": status,
        "complete": status == "complete",
        "truncated": False,
        "finding_count": len(items or ()) if status == "complete" else None,
        "returned": len(items or ()),
        "total": {"value": None, "kind": "unknown"},
        "incomplete_reasons": [{"code": c, "detail": None, "message": "m", "layer": "source"} for c in codes],
        "continuation": EMPTY,
        "scope": {"resource": "theirs", "filters": {}, "intent": "inventory", "visibility": "caller"},
        "consistency": "not_established" if items is None else "interval",
        "proof": {"level": "end_marker" if status == "complete" else "none", "end": "null", "basis": "server"},
        "sources": [],
        "item_cuts": [],
        "warnings": [],
        "read": {"id": "r_1", "adapter": "theirs", "started_at": moment, "finished_at": moment},
        "items": items,
    }


def called(name: str) -> types.CallToolResult:
    """The result of a tool."""
    fields: dict[str, Any] = {
        "whole": {"structuredContent": wire("complete", [{"id": 1}])},
        "some": {"structuredContent": wire("partial", [{"id": 1}], "RATE_LIMITED")},
        "none": {"structuredContent": wire("partial", [], "RATE_LIMITED")},
        "gone": {"structuredContent": wire("unavailable", None, "RATE_LIMITED"), "isError": True},
        "bare": {"structuredContent": {"items": [], "complete": True}},
        "fails": {"isError": True, "structuredContent": {"items": []}},
    }.get(name, {})
    if name == "dies":
        os._exit(3)
    return types.CallToolResult.model_validate({"content": [{"type": "text", "text": name}], **fields})


def server() -> Any:
    """The server, with its handlers as the version wants them."""
    if IS_2:

        async def on_list(_: Any, params: Any) -> Any:
            return tools(None if params is None else params.cursor)

        async def on_call(_: Any, params: Any) -> Any:
            return called(params.name)

        return Server("paged", on_list_tools=on_list, on_call_tool=on_call)
    made: Any = Server("paged")

    async def listed(request: Any) -> Any:
        return types.ServerResult(tools(None if request.params is None else request.params.cursor))

    async def answered(request: Any) -> Any:
        return types.ServerResult(called(request.params.name))

    made.request_handlers.update({types.ListToolsRequest: listed, types.CallToolRequest: answered})
    return made


async def main() -> None:
    made = server()
    async with stdio_server() as (reading, writing):
        await made.run(reading, writing, made.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
