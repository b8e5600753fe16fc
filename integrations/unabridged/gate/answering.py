"""From what a model wrote to a final answer: the claims it states are judged, and it may mend them twice."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from unabridged._ambient import Boxed
from unabridged.answers import Caveat, FinalAnswer, is_sweeping
from unabridged.answers.catalogue import REPLACEMENT
from unabridged.contract import InvalidInput, UnabridgedError

from .frames import emptied

if TYPE_CHECKING:
    from unabridged.evidence import Session

MAX_CORRECTIONS: Final = 2
"""How often a model is asked to mend an answer before it is replaced."""
OnUnsupported = Literal["correct", "replace"]
WhyMend = Literal["UNSUPPORTED_CLAIM", "NOT_ESTABLISHED", "MALFORMED_CLAIM", "INVALID_JSON", "TRUNCATED_OUTPUT"]
INSTRUCTIONS: Final = """\
Answer with one JSON object: {"text": the answer, "claims": [...]}.
State each thing that the answer says about what exists as a claim, {"kind", "resource", "filters", "ids", "value"}:
"found" (the ids exist), "absence" (nothing matches), "all" (the ids are all), "count" (value is their number).
"filters" is the scope as field and value. Claim only what the results of the tools show."""
"""What a prompt says about the form of an answer."""
_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_OPEN_FENCE: Final = re.compile(r"\A\s*```json\b")
_NOTE: Final = "answer_corrections"
_NOT_ESTABLISHED: Final = (
    "The answer was not accepted: it speaks of absence, totality or a number, and a read is not complete. Go on with "
    "the read, or state only what was found and that the rest is open. A disclaimer does not support a claim."
)
_UNREADABLE: Final = {
    "INVALID_JSON": "The answer was not accepted: it is no valid JSON (position {position}). Answer again.",
    "TRUNCATED_OUTPUT": "The answer was not accepted: it was cut at the length limit. Give a shorter one.",
}
_NOTHING_STATED: Final[dict[str, str]] = {
    "en": "The answer could not be read, so nothing is stated here.",
    "de": "Die Antwort war nicht lesbar; hier wird nichts festgestellt.",
}
_CUT_REASONS: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "max_tokens_exceeded"})
_CUT: Final[dict[str, str]] = {
    "en": "This answer was cut at the length limit.",
    "de": "Diese Antwort wurde an der Längengrenze abgeschnitten.",
}


class UnsupportedAnswer(UnabridgedError):
    """An answer cannot be given as it is, and the model may mend it.

    Args of the constructor:
        correction: what the model is told so that it can mend the answer. It holds no values.
        code: why.
        position: where the JSON breaks, counted in characters.
    """

    def __init__(self, *, correction: str, code: WhyMend = "UNSUPPORTED_CLAIM", position: int | None = None) -> None:
        super().__init__(correction=correction, code=code, position=position)

    def _message(self, **fields: Any) -> str:
        return str(fields["correction"])


def stated(output: str, *, truncated: bool = False) -> tuple[str, list[Any]]:
    """Returns the text and the claims of what a model wrote: the JSON object of `INSTRUCTIONS`, else plain text.

    What begins as a JSON object is held to be one: it is never mended, closed or cut to what can be parsed.

    Raises:
        UnsupportedAnswer: it begins as a JSON object and is none. The error holds nothing of the text.
    """
    fenced = _FENCE.match(output)
    body = fenced[1] if fenced else output
    if not body.lstrip().startswith("{") and not _OPEN_FENCE.match(output):
        return output, []
    position = 0
    try:
        document = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        position, document = getattr(error, "pos", 0), None
    if document is None:  # raised here, so that the error does not carry the text along as its context
        code: WhyMend = "TRUNCATED_OUTPUT" if truncated else "INVALID_JSON"
        raise UnsupportedAnswer(correction=_UNREADABLE[code].format(position=position), code=code, position=position)
    if not isinstance(document, Mapping) or not isinstance(document.get("text"), str):
        return output, []
    claims = document.get("claims") or []
    return document["text"], claims if isinstance(claims, list) else [claims]


def was_cut(metadata: Mapping[str, Any]) -> bool:
    """Tells whether a provider's metadata of a response says that it stopped at a length limit."""
    told = (metadata.get(n) for n in ("finish_reason", "stop_reason", "done_reason", "finishReason", "stopReason"))
    return any(isinstance(t, str) and t.lower() in _CUT_REASONS for t in told)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def judged(
    output: str, session: Session, *, language: str | None = None, strict: bool = False, truncated: bool = False
) -> tuple[FinalAnswer, UnsupportedAnswer | None]:
    """Returns the answer that a model's output makes, and what is wrong with it, if anything is.

    Args:
        output: what the model wrote.
        session: the session whose reads count.
        language: `en` or `de`; that of the text when not given.
        strict: whether sentences of absence, totality or number need complete reads, also where nothing is claimed.
        truncated: whether the output was cut at a length limit.
    """
    try:
        text, claims = stated(output, truncated=truncated)
    except UnsupportedAnswer as error:
        empty = session.judge_answer("", language=language)
        nothing = replace(empty, text=_NOTHING_STATED[empty.language], outcome="accept_with_caveat")
        return nothing, error.with_traceback(None)  # its frames hold the output
    wrong: UnsupportedAnswer | None = None
    try:
        answer = session.judge_answer(text, claims, language=language)
        if answer.unsupported:
            wrong = UnsupportedAnswer(correction=answer.correction)
    except InvalidInput as error:
        if error.field in ("language", "text"):
            raise
        answer = session.judge_answer(text, language=language)
        wrong = UnsupportedAnswer(correction=f"A claim is malformed: {error}.", code="MALFORMED_CLAIM")
    if wrong is None and strict and not claims and answer.caveats and is_sweeping(text):
        wrong = UnsupportedAnswer(correction=_NOT_ESTABLISHED, code="NOT_ESTABLISHED")
    return (_cut(answer) if truncated else answer), wrong


