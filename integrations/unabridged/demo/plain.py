"""The tools of the errand as a tutorial writes them: short, clear, and each with a mistake that nobody sees.

They are the control of the demo. Nothing in them is contrived: the first page is taken for the list, an empty page for
the end, a failure for nothing, a flag is not looked at. Every one of these returns a list, and every list looks fine.
"""

from __future__ import annotations

import json
from typing import Any, Final

import httpx

HASTY_S: Final = 0.75
"""How long the plain tools wait for a shard."""


class PlainTools:
    """The tools as bound methods; each returns JSON text, as agents' tools do."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def list_tenants(self) -> str:
        """Lists the tenants of the directory."""
        return json.dumps(self._get("/tenants")["tenants"])

    def list_accounts(self, tenant: str) -> str:
        """Lists the active service accounts of a tenant that have no owner of their own.

        Args:
            tenant: the id of a tenant.
        """
        accounts: list[Any] = []
        cursor: str | None = None
        while True:
            page = self._get("/accounts", tenant=tenant, owner="none", **({"cursor": cursor} if cursor else {}))
            if not page["accounts"]:
                break
            accounts += page["accounts"]
            cursor = page["next_cursor"]
            if not cursor:
                break
        return json.dumps(accounts)

    def list_assignments(self, tenant: str) -> str:
        """Lists which team looks after which service account of a tenant.

        Args:
            tenant: the id of a tenant.
        """
        assignments: list[Any] = []
        for shard in ("eu", "us", "ap"):
            try:
                response = self._client.get(f"/shards/{shard}/assignments", params={"tenant": tenant}, timeout=HASTY_S)
                assignments += response.raise_for_status().json()["assignments"]
            except httpx.HTTPError:
                continue
        return json.dumps(assignments)

    def search_accounts(self) -> str:
        """Searches all tenants for active service accounts that have no owner of their own."""
        return json.dumps(self._get("/search", owner="none")["hits"])

    def archive_accounts(self, tenant: str, account_ids: list[str]) -> str:
        """Archives service accounts of a tenant.

        Args:
            tenant: the id of the tenant.
            account_ids: the ids of the accounts.
        """
        return archive(self._client, tenant, account_ids)

    def _get(self, path: str, **query: str) -> Any:
        response = self._client.get(path, params=query)
        response.raise_for_status()
        return response.json()


def archive(client: httpx.Client, tenant: str, account_ids: list[str]) -> str:
    """Sends the write. It is the same for both runs: what differs is whether it is reached."""
    response = client.post("/accounts/archive", json={"tenant": tenant, "ids": account_ids})
    response.raise_for_status()
    return json.dumps(response.json())
