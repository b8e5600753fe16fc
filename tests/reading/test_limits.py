"""Budgets stop the next request and never take a page back; retries are bounded and said."""

from __future__ import annotations

from typing import Any

import pytest
from reading.asking import ask, codes, keys, page, warned
from unabridged.testing import ScriptedTransport


def test_every_exhausted_budget_is_named() -> None:
    budget = {"max_pages": 1, "max_items": 2, "max_requests": 1, "max_bytes": 5, "max_seconds": 3}
    result = ask({}, {**page(1, 2, next="a"), "delay_s": 3}, budget=budget)
    assert keys(result) == {
        "CLIENT_LIMIT_REACHED:max_pages", "CLIENT_LIMIT_REACHED:max_items", "CLIENT_LIMIT_REACHED:max_requests",
        "CLIENT_LIMIT_REACHED:max_bytes", "TIME_BUDGET_EXCEEDED:max_seconds", "MORE_PAGES_AVAILABLE",
    }  # fmt: skip
    assert result.returned == 2
    assert result.continuation.kind == "next_page"


@pytest.mark.parametrize(
    "budget", [{"max_pages": 1}, {"max_items": 2}, {"max_requests": 1}, {"max_bytes": 1}, {"max_seconds": 1}]
)
def test_a_budget_met_by_the_last_page_was_not_touched(budget: dict[str, Any]) -> None:
    assert ask({}, {**page(1, 2), "delay_s": 5}, budget=budget).complete


def test_a_limit_inside_the_last_page_names_only_itself() -> None:
    result = ask({}, page(1, 2, 3), budget={"max_items": 2, "max_pages": 1, "max_requests": 1})
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_items"}
    assert result.ids == (1, 2)
    assert result.continuation.kind == "read_more"


def test_a_limit_of_items_counts_unique_ids() -> None:
    result = ask({"duplicates": "expected"}, page(1, 2, next="a"), page(1, 2, 3, next="b"), budget={"max_items": 3})
    assert result.ids == (1, 2, 3)
    assert keys(result) == {"CLIENT_LIMIT_REACHED:max_items", "MORE_PAGES_AVAILABLE"}


def test_a_page_that_arrived_after_the_time_was_over_is_kept() -> None:
    late = {**page(1, next="a"), "delay_s": 90}
    result = ask({}, late, budget={"max_seconds": 60})
    assert result.ids == (1,)
    assert keys(result) == {"TIME_BUDGET_EXCEEDED:max_seconds", "MORE_PAGES_AVAILABLE"}
    assert result.read.budget.spent_seconds == 90


def test_a_failed_request_is_sent_again_as_often_as_stated_over_the_whole_read() -> None:
    timeout = {"fault": "timeout"}
    result = ask({}, timeout, page(1, next="a"), timeout, page(2), budget={"max_retries": 2})
    assert result.complete
    assert warned(result) == {"RETRIED"}
    assert result.read.requests == 4
    spent = ask({}, timeout, page(1, next="a"), timeout, budget={"max_retries": 1})
    assert keys(spent) == {"SOURCE_UNAVAILABLE:timeout"}
    assert spent.read.requests == 3


def test_nothing_is_sent_again_unless_retries_are_stated() -> None:
    assert ask({}, {"fault": "timeout"}).read.requests == 1


@pytest.mark.parametrize("status", [401, 403, 410])
def test_what_cannot_pass_is_not_sent_again(status: int) -> None:
    dead = {"status": status, "headers": {}, "json": {}}
    result = ask({"expired": [{"status": 410}]}, page(1, next="a"), dead, budget={"max_retries": 5})
    assert result.read.requests == 2


def test_retries_are_requests_and_stop_with_their_limit() -> None:
    result = ask({}, {"fault": "timeout"}, {"fault": "timeout"}, budget={"max_retries": 9, "max_requests": 2})
    assert result.read.requests == 2
    assert keys(result) == {"SOURCE_UNAVAILABLE:timeout"}


def test_a_retry_stops_with_the_time() -> None:
    slow = {"fault": "timeout", "delay_s": 10}
    assert ask({}, slow, slow, budget={"max_retries": 9, "max_seconds": 15}).read.requests == 2


def quota(wait_s: int) -> dict[str, Any]:
    return {"status": 429, "headers": {"Retry-After": str(wait_s)}, "json": {}}


def test_an_announced_wait_is_waited_out_once_within_a_stated_time() -> None:
    script = ScriptedTransport([page(1, next="a"), quota(20), page(2)])
    result = ask({}, script=script, budget={"max_seconds": 60})
    assert result.complete
    assert script.clock.slept_s == [20]
    assert warned(result) == {"RETRIED"}
    twice = ask({}, page(1, next="a"), quota(2), quota(3), budget={"max_seconds": 60, "max_retries": 5})
    assert codes(twice) == {"RATE_LIMITED"}
    assert twice.continuation.kind == "retry_after"
    assert twice.read.requests == 3


def test_an_announced_wait_is_not_waited_out_without_a_stated_time_or_beyond_it() -> None:
    for budget in ({}, {"max_seconds": 20}, {"max_retries": 5}):
        result = ask({}, page(1, next="a"), quota(20), budget=budget)
        assert codes(result) == {"RATE_LIMITED"}
        assert result.continuation.kind == "retry_after"
        assert result.read.requests == 2


def test_a_quota_without_a_wait_is_an_ordinary_failure() -> None:
    silent = {"status": 429, "headers": {}, "json": {}}
    assert ask({}, silent, page(1), budget={"max_retries": 1}).complete
    result = ask({}, page(1, next="a"), silent)
    assert codes(result) == {"RATE_LIMITED"}
    assert result.continuation.kind == "next_page"
