"""What an action may declare, and what is refused when it is declared."""

from __future__ import annotations

import datetime as dt
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, Union
from uuid import UUID

import pytest
from actions.kit import Archive, Id, archive
from pydantic import (
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    RootModel,
    SecretStr,
    StringConstraints,
    create_model,
)
from typing_extensions import TypeAliasType, TypedDict
from unabridged.actions import Action, Command, Grants, Sensitivity
from unabridged.contract import InvalidInput

ANCHORED = "^[a-z]{1,9}$"
T = TypeVar("T")


class InPython(BaseModel):
    """Its patterns are Python's own, whose `$` lets a line break follow."""

    model_config = ConfigDict(regex_engine="python-re")
    note: Annotated[str, Field(pattern=ANCHORED, max_length=9), Sensitivity("public")]


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 0


class Free(BaseModel):
    note: str


class Deep(BaseModel):
    inner: list[Free] = Field(max_length=2)


class Tree(BaseModel):
    children: Annotated[list[Tree], Field(max_length=2)] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Box(BaseModel, Generic[T]):
    content: T


class Colour(Enum):
    RED = "red"


class Catches(Enum):
    RED = "red"

    @classmethod
    def _missing_(cls, value: object) -> Catches:
        del value
        return cls.RED


class Typed(TypedDict):
    a: int


@dataclass
class Plain:
    a: int


class Texts(RootModel[list[str]]):
    pass


Endless = TypeAliasType("Endless", "Annotated[list[Endless], Field(max_length=2)]")  # type: ignore[misc]

