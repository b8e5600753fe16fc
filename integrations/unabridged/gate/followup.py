"""Going on with a read that was recorded: `continue_read` and `count_read`. The model sees a handle, never a cursor.

`continue_read` first shows the stored rest of a read, without asking the source again, then the source's next page.
`count_read` counts by code over all that was read, with the coverage of that read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from unabridged.contract import (
    ReadResult,
    UnresolvedHandle,
    json_equal,
    new_read_id,
    printable_name,
    reason_message,
    with_ids,
)
from unabridged.evidence import Pending, RecordedRead, Session, SourceRoute, StoredRest, Strand

from .declare import ReadSpec
from .presenting import MAX_BYTES, Reply, dumps, read_reply
from .refusing import invalid_request, resource_label
from .values import Call, kind_of, unavailable

_log = logging.getLogger("unabridged.gate")
CONTINUE_READ: Final = "continue_read"
COUNT_READ: Final = "count_read"
CONTINUE_TEXT: Final = (
    "Goes on with a read that was not complete. Give the handle from its `continuation`. "
    "Use it before you state that something is missing and before a write that was refused."
)
COUNT_TEXT: Final = (
    "Counts the records of a read, over all that was read and not only what was shown. Give the read's `handle` and, "
    "in `where`, fields with the value they must have (null for empty)."
)
_MAX_WHERE: Final = 20
_NO_COUNT: Final = "This is no count: the read is not complete, so more may exist."
_NONE_YET: Final = "None was seen, and the read is not complete: this proves no absence."


def told_apart(session: Session, result: ReadResult, spec: ReadSpec) -> ReadResult:
    """Returns a result under an id of its own where another read of the session bears its id.

    The ledger records an id once, and ids that another program chose may meet. What one tool has named stands under
    that name, though another tool returns it too, as from a cache that they share. A result that says that it goes on
    from a read of another resource, which nothing here has seen it do, goes on from nothing that is known.
    """
    known, changes = session.evidence.find(result.read.id), dict[str, Any]()
    if known is not None and not (_is_same(known, result) and _is_named_alike(session.notes.get(known.id), spec)):
        changes["id"] = new_read_id()
    if result.read.continues is not None and (known is None or changes):
        earlier = session.evidence.find(result.read.continues)
        if earlier is not None and earlier.resource != spec.resource:
            changes["continues"] = new_read_id()
    return result.model_copy(update={"read": result.read.model_copy(update=changes)}) if changes else result


def _is_named_alike(told: object, spec: ReadSpec) -> bool:
    """Tells whether a read that a tool has named, if one has, is the same by the name that another gives it."""
    return not isinstance(told, ReadSpec) or _name(told) == _name(spec)


def _name(spec: ReadSpec) -> tuple[str, str, str | None]:
    return spec.resource, spec.intent, spec.key_filter


def _is_same(known: RecordedRead, result: ReadResult) -> bool:
    held = known.held.result
    told = (result.status, result.codes, result.returned, result.read.started_at, result.read.finished_at)
    before = (known.status, tuple(dict.fromkeys(r.code for r in known.reasons)), known.returned)
    same = told == (*before, known.started_at, known.finished_at)
    return same and (held is None or held.items is result.items or held.items == result.items)


def remember(session: Session, result: ReadResult, spec: ReadSpec) -> None:
    """Keeps the declaration under which a read was made, so that what goes on from it is shown in the same way.

    What no model may see of it is known in every process of the session.
    """
    if spec.withholds is not None:
        session.keep_note(result.read.id, spec.withholds)
    session.notes[result.read.id] = spec
    handle = getattr(result.continuation, "handle", None)
    if handle is not None:
        session.notes[handle] = spec


def spec_of(session: Session, read: RecordedRead, handle: str) -> ReadSpec:
    """Returns the declaration under which a read was made; a read that no tool made has one without a field list.

    A tool may hand out the way on from a read that its body made: then the tool's own declaration holds.
    """
    for name in (handle, read.id):
        spec = session.notes.get(name)
        if isinstance(spec, ReadSpec):
            return spec
    spec, told = ReadSpec(resource=read.resource, intent=read.intent, key=read.key), session.note_of(read.id)
    return spec if told is None else spec.withholding(told)


def asked_for(session: Session, args: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Returns what a `continue_read` call in the same turn asks for, as resource and filters."""
    handle = args.get("handle")
    read = session.read_of(handle) if isinstance(handle, str) else None
    return [] if read is None else [(read.resource, read.filters)]


@dataclass(frozen=True, slots=True)
class Step:
    """A `continue_read` that must ask the source: run `resume.read()` or `resume.aread()`, then `finish` or `fail`."""

    session: Session
    read: RecordedRead
    spec: ReadSpec
    pending: Pending
    resume: Any
    max_bytes: int = MAX_BYTES

    def finish(self, result: Any) -> Reply:
        """Records what came under the name of the read it goes on from, and presents it."""
        try:
            self.session.finish(self.pending, result, resource=self.read.resource, key=self.read.key)
            remember(self.session, result, self.spec)
            return read_reply(result, self.spec, session=self.session, max_bytes=self.max_bytes)
        except Exception as error:  # noqa: BLE001 - the outermost boundary: what cannot be shown is unavailable
            fault = kind_of(error)
        return self.fail(fault)

    def fail(self, fault: str) -> Reply:
        """Records the failure: what was read before stays as it was, and this link is unavailable.

        Args:
            fault: the kind of error.
        """
        _log.warning("%s failed with %s", CONTINUE_READ, fault)
        call = Call(tool=CONTINUE_READ, args=self.read.filters, session=self.session)
        result = unavailable(self.spec, call, detail="tool_failed", started_at=self.pending.started_at)
        self.session.finish(self.pending, result, resource=self.read.resource, key=self.read.key)
        return read_reply(result, self.spec, session=self.session, max_bytes=self.max_bytes)

    def cancel(self) -> None:
        """Records that the step was cancelled."""
        self.session.cancel(self.pending)

    def withdraw(self) -> None:
        """Takes the step back: it was interrupted and will be asked for again."""
        self.session.withdraw(self.pending)


