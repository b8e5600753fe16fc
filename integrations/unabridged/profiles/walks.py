"""The walks: how a service says where its next page is, and how it says that there is none."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from unabridged.contract.ids import id_key

from .conditions import PagePath, Piece, RecordPath, Scalar, Send, broken, is_finite

TokenEnd = Literal["absent", "null", "zero", "empty_page", "flag", "empty", "same_token"]
KeyEnd = Literal["empty_page", "flag", "short_page"]
OffsetEnd = Literal["total", "empty_page", "flag", "short_page"]


def _no_repeats(ends: tuple[str, ...]) -> None:
    if len(set(ends)) != len(ends):
        raise broken("ends_on", "must not name an end twice")


def _flag_needs_a_path(ends: tuple[str, ...], flag: str | None, name: str) -> None:
    if "flag" in ends and flag is None:
        raise broken("ends_on", f"flag needs {name}")


class Carry(Piece):
    """A value of the last response that goes back with the next request, such as a point-in-time id."""

    read: PagePath
    send: Send


class TokenWalk(Piece):
    """An opaque token of one page is sent with the next request.

    `{"items": [...], "next": "c2"}`
    """

    by: Literal["token"]
    read: PagePath
    """Where the token stands."""
    send: Send
    ends_on: tuple[TokenEnd, ...]
    """What proves the end; an end that is not named is not assumed."""
    empty_token: Literal["end", "cursor", "illegal"]
    """What an empty text means. No default: services disagree."""
    repeated_token: Literal["end", "anomaly", "progress"]
    """What the token just sent means when it comes back. No default."""
    more_flag: PagePath | None = None
    """A boolean, or the texts "true" and "false"."""
    first: Any = None
    """A token for the first request; any JSON value but null."""
    carry: tuple[Carry, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _ends_say_the_same(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("ends_on"), list | tuple):
            return data
        filled = dict(data)
        for end, key in (("empty", "empty_token"), ("same_token", "repeated_token")):
            if end in data["ends_on"] and filled.setdefault(key, "end") != "end":
                raise broken("ends_on", f"{end} contradicts {key}")
        return filled

    @model_validator(mode="after")
    def _ends_are_possible(self) -> Self:
        _no_repeats(self.ends_on)
        _flag_needs_a_path(self.ends_on, self.more_flag, "more_flag")
        if "first" in self.model_fields_set and self.first is None:
            raise broken("first", "first must be a token, and null is none")
        if not is_finite(self.first):
            raise broken("first", "first must not hold NaN or Infinity")
        return self


class LinkWalk(Piece):
    """The response names the address of the next page, in its `Link` header or in its body."""

    by: Literal["link"]
    where: Literal["header", "body"]
    rel: StrictStr = Field(default="next", pattern=r"^[A-Za-z][A-Za-z0-9.\-:/_]*$")
    path: PagePath | None = None
    live_flag: StrictStr | None = Field(default=None, min_length=1)
    """A link attribute that says whether the link leads anywhere."""
    same_origin: StrictBool = True

    @model_validator(mode="after")
    def _keys_fit_the_place(self) -> Self:
        if self.where == "body":
            if self.path is None:
                raise broken("link", "path is required where the link stands in the body")
            if "rel" in self.model_fields_set or self.live_flag is not None:
                raise broken("link", "rel and live_flag belong to links in the header")
        elif self.path is not None:
            raise broken("link", "path belongs to a link in the body")
        return self


class KeyWalk(Piece):
    """The client takes a key from the last record and asks for what comes after it."""

    by: Literal["key"]
    from_item: RecordPath
    send: Send
    unique: StrictBool = False
    """Whether the key is unique; else records with equal keys may fall between two pages."""
    ends_on: tuple[KeyEnd, ...]
    more_flag: PagePath | None = None
    carry: tuple[Carry, ...] = ()

    @model_validator(mode="after")
    def _ends_are_possible(self) -> Self:
        _no_repeats(self.ends_on)
        _flag_needs_a_path(self.ends_on, self.more_flag, "more_flag")
        return self


class OffsetWalk(Piece):
    """The client counts: records or pages, from 0 or from 1."""

    by: Literal["offset"]
    send: Send
    unit: Literal["item", "page"]
    origin: Literal[0, 1]
    advance: Literal["returned", "requested"] = "returned"
    ends_on: tuple[OffsetEnd, ...]
    total: PagePath | None = None
    last_flag: PagePath | None = None

    @model_validator(mode="before")
    @classmethod
    def _origin_is_a_number(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("origin"), bool | float):
            raise broken("origin", "origin must be 0 or 1")
        return data

    @model_validator(mode="after")
    def _ends_are_possible(self) -> Self:
        _no_repeats(self.ends_on)
        _flag_needs_a_path(self.ends_on, self.last_flag, "last_flag")
        if self.unit == "page" and "advance" in self.model_fields_set:
            raise broken("advance", "advance is for unit item only")
        return self


class SingleWalk(Piece):
    """One bounded answer, without a way on."""

    by: Literal["single"]
    cap: StrictInt | None = Field(default=None, ge=1)
    """The most records that the source ever returns."""
    overfetch: StrictInt | None = Field(default=None, ge=1)
    """Records asked for beyond those wanted, so that a full answer can be told from a cut one."""
    exact_flag: PagePath | None = None
    """Not true means that the method cannot be exhaustive, even below the cap."""


class RangeSend(Piece):
    """Where the bounds of a range go: from 0, the end inclusive."""

    start: Send
    end: Send


class RangeWalk(Piece):
    """Ranges of one object: records, or the bytes or lines of a text, which becomes one excerpt.

    `206` with `Content-Range: bytes 0-4095/10000`
    """

    by: Literal["range"]
    unit: Literal["bytes", "lines", "items"]
    size: StrictInt = Field(ge=1)
    """Units a request."""
    send: RangeSend | None = None
    """The `Range` header when not given."""
    total: PagePath | None = None
    """How many units there are; read from `Content-Range` when not given."""
    validator: PagePath | None = None
    """A strong ETag: what changes with the object, so that no two versions are put together."""

    @property
    def is_text(self) -> bool:
        """Whether the ranges are pieces of a text rather than records."""
        return self.unit != "items"


class StreamWalk(Piece):
    r"""One body of newline-delimited JSON.

    `{"id": 1}\n{"id": 2}\n{"type": "done"}`
    """

    by: Literal["stream"]
    terminator: RecordPath | None = None
    """Is true in the final record, which is no item. Without it nothing states the end."""


InnerWalk = TokenWalk | LinkWalk | KeyWalk | OffsetWalk | SingleWalk


class JobWalk(Piece):
    """A job is asked for its state until it has one that says what became of it; then its results are walked.

    `{"job": {"state": "RUNNING"}, "rows": []}`
    """

    by: Literal["job"]
    state: PagePath
    running: tuple[Scalar, ...] = Field(min_length=1)
    ok: tuple[Scalar, ...] = Field(min_length=1)
    partial: tuple[Scalar, ...] = ()
    failed: tuple[Scalar, ...] = ()
    inner: Annotated[InnerWalk, Field(discriminator="by")] = SingleWalk(by="single")
    """How the results are walked. The finished job proves the end of an inner `single` without a cap."""
    poll_s: Annotated[float, Field(strict=True, gt=0, le=86_400, allow_inf_nan=False)] = 1.0
    """Seconds between two questions."""

    @model_validator(mode="after")
    def _states_differ(self) -> Self:
        states = [id_key(one) for one in (*self.running, *self.ok, *self.partial, *self.failed)]
        if len(set(states)) != len(states):
            raise broken("job", "running, ok, partial, failed must not name a state twice")
        return self


SimpleWalk = TokenWalk | LinkWalk | KeyWalk | OffsetWalk | SingleWalk | RangeWalk | StreamWalk
"""The walks that page. A `job` pages by its inner walk."""
