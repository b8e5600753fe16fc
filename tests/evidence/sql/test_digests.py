"""The digests that bind a decision to a write: every worker of a ledger makes the same, and no other ledger does."""

from __future__ import annotations

from pathlib import Path

from unabridged.evidence import session
from unabridged.evidence.sql import SqlLedger


def test_workers_of_one_ledger_make_the_same_digests_and_those_of_another_do_not(tmp_path: Path) -> None:
    keys = {"one": b"a key that several workers share", "two": b"a key that nobody else knows of"}
    ledgers = [
        SqlLedger(f"sqlite:///{tmp_path / name}.db", key=keys[name], shared=False) for name in ("one", "one", "two")
    ]
    first, second, other = (session("case", ledger=each).tickets.digest({"ids": [1]}) for each in ledgers)
    for each in ledgers:
        each.close()
    assert first == second != other
    assert keys["one"] not in {each.secret for each in ledgers}
