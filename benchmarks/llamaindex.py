"""A guarded LlamaIndex tool call, against `FunctionTool.call`."""

from __future__ import annotations

from typing import Any, Final

from llama_index.core.tools import FunctionTool, ToolOutput
from unabridged_llamaindex import protect

from .envelope import records
from .fresh import FreshSession
from .harness import Figure, Work, measure

_BUDGET: Final = 1.05
_ROUNDS: Final = 101
_TURN: Final = (20, 200, 200)
_KEPT: Final = records(100)


def list_accounts(tenant: str) -> list[dict[str, Any]]:
    """Lists the accounts of a tenant."""
    return [{**record, "tenant": tenant} for record in _KEPT]


def archive_accounts(account_ids: list[str]) -> str:
    """Archives accounts."""
    return f"archived {len(account_ids)}"


def add(left: int, right: int) -> str:
    """Adds two numbers."""
    return str(left + right)


def _plain() -> list[FunctionTool]:
    return [
        FunctionTool.from_defaults(list_accounts),
        FunctionTool.from_defaults(archive_accounts),
        FunctionTool.from_defaults(add),
    ]


_CALLS: Final[dict[str, tuple[int, dict[str, Any]]]] = {
    "read of 100 records": (0, {"tenant": "north"}),
    "write of 10 targets": (1, {"account_ids": [f"svc-{n:08d}" for n in range(10)]}),
    "neutral tool": (2, {"left": 1, "right": 2}),
}


def _work(tool: Any, arguments: dict[str, Any]) -> Work:
    def work() -> ToolOutput:
        output: ToolOutput = tool.call(**arguments)
        if output.is_error:
            raise RuntimeError(f"the benchmark's call was refused: {output.content}")
        return output

    return work


def run() -> list[Figure]:
    """Measures a read, a write and a neutral tool."""
    plain = _plain()
    guarded = protect(
        plain,
        reads={"list_accounts": {"resource": "accounts", "exhaustive": True}},
        writes={"archive_accounts": {"relies_on": ["accounts"], "targets": "account_ids"}},
        neutral=["add"],
    )
    fresh = FreshSession(_work(guarded[0], _CALLS["read of 100 records"][1]))
    figures = []
    for what, (place, arguments) in _CALLS.items():
        variants = {"bare": _work(plain[place], arguments), "guarded": _work(guarded[place], arguments)}
        samples = measure(variants, baseline="bare", rounds=_ROUNDS, calls=_TURN[place], before=fresh)
        note = f"bare {samples.median_s('bare') * 1e6:,.1f} us"
        figures.append(samples.times("guarded", what=what, budget=_BUDGET, note=note))
    fresh.close()
    return figures
