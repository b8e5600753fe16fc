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
_marks: Final[WeakKeyDictionary[Session, OrderedDict[str, int]]] = WeakKeyDictionary()
"""For each session the last messages that were looked at, over all the lists that it has met, each with its place."""


def look_back(
    session: Session,
    messages: Sequence[BaseMessage],
    *,
    spec_of: Callable[[str], Spec],
    resources: Iterable[str] = (),
) -> None:
    """Records the results in a message history that the session does not know. They block, until they are read again.

    Only what stands after the last message that was looked at before is looked at; a list that was cut, summarised or
    forked is looked at from its end to the first message that is known. A known message that stands later than it did
    has something new before it: then the whole list is looked at.

    Args:
        session: the session.
        messages: the history, with the current turn at its end.
        spec_of: the declaration of a tool by its name.
        resources: what the tools of the agent read, as far as it is known.
    """
    seen = _marks.setdefault(session, OrderedDict())
    fresh: list[BaseMessage] = []
    place = len(messages)
    for message in reversed(messages):
        place -= 1
        if message.id is not None and place <= seen.get(message.id, -1):
            break
        fresh.append(message)
    if not fresh:
        return
    first_look = not seen
    _remember(seen, fresh[0], len(messages) - 1)
    results = [m for m in fresh if isinstance(m, ToolMessage) and not session.knows_call(m.tool_call_id)]
    if results:
        calls = {c["id"]: c for m in messages if isinstance(m, AIMessage) for c in m.tool_calls}
        past = [
            _past(m, calls) for m in reversed(results) if not (is_of_no_tool(m) or _is_structured_answer(m, messages))
        ]
        import_results(session, past, spec_of=spec_of, resources=resources)
    if first_look and not session.reads and any(_is_summary(m) for m in fresh):
        import_unknown_past(session, resources)


def _remember(seen: OrderedDict[str, int], message: BaseMessage, place: int) -> None:
    """Notes the last message that was looked at; one without an id cannot be told from others, so it is not noted."""
    if message.id is not None:
        seen[message.id] = place
        if len(seen) > _MARKS_KEPT:
            seen.popitem(last=False)


def _past(message: ToolMessage, calls: dict[str | None, Any]) -> PastCall:
    call = calls.get(message.tool_call_id)
    name = call["name"] if call else message.name
    return PastCall(name, call["args"] if call else {}, message.tool_call_id)


def is_of_no_tool(message: ToolMessage) -> bool:
    """Tells whether a message is the framework's own, to a name that no tool has."""
    text = message.content
    return (
        isinstance(text, str)
        and message.status == "error"
        and text.startswith(f"Error: {message.name}{_NO_SUCH_TOOL}")
    )  # fmt: skip


def _is_structured_answer(message: ToolMessage, messages: Sequence[BaseMessage]) -> bool:
    """Tells whether a message is the framework's own, to a structured answer.

    Such an answer ends a run: the next turn is not the model's. What a tool says of itself does not make it one.
    """
    if not isinstance(message.content, str) or not message.content.startswith(_STRUCTURED):
        return False
    after = iter(messages)
    if not any(m is message for m in after):
        return False
    follows = next((m for m in after if not isinstance(m, ToolMessage)), None)
    return follows is not None and not isinstance(follows, AIMessage)


def _is_summary(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"
