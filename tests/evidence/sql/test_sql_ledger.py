"""The SQL ledger: what stands in its tables, who may read it, and what is said when it is away.

Two ledgers of one file stand for two processes; `test_workers.py` does the same with processes.
"""

from __future__ import annotations

import logging
import pickle
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from evidence.made_ledgers import KEY, Clock, file_ledger
from evidence.made_reads import at, cut, made, page
from unabridged.contract import (
    FetchRestOfItem,
    InvalidInput,
    LedgerUnavailable,
    RepeatRead,
    RetryItems,
    UnresolvedHandle,
    new_handle,
    with_ids,
    with_resume,
)
from unabridged.evidence import Asked, MemoryLedger, Session, SourceRoute, StoredRest, WriteIntent, session
from unabridged.evidence.sql import SqlLedger
from unabridged.evidence.sql.database import Database
from unabridged.evidence.sql.migrations import MIGRATIONS, migrate
from unabridged.evidence.sql.tables import metadata

ALL = WriteIntent("purge")
CANARY = "k4narie"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def pair(path: Path, clock: Clock) -> Iterator[tuple[Session, Session]]:
    """One session in two processes."""
    ledgers = [file_ledger(path, clock) for _ in range(2)]
    one, two = (session("case", ledger=ledger) for ledger in ledgers)
    yield one, two
    for ledger in ledgers:
        ledger.close()


def codes(found: Session, intent: WriteIntent = ALL, **how: Any) -> list[str]:
    return list(found.judge_write(intent, **how).codes)


