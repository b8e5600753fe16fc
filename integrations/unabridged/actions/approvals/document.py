"""The JSON of a card as a model, and the way back from it, for an approver that sits elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, ValidationError

from unabridged.contract import Consistency, InvalidInput

from .card import Card, CardOption, Freshness, Parameter, Unread

_CONFIG: Final = ConfigDict(extra="forbid", hide_input_in_errors=True, frozen=True)
Name = Annotated[str, Field(pattern=r"^(<name>|[A-Za-z_][A-Za-z0-9_.\-\[\]@:]{0,79})$")]
"""A name that looks like one, or `<name>` in its place."""
Line = Annotated[
    str, Field(max_length=2000, pattern=r"^[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*$")
]
"""One line: no control character, and nothing that changes the direction of writing."""
Code = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Kind = Annotated[str, Field(pattern=r"^(true or false|number|text|nothing|object|list of [0-9]{1,12})$")]
Moment = Annotated[
    str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$"), AfterValidator(lambda text: _is_moment(text))
]
"""A moment in UTC, ISO 8601 with a `Z`."""
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[StrictInt, Field(ge=0)]


class ParameterDocument(BaseModel):
    """One argument of the write."""

    model_config = _CONFIG
    name: Name
    kind: Kind
    shown: bool | StrictInt | Number | Line | None


class UnreadDocument(BaseModel):
    """A read that is not complete, and why."""

    model_config = _CONFIG
    resource: Line
    status: Literal["partial", "unknown", "unavailable", "pending"]
    codes: list[Code]
    filters: list[Name]


class FreshnessDocument(BaseModel):
    """How old the evidence is."""

    model_config = _CONFIG
    started_at: Moment
    age_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    consistency: Consistency


class CardDocument(BaseModel):
    """What a person is asked before a write runs."""

    model_config = _CONFIG
    card: Literal["unabridged-card/1"]
    action: Name
    purpose: Line | None
    parameters: list[ParameterDocument]
    targets: Annotated[StrictInt, Field(ge=1)] | None
    known: Count
    scope: list[Line]
    unread: list[UnreadDocument]
    freshness: FreshnessDocument | None
    codes: list[Code]
    options: Annotated[list[CardOption], Field(min_length=1)]
    binding: Digest
    subject: Digest
    expires_at: Moment
    seal: Digest


def card_from_dict(document: Mapping[str, Any]) -> Card:
    """Returns a card from its JSON. Whether it was changed on its way, `approve` tells in the session that asked.

    Raises:
        InvalidInput: it is no card; the rule names the field and never a value.
    """
    read = _read(document)
    if not isinstance(read, CardDocument):
        raise InvalidInput(field=read[0], rule=read[1])
    fresh = read.freshness
    return Card(
        action=read.action, purpose=read.purpose,
        parameters=tuple(Parameter(p.name, p.kind, p.shown) for p in read.parameters),
        targets=read.targets, known=read.known, scope=tuple(read.scope),
        unread=tuple(Unread(u.resource, u.status, tuple(u.codes), tuple(u.filters)) for u in read.unread),
        freshness=None if fresh is None else Freshness(_moment(fresh.started_at), fresh.age_s, fresh.consistency),
        codes=tuple(read.codes), options=tuple(read.options), binding=read.binding,
        subject=read.subject, expires_at=_moment(read.expires_at), seal=read.seal,
    )  # fmt: skip


def _read(document: Mapping[str, Any]) -> CardDocument | tuple[str, str]:
    """Returns the card, or the field and the rule that it breaks: an error raised from here would hold the values."""
    try:
        return CardDocument.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        named = [part for part in first["loc"] if isinstance(part, str) and part in _FIELDS]
        return ".".join(["card", *named]), f"is not valid: {first['type']}"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _is_moment(text: str) -> str:
    _moment(text)
    return text


_FIELDS: Final = frozenset(
    name
    for model in (CardDocument, ParameterDocument, UnreadDocument, FreshnessDocument)
    for name in model.model_fields
)
