"""The files of shipped services: strict, told apart by name, and without the values they refuse."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from unabridged.contract import ProfileError
from unabridged.profiles import about, load_profile, shipped_index, shipped_profiles
from unabridged.profiles.services import Index, index_of, read_service

SERVICE: dict[str, Any] = {
    "service": "Widgets",
    "profiles": [
        {
            "note": {
                "looks_like": {"items": [{"id": 1}], "next": None},
                "facts": [{"says": "The list ends at null.", "source": "https://w.example/docs", "read": "2026-11-30"}],
                "proof": "end_marker",
                "cannot_see": ["widgets of other tenants"],
            },
            "profile": {
                "name": "widgets_list",
                "version": 1,
                "items": "items",
                "id": "id",
                "walk": {
                    "by": "token",
                    "read": "next",
                    "send": {"query": "cursor"},
                    "ends_on": ["null"],
                    "empty_token": "illegal",
                    "repeated_token": "anomaly",
                },
            },
        }
    ],
}


def folder(tmp_path: Path, **services: Any) -> Index:
    for name, content in services.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / f"{name}.json").write_text(text)
    return index_of(tmp_path.glob("*.json"))


def changed(path: str, value: Any) -> dict[str, Any]:
    """Returns the service with one value replaced, or left out where the value is `...`."""
    service = copy.deepcopy(SERVICE)
    *parents, last = path.split(".")
    place: Any = service
    for part in parents:
        place = place[int(part) if part.isdigit() else part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return service


def test_a_profile_is_found_by_its_own_name_whatever_its_file_is_called(tmp_path: Path) -> None:
    found = folder(tmp_path, any_name=SERVICE)["widgets_list"]
    assert (found.name, found.service, found.file) == ("widgets_list", "Widgets", "any_name.json")
    assert found.profile.name == "widgets_list"
    assert found.profile is found.profile
    assert found.note.facts[0].read == "2026-11-30"


@pytest.mark.parametrize(
    ("path", "value", "field", "rule"),
    [
        ("canary", 1, "canary", "is not a known key"),
        ("profiles.0.note.canary", 1, "profiles.0.note.canary", "is not a known key"),
        ("service", ..., "service", "is required"),
        ("profiles", [], "profiles", "at least 1"),
        ("profiles.0.note", ..., "profiles.0.note", "is required"),
        ("profiles.0.profile", ..., "profiles.0.profile", "is required"),
        ("profiles.0.note.facts", [], "profiles.0.note.facts", "at least 1"),
        ("profiles.0.note.cannot_see", [], "profiles.0.note.cannot_see", "at least 1"),
        ("profiles.0.note.proof", "canary", "profiles.0.note.proof", "must be"),
        ("profiles.0.note.looks_like", {}, "profiles.0.note.looks_like", "must be a sample of a response"),
        ("profiles.0.note.facts.0.read", "canary", "profiles.0.note.facts.0.read", "match"),
        ("profiles.0.note.facts.0.source", "canary", "profiles.0.note.facts.0.source", "match"),
        ("profiles.0.profile.name", "canary canary", "profiles.0.profile.name", "must be the name of a profile"),
    ],
)
def test_a_broken_file_is_refused_by_its_key_and_never_by_its_value(
    tmp_path: Path, path: str, value: Any, field: str, rule: str
) -> None:
    index = folder(tmp_path, widgets=changed(path, value))
    assert not index.entries
    assert index.broken[0].field == f"widgets.json: {field}"
    assert rule in index.broken[0].rule
    assert "canary" not in index.broken[0].rule


@pytest.mark.parametrize(
    ("text", "rule"), [('{"service": 1, "service": 2}', "stands twice"), ("[]", "must be"), ("{", "is not valid JSON")]
)
def test_a_file_that_is_no_service_is_refused(tmp_path: Path, text: str, rule: str) -> None:
    assert rule in folder(tmp_path, widgets=text).broken[0].rule


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"service": "\xe9"}')
    with pytest.raises(ProfileError, match="UTF-8"):
        read_service(tmp_path / "latin.json")


def test_a_name_that_two_profiles_bear_breaks_the_later_file(tmp_path: Path) -> None:
    index = folder(tmp_path, first=SERVICE, second=SERVICE)
    assert index["widgets_list"].file == "first.json"
    assert index.broken[0].field == "second.json: profiles"


def test_a_broken_file_hides_only_itself(tmp_path: Path) -> None:
    index = folder(tmp_path, broken="{", good=SERVICE)
    assert index["widgets_list"].service == "Widgets"
    with pytest.raises(ProfileError, match=r"broken\.json"):
        index["no_such_profile"]


def test_a_profile_that_breaks_a_rule_is_refused_when_it_is_asked_for(tmp_path: Path) -> None:
    shipped = folder(tmp_path, widgets=changed("profiles.0.profile.walk.by", "canary"))["widgets_list"]
    with pytest.raises(ProfileError, match="walk") as caught:
        _ = shipped.profile
    assert "canary" not in str(caught.value)


def test_an_unknown_name_is_refused_with_the_names_that_exist(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="widgets_list"):
        folder(tmp_path, widgets=SERVICE)["no_such_profile"]
    with pytest.raises(ProfileError, match="must be the name of a shipped profile"):
        load_profile("no_such_profile")


def test_a_name_that_is_almost_right_is_refused_with_those_that_are_close_and_no_others() -> None:
    with pytest.raises(ProfileError) as caught:
        load_profile("githb_lst")
    assert "github_list" in caught.value.rule
    assert "slack_list" not in caught.value.rule
    assert "githb_lst" not in str(caught.value)


def test_the_index_of_the_package_is_read_once() -> None:
    assert shipped_index() is shipped_index()
    for name in shipped_profiles():
        assert about(name) is shipped_index()[name].note
        assert load_profile(name) is load_profile(name)
