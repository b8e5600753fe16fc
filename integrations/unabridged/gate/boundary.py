"""Running the body of a tool that was let in: whatever happens there ends as a reply, or passes as what it is.

This is the outermost tool boundary. An interruption takes the read back, a cancellation records it as unavailable, and
an error is told without its text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from .followup import Step
from .presenting import Reply
from .runtime import Entered, Gate

Kinds = tuple[type[BaseException], ...]


def run_body(
    gate: Gate, entered: Entered, body: Callable[[], Any], *, interrupts: Kinds = (), handled: Kinds = ()
) -> Reply:
    """Runs a body in the session of its call and returns the reply.

    Args:
        gate: the tool's gate.
        entered: the leave to run.
        body: the tool's own code, with its arguments bound.
        interrupts: what the framework raises to pause a run: it passes, and a pending read is withdrawn.
        handled: errors that the framework turns into a message by its author's choice; they pass from what is no read.
    """
    try:
        with entered.scope():
            value = body()
    except Exception as error:  # noqa: BLE001 - the outermost tool boundary
        return _failed(gate, entered, error, interrupts, handled)
    except BaseException:
        gate.cancel(entered)
        raise
    return gate.leave(entered, value)


async def arun_body(
    gate: Gate,
    entered: Entered,
    body: Callable[[], Awaitable[Any]],
    *,
    interrupts: Kinds = (),
    handled: Kinds = (),
) -> Reply:
    """As `run_body`, for a coroutine."""
    try:
        with entered.scope():
            value = await body()
    except Exception as error:  # noqa: BLE001 - the outermost tool boundary
        return _failed(gate, entered, error, interrupts, handled)
    except BaseException:
        gate.cancel(entered)
        raise
    return gate.leave(entered, value)


def run_step(step: Step, *, interrupts: Kinds = ()) -> Reply:
    """Asks the source that a `continue_read` must ask and returns the reply.

    Args:
        step: what is to be asked.
        interrupts: what the framework raises to pause a run: it passes, and the step is withdrawn.
    """
    try:
        result = step.resume.read()
    except Exception as error:  # noqa: BLE001 - the outermost tool boundary
        return _step_failed(step, error, interrupts)
    except BaseException:
        step.cancel()
        raise
    return step.finish(result)


async def arun_step(step: Step, *, interrupts: Kinds = ()) -> Reply:
    """As `run_step`, for a coroutine."""
    try:
        result = await step.resume.aread()
    except Exception as error:  # noqa: BLE001 - the outermost tool boundary
        return _step_failed(step, error, interrupts)
    except BaseException:
        step.cancel()
        raise
    return step.finish(result)


def _step_failed(step: Step, error: Exception, interrupts: Kinds) -> Reply:
    if isinstance(error, interrupts):
        step.withdraw()
        raise error
    return step.fail(error)


def _failed(gate: Gate, entered: Entered, error: Exception, interrupts: Kinds, handled: Kinds) -> Reply:
    if isinstance(error, interrupts):
        gate.withdraw(entered)
        raise error
    if gate.spec.effect != "read" and isinstance(error, handled):
        gate.cancel(entered)
        raise error
    return gate.fail(entered, error)
