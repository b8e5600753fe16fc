"""Lists of an OAI-PMH repository, read from an HTTP server that answers in XML."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from reading.served import Call, serving
from unabridged import Budget, Query, session
from unabridged.contract import InvalidInput, ReadResult, resume_of
from unabridged.reading import Resume
from unabridged.reading.run import finish_read
from unabridged.sources.oaipmh import page_of, read_oai_pmh

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">'
    "<responseDate>2026-11-30T09:00:00Z</responseDate><request>https://a.example/oai</request>"
)
DC = '<dc:dc xmlns:dc="urn:dc"><dc:title>{} &amp; more</dc:title></dc:dc>'


def answer(inner: str) -> bytes:
    return f"{HEAD}{inner}</OAI-PMH>".encode()


def header(name: str, *, deleted: bool = False) -> str:
    status = ' status="deleted"' if deleted else ""
    return (
        f"<header{status}><identifier>oai:a:{name}</identifier><datestamp>2026-11-29</datestamp>"
        "<setSpec>maths</setSpec></header>"
    )


def record(name: str) -> str:
    return f"<record>{header(name)}<metadata>{DC.format(name)}</metadata></record>"


def records(*names: str, token: str | None = None, **attributes: Any) -> bytes:
    return piece("ListRecords", "".join(record(name) for name in names), token, **attributes)


def piece(verb: str, inner: str, token: str | None, **attributes: Any) -> bytes:
    stated = "".join(f' {name}="{value}"' for name, value in attributes.items())
    end = "" if token is None else f"<resumptionToken{stated}>{token}</resumptionToken>"
    return answer(f"<{verb}>{inner}{end}</{verb}>")


def error(*codes: str) -> bytes:
    return answer("".join(f'<error code="{code}">never to be shown</error>' for code in codes))


class Repository:
    """A repository whose answers a test writes down in order: bodies, or a status with a body and headers."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.calls: list[Call] = []
        self.url = ""

    def __call__(self, call: Call) -> None:
        self.calls.append(call)
        given = self.answers.pop(0)
        if callable(given):
            given(call)
            return
        status, body, headers = given if isinstance(given, tuple) else (200, given, {})
        call.answer(status, body, **{"content_type": "text/xml; charset=utf-8", **headers})

    def read(self, *answers: Any, **options: Any) -> ReadResult:
        self.answers = list(answers)
        given = {"resource": "papers", "budget": Budget(max_retries=0), **options}
        return read_oai_pmh(self.url, **given)


@pytest.fixture
def repository() -> Iterator[Repository]:
    made = Repository()
    with serving(made) as server:
        made.url = server.url
        yield made


def keys(result: ReadResult) -> list[str]:
    return [reason.key for reason in result.reasons]


def names(result: ReadResult) -> list[str]:
    return [str(one).removeprefix("oai:a:") for one in result.ids or ()]


def test_a_list_in_pieces_ends_with_an_empty_token(repository: Repository) -> None:
    query = Query("papers", filters={"set": "maths", "from": "2026-01-01"})
    with session("papers") as s:
        result = repository.read(
            records("1", "2", token="t 1&amp;x", completeListSize=3, cursor=0),
            records("3", token="", completeListSize=3, cursor=2),
            resource=query,
        )
    assert (result.status, keys(result), names(result)) == ("complete", [], ["1", "2", "3"])
    assert (result.proof.level, result.proof.end) == ("end_marker", "empty")
    assert (result.total.value, result.total.kind) == (3, "estimate")
    assert "COUNT_NOT_EXACT" in {warning.code for warning in result.warnings}
    assert result.scope.filters == {"set": "maths", "from": "2026-01-01"}
    first = {"verb": "ListRecords", "metadataPrefix": "oai_dc", "set": "maths", "from": "2026-01-01"}
    assert [call.query for call in repository.calls] == [first, {"verb": "ListRecords", "resumptionToken": "t 1&x"}]
    assert [found.id for found in s.reads] == [result.read.id]


def test_a_list_in_one_piece_is_whole(repository: Repository) -> None:
    result = repository.read(records("1", "2"))
    assert (result.status, result.proof.end, names(result)) == ("complete", "absent", ["1", "2"])
    assert result.require_complete()[0] == {
        "identifier": "oai:a:1",
        "datestamp": "2026-11-29",
        "sets": ["maths"],
        "deleted": False,
        "metadata": '<ns0:dc xmlns:ns0="urn:dc"><ns0:title>1 &amp; more</ns0:title></ns0:dc>',
        "about": [],
    }


