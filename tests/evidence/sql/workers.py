"""Starts workers, each in a process of its own, and ends them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]


class Worker:
    """One process; `ask` waits for its answer, `tell` does not."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def tell(self, *words: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the worker has ended"
        return json.loads(line)

    def ask(self, *words: object) -> Any:
        self.tell(*words)
        return self.hear()

    def kill(self) -> list[Any]:
        """Kills the process outright; returns what it had still said."""
        self._process.kill()
        said = self._process.communicate(timeout=60)[0]
        return [json.loads(line) for line in said.splitlines() if line.endswith('"')]


@contextmanager
def worker(url: str) -> Iterator[Worker]:
    process = subprocess.Popen(
        [sys.executable, "-m", "evidence.sql.worker", url],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=TESTS,
    )  # fmt: skip
    try:
        made = Worker(process)
        assert made.hear() == "ready"
        yield made
    finally:
        process.kill()
        process.communicate()


@contextmanager
def workers(url: str, count: int) -> Iterator[list[Worker]]:
    with ExitStack() as stack:
        yield [stack.enter_context(worker(url)) for _ in range(count)]
