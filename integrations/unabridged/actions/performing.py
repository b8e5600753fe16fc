"""Performing an admitted action: one command at a time, each done once, and told to the agent by the allow-list only.

Sync and async share every decision: `Performance.steps` yields commands and is sent what became of each. Values stand
in objects without a telling repr, so that what captures the locals of a frame captures none.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from unabridged.contract import UnabridgedError, id_key

from .executing import Command, Executed
from .failures import BUILT_IN_CODES, ExecutorError, Failure, failure_of
from .outcomes import Outcome, TargetOutcome, outcome_of
from .references import resolve
from .remembering import Memory, NoMemory, ProcessMemory, SessionMemory
from .requests import Admitted
from .values import Unfit, as_json

if TYPE_CHECKING:
    from unabridged.evidence import Session

    from .declaring import Action

_log = logging.getLogger("unabridged.actions")
_WITHOUT_SESSION: Final = ProcessMemory()
_LOOKING: Final = NoMemory()
_NOT_SENT: Final = Failure("provider_retryable", False)


class Ran:
    """What became of a command: a raw value, or a failure. Its repr shows neither."""

    __slots__ = ("failure", "value")

    def __init__(self, value: Any = None, failure: Failure | None = None) -> None:
        self.value = value
        self.failure = failure


class Slot:
    """One thing to do, and what came of it. Its repr shows neither."""

    __slots__ = ("is_again", "key", "outcome", "target")

    def __init__(self, target: Any, key: str) -> None:
        self.target = target
        self.key = key
        self.is_again = False
        """Whether an earlier attempt may have done it."""
        self.outcome: TargetOutcome | None = None

    def ends(self, status: Any, code: str | None = None, output: Any = None) -> None:
        self.outcome = TargetOutcome(self.target, status, code, output)


Steps = Generator[Command, Ran, Outcome]


class Performance:
    """One run of an admitted action.

    Args of the constructor:
        action: the action.
        admitted: what was admitted.
        session: the session, or nothing.
        targets: what is touched, where that is less than was asked for, or comes from a selection.
    """

    __slots__ = ("_action", "_admitted", "_memory", "_output", "_references", "_session", "_slots")

    def __init__(
        self, action: Action, admitted: Admitted, *, session: Session | None, targets: Sequence[Any] | None
    ) -> None:
        self._action = action
        self._admitted = admitted
        self._session = session
        self._references = admitted.references
        self._output: Any = None
        self._memory: Memory = _LOOKING
        if action.is_write:
            self._memory = _WITHOUT_SESSION if session is None else SessionMemory(session)
        self._slots = tuple(self._made(targets))

    def __repr__(self) -> str:
        return f"<Performance of {self._action.name} on {len(self._slots)}>"

    def _made(self, targets: Sequence[Any] | None) -> Iterator[Slot]:
        kept = (self._action.targets, self._action.selection, *self._action.references)
        fields = {n: v for n, v in self._admitted.args.items() if n not in kept}
        what = {"action": self._action.name, "fields": fields, "references": dict(self._references)}
        if self._session is None or not self._action.once:
            what["admission"] = self._admitted.nonce
        if self._action.targets is None:
            yield Slot(None, self._memory.key(what))
            return
        chosen = as_json(self._action.targets_of(self._admitted.args) if targets is None else list(targets))
        if isinstance(chosen, Unfit):
            return
        for target in {id_key(t): t for t in chosen}.values():
            yield Slot(target, self._memory.key({**what, "target": target}))

    def steps(self) -> Steps:
        """Yields the commands that are to be run, is sent what became of each, and returns the outcome."""
        action = self._action
        if not self._slots or not action.takes_targets(self._admitted, [s.target for s in self._slots]):
            return Outcome.failed("target_invalid", [s.target for s in self._slots if action.targets is not None])
        spent = False
        for group in self._groups():
            under = self._key_of(group)
            claimed = [slot for slot in group if self._claim(slot, under)]
            if len(claimed) < len(group):  # the rest would be another command, under another key
                for slot in claimed:
                    self._settle(slot, _NOT_SENT)
                continue
            if not spent and not self._spend():
                for slot in claimed:
                    self._settle(slot, Failure("reference_invalid", False))
                continue
            spent = True
            self._settle_all(claimed, (yield self._command(claimed, under)))
        return self._outcome()

    @staticmethod
    def next_of(steps: Steps, ran: Ran | None = None) -> Command | Outcome:
        """Returns the next command, or the outcome when there is none.

        Args:
            steps: the steps.
            ran: what became of the last command; nothing before the first.
        """
        try:
            return next(steps) if ran is None else steps.send(ran)
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome

    def resolve(self, *, done: bool) -> int:
        """Notes what someone found out about what may have happened; returns of how many targets."""
        return sum(self._memory.resolve(slot.key, done=done) for slot in self._slots)

    def _groups(self) -> list[list[Slot]]:
        """Returns what goes into one command each.

        What may have been done goes out again in the very same command only: in another, under another key, it would be
        done twice.
        """
        if getattr(self._action.executor, "per_target", True):
            return [[slot] for slot in self._slots]
        found: dict[str | None, list[Slot]] = {}
        for slot in self._slots:
            found.setdefault(self._sent_under(slot), []).append(slot)
        return list(found.values())

    def _sent_under(self, slot: Slot) -> str | None:
        try:
            return self._memory.sent_under(slot.key)
        except UnabridgedError:  # its claim fails then, too, and says so
            return None

    def _key_of(self, slots: Sequence[Slot]) -> str:
        return slots[0].key if len(slots) == 1 else self._memory.key([s.key for s in slots])

    def _claim(self, slot: Slot, under: str) -> bool:
        """Tells whether a thing is to be done now, in a command of this key; if not, notes why."""
        again = bool(getattr(self._action.executor, "idempotent", False))
        try:
            claim = self._memory.claim(slot.key, under=under, again=again)
        except UnabridgedError as error:
            _log.error("an action was not run, since that cannot be noted: %s", type(error).__name__)
            slot.ends("failed", "internal")
            return False
        if claim in ("run", "again"):
            slot.is_again = claim == "again"
            return True
        if claim == "done":
            slot.ends("already_done")
        else:
            slot.ends("unknown", "outcome_unknown")
        return False

    def _spend(self) -> bool:
        """Spends the references, right before the first command; what they stand for now is what counts."""
        action = self._action
        if not action.references:
            return True
        found = resolve(self._session, action.kinds, self._admitted.args, action=action.name, spend=True)
        return not found.flawed and dict(found.values) == dict(self._references)

    def _command(self, slots: Sequence[Slot], key: str) -> Command:
        action = self._action
        kept = (action.targets, action.selection, *action.references)
        single = action.targets is not None and len(slots) == 1 and getattr(action.executor, "per_target", True)
        return Command(
            action=action.name,
            fields={n: v for n, v in self._admitted.args.items() if n not in kept},
            target=slots[0].target if single else None,
            targets=tuple(s.target for s in slots) if action.targets is not None else (),
            idempotency_key=key,
            references=self._references,
            max_targets=action.max_targets,
        )

    def _settle_all(self, slots: Sequence[Slot], ran: Ran) -> None:
        failure, document, failed = ran.failure, ran.value, {}
        if isinstance(document, Executed):
            document, failed = document.document, {id_key(t): c for t, c in document.failed.items()}
        output = None
        if failure is None and not failed.keys() <= {id_key(s.target) for s in slots}:
            failure = Failure("provider_invalid_response", True)
        done = [s for s in slots if id_key(s.target) not in failed]
        if failure is None and done:
            try:
                output = None if self._action.reducer is None else self._action.reducer.reduce(document)
            except ExecutorError:
                failure = Failure("provider_invalid_response", True)
        for slot in slots:
            code = failed.get(id_key(slot.target))
            if failure is not None:
                self._settle(slot, failure)
            elif code is not None:
                self._settle(slot, Failure(code if self._is_known(code) else "internal", False))
            else:
                self._memory.settle(slot.key, "done")
                slot.ends("done", None, output if len(slots) == 1 else None)
        if len(slots) > 1 and failure is None:
            self._output = output

    def _settle(self, slot: Slot, failure: Failure) -> None:
        """Notes a failure. That a later attempt did nothing does not say that an earlier one did nothing either."""
        if (failure.may_have_happened or slot.is_again) and self._action.is_write:
            self._memory.settle(slot.key, "unknown")
            slot.ends("unknown", failure.code)
        else:
            self._memory.settle(slot.key, "failed")
            slot.ends("changed" if failure.code == "target_changed" else "failed", failure.code)

    def _is_known(self, code: Any) -> bool:
        return code in BUILT_IN_CODES or code in self._action.errors

    def _outcome(self) -> Outcome:
        outcomes = [s.outcome for s in self._slots if s.outcome is not None]
        if self._action.targets is not None:
            return outcome_of(outcomes, output=self._output)
        (only,) = outcomes
        if only.is_done:
            return Outcome("done", output=only.output, repeated=only.status == "already_done")
        return Outcome("undetermined" if only.status == "unknown" else "failed", only.code)

    def failed(self, error: BaseException) -> Ran:
        """Returns what was raised as one of the closed set of failures."""
        action = self._action
        return Ran(
            failure=failure_of(error, action=action.name, declared=action.errors, diagnostics=action.diagnostics)
        )


def run(performance: Performance, executor: Any) -> Outcome:
    """Performs in sync code. What has to be awaited gets a loop of its own, where this thread runs none."""
    steps = performance.steps()
    command = performance.next_of(steps)
    while isinstance(command, Command):
        command = performance.next_of(steps, _execute(performance, executor, command))
    return command


async def arun(performance: Performance, executor: Any) -> Outcome:
    """Performs without blocking the loop: an executor that is not async runs in a thread.

    One that is cancelled leaves its attempt begun: it may have happened, and is not repeated.
    """
    steps = performance.steps()
    command = performance.next_of(steps)
    while isinstance(command, Command):
        command = performance.next_of(steps, await _aexecute(performance, executor, command))
    return command


def _execute(performance: Performance, executor: Any, command: Command) -> Ran:
    execute = getattr(executor, "execute", None) or executor.aexecute
    try:
        value = execute(command)
        if inspect.isawaitable(value):
            value = _waited_for(value)
    except Exception as error:  # noqa: BLE001 - the executor's boundary: what it raises may quote anything
        return performance.failed(error)
    return Ran(value)


def _waited_for(value: Any) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_wait(value))
    has_begun = not inspect.iscoroutine(value)  # a task runs on, whether it is waited for or not
    if not has_begun:
        value.close()
    _log.error("an executor has to be awaited: perform its action asynchronously")
    raise ExecutorError(code="internal", may_have_happened=has_begun)


async def _wait(value: Any) -> Any:
    return await value


async def _aexecute(performance: Performance, executor: Any, command: Command) -> Ran:
    try:
        if callable(getattr(executor, "aexecute", None)):
            value = await executor.aexecute(command)
        elif getattr(executor, "is_async", False):
            value = await executor.execute(command)
        else:
            value = await asyncio.to_thread(executor.execute, command)
            if inspect.isawaitable(value):
                value = await value
    except Exception as error:  # noqa: BLE001 - the executor's boundary: what it raises may quote anything
        return performance.failed(error)
    return Ran(value)
