"""The header of a read, as the ledger keeps it: everything that decides, no record and no value in clear."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from unabridged.contract import (
    NONE,
    Consistency,
    Continuation,
    Intent,
    Layer,
    Proof,
    ReadResult,
    Scope,
    Status,
    Total,
    Visibility,
    id_key,
    new_read_id,
)
from unabridged.contract.ids import TEXT, id_key_set

from .scope import FilterKey, Mask, Withheld, filter_key

Origin = Literal["read", "pending", "expired", "history"]
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
SOFT_CODES: Final = frozenset({"APPROXIMATE_METHOD", "SAMPLE_REQUESTED"})
_NO_IDS: Final[frozenset[Hashable]] = frozenset()
_NO_PROOF: Final = Proof()
_NO_TOTAL: Final = Total()


class Held:
    """What a read returned, by reference, for as long as the result store keeps it.

    A dropped one holds no ids and no records: claims about them are then unsupported and targets not in evidence.

    Args of the constructor:
        result: the result.
        load: fetches it from the store when it is first looked at, for a read that another process recorded.
    """

    __slots__ = ("_keys", "_load", "_result")

    def __init__(self, result: ReadResult | None, load: Callable[[], ReadResult | None] | None = None) -> None:
        self._result = result
        self._load = load
        self._keys: frozenset[Hashable] | None = None

    @property
    def result(self) -> ReadResult | None:
        """The result, or nothing once it was dropped."""
        if self._load is not None:
            self._result = self._load()
            self._load = None
        return self._result

    @property
    def keys(self) -> frozenset[Hashable]:
        """The ids, comparable as JSON values; made on first use."""
        if self._keys is None:
            result = self.result
            self._keys = _NO_IDS if result is None else id_key_set(result.ids)
        return self._keys

    def drop(self) -> None:
        """Forgets records and ids."""
        self._result, self._load, self._keys = None, None, _NO_IDS

    def __repr__(self) -> str:
        return "<dropped>" if self._result is None and self._load is None else "<held>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Held, (None,))


@dataclass(frozen=True, slots=True)
class WhyPart:
    """One reason of a read, as far as judging needs it."""

    code: str
    detail: str | None = None
    layer: Layer = "source"
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A field of one item that is not whole; the item by its key."""

    item: Hashable = field(repr=False)
    field: str
    why: str


