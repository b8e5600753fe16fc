"""What the calling turn asked for beside the call that is running: it counts for everything that runs inside it.

A sub-agent, or a tool that calls tools, runs while the other calls of its caller's turn have shown nothing yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

Asking = tuple[str, Mapping[str, Any]]
"""A call of a turn: the tool's name and the arguments."""
_around: Final[ContextVar[tuple[Asking, ...]]] = ContextVar("unabridged_around", default=())


def siblings_around() -> tuple[Asking, ...]:
    """Returns the calls that stand beside the calls that the running code is inside of."""
    return _around.get()


@contextmanager
def inside(siblings: Sequence[Asking]) -> Iterator[None]:
    """Makes `siblings`, all other calls of the turn and of the turns around it, known to what runs in the block."""
    token = _around.set(tuple(siblings))
    try:
        yield
    finally:
        _around.reset(token)
