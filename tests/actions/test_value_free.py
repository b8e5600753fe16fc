"""Errors that carry no value, in whatever way they are looked at."""

from __future__ import annotations

import asyncio
import copy
import io
import json
import logging
import pickle
import traceback
from typing import Any

import pytest
from actions.kit import SENTINEL, Archive, Provider, admitted, archive, frames, opened, raised, written
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError, create_model, model_validator
from unabridged.actions import Command, InvalidRequest, Rejected
from unabridged.contract import InvalidInput

GOOD = {"tenant": "t1", "account_ids": ["a1"]}
BAD = [
    {"tenant": SENTINEL},
    {"tenant": "t1", "account_ids": [SENTINEL]},
    {"tenant": "t1", "account_ids": SENTINEL},
    {"low": SENTINEL},
    {"reason": SENTINEL},
    {"account_ids": {SENTINEL: 1}},
    {SENTINEL: SENTINEL},
    {"extra": SENTINEL},
    {"tenant": object.__new__(type(SENTINEL, (), {}))},
    {"tenant": SENTINEL.encode()},
    {"low": 5, "high": 1, "tenant": "t1", "account_ids": ["a1"], "extra": SENTINEL},
    {"low": 47114711, "high": 1, "tenant": "t1", "account_ids": ["a1"]},
]
SECRETS = (SENTINEL, "47114711")


def ways(error: BaseException) -> str:
    """Every way in which an error is looked at, one after the other."""
    stream = io.StringIO()
    log = logging.Logger("of the test", logging.DEBUG)
    log.addHandler(logging.StreamHandler(stream))
    try:
        raise error
    except BaseException:
        log.exception("it failed")
    chain: list[BaseException | None] = [error]
    looked = [stream.getvalue()]
    while chain:
        one = chain.pop()
        if one is None:
            continue
        chain += [one.__cause__, one.__context__]
        looked += [str(one), repr(one), repr(one.args), repr(vars(one))]
        looked += traceback.format_exception(one)
        looked += [line for _, line in frames(one)]
        looked.append(json.dumps(getattr(one, "fields", {}), default=str))
    looked.append(repr(pickle.loads(pickle.dumps(error)).fields))
    looked.append(str(copy.copy(error)))
    return "\n".join(looked)


def test_pydantic_itself_shows_what_was_refused() -> None:
    """The control: without it the tests below would prove nothing."""
    error = raised(lambda: Archive.model_validate({"tenant": SENTINEL}))
    assert isinstance(error, ValidationError)
    assert SENTINEL in str(error)
    assert SENTINEL in repr(error.errors())


@pytest.mark.parametrize("fields", BAD, ids=[str(n) for n in range(len(BAD))])
def test_a_request_that_is_refused_shows_no_value_in_any_way(fields: dict[str, Any]) -> None:
    action = archive()

    def asked() -> None:
        action.request(**fields)

    error = raised(asked)
    assert isinstance(error, InvalidRequest)
    assert error.__cause__ is None
    assert error.__context__ is None
    looked = ways(error)
    assert not [s for s in SECRETS if s in looked]


def test_an_object_passed_on_whole_shows_no_value_in_any_way() -> None:
    error = raised(lambda: archive().request({"tenant": SENTINEL}, SENTINEL, tenant=SENTINEL))
    assert SENTINEL not in ways(error)