def continue_read(session: Session | None, handle: object, *, max_bytes: int = MAX_BYTES) -> Step | Reply:
    """Returns the stored rest of a read, or the step that asks its source.

    A handle that this session does not know gets an error that says so, not an empty list.
    """
    if not isinstance(handle, str):
        return invalid_request(CONTINUE_READ, [("handle", "must be a text")])
    if session is None:
        return _unresolved(CONTINUE_READ)
    try:
        route = session.resolve(handle)
    except UnresolvedHandle:
        return _unresolved(CONTINUE_READ)
    spec = spec_of(session, route.read, handle)
    match route:
        case StoredRest():
            return _stored(route, session, spec, max_bytes)
        case SourceRoute(read, resume):
            pending = session.begin(read.resource, read.filters, intent=read.intent, key=read.key)
            return Step(session, read, spec, pending, resume, max_bytes)


def _stored(route: StoredRest, session: Session, spec: ReadSpec, max_bytes: int) -> Reply:
    """The rest of a read as an envelope of its own. The read stands in the ledger already."""
    whole = route.result
    ids = whole.ids
    rest = whole.model_copy(
        update={
            "items": route.items,
            "returned": len(route.items),
            "finding_count": len(route.items) if whole.status == "complete" else None,
        }
    )
    rest = with_ids(rest, ids[route.start :] if len(ids) == whole.returned else [])
    return read_reply(rest, spec, session=session, max_bytes=max_bytes, start=route.start)


def count_read(session: Session | None, handle: object, where: object = None) -> Reply:
    """Counts the records of a read that have given values in top-level fields; null matches a null that is there.

    A read that is not complete gives no count, only how many were found so far.
    """
    if not isinstance(handle, str):
        return invalid_request(COUNT_READ, [("handle", "must be a text")])
    wanted = {} if where is None else where
    if not isinstance(wanted, Mapping) or not all(isinstance(name, str) for name in wanted):
        return invalid_request(COUNT_READ, [("where", "must be an object of field names and values")])
    if len(wanted) > _MAX_WHERE:
        return invalid_request(COUNT_READ, [("where", f"must name at most {_MAX_WHERE} fields")])
    read = session.read_of(handle) if session is not None else None
    if session is None or read is None:
        return _unresolved(COUNT_READ)
    spec = spec_of(session, read, handle)
    hidden = [name for name in wanted if spec.fields is not None and name not in spec.fields]
    if hidden:
        return invalid_request(COUNT_READ, [(f"where.{name}", "is not a field that can be seen") for name in hidden])
    strand = session.evidence.strand(read.id)
    pairs = strand.pairs() if strand is not None else None
    if strand is None or pairs is None:
        return _unresolved(COUNT_READ)
    return _counted(session, strand, [record for _, record in pairs], wanted)


def _counted(session: Session, strand: Strand, records: list[Any], wanted: Mapping[str, Any]) -> Reply:
    missing = sorted({n for n in wanted for r in records if not isinstance(r, Mapping) or n not in r})
    found = sum(1 for r in records if isinstance(r, Mapping) and all(_has(r, n, v) for n, v in wanted.items()))
    if not wanted:
        found = len(records)
    whole = strand.complete and not missing
    document: dict[str, Any] = {"status": strand.status if not missing else "partial", "complete": whole}
    if whole:
        document["count"] = found
        for link in strand.links:
            session.counted(link.id)
    else:
        if found:
            document["found_so_far"] = found
        document["note"] = _NO_COUNT if found else _NONE_YET
        document["reasons"] = [
            {"code": c, "message": reason_message(c)} for c in strand.codes if c != "PRESENTATION_LIMIT"
        ]
        if missing:
            document["fields_not_in_every_record"] = len(missing)
    if whole or records:
        document["checked"] = len(records)
    names = sorted(printable_name(n) for n in strand.head.filters)[:_MAX_WHERE]
    document["scope"] = {"resource": resource_label(strand.resource), "filters": names}
    header = {"read": strand.head.id, "status": strand.status, "complete": whole, "codes": list(strand.codes[:12])}
    return Reply(content=dumps(document), artifact={"unabridged": header})


def _has(record: Mapping[str, Any], name: str, value: Any) -> bool:
    return name in record and json_equal(record[name], value)


def _unresolved(tool: str) -> Reply:
    document = {"error": "unresolved_handle", "tool": tool, "message": str(UnresolvedHandle())}
    return Reply(content=dumps(document), artifact={"unabridged": {"error": "unresolved_handle"}}, is_error=True)
