"""The combinators: one walk a source (`fanout`), or one question split into parts that fit a cap (`partition`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictInt, StrictStr, WrapValidator, model_validator

from unabridged.contract.errors import ProfileError

from .conditions import Piece, Send, broken
from .walks import JobWalk, KeyWalk, LinkWalk, OffsetWalk, RangeWalk, SingleWalk, StreamWalk, TokenWalk


def _inner(value: Any, handler: Any) -> Any:
    return _named(value, handler, "walk.inner")


def _count(value: Any, handler: Any) -> Any:
    return _named(value, handler, "walk.count")


def _named(value: Any, handler: Any, place: str) -> Any:
    try:
        return handler(value)
    except ProfileError as error:
        raise ProfileError(field=f"{place}.{error.field}", rule=error.rule) from None


class FanoutWalk(Piece):
    """One walk a source, outcomes kept apart. A `{source}` in the read's URL is replaced by each name."""

    by: Literal["fanout"]
    over: tuple[Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_.:\-]{1,64}$")], ...] = Field(min_length=1)
    inner: Annotated[Profile, WrapValidator(_inner)]

    @model_validator(mode="after")
    def _sources_differ(self) -> Self:
        if len(set(self.over)) != len(self.over):
            raise broken("over", "must not name a source twice")
        if isinstance(self.inner.walk, FanoutWalk):
            raise broken("inner", "must not be a fanout itself")
        return self


class PartSend(Piece):
    """Where the bounds of a part go."""

    from_: Send = Field(alias="from")
    to: Send


class Parts(Piece):
    """How the axis is split: whole numbers from `from` to `to`, which is exclusive."""

    from_: StrictInt = Field(alias="from")
    to: StrictInt
    send: PartSend

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.to <= self.from_:
            raise broken("parts", "to must be above from")
        return self


class PartitionWalk(Piece):
    """A question whose answers are capped is split until each part fits; the parts add up to the first count."""

    by: Literal["partition"]
    axis: StrictStr = Field(min_length=1, max_length=64)
    count: Annotated[CountProfile, WrapValidator(_count)]
    """Answers how many records a part holds."""
    cap: StrictInt = Field(ge=1)
    """A part with so many records, or more, is split."""
    parts: Parts
    min_width: StrictInt = Field(default=1, ge=1)
    inner: Annotated[Profile, WrapValidator(_inner)]

    @model_validator(mode="after")
    def _inner_pages(self) -> Self:
        if isinstance(self.inner.walk, FanoutWalk | PartitionWalk):
            raise broken("inner", "must not be a combinator itself")
        if isinstance(self.inner.walk, RangeWalk) and self.inner.walk.is_text:
            raise broken("inner", "must hold records")
        if not isinstance(self.count.walk, SingleWalk):
            raise broken("count", "must be a single walk")
        return self


Walk = (
    TokenWalk | LinkWalk | KeyWalk | OffsetWalk | SingleWalk | RangeWalk | JobWalk | StreamWalk | FanoutWalk
    | PartitionWalk
)  # fmt: skip

from .format import CountProfile, Profile  # noqa: E402  (the formats name each other)

FanoutWalk.model_rebuild()
PartitionWalk.model_rebuild()
