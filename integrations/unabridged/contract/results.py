"""The four results of a read, as one closed union (`CONTRACT.md` 1 and 2).

A contradictory combination cannot be built: derived fields are computed, and checked where they are given.
A result has no length, is not iterable, and its truth says nothing; a caller says which question it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, assert_never

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SkipValidation,
    StrictBool,
    ValidationError,
    model_validator,
)

from unabridged._ambient import current

from .codes import TRUNCATING, Consistency, Decision, Status
from .continuation import NONE, READS_AGAIN, Continuation
from .errors import ContractViolation, InvalidInput, NotComplete, printable_name
from .ids import id_key_set
from .parts import Count, ItemCut, Notice, Proof, ReadHeader, Reason, Scope, SourceOutcome, Total
from .selection import Selection

CONTRACT: Literal["unabridged/1"] = "unabridged/1"
Items = Annotated[list[Any], SkipValidation()]
Route = Annotated[Continuation, Field(discriminator="kind")]
_OPEN_OBJECTS = frozenset({"filters", "native", "observed"})
_ASIDE = frozenset({"_resume", "_ids"})
_AnyResult = TypeVar("_AnyResult", bound="Result")
_SHORT_CUTS = frozenset({"no_access", "source_failed", "abridged"})
_DECLARED = Proof(level="end_marker", end="declared", basis="declared")
"""The proof of a complete result whose maker names none: the end is their own statement."""


class Result(BaseModel):
    """What the four results share. Not built itself: use one of the four, or `build_result`."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)
    # Set on a result by `_set_aside`, into its dict: private attributes would cost a quarter of building a result.
    _resume: ClassVar[Any] = None
    _ids: ClassVar[Any] = None

    contract: Literal["unabridged/1"] = CONTRACT
    status: Status
    complete: StrictBool
    truncated: StrictBool = False
    finding_count: Count | None
    returned: Count = 0
    checked: Count | None = None
    total: Total = Total()
    incomplete_reasons: tuple[Reason, ...] = ()
    continuation: Route = NONE
    scope: Scope
    consistency: Consistency
    proof: Proof = Proof()
    sources: tuple[SourceOutcome, ...] = ()
    item_cuts: tuple[ItemCut, ...] = ()
    warnings: tuple[Notice, ...] = ()
    read: ReadHeader
    items: Items | None

    __iter__: ClassVar[None] = None  # type: ignore[assignment]

    @model_validator(mode="wrap")
    @classmethod
    def _refuse_contradictions(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, cls):
            return data
        if isinstance(data, Result):
            raise ValueError("a result of another status")  # the next class of the union may fit
        if type(data) is not dict and not isinstance(data, Mapping):
            raise ContractViolation(rule="result_is_an_object")
        try:
            result = handler(_with_derived(data, status=cls.__name__.lower()))
        except ValidationError as error:
            broken = _violation(cls.__name__.lower(), error)
        else:
            result._check()
            return result
        raise broken  # outside the handler, so that the refused values do not travel along as its context

    def _check(self) -> None:
        count = 0 if self.items is None else len(self.items)
        codes = {r.code for r in self.incomplete_reasons}
        if self.returned != count:
            raise ContractViolation(rule="returned_counts_the_items", field="returned")
        if self.truncated == TRUNCATING.isdisjoint(codes):
            raise ContractViolation(rule="truncated_follows_from_the_reasons", field="truncated")
        lost = self.items is None or "CONSISTENCY_LOST" in codes
        if lost != (self.consistency == "not_established"):
            raise ContractViolation(rule="consistency_follows_from_the_reasons", field="consistency")
        if self.status == "complete":
            self._check_complete(count)
        else:
            self._check_incomplete(codes)
        if self.item_cuts and not codes and any(c.why in _SHORT_CUTS for c in self.item_cuts):
            raise ContractViolation(rule="a_cut_item_is_a_reason", field="item_cuts")

    def _check_complete(self, count: int) -> None:
        if self.incomplete_reasons:
            raise ContractViolation(rule="complete_has_no_reasons", field="incomplete_reasons")
        if self.finding_count != count:
            raise ContractViolation(rule="finding_count_counts_the_items", field="finding_count")
        if self.continuation.kind not in ("none", "read_range"):  # an excerpt is complete for its own range
            raise ContractViolation(rule="complete_has_nothing_to_continue", field="continuation")
        if self.scope.intent == "sample":
            raise ContractViolation(rule="a_sample_is_never_complete", field="scope.intent")
        if self.sources and any(s.status != "complete" for s in self.sources):
            raise ContractViolation(rule="complete_when_every_source_is", field="sources")
        if self.proof.level == "none":
            raise ContractViolation(rule="complete_has_a_proof", field="proof.level")

    def _check_incomplete(self, codes: set[str]) -> None:
        if not codes:
            raise ContractViolation(rule=f"{self.status}_has_a_reason", field="incomplete_reasons")
        if self.status == "partial" and codes == {"COVERAGE_UNKNOWN"}:
            raise ContractViolation(rule="partial_has_a_known_reason", field="incomplete_reasons")
        if self.status == "unknown" and codes != {"COVERAGE_UNKNOWN"}:
            raise ContractViolation(rule="unknown_has_only_coverage_unknown", field="incomplete_reasons")
        if self.proof.level != "none":
            raise ContractViolation(rule="proof_only_when_complete", field="proof.level")

    if not TYPE_CHECKING:

        @classmethod
        def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
            """Builds the result with its checks: there is no way around them."""
            return cls(**values)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copies the result; a copy with changes is checked like a new one."""
        if not update:
            return super().model_copy(deep=deep)
        return _set_aside(type(self)(**{**self._fields(), **update}), resume=self._resume, ids=self._ids)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copies the result; the reader's own state is shared, since it may hold what cannot be copied."""
        copy = type(self)(**deepcopy(self._fields(), memo))
        return _set_aside(copy, resume=self._resume, ids=self._ids)

    def _fields(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _ASIDE}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self.to_wire() == other.to_wire()

    def __hash__(self) -> int:
        return hash(self.read.id)

    def __getstate__(self) -> dict[Any, Any]:
        state = dict(super().__getstate__())
        state["__dict__"] = self._fields()
        return state

    def __repr__(self) -> str:
        from .render import text_line

        return f"<{type(self).__name__} {text_line(self)}>"

    __str__ = __repr__

    def __rich_repr__(self) -> Iterable[Any]:
        yield "status", self.status
        yield "codes", list(self.codes)

    def _repr_html_(self) -> str:
        from .render import html

        return html(self)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why the read is not complete; empty exactly when it is."""
        return self.incomplete_reasons

    @property
    def codes(self) -> tuple[str, ...]:
        """The reason codes, each once, in order."""
        return tuple(dict.fromkeys(r.code for r in self.incomplete_reasons))

    @property
    def ids(self) -> tuple[Any, ...]:
        """The ids of the items, as the reader took them, else each item's `id`. Empty when there are none."""
        if self._ids is not None:
            return tuple(self._ids)
        items = self.items or ()
        return tuple([i["id"] for i in items if (type(i) is dict or isinstance(i, Mapping)) and "id" in i])

    def to_wire(self) -> dict[str, Any]:
        """Returns the wire form `unabridged/1`, keys in their order. `items` is not copied."""
        from .wire import to_wire

        return to_wire(self)

    def short(self, *, max_bytes: int = 16_384) -> dict[str, Any]:
        """Returns the short form that models see, in whole records within `max_bytes` of JSON."""
        from .short import honest_short_form

        return honest_short_form(self, max_bytes=max_bytes).document  # type: ignore[arg-type]

    def proves_absence(self) -> bool:
        """Tells whether what is not in `items` does not exist in the scope that was read."""
        return self.status == "complete"

    def require_complete(self) -> list[Any]:
        """Returns the items of a complete read.

        Raises:
            NotComplete: the read is anything else.
        """
        if self.status != "complete" or self.items is None:
            raise NotComplete(status=self.status, codes=self.codes)
        return self.items

    def findings(self, predicate: Callable[[Any], bool], *, name: str | None = None) -> ReadResult:
        """Returns the records that meet `predicate` as a result of its own, with this read's status and reasons.

        `checked` says how many records were looked at; `finding_count` is null unless the read is complete.
        """
        from .derive import findings

        return findings(self, predicate, name=name)  # type: ignore[arg-type]

    def select(self, ids: Iterable[Any], *, action: str, ttl_s: float = 300.0) -> Selection:
        """Returns a selection of ids of this read, which a write may touch; `str` of it is an opaque token.

        Args:
            ids: ids of records of this read, at least one.
            action: the name of the write that it holds for.
            ttl_s: how long it holds, in seconds.

        Raises:
            NotComplete: the read is not complete.
            InvalidInput: no session is in scope, an id is not of this read, or an argument breaks its rule.
        """
        self.require_complete()
        select = getattr(current(), "select", None)
        if select is None:
            raise InvalidInput(field="session", rule="must be in scope: a selection holds in a session only")
        return select(self, ids, action=action, ttl_s=ttl_s)  # type: ignore[no-any-return]


