"""Running the body of a tool that was let in: whatever happens there ends as a reply, or passes as what it is.

This is the outermost tool boundary. An interruption takes the read back, a cancellation records it as unavailable, and
an error is told without its text.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from unabridged._ambient import Boxed
from unabridged.contract import printable_name

from .followup import Step
from .frames import emptied
from .presenting import Reply
from .refusing import MUST_WAIT, guard_failed
from .runtime import Entered, Fault, Gate
from .steps import MustWait, adrive, drive
from .values import kind_of

_log = logging.getLogger("unabridged.gate")

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
    if entered.write is not None and (refused := before(gate, entered, interrupts=interrupts)) is not None:
        return refused
    try:
        with entered.scope():
            held = Boxed(entered.write.perform() if entered.acts and entered.write is not None else body())
    except Exception as error:  # noqa: BLE001 - the outermost tool boundary
        fault = _fault(gate, entered, error, interrupts, handled)
    except BaseException as error:
        gate.cancel(entered)
        emptied(error)
        raise
    else:
        return gate.leave(entered, held.take())
    return gate.fail(entered, fault)


async def arun_body(
    gate: Gate,
    entered: Entered,
    body: Callable[[], Awaitable[Any]],
    *,
    interrupts: Kinds = (),
    handled: Kinds = (),
) -> Reply:
    """As `run_body`, for a coroutine."""
    if entered.write is not None and (refused := await abefore(gate, entered, interrupts=interrupts)) is not None:
        return refused
    try:
        with entered.scope():
            held = Boxed(await (entered.write.aperform() if entered.acts and entered.write is not None else body()))
    except Exception as error:  # noqa: BLE001 - the outermost tool boundary
        fault = _fault(gate, entered, error, interrupts, handled)
    except BaseException as error:
        gate.cancel(entered)
        emptied(error)
        raise
    else:
        return gate.leave(entered, held.take())
    return gate.fail(entered, fault)


def before(gate: Gate, entered: Entered, *, interrupts: Kinds = ()) -> Reply | None:
    """Does what must be done right before the body of a write; returns the refusal where it may not run.

    A person is asked, tickets are spent, targets are looked at again, and the intent is written down. What fails
    refuses.
    """
    if entered.write is None:
        return None
    try:
        with entered.scope():
            return drive(entered.write.before())
    except interrupts:
        raise
    except Exception as error:  # noqa: BLE001 - the outermost tool boundary: a guard that fails refuses
        fault, why = kind_of(error), MUST_WAIT if isinstance(error, MustWait) else None
    return _refused(gate, fault, why)


async def abefore(gate: Gate, entered: Entered, *, interrupts: Kinds = ()) -> Reply | None:
    """As `before`, without blocking."""
    if entered.write is None:
        return None
    try:
        with entered.scope():
            return await adrive(entered.write.before())
    except interrupts:
        raise
    except Exception as error:  # noqa: BLE001 - the outermost tool boundary: a guard that fails refuses
        fault, why = kind_of(error), MUST_WAIT if isinstance(error, MustWait) else None
    return _refused(gate, fault, why)


def _refused(gate: Gate, fault: str, why: str | None) -> Reply:
    _log.error("the guard failed on %s with %s", printable_name(gate.name), fault)
    return guard_failed(gate.name, why=why)


def run_step(step: Step, *, interrupts: Kinds = ()) -> Reply:
    """Asks the source that a `continue_read` must ask and returns the reply.

    Args:
        step: what is to be asked.
        interrupts: what the framework raises to pause a run: it passes, and the step is withdrawn.
    """
    try:
        result = step.resume.read()
    except Exception as error:  # noqa: BLE001 - the outermost tool boundary
        fault = _fault_of_step(step, error, interrupts)
    except BaseException as error:
        step.cancel()
        emptied(error)
        raise
    else:
        return step.finish(result)
    return step.fail(fault)


async def arun_step(step: Step, *, interrupts: Kinds = ()) -> Reply:
    """As `run_step`, for a coroutine."""
    try:
        result = await step.resume.aread()
    except Exception as error:  # noqa: BLE001 - the outermost tool boundary
        fault = _fault_of_step(step, error, interrupts)
    except BaseException as error:
        step.cancel()
        emptied(error)
        raise
    else:
        return step.finish(result)
    return step.fail(fault)


def _fault_of_step(step: Step, error: Exception, interrupts: Kinds) -> str:
    if isinstance(error, interrupts):
        step.withdraw()
        raise emptied(error)
    return kind_of(error)


def _fault(gate: Gate, entered: Entered, error: Exception, interrupts: Kinds, handled: Kinds) -> Fault:
    """Returns what may be known of an error of the body; one that passes is raised again."""
    if isinstance(error, interrupts):
        gate.withdraw(entered)
        raise emptied(error)
    if gate.spec.effect != "read" and isinstance(error, handled):
        gate.cancel(entered)
        raise emptied(error)
    return Fault.of(error)
