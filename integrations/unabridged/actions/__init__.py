"""Actions: what a write takes, gives, needs and leaves behind, and who may start it."""

from .authority import EFFECTS, Authorize, Effect, Grant, Grants
from .declaring import Action
from .executing import Command, Executed, Executor, FunctionExecutor
from .failures import BUILT_IN_CODES, Diagnostic, ExecutorError
from .fields import FieldFacts, Level, Sensitivity
from .outcomes import Outcome, TargetOutcome
from .outputs import Output
from .references import ReferenceKind, reference
from .requests import Admitted, InvalidRequest, Rejected, Request

__all__ = [
    "BUILT_IN_CODES",
    "EFFECTS",
    "Action",
    "Admitted",
    "Authorize",
    "Command",
    "Diagnostic",
    "Effect",
    "Executed",
    "Executor",
    "ExecutorError",
    "FieldFacts",
    "FunctionExecutor",
    "Grant",
    "Grants",
    "InvalidRequest",
    "Level",
    "Outcome",
    "Output",
    "ReferenceKind",
    "Rejected",
    "Request",
    "Sensitivity",
    "TargetOutcome",
    "reference",
]
