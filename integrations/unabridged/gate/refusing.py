"""What an agent is told when a call is not run. No value of an argument, and only options that the agent has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from unabridged.contract import UnabridgedError, is_token, printable_name, route_in_short
from unabridged.contract.ids import TEXT

from .presenting import Reply, dumps

_WORDS: Final[dict[str, str]] = {
    "EVIDENCE_INCOMPLETE": "A read that it relies on is not complete.",
    "EVIDENCE_MISSING": "A resource that it relies on was not read.",
    "EVIDENCE_PENDING": "A read that it relies on was asked for in the same turn or still runs; look at it first.",
    "EVIDENCE_STALE": "A read that it relies on is too old; read again.",
    "EVIDENCE_WEAK": "The evidence is weaker than the write demands.",
    "TARGET_NOT_IN_EVIDENCE": "A target is not among the records that were read.",
    "SELECTION_INVALID": "The selection is not valid for this call.",
    "RECHECK_FAILED": "A target changed since it was read.",
    "APPROVAL_STALE": "No approval that was given is one of the call as it stands.",
    "GUARD_FAILED": "The guard could not judge the call.",
}
_LISTED: Final = 12
_LABEL: Final = re.compile(r"[\w .,:;/()+\-]{1,200}\Z")
UNSEEN: Final = "The turn that it stands in cannot be seen here, so what was asked for beside it is not known."
MUST_WAIT: Final = "What decides on it has to be waited for: call the tool asynchronously."
FROM_HISTORY: Final = "An earlier result in the conversation was not recorded here: read it again."
NO_SESSION: Final = "No session is in scope: open one with unabridged.session(...) or run the tool inside an agent."


def resource_label(name: str) -> str:
    """Returns a resource's name as it may stand in a message."""
    return name if is_token(name) else printable_name(name)


def read_note(read: Any) -> dict[str, Any]:
    """Returns what a refusal says of one read: its resource, status, reasons, fields of its filters, and the way on."""
    note: dict[str, Any] = {
        "resource": resource_label(read.resource),
        "status": "pending" if read.is_pending else read.status,
    }
    if read.codes:
        note["reasons"] = list(read.codes[:_LISTED])
    if read.filters:
        note["filters"] = sorted(printable_name(n) for n in read.filters)[:_LISTED]
    route = getattr(read, "continuation", None)
    if route is not None and route.kind != "none":
        note["continuation"] = route_in_short(route)
    return note


def refusal(
    tool: str, verdict: Any, *, has: Iterable[str] | None = None, note: str = "", deadline_s: float | None = None
) -> Reply:
    """Returns the refusal of a write.

    Args:
        tool: the tool's name.
        verdict: the guard's verdict; anything but `allow`.
        has: the names of the tools that the agent has, when they are known: `continue_read` is offered only with it.
        note: one sentence more.
        deadline_s: how long a read may take that is tried again, where a person said so.
    """
    options = list(verdict.options)
    again = FROM_HISTORY if any(getattr(r, "origin", None) == "history" for r in verdict.reads) else ""
    if has is not None and "continue_read" not in set(has) and "continue_read" in options:
        options.remove("continue_read")
    document = {
        "error": "refused",
        "tool": printable_name(tool),
        "verdict": verdict.verdict,
        "codes": list(verdict.codes),
        "message": " ".join(
            ["The call was not run.", *(_WORDS.get(c, "") for c in verdict.codes), note, again]
        ).strip(),
        "reads": [read_note(r) for r in list(verdict.reads)[:10]],
        "options": options,
    }
    if deadline_s is not None:
        document["deadline_s"] = deadline_s
    if verdict.missing:
        document["missing"] = [_missing(label) for label in verdict.missing[:_LISTED]]
    return Reply(content=dumps(document), artifact=_artifact(verdict.codes), is_error=True)


def _missing(label: str) -> str:
    """A resource of the declaration that was never read, with the names of its filters."""
    return label if _LABEL.match(label) else TEXT


def refused_without_session(tool: str) -> Reply:
    """Returns the refusal of a guarded write that finds no session."""
    document = {
        "error": "refused",
        "tool": printable_name(tool),
        "verdict": "refuse",
        "codes": ["GUARD_FAILED"],
        "message": f"The call was not run. {NO_SESSION}",
        "reads": [],
        "options": ["abandon"],
    }
    return Reply(content=dumps(document), artifact=_artifact(["GUARD_FAILED"]), is_error=True)


def guard_failed(tool: str, *, why: str | None = None) -> Reply:
    """Returns the refusal of a guard that failed itself, or that cannot see what it must judge.

    Args:
        tool: the tool's name.
        why: one sentence.
    """
    document = {
        "error": "refused",
        "tool": printable_name(tool),
        "verdict": "refuse",
        "codes": ["GUARD_FAILED"],
        "message": f"The call was not run. {why or _WORDS['GUARD_FAILED']}",
        "reads": [],
        "options": ["abandon"],
    }
    return Reply(content=dumps(document), artifact=_artifact(["GUARD_FAILED"]), is_error=True)


def invalid_request(tool: str, problems: Sequence[tuple[str, str]]) -> Reply:
    """Returns the refusal of arguments that break the tool's schema: fields and rules, never values.

    Args:
        tool: the tool's name.
        problems: pairs of field and rule. A field that does not look like a name is counted, not repeated.
    """
    named = [{"field": f, "rule": r} for f, r in problems if printable_name(f) == f]
    document: dict[str, Any] = {"error": "invalid_request", "tool": printable_name(tool), "problems": named[:20]}
    if len(named) < len(problems):
        document["unnamed_problems"] = len(problems) - len(named)
    return Reply(content=dumps(document), artifact={"unabridged": {"error": "invalid_request"}}, is_error=True)


def rejected(tool: str, document: Mapping[str, Any]) -> Reply:
    """Returns the refusal of a call that breaks the contract of its action.

    Args:
        tool: the tool's name.
        document: what the action says of it: the error, and fields with the rules that they break.
    """
    told = {"error": document["error"], "tool": printable_name(tool), **document}
    return Reply(content=dumps(told), artifact={"unabridged": {"error": document["error"]}}, is_error=True)


def tool_failed(tool: str) -> Reply:
    """Returns what an agent learns of a write or a neutral tool that raised: that it did, and nothing it said."""
    document = {
        "error": "tool_failed",
        "tool": printable_name(tool),
        "message": "The tool failed while it ran; what it did before that is not known.",
    }
    return Reply(content=dumps(document), artifact={"unabridged": {"error": "tool_failed"}}, is_error=True)


def _artifact(codes: Iterable[str]) -> dict[str, Any]:
    return {"unabridged": {"error": "refused", "codes": list(codes)}}


class CallRefused(UnabridgedError):
    """A call was refused where nothing but an error can stop it. Its text is the refusal that a model would read.

    Args of the constructor:
        reply: the refusal.
    """

    def __init__(self, reply: Reply | None = None, *, message: str = "", codes: Sequence[str] = ()) -> None:
        if reply is not None:
            told = (reply.artifact or {}).get("unabridged", {})
            message, codes = reply.content, told.get("codes", ())
        super().__init__(message=message, codes=tuple(codes))

    def _message(self, **fields: Any) -> str:
        return str(fields["message"])
