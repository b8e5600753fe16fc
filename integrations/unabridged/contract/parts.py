"""The parts of a result: scope, reasons, warnings, proof, sources, cuts, and the header of the read.

Every part is frozen. Texts are safe by type: a value that a source wrote cannot stand in them (`CONTRACT.md` 2).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictInt,
    model_validator,
)

from .codes import (
    Consistency,
    CutWhy,
    Intent,
    Layer,
    ProofLevel,
    Status,
    TotalKind,
    Visibility,
    reason_message,
    warning_message,
)
from .continuation import Phrase, SafeId, Token
from .errors import ContractViolation, printable_name
from .ids import safe_phrase, safe_value

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


def _safe_mapping(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {printable_name(k): safe_value(v) for k, v in value.items()}


def _utc(value: datetime) -> datetime:
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the moment lies outside the calendar") from None


def iso(moment: datetime) -> str:
    """Returns a moment as ISO 8601 in UTC with a `Z`, to the second when it has no fraction."""
    text = moment.astimezone(UTC).isoformat(timespec="auto")
    return text.removesuffix("+00:00") + "Z"


Moment = Annotated[datetime, AfterValidator(_utc)]
ReadId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:\-]{1,64}$")]
Count = Annotated[StrictInt, Field(ge=0)]
SafeValues = Annotated[
    dict[str, bool | int | float | str | None], BeforeValidator(_safe_mapping), PlainSerializer(lambda v: v)
]
Code = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")]


class Part(BaseModel):
    """A frozen piece of a result. Unknown keys are passed over: the form only grows."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Total(Part):
    """How many records the source says there are. `value` is null exactly when nothing usable was stated."""

    value: StrictInt | None = None
    kind: TotalKind = "unknown"

    @model_validator(mode="after")
    def _unknown_has_no_value(self) -> Total:
        if (self.kind == "unknown") != (self.value is None):
            raise ContractViolation(rule="total_unknown_exactly_without_value", field="total")
        return self


def _layer_of(code: object, detail: object) -> Layer:
    """Where a cut was made that does not say so itself: by us, where the code is one of ours."""
    if code == "PRESENTATION_LIMIT":
        return "presentation"
    ours = code == "CLIENT_LIMIT_REACHED" or (code == "TIME_BUDGET_EXCEEDED" and detail == "max_seconds")
    return "client" if ours else "source"


