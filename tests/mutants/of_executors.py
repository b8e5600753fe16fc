"""Wrong executors and wrong credentials, and the tests that kill them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from mutants.mutating import Mutant
from unabridged.actions.executors.process import _Document
from unabridged.actions.failures import ExecutorError

_HTTP: Final = "actions/executors/test_http.py::"
_CREDENTIALS: Final = "actions/executors/test_credentials.py::"
_PROCESS: Final = "actions/executors/test_process.py::"


def _gives(value: Any) -> Callable[[Any], Any]:
    return lambda _: lambda *_args, **_kwargs: value


def _redirects_are_followed(right: Any) -> Any:
    return lambda self: {**right(self), "follow_redirects": True}


def _path_is_formatted_as_it_is(_: Any) -> Any:
    return lambda value: str(value)


def _repr_is_plain(_: Any) -> Any:
    return lambda self: f"Secret({self.reveal()!r})"


def _environment_counts(right: Any) -> Any:
    return lambda ca_file: {**right(ca_file), "trust_env": True}


def _nothing_can_have_happened(right: Any) -> Any:
    return lambda *args: (right(*args)[0], False)


def _any_route_is_tried_again(_: Any) -> Any:
    return lambda _self, _route, reply, _attempt: 0.0 if getattr(reply, "status", 0) in (429, 503) else None


def _mode_does_not_count(right: Any) -> Any:
    def init(self: Any, path: Any, **options: Any) -> None:
        right(self, path, **options)
        self._forbidden = 0

    return init


def _variable_stays(_: Any) -> Any:
    return lambda name: os.environ[name]


def _fields_without_a_place_are_dropped(right: Any) -> Any:
    def fill(route: Any, command: Any) -> Any:
        fields = {name: value for name, value in command.fields.items() if name in route.places}
        return right(route, type(command)(**{**command.to_message(), "fields": fields}))

    return fill


def _anything_is_an_answer(_: Any) -> Any:
    return lambda message: _Document(dict(message))


def _environment_is_inherited(right: Any) -> Any:
    return lambda self: {**os.environ, **right(self)}


def _command_ends_with_its_process(right: Any) -> Any:
    def asked(self: Any, child: Any, data: Any) -> Any:
        answer = right(self, child, data)
        return ExecutorError(code="provider_retryable") if answer is None else answer

    return asked


def _process_is_let_go(_: Any) -> Any:
    def end(self: Any) -> None:
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._channel.close()
        self.process.returncode = 0

    return end


def m(name: str, target: str, wrong: Callable[[Any], Any], *killers: str) -> Mutant:
    """A mutant of the executors."""
    return Mutant(f"executors: {name}", target, wrong, [f"tests/{k}" for k in killers])


_OF: Final = "unabridged.actions.executors"
EXECUTORS: Final = (
    m("redirects are followed", "unabridged.reading.pinned:_Pinned.options", _redirects_are_followed,
      _HTTP + "test_a_redirect_is_followed_nowhere_and_is_a_failure"),
    m("a path is formatted as it is", f"{_OF}._paths:segment", _path_is_formatted_as_it_is,
      _HTTP + "test_a_value_that_a_server_could_read_as_another_path_is_never_sent",
      _HTTP + "test_a_value_that_is_merely_odd_reaches_the_server_as_it_is"),
    m("every text is a segment", f"{_OF}._paths:_is_unfit", _gives(False),
      _HTTP + "test_a_value_that_a_server_could_read_as_another_path_is_never_sent"),
    m("a secret has a plain repr", f"{_OF}.credentials:Secret.__repr__", _repr_is_plain,
      _CREDENTIALS + "test_each_provider_gives_its_credential_and_shows_it_nowhere",
      _CREDENTIALS + "test_a_secret_is_in_no_rendering_of_what_holds_it"),
    m("the environment counts", "unabridged.reading.http:_pinned", _environment_counts,
      _HTTP + "test_neither_a_proxy_nor_a_netrc_of_the_environment_counts"),
    m("errors keep the frames of the client", "unabridged.reading.pinned:_bare", lambda _: lambda error: error,
      _HTTP + "test_an_interruption_in_the_midst_shows_no_frame_that_holds_the_credential"),
    m("nothing can have happened", f"{_OF}._answers:_broken", _nothing_can_have_happened,
      _HTTP + "test_of_a_write_whose_answer_cannot_be_read_nobody_knows_and_it_is_not_sent_again",
      _HTTP + "test_a_provider_that_does_not_answer_in_time_leaves_it_unknown"),
    m("any route is tried again", f"{_OF}.http:HttpExecutor._wait_s", _any_route_is_tried_again,
      _HTTP + "test_only_a_route_with_a_key_is_tried_again_and_with_the_same_key"),
    m("fields without a place are dropped", f"{_OF}.routes:fill", _fields_without_a_place_are_dropped,
      _HTTP + "test_fields_that_have_no_place_stop_the_command_before_it_is_sent"),
    m("the mode of a file does not count", f"{_OF}.credentials:FromFile.__init__", _mode_does_not_count,
      _CREDENTIALS + "test_a_file_that_others_can_read_or_write_is_refused"),
    m("a variable stays", f"{_OF}.credentials:_pulled", _variable_stays,
      _CREDENTIALS + "test_a_variable_is_taken_out_of_the_environment_at_once"),
    m("a process that died did nothing", f"{_OF}.process:_lost",
      _gives(ExecutorError(code="provider_retryable", may_have_happened=False)),
      _PROCESS + "test_a_process_that_dies_in_the_midst_leaves_it_unknown_and_the_next_command_finds_another"),
    replace(
        m("a process that was gone before it began ends the command", f"{_OF}.process:ProcessExecutor._asked",
          _command_ends_with_its_process,
          _PROCESS + "test_a_process_that_died_while_it_was_idle_is_replaced[True]"),
        errors=("ExecutorError",),
    ),
    m("a process inherits the environment", f"{_OF}.process:_Plan.environment", _environment_is_inherited,
      _PROCESS + "test_the_environment_and_the_arguments_of_the_process_are_its_own"),
    m("anything is an answer", f"{_OF}.process:_read", _anything_is_an_answer,
      _PROCESS + "test_an_answer_that_is_none_ends_the_process_and_leaves_it_unknown"),
    m("a process is let go alive", f"{_OF}.process:_Child.end", _process_is_let_go,
      _PROCESS + "test_closing_ends_what_runs_and_refuses_what_comes"),
)  # fmt: skip