OPEN = {
    "list of itself": Endless,
    "JSON": JsonValue,
    "text": str,
    "text in Optional": Optional[str],  # noqa: UP045 - the older spellings too
    "text in Union": Union[int, str],  # noqa: UP007
    "text by alternatives": int | str,
    "text without a length": Annotated[str, Field(pattern=ANCHORED), Sensitivity("public")],
    "text without a pattern": Annotated[str, Field(max_length=9), Sensitivity("public")],
    "text without a sensitivity": Annotated[str, Field(pattern=ANCHORED, max_length=9)],
    "text of any length": Annotated[str, Field(pattern=ANCHORED, max_length=10**6), Sensitivity("public")],
    "a pattern without a start": Annotated[str, Field(pattern="[a-z]+$", max_length=9), Sensitivity("public")],
    "a pattern without an end": Annotated[str, Field(pattern="^[a-z]+", max_length=9), Sensitivity("public")],
    "a pattern with an open half": Annotated[str, Field(pattern="^a$|b", max_length=9), Sensitivity("public")],
    "a pattern whose start is optional": Annotated[str, Field(pattern="^?a$", max_length=9), Sensitivity("public")],
    "a pattern whose end is a dollar": Annotated[str, Field(pattern=r"^a\$", max_length=9), Sensitivity("public")],
    "a pattern by lines": Annotated[str, Field(pattern="(?m)^a$", max_length=9), Sensitivity("public")],
    "a pattern of any line": Annotated[str, Field(pattern="^.*$", max_length=9), Sensitivity("public")],
    "a pattern of any short line": Annotated[str, Field(pattern="^.{3,40}$", max_length=40), Sensitivity("public")],
    "a pattern of everything": Annotated[str, Field(pattern=r"^[\s\S]*$", max_length=9), Sensitivity("public")],
    "a compiled pattern up to a line": Annotated[
        str, Field(pattern=re.compile("^[a-z]+$"), max_length=9), Sensitivity("public")
    ],
    "a compiled pattern by lines": Annotated[
        str, Field(pattern=re.compile(r"^[a-z]+\Z", re.MULTILINE), max_length=9), Sensitivity("public")
    ],
    "a compiled pattern whose end is a comment": Annotated[
        str, Field(pattern=re.compile(r"^[a-z]+ # \Z", re.VERBOSE), max_length=9), Sensitivity("public")
    ],
    "a model whose patterns are Python's": InPython,
    "dict": dict,
    "dict of anything": dict[str, Any],
    "dict with free keys": dict[str, int],
    "dict without a length": dict[Literal["a", "b"], int],
    "Any": Any,
    "object": object,
    "list": list,
    "list without a length": list[int],
    "list of free text": Annotated[list[str], Field(max_length=3)],
    "tuple of any length": tuple[int, ...],
    "tuple with free text": tuple[int, str],
    "set without a length": set[int],
    "frozenset without a length": frozenset[int],
    "list of a list without a length": Annotated[list[list[int]], Field(max_length=3)],
    "model that allows extras": Loose,
    "model with free text": Free,
    "model with free text, deeper": Deep,
    "model that holds itself": Tree,
    "one of two models with free text": Annotated[Cat | Dog, Field(discriminator="kind")],
    "generic model with free text": Box[str],
    "root model of free text": Texts,
    "TypedDict": Typed,
    "dataclass": Plain,
    "bytes": bytes,
    "SecretStr": SecretStr,
    "URL": AnyUrl,
    "address": IPv4Address,
    "path": Path,
    "function": Callable[[], None],
    "decimal without digits": Decimal,
    "enum that takes anything": Catches,
}
CLOSED = {
    "true or false": bool,
    "integer": int,
    "number": float,
    "date": dt.date,
    "time": dt.datetime,
    "uuid": UUID,
    "choice": Literal["a", "b"],
    "enum": Colour,
    "text": Annotated[str, Field(pattern=ANCHORED, max_length=9), Sensitivity("personal")],
    "text, the marks in another order": Annotated[
        str, Sensitivity("personal"), StringConstraints(pattern=ANCHORED, max_length=9)
    ],
    "text by two whole alternatives": Annotated[
        str, Field(pattern="^a$|^(b|[|])$", max_length=9), Sensitivity("public")
    ],
    "text by a compiled pattern": Annotated[
        str, Field(pattern=re.compile(r"^[a-z]+\Z"), max_length=9), Sensitivity("public")
    ],
    "text by a group": Annotated[str, Field(pattern="(?:^a$|^b$)", max_length=9), Sensitivity("public")],
    "text of printable ASCII": Annotated[str, Field(pattern="^[ -~]*$", max_length=9), Sensitivity("personal")],
    "text or nothing": Annotated[str | None, Field(pattern=ANCHORED, max_length=9), Sensitivity("public")],
    "decimal": Annotated[Decimal, Field(max_digits=9, decimal_places=2)],
    "list": Annotated[list[int], Field(max_length=3)],
    "list under one sensitivity": Annotated[
        list[Annotated[str, Field(pattern=ANCHORED, max_length=9)]], Field(max_length=3), Sensitivity("internal")
    ],
    "pair": tuple[int, Id],
    "set": Annotated[frozenset[Literal["a", "b"]], Field(max_length=2)],
    "dict by closed keys": Annotated[dict[Literal["a", "b"], int], Field(max_length=2)],
    "model": Cat,
    "generic model": Box[int],
}


def takes(kind: Any) -> type[BaseModel]:
    return create_model("Given", tenant=(Id, ...), field=(kind, ...))


def declared(**changes: Any) -> Action:
    return archive(**{"targets": None, "max_targets": 1, **changes})


