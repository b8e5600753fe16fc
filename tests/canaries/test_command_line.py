"""`unabridged read`: records go into their file, and of all else that was sent or answered nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")

from canaries.desk import ROWS, said
from canaries.watching import KEY, SAID, SENT, UP, Watch, customer, found_in, places
from cli.saved import RESUMABLE, Place
from reading.served import Call, serving

TOKEN = f"{KEY}token"
Respond = Callable[[Call], None]


def page(call: Call, **more: Any) -> None:
    """Answers with the next page: a record, a cursor, and more than that."""
    at = int(call.query.get("cursor", f"{UP}0").removeprefix(UP))
    following = f"{UP}{at + 1}" if at + 1 < len(ROWS) else None
    document = {"items": [ROWS[at]], "next": following, "note": customer(UP), **more}
    call.page(document, x_note=f"{UP}header", set_cookie=f"{KEY}cookie=1")


def later(respond: Respond) -> Respond:
    """Fails from the second page on."""
    return lambda call: respond(call) if "cursor" in call.query else page(call)


def cut(call: Call) -> None:
    call.head(200, {"content-length": "999", "x-note": f"{UP}header"})
    call.write(f'{{"items": [{{"id": "{UP}"'.encode())
    call.hang_up()


def in_turns(*responds: Respond) -> Respond:
    """Fails from the second page on, each attempt in another way."""
    left = list(responds)
    return later(lambda call: (left.pop(0) if len(left) > 1 else left[0])(call))


TEXT = said(TOKEN).encode()
WAYS: dict[str, tuple[Callable[[], Respond], int]] = {
    "complete": (lambda: page, 0),
    "refused": (lambda: lambda call: call.answer(403, TEXT, www_authenticate=f"{SAID}realm"), 4),
    "refused later": (lambda: later(lambda call: call.answer(403, TEXT, www_authenticate=f"{SAID}realm")), 3),
    "failing": (
        lambda: in_turns(
            lambda call: call.answer(500, TEXT),
            lambda call: call.answer(429, TEXT, retry_after=f"{SAID}soon"),
            cut,
            lambda call: call.answer(302, TEXT, location=f"https://{SAID}.example/{TOKEN}"),
        ),
        3,
    ),
    "malformed": (
        lambda: in_turns(
            lambda call: call.answer(200, TEXT, content_type="application/json"),
            lambda call: call.answer(200, TEXT[:-9], content_encoding="gzip"),
            lambda call: call.page({"items": customer(UP), "next": [f"{UP}cursor"]}),
        ),
        3,
    ),
    "other ids": (lambda: later(lambda call: call.page({"items": [{"id": customer(UP)}], "next": None})), 0),
    "stuck": (lambda: lambda call: call.page({"items": [ROWS[0]], "next": f"{UP}0"}), 3),
}
ARGS = (
    "--header", f"Authorization: Bearer {TOKEN}", "--filter", f"mail={SENT}mail@example.org", "--resource", "orders",
)  # fmt: skip
FILTERS = {"filters": {"mail": {"query": "mail"}}}

ASKED = (".checkpoint.question.filters.mail",)
"""Where a run that goes on finds what the caller asked for: the caller's own words, as in the scope of the header."""


def known(document: dict[str, Any]) -> dict[str, Any]:
    """Returns a header without the filters of its scope, which are the caller's own words."""
    assert document["scope"].pop("filters") == {"mail": f"{SENT}mail@example.org"}
    return document


@pytest.mark.parametrize(
    ("way", "to_stdout"), [*((way, False) for way in WAYS), ("complete", True), ("refused later", True)]
)
def test_a_read_writes_records_into_their_file_and_no_other_value_anywhere(
    way: str, to_stdout: bool, tmp_path: Path
) -> None:
    place, (made, code) = Place(tmp_path), WAYS[way]
    output = ("--output", "-") if to_stdout else ()
    with Watch() as watch, serving(made()) as server:
        result = place.run(f"{server.url}?api_key={KEY}query", *ARGS, *output, **FILTERS)
    assert result.exit_code == code
    assert len(server.calls) == 5 or way not in ("failing", "malformed"), "it was tried again"
    assert server.calls[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert server.calls[0].query["mail"] == f"{SENT}mail@example.org"
    notes = result.stderr.splitlines()
    header = notes.pop(next(n for n, line in enumerate(notes) if line.startswith("{"))) if to_stdout else result.stdout
    assert places(known(json.loads(header))) == {}
    assert found_in("".join(notes)) == set()
    if not to_stdout:
        status = place.status()
        known(status["header"])
        assert {where for where in places(status) if where not in ASKED} == set()
        assert place.files() <= {"things.jsonl", "things.jsonl.part", "things.jsonl.status.json"}
    assert watch.leaks() == {}


def test_a_read_that_can_be_resumed_keeps_its_cursor_and_no_other_value(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with Watch() as watch, serving(page) as server:
        first = place.run(server.url, *ARGS, "--max-pages", "1", **FILTERS, **RESUMABLE)
        status = place.status()
        known(status["header"])
        second = place.run(server.url, *ARGS, "--resume", **FILTERS, **RESUMABLE)
    assert (first.exit_code, second.exit_code) == (3, 0)
    assert [call.query.get("cursor") for call in server.calls] == [None, f"{UP}1", f"{UP}2"]
    kept = {where: hit for where, hit in places(status).items() if where not in ASKED}
    assert set(kept.values()) == {f"{UP}1"}
    assert all(where.startswith(".checkpoint.place.") for where in kept)
    assert found_in(first.stderr + second.stderr) == set()
    assert places(known(json.loads(second.stdout))) == {}
    assert watch.leaks() == {}


WRONG: dict[str, tuple[str, ...]] = {
    "a header": ("--header", f"{KEY} no header"),
    "a filter twice": ("--filter", f"mail={SENT}other"),
    "an output": ("--output", f"/{SENT}folder/none.jsonl"),
    "a variable": ("--bearer-env", f"{KEY} variable"),
}


@pytest.mark.parametrize("why", WRONG)
def test_wrong_use_is_told_without_its_values(why: str, tmp_path: Path) -> None:
    with Watch() as watch:
        result = Place(tmp_path).run("https://orders.example/things", *ARGS, *WRONG[why], **FILTERS)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr != ""
    assert found_in(result.stderr) == set()
    assert watch.leaks() == {}


def test_a_run_that_dies_takes_no_value_along(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (tmp_path / "things.jsonl.status.json").mkdir()
    with Watch() as watch, serving(page) as server:
        result = place.run(server.url, *ARGS, **FILTERS)
        if result.exception is not None:
            watch.raised(result.exception)
    assert result.exit_code != 0
    assert found_in(result.stdout + result.stderr) == set()
    assert watch.leaks() == {}
