"""Ledgers of both kinds, on one clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from evidence.made_ledgers import Clock, NewDesk, NewLedger, desks_of, ledgers_of


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def new_ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[NewLedger]:
    """Makes a ledger; each test that asks for it runs on both kinds."""
    with ledgers_of(request.param, tmp_path, clock) as new:
        yield new


@pytest.fixture(params=["memory", "sqlite"])
def new_desk(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[NewDesk]:
    """Makes a ticket desk; each test that asks for it runs on both kinds."""
    with desks_of(request.param, tmp_path, clock) as new:
        yield new
