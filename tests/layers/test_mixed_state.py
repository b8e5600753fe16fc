"""A read early, B read late: zero missing links in what was collected, one in each state that ever was.

At nine the account refers to an owner who is not there yet. At ten he is there, and another account refers to one who
is not. Read at nine and at ten, every account has its owner: a state that never was. So the whole is complete only as
an interval, and what needs one state must not rest on it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from unabridged.contract import ReadResult, merge
from unabridged.evidence import MemoryLedger, Session, Verdict, WriteIntent, session
from unabridged.profiles import load_profile
from unabridged.reading import Query, run_read
from unabridged.testing import REPLAY_START, ScriptedTransport, VirtualClock

HOUR_S = 3_600
URL = "https://directory.invalid/{source}"
WALK = {"by": "single", "cap": 100}
LIST = {"name": "list", "version": 1, "items": "items", "id": "id", "walk": WALK}
AT_NINE = {"accounts": [{"id": "a-1", "owner": "o-1"}], "owners": [{"id": "o-7"}]}
AT_TEN = {
    "accounts": [{"id": "a-1", "owner": "o-1"}, {"id": "a-2", "owner": "o-2"}], "owners": [{"id": "o-7"}, {"id": "o-1"}]
}  # fmt: skip


def missing_links(accounts: list[Any], owners: list[Any]) -> int:
    there = {owner["id"] for owner in owners}
    return sum(account["owner"] not in there for account in accounts)


def collected(**changes: Any) -> tuple[ReadResult, VirtualClock]:
    """Reads the accounts at nine and the owners at ten, through the real reader."""
    profile = load_profile(
        {"name": "directory", "version": 1, "walk": {"by": "fanout", "over": ["accounts", "owners"],
                                                     "inner": {**LIST, **changes}}}
    )  # fmt: skip
    clock = VirtualClock()
    script = ScriptedTransport(
        clock=clock,
        sources={
            "accounts": [{"status": 200, "json": {"version": "v9", "items": AT_NINE["accounts"]}}],
            "owners": [{"status": 200, "delay_s": HOUR_S, "json": {"version": "v9", "items": AT_TEN["owners"]}}],
        },
    )
    return run_read(profile, Query("directory"), url=URL, transport=script, clock=clock), clock


def in_session(*results: ReadResult, clock: VirtualClock) -> Session:
    opened = session("mixed", ledger=MemoryLedger(), now=clock.now)
    for each in results:
        opened.record(each)
    return opened


def judged(opened: Session, **demands: Any) -> Verdict:
    return opened.judge_write(WriteIntent("close_directory", relies_on=["directory"], **demands))


def links_of(read: ReadResult) -> ReadResult:
    """Returns the accounts without an owner as findings over the read."""
    there = {item["id"] for item in read.items or []}
    return read.findings(lambda item: "owner" in item and item["owner"] not in there, name="missing_links")


def test_a_link_is_missing_in_each_state_that_was_and_in_none_of_what_was_collected() -> None:
    read, _ = collected()
    assert missing_links(**AT_NINE) == 1
    assert missing_links(**AT_TEN) == 1
    found = links_of(read)
    assert (found.status, found.finding_count, found.checked) == ("complete", 0, 3)


def test_it_is_complete_only_as_an_interval() -> None:
    read, _ = collected()
    assert (read.status, read.consistency, read.proof.level) == ("complete", "interval", "end_marker")
    assert read.read.finished_at - read.read.started_at == timedelta(seconds=HOUR_S)
    assert links_of(read).consistency == "interval"


def test_two_snapshots_of_two_sources_are_an_interval_also_where_they_bear_one_name() -> None:
    read, _ = collected(snapshot={"path": "version"})
    assert (read.status, read.consistency) == ("complete", "interval")
    assert read.scope.snapshot is None


@pytest.mark.parametrize("snapshot", [None, {"path": "version"}])
def test_a_write_that_needs_one_state_is_refused_and_one_that_needs_a_whole_read_is_not(snapshot: Any) -> None:
    read, clock = collected(snapshot=snapshot)
    opened = in_session(read, clock=clock)
    assert judged(opened).allowed
    refused = judged(opened, require="snapshot")
    assert (refused.verdict, refused.codes) == ("refuse", ("EVIDENCE_WEAK",))
    assert judged(opened, destructive=True).codes == ("EVIDENCE_WEAK",)


def test_so_is_a_write_that_rests_on_the_findings() -> None:
    read, clock = collected()
    opened = in_session(read, links_of(read), clock=clock)
    intent = WriteIntent("close_directory", relies_on=["missing_links"], require="snapshot")
    assert opened.judge_write(intent).codes == ("EVIDENCE_WEAK",)
    assert opened.judge_write(WriteIntent("close_directory", relies_on=["missing_links"])).allowed


def test_the_answer_says_that_it_was_an_interval_and_between_which_times() -> None:
    read, clock = collected()
    opened = in_session(read, links_of(read), clock=clock)
    claim = {"kind": "absence", "resource": "missing_links"}
    answer = opened.judge_answer("No account is without its owner.", [claim])
    assert answer.outcome == "accept"
    assert answer.checked is not None
    assert "over an interval, not in one snapshot" in answer.checked
    assert "between 2026-11-30 09:00:00 and 2026-11-30 10:00:00 UTC" in answer.checked
    assert {line["consistency"] for line in answer.coverage["reads"]} == {"interval"}


def two_pages(first: str | None, second: str | None) -> tuple[ReadResult, VirtualClock]:
    """Reads the two lists as two pages of one source, an hour apart, each with the version it states."""
    profile = load_profile(
        {**LIST, "snapshot": {"path": "version"},
         "walk": {"by": "token", "read": "next", "send": {"query": "c"}, "ends_on": ["absent"], "empty_token": "end",
                  "repeated_token": "anomaly"}}
    )  # fmt: skip
    stated = [{} if v is None else {"version": v} for v in (first, second)]
    clock = VirtualClock()
    script = ScriptedTransport(
        [
            {"status": 200, "json": {**stated[0], "items": AT_NINE["accounts"], "next": "2"}},
            {"status": 200, "delay_s": HOUR_S, "json": {**stated[1], "items": AT_TEN["owners"]}},
        ],
        clock=clock,
    )
    return run_read(profile, Query("directory"), url="https://directory.invalid/", transport=script, clock=clock), clock


@pytest.mark.parametrize(
    ("first", "second", "status", "consistency", "allowed"),
    [
        (None, None, "complete", "interval", False),
        ("v9", None, "complete", "interval", False),
        (None, "v9", "complete", "interval", False),
        ("v9", "v10", "partial", "not_established", False),
        ("v9", "v9", "complete", "snapshot", True),
    ],
)
def test_only_one_version_on_every_page_is_one_state(
    first: str | None, second: str | None, status: str, consistency: str, allowed: bool
) -> None:
    read, clock = two_pages(first, second)
    assert (read.status, read.consistency) == (status, consistency)
    assert judged(in_session(read, clock=clock), require="snapshot").allowed is allowed


def test_merging_whole_reads_of_two_times_makes_no_snapshot() -> None:
    parts = []
    for name, state, later_s in (("accounts", AT_NINE, 0), ("owners", AT_TEN, HOUR_S)):
        clock = VirtualClock(REPLAY_START + timedelta(seconds=later_s))
        script = ScriptedTransport([{"status": 200, "json": {"version": "v9", "items": state[name]}}], clock=clock)
        profile = load_profile({**LIST, "name": name, "snapshot": {"path": "version"}})
        parts.append(run_read(profile, Query(name), url="https://directory.invalid/", transport=script, clock=clock))
    assert [part.consistency for part in parts] == ["snapshot", "snapshot"]
    whole = merge(parts, resource="directory")
    assert (whole.status, whole.consistency, whole.scope.snapshot) == ("complete", "interval", None)
    assert whole.ids == ("a-1", "o-7", "o-1")
