"""What kills the mutants that no other test looks at closely enough."""

from __future__ import annotations

from typing import Any

import pytest
from reading.asking import TOKEN, ask, page, profile


@pytest.mark.parametrize("token", ["c2", "", "0", 0, 0.0, False, {}, []], ids=repr)
def test_a_cursor_is_followed_whatever_its_truth(token: Any) -> None:
    result = ask(profile({**TOKEN, "empty_token": "cursor"}), page(1, next=token), page(2))
    assert result.ids == (1, 2)
    assert result.complete


def test_a_page_that_is_short_or_empty_is_no_end_of_its_own() -> None:
    sized = profile(size={"send": {"query": "limit"}, "max": 3})
    assert ask(sized, page(1, next="a"), page(next="b"), page(2)).ids == (1, 2)


@pytest.mark.parametrize("most", [1, 2])
def test_a_limit_of_items_is_exact_and_says_so(most: int) -> None:
    result = ask({}, page(1, 2, 3), budget={"max_items": most})
    assert result.returned == most
    assert not result.complete
