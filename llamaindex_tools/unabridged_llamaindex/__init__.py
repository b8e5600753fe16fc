"""Unabridged for LlamaIndex.

```
tools = protect(tools, reads={"list_orders": "orders"}, writes={"archive_orders": ["orders"]})
agent = CoverageFunctionAgent(tools=tools, llm=llm)
```
"""

from importlib.util import find_spec

from unabridged.contract import MissingExtra

if find_spec("llama_index") is None or find_spec("llama_index.core") is None:
    raise MissingExtra(extra="llamaindex", module="llama-index-core")

from unabridged.actions.approvals import Card, Decision, Threshold
from unabridged.gate import AGENT_RULES, CoverageWarning, FromArgument
from unabridged.gate.answering import UnsupportedAnswer

from .agents import CoverageFunctionAgent
from .parser import CoverageOutputParser
from .redacting import redacted
from .verbs import (
    action_tool,
    as_read_tool,
    as_write_tool,
    continue_read_tool,
    count_read_tool,
    neutral_tool,
    protect,
    read_tool,
    write_tool,
)

__all__ = [
    "AGENT_RULES",
    "Card",
    "CoverageFunctionAgent",
    "CoverageOutputParser",
    "CoverageWarning",
    "Decision",
    "FromArgument",
    "Threshold",
    "UnsupportedAnswer",
    "action_tool",
    "as_read_tool",
    "as_write_tool",
    "continue_read_tool",
    "count_read_tool",
    "neutral_tool",
    "protect",
    "read_tool",
    "redacted",
    "write_tool",
]
