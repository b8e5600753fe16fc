"""Answers: claims against the evidence, and the caveats an answer must carry."""

from .answer import AnswerOutcome, FinalAnswer, Unsupported, judge_answer
from .caveat import Caveat, caveats
from .claim import Claim, ClaimKind, claim_of
from .language import LANGUAGES, Language, is_sweeping, language_of
from .support import WhyNot, why_unsupported

__all__ = [
    "LANGUAGES",
    "AnswerOutcome",
    "Caveat",
    "Claim",
    "ClaimKind",
    "FinalAnswer",
    "Language",
    "Unsupported",
    "WhyNot",
    "caveats",
    "claim_of",
    "is_sweeping",
    "judge_answer",
    "language_of",
    "why_unsupported",
]
