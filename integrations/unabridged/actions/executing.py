"""What an executor is given and what it gives back. Credentials are its own; a command holds none."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from unabridged.contract import InvalidInput

_NOTHING: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One thing to do. Its repr shows no value, and it cannot be pickled.

    Attributes:
        action: the action's name.
        fields: the validated fields as JSON values, without the targets, the references and the selection.
        target: the one id that it is about; nothing for an action without targets, or one that takes them in one.
        targets: all ids that it is about.
        idempotency_key: the same for each attempt at the same thing in a session; 64 hex digits.
        references: what the references stand for, by field.
        max_targets: how many records it may touch at most; `None` where the targets say so.
    """

    action: str
    fields: Mapping[str, Any] = field(repr=False)
    target: Any = field(default=None, repr=False)
    targets: tuple[Any, ...] = field(default=(), repr=False)
    idempotency_key: str = field(repr=False)
    references: Mapping[str, Any] = field(default_factory=dict, repr=False)
    max_targets: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a command cannot be pickled: it holds values; send to_message() where they must go")

    def to_message(self) -> dict[str, Any]:
        """Returns it as JSON, with its values, for a process that executes it."""
        return {
            "action": self.action,
            "fields": dict(self.fields),
            "target": self.target,
            "targets": list(self.targets),
            "idempotency_key": self.idempotency_key,
            "references": dict(self.references),
            "max_targets": self.max_targets,
        }

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Command:
        """Returns the command of `to_message`."""
        return cls(**{**message, "targets": tuple(message["targets"])})


@dataclass(frozen=True, slots=True)
class Executed:
    """What an executor may return instead of a document, when it took several targets in one command.

    Attributes:
        document: the raw document, or nothing.
        failed: targets that it did not do, each with its code.
    """

    document: Any = field(default=None, repr=False)
    failed: Mapping[Any, str] = field(default_factory=dict, repr=False)


@runtime_checkable
class Executor(Protocol):
    """Does what an action says. It raises `ExecutorError`; any other exception counts as `internal`.

    Besides `execute` it may have `aexecute`, its twin to be awaited, and these attributes: `idempotent` (whether two
    commands of one key have the effect of one; false when absent), `kind` and `origin` (for the data map), `per_target`
    (false: it takes all targets in one command; true when absent).
    """

    def execute(self, command: Command) -> Any:
        """Returns the raw document of one command; the action reduces it to what it declares."""
        ...


class FunctionExecutor:
    """Executes by a function of one command, sync or async.

    Args of the constructor:
        function: `(command) -> document`.
        idempotent: whether two calls with one key have the effect of one.
        per_target: false where one call takes all targets.
    """

    kind: Final = "function"

    def __init__(
        self, function: Callable[[Command], Any], *, idempotent: bool = False, per_target: bool = True
    ) -> None:
        check_takes_a_command(function)
        self._function = function
        self.idempotent = idempotent
        self.per_target = per_target
        self.is_async = inspect.iscoroutinefunction(function)

    def __repr__(self) -> str:
        return f"<FunctionExecutor {self.origin}>"

    @property
    def origin(self) -> str:
        """The module and name of the function."""
        name = getattr(self._function, "__qualname__", type(self._function).__qualname__)
        return f"{getattr(self._function, '__module__', '?')}:{name}"

    def execute(self, command: Command) -> Any:
        """Returns what the function gives; something to await where it is async."""
        return self._function(command)


def check_takes_a_command(function: Any) -> None:
    """Refuses a function that does not take just one command.

    Raises:
        InvalidInput: it is no function, takes more, or takes whatever it is given.
    """
    if not callable(function):
        raise InvalidInput(field="executor", rule="must be an Executor or a function of one command")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return
    if any(p.kind is p.VAR_KEYWORD or p.kind is p.VAR_POSITIONAL for p in parameters):
        raise InvalidInput(field="executor", rule="must take one command, and no *args or **kwargs")
    needed = [p for p in parameters if p.default is p.empty]
    if len(needed) != 1 or needed[0].kind is needed[0].KEYWORD_ONLY:
        raise InvalidInput(field="executor", rule="must take one command, and no *args or **kwargs")


def executor_of(given: Any) -> Any:
    """Returns an executor as it is, and a function as one.

    Raises:
        InvalidInput: it is neither.
    """
    if callable(getattr(given, "execute", None)) or callable(getattr(given, "aexecute", None)):
        return given
    return FunctionExecutor(given)
