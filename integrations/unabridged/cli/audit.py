"""`unabridged audit`: proves an audit log offline."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unabridged.contract.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.audit import Verification


@click.group()
def audit() -> None:
    """Look after audit logs."""


@audit.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--anchor", "anchors", metavar="SEQ:HASH", multiple=True, help="A line that was noted elsewhere.")
@click.option("--head", metavar="FILE", type=Path, help="The signed head of the log.")
@click.option("--key-file", metavar="FILE", type=Path, help="The key: checks the signature of the head too.")
@click.option("--processes", type=click.IntRange(1, 64), default=None, help="Default: the number of processors.")
@click.option("--strict", is_flag=True, help="Look at each line, also where the hash over many fits.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def verify(
    ctx: click.Context,
    files: tuple[str, ...],
    anchors: tuple[str, ...],
    head: Path | None,
    key_file: Path | None,
    processes: int | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Prove an audit log: offline, and without its key.

    FILE is a file of the log; the others of the same log beside it are found by themselves. Finds what was changed,
    removed, added or moved, and says in which file and line. That nothing is missing at the end is proven by an
    anchor or the head only: a line `SEQ:HASH`, or the file that the log signs, kept where nobody can write who can
    write the log.

    Reports, without calling the log broken, intents without an outcome and sealed tears: what was under way when a
    process died, and the bytes that a crash left.

    Exits with 0 when the log is intact, with 1 when it is broken, and with 2 for wrong use.
    """
    from unabridged.audit import key_file as key_in
    from unabridged.audit import verify as verified

    if key_file is not None and head is None:
        raise click.UsageError("--key-file checks the signature of a head: name it with --head")
    try:
        found = verified(
            files, anchors=anchors, head=head, key=None if key_file is None else key_in(key_file),
            processes=processes or os.cpu_count() or 1, strict=strict,
        )  # fmt: skip
    except InvalidInput as error:
        raise click.UsageError(str(error)) from None
    click.echo(json.dumps(found.to_json(), indent=2) if as_json else "\n".join(_lines(found)))
    ctx.exit(0 if found.intact else 1)


def _lines(found: Verification) -> Iterator[str]:
    yield from (
        f"{finding.file}:{finding.line}: {finding.rule}: {finding.message}"
        + (f" (number {finding.n})" if finding.n is not None else "")
        for finding in found.findings
    )
    yield from (f"{tear.file}:{tear.line}: sealed tear of {_some(tear.bytes, 'byte')}" for tear in found.tears)
    yield from (f"{it.file}:{it.line}: intent without an outcome: {it.ref}" for it in found.open_intents)
    count = f"{_some(found.events, 'event')} in {_some(len(found.files), 'file')}"
    open_count = f", {_some(len(found.open_intents), 'intent')} without an outcome" if found.open_intents else ""
    if not found.intact:
        more = " or more" if len(found.findings) >= 1_000 else ""
        yield f"broken: {_some(len(found.findings), 'fault')}{more}, {count}{open_count}"
        return
    yield f"intact: {count}{open_count}"
    if found.last is not None and found.proven < found.last.n:
        known = f"up to number {found.proven}" if found.proven else "by nothing"
        yield f"the end is proven {known}; note the last line elsewhere: {found.head}"


def _some(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
