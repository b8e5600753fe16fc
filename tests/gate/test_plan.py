"""What `protect` works out: each tool's declaration, and the writes that could never be allowed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from reading.asking import TOKEN
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
from unabridged.profiles import load_profile


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
    ("changes", "possible"),
    [
        ({}, True),
        ({"walk": {"by": "link", "where": "header"}}, False),
        ({"errors": [{"path": "header:x-error", "when": "nonempty", "code": "SOURCE_UNAVAILABLE"}]}, False),
        ({"scope": [{"window": "90 days"}]}, False),
        ({"scope": [{"window": "90 days", "unless": {"path": "query.from", "when": "nonempty"}}]}, True),
        ({"scope": [{"window": "90 days", "warning": "DEFAULT_SCOPE_APPLIED"}]}, True),
        ({"walk": {**TOKEN, "ends_on": [], "empty_token": "illegal"}}, False),
        ({"walk": {"by": "single"}}, False),
        ({"walk": {"by": "single", "cap": 9}}, True),
        ({"walk": {"by": "single"}, "count": {"path": "n", "kind": "exact"}}, True),
        ({"walk": {"by": "single"}, "count": {"path": "n", "kind": "estimate"}}, False),
        ({"walk": {"by": "stream"}, "items": "@"}, False),
        ({"walk": {"by": "stream", "terminator": "done"}, "items": "@"}, True),
        ({"walk": {"by": "job", "state": "state", "running": ["RUN"], "ok": ["DONE"]}}, True),
    ],
)
def test_a_write_relies_in_vain_on_values_that_their_profile_never_takes_for_the_whole(
    changes: dict[str, Any], possible: bool
) -> None:
    inner = {"name": "orders", "version": 1, "items": "items", "id": "id", "walk": TOKEN, **changes}
    several = {"name": "all", "version": 1, "walk": {"by": "fanout", "over": ["eu"], "inner": inner}}
    for made in (inner, several):
        reads = {"list": ReadSpec(resource="orders", judge=load_profile(made))}
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            named = warn_of_hopeless_writes(
                {**reads, "archive": WriteSpec(relies_on=["orders"])}, {"list": plain, "archive": plain}
            )
        assert named == ([] if possible else ["archive"])


def test_a_write_relies_in_vain_on_samples() -> None:
    sample = ReadSpec(resource="orders", intent="sample", exhaustive=True)
    with pytest.warns(CoverageWarning, match="archive can never be allowed"):
        warn_of_hopeless_writes(
            {"list": sample, "archive": WriteSpec(relies_on=["orders"])}, {"list": plain, "archive": plain}
        )


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
