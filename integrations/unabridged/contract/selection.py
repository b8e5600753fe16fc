"""A selection: the ids of a complete inventory that a write may touch, behind a token (`CONTRACT.md` 4)."""

from __future__ import annotations

from datetime import datetime
from typing import Any


class Selection:
    """Ids of a complete read that a write may touch. `str` gives its token, which tells nothing of them.

    Attributes:
        action: the write that it holds for.
        count: how many ids it holds.
        resource: the resource that was read.
        expires_at: when it ends.
    """

    __slots__ = ("_token", "action", "count", "expires_at", "resource")

    def __init__(self, token: str, *, action: str, count: int, resource: str, expires_at: datetime) -> None:
        self._token = token
        self.action = action
        self.count = count
        self.resource = resource
        self.expires_at = expires_at

    def __str__(self) -> str:
        return self._token

    def __repr__(self) -> str:
        return f"<Selection of {self.count} for {self.action}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a selection cannot be pickled; pass its token, str(selection)")
