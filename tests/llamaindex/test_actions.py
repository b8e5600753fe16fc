"""An action as a LlamaIndex tool: by every way in, alone and in an agent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from actions.kit import SENTINEL, Provider, archive
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.core.tools.calling import acall_tool, call_tool
from llama_scripts import case, result, script, told
from unabridged.actions import ExecutorError
from unabridged_llamaindex import CoverageFunctionAgent, action_tool, protect

IDS = ["a-1", "a-2"]
UNKNOWN = [{"field": "x", "rule": "is not a field of this action"}]
ARGS: dict[str, Any] = {"tenant": "acme", "account_ids": IDS}


def accounts(status: str = "complete") -> Any:
    return result(status, items=[{"id": i} for i in IDS], resource="accounts")


@pytest.mark.parametrize("how", ["call", "acall", "fn", "async_fn", "call_tool", "acall_tool", "__call__"])
async def test_every_way_in_is_held_to_the_contract(how: str) -> None:
    provider = Provider()
    tool: Any = action_tool(archive(provider))

    async def start(args: dict[str, Any]) -> dict[str, Any]:
        match how:
            case "call":
                value = tool.call(**args)
            case "acall":
                value = await tool.acall(**args)
            case "fn":
                value = tool.fn(**args)
            case "async_fn":
                value = await tool.async_fn(**args)
            case "call_tool":
                value = call_tool(tool, args)
            case "acall_tool":
                value = await acall_tool(tool, args)
            case _:
                value = tool(**args)
        text = value if isinstance(value, str) else value.content
        assert SENTINEL not in text
        found: dict[str, Any] = json.loads(text)
        return found

    with case() as s:
        s.record(accounts())
        assert (await start({**ARGS, "x": SENTINEL}))["problems"] == [
            {"field": "x", "rule": "is not a field of this action"}
        ]
        assert (await start({"email": SENTINEL}))["error"] == "invalid_request"
        assert provider.commands == []
        assert (await start(ARGS))["status"] == "done"


@pytest.mark.parametrize("kind", [FunctionAgent, CoverageFunctionAgent])
async def test_an_agent_starts_an_action_on_whole_evidence_only(kind: Any) -> None:
    provider, statuses = Provider({"a-2": ExecutorError(code="provider_retryable")}), ["partial", "complete"]

    def list_accounts() -> Any:
        """Lists accounts."""
        return accounts(statuses.pop(0))

    read, write = [("list_accounts", {})], [("archive_accounts", ARGS)]
    llm = script(read, write, read, write)
    tools = protect([FunctionTool.from_defaults(list_accounts)], reads={"list_accounts": "accounts"})
    await kind(tools=[*tools, action_tool(archive(provider))], llm=llm).run("Archive.")
    refused, done = (json.loads(t) for t in told(llm)[1::2])
    assert refused["codes"] == ["EVIDENCE_INCOMPLETE"]
    assert (done["status"], done["done"]) == ("partial", 1)
    assert provider.targets == IDS


def test_an_action_that_failed_is_an_error_to_the_framework() -> None:
    tool = action_tool(archive(Provider(dict.fromkeys(IDS, RuntimeError(SENTINEL)))))
    with case() as s:
        s.record(accounts())
        output = tool.call(**ARGS)
    assert output.is_error
    assert SENTINEL not in repr(output)
