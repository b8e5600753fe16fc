"""The runner of the demo, with an errand that needs no database."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from actions.kit import archive
from llama_scripts import result
from unabridged.actions import Action
from unabridged.contract import InvalidInput
from unabridged.demo.hasty import Call, Move, Say
from unabridged.demo.runs import Runner, Step, find_runner
from unabridged_llamaindex.demo import run


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
        return result("partial", items=[{"id": "a-1"}], resource="accounts")

    def archive_accounts(self, tenant: str, account_ids: list[str]) -> str:
        """Archives accounts."""
        self.archived += account_ids
        return json.dumps({"archived": account_ids})

    def next_move(self, history: Sequence[Step]) -> Move:
        tools = [step.tool for step in history]
        if not tools:
            return (Call("list_plain" if not hasattr(self, "is_guarded") else "list_accounts", {}),)
        if tools[-1] != "archive_accounts":
            return (Call("archive_accounts", {"tenant": "acme", "account_ids": ["a-1"]}),)
        return Say("Done. Nothing is left.")


def test_the_plain_run_writes_and_the_guarded_one_is_refused() -> None:
    errand: Any = Errand()
    outcome = run(errand, guarded=False, model=None)
    assert errand.archived == ["a-1"]
    assert outcome.answer.text == "Done. Nothing is left."
    assert [s.tool for s in outcome.steps] == ["list_plain", "archive_accounts"]

    errand = Errand()
    errand.is_guarded = True
    outcome = run(errand, guarded=True, model=None)
    assert errand.archived == []
    assert outcome.answer.text.endswith("\n\nDone. Nothing is left.")
    assert [c["resource"] for c in outcome.answer.caveats] == ["accounts"]
    assert outcome.answer.coverage["complete"] is False
    assert json.loads(outcome.steps[1].text)["codes"] == ["EVIDENCE_INCOMPLETE"]
    assert json.dumps([outcome.answer.coverage, list(outcome.answer.caveats)])


def test_the_demo_finds_the_room_by_its_entry_point() -> None:
    found: Runner = find_runner("llamaindex")
    assert found is run


def test_this_half_is_scripted() -> None:
    errand: Any = Errand()
    with pytest.raises(InvalidInput, match="LangChain half"):
        run(errand, guarded=True, model="openai:x")
