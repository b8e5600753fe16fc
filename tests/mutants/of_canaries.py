"""Wrong programs that let a value out, and the canaries that die of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from mutants.mutating import Mutant
from unabridged.gate.runtime import Fault

_CORE: Final = "tests/canaries/test_core.py::"
_LANGCHAIN: Final = "tests/canaries/test_langchain.py::"
_SENT: Final = _LANGCHAIN + "test_a_call_lets_out_no_value_but_what_the_model_sent_to_the_framework"
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


CANARIES: Final = (
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
)  # fmt: skip
