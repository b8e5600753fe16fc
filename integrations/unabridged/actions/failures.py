"""How an action can fail: a closed set of codes. What a provider or an exception says goes to a hook, never further."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from unabridged.contract import InvalidInput, UnabridgedError

BuiltInCode = Literal[
    "reference_invalid",
    "recipient_unavailable",
    "provider_retryable",
    "provider_rejected",
    "provider_invalid_response",
    "target_changed",
    "target_invalid",
    "outcome_unknown",
    "timeout",
    "internal",
]
BUILT_IN_CODES: Final[tuple[BuiltInCode, ...]] = get_args(BuiltInCode)
"""The codes that every action has; an action may declare more.

`reference_invalid`: a reference is not good any more. `recipient_unavailable`: whom it is for cannot be reached.
`provider_retryable`: the provider could not, and may be asked again. `provider_rejected`: it would not.
`provider_invalid_response`: it answered in a form that was not declared. `target_changed`: the target is not what was
read. `target_invalid`: an id has not the declared form. `timeout`: it did not answer in time. `outcome_unknown`: an
earlier attempt may have done it. `internal`: something else, on our side.
"""
_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
_log = logging.getLogger("unabridged.actions")


class ExecutorError(UnabridgedError):
    """An executor could not do what it was told. It carries a code and no text of the provider.

    Args of the constructor:
        code: one of `BUILT_IN_CODES`, or one that the action declares; any other counts as `internal`.
        may_have_happened: whether the effect may be there all the same, as after a timeout of a request that was sent.
            Such a call is not made again, unless the executor is idempotent.
    """

    def __init__(self, *, code: str, may_have_happened: bool = False) -> None:
        super().__init__(code=code, may_have_happened=may_have_happened)

    def _message(self, **fields: Any) -> str:
        code = fields["code"]
        return f"the executor failed: {code if isinstance(code, str) and _CODE.match(code) else 'internal'}"

    @property
    def retryable(self) -> bool:
        """Whether the same call may be made again."""
        return self.fields["code"] == "provider_retryable" and not self.fields["may_have_happened"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a command brought nothing.

    Attributes:
        code: one of the closed set.
        may_have_happened: whether its effect may be there all the same.
    """

    code: str
    may_have_happened: bool


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What the protected hook is given, and nobody else.

    Attributes:
        action: the action's name.
        code: the code that the agent is told.
        error: what was raised. Its text and its frames may hold anything.
    """

    action: str
    code: str
    error: BaseException = field(repr=False)


Diagnostics = Callable[[Diagnostic], Any]


def check_codes(codes: Collection[str]) -> tuple[str, ...]:
    """Returns the codes that an action declares.

    Raises:
        InvalidInput: one is no code, is built in, or stands there twice.
    """
    found = tuple(codes) if not isinstance(codes, str) else ()
    if isinstance(codes, str) or any(not isinstance(c, str) or not _CODE.match(c) for c in found):
        raise InvalidInput(field="errors", rule="must be a list of codes: small letters, digits and _, 40 at most")
    if set(found) & set(BUILT_IN_CODES):
        raise InvalidInput(field="errors", rule="must not declare a code that every action has")
    if len(set(found)) < len(found):
        raise InvalidInput(field="errors", rule="must hold each code once")
    return found


def failure_of(
    error: BaseException, *, action: str, declared: Collection[str], diagnostics: Diagnostics | None
) -> Failure:
    """Returns an exception as one of the closed set, and hands it to the hook, where there is one.

    What an exception that is not an `ExecutorError` leaves behind is not known: the effect may have happened. A refused
    connection is the exception, since nothing was sent.
    """
    if isinstance(error, ExecutorError):
        code = error.fields["code"]
        known = code in BUILT_IN_CODES or code in declared
        failure = Failure(code if known else "internal", error.fields["may_have_happened"] is not False)
    elif isinstance(error, ConnectionRefusedError):
        failure = Failure("provider_retryable", False)
    elif isinstance(error, TimeoutError):
        failure = Failure("timeout", True)
    else:
        failure = Failure("internal", True)
    if diagnostics is not None:
        try:
            diagnostics(Diagnostic(action, failure.code, error))
        except Exception as fault:  # noqa: BLE001 - a hook that fails must not change what the agent is told
            _log.error("the diagnostics hook failed with %s", type(fault).__name__)
    return failure
