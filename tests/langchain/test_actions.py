"""An action as a LangChain tool: by every way in, alone and in an agent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from actions.kit import SENTINEL, Provider, archive
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_kit import call, document, result, results
from unabridged.actions import ExecutorError
from unabridged.evidence import session
from unabridged_langchain import CoverageMiddleware, action_tool, protect

IDS = ["a-1", "a-2"]
UNKNOWN = [{"field": "x", "rule": "is not a field of this action"}]
ARGS: dict[str, Any] = {"tenant": "acme", "account_ids": IDS}


def accounts(*codes: str) -> Any:
    return result([{"id": i} for i in IDS], *codes, resource="accounts")


@pytest.mark.parametrize("how", ["invoke", "ainvoke", "func", "coroutine", "run", "call"])
async def test_every_way_in_is_held_to_the_contract(how: str) -> None:
    provider = Provider()
    tool: Any = action_tool(archive(provider))

    async def start(args: dict[str, Any]) -> dict[str, Any]:
        match how:
            case "invoke":
                value = tool.invoke(args)
            case "ainvoke":
                value = await tool.ainvoke(args)
            case "func":
                value = tool.func(**args)
            case "coroutine":
                value = await tool.coroutine(**args)
            case "run":
                value = tool.run(args)
            case _:
                value = tool.invoke(call("archive_accounts", **args))
        text = value if isinstance(value, str) else value.content
        assert SENTINEL not in text
        found: dict[str, Any] = json.loads(text)
        return found

    with session(f"ways-{how}") as s:
        s.record(accounts())
        assert (await start({**ARGS, "x": SENTINEL}))["problems"] == [
            {"field": "x", "rule": "is not a field of this action"}
        ]
        assert (await start({**ARGS, "tenant": SENTINEL}))["error"] == "invalid_request"
        provider.commands.clear()
        assert (await start(ARGS))["status"] == "done"


def test_a_model_sees_the_closed_schema() -> None:
    shown = convert_to_openai_tool(action_tool(archive()))["function"]
    assert (shown["name"], shown["description"]) == ("archive_accounts", "Archives accounts that nobody owns.")
    assert set(shown["parameters"]["properties"]) == {"tenant", "account_ids", "reason", "low", "high"}
    assert shown["parameters"]["required"] == ["tenant", "account_ids"]


@pytest.mark.parametrize("middleware", [True, False])
@pytest.mark.parametrize("is_async", [True, False])
async def test_an_agent_starts_an_action_on_whole_evidence_only(middleware: bool, is_async: bool) -> None:
    provider, state = Provider({"a-2": ExecutorError(code="provider_retryable")}), {"codes": ("MORE_PAGES_AVAILABLE",)}

    def list_accounts() -> Any:
        """Lists accounts."""
        return accounts(*state.pop("codes", ()))

    tools = [*protect([list_accounts], reads={"list_accounts": "accounts"}), action_tool(archive(provider))]
    read, write = calls(("list_accounts", {})), calls(("archive_accounts", ARGS))
    agent = create_agent(
        scripted(read, write, read, write), tools, middleware=[CoverageMiddleware()] if middleware else []
    )
    given = {"messages": [HumanMessage("Archive.")]}
    with session(f"action-{middleware}-{is_async}"):
        final = await agent.ainvoke(given) if is_async else agent.invoke(given)
    refused, done = [m for m in results(final["messages"]) if m.name == "archive_accounts"]
    assert (document(refused)["codes"], refused.status) == (["EVIDENCE_INCOMPLETE"], "error")
    assert (document(done)["status"], document(done)["done"], done.status) == ("partial", 1, "success")
    assert provider.targets == IDS


def test_an_action_that_failed_is_an_error_to_the_framework() -> None:
    tool = action_tool(archive(Provider(dict.fromkeys(IDS, RuntimeError(SENTINEL)))))
    with session("failed") as s:
        s.record(accounts())
        message = tool.invoke(call("archive_accounts", **ARGS))
    assert message.status == "error"
    assert SENTINEL not in repr(message)
