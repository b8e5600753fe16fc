"""A source of pages on the loopback interface, and `unabridged read` over it, for the tests of this folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from reading.served import Call, Server
from unabridged.cli.app import cli
from unabridged.cli.saving.sweeper import seal

TOKEN: dict[str, Any] = {
    "by": "token", "read": "next", "send": {"query": "cursor"}, "ends_on": ["null"], "empty_token": "illegal",
    "repeated_token": "anomaly",
}  # fmt: skip
RESUMABLE = {"cursor": {"resumable": True}}


@dataclass(frozen=True)
class Place:
    """A folder with a profile in it, where runs are made and looked at."""

    folder: Path

    @property
    def target(self) -> Path:
        return self.folder / "things.jsonl"

    @property
    def part(self) -> Path:
        return self.folder / "things.jsonl.part"

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "things.jsonl.status.json").read_text())
        return found

    def change_status(self, document: dict[str, Any]) -> None:
        """Writes another status file, as if a run had written it."""
        (self.folder / "things.jsonl.status.json").write_text(json.dumps(seal(document)))

    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()} - {"profile.json"}

    def profile(self, **changes: Any) -> Path:
        document = {"name": "things", "version": 1, "items": "items", "id": "id", "walk": TOKEN, **changes}
        path = self.folder / "profile.json"
        path.write_text(json.dumps(document))
        return path

    def args(self, url: str, *more: str, **changes: Any) -> list[str]:
        return ["read", url, "--profile", str(self.profile(**changes)), "--output", str(self.target), *more]

    def run(self, url: str, *more: str, **changes: Any) -> Result:
        return CliRunner().invoke(cli, self.args(url, *more, **changes))

    def start(self, url: str, *more: str, setup: Callable[[], None] | None = None, **changes: Any) -> Any:
        """Starts a run as a process of its own."""
        command = [sys.executable, "-m", "unabridged.cli.main", *self.args(url, *more, **changes)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, env=dict(os.environ), preexec_fn=setup)


def records(path: Path) -> list[Any]:
    """Returns the records of a file of JSON lines; each line is whole."""
    data = path.read_bytes()
    assert data == b"" or data.endswith(b"\n")
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def ids(path: Path) -> list[Any]:
    return [record["id"] for record in records(path)]


def paged(*pages: list[Any], **more: Any) -> Callable[[Call], None]:
    """Returns how a source answers that has these ids on its pages; the cursor is `c1`, `c2` and so on."""

    def respond(call: Call) -> None:
        number = int(call.query.get("cursor", "c0")[1:])
        following = f"c{number + 1}" if number + 1 < len(pages) else None
        call.page({"items": [{"id": one} for one in pages[number]], "next": following, **more})

    return respond


def cursors(server: Server) -> list[str | None]:
    return [call.query.get("cursor") for call in server.calls]
