"""The API: each of its habits, seen from a client that knows nothing."""

from __future__ import annotations

import json
import re
import time

import httpx
import pytest
from unabridged.demo.api import ASSIGNMENTS_A_PAGE, SLOW_S, TENANTS_A_PAGE, Api, _Service
from unabridged.demo.directory import TENANTS, Directory, generate
from unabridged.demo.guarded import LONGEST_S, TURN_S
from unabridged.demo.plain import HASTY_S

pytestmark = pytest.mark.real


def _pages(client: httpx.Client, tenant: str) -> list[dict[str, object]]:
    pages, cursor = [], None
    while True:
        query = {"tenant": tenant, "owner": "none", **({"cursor": cursor} if cursor else {})}
        page = client.get("/accounts", params=query).json()
        pages.append(page)
        cursor = page["next_cursor"]
        if cursor is None:
            return pages


def test_the_next_page_of_tenants_stands_in_the_link_header_only(client: httpx.Client) -> None:
    first = client.get("/tenants")
    assert len(first.json()["tenants"]) == TENANTS_A_PAGE < len(TENANTS)
    assert first.json().keys() == {"tenants"}
    second = client.get(first.links["next"]["url"])
    assert [t["id"] for t in first.json()["tenants"] + second.json()["tenants"]] == [t.id for t in TENANTS]
    assert "link" not in second.headers


@pytest.mark.parametrize("tenant", [t.id for t in TENANTS])
def test_a_filtered_page_in_the_middle_is_empty_and_names_a_next_cursor(client: httpx.Client, tenant: str) -> None:
    pages = _pages(client, tenant)
    empty = [number for number, page in enumerate(pages, 1) if not page["accounts"]]
    assert 3 in empty
    assert pages[2]["next_cursor"]
    assert pages[3]["accounts"]


def test_the_pages_hold_what_the_count_says_where_nothing_is_hidden(client: httpx.Client) -> None:
    for tenant in TENANTS:
        pages = _pages(client, tenant.id)
        ids = {account["id"] for page in pages for account in page["accounts"]}  # type: ignore[attr-defined]
        assert pages[0]["total_before_permissions"] == len(ids) + tenant.hidden


def test_a_shard_lists_every_assignment_by_offset(client: httpx.Client) -> None:
    query: dict[str, str | int] = {"tenant": "acme", "offset": 0}
    first = client.get("/shards/eu/assignments", params=query).json()
    assert len(first["assignments"]) == ASSIGNMENTS_A_PAGE < first["total"]
    ids = [a["id"] for a in first["assignments"]]
    while len(ids) < first["total"]:
        ids += [
            a["id"]
            for a in client.get("/shards/eu/assignments", params={**query, "offset": len(ids)}).json()["assignments"]
        ]
    assert ids == [a.id for a in generate()[1] if a.tenant == "acme" and a.shard == "eu"]


def test_a_cold_shard_is_slower_than_a_hasty_client_waits(client: httpx.Client) -> None:
    began = time.monotonic()
    patient = client.get("/shards/us/assignments", params={"tenant": "birch"}, timeout=LONGEST_S)
    assert time.monotonic() - began >= SLOW_S > TURN_S > HASTY_S
    assert patient.status_code == 200


def test_a_dead_shard_answers_503_for_its_tenant_only(client: httpx.Client) -> None:
    assert client.get("/shards/ap/assignments", params={"tenant": "ember"}).status_code == 503
    assert client.get("/shards/ap/assignments", params={"tenant": "acme"}).status_code == 200


def test_the_search_finds_nothing_and_says_that_it_was_capped(client: httpx.Client) -> None:
    assert client.get("/search", params={"owner": "none"}).json() == {"hits": [], "capped": True, "candidates": 200}


def test_archiving_changes_the_database(client: httpx.Client, directory: Directory) -> None:
    account = next(a for a in generate()[0] if a.tenant == "acme")
    response = client.post("/accounts/archive", json={"tenant": "acme", "ids": [account.id]})
    assert response.json() == {"archived": [account.id], "count": 1}
    changes = directory.changes()
    assert account.id in changes.right + changes.wrong


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/accounts?tenant=nobody", 404),
        ("/accounts?tenant=acme&owner=me", 400),
        ("/accounts?tenant=acme&cursor=%F0", 400),
        ("/accounts?tenant=acme&cursor=AA", 400),
        ("/shards/mars/assignments?tenant=acme", 404),
        ("/shards/eu/assignments?tenant=acme&offset=-1", 400),
        ("/tenants?page=0", 400),
        ("/nothing", 404),
    ],
)
def test_a_wrong_request_is_met_with_a_clear_status(client: httpx.Client, path: str, status: int) -> None:
    response = client.get(path)
    assert response.status_code == status
    assert response.json().keys() == {"error"}


@pytest.mark.parametrize("body", [b"", b"[]", b'{"tenant": "acme"}', b'{"tenant": "acme", "ids": [1]}'])
def test_a_wrong_archive_body_is_refused(client: httpx.Client, body: bytes) -> None:
    assert client.post("/accounts/archive", content=body).status_code == 400


def test_nothing_is_served_without_the_token(api: Api) -> None:
    for path in ("/tenants", "/accounts", "/search", "/shards/eu/assignments"):
        assert httpx.get(api.url + path, trust_env=False).status_code == 401
    assert httpx.post(api.url + "/accounts/archive", json={}, trust_env=False).status_code == 401


def test_the_token_stands_in_no_repr(api: Api) -> None:
    assert api.token not in repr(api)


@pytest.mark.parametrize("name", ["tenants", "accounts", "assignments", "search", "archive"])
def test_each_endpoint_documents_itself_with_a_sample_that_is_json(name: str) -> None:
    documented = getattr(_Service, name).__doc__ or ""
    (sample,) = re.findall(r"^\s*(\{.*?\})\s*```", documented, flags=re.MULTILINE | re.DOTALL)
    assert json.loads(sample)
