"""An executor in a process of its own: the process of the agent never holds the credential."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from unabridged._ambient import Boxed
from unabridged.actions.executing import Command, Executed
from unabridged.actions.failures import ExecutorError
from unabridged.contract import InvalidInput, NotYetSupported

from ._frames import MAX_COMMAND_BYTES, Lost, packed, receive, send

_log = logging.getLogger("unabridged.actions")
_WORKER: Final = "unabridged.actions.executors.worker"
_LAST_S: Final = 5.0


class ProcessExecutor:
    """Runs an executor in processes of its own. Commands go in; declared outputs and codes come out, nothing else.

    The executor is made there, by a factory that is named and not handed over, so that its credential is read there.
    The processes inherit no environment but what `inherit` names, and end with the process that started them.
    They are started when first needed, and anew after one has died. One command at a time runs in each.

    A process that dies or hangs in the midst of a command leaves it unknown whether it was carried out: the error says
    `may_have_happened`, and nothing is sent again.

    Args of the constructor:
        factory: `module:callable`; it takes `options` by name and returns the executor.
        options: what the factory takes, as JSON. Not a place for a credential: this process has it.
        outputs: by action, the `module:Model` of what may come out. Of an action without one nothing does but success.
        processes: how many there are at most, and so how many commands run at a time.
        timeout_s: how long a command may run before its process is killed, and how long one may wait for its turn.
        start_s: how long a process may take to start.
        max_answer_bytes: how long an answer may be.
        inherit: names of environment variables that the processes need, such as `HOME`.
        diagnostics: a file for what the processes write to their standard error: tracebacks, and what a provider said.
            It is made for its owner only. Without one it is lost.
        idempotent: whether two commands of one key have the effect of one.
        per_target: false where one command takes all targets.

    Raises:
        InvalidInput: an argument breaks its rule.
        NotYetSupported: the platform has no connected sockets that a process can inherit.
    """

    kind: Final = "process"

    def __init__(
        self,
        factory: str,
        *,
        options: Mapping[str, Any] | None = None,
        outputs: Mapping[str, str] | None = None,
        processes: int = 1,
        timeout_s: float = 60.0,
        start_s: float = 60.0,
        max_answer_bytes: int = 1024 * 1024,
        inherit: Sequence[str] = (),
        diagnostics: str | os.PathLike[str] | None = None,
        idempotent: bool = False,
        per_target: bool = True,
    ) -> None:
        if os.name != "posix":
            raise NotYetSupported(feature="an executor in a process of its own on this platform")
        for where, path in (("factory", factory), *(("outputs", p) for p in (outputs or {}).values())):
            if not _is_path(path):
                raise InvalidInput(field=where, rule="must be module:name")
        if not 1 <= processes <= 64 or timeout_s <= 0 or start_s <= 0 or max_answer_bytes < 1:
            raise InvalidInput(field="processes", rule="must be 1 to 64, with times and a size above 0")
        hello = {"factory": factory, "options": dict(options or {}), "outputs": dict(outputs or {})}
        if packed(hello, most=MAX_COMMAND_BYTES // 2) is None:
            raise InvalidInput(field="options", rule="must be JSON, 2 MiB at most")
        self.idempotent = idempotent
        self.per_target = per_target
        self.origin = factory
        self._timeout_s = timeout_s
        self._hello = {**hello, "max_answer_bytes": max_answer_bytes}
        self._plan = _Plan(
            self._hello, tuple(inherit), None if diagnostics is None else os.fspath(diagnostics), start_s
        )
        self._pool = _Pool(processes)
        self._most = max_answer_bytes
        self._close = weakref.finalize(self, _Pool.close, self._pool)
        _pools.add(self._pool)

    def __repr__(self) -> str:
        return f"<ProcessExecutor {self.__dict__.get('origin', '')}>"

    def __deepcopy__(self, _: Any) -> ProcessExecutor:
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise InvalidInput(field="executor", rule="is never pickled: make it in the process that uses it")

    def __enter__(self) -> ProcessExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes, those in the midst of a command too. A later command is refused."""
        self._close()

    def execute(self, command: Command) -> Any:
        """Returns the declared fields of what the command brought.

        Raises:
            ExecutorError: with a code, and whether the effect may be there all the same.
        """
        return _given(self._answer(command))

    async def aexecute(self, command: Command) -> Any:
        """As `execute`, beside the event loop. A command that is cancelled runs on; it is not known what came of it."""
        return await asyncio.to_thread(self.execute, command)

    def _answer(self, command: Command) -> Any:
        data = packed(command.to_message(), most=MAX_COMMAND_BYTES)
        if data is None:
            return ExecutorError(code="internal")
        pool = self._pool
        if not pool.enter(self._timeout_s):
            return ExecutorError(code="provider_retryable")
        held = Boxed(data)
        del data  # it holds the command's values, and an error would show them
        try:
            idle = pool.idle()
            answer = None if idle is None else self._asked(idle, held)
            if answer is not None:
                return answer
            child = _start(self._plan, pool)
            if child is None:
                _log.error("the process of an executor did not start; its diagnostics, if it keeps any, say why")
                return ExecutorError(code="provider_retryable")
            answer = self._asked(child, held)
            return ExecutorError(code="provider_retryable") if answer is None else answer
        finally:
            pool.leave()

    def _asked(self, child: _Child, data: Boxed[bytes]) -> Any:
        """Returns what a process answered; nothing where it was gone before it began, and so did nothing."""
        pool = self._pool
        try:
            answer, is_sound = child.ask(data, timeout_s=self._timeout_s, most=self._most)
        except BaseException:
            pool.drop(child)
            raise
        (pool.keep if is_sound else pool.drop)(child)
        return answer


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to start a process."""

    hello: Mapping[str, Any] = field(repr=False)
    inherit: tuple[str, ...]
    diagnostics: str | None
    start_s: float

    def environment(self) -> dict[str, str]:
        """Returns the whole environment of a process."""
        paths = [os.getcwd() if path == "" else path for path in sys.path]
        named = {name: os.environ[name] for name in self.inherit if name in os.environ}
        return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PYTHONPATH": os.pathsep.join(paths), **named}


class _Document:
    """What an answer holds, also when that is nothing. Its repr does not show it."""

    __slots__ = ("value",)

    def __init__(self, value: dict[str, Any] | None) -> None:
        self.value = value


class _Child:
    """One process and the connection to it."""

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket) -> None:
        self.process = process
        self._channel = channel

    def ask(self, data: Boxed[bytes], *, timeout_s: float, most: int) -> tuple[Any, bool]:
        """Returns a document or an `ExecutorError`, and whether the process is fit for another command.

        The answer is nothing where the process was gone before it began the command: it was not carried out, since it
        says that it begins before it does, and what it said can be read after its end.
        """
        until = time.monotonic() + timeout_s
        lost = send(self._channel, data.value, until=until)
        has_begun = False
        while lost is None:
            message = receive(self._channel, most=most + 256, until=until)
            if isinstance(message, str):
                lost = message
            elif message == {"begun": True} and not has_begun:
                has_begun = True
            else:
                answer = _read(message) if has_begun else None
                return (answer, True) if answer is not None else (_lost("malformed"), False)
        is_gone = lost == "closed" or (lost == "broken" and self._channel.fileno() >= 0)
        return (None if is_gone and not has_begun else _lost(lost)), False

    def greet(self, plan: _Plan) -> bool:
        """Tells the process what to make; returns whether it could."""
        until = time.monotonic() + plan.start_s
        data = packed({**plan.hello, "parent": os.getpid()}, most=MAX_COMMAND_BYTES)
        if data is None or send(self._channel, data, until=until):
            return False
        return receive(self._channel, most=256, until=until) == {"ready": True}

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def end(self) -> None:
        """Kills the process and what it started."""
        with suppress(OSError):
            self._channel.close()
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_LAST_S)

    def disown(self) -> None:
        """Lets go of a process of another process, after a fork."""
        with suppress(OSError):
            self._channel.close()
        self.process.returncode = 0


class _Pool:
    """The processes of an executor. It belongs to the process that made it; after a fork it is empty."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._all: list[_Child] = []
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._most)
        self._idle: list[_Child] = []

    def forget(self) -> None:
        """Begins anew in a process that was forked off: the children are its parent's."""
        for child in self._all:
            child.disown()
        self._all = []
        self._begin()

    def enter(self, timeout_s: float) -> bool:
        """Waits for its turn; false where it did not come, or the executor is closed."""
        if self._is_closed or not self._slots.acquire(timeout=timeout_s):
            return False
        if self._is_closed:
            self._slots.release()
            return False
        return True

    def leave(self) -> None:
        """Gives the turn to another."""
        self._slots.release()

    def idle(self) -> _Child | None:
        """Returns a process that waits for a command, if there is one."""
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None or child.is_alive():
                return child
            self.drop(child)

    def add(self, child: _Child) -> bool:
        """Notes a process that was started; false where the executor was closed meanwhile."""
        with self._lock:
            if not self._is_closed:
                self._all.append(child)
            return not self._is_closed

    def keep(self, child: _Child) -> None:
        """Keeps a process for the next command."""
        with self._lock:
            if not self._is_closed:
                self._idle.append(child)
                return
        child.end()

    def drop(self, child: _Child) -> None:
        """Ends a process."""
        with self._lock:
            if child in self._all:
                self._all.remove(child)
        child.end()

    def close(self) -> None:
        """Ends all processes, in the process that started them."""
        if self._pid != os.getpid():
            return
        with self._lock:
            self._is_closed = True
            children, self._all, self._idle = self._all, [], []
        for child in children:
            child.end()


