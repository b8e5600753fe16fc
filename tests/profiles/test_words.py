"""What a profile says in words follows from its data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from unabridged.profiles import words

CASES = Path(__file__).parents[1] / "replay" / "cases"
TOKEN: dict[str, Any] = {
    "by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent", "null"], "empty_token": "cursor",
    "repeated_token": "anomaly",
}  # fmt: skip


def profile(walk: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "things", "version": 1, "items": "items", "id": "id", "walk": walk, **more}


def documents() -> list[dict[str, Any]]:
    steps = [step for file in sorted(CASES.glob("*.json")) for step in json.loads(file.read_text())["reads"]]
    return [step["profile"] for step in steps if isinstance(step["profile"], dict)]


def test_every_profile_of_the_cases_can_be_said_in_words() -> None:
    found = documents()
    assert {words.family(one).split()[0].rstrip(",") for one in found} == {
        "token", "link", "key", "offset", "single", "range", "job", "stream", "fanout", "partition",
    }  # fmt: skip
    for one in found:
        said = [words.goes_on(one), *words.end_rule(one), *words.incomplete_when(one), *words.caps(one)]
        said += words.remarks(one)
        assert all(sentence and "None" not in sentence for sentence in said), said
        assert words.end_rule(one)


def test_a_token_walk_says_what_ends_it_and_what_does_not() -> None:
    assert words.goes_on(profile(TOKEN)) == "`next` of a page is sent as the parameter `cursor`"
    assert words.end_rule(profile(TOKEN)) == (
        "the end is proven when `next` is missing or `next` is null",
        "an empty page with a token is not the end",
        "an empty text is a token like any other",
        "a token that comes back is PROTOCOL_ANOMALY:cursor_repeated",
    )


def test_what_is_carried_along_is_told() -> None:
    walk = TOKEN | {"carry": [{"read": "pit", "send": {"body": "pit.id"}}]}
    assert words.goes_on(profile(walk)).endswith("as the parameter `cursor`, `pit` as `pit.id` of the body")


def test_a_path_that_holds_backticks_is_still_one_span() -> None:
    signal = {"path": "a > `0`", "when": {"expr": True}, "code": "SOURCE_UNAVAILABLE"}
    assert words.incomplete_when(profile(TOKEN, signals=[signal])) == ("SOURCE_UNAVAILABLE where `` a > `0` `` holds",)


def test_a_walk_without_a_stated_end_says_so() -> None:
    walk = {"by": "offset", "send": {"query": "offset"}, "unit": "item", "origin": 0, "ends_on": []}
    assert words.end_rule(profile(walk))[0].startswith("the service states no end")
    assert any("not unique" in sentence for sentence in words.end_rule(profile(walk)))


def test_ends_that_two_keys_say_are_said_once() -> None:
    walk = TOKEN | {"ends_on": ["empty", "same_token"], "empty_token": "end", "repeated_token": "end"}
    assert words.end_rule(profile(walk))[0] == (
        "the end is proven when `next` is an empty text or the token that was sent comes back"
    )


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("nonempty", "is not empty"),
        ({"equals": False}, "is false"),
        ({"in": ["a", 1]}, 'is one of "a", 1'),
        ({"gt": 0}, "is above 0"),
        ({"expr": True}, "holds"),
    ],
)
def test_a_condition_is_the_end_of_a_sentence(when: Any, said: str) -> None:
    assert words.condition(when) == said


def test_signals_errors_dead_cursors_and_cuts_are_told() -> None:
    found = words.incomplete_when(
        profile(
            TOKEN,
            signals=[
                {"path": "lost", "when": "nonempty", "code": "SOURCE_UNAVAILABLE", "detail": "shard"},
                {"path": "old", "when": {"equals": True}, "warning": "STALE_INDEX"},
            ],
            errors=[{"path": "ok", "when": {"equals": False}, "code": "SOURCE_UNAVAILABLE"}],
            expired=[{"status": 410, "then": "restart_once"}],
            item_cuts=[{"path": "cut", "when": {"equals": True}, "why": "abridged"}],
            scope=[{"window": "90 days"}, {"excludes": "archived", "warning": "DEFAULT_SCOPE_APPLIED"}],
        )
    )
    assert found == (
        "SOURCE_UNAVAILABLE:shard where `lost` is not empty",
        "SOURCE_UNAVAILABLE where `ok` is false; the page is discarded",
        "CONTINUATION_EXPIRED where a cursor was sent and the status is 410; the walk begins anew once",
        "ITEM_TRUNCATED where `cut` of a record is true (abridged)",
        'SCOPE_NARROWED: window "90 days"',
    )


def test_what_stands_inside_a_fan_out_is_told_too() -> None:
    inner = profile(TOKEN, caps=[{"limit": 1000, "on": "items"}])
    found = {"name": "all", "version": 1, "walk": {"by": "fanout", "over": ["eu", "us"], "inner": inner}}
    assert words.family(found) == "fanout of token"
    assert words.goes_on(found).startswith("2 sources are read (eu, us)")
    assert "the end is proven when `next` is missing or `next` is null" in words.end_rule(found)
    assert any("1000" in cap for cap in words.caps(found))


def test_evidence_is_its_kind() -> None:
    assert words.evidence(profile(TOKEN)) == "document"
    found = profile(TOKEN, evidence={"kind": "server", "url": "https://x.example", "read": "2026-11-30"})
    assert words.evidence(found) == "server"
    assert words.evidence_source(found) == "https://x.example, read 2026-11-30"
    assert words.evidence_source(profile(TOKEN)) == ""
