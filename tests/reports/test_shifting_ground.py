"""Reports of kind K3, second half: records that move, counts that mislead, parts that are missing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reports.asked import SINGLE, Asked, Call, ask, decision, is_refused, keys, listing, offset, records, warned, write
from unabridged import Query
from unabridged.profiles import load_profile

# R24: param20h/PDF-Assistant-RAG#792
COUNTED: dict[str, Any] = {"count": {"path": "total", "kind": "exact"}}
BY_ID: dict[str, Any] = {"order": {"by": "id", "unique": True}}
SIZE: dict[str, Any] = {"size": {"send": {"query": "limit"}, "max": 100}}
KEY: dict[str, Any] = {"by": "key", "from_item": "id", "send": {"query": "after"}, "unique": True}
WAITING = "FROM jobs WHERE status = 'stuck'"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(tmp_path / "jobs.db", check_same_thread=False)
    made.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, status TEXT)")
    made.executemany("INSERT INTO jobs VALUES (?, 'stuck')", [(n,) for n in range(1, 251)])
    yield made
    made.close()


def cleanup(jobs: sqlite3.Connection, walk: dict[str, Any], **profile: Any) -> Asked:
    """Reads the stuck jobs by pages, each of which is set to failed as soon as it was served."""

    def respond(call: Call) -> None:
        (total,) = jobs.execute(f"SELECT count(*) {WAITING}").fetchone()
        if "after" in call.query or walk is not NAIVE:
            rows = jobs.execute(f"SELECT id {WAITING} AND id > ? LIMIT 100", (int(call.query.get("after", "0")),))
        else:
            rows = jobs.execute(f"SELECT id {WAITING} ORDER BY id LIMIT 100 OFFSET ?", (int(call.query["offset"]),))
        found = [{"id": id_} for (id_,) in rows]
        jobs.executemany("UPDATE jobs SET status = 'failed' WHERE id = ?", [(one["id"],) for one in found])
        call.page({"items": found, "total": total})

    two_walks = profile.pop("two_walks", False)
    return ask(listing(walk, **SIZE, **profile), respond, double_walk=two_walks)


NAIVE = offset("empty_page")


def test_r24_an_offset_walk_over_what_it_changes_is_not_complete(jobs: sqlite3.Connection) -> None:
    asked = cleanup(jobs, NAIVE, **BY_ID, **COUNTED)
    assert (asked.result.status, asked.result.returned, asked.result.finding_count) == ("partial", 150, None)
    assert "CONSISTENCY_LOST:total_changed" in keys(asked.result)
    assert asked.result.continuation.kind == "restart_scan"
    assert is_refused(asked.session)


def test_r24_without_a_count_two_walks_show_that_the_set_moved(jobs: sqlite3.Connection) -> None:
    asked = cleanup(jobs, NAIVE, **BY_ID, two_walks=True)
    assert (asked.result.status, set(asked.result.codes)) == ("partial", {"CONSISTENCY_LOST"})
    assert "CONSISTENCY_LOST:mutated_during_read" in keys(asked.result)
    assert is_refused(asked.session)


def test_r24_what_one_uncounted_walk_cannot_see_is_an_interval_and_licenses_no_destruction(
    jobs: sqlite3.Connection,
) -> None:
    asked = cleanup(jobs, NAIVE, **BY_ID)
    assert (asked.result.returned, asked.result.consistency, asked.result.proof.level) == (
        150,
        "interval",
        "end_marker",
    )
    for demand in ({"destructive": True}, {"require": ["snapshot"]}, {"require": ["counted"]}):
        verdict = write(asked.session, **demand)
        assert (verdict.verdict, verdict.codes) == ("refuse", ("EVIDENCE_WEAK",))


def test_r24_without_a_count_or_a_unique_order_nothing_is_known(jobs: sqlite3.Connection) -> None:
    asked = cleanup(jobs, NAIVE)
    assert (asked.result.status, asked.result.returned, keys(asked.result)) == ("unknown", 150, {"COVERAGE_UNKNOWN"})
    assert "ORDER_NOT_UNIQUE" in warned(asked.result)


def test_r24_a_walk_by_key_visits_all_250(jobs: sqlite3.Connection) -> None:
    asked = cleanup(jobs, {**KEY, "ends_on": ["empty_page"]})
    assert (asked.result.status, asked.result.ids) == ("complete", tuple(range(1, 251)))
    assert jobs.execute(f"SELECT count(*) {WAITING}").fetchone() == (0,)


# R25: LanternOps/breeze#3462
def tied(shift: int, **profile: Any) -> Asked:
    """Reads 120 rows of one time by offset, while the server turns their order by `shift` between the pages."""

    def respond(call: Call) -> None:
        start, turned = int(call.query["offset"]), shift * call.number
        order = [(n + turned) % 120 for n in range(120)]
        call.page({"items": [{"id": n} for n in order[start : start + 50]], "total": 120})

    order = {"by": "created_at", "unique": False}
    return ask(listing(offset("empty_page"), order=order, **profile), respond)


@pytest.mark.parametrize("profile", [{}, COUNTED])
def test_r25_rows_that_are_served_twice_are_seen(profile: dict[str, Any]) -> None:
    asked = tied(5, **profile)
    assert (asked.result.status, asked.result.returned, asked.result.read.duplicates) == ("partial", 110, 10)
    assert "CONSISTENCY_LOST:duplicate_ids" in keys(asked.result)
    assert set(asked.result.codes) == {"CONSISTENCY_LOST"}
    assert is_refused(asked.session)


def test_r25_an_order_with_ties_proves_nothing_where_no_count_does() -> None:
    asked = tied(0)
    assert (asked.result.status, asked.result.returned, keys(asked.result)) == ("unknown", 120, {"COVERAGE_UNKNOWN"})
    assert "ORDER_NOT_UNIQUE" in warned(asked.result)
    assert is_refused(asked.session)


def test_r25_an_exact_count_that_equals_the_unique_ids_proves_what_an_order_with_ties_cannot() -> None:
    asked = tied(0, **COUNTED)  # the report wants this refused; the contract takes the count
    assert (asked.result.status, asked.result.finding_count, asked.result.proof.level) == ("complete", 120, "counted")


# R26: PyGithub/PyGithub#1309
def searched(total: int, **profile: Any) -> Asked:
    def respond(call: Call) -> None:
        number = int(call.query.get("page", "1"))
        links = {"Link": f'<?page={number + 1}>; rel="next", <?page=10>; rel="last"'} if number < 10 else {}
        call.page({"items": records((number - 1) * 100, number * 100), "total_count": total}, **links)

    return ask(listing({"by": "link", "where": "header"}, **profile), respond)


def test_r26_a_search_that_stops_at_1000_is_no_end_of_3041() -> None:
    asked = searched(3041, count={"path": "total_count", "kind": "exact"}, caps=[{"limit": 1000, "on": "items"}])
    result = asked.result
    assert (result.status, result.returned, len(asked.queries)) == ("partial", 1000, 10)
    assert (result.total.value, result.total.kind, set(result.codes)) == (3041, "exact", {"RESULT_LIMIT_REACHED"})
    assert (decision(result), result.reasons[0].layer) == ("refuse_or_request_review", "source")
    assert is_refused(asked.session)


def test_r26_a_total_that_cannot_say_more_than_1000_is_no_exact_one() -> None:
    counts = {"path": "total_count", "kind": "exact", "cap": 1000}
    asked = searched(1000, count=counts, caps=[{"limit": 1000, "on": "items"}])
    assert (asked.result.status, asked.result.total.kind) == ("partial", "capped")
    assert set(asked.result.codes) == {"RESULT_LIMIT_REACHED"}


# R27: elastic/elasticsearch#28494, R28: broadinstitute/gnomad-browser#825
SHARDS = load_profile("elasticsearch_search")


def hits(found: int = 0, **shards: int) -> Any:
    held = [{"_index": "logs-1", "_id": f"v{n}"} for n in range(found)]
    listed = {"total": {"value": found, "relation": "eq"}, "hits": held}
    return lambda call: call.page({"took": 1, "timed_out": False, "_shards": shards, "hits": listed})


def test_r27_no_hits_while_a_shard_failed_is_not_no_matches() -> None:
    asked = ask(SHARDS, hits(total=5, successful=4, skipped=0, failed=1), query=Query("logs"))
    assert (asked.result.status, asked.result.items, asked.result.finding_count) == ("partial", [], None)
    assert set(asked.result.codes) == {"SOURCE_UNAVAILABLE"}
    assert [(source.name, source.status) for source in asked.result.sources] == [("elasticsearch_search", "partial")]
    none = {"kind": "absence", "resource": "logs"}
    assert asked.session.judge_answer("There are no matches.", [none]).outcome == "reject"
    assert is_refused(asked.session, "logs")


@pytest.mark.parametrize(
    ("shards", "status", "codes"),
    [
        ({"total": 5, "successful": 3, "skipped": 0, "failed": 0}, "partial", {"SOURCE_UNAVAILABLE"}),
        ({"total": 5, "successful": 5, "skipped": 3, "failed": 0}, "complete", set()),
    ],
)
def test_r28_shards_that_neither_failed_nor_answered_are_missing_and_skipped_ones_are_not(
    shards: dict[str, int], status: str, codes: set[str]
) -> None:
    asked = ask(SHARDS, hits(1, **shards), query=Query("logs"))
    assert (asked.result.status, asked.result.returned, set(asked.result.codes)) == (status, 1, codes)


# R29: cli/cli#6013
def test_r29_errors_beside_data_leave_a_hole_and_do_not_stop_the_walk() -> None:
    walk = {
        "by": "token", "read": "data.pageInfo.endCursor", "send": {"body": "variables.after"}, "ends_on": ["flag"],
        "empty_token": "illegal", "repeated_token": "anomaly", "more_flag": "data.pageInfo.hasNextPage",
    }  # fmt: skip
    failed = [{"path": "errors", "when": "nonempty", "code": "PARTIAL_FAILURE"}]

    def respond(call: Call) -> None:
        first = {"data": {"nodes": [{"id": "a"}, None, {"id": "c"}],
                          "pageInfo": {"hasNextPage": True, "endCursor": "e1"}},
                 "errors": [{"path": ["nodes", 1]}]}  # fmt: skip
        call.page(first if call.number == 0 else {"data": {"nodes": [{"id": "d"}], "pageInfo": {"hasNextPage": False}}})

    asked = ask(listing(walk, items="data.nodes[*]", signals=failed), respond)
    assert (asked.result.status, asked.result.ids) == ("partial", ("a", "c", "d"))
    assert set(asked.result.codes) == {"PARTIAL_FAILURE"}
    assert [body.get("variables") for body in asked.bodies] == [None, {"after": "e1"}]
    assert is_refused(asked.session)


# R30: stripe/stripe-python#221
def subscriptions(*, forgets: bool) -> Asked:
    def respond(call: Call) -> None:
        onward = "starting_after" in call.query
        applied = None if forgets and onward else call.query.get("status")
        state = "active" if applied == "active" else "mixed"
        held = records(4, 6, status=state) if onward else records(1, 4, status=state)
        call.page({"data": held, "has_more": not onward, "applied": applied})

    drift = {
        "path": "applied != 'active'",
        "when": {"expr": True},
        "code": "CONSISTENCY_LOST",
        "detail": "filter_drift",
    }
    profile = listing(
        {**KEY, "send": {"query": "starting_after"}, "ends_on": ["flag"], "more_flag": "has_more"}, items="data",
        size={"send": {"query": "limit"}, "max": 100}, signals=[drift],
    )  # fmt: skip
    return ask(profile, respond, query=Query("things", filters={"status": "active"}, page_size=3))


def test_r30_the_filters_of_the_first_request_are_those_of_every_request() -> None:
    asked = subscriptions(forgets=False)
    assert asked.queries == [
        {"status": "active", "limit": "3"},
        {"status": "active", "limit": "3", "starting_after": "3"},
    ]
    assert (asked.result.status, asked.result.ids) == ("complete", (1, 2, 3, 4, 5))
    assert asked.result.items is not None
    assert {item["status"] for item in asked.result.items} == {"active"}


def test_r30_a_server_that_forgets_the_filter_is_found_out() -> None:
    asked = subscriptions(forgets=True)
    assert (asked.result.status, keys(asked.result)) == ("partial", {"CONSISTENCY_LOST:filter_drift"})
    assert (len(asked.queries), is_refused(asked.session)) == (2, True)


# R31: pycontribs/jira#197
def test_r31_one_record_that_moves_in_a_walk_of_300_is_noticed() -> None:
    def respond(call: Call) -> None:
        start = int(call.query["startAt"])
        order = list(range(1, 301)) if start == 0 else [n for n in range(1, 301) if n != 42] + [42]
        call.page({"items": [{"id": n} for n in order[start : start + 100]], "total": 300})

    asked = ask(listing(offset("total", "startAt", total="total"), **COUNTED, **BY_ID), respond)
    assert (asked.result.status, asked.result.returned, asked.result.total.value) == ("partial", 299, 300)
    assert keys(asked.result) == {"CONSISTENCY_LOST:duplicate_ids", "CONSISTENCY_LOST:count_mismatch"}
    assert (asked.result.read.duplicates, len(asked.queries)) == (1, 3)
    assert 101 not in asked.result.ids
    assert is_refused(asked.session)


# R32: axoviq-ai/synthadoc#273
def filtered(call: Call) -> None:
    start = int(call.query.get("offset", "0"))
    held = {0: records(3, 50), 50: records(50, 100)}.get(start, [])
    call.page({"items": held, "total": len(held), "limit": 50})


def test_r32_a_total_of_the_page_does_not_end_the_walk() -> None:
    walk = {**offset("empty_page"), "advance": "requested"}
    profile = listing(
        walk, count={"path": "total", "kind": "page"}, size={"send": {"query": "limit"}, "max": 50}, **BY_ID
    )  # fmt: skip
    asked = ask(profile, filtered)
    assert [q["offset"] for q in asked.queries] == ["0", "50", "100"]
    assert (asked.result.status, asked.result.finding_count) == ("complete", 97)


def test_r32_a_total_of_the_page_proves_no_end() -> None:
    asked = ask(listing(SINGLE, count={"path": "total", "kind": "page"}), filtered)
    assert (asked.result.status, keys(asked.result)) == ("unknown", {"COVERAGE_UNKNOWN"})
    assert (asked.result.returned, asked.result.total.kind, asked.result.finding_count) == (47, "page", None)
    assert write(asked.session).verdict == "refuse"
