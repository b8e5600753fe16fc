"""The provider of the desk in a process of its own: what it does stands in a file, so that one process does it all."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from canaries.desk import Provider
from unabridged.actions import Command


class Obeying(Provider):
    """Does what the file `mode` says, and notes that it has begun; what hangs goes on once there is a file `go`."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = Path(folder)

    def execute(self, command: Command) -> Any:
        """As the file says; what it prints goes nowhere."""
        print(command.to_message(), self.secret)
        self.mode = (self.folder / "mode").read_text()
        (self.folder / "begun").touch()
        while self.mode == "hangs" and not (self.folder / "go").exists():
            time.sleep(0.02)
        if self.mode == "ends":
            os._exit(3)
        return super().execute(command)
