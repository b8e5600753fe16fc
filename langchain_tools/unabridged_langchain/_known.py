"""Tools that LangChain itself brings along: their effect is known, and no list holds them that could declare it."""

from __future__ import annotations

import sys
from typing import Any

from unabridged.gate.annotations import hinted
from unabridged.gate.declare import NEUTRAL, UNDECLARED, Spec

from ._place import Guardian


def spec_of_bare(tool: Any, *, guardian: Guardian | None = None, name: str = "") -> Spec:
    """Returns the declaration of a tool that carries no guard: the to-do list is neutral, any other is not declared.

    A tool is known by its code, not by its name. A guard among the handlers may declare it, and its metadata may say
    that it is destructive, as an MCP server's annotations do.

    Args:
        tool: the tool; nothing where a call names none that there is.
        guardian: the guard among the handlers.
        name: the name by which the guard knows the tool.
    """
    module = sys.modules.get("langchain.agents.middleware.todo")
    own = {getattr(module, name, None) for name in ("_write_todos", "_awrite_todos")} - {None}
    code = [c for c in (getattr(tool, "func", None), getattr(tool, "coroutine", None)) if c is not None]
    if code and all(any(c is o for o in own) for c in code):
        return NEUTRAL
    told = UNDECLARED if guardian is None else guardian.spec_of(name)
    return hinted(name, told, getattr(tool, "metadata", None))