@dataclass(frozen=True, slots=True)
class RecordedRead:
    """The header of one read, with its status before presentation.

    Its repr and its pickle hold the names of filters, never their values, and no ids.
    """

    id: str
    resource: str
    status: Status
    """As read; what is shown of it may be less (`shown`)."""
    filters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    intent: Intent = "inventory"
    reasons: tuple[WhyPart, ...] = ()
    visibility: Visibility = "caller"
    snapshot: Any = field(default=None, repr=False)
    selection: str | None = None
    window: str | None = None
    excludes: tuple[str, ...] = ()
    consistency: Consistency = "not_established"
    proof: Proof = _NO_PROOF
    total: Total = _NO_TOTAL
    returned: int = 0
    """How many records came back; no count of the collection."""
    started_at: datetime = LONG_AGO
    finished_at: datetime = LONG_AGO
    sources: tuple[tuple[str, Status], ...] = ()
    cuts: tuple[Cut, ...] = field(default=(), repr=False)
    continuation: Continuation = field(default=NONE, repr=False)
    """How the read goes on; its handle resolves in the session only."""
    continues: str | None = None
    derived_from: tuple[str, ...] = ()
    key: str | None = None
    """The filter that holds the key of a lookup, where it was declared."""
    query_id: str = ""
    origin: Origin = "read"
    deadline: datetime | None = None
    """When a pending read expires into unavailable."""
    shown: int | None = None
    """How many records were shown; `None`: all of them."""
    counted: bool = False
    """Whether code counted over the whole of it, so that what was shown does not matter for a write."""
    call_id: str | None = None
    held: Held = field(default_factory=lambda: Held(None), repr=False, compare=False)
    filter_key: FilterKey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "filter_key", filter_key(self.filters))

    @property
    def codes(self) -> tuple[str, ...]:
        """The reason codes of the read and of its presentation, each once."""
        codes = dict.fromkeys(r.code for r in self.reasons)
        if self.shown is not None:
            codes["PRESENTATION_LIMIT"] = None
        return tuple(codes)

    @property
    def complete(self) -> bool:
        """Whether the read, before presentation, was complete."""
        return self.status == "complete"

    @property
    def scope(self) -> Scope:
        """What was asked, under the declared name."""
        return Scope(
            resource=self.resource,
            filters=dict(self.filters),
            intent=self.intent,
            visibility=self.visibility,
            snapshot=self.snapshot,
            window=self.window,
            excludes=self.excludes,
            selection=self.selection,
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the filters."""
        return tuple(sorted(self.filters))

    @property
    def is_pending(self) -> bool:
        """Whether the read was asked for and has not finished; its deadline may have passed."""
        return self.origin == "pending"

    @property
    def ids(self) -> frozenset[Hashable]:
        """The ids it returned, comparable as JSON values."""
        return self.held.keys

    @property
    def items(self) -> list[Any] | None:
        """The records it returned, while the result store keeps them."""
        result = self.held.result
        return None if result is None else result.items

    @property
    def label(self) -> str:
        """The resource and the names of its filters, never their values."""
        return self.resource if not self.filters else f"{self.resource} ({', '.join(self.fields)})"

    def masked(self, mask: Mask | None) -> RecordedRead:
        """Returns the header as it may be written down: digests stand in the place of values."""
        if mask is None:
            return self
        parts = self.intent == "lookup"
        return replace(
            self,
            filters={name: mask(value, parts=parts) for name, value in self.filters.items()},
            snapshot=None if self.snapshot is None else mask(self.snapshot),
            call_id=None if self.call_id is None else mask.key(self.call_id),
            cuts=tuple([c if _tells_no_item(c) else replace(c, item=mask.key(c.item)) for c in self.cuts]),
        )

    def __repr__(self) -> str:
        codes = f" ({', '.join(self.codes)})" if self.reasons or self.shown is not None else ""
        return f"<RecordedRead {self.id} {self.status} {self.label}{codes}>"

    def __getstate__(self) -> dict[str, Any]:
        withheld = {name: Withheld() for name in self.filters}
        state = {n: getattr(self, n) for n in self.__dataclass_fields__ if n not in ("held", "filter_key")}
        return {**state, "filters": withheld, "snapshot": None, "cuts": (), "continuation": NONE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "held", Held(None))
        object.__setattr__(self, "filter_key", filter_key(self.filters))


def _tells_no_item(cut: Cut) -> bool:
    """Whether a placeholder stands for the item: its id could not be written, or it has none."""
    return cut.item == TEXT or (isinstance(cut.item, str) and cut.item.startswith("#"))


def header_of(
    result: ReadResult,
    *,
    resource: str | None = None,
    key: str | None = None,
    derived_from: Iterable[str] = (),
    call_id: str | None = None,
) -> RecordedRead:
    """Returns the header of a result.

    Args:
        result: the result; it is held by reference.
        resource: the declared name, where it differs from the result's own.
        key: the filter that holds the key of a lookup.
        derived_from: the ids of reads that the result was made from, beside those it names itself.
        call_id: the id of the tool call that it answers.
    """
    scope, read = result.scope, result.read
    return RecordedRead(
        id=read.id,
        resource=resource or scope.resource,
        status=result.status,
        filters=scope.filters,
        intent=scope.intent,
        reasons=tuple([WhyPart(r.code, r.detail, r.layer, r.source) for r in result.incomplete_reasons]),
        visibility=scope.visibility,
        snapshot=scope.snapshot,
        selection=scope.selection,
        window=scope.window,
        excludes=scope.excludes,
        consistency=result.consistency,
        proof=result.proof,
        total=result.total,
        returned=result.returned,
        started_at=read.started_at,
        finished_at=read.finished_at,
        sources=tuple([(s.name, s.status) for s in result.sources]),
        cuts=tuple([Cut(id_key(c.item), c.field, c.why) for c in result.item_cuts]),
        continuation=result.continuation,
        continues=read.continues,
        derived_from=tuple(dict.fromkeys((*read.derived_from, *derived_from))),
        key=key,
        query_id=read.query_id,
        call_id=call_id,
        held=Held(result),
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """A read that was asked for: by a sibling call of the same turn, or by a call that stands in the history."""

    resource: str
    filters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    intent: Intent = "inventory"
    key: str | None = None
    call_id: str | None = None

    def pending(self, *, started_at: datetime = LONG_AGO, deadline: datetime | None = None) -> RecordedRead:
        """Returns the header of a read in flight: no ids, no code but `EVIDENCE_PENDING`."""
        return RecordedRead(
            id=new_read_id(), resource=self.resource, status="unavailable", filters=self.filters, intent=self.intent,
            started_at=started_at, key=self.key, call_id=self.call_id, origin="pending", deadline=deadline,
        )  # fmt: skip

    def from_history(self) -> RecordedRead:
        """Returns the header of a result that the history holds and the ledger does not know.

        It can block, never allow or clear; it is older than everything, and reading again clears it.
        """
        return RecordedRead(
            id=new_read_id(), resource=self.resource, status="unavailable", filters=self.filters, intent=self.intent,
            reasons=(WhyPart("SOURCE_UNAVAILABLE", "history", "client"),), key=self.key, call_id=self.call_id,
            origin="history",
        )  # fmt: skip


AskedFor = Asked | tuple[str, Mapping[str, Any]] | tuple[str, Mapping[str, Any], Intent]
"""A read that was asked for, also as resource, filters and intent."""


def asked_of(given: AskedFor) -> Asked:
    """Returns what was asked for."""
    match given:
        case Asked():
            return given
        case (resource, filters):
            return Asked(resource, filters)
        case (resource, filters, intent):
            return Asked(resource, filters, intent)


def failed(read: RecordedRead, *, code: str, detail: str | None, now: datetime) -> RecordedRead:
    """Returns a pending read as an unavailable one."""
    start = read.started_at if read.started_at != LONG_AGO else now
    return replace(
        read, status="unavailable", origin="read", deadline=None, reasons=(WhyPart(code, detail, "client"),),
        started_at=start, finished_at=max(start, now),
    )  # fmt: skip


def expired(read: RecordedRead) -> RecordedRead:
    """Returns a pending read whose deadline has passed, as the unavailable read it became then."""
    return replace(
        read, status="unavailable", origin="expired", reasons=(WhyPart("SOURCE_UNAVAILABLE", "deadline", "client"),),
        finished_at=read.deadline or read.started_at,
    )  # fmt: skip


def utc_now() -> datetime:
    """Returns the present moment."""
    return datetime.now(UTC)


def deadline_at(now: datetime, deadline_s: float) -> datetime:
    """Returns the moment `deadline_s` seconds after `now`."""
    return now + timedelta(seconds=deadline_s)
