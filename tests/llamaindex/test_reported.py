"""Reports of the kinds K6 and K7 as they were told of LlamaIndex. Names and shapes are the reports' own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llama_index.core.tools import FunctionTool
from llama_index.core.tools.calling import acall_tool, call_tool
from llama_scripts import case, result
from unabridged_llamaindex import protect


def codes(output: Any) -> list[str]:
    found: list[str] = json.loads(output.content).get("codes", [])
    return found


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("declared", [{"reads": {"f": "tickets"}}, {"writes": {"f": {"independent": "asks"}}}, {}])
async def test_r60_the_only_argument_is_not_taken_for_another(is_async: bool, declared: Any) -> None:
    """oraios/serena#11: a lone value with a wrong name was bound to the one parameter there is."""
    ran: list[Any] = []

    def f(ticket: str) -> str:
        """Shows a ticket."""
        ran.append(ticket)
        return ticket

    plain = FunctionTool.from_defaults(f)
    call_tool(plain, {"email": "SENT@example.org"})
    assert ran == ["SENT@example.org"], "this is what the framework does"
    ran.clear()
    (guarded,) = protect([plain], **declared)
    with case():
        for sent in ({"email": "SENT@example.org"}, {"ticket": "c1", "email": "SENT@example.org"}):
            said = await acall_tool(guarded, sent) if is_async else call_tool(guarded, sent)
            document = json.loads(said.content)
            assert document["error"] == "invalid_request"
            assert {"field": "email", "rule": "is not an argument of this tool"} in document["problems"]
            assert said.is_error
            assert "SENT@" not in said.content
    assert ran == []


@pytest.mark.parametrize("declared", [{"reads": {"f": "tickets"}}, {"writes": {"f": {"independent": "asks"}}}])
async def test_r59_what_a_tool_raises_is_told_by_a_code(declared: Any) -> None:
    """langchain-ai/langgraph#1667, the same in LlamaIndex."""

    def f(ticket: str) -> str:
        """Shows a ticket."""
        raise ValueError(f"token=SENTINEL rejected for 10.0.0.9, asked for {ticket}")

    plain = FunctionTool.from_defaults(f)
    assert "SENTINEL" in call_tool(plain, {"ticket": "c1"}).content, "this is what the framework does"
    (guarded,) = protect([plain], **declared)
    with case():
        for said in (call_tool(guarded, {"ticket": "c1"}), await acall_tool(guarded, {"ticket": "c1"})):
            document = json.loads(said.content)
            assert document.get("error", document.get("status")) in ("tool_failed", "unavailable")
            assert said.is_error
            assert not [text for text in ("SENTINEL", "10.0.0.9", "token") if text in str(said)]


@pytest.mark.parametrize("trusts", [False, True])
async def test_r53_annotations_that_are_handed_over_tighten_and_loosen_only_with_trust(trusts: bool) -> None:
    """NousResearch/hermes-agent#108972"""
    ran: list[str] = []

    def purge() -> str:
        """Purges."""
        ran.append("purge")
        return "purged"

    def peek() -> str:
        """Peeks."""
        ran.append("peek")
        return "text"

    said = {"purge": {"destructiveHint": True}, "peek": {"read_only_hint": True}, "not protected": None}
    destroy, look = protect([purge, peek], annotations=said, trust_annotations=trusts)
    with case() as s:
        s.record(result())
        assert codes(destroy.call()) == codes(await destroy.acall()) == ["EVIDENCE_WEAK"]
        s.record(result("partial", resource="more"))
        shown = look.call()
        assert codes(shown) == ([] if trusts else ["EVIDENCE_INCOMPLETE"])
        assert [r.resource for r in s.reads] == ["orders", "more", *(["tool:peek"] if trusts else [])]
    assert ran == (["peek"] if trusts else [])


async def test_r53_a_declared_write_is_destructive_where_its_annotations_say_so() -> None:
    ran: list[str] = []

    def purge() -> str:
        """Purges."""
        ran.append("purge")
        return "purged"

    for said, found in ({"destructive_hint": True}, ["EVIDENCE_WEAK"]), ({"readOnlyHint": True}, []):
        (guarded,) = protect([purge], writes={"purge": ["orders"]}, annotations={"purge": said})
        with case() as s:
            s.record(result())
            shown = guarded.call()
            assert (codes(shown) if found else shown.content) == (found or "purged")
    assert ran == ["purge"]
