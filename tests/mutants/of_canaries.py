"""Wrong programs that let a value out, and the canaries that die of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from mutants.mutating import Mutant
from unabridged.gate.answering import UnsupportedAnswer
from unabridged.gate.runtime import Fault
from unabridged.reading import Fault as NoAnswer

_CORE: Final = "tests/canaries/test_core.py::"
_LANGCHAIN: Final = "tests/canaries/test_langchain.py::"
_SENT: Final = _LANGCHAIN + "test_a_call_lets_out_no_value_but_what_the_model_sent_to_the_framework"
_SOURCES: Final = "tests/canaries/test_sources.py::test_no_read_that_a_tool_makes_lets_a_value_out"
_EXECUTORS: Final = "tests/canaries/test_executors.py::"
_PARSERS: Final = "tests/canaries/test_parsers.py::test_an_answer_that_cannot_be_given_leaves_no_value_behind"
_TOKENS: Final = "tests/canaries/test_tokens.py::test_what_a_token_stands_for_is_told_to_the_executor_alone"
_PAUSES: Final = "tests/canaries/test_pauses.py::test_a_graph_that_pauses_and_goes_on_lets_no_value_out"
_CHAINS: Final = "tests/canaries/test_guard_of_chains.py::"
_LLAMAINDEX: Final = "tests/canaries/test_llamaindex.py::"
_TOLD: Final = _LLAMAINDEX + "test_a_call_lets_out_no_value_but_what_the_model_sent_to_the_framework"
Wrong = Callable[[Any], Any]


def _text_of_an_error_is_told(_right: Any) -> Any:
    return lambda error: Fault(str(error), isinstance(error, TimeoutError))


def _arguments_are_logged(right: Any) -> Any:
    def enter(self: Any, args: Any, **how: Any) -> Any:
        logging.getLogger("unabridged.gate").debug("a call of %s with %r", self.name, args)
        return right(self, args, **how)

    return enter


def _error_of_a_body_passes(_right: Any) -> Any:
    def fault(_gate: Any, _entered: Any, error: Exception, *_: Any) -> Any:
        raise error

    return fault


def _document_is_not_reduced(_right: Any) -> Any:
    return lambda _self, raw: raw if isinstance(raw, dict) else {"raw": raw}


def _artifact_holds_the_records(right: Any) -> Any:
    def read_reply(result: Any, *args: Any, **how: Any) -> Any:
        reply = right(result, *args, **how)
        return replace(reply, artifact={**(reply.artifact or {}), "items": result.items})

    return read_reply


def _body_of_a_provider_is_logged(right: Any) -> Any:
    def outcome(self: Any, action: Any, route: Any, reply: Any) -> Any:
        logging.getLogger("unabridged.actions").debug("%s was answered with %r", action, reply.body)
        return right(self, action, route, reply)

    return outcome


def _error_of_a_library_is_logged(_right: Any) -> Any:
    def refusal(error: Any) -> Any:
        logging.getLogger("unabridged.sources").debug("a server said %s", error)
        return NoAnswer("disconnect")

    return refusal


def _correction_quotes_the_answer(right: Any) -> Any:
    def stated(output: str, **how: Any) -> Any:
        try:
            return right(output, **how)
        except UnsupportedAnswer as error:
            raise UnsupportedAnswer(correction=f"{error} {output}", code=error.code) from None

    return stated


def _command_shows_what_tokens_stand_for(_right: Any) -> Any:
    return lambda self: f"Command({self.action}, {self.references})"


def _run_inside_is_told_as_it_is(_right: Any) -> Any:
    return lambda config, manager: {**(config or {}), "run_id": None, "callbacks": manager and manager.get_child()}


CANARIES: Final = (
    Mutant(
        name="handlers hear what the run inside a tool with an entry of its own raised",
        target="unabridged_langchain._guarded:_inner_config", wrong=_run_inside_is_told_as_it_is,
        killers=[_PAUSES + "[raises-own-False]"],
        room="langchain",
    ),
    Mutant(
        name="the text of an error stands in a log",
        target="unabridged.gate.runtime:Fault.of", wrong=_text_of_an_error_is_told,
        killers=[_SENT + "[raises-write-False-False]"],
        room="langchain",
    ),
    Mutant(
        name="what a body raised passes to LlamaIndex, which tells its text to the model",
        target="unabridged.gate.boundary:_fault", wrong=_error_of_a_body_passes,
        killers=[_TOLD + "[raises-write-False-False-False]"],
        room="llamaindex",
    ),
    Mutant(
        name="the arguments of a call are logged at debug level",
        target="unabridged.gate.runtime:Gate.enter", wrong=_arguments_are_logged,
        killers=[_CORE + "test_no_way_that_an_executor_ends_lets_a_value_out[valid-memory-False]"],
    ),
    Mutant(
        name="an action tells all that its provider answered",
        target="unabridged.actions.outputs:Output.reduce", wrong=_document_is_not_reduced,
        killers=[_CORE + "test_no_way_that_an_executor_ends_lets_a_value_out[valid-memory-False]"],
    ),
    Mutant(
        name="an artifact holds the records",
        target="unabridged.gate.presenting:read_reply", wrong=_artifact_holds_the_records,
        killers=[_SENT + "[valid-write-False-False]"],
        room="langchain",
    ),
    Mutant(
        name="what passes through keeps what our frames held",
        target="unabridged.gate.frames:emptied", wrong=lambda _: lambda error: error,
        killers=[_SOURCES + "[http-dies]"],
    ),
    Mutant(
        name="what a client library says is logged",
        target="unabridged.sources.redis:_refusal", wrong=_error_of_a_library_is_logged,
        killers=[_SOURCES + "[redis-refused]"],
    ),
    Mutant(
        name="what a provider answers is logged",
        target="unabridged.actions.executors.http:HttpExecutor._outcome", wrong=_body_of_a_provider_is_logged,
        killers=[
            _EXECUTORS + "test_no_way_that_a_request_goes_lets_a_value_or_the_credential_out[rejected-False]",
        ],
    ),
    Mutant(
        name="a command shows what its references stand for",
        target="unabridged.actions.executing:Command.__repr__", wrong=_command_shows_what_tokens_stand_for,
        killers=[_TOKENS + "[valid-memory-False]"],
    ),
    Mutant(
        name="the correction of an answer quotes it",
        target="unabridged.gate.answering:stated", wrong=_correction_quotes_the_answer,
        killers=[_PARSERS + "[no json-langchain]"],
        room="langchain",
    ),
    Mutant(
        name="an answer that is sent back stays in the frames of its error",
        target="unabridged.gate.answering:UnsupportedAnswer.with_traceback", wrong=lambda _: lambda self, _trace: self,
        killers=[_PARSERS + "[no json-llamaindex]"],
        room="llamaindex",
    ),
    Mutant(
        name="a parser that fails keeps the answer in its frames",
        target="unabridged.gate.answering:emptied", wrong=lambda _: lambda error: error, only_here=True,
        killers=["tests/canaries/test_parsers.py::test_a_parser_that_fails_takes_no_answer_along"],
        room="llamaindex",
    ),
    Mutant(
        name="the engine of a ledger logs its rows",
        target="unabridged.evidence.sql.database:_is_no_row", wrong=lambda _: lambda _line: True,
        killers=[_CHAINS + "test_no_refusal_before_a_plain_tool_lets_a_value_out[not declared-False]"],
        room="langchain",
    ),
    Mutant(
        name="the code of a tool shows its config",
        target="unabridged_langchain._guarded:_Code.__repr__", wrong=lambda _: partial.__repr__,
        killers=[_PAUSES + "[another card-write-False]"],
        room="langchain",
    ),
)  # fmt: skip
