"""What running LangChain code knows of where it runs: its config, the graph's messages, the handlers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables.config import var_child_runnable_config

_READ: Final = "__pregel_read"


def running() -> Mapping[str, Any]:
    """Returns the config of the runnable that is running; empty outside of any."""
    return var_child_runnable_config.get() or {}


def thread_of(config: Mapping[str, Any]) -> str | None:
    """Returns the thread that a config names."""
    found = (config.get("configurable") or {}).get("thread_id")
    if found is None:
        found = (config.get("metadata") or {}).get("thread_id")
    return None if found in (None, "") else str(found)


def in_graph(config: Mapping[str, Any]) -> bool:
    """Tells whether a config is that of a node or a task of a LangGraph graph."""
    return any(name.startswith("__pregel_") for name in config.get("configurable") or ()) or "langgraph_step" in (
        config.get("metadata") or ()
    )


def run_around(config: Mapping[str, Any]) -> object | None:
    """Returns what LangGraph makes once for a run and hands to the graphs inside it; nothing in the outermost graph.

    The key is private: where it is missing, a graph inside another is taken for a run of its own.
    """
    configurable = config.get("configurable") or {}
    if "|" not in str(configurable.get("checkpoint_ns") or ""):
        return None
    return getattr(configurable.get("__pregel_runtime"), "control", None)


def handlers_of(callbacks: Any) -> Sequence[BaseCallbackHandler]:
    """Returns the handlers in what LangChain takes for callbacks: a list, a manager, or nothing."""
    found = callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", ())
    return found or ()


def graph_messages(config: Mapping[str, Any], call_id: str | None) -> Sequence[BaseMessage] | None:
    """Returns the messages of the graph that is running.

    LangGraph lends a node a function that reads its channels. The key is private: where it is missing, a caller must
    take the turn for unknown. Messages under another name than `messages` are found by the call that is looked for.

    Args:
        config: the running config.
        call_id: the id of the tool call that runs.

    Returns:
        The messages, none where the graph has none; `None` where the graph does not let itself be read.
    """
    configurable = config.get("configurable") or {}
    read = configurable.get(_READ)
    if read is None:
        return None
    try:
        found = read("messages")
    except KeyError:
        found = None
    if isinstance(found, list) and (call_id is None or has_turn_of(found, call_id)):
        return found
    if call_id is not None and (elsewhere := _elsewhere(read, call_id)) is not None:
        return elsewhere
    return found if isinstance(found, list) else []


def _elsewhere(read: Any, call_id: str) -> Sequence[BaseMessage] | None:
    """Looks through the other channels, as LangGraph's own `ToolNode` does to make up a state."""
    arguments: Sequence[Any] = getattr(read, "args", ())
    channels = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], Mapping) else {}
    for name in channels:
        try:
            found = read(name)
        except KeyError:
            continue
        if isinstance(found, list) and has_turn_of(found, call_id):
            return found
    return None


def holds_call(message: Any, call_id: str) -> bool:
    """Tells whether a message is the turn in which the model made a call."""
    return isinstance(message, AIMessage) and any(c["id"] == call_id for c in message.tool_calls)


def has_turn_of(messages: Sequence[Any], call_id: str) -> bool:
    """Tells whether messages hold the turn in which the model made a call; mostly the last one is it."""
    for message in reversed(messages):
        if isinstance(message, AIMessage) and any(c["id"] == call_id for c in message.tool_calls):
            return True
    return False


def interrupts() -> tuple[type[BaseException], ...]:
    """Returns what LangGraph raises to pause or to leave a graph. Where it was not imported nothing can raise it."""
    errors = sys.modules.get("langgraph.errors")
    return () if errors is None else (errors.GraphBubbleUp,)
