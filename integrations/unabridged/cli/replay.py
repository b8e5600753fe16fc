"""`unabridged replay`: scripted sessions with their expected outcome, run on a virtual clock."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from glob import glob
from pathlib import Path

import click

from unabridged.contract.errors import CaseError


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.pass_context
def replay(ctx: click.Context, files: tuple[str, ...]) -> None:
    """Replay cases: files, folders of them, or patterns.

    Prints one JSON line a case and ends with the line `N passed, M failed`. Nothing touches the network and no real
    time passes.

    Exits with 0 when no case failed, with 1 when one did, and with 2 when a file is not a valid case.
    """
    counts: Counter[str] = Counter()
    for path in list(_paths(files)):  # wrong use is told before anything runs
        line = _run(path)
        if line is None:
            counts["invalid"] += 1
            continue
        click.echo(json.dumps(line))
        counts["passed" if line["ok"] else "failed"] += 1
    if counts["invalid"]:
        click.echo(f"no valid case: {counts['invalid']} of {counts.total()} files", err=True)
    click.echo(f"{counts['passed']} passed, {counts['failed']} failed")
    ctx.exit(2 if counts["invalid"] else 1 if counts["failed"] else 0)


def _run(path: Path) -> dict[str, object] | None:
    """Runs one file; nothing when it is no valid case, which is said on stderr."""
    from unabridged.testing import CaseOutcome, run_file

    try:
        outcome = run_file(path)
    except CaseError as error:
        click.echo(f"{path}: {error}", err=True)
        return None
    except Exception as error:  # noqa: BLE001 - the outermost boundary: a defect of ours does not stop the other cases
        click.echo(f"{path}: the replay itself failed with {type(error).__name__}", err=True)
        outcome = CaseOutcome(case=path.stem, ok=False)
    return outcome.to_json()


def _paths(given: Iterable[str]) -> Iterator[Path]:
    """Yields every file that is meant, once each; a folder means the JSON files in it and below."""
    seen: set[Path] = set()
    for text in given:
        for path in _meant(text):
            if path not in seen:
                seen.add(path)
                yield path


def _meant(text: str) -> list[Path]:
    path = Path(text)
    if path.is_dir():
        found = sorted(path.rglob("*.json"))
        if not found:
            raise click.UsageError(f"the folder {text!r} holds no JSON file")
        return found
    if not path.exists() and any(mark in text for mark in "*?["):
        found = sorted(Path(name) for name in glob(text, recursive=True))
        if not found:
            raise click.UsageError(f"no file matches the pattern {text!r}")
        return [file for match in found for file in (sorted(match.rglob("*.json")) if match.is_dir() else [match])]
    return [path]
