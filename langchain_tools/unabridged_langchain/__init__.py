"""Unabridged for LangChain and LangGraph: tools that say what they read, and writes that are judged by it.

Everything but `CoverageMiddleware` needs langchain-core only; the middleware is loaded when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

from unabridged.contract import MissingExtra

try:
    import langchain_core as _langchain_core  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "langchain_core":
        raise
    raise MissingExtra(extra="langchain", module="langchain_core") from None

from unabridged.actions.approvals import Card, Decision, Threshold
from unabridged.gate.declare import FromArgument
from unabridged.gate.plan import AGENT_RULES, CoverageWarning
from unabridged.gate.refusing import CallRefused

from ._followups import continue_read_tool, count_read_tool
from ._handler import PartialReadGuard
from ._parser import CoverageOutputParser
from ._verbs import action_tool, as_read_tool, as_write_tool, neutral_tool, protect, read_tool, write_tool
from .approvals import interrupt_for_approval
from .redacting import redacted

if TYPE_CHECKING:
    from .middleware import CoverageMiddleware

__all__ = [
    "AGENT_RULES",
    "CallRefused",
    "Card",
    "CoverageMiddleware",
    "CoverageOutputParser",
    "CoverageWarning",
    "Decision",
    "FromArgument",
    "PartialReadGuard",
    "Threshold",
    "action_tool",
    "as_read_tool",
    "as_write_tool",
    "continue_read_tool",
    "count_read_tool",
    "interrupt_for_approval",
    "neutral_tool",
    "protect",
    "read_tool",
    "redacted",
    "write_tool",
]


def __getattr__(name: str) -> Any:
    if name == "CoverageMiddleware":
        try:
            from .middleware import CoverageMiddleware
        except ModuleNotFoundError as error:
            if error.name not in ("langchain", "langgraph"):
                raise
            raise MissingExtra(extra="langchain", module=str(error.name)) from None
        return CoverageMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
