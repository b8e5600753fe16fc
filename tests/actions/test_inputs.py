"""Strict input: taken as declared or refused, and the refusal names fields and rules."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from actions.kit import SENTINEL, Archive, Id, Provider, admitted, archive, opened
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from unabridged.actions import Action, Admitted, InvalidRequest, Rejected

GOOD = {"tenant": "t1", "account_ids": ["a1", "a2"]}


class Colour(Enum):
    RED = "red"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    age: int


class Kinds(BaseModel):
    day: dt.date = dt.date(2026, 1, 1)
    at: dt.datetime | None = None
    id: UUID | None = None
    colour: Colour = Colour.RED
    count: int = 0
    share: float = 0.0
    price: Annotated[Decimal, Field(max_digits=9)] = Decimal(1)
    yes: bool = False
    some: Annotated[list[Annotated[int, Field(le=9)]], Field(max_length=3)] = []
    names: Annotated[frozenset[Literal["a", "b", "c"]], Field(max_length=3)] = frozenset()
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None


def kinds(**changes: Any) -> Action:
    return archive(**{"effect": "read", "input": Kinds, "targets": None, "output": None, **changes})


def rules(action: Action, args: Any) -> dict[str, str]:
    found = action.admit(args, session=None)
    assert isinstance(found, Rejected), found
    assert found.error == "invalid_request"
    return dict(found.all_problems)


def test_an_unexpected_and_a_misspelled_field_are_refused_by_name_and_nothing_runs() -> None:
    provider = Provider()
    found = archive(provider).admit({"tennant": "t1", "account_ids": ["a1"], "email": SENTINEL}, session=None)
    assert isinstance(found, Rejected)
    assert found.document()["error"] == "invalid_request"
    assert {"field": "tennant", "rule": "is not a field of this action"} in found.document()["problems"]
    assert {"field": "email", "rule": "is not a field of this action"} in found.document()["problems"]
    assert {"field": "tenant", "rule": "is required"} in found.document()["problems"]
    assert SENTINEL not in str(found.document()) + repr(found)
    assert provider.commands == []


@pytest.mark.parametrize(
    "name", ["SENT@example.org", "4711", "two words", "", "x" * 41, "name\n", "ä", "a.b", "a-b", "a[0]", 4711, None]
)
def test_an_unexpected_name_that_does_not_look_like_one_is_only_counted(name: Any) -> None:
    found = archive().admit({**GOOD, name: 1, "also bad": 2}, session=None)
    assert isinstance(found, Rejected)
    assert found.problems == ()
    assert found.unnamed == 2
    assert found.document()["problems"] == [
        {"field": "request", "rule": "holds 2 fields that this action does not have"}
    ]


def test_a_field_below_the_top_is_named_with_its_way_and_an_unknown_one_there_is_refused() -> None:
    assert rules(kinds(), {"pet": {"kind": "cat", "lives": "nine"}}) == {"pet.lives": "must be an integer"}
    assert rules(kinds(), {"pet": {"kind": "cat", "lives": 9, "email": SENTINEL}}) == {
        "pet.email": "is not a field of this action"
    }
    assert rules(kinds(), {"pet": {"kind": "cat", "lives": 9, "SENT@example.org": 1}}) == {
        "request": "holds a field that this action does not have"
    }
    assert rules(kinds(), {"some": [1, 10, "x"]}) == {"some[1]": "must be at most 9", "some[2]": "must be an integer"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("day", "2026-11-30"),
        ("day", dt.date(2026, 11, 30)),
        ("at", "2026-11-30T10:00:00Z"),
        ("at", dt.datetime(2026, 11, 30, tzinfo=dt.UTC)),
        ("id", "12345678-1234-5678-1234-567812345678"),
        ("id", UUID(int=5)),
        ("colour", "red"),
        ("colour", Colour.RED),
        ("count", 3),
        ("count", 3.0),
        ("share", 1),
        ("share", 0.5),
        ("price", "1.50"),
        ("price", 2),
        ("price", Decimal("1.5")),
        ("some", [1, 2]),
        ("some", (1, 2)),
        ("names", ["a", "b"]),
        ("names", frozenset({"a"})),
        ("pet", {"kind": "dog", "age": 3}),
        ("pet", Dog(kind="dog", age=3)),
        ("at", None),
    ],
)
def test_what_json_can_say_of_a_type_is_taken(field: str, value: Any) -> None:
    assert kinds().request(**{field: value}).args


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("count", "3", "must be an integer"),
        ("count", 3.5, "must be an integer"),
        ("count", True, "must be an integer"),
        ("count", 2**63, "must be an integer of 64 bits"),
        ("count", None, "must be an integer"),
        ("share", "0.5", "must be a number"),
        ("share", float("nan"), "must be a finite number"),
        ("share", float("inf"), "must be a finite number"),
        ("yes", 1, "must be true or false"),
        ("yes", "true", "must be true or false"),
        ("day", 5, "must be a date, YYYY-MM-DD"),
        ("day", "30.11.2026", "must be a date, YYYY-MM-DD"),
        ("colour", "blue", "must be one of its choices"),
        ("some", "123", "must be a list"),
        ("some", {"0": 1}, "must be a list"),
        ("some", [1, 2, 3, 4], "must have 3 entries at most"),
        ("names", ["d"], "must be one of its choices"),
        ("id", b"\x00" * 16, "must be made of JSON values"),
        ("count", object(), "must be made of JSON values"),
        ("pet", {1: 2}, "must have texts as names"),
    ],
)
def test_nothing_is_coerced(field: str, value: Any, rule: str) -> None:
    found = rules(kinds(), {field: value})
    assert list(found.values()) == [rule]
    assert next(iter(found)).startswith(field)


@pytest.mark.parametrize("value", ["\ud800", "a\x00b", "a" * 21, "A", ["a1"], 5, {"a": 1}, "a1\n"])
def test_a_text_is_held_to_its_pattern_and_length(value: Any) -> None:
    assert list(rules(archive(), {**GOOD, "tenant": value})) == ["tenant"]


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Choice(BaseModel):
    sure: Literal[True] = True
    level: Level = Level.LOW


class Choices(Choice):
    below: Annotated[list[Choice], Field(max_length=3)] = []
    many: Annotated[frozenset[Level], Field(max_length=3)] = frozenset()
    keyed: Annotated[dict[Literal["a"], Literal[1, 2]], Field(max_length=1)] = {}
    either: int | Literal[True] = 0


@pytest.mark.parametrize(
    ("sent", "where"),
    [
        ({"sure": 1}, "sure"),
        ({"level": True}, "level"),
        ({"below": [{"sure": True}, {"level": True}]}, "below[1].level"),
        ({"many": [2, True]}, "many"),
        ({"keyed": {"a": True}}, "keyed"),
    ],
)
def test_true_is_no_choice_of_one_and_one_is_none_of_true(sent: dict[str, Any], where: str) -> None:
    assert rules(kinds(input=Choices), sent) == {where: "must be one of its choices"}


@pytest.mark.parametrize(
    "sent", [{"sure": True, "level": 1}, {"many": [1, 2]}, {"keyed": {"a": 1}}, {"either": True}, {"either": 1}]
)
def test_a_choice_of_the_declared_type_is_taken(sent: dict[str, Any]) -> None:
    assert isinstance(kinds(input=Choices, authorize=lambda *_: True).admit(sent, session=None), Admitted)


def test_what_nests_without_end_is_refused() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    assert rules(kinds(), {"some": deep}) == {"some": "must not be nested that deep"}
    deep = []
    deep += [deep, deep, {"a": deep, "b": deep}]
    assert rules(kinds(), {"some": deep}) == {"some": "must not be nested that deep"}


@pytest.mark.parametrize("args", [None, [("tenant", "t1")], "tenant", 5])
def test_what_is_no_object_is_no_request(args: Any) -> None:
    assert rules(archive(), args) == {"request": "must be an object"}


def test_a_rule_across_fields_is_told_by_its_name() -> None:
    assert rules(archive(), {**GOOD, "low": 5, "high": 1}) == {"request": "breaks the rule low_le_high"}
    assert rules(archive(), {**GOOD, "low": SENTINEL}) == {"low": "must be an integer"}


class Ruled(BaseModel):
    tenant: Id
    count: int = 0

    @model_validator(mode="after")
    def is_sound(self) -> Ruled:
        match self.count:
            case 1:
                raise PydanticCustomError("low_le_high", "{value}", {"value": self.tenant})
            case 2:
                raise PydanticCustomError(self.tenant.replace("-", "_"), "of the value")  # type: ignore[arg-type]
            case 3:
                raise RuntimeError(self.tenant)
            case 4:
                assert not self.tenant, self.tenant
            case 5:
                check(self.tenant)
        return self


def check(value: str) -> None:
    raise ValueError(value)


@pytest.mark.parametrize(
    ("count", "rule"),
    [
        (1, "breaks the rule low_le_high"),
        (2, "breaks a rule"),
        (3, "could not be checked"),
        (4, "breaks the rule is_sound"),
        (5, "breaks the rule is_sound"),
    ],
)
def test_a_rule_has_a_declared_name_or_none(count: int, rule: str) -> None:
    action = archive(input=Ruled, targets=None, max_targets=1, rules=["low_le_high"])
    assert rules(action, {"tenant": "sentinel", "count": count}) == {"request": rule}


class Numbers(BaseModel):
    count: Annotated[int, Field(le=99)]

    @model_validator(mode="after")
    def is_sound(self) -> Numbers:
        raise PydanticCustomError("less_than_equal", "{le}", {"le": self.count})


def test_a_limit_that_was_not_declared_is_not_told_although_a_validator_says_it() -> None:
    action = archive(input=Numbers, targets=None, max_targets=1)
    assert rules(action, {"count": 47}) == {"request": "is not valid: less_than_equal"}
    assert rules(action, {"count": 100}) == {"count": "must be at most 99"}


def test_what_is_wrong_with_very_much_is_told_in_part_and_counted() -> None:
    found = archive().admit({**GOOD, **{f"f{n}": n for n in range(1_000)}}, session=None)
    assert isinstance(found, Rejected)
    assert len(found.document()["problems"]) == 21
    assert found.document()["problems"][-1] == {"field": "request", "rule": "breaks 980 rules more"}


def test_a_name_that_was_not_declared_is_not_told_although_a_validator_says_it() -> None:
    action = archive(input=Ruled, targets=None, max_targets=1)
    assert rules(action, {"tenant": "sentinel", "count": 1}) == {"request": "breaks a rule"}


class Forbids(Archive):
    model_config = ConfigDict(extra="forbid")


@pytest.mark.parametrize("model", [Archive, Forbids])
def test_a_model_need_not_forbid_extras_itself(model: type[BaseModel]) -> None:
    assert rules(archive(input=model), {**GOOD, "extra": 1}) == {"extra": "is not a field of this action"}


@pytest.mark.parametrize("name", ["state", "runtime", "session", "principal", "config"])
def test_what_a_framework_gives_is_not_the_models_to_give(name: str) -> None:
    assert rules(archive(), {**GOOD, name: {"principal": SENTINEL}}) == {name: "is not a field of this action"}


def test_a_request_is_made_of_named_fields() -> None:
    assert archive().request(**GOOD).args == {
        "tenant": "t1",
        "account_ids": ["a1", "a2"],
        "reason": "left",
        "low": 0,
        "high": 9,
    }


def test_a_mapping_is_not_passed_on_whole() -> None:
    with pytest.raises(InvalidRequest, match="named fields"):
        archive().request(GOOD)
    with pytest.raises(InvalidRequest, match="email"):
        archive().request(**GOOD, email=SENTINEL)


def test_a_field_may_be_named_like_anything() -> None:
    class Odd(BaseModel):
        whole: int
        named: int
        args: int

    action = archive(effect="read", input=Odd, targets=None)
    assert action.request(whole=1, named=2, args=3).args == {"whole": 1, "named": 2, "args": 3}


def test_a_request_is_one_of_its_action() -> None:
    request = archive().request(**GOOD)
    other = Action(
        "other", purpose="Is another.", verb="archive", effect="change", input=Archive, executor=Provider(),
        targets="account_ids",
    )  # fmt: skip
    assert rules(other, request) == {"request": "is one of another action"}
    with opened() as s:
        assert admitted(archive(), request, s).args["tenant"] == "t1"  # type: ignore[arg-type]


@pytest.mark.parametrize("ids", [[], None])
def test_a_list_without_targets_is_refused_since_to_many_tools_it_means_everything(ids: Any) -> None:
    assert "account_ids" in rules(archive(), {**GOOD, "account_ids": ids})


def test_targets_may_be_left_to_a_selection() -> None:
    class Selects(BaseModel):
        account_ids: Annotated[list[Id], Field(max_length=3)] | None = None
        selection: str | None = None

    action = archive(input=Selects, selection="selection")
    with opened() as s:
        assert admitted(action, {"selection": "sel_" + "a" * 22}, s).args["account_ids"] is None
    assert rules(action, {}) == {"account_ids": "must name at least one"}
    assert rules(action, {"selection": "sel_x", "account_ids": []}) == {"account_ids": "must name at least one"}


def test_more_targets_than_the_bound_are_refused() -> None:
    assert rules(archive(max_targets=1), GOOD) == {"account_ids": "must have 1 entries at most"}


def test_keys_are_texts_whatever_they_were() -> None:
    class Counts(BaseModel):
        by_year: Annotated[dict[int, int], Field(max_length=3)]

    action = archive(input=Counts, targets=None, max_targets=1)
    with opened() as s:
        found = admitted(action, {"by_year": {"2026": 1}}, s)
        assert found.args == {"by_year": {"2026": 1}}
        assert action.perform(found, session=s).status == "done"


def test_equal_requests_are_equal_in_whatever_order_they_came() -> None:
    left = kinds().request(names=["a", "b", "c"], some=[1])
    right = kinds().request(some=[1.0], names=["c", "a", "b"])
    assert left.args == right.args
