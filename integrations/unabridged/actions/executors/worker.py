"""The process of an executor: `python -m unabridged.actions.executors.worker`, started by `ProcessExecutor`.

It makes the executor, credential and all, takes commands in, and gives out codes and the fields of the declared output
models. What goes wrong is written to its standard error, which is a protected file or nothing. It ends with the process
that started it.
"""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import inspect
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from typing import Any, Final

from unabridged.actions.executing import Command, Executed
from unabridged.actions.failures import ExecutorError, failure_of
from unabridged.actions.outputs import Output

from ._frames import MAX_COMMAND_BYTES, packed, receive, send

_LOOK_S: Final = 0.2
_NOT_DUMPABLE: Final = 4
"""`PR_SET_DUMPABLE` of Linux: with 0, others of the same user read neither the memory nor the environment."""


def main() -> None:
    """Serves one parent until it closes the connection, or ends."""
    channel = _channel()
    _hide()
    hello = receive(channel, most=MAX_COMMAND_BYTES, until=None)
    if isinstance(hello, str):
        return
    threading.Thread(target=_end_with, args=(hello["parent"],), daemon=True).start()
    serving = _served(hello)
    ready = packed({"ready": serving is not None}, most=MAX_COMMAND_BYTES)
    if serving is None or ready is None or send(channel, ready, until=None):
        return
    while True:
        message = receive(channel, most=MAX_COMMAND_BYTES, until=None)
        if isinstance(message, str):
            return
        begun = packed({"begun": True}, most=MAX_COMMAND_BYTES)
        if begun is None or send(channel, begun, until=None):
            return
        answer = serving.answer(message)
        data = packed(answer, most=hello["max_answer_bytes"])
        if data is None:
            data = packed({"code": "provider_invalid_response", "may_have_happened": True}, most=MAX_COMMAND_BYTES)
        if data is None or send(channel, data, until=None):
            return


class Serving:
    """An executor and what may come out of it.

    Args of the constructor:
        executor: the executor.
        outputs: by action, the model of what may come out; without one nothing does.
    """

    def __init__(self, executor: Any, outputs: Mapping[str, Output]) -> None:
        self._executor = executor
        self._outputs = outputs

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the declared fields of what a command brought, or a code."""
        try:
            command = Command.from_message(message)
        except Exception:  # noqa: BLE001 - the outermost boundary of this process
            return {"code": "internal", "may_have_happened": False}
        try:
            return self._executed(command)
        except BaseException as error:  # noqa: BLE001 - the outermost boundary of this process
            traceback.print_exception(error)
            if isinstance(error, ExecutorError):
                return {"code": str(error.fields["code"]), "may_have_happened": error.fields["may_have_happened"]}
            failure = failure_of(error, action=command.action, declared=(), diagnostics=None)
            return {"code": failure.code, "may_have_happened": failure.may_have_happened}

    def _executed(self, command: Command) -> dict[str, Any]:
        run = getattr(self._executor, "execute", None) or self._executor.aexecute
        raw = run(command)
        if inspect.isawaitable(raw):
            raw = asyncio.run(_awaited(raw))
        failed = [[target, code] for target, code in raw.failed.items()] if isinstance(raw, Executed) else None
        raw = raw.document if isinstance(raw, Executed) else raw
        output = self._outputs.get(command.action)
        answer = {"output": None if output is None else output.reduce(raw)}
        return answer if failed is None else {**answer, "failed": failed}


async def _awaited(what: Any) -> Any:
    return await what


def named(path: str) -> Any:
    """Returns what stands at `module:attribute`."""
    module, _, attribute = path.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def _served(hello: Mapping[str, Any]) -> Serving | None:
    try:
        outputs = {action: Output(named(path)) for action, path in hello["outputs"].items()}
        return Serving(named(hello["factory"])(**hello["options"]), outputs)
    except BaseException as error:  # noqa: BLE001 - the outermost boundary of this process
        traceback.print_exception(error)
        return None


def _channel() -> socket.socket:
    """Takes the connection away from standard input, and gives nobody who prints a way into it."""
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return channel


def _hide() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_NOT_DUMPABLE, 0, 0, 0, 0)


def _end_with(parent: int) -> None:
    """Ends this process at once when its parent has ended, in the midst of a command too."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)


if __name__ == "__main__":
    main()
