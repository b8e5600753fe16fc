"""When a value counts: the six conditions of the format, and where a value is sent in a request."""

from __future__ import annotations

import re
from math import isfinite
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from unabridged.contract.ids import json_equal

from .paths import MISSING, InvalidPath, compile_path

_DOTTED: Final = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$@\-]*(\.[A-Za-z_$@][A-Za-z0-9_$@\-]*)*\Z")
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]{1,128}\Z")
_NO: Final = frozenset({"", "0", "false", "f", "no", "n", "none", "null", "nil", "off"})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}\Z")


class Piece(BaseModel):
    """A frozen piece of a profile: unknown keys are refused, and no error shows a value."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def broken(kind: str, rule: str) -> PydanticCustomError:
    """Returns an error that names a rule and holds no value."""
    return PydanticCustomError(kind, rule)


def _page_path(text: str) -> str:
    try:
        compile_path(text, page=True)
    except InvalidPath:
        raise broken("path", "must be a JMESPath expression, or header:NAME") from None
    return text


def _record_path(text: str) -> str:
    try:
        compile_path(text, page=False)
    except InvalidPath:
        raise broken("path", "must be a JMESPath expression") from None
    return text


PagePath = Annotated[StrictStr, Field(min_length=1), AfterValidator(_page_path)]
RecordPath = Annotated[StrictStr, Field(min_length=1), AfterValidator(_record_path)]


class When(Piece):
    """One condition. Exactly one of its fields is set; `"nonempty"` and `"absent"` are written as bare texts.

    Values compare as JSON values: `true` is not `1`, and `1` is `1.0`.
    """

    nonempty: bool = False
    absent: bool = False
    """Nothing stands at the path; an expression that finds nothing is null, and not absent."""
    equals: Any = None
    in_: tuple[Any, ...] | None = Field(default=None, alias="in")
    gt: float | None = None
    expr: bool = False

    @model_validator(mode="before")
    @classmethod
    def _one_condition(cls, data: Any) -> Any:
        if isinstance(data, dict) and not all(map(is_finite, data.values())):
            raise broken("when", "must not hold NaN, Infinity: no value would ever meet it")
        if isinstance(data, When):
            return data
        if isinstance(data, str) and data in ("nonempty", "absent"):
            return {data: True}
        if not isinstance(data, dict) or len(data) != 1:
            raise broken("when", 'must be "nonempty", "absent" or an object with one of equals, in, gt, expr')
        name, value = next(iter(data.items()))
        match name:
            case "equals":
                return data
            case "in" if isinstance(value, list | tuple) and value:
                return data
            case "gt" if isinstance(value, int | float) and not isinstance(value, bool):
                return data
            case "expr" if value is True:
                return data
            case _:
                raise broken(
                    "when",
                    'must be "nonempty", "absent" or an object with one of equals, in (a list), gt (a number), '
                    "expr (true)",
                )

    def holds(self, value: Any) -> bool:
        """Tells whether a value, `MISSING` among them, meets the condition."""
        if value is MISSING or self.absent:
            return self.absent and value is MISSING
        if self.nonempty:
            return not (value is None or value is False or value == "" or value == [] or value == {})
        if self.expr:
            return value is True
        if self.gt is not None:
            return isinstance(value, int | float) and not isinstance(value, bool) and value > self.gt
        if self.in_ is not None:
            return any(json_equal(value, one) for one in self.in_)
        return json_equal(value, self.equals)

    def may_hold(self, value: Any) -> bool:
        """Tells whether a value that does not meet the condition may mean what it looks for.

        So does a boolean in another spelling (`1` or `"True"` where `true` is looked for), and a text that is no number
        up to the one that must be exceeded.
        """
        if value is MISSING or value is None or isinstance(value, bool):
            return False
        if self.gt is not None and not isinstance(value, int | float):
            return truth_of(value) and not _is_up_to(value, self.gt)
        return isinstance(self.equals, bool) and truth_of(value) is self.equals


def _is_up_to(value: Any, most: float) -> bool:
    try:
        return isinstance(value, str) and float(value) <= most
    except ValueError:
        return False


def truth_of(value: Any) -> bool:
    """Returns what a value that is no boolean says where one is looked for."""
    return value.strip().lower() not in _NO if isinstance(value, str) else bool(value)


class Send(Piece):
    """Where a value goes in a request: exactly one of a query parameter, a dotted key of a JSON body, a header."""

    query: StrictStr | None = None
    body: StrictStr | None = None
    header: StrictStr | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        given = [v for v in (self.query, self.body, self.header) if v is not None]
        if len(given) != 1:
            raise broken("send", "must name exactly one of query, body, header")
        if self.query is not None and not _PRINTABLE.match(self.query):
            raise broken("send", "must name a query parameter in 1 to 128 printable characters")
        if self.body is not None and not _DOTTED.match(self.body):
            raise broken("send", "must name a dotted key path in the body")
        if self.header is not None and not _HEADER_NAME.match(self.header):
            raise broken("send", "must name a header field")
        return self

    @property
    def place(self) -> tuple[str, str]:
        """The kind of place and its name, header names in lower case; equal for two sends to one place."""
        if self.query is not None:
            return "query", self.query
        if self.body is not None:
            return "body", self.body
        return "header", (self.header or "").lower()


def is_finite(value: Any) -> bool:
    """Tells whether every number in a value is one that JSON can hold and a float can be compared with."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, list | tuple):
        return all(map(is_finite, value))
    return not isinstance(value, dict) or all(map(is_finite, value.values()))


def _scalar(value: Any) -> Any:
    if value is None or (isinstance(value, str | int | float) and is_finite(value)):
        return value
    raise broken("scalar", "must be a text, a number, true, false or null")


Scalar = Annotated[Any, BeforeValidator(_scalar)]
