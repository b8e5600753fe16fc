"""The README and the command line agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("click")

from unabridged.cli.app import COMMANDS

README = (Path(__file__).parents[2] / "README.md").read_text()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_documented_in_the_readme(name: str) -> None:
    assert f"unabridged {name}" in README


def test_the_readme_names_no_command_that_does_not_exist() -> None:
    named = set(re.findall(r"`unabridged ([a-z]+)", README)) | set(
        re.findall(r"^\$? ?unabridged ([a-z]+)", README, re.M)
    )
    assert named <= set(COMMANDS)
