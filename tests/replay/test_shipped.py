"""Every replay case of a shipped profile."""

from __future__ import annotations

from pathlib import Path

import pytest
from unabridged.profiles import shipped_index
from unabridged.testing import run_case
from unabridged.testing.case import case_document

FILES = sorted(Path(__file__).with_name("shipped").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_case_of_a_shipped_profile_comes_out_as_it_expects(file: Path) -> None:
    outcome = run_case(file)
    assert [d.to_json() for d in outcome.differences] == []
    assert outcome.ok


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_case_is_filed_under_the_profile_that_it_shows(file: Path) -> None:
    used = {step["profile"] for step in case_document(file)["reads"] if isinstance(step["profile"], str)}
    assert any(file.stem.startswith(f"{name}-") for name in used)
    assert used <= set(shipped_index().entries)
