"""The profiles of the demo: each loads, and says that it was tested against the real thing, as it is here."""

from __future__ import annotations

from importlib.resources import files

import pytest
from unabridged import load_profile
from unabridged.contract.errors import printable_name

NAMES = [entry.name for entry in files("unabridged.demo").joinpath("profiles").iterdir()]


def test_there_is_one_for_each_reading_endpoint() -> None:
    assert sorted(NAMES) == ["accounts.json", "assignments.json", "search.json", "tenants.json"]


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_and_rests_on_the_server(name: str) -> None:
    profile = load_profile(str(files("unabridged.demo").joinpath("profiles", name)))
    assert profile.evidence == "server"
    assert printable_name(profile.name) == profile.name
