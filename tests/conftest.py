"""What every test starts from: a ledger of its own, as in a process that has just begun."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from unabridged.evidence import opening


@pytest.fixture(autouse=True)
def _own_ledger() -> Iterator[None]:
    yield
    opening._default.clear()
