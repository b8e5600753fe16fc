"""A write is refused when the guard, the clock, the key, the ledger or the audit is missing or fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from actions.kit import Provider, archive
from evidence.made_reads import at as moment
from evidence.made_reads import made
from unabridged import session
from unabridged.audit import AuditKeyMissing, AuditLog
from unabridged.contract import InvalidInput
from unabridged.evidence import MemoryLedger, Session
from unabridged.gate import Reply, Turn, run_action

IDS = ["a-1", "a-2"]
ARGS: dict[str, Any] = {"tenant": "acme", "account_ids": IDS}
KEY = b"k" * 32


def started(s: Session | None, **spec: Any) -> tuple[Reply, Provider]:
    provider = Provider()
    return run_action(archive(provider, **spec), ARGS, session=s), provider


def refuses(reply: Reply, provider: Provider) -> bool:
    """Tells whether the guard failed closed: an error to the framework, and nothing reached the executor."""
    return json.loads(reply.content).get("codes") == ["GUARD_FAILED"] and reply.is_error and not provider.commands


class Fragile(MemoryLedger):
    """A ledger that fails once it is told to."""

    broken = False

    def turn(self, journal: Any, *, now: datetime) -> Any:
        if self.broken:
            raise OSError("k4narie")
        return super().turn(journal, now=now)


def test_without_a_session_nothing_is_written() -> None:
    assert refuses(*started(None))


def test_a_ledger_that_fails_lets_nothing_be_written() -> None:
    ledger = Fragile()
    s = session("case", ledger=ledger, now=lambda: moment(10))
    s.record(made("accounts", IDS))
    ledger.broken = True
    assert refuses(*started(s))


def test_an_evicted_session_lets_nothing_be_written() -> None:
    ledger = MemoryLedger(max_sessions=1)
    s = session("case", ledger=ledger, now=lambda: moment(10))
    s.record(made("accounts", IDS))
    session("another", ledger=ledger, now=lambda: moment(11))
    assert refuses(*started(s))


@pytest.mark.parametrize("broken", [lambda: 1 / 0, lambda: None, lambda: "noon"])
def test_a_clock_that_fails_lets_nothing_be_written(broken: Callable[[], Any]) -> None:
    clock: list[Callable[[], Any]] = [lambda: moment(10)]
    s = session("case", ledger=MemoryLedger(), now=lambda: clock[0]())
    s.record(made("accounts", IDS))
    clock[0] = broken
    assert refuses(*started(s))


def test_a_clock_that_fails_after_the_judgement_lets_nothing_be_written() -> None:
    calls = [0]

    def fails_late() -> datetime:
        calls[0] += 1
        if calls[0] > 4:
            raise OSError("k4narie")
        return moment(10)

    s = session("case", ledger=MemoryLedger(), now=fails_late, approve=lambda _: True)
    s.record(made("accounts", IDS))
    assert refuses(*started(s, destructive=True))


def test_an_audit_log_without_a_key_is_refused_when_it_is_made(tmp_path: Path) -> None:
    for key in (None, b"", b"short"):
        with pytest.raises(InvalidInput):
            AuditLog(tmp_path / "audit.jsonl", key=key)  # type: ignore[arg-type]
    with pytest.raises(AuditKeyMissing):
        AuditLog(tmp_path / "audit.jsonl", key=None)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def audited(log: Any) -> Session:
    s = session("case", ledger=MemoryLedger(), now=lambda: moment(10), audit=log)
    s.record(made("accounts", IDS))
    return s


def test_an_audit_log_that_was_closed_lets_nothing_be_written(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", key=KEY)
    s = audited(log)
    _, provider = started(s)
    assert len(provider.commands) == 2
    log.close()
    assert refuses(*started(s, once=False))


def test_what_is_no_audit_log_lets_nothing_be_written() -> None:
    assert refuses(*started(audited(object())))


def test_an_independent_action_is_refused_too_where_it_cannot_be_written_down() -> None:
    s = audited(object())
    assert refuses(*started(s, independent="closes what was asked for"))
    provider = Provider()
    action = archive(provider, independent="closes what was asked for")
    assert refuses(run_action(action, ARGS, session=None, turn=Turn(audit=object())), provider)  # type: ignore[arg-type]