@pytest.mark.parametrize("fields", BAD, ids=[str(n) for n in range(len(BAD))])
def test_an_admission_that_is_refused_shows_and_logs_no_value(
    fields: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    found = archive().admit(fields, session=None)
    assert isinstance(found, Rejected)
    looked = f"{found!r}{found}{json.dumps(found.document())}{caplog.text}"
    assert not [s for s in SECRETS if s in looked]


def test_what_is_admitted_asked_and_commanded_shows_no_value() -> None:
    provider = Provider()
    action = archive(provider)
    request = action.request(tenant="sentinel", account_ids=["sentinel"])
    with opened() as s:
        found = admitted(action, {"tenant": "sentinel", "account_ids": ["sentinel"]}, s)
        outcome = action.perform(found, session=s)
    for value in (request, found, provider.commands[0], outcome, outcome.targets[0]):
        assert "sentinel" not in f"{value!r}{value}"
    for value in (request, found, provider.commands[0]):
        with pytest.raises(TypeError):
            pickle.dumps(value)


class Clumsy(BaseModel):
    tenant: int

    @model_validator(mode="after")
    def checked(self) -> Clumsy:
        raise KeyError(f"{SENTINEL} {self.tenant}")


def test_a_validator_that_fails_shows_and_logs_no_value(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    action = archive(input=Clumsy, targets=None, max_targets=1)
    given = int(SECRETS[1])
    error = raised(lambda: action.request(tenant=given))
    assert "could not be checked" in str(error)
    assert not [s for s in SECRETS if s in ways(error) + caplog.text]


@pytest.mark.parametrize(
    "failure", [ValueError(f"token={SENTINEL} rejected for 10.0.0.9"), TimeoutError(SENTINEL), KeyError(SENTINEL)]
)
def test_what_an_executor_raises_becomes_a_code_and_goes_nowhere(
    failure: Exception, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    action = archive(Provider({"a1": failure}))
    with opened() as s:
        outcome = action.perform(admitted(action, GOOD, s), session=s)
        told = [s.note_of(name) for name in s._journal.told]
    captured = capsys.readouterr()
    looked = f"{outcome!r}{json.dumps(outcome.document())}{caplog.text}{captured.out}{captured.err}{told}"
    assert SENTINEL not in looked
    assert "10.0.0.9" not in looked
    assert outcome.targets[0].code in ("internal", "timeout")


def test_the_hook_gets_what_was_raised_and_nobody_else_does() -> None:
    seen: list[Any] = []
    action = archive(Provider({"a1": ValueError(SENTINEL)}), diagnostics=seen.append)
    with opened() as s:
        outcome = action.perform(admitted(action, GOOD, s), session=s)
    (diagnostic,) = seen
    assert (diagnostic.action, diagnostic.code) == ("archive_accounts", "internal")
    assert str(diagnostic.error) == SENTINEL
    assert SENTINEL not in repr(diagnostic)
    assert SENTINEL not in json.dumps(outcome.document())


def test_a_hook_that_fails_changes_nothing_and_shows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def hook(diagnostic: Any) -> None:
        raise RuntimeError(str(diagnostic.error))

    action = archive(Provider({"a1": ValueError(SENTINEL)}), diagnostics=hook)
    with opened() as s:
        outcome = action.perform(admitted(action, GOOD, s), session=s)
    assert outcome.targets[0].status == "unknown"
    assert SENTINEL not in caplog.text


WITH_SENTINEL = {"tenant": "sentinel-4711", "account_ids": ["sentinel-4711", "b"]}


def test_a_tracker_finds_no_value_in_our_frames_when_a_run_is_broken_off() -> None:
    action = archive(Provider({"sentinel-4711": KeyboardInterrupt()}))
    with opened() as s:
        found = admitted(action, WITH_SENTINEL, s)
        error = raised(lambda: action.perform(found, session=s, targets=["sentinel-4711", "b"]))
    seen = dict(frames(error))
    assert "perform.performance" in seen
    assert not [name for name, text in seen.items() if "sentinel" in text]


async def test_a_tracker_finds_no_value_in_our_frames_when_a_run_is_cancelled() -> None:
    begun = asyncio.Event()

    class Slow:
        async def aexecute(self, command: Command) -> Any:
            begun.set()
            await asyncio.Event().wait()

    action = archive(Slow())
    with opened() as s:
        found = admitted(action, WITH_SENTINEL, s)
        task = asyncio.create_task(action.aperform(found, session=s, targets=["sentinel-4711", "b"]))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
    seen = {name: text for name, text in frames(caught.value) if not name.startswith("aexecute")}
    assert "arun.performance" in seen
    assert not [name for name, text in seen.items() if "sentinel" in text]


def test_a_tracker_finds_no_value_in_the_frames_behind_a_diagnostic() -> None:
    seen: list[str] = []

    def hook(diagnostic: Any) -> None:
        seen.extend(f"{name}={text}" for name, text in frames(diagnostic.error))

    action = archive(Provider({"sentinel-4711": ValueError("it failed")}), diagnostics=hook)
    with opened() as s:
        action.perform(admitted(action, WITH_SENTINEL, s), session=s)
    assert seen
    assert not [line for line in seen if "sentinel" in line]


def test_a_foreign_admission_shows_no_value() -> None:
    with opened() as s:
        found = admitted(archive(), WITH_SENTINEL, s)
        targets = WITH_SENTINEL["account_ids"]
        error = raised(lambda: archive().perform(found, session=s, targets=targets))
    assert isinstance(error, InvalidInput)
    assert "sentinel" not in ways(error)


def test_the_tracker_of_these_tests_opens_containers() -> None:
    assert SENTINEL in written({"a": [(SENTINEL,)]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(sorted(Archive.model_fields)) | st.text(max_size=50)
MARK = "\u29c9"
"""A character that stands in every generated text, and in nothing that the toolkit writes."""


def marked(value: Any) -> Any:
    if isinstance(value, str):
        return f"{MARK}{value}"
    if isinstance(value, list):
        return [marked(v) for v in value]
    if isinstance(value, dict):
        return {f"{MARK}{k}": marked(v) for k, v in value.items()}
    return value


@given(st.dictionaries(NAMES, JSON.map(marked), max_size=5))
def test_no_value_of_any_input_stands_in_a_refusal(fields: dict[str, Any]) -> None:
    found = archive().admit(fields, session=None)
    if isinstance(found, Rejected):
        assert MARK not in repr(found)
        assert MARK not in json.dumps(found.document(), ensure_ascii=False)


@given(st.integers(min_value=10**6) | st.floats(min_value=1e6, allow_infinity=False), st.sampled_from(["low", "high"]))
def test_no_number_of_any_input_stands_in_a_refusal(number: float, name: str) -> None:
    found = archive().admit({**GOOD, "tenant": number, name: number, "unknown": number}, session=None)
    assert isinstance(found, Rejected)
    assert str(number) not in repr(found) + json.dumps(found.document())


@given(st.text(min_size=41))
def test_no_long_name_stands_in_a_refusal(name: str) -> None:
    found = archive().admit({name: 1}, session=None)
    assert isinstance(found, Rejected)
    assert found.unnamed == 1


@given(st.lists(st.sampled_from(["a1", "b2", SENTINEL, "", "\ud800"]), max_size=8))
def test_what_is_taken_is_what_was_sent(ids: list[str]) -> None:
    action = archive(effect="read", input=create_model("Ids", __base__=Archive))
    try:
        request = action.request(tenant="t1", account_ids=ids)
    except InvalidRequest:
        assert len(ids) > 6 or {SENTINEL, "", "\ud800"} & set(ids)
    else:
        assert request.args["account_ids"] == ids
