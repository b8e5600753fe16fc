"""Errors survive pickling and copying and hold no value."""

from __future__ import annotations

import copy
import pickle

import pytest
from unabridged.contract import (
    CaseError,
    ContractViolation,
    InvalidInput,
    LedgerUnavailable,
    MissingExtra,
    NotComplete,
    NotYetSupported,
    ProfileError,
    TicketRefused,
    UnabridgedError,
    UnresolvedHandle,
    printable_name,
)

ERRORS = [
    InvalidInput(field="url", rule="must be an http or https address"),
    ProfileError(field="walk.by", rule="must be one of eight walkers"),
    CaseError(field="reads[0].exchanges", rule="is required"),
    ContractViolation(rule="complete_has_no_reasons", field="incomplete_reasons"),
    NotYetSupported(feature="walk range"),
    NotComplete(status="partial", codes=("RATE_LIMITED",)),
    TicketRefused(),
    UnresolvedHandle(),
    LedgerUnavailable(why="it took longer than 5 s"),
    MissingExtra(extra="cli", module="click"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_an_error_survives_pickling_and_copying(error: UnabridgedError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.fields == error.fields


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_no_error_is_a_value_error_because_pydantic_would_attach_the_value(error: UnabridgedError) -> None:
    assert not isinstance(error, ValueError | AssertionError)


def test_the_fields_of_an_error_are_attributes() -> None:
    assert ERRORS[0].field == "url"
    with pytest.raises(AttributeError):
        _ = ERRORS[0].value


@pytest.mark.parametrize("name", ["two words", "x" * 200, 7, "tok/en=", ""])
def test_a_key_that_does_not_look_like_a_name_is_not_printed(name: object) -> None:
    assert printable_name(name) == "<name>"
