"""The steps of a replay case (`PROFILES.md` 2): its reads, its writes and its answer, with what they must come to."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from unabridged.answers import ClaimKind
from unabridged.contract import KINDS, REASON_CODES, WARNING_CODES, GuardCode
from unabridged.contract.codes import Consistency, Decision, Intent, ProofLevel, Status, TotalKind, Visibility
from unabridged.reading.query import MOST_SECONDS

from .exchanges import Exchange, Piece, Seconds, broken

Text = Annotated[StrictStr, Field(min_length=1)]
Limit = Annotated[StrictInt, Field(ge=1)]
Index = Annotated[StrictInt, Field(ge=0)]


class QuerySpec(Piece):
    """What is asked."""

    resource: Text
    filters: dict[StrictStr, Any] = Field(default_factory=dict)
    intent: Intent = "inventory"
    fields_: list[Text] | None = Field(default=None, alias="fields", min_length=1)
    page_size: Limit | None = None
    limit: Limit | None = None
    """The old name of `page_size`; acts as `max_items` too."""

    @model_validator(mode="after")
    def _one_page_size(self) -> Self:
        if self.limit is not None and self.page_size is not None and self.limit != self.page_size:
            raise broken("limit", "contradicts page_size; it is its old name")
        return self


class BudgetSpec(Piece):
    """What may be spent; what is not stated has no limit, and nothing is retried unless it says so."""

    max_pages: Limit | None = None
    max_items: Limit | None = None
    max_requests: Limit | None = None
    max_bytes: Limit | None = None
    max_seconds: Annotated[float, Field(strict=True, gt=0, le=MOST_SECONDS, allow_inf_nan=False)] | None = None
    max_retries: Index | None = None


class Present(Piece):
    """A presentation limit."""

    max_items: Index


class ReadExpect(Piece):
    """What a read must come to. Only the keys that are stated are looked at."""

    status: Status | None = None
    complete: StrictBool | None = None
    truncated: StrictBool | None = None
    reasons: list[Text] | None = None
    includes_reasons: list[Text] | None = None
    ids: list[Any] | None = None
    items: list[dict[str, Any]] | None = None
    returned: Index | None = None
    finding_count: Index | None = None
    total: StrictInt | None = None
    total_kind: TotalKind | None = None
    consistency: Consistency | None = None
    visibility: Visibility | None = None
    proof: ProofLevel | None = None
    continuation: Text | None = None
    warnings: list[Text] | None = None
    duplicates: Index | None = None
    requests: Index | None = None
    decision: Decision | None = None
    sources: dict[StrictStr, Status] | None = None
    cuts: list[Text] | None = None
    never_contains: list[Text] | None = None

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        for key in ("reasons", "includes_reasons"):
            for n, code in enumerate(getattr(self, key) or ()):
                if code.partition(":")[0] not in REASON_CODES:
                    raise broken(f"{key}[{n}]", "must be a reason code, CODE or CODE:detail")
        for n, code in enumerate(self.warnings or ()):
            if code not in WARNING_CODES:
                raise broken(f"warnings[{n}]", "must be a warning code")
        if self.continuation is not None and self.continuation not in KINDS:
            raise broken("continuation", f"must be one of {', '.join(KINDS)}")
        nullable = {"ids", "finding_count", "total"}
        for key in self.model_fields_set - nullable:
            if getattr(self, key) is None:
                raise broken(key, "must not be null; leave it out")
        return self


class ReadStep(Piece):
    """One read of the session."""

    profile: Text | dict[str, Any]
    query: QuerySpec
    budget: BudgetSpec | None = None
    exchanges: list[Exchange] | None = None
    sources: dict[StrictStr, list[Exchange]] | None = None
    repeat_last: StrictBool = False
    url: Text | None = None
    continues: Index | None = None
    derived_from: list[Index] = Field(default_factory=list)
    pending: StrictBool = False
    present: Present | None = None
    expect: ReadExpect | None = None

    @model_validator(mode="after")
    def _one_script(self) -> Self:
        if self.exchanges is not None and self.sources is not None:
            raise broken("sources", "contradicts exchanges; a fan-out has sources, every other read has exchanges")
        if self.exchanges is None and self.sources is None:
            raise broken("exchanges", "is required, unless there are sources")
        return self


class Policy(Piece):
    """What a write demands beyond the default."""

    require: Text | list[Text] = "complete"
    allow_returned_targets: StrictBool = False
    max_age_s: Annotated[StrictInt | StrictFloat, Field(ge=0)] | None = None
    destructive: StrictBool = False
    on_fail: Literal["refuse", "review"] = "refuse"


class WriteExpect(Piece):
    """What a write must come to; `codes` is the exact set."""

    verdict: Literal["allow", "refuse", "review"] | None = None
    codes: list[GuardCode] | None = None


class WriteStep(Piece):
    """One write that is judged after the reads."""

    tool: Text
    relies_on: list[Any] | None = None
    targets: list[Any] | None = None
    policy: Policy = Policy()
    after_s: Seconds = 0
    """How far the clock moves before the write is judged, in seconds."""
    expect: WriteExpect | None = None


class ClaimSpec(Piece):
    """One claim of the answer."""

    kind: ClaimKind
    resource: Text
    filters: dict[StrictStr, Any] = Field(default_factory=dict)
    ids: list[Any] | None = None
    value: StrictInt | StrictFloat | None = None


class AnswerExpect(Piece):
    """What the answer must come to; `caveats` is the exact set of the reason codes named."""

    outcome: Literal["accept", "accept_with_caveat", "reject"] | None = None
    caveats: list[Text] | None = None
    language: Text | None = None


class AnswerStep(Piece):
    """The final answer, judged at the end."""

    text: StrictStr
    claims: list[ClaimSpec] = Field(default_factory=list)
    language: Text | None = None
    expect: AnswerExpect | None = None
