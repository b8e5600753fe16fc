"""The demo that is interrupted in the middle leaves nothing running and nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from demo import bare
from unabridged.demo.run import compare
compare({"bare": bare.run}, progress=lambda sentence: print(sentence, flush=True))
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that a user without rights may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


def _running_in(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdecimal() else b""
        except (FileNotFoundError, ProcessLookupError):
            continue
        if os.fsencode(folder) in line:
            found.append(line.decode(errors="replace"))
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["starting PostgreSQL", "plain tools", "guarded"])
def test_an_interrupt_leaves_nothing(open_folder: Path, moment: str, number: signal.Signals) -> None:
    command = [sys.executable, "-c", _SCRIPT, str(Path(__file__).parents[1])]
    environment = {**os.environ, "TMPDIR": str(open_folder)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        assert any(moment in line for line in process.stdout)
        process.send_signal(number)
        assert process.wait(timeout=120) != 0
    assert _running_in(open_folder) == []
    assert list(open_folder.iterdir()) == []
