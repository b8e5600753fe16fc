"""Actions over real executors: what an agent learns of each target, and that nothing is done twice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from actions.executors.wire import Heard, said, wire
from actions.kit import admitted, archive, opened
from unabridged.actions import Outcome
from unabridged.actions.executors import FromCallable, HttpExecutor, ProcessExecutor, Route

SENTINEL = "SENTINEL-7f3a9c"
ARGS = {"tenant": "acme", "account_ids": ["a-1", "a-2", "a-3"]}
PATH = "/{tenant}/accounts/{target}"
UNUSED = ["low", "high"]


def _answer(heard: Heard) -> bytes:
    if heard.target.endswith("a-2") and heard.number < 3:
        return b""  # it was taken, perhaps, and the connection ends
    if heard.target.endswith("a-3"):
        return said(404, {"error": "no account of Ada Canary"})
    return said(200, {"archived": True, "owner": {"name": "Ada Canary"}})


def _performed(executor: Any, session: Any) -> Outcome:
    action = archive(executor)
    return action.perform(admitted(action, ARGS, session), session=session, targets=ARGS["account_ids"])


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_target_whose_answer_is_lost_is_unknown_and_sent_again_only_under_its_key(idempotent: bool) -> None:
    header = "Idempotency-Key" if idempotent else None
    route = Route("POST", PATH, body=["reason"], unused=UNUSED, idempotency_header=header)
    with wire(_answer) as server, opened() as s:
        executor = HttpExecutor(
            origin=server.origin, routes={"archive_accounts": route}, credential=FromCallable(lambda: SENTINEL)
        )
        first = _performed(executor, s)
        assert [t.status for t in first.targets] == ["done", "unknown", "failed"]
        assert first.targets[2].code == "reference_invalid"
        second = _performed(executor, s)
    sent = [heard.target.rpartition("/")[2] for heard in server.heard]
    assert sent == ["a-1", "a-2", "a-3", *(["a-2"] if idempotent else []), "a-3"]
    assert second.targets[0].status == "already_done"
    assert second.targets[1].status == ("done" if idempotent else "unknown")
    if idempotent:
        keys = [heard.header("idempotency-key")[0] for heard in server.heard]
        assert keys[1] == keys[3]
        assert len(set(keys)) == 3
    told = json.dumps([first.document(), second.document()])
    assert "Canary" not in told
    assert SENTINEL not in told


def test_the_examples_of_the_page_on_actions_can_be_made() -> None:
    page = Path(__file__).parents[3].joinpath("docs", "ACTIONS.md").read_text()
    section = page.partition("\n## Executors\n")[2].partition("\n## ")[0]
    examples = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        names: dict[str, Any] = {}
        exec(example, names)
        assert "executor" in names


def test_an_action_runs_in_a_process_of_its_own(tmp_path: Any) -> None:
    token = tmp_path / "token"
    token.write_text(SENTINEL)
    token.chmod(0o600)
    with wire(said(200, {"archived": True, "owner": "Ada Canary"})) as server, opened() as s:
        options = {"origin": server.origin, "token": str(token)}
        with ProcessExecutor(
            "actions.executors.made_there:archiving", options=options,
            outputs={"archive_accounts": "actions.kit:Archived"},
        ) as executor:  # fmt: skip
            outcome = _performed(executor, s)
    assert [t.status for t in outcome.targets] == ["done"] * 3
    assert "Canary" not in json.dumps(outcome.document())
    assert {heard.header("authorization")[0] for heard in server.heard} == {f"Bearer {SENTINEL}"}
