"""What a judge must be, checked where it is declared."""

from __future__ import annotations

import inspect
from typing import Any

from unabridged.contract import InvalidInput


def check_judge(judge: Any) -> None:
    """Refuses a judge that could judge nothing: each of its reads would be unavailable, and look like an outage."""
    if judge is None or hasattr(judge, "walk"):
        return
    if not callable(judge):
        raise InvalidInput(field="judge", rule="must be a callable (value, call) or a profile")
    if inspect.iscoroutinefunction(judge) or inspect.iscoroutinefunction(getattr(judge, "__call__", None)):  # noqa: B004
        raise InvalidInput(field="judge", rule="must be no coroutine function")
    try:
        signature = inspect.signature(judge)
    except (TypeError, ValueError):  # written in C: it does not tell
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise InvalidInput(field="judge", rule="must take the value and the call") from None
