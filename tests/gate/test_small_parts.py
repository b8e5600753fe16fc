"""The small parts of the boundary: arguments, turns, what stands around a call, and the body itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from gate.calling import ROWS, SECRET, enter, fresh, result, told
from pydantic import BaseModel, ConfigDict, ValidationError
from unabridged.gate import (
    NEUTRAL,
    UNDECLARED,
    Entered,
    FollowUpSpec,
    Gate,
    ReadSpec,
    Spec,
    WriteSpec,
    bear,
    gate_of,
    siblings_of,
    spec_named,
)
from unabridged.gate.arguments import json_schema_problems, problems_of, undeclared
from unabridged.gate.around import inside, siblings_around
from unabridged.gate.boundary import arun_body, run_body
from unabridged.gate.turn import known_names

ORDERS = ReadSpec(resource="orders")

# arguments


class Arguments(BaseModel):
    """What a tool takes."""

    model_config = ConfigDict(extra="forbid")
    ids: list[int]
    owner: dict[str, int] = {}


@pytest.mark.parametrize(
    ("sent", "problems"),
    [
        ({}, [("ids", "is required")]),
        ({"ids": SECRET}, [("ids", "is not valid: list_type")]),
        ({"ids": [SECRET, SECRET]}, [("ids", "is not valid: int_parsing")]),
        ({"ids": [1], "owner": {SECRET: SECRET}}, [("owner", "is not valid: int_parsing")]),
        ({"ids": [1], "more": SECRET}, [("more", "is not valid: extra_forbidden")]),
    ],
)
def test_a_schema_tells_fields_and_rules_and_no_value(sent: Any, problems: list[tuple[str, str]]) -> None:
    with pytest.raises(ValidationError) as caught:
        Arguments(**sent)
    assert problems_of(caught.value) == problems


def test_arguments_that_may_not_be_sent_are_told_apart() -> None:
    found = undeclared(["ids", "tenant", "more"], declared={"ids", "tenant"}, fixed={"tenant"})
    assert found == [
        ("tenant", "is set by the author of the tool and cannot be sent"),
        ("more", "is not an argument of this tool"),
    ]


SCHEMA = {
    "properties": {
        "id": {"type": "integer"}, "names": {"type": "array", "items": {"type": "string"}},
        "mode": {"enum": ["a", 1]}, "exact": {"const": True},
        "either": {"anyOf": [{"type": "null"}, {"type": "number"}]},
        "free": {"$ref": "#/x"}, "odd": {"type": ["string", "null"]}, "unknown": {"type": "quantity"}, "flag": {
            "type": "boolean"},
    },
    "required": ["id"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "wrong"),
    [
        ({"id": 1}, []), ({"id": 1.0}, []), ({"id": True}, ["id"]), ({"id": "1"}, ["id"]), ({}, ["id"]),
        ({"id": 1, "names": ["a", 1]}, ["names"]), ({"id": 1, "names": "a"}, ["names"]),
        ({"id": 1, "mode": "a"}, []), ({"id": 1, "mode": True}, ["mode"]), ({"id": 1, "exact": 1}, ["exact"]),
        ({"id": 1, "either": None}, []), ({"id": 1, "either": 1.5}, []), ({"id": 1, "either": "x"}, ["either"]),
        ({"id": 1, "free": object()}, []), ({"id": 1, "odd": None}, []), ({"id": 1, "odd": 1}, ["odd"]),
        ({"id": 1, "unknown": 1}, []), ({"id": 1, "flag": True}, []), ({"id": 1, "flag": 1}, ["flag"]),
        ({"id": 1, "more": 1}, ["more"]),
    ],
)  # fmt: skip
def test_a_json_schema_tells_fields_and_rules(sent: dict[str, Any], wrong: list[str]) -> None:
    assert [field for field, _ in json_schema_problems(SCHEMA, sent)] == wrong


def test_a_schema_that_takes_anything_does() -> None:
    assert json_schema_problems({"additionalProperties": True}, {"more": 1}) == []
    assert json_schema_problems(SCHEMA, {"config": 1}, given={"config", "id"}) == []


# which tools are known


class Carrier:
    """Something that carries a gate."""


def test_only_what_bears_a_gate_carries_one() -> None:
    carrier, copied = Carrier(), Carrier()
    gate = Gate("borne", ORDERS)
    bear(carrier, gate)
    copied.__dict__.update(carrier.__dict__)
    assert gate_of(carrier) is gate
    assert gate_of(copied) is None
    assert gate_of([]) is None
    assert "borne" in known_names()


def test_a_tool_that_is_gone_is_known_no_more() -> None:
    carrier = Carrier()
    bear(carrier, Gate("gone", ORDERS))
    del carrier
    assert spec_named("gone") == UNDECLARED
    assert "gone" not in known_names()


@pytest.mark.parametrize(
    ("specs", "strictest"),
    [
        ([], UNDECLARED),
        ([ORDERS], ORDERS),
        ([ORDERS, ORDERS], ORDERS),
        ([NEUTRAL, ORDERS], ORDERS),
        ([NEUTRAL, FollowUpSpec()], FollowUpSpec()),
        ([ORDERS, ReadSpec(resource="owners")], UNDECLARED),
        ([NEUTRAL, UNDECLARED], UNDECLARED),
    ],
)
def test_of_tools_with_one_name_the_strictest_holds(specs: list[Spec], strictest: Spec) -> None:
    carriers = [Carrier() for _ in specs]
    for carrier, spec in zip(carriers, specs, strict=True):
        bear(carrier, Gate("shared", spec))
    assert spec_named("shared") == strictest


CALLS = [
    {"name": "list", "args": {"a": 1}, "id": "c1"},
    {"name": "list", "args": {"a": 2}, "id": "c2"},
    {"name": "archive", "args": None, "id": "c2"},
]


@pytest.mark.parametrize(
    ("which", "others"),
    [
        ({"call_id": "c1", "name": "list"}, [("list", {"a": 2}), ("archive", {})]),
        ({"call_id": "c2", "name": "archive"}, [("list", {"a": 1}), ("list", {"a": 2})]),
        ({"call_id": "c9", "name": "list"}, [("list", {"a": 1}), ("list", {"a": 2}), ("archive", {})]),
        ({"call_id": None, "name": "list", "args": {"a": 2}}, [("list", {"a": 1}), ("archive", {})]),
        ({"call_id": None, "name": "list"}, [("list", {"a": 2}), ("archive", {})]),
    ],
)
def test_the_other_calls_of_a_turn_are_all_but_the_call_itself(which: dict[str, Any], others: Any) -> None:
    assert siblings_of(CALLS, **which) == others


def test_what_stands_around_a_call_is_known_inside_it_only() -> None:
    assert siblings_around() == ()
    with inside([("list", {})]):
        assert siblings_around() == (("list", {}),)
        with inside([("list", {}), ("get", {})]):
            assert len(siblings_around()) == 2
        assert siblings_around() == (("list", {}),)
    assert siblings_around() == ()


# the body


class Paused(Exception):
    """What a framework raises to ask a person."""


def outcome(spec: Spec, error: BaseException | None, *, is_async: bool, **kinds: Any) -> tuple[Any, Any]:
    """Runs a body that raises, or returns rows, and returns the reply and the session."""
    s = fresh()
    gate = Gate("tool", spec)
    entered = enter(spec, session=s)
    assert isinstance(entered, Entered)

    def body() -> Any:
        if error is not None:
            raise error
        return result(ROWS)

    async def abody() -> Any:
        return body()

    if is_async:
        return asyncio.run(arun_body(gate, entered, abody, **kinds)), s
    return run_body(gate, entered, body, **kinds), s


@pytest.mark.parametrize("is_async", [False, True])
def test_a_body_that_returns_is_recorded(is_async: bool) -> None:
    reply, s = outcome(ORDERS, None, is_async=is_async)
    assert told(reply)["status"] == "complete"
    assert len(s.reads) == 1


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("spec", [ORDERS, WriteSpec(), NEUTRAL, UNDECLARED], ids=lambda s: s.effect)
def test_an_error_of_a_body_is_a_reply_without_its_text(spec: Spec, is_async: bool) -> None:
    reply, _ = outcome(spec, ValueError(SECRET), is_async=is_async)
    assert reply.is_error
    assert SECRET not in reply.content + str(reply.artifact) + repr(reply)


@pytest.mark.parametrize("is_async", [False, True])
def test_an_interruption_passes_and_takes_the_read_back(is_async: bool) -> None:
    with pytest.raises(Paused):
        outcome(ORDERS, Paused(), is_async=is_async, interrupts=(Paused,))


@pytest.mark.parametrize("is_async", [False, True])
def test_an_error_that_the_framework_handles_passes_from_a_write_and_not_from_a_read(is_async: bool) -> None:
    with pytest.raises(Paused):
        outcome(WriteSpec(), Paused(), is_async=is_async, handled=(Paused,))
    reply, s = outcome(ORDERS, Paused(), is_async=is_async, handled=(Paused,))
    assert reply.is_error
    assert [r.status for r in s.reads] == ["unavailable"]


def test_a_body_that_is_broken_off_leaves_an_unavailable_read() -> None:
    s = fresh()
    entered = enter(ORDERS, session=s)
    assert isinstance(entered, Entered)

    def body() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_body(Gate("tool", ORDERS), entered, body)
    assert [(r.status, r.reasons[0].detail) for r in s.reads] == [("unavailable", "cancelled")]
