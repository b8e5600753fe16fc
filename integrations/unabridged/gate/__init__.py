"""The tool boundary that both frameworks share: declarations, the guard around a body, and what a model sees."""

from .acting import arun_action, run_action, write_spec
from .arguments import jsonable, targets_of
from .declarations import Declarations, declarations
from .declare import (
    MAX_DEADLINE_S,
    NEUTRAL,
    UNDECLARED,
    FollowUpSpec,
    FromArgument,
    NeutralSpec,
    ReadSpec,
    Spec,
    UndeclaredSpec,
    WriteSpec,
)
from .followup import CONTINUE_READ, CONTINUE_TEXT, COUNT_READ, COUNT_TEXT, Step, continue_read, count_read
from .plan import AGENT_RULES, CoverageWarning, may_return_results, plan, warn_of_hopeless_writes
from .presenting import MAX_BYTES, Reply, dumps, read_reply
from .refusing import invalid_request, refusal, refused_without_session, tool_failed
from .runtime import ALONE, Entered, Gate, Turn
from .turn import bear, gate_of, siblings_of, spec_named
from .values import Call, result_of

__all__ = [
    "AGENT_RULES",
    "ALONE",
    "CONTINUE_READ",
    "CONTINUE_TEXT",
    "COUNT_READ",
    "COUNT_TEXT",
    "MAX_BYTES",
    "MAX_DEADLINE_S",
    "NEUTRAL",
    "UNDECLARED",
    "Call",
    "CoverageWarning",
    "Declarations",
    "Entered",
    "FollowUpSpec",
    "FromArgument",
    "Gate",
    "NeutralSpec",
    "ReadSpec",
    "Reply",
    "Spec",
    "Step",
    "Turn",
    "UndeclaredSpec",
    "WriteSpec",
    "arun_action",
    "bear",
    "continue_read",
    "count_read",
    "declarations",
    "dumps",
    "gate_of",
    "invalid_request",
    "jsonable",
    "may_return_results",
    "plan",
    "read_reply",
    "refusal",
    "refused_without_session",
    "result_of",
    "run_action",
    "siblings_of",
    "spec_named",
    "targets_of",
    "tool_failed",
    "warn_of_hopeless_writes",
    "write_spec",
]
