"""MCP sessions through the official SDK, versions 1 and 2. Install `unabridged[mcp]`.

A list call is walked by our own reader; a tool's result says about coverage only what a wire document in it says.
"""

import importlib.util

from unabridged.contract.errors import MissingExtra

if importlib.util.find_spec("mcp") is None:
    raise MissingExtra(extra="mcp", module="mcp")

from .listing import Listing, read_mcp_list
from .tools import mcp_result, read_mcp_tool

__all__ = ["Listing", "mcp_result", "read_mcp_list", "read_mcp_tool"]
