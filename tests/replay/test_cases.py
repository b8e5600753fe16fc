"""Every replay case, by the name of its file: it passes, or it is refused by the name of the feature it needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from unabridged.testing import run_case

CASES = Path(__file__).with_name("cases")
FILES = sorted(CASES.glob("*.json"))
REFUSED = {
    "y01-a-job-still-running-when-our-time-is-over-has-given-nothin": "walk job",
    "y02-ranges-that-cover-the-stated-total-prove-the-end-a-total-t": "walk range",
    "y03-a-206-nobody-asked-for-is-cut-content-the-same-status-is-f": "walk range",
    "y04-an-export-without-its-closing-line-was-cut-however-whole-i": "walk stream",
    "y05-a-capped-search-is-split-until-each-part-fits-and-the-part": "walk partition",
    "y17-a-handle-that-never-changes-is-followed-while-pages-bring": "progress",
    "y18-the-first-mark-is-sent-with-the-first-request-and-the-hand": "first",
    "y25-a-dead-cursor-restarts-the-walk-once-where-the-profile-say": "restart_once",
    "y41-a-limit-that-no-response-mentions-is-stated-by-the-profile": "scope",
}
"""What the next version adds; a case leaves this list when its feature arrives."""


def test_the_cases_are_there() -> None:
    assert len(FILES) >= 282
    assert set(REFUSED) <= {f.stem for f in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_case_comes_out_as_it_expects_or_is_refused_by_name(file: Path) -> None:
    outcome = run_case(file)
    assert outcome.refused == REFUSED.get(file.stem)
    assert [d.to_json() for d in outcome.differences] == []
    assert outcome.ok is (None if file.stem in REFUSED else True)
