"""What an agent learns: the declared fields and nothing else."""

from __future__ import annotations

import datetime as dt
import json
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from actions.kit import SENTINEL, Archived, Id, Provider, admitted, archive, frames, opened, raised
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, computed_field, model_serializer
from unabridged.actions import ExecutorError, Output

GOOD = {"tenant": "t1", "account_ids": ["a1"]}


class Line(BaseModel):
    sku: Id
    count: int


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: UUID
    placed: dt.date
    state: Literal["open", "closed"] = "open"
    lines: Annotated[list[Line], Field(max_length=3)] = []
    first: Line | None = None


RAW = {
    "id": "12345678-1234-5678-1234-567812345678",
    "placed": "2026-11-30",
    "state": "closed",
    "lines": [{"sku": "s1", "count": 1}],
    "first": {"sku": "s1", "count": 1},
}


def test_a_declared_document_passes_as_it_is() -> None:
    assert Output(Order).reduce(RAW) == RAW


def test_a_new_field_is_dropped_at_the_top_and_below_also_where_the_model_forbids_others() -> None:
    raw = {
        **RAW,
        "note": SENTINEL,
        "customer": {"email": SENTINEL},
        "lines": [{"sku": "s1", "count": 1, "note": SENTINEL, "more": {"deep": [SENTINEL]}}],
        "first": {"sku": "s1", "count": 1, SENTINEL: SENTINEL},
    }
    assert Output(Order).reduce(raw) == RAW


class Client:
    """An object of a provider's client, which nobody declared."""

    def __repr__(self) -> str:
        return SENTINEL

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(SENTINEL)


def test_what_has_no_json_form_is_dropped_where_it_was_not_declared_and_refused_where_it_was() -> None:
    raw = {**RAW, "client": Client(), "lines": [{"sku": "s1", "count": 1, "raw": b"\x00", "client": Client()}]}
    assert Output(Order).reduce(raw) == RAW
    with pytest.raises(ExecutorError):
        Output(Order).reduce({**RAW, "first": Client()})
    with pytest.raises(ExecutorError):
        Output(Order).reduce({**RAW, "placed": Client()})


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        [RAW],
        "text",
        5,
        {},
        {**RAW, "id": SENTINEL},
        {**RAW, "state": SENTINEL},
        {**RAW, "placed": 5},
        {**RAW, "lines": [{"sku": SENTINEL, "count": 1}]},
        {**RAW, "lines": [{"sku": "s1"}]},
        {**RAW, "lines": [{"sku": "s1", "count": "1"}]},
        {**RAW, "lines": [{"sku": "s1", "count": float("nan")}]},
        {**RAW, "lines": [{"sku": "s1", "count": 1}] * 4},
        {**RAW, "first": [SENTINEL]},
        pytest.param(Client, id="client"),
    ],
)
def test_a_document_of_another_form_is_an_invalid_response_and_shows_no_value(raw: Any) -> None:
    output = Output(Order)
    error = raised(lambda: output.reduce(raw() if raw is Client else raw))
    assert isinstance(error, ExecutorError)
    assert error.code == "provider_invalid_response"
    assert error.__context__ is None
    seen = [text for name, text in frames(error)]
    assert SENTINEL not in f"{error!r}{error}{seen}"


class Talks(BaseModel):
    archived: bool

    @computed_field  # type: ignore[prop-decorator] # as pydantic's own documentation has it
    @property
    def whole(self) -> str:
        return SENTINEL

    @model_serializer
    def said(self) -> dict[str, Any]:
        return {"archived": self.archived, "note": SENTINEL}


def test_a_model_that_computes_or_writes_itself_says_no_more_than_its_fields() -> None:
    assert Output(Talks).reduce({"archived": True}) == {"archived": True}


class Same(BaseModel):
    archived: bool
    note: str = SENTINEL


def test_a_model_of_the_providers_client_is_reduced_too() -> None:
    assert Output(Archived).reduce(Same(archived=True)) == {"archived": True, "state": None}


def test_a_new_field_upstream_does_not_reach_the_agent_through_an_action() -> None:
    action = archive(Provider({"a1": {"archived": True, "note": SENTINEL, "more": {"note": [SENTINEL]}}}))
    with opened() as s:
        outcome = action.perform(admitted(action, GOOD, s), session=s)
    assert outcome.document()["targets"] == [
        {"target": "a1", "status": "done", "output": {"archived": True, "state": None}}
    ]
    assert SENTINEL not in repr(outcome) + json.dumps(outcome.document())


def test_an_action_without_output_tells_nothing_of_the_answer() -> None:
    action = archive(Provider({"a1": {"archived": True, "note": SENTINEL}}), output=None)
    with opened() as s:
        outcome = action.perform(admitted(action, GOOD, s), session=s)
    assert outcome.document()["targets"] == [{"target": "a1", "status": "done"}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from([*Order.model_fields, "sku", "count"]) | st.text(max_size=9)


@given(st.dictionaries(KEYS, JSON, max_size=5), st.dictionaries(KEYS, JSON, max_size=5))
def test_no_undeclared_key_and_no_undeclared_text_ever_passes(top: dict[str, Any], below: dict[str, Any]) -> None:
    raw = {**top, **{n: RAW[n] for n in ("id", "placed")}, "first": {**below, "sku": "s1", "count": 1}}
    raw["lines"] = [raw["first"]]
    raw["state"] = "open"
    made = Output(Order).reduce(raw)
    assert made == {**RAW, "state": "open"}


@given(JSON)
def test_whatever_is_brought_is_a_declared_document_or_an_invalid_response(raw: Any) -> None:
    try:
        made = Output(Archived).reduce(raw)
    except ExecutorError:
        return
    assert set(made) == {"archived", "state"}
    assert isinstance(made["archived"], bool)
    assert made["state"] in ("open", "closed", None)
