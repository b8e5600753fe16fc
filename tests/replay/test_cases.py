"""Every replay case, by the name of its file."""

from __future__ import annotations

from pathlib import Path

import pytest
from unabridged.testing import run_case

CASES = Path(__file__).with_name("cases")
FILES = sorted(CASES.glob("*.json"))


def test_the_cases_are_there() -> None:
    assert len(FILES) >= 282


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_case_comes_out_as_it_expects(file: Path) -> None:
    outcome = run_case(file)
    assert [d.to_json() for d in outcome.differences] == []
    assert outcome.ok is True
