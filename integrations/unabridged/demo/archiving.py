"""The write of the errand as an action: what it takes, what it needs to have been read, and what the agent learns.

The request is the one that the plain tool sends. The credential of the API stays with the client of the executor.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import httpx
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from unabridged.actions import Action, Command, ExecutorError, FunctionExecutor, Grant, Grants, Sensitivity
from unabridged.gate import FromArgument

TenantId = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,20}$", max_length=20), Sensitivity("internal")]
AccountId = Annotated[str, StringConstraints(pattern=r"^svc-[0-9]{4}$", max_length=8), Sensitivity("internal")]
MOST: Final = 2_000
"""How many accounts one call may archive."""
PRINCIPAL: Final = "directory-errand"
"""On whose behalf the errand is done."""
GRANTS: Final = Grants({PRINCIPAL: [Grant("change", ["archive_accounts"])]})
"""What it may start: this one change, and nothing else."""


class ArchiveAccounts(BaseModel):
    """What the agent gives."""

    model_config = ConfigDict(extra="forbid")

    tenant: TenantId = Field(description="The id of the tenant.")
    account_ids: list[AccountId] = Field(max_length=MOST, description="The ids of the accounts.")


def archive_action(client: httpx.Client) -> Action:
    """Returns the action. That nobody owns an account takes both listings of its tenant, whole.

    Args:
        client: a client of the directory's API, with its credential.
    """

    def execute(command: Command) -> Any:
        response = client.post(
            "/accounts/archive", json={"tenant": command.fields["tenant"], "ids": list(command.targets)}
        )
        if response.is_error:
            raise ExecutorError(code="provider_rejected" if response.is_client_error else "provider_retryable")
        return response.json()

    return Action(
        "archive_accounts",
        purpose="Archives service accounts of a tenant that nobody owns",
        verb="archive",
        effect="change",
        input=ArchiveAccounts,
        targets="account_ids",
        relies_on=[
            {"resource": "accounts", "filters": {"tenant": FromArgument("tenant"), "owner": None}},
            {"resource": "assignments", "filters": {"tenant": FromArgument("tenant")}},
        ],
        executor=FunctionExecutor(execute, per_target=False),
        authorize=GRANTS,
    )
