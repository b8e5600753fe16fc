"""Tools that LangChain itself brings along: their effect is known, and no list holds them that could declare it."""

from __future__ import annotations

import sys
from typing import Any

from unabridged.gate.declare import NEUTRAL, UNDECLARED, Spec


def spec_of_bare(tool: Any) -> Spec:
    """Returns the declaration of a tool that carries no guard: the to-do list is neutral, any other is not declared.

    A tool is known by its code, not by its name.
    """
    module = sys.modules.get("langchain.agents.middleware.todo")
    own = {getattr(module, name, None) for name in ("_write_todos", "_awrite_todos")} - {None}
    code = [c for c in (getattr(tool, "func", None), getattr(tool, "coroutine", None)) if c is not None]
    return NEUTRAL if code and all(any(c is o for o in own) for c in code) else UNDECLARED
