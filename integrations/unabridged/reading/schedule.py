"""Several readings at once: what is asked next, of which one, and when. Decisions only; a driver sends and waits.

The readings themselves are advanced one at a time, so that they may share an account without a lock. Results come
back in the order of the readings, whatever the order of the replies.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from .ask import Command, Emit, Gather, Send, Sleep
from .transport import Clock, Fault, Response


@dataclass(eq=False, slots=True)
class _Group:
    """Readings that are awaited together."""

    results: list[Any]
    left: int
    parent: Task | None


@dataclass(eq=False, slots=True)
class Task:
    """One reading, and where its result belongs."""

    reading: Generator[Command, Any, Any]
    group: _Group
    place: int


class Schedule:
    """The state of several readings of which at most `bound` wait for a reply at a time.

    Args:
        readings: the decision cores, in the order of their results.
        clock: tells when a wait is over.
        bound: requests in flight.
    """

    def __init__(self, readings: Sequence[Generator[Command, Any, Any]], *, clock: Clock, bound: int) -> None:
        self._clock = clock
        self._bound = bound
        self._in_flight = 0
        self._ready: deque[tuple[Task, Any]] = deque()
        self._waits: list[tuple[float, int, Task]] = []
        self._number = 0
        self._root = self._add(readings, None)

    def _add(self, readings: Sequence[Generator[Command, Any, Any]], parent: Task | None) -> _Group:
        group = _Group([None] * len(readings), len(readings), parent)
        tasks = [(Task(reading, group, n), None) for n, reading in enumerate(readings)]
        self._ready.extendleft(reversed(tasks))
        return group

    @property
    def is_finished(self) -> bool:
        """Whether every reading has returned."""
        return self._root.left == 0

    @property
    def results(self) -> tuple[Any, ...]:
        """What the readings returned, in their order."""
        return tuple(self._root.results)

    @property
    def wait_s(self) -> float | None:
        """Seconds until the next wait is over; nothing when no reading waits."""
        return max(0.0, self._waits[0][0] - self._clock.monotonic()) if self._waits else None

    def due(self) -> list[tuple[Task, Send]]:
        """Advances every reading that may go on, and returns the requests to send now."""
        sends: list[tuple[Task, Send]] = []
        while True:
            while self._waits and self._waits[0][0] <= self._clock.monotonic():
                self._ready.append((heapq.heappop(self._waits)[2], None))
            if not self._ready or self._in_flight >= self._bound:
                return sends
            task, reply = self._ready.popleft()
            send = self._advance(task, reply)
            if send is not None:
                self._in_flight += 1
                sends.append((task, send))

    def replied(self, task: Task, reply: Response | Fault) -> None:
        """Takes in the reply to a request."""
        self._in_flight -= 1
        self._ready.appendleft((task, reply))

    def _advance(self, task: Task, reply: Any) -> Send | None:
        """Lets one reading go on to its next command."""
        try:
            command = task.reading.send(reply)
        except StopIteration as end:
            self._finish(task, end.value)
            return None
        match command:
            case Send():
                return command
            case Sleep(seconds=seconds):
                self._number += 1
                heapq.heappush(self._waits, (self._clock.monotonic() + seconds, self._number, task))
            case Gather(readings=readings):
                self._add(readings, task)
            case Emit():
                self._ready.appendleft((task, None))
            case _:
                assert_never(command)
        return None

    def _finish(self, task: Task, value: Any) -> None:
        group = task.group
        group.results[task.place] = value
        group.left -= 1
        if group.left == 0 and group.parent is not None:
            self._ready.appendleft((group.parent, tuple(group.results)))
