"""`CoverageOutputParser`: the last step of a chain, which gives an answer with its caveats or asks for a better one."""

from __future__ import annotations

from typing import Literal

from langchain_core.exceptions import OutputParserException
from langchain_core.output_parsers import BaseOutputParser
from langchain_core.outputs import ChatGeneration, Generation
from pydantic import ConfigDict, Field
from unabridged._ambient import Boxed
from unabridged.answers import FinalAnswer
from unabridged.evidence import Session
from unabridged.gate.answering import INSTRUCTIONS, OnUnsupported, UnsupportedAnswer, final_answer, was_cut

from ._config import running
from ._place import session_here


class CoverageOutputParser(BaseOutputParser[FinalAnswer]):
    """Parses a model's last message into a `FinalAnswer`, whose `str` is the text with its caveats.

    The message is plain text, or one JSON object, fenced or not, `{"text": ..., "claims": [...]}` with claims such as
    `{"kind": "absence", "resource": "orders", "filters": {"owner": null}}` (`get_format_instructions()`). What begins
    as JSON is held to be JSON: nothing is mended or closed. Errors tell a code and a position, never the model's text.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    session: Session | None = Field(default=None, exclude=True, repr=False)
    """The session whose reads count; else the one in scope, or that of the thread."""
    language: Literal["en", "de"] | None = None
    """The language of the caveats; that of the answer when not given."""
    on_unsupported: OnUnsupported = "correct"
    """`correct` raises twice for the model to mend its answer, then gives the replacement; `replace` at once."""

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> FinalAnswer:
        """Parses the first generation.

        Raises:
            OutputParserException: the answer is unsupported or unreadable, and the model may mend it.
        """
        first = result[0]
        told = dict(first.generation_info or {})
        text = first.text
        if isinstance(first, ChatGeneration):
            told.update(first.message.response_metadata)
            text = first.message.text
        held = Boxed(text)
        del text, first, result
        return self._parsed(held, truncated=was_cut(told))

    def parse(self, text: str) -> FinalAnswer:
        """Parses a text.

        Raises:
            OutputParserException: the answer is unsupported or unreadable, and the model may mend it.
        """
        held = Boxed(text)
        del text
        return self._parsed(held, truncated=False)

    def _parsed(self, held: Boxed[str], *, truncated: bool) -> FinalAnswer:
        found = self.session if self.session is not None else session_here(running())
        try:
            return final_answer(
                held.take(), found, language=self.language, on_unsupported=self.on_unsupported, truncated=truncated
            )
        except UnsupportedAnswer as error:
            correction = str(error)
        raise OutputParserException(correction, observation=correction, llm_output="", send_to_llm=True)

    def get_format_instructions(self) -> str:
        """Returns what a prompt says about the form of an answer."""
        return INSTRUCTIONS

    @property
    def _type(self) -> str:
        return "unabridged_coverage"
