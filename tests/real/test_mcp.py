"""MCP servers in processes of their own: one of ours on both versions of the SDK, and two that others wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from unabridged import Budget, session
from unabridged.contract import resume_of
from unabridged.sources.mcp import read_mcp_list, read_mcp_tool

pytestmark = pytest.mark.real

HERE = Path(__file__).parent
NODE = HERE / "node_modules" / "@modelcontextprotocol"
CORE = HERE.parent.parent / "integrations"
NAMES = [f"t{n}" for n in range(25)]


@pytest.fixture(scope="module")
def version_1(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with version 1 of the SDK."""
    folder = tmp_path_factory.mktemp("sdk1")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    wanted = ["mcp>=1.24,<2", "pydantic>=2.12", "httpx", "tenacity", "jmespath"]
    subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True, capture_output=True, timeout=300)
    return str(python)


@pytest.fixture(scope="module", params=["1 reads 1", "1 reads 2", "2 reads 1", "2 reads 2"])
def found(request: pytest.FixtureRequest, version_1: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What each version of the SDK reads from a server on each version, as `mcp_reads.py` prints it."""
    reader, _, server = request.param.split()
    pythons = {"1": version_1, "2": sys.executable}
    names = tmp_path_factory.mktemp("names") / "names.json"
    names.write_text(json.dumps(NAMES))
    command = [pythons[reader], HERE / "mcp_reads.py", pythons[server], HERE / "mcp_server.py", names]
    environment = {**os.environ, "PYTHONPATH": str(CORE)}
    done = subprocess.run(command, check=True, capture_output=True, env=environment, timeout=120)
    return json.loads(done.stdout)


def test_a_complete_list_is_read_over_an_empty_cursor(found: Any) -> None:
    assert found["list"] == {"status": "complete", "keys": [], "ids": NAMES, "continuation": "none"}


def test_a_list_that_our_budget_stopped_goes_on_over_the_same_pipes(found: Any) -> None:
    first, rest = found["first"], found["rest"]
    assert (first["status"], first["ids"], first["continuation"]) == ("partial", NAMES[:10], "next_page")
    assert (rest["status"], rest["ids"]) == ("complete", NAMES[10:])


def test_a_list_that_changes_while_it_is_read_is_not_whole(found: Any) -> None:
    assert (found["changed"]["status"], found["changed"]["keys"]) == ("partial", ["CONSISTENCY_LOST:duplicate_ids"])


def test_a_cursor_that_the_server_no_longer_knows_has_expired(found: Any) -> None:
    assert found["expired"]["keys"] == ["CONTINUATION_EXPIRED"]
    assert found["expired"]["continuation"] == "restart_scan"


def test_an_empty_list_is_complete_and_a_list_that_the_server_lacks_is_unavailable(found: Any) -> None:
    assert (found["nothing"]["status"], found["nothing"]["ids"]) == ("complete", [])
    assert (found["prompts"]["status"], found["prompts"]["keys"]) == (
        "unavailable", ["SOURCE_UNAVAILABLE:error_in_body"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "status", "keys", "ids"),
    [
        ("whole", "complete", [], [1]),
        ("some", "partial", ["RATE_LIMITED"], [1]),
        ("none", "partial", ["RATE_LIMITED"], []),
        ("gone", "unavailable", ["RATE_LIMITED"], []),
        ("bare", "unknown", ["COVERAGE_UNKNOWN"], []),
        ("fails", "unavailable", ["SOURCE_UNAVAILABLE:tool_failed"], []),
        ("dies", "unavailable", ["SOURCE_UNAVAILABLE:disconnect"], []),
    ],
)
def test_a_tools_result_is_what_its_wire_document_says(
    found: Any, tool: str, status: str, keys: list[str], ids: list[int]
) -> None:
    assert (found[tool]["status"], found[tool]["keys"], found[tool]["ids"]) == (status, keys, ids)


def test_a_dead_server_is_unavailable_and_never_an_empty_list(found: Any) -> None:
    assert (found["dead"]["status"], found["dead"]["keys"]) == ("unavailable", ["SOURCE_UNAVAILABLE:disconnect"])


@asynccontextmanager
async def connected(script: Path, *arguments: str) -> AsyncIterator[ClientSession]:
    """A session with a server that runs on Node."""
    server = StdioServerParameters(command="node", args=[str(script), *arguments])
    with open(os.devnull, "w") as nowhere:
        async with stdio_client(server, errlog=nowhere) as pipes, ClientSession(*pipes) as opened:
            await opened.initialize()
            yield opened


async def test_the_reference_server_of_everything() -> None:
    async with connected(NODE / "server-everything" / "dist" / "index.js", "stdio") as opened:
        lists = {
            name: await read_mcp_list(opened, name)
            for name in ("tools", "prompts", "resources", "resource_templates")
        }  # fmt: skip
        part = await read_mcp_list(opened, "tools", budget=Budget(max_items=2))
        rest = await resume_of(part).aread(budget=Budget())
        echo = await read_mcp_tool(opened, "echo", {"message": "hi"}, resource="echo")
        wrong = await read_mcp_tool(opened, "echo", {"message": {"no": "text"}}, resource="echo")
        unknown = await read_mcp_tool(opened, "no-such-tool", {}, resource="echo")
        weather = await read_mcp_tool(opened, "get-structured-content", {"location": "Chicago"}, resource="weather")
    assert {result.status for result in lists.values()} == {"complete"}
    assert "echo" in lists["tools"].ids
    assert (part.status, part.returned, part.continuation.kind) == ("partial", 2, "read_more")
    assert (rest.status, [*part.ids, *rest.ids]) == ("complete", list(lists["tools"].ids))
    assert (echo.status, weather.status) == ("unknown", "unknown")
    assert "temperature" in weather.items[0]
    assert {wrong.status, unknown.status} == {"unavailable"}


async def test_the_reference_server_of_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    with session("mcp-files") as s:
        async with connected(NODE / "server-filesystem" / "dist" / "index.js", str(tmp_path)) as opened:
            tools = await read_mcp_list(opened, "tools", server="filesystem")
            listed = await read_mcp_tool(opened, "list_directory", {"path": str(tmp_path)}, resource="files")
            denied = await read_mcp_tool(opened, "list_directory", {"path": "/"}, resource="files")
            prompts = await read_mcp_list(opened, "prompts")
        assert len(list(s.reads)) == 4
    assert (tools.status, tools.sources[0].name) == ("complete", "filesystem")
    assert "list_directory" in tools.ids
    assert (listed.status, denied.status, prompts.status) == ("unknown", "unavailable", "unavailable")
    assert denied.items is None
