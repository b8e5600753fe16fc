"""The README does what it says: its session runs, its fences run, and its first screen is short."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest
from chat_scripts import calls, scripted
from langchain_core.messages import AIMessage
from llama_index.core.tools import FunctionTool
from llama_scripts import script
from unabridged.gate import CoverageWarning

README = Path(__file__).parents[2].joinpath("README.md").read_text()


def fences(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_session_prints_what_the_readme_shows() -> None:
    [session] = fences("pycon")
    parsed = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(parsed).failed == 0


def test_the_session_has_at_most_ten_lines() -> None:
    [session] = fences("pycon")
    assert sum(line.startswith((">>>", "...")) for line in session.splitlines()) <= 10


ORDERS = [{"id": 1}, {"id": 2}]


def list_orders() -> list[dict[str, int]]:
    """Lists orders, and does not say whether these are all."""
    return ORDERS


def archive_orders() -> str:
    """Archives all orders that are not listed."""
    raise AssertionError("the write ran")


def calculator() -> int:
    """Calculates."""
    return 42


def test_the_lines_for_langchain_refuse_the_write_and_carry_the_caveat() -> None:
    [fence] = [f for f in fences("python") if "unabridged_langchain" in f]
    model = scripted(calls(("list_orders", {})), calls(("archive_orders", {})), AIMessage("Nothing is left."))
    names: dict[str, Any] = {"tools": [list_orders, archive_orders, calculator], "model": model}
    with pytest.warns(CoverageWarning, match="archive_orders"):
        exec(compile(fence, "README.md", "exec"), names)
    messages = names["agent"].invoke({"messages": [("user", "archive the rest")]})["messages"]
    refused = [m for m in messages if getattr(m, "name", None) == "archive_orders"]
    assert [m.status for m in refused] == ["error"]
    assert messages[-1].content.startswith("orders: ")
    assert messages[-1].content.endswith("Nothing is left.")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # LlamaIndex reads deprecated attributes of its agents
async def test_the_lines_for_llamaindex_refuse_the_write_and_carry_the_caveat() -> None:
    [fence] = [f for f in fences("python") if "unabridged_llamaindex" in f]
    llm = script([("list_orders", {})], [("archive_orders", {})], "Nothing is left.")
    tools = [FunctionTool.from_defaults(fn) for fn in (list_orders, archive_orders, calculator)]
    names: dict[str, Any] = {"tools": tools, "llm": llm}
    with pytest.warns(CoverageWarning, match="archive_orders"):
        exec(compile(fence, "README.md", "exec"), names)
    answer = str(await names["agent"].run("archive the rest"))
    assert answer.startswith("orders: ")
    assert answer.endswith("Nothing is left.")
