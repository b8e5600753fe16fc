"""The profile format (`PROFILES.md` 1): what one service's responses mean, as data.

A profile checks itself when it is built. Unknown keys, wrong types and contradictions are refused with the key and the
rule, never with the value that was refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import Field, StrictBool, StrictInt, StrictStr, ValidationError, model_validator

from unabridged.contract.codes import CutWhy, ReasonCode, TotalKind, Visibility, WarningCode
from unabridged.contract.errors import value_free

from .conditions import PagePath, Piece, RecordPath, Scalar, Send, When, broken
from .errors import profile_error
from .paths import PathFailed, compile_path
from .walks import JobWalk

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
CountKind = Literal["exact", "lower_bound", "estimate", "capped", "page", "before_permissions"]
Status = Annotated[StrictInt, Field(ge=100, le=599)]


class FilterSend(Send):
    """How one filter is sent, and what is sent for null."""

    null: Scalar = None

    @property
    def sends_null(self) -> bool:
        """Whether a null filter is sent at all."""
        return "null" in self.model_fields_set

    @model_validator(mode="after")
    def _null_has_a_form(self) -> Self:
        if self.sends_null and self.null is None and self.body is None:
            raise broken("null", "null must be a text, a number or a boolean outside a body")
        return self


class Size(Piece):
    """How a page size is sent, its maximum, and where the server says what it used."""

    send: Send | None = None
    max: StrictInt | None = Field(default=None, ge=1)
    read: PagePath | None = None


class Count(Piece):
    """A declared total of records, and what kind of number it is."""

    path: PagePath
    kind: CountKind | None = None
    kind_from: dict[StrictStr, StrictStr] | None = None
    """`path`, and for each value that may stand there the kind it means."""
    cap: StrictInt | None = Field(default=None, ge=0)
    """Where counts saturate: at or above it the kind is `capped`."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.kind is None) == (self.kind_from is None):
            raise broken("count", "must have exactly one of kind, kind_from")
        if self.kind_from is not None:
            if "path" not in self.kind_from or len(self.kind_from) < 2:
                raise broken("count", "kind_from must have a path and at least one value")
            if any(k != "path" and v not in get_args(CountKind) for k, v in self.kind_from.items()):
                raise broken("count", f"kind_from must map values to {', '.join(get_args(CountKind))}")
            Count(path=self.kind_from["path"], kind="exact")
        return self


class Signal(Piece):
    """What in a page means incomplete (`code`), or deserves a warning."""

    path: PagePath
    when: When
    code: ReasonCode | None = None
    detail: StrictStr | None = Field(default=None, pattern=r"^[a-z0-9_]{1,64}$")
    warning: WarningCode | None = None
    owner: StrictStr | None = Field(default=None, min_length=1, max_length=120)
    expires: StrictStr | None = None
    names_sources: StrictBool = False

    @model_validator(mode="after")
    def _code_or_warning(self) -> Self:
        if (self.code is None) == (self.warning is None):
            raise broken("signal", "must have exactly one of code, warning")
        if self.warning is None and (self.owner is not None or self.expires is not None):
            raise broken("signal", "owner and expires belong to a warning")
        if self.code is None and (self.detail is not None or self.names_sources):
            raise broken("signal", "detail and names_sources belong to a code")
        if self.names_sources and self.when.absent:
            raise broken("signal", "names_sources needs a value to name them")
        if self.expires is not None and not _DATE.match(self.expires):
            raise broken("signal", "expires must be a date such as 2027-03-01")
        return self


class Cap(Piece):
    """A silent cap of the source."""

    limit: StrictInt = Field(ge=1)
    on: Literal["items", "window", "page"]


class Snapshot(Piece):
    """A value that every page must repeat."""

    path: PagePath


class ErrorRule(Piece):
    """An error inside a successful response."""

    path: PagePath
    when: When
    code: ReasonCode
    detail: StrictStr | None = Field(default=None, pattern=r"^[a-z0-9_]{1,64}$")


class Expired(Piece):
    """How a dead continuation looks. Where `status` and `path` are both given, both must hold."""

    status: Status | None = None
    path: PagePath | None = None
    when: When | None = None
    then: Literal["stop", "restart_once"] = "stop"

    @model_validator(mode="after")
    def _has_a_mark(self) -> Self:
        if (self.path is None) != (self.when is None):
            raise broken("expired", "path and when belong together")
        if self.status is None and self.path is None:
            raise broken("expired", "must have a status, or path and when")
        return self


class Condition(Piece):
    """A path and what must hold there."""

    path: PagePath
    when: When


class RateLimit(Piece):
    """Statuses that mean a quota, and where the wait stands."""

    status: tuple[Status, ...] = (429,)
    wait_from: tuple[StrictStr, ...] = ("header:retry-after",)
    when: Condition | None = None
    """Must hold for every status but 429, where a status is also used for something else."""

    @model_validator(mode="after")
    def _waits_are_places(self) -> Self:
        for place in self.wait_from:
            kind, _, rest = place.partition(":")
            if kind not in ("header", "header_epoch", "body") or not rest:
                raise broken("wait_from", "must hold header:NAME, header_epoch:NAME or body:PATH")
            Snapshot(path=rest if kind == "body" else f"header:{rest}")
        return self