def test_that_nothing_matches_is_an_empty_list(repository: Repository) -> None:
    result = repository.read(error("noRecordsMatch"))
    assert (result.status, result.items, result.finding_count) == ("complete", [], 0)
    assert result.proves_absence()


@pytest.mark.parametrize("names_", [("1",), ()])
def test_a_later_piece_without_a_token_leaves_the_end_open(repository: Repository, names_: tuple[str, ...]) -> None:
    result = repository.read(records(*names_, token="t1"), records("9"))
    assert (result.status, keys(result)) == ("unknown", ["COVERAGE_UNKNOWN"])
    assert not result.proves_absence()


def test_an_empty_piece_with_a_token_is_not_the_end(repository: Repository) -> None:
    result = repository.read(records(token="t1"), records("1", token=""))
    assert (result.status, names(result)) == ("complete", ["1"])


def test_a_piece_that_is_not_the_last_by_its_own_numbers_is_no_end(repository: Repository) -> None:
    result = repository.read(
        records("1", token="t1", completeListSize=5, cursor=0), records("2", token="", completeListSize=5, cursor=1)
    )
    assert (result.status, keys(result)) == ("unknown", ["COVERAGE_UNKNOWN"])


@pytest.mark.parametrize("first", [("1", "2"), ()])
def test_a_token_that_died_is_expired(repository: Repository, first: tuple[str, ...]) -> None:
    result = repository.read(records(*first, token="t1"), error("badResumptionToken"))
    assert (result.status, keys(result), result.continuation.kind) == (
        "partial",
        ["CONTINUATION_EXPIRED"],
        "restart_scan",
    )
    assert names(result) == list(first)


def test_a_token_that_died_is_expired_whatever_stands_beside_it_and_under_any_status(repository: Repository) -> None:
    beside = repository.read(records("1", token="t1"), error("badArgument", "badResumptionToken"))
    under = repository.read(records("1", token="t1"), (422, error("badResumptionToken"), {}))
    assert keys(beside) == keys(under) == ["CONTINUATION_EXPIRED"]


def test_that_nothing_matches_is_no_answer_to_a_token(repository: Repository) -> None:
    result = repository.read(records("1", token="t1"), error("noRecordsMatch"))
    assert (result.status, keys(result)) == ("partial", ["PROTOCOL_ANOMALY:contradictory_signals"])


@pytest.mark.parametrize(
    "body",
    [
        error("badArgument"),
        error("cannotDisseminateFormat"),
        error("noSetHierarchy"),
        error("noRecordsMatch", "badArgument"),
        error("whatever"),
        answer("<error>no code</error>"),
        answer(f'<error code="badVerb"/><ListRecords>{record("1")}</ListRecords>'),
    ],
)
def test_an_error_is_no_page(repository: Repository, body: bytes) -> None:
    result = repository.read(body)
    assert (result.status, result.items) == ("unavailable", None)
    assert {"SOURCE_UNAVAILABLE", "PROTOCOL_ANOMALY"} & set(result.codes)
    assert "never to be shown" not in json.dumps(result.to_wire())


@pytest.mark.parametrize(
    "body",
    [
        answer(""),
        answer("<ListIdentifiers></ListIdentifiers>"),
        answer("<ListRecords/><ListRecords/>"),
        answer(f"<ListRecords>{header('1')}</ListRecords>"),
        answer(f"<ListRecords>{record('1')}<x/></ListRecords>"),
        answer("<ListRecords><record><metadata/></record></ListRecords>"),
        answer("<ListRecords><record><header><datestamp>1</datestamp></header></record></ListRecords>"),
        answer(f"<ListRecords>{record('1')}<resumptionToken/><resumptionToken>t</resumptionToken></ListRecords>"),
        answer(f'<ListRecords xmlns="urn:other">{record("1")}</ListRecords>'),
        answer(f"<ListRecords>{record('1')}</ListRecords><resumptionToken>t</resumptionToken>"),
        answer(f"<ListRecords>{record('1')}</ListRecords><Error code='badVerb'/>"),
        answer(f"<ListRecords>{record('1')}</ListRecords><error xmlns='urn:other'/>"),
        b"<html><body>Sign in</body></html>",
        b'<OAI-PMH><ListRecords/></OAI-PMH>',
    ],
)  # fmt: skip
def test_what_is_no_list_of_the_protocol_is_malformed(repository: Repository, body: bytes) -> None:
    result = repository.read(body)
    assert (result.status, keys(result)) == ("unavailable", ["PROTOCOL_ANOMALY:malformed_page"])
    later = repository.read(records("1", token="t1"), body)
    assert (later.status, keys(later), names(later)) == ("partial", ["PROTOCOL_ANOMALY:malformed_page"], ["1"])


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE OAI-PMH [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {n} "{f"&{m};" * 10}">' for m, n in zip("abcdefgh", "bcdefghi", strict=True))
    + ']><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>&i;</ListRecords></OAI-PMH>'
).encode()
FILE = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    b'<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>&f;</ListRecords></OAI-PMH>'
)