class Complete(Result):
    """The whole requested scope was read, and the source's own end rule proved it."""

    status: Literal["complete"] = "complete"
    complete: Literal[True] = True
    truncated: Literal[False] = False
    finding_count: Count = 0
    items: Items


class Partial(Result):
    """Validated items, and at least one known reason why the scope is not covered."""

    status: Literal["partial"] = "partial"
    complete: Literal[False] = False
    finding_count: None = None
    items: Items


class Unknown(Result):
    """Validated items, and the source says nothing about its end."""

    status: Literal["unknown"] = "unknown"
    complete: Literal[False] = False
    truncated: Literal[False] = False
    finding_count: None = None
    items: Items


class Unavailable(Result):
    """No validated content at all; `items` is null, never `[]`."""

    status: Literal["unavailable"] = "unavailable"
    complete: Literal[False] = False
    finding_count: None = None
    consistency: Consistency = "not_established"
    items: None = None


ReadResult = Complete | Partial | Unknown | Unavailable


def _with_derived(data: Mapping[str, Any], *, status: str) -> dict[str, Any]:
    """Fills what follows from the rest: the counts, `truncated`, and the consistency of what was not read."""
    filled = dict(data)
    items = filled.get("items")
    whole = status == "complete"
    if status == "unavailable" and items is not None:
        raise ContractViolation(rule="unavailable_has_no_items", field="items")
    if status != "unavailable" and type(items) is not list:
        raise ContractViolation(rule=f"{status}_has_a_list_of_items", field="items")
    if not whole and filled.get("finding_count") is not None:
        raise ContractViolation(rule="finding_count_only_when_complete", field="finding_count")
    count = 0 if items is None else len(items)
    codes = _codes(filled.get("incomplete_reasons"))
    if filled.get("returned") is None:
        filled["returned"] = count
    if filled.get("truncated") is None:
        filled["truncated"] = not TRUNCATING.isdisjoint(codes)
    if "finding_count" not in filled:
        filled["finding_count"] = count if whole else None
    if "consistency" not in filled:
        lost = "CONSISTENCY_LOST" in codes
        filled["consistency"] = "not_established" if lost or items is None else "interval"
    if whole and "proof" not in filled:
        filled["proof"] = _DECLARED
    return filled


