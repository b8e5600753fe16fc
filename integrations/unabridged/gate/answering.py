"""From what a model wrote to a final answer: the claims it states are judged, and it may mend them twice."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from unabridged.answers import FinalAnswer
from unabridged.contract import InvalidInput, UnabridgedError

if TYPE_CHECKING:
    from unabridged.evidence import Session

MAX_CORRECTIONS: Final = 2
"""How often a model is asked to mend an answer before it is replaced."""
OnUnsupported = Literal["correct", "replace"]
INSTRUCTIONS: Final = """\
Answer with one JSON object: {"text": the answer, "claims": [...]}.
State each thing that the answer says about what exists as a claim, {"kind", "resource", "filters", "ids", "value"}:
"found" (the ids exist), "absence" (nothing matches), "all" (the ids are all), "count" (value is their number).
"filters" is the scope as field and value. Claim only what the results of the tools show."""
"""What a prompt says about the form of an answer."""
_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_NOTE: Final = "answer_corrections"


class UnsupportedAnswer(UnabridgedError):
    """An answer claims what the evidence does not support.

    Args of the constructor:
        correction: what the model is told so that it can mend the answer. It holds no values.
    """

    def __init__(self, *, correction: str) -> None:
        super().__init__(correction=correction)

    def _message(self, **fields: Any) -> str:
        return str(fields["correction"])


def stated(output: str) -> tuple[str, list[Any]]:
    """Returns the text and the claims of what a model wrote: the JSON object of `INSTRUCTIONS`, else plain text."""
    fenced = _FENCE.match(output)
    try:
        document = json.loads(fenced[1] if fenced else output)
    except ValueError:
        return output, []
    if not isinstance(document, Mapping) or not isinstance(document.get("text"), str):
        return output, []
    claims = document.get("claims") or []
    return document["text"], claims if isinstance(claims, list) else [claims]


def final_answer(
    output: str, session: Session | None, *, language: str | None = None, on_unsupported: OnUnsupported = "correct"
) -> FinalAnswer:
    """Returns the final answer that a model's output makes.

    Args:
        output: what the model wrote.
        session: the session whose reads count.
        language: `en` or `de`; that of the text when not given.
        on_unsupported: `correct` asks the model to mend an answer, twice at most; `replace` replaces it at once.

    Raises:
        InvalidInput: there is no session: an answer whose evidence cannot be seen is not given.
        UnsupportedAnswer: a claim is unsupported, and the model may mend it.
    """
    if session is None:
        raise InvalidInput(field="session", rule="must be given, or one must be in scope: unabridged.session(...)")
    text, claims = stated(output)
    try:
        answer = session.judge_answer(text, claims, language=language)
        correction = answer.correction
    except InvalidInput as error:
        if error.field in ("language", "text"):
            raise
        answer, correction = session.judge_answer(text, language=language), f"A claim is malformed: {error}."
    if not correction:
        session.notes.pop(_NOTE, None)
        return answer
    asked = session.notes.get(_NOTE, 0)
    if on_unsupported == "correct" and asked < MAX_CORRECTIONS:
        session.notes[_NOTE] = asked + 1
        raise UnsupportedAnswer(correction=correction)
    session.notes.pop(_NOTE, None)
    return answer.replaced()
