"""Small programs in fresh interpreters, for what can only be measured from their start to their end."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
_ROOMS: Final = ("integrations", "langchain_tools", "llamaindex_tools", "benchmarks")


@cache
def compile_rooms() -> None:
    """Compiles the project to bytecode: an import that compiles measures the compiler."""
    for room in _ROOMS:
        compileall.compile_dir(ROOT / room, quiet=1)


def output_of(program: str, *arguments: str) -> str:
    """Runs a program in a fresh interpreter and returns what it printed.

    Raises:
        CalledProcessError: it failed.
    """
    compile_rooms()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()
