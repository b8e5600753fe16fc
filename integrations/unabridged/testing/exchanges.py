"""What a scripted source answers, and what it expects to be asked (`PROFILES.md` 2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from unabridged.contract import CaseError, printable_name
from unabridged.reading.query import MOST_SECONDS

FAULTS: Final = ("timeout", "disconnect", "short_body", "dns")


class Piece(BaseModel):
    """A frozen piece of a case: unknown keys are refused, and no error shows a value."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def broken(field: str, rule: str) -> PydanticCustomError:
    """Returns an error about a field of the piece; its text is `field: rule`."""
    return PydanticCustomError("case", "{field}: {rule}", {"field": field, "rule": rule})


P = TypeVar("P", bound=Piece)


def parse(kind: type[P], data: Mapping[str, Any], *, field: str) -> P:
    """Returns a checked piece.

    Raises:
        CaseError: naming the field and the rule, never a value.
    """
    try:
        return kind.model_validate(dict(data))
    except ValidationError as error:
        refused = case_error(error, field)
    raise refused  # outside the handler, so that the refused values do not travel along as its context


def case_error(error: ValidationError, field: str) -> CaseError:
    """Returns an error that names the first broken field and its rule; unknown keys come first."""
    details = error.errors(include_url=False, include_input=False)
    first = next((d for d in details if d["type"] == "extra_forbidden"), details[0])
    where = _place(first["loc"], field)
    match first["type"]:
        case "extra_forbidden":
            rule = "is not a known key"
        case "missing":
            rule = "is required"
        case "case":
            context = first.get("ctx", {})
            where, rule = f"{where}.{context['field']}" if context["field"] else where, str(context["rule"])
        case _:
            rule = str(first["msg"]).replace("Input should", "must", 1)
    return CaseError(field=where.lstrip("."), rule=rule)


def _place(loc: tuple[int | str, ...], field: str) -> str:
    """Returns a dotted name with list positions in brackets; what follows an open object is not repeated."""
    place = field
    for part in loc:
        if isinstance(part, int):
            place += f"[{part}]"
        else:
            name = printable_name(part)
            place += name if not place else f".{name}"
    return place


Seconds = Annotated[float, Field(strict=True, ge=0, le=MOST_SECONDS, allow_inf_nan=False)]


class ExpectedRequest(Piece):
    """What the request must hold; null means that it must not stand there."""

    query: dict[StrictStr, Any] | None = None
    """Parameter to value; values are compared as text."""
    headers: dict[StrictStr, Any] | None = None
    """Header to value; names in any case, values compared as text."""
    body: Any = None
    """A subset of the decoded body."""
    url: StrictStr | None = None
    """The address; a query in it must be contained in the one that was sent."""


class Exchange(Piece):
    """One request and its answer: a response, or a fault."""

    status: StrictInt | None = Field(default=None, ge=100, le=599)
    headers: dict[StrictStr, StrictStr | StrictInt | list[StrictStr]] = Field(default_factory=dict)
    """A list is a field that stands several times."""
    document: Any = Field(default=None, alias="json")
    """The body as JSON; its bytes are the compact UTF-8 form."""
    body: StrictStr | None = None
    """The body as text."""
    fault: Literal["timeout", "disconnect", "short_body", "dns"] | None = None
    delay_s: Seconds = 0
    """How far the clock moves before the answer, in seconds."""
    expect_request: ExpectedRequest | None = None

    @model_validator(mode="after")
    def _a_response_or_a_fault(self) -> Self:
        stated = self.model_fields_set
        if self.fault is None:
            if self.status is None:
                raise broken("status", "is required, unless there is a fault")
            if {"document", "body"} <= stated:
                raise broken("body", "contradicts json; one of them is enough")
            return self
        for name, key in (("status", "status"), ("headers", "headers"), ("document", "json")):
            if name in stated:
                raise broken(key, "contradicts fault")
        if self.body is not None and self.fault != "short_body":
            raise broken("body", "contradicts fault, unless it is short_body")
        return self

    @property
    def body_bytes(self) -> bytes:
        """The bytes of the body."""
        if "document" in self.model_fields_set:
            return compact(self.document)
        return (self.body or "").encode("utf-8", "surrogatepass")

    @property
    def header_fields(self) -> tuple[tuple[str, str], ...]:
        """The header fields, repeated ones one by one."""
        return tuple(
            (name, str(one))
            for name, value in self.headers.items()
            for one in (value if type(value) is list else [value])
        )


def compact(value: Any) -> bytes:
    """Returns the compact UTF-8 JSON of a value."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")
