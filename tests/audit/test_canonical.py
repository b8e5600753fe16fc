"""One text for each JSON value."""

from __future__ import annotations

import enum
import json
import math
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from unabridged.audit import canonical
from unabridged.contract import InvalidInput

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
    ],
)
def test_numbers_are_written_as_the_samples_of_rfc_8785_say(bits: str, text: str) -> None:
    assert canonical(struct.unpack(">d", bytes.fromhex(bits))[0]).decode() == text


def test_keys_stand_in_the_order_of_their_utf_16_units() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]  # the sample of RFC 8785, 3.2.3
    assert list(json.loads(canonical(dict.fromkeys(keys)))) == [
        "\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33",
    ]  # fmt: skip


def _number(digits: str) -> int | float:
    """Reads a number as the RFC does: as a double, which a whole number within 2**53 is too."""
    return int(digits) if abs(int(digits)) <= 2**53 else float(digits)


@given(JSON)
def test_the_text_is_json_of_the_same_value_and_stays_what_it_is(value: Any) -> None:
    text = canonical(value)
    again = json.loads(text.decode("utf-8", "surrogatepass"), parse_int=_number)
    assert again == value
    assert canonical(again) == text


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_count(value: dict[str, int]) -> None:
    assert canonical(dict(reversed(value.items()))) == canonical(value)


def test_equal_numbers_are_one_text_and_a_text_is_no_number() -> None:
    assert canonical([1.0, 1e2]) == canonical([1, 100]) == b"[1,100]"
    assert len({canonical(v) for v in (1, "1", True, [1], None, "true")}) == 6
    assert canonical(2**70 + 1) == str(2**70 + 1).encode()
    assert canonical(10**5_000)


class Colour(enum.StrEnum):
    RED = "red"


class Paid(BaseModel):
    on: date
    amount: Decimal


def test_what_json_does_not_know_is_written_as_pydantic_writes_it() -> None:
    value = {
        "colour": Colour.RED, "paid": Paid(on=date(2026, 1, 2), amount=Decimal("1.50")), "ids": (1, 2),
        "id": UUID(int=1), "at": datetime(2026, 1, 2, tzinfo=UTC),
    }  # fmt: skip
    assert json.loads(canonical(value)) == {
        "colour": "red", "paid": {"on": "2026-01-02", "amount": "1.50"}, "ids": [1, 2],
        "id": "00000000-0000-0000-0000-000000000001", "at": "2026-01-02T00:00:00Z",
    }  # fmt: skip


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [math.nan, math.inf, {"a": [-math.inf]}, object(), {1: "canary"}, _endless()])
def test_what_has_no_json_is_refused_without_its_value(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"audit\.digest: must") as caught:
        canonical(value)
    assert "canary" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_lone_surrogate_has_a_text() -> None:
    assert canonical("\ud800") != canonical("\ud801")
