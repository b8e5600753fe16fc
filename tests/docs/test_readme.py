"""The README does what it says: its session runs, its fences run, and its first screen is short."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest
import unabridged
from chat_scripts import calls, scripted
from langchain_core.messages import AIMessage
from llama_index.core.tools import FunctionTool
from llama_scripts import script

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


def test_every_reader_of_a_source_that_the_readme_names_is_there() -> None:
    rooms = Path(unabridged.__file__).parent
    text = "".join(path.read_text() for path in [*(rooms / "sources").rglob("*.py"), rooms / "reading" / "api.py"])
    defined = set(re.findall(r"^(?:async )?def (a?read(?:_\w+)?)\(", text, re.MULTILINE))
    named = set(re.findall(r"`(a?read(?:_\w+)?)`", README)) - {"read_tool"}
    assert len(named) > 10
    assert named <= defined
    assert {name for name in defined if name.startswith("read_")} <= named


class Shop:
    """What the README calls `tools`, as plain functions; `next` is the token of the page that comes next."""

    def __init__(self, next_page: str | None) -> None:
        self.next = next_page
        self.written = 0

    def tools(self) -> list[Any]:
        def list_orders() -> dict[str, Any]:
            """Lists orders."""
            return {"orders": [{"id": 1}, {"id": 2}], "next": self.next}

        def archive_orders() -> str:
            """Archives all orders that are not listed."""
            self.written += 1
            return "archived"

        def calculator() -> int:
            """Calculates."""
            return 42

        return [list_orders, archive_orders, calculator]


def ran(package: str, names: dict[str, Any]) -> dict[str, Any]:
    """Runs the judge and the lines for a framework."""
    chosen = [f for f in fences("python") if "def judge_orders" in f or f"from {package}" in f]
    assert len(chosen) == 2
    for fence in chosen:
        exec(compile(fence, "README.md", "exec"), names)
    return names


@pytest.mark.parametrize("next_page", ["c2", None])
def test_the_lines_for_langchain_refuse_the_write_and_carry_the_caveat(next_page: str | None) -> None:
    shop = Shop(next_page)
    model = scripted(calls(("list_orders", {})), calls(("archive_orders", {})), AIMessage("The rest is archived."))
    agent = ran("unabridged_langchain", {"tools": shop.tools(), "model": model})["agent"]
    messages = agent.invoke({"messages": [("user", "archive the rest")]})["messages"]
    [told] = [m for m in messages if getattr(m, "name", None) == "archive_orders"]
    assert told.status == ("success" if next_page is None else "error")
    assert shop.written == (next_page is None)
    assert messages[-1].content.startswith("orders: ") is (next_page is not None)
    assert messages[-1].content.endswith("The rest is archived.")


@pytest.mark.parametrize("next_page", ["c2", None])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # LlamaIndex reads deprecated attributes of its agents
async def test_the_lines_for_llamaindex_refuse_the_write_and_carry_the_caveat(next_page: str | None) -> None:
    shop = Shop(next_page)
    llm = script([("list_orders", {})], [("archive_orders", {})], "The rest is archived.")
    tools = [FunctionTool.from_defaults(fn) for fn in shop.tools()]
    answer = str(await ran("unabridged_llamaindex", {"tools": tools, "llm": llm})["agent"].run("archive the rest"))
    assert shop.written == (next_page is None)
    assert answer.startswith("orders: ") is (next_page is not None)
    assert answer.endswith("The rest is archived.")