@pytest.mark.parametrize("kind", OPEN.values(), ids=list(OPEN))
@pytest.mark.parametrize("side", ["input", "output"])
def test_a_field_that_could_carry_anything_is_refused_on_both_sides(side: str, kind: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        declared(**{side: takes(kind)})
    assert caught.value.field.startswith(f"{side}.field")
    assert caught.value.rule


WRAPPED: dict[str, Callable[[Any], Any]] = {
    "or nothing": lambda kind: Optional[kind],  # noqa: UP045
    "in a list": lambda kind: Annotated[list[kind], Field(max_length=3)],  # type: ignore[valid-type]
    "in a pair": lambda kind: tuple[int, kind],  # type: ignore[valid-type]
    "in a generic model": lambda kind: Box[kind],  # type: ignore[valid-type]
    "by key": lambda kind: Annotated[dict[Literal["a"], kind], Field(max_length=1)],  # type: ignore[valid-type]
    "with a default": lambda kind: Annotated[kind, Field(default=None)],
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=list(WRAPPED))
@pytest.mark.parametrize("kind", OPEN.values(), ids=list(OPEN))
def test_nothing_hides_a_field_that_could_carry_anything(kind: Any, wrap: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        declared(input=create_model("Given", tenant=(Id, ...), field=(wrap(kind), None)))
    assert caught.value.field.startswith("input.field")


@pytest.mark.parametrize("kind", CLOSED.values(), ids=list(CLOSED))
@pytest.mark.parametrize("side", ["input", "output"])
def test_a_field_of_a_closed_form_is_no_reason_to_refuse(side: str, kind: Any) -> None:
    assert declared(**{side: takes(kind)})


@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize("model", [Loose, Texts, dict, "Archive"])
def test_only_a_model_of_named_fields_is_an_input_or_an_output(side: str, model: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        declared(**{side: model})
    assert caught.value.field.startswith(side)


def test_a_field_has_one_name() -> None:
    with pytest.raises(InvalidInput) as caught:
        declared(input=create_model("Aliased", tenant=(Id, Field(alias="t"))))
    assert (caught.value.field, "alias" in caught.value.rule) == ("input.tenant", True)


def test_a_model_whose_types_are_not_defined_is_refused_by_name() -> None:
    class Later(BaseModel):
        field: NotThere  # type: ignore[name-defined] # noqa: F821 - this is the point

    with pytest.raises(InvalidInput) as caught:
        declared(input=Later)
    assert caught.value.field == "input"


def test_a_secret_is_nothing_that_an_agent_learns() -> None:
    text = Annotated[str, Field(pattern=ANCHORED, max_length=9), Sensitivity("secret")]
    assert declared(input=takes(text))
    with pytest.raises(InvalidInput):
        declared(output=takes(text))


@pytest.mark.parametrize("effect", ["change", "send", "destroy"])
def test_a_write_without_targets_says_how_many_it_may_touch(effect: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        archive(effect=effect, targets=None)
    assert caught.value.field == "max_targets"
    assert archive(effect=effect, targets=None, max_targets=3).most_targets == 3


@pytest.mark.parametrize("effect", ["read", "draft"])
def test_what_changes_nothing_needs_no_bound(effect: str) -> None:
    assert archive(effect=effect, targets=None).most_targets is None


def test_what_only_looks_or_drafts_relies_on_nothing_unless_it_says_so() -> None:
    assert archive(effect="draft").independent
    assert archive(effect="read").independent
    assert archive(effect="draft", relies_on=["accounts"]).independent is None
    assert archive(effect="read", question=True).independent is None
    assert archive().independent is None
    assert archive(effect="send").independent is None


def test_the_bound_of_a_write_with_targets_is_that_of_its_field() -> None:
    assert archive().most_targets == 6
    assert archive(max_targets=2).most_targets == 2


def test_what_destroys_cannot_be_taken_back() -> None:
    assert archive(effect="destroy").destructive
    assert not archive().destructive


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("name", {"name": "two words"}),
        ("purpose", {"purpose": ""}),
        ("purpose", {"purpose": "two\nlines"}),
        ("verb", {"verb": "Archive it"}),
        ("effect", {"effect": "explode"}),
        ("errors", {"errors": ["Not A Code"]}),
        ("errors", {"errors": ["timeout"]}),
        ("errors", {"errors": "closed"}),
        ("never", {"never": ["tenant"]}),
        ("never", {"never": ["archived"]}),
        ("show", {"show": ["email"]}),
        ("show", {"show": "tenant"}),
        ("targets", {"targets": "nothing"}),
        ("targets", {"targets": "low", "references": {"low": "account"}}),
        ("selection", {"targets": None, "max_targets": 1, "selection": "tenant"}),
        ("recheck", {"targets": None, "max_targets": 1, "recheck": bool}),
        ("independent", {"independent": "because", "relies_on": ["accounts"]}),
        ("independent", {"independent": " "}),
        ("approval", {"approval": "sometimes"}),
        ("max_targets", {"max_targets": 0}),
        ("question", {"question": True}),
        ("rules", {"rules": ["No Name"]}),
        ("executor", {"executor": 5}),
        ("executor", {"executor": lambda **everything: everything}),
        ("executor", {"executor": lambda *everything: everything}),
        ("executor", {"executor": lambda: None}),
        ("executor", {"executor": lambda command, other: (command, other)}),
        ("authorize", {"authorize": "everyone"}),
        ("input", {"references": {"account": "account"}}),
    ],
)
def test_a_declaration_that_breaks_a_rule_is_refused_by_field(field: str, changes: dict[str, Any]) -> None:
    known = archive()
    given = {
        name: getattr(known, name)
        for name in ("purpose", "verb", "effect", "input", "output", "executor", "targets", "authorize")
    }
    name = changes.pop("name", "archive_accounts")
    with pytest.raises(InvalidInput) as caught:
        Action(name, **{**given, **changes})
    assert caught.value.field == field


def test_what_never_crosses_is_found_below_the_top_too() -> None:
    with pytest.raises(InvalidInput) as caught:
        declared(input=takes(Box[Cat]), never=["lives"])
    assert caught.value.field == "never"


def test_a_secret_and_a_token_stand_on_no_card() -> None:
    text = Annotated[str, Field(pattern=ANCHORED, max_length=9), Sensitivity("secret")]
    with pytest.raises(InvalidInput):
        declared(input=takes(text), show=["field"])
    with pytest.raises(InvalidInput):
        declared(input=takes(str), references={"field": "account"}, show=["field"])


def test_a_field_that_takes_a_token_needs_no_pattern_and_only_the_declared_one_is_spared() -> None:
    assert declared(input=takes(str), references={"field": "account"})
    with pytest.raises(InvalidInput):
        declared(input=create_model("Given", field=(str, ...), other=(str, ...)), references={"field": "account"})


def test_a_question_is_an_action_that_reads() -> None:
    assert archive(effect="read", question=True, targets=None).question


def test_an_action_and_its_command_are_not_pickled_and_show_no_value() -> None:
    command = Command(action="a", fields={"x": "SENTINEL"}, target="SENTINEL", idempotency_key="SENTINEL")
    assert "SENTINEL" not in repr(command)
    for value in (archive(), command):
        with pytest.raises(TypeError):
            pickle.dumps(value)
    assert Command.from_message(command.to_message()) == command


def test_an_action_without_output_tells_only_that_it_was_done() -> None:
    assert archive(output=None).reducer is None


def test_the_data_map_names_what_crosses_each_way() -> None:
    found = archive(lookups=["address from the CRM"], never=["iban"], show=["reason"], errors=["frozen"]).data_map()
    given = {f["field"]: f for f in found["given"]}
    assert given["tenant"] == {
        "field": "tenant",
        "type": "text",
        "bounds": {"max_length": 20, "pattern": "^[a-z0-9-]{1,20}$"},
        "sensitivity": "internal",
        "required": True,
    }
    assert given["account_ids"]["bounds"] == {"max_length": 6}
    assert given["reason"]["bounds"] == {"one_of": ["duplicate", "left"]}
    assert not given["low"]["required"]
    assert [f["field"] for f in found["learned"]] == ["archived", "state"]
    assert (found["lookups"], found["never"], found["shown_for_approval"]) == (
        ["address from the CRM"],
        ["iban"],
        ["reason"],
    )
    assert found["executor"] == {"kind": "script", "origin": "nowhere", "idempotent": False}
    assert "frozen" in found["errors"]
    assert archive(authorize=None).data_map()["authority"] == "nobody may start it"


def test_grants_are_declared_by_known_effects() -> None:
    with pytest.raises(InvalidInput):
        Grants(anyone=["everything"])  # type: ignore[list-item]
    with pytest.raises(InvalidInput):
        Grants(anyone="change")  # type: ignore[arg-type]
    assert Archive.model_fields
