"""Tool calls and their results as they stand in chat messages, in the shapes that providers leave there."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from unabridged.gate.history import PastCall

Row = dict[str, Any]
"""A tool call as `name`, `args` and `id`."""
_STEP: Final = re.compile(
    r"^Action: (.+)\nAction Input: (\{.*\})\n"
    r"Observation: (?:Tool (.+) not found\. Please select a tool that is available\.)?",
    re.MULTILINE,
)
"""One step as `ReActAgent` writes it into the memory. (`llama_index.core.agent.react.types`: `get_content`)"""


def calls_in(message: Any) -> list[Row]:
    """Returns the tool calls of an assistant's message; none where there are none, or where they cannot be read."""
    if not isinstance(message, ChatMessage) or message.role != MessageRole.ASSISTANT:
        return []
    blocks = [b for b in message.blocks if isinstance(b, ToolCallBlock)]
    if blocks:
        return [{"name": b.tool_name, "args": _object(b.tool_kwargs), "id": b.tool_call_id} for b in blocks]
    raw = message.additional_kwargs.get("tool_calls")
    rows = [_row(call) for call in raw] if isinstance(raw, list | tuple) else []
    return [row for row in rows if row is not None] if all(row is not None for row in rows) else []


def _row(call: Any) -> Row | None:
    """Reads a call as OpenAI, Anthropic and their likes write it, as an object or as a dictionary."""
    inner = _part(call, "function")
    source = call if inner is None else inner
    name = _part(source, "tool_name", "name")
    if not isinstance(name, str):
        return None
    args = _part(source, "tool_kwargs", "arguments", "args", "input")
    return {"name": name, "args": _object(args), "id": _part(call, "tool_id", "id", "tool_call_id")}


def _part(source: Any, *names: str) -> Any:
    for name in names:
        value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
        if value is not None:
            return value
    return None


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return dict(value) if isinstance(value, Mapping) else {}


def known_as(call_id: Any, name: str, args: Mapping[str, Any]) -> str:
    """Returns what a call is known by: its id, or its name and arguments where the id is no more than the name.

    Gemini and Ollama give no ids, and LlamaIndex puts the name of the tool in their place: all calls of one tool would
    be taken for one. (llama-index-llms-google-genai, llama-index-llms-ollama: `tool_id`)
    """
    if call_id and call_id != name:
        return str(call_id)
    try:
        written = json.dumps(args, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):  # no JSON: an event that was made by code
        written = ""
    return f"{name}:{hashlib.sha256(written.encode(errors='replace')).hexdigest()[:32]}"


def results_in(messages: Iterable[Any]) -> list[PastCall]:
    """Returns the tool calls that have results in a history. A result whose call is not there has no name.

    LlamaIndex's own answer to a name that no tool has is left out: no tool ran.
    """
    calls: list[Row] = []
    results = []
    for message in messages:
        calls += calls_in(message)
        if isinstance(message, ChatMessage) and message.role in (MessageRole.TOOL, MessageRole.FUNCTION):
            call_id = message.additional_kwargs.get("tool_call_id")
            call = _answered(calls, call_id)
            name = call.get("name") or message.additional_kwargs.get("name")
            if name and message.content == f"Tool {name} not found. Please select a tool that is available.":
                continue
            args = call.get("args", {})
            results.append(PastCall(name, args, known_as(call_id, call["name"], args) if call else call_id))
        else:
            results += _steps_in(message)
    return results


def _steps_in(message: Any) -> Iterator[PastCall]:
    """Yields the calls with results that a ReAct agent leaves in a memory: as the text of its reasoning."""
    if isinstance(message, ChatMessage) and message.role == MessageRole.ASSISTANT:
        for name, written, missing in _STEP.findall(message.content or ""):
            if name != missing:
                args = _literal(written)
                yield PastCall(name, args, known_as(None, name, args))


def _literal(written: str) -> dict[str, Any]:
    try:
        value = ast.literal_eval(written)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return {}
    return value if isinstance(value, dict) else {}


def _answered(calls: list[Row], call_id: Any) -> Row:
    """Returns the call that a result answers; nothing where there is none.

    One that is known by its name is taken off: the next result of that name answers the next.
    """
    for row in calls:
        if row["name"] == call_id and row["id"] in (None, call_id):
            calls.remove(row)
            return row
    return next((row for row in reversed(calls) if row["id"] == call_id), {})
