"""Executors that a test has made in a process of their own, by name."""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import stat
import sys
import time
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints
from unabridged.actions.executing import Command, Executed
from unabridged.actions.executors import FromFile, HttpExecutor, Route
from unabridged.actions.failures import ExecutorError
from unabridged.actions.fields import Sensitivity

Word = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_.:/-]+$", max_length=200), Sensitivity("internal")]


class Done(BaseModel):
    """What may come out."""

    state: Word
    pid: int = 0


class Names(BaseModel):
    """Names of environment variables, and of what else a process can see of itself."""

    names: Annotated[list[Word], Field(max_length=200)]
    argv: Annotated[list[Word], Field(max_length=20)]


class Puppet:
    """Does what the field `do` says."""

    def __init__(self, folder: str, token: str | None = None) -> None:
        self.folder = Path(folder)
        self.secret = None if token is None else FromFile(token).take()

    def execute(self, command: Command) -> Any:
        print("this goes to standard output")
        return getattr(self, str(command.fields["do"]))(command)

    def done(self, command: Command) -> Any:
        return {"state": "done", "pid": os.getpid(), "note": "CANARY", "nested": {"note": "CANARY"}}

    def digest(self, command: Command) -> Any:
        assert self.secret is not None
        return {"state": hashlib.sha256(self.secret.reveal().encode()).hexdigest()}

    def look(self, command: Command) -> Any:
        line = Path("/proc/self/cmdline").read_bytes() if Path("/proc/self/cmdline").exists() else b""
        return {"names": sorted(os.environ), "argv": [part.decode() for part in line.split(b"\0")[1:] if part]}

    def hidden(self, command: Command) -> Any:
        """Tells what Linux says of the memory: 0 where others of the same user cannot read it."""
        return {"state": str(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))}

    def fails(self, command: Command) -> Any:
        raise ExecutorError(code="reference_invalid")

    def raises(self, command: Command) -> Any:
        secret = "" if self.secret is None else self.secret.reveal()
        raise RuntimeError(f"CANARY {secret}")

    def exits(self, command: Command) -> Any:
        sys.exit("CANARY")

    def dies(self, command: Command) -> Any:
        self.note("begun")
        os.kill(os.getpid(), signal.SIGKILL)

    def hangs(self, command: Command) -> Any:
        self.note("begun")
        time.sleep(600)

    def waits(self, command: Command) -> Any:
        """Notes that it has begun, and goes on when the test says so."""
        self.note(f"begun-{command.target}")
        while not (self.folder / "go").exists():
            time.sleep(0.02)
        return {"state": str(command.target), "pid": os.getpid()}

    def long(self, command: Command) -> Any:
        return {"state": "x" * 200}

    def wrong(self, command: Command) -> Any:
        return {"state": 7, "note": "CANARY"}

    def some(self, command: Command) -> Any:
        return Executed({"state": "done"}, {"a-2": "recipient_unavailable"})

    def note(self, name: str) -> None:
        (self.folder / name).write_text(str(os.getpid()))


class Awaited(Puppet):
    """The same, to be awaited only."""

    execute = None  # type: ignore[assignment] # it has the asynchronous twin only

    async def aexecute(self, command: Command) -> Any:
        return getattr(self, str(command.fields["do"]))(command)


class Babbling(Puppet):
    """Writes into the connection behind the back of its process."""

    def execute(self, command: Command) -> Any:
        for descriptor in range(3, 64):
            try:
                if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                    os.write(descriptor, bytes.fromhex(str(command.fields["bytes"])))
            except OSError:
                continue
        time.sleep(600)


def broken(**_: Any) -> Any:
    """A factory that fails."""
    raise RuntimeError("CANARY")


def over_http(origin: str, token: str) -> HttpExecutor:
    """An executor that speaks HTTP, with its credential in a file."""
    return HttpExecutor(
        origin=origin, routes={"archive": Route("POST", "/x", unused=["do"])}, credential=FromFile(token)
    )


def archiving(origin: str, token: str) -> HttpExecutor:
    """An executor of the action that the tests share."""
    route = Route("POST", "/{tenant}/accounts/{target}", body=["reason"], unused=["low", "high"])
    return HttpExecutor(origin=origin, routes={"archive_accounts": route}, credential=FromFile(token))
