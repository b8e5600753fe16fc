"""Where the records of reads are kept, outside the message history, bounded in size and age."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from unabridged.contract import ReadResult

DropHook = Callable[[str], object]


class ResultStore(Protocol):
    """Keeps the results of reads by session and read id."""

    def put(self, owner: str, result: ReadResult, *, now: datetime, on_drop: DropHook) -> bool:
        """Keeps a result by reference; `on_drop` is called with its read id once it is kept no more.

        Returns whether it is kept: one that is too large for the store is not.
        """
        ...

    def get(self, owner: str, read_id: str, *, now: datetime) -> ReadResult | None:
        """Returns a result, or nothing once it was dropped."""
        ...

    def erase(self, owner: str) -> None:
        """Forgets all results of a session."""
        ...


@dataclass(frozen=True, slots=True)
class _Kept:
    result: ReadResult
    size: int
    since: datetime
    on_drop: DropHook


class MemoryStore:
    """Keeps results in the memory of this process; the oldest ones go first.

    Args of the constructor:
        max_records: how many records are kept over all sessions.
        max_results: how many results are kept over all sessions.
        max_age_s: how long a result is kept, in seconds.
    """

    def __init__(self, *, max_records: int = 1_000_000, max_results: int = 10_000, max_age_s: float = 86_400.0) -> None:
        self._max_records = max_records
        self._max_results = max_results
        self._max_age = timedelta(seconds=max_age_s)
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._owners: dict[str, set[str]] = {}
        self._records = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<MemoryStore {len(self._kept)} results>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a result store cannot be pickled: it holds records")

    def put(self, owner: str, result: ReadResult, *, now: datetime, on_drop: DropHook) -> bool:
        """Keeps a result by reference; `on_drop` is called with its read id once it is kept no more."""
        size = 1 + len(result.items or ())
        if size > self._max_records:
            return False
        key = (owner, result.read.id)
        with self._lock:
            if key in self._kept:
                return True
            self._kept[key] = _Kept(result, size, now, on_drop)
            self._owners.setdefault(owner, set()).add(result.read.id)
            self._records += size
            dropped = self._shrink(now)
        _tell(dropped)
        return True

    def get(self, owner: str, read_id: str, *, now: datetime) -> ReadResult | None:
        """Returns a result, or nothing once it was dropped."""
        with self._lock:
            dropped = self._shrink(now)
            kept = self._kept.get((owner, read_id))
        _tell(dropped)
        return None if kept is None else kept.result

    def erase(self, owner: str) -> None:
        """Forgets all results of a session."""
        with self._lock:
            dropped = [(read_id, self._pop((owner, read_id))) for read_id in list(self._owners.get(owner, ()))]
        _tell(dropped)

    def _shrink(self, now: datetime) -> list[tuple[str, _Kept]]:
        dropped: list[tuple[str, _Kept]] = []
        while self._kept:
            key, oldest = next(iter(self._kept.items()))
            full = self._records > self._max_records or len(self._kept) > self._max_results
            if not full and now - oldest.since <= self._max_age:
                break
            dropped.append((key[1], self._pop(key)))
        return dropped

    def _pop(self, key: tuple[str, str]) -> _Kept:
        kept = self._kept.pop(key)
        self._records -= kept.size
        owned = self._owners[key[0]]
        owned.discard(key[1])
        if not owned:
            del self._owners[key[0]]
        return kept


def _tell(dropped: list[tuple[str, _Kept]]) -> None:
    for read_id, kept in dropped:
        kept.on_drop(read_id)
