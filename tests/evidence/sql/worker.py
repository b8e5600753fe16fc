"""A worker of its own process on one session: it does what it is told, line by line, and says what came of it."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from evidence.made_ledgers import KEY
from evidence.made_reads import OWN_LIMIT, made
from unabridged.contract import TicketRefused
from unabridged.evidence import Recorded, Session, WriteIntent, header_of, session
from unabridged.evidence.sql import SqlLedger

PATIENCE_S = 60.0
"""A machine with few processors lets a worker wait for many others."""


def say(thing: Any) -> None:
    print(json.dumps(thing), flush=True)


def append(s: Session, label: str, count: str) -> int:
    for n in range(int(count)):
        s.record(made("widgets", [f"{label}-{n}"], *OWN_LIMIT, filters={"worker": label, "n": n}))
    return int(count)


def forever(s: Session, label: str) -> None:
    n = 0
    while True:
        read = s.record(made("widgets", [f"{label}-{n}"], *OWN_LIMIT, filters={"worker": label, "n": n}))
        say(read.id)
        n += 1


def hold(s: Session) -> None:
    """Stops in the middle of a turn: the row is locked, and something is appended that is not committed."""
    with s._turn() as (journal, _):
        result = made("widgets", ["halfway"])
        s.store.put(s.key.digest, result, now=journal.last_used, on_drop=lambda _: None)
        journal.append(Recorded(header_of(result)))
        say(result.read.id)
        time.sleep(3_600)


def begin(s: Session, deadline_s: str) -> str:
    return s.begin("widgets", deadline_s=float(deadline_s)).id


def judge(s: Session) -> list[str]:
    return list(s.judge_write(WriteIntent("purge")).codes)


def count(s: Session) -> int:
    return len(s.reads)


def digest(s: Session) -> list[list[Any]]:
    """What the worker knows, in its order."""
    return [[r.id, r.status, len(r.ids)] for r in s.reads]


def redeem(s: Session, *tokens: str) -> list[str]:
    won: list[str] = []
    for token in tokens:
        try:
            s.tickets.redeem(token, kind="reference")
        except TicketRefused:
            continue
        won.append(token)
    return won


VERBS = {f.__name__: f for f in (append, forever, hold, begin, judge, count, digest, redeem)}


def main() -> None:
    ledger = SqlLedger(sys.argv[1], key=KEY, timeout_s=PATIENCE_S)
    s = session("case", principal="ann", ledger=ledger)
    say("ready")
    for line in sys.stdin:
        verb, *args = line.split()
        say(VERBS[verb](s, *args))


if __name__ == "__main__":
    main()