class ItemCutRule(Piece):
    """A mark inside a record: one of its fields is not whole."""

    path: RecordPath
    when: When | None = None
    list_len: StrictInt | None = Field(default=None, ge=1)
    field: StrictStr | None = Field(default=None, min_length=1)
    why: CutWhy

    @model_validator(mode="after")
    def _one_mark(self) -> Self:
        if (self.when is None) == (self.list_len is None):
            raise broken("item_cut", "must have exactly one of when, list_len")
        return self


class Order(Piece):
    """Whether the order of the records is total."""

    by: StrictStr = Field(min_length=1)
    unique: StrictBool = False


class CursorFacts(Piece):
    """What the service says of its cursors."""

    ttl_s: StrictInt | None = Field(default=None, ge=0)
    freezes: StrictBool = False
    resumable: StrictBool = False


class Asked(Piece):
    """What a request holds: `path` looks into `{"path": "/...", "query": {...}, "body": {...}}`.

    A parameter that stands there twice with two values is left out, as services differ in which one they take.
    """

    path: RecordPath
    when: When

    def holds(self, request: Mapping[str, Any]) -> bool:
        """Tells whether a request meets the condition; one that the path cannot be read from does not."""
        try:
            return self.when.holds(compile_path(self.path, page=False).read(request))
        except PathFailed:
            return False


class ScopeLimit(Piece):
    """A limit of the source that no response mentions: a reason, or a warning about a default."""

    window: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.:\-]{0,79}$")] | None = None
    excludes: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.:\-]{0,79}$")] | None = None
    code: Literal["SCOPE_NARROWED"] | None = None
    warning: Literal["DEFAULT_SCOPE_APPLIED"] | None = None
    unless: Asked | None = None
    """What a request must ask for to lift the limit."""

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.window is None) == (self.excludes is None):
            raise broken("scope", "must have exactly one of window, excludes")
        if self.code is not None and self.warning is not None:
            raise broken("scope", "must have at most one of code, warning")
        return self

    @property
    def narrows(self) -> bool:
        """Whether the limit makes a read incomplete."""
        return self.warning is None


class Evidence(Piece):
    """What the profile rests on, with the address and the date it was read."""

    kind: Literal["server", "recording", "document"]
    url: StrictStr | None = None
    read: StrictStr | None = None


class Profile(Piece):
    """What one service's responses mean. Build it with `load_profile`, or with keywords of the same names."""

    name: StrictStr = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$")
    version: StrictInt = Field(ge=1)
    items: PagePath | None = None
    id: RecordPath | None = None
    walk: Annotated[Walk, Field(discriminator="by")]
    empty_status: tuple[Annotated[StrictInt, Field(ge=200, le=299)], ...] = ()
    filters: dict[Annotated[StrictStr, Field(min_length=1)], FilterSend] = Field(default_factory=dict)
    size: Size | None = None
    count: Count | None = None
    signals: tuple[Signal, ...] = ()
    caps: tuple[Cap, ...] = ()
    snapshot: Snapshot | None = None
    visibility: Visibility = "caller"
    errors: tuple[ErrorRule, ...] = ()
    expired: tuple[Expired, ...] = ()
    rate_limit: RateLimit = RateLimit()
    item_cuts: tuple[ItemCutRule, ...] = ()
    order: Order | None = None
    duplicates: Literal["anomaly", "expected"] = "anomaly"
    drop_ids: tuple[Scalar, ...] = ()
    required: tuple[RecordPath, ...] = ()
    reference: RecordPath | None = None
    scope: tuple[ScopeLimit, ...] = ()
    cursor: CursorFacts | None = None
    evidence: Literal["server", "recording", "document"] | Evidence = "document"
    on_failure: Literal["partial", "unavailable"] = "partial"

    @value_free
    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise profile_error(error) from None

    @model_validator(mode="after")
    def _has_no_contradictions(self) -> Self:
        from .rules import contradiction

        found = contradiction(self)
        if found is not None:
            raise broken("profile", found)
        return self

    @property
    def paging(self) -> Walk:
        """The walk that pages: a job's is that of its results."""
        return self.walk.inner if isinstance(self.walk, JobWalk) else self.walk

    @property
    def inner(self) -> Profile:
        """The profile by which a combinator reads each source or part, within the limits of both; else this one."""
        if not isinstance(self.walk, FanoutWalk | PartitionWalk):
            return self
        inner = self.walk.inner
        return inner.model_copy(update={"scope": (*self.scope, *inner.scope)}) if self.scope else inner

    @property
    def basis(self) -> str:
        """What the profile rests on, as `proof.basis` shows it."""
        return self.evidence if isinstance(self.evidence, str) else self.evidence.kind


class CountProfile(Profile):
    """A profile that answers how many records there are, and needs no records."""


from .combinators import FanoutWalk, PartitionWalk, Walk  # noqa: E402  (the formats name each other)

Profile.model_rebuild()
CountProfile.model_rebuild()
__all__ = ["CountKind", "Profile", "TotalKind"]
