"""The places of our own where a value must never stand: ledgers with their tables, the audit file, approval cards."""

from __future__ import annotations

import io
import json
import pickle
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from canaries.watching import found_in
from unabridged.actions.approvals import Card
from unabridged.audit import AuditLog, verify
from unabridged.evidence import MemoryLedger, Session, session
from unabridged.evidence.sql import SqlLedger

_KEY: Final = b"a key of the tests, and no other"
_PAYLOADS: Final = {("unabridged_results", "payload")}
"""The one column that holds records: the result store itself."""


@dataclass
class Place:
    """A session with all that it writes.

    Attributes:
        session: the session, with an audit log and an approver that approves everything.
        cards: the cards that were shown.
    """

    session: Session
    ledger: Any
    log: AuditLog
    folder: Path
    cards: list[Card] = field(default_factory=list)

    def leaks(self) -> dict[str, str]:
        """Returns where canaries stand in the places of our own."""
        texts = {f"card {n} {form}": text for n, c in enumerate(self.cards) for form, text in renderings(c).items()}
        texts |= {f"file {p.name}": p.read_text() for p in self.folder.iterdir() if p.name.startswith("audit")}
        texts["verification"] = repr(verify(self.folder / "audit.jsonl"))
        for name, each in (("session", self.session), ("ledger", self.ledger), ("log", self.log)):
            texts[f"repr {name}"] = repr(each) + str(each)
            texts[f"pickle {name}"] = _pickled(each)
        for n, read in enumerate(self.session.reads):
            texts[f"read {n}"] = repr(read) + str(read) + _pickled(read)
        texts |= dict(tables(self.folder))
        return {where: ", ".join(sorted(found_in(text))) for where, text in texts.items() if found_in(text)}


def renderings(card: Card) -> dict[str, str]:
    """Returns a card in every form that it has."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=200, record=True)
    console.print(card)
    forms = {"dict": json.dumps(card.to_dict()), "repr": repr(card), "pickle": _pickled(card)}
    forms |= {f"text {n}": card.to_text(n) for n in ("en", "de")}
    forms |= {f"html {n}": card.to_html(n) for n in ("en", "de")}
    return {**forms, "notebook": card._repr_html_(), "rich": console.export_text()}


def _pickled(value: Any) -> str:
    with suppress(Exception):
        return pickle.dumps(value).decode("utf-8", "replace")
    return ""


def tables(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields every column of every table of the databases in a folder, but the one that holds the records."""
    for path in folder.glob("*.db"):
        with closing(sqlite3.connect(path)) as database:
            names = [n for (n,) in database.execute("select name from sqlite_master where type = 'table'")]
            for table in names:
                cursor = database.execute(f'select * from "{table}"')
                columns = [c[0] for c in cursor.description]
                rows = cursor.fetchall()
                for n, column in enumerate(columns):
                    if (table, column) not in _PAYLOADS:
                        yield f"{table}.{column}", " ".join(_text(row[n]) for row in rows)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@contextmanager
def placed(kind: str, folder: Path, *, answer: Any = True) -> Iterator[Place]:
    """Opens a session in a ledger of the kind, `memory` or `sqlite`, with an audit log.

    Args:
        kind: the kind of ledger.
        folder: where files go.
        answer: what the approver says to every card, or a function of the card; `None` for no approver.
    """
    ledger: Any = MemoryLedger() if kind == "memory" else SqlLedger(f"sqlite:///{folder / 'ledger.db'}", key=_KEY)
    log = AuditLog(folder / "audit.jsonl", key=b"k" * 32)
    cards: list[Card] = []

    def approve(card: Card) -> Any:
        cards.append(card)
        return answer(card) if callable(answer) else answer

    try:
        with session(
            "desk", ledger=ledger, audit=log, principal="clerk", approve=None if answer is None else approve
        ) as found:
            yield Place(found, ledger, log, folder, cards)
    finally:
        log.close()
        if kind == "sqlite":
            ledger.close()
