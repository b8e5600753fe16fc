"""The entry point of the command line; needs the extra `cli`."""

from __future__ import annotations

import sys

from unabridged.contract.errors import MissingExtra


def main() -> None:
    """Runs the command line and exits with its code; with 2 and the install command when click is missing."""
    try:
        import click  # noqa: F401 - only to tell a missing click from a failure inside a command
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.stderr.write(f"unabridged: {MissingExtra(extra='cli', module='click')}\n")
        raise SystemExit(2) from None
    from .app import cli

    cli(prog_name="unabridged")


if __name__ == "__main__":
    main()
