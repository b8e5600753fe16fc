"""The profile format: what it takes, what it refuses, and that no refusal shows a value."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from unabridged.contract import InvalidInput, ProfileError
from unabridged.profiles import Profile, load_profile, parse_strict, shipped_profiles

CANARY = "canary~ 7f3a"
TOKEN: dict[str, Any] = {
    "by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent"], "empty_token": "end",
    "repeated_token": "anomaly",
}  # fmt: skip
OFFSET: dict[str, Any] = {"by": "offset", "send": {"query": "at"}, "unit": "item", "origin": 0, "ends_on": ["total"]}
SINGLE: dict[str, Any] = {"by": "single"}


def document(walk: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    made = {"name": "things", "version": 1, "items": "items", "id": "id", "walk": walk or TOKEN, **changes}
    return {key: value for key, value in made.items() if value is not ...}


def refusal(made: Any) -> ProfileError:
    with pytest.raises(ProfileError) as caught:
        load_profile(made)
    return caught.value


def test_the_example_of_the_format_is_a_profile() -> None:
    made = load_profile(
        {
            "name": "example_list", "version": 1, "items": "items", "id": "id",
            "walk": {"by": "token", "read": "next_cursor", "send": {"query": "cursor"}, "ends_on": ["absent", "null"],
                     "empty_token": "end", "repeated_token": "anomaly", "more_flag": "has_more"},
            "filters": {"owner": {"query": "owner_id"}},
            "size": {"send": {"query": "limit"}, "max": 100, "read": "page.size"},
            "count": {"path": "total", "kind": "exact"},
            "signals": [{"path": "unreachable", "when": "nonempty", "code": "SOURCE_UNAVAILABLE",
                         "names_sources": True}],
            "caps": [{"limit": 1000, "on": "items"}], "snapshot": {"path": "meta.version"}, "visibility": "caller",
            "errors": [{"path": "ok", "when": {"equals": False}, "code": "SOURCE_UNAVAILABLE"}],
            "expired": [{"status": 410, "then": "stop"}],
            "rate_limit": {"status": [429], "wait_from": ["header:retry-after"]},
            "item_cuts": [{"path": "description_truncated", "when": {"equals": True}, "field": "description",
                           "why": "abridged"}],
            "order": {"by": "created_at", "unique": False}, "duplicates": "anomaly", "drop_ids": [-1],
            "on_failure": "partial",
        }
    )  # fmt: skip
    assert made.name == "example_list"
    assert made.basis == "document"
    assert made.rate_limit.status == (429,)


def test_what_is_not_stated_has_the_defaults_of_the_format() -> None:
    made = load_profile(document())
    assert (made.basis, made.on_failure, made.visibility, made.duplicates) == (
        "document",
        "partial",
        "caller",
        "anomaly",
    )
    assert (made.rate_limit.status, made.rate_limit.wait_from) == ((429,), ("header:retry-after",))
    link = load_profile(document({"by": "link", "where": "header"})).walk
    assert (link.rel, link.same_origin) == ("next", True)  # type: ignore[union-attr]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("an unknown key", document(itmes="x"), "itmes: is not a known key"),
    ("an unknown key inside", document({**TOKEN, "sendd": 1}), "walk.sendd: is not a known key"),
    ("an unknown key that may be a value", document(**{CANARY: 1}), "profile: holds unknown keys: 1"),
    ("a missing name", document(name=...), "name: is required"),
    ("a missing version", document(version=...), "version: is required"),
    ("a missing walk", document(walk=...), "walk: is required"),
    ("a walk without a kind", document({"read": "next"}), "walk.by: is required"),
    ("an unknown walk", document({"by": CANARY}), "walk.by: must be one of token"),
    ("missing items", document(items=...), "items: is required"),
    ("a missing id", document(id=...), "id: is required"),
    ("a version that is a truth value", document(version=True), "version: must be a valid integer"),
    ("a version below one", document(version=0), "version: must be greater than or equal to 1"),
    ("a name that is none", document(name=CANARY), "name: "),
    ("a path that is none", document(items="a.["), "items: must be a JMESPath expression"),
    ("a header path inside a record", document(id="header:x"), "id: must be a JMESPath expression"),
    ("an empty token without a meaning", document({**TOKEN, "empty_token": ...}), "walk.empty_token: is required"),
    ("a repeated token without a meaning", document({**TOKEN, "repeated_token": ...}), "walk.repeated_token"),
    ("ends that contradict the empty token", document({**TOKEN, "ends_on": ["empty"], "empty_token": "cursor"}),
     "walk: empty contradicts empty_token"),
    ("ends that contradict the repeated token", document({**TOKEN, "ends_on": ["same_token"]}),
     "walk: same_token contradicts repeated_token"),
    ("an end that needs a flag", document({**TOKEN, "ends_on": ["flag"]}), "walk: flag needs more_flag"),
    ("an end named twice", document({**TOKEN, "ends_on": ["null", "null"]}), "walk: must not name an end twice"),
    ("two places for one value", document({**TOKEN, "send": {"query": "a", "body": "b"}}), "exactly one of query"),
    ("a text for a place", document({**TOKEN, "send": CANARY}), "walk.send: must be an object"),
    ("no place for a value", document({**TOKEN, "send": {}}), "walk.send: must name exactly one of"),
    ("a header that is none", document({**TOKEN, "send": {"header": "a b"}}), "walk.send: must name a header field"),
    ("a body path that is none", document({**TOKEN, "send": {"body": "a..b"}}), "walk.send: must name a dotted key"),
    ("a body link without a path", document({"by": "link", "where": "body"}), "walk: path is required"),
    ("a header link with a path", document({"by": "link", "where": "header", "path": "x"}), "walk: path belongs"),
    ("a body link with a relation", document({"by": "link", "where": "body", "path": "x", "rel": "next"}),
     "walk: rel and live_flag belong"),
    ("an origin of two", document({**OFFSET, "origin": 2}), "walk.origin: must be 0 or 1"),
    ("an origin that is a truth value", document({**OFFSET, "origin": True}), "walk: origin must be 0 or 1"),
    ("pages that advance by records", document({**OFFSET, "unit": "page", "advance": "returned"}), "walk: advance is"),
    ("a total that stands nowhere", document(OFFSET), "walk.ends_on: total needs walk.total or count"),
    ("a short page of no size", document({**OFFSET, "ends_on": ["short_page"]}), "walk.ends_on: short_page needs size"),
    ("an advance of no size", document({**OFFSET, "total": "n", "advance": "requested"}), "walk.advance: requested"),
    ("a size that says nothing", document(size={}), "size: must have one of"),
    ("an overfetch without a size", document({**SINGLE, "overfetch": 1}), "walk.overfetch: needs size.send"),
    ("an overfetch as large as the maximum",
     document({**SINGLE, "overfetch": 5}, size={"send": {"query": "n"}, "max": 5}), "walk.overfetch: must be below"),
    ("a window without an offset", document(caps=[{"limit": 5, "on": "window"}]), "caps: window belongs"),
    ("a count without a kind", document(count={"path": "n"}), "count: must have exactly one of kind, kind_from"),
    ("a count with two kinds", document(count={"path": "n", "kind": "exact", "kind_from": {"path": "k", "a": "exact"}}),
     "count: must have exactly one of"),
    ("a kind that is none", document(count={"path": "n", "kind_from": {"path": "k", "eq": CANARY}}),
     "count: kind_from must map values"),
    ("a signal that says two things",
     document(signals=[{"path": "x", "when": "nonempty", "code": "RATE_LIMITED", "warning": "STALE_INDEX"}]),
     "signals.0: must have exactly one of code, warning"),
    ("a signal that says nothing", document(signals=[{"path": "x", "when": "nonempty"}]), "signals.0: must have"),
    ("a code that is none", document(signals=[{"path": "x", "when": "nonempty", "code": CANARY}]), "signals.0.code"),
    ("an owner of a code", document(signals=[{"path": "x", "when": "nonempty", "code": "RATE_LIMITED", "owner": "a"}]),
     "signals.0: owner and expires belong to a warning"),
    ("an expiry that is no date",
     document(signals=[{"path": "x", "when": "nonempty", "warning": "STALE_INDEX", "expires": CANARY}]),
     "signals.0: expires must be a date"),
    ("a condition that is none", document(signals=[{"path": "x", "when": CANARY, "code": "RATE_LIMITED"}]),
     "signals.0.when: must be"),
    ("two conditions in one", document(signals=[{"path": "x", "when": {"gt": 1, "equals": 2}, "code": "RATE_LIMITED"}]),
     "signals.0.when: must be"),
    ("a condition that is never true",
     document(signals=[{"path": "x", "when": {"expr": False}, "code": "RATE_LIMITED"}]), "signals.0.when: must be"),
    ("an expiry without a mark", document(expired=[{}]), "expired.0: must have a status, or path and when"),
    ("an expiry with half a mark", document(expired=[{"path": "x"}]), "expired.0: path and when belong together"),
    ("a wait from nowhere", document(rate_limit={"wait_from": [CANARY]}), "rate_limit: must hold header:NAME"),
    ("a cut with two marks", document(item_cuts=[{"path": "a", "when": "nonempty", "list_len": 2, "why": "abridged"}]),
     "item_cuts.0: must have exactly one of when, list_len"),
    ("a cut without a why", document(item_cuts=[{"path": "a", "list_len": 2}]), "item_cuts.0.why: is required"),
    ("an empty list for a missing page", document(empty_status=[404]), "empty_status.0: must be"),
    ("padding without an id", document(id=None, drop_ids=[1]), "drop_ids: needs an id"),
    ("padding that is an object", document(drop_ids=[{"a": CANARY}]), "drop_ids.0: must be a text, a number"),
    ("padding that is no JSON", document(drop_ids=[float("inf")]), "drop_ids.0: must be a text, a number"),
    ("a condition that no number meets",
     document(signals=[{"path": "x", "when": {"gt": float("nan")}, "code": "RATE_LIMITED"}]),
     "signals.0.when: must not hold NaN, Infinity"),
    ("a condition that no value equals",
     document(signals=[{"path": "x", "when": {"in": [1, {"a": [float("nan")]}]}, "code": "RATE_LIMITED"}]),
     "signals.0.when: must not hold NaN, Infinity"),
    ("a first token that is no JSON", document(
        {"by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent"], "empty_token": "end",
         "repeated_token": "anomaly", "first": float("inf")}), "walk: first must not hold NaN"),
    ("two values in one place", document(filters={"a": {"query": "cursor"}}), "filters: two values are sent"),
    ("a filter where a query parameter is carried", document(
        {"by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent"], "empty_token": "end",
         "repeated_token": "anomaly", "carry": [{"read": "pit", "send": {"query": "pit"}}]},
        filters={"a": {"query": "pit"}}), "filters: two values are sent"),
    ("two filters where a key of the body is carried", document(
        {"by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["absent"], "empty_token": "end",
         "repeated_token": "anomaly", "carry": [{"read": "pit", "send": {"body": "pit"}}]},
        filters={"a": {"body": "pit"}, "b": {"body": "pit"}}), "filters: two values are sent"),
    ("a null without a form", document(filters={"a": {"query": "b", "null": None}}), "filters.a: null must be"),
    ("a fan-out over nothing", document({"by": "fanout", "over": [], "inner": document()}), "walk.over: "),
    ("a fan-out over one source twice", document({"by": "fanout", "over": ["a", "a"], "inner": document()}),
     "walk: must not name a source twice"),
    ("a broken inner profile", document({"by": "fanout", "over": ["a"], "inner": document(version=0)}),
     "walk.inner.version: must be"),
]  # fmt: skip


def _without_placeholders(made: Any) -> Any:
    if isinstance(made, dict):
        return {key: _without_placeholders(value) for key, value in made.items() if value is not ...}
    return [_without_placeholders(one) for one in made] if isinstance(made, list) else made


@pytest.mark.parametrize(("why", "made", "text"), REFUSED, ids=[why for why, _, _ in REFUSED])
def test_a_profile_is_refused_with_the_key_and_the_rule_and_never_the_value(
    why: str, made: dict[str, Any], text: str
) -> None:
    error = refusal(_without_placeholders(made))
    assert text in str(error), why
    assert CANARY not in f"{error!s} {error!r} {error.__cause__!r} {error.__dict__!r}"


def test_ends_of_a_token_walk_may_say_what_the_token_keys_say() -> None:
    walk = load_profile(
        document({"by": "token", "read": "n", "send": {"query": "c"}, "ends_on": ["empty", "same_token"]})
    ).walk
    assert (walk.empty_token, walk.repeated_token) == ("end", "end")  # type: ignore[union-attr]


def test_a_profile_is_frozen_and_survives_pickling_and_copying() -> None:
    made = load_profile(document(filters={"owner": {"query": "o", "null": "none"}}))
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.deepcopy(made) == made
    with pytest.raises(Exception, match="frozen"):
        made.name = "other"  # type: ignore[misc]


def test_keywords_build_the_same_profile_as_a_dict() -> None:
    assert Profile(**document()) == load_profile(document())
    assert load_profile(load_profile(document())) == load_profile(document())


def test_a_profile_is_loaded_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "things.json"
    path.write_text(json.dumps(document()), encoding="utf-8")
    assert load_profile(path) == load_profile(str(path)) == load_profile(document())


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{"name": "a", "name": "canary~ 7f3a"}', "name: stands twice"),
        ('{"walk": {"by": "token", "by": "link"}}', "by: stands twice"),
        ('{"name": NaN}', "profile: must not hold NaN or Infinity"),
        ('{"version": 1e400}', "profile: must not hold a number that is too large for JSON readers"),
        ('{"name": ', "profile: is not valid JSON"),
        ("[" * 100_000, "profile: is nested too deeply"),
        ("[]", "profile: must be an object"),
        ("canary~ 7f3a", "profile: is not valid JSON"),
    ],
)
def test_a_file_that_is_no_profile_is_refused_by_rule(tmp_path: Path, text: str, rule: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="utf-8")
    error = refusal(path)
    assert str(error) == rule


def test_a_file_that_cannot_be_read_is_refused_without_its_path(tmp_path: Path) -> None:
    assert str(refusal(tmp_path / "canary.json")) == "profile: must name a file that can be read"
    (tmp_path / "latin.json").write_bytes(b'{"name": "\xe9"}')
    assert str(refusal(tmp_path / "latin.json")) == "profile: must be UTF-8"
    (tmp_path / "large.json").write_bytes(b" " * (1024 * 1024 + 1))
    assert "at most" in str(refusal(tmp_path / "large.json"))


@pytest.mark.parametrize("source", ["no_such_profile", 7, None, ["a"], {1: 2}])
def test_what_is_no_profile_at_all_is_refused(source: Any) -> None:
    assert refusal(source).field == "profile"


def test_every_shipped_profile_loads_under_its_own_name() -> None:
    for name in shipped_profiles():
        assert load_profile(name).name == name


def test_strict_json_may_speak_in_the_error_class_of_its_caller() -> None:
    with pytest.raises(InvalidInput, match="thing: is not valid JSON"):
        parse_strict("{", field="thing", error=InvalidInput)
