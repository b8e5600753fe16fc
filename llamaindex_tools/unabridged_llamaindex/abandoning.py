"""Running sync code for a time only."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any


def within(limit_s: float, body: Callable[[], Any]) -> Any:
    """Runs sync code for so long at most; what goes on after that is abandoned, and holds back no exit."""
    late: Future[Any] = Future()
    context = copy_context()

    def work() -> None:
        try:
            late.set_result(context.run(body))
        except BaseException as error:  # noqa: BLE001 - it is raised where the caller waits
            late.set_exception(error)

    threading.Thread(target=work, name="unabridged-read", daemon=True).start()
    return late.result(timeout=limit_s)
