"""The toolkit's own tools: going on with a read, and counting over all of it."""

from __future__ import annotations

from typing import Any, Final

from langchain_core.tools import BaseTool, StructuredTool
from unabridged.evidence import current_session
from unabridged.gate.boundary import arun_step, run_step
from unabridged.gate.declare import FollowUpSpec
from unabridged.gate.followup import (
    CONTINUE_READ,
    CONTINUE_TEXT,
    COUNT_READ,
    COUNT_TEXT,
    Step,
    continue_read,
    count_read,
)
from unabridged.gate.presenting import MAX_BYTES, Reply
from unabridged.gate.runtime import Gate

from ._config import interrupts
from ._guarded import wrap
from ._place import frame


def _step(handle: str) -> Step | Reply:
    return continue_read(current_session(), handle, max_bytes=frame().max_bytes or MAX_BYTES)


def _continue(handle: str) -> Reply:
    step = _step(handle)
    return step if isinstance(step, Reply) else run_step(step, interrupts=interrupts())


async def _acontinue(handle: str) -> Reply:
    step = _step(handle)
    return step if isinstance(step, Reply) else await arun_step(step, interrupts=interrupts())


def _count(handle: str, where: dict[str, Any] | None = None) -> Reply:
    return count_read(current_session(), handle, where)


class _FollowUp(StructuredTool):
    """A tool of the toolkit. Calling it returns itself, so that it may be written with or without brackets."""

    def __call__(self) -> BaseTool:
        return self


def _made(name: str, text: str, *, asks_again: bool, **code: Any) -> BaseTool:
    tool = StructuredTool.from_function(name=name, description=text, **code)
    own = _FollowUp(
        **{field: getattr(tool, field) for field in ("name", "description", "args_schema", "func", "coroutine")}
    )
    return wrap(own, Gate(name=name, spec=FollowUpSpec(asks_again=asks_again)))


continue_read_tool: Final = _made(CONTINUE_READ, CONTINUE_TEXT, asks_again=True, func=_continue, coroutine=_acontinue)
"""The tool `continue_read`: shows the rest of a read, or asks the source for more. The middleware adds it by itself."""
count_read_tool: Final = _made(COUNT_READ, COUNT_TEXT, asks_again=False, func=_count)
"""The tool `count_read`: counts over all that was read. The middleware adds it by itself."""
