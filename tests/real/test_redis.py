"""Redis: scans whose pages are mostly empty, while keys come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from real.databases import wait_until
from real.servers import free_port, served
from redis.asyncio import Redis as AsyncRedis
from unabridged import Budget, Query, session
from unabridged.contract import InvalidInput, resume_of
from unabridged.sources.redis import aread_redis, read_redis

pytestmark = pytest.mark.real

KEYS = {f"user:{n}" for n in range(500)}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    found, folder = free_port(), tmp_path_factory.mktemp("redis")
    command = ["redis-server", "--port", str(found), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    with served(command, port=found, folder=folder):
        yield found


@pytest.fixture(params=[False, True], ids=["bytes", "text"])
def client(request: pytest.FixtureRequest, port: int) -> Iterator[redis.Redis]:
    with redis.Redis(port=port, decode_responses=request.param) as found:
        found.flushall()
        found.mset(dict.fromkeys(KEYS, "v"))
        yield found


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def test_a_scan_is_complete_at_cursor_zero_and_says_what_it_cannot_know(client: redis.Redis) -> None:
    with session(f"scan {client.get_encoder().decode_responses}") as s:
        result = read_redis(client, resource=Query("keys", page_size=10))
    assert (result.status, keys(result), set(result.ids)) == ("complete", [], KEYS)
    assert result.read.pages > 10
    assert (result.consistency, result.proof.level, result.scope.visibility) == ("interval", "end_marker", "caller")
    assert result.scope.excludes == ("keys that came or went during the scan",)
    assert [read.id for read in s.reads] == [result.read.id]


def test_a_scan_of_mostly_empty_pages_finds_the_few_that_match(client: redis.Redis) -> None:
    client.sadd("rare", 1)
    result = read_redis(client, resource=Query("keys", page_size=10), match="rare*")
    typed = read_redis(client, resource=Query("keys", page_size=10), type="set")
    assert (result.status, result.items) == ("complete", [{"key": "rare"}])
    assert (typed.status, typed.items) == ("complete", [{"key": "rare"}])
    assert result.read.pages > 10


def test_an_empty_page_that_our_budget_stopped_at_is_no_absence_and_goes_on(client: redis.Redis) -> None:
    first = read_redis(client, resource=Query("keys", page_size=10), match="none*", budget=Budget(max_pages=1))
    assert (first.status, first.items) == ("partial", [])
    assert keys(first) == ["CLIENT_LIMIT_REACHED:max_pages", "MORE_PAGES_AVAILABLE"]
    rest = resume_of(first).read(budget=Budget())
    assert (rest.status, rest.items) == ("complete", [])
    assert rest.proves_absence()


def test_what_stays_is_found_while_another_client_adds_deletes_and_grows_the_table(client: redis.Redis) -> None:
    first = read_redis(client, resource=Query("keys", page_size=10), budget=Budget(max_pages=3))
    client.delete(*[f"user:{n}" for n in range(100)])
    client.mset({f"new:{n}": "v" for n in range(5000)})  # the table grows, and cursors move in it
    client.mset({f"user:{n}": "again" for n in range(50)})
    rest = resume_of(first).read(budget=Budget())
    assert rest.status == "complete"
    assert {f"user:{n}" for n in range(100, 500)} <= set(first.ids) | set(rest.ids)
    assert "DUPLICATES_REMOVED" in [w.code for w in rest.warnings] or rest.read.duplicates == 0


def test_a_scan_that_our_budget_stopped_is_partial_with_what_came(client: redis.Redis) -> None:
    result = read_redis(client, resource=Query("keys", page_size=10), budget=Budget(max_items=25))
    assert (result.status, len(result.items), result.finding_count) == ("partial", 25, None)
    assert keys(result)[0] == "CLIENT_LIMIT_REACHED:max_items"
    assert set(result.ids) < KEYS


@pytest.mark.parametrize("restarts", [True, False])
def test_a_cursor_of_a_server_that_was_restarted_has_expired(
    tmp_path_factory: pytest.TempPathFactory, restarts: bool
) -> None:
    port, folder = free_port(), tmp_path_factory.mktemp("restarted")
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--appendonly", "yes", "--dir", folder]
    query = Query("keys", page_size=10)
    with redis.Redis(port=port) as client:
        with served(command, port=port, folder=folder):
            client.mset(dict.fromkeys(KEYS, "v"))
            first = read_redis(client, resource=query, budget=Budget(max_pages=3))
            late = None if restarts else resume_of(first).read(budget=Budget())
        if restarts:
            with served(command, port=port, folder=folder):
                wait_until(lambda: client.get("user:1"))
                late = resume_of(first).read(budget=Budget())
    assert late is not None
    if restarts:
        assert (late.status, late.items, keys(late)) == ("unavailable", None, ["CONTINUATION_EXPIRED"])
        assert late.continuation.kind == "restart_scan"
    else:
        assert (late.status, set(first.ids) | set(late.ids)) == ("complete", KEYS)


@pytest.mark.parametrize(
    "options",
    [{}, {"decode_responses": True}, {"decode_responses": True, "encoding_errors": "replace"},
     {"decode_responses": True, "encoding_errors": "ignore"}, {"decode_responses": True, "encoding": "latin-1"}],
)  # fmt: skip
def test_a_key_that_is_no_text_keeps_its_identity(port: int, options: dict[str, Any]) -> None:
    with redis.Redis(port=port, **options) as found:
        found.flushall()
        found.mset({b"\xff": 1, b"\xfe": 1, "é".encode(): 1})
        result = read_redis(found, resource="keys")
    assert result.status == "complete"
    assert sorted(str(item["key"]) for item in result.items) == ["{'base64': '/g=='}", "{'base64': '/w=='}", "é"]


def test_a_caller_who_may_not_scan_is_refused_and_one_who_may_sees_every_name(port: int) -> None:
    with redis.Redis(port=port) as admin:
        admin.flushall()
        admin.mset({"open:1": 1, "closed:1": 1})
        admin.execute_command("ACL", "SETUSER", "low", "on", ">pw", "-@all", "+get", "~open:*")
        admin.execute_command("ACL", "SETUSER", "names", "on", ">pw", "-@all", "+scan", "~open:*")
    with redis.Redis(port=port, username="low", password="pw") as found:
        result = read_redis(found, resource="keys")
    assert (result.status, result.items, keys(result)) == ("unavailable", None, ["VISIBILITY_RESTRICTED:forbidden"])
    with redis.Redis(port=port, username="names", password="pw") as found:
        assert set(read_redis(found, resource="keys").ids) == {"open:1", "closed:1"}
    with redis.Redis(port=port, username="low", password="wrong") as found:
        assert keys(read_redis(found, resource="keys")) == ["VISIBILITY_RESTRICTED:forbidden"]


@pytest.mark.usefixtures("client")
async def test_a_scan_on_the_loop_is_the_same_scan(port: int) -> None:
    query = Query("keys", page_size=10)
    async with AsyncRedis(port=port) as found:
        with session("scan on the loop") as s:
            whole = await aread_redis(found, resource=query)
            assert [read.id for read in s.reads] == [whole.read.id]
        first = await aread_redis(found, resource=query, budget=Budget(max_pages=2))
        rest = await resume_of(first).aread(budget=Budget())
        with pytest.raises(InvalidInput, match="client"):
            await aread_redis(found.pipeline(), resource="keys")
    async with AsyncRedis(port=free_port()) as nobody:
        gone = await aread_redis(nobody, resource="keys", budget=Budget(max_retries=0))
    assert (whole.status, set(whole.ids), whole.consistency) == ("complete", KEYS, "interval")
    assert (first.status, rest.status, set(first.ids) | set(rest.ids)) == ("partial", "complete", KEYS)
    assert (gone.status, gone.items, keys(gone)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:disconnect"])


async def test_a_server_that_does_not_answer_in_time_is_unavailable_on_the_loop() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with AsyncRedis(port=port) as client:
            result = await aread_redis(client, resource="keys", budget=Budget(max_seconds=0.2, max_retries=0))
    assert (result.status, result.items, result.reasons[0].code) == ("unavailable", None, "TIME_BUDGET_EXCEEDED")


def test_a_server_that_is_gone_is_unavailable_and_never_an_empty_list() -> None:
    with redis.Redis(port=free_port()) as found:
        result = read_redis(found, resource="keys", budget=Budget(max_retries=0))
    assert (result.status, result.items, keys(result)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:disconnect"])


def test_only_one_servers_own_client_is_scanned(port: int) -> None:
    with redis.Redis(port=port) as found, found.pipeline() as pipeline:
        for client in (pipeline, object()):
            with pytest.raises(InvalidInput, match="client"):
                read_redis(client, resource="keys")
