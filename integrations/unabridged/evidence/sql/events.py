"""Events as JSON: headers with digests in the place of values, and without what only one process can go on with."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, assert_never

from pydantic import TypeAdapter

from unabridged.contract import Continuation, LedgerUnavailable, Proof, ReadResult, Total
from unabridged.contract.ids import TEXT
from unabridged.evidence.header import Cut, Held, RecordedRead, WhyPart
from unabridged.evidence.ledger import (
    Called,
    Dropped,
    Event,
    Handed,
    Noted,
    Recorded,
    Repeated,
    Settled,
    Shown,
    Withdrawn,
)
from unabridged.evidence.scope import Digest, FilterKey, Mask, Withheld

from .database import from_us, to_us

Load = Callable[[str], ReadResult | None]
_ROUTE: Final[TypeAdapter[Continuation]] = TypeAdapter(Continuation)
_TOLD: Final = {"handle": None, "ids": (), "item": TEXT, "reference": TEXT}
"""What a continuation may not tell: how to go on, and which record it is about."""


def encode(event: Event, mask: Mask) -> str:
    """Returns an event as one line of JSON."""
    return json.dumps(_parts(event, mask), separators=(",", ":"))


def _parts(event: Event, mask: Mask) -> list[Any]:
    match event:
        case Recorded(read, declared):
            return ["recorded", _header(read.masked(mask)), declared]
        case Settled(read):
            return ["settled", _header(read.masked(mask))]
        case Withdrawn(read_id, call_id):
            return ["withdrawn", read_id, None if call_id is None else mask.key(call_id)]
        case Shown(read_id, shown, counted):
            return ["shown", read_id, shown, counted]
        case Dropped(read_id):
            return ["dropped", read_id]
        case Called(call_id):
            return ["called", mask.key(call_id)]
        case Handed(handle, read_id, start):
            return ["handed", mask.key(handle), read_id, start]
        case Repeated(resource, filters):
            return ["repeated", resource, [[name, _digest(value)] for name, value in mask.scope(filters)]]
        case Noted(name, note):
            return ["noted", mask.key(name), note]
        case _:
            assert_never(event)


def decode(body: str, load: Load) -> Event:
    """Returns the event that a line of JSON states.

    Args:
        body: the line.
        load: fetches the result of a read from the store, by its id.

    Raises:
        LedgerUnavailable: it is an event that this version does not know.
    """
    match json.loads(body):
        case ["recorded", dict(read), bool(declared)]:
            return Recorded(_read(read, load), declared)
        case ["settled", dict(read)]:
            return Settled(_read(read, load))
        case ["withdrawn", str(read_id), call_id]:
            return Withdrawn(read_id, None if call_id is None else Digest(call_id))
        case ["shown", str(read_id), shown, bool(counted)]:
            return Shown(read_id, shown, counted)
        case ["dropped", str(read_id)]:
            return Dropped(read_id)
        case ["called", str(call_id)]:
            return Called(Digest(call_id))
        case ["handed", str(handle), str(read_id), int(start)]:
            return Handed(Digest(handle), read_id, start)
        case ["repeated", str(resource), list(filters)]:
            key: FilterKey = frozenset((name, _value(value)) for name, value in filters)
            return Repeated(resource, key)
        case ["noted", str(name), note]:
            return Noted(Digest(name), note)
        case _:
            raise LedgerUnavailable(why="it holds an event that this version does not know")


def _digest(value: Any) -> Any:
    """Returns a filter value as JSON; nothing but a digest, or that it was withheld, gets through."""
    if isinstance(value, Digest):
        return str(value) if value.parts is None else [str(value), [str(p) for p in value.parts]]
    if isinstance(value, Withheld):
        return None
    raise TypeError("a value that is no digest")


def _value(given: Any) -> Digest | Withheld:
    if given is None:
        return Withheld()
    if isinstance(given, str):
        return Digest(given)
    return Digest(given[0], tuple([Digest(p) for p in given[1]]))


def _header(read: RecordedRead) -> dict[str, Any]:
    route = read.continuation
    hidden = {name: value for name, value in _TOLD.items() if name in type(route).model_fields}
    header: dict[str, Any] = {
        "id": read.id,
        "resource": read.resource,
        "status": read.status,
        "intent": read.intent,
        "filters": {name: _digest(value) for name, value in read.filters.items()},
        "reasons": [[r.code, r.detail, r.layer, r.source] for r in read.reasons],
        "visibility": read.visibility,
        "snapshot": None if read.snapshot is None else _digest(read.snapshot),
        "consistency": read.consistency,
        "proof": read.proof.to_wire(),
        "total": [read.total.value, read.total.kind],
        "returned": read.returned,
        "started_us": to_us(read.started_at),
        "finished_us": to_us(read.finished_at),
        "sources": [list(source) for source in read.sources],
        "cuts": [[str(c.item), c.field, c.why] for c in read.cuts],
        "continuation": route.model_copy(update=hidden).to_wire(),
        "continues": read.continues,
        "derived_from": list(read.derived_from),
        "key": read.key,
        "query_id": read.query_id,
        "origin": read.origin,
        "deadline_us": None if read.deadline is None else to_us(read.deadline),
        "shown": read.shown,
        "counted": read.counted,
        "call_id": read.call_id,
    }
    return {name: value for name, value in header.items() if value not in (None, [], {})}


def _read(header: dict[str, Any], load: Load) -> RecordedRead:
    get, read_id = header.get, header["id"]
    value, kind = header["total"]
    deadline = get("deadline_us")
    return RecordedRead(
        id=read_id,
        resource=header["resource"],
        status=header["status"],
        filters={name: _value(digest) for name, digest in get("filters", {}).items()},
        intent=header["intent"],
        reasons=tuple([WhyPart(*reason) for reason in get("reasons", ())]),
        visibility=header["visibility"],
        snapshot=None if "snapshot" not in header else _value(header["snapshot"]),
        consistency=header["consistency"],
        proof=Proof(**header["proof"]),
        total=Total(value=value, kind=kind),
        returned=header["returned"],
        started_at=_moment(header["started_us"]),
        finished_at=_moment(header["finished_us"]),
        sources=tuple([(name, status) for name, status in get("sources", ())]),
        cuts=tuple([Cut(_item(item), field, why) for item, field, why in get("cuts", ())]),
        continuation=_ROUTE.validate_python(header["continuation"]),
        continues=get("continues"),
        derived_from=tuple(get("derived_from", ())),
        key=get("key"),
        query_id=get("query_id", ""),
        origin=header["origin"],
        deadline=None if deadline is None else _moment(deadline),
        shown=get("shown"),
        counted=header["counted"],
        call_id=None if "call_id" not in header else Digest(header["call_id"]),
        held=Held(None, lambda: load(read_id)),
    )


def _item(item: str) -> str:
    return item if item == TEXT or item.startswith("#") else Digest(item)


def _moment(us: int) -> datetime:
    return from_us(us)
