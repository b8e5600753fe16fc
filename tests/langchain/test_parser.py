"""`CoverageOutputParser`: the last step of a chain."""

from __future__ import annotations

import json
import traceback
from typing import Any

import pytest
from chat_scripts import scripted
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import BaseOutputParser
from langchain_core.runnables import RunnableLambda
from langchain_kit import SECRET, Shop
from unabridged.answers import FinalAnswer
from unabridged.contract import InvalidInput
from unabridged.evidence import session
from unabridged_langchain import CoverageOutputParser

CAVEAT = "orders: these findings are partial and the overall conclusion is open. The source has more pages."
ABSENCE = json.dumps({"text": f"None. {SECRET}", "claims": [{"kind": "absence", "resource": "orders"}]})


def chain(*texts: str, **options: Any) -> Any:
    return scripted(*(AIMessage(t) for t in texts)) | CoverageOutputParser(**options)


@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream", "batch"])
async def test_plain_text_becomes_an_answer_with_its_caveats(how: str) -> None:
    with session(f"parser-{how}"):
        Shop("partial").by_name()["list_orders"].invoke({})
        made = chain("Two are left.")
        if how == "invoke":
            answers = [made.invoke("x")]
        elif how == "ainvoke":
            answers = [await made.ainvoke("x")]
        elif how == "stream":
            answers = list(made.stream("x"))
        elif how == "astream":
            answers = [a async for a in made.astream("x")]
        else:
            answers = made.batch(["x"])
    assert [type(a) for a in answers] == [FinalAnswer]
    assert str(answers[0]).strip() == f"{CAVEAT}\n\nTwo are left."
    assert answers[0].outcome == "accept_with_caveat"


def test_a_supported_claim_is_accepted_and_an_unsupported_one_is_sent_back() -> None:
    found = json.dumps({"text": "Order 1.", "claims": [{"kind": "found", "resource": "orders", "ids": [1]}]})
    with session("parser-claims"):
        Shop().by_name()["list_orders"].invoke({})
        assert CoverageOutputParser().parse(found).outcome == "accept"
        assert CoverageOutputParser().parse(f"```json\n{found}\n```").outcome == "accept"
        with pytest.raises(OutputParserException) as caught:
            CoverageOutputParser().parse(ABSENCE)
    assert "the records say otherwise" in str(caught.value)
    assert caught.value.send_to_llm


def everything_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(vars(error)) + repr(error.args)


@pytest.mark.parametrize(
    ("text", "reason", "said"),
    [
        ('{"items":["' + SECRET + '"', "length", "cut at the length limit"),
        ('{"items":["' + SECRET + '"', "stop", "no valid JSON (position"),
        ('```json\n{"tool": ' + SECRET + "}\n```", "stop", "no valid JSON (position"),
        ('```json\n{"tool": "' + SECRET, "length", "cut at the length limit"),
        ('{"text": NaN, "x": "' + SECRET + '"}', "stop", "no valid JSON"),
        (ABSENCE, "stop", "not supported"),
        (json.dumps({"text": SECRET, "claims": [{"kind": SECRET}]}), "stop", "malformed"),
    ],
)
def test_what_cannot_be_given_is_refused_without_an_echo(text: str, reason: str, said: str) -> None:
    message = AIMessage(text, response_metadata={"finish_reason": reason})
    with session(f"parser-{reason}-{said}-{len(text)}"):
        Shop().by_name()["list_orders"].invoke({})
        with pytest.raises(OutputParserException) as caught:
            CoverageOutputParser().invoke(message)
    assert said in str(caught.value)
    assert SECRET not in everything_of(caught.value).replace(text, "")
    assert SECRET not in repr(vars(caught.value)) + repr(caught.value.args)
    assert caught.value.llm_output == ""


def test_a_whole_answer_that_was_cut_is_never_clean() -> None:
    with session("parser-cut"):
        Shop().by_name()["list_orders"].invoke({})
        answer = CoverageOutputParser().invoke(AIMessage("There is", response_metadata={"stop_reason": "max_tokens"}))
    assert answer.outcome == "accept_with_caveat"
    assert answer.coverage["output_truncated"] is True
    assert str(answer).startswith("This answer was cut at the length limit.")


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_after_two_corrections_the_answer_is_replaced(how: str) -> None:
    made = chain(*[ABSENCE] * 6).with_retry(
        retry_if_exception_type=(OutputParserException,), stop_after_attempt=5, wait_exponential_jitter=False
    )
    with session(f"parser-thrice-{how}"):
        Shop().by_name()["list_orders"].invoke({})
        answer = made.invoke("x") if how == "invoke" else await made.ainvoke("x")
    assert str(answer).startswith("The following could not be established:")
    assert SECRET not in str(answer)
    assert answer.outcome == "accept_with_caveat"


def test_replace_does_so_at_once() -> None:
    with session("parser-replace"):
        Shop().by_name()["list_orders"].invoke({})
        answer = CoverageOutputParser(on_unsupported="replace").parse(ABSENCE)
        assert "could not be established" in str(answer)
        unreadable = CoverageOutputParser(on_unsupported="replace", language="de").parse('{"text": ')
        assert str(unreadable).startswith("Die Antwort war nicht lesbar")


def test_an_answer_after_an_unavailable_read_says_that_the_check_could_not_be_finished() -> None:
    with session("parser-dead"):
        Shop("unavailable").by_name()["list_orders"].invoke({})
        answer = CoverageOutputParser(language="de").parse("Alles gut.")
    assert str(answer).startswith("orders: Die Prüfung konnte nicht abgeschlossen werden.")


def test_its_session_is_given_in_scope_or_that_of_the_thread() -> None:
    shop, mine = Shop("partial"), session("parser-mine")
    with mine:
        shop.by_name()["list_orders"].invoke({})
    assert CoverageOutputParser(session=mine).parse("x").caveats
    config: Any = {"configurable": {"thread_id": "parser-thread"}}
    shop.by_name()["list_orders"].invoke({}, config)
    assert chain("Two are left.").invoke("x", config).caveats
    steps = RunnableLambda(lambda _: shop.by_name()["list_orders"].invoke({})) | chain("Two are left.")
    with session("parser-steps"):
        assert steps.invoke(None).caveats
    with pytest.raises(InvalidInput, match="session"):
        CoverageOutputParser().parse("x")


def test_it_is_a_parser_like_any_other() -> None:
    parser = CoverageOutputParser(session=session("parser-repr"))
    assert isinstance(parser, BaseOutputParser)
    assert '"claims"' in parser.get_format_instructions()
    assert "session" not in repr(parser)
    assert "session" not in parser.model_dump()
    with session("parser-messages"):
        Shop("partial").by_name()["list_orders"].invoke({})
        assert parser.model_copy(update={"session": None}).invoke(HumanMessage("x")).caveats
