"""A guarded call through a LangGraph `ToolNode`, against the same tool bare."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from unabridged.audit import AuditLog
from unabridged_langchain import protect

from .envelope import records
from .fresh import FreshSession
from .harness import Figure, Samples, Work, measure

_BUDGET: Final = 1.03
_BUDGET_WITH_AUDIT: Final = 1.07
_ROUNDS: Final = 101
_CALLS: Final = 5
_RECORDS: Final = 100
_KEPT: Final = records(_RECORDS)
_KEY: Final = b"a key for benchmarks only, 32 b."


def list_accounts(tenant: str) -> list[dict[str, Any]]:
    """Lists the accounts of a tenant."""
    return [{**record, "tenant": tenant} for record in _KEPT]


def archive_accounts(account_ids: list[str]) -> str:
    """Archives accounts."""
    return f"archived {len(account_ids)}"


def plain_tools() -> list[BaseTool]:
    """Returns the tools as a tutorial would write them."""
    return [StructuredTool.from_function(list_accounts), StructuredTool.from_function(archive_accounts)]


def guarded_tools() -> list[BaseTool]:
    """Returns the same tools, protected."""
    return protect(
        plain_tools(),
        reads={"list_accounts": {"resource": "accounts", "exhaustive": True}},
        writes={"archive_accounts": {"relies_on": ["accounts"], "targets": "account_ids"}},
    )


def asking(name: str, arguments: dict[str, Any], call_id: str = "call_1") -> AIMessage:
    """Returns the message of a model that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id, "type": "tool_call"}])


READ: Final = ("list_accounts", {"tenant": "north"})
WRITE: Final = ("archive_accounts", {"account_ids": [f"svc-{n:08d}" for n in range(10)]})


def _graph(tools: list[BaseTool]) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return graph.compile()


def _work(graph: Any, call: tuple[str, dict[str, Any]]) -> Work:
    def work() -> None:
        last = graph.invoke({"messages": [asking(*call)]})["messages"][-1]
        if last.status != "success":
            raise RuntimeError(f"the benchmark's call was refused: {last.content}")

    return work


def run() -> list[Figure]:
    """Measures a write that is judged by a whole read, a read that leaves evidence, and the write with an audit log."""
    bare, guarded = _graph(plain_tools()), _graph(guarded_tools())
    figures = [
        _figure(_samples(bare, guarded, call), what=what, budget=_BUDGET)
        for call, what in ((READ, f"read of {_RECORDS} records"), (WRITE, "write of 10 targets"))
    ]
    with (
        tempfile.TemporaryDirectory(prefix="tool-node-bench-") as folder,
        AuditLog(Path(folder) / "audit.jsonl", key=_KEY) as log,
    ):
        samples = _samples(bare, guarded, WRITE, audit=log)
    what = "write of 10 targets, its intent and its outcome in an audit log"
    return [*figures, _figure(samples, what=what, budget=_BUDGET_WITH_AUDIT)]


def _samples(bare: Any, guarded: Any, call: tuple[str, dict[str, Any]], *, audit: AuditLog | None = None) -> Samples:
    fresh = FreshSession(_work(guarded, READ), audit=audit)
    variants = {"bare": _work(bare, call), "guarded": _work(guarded, call)}
    samples = measure(variants, baseline="bare", rounds=_ROUNDS, calls=_CALLS, before=fresh)
    fresh.close()
    return samples


def _figure(samples: Samples, *, what: str, budget: float) -> Figure:
    return samples.times("guarded", what=what, budget=budget, note=f"bare {samples.median_s('bare') * 1e6:,.0f} us")
