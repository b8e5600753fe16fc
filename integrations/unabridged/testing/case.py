"""The format of a replay case (`PROFILES.md` 2): one scripted session with its expected outcome.

A case checks itself when it is loaded. Unknown keys, wrong types and contradictions are refused with the field and
the rule, never with the value: cases are recorded from production pages.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from unabridged.contract import KINDS, REASON_CODES, WARNING_CODES, CaseError, GuardCode, InvalidInput
from unabridged.contract.codes import Consistency, Decision, Intent, ProofLevel, Status, TotalKind, Visibility
from unabridged.evidence import WriteIntent
from unabridged.profiles import Profile, load_profile, parse_strict
from unabridged.reading import Budget, Query

from .exchanges import Exchange, Piece, Seconds, broken, parse

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
Text = Annotated[StrictStr, Field(min_length=1)]
Limit = Annotated[StrictInt, Field(ge=1)]
Index = Annotated[StrictInt, Field(ge=0)]
ClaimKind = Literal["found", "absence", "all", "count"]


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
    max_seconds: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] | None = None
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


class Case(Piece):
    """A scripted session with its expected outcome."""

    case: Text
    origin: StrictStr | None = None
    reads: list[ReadStep]
    writes: list[WriteStep] = Field(default_factory=list)
    answer: AnswerStep | None = None

    @model_validator(mode="after")
    def _earlier_reads_exist(self) -> Self:
        for n, step in enumerate(self.reads):
            if step.continues is not None:
                self._check_link(n, step.continues, step)
            for place, index in enumerate(step.derived_from):
                if index >= n:
                    raise broken(f"reads[{n}].derived_from[{place}]", "must be the position of an earlier read")
        return self

    def _check_link(self, position: int, index: int, step: ReadStep) -> None:
        if index >= position:
            raise broken(f"reads[{position}].continues", "must be the position of an earlier read")
        if self.reads[index].pending:
            raise broken(f"reads[{position}].continues", "must not be a pending read")
        if self.reads[index].query.resource != step.query.resource:
            raise broken(f"reads[{position}].query.resource", "must be that of the read that it continues")

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """The profile of each read.

        Raises:
            CaseError: a profile is not valid.
            NotYetSupported: a profile uses a feature of a later version.
        """
        return tuple(_profile(n, step) for n, step in enumerate(self.reads))

    @cached_property
    def intents(self) -> tuple[WriteIntent, ...]:
        """What each write demands."""
        return tuple(_intent(n, step) for n, step in enumerate(self.writes))

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """What each read asks."""
        return tuple(_query(n, step.query) for n, step in enumerate(self.reads))

    @cached_property
    def budgets(self) -> tuple[Budget, ...]:
        """What each read may spend."""
        return tuple(_budget(step) for step in self.reads)


def load_case(source: str | os.PathLike[str] | Mapping[str, Any] | Case) -> Case:
    """Returns a checked case.

    Args:
        source: the path of a JSON file, a dict of the same structure, or a case.

    Raises:
        CaseError: the file cannot be read or is no valid case; names the field and the rule, never a value.
        NotYetSupported: a profile of the case uses a feature of a later version.
    """
    case = source if isinstance(source, Case) else parse_case(case_document(source))
    check_case(case)
    return case


def case_document(source: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the JSON object of a case: of a file, or a dict as it is.

    Raises:
        CaseError: the file cannot be read or holds no single object; a key in it stands twice.
    """
    if isinstance(source, Mapping):
        return source
    document = parse_strict(_text(Path(source)), field="case", error=CaseError)
    if not isinstance(document, Mapping):
        raise CaseError(field="case", rule="must be one JSON object a file")
    return document


def parse_case(document: Mapping[str, Any]) -> Case:
    """Returns the case of a document whose form is valid; `check_case` looks at the rest.

    Raises:
        CaseError: naming the field and the rule, never a value.
    """
    return parse(Case, document, field="")


def check_case(case: Case) -> None:
    """Checks what stands inside the form: queries, budgets, writes, profiles and their scripts.

    Raises:
        CaseError: naming the field and the rule, never a value.
        NotYetSupported: a profile of the case uses a feature of a later version.
    """
    _ = case.queries, case.budgets, case.intents
    for n, (step, profile) in enumerate(zip(case.reads, case.profiles, strict=True)):
        _check_script(n, step, profile)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) <= MAX_FILE_BYTES:
            return data.decode("utf-8-sig")
        rule = f"must be at most {MAX_FILE_BYTES} bytes long"
    except UnicodeDecodeError:
        rule = "must be UTF-8"
    except (OSError, ValueError):
        rule = "must be a file that can be read"
    raise CaseError(field="file", rule=rule)  # outside the handlers: a decoding error holds the bytes


def _check_script(position: int, step: ReadStep, profile: Profile) -> None:
    over: tuple[str, ...] | None = getattr(profile.walk, "over", None)
    if over is None and step.sources is not None:
        raise CaseError(field=f"reads[{position}].sources", rule="is for a fan-out; this read has exchanges")
    if over is not None:
        if step.sources is None:
            raise CaseError(field=f"reads[{position}].sources", rule="is required for a fan-out")
        if not set(step.sources) <= set(over):
            raise CaseError(field=f"reads[{position}].sources", rule="must name sources that the fan-out is over")


def _profile(position: int, step: ReadStep) -> Profile:
    try:
        return load_profile(step.profile)
    except InvalidInput as error:
        refused = _within(error, f"reads[{position}].profile", "profile")
    raise refused


def _intent(position: int, step: WriteStep) -> WriteIntent:
    policy = step.policy
    try:
        return WriteIntent(
            step.tool,
            relies_on=step.relies_on,
            targets=step.targets,
            require=policy.require,
            max_age_s=policy.max_age_s,
            allow_returned_targets=policy.allow_returned_targets,
            destructive=policy.destructive,
        )
    except InvalidInput as error:
        refused = _within(error, f"writes[{position}]", "")
    raise refused


def _query(position: int, spec: QuerySpec) -> Query:
    try:
        return Query(
            spec.resource,
            filters=spec.filters,
            intent=spec.intent,
            fields=tuple(spec.fields_) if spec.fields_ is not None else None,
            page_size=spec.page_size if spec.page_size is not None else spec.limit,
        )
    except InvalidInput as error:
        refused = _within(error, f"reads[{position}].query", "query")
    raise refused


def _budget(step: ReadStep) -> Budget:
    stated = step.budget.model_dump(exclude_none=True) if step.budget is not None else {}
    if step.query.limit is not None:
        stated["max_items"] = min(step.query.limit, stated.get("max_items", step.query.limit))
    return Budget.unlimited(**stated)


def _within(error: InvalidInput, place: str, own: str) -> CaseError:
    """Returns the error with its field named from the root of the case."""
    field = str(error.field)
    inner = field.removeprefix(own).lstrip(".") if own else field
    return CaseError(field=f"{place}.{inner}" if inner else place, rule=error.rule)
