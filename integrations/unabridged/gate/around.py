"""What the calling turn asked for beside the call that is running: it counts for everything that runs inside it.

A sub-agent, or a tool that calls tools, runs while the other calls of its caller's turn have shown nothing yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Final

from unabridged._ambient import Held

Asking = tuple[str, Mapping[str, Any]]
"""A call of a turn: the tool's name and the arguments."""
_around: Final[ContextVar[tuple[Asking, ...]]] = ContextVar("unabridged_around", default=())


def siblings_around() -> tuple[Asking, ...]:
    """Returns the calls that stand beside the calls that the running code is inside of."""
    return _around.get()


def inside(siblings: Sequence[Asking]) -> AbstractContextManager[None]:
    """Makes `siblings`, all other calls of the turn and of the turns around it, known to what runs in the block."""
    return Held(_around, tuple(siblings))
