"""The run that a tool with an entry of its own makes inside its guarded one, told to handlers in outlines.

It tells what came and what was raised, which the guarded run above it does not. What the tool itself runs below it is
told as it is below any other tool: a guard has to judge it, and a counter to count it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import _configure_hooks
from langsmith.run_helpers import tracing_context

from ._place import Guardian
from .redacting import redacted_within


def told_in_outlines(inner: Any) -> None:
    """Makes the handlers of a manager hear of the next run in outlines; a guard of ours knows it and keeps nothing."""
    heard = {id(h): _heard(h, inner.parent_run_id) for h in (*inner.handlers, *inner.inheritable_handlers)}
    inner.handlers = [heard[id(h)] for h in inner.handlers]
    inner.inheritable_handlers = [heard[id(h)] for h in inner.inheritable_handlers]


def _heard(handler: BaseCallbackHandler, above: UUID) -> BaseCallbackHandler:
    return handler if isinstance(handler, Guardian) else redacted_within(handler, above)


@contextmanager
def joined_by_none(inner: Any) -> Iterator[None]:
    """Lets no handler join the run inside by itself and hear all: one that stands in a context, or LangSmith's.

    A handler in a context that hears of the run already is known by its place there, and would hear twice.

    Args:
        inner: the manager of the run inside, if it has one.
    """
    heard = {id(getattr(h, "_tracer", None)): h for h in (inner.handlers if inner is not None else ())}
    held = [(var, var.get()) for var, _, kind, _ in _configure_hooks if inner is not None and kind is None]
    joining = [(var, heard.get(id(h)) or _heard(h, inner.parent_run_id)) for var, h in held if h is not None]
    before = [(var, var.set(handler)) for var, handler in joining]
    try:
        with tracing_context(enabled=False):
            yield
    finally:
        for var, token in before:
            var.reset(token)
