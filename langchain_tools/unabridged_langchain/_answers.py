"""The last message of a run, with what it must admit before its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from unabridged.answers import FinalAnswer
from unabridged.contract import InvalidInput
from unabridged.evidence import Session
from unabridged.gate.answering import UnsupportedAnswer, coverage_of, judged, was_cut

COVERAGE: Final = "coverage"
"""Where an answer's message carries its coverage: `additional_kwargs["coverage"]`, plain JSON without a value."""


def caveated(messages: Sequence[BaseMessage], session: Session) -> list[BaseMessage] | None:
    """Returns the update of a state that puts the caveats before the text of its last message; nothing to change: none.

    The message is replaced under a new id, since a rewritten message of the same id is not streamed as a message.
    """
    last = messages[-1] if messages else None
    if not isinstance(last, AIMessage | ToolMessage) or COVERAGE in last.additional_kwargs or last.id is None:
        return None
    answer = session.judge_answer(last.text)
    before, after = _around(answer, last.text)
    if isinstance(last, ToolMessage):
        after = ""
    if not before and not after:
        return None
    return [RemoveMessage(id=last.id), _told(last, answer, _framed(last.content, before, after))]


def final_text(message: AIMessage, answer: FinalAnswer) -> AIMessage:
    """Returns the message that gives an answer as a whole."""
    told: AIMessage = _told(message, answer, str(answer)).model_copy(update={"id": message.id})
    return told


def _told(message: Any, answer: FinalAnswer, content: Any) -> Any:
    extra = {**message.additional_kwargs, COVERAGE: coverage_of(answer)}
    return message.model_copy(update={"id": None, "content": content, "additional_kwargs": extra})


def _around(answer: FinalAnswer, text: str) -> tuple[str, str]:
    whole = str(answer)
    start = whole.find(text)
    return whole[:start], whole[start + len(text) :]


def _framed(content: str | list[Any], before: str, after: str) -> str | list[Any]:
    if isinstance(content, str):
        return f"{before}{content}{after}" if content else (before + after).strip()
    head = [{"type": "text", "text": before}] if before else []
    return [*head, *content, *([{"type": "text", "text": after}] if after else [])]


def is_final(message: BaseMessage | None, structured: Any = None) -> bool:
    """Tells whether a model's message is its answer, and no turn of tool calls."""
    return isinstance(message, AIMessage) and (structured is not None or not message.tool_calls)


def judged_message(
    message: AIMessage, structured: Any, session: Session
) -> tuple[FinalAnswer, UnsupportedAnswer | None]:
    """Returns the answer that a model's last message makes, and what is wrong with it.

    A structured answer states its claims where it has `text` and `claims`; else the text is judged by its sentences.
    """
    text, claims = _part(structured, "text"), _part(structured, "claims")
    if not isinstance(text, str):
        return judged(message.text, session, strict=True, truncated=was_cut(message.response_metadata))
    stated = [_plain(c) for c in claims] if isinstance(claims, list | tuple) else []
    try:
        answer = session.judge_answer(text, stated)
    except InvalidInput as error:
        wrong = UnsupportedAnswer(correction=f"A claim is malformed: {error}.", code="MALFORMED_CLAIM")
        return session.judge_answer(text), wrong
    return answer, UnsupportedAnswer(correction=answer.correction) if answer.unsupported else None


def _part(structured: Any, name: str) -> Any:
    return structured.get(name) if isinstance(structured, Mapping) else getattr(structured, name, None)


def _plain(claim: Any) -> Any:
    return claim.model_dump(exclude_none=True) if hasattr(claim, "model_dump") else claim


def correction_for(result: Sequence[BaseMessage], wrong: UnsupportedAnswer) -> list[BaseMessage]:
    """Returns what is sent back to the model: its own draft, and what is wrong with it."""
    return [*result, HumanMessage(wrong.correction)]
