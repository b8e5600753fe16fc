"""One PostgreSQL and one API for all tests of the demo; the directory is put back before each test."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from unabridged.demo.api import Api, serve
from unabridged.demo.directory import Directory
from unabridged.demo.postgres import Postgres, postgres


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        yield running


@pytest.fixture(scope="session")
def filled(server: Postgres) -> Iterator[Directory]:
    with Directory(server) as directory:
        directory.create()
        yield directory


@pytest.fixture(scope="session")
def api(filled: Directory) -> Iterator[Api]:
    with serve(filled) as running:
        yield running


@pytest.fixture
def directory(filled: Directory) -> Directory:
    filled.reset()
    return filled


@pytest.fixture
def client(api: Api) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=api.url, headers=api.headers, timeout=120, trust_env=False) as opened:
        yield opened
