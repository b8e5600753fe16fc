"""The tools of the errand on Unabridged: the same names, arguments and requests, but each read says what it read.

Nothing here guards anything. The functions return read results; what a result allows is decided by the guard that a
framework room puts around them, from the declarations `READS`. The write is an action, in `archiving.py`.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Final

import httpx

from unabridged import Budget, Profile, Query, ReadResult, load_profile, read

PAGES_A_CALL: Final = 3
"""How many pages one tool call reads, so that a turn stays short. The rest is one `continue_read` away."""
TURN_S: Final = 1.0
"""How long one tool call may take, unless the model asks for more."""
LONGEST_S: Final = 30.0
"""The longest deadline that a model may ask for."""

READS: Final[dict[str, Any]] = {
    "list_tenants": {"resource": "tenants"},
    "list_accounts": {"resource": "accounts"},
    "list_assignments": {"resource": "assignments"},
    "search_accounts": {"resource": "account_search"},
}
"""What `protect` is told of the tools that read."""


class GuardedTools:
    """The tools as bound methods; a read returns a `ReadResult`."""

    def __init__(self, url: str, client: httpx.Client) -> None:
        self._url = url
        self._client = client

    def list_tenants(self) -> ReadResult:
        """Lists the tenants of the directory."""
        return read(_profile("tenants"), Query("tenants"), url=f"{self._url}/tenants", client=self._client)

    def list_accounts(self, tenant: str) -> ReadResult:
        """Lists the active service accounts of a tenant that have no owner of their own.

        Args:
            tenant: the id of a tenant.
        """
        query = Query("accounts", filters={"tenant": tenant, "owner": None})
        budget = Budget(max_pages=PAGES_A_CALL, max_seconds=LONGEST_S)
        return read(_profile("accounts"), query, url=f"{self._url}/accounts", client=self._client, budget=budget)

    def list_assignments(self, tenant: str, deadline_s: float | None = None) -> ReadResult:
        """Lists which team looks after which service account of a tenant.

        Args:
            tenant: the id of a tenant.
            deadline_s: how many seconds to wait for the shards, when they were too slow before.
        """
        query = Query("assignments", filters={"tenant": tenant})
        budget = Budget(max_seconds=TURN_S if deadline_s is None else min(deadline_s, LONGEST_S), max_retries=0)
        url = f"{self._url}/shards/{{source}}/assignments"
        return read(_profile("assignments"), query, url=url, client=self._client, budget=budget)

    def search_accounts(self) -> ReadResult:
        """Searches all tenants for active service accounts that have no owner of their own."""
        query = Query("account_search", filters={"owner": None})
        return read(_profile("search"), query, url=f"{self._url}/search", client=self._client)


def _profile(name: str) -> Profile:
    return load_profile(json.loads(files(__package__).joinpath("profiles", f"{name}.json").read_text()))
