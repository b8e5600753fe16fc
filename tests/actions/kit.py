"""Actions for tests: an archive of accounts, and what watches what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints, model_validator
from unabridged import session
from unabridged.actions import Action, Admitted, Command, Grants, Sensitivity

SENTINEL = "SENTINEL-4711"
Id = Annotated[str, StringConstraints(pattern="^[a-z0-9-]{1,20}$", max_length=20), Sensitivity("internal")]
Token = Annotated[str, StringConstraints(max_length=64)]

Ids = Annotated[list[Id], Field(max_length=6)]


class Archive(BaseModel):
    """What the archive of accounts takes."""

    tenant: Id
    account_ids: Ids
    reason: Literal["duplicate", "left"] = "left"
    low: Annotated[int, Field(ge=0)] = 0
    high: int = 9

    @model_validator(mode="after")
    def low_le_high(self) -> Archive:
        if self.low > self.high:
            raise ValueError(f"{self.low} > {self.high}")
        return self


class Archived(BaseModel):
    """What the agent learns."""

    archived: bool
    state: Literal["closed", "open"] | None = None


class Provider:
    """An executor that does what its script says, once a command, and notes the commands."""

    kind = "script"
    origin = "nowhere"

    def __init__(self, script: Mapping[Any, Any] | None = None, *, idempotent: bool = False) -> None:
        self.script = dict(script or {})
        self.commands: list[Command] = []
        self.idempotent = idempotent

    @property
    def targets(self) -> list[Any]:
        return [c.target for c in self.commands]

    def execute(self, command: Command) -> Any:
        self.commands.append(command)
        answer = self.script.get(command.target, {"archived": True})
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer


def archive(executor: Any = None, **changes: Any) -> Action:
    declared: dict[str, Any] = {
        "purpose": "Archives accounts that nobody owns.",
        "verb": "archive",
        "effect": "change",
        "input": Archive,
        "output": Archived,
        "executor": executor or Provider(),
        "targets": "account_ids",
        "authorize": Grants(anyone=["change"]),
        **changes,
    }
    return Action("archive_accounts", **declared)


def admitted(action: Action, args: Mapping[str, Any], s: Any) -> Admitted:
    found = action.admit(args, session=s)
    assert isinstance(found, Admitted), found
    return found


def opened(name: str = "case", **given: Any) -> Any:
    from unabridged.evidence import MemoryLedger

    given.setdefault("ledger", MemoryLedger())
    return session(name, **given)


def raised(call: Callable[[], Any]) -> BaseException:
    """Returns what a call raises, with its traceback."""
    try:
        call()
    except BaseException as error:  # noqa: BLE001 - whatever it is, the test looks at it
        return error
    raise AssertionError("nothing was raised")


def frames(error: BaseException, *, ours: str = "unabridged") -> Iterator[tuple[str, str]]:
    """Yields the locals of our frames as an error tracker writes them, over the chain of an error too."""
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is None:
            continue
        pending += [one.__cause__, one.__context__]
        trace: TracebackType | None = one.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            if frame.f_globals.get("__name__", "").startswith(ours):
                for name, value in frame.f_locals.items():
                    yield f"{frame.f_code.co_name}.{name}", written(value)
            trace = trace.tb_next


def written(value: Any, depth: int = 0) -> str:
    """Returns a value as a tracker writes it: containers opened, the rest by their reprs."""
    if depth < 4 and isinstance(value, Mapping):
        return "".join(f"{written(k, depth + 1)}:{written(v, depth + 1)};" for k, v in value.items())
    if depth < 4 and isinstance(value, list | tuple | set | frozenset):
        return "".join(written(v, depth + 1) for v in value)
    return repr(value)
