"""Providers give what they were told to give, and a credential shows itself nowhere."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from actions.executors.wire import shown, tracked
from hypothesis import given
from hypothesis import strategies as st
from keyring.backend import KeyringBackend
from pydantic import BaseModel, ConfigDict
from unabridged.actions.executors import (
    Credential,
    CredentialUnavailable,
    FromCallable,
    FromEnvironment,
    FromFile,
    FromKeyring,
    Secret,
)
from unabridged.contract import InvalidInput

SENTINEL = "SENTINEL-7f3a9c"


@dataclasses.dataclass
class Holder:
    secret: Any


class Model(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    secret: Secret


class Rings(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment] # the library's own way to say it

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[tuple[str, str], str] = {}
        self.error: Exception | None = None

    def get_password(self, service: str, username: str) -> str | None:
        if self.error is not None:
            raise self.error
        return self.found.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.found[service, username] = password


@pytest.fixture
def rings() -> Iterator[Rings]:
    before, mine = keyring.get_keyring(), Rings()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{SENTINEL}\n")
    path.chmod(0o600)
    return path


def _of_file(path: Path) -> Credential:
    return FromFile(path)


def _of_callable(_: Path) -> Credential:
    return FromCallable(lambda: SENTINEL)


def _of_environment(_: Path) -> Credential:
    os.environ["UNABRIDGED_TEST_TOKEN"] = SENTINEL
    return FromEnvironment("UNABRIDGED_TEST_TOKEN")


def _of_keyring(_: Path) -> Credential:
    keyring.set_password("mail", "agent", SENTINEL)
    return FromKeyring("mail", "agent")


@pytest.mark.usefixtures("rings")
@pytest.mark.parametrize("make", [_of_file, _of_callable, _of_environment, _of_keyring])
def test_each_provider_gives_its_credential_and_shows_it_nowhere(
    make: Callable[[Path], Credential], file: Path
) -> None:
    provider = make(file)
    assert provider.take().reveal() == SENTINEL
    assert provider.take().reveal() == SENTINEL
    assert SENTINEL not in shown(provider)
    with pytest.raises(InvalidInput):
        pickle.dumps(provider)
    assert SENTINEL not in shown(provider.take())


def test_a_secret_is_in_no_rendering_of_what_holds_it() -> None:
    secret = Secret(SENTINEL)
    holder = Holder(secret)
    model = Model(secret=secret)
    texts = [shown(secret), shown(holder), repr(dataclasses.asdict(holder)), repr(dataclasses.astuple(holder))]
    texts += [repr(vars(holder)), repr(model), str(model.model_dump()), repr(model.model_copy(deep=True))]
    texts += [f"{secret:>80}", f"{[secret]}", "%s" % secret, json.dumps([secret], default=str)]  # noqa: UP031
    assert all(SENTINEL not in text for text in texts)
    with pytest.raises(Exception, match="serialize") as failed:
        model.model_dump_json()
    assert SENTINEL not in tracked(failed.value)
    with pytest.raises(InvalidInput):
        pickle.dumps(holder)
    assert copy.deepcopy(secret) is copy.copy(secret) is secret


@given(st.text(min_size=1).filter(lambda t: not (t.isascii() and t.isprintable())))
def test_what_could_break_out_of_a_header_is_no_credential(text: str) -> None:
    with pytest.raises(CredentialUnavailable) as refused:
        FromCallable(lambda: SENTINEL + text).take()
    assert SENTINEL not in tracked(refused.value)
    with pytest.raises(CredentialUnavailable) as refused:
        Secret(SENTINEL + text)
    assert SENTINEL not in tracked(refused.value)


@pytest.mark.parametrize("value", ["", None, 7, b"x", ["x"]], ids=repr)
def test_nothing_is_no_credential(value: Any) -> None:
    with pytest.raises(CredentialUnavailable):
        FromCallable(lambda: value).take()


def test_what_a_provider_raises_is_dropped_with_its_frames() -> None:
    def vault() -> str:
        token = SENTINEL
        raise RuntimeError(f"the token {token} has expired")

    with pytest.raises(CredentialUnavailable) as failed:
        FromCallable(vault).take()
    assert SENTINEL not in tracked(failed.value)
    assert failed.value.__context__ is None


def test_a_file_that_was_rotated_is_read_anew(file: Path) -> None:
    provider = FromFile(file)
    assert provider.take().reveal() == SENTINEL
    other = file.with_name("next")
    other.write_text("another")
    other.chmod(0o600)
    other.replace(file)
    assert provider.take().reveal() == "another"


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602, 0o601, 0o620, 0o640, 0o660])
def test_a_file_that_others_can_read_or_write_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(CredentialUnavailable, match="others cannot read") as refused:
        FromFile(file).take()
    assert SENTINEL not in tracked(refused.value)


def test_a_group_may_read_where_that_is_said_and_write_never(file: Path) -> None:
    file.chmod(0o440)
    assert FromFile(file, group_readable=True).take().reveal() == SENTINEL
    for mode in (0o460, 0o444):
        file.chmod(mode)
        with pytest.raises(CredentialUnavailable):
            FromFile(file, group_readable=True).take()


def test_a_mode_that_opens_later_is_seen(file: Path) -> None:
    provider = FromFile(file)
    provider.take()
    file.chmod(0o644)
    with pytest.raises(CredentialUnavailable):
        provider.take()


def test_no_file_a_directory_a_pipe_and_a_long_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "long").write_text("x" * 20_000)
    (tmp_path / "two").write_text("one\ntwo\n")
    (tmp_path / "empty").write_text("\n")
    for name in ("long", "two", "empty"):
        (tmp_path / name).chmod(0o600)
    for name in ("none", ".", "pipe", "long", "two", "empty"):
        with pytest.raises(CredentialUnavailable):
            FromFile(tmp_path / name).take()


def test_an_environment_variable_is_gone_when_it_was_taken() -> None:
    program = """
import os, subprocess, sys
from unabridged.actions.executors import FromEnvironment
provider = FromEnvironment("UNABRIDGED_TEST_TOKEN")
child = subprocess.run([sys.executable, "-c", "import os; print(dict(os.environ))"], capture_output=True, text=True)
block = open("/proc/self/environ", "rb").read().decode() if os.path.exists("/proc/self/environ") else ""
print(repr((child.stdout, block, dict(os.environ))))
print("taken", provider.take().reveal() == sys.stdin.read(), file=sys.stderr)
"""
    environment = {**os.environ, "UNABRIDGED_TEST_TOKEN": SENTINEL}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, input=SENTINEL, capture_output=True, text=True, check=True
    )
    assert "taken True" in done.stderr
    assert "PATH" in done.stdout
    assert SENTINEL not in done.stdout
    with pytest.raises(CredentialUnavailable, match="not set"):
        FromEnvironment("UNABRIDGED_TEST_TOKEN_OF_NOBODY")


def test_a_variable_is_taken_out_of_the_environment_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNABRIDGED_TEST_TOKEN", SENTINEL)
    provider = FromEnvironment("UNABRIDGED_TEST_TOKEN")
    assert "UNABRIDGED_TEST_TOKEN" not in os.environ
    assert provider.take().reveal() == SENTINEL


def test_a_keyring_without_the_entry_and_one_that_fails_say_no_more(rings: Rings) -> None:
    with pytest.raises(CredentialUnavailable, match="no such entry"):
        FromKeyring("mail", "agent").take()
    rings.error = RuntimeError(SENTINEL)
    with pytest.raises(CredentialUnavailable) as failed:
        FromKeyring("mail", "agent").take()
    assert SENTINEL not in tracked(failed.value)
