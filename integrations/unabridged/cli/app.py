"""The command `unabridged`: it knows its commands by name and imports each only when it is used."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Final

import click

COMMANDS: Final[dict[str, str]] = {
    "actions": "unabridged.cli.actions",
    "audit": "unabridged.cli.audit",
    "demo": "unabridged.cli.demo",
    "profiles": "unabridged.cli.profiles",
    "read": "unabridged.cli.read",
    "replay": "unabridged.cli.replay",
}
"""Each command and the module that holds it under the command's own name."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, or listed by `--help`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names of all commands, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns the command of that name, or nothing."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[cmd_name]), cmd_name)
        return command


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"unabridged {metadata.version('unabridged')}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def cli() -> None:
    """Tools for agents that know whether a read was complete.

    Machine output goes to stdout, notes to stderr. Exit codes: 0 complete or clean, 1 a negative finding, 2 wrong use,
    3 partial or unknown, 4 unavailable.
    """
