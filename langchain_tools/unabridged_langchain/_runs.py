"""Which runs are those of guarded tools, so that a callback handler can tell them from others of the same name.

A run is known by its id, which is drawn here: neither metadata nor a name makes a bare tool pass for a guarded one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID
from weakref import WeakSet

from langchain_core.utils.uuid import uuid7

_watchers: Final[WeakSet[Any]] = WeakSet()
_running: Final[dict[UUID, str]] = {}


def watch(watcher: Any) -> None:
    """Says that a handler of this process wants to know; without any, runs are not told apart."""
    _watchers.add(watcher)


@contextmanager
def watched_run(name: str, options: dict[str, Any]) -> Iterator[None]:
    """Makes the run that the options start known as one of a guarded tool, for as long as it lasts.

    Args:
        name: the name of the tool.
        options: the keywords or the config of the run; an id is drawn where it has none.
    """
    if not _watchers:
        yield
        return
    run_id = options.get("run_id") or uuid7()
    options["run_id"] = run_id
    _running[run_id] = name
    try:
        yield
    finally:
        _running.pop(run_id, None)


def is_guarded_run(run_id: UUID, name: str) -> bool:
    """Tells whether a run is that of a guarded tool of this name."""
    return _running.get(run_id) == name
