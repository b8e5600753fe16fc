"""Short ways to call a tool through its gate, for the tests of this folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any

from unabridged.contract import ReadHeader, ReadResult, Reason, Scope, build_result, new_read_id
from unabridged.evidence import MemoryLedger, Session, session
from unabridged.gate import ALONE, Entered, Gate, ReadSpec, Reply, Spec, Turn, WriteSpec

SECRET = "sk-sentinel-7f3a"
ROWS = [{"id": 1, "owner": None}, {"id": 2, "owner": "ops"}, {"id": 3, "owner": None}]
_numbers = count(1)


def fresh() -> Session:
    """Returns a session of its own."""
    return session(f"case-{next(_numbers)}", ledger=MemoryLedger())


def result(items: list[Any] | None, *codes: str, resource: str = "orders", **parts: Any) -> ReadResult:
    """Returns a read of now with these items and reason codes."""
    now = datetime.now(UTC)
    scope = {name: parts.pop(name) for name in ("filters", "intent") if name in parts}
    header = {"id": parts.pop("id", None) or new_read_id(), "continues": parts.pop("continues", None)}
    return build_result(
        items=items,
        reasons=[Reason(code=c.partition(":")[0], detail=c.partition(":")[2] or None) for c in codes],
        scope=Scope(resource=resource, **scope),
        read=ReadHeader(started_at=now, finished_at=now, **header),
        **parts,
    )


def enter(spec: Spec, args: Mapping[str, Any] | None = None, **way: Any) -> Entered | Reply:
    """Enters a tool called `tool`."""
    gate = Gate(way.pop("name", "tool"), spec)
    return gate.enter(args or {}, session=way.pop("session", None), turn=way.pop("turn", ALONE), **way)


def call(spec: Spec, value: Any, args: Mapping[str, Any] | None = None, **way: Any) -> Reply:
    """Calls a tool whose body returns `value`, or raises it."""
    gate = Gate(way.pop("name", "tool"), spec, way.pop("max_bytes", 16_384))
    entered = gate.enter(args or {}, session=way.pop("session", None), turn=way.pop("turn", ALONE), **way)
    if isinstance(entered, Reply):
        return entered
    return gate.fail(entered, value) if isinstance(value, BaseException) else gate.leave(entered, value)


def read(value: Any, args: Mapping[str, Any] | None = None, *, session: Session | None = None, **spec: Any) -> Reply:
    """Calls a tool that reads `orders`."""
    return call(ReadSpec(**{"resource": "orders", **spec}), value, args, session=session)


def write(session: Session | None, args: Mapping[str, Any] | None = None, turn: Turn = ALONE, **spec: Any) -> Reply:
    """Calls a write, whose body returns `"done"`."""
    return call(WriteSpec(**spec), "done", args, session=session, turn=turn, name="archive")


def ran(reply: Reply) -> bool:
    """Tells whether a write was let in."""
    return reply.passes and reply.value == "done"


def told(reply: Reply) -> dict[str, Any]:
    """Returns what a model reads, held to strict JSON."""
    assert reply.content, "nothing was told; the body ran"
    document = json.loads(reply.content, parse_constant=_no_constant)
    assert isinstance(document, dict)
    return document


def codes(reply: Reply) -> list[str]:
    """Returns the codes of a refusal."""
    return list(told(reply)["codes"])


def size(reply: Reply) -> int:
    """Returns the bytes of a message."""
    return len(reply.content.encode())


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")
