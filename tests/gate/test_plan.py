"""What `protect` works out: each tool's declaration, and the writes that could never be allowed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from unabridged.contract import Complete, InvalidInput, ReadResult, build_result
from unabridged.gate import (
    AGENT_RULES,
    NEUTRAL,
    CoverageWarning,
    ReadSpec,
    WriteSpec,
    may_return_results,
    plan,
    warn_of_hopeless_writes,
)


def test_the_rules_for_an_agent_are_at_most_eight_lines() -> None:
    assert len(AGENT_RULES.splitlines()) <= 8


def test_the_declarations_of_decorators_and_of_protect_come_together() -> None:
    told = plan(["a", "b"], reads={"a": "orders"}, known={"b": NEUTRAL})
    assert (told.of("a"), told.of("b")) == (ReadSpec(resource="orders"), NEUTRAL)


@pytest.mark.parametrize(
    ("names", "keywords"),
    [
        (["a"], {"reads": {"b": "orders"}}),
        (["a", "a"], {"reads": {"a": "orders"}}),
        (["a", "a"], {}),
        (["a"], {"neutral": ["a"], "known": {"a": NEUTRAL}}),
        (["a"], {"neutral": "a b"}),
    ],
)
def test_a_name_that_no_tool_or_more_than_one_has_is_refused(names: list[str], keywords: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        plan(names, **keywords)


def bare() -> Any:
    return []


def annotated() -> list[str]:
    return []


def annotated_result() -> ReadResult:
    raise NotImplementedError


def annotated_one() -> Complete:
    raise NotImplementedError


def unresolved() -> NoSuchName:  # type: ignore[name-defined]  # noqa: F821
    return None


def made():  # type: ignore[no-untyped-def]
    return build_result


def plain():  # type: ignore[no-untyped-def]
    return []


def through_a_helper():  # type: ignore[no-untyped-def]
    return made()


def through_an_annotated_helper():  # type: ignore[no-untyped-def]
    return annotated_result()


def through_a_plain_helper():  # type: ignore[no-untyped-def]
    return plain() or bare() or annotated()


def enclosed(helper: Any) -> Any:
    def body():  # type: ignore[no-untyped-def]
        return helper()

    return body


def unfinished() -> Any:
    def body():  # type: ignore[no-untyped-def]
        return later()

    if not body:
        later = made
    return body


@pytest.mark.parametrize(
    ("body", "may"),
    [(None, False), (annotated, False), (plain, False), (bare, True), (annotated_result, True), (annotated_one, True),
     (unresolved, True), (made, True), (len, True), (through_a_helper, True), (through_an_annotated_helper, True),
     (through_a_plain_helper, False), (enclosed(made), True), (enclosed(plain), False), (unfinished(), False)],
)  # fmt: skip
def test_whether_a_function_may_return_results(body: Any, may: bool) -> None:
    assert may_return_results(body) is may


@pytest.mark.parametrize(
    ("reads", "write", "hopeless"),
    [
        ({"list": ReadSpec(resource="orders")}, WriteSpec(relies_on=["orders"]), True),
        ({"list": ReadSpec(resource="orders")}, WriteSpec(relies_on=["orders"], allow_returned_targets=True), False),
        ({"list": ReadSpec(resource="orders")}, WriteSpec(independent="why"), False),
        ({"list": ReadSpec(resource="orders")}, WriteSpec(), False),
        ({"list": ReadSpec(resource="orders", exhaustive=True)}, WriteSpec(relies_on=["orders"]), False),
        ({"list": ReadSpec(resource="orders", judge=max)}, WriteSpec(relies_on=["orders"]), False),
        ({"list": ReadSpec(resource="orders", intent="lookup", key="id")}, WriteSpec(relies_on=["orders"]), False),
        ({"list": ReadSpec(resource="other")}, WriteSpec(relies_on=["orders"]), False),
    ],
)
def test_a_write_that_could_never_be_allowed_is_named(reads: Any, write: WriteSpec, hopeless: bool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        named = warn_of_hopeless_writes({**reads, "archive": write}, {"list": plain, "archive": plain})
    assert named == (["archive"] if hopeless else [])
    assert [w.category for w in caught] == ([CoverageWarning] if hopeless else [])