class Reason(Part):
    """Why a read is not complete. Programs branch on `code`; `layer` says where the cut was made.

    `message` is for people; when it is not given it is made from the catalogue.
    """

    code: Code
    detail: Token | None = None
    message: str = ""
    limit: StrictInt | None = None
    layer: Layer = "source"
    source: Phrase | None = None
    native: SafeValues | None = None

    @model_validator(mode="before")
    @classmethod
    def _message_from_the_catalogue(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        filled = data if "layer" in data else {"layer": _layer_of(data.get("code"), data.get("detail")), **data}
        if not filled.get("message"):
            message = reason_message(str(data.get("code")), data.get("detail"), data.get("limit"))
            return {**filled, "message": message}
        return filled

    @property
    def key(self) -> str:
        """`CODE` or `CODE:detail`."""
        return self.code if self.detail is None else f"{self.code}:{self.detail}"

    def to_wire(self) -> dict[str, Any]:
        """Returns the wire form, optional keys left out when unset."""
        wire: dict[str, Any] = {"code": self.code, "detail": self.detail, "message": self.message}
        if self.limit is not None:
            wire["limit"] = self.limit
        wire["layer"] = self.layer
        if self.source is not None:
            wire["source"] = self.source
        if self.native is not None:
            wire["native"] = dict(self.native)
        return wire


class Notice(Part):
    """A warning: it governs confidence, freshness or interpretation and never changes `complete`."""

    code: Code
    message: str = ""
    severity: Token = "notice"
    observed: SafeValues | None = None
    owner: Phrase | None = None
    expires: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _message_from_the_catalogue(cls, data: Any) -> Any:
        if isinstance(data, dict):
            expires = data.get("expires")
            if expires is not None and not (isinstance(expires, str) and _DATE.match(expires)):
                raise ContractViolation(rule="expires_is_a_date", field="warnings.expires")
            if not data.get("message"):
                return {**data, "message": warning_message(str(data.get("code")))}
        return data

    def to_wire(self) -> dict[str, Any]:
        """Returns the wire form, optional keys left out when unset."""
        wire: dict[str, Any] = {"code": self.code, "message": self.message, "severity": self.severity}
        for name in ("observed", "owner", "expires"):
            value = getattr(self, name)
            if value is not None:
                wire[name] = value
        return wire


class Scope(Part):
    """What was asked: the resource, the filters that were sent, and the limits of what may be seen."""

    resource: str = Field(min_length=1, max_length=200)
    filters: dict[str, Any] = Field(default_factory=dict)
    intent: Intent = "inventory"
    visibility: Visibility = "caller"
    snapshot: Annotated[bool | int | float | str | None, BeforeValidator(safe_value)] = None
    window: Phrase | None = None
    excludes: tuple[Phrase, ...] = ()
    selection: Phrase | None = None

    def to_wire(self) -> dict[str, Any]:
        """Returns the wire form."""
        return {
            "resource": self.resource,
            "filters": dict(self.filters),
            "intent": self.intent,
            "visibility": self.visibility,
            "snapshot": self.snapshot,
            "window": self.window,
            "excludes": list(self.excludes),
            "selection": self.selection,
        }


class Proof(Part):
    """What the end of the read rests on. `basis` is the evidence behind the profile, `end` the rule that fired."""

    level: ProofLevel = "none"
    end: Token | None = None
    count: StrictInt | None = None
    basis: Token | None = None

    def to_wire(self) -> dict[str, Any]:
        """Returns the wire form."""
        return {"level": self.level, "end": self.end, "count": self.count, "basis": self.basis}


class SourceOutcome(Part):
    """What one source gave. `reasons` are codes."""

    name: Phrase
    status: Status
    returned: Count = 0
    reasons: tuple[Code, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """Returns the wire form."""
        return {"name": self.name, "status": self.status, "returned": self.returned, "reasons": list(self.reasons)}


class ItemCut(Part):
    """A field of one item that is not whole. `shown` and `total` are counted in `unit`."""

    item: SafeId
    field: Token
    why: CutWhy
    shown: StrictInt | None = None
    total: StrictInt | None = None
    unit: Token | None = None

    def to_wire(self) -> dict[str, Any]:
        """Returns the wire form, optional keys left out when unset."""
        wire: dict[str, Any] = {"item": self.item, "field": self.field, "why": self.why}
        for name in ("shown", "total", "unit"):
            value = getattr(self, name)
            if value is not None:
                wire[name] = value
        return wire


class BudgetSpent(Part):
    """The budget of a read and what was spent of its time, in seconds; `None` is no limit."""

    max_pages: int | None = None
    max_items: int | None = None
    max_requests: int | None = None
    max_bytes: int | None = None
    max_seconds: int | float | None = None
    spent_seconds: int | float = 0.0

    def to_wire(self) -> dict[str, Any]:
        """Returns the wire form; limits that were not set are left out."""
        return {name: value for name, value in self if value is not None}


class ReadHeader(Part):
    """The header of one read. Times are UTC; `requests` counts attempts, `pages` the pages that were kept."""

    id: ReadId
    query_id: str = Field(default="", pattern=r"^[A-Za-z0-9_.:\-]{0,64}$")
    adapter: Phrase = "unknown"
    started_at: Moment
    finished_at: Moment
    requests: Count = 0
    pages: Count = 0
    duplicates: Count = 0
    page_size: StrictInt | None = None
    order: Phrase | None = None
    budget: BudgetSpent = BudgetSpent()
    continues: ReadId | None = None
    derived_from: tuple[ReadId, ...] = ()
    parts: tuple[ReadId, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """Returns the wire form; `continues`, `derived_from` and `parts` are left out when unset."""
        wire: dict[str, Any] = {
            "id": self.id,
            "query_id": self.query_id,
            "adapter": self.adapter,
            "started_at": iso(self.started_at),
            "finished_at": iso(self.finished_at),
            "requests": self.requests,
            "pages": self.pages,
            "duplicates": self.duplicates,
            "page_size": self.page_size,
            "order": self.order,
            "budget": self.budget.to_wire(),
        }
        if self.continues is not None:
            wire["continues"] = self.continues
        if self.derived_from:
            wire["derived_from"] = list(self.derived_from)
        if self.parts:
            wire["parts"] = list(self.parts)
        return wire


class Excerpt(Part):
    """An item that is a part of a document: from `start` to `end` (exclusive) of `total`, counted in `unit`.

    `total` is null when the source does not say how long the document is.
    """

    reference: str
    version: str | None = None
    unit: Literal["lines", "bytes", "chars", "pages"]
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    total: int | None = Field(default=None, ge=0)
    text: str

    @model_validator(mode="after")
    def _range_is_ordered(self) -> Excerpt:
        if self.end < self.start or (self.total is not None and self.end > self.total):
            raise ContractViolation(rule="excerpt_range_is_ordered", field="items")
        return self

    @property
    def is_whole(self) -> bool:
        """Whether the excerpt is known to be the whole document."""
        return self.start == 0 and self.total is not None and self.end == self.total

    def to_item(self) -> dict[str, Any]:
        """Returns the excerpt as an item."""
        return self.model_dump()


__all__ = [
    "BudgetSpent",
    "Consistency",
    "Excerpt",
    "ItemCut",
    "Notice",
    "Part",
    "Proof",
    "ReadHeader",
    "Reason",
    "Scope",
    "SourceOutcome",
    "Total",
    "iso",
    "safe_phrase",
]
