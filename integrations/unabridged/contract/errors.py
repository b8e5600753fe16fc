"""The errors of the toolkit.

```
UnabridgedError
├── InvalidInput          an argument, a URL or a file breaks a rule
│   ├── ProfileError      a profile breaks a rule of its format
│   └── CaseError         a replay case breaks a rule of its format
├── ContractViolation     a result document contradicts itself
├── NotYetSupported       the format knows the feature, this version does not
├── NotComplete           a caller demanded a complete read and has none
├── UnresolvedHandle      a handle that this session does not know
├── LedgerUnavailable     what a session has read cannot be looked up or written down
├── TicketRefused         a token that is not good for what it was presented for
└── MissingExtra          an optional dependency is not installed
```

None of them derives from `ValueError`: pydantic would wrap it and attach the value that was refused.
No message holds a value, a body or a token; messages name a field and a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Self, TypeVar

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-\[\]@:]{0,79}\Z")

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


def printable_name(name: object) -> str:
    """Returns `name` when it looks like a field name, else a placeholder: a key can be a value in disguise."""
    return name if isinstance(name, str) and _NAME.match(name) else "<name>"


class UnabridgedError(Exception):
    """The base of every error that this toolkit raises on purpose. Keyword fields; pickle and copy survive."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        super().__init__(self._message(**fields))

    def _message(self, **fields: Any) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in fields.items())

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.fields)

    def __copy__(self) -> Self:
        return type(self)(**self.fields)


def _rebuild(kind: type[UnabridgedError], fields: dict[str, Any]) -> UnabridgedError:
    return kind(**fields)


def value_free(function: Callable[_Given, _Made]) -> Callable[_Given, _Made]:
    """Lets the errors of a function leave without the errors that led to them.

    `raise ... from None` hides those from a traceback only: `__context__` would still carry what was refused.
    """

    @wraps(function)
    def checked(*args: _Given.args, **kwargs: _Given.kwargs) -> _Made:
        try:
            return function(*args, **kwargs)
        except UnabridgedError as error:
            error.__context__ = error.__cause__ = None
            raise

    return checked


class InvalidInput(UnabridgedError):
    """An input breaks a rule.

    Args of the constructor:
        field: the dotted name of the field.
        rule: what the field must be.
    """

    def __init__(self, *, field: str, rule: str) -> None:
        super().__init__(field=field, rule=rule)

    def _message(self, **fields: Any) -> str:
        return f"{fields['field']}: {fields['rule']}"


class ProfileError(InvalidInput):
    """A profile breaks a rule of its format."""


class CaseError(InvalidInput):
    """A replay case breaks a rule of its format."""


class ContractViolation(UnabridgedError):
    """A result document contradicts itself or lacks what its form demands.

    Args of the constructor:
        rule: the name of the rule, such as `complete_has_no_reasons`.
        field: the field where it was broken.
    """

    def __init__(self, *, rule: str, field: str = "") -> None:
        super().__init__(rule=rule, field=field)

    def _message(self, **fields: Any) -> str:
        where = f" at {fields['field']}" if fields["field"] else ""
        return f"the result breaks the rule {fields['rule']}{where}"


class NotYetSupported(UnabridgedError):
    """The format knows the feature, this version of the toolkit does not."""

    def __init__(self, *, feature: str) -> None:
        super().__init__(feature=feature)

    def _message(self, **fields: Any) -> str:
        return f"{fields['feature']} is not yet supported"


class NotComplete(UnabridgedError):
    """A caller demanded a complete read; the read is something else."""

    def __init__(self, *, status: str, codes: tuple[str, ...]) -> None:
        super().__init__(status=status, codes=codes)

    def _message(self, **fields: Any) -> str:
        codes = ", ".join(fields["codes"])
        return f"the read is {fields['status']}, not complete ({codes}); see its continuation for how to go on"


class UnresolvedHandle(UnabridgedError):
    """A handle is unknown to this session: never issued here, already forgotten, or of another session."""

    def __init__(self) -> None:
        super().__init__()

    def _message(self, **fields: Any) -> str:
        return "the handle is not known in this session; read again to get a new one"


class LedgerUnavailable(UnabridgedError):
    """What a session has read cannot be looked up or written down: its ledger is away, slow, or refused."""

    def __init__(self, *, why: str = "it cannot be reached") -> None:
        super().__init__(why=why)

    def _message(self, **fields: Any) -> str:
        return f"the ledger is not available: {fields['why']}"


class TicketRefused(UnabridgedError):
    """A token is not good for what it was presented for. Which part of it failed is not told.

    It may be forged, expired or spent, or hold for another session, action or audience.
    """

    def __init__(self) -> None:
        super().__init__()

    def _message(self, **fields: Any) -> str:
        return "the ticket is not valid here"


class MissingExtra(UnabridgedError):
    """An optional dependency is not installed."""

    def __init__(self, *, extra: str, module: str) -> None:
        super().__init__(extra=extra, module=module)

    def _message(self, **fields: Any) -> str:
        return f"{fields['module']} is not installed; run: pip install 'unabridged[{fields['extra']}]'"
