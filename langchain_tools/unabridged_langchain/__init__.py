"""Unabridged for LangChain and LangGraph: tools that say what they read, and writes that are judged by it."""

from unabridged.gate.plan import AGENT_RULES

from ._followups import continue_read_tool, count_read_tool
from ._verbs import as_read_tool, as_write_tool, neutral_tool, protect, read_tool, write_tool

__all__ = [
    "AGENT_RULES",
    "as_read_tool",
    "as_write_tool",
    "continue_read_tool",
    "count_read_tool",
    "neutral_tool",
    "protect",
    "read_tool",
    "write_tool",
]
