"""The public surface as a type checker sees it. Checked by `mypy`, never run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never, assert_type

from unabridged import (
    Budget,
    Claim,
    Complete,
    FinalAnswer,
    Partial,
    Profile,
    Query,
    ReadResult,
    Unavailable,
    Unknown,
    Verdict,
    WriteIntent,
    aread,
    from_wire,
    judge_answer,
    load_profile,
    merge,
    pages,
    read,
    session,
)


def reading(profile: Profile) -> None:
    assert_type(load_profile("a.json"), Profile)
    result = read(profile, Query("orders", filters={"owner": None}), url="https://api.example/o", budget=Budget())
    assert_type(result, ReadResult)
    assert_type(result.require_complete(), list[Any])
    assert_type(result.proves_absence(), bool)
    assert_type(pages(profile, "orders", url="https://api.example/o"), Iterator[ReadResult])
    assert_type(merge([result], resource="all"), ReadResult)
    assert_type(from_wire({}), ReadResult)


async def reading_without_blocking(profile: Profile) -> None:
    assert_type(await aread(profile, "orders", url="https://api.example/o"), ReadResult)


def statuses(result: ReadResult) -> int | None:
    """Four statuses and no fifth: a new one fails here."""
    match result:
        case Complete():
            return result.finding_count
        case Partial() | Unknown():
            return None
        case Unavailable():
            return None
        case _:
            assert_never(result)


def judging(result: ReadResult) -> None:
    with session("case") as s:
        s.record(result)
        assert_type(s.judge_write(WriteIntent("delete", relies_on=["orders"])), Verdict)
        assert_type(s.judge_answer("None is left.", claims=[Claim("absence", "orders")]), FinalAnswer)
    assert_type(judge_answer("None is left.", [result]), FinalAnswer)
