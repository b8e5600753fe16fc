"""What a middleware gives on of a tool that has no guard of its own, and what it records of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command
from unabridged._ambient import Boxed
from unabridged.gate.declare import UndeclaredSpec
from unabridged.gate.presenting import Reply
from unabridged.gate.refusing import invalid_request
from unabridged.gate.runtime import Entered, Fault, Gate

from ._body import told_by
from ._config import interrupts
from ._history import is_of_no_tool

Answer = ToolMessage | Command[Any]


@dataclass(frozen=True, slots=True)
class Called:
    """What is left of a call where its arguments are of no use any more."""

    name: str
    call_id: str | None
    is_of_tool: bool

    @classmethod
    def of(cls, request: ToolCallRequest) -> Self:
        return cls(request.tool_call["name"], request.tool_call["id"], request.tool is not None)


def message_of(reply: Reply, called: Called) -> ToolMessage:
    return ToolMessage(
        reply.content, artifact=reply.artifact, name=called.name, tool_call_id=called.call_id, status="error"
    )


def left_by(gate: Gate, entered: Entered, called: Called, answer: Boxed[Answer]) -> Answer:
    """Records what a tool without a guard of its own gave back, and gives it on as it is."""
    if isinstance(answer.value, ToolMessage) and not called.is_of_tool and is_of_no_tool(answer.value):
        if entered.session is not None and answer.value.tool_call_id:
            entered.session.note_call(answer.value.tool_call_id)
        return answer.take()
    if _repeats_arguments(answer.value):
        gate.fail(entered, Fault("ValidationError"))
        return message_of(invalid_request(gate.name, [("arguments", "do not fit this tool")]), called)
    if _says_error(answer.value) and not isinstance(gate.spec, UndeclaredSpec):
        gate.fail(entered, Fault("ValueError"))
        return answer.take()
    reply = gate.leave(entered, told_by(answer.value, gate.spec))
    if entered.write is not None and not reply.passes:
        return ToolMessage(reply.content, name=gate.name, tool_call_id=called.call_id)
    return answer.take()


def narrowed(request: ToolCallRequest, entered: Entered) -> ToolCallRequest:
    """Returns the request with the targets that the write was narrowed to."""
    if not entered.changes:
        return request
    call = request.tool_call
    return request.override(tool_call={**call, "args": {**call["args"], **entered.changes}})


def _repeats_arguments(answer: Answer) -> bool:
    """Tells whether LangGraph says of a call that its arguments do not fit: it repeats all of them."""
    return _says_error(answer) and str(getattr(answer, "content", "")).startswith("Error invoking tool")


def _says_error(answer: Answer) -> bool:
    return isinstance(answer, ToolMessage) and answer.status == "error"


def failed_by(gate: Gate, entered: Entered, failed: Boxed[BaseException]) -> None:
    if isinstance(failed.value, interrupts()):
        gate.withdraw(entered)
    elif isinstance(failed.value, Exception):
        gate.fail(entered, Fault.of(failed.value))
    else:
        gate.cancel(entered)