@pytest.mark.parametrize(
    "body",
    [
        BOMB,
        FILE,
        BOMB.decode().encode("utf-16"),
        b"<!DOCTYPE html>" + records("1"),
        b"<!-- c --><!DOCTYPE x SYSTEM 'http://127.0.0.1:1/x.dtd'>" + answer("<ListRecords/>")[38:],
        b"",
        b" ",
        b"{}",
        b'{"records": []}',
        b'{"records": [], "resumptionToken": ""}',
        b"[]",
        records("1", "2")[:-1],
        records("1", "2")[:-40],
        records("1") + b"<x/>",
        records("1").replace(b"UTF-8", b"no-such"),
        records("1").replace(b" &amp; more", b"\xff"),
        records("1").replace(b" &amp; more", b"&nbsp;"),
        answer("<a>" * 100_000),
    ],
)
def test_what_is_no_plain_xml_is_not_read(repository: Repository, body: bytes) -> None:
    result = repository.read(body)
    assert (result.status, keys(result)) == ("unavailable", ["TRANSPORT_TRUNCATED:invalid_json"])
    later = repository.read(records("1", token="t1"), body)
    assert (later.status, keys(later), names(later)) == ("partial", ["TRANSPORT_TRUNCATED:invalid_json"], ["1"])


def test_metadata_that_is_nested_for_ever_ends_no_process(repository: Repository) -> None:
    deep = "<a>" * 100_000 + "</a>" * 100_000
    result = repository.read(
        answer(f"<ListRecords><record>{header('1')}<metadata>{deep}</metadata></record></ListRecords>")
    )
    assert (result.status, keys(result)) == ("unavailable", ["TRANSPORT_TRUNCATED:invalid_json"])


@pytest.mark.parametrize(
    ("given", "key", "kind"),
    [
        ((503, b"", {"retry_after": "120"}), "RATE_LIMITED", "retry_after"),
        ((503, b"", {}), "SOURCE_UNAVAILABLE:status", "next_page"),
        ((429, b"", {}), "RATE_LIMITED", "next_page"),
        ((401, error("noRecordsMatch"), {}), "VISIBILITY_RESTRICTED:unauthorized", None),
        ((404, error("noRecordsMatch"), {}), "SOURCE_UNAVAILABLE:status", None),
        ((500, records("2"), {}), "SOURCE_UNAVAILABLE:status", "next_page"),
        ((206, records("2", token=""), {}), "TRANSPORT_TRUNCATED:unrequested_range", None),
    ],
)
def test_another_status_is_no_piece(repository: Repository, given: Any, key: str, kind: str | None) -> None:
    assert repository.read(given).status == "unavailable"
    result = repository.read(records("1", token="t1"), given)
    assert (result.status, keys(result), names(result)) == ("partial", [key], ["1"])
    assert kind is None or result.continuation.kind == kind


def test_a_body_that_is_cut_on_the_way_is_not_read(repository: Repository) -> None:
    def cut(call: Call) -> None:
        call.head(200, {"content-length": "99999"})
        call.write(records("1", token=""))
        call.hang_up()

    result = repository.read(cut)
    assert (result.status, result.codes) == ("unavailable", ("TRANSPORT_TRUNCATED",))


def test_a_body_that_is_shorter_than_a_client_says_is_not_read() -> None:
    body = records("1", token="")
    wrong = httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-length": "99999"}, content=body))
    with httpx.Client(transport=wrong) as client:
        result = read_oai_pmh("https://a.example/oai", resource="papers", client=client, budget=Budget(max_retries=0))
    assert (result.status, result.codes) == ("unavailable", ("TRANSPORT_TRUNCATED",))


