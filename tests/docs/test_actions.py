"""The examples of `docs/ACTIONS.md` run as they stand there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from chat_scripts import calls, scripted
from langchain_kit import Shop
from llama_index.core.tools import FunctionTool
from llama_scripts import result, script
from unabridged import session
from unabridged.evidence import MemoryLedger
from unabridged.gate import run_action
from unabridged_langchain import protect
from unabridged_llamaindex import protect as protect_here

ACTIONS = Path(__file__).parents[2].joinpath("docs", "ACTIONS.md").read_text()


def ran(package: str, names: dict[str, Any]) -> dict[str, Any]:
    """Runs the example of a framework."""
    _, _, section = ACTIONS.partition("\n## Approvals\n")
    [fence] = [f for f in re.findall(r"```python\n(.*?)```", section, re.DOTALL) if f"from {package} import" in f]
    exec(compile(fence, "ACTIONS.md", "exec", dont_inherit=True), names)
    return names


def test_the_graph_pauses_with_the_card_and_goes_on_for_the_ids_that_were_named() -> None:
    shop = Shop()
    tools = protect(
        [shop.list_orders, shop.archive], reads={"list_orders": "orders"},
        writes={"archive": {"relies_on": ["orders"], "targets": "ids", "destructive": True}},
    )  # fmt: skip
    model = scripted(calls(("list_orders", {})), calls(("archive", {"ids": [1, 3]})))
    told = ran("unabridged_langchain", {"model": model, "tools": tools})
    assert told["asked"].value["targets"] == 2
    assert shop.written == [[1]]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # LlamaIndex reads deprecated attributes of its agents
async def test_the_run_waits_for_the_event_that_answers_the_card() -> None:
    written: list[Any] = []

    def list_orders() -> Any:
        """Lists orders."""
        return result()

    def archive(ids: list[str]) -> str:
        """Archives orders."""
        written.append(ids)
        return "archived"

    tools = protect_here(
        [FunctionTool.from_defaults(list_orders), FunctionTool.from_defaults(archive)],
        reads={"list_orders": "orders"},
        writes={"archive": {"relies_on": ["orders"], "targets": "ids", "destructive": True}},
    )
    llm = script([("list_orders", {})], [("archive", {"ids": ["o-1"]})])
    await ran("unabridged_llamaindex", {"tools": tools, "llm": llm})["run"]("Archive what nobody owns.")
    assert written == [["o-1"]]


def test_every_option_of_a_card_is_explained() -> None:
    from unabridged.actions.approvals.card import CARD_OPTIONS

    assert set(CARD_OPTIONS) == set(re.findall(r"^\| `([a-z_]+)` \|", ACTIONS.partition("\n## Approvals\n")[2], re.M))


def test_the_contract_of_the_first_example_archives_what_it_may() -> None:
    accounts = {"svc-0001": {"id": "svc-0001", "owner_email": "k4narie@example.org"}}
    [fence] = [f for f in re.findall(r"```python\n(.*?)```", ACTIONS, re.DOTALL) if "archive = Action(" in f]
    names: dict[str, Any] = {"accounts": accounts}
    exec(compile(fence, "ACTIONS.md", "exec", dont_inherit=True), names)
    with session("docs", principal="housekeeping", ledger=MemoryLedger()) as s:
        sent = {"account_ids": ["svc-0001", "svc-0002"]}
        assert json.loads(run_action(names["archive"], sent).content)["codes"] == ["EVIDENCE_MISSING"]
        for resource in ("accounts", "assignments"):
            s.record(result(items=[{"id": "svc-0001"}, {"id": "svc-0002"}], resource=resource))
        told = run_action(names["archive"], sent).content
    assert (json.loads(told)["status"], json.loads(told)["done"]) == ("partial", 1)
    assert "k4narie" not in told
    assert accounts["svc-0001"]["archived"] is True
