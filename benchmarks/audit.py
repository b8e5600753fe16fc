"""The audit log: what an event costs to write, and how many events a second a verification proves."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from unabridged.audit import AuditEvent, AuditLog, Keyed, new_ref, verify

from .harness import Figure, measure

KEY: Final = b"a key for benchmarks only, 32 b."
_CALLS: Final = 1_000
_WRITE_US: Final = 15.0
_WITH_ORJSON_US: Final = 5.0
_EVENTS: Final = 1_000_000
_A_SECOND: Final = 1_000_000.0
_ROUNDS: Final = 5
_HEX_SESSIONS: Final = [f"{n:032x}" for n in range(200)]


def event(number: int) -> AuditEvent:
    """Returns an intent or an outcome, as a guarded write makes them in turn. Its digests stand for real ones."""
    session = _HEX_SESSIONS[number // 2 % 200]
    if number % 2:
        return AuditEvent(
            kind="outcome", action="archive_orders", ref=f"{number // 2:032x}", session=session, outcome="done", done=3,
            not_done=0,
        )  # fmt: skip
    return AuditEvent(
        kind="intent", action="archive_orders", ref=f"{number // 2:032x}", session=session, verdict="allow",
        reads=(f"r_{number:016x}",), fields=("filter.status", "limit"),
        digests={"args": f"{number * 0x9E3779B97F4A7C15:064x}", "targets": f"{number * 0xD6E8FEB86659FD93:064x}"},
    )  # fmt: skip


def run() -> list[Figure]:
    """Measures writing on one open log, and verification of a log of 1,000,000 events."""
    with tempfile.TemporaryDirectory(prefix="audit-bench-") as folder:
        return [*_writing(Path(folder)), *_verifying(Path(folder) / "long.jsonl")]


def _numbered(make: Callable[[int], Any]) -> Callable[[], Any]:
    numbers: Iterator[int] = iter(range(1 << 60))
    return lambda: make(next(numbers))


def _writing(folder: Path) -> list[Figure]:
    keyed = Keyed(KEY)
    log = AuditLog(folder / "write.jsonl", key=KEY, max_bytes=1 << 40)
    prepared = [event(number) for number in range(400 * _CALLS)]
    ready = iter(prepared)
    plain = os.open(folder / "plain", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    line = b"x" * 400
    works: dict[str, Callable[[], object]] = {
        "os.write of a line of that length": lambda: os.write(plain, line),
        "an event": lambda: log.write(next(ready)),
        "an event is made": _numbered(event),
        "an event is made and written": _numbered(lambda n: log.write(event((1 << 40) + n))),
        "a digest of five fields": lambda: keyed.digest({"id": "svc-1", "owner": "ops", "limit": 5, "a": True, "b": 1}),
        "a reference": new_ref,
    }
    samples = measure(works, baseline="os.write of a line of that length", rounds=31, calls=_CALLS)
    log.close()
    os.close(plain)
    return [
        samples.micros("an event", what="an event: lock, link, line, write, unlock", budget=_WRITE_US),
        samples.micros(
            "an event", what="the same, against the budget for orjson", budget=_WITH_ORJSON_US,
            note="no text in a line needs an escape, so no JSON encoder is used, orjson or another",
        ),
        *(samples.micros(name, what=name, budget=None) for name in works if name != "an event"),
    ]  # fmt: skip


def _verifying(path: Path) -> list[Figure]:
    with AuditLog(path, key=KEY, max_bytes=1 << 40, sync_s=3_600) as log:
        for number in range(_EVENTS):
            log.write(event(number))
    note = f"{_EVENTS:,} events, {path.stat().st_size / 1e6:,.0f} MB"
    figures = []
    for processes in (1, 2):
        took = [_proof(path, processes) for _ in range(_ROUNDS)]
        rates = [_EVENTS * processes / cpu for cpu, _ in took]
        wall = statistics.median(seconds for _, seconds in took)
        figures.append(
            Figure(
                what=f"verification, {processes} process{'es' if processes > 1 else ''}, from CPU time",
                value=statistics.median(rates), unit="events/s", budget=_A_SECOND if processes > 1 else None,
                at_least=True, noise=(max(rates) - min(rates)) / 2,
                note=f"{note}; best {max(rates):,.0f}; {_EVENTS / wall:,.0f} of wall time beside what else ran",
            )
        )  # fmt: skip
    bare = [_read_and_hashed(path) for _ in range(_ROUNDS)]
    figures.append(
        Figure(
            what="the file read and hashed in one go, one process, from CPU time",
            value=statistics.median(_EVENTS / cpu for cpu in bare), unit="events/s",
            noise=(_EVENTS / min(bare) - _EVENTS / max(bare)) / 2, note="what no verification can go below",
        )
    )  # fmt: skip
    return figures


def _read_and_hashed(path: Path) -> float:
    """Returns the CPU time of reading a file in blocks and hashing its bytes."""
    start, made = time.process_time(), sha256()
    with path.open("rb", buffering=0) as file:
        while part := file.read(1 << 18):
            made.update(part)
    made.digest()
    return time.process_time() - start


def _proof(path: Path, processes: int) -> tuple[float, float]:
    """Returns the CPU time of a verification with its processes, and its wall time."""
    start, before = time.perf_counter(), os.times()
    proof = verify(path, processes=processes)
    seconds, after = time.perf_counter() - start, os.times()
    if not proof.intact or proof.events != _EVENTS or proof.open_intents:
        raise RuntimeError("the benchmark's log is not intact")
    return sum(after[:4]) - sum(before[:4]), seconds
