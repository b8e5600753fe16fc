"""What every test starts from: a ledger of its own, as in a process that has just begun, and no deadline for laws."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from unabridged.evidence import opening

# A machine may be slow, and a run shall not depend on chance: `HYPOTHESIS=search` looks for new examples instead.
settings.register_profile(
    "fixed",
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
)
# Of a wrong program it is enough that it is found; the smallest example is of no use, and takes minutes.
settings.register_profile(
    "mutants", settings.get_profile("fixed"), phases=(Phase.explicit, Phase.generate), report_multiple_bugs=False
)
settings.register_profile("search", settings.get_profile("fixed"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS", "fixed"))


@pytest.fixture(autouse=True)
def _own_ledger() -> Iterator[None]:
    yield
    opening._default.clear()
