"""Reads the server of `mcp_server.py` over its pipes and prints what came of it as JSON: for any version of the SDK.

Arguments: the Python that runs the server, the server's script, and the file with the names of its tools.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from unabridged import Budget
from unabridged.contract import resume_of
from unabridged.sources.mcp import read_mcp_list, read_mcp_tool

TOOLS = ("whole", "some", "none", "gone", "bare", "fails", "dies")


def short(result: Any) -> dict[str, Any]:
    """What a test looks at."""
    return {
        "status": result.status,
        "keys": [reason.key for reason in result.reasons],
        "ids": list(result.ids),
        "continuation": result.continuation.kind,
    }


async def reads(session: ClientSession, names: Path) -> dict[str, Any]:
    """Every read, in order; the last tool ends the server."""
    found: dict[str, Any] = {"list": await read_mcp_list(session, "tools")}
    first = await read_mcp_list(session, "tools", budget=Budget(max_pages=1))
    found["first"], found["rest"] = first, await resume_of(first).aread(budget=Budget())
    names.write_text(json.dumps(["new", *reversed(json.loads(names.read_text()))]))
    found["changed"] = await resume_of(first).aread(budget=Budget())
    names.write_text("[]")
    found["expired"] = await resume_of(first).aread(budget=Budget())
    found["nothing"] = await read_mcp_list(session, "tools")
    found["prompts"] = await read_mcp_list(session, "prompts")
    for name in TOOLS:
        found[name] = await read_mcp_tool(session, name, resource="users", timeout_s=60)
    found["dead"] = await read_mcp_list(session, "tools")
    return found


async def main(python: str, script: str, names: Path) -> None:
    server = StdioServerParameters(command=python, args=[script, str(names)])
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        found = await reads(session, names)
    print(json.dumps({name: short(result) for name, result in found.items()}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
