"""Going on with a read, and counting over it: nothing that was hidden comes out, and no zero that is none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from gate.calling import ROWS, SECRET, call, codes, enter, fresh, ran, read, result, size, told, write
from unabridged import _ambient
from unabridged.contract import NextPage, ReadResult, new_handle, with_resume
from unabridged.evidence import MemoryLedger, MemoryStore, Session, session
from unabridged.gate import Entered, Gate, ReadSpec, Reply, Step, continue_read, count_read
from unabridged.gate.boundary import arun_step, run_step

HIDDEN = [{"id": n, "name": "x" * 200, "key": SECRET} for n in range(200)]


class Source:
    """The way on at a source: each step brings the next result, or raises it."""

    def __init__(self, *results: ReadResult | BaseException) -> None:
        self._results = list(results)

    def read(self) -> ReadResult:
        found = self._results.pop(0)
        if isinstance(found, BaseException):
            raise found
        return found

    async def aread(self) -> ReadResult:
        return self.read()


def page(items: list[Any], *then: ReadResult | BaseException) -> ReadResult:
    """Returns a first page that our own limit stopped, with the way on."""
    found = result(items, "CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE", continuation=NextPage(handle=new_handle()))
    return with_resume(found, Source(*then))


def handle_of(reply: Reply) -> str:
    return str(told(reply)["continuation"]["handle"])


def step(s: Session, handle: str) -> Step:
    found = continue_read(s, handle)
    assert isinstance(found, Step)
    return found


def test_the_next_page_completes_the_chain() -> None:
    s = fresh()
    first = page(ROWS)
    with_resume(first, Source(result([{"id": 4}], continues=first.read.id)))
    reply = read(first, session=s)
    assert codes(write(s, relies_on=["orders"])) == ["EVIDENCE_INCOMPLETE"]
    found = step(s, handle_of(reply))
    assert codes(write(s, relies_on=["orders"])) == ["EVIDENCE_INCOMPLETE", "EVIDENCE_PENDING"]
    assert told(run_step(found))["items"] == [{"id": 4}]
    assert ran(write(s, {"ids": [1, 4]}, relies_on=["orders"], targets="ids"))


def test_what_was_hidden_stays_hidden_on_every_way() -> None:
    s = fresh()
    reply = read(page(HIDDEN, result(HIDDEN), result(HIDDEN)), session=s, fields=["id", "name"])
    replies = [reply]
    while "read_more" in replies[-1].content:
        more = continue_read(s, handle_of(replies[-1]))
        assert isinstance(more, Reply)
        replies.append(more)
    replies.append(run_step(step(s, str(s.reads[0].continuation.handle))))  # type: ignore[union-attr]
    again = continue_read(s, told(reply)["handle"])
    assert isinstance(again, Reply)
    replies += [again, count_read(s, told(reply)["handle"], {"key": SECRET})]
    assert all(SECRET not in r.content + str(r.artifact) for r in replies)
    assert told(replies[-1])["problems"] == [{"field": "where.key", "rule": "is not a field that can be seen"}]


def test_the_way_on_from_a_read_inside_the_body_shows_no_more_than_the_tool() -> None:
    s = fresh()
    inner = page([{"id": 1, "key": SECRET}], result([{"id": 2, "key": SECRET}]))
    spec = ReadSpec(resource="orders", fields=["id"])
    entered = enter(spec, session=s)
    assert isinstance(entered, Entered)
    with entered.scope():
        _ambient.record(inner)
    outer = result([{"id": 1, "key": SECRET}], "MORE_PAGES_AVAILABLE", continuation=inner.continuation)
    reply = Gate("tool", spec).leave(entered, outer)
    after = run_step(step(s, handle_of(reply)))
    assert told(after)["items"] == [{"id": 2}]
    assert SECRET not in reply.content + after.content


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("error", [RuntimeError(SECRET), TimeoutError(SECRET)])
def test_a_step_that_fails_is_unavailable_and_its_text_goes_nowhere(
    error: Exception, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    s = fresh()
    found = step(s, handle_of(read(page(ROWS, error), session=s)))
    reply = _run(found, is_async=is_async)
    assert (reply.is_error, told(reply)["status"]) == (True, "unavailable")
    assert SECRET not in reply.content + caplog.text
    assert [r.status for r in s.reads] == ["partial", "unavailable"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_step_that_is_cancelled_is_recorded_and_one_that_is_interrupted_is_taken_back(is_async: bool) -> None:
    s = fresh()
    handle = handle_of(read(page(ROWS, KeyboardInterrupt(), KeyError(), KeyError()), session=s))
    with pytest.raises(KeyboardInterrupt):
        run_step(step(s, handle))
    assert [r.status for r in s.reads] == ["partial", "unavailable"]
    found = step(s, handle)
    with pytest.raises(KeyError):
        _ = (
            asyncio.run(arun_step(found, interrupts=(KeyError,)))
            if is_async
            else run_step(found, interrupts=(KeyError,))
        )
    assert len(s.reads) == 2


def _run(found: Step, *, is_async: bool, **kinds: Any) -> Reply:
    return asyncio.run(arun_step(found, **kinds)) if is_async else run_step(found, **kinds)


def test_a_step_whose_result_cannot_be_shown_is_unavailable() -> None:
    s = fresh()
    loop: list[Any] = []
    loop.append(loop)
    reply = run_step(step(s, handle_of(read(page(ROWS, result([loop])), session=s))))
    assert (reply.is_error, told(reply)["status"]) == (True, "unavailable")


@pytest.mark.parametrize("tool", [continue_read, count_read])
@pytest.mark.parametrize("handle", [None, 7, ["h_1"], {"handle": "h"}, True])
def test_a_handle_that_is_no_text_is_refused_by_its_rule(tool: Any, handle: object) -> None:
    assert told(tool(fresh(), handle))["problems"] == [{"field": "handle", "rule": "must be a text"}]


@pytest.mark.parametrize("tool", [continue_read, count_read])
def test_a_handle_of_another_session_leads_nowhere_and_says_so(tool: Any) -> None:
    one, other = fresh(), fresh()
    document = told(read(HIDDEN, exhaustive=True, session=one))
    for handle in (document["handle"], document["continuation"]["handle"], "h_guess", "", "\ud800"):
        for s in (other, None):
            reply = tool(s, handle)
            assert (reply.is_error, told(reply)["error"]) == (True, "unresolved_handle")
            assert "items" not in told(reply)


def test_a_handle_of_an_erased_session_leads_nowhere() -> None:
    s = fresh()
    handle = told(read(ROWS, exhaustive=True, session=s))["handle"]
    s.erase()
    for reply in (continue_read(s, handle), count_read(s, handle)):
        assert isinstance(reply, Reply)
        assert told(reply)["error"] == "unresolved_handle"


def test_what_the_store_has_dropped_is_not_made_up() -> None:
    s = session("small", ledger=MemoryLedger(store=MemoryStore(max_results=1)))
    handle = told(read(HIDDEN, exhaustive=True, session=s))["handle"]
    read(ROWS, exhaustive=True, session=s, resource="others")
    for reply in (continue_read(s, handle), count_read(s, handle)):
        assert isinstance(reply, Reply)
        assert told(reply)["error"] == "unresolved_handle"


# counting


def counted(s: Session, reply: Reply, where: object = None) -> dict[str, Any]:
    return told(count_read(s, told(reply)["handle"], where))


@pytest.mark.parametrize(
    ("where", "number"),
    [(None, 3), ({}, 3), ({"owner": None}, 2), ({"owner": "ops"}, 1), ({"owner": "x"}, 0), ({"id": 1.0}, 1),
     ({"id": "1"}, 0), ({"id": True}, 0), ({"id": 1, "owner": None}, 1), ({"owner": ["ops"]}, 0)],
)  # fmt: skip
def test_a_whole_read_is_counted_by_code(where: object, number: int) -> None:
    s = fresh()
    document = counted(s, read(ROWS, exhaustive=True, session=s), where)
    assert (document["count"], document["complete"], document["checked"]) == (number, True, 3)


def test_a_count_speaks_of_all_that_was_read_and_not_of_what_was_shown() -> None:
    s = fresh()
    reply = read(HIDDEN, exhaustive=True, session=s)
    assert codes(write(s)) == ["EVIDENCE_INCOMPLETE"]
    assert counted(s, reply)["count"] == 200
    assert ran(write(s))


@pytest.mark.parametrize("code", ["RATE_LIMITED", "COVERAGE_UNKNOWN"])
def test_a_read_that_is_not_complete_gives_no_count_and_no_zero(code: str) -> None:
    s = fresh()
    reply = read(result(ROWS, code), session=s)
    found = counted(s, reply, {"owner": None})
    assert (found["complete"], found["found_so_far"]) == (False, 2)
    none = counted(s, reply, {"owner": "nobody"})
    assert "count" not in found
    assert "count" not in none
    assert "found_so_far" not in none
    assert "no absence" in none["note"]
    assert none["reasons"][0]["code"] == code


def test_an_empty_read_that_is_not_complete_shows_no_zero_at_all() -> None:
    s = fresh()
    reply = read(result([], "RATE_LIMITED"), session=s)
    assert not {"count", "found_so_far", "checked"} & set(counted(s, reply))


def test_a_field_that_not_every_record_holds_gives_no_count() -> None:
    s = fresh()
    document = counted(s, read([{"id": 1, "owner": None}, {"id": 2}], exhaustive=True, session=s), {"owner": None})
    assert (document["status"], document["complete"], document["fields_not_in_every_record"]) == ("partial", False, 1)


@pytest.mark.parametrize("where", ["owner", ["owner"], 7, {1: 2}, {f"f{n}": n for n in range(21)}])
def test_a_condition_that_is_none_is_refused_by_its_rule(where: object) -> None:
    s = fresh()
    reply = count_read(s, told(read(ROWS, exhaustive=True, session=s))["handle"], where)
    assert [p["field"] for p in told(reply)["problems"]] == ["where"]


def test_a_refused_field_that_is_no_name_is_not_repeated() -> None:
    s = fresh()
    handle = told(read(ROWS, exhaustive=True, session=s, fields=["id"]))["handle"]
    reply = count_read(s, handle, {f"no name, {SECRET}": 1})
    assert told(reply)["unnamed_problems"] == 1
    assert SECRET not in reply.content


def test_a_count_names_filters_and_not_their_values() -> None:
    s = fresh()
    reply = call(ReadSpec(resource="orders", exhaustive=True), ROWS, {"owner": SECRET, "\u00fc x": 1}, session=s)
    document = counted(s, reply)
    assert document["scope"] == {"resource": "orders", "filters": ["<name>", "owner"]}
    assert SECRET not in str(document)
    assert size(reply) < 1_000


@pytest.mark.parametrize(
    ("earlier", "note"),
    [((), "with those shown before"), (("VISIBILITY_RESTRICTED",), "a part before them is missing")],
)
def test_the_last_page_is_not_told_for_all_the_records(earlier: tuple[str, ...], note: str) -> None:
    s = fresh()
    stops = ("CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE", *earlier)
    first = result(ROWS, *stops, continuation=NextPage(handle=new_handle()))
    with_resume(first, Source(result([{"id": 4}], continues=first.read.id)))
    last = told(run_step(step(s, handle_of(read(first, session=s)))))
    assert note in last["note"]
    assert "all the records of the scope" not in last["note"]
