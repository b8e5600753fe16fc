"""`unabridged demo`: one agent, one errand, done twice on a real database; with plain tools and guarded."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from unabridged.contract.errors import InvalidInput, MissingExtra, UnabridgedError

if TYPE_CHECKING:
    from unabridged.demo.report import DemoReport


@click.command()
@click.option(
    "--framework",
    type=click.Choice(["langchain", "llamaindex", "both"]),
    default="both",
    show_default=True,
    help="Which framework runs the agent.",
)
@click.option("--model", metavar="PROVIDER:NAME", help="A real chat model for the LangChain half; scripted without it.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def demo(framework: str, model: str | None, as_json: bool) -> None:
    """Let an agent archive what nobody owns, twice, and compare.

    Starts a real PostgreSQL and a small HTTP API of its own, and leaves nothing behind. Exits with 0 when the guarded
    run archived accounts and none of them wrongly, with 1 when it did not, with 2 when something is not installed.
    """
    try:
        report = _run(framework, model)
    except (InvalidInput, MissingExtra) as error:
        raise click.UsageError(str(error)) from error
    except UnabridgedError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        from rich.console import Console

        from unabridged.demo.render import render

        render(report, Console())
    sys.exit(0 if report.holds else 1)


def _run(framework: str, model: str | None) -> DemoReport:
    try:
        from unabridged.demo.run import run_demo
    except ModuleNotFoundError as error:  # the extra brings what the demo's own modules import
        if (error.name or "").partition(".")[0] == "unabridged":
            raise
        raise MissingExtra(extra="demo", module=error.name or "a module") from error
    from unabridged.demo.runs import FRAMEWORKS

    frameworks = FRAMEWORKS if framework == "both" else (framework,)
    return run_demo(frameworks, model=model, progress=lambda sentence: click.echo(sentence, err=True))
