"""`unabridged profiles`: the shipped profiles, what each can prove and what it rests on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from unabridged.contract.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from unabridged.profiles import Shipped


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def profiles(name: str | None, as_json: bool) -> None:
    """List the shipped profiles, or explain the one called NAME.

    The list shows the family of each walk, the highest proof that a read by the profile can reach, and what the
    profile rests on: a real server, a recording, or a document. An explanation says how the service goes on, when its
    end is proven, what makes a read incomplete, the facts it rests on, and what it cannot see.
    """
    from unabridged.profiles import shipped_index, shipped_profiles

    try:
        if name is not None:
            shipped = shipped_index()[name]
            click.echo(_json(explained(shipped)) if as_json else "\n".join(_lines(shipped)))
            return
        found = [shipped_index()[one] for one in shipped_profiles()]
    except InvalidInput as error:
        raise click.UsageError(str(error)) from error
    rows = [_row(shipped) for shipped in found]
    click.echo(_json(rows) if as_json else "\n".join(_table(rows)))


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _row(shipped: Shipped) -> dict[str, str]:
    from unabridged.profiles import words

    return {
        "name": shipped.name,
        "service": shipped.service,
        "walk": words.family(shipped.document),
        "proof": shipped.note.proof,
        "evidence": words.evidence(shipped.document),
    }


def _table(rows: list[dict[str, str]]) -> Iterator[str]:
    heads = ("name", "walk", "proof", "evidence", "service")
    widths = [max(len(head), *(len(row[head]) for row in rows)) if rows else len(head) for head in heads]
    for row in ({head: head.upper() for head in heads}, *rows):
        yield "  ".join(row[head].ljust(width) for head, width in zip(heads, widths, strict=True)).rstrip()


def explained(shipped: Shipped) -> dict[str, Any]:
    """Returns what is to be said of a profile, as JSON; the sentences are generated from the profile itself."""
    from unabridged.profiles import words

    document = shipped.document
    return {
        **_row(shipped),
        "version": document.get("version"),
        "looks_like": shipped.note.looks_like,
        "goes_on": words.goes_on(document),
        "end_rule": words.end_rule(document),
        "incomplete_when": words.incomplete_when(document),
        "caps": words.caps(document),
        "remarks": words.remarks(document),
        "cannot_see": shipped.note.cannot_see,
        "facts": [fact.model_dump() for fact in shipped.note.facts],
        "profile": dict(document),
    }


def _lines(shipped: Shipped) -> Iterator[str]:
    from unabridged.profiles import words

    said = explained(shipped)
    yield f"{said['name']} (version {said['version']}): {said['service']}"
    source = words.evidence_source(shipped.document)
    basis = f"{said['evidence']} ({source})" if source else said["evidence"]
    yield f"walk {said['walk']}, highest proof {said['proof']}, rests on a {basis}"
    yield from _part("A response looks like", _json(said["looks_like"]).splitlines())
    yield from _part("How it goes on", (said["goes_on"],), mark="- ")
    yield from _part("When it ends", said["end_rule"], mark="- ")
    yield from _part("What makes a read incomplete", said["incomplete_when"], mark="- ")
    yield from _part("Silent caps", said["caps"], mark="- ")
    yield from _part("What else to know", said["remarks"], mark="- ")
    yield from _part("What it cannot see", said["cannot_see"], mark="- ")
    facts = [f"{fact['says']} ({fact['source']}, read {fact['read']})" for fact in said["facts"]]
    yield from _part("Facts it rests on", facts, mark="- ")


def _part(title: str, lines: Iterable[str], *, mark: str = "") -> Iterator[str]:
    found = list(lines)
    if found:
        yield f"\n{title}:"
        yield from (f"  {mark}{line}" for line in found)
