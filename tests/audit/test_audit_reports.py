"""Public reports of what audit records leaked, as far as the log itself is concerned."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from audit.logs import Failing, lines, opened
from unabridged.audit import AuditEvent, AuditFailed, accepted_fields, new_ref, verify

SENTINEL = "Sentinel 4f9a, jane.doe@example.org, 12345678900"
ARGUMENTS: dict[str, Any] = {
    "document_no": SENTINEL,
    "limit": 5,
    "filter": {"status": SENTINEL, "nested": [{"note": SENTINEL}]},
    SENTINEL: {SENTINEL: SENTINEL},
}
PARTS = ("Sentinel", "4f9a", "jane", "12345678900")


# R50: langchain-ai/langgraph#7780
def test_a_decision_that_is_run_again_on_each_resume_is_one_event(tmp_path: Path) -> None:
    ref = new_ref()
    with opened(tmp_path / "audit.jsonl") as log:
        for _ in range(3):
            log.write(AuditEvent(kind="decision", action="archive", ref=ref, verdict="review"))
        log.write(AuditEvent(kind="intent", action="archive", ref=ref))
        log.write(AuditEvent(kind="outcome", action="archive", ref=ref, outcome="done"))
    assert [json.loads(line)["kind"] for line in lines(tmp_path / "audit.jsonl")[1:]] == [
        "decision",
        "intent",
        "outcome",
    ]


# R62: fazer-ai/agents#78
def test_the_arguments_of_a_call_leave_their_names_and_no_digit_of_a_value(tmp_path: Path) -> None:
    names, unnamed = accepted_fields({"document_no": "12345678900", "limit": 5, "filter": {"status": "paid"}})
    with opened(tmp_path / "audit.jsonl") as log:
        log.write(AuditEvent(kind="intent", action="find", ref=new_ref(), fields=names, unnamed=unnamed))
    stored = json.loads(lines(tmp_path / "audit.jsonl")[1])
    assert stored["fields"] == ["document_no", "filter.status", "limit"]
    assert "12345678900" not in (tmp_path / "audit.jsonl").read_text()
    assert "paid" not in (tmp_path / "audit.jsonl").read_text()


# R63: langflow-ai/langflow#8011
@pytest.mark.parametrize("ending", ["done", "failed", "cancelled"])
def test_neither_the_beginning_nor_any_end_of_a_run_holds_a_value(
    tmp_path: Path, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ref, (names, unnamed) = new_ref(), accepted_fields(ARGUMENTS)
    common: dict[str, Any] = {"action": SENTINEL, "ref": ref, "fields": names, "unnamed": unnamed}
    with opened(tmp_path / "audit.jsonl", head=tmp_path / "head") as log:
        log.write(AuditEvent(kind="intent", digests={"args": log.digest(ARGUMENTS), SENTINEL: SENTINEL}, **common))
        log.write(AuditEvent(kind="outcome", outcome=ending, codes=(SENTINEL,), why=SENTINEL + "\n", **common))
    found = verify(tmp_path / "audit.jsonl")
    everything = "".join(path.read_text() for path in tmp_path.iterdir()) + repr(found) + repr(log) + caplog.text
    assert (found.intact, found.events, found.open_intents) == (True, 2, ())
    assert not any(part in everything for part in PARTS)


def test_an_event_that_could_not_be_written_leaves_no_value_in_its_error(tmp_path: Path) -> None:
    files = Failing()
    log = opened(tmp_path / "audit.jsonl", system=files.system())
    event = AuditEvent(kind="intent", action=SENTINEL, ref=new_ref(), why=SENTINEL + "\n")
    files.room = 0
    with pytest.raises(AuditFailed) as caught:
        log.write(event)
    said = [str(caught.value), repr(caught.value), repr(caught.value.fields), repr(event)]
    assert not any(part in text for part in PARTS for text in said)