def _cut(answer: FinalAnswer) -> FinalAnswer:
    caveat = Caveat(
        _CUT[answer.language], read="", resource="answer", status="partial", codes=("OUTPUT_TRUNCATED",), in_text=True
    )
    outcome = "accept_with_caveat" if answer.outcome == "accept" else answer.outcome
    coverage = {**answer.coverage, "output_truncated": True}
    return replace(answer, caveats=(*answer.caveats, caveat), coverage=coverage, outcome=outcome)


def coverage_of(answer: FinalAnswer) -> dict[str, Any]:
    """Returns the coverage of an answer as plain JSON without a value, its outcome and its caveats with it."""
    caveats = [c.to_wire() for c in answer.caveats]
    return {**answer.coverage, "outcome": answer.outcome, "caveats": caveats}


def replacement_of(answer: FinalAnswer, wrong: UnsupportedAnswer) -> FinalAnswer:
    """Returns the answer that is given when the model could not mend one: it says what could not be established."""
    if answer.unsupported:
        return answer.replaced()
    if wrong.code == "NOT_ESTABLISHED":
        open_ = dict.fromkeys(f"- {c.text}" for c in answer.caveats)
        text = "\n".join([REPLACEMENT[answer.language], *open_])
        return replace(answer, text=text, claims=(), caveats=_in_data(answer.caveats), outcome="accept_with_caveat")
    return replace(answer, text=_NOTHING_STATED[answer.language], claims=(), outcome="accept_with_caveat")


def _in_data(found: Sequence[Caveat]) -> tuple[Caveat, ...]:
    """Returns caveats whose sentences stand in the text already."""
    return tuple(
        Caveat(c.text, read=c.read, resource=c.resource, status=c.status, codes=c.codes, in_text=False) for c in found
    )


def final_answer(
    output: str,
    session: Session | None,
    *,
    language: str | None = None,
    on_unsupported: OnUnsupported = "correct",
    truncated: bool = False,
) -> FinalAnswer:
    """Returns the final answer that a model's output makes.

    Args:
        output: what the model wrote.
        session: the session whose reads count.
        language: `en` or `de`; that of the text when not given.
        on_unsupported: `correct` asks the model to mend an answer, twice at most; `replace` replaces it at once.
        truncated: whether the output was cut at a length limit.

    Raises:
        InvalidInput: there is no session: an answer whose evidence cannot be seen is not given.
        UnsupportedAnswer: the answer cannot be given as it is, and the model may mend it.
    """
    held = Boxed(output)
    del output
    if session is None:
        raise InvalidInput(field="session", rule="must be given, or one must be in scope: unabridged.session(...)")
    try:
        answer, wrong = judged(held.take(), session, language=language, truncated=truncated)
    except BaseException as error:
        emptied(error)
        raise
    if wrong is None:
        session.notes.pop(_NOTE, None)
        return answer
    asked = session.notes.get(_NOTE, 0)
    if on_unsupported == "correct" and asked < MAX_CORRECTIONS:
        session.notes[_NOTE] = asked + 1
        raise wrong
    session.notes.pop(_NOTE, None)
    return replacement_of(answer, wrong)