def rows(path: Path, table: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


# one session, several processes


def test_the_ids_of_a_read_are_evidence_in_every_process_while_the_store_keeps_them(
    pair: tuple[Session, Session],
) -> None:
    one, two = pair
    one.record(made("widgets", ["a", "b"]))
    assert codes(two, WriteIntent("purge", targets=["a"])) == []
    assert codes(two, WriteIntent("purge", targets=["c"])) == ["TARGET_NOT_IN_EVIDENCE"]
    two.store.erase(two.key.digest)
    three = session("case", ledger=file_ledger(Path(str(sqlite_file(two))), None))
    assert codes(three, WriteIntent("purge", targets=["a"])) == ["TARGET_NOT_IN_EVIDENCE"]


def sqlite_file(found: Session) -> str:
    return found.ledger._database._engine.url.database  # type: ignore[attr-defined, no-any-return]


def test_filters_compare_by_digest_wherever_they_enter(pair: tuple[Session, Session]) -> None:
    one, two = pair
    one.record(page("widgets", [1], filters={"owner": "ann", "open": True}))
    for found in pair:
        assert codes(found, WriteIntent("purge", relies_on=[{"resource": "widgets", "filters": {"owner": "bob"}}])) == [
            "EVIDENCE_MISSING"
        ]
        named = [{"resource": "widgets", "filters": {"owner": "ann", "open": True, "size": 3}}]
        assert codes(found, WriteIntent("purge", relies_on=named)) == ["EVIDENCE_INCOMPLETE"]
    two.record(made("widgets", [1], filters={"owner": "bob"}))
    assert codes(one) == ["EVIDENCE_INCOMPLETE"]
    two.record(made("widgets", [1, 2], filters={"owner": "ann"}))
    assert codes(one) == []
    asked = [("widgets", {"owner": "ann"})]
    bound = WriteIntent("purge", relies_on=[{"resource": "widgets", "filters": {"owner": "ann"}}])
    assert codes(two, bound, same_turn=asked) == ["EVIDENCE_PENDING"]
    assert codes(two, bound, same_turn=[("widgets", {"owner": "bob"})]) == []
    again = [("widgets", dict(one.reads[-1].filters))]
    assert codes(two, bound, same_turn=again) == ["EVIDENCE_PENDING"], "what was masked before is not masked twice"
    two.begin("widgets", {"owner": "ann"})
    assert codes(one, bound) == ["EVIDENCE_PENDING"]


@pytest.mark.parametrize(("sent", "same"), [(1, 1.0), ("1", "1"), (None, None), (True, True), ([1, {"a": 2}],) * 2])
def test_equal_values_have_equal_digests_and_others_have_not(
    pair: tuple[Session, Session], sent: Any, same: Any
) -> None:
    one, two = pair
    one.record(page("widgets", [1], filters={"x": sent}))
    for other in (0, "one", False, "None", "True", [1, {"a": 3}]):
        two.record(made("widgets", [1], filters={"x": other}))
    assert codes(one) == ["EVIDENCE_INCOMPLETE"]
    two.record(made("widgets", [1], filters={"x": same}))
    assert codes(one) == []


def test_a_lookup_binds_the_write_of_its_own_key_only_in_every_process(pair: tuple[Session, Session]) -> None:
    one, _ = pair
    one.record(made("widgets", None, intent="lookup", filters={"id": "w1"}))
    one.record(made("widgets", ["w2"], intent="lookup", filters={"id": ["w2", "w3"]}))
    one.record(made("widgets", ["w9"], intent="lookup", filters={"mail": "a@b"}))
    for found in pair:
        named = [
            codes(found, WriteIntent("purge", targets=[t], relies_on=["widgets"])) for t in ("w1", "w2", "w3", "w9")
        ]
        assert named == [["EVIDENCE_INCOMPLETE"], [], ["TARGET_NOT_IN_EVIDENCE"], []]
        asked = [Asked("widgets", {"id": "w2"}, "lookup")]
        relied = WriteIntent("purge", targets=["w2"], relies_on=["widgets"])
        assert codes(found, relied, same_turn=asked) == ["EVIDENCE_PENDING"]
        assert codes(found, relied, same_turn=[Asked("widgets", {"id": "w1"}, "lookup")]) == []


def test_claims_are_judged_by_the_records_and_the_digests_of_filters(pair: tuple[Session, Session]) -> None:
    one, _ = pair
    one.record(made("widgets", [{"id": 1, "state": "open"}, {"id": 2, "state": "shut"}], filters={"owner": "ann"}))
    for found in pair:
        for claim, outcome in (
            ({"kind": "count", "filters": {"owner": "ann", "state": "open"}, "value": 1}, "accept"),
            ({"kind": "count", "filters": {"owner": "ann"}, "value": 2}, "accept"),
            ({"kind": "count", "filters": {"owner": "bob"}, "value": 2}, "reject"),
            ({"kind": "absence", "filters": {"owner": "ann", "state": "open"}}, "reject"),
            ({"kind": "absence", "filters": {"owner": "ann", "state": "lost"}}, "accept"),
            ({"kind": "found", "filters": {"owner": "ann", "state": "open"}, "ids": [1]}, "accept"),
            ({"kind": "found", "filters": {"owner": "bob"}, "ids": [1]}, "reject"),
        ):
            assert found.judge_answer("So it is.", [{"resource": "widgets", **claim}]).outcome == outcome, claim


def test_a_claim_of_a_field_that_was_cut_is_unsupported_in_every_process(pair: tuple[Session, Session]) -> None:
    one, _ = pair
    items = [{"id": "w1", "text": "long"}, {"id": "w2", "text": "short"}]
    one.record(made("widgets", items, "ITEM_TRUNCATED", item_cuts=(cut("w1", "text"),)))
    for found in pair:
        outcomes = [
            found.judge_answer(
                "It is there.", [{"kind": "found", "resource": "widgets", "ids": [i], "filters": {"text": t}}]
            ).outcome
            for i, t in (("w1", "long"), ("w2", "short"))
        ]
        assert outcomes == ["reject", "accept_with_caveat"]


def test_a_call_that_another_process_noted_is_not_foreign(pair: tuple[Session, Session]) -> None:
    one, two = pair
    one.finish(one.begin("widgets", call_id="call_1"), made("widgets", [1]))
    one.note_call("call_2")
    taken_back = one.begin("widgets", call_id="call_3")
    one.withdraw(taken_back)
    assert [two.knows_call(f"call_{n}") for n in (1, 2, 3)] == [True, True, False]
    assert two.import_history([Asked("widgets", call_id=f"call_{n}") for n in (1, 2)]) == 0
    assert two.import_history([Asked("widgets", call_id="call_3")]) == 1
    assert one.import_history([Asked("widgets", call_id="call_3")]) == 0


def test_attempts_are_counted_over_all_processes(pair: tuple[Session, Session]) -> None:
    for n, found in enumerate((*pair, pair[0])):
        failed = made(
            "widgets", None, filters={"owner": "ann"}, continuation=RepeatRead(attempts_left=3, handle=new_handle())
        )
        found.record(with_resume(failed, "again"))
        route = found.resolve(failed.continuation.handle)
        assert isinstance(route, SourceRoute)
        assert route.attempts_left == 2 - n
    for found in pair:
        assert found.repeats_left("widgets", {"owner": "ann"}) == 0
        assert found.repeats_left("widgets", {"owner": "bob"}) == 3
    with pytest.raises(UnresolvedHandle):
        pair[0].resolve(failed.continuation.handle)


def test_the_stored_rest_is_found_from_every_process_and_the_way_on_at_a_source_is_not(
    pair: tuple[Session, Session],
) -> None:
    one, two = pair
    result = page("widgets", ["a", "b", "c"])
    one.record(result)
    rest, whole = one.presented(result.read.id, 2), one.whole(result.read.id)
    assert rest is not None
    assert whole is not None
    found = two.resolve(rest)
    assert isinstance(found, StoredRest)
    assert (found.start, found.items) == (2, [{"id": "c"}])
    assert two.read_of(whole) is not None
    assert isinstance(one.resolve(result.continuation.handle), SourceRoute)
    with pytest.raises(UnresolvedHandle):
        two.resolve(result.continuation.handle)


def test_what_was_noted_is_known_in_every_process(pair: tuple[Session, Session]) -> None:
    one, two = pair
    assert one.first_time("STALE_INDEX")
    assert not two.first_time("STALE_INDEX")
    one.keep_note("r_1", {"fields": ["id"]})
    assert two.note_of("r_1") == {"fields": ["id"]}
    assert two.note_of("r_2") is None


def test_an_error_in_the_middle_of_a_turn_takes_back_what_it_did(pair: tuple[Session, Session]) -> None:
    one, two = pair
    one.record(made("widgets", [1]))
    lost = page("queues", [2])
    with pytest.raises(ZeroDivisionError), one._turn():
        one.record(lost).returned / 0
    assert codes(one) == codes(two) == []
    assert len(one.reads) == len(two.reads) == 1
    assert one.result(lost.read.id) is None


def test_a_turn_waits_for_that_of_another_process(pair: tuple[Session, Session]) -> None:
    one, two = pair
    entered = threading.Event()

    def enter() -> None:
        with two._turn():
            entered.set()

    other = threading.Thread(target=enter)
    with one._turn():
        other.start()
        assert not entered.wait(0.3)
    other.join()
    assert entered.is_set()


def test_a_handle_that_leads_nowhere_does_not_take_back_what_was_due(
    pair: tuple[Session, Session], clock: Clock
) -> None:
    one, two = pair
    one.begin("widgets", deadline_s=5)
    clock.advance(6)
    with pytest.raises(UnresolvedHandle):
        two.resolve("h_forged")
    assert "expired" in str(rows(Path(sqlite_file(one)), "unabridged_events"))


def test_the_clock_of_the_database_counts(path: Path) -> None:
    found = session("case", ledger=file_ledger(path), now=lambda: datetime(2000, 1, 1, tzinfo=UTC))
    assert found.begin("widgets").started_at.year > 2000
    found.ledger.close()  # type: ignore[attr-defined]


def test_a_principal_is_required(path: Path) -> None:
    ledger = SqlLedger(f"sqlite:///{path}", key=KEY)
    with pytest.raises(InvalidInput, match="principal: is required"):
        session("case", ledger=ledger)
    ledger.close()


# the store


def test_the_store_is_bounded_and_the_session_takes_note_in_every_process(path: Path, clock: Clock) -> None:
    one, two = (session("case", ledger=file_ledger(path, clock, max_results=2)) for _ in range(2))
    first = made("widgets", [1])
    one.record(first)
    assert codes(two, WriteIntent("purge", targets=[1])) == []
    two.record(made("queues", [2]))
    two.record(made("topics", [3]))
    for found in (one, two):
        assert codes(found, WriteIntent("purge", targets=[1])) == ["TARGET_NOT_IN_EVIDENCE"]
        assert codes(found, WriteIntent("purge", targets=[2, 3])) == []
        assert found.result(first.read.id) is None
    for found in (one, two):
        found.ledger.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("bounds", [{"max_records": 4}, {"max_bytes": 100}], ids=["too many records", "too many bytes"])
def test_a_result_too_large_for_the_store_leaves_its_header_only(
    path: Path, clock: Clock, bounds: dict[str, int]
) -> None:
    ledger = file_ledger(path, clock, **bounds)
    found = session("case", ledger=ledger)
    found.record(made("widgets", range(8)))
    assert codes(found) == []
    assert codes(found, WriteIntent("purge", targets=[1])) == ["TARGET_NOT_IN_EVIDENCE"]
    ledger.close()


def test_the_oldest_records_go_first_when_they_are_too_many(path: Path, clock: Clock) -> None:
    ledger = file_ledger(path, clock, max_records=10, max_results=100)
    found = session("case", ledger=ledger)
    small, large = made("widgets", range(4)), made("queues", range(8))
    for result in (small, large):
        found.record(result)
    assert found.result(small.read.id) is None
    again = found.result(large.read.id)
    assert again is not None
    assert again.items == large.items
    ledger.close()


def test_results_grow_old_and_so_do_sessions(path: Path, clock: Clock) -> None:
    ledger = file_ledger(path, clock, max_age_s=60)
    found, result = session("case", ledger=ledger), made("widgets", [1])
    found.record(result)
    clock.advance(40)
    assert codes(found) == []
    clock.advance(40)
    assert found.result(result.read.id) is None
    found.record(made("queues", [2]))
    assert codes(found, WriteIntent("purge", targets=[1])) == ["TARGET_NOT_IN_EVIDENCE"]
    clock.advance(61)
    assert codes(found) == ["GUARD_FAILED"]
    assert rows(path, "unabridged_events") == []
    assert rows(path, "unabridged_results") == []
    ledger.close()


def test_a_result_comes_back_as_it_was_kept(pair: tuple[Session, Session]) -> None:
    one, two = pair
    result = with_ids(page("widgets", [{"name": "a"}, {"name": "b"}], filters={"owner": "ann"}), ["a", "b"])
    one.record(result)
    again = two.result(result.read.id)
    assert again == result
    assert again is not None
    assert again.ids == ("a", "b")
    assert two.result("r_none") is None


def test_records_that_are_no_json_are_not_kept_and_so_are_no_evidence_anywhere(pair: tuple[Session, Session]) -> None:
    one, two = pair
    one.record(made("widgets", [{"id": 1, "value": object()}]))
    for found in (one, two):
        assert codes(found) == []
        assert codes(found, WriteIntent("purge", targets=[1])) == ["TARGET_NOT_IN_EVIDENCE"]


def test_a_session_that_outgrows_its_bound_refuses_from_then_on(path: Path, clock: Clock) -> None:
    ledger = file_ledger(path, clock, max_events=3)
    found = session("case", ledger=ledger)
    for n in range(4):
        found.record(made("widgets", [n], filters={"n": n}))
    assert codes(found) == codes(session("case", ledger=ledger)) == ["GUARD_FAILED"]
    assert rows(path, "unabridged_events") == []
    ledger.close()


# what stands in the tables


def test_no_value_stands_in_the_tables_but_in_the_payload_of_the_store(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        ledger = SqlLedger(f"sqlite:///{path}", key=KEY)
        found = session(CANARY, principal=CANARY, namespace=CANARY, ledger=ledger)
        _fill(found)
        three = session(CANARY, principal=CANARY, namespace=CANARY, ledger=SqlLedger(f"sqlite:///{path}", key=KEY))
        assert len(three.reads) == len(found.reads)
    with closing(sqlite3.connect(path)) as connection:
        names = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert {"unabridged_sessions", "unabridged_events", "unabridged_results", "unabridged_tickets"} <= set(names)
        for name in names:
            columns = [c[1] for c in connection.execute(f"PRAGMA table_info({name})") if c[1] != "payload"]
            held = connection.execute(f"SELECT {', '.join(columns)} FROM {name}").fetchall()
            assert held or name == "sqlite_sequence"
            for row in held:
                assert not any(CANARY in str(v) or CANARY.encode() in _bytes(v) for v in row), name
        assert CANARY.encode() in b"".join(p for (p,) in connection.execute("SELECT payload FROM unabridged_results"))
        digests = connection.execute("SELECT owner FROM unabridged_sessions").fetchall()
        assert found.key.digest not in str(digests), "the digest of the key could be looked up"
    assert CANARY not in caplog.text
    for thing in (ledger, ledger.store, ledger.desk, found._journal, ledger._database):
        assert CANARY not in repr(thing)
        with pytest.raises(TypeError):
            pickle.dumps(thing)
    ledger.close()
    three.ledger.close()  # type: ignore[attr-defined]


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b""


def _fill(found: Session) -> None:
    """Goes through everything that writes something down, with recognisable values."""
    items = [{"id": CANARY, "text": CANARY}, {"id": f"{CANARY}-2", "text": CANARY}]
    first = page(
        "widgets", items, filters={"owner": CANARY, "many": [CANARY, {"deep": CANARY}]}, snapshot=CANARY,
        selection=CANARY, window=CANARY, excludes=(CANARY,), item_cuts=(cut(CANARY, "text"),),
        codes=("CLIENT_LIMIT_REACHED", "ITEM_TRUNCATED"),
    )  # fmt: skip
    found.finish(found.begin("widgets", {"owner": CANARY}, call_id=CANARY), first)
    found.record(made("widgets", [CANARY], intent="lookup", filters={"id": [CANARY]}))
    for route in (RetryItems(ids=(CANARY,)), FetchRestOfItem(item=CANARY, field="text")):
        found.record(made("parts", [CANARY], "ITEM_TRUNCATED", continuation=route))
    repeat = made("queues", None, filters={"q": CANARY}, continuation=RepeatRead(attempts_left=3, handle=new_handle()))
    found.record(with_resume(repeat, CANARY))
    found.resolve(repeat.continuation.handle)
    found.presented(first.read.id, 1, handle=f"h_{CANARY}")
    found.note_call(f"call-{CANARY}")
    found.first_time(CANARY)
    found.fail(found.begin("topics", {"x": CANARY}))
    found.withdraw(found.begin("topics", {"x": CANARY}, call_id=f"{CANARY}-3"))
    found.import_history([Asked("old", {"x": CANARY}, call_id=f"{CANARY}-4")])
    found.tickets.issue("reference", action=CANARY, audience=CANARY, ttl_s=60, payload={"ids": [CANARY]})
    found.judge_write(WriteIntent("purge", targets=[CANARY]))
    found.judge_answer(CANARY, [{"kind": "found", "resource": "widgets", "ids": [CANARY]}])


def test_what_was_erased_is_in_no_table_and_not_in_the_file(path: Path) -> None:
    ledger = SqlLedger(f"sqlite:///{path}", key=KEY)
    found = session("case", principal="ann", ledger=ledger)
    _fill(found)
    found.erase()
    ledger.close()
    for name in ("sessions", "events", "results", "tickets"):
        assert rows(path, f"unabridged_{name}") == []
    assert CANARY.encode() not in path.read_bytes()


# the database is away


def test_while_the_database_is_busy_writes_are_refused_and_reads_say_so(path: Path) -> None:
    ledger = SqlLedger(f"sqlite:///{path}", key=KEY, timeout_s=0.05)
    found = session("case", principal="ann", ledger=ledger)
    found.record(made("widgets", [1]))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        _assert_away(found, busy=True)
        other.execute("ROLLBACK")
    assert codes(found) == []
    assert [r.resource for r in found.reads] == ["widgets"], "nothing was kept in memory only"
    ledger.close()


def test_while_the_database_is_gone_writes_are_refused_and_reads_say_so(path: Path) -> None:
    ledger = SqlLedger(f"sqlite:///{path}", key=KEY)
    found = session("case", principal="ann", ledger=ledger)
    found.record(made("widgets", [1]))
    ledger.close()
    for file in path.parent.glob("ledger.db*"):
        file.rename(file.with_name(f"away-{file.name}"))
    path.mkdir()
    _assert_away(found)
    opened = session("another", principal="ann", ledger=ledger)
    _assert_away(opened)
    path.rmdir()
    for file in path.parent.glob("away-*"):
        file.rename(file.with_name(file.name.removeprefix("away-")))
    assert codes(found) == codes(opened) == []
    assert [r.resource for r in found.reads] == ["widgets"]
    opened.record(page("queues", [1]))
    assert codes(opened) == ["EVIDENCE_INCOMPLETE"]
    assert codes(found) == []
    ledger.close()


def test_a_database_that_refuses_lets_writes_be_refused(path: Path) -> None:
    ledger = SqlLedger(f"sqlite:///{path}", key=KEY)
    found = session("case", principal="ann", ledger=ledger)
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP TABLE unabridged_events")
    with pytest.raises(LedgerUnavailable):
        found.record(made("widgets", [1], filters={"owner": CANARY}))
    assert codes(found) == []
    ledger.close()


def _assert_away(found: Session, *, busy: bool = False) -> None:
    assert codes(found) == ["GUARD_FAILED"]
    for look in (
        lambda: found.record(made("queues", [CANARY], filters={"owner": CANARY})),
        lambda: found.begin("queues"),
        lambda: found.reads,
        lambda: found.alive,
        *([] if busy else [lambda: found.result("r_1")]),  # a file that is busy can still be read
        lambda: found.tickets.issue("reference", ttl_s=60),
        lambda: found.import_history([Asked("queues")]),
        lambda: found.erase(),
    ):
        with pytest.raises(LedgerUnavailable) as caught:
            look()
        assert caught.value.__context__ is None or isinstance(caught.value.__context__, LedgerUnavailable)
        assert CANARY not in str(caught.value)
    found.note_call("call_1")
    answer = found.judge_answer("There are none.", [{"kind": "absence", "resource": "widgets"}])
    assert answer.outcome == "reject"
    assert found.caveats()[0].status == "unavailable"


def test_a_ledger_that_cannot_be_reached_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable):
        SqlLedger(f"sqlite:///{tmp_path / 'none' / 'ledger.db'}", key=KEY)


def test_a_database_that_was_put_back_is_taken_as_it_is(path: Path, clock: Clock) -> None:
    ledger = file_ledger(path, clock)
    found = session("case", ledger=ledger)
    found.record(page("widgets", [1]))
    ledger.close()
    before = path.read_bytes()
    found.record(made("widgets", [1]))
    assert codes(found) == []
    ledger.close()
    path.write_bytes(before)
    assert codes(found) == ["EVIDENCE_INCOMPLETE"]
    ledger.close()


# the schema


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
def test_every_older_schema_is_brought_up_to_date_and_keeps_what_it_holds(
    path: Path, version: int, clock: Clock
) -> None:
    database = Database(f"sqlite:///{path}", timeout_s=5, clock=None)
    check = SqlLedger._derived(_Keyed(), "check").hex()  # type: ignore[arg-type]
    with database.transaction() as link:
        migrate(link, key_check=check, steps=MIGRATIONS[:version])
        if version:
            link.text("INSERT INTO unabridged_sessions (owner, evicted, head, used_us) VALUES ('kept', 0, 0, 9e15)")
    for _ in range(2):
        ledger = file_ledger(path, clock)
        session("case", ledger=ledger).record(made("widgets", [1]))
        ledger.close()
    database.close()
    assert rows(path, "unabridged_schema")[0][0] == len(MIGRATIONS)
    owners = [r[1] for r in rows(path, "unabridged_sessions")]
    assert len(owners) == (2 if version else 1)
    assert ("kept" in owners) == bool(version)


class _Keyed:
    _key = KEY


def test_the_migrations_make_the_tables_that_the_program_speaks_of(path: Path) -> None:
    file_ledger(path).close()
    engine = sa.create_engine(f"sqlite:///{path}")
    found = sa.inspect(engine)
    for table in metadata.sorted_tables:
        there = {c["name"]: c["nullable"] for c in found.get_columns(table.name)}
        said = {c.name: bool(c.nullable) for c in table.columns}
        said.update({c.name: there[c.name] for c in table.primary_key})
        assert there == said
    engine.dispose()


def test_a_newer_schema_is_refused_by_name(path: Path) -> None:
    file_ledger(path).close()
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE unabridged_schema SET version = 99")
    with pytest.raises(InvalidInput, match=r"schema 99, and this version knows 2"):
        file_ledger(path)


def test_a_migration_that_fails_leaves_the_schema_as_it_was(path: Path) -> None:
    database = Database(f"sqlite:///{path}", timeout_s=5, clock=None)
    with pytest.raises(LedgerUnavailable), database.transaction() as link:
        migrate(link, key_check="x", steps=(*MIGRATIONS[:1], ("CREATE TABLE x (",)))
    database.close()
    assert "unabridged_sessions" not in str(rows(path, "sqlite_master"))
    file_ledger(path).close()


def test_another_key_is_refused_since_nothing_would_compare(path: Path) -> None:
    file_ledger(path).close()
    with pytest.raises(InvalidInput, match="key: must be the key"):
        SqlLedger(f"sqlite:///{path}", key=b"another key of at least so many bytes")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"key": b"short"}, "key"), ({"key": "a text of at least 16 characters"}, "key"),
        ({"max_sessions": 0}, "max_sessions"), ({"max_age_s": 0}, "max_age_s"),
        ({"timeout_s": float("nan")}, "timeout_s"), ({"max_results": 0}, "max_results"),
        ({"max_tickets": True}, "max_tickets"), ({"max_events": 0}, "max_events"),
        ({"database": "sqlite://"}, "database"), ({"database": "no address"}, "database"),
        ({"database": "mysql+pymysql://x@localhost/x"}, "database"), ({"database": "postgresql+none://x"}, "database"),
    ],
)  # fmt: skip
def test_an_argument_that_breaks_its_rule_is_named(path: Path, given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        SqlLedger(**{"database": f"sqlite:///{path}", "key": KEY, **given})
    assert caught.value.field == field


def test_an_engine_may_be_handed_in_and_stays_its_owners(path: Path, clock: Clock) -> None:
    engine = sa.create_engine(f"sqlite:///{path}")
    ledger = SqlLedger(engine, key=KEY, shared=False, now=clock)
    session("case", ledger=ledger).record(page("widgets", [1]))
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM unabridged_events").scalar_one() == 1
    ledger.close()
    engine.dispose()


def test_a_journal_of_another_ledger_is_refused(path: Path, clock: Clock) -> None:
    ledger = file_ledger(path, clock)
    journal = session("case", ledger=MemoryLedger())._journal
    with pytest.raises(InvalidInput):
        ledger.turn(journal, now=at(0))
    ledger.close()
