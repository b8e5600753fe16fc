"""What the tests of the LangChain room share: a small shop with tools that read and write."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import ToolMessage
from unabridged.contract import ReadHeader, ReadResult, Reason, Scope, build_result, new_read_id
from unabridged_langchain import protect

SECRET = "sk-sentinel-7f3a"
ROWS = [{"id": 1, "owner": None}, {"id": 2, "owner": "ops"}, {"id": 3, "owner": None}]


def result(items: list[Any] | None, *codes: str, resource: str = "orders", **filters: Any) -> ReadResult:
    """Returns a read with these items and reason codes."""
    now = datetime.now(UTC)
    return build_result(
        items=items,
        reasons=[Reason(code=c, layer="source") for c in codes],
        scope=Scope(resource=resource, filters=filters),
        read=ReadHeader(id=new_read_id(), adapter="test", started_at=now, finished_at=now),
    )


class Shop:
    """Tools that read and write, as plain functions. `status` says what the next reads find."""

    def __init__(self, status: str = "complete") -> None:
        self.status = status
        self.written: list[Any] = []
        self.calls: list[str] = []

    def list_orders(self, owner: str | None = None, limit: int = 20) -> Any:
        """Lists orders.

        Args:
            owner: whose orders.
            limit: how many at most.
        """
        self.calls.append("list_orders")
        filters = {} if owner is None else {"owner": owner}
        if self.status == "unavailable":
            return result(None, "SOURCE_UNAVAILABLE", **filters)
        codes = {"complete": (), "partial": ("MORE_PAGES_AVAILABLE",), "unknown": ("COVERAGE_UNKNOWN",)}[self.status]
        return result([dict(r) for r in ROWS], *codes, **filters)

    def archive(self, ids: list[int]) -> str:
        """Archives orders."""
        self.calls.append("archive")
        self.written.append(ids)
        return "archived"

    async def alist_orders(self, owner: str | None = None) -> Any:
        """Lists orders."""
        return self.list_orders(owner)

    async def aarchive(self, ids: list[int]) -> str:
        """Archives orders."""
        return self.archive(ids)

    def add(self, a: int, b: int) -> int:
        """Adds."""
        return a + b

    def mystery(self, x: int = 0) -> str:
        """Does something."""
        self.calls.append("mystery")
        self.written.append(("mystery", x))
        return "something"

    def tools(self) -> list[Any]:
        """Returns all tools, protected; `mystery` is not declared."""
        return protect(
            [self.list_orders, self.alist_orders, self.archive, self.aarchive, self.add, self.mystery],
            reads={"list_orders": "orders", "alist_orders": "orders"},
            writes={"archive": {"relies_on": ["orders"], "targets": "ids"}, "aarchive": ["orders"]},
            neutral=["add"],
        )

    def by_name(self) -> dict[str, Any]:
        """Returns all tools by name."""
        return {t.name: t for t in self.tools()}


def call(name: str, call_id: str = "c1", **args: Any) -> dict[str, Any]:
    """Returns a tool call as LangChain writes it."""
    return {"type": "tool_call", "id": call_id, "name": name, "args": args}


def document(value: Any) -> dict[str, Any]:
    """Returns what a tool said, decoded."""
    found: dict[str, Any] = json.loads(value.content if isinstance(value, ToolMessage) else value)
    return found


def codes(value: Any) -> list[str]:
    """Returns the codes of a refusal."""
    found: list[str] = document(value).get("codes", [])
    return found


def results(messages: list[Any]) -> list[ToolMessage]:
    """Returns the tool messages among messages."""
    return [m for m in messages if isinstance(m, ToolMessage)]
