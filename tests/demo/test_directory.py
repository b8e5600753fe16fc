"""The directory: what is in it, what the agent's role sees, and how a write is judged."""

from __future__ import annotations

import psycopg
import pytest
from unabridged.demo.directory import AGENT, INDEX, SHARDS, TENANTS, Directory, generate

pytestmark = pytest.mark.real


def test_the_same_seed_makes_the_same_directory() -> None:
    assert generate() == generate()
    assert generate(seed=1) != generate(seed=2)


def test_it_holds_thousands_of_accounts_of_several_tenants(directory: Directory) -> None:
    truth = directory.truth()
    assert truth.accounts == 4000
    assert truth.tenants == len(TENANTS) == 6


def test_every_tenant_has_accounts_that_only_a_team_owns_in_every_shard() -> None:
    accounts, assignments = generate()
    gaps = {account.id for account in accounts if account.owner is None}
    for tenant in TENANTS:
        shards = {a.shard for a in assignments if a.tenant == tenant.id and a.account in gaps}
        assert shards == set(SHARDS)


def test_row_level_security_hides_accounts_from_the_agent_and_not_from_the_index(directory: Directory) -> None:
    seen = {}
    for role in (AGENT, INDEX):
        with directory.connect(role) as connection:
            row = connection.execute("SELECT count(*) AS n FROM accounts").fetchone()
            seen[role] = row["n"] if row else 0
    assert seen == {AGENT: 4000 - directory.truth().hidden, INDEX: 4000}


def test_some_hidden_accounts_are_unowned(directory: Directory) -> None:
    truth = directory.truth()
    assert 0 < truth.unowned_hidden < truth.hidden


def test_the_agent_cannot_give_an_account_an_owner(directory: Directory) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege), directory.connect(AGENT) as connection:
        connection.execute("UPDATE accounts SET owner = 'me'")


def test_an_owned_account_that_is_archived_is_a_wrong_write(directory: Directory) -> None:
    accounts, assignments = generate()
    assigned = {a.account for a in assignments}
    gaps = [a for a in accounts if a.owner is None and a.tenant == "acme"]
    unowned = next(a for a in gaps if a.id not in assigned)
    owned_by_a_team = next(a for a in gaps if a.id in assigned)
    directory.archive("acme", [unowned.id, owned_by_a_team.id])
    changes = directory.changes()
    assert changes.right == (unowned.id,)
    assert changes.wrong == (owned_by_a_team.id,)
    assert changes.left == directory.truth().unowned - 1


def test_archiving_touches_the_named_tenant_only_and_each_account_once(directory: Directory) -> None:
    accounts, _ = generate()
    of_birch = next(a.id for a in accounts if a.tenant == "birch")
    assert directory.archive("acme", [of_birch]) == []
    assert directory.archive("birch", [of_birch]) == [of_birch]
    assert directory.archive("birch", [of_birch]) == []


def test_a_hidden_account_cannot_be_archived_by_the_agent(directory: Directory) -> None:
    hidden = next(a for a in generate()[0] if a.confidential)
    assert directory.archive(hidden.tenant, [hidden.id]) == []


def test_a_reset_undoes_everything(directory: Directory) -> None:
    before = directory.changes()
    directory.archive("acme", [a.id for a in generate()[0] if a.tenant == "acme"])
    assert directory.changes() != before
    directory.reset()
    assert directory.changes() == before
