"""etcd: one revision over many pages, its count, and what compaction takes away."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from real.servers import free_port, served
from unabridged import Budget, Query, session
from unabridged.contract import InvalidInput, resume_of
from unabridged.sources.etcd import aread_etcd, read_etcd

pytestmark = pytest.mark.real


class Store:
    """The server, written to by the tests."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, path: str, **body: Any) -> Any:
        coded = {k: base64.b64encode(v).decode() if isinstance(v, bytes) else v for k, v in body.items()}
        answer = httpx.post(f"{self.url}/v3/{path}", json=coded, timeout=60)
        answer.raise_for_status()
        return answer.json()

    def put(self, *keys: str | bytes) -> None:
        for key in keys:
            self.call("kv/put", key=key if isinstance(key, bytes) else key.encode(), value=b"v")

    def delete(self, *keys: str) -> None:
        for key in keys:
            self.call("kv/deleterange", key=key.encode())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder, port, peer = tmp_path_factory.mktemp("etcd"), free_port(), free_port()
    ours, theirs = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    command = [
        "etcd", "--data-dir", folder / "data", "--listen-client-urls", ours, "--advertise-client-urls", ours,
        "--listen-peer-urls", theirs, "--initial-advertise-peer-urls", theirs, "--initial-cluster", f"default={theirs}",
    ]  # fmt: skip
    with served(command, port=port, folder=folder):
        yield Store(ours)


@pytest.fixture
def names(store: Store) -> list[str]:
    store.call("kv/deleterange", key=b"\0", range_end=b"\0")
    found = [f"p/{n:02}" for n in range(30)]
    store.put(*found, "other")
    return found


def read(store: Store, prefix: str | bytes = "p/", **options: Any) -> Any:
    return read_etcd(store.url, prefix, resource=Query("keys", page_size=10), **options)


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def test_a_complete_read_is_one_revision_and_counted(store: Store, names: list[str]) -> None:
    with session("etcd") as s:
        result = read(store)
    assert (result.status, keys(result), list(result.ids)) == ("complete", [], names)
    assert (result.total.value, result.total.kind, result.read.pages) == (30, "exact", 3)
    assert (result.consistency, result.proof.level, result.scope.visibility) == ("snapshot", "snapshot", "caller")
    assert result.items[0]["value"] == "v"
    assert [found.id for found in s.reads] == [result.read.id]


def test_a_page_that_ends_with_the_last_key_is_the_end(store: Store, names: list[str]) -> None:
    store.delete(*names[10:])
    result = read(store)
    assert (result.status, len(result.items), result.read.pages) == ("complete", 10, 1)
    assert "value" not in read(store, keys_only=True).items[0]


@pytest.mark.usefixtures("names")
def test_a_prefix_without_keys_is_empty_and_complete(store: Store) -> None:
    assert read(store, "none/").proves_absence()


@pytest.mark.usefixtures("names")
def test_keys_that_are_no_text_are_read_and_an_empty_prefix_is_every_key(store: Store) -> None:
    store.put(b"\xff\xff", b"\xff\xffa")
    result = read(store, b"\xff\xff")
    assert [item["key"] for item in result.items] == [{"base64": "//8="}, {"base64": "//9h"}]
    whole = read(store, "")
    assert (whole.status, len(whole.items)) == ("complete", 33)


@pytest.mark.parametrize("deletes", [range(0, 30, 2), range(30)])
def test_a_read_while_another_client_deletes_inserts_and_reorders_stays_in_its_revision(
    store: Store, names: list[str], deletes: range
) -> None:
    first = read(store, budget=Budget(max_pages=1))
    store.delete(*[names[n] for n in deletes])
    store.put("p/00a", "p/15a", "p/99", "p/05")
    rest = resume_of(first).read(budget=Budget())
    assert (first.status, first.continuation.kind) == ("partial", "next_page")
    assert (rest.status, rest.consistency) == ("complete", "snapshot")
    assert list(first.ids) + list(rest.ids) == names


@pytest.mark.usefixtures("names")
def test_a_revision_that_was_compacted_has_expired(store: Store) -> None:
    first = read(store, budget=Budget(max_pages=1))
    store.put("p/31")
    now = store.call("kv/range", key=b"p/31")["header"]["revision"]
    store.call("kv/compaction", revision=now, physical=True)
    late = resume_of(first).read(budget=Budget())
    assert (late.status, late.items, keys(late)) == ("unavailable", None, ["CONTINUATION_EXPIRED"])
    assert late.continuation.kind == "restart_scan"


@pytest.mark.usefixtures("names")
def test_a_budget_that_stopped_the_read_leaves_it_partial(store: Store) -> None:
    result = read(store, budget=Budget(max_pages=2))
    assert (result.status, len(result.items), result.total.value) == ("partial", 20, 30)
    assert keys(result) == ["CLIENT_LIMIT_REACHED:max_pages", "MORE_PAGES_AVAILABLE"]


@pytest.mark.usefixtures("names")
def test_a_sample_of_a_prefix_without_keys_is_partial_and_empty(store: Store) -> None:
    query = Query("keys", page_size=10, intent="sample")
    result = read_etcd(store.url, "none/", resource=query)
    assert (result.status, result.items, keys(result)) == ("partial", [], ["SAMPLE_REQUESTED"])
    assert not result.proves_absence()


@pytest.mark.usefixtures("names")
def test_a_value_that_is_empty_is_a_value(store: Store) -> None:
    store.call("kv/put", key=b"p/00", value=b"")
    assert read(store).items[0]["value"] == ""
    assert "value" not in read(store, keys_only=True).items[0]


@pytest.mark.parametrize("own", [True, False])
async def test_a_read_on_the_loop_stays_in_its_revision_too(store: Store, names: list[str], own: bool) -> None:
    query = Query("keys", page_size=10)
    async with httpx.AsyncClient() as given:
        client = None if own else given
        with session(f"etcd on the loop {own}") as s:
            first = await aread_etcd(store.url, "p/", resource=query, client=client, budget=Budget(max_pages=1))
            store.delete(*names[5:])
            rest = await resume_of(first).aread(budget=Budget())
            assert [found.id for found in s.reads] == [first.read.id, rest.read.id]
        with pytest.raises(InvalidInput, match="url"):
            await aread_etcd("sk_secret", resource="keys", client=client)
    assert (first.status, rest.status, rest.consistency) == ("partial", "complete", "snapshot")
    assert list(first.ids) + list(rest.ids) == names


def test_a_server_that_is_gone_is_unavailable_and_never_an_empty_list() -> None:
    gone = Store(f"http://127.0.0.1:{free_port()}")
    result = read(gone, budget=Budget(max_retries=0))
    assert (result.status, result.items, keys(result)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:disconnect"])


def test_arguments_are_refused_without_their_values() -> None:
    with pytest.raises(InvalidInput, match="url") as refused:
        read_etcd("sk_secret", resource="keys")
    assert "sk_secret" not in str(refused.value)
    with pytest.raises(InvalidInput, match="prefix"):
        read_etcd("http://127.0.0.1:1", 7, resource="keys")
