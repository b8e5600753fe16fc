"""`unabridged read`: pages a real source to its end, saves the records as they arrive and says what they cover."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import click

from unabridged.contract.errors import InvalidInput, NotYetSupported

if TYPE_CHECKING:
    from unabridged.profiles import Profile
    from unabridged.reading import Budget

_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]{1,64}\Z")
_AT_LEAST_1: Final = click.IntRange(min=1)


@click.command()
@click.argument("url")
@click.option("--profile", "profile_name", metavar="NAME", required=True, help="A shipped profile, or a JSON file.")
@click.option("--output", "-o", metavar="FILE", help="Where the records go, as JSON lines; `-` is stdout.")
@click.option("--resource", metavar="NAME", help="What is read. Default: the last part of the URL's path.")
@click.option("--filter", "filters", metavar="NAME=VALUE", multiple=True, help="A filter; VALUE is JSON, or a text.")
@click.option("--page-size", type=_AT_LEAST_1, help="Records a page.")
@click.option("--max-pages", type=_AT_LEAST_1, help="Default: 1000.")
@click.option("--max-items", type=_AT_LEAST_1, help="Default: 100000.")
@click.option("--max-bytes", type=_AT_LEAST_1, help="Of all bodies together. Default: 64 MiB.")
@click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), help="Default: 60.")
@click.option("--in-flight", type=click.IntRange(1, 64), default=8, show_default=True, help="Requests at a time.")
@click.option("--no-limit", is_flag=True, help="Lift every limit that is not stated, that of bytes too.")
@click.option("--header", "headers", metavar="'NAME: VALUE'", multiple=True, help="A header field.")
@click.option(
    "--header-env", "from_env", metavar="'NAME: VARIABLE'", multiple=True, help="A field from the environment."
)
@click.option("--header-file", "files", metavar="FILE", multiple=True, type=Path, help="Fields, one a line.")
@click.option("--bearer-env", metavar="VARIABLE", help="The variable that holds a bearer token.")
@click.option("--resume", is_flag=True, help="Go on from an unfinished run, or read anew and compare the ids.")
@click.option("--same-caller", is_flag=True, help="With --resume: the credentials are new, the caller is not.")
@click.option("--overwrite", is_flag=True, help="Replace the files of an earlier run.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def read(url: str, profile_name: str, **options: Any) -> None:
    """Read URL to its end by a profile, and say what the records cover.

    Records go to FILE.part while they arrive, whole pages at a time; the file loses that suffix only when the read is
    complete. FILE.status.json says how the run stands, also after it was killed. Without --output, FILE is named
    after the resource. The header of the read, the wire form without items, goes to stdout as JSON (to stderr when
    the records go to stdout).

    Credentials belong into the environment or a file. They go to the URL's origin only, and into no file and no
    output. --resume goes on from a cursor only where the profile says that it may outlive its session, and where the
    credentials are those of the earlier run or --same-caller says that they are the same caller's; otherwise it reads
    from the first page and says which ids are new and which are gone. It refuses files that were changed since.

    A cursor that dies during a run ends it, also where the profile says restart_once: pages before it are saved, and
    two scans are never mixed. The next --resume begins anew.

    Exits with 0 when the read is complete, with 3 when it is partial or unknown, with 4 when it is unavailable, and
    with 2 for wrong use.
    """
    try:
        saved = _saved(url, profile_name, options)
    except (InvalidInput, NotYetSupported) as error:
        raise click.UsageError(str(error)) from None
    to_stderr = options["output"] == "-"
    try:
        click.echo(json.dumps(saved.header, ensure_ascii=False, indent=None if to_stderr else 2), err=to_stderr)
    except OSError:
        sys.exit(saved.exit_code or 3)  # nobody was told what the records cover
    if saved.state == "interrupted" and threading.active_count() > 1:
        sys.stdout.flush()
        os._exit(saved.exit_code)  # requests that nobody waits for must not hold a process that was asked to stop
    sys.exit(saved.exit_code)


def _saved(url: str, profile_name: str, options: dict[str, Any]) -> Any:
    from unabridged.profiles import load_profile
    from unabridged.reading import Query

    from .saving import Progress, SaveJob, gather_headers, save

    profile = load_profile(profile_name)
    resource = options["resource"] or _resource(url, profile)
    headers = gather_headers(
        options["headers"], bearer_env=options["bearer_env"], from_env=options["from_env"], files=options["files"]
    )
    query = Query(resource, filters=_filters(options["filters"]), page_size=options["page_size"])
    job = SaveJob(
        profile=profile,
        query=query,
        url=url,
        budget=_budget(options),
        headers=headers,
        output=_stdout() if options["output"] == "-" else _path(options["output"], resource),
        resume=options["resume"],
        overwrite=options["overwrite"],
        same_caller=options["same_caller"],
        in_flight=options["in_flight"],
    )
    progress = Progress(sys.stderr or io.StringIO(), clock=time.monotonic, quiet=options["quiet"])
    saved = save(job, progress=progress)
    progress.say(_conclusion(saved.header, job.output))
    return saved


def _stdout() -> Any:
    if sys.stdout is None:  # closed by whoever started us
        raise InvalidInput(field="--output", rule="must not be standard output where that is closed")
    return sys.stdout.buffer


def _path(given: str | None, resource: str) -> Path:
    name = resource if _NAME.match(resource) else "records"
    path = Path(given) if given is not None else Path(f"{name}.jsonl")
    if path.name.endswith((".part", ".earlier", ".status.json", ".tmp")):
        raise InvalidInput(field="--output", rule="must not end as the files beside the records do")
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidInput(field="--output", rule="must name a file in a folder that exists")
    return path


def _resource(url: str, profile: Profile) -> str:
    """Returns the last part of the path, where it is plain enough to be a name; else the profile's name."""
    try:
        parts = [unquote(part) for part in urlsplit(url).path.split("/") if part]
    except ValueError:
        parts = []
    return parts[-1] if parts and _NAME.match(parts[-1]) else profile.name


def _filters(given: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidInput(field="--filter", rule="must be NAME=VALUE")
        if name in found:
            raise InvalidInput(field="--filter", rule="must not name a filter twice; a list is written as JSON")
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    """Returns a JSON value, and what is no JSON as a text."""

    def constant(name: str) -> Any:
        raise ValueError(name)

    try:
        return json.loads(text, parse_constant=constant)
    except (ValueError, RecursionError):
        return text


def _budget(options: dict[str, Any]) -> Budget:
    from unabridged.reading import Budget

    names = ("max_pages", "max_items", "max_bytes", "max_seconds")
    stated = {name: options[name] for name in names if options[name] is not None}
    if options["no_limit"]:
        return Budget.unlimited(max_retries=Budget().max_retries, **stated)
    return Budget(**stated)


def _conclusion(header: dict[str, Any], output: Any) -> str:
    """Returns what the records are worth, in one line."""
    codes = [reason["code"] for reason in header["incomplete_reasons"]]
    why = f" ({', '.join(dict.fromkeys(codes))})" if codes else ""
    status, records = header["status"], header["returned"]
    if status == "unavailable":
        return f"unavailable{why}: nothing was read, and nothing follows from that"
    where = ""
    if isinstance(output, Path):
        where = f" in {output.name if status == 'complete' else f'{output.name}.part'}"
    return f"{status}{why}: {records} records{where}"
