"""Lists of the official Kubernetes client against an HTTP server that plays the API server's chunks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from kubernetes import client
from reading.served import Call, serving
from unabridged import Budget, Query, session
from unabridged.contract import InvalidInput, resume_of
from unabridged.sources.kubernetes import read_kubernetes

NAMES = [f"web-{n}" for n in range(25)]
Lists = Callable[..., Any]


def pods(*names: str, token: str = "", version: str = "7", left: int | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": version, "continue": token}
    if left is not None:
        metadata["remainingItemCount"] = left
    items = [{"metadata": {"uid": f"u-{name}", "name": name}} for name in names]
    return {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}


class Cluster:
    """An API server whose answers a test writes down in order, each a page or a status with a body."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[dict[str, str]] = []

    def __call__(self, call: Call) -> None:
        self.asked.append(call.query)
        answer = self.answers.pop(0)
        if isinstance(answer, tuple):
            status, body, headers = answer
            call.answer(status, json.dumps(body).encode(), content_type="application/json", **headers)
        else:
            call.page(answer)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def core(cluster: Cluster) -> Iterator[client.CoreV1Api]:
    with serving(cluster) as server:
        configuration = client.Configuration(host=server.url.removesuffix("/things"))
        configuration.retries = 0
        with client.ApiClient(configuration) as api:
            yield client.CoreV1Api(api)
            api.rest_client.pool_manager.clear()


def read(core: client.CoreV1Api, **options: Any) -> Any:
    query = Query("pods", filters={"namespace": "shop"}, page_size=10)
    return read_kubernetes(
        core.list_namespaced_pod, "shop", resource=query, **{"budget": Budget(max_retries=0), **options}
    )


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def test_chunks_of_one_state_are_a_snapshot(core: client.CoreV1Api, cluster: Cluster) -> None:
    cluster.answers = [pods(*NAMES[:10], token="t1", left=15), pods(token="t2"), pods(*NAMES[10:])]
    with session("pods") as s:
        result = read(core, options={"label_selector": "app=web"})
    assert (result.status, keys(result), len(result.items)) == ("complete", [], 25)
    assert (result.consistency, result.proof.level) == ("snapshot", "snapshot")
    assert result.scope.filters == {"namespace": "shop"}
    assert [asked.get("continue") for asked in cluster.asked] == [None, "t1", "t2"]
    assert all(asked["limit"] == "10" and asked["labelSelector"] == "app=web" for asked in cluster.asked)
    assert [found.id for found in s.reads] == [result.read.id]


def test_a_list_function_whose_arguments_were_given_before_is_one_too(core: client.CoreV1Api, cluster: Cluster) -> None:
    cluster.answers = [pods("a")]
    assert read_kubernetes(partial(core.list_namespaced_pod, "shop"), resource="pods").status == "complete"


def test_an_empty_list_is_empty_and_complete(core: client.CoreV1Api, cluster: Cluster) -> None:
    cluster.answers = [pods()]
    assert read(core).proves_absence()


@pytest.mark.parametrize("first", [NAMES[:10], []])
def test_a_token_that_died_is_expired_and_the_one_in_the_error_is_not_followed(
    core: client.CoreV1Api, cluster: Cluster, first: list[str]
) -> None:
    status = {"kind": "Status", "reason": "Expired", "code": 410, "metadata": {"continue": "another"}}
    cluster.answers = [pods(*first, token="t1"), (410, status, {})]
    result = read(core)
    assert (result.status, keys(result), len(result.items)) == ("partial", ["CONTINUATION_EXPIRED"], len(first))
    assert result.continuation.kind == "restart_scan"
    assert len(cluster.asked) == 2


def test_chunks_of_two_states_are_no_list(core: client.CoreV1Api, cluster: Cluster) -> None:
    cluster.answers = [pods(*NAMES[:10], token="t1"), pods(*NAMES[10:], version="8")]
    assert keys(read(core)) == ["CONSISTENCY_LOST:snapshot_changed"]


@pytest.mark.parametrize(
    ("status", "headers", "key"),
    [
        (401, {}, "VISIBILITY_RESTRICTED:unauthorized"),
        (403, {}, "VISIBILITY_RESTRICTED:forbidden"),
        (404, {}, "SOURCE_UNAVAILABLE:status"),
        (410, {}, "SOURCE_UNAVAILABLE:status"),
        (429, {"retry_after": "600"}, "RATE_LIMITED"),
        (500, {}, "SOURCE_UNAVAILABLE:status"),
    ],
)
def test_a_refused_list_is_unavailable_and_never_empty(
    core: client.CoreV1Api, cluster: Cluster, status: int, headers: dict[str, str], key: str
) -> None:
    cluster.answers = [(status, {"kind": "Status", "message": "sk_secret"}, headers)]
    result = read(core)
    assert (result.status, result.items, keys(result)) == ("unavailable", None, [key])
    assert "sk_secret" not in str(result.to_wire())
    if status == 429:
        assert (result.continuation.kind, result.continuation.seconds) == ("retry_after", 600)


def test_a_list_that_our_budget_stopped_goes_on(core: client.CoreV1Api, cluster: Cluster) -> None:
    cluster.answers = [pods(*NAMES[:10], token="t1"), pods(*NAMES[10:])]
    first = read(core, budget=Budget(max_pages=1))
    rest = resume_of(first).read(budget=Budget())
    assert (first.status, first.continuation.kind) == ("partial", "next_page")
    assert (rest.status, len(rest.items)) == ("complete", 15)


def test_a_cluster_that_is_gone_keeps_the_chunks_before(core: client.CoreV1Api, cluster: Cluster) -> None:
    def gone(*_: Any, **options: Any) -> Any:
        if "_continue" in options:
            return client.CoreV1Api(client.ApiClient(nowhere)).list_namespaced_pod("shop", **options)
        return core.list_namespaced_pod("shop", **options)

    nowhere = client.Configuration(host="http://127.0.0.1:9")
    nowhere.retries = 0
    gone.__name__ = "list_pods"
    cluster.answers = [pods(*NAMES[:10], token="t1")]
    result = read_kubernetes(gone, resource="pods", budget=Budget(max_retries=0))
    assert (result.status, keys(result)) == ("partial", ["SOURCE_UNAVAILABLE:disconnect"])


def test_arguments_are_refused_without_their_values(core: client.CoreV1Api) -> None:
    with pytest.raises(InvalidInput, match="function"):
        read_kubernetes(core.delete_namespaced_pod, "shop", resource="pods")
    for hidden in (partial(core.delete_collection_namespaced_pod, "shop"), lambda **_: None, object):
        with pytest.raises(InvalidInput, match="function"):
            read_kubernetes(hidden, resource="pods")
    with pytest.raises(InvalidInput, match="options"):
        read(core, options={"_continue": "t"})
    with pytest.raises(InvalidInput, match="options") as refused:
        read(core, options={"label_selector": ["sk_secret"]})
    assert "sk_secret" not in str(refused.value)
    assert refused.value.__context__ is None
