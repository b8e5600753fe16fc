"""The output parsers of both rooms: what a model wrote comes back in an answer that is accepted, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from canaries.desk import orders
from canaries.places import placed
from canaries.watching import SENT, UP, Watch, customer, found_in, places
from langchain_core.messages import AIMessage
from unabridged.contract import InvalidInput

ROOMS = ("langchain", "llamaindex")
ABSENCE = {"kind": "absence", "resource": "orders", "filters": {"owner": f"{SENT}owner"}}
UNFIT = {
    "unsupported": json.dumps({"text": f"None. {SENT}text", "claims": [ABSENCE]}),
    "unsupported among others": json.dumps(
        {"text": f"None. {SENT}text", "claims": [{"kind": "count", "resource": "orders", "value": 7,
                                                  "ids": [f"{SENT}id"]}, ABSENCE], "customer": customer(SENT)}
    ),
    "malformed claim": json.dumps({"text": f"{SENT}text", "claims": [{"kind": f"{SENT}kind", "resource": f"{SENT}r"}]}),
    "no claim": json.dumps({"text": f"{SENT}text", "claims": [customer(SENT)]}),
    "claims that are none": json.dumps({"text": f"{SENT}text", "claims": f"{SENT}claims"}),
    "no json": f'{{"text": {SENT}text',
    "fenced": f'```json\n{{"text": "{SENT}text", NaN}}\n```',
    "a constant": f'{{"text": "{SENT}text", "value": NaN}}',
    "too deep": '{"text":' * 20_000 + f'"{SENT}text"',
}  # fmt: skip
Parse = Callable[[str], Any]


def parser_of(room: str, **options: Any) -> Parse:
    """Returns the parser of a room, called as its framework calls it."""
    if room == "langchain":
        from unabridged_langchain import CoverageOutputParser

        return lambda text: CoverageOutputParser(**options).invoke(AIMessage(text))
    from unabridged_llamaindex import CoverageOutputParser as Other

    return lambda text: Other(**options).parse(text)


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("bad", UNFIT)
def test_an_answer_that_cannot_be_given_leaves_no_value_behind(bad: str, room: str, tmp_path: Path) -> None:
    parse = parser_of(room)
    with Watch() as watch, placed("sqlite", tmp_path) as place:
        place.session.record(orders("MORE_PAGES_AVAILABLE", filters={"owner": f"{SENT}owner"}))
        for _ in range(2):
            with pytest.raises(Exception) as sent_back:
                parse(UNFIT[bad])
            watch.raised(sent_back.value)
        replaced = parse(UNFIT[bad])
    assert found_in(str(replaced) + repr(replaced) + json.dumps(replaced.to_wire())) == set()
    assert (watch.leaks(), place.leaks()) == ({}, {})
    assert not [e for _, e in watch.errors if places(e)]


@pytest.mark.parametrize("room", ROOMS)
def test_an_answer_that_is_given_has_its_text_and_shows_it_nowhere_else(room: str, tmp_path: Path) -> None:
    with Watch() as watch, placed("sqlite", tmp_path) as place:
        place.session.record(orders("MORE_PAGES_AVAILABLE", filters={"owner": f"{SENT}owner"}))
        plain, claimed = (
            parser_of(room)(text) for text in (
                f"Two are left. {SENT}text",
                json.dumps({"text": f"One. {SENT}text", "claims": [{"kind": "found", "resource": "orders"}]}),
            )
        )  # fmt: skip
    for answer in (plain, claimed):
        assert f"{SENT}text" in str(answer)
        assert UP not in str(answer)
        assert found_in(repr(answer) + repr(answer.claims) + json.dumps(answer.coverage)) == set()
        assert not any(found_in(caveat.text) for caveat in answer.caveats)
    assert (watch.leaks(), place.leaks()) == ({}, {})


@pytest.mark.parametrize("room", ROOMS)
def test_without_a_session_an_answer_is_refused_without_its_text(room: str) -> None:
    with Watch() as watch:
        for text in (f"Fine. {SENT}text", UNFIT["unsupported"]):
            with pytest.raises(Exception, match="session") as refused:
                parser_of(room)(text)
            watch.raised(refused.value)
    assert watch.leaks() == {}


def test_a_parser_that_fails_takes_no_answer_along(tmp_path: Path) -> None:
    parse = parser_of("llamaindex", language="xx")
    with Watch() as watch, placed("memory", tmp_path) as place:
        place.session.record(orders("MORE_PAGES_AVAILABLE"))
        with pytest.raises(InvalidInput, match="language") as failed:
            parse(UNFIT["unsupported"])
        watch.raised(failed.value)
    assert (watch.leaks(), place.leaks()) == ({}, {})


def list_orders() -> Any:
    """Lists orders."""
    return orders("MORE_PAGES_AVAILABLE")


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_agent_of_langchain_whose_answer_is_sent_back_learns_what_to_mend_and_no_value(
    is_async: bool, tmp_path: Path
) -> None:
    from canaries import langchain_desk
    from canaries.upstream import Upstream
    from chat_scripts import calls
    from unabridged_langchain import CoverageMiddleware, protect

    reads = {"list_orders": {"resource": "orders", "fields": ["id"]}}
    turns = [calls(("list_orders", {})), *(AIMessage(UNFIT["unsupported"]) for _ in range(4))]
    with placed("memory", tmp_path) as place:
        task = await langchain_desk.follow(
            protect([list_orders], reads=reads), turns, Upstream(), is_async=is_async,
            layers=[CoverageMiddleware(on_answer="strict")],
        )  # fmt: skip
    assert task.died is None
    assert task.model is not None
    assert len(task.model.seen) == 4, "it was sent back twice"
    assert found_in(str(task.state["messages"][-1].content)) == set()
    assert task.told() == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


def test_a_model_of_llamaindex_whose_parser_sends_back_its_answer_takes_no_value_along(tmp_path: Path) -> None:
    from canaries import llamaindex_desk
    from llama_index.core import PromptTemplate
    from llama_scripts import script
    from unabridged_llamaindex import CoverageOutputParser, UnsupportedAnswer

    found, model = llamaindex_desk.Found(), script(UNFIT["unsupported"])
    spans = llamaindex_desk.Spans()
    spans.found, model.output_parser = found, CoverageOutputParser()
    with Watch() as watch, placed("memory", tmp_path) as place, llamaindex_desk.instrumented(spans):
        place.session.record(orders("MORE_PAGES_AVAILABLE"))
        with pytest.raises(UnsupportedAnswer) as sent_back:
            model.predict(PromptTemplate("What is left?"))
        watch.raised(sent_back.value)
    assert found.kinds, "it was traced"
    assert not [where for where in found.places if ".err" in where]
    assert (watch.leaks(), place.leaks()) == ({}, {})
