"""What every shipped profile owes: a file that parses, a note with facts, and replay cases with items and without."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from unabridged.contract.codes import PROOF_LEVELS
from unabridged.profiles import load_profile, shipped_index

INDEX = shipped_index()
NAMES = sorted(INDEX.entries)
CASES = Path(__file__).parents[1] / "replay" / "shipped"


@cache
def expectations() -> dict[str, list[dict[str, Any]]]:
    """Returns what the cases expect of the reads of each shipped profile."""
    found: dict[str, list[dict[str, Any]]] = {}
    for file in CASES.glob("*.json"):
        for step in json.loads(file.read_text())["reads"]:
            if isinstance(step["profile"], str):
                found.setdefault(step["profile"], []).append(step.get("expect", {}))
    return found


def has_items(expected: dict[str, Any]) -> bool:
    return bool(expected.get("ids") or expected.get("items") or expected.get("returned"))


def is_empty(expected: dict[str, Any]) -> bool:
    return expected.get("ids") == [] or expected.get("returned") == 0 or expected.get("finding_count") == 0


def test_every_shipped_file_parses() -> None:
    assert [str(error) for error in INDEX.broken] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_profile_loads_and_rests_on_facts(name: str) -> None:
    shipped = INDEX[name]
    assert load_profile(name).name == name
    assert shipped.note.proof in PROOF_LEVELS
    assert len({(fact.says, fact.source) for fact in shipped.note.facts}) == len(shipped.note.facts)


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_profile_has_replay_cases_with_items_and_empty_ones_and_partial_ones(name: str) -> None:
    expected = expectations().get(name, [])
    assert any(has_items(one) for one in expected), "no case with items"
    assert any(is_empty(one) for one in expected), "no empty case"
    assert any(one.get("status") in ("partial", "unknown", "unavailable") for one in expected), "no case that is cut"


@pytest.mark.parametrize("name", NAMES)
def test_no_case_of_a_profile_shows_a_higher_proof_than_its_note(name: str) -> None:
    highest = PROOF_LEVELS.index(INDEX[name].note.proof)
    shown = [one["proof"] for one in expectations().get(name, []) if "proof" in one]
    assert all(PROOF_LEVELS.index(level) <= highest for level in shown)
    if highest == 0:
        assert not [one for one in expectations().get(name, []) if one.get("status") == "complete"]


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_that_rests_on_a_document_names_its_address_and_the_day(name: str) -> None:
    evidence = INDEX[name].document.get("evidence", "document")
    if isinstance(evidence, dict) and evidence["kind"] == "document":
        assert evidence.get("url")
        assert evidence.get("read")
