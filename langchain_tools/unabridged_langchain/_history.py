"""Reading a message history for the results that its session does not know. Each message is looked at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from unabridged.evidence import Session
from unabridged.gate.declare import Spec
from unabridged.gate.history import PastCall, import_results, import_unknown_past

_MARKS_KEPT: Final = 256
_NO_SUCH_TOOL: Final = " is not a valid tool, try one of ["
_STRUCTURED: Final = "Returning structured response: "
_marks: Final[WeakKeyDictionary[Session, OrderedDict[str, None]]] = WeakKeyDictionary()
"""For each session the last messages that were looked at, over all the lists that it has met."""


def look_back(
    session: Session,
    messages: Sequence[BaseMessage],
    *,
    spec_of: Callable[[str], Spec],
    resources: Iterable[str] = (),
) -> None:
    """Records the results in a message history that the session does not know. They block, until they are read again.

    Only what stands after the last message that was looked at before is looked at; a list that was cut, summarised or
    forked is looked at from its end to the first message that is known.

    Args:
        session: the session.
        messages: the history, with the current turn at its end.
        spec_of: the declaration of a tool by its name.
        resources: what the tools of the agent read, as far as it is known.
    """
    seen = _marks.setdefault(session, OrderedDict())
    fresh: list[BaseMessage] = []
    for message in reversed(messages):
        if message.id is not None and message.id in seen:
            break
        fresh.append(message)
    if not fresh:
        return
    first_look = not seen
    _remember(seen, fresh[0])
    results = [m for m in fresh if isinstance(m, ToolMessage) and not session.knows_call(m.tool_call_id)]
    if results:
        calls = {c["id"]: c for m in messages if isinstance(m, AIMessage) for c in m.tool_calls}
        past = [_past(m, calls) for m in reversed(results) if not is_of_no_tool(m)]
        import_results(session, past, spec_of=spec_of, resources=resources)
    if first_look and not session.reads and any(_is_summary(m) for m in fresh):
        import_unknown_past(session, resources)


def _remember(seen: OrderedDict[str, None], message: BaseMessage) -> None:
    """Notes the last message that was looked at; one without an id cannot be told from others, so it is not noted."""
    if message.id is not None:
        seen[message.id] = None
        if len(seen) > _MARKS_KEPT:
            seen.popitem(last=False)


def _past(message: ToolMessage, calls: dict[str | None, Any]) -> PastCall:
    call = calls.get(message.tool_call_id)
    name = call["name"] if call else message.name
    return PastCall(name, call["args"] if call else {}, message.tool_call_id)


def is_of_no_tool(message: ToolMessage) -> bool:
    """Tells whether a message is the framework's own: to a name that no tool has, or to a structured answer."""
    text = message.content
    if not isinstance(text, str):
        return False
    no_tool = message.status == "error" and text.startswith("Error: ") and _NO_SUCH_TOOL in text
    return no_tool or text.startswith(_STRUCTURED)


def _is_summary(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"