def _codes(reasons: Any) -> set[str]:
    """Returns the codes of reasons that may not be validated yet; what is no reason has none."""
    if not reasons or not isinstance(reasons, list | tuple):
        return set()
    codes = [r.get("code") if isinstance(r, Mapping) else getattr(r, "code", None) for r in reasons]
    return {c for c in codes if isinstance(c, str)}


def _violation(kind: str, error: ValidationError) -> ContractViolation:
    """Names the rule and the field; the keys of an open object are values in disguise and are left out."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    names: list[str] = []
    for part in first["loc"]:
        if names and names[-1] in _OPEN_OBJECTS:
            break
        names.append(printable_name(part) if isinstance(part, str) else str(part))
    return ContractViolation(rule=f"{kind}_{first['type']}", field=".".join(names))


def status_for(items: Sequence[Any] | None, codes: Iterable[str]) -> Status:
    """Returns the status that items and reason codes imply: the one place where it is decided."""
    seen = set(codes)
    if items is None:
        return "unavailable"
    if not seen:
        return "complete"
    return "unknown" if seen == {"COVERAGE_UNKNOWN"} else "partial"


def build_result(
    *, items: list[Any] | None, reasons: Iterable[Reason] = (), scope: Scope, read: ReadHeader, **parts: Any
) -> ReadResult:
    """Returns the result that the items and the reasons imply.

    Args:
        items: the records, kept by reference; `None` when nothing could be validated.
        reasons: why the scope is not covered. Duplicates (same code, detail, source) are dropped.
        scope: what was asked.
        read: the header of the read.
        **parts: any further field of a result, such as `continuation` or `proof`. A proof is dropped to level
            `none` unless the result is complete; a complete one without a proof is `declared` by its maker.

    Raises:
        ContractViolation: the parts contradict each other.
    """
    found: dict[Any, Reason] = {}
    for reason in reasons:
        found.setdefault((reason.code, reason.detail, reason.source), reason)
    unique = tuple(found.values())
    status = status_for(items, (r.code for r in unique))
    proof = parts.get("proof")
    if status != "complete" and isinstance(proof, Proof) and proof.level != "none":
        parts["proof"] = Proof(level="none", count=proof.count, basis=proof.basis)
    fields = {"incomplete_reasons": unique, "scope": scope, "read": read, "items": items, **parts}
    match status:
        case "complete":
            return Complete(**fields)
        case "partial":
            return Partial(**fields)
        case "unknown":
            return Unknown(**fields)
        case "unavailable":
            return Unavailable(**fields)
        case _:
            assert_never(status)


def _set_aside(result: _AnyResult, *, resume: object, ids: Sequence[Any] | None) -> _AnyResult:
    """Attaches what is no part of the result itself."""
    object.__setattr__(result, "_resume", resume)
    object.__setattr__(result, "_ids", ids)
    return result


def with_resume(result: ReadResult, resume: object) -> ReadResult:
    """Attaches the reader's own state for going on; it is never serialised, pickled, compared or printed."""
    return _set_aside(result, resume=resume, ids=result._ids)


def resume_of(result: ReadResult) -> Any:
    """Returns what `with_resume` attached, or nothing."""
    return result._resume


def with_ids(result: ReadResult, ids: Sequence[Any]) -> ReadResult:
    """Attaches the ids as the reader took them (its id need not be a field named `id`)."""
    return _set_aside(result, resume=result._resume, ids=ids)


def decision(result: ReadResult) -> Decision:
    """Returns what an agent should do after a read (`CONTRACT.md` 4)."""
    if result.status == "complete":
        return "proceed"
    return "continue_search" if result.continuation.kind in READS_AGAIN else "refuse_or_request_review"


def id_set(result: ReadResult) -> frozenset[Any]:
    """Returns the keys of the ids of a result, comparable as JSON values."""
    return id_key_set(result.ids)
