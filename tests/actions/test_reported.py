"""Reports of kind K7, as far as they need no framework: narrow contracts. Names and shapes are the reports' own."""

from __future__ import annotations

import json
import logging
import traceback
from typing import Annotated, Any, Literal

import pytest
from actions.kit import Provider, opened, raised
from pydantic import BaseModel, Field, StringConstraints, model_validator
from unabridged.actions import Action, Admitted, Grants, InvalidRequest, Rejected, Sensitivity

CaseRef = Annotated[str, StringConstraints(pattern="^c[0-9]{1,6}$", max_length=7), Sensitivity("internal")]


def action(
    name: str, model: type[BaseModel], executor: Any, output: type[BaseModel] | None = None, **more: Any
) -> Action:
    return Action(
        name, purpose="Is one of a report.", verb="do", effect="change", input=model, output=output,
        executor=executor, max_targets=1, authorize=Grants(anyone=["change"]), **more,
    )  # fmt: skip


# R55: modelcontextprotocol/python-sdk#3067
class CloseCase(BaseModel):
    case_ref: CaseRef
    reason: Literal["dup", "solved"] = "solved"


def test_r55_misspelled_and_unknown_arguments_are_named_and_the_tool_does_not_run() -> None:
    ran: list[Any] = []
    found = action("close_case", CloseCase, lambda command: ran.append(command)).admit(
        {"case": "c1", "reason": "dup", "customer_email": "SENTINEL"}, session=None
    )
    assert isinstance(found, Rejected)
    document = found.document()
    assert document["error"] == "invalid_request"
    unexpected = [p["field"] for p in document["problems"] if p["rule"] == "is not a field of this action"]
    assert unexpected == ["case", "customer_email"]
    assert "SENTINEL" not in json.dumps(document)
    assert ran == []


# R56: langchain-ai/langchain#34246
def test_r56_what_a_framework_gives_is_no_field_and_a_model_that_gives_it_is_refused() -> None:
    close = action("close_case", CloseCase, lambda _: None)
    assert [f.name for f in close.inputs.shape.facts] == ["case_ref", "reason"]
    assert isinstance(close.admit({"case_ref": "c1"}, session=None), Admitted)
    found = close.admit({"case_ref": "c1", "state": {"messages": "SENTINEL"}}, session=None)
    assert isinstance(found, Rejected)
    assert found.problems == (("state", "is not a field of this action"),)


# R57: pydantic/pydantic#7461
class Number(BaseModel):
    x: int


def test_r57_a_refused_value_stands_in_none_of_the_six_ways_to_look(caplog: pytest.LogCaptureFixture) -> None:
    ask = action("number", Number, lambda _: None)
    sent = {"x": "SENT" + "INEL"}
    error = raised(lambda: ask.request(**sent))
    assert isinstance(error, InvalidRequest)
    try:
        raise error
    except InvalidRequest:
        logging.getLogger("of the host").exception("refused")
    looked = {
        "str": str(error),
        "repr": repr(error),
        "errors": repr(error.fields["problems"]),
        "json": json.dumps(error.fields),
        "traceback": "".join(traceback.format_exception(error)),
        "log": caplog.text,
    }
    assert not [way for way, text in looked.items() if "SENTINEL" in text]
    assert "x: must be an integer" in looked["str"]


# R58: langchain-ai/langgraph#8648
class Rng(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def low_le_high(self) -> Rng:
        if self.low > self.high:
            raise ValueError(f"low {self.low} > high {self.high}")
        return self


def test_r58_a_rule_across_fields_is_named_and_its_message_is_not_told() -> None:
    rng = action("rng", Rng, lambda _: None)
    found = rng.admit({"low": 5, "high": 1}, session=None)
    assert isinstance(found, Rejected)
    assert found.document()["problems"] == [{"field": "request", "rule": "breaks the rule low_le_high"}]
    assert not {"5", "1"} & set(json.dumps(found.document()))
    found = rng.admit({"low": "SENTINEL", "high": 1}, session=None)
    assert isinstance(found, Rejected)
    assert found.document()["problems"] == [{"field": "low", "rule": "must be an integer"}]


# R59: langchain-ai/langgraph#1667
def test_r59_what_a_tool_raises_is_a_code_and_its_text_goes_to_the_hook_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[Any] = []
    failure = ValueError("token=SENTINEL rejected for 10.0.0.9")
    close = action("close_case", CloseCase, Provider({None: failure}), diagnostics=seen.append)
    with opened() as s:
        found = close.admit({"case_ref": "c1"}, session=s)
        assert isinstance(found, Admitted)
        outcome = close.perform(found, session=s)
    assert outcome.code == "internal"
    told = json.dumps(outcome.document()) + repr(outcome) + caplog.text
    assert "SENTINEL" not in told
    assert "10.0.0.9" not in told
    assert [d.error for d in seen] == [failure]


# R60: oraios/serena#11
class Ticket(BaseModel):
    ticket: CaseRef


@pytest.mark.parametrize("sent", [{"email": "SENT@example.org"}, {"ticket": "c1", "email": "SENT@example.org"}])
def test_r60_an_argument_is_never_bound_to_another_name(sent: dict[str, str]) -> None:
    ran: list[Any] = []
    found = action("f", Ticket, lambda command: ran.append(command)).admit(sent, session=None)
    assert isinstance(found, Rejected)
    assert ("email", "is not a field of this action") in found.problems
    assert "SENT@example.org" not in repr(found) + json.dumps(found.document())
    assert ran == []


# R61: langchain-ai/langgraph#2479
class Ref(BaseModel):
    ref: Annotated[str, Field(pattern="^r[0-9]{1,6}$", max_length=7), Sensitivity("internal")]


def test_r61_what_stands_beside_the_allowed_output_goes_nowhere() -> None:
    raw = {"internal_note": "SENTINEL", "ref": "r1"}
    close = action("close_case", CloseCase, Provider({None: raw}), output=Ref)
    with opened() as s:
        found = close.admit({"case_ref": "c1"}, session=s)
        assert isinstance(found, Admitted)
        outcome = close.perform(found, session=s)
    assert outcome.document() == {"status": "done", "output": {"ref": "r1"}}
    assert outcome.output == {"ref": "r1"}
