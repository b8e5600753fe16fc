"""Tool calls in messages, in the shapes that providers leave there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.tools import ToolSelection
from unabridged_llamaindex.messages import calls_in, known_as, results_in

ROW = {"name": "list_orders", "args": {"tenant": "a"}, "id": "c-1"}
TEXT = '{"tenant": "a"}'


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c-1", "type": "function", "function": {"name": "list_orders", "arguments": TEXT}},
        SimpleNamespace(id="c-1", function=SimpleNamespace(name="list_orders", arguments=TEXT)),
        {"id": "c-1", "type": "tool_use", "name": "list_orders", "input": {"tenant": "a"}},
        {"id": "c-1", "name": "list_orders", "args": {"tenant": "a"}},
        ToolSelection(tool_id="c-1", tool_name="list_orders", tool_kwargs={"tenant": "a"}),
    ],
    ids=["openai dict", "openai object", "anthropic", "plain", "selection"],
)
def test_a_call_is_read_in_every_shape(call: Any) -> None:
    assert calls_in(ChatMessage(role="assistant", additional_kwargs={"tool_calls": [call]})) == [ROW]


def test_a_call_in_a_block_is_read() -> None:
    block = ToolCallBlock(tool_call_id="c-1", tool_name="list_orders", tool_kwargs=TEXT)
    assert calls_in(ChatMessage(role="assistant", blocks=[TextBlock(text="I look."), block])) == [ROW]


@pytest.mark.parametrize(
    "message",
    [
        None,
        "text",
        ChatMessage(role="assistant", content="text"),
        ChatMessage(role="user", additional_kwargs={"tool_calls": [ROW]}),
        ChatMessage(role="assistant", additional_kwargs={"tool_calls": "list_orders"}),
        ChatMessage(role="assistant", additional_kwargs={"tool_calls": [ROW, {"id": "c-2"}]}),
        ChatMessage(role="assistant", additional_kwargs={"tool_calls": [None]}),
    ],
)
def test_what_cannot_be_read_as_a_whole_is_not_read_in_part(message: Any) -> None:
    assert calls_in(message) == []


def test_arguments_that_are_no_object_are_none() -> None:
    for args in ("{", "[1]", [1], None):
        call = {"id": "c-1", "name": "list_orders", "args": args}
        assert calls_in(ChatMessage(role="assistant", additional_kwargs={"tool_calls": [call]}))[0]["args"] == {}


def test_a_result_is_told_apart_by_its_call_or_by_its_name_or_not_at_all() -> None:
    def answer(text: str, **kwargs: Any) -> ChatMessage:
        return ChatMessage(role="tool", content=text, additional_kwargs=kwargs)

    messages = [
        ChatMessage(role="assistant", additional_kwargs={"tool_calls": [ROW, {**ROW, "id": "c-2", "name": "nope"}]}),
        answer("[]", tool_call_id="c-1"),
        answer("Tool nope not found. Please select a tool that is available.", tool_call_id="c-2"),
        answer("[]", tool_call_id="c-9", name="search"),
        answer("[]"),
    ]
    found = [(r.tool, dict(r.args), r.call_id) for r in results_in(messages)]
    assert found == [("list_orders", {"tenant": "a"}, "c-1"), ("search", {}, "c-9"), (None, {}, None)]


def test_a_result_whose_id_is_the_name_of_its_tool_answers_the_calls_of_that_name_in_turn() -> None:
    """As Ollama leaves them: the calls bear no id, and the results that of the tool."""
    calls = [{"function": {"name": "list_orders", "arguments": {"tenant": t}}} for t in "ab"]
    answer = ChatMessage(role="tool", content="[]", additional_kwargs={"tool_call_id": "list_orders"})
    found = results_in([ChatMessage(role="assistant", additional_kwargs={"tool_calls": calls}), answer, answer, answer])
    assert [(r.tool, r.args.get("tenant")) for r in found] == [("list_orders", "a"), ("list_orders", "b"), (None, None)]
    assert len({r.call_id for r in found}) == 3
    assert found[0].call_id == known_as("list_orders", "list_orders", {"tenant": "a"})
    assert known_as(None, "list_orders", {"where": {1: "a", "b": 2}}) == known_as("", "list_orders", {"x": {(): 1}})
    assert known_as("c-1", "list_orders", {}) == known_as("c-1", "list_orders", {"tenant": "a"}) == "c-1"
