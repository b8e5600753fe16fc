"""The output parser as a last step, and where LlamaIndex calls it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llama_index.core import PromptTemplate
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.schema import NodeWithScore, TextNode
from llama_scripts import case, result, script
from unabridged.answers import FinalAnswer
from unabridged.contract import InvalidInput
from unabridged_llamaindex import CoverageOutputParser, UnsupportedAnswer

ABSENT = json.dumps({"text": "Nothing is left.", "claims": [{"kind": "absence", "resource": "orders"}]})


def test_an_answer_carries_the_caveats_of_the_session_in_scope() -> None:
    with case() as s:
        s.record(result("partial"))
        answer = CoverageOutputParser().parse("Here they are.")
    assert isinstance(answer, FinalAnswer)
    assert answer.outcome == "accept_with_caveat"
    assert str(answer).endswith("\n\nHere they are.")
    assert "partial" in str(answer)


def test_a_session_that_is_given_needs_no_scope() -> None:
    s = case()
    s.record(result("complete", items=[]))
    answer = CoverageOutputParser(session=s, language="de").parse(ABSENT)
    assert answer.outcome == "accept"
    assert answer.language == "de"


def test_without_a_session_no_answer_is_given() -> None:
    with pytest.raises(InvalidInput, match=r"session\(\.\.\.\)"):
        CoverageOutputParser().parse("Fine.")


def test_an_unsupported_claim_is_raised_twice_and_then_replaced() -> None:
    with case() as s:
        s.record(result("partial"))
        parser = CoverageOutputParser()
        for _ in range(2):
            with pytest.raises(UnsupportedAnswer, match="absence of orders"):
                parser.parse(ABSENT)
        answer = parser.parse(ABSENT)
        assert "Nothing is left" not in str(answer)
        with pytest.raises(UnsupportedAnswer):
            parser.parse(ABSENT)


def test_replace_replaces_at_once() -> None:
    with case() as s:
        s.record(result("partial"))
        assert "Nothing is left" not in str(CoverageOutputParser(on_unsupported="replace").parse(ABSENT))


def test_the_prompt_says_how_to_answer() -> None:
    prompt = CoverageOutputParser().format("What is left?")
    assert prompt.startswith("What is left?\n\n")
    assert '"claims"' in prompt


def test_another_way_to_handle_claims_is_refused() -> None:
    with pytest.raises(InvalidInput, match="on_unsupported"):
        CoverageOutputParser(on_unsupported="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [ResponseMode.COMPACT, ResponseMode.REFINE, ResponseMode.TREE_SUMMARIZE])
def test_what_the_parser_raises_is_not_swallowed_into_an_empty_response(mode: Any) -> None:
    llm = script(ABSENT, ABSENT, ABSENT)
    llm.output_parser = CoverageOutputParser()
    synthesizer = get_response_synthesizer(llm=llm, response_mode=mode)
    nodes = [NodeWithScore(node=TextNode(text="an order"))]
    with case() as s:
        s.record(result("partial"))
        with pytest.raises(UnsupportedAnswer):
            synthesizer.synthesize("What is left?", nodes)
    assert len(llm.seen) == 1


def test_the_parser_of_a_model_puts_the_caveat_into_its_text() -> None:
    llm = script("Here they are.")
    llm.output_parser = CoverageOutputParser()
    with case() as s:
        s.record(result("partial"))
        said = llm.predict(PromptTemplate("What is there?"))
    assert said.endswith("\n\nHere they are.")
    assert "partial" in said
