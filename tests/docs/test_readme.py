"""The README does what it says: its session runs, its fences run, and its first screen is short."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

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
