"""The output parser: from what a model wrote to a final answer with its caveats."""

from __future__ import annotations

from llama_index.core.types import BaseOutputParser
from unabridged._ambient import Boxed
from unabridged.answers import FinalAnswer
from unabridged.contract import InvalidInput
from unabridged.evidence import Session, current_session
from unabridged.gate.answering import INSTRUCTIONS, OnUnsupported, final_answer


class CoverageOutputParser(BaseOutputParser):
    """Returns a `FinalAnswer`, whose `str` is the text with its caveats.

    Call `parse` as the last step. LlamaIndex runs no parser in agents, and in query engines only the one of the model,
    where a `ValueError` is swallowed into an empty response; what this one raises is none.

    Args of the constructor:
        session: the session whose reads count; the one in scope when not given.
        language: `en` or `de`; that of the text when not given.
        on_unsupported: `correct` raises for the model to mend an unsupported claim, twice at most; `replace` returns
            the answer that says what could not be established.
    """

    def __init__(
        self,
        *,
        session: Session | None = None,
        language: str | None = None,
        on_unsupported: OnUnsupported = "correct",
    ) -> None:
        if on_unsupported not in ("correct", "replace"):
            raise InvalidInput(field="on_unsupported", rule="must be correct or replace")
        self._session = session
        self._language = language
        self._on_unsupported: OnUnsupported = on_unsupported

    def parse(self, output: str) -> FinalAnswer:
        """Returns the final answer.

        Raises:
            UnsupportedAnswer: a claim is unsupported, and the model may mend it; the message says how.
            InvalidInput: no session is given or in scope.
        """
        held = Boxed(output)
        del output
        session = self._session if self._session is not None else current_session()
        return final_answer(held.take(), session, language=self._language, on_unsupported=self._on_unsupported)

    def format(self, query: str) -> str:
        """Returns the prompt with the form of the answer."""
        return f"{query}\n\n{INSTRUCTIONS}"

    def __repr__(self) -> str:
        return f"CoverageOutputParser(language={self._language!r}, on_unsupported={self._on_unsupported!r})"
