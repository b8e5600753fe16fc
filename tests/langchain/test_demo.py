"""The runner of the demo, with an errand that needs no database."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from actions.kit import archive
from langchain_kit import result
from unabridged.actions import Action
from unabridged.demo.hasty import Call, Move, Say
from unabridged.demo.runs import Runner, Step, find_runner
from unabridged_langchain.demo import run


class Errand:
    """Reads once, writes, and says that it is done, whatever came back."""

    prompt = "Archive the accounts that nobody owns."
    reads: dict[str, Any] = {"list_accounts": {"resource": "accounts"}}
    principal = "demo"

    def __init__(self) -> None:
        self.archived: list[str] = []

    @property
    def plain(self) -> tuple[Callable[..., Any], ...]:
        return self.list_plain, self.archive_accounts

    @property
    def guarded(self) -> tuple[Callable[..., Any], ...]:
        return (self.list_accounts,)

    @property
    def actions(self) -> tuple[Action, ...]:
        return (archive(lambda command: self.archived.append(command.target), output=None, relies_on=["accounts"]),)

    def list_plain(self) -> str:
        """Lists accounts."""
        return json.dumps([{"id": "a-1"}])

    def list_accounts(self) -> Any:
        """Lists accounts."""
        return result([{"id": "a-1"}], "MORE_PAGES_AVAILABLE", resource="accounts")

    def archive_accounts(self, tenant: str, account_ids: list[str]) -> str:
        """Archives accounts."""
        self.archived += account_ids
        return json.dumps({"archived": account_ids})

    def next_move(self, history: Sequence[Step]) -> Move:
        if not history:
            return (Call("list_accounts" if self.is_guarded else "list_plain", {}),)
        if history[-1].tool != "archive_accounts":
            return (Call("archive_accounts", {"tenant": "acme", "account_ids": ["a-1"]}),)
        return Say("Done. Nothing is left.")

    is_guarded = False


def test_the_plain_run_writes_and_the_guarded_one_is_refused_and_admits() -> None:
    errand: Any = Errand()
    outcome = run(errand, guarded=False, model=None)
    assert (errand.archived, outcome.answer.text) == (["a-1"], "Done. Nothing is left.")
    errand = Errand()
    errand.is_guarded = True
    outcome = run(errand, guarded=True, model=None)
    assert errand.archived == []
    assert [step.tool for step in outcome.steps] == ["list_accounts", "archive_accounts"]
    assert (outcome.steps[1].body() or {})["codes"] == ["EVIDENCE_INCOMPLETE"]
    assert outcome.answer.text.startswith("accounts: these findings are partial")
    assert outcome.answer.text.endswith("Done. Nothing is left.")
    assert outcome.answer.caveats[0]["codes"] == ["MORE_PAGES_AVAILABLE"]
    assert outcome.answer.coverage["complete"] is False


def test_the_runner_is_found_by_its_name() -> None:
    found: Runner = find_runner("langchain")
    assert found is run
