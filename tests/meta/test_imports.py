"""What an import costs: the core knows no framework and loads no client until one is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

FRAMEWORKS = [
    "langchain",
    "langchain_core",
    "langgraph",
    "llama_index",
    "unabridged_langchain",
    "unabridged_llamaindex",
]
CLIENTS = ["httpx", "httpx2", "tenacity", "jmespath", "click", "rich", "psycopg", "sqlalchemy", "orjson", "pydantic"]


def modules_after(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sorted({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_the_toolkit_loads_no_framework_and_no_client() -> None:
    assert modules_after("import unabridged").isdisjoint([*FRAMEWORKS, *CLIENTS])


@pytest.mark.parametrize(
    "statement",
    [
        "from unabridged import *",
        "import unabridged.testing",
        "import unabridged.gate.runtime",
        "import unabridged.cli.app, unabridged.cli.replay",
    ],
)
def test_using_the_core_loads_no_framework(statement: str) -> None:
    assert modules_after(statement).isdisjoint(FRAMEWORKS)


@pytest.mark.parametrize(
    "names",
    ["Complete, from_wire, merge", "session, judge_write, WriteIntent", "judge_answer, Claim", "Query, Budget"],
)
def test_judging_needs_no_http_client(names: str) -> None:
    assert modules_after(f"from unabridged import {names}").isdisjoint(["httpx", "httpx2", "tenacity", "click"])


def test_a_replay_needs_no_http_client() -> None:
    assert modules_after("import unabridged.testing").isdisjoint(["httpx", "httpx2", "click"])