def _start(plan: _Plan, pool: _Pool) -> _Child | None:
    ours, theirs = socket.socketpair()
    errors = subprocess.DEVNULL if plan.diagnostics is None else _file(plan.diagnostics)
    if errors is None:
        ours.close()
        theirs.close()
        return None
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", _WORKER],
            stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=errors,
            env=plan.environment(), start_new_session=True, close_fds=True,
        )  # fmt: skip
    except OSError:
        ours.close()
        return None
    finally:
        theirs.close()
        if errors >= 0:
            os.close(errors)
    child = _Child(process, ours)
    if pool.add(child) and child.greet(plan):
        return child
    pool.drop(child)
    return None


def _file(path: str) -> int | None:
    """Opens a file to append to, made for its owner only; nothing where others could read it."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    if os.fstat(descriptor).st_mode & 0o077:
        os.close(descriptor)
        return None
    return descriptor


def _read(message: Mapping[str, Any]) -> Any:
    """Returns what an answer says: a document or an `ExecutorError`. Nothing, where it is no answer."""
    match message:
        case {"code": str(code), "may_have_happened": bool(may), **rest} if not rest:
            return ExecutorError(code=code, may_have_happened=may)
        case {"output": None | dict() as document, "failed": list(failed), **rest} if not rest:
            fits = all(isinstance(f, list) and len(f) == 2 and isinstance(f[0], str | int) for f in failed)
            return Executed(document, {target: str(code) for target, code in failed}) if fits else None
        case {"output": None | dict() as document, **rest} if not rest:
            return _Document(document)
    return None


def _lost(why: Lost) -> ExecutorError:
    """Returns what became of a command whose answer did not come, though it may have been begun."""
    return ExecutorError(code="timeout" if why == "timeout" else "internal", may_have_happened=True)


def _given(answer: Any) -> Any:
    if isinstance(answer, ExecutorError):
        raise answer
    return answer.value if isinstance(answer, _Document) else answer


def _is_path(path: object) -> bool:
    if not isinstance(path, str):
        return False
    module, colon, name = path.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *name.split(".")))


_pools: weakref.WeakSet[_Pool] = weakref.WeakSet()


def _forget_after_fork() -> None:
    for pool in list(_pools):
        pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
