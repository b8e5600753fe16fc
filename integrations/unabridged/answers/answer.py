"""The final answer: its text, what it claims, what it must admit, and whether it may be given (`CONTRACT.md` 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from unabridged.evidence.view import view_of

from . import catalogue
from .caveat import Caveat, caveats_of, checked_line, coverage_of, scope_name
from .claim import Claim, claim_of
from .language import Language, is_sweeping, language_or
from .support import WhyNot, why_unsupported

AnswerOutcome = Literal["accept", "accept_with_caveat", "reject"]


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A claim that the evidence does not support."""

    claim: Claim
    why: WhyNot


@dataclass(frozen=True, slots=True, repr=False)
class FinalAnswer:
    """An answer with its coverage. Its `str` is what may be given: the caveats, then the text.

    The `str` of a rejected answer is its replacement, so that an unsupported claim is never shown by accident.
    """

    text: str
    claims: tuple[Claim, ...]
    outcome: AnswerOutcome
    caveats: tuple[Caveat, ...]
    """One for every standing read that is not complete."""
    coverage: Mapping[str, Any]
    """What was read, as plain JSON without a value."""
    language: Language = "en"
    """The language of the caveats."""
    checked: str | None = None
    """The line on what was checked, where everything was read whole and the answer rests on that."""
    unsupported: tuple[Unsupported, ...] = field(default=())

    def __str__(self) -> str:
        head = "\n".join(dict.fromkeys(c.text for c in self.caveats if c.in_text))
        body = self.text if self.outcome != "reject" else self.replacement
        return "\n\n".join(part for part in (head, body, self.checked) if part)

    def __repr__(self) -> str:
        return (
            f"<FinalAnswer {self.outcome}, {len(self.claims)} claims, {len(self.unsupported)} unsupported, "
            f"{len(self.caveats)} caveats>"
        )

    @property
    def correction(self) -> str:
        """What the model is told so that it can mend its answer; empty unless the answer is rejected. No values."""
        if not self.unsupported:
            return ""
        lines = [catalogue.CORRECTION_HEAD.format(count=len(self.unsupported))]
        for found in self.unsupported:
            what = scope_name(found.claim.resource, found.claim.fields, "en")
            why = catalogue.WHY_NOT[found.why]["en"]
            lines.append(f"- {found.claim.kind} of {what}: {why}; {catalogue.CORRECTION_ADVICE[found.why]}.")
        return "\n".join([*lines, catalogue.CORRECTION_TAIL])

    @property
    def replacement(self) -> str:
        """What is said instead of a rejected answer: what could not be established; else the text itself."""
        if not self.unsupported:
            return self.text
        lines = [catalogue.REPLACEMENT[self.language]]
        for found in self.unsupported:
            claim = found.claim
            what = scope_name(claim.resource, claim.fields, self.language)
            claimed = catalogue.CLAIMED[claim.kind][self.language].format(what=what)
            lines.append(f"- {claimed}: {catalogue.WHY_NOT[found.why][self.language]}.")
        return "\n".join(dict.fromkeys(lines))

    def replaced(self) -> FinalAnswer:
        """Returns the answer that is given when the model could not mend this one."""
        if not self.unsupported:
            return self
        return replace(self, text=self.replacement, claims=(), outcome="accept_with_caveat", unsupported=())

    def to_wire(self) -> dict[str, Any]:
        """Returns the answer as plain JSON, without the claims' values."""
        return {
            "text": str(self),
            "outcome": self.outcome,
            "language": self.language,
            "caveats": [c.to_wire() for c in self.caveats],
            "coverage": dict(self.coverage),
        }


def judge_answer(
    text: str,
    reads: Iterable[object],
    *,
    claims: Sequence[Claim | Mapping[str, Any]] = (),
    language: str | None = None,
) -> FinalAnswer:
    """Returns an answer with what it must admit. A function of its arguments.

    Args:
        text: what is to be answered.
        reads: results or recorded reads in their order, or the evidence of a session.
        claims: what the text claims, in a form that can be checked.
        language: `en` or `de`; that of the text when not given.

    Raises:
        InvalidInput: a claim breaks a rule, or there is no catalogue for the language.
    """
    view = view_of(reads)
    spoken = language_or(language, text)
    stated = tuple(claim_of(c) for c in claims)
    sweeping = any(c.is_universal for c in stated) or is_sweeping(text)
    found = caveats_of(view, spoken, sweeping=sweeping)
    unsupported = tuple(Unsupported(c, why) for c in stated if (why := why_unsupported(c, view)) is not None)
    outcome: AnswerOutcome = "reject" if unsupported else "accept_with_caveat" if found else "accept"
    return FinalAnswer(
        text=text,
        claims=stated,
        outcome=outcome,
        caveats=found,
        coverage=coverage_of(view),
        language=spoken,
        checked=checked_line(view, spoken) if sweeping and outcome == "accept" else None,
        unsupported=unsupported,
    )
