"""Foreign code that must run before the body of a write, asked for as steps, so that sync and async share decisions."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator
from typing import Any

from unabridged._ambient import Boxed

from .presenting import Reply


class Step:
    """Foreign code that a write must run before its body, with what it is given. Its repr shows neither."""

    __slots__ = ("_code", "_given")

    def __init__(self, code: Callable[[Any], Any], given: Any) -> None:
        self._code = code
        self._given = given

    def take(self) -> Any:
        """Runs it."""
        return self._code(self._given)


Steps = Generator[Step, Any, Reply | None]


class MustWait(Exception):
    """What decides or looks again has to be waited for, and the thread of the call runs a loop already."""


def _waited_for(value: Awaitable[Any]) -> Any:
    """Returns what an awaitable gives, on a loop of its own, where this thread has none that runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_wait(value))
    if inspect.iscoroutine(value):
        value.close()
    raise MustWait


async def _wait(value: Awaitable[Any]) -> Any:
    return await value


def drive(steps: Steps) -> Reply | None:
    """Takes the steps of a write in sync code. What has to be waited for gets a loop of its own."""
    try:
        step = next(steps)
        while True:
            try:
                held = Boxed(step.take())
                if inspect.isawaitable(held.value):
                    held = Boxed(_waited_for(held.take()))
            except Exception as error:  # noqa: BLE001 - it is raised where the step was asked for
                failed = Boxed(error)
            else:
                step = steps.send(held.take())
                continue
            step = steps.throw(failed.take())
    except StopIteration as stop:
        reply: Reply | None = stop.value
        return reply


async def adrive(steps: Steps) -> Reply | None:
    """As `drive`, without blocking where a step can be waited for."""
    try:
        step = next(steps)
        while True:
            try:
                held = Boxed(step.take())
                if inspect.isawaitable(held.value):
                    held = Boxed(await held.take())
            except Exception as error:  # noqa: BLE001 - it is raised where the step was asked for
                failed = Boxed(error)
            else:
                step = steps.send(held.take())
                continue
            step = steps.throw(failed.take())
    except StopIteration as stop:
        reply: Reply | None = stop.value
        return reply