def test_a_token_that_comes_back_is_a_loop(repository: Repository) -> None:
    result = repository.read(records("1", token="t1"), records("2", token="t1"))
    assert (result.status, keys(result)) == ("partial", ["PROTOCOL_ANOMALY:cursor_repeated"])


def test_an_entry_in_two_pieces_is_told(repository: Repository) -> None:
    result = repository.read(records("1", token="t1"), records("1", "2", token=""))
    assert keys(result) == ["CONSISTENCY_LOST:duplicate_ids"]


def test_a_read_that_stopped_goes_on_with_its_token(repository: Repository) -> None:
    first = repository.read(records("1", token="t1"), budget=Budget(max_pages=1))
    assert (keys(first), first.continuation.kind) == (
        ["CLIENT_LIMIT_REACHED:max_pages", "MORE_PAGES_AVAILABLE"],
        "next_page",
    )
    assert "t1" not in json.dumps(first.to_wire())
    resume = resume_of(first)
    assert isinstance(resume, Resume)
    assert resume.transport is not None
    repository.answers = [records("2", token="")]
    second = finish_read(resume, transport=resume.transport)
    assert (second.status, names(second)) == ("complete", ["2"])


def test_identifiers_say_which_are_deleted(repository: Repository) -> None:
    inner = header("1") + header("2", deleted=True)
    result = repository.read(piece("ListIdentifiers", inner, None), verb="ListIdentifiers", metadata_prefix="marc")
    assert result.status == "complete"
    assert [(one["identifier"], one["deleted"]) for one in result.items or ()] == [
        ("oai:a:1", False),
        ("oai:a:2", True),
    ]
    assert repository.calls[0].query == {"verb": "ListIdentifiers", "metadataPrefix": "marc"}


def test_sets_are_a_list_of_their_own(repository: Repository) -> None:
    inner = "<set><setSpec>maths</setSpec><setName>Maths</setName></set>"
    result = repository.read(piece("ListSets", inner, None), verb="ListSets")
    assert result.require_complete() == [{"setSpec": "maths", "setName": "Maths"}]
    assert repository.calls[0].query == {"verb": "ListSets"}


def test_a_base_url_with_a_query_of_its_own_keeps_it(repository: Repository) -> None:
    repository.url += "?tenant=a"
    repository.read(records("1", token="t1"), records("2", token=""))
    assert [call.query["tenant"] for call in repository.calls] == ["a", "a"]


def test_credentials_go_along_with_every_request(repository: Repository) -> None:
    repository.read(records("1", token="t1"), records("2", token=""), headers={"Authorization": "Bearer x"})
    assert [call.headers["authorization"] for call in repository.calls] == ["Bearer x", "Bearer x"]


def test_a_token_of_blanks_is_empty_and_blanks_around_one_are_its_own() -> None:
    assert json.loads(page_of(records("1", token=" \n "), "ListRecords", is_first=False))["resumptionToken"] == ""
    assert json.loads(page_of(records("1", token=" t "), "ListRecords", is_first=False))["resumptionToken"] == " t "


@pytest.mark.parametrize(
    "call",
    [
        lambda: read_oai_pmh("canary", resource="papers"),
        lambda: read_oai_pmh("https://a.example/oai?verb=canary", resource="papers"),
        lambda: read_oai_pmh("https://a.example/oai?resumptionToken=canary", resource="papers"),
        lambda: read_oai_pmh("https://a.example/oai", resource="papers", verb="canary"),  # type: ignore[arg-type]
        lambda: read_oai_pmh("https://a.example/oai", resource="papers", metadata_prefix=""),
        lambda: read_oai_pmh("https://a.example/oai", resource=Query("papers", filters={"canary": "1"})),
        lambda: read_oai_pmh("https://a.example/oai", resource=Query("papers", filters={"set": None})),
        lambda: read_oai_pmh("https://a.example/oai", resource=Query("papers", filters={"set": "x"}), verb="ListSets"),
        lambda: read_oai_pmh("https://a.example/oai", resource=Query("papers", page_size=5)),
        lambda: read_oai_pmh("https://a.example/oai", resource="papers", headers={"Host": "canary"}),
    ],
)
def test_an_argument_that_breaks_a_rule_is_refused_without_its_value(call: Callable[[], Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert "canary" not in str(caught.value)
