"""A replay case (`PROFILES.md` 2): one scripted session with its expected outcome.

A case checks itself when it is loaded. Unknown keys, wrong types and contradictions are refused with the field and
the rule, never with the value: cases are recorded from production pages.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from pydantic import Field, StrictStr, model_validator

from unabridged.answers import Claim
from unabridged.answers.language import language_or
from unabridged.contract import CaseError, InvalidInput
from unabridged.contract.errors import value_free
from unabridged.evidence import WriteIntent
from unabridged.profiles import Profile, load_profile, parse_strict
from unabridged.reading import Budget, Query
from unabridged.reading.links import check_url

from .exchanges import Piece, broken, parse
from .steps import AnswerStep, ClaimSpec, QuerySpec, ReadStep, Text, WriteStep

MAX_FILE_BYTES: Final = 16 * 1024 * 1024


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
        """
        return tuple(_profile(n, step) for n, step in enumerate(self.reads))

    @cached_property
    def intents(self) -> tuple[WriteIntent, ...]:
        """What each write demands."""
        return tuple(_intent(n, step) for n, step in enumerate(self.writes))

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What the answer claims."""
        return () if self.answer is None else tuple(_claim(n, spec) for n, spec in enumerate(self.answer.claims))

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """What each read asks."""
        return tuple(_query(n, step.query) for n, step in enumerate(self.reads))

    @cached_property
    def budgets(self) -> tuple[Budget, ...]:
        """What each read may spend."""
        return tuple(_budget(step) for step in self.reads)


@value_free
def load_case(source: str | os.PathLike[str] | Mapping[str, Any] | Case) -> Case:
    """Returns a checked case.

    Args:
        source: the path of a JSON file, a dict of the same structure, or a case.

    Raises:
        CaseError: the file cannot be read or is no valid case; names the field and the rule, never a value.
    """
    case = source if isinstance(source, Case) else parse_case(case_document(source))
    check_case(case)
    return case


@value_free
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


@value_free
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
    """
    _ = case.queries, case.budgets, case.intents, case.claims
    if case.answer is not None:
        _check_language(case.answer)
    for n, (step, profile) in enumerate(zip(case.reads, case.profiles, strict=True)):
        _check_script(n, step, profile)
        _check_url(n, step)


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


def _claim(position: int, spec: ClaimSpec) -> Claim:
    try:
        return Claim(
            spec.kind,
            spec.resource,
            filters=spec.filters,
            ids=None if spec.ids is None else tuple(spec.ids),
            value=spec.value,
        )
    except InvalidInput as error:
        refused = _within(error, f"answer.claims[{position}]", "")
    raise refused


def _check_url(position: int, step: ReadStep) -> None:
    try:
        if step.url is not None:
            check_url(step.url)
        return
    except InvalidInput as error:
        refused = _within(error, f"reads[{position}]", "")
    raise refused


def _check_language(step: AnswerStep) -> None:
    try:
        language_or(step.language, step.text)
        return
    except InvalidInput as error:
        refused = _within(error, "answer", "")
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
