"""A document is an excerpt with reference, version and range, and goes on only while its version holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from unabridged import WriteIntent, session
from unabridged.contract import InvalidInput, resume_of
from unabridged.sources.documents import DocumentUnavailable, Fetched, TextSource, Unit, read_document

TEXT = "".join(f"line {n}\n" for n in range(1, 11))


def source(text: str = TEXT, version: str | None = "v1") -> TextSource:
    return TextSource(lambda _: (text, version))


@dataclass
class Scripted:
    """Gives what it was told to give, one answer a request."""

    answers: list[Fetched | DocumentUnavailable]
    name: str = "scripted"

    def fetch(self, reference: str, *, unit: Unit, start: int, end: int | None) -> Fetched:
        answer = self.answers.pop(0)
        if isinstance(answer, Fetched):
            return answer
        raise answer


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def excerpt(result: Any) -> dict[str, Any]:
    (item,) = result.items
    return dict(item)


def test_a_whole_document_is_complete_in_its_version() -> None:
    result = read_document(source(), "notes", resource="docs", unit="lines")
    assert excerpt(result) == {
        "reference": "notes", "version": "v1", "unit": "lines", "start": 0, "end": 10, "total": 10, "text": TEXT,
    }  # fmt: skip
    assert (result.status, result.consistency, result.proof.level) == ("complete", "snapshot", "snapshot")
    assert (result.continuation.kind, result.scope.filters) == ("none", {"reference": "notes"})


def test_our_own_limit_cuts_a_document_and_goes_on_as_one_chain() -> None:
    with session("chain") as s:
        links = [read_document(source(), "notes", resource="docs", unit="lines", max_units=4)]
        while links[-1].continuation.kind == "read_range":
            links.append(resume_of(links[-1]).read())
        verdict = s.judge_write(WriteIntent(tool="x", relies_on=["docs"], targets=["notes"], require="snapshot"))
    assert [link.status for link in links] == ["partial", "partial", "complete"]
    assert keys(links[0]) == ["CLIENT_LIMIT_REACHED:max_bytes", "MORE_PAGES_AVAILABLE"]
    assert (links[0].continuation.reference, links[0].continuation.start) == ("notes", 4)  # type: ignore[union-attr]
    assert "".join(excerpt(link)["text"] for link in links) == TEXT
    assert [link.read.continues for link in links] == [None, links[0].read.id, links[1].read.id]
    assert verdict.verdict == "allow"


def test_a_range_that_was_asked_for_is_complete_for_that_range_only() -> None:
    result = read_document(source(), "notes", resource="docs", unit="lines", start=2, length=3)
    assert (result.status, excerpt(result)["start"], excerpt(result)["end"]) == ("complete", 2, 5)
    assert result.scope.filters == {"reference": "notes", "start": 2, "end": 5, "unit": "lines"}
    assert result.continuation.kind == "read_range"
    rest = resume_of(result).read()
    assert (rest.status, excerpt(rest)["start"], rest.read.continues) == ("complete", 5, None)


def test_a_document_that_changed_is_not_gone_on_with() -> None:
    texts = iter([(TEXT, "v1"), (TEXT.upper(), "v2"), (TEXT.upper(), "v2")])
    changing = TextSource(lambda _: next(texts))
    first = read_document(changing, "notes", resource="docs", unit="lines", max_units=4)
    second = resume_of(first).read()
    assert (second.status, second.items, keys(second)) == ("unavailable", None, ["CONSISTENCY_LOST:snapshot_changed"])
    assert (second.continuation.kind, second.consistency) == ("restart_scan", "not_established")
    anew = resume_of(second).read()
    assert (anew.status, excerpt(anew)["version"], excerpt(anew)["start"]) == ("partial", "v2", 0)
    assert anew.read.continues is None


def test_a_version_that_was_demanded_is_checked_at_once() -> None:
    result = read_document(source(), "notes", resource="docs", version="v0")
    assert keys(result) == ["CONSISTENCY_LOST:snapshot_changed"]


def test_without_a_version_nothing_is_a_snapshot() -> None:
    result = read_document(source(version=None), "notes", resource="docs")
    assert (result.status, result.consistency, result.scope.snapshot) == ("complete", "interval", None)


def test_a_range_that_came_back_shorter_is_cut_by_its_source() -> None:
    short = Scripted([Fetched("abc", 0, 3, total=10, version="v1"), Fetched("", 3, 3, total=10, version="v1")])
    result = read_document(short, "notes", resource="docs", length=5)
    assert (result.status, keys(result)) == ("partial", ["ITEM_TRUNCATED"])
    (cut,) = result.item_cuts
    assert (cut.item, cut.field, cut.why, cut.shown, cut.total, cut.unit) == (
        "notes", "text", "abridged", 3, 10, "chars",
    )  # fmt: skip
    assert result.continuation.kind == "read_range"
    again = resume_of(result).read()
    assert again.continuation.kind == "none"


@pytest.mark.parametrize("given", [Fetched("abcdefghij", 0, 10, 10), Fetched("bc", 1, 3, 10), Fetched("x", 0, 1, 0)])
def test_a_range_that_nobody_asked_for_is_no_excerpt(given: Fetched) -> None:
    result = read_document(Scripted([given]), "notes", resource="docs", length=3)
    assert (result.status, keys(result)) == ("unavailable", ["TRANSPORT_TRUNCATED:unrequested_range"])


def test_a_document_that_cannot_be_read_is_unavailable() -> None:
    hidden = Scripted([DocumentUnavailable(code="VISIBILITY_RESTRICTED", detail="forbidden")])
    assert keys(read_document(hidden, "notes", resource="docs")) == ["VISIBILITY_RESTRICTED:forbidden"]
    empty: dict[str, tuple[str, str | None]] = {}
    lost = read_document(TextSource(empty.__getitem__), "notes", resource="docs")
    assert (lost.status, keys(lost)) == ("unavailable", ["SOURCE_UNAVAILABLE:status"])


@pytest.mark.parametrize(("unit", "most"), [("bytes", 3), ("bytes", 4), ("chars", 3), ("lines", 1), ("pages", 1)])
def test_the_parts_of_a_document_make_it_whole(unit: Unit, most: int) -> None:
    text = "äé€😀x\nsecond\r\nthird\fpage two\n"
    link = read_document(source(text), "notes", resource="docs", unit=unit, max_units=most)
    found = excerpt(link)["text"]
    for _ in range(40):
        if link.complete or link.continuation.kind == "none":
            break
        link = resume_of(link).read()
        found += excerpt(link)["text"] if link.items else ""
    if unit == "bytes" and most == 3:
        assert text.startswith(found)  # a character of four bytes fits into no part of three: said, not skipped
        assert keys(link) == ["ITEM_TRUNCATED"]
    else:
        assert found == text


def test_beyond_the_end_there_is_nothing_and_that_is_all() -> None:
    result = read_document(source(), "notes", resource="docs", unit="lines", start=10)
    assert (result.status, excerpt(result)["text"]) == ("complete", "")


@pytest.mark.parametrize("options", [{"start": -1}, {"length": 0}, {"max_units": True}, {"unit": "words"}])
def test_a_wrong_argument_is_named(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        read_document(source(), "notes", resource="docs", **options)


@pytest.mark.parametrize("given", [Fetched("", 3, 3, 3), Fetched("", 2, 2, 2), Fetched("", -1, -1, -1)])
def test_an_empty_range_behind_the_one_that_was_asked_for_is_no_end(given: Fetched) -> None:
    result = read_document(Scripted([given]), "notes", resource="docs")
    assert (result.status, keys(result)) == ("unavailable", ["TRANSPORT_TRUNCATED:unrequested_range"])


def test_an_empty_range_at_the_end_of_a_document_that_is_shorter_is_an_end() -> None:
    result = read_document(Scripted([Fetched("", 2, 2, 2)]), "notes", resource="docs", start=5)
    assert (result.status, excerpt(result)["text"]) == ("complete", "")


@pytest.mark.parametrize(
    ("unit", "given"),
    [
        ("chars", Fetched("abc", 0, 5, 5)), ("chars", Fetched("abcdef", 0, 5, 5)), ("bytes", Fetched("aä", 0, 2, 2)),
        ("bytes", Fetched("a", 0, 2, 2)), ("lines", Fetched("a\n", 0, 0, 0)), ("pages", Fetched("a", 0, 0, 0)),
    ],
)  # fmt: skip
def test_a_text_that_is_not_as_long_as_its_range_is_no_excerpt(unit: Unit, given: Fetched) -> None:
    result = read_document(Scripted([given]), "notes", resource="docs", unit=unit)
    assert (result.status, keys(result)) == ("unavailable", ["TRANSPORT_TRUNCATED:short_body"])


def test_without_a_version_a_length_that_changes_tells_of_another_document() -> None:
    shrunk = Scripted([Fetched("ab", 0, 2, 9), Fetched("cd", 2, 4, 4)])
    first = read_document(shrunk, "notes", resource="docs", max_units=2)
    last = resume_of(first).read()
    assert (last.status, keys(last)) == ("unavailable", ["CONSISTENCY_LOST:total_changed"])
    grown = Scripted([Fetched("ab", 0, 2, 4), Fetched("cd", 2, 4, None), Fetched("ef", 4, 6, 6)])
    link = read_document(grown, "notes", resource="docs", max_units=2)
    for _ in range(2):
        link = resume_of(link).read()
    assert keys(link) == ["CONSISTENCY_LOST:total_changed"]


def test_the_rest_of_a_document_is_a_read_of_its_own_and_may_have_grown() -> None:
    grown = Scripted([Fetched("ab", 0, 2, 4), Fetched("cdef", 2, 6, 6)])
    first = read_document(grown, "notes", resource="docs", length=2)
    assert (first.status, resume_of(first).read().status) == ("complete", "complete")


def test_a_range_that_begins_within_a_character_is_no_text() -> None:
    result = read_document(source("äb"), "notes", resource="docs", unit="bytes", start=1)
    assert (result.status, keys(result)) == ("unavailable", ["PROTOCOL_ANOMALY:malformed_page"])


@pytest.mark.parametrize("broken", [b"canary \xff", None])
def test_a_document_that_is_no_text_is_unavailable_and_not_shown(broken: bytes | None) -> None:
    def load(_: str) -> tuple[str, str | None]:
        return ("\ud800" if broken is None else broken.decode()), None

    result = read_document(TextSource(load), "notes", resource="docs", unit="bytes")
    assert (result.status, keys(result)) == ("unavailable", ["PROTOCOL_ANOMALY:malformed_page"])
    assert "canary" not in str(result.to_wire())


def test_a_source_that_is_stopped_leaves_evidence() -> None:
    class Stopped(Scripted):
        def fetch(self, reference: str, *, unit: Unit, start: int, end: int | None) -> Fetched:
            raise KeyboardInterrupt

    with session("stopped") as s:
        with pytest.raises(KeyboardInterrupt):
            read_document(Stopped([]), "notes", resource="docs")
        assert [(read.status, read.codes) for read in s.reads] == [("unavailable", ("SOURCE_UNAVAILABLE",))]
