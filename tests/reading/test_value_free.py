"""No error and no repr carries what was refused, asked or answered, not even behind the error."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from reading.asking import profile
from unabridged.contract import CaseError, UnabridgedError
from unabridged.profiles import load_profile
from unabridged.reading import Fault, Query, Request, Response, read
from unabridged.testing import load_case

SECRET = "sk-sentinel-7f3a"
WHOLE: dict[str, Any] = {
    "name": "p", "version": 1, "items": "items", "id": "id", "walk": {"by": "link", "where": "header"},
}  # fmt: skip


def behind(error: BaseException | None) -> Iterator[str]:
    """Yields all that an error, and every error that led to it, would tell."""
    while error is not None:
        yield from (repr(error), str(error), repr(error.args), repr(vars(error)), repr(getattr(error, "object", "")))
        yield from (repr(getattr(error, "doc", "")), repr(getattr(error, "filename", "")))
        yield repr(error.errors()) if hasattr(error, "errors") else ""
        error = error.__cause__ or error.__context__


def at(url: str) -> Callable[[], object]:
    return lambda: read(profile(), "things", url=url)


def with_headers(headers: Any) -> Callable[[], object]:
    return lambda: read(profile(), "things", url="https://a.example/", headers=headers)


def with_profile(**changes: Any) -> Callable[[], object]:
    return lambda: load_profile({**WHOLE, **changes})


def asked(filters: Any) -> Callable[[], object]:
    given = profile(filters={"owner": {"header": "x-owner"}})
    return lambda: read(given, Query("things", filters=filters), url="https://a.example/")


@pytest.mark.parametrize(
    "wrong",
    [
        at(f"https://u:{SECRET}@a.example/"), at(f"https://a.example:{SECRET}/"), at(f"https://[{SECRET}/"),
        at(f"https://xn--{SECRET}\u00df\u200d/"),
        with_headers({"Authorization": f"{SECRET}\n"}), with_headers(SECRET), with_headers([(SECRET,)]),
        with_profile(items=[SECRET]), with_profile(items=f"{SECRET}["), with_profile(walk={"by": SECRET}),
        with_profile(signals=[{"path": "a", "when": {"gt": SECRET}, "code": "RATE_LIMITED"}]),
        with_profile(walk={"by": "fanout", "over": [SECRET * 5], "inner": WHOLE}),
        with_profile(walk={"by": "fanout", "over": ["a"], "inner": {**WHOLE, "id": f"{SECRET}["}}),
        with_profile(drop_ids=[[SECRET]]), with_profile(name=f"{SECRET} {SECRET}"),
        asked({"owner": f"{SECRET}\n"}), asked({"owner": "\ud800" + SECRET}), asked({"owner": {SECRET}}),
        lambda: load_profile(f"/nowhere/{SECRET}.json"), lambda: load_profile(SECRET),
        lambda: load_case({"case": SECRET, "reads": [{"profile": WHOLE, "query": SECRET, "exchanges": [SECRET]}]}),
        lambda: load_case({"case": "a", "reads": [{"profile": {**WHOLE, "id": f"{SECRET}["}, "query":
                                                   {"resource": "a"}, "exchanges": []}]}),
        lambda: load_case(f"/nowhere/{SECRET}.json"),
    ],
)  # fmt: skip
def test_nothing_stands_behind_an_error_that_its_message_leaves_out(wrong: Callable[[], object]) -> None:
    with pytest.raises(UnabridgedError) as caught:
        wrong()
    assert SECRET not in "".join(behind(caught.value))
    assert SECRET not in "".join(behind(pickle.loads(pickle.dumps(caught.value))))


@pytest.mark.parametrize("content", [SECRET.encode(), b'{"name": "' + SECRET.encode(), b"\xff" + SECRET.encode()])
def test_nothing_of_a_file_stands_behind_the_error_about_it(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "made.json"
    file.write_bytes(content)
    for load in (load_profile, load_case):
        with pytest.raises((UnabridgedError, CaseError)) as caught:
            load(str(file))
        assert SECRET not in "".join(behind(caught.value))


def test_requests_and_responses_show_nothing_of_what_they_carry() -> None:
    pair = ((SECRET, SECRET),)
    shown = [
        Request("GET", f"https://a.example/{SECRET}", query=pair, headers=pair, body=SECRET.encode()),
        Response(200, pair, SECRET.encode(), f"https://a.example/{SECRET}"),
        Fault("short_body", body=SECRET.encode(), status=200, headers=pair),
    ]
    assert SECRET not in repr(shown)
