"""Wrong guards that let a write touch ids which nobody judged, and the tests that kill them."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from secrets import token_urlsafe
from typing import Any, Final

from mutants.mutating import Mutant
from pydantic import RootModel
from unabridged.gate.arguments import jsonable

_PAST: Final = "tests/gate/test_past_the_guard.py::"
_LANGCHAIN: Final = "tests/langchain/test_past_the_guard.py::"
_INSIDE: Final = "tests/langchain/test_inside.py::"
_LLAMAINDEX: Final = "tests/llamaindex/test_past_the_guard.py::"
_REPLY: Final = ("AssertionError", "Failed", "JSONDecodeError", "TypeError")
"""A reply that should have been a refusal is no JSON."""
_WHERE_NONE_ARE_SENT: Final = "test_ids_that_a_function_takes_where_none_are_sent_must_be_in_the_evidence"


def _nothing(_: Any) -> Any:
    return lambda *_args, **_kwargs: None


async def _waited_for(*_: Any) -> None: ...


def _as_it_iterates(right: Any) -> Any:
    def whole(value: Any) -> Any:
        if type(value) is dict:
            return {name: whole(one) for name, one in value.items()}
        return dict(value) if isinstance(value, RootModel) else right(value)  # type: ignore[call-overload]

    return whole


def _all_in_outlines(_right: Any) -> Any:
    def told(inner: Any) -> None:
        from unabridged_langchain import redacted

        inner.handlers, inner.inheritable_handlers = (
            [redacted(h) for h in given] for given in (inner.handlers, inner.inheritable_handlers)
        )

    return told


GUARDS: Final = (
    Mutant("a call that names no ids is counted as none", "unabridged.gate.writing:Write._refused_unnamed", _nothing,
           (_PAST + "test_a_write_whose_ids_are_counted_or_looked_at_must_name_them",), errors=_REPLY),
    Mutant("ids that are added midway are taken", "unabridged.gate.writing:Write._are_as_judged",
           lambda _: lambda _self: True,
           (_PAST + "test_ids_that_are_added_while_the_targets_are_looked_at_again_reach_no_body",), errors=_REPLY),
    Mutant("a sink that has to be waited for is taken for one that wrote", "unabridged.gate.recording:_write",
           lambda _: lambda sink, event: getattr(sink.write(event), "close", bool)(),
           (_PAST + "test_a_sink_that_has_not_written_when_it_returns_lets_nothing_run",), errors=_REPLY,
           only_here=True),
    Mutant("the defaults of a function are not judged", "unabridged.gate.arguments:defaults_of",
           lambda _: lambda *_args: {}, (_LANGCHAIN + _WHERE_NONE_ARE_SENT,), room="langchain"),
    Mutant("the defaults of a LlamaIndex function are not judged", "unabridged.gate.arguments:defaults_of",
           lambda _: lambda *_args: {}, (_LLAMAINDEX + _WHERE_NONE_ARE_SENT,), room="llamaindex"),
    Mutant("a tool that nobody wrapped may hide its ids", "unabridged_langchain._body:hides_its_ids", _nothing,
           (_LANGCHAIN + "test_a_tool_that_nobody_wrapped_must_be_seen_to_name_the_ids_that_it_touches",),
           room="langchain"),
    Mutant("a write without ids is restricted to those of any resource", "unabridged.evidence.guard:reach_of",
           lambda right: lambda *given, **named: replace(right(*given, **named), resources=frozenset(["any"])),
           (_PAST + "test_the_ids_of_another_resource_are_not_taken_for_what_a_write_touches",)),
    Mutant("a clock that is set back counts", "unabridged.evidence.ledger:Turn.__enter__",
           lambda right: lambda self: (right(self)[0], self._now),
           (_PAST + "test_a_clock_that_is_set_back_makes_nothing_good_again",), errors=_REPLY),
    Mutant("what a tool has read bears the name that another gives it", "unabridged.gate.followup:_is_named_alike",
           lambda _: lambda *_args: True,
           ("tests/gate/test_values.py::test_a_result_that_two_tools_return_stands_under_the_names_of_both",)),
    Mutant("a share is one of everything that was read", "unabridged.actions.approvals.card:known_with",
           lambda _: lambda reads, _targets: sum(len(read.ids) for read in reads),
           (_PAST + "test_ids_of_other_resources_make_the_share_of_a_write_no_smaller",)),
    Mutant("an approval is blind to what an argument keeps out of JSON", "unabridged.gate.arguments:whole",
           lambda _: jsonable, (_PAST + "test_an_approval_is_for_what_an_argument_keeps_to_itself_too",),
           errors=_REPLY),
    Mutant("an approval is bound to what a model's own iterator yields", "unabridged.gate.arguments:whole",
           _as_it_iterates, (_PAST + "test_an_approval_is_for_what_an_argument_keeps_to_itself_too[pairs]",),
           errors=_REPLY),
    Mutant("a set has another form in each process", "unabridged.gate.arguments:whole",
           lambda _: jsonable, (_PAST + "test_a_set_has_one_form_in_every_process",)),
    Mutant("who may start an action is asked once", "unabridged.gate.writing:Write._granted_no_more", _nothing,
           ("tests/gate/test_acting.py::test_a_grant_that_is_taken_back_while_a_write_waits_lets_nothing_run",),
           errors=("KeyError",)),
    Mutant("a lookup without its key speaks of everything", "unabridged.gate.declare:ReadSpec.asks_for_all",
           lambda right: lambda self, args: right(self, {**args, **({} if self.key is None else {self.key: 1})}),
           ("tests/gate/test_values.py::test_a_lookup_whose_key_was_not_sent_proves_nothing_of_everything",),
           errors=_REPLY),
    Mutant("any size of a page may be the whole", "unabridged.contract.asked:_sizes",
           lambda _: lambda _args: [],
           ("tests/gate/test_values.py::test_a_call_that_asks_for_no_records_proves_no_absence",)),
    Mutant("a page under another name is a filter that nobody sees", "unabridged.gate.declare:ReadSpec._paging",
           lambda _: lambda _self, args: dict(args),
           ("tests/gate/test_declare.py::test_a_page_and_a_size_are_known_under_each_name_of_their_argument",)),
    Mutant("a filter is another one in each form in which it is sent", "unabridged.gate.arguments:_has_one_form",
           lambda _: lambda _value: False,
           ("tests/langchain/test_judged_by.py::test_a_filter_is_one_in_whatever_form_it_was_sent",),
           room="langchain"),
    Mutant("every filter of a kind is one", "unabridged.gate.arguments:scoped",
           lambda _: lambda value, **_sent: type(value).__name__,
           ("tests/langchain/test_judged_by.py::test_two_filters_are_not_one_because_they_are_of_a_kind",),
           room="langchain"),
    Mutant("a choice that is an id is known by its name", "unabridged.gate.arguments:targets_of",
           lambda _: lambda value: [str(each) for each in value],
           ("tests/langchain/test_judged_by.py::"
            "test_a_choice_that_is_a_text_or_a_number_is_the_id_that_it_stands_for",),
           room="langchain"),
    Mutant("a tool takes no size by itself", "unabridged.contract.asked:paging_in", lambda _: lambda _args: {},
           ("tests/langchain/test_judged_by.py::test_the_size_that_a_tool_takes_by_itself_is_a_cap_too",),
           room="langchain"),
    Mutant("a service takes nothing by itself", "unabridged_langchain._schema:schema_defaults", lambda _: lambda _s: {},
           ("tests/langchain/test_judged_by.py::test_the_size_in_the_schema_of_a_service_is_a_cap_too",
            "tests/langchain/test_judged_by.py::test_the_ids_in_the_schema_of_a_service_are_judged"),
           room="langchain", errors=_REPLY),
    Mutant("a LlamaIndex tool takes no size by itself", "unabridged.contract.asked:paging_in",
           lambda _: lambda _args: {},
           ("tests/llamaindex/test_tools.py::test_the_size_that_a_tool_takes_by_itself_is_a_cap_too",),
           room="llamaindex"),
    Mutant("a page is known in one spelling only", "unabridged.contract.asked:_plain", lambda _: lambda name: name,
           ("tests/gate/test_judging_values.py::test_a_whole_of_so_many_records_is_no_whole",
            "tests/gate/test_judging_values.py::test_a_whole_from_a_later_place_on_is_no_whole")),
    Mutant("a guard hears in outlines what a tool reads below", "unabridged_langchain._inside:told_in_outlines",
           _all_in_outlines,
           (_INSIDE + "test_a_guard_judges_what_a_tool_with_an_entry_of_its_own_reads_below",
            _INSIDE + "test_what_a_model_says_below_a_tool_with_an_entry_of_its_own_is_heard"),
           room="langchain"),
    Mutant("a handler in a context hears all of the run inside", "unabridged_langchain._inside:joined_by_none",
           lambda _: lambda _inner: nullcontext(),
           (_INSIDE + "test_a_handler_in_a_context_hears_of_the_run_inside_once_and_in_outlines",), room="langchain"),
    Mutant("an index of pages begins at 1", "unabridged.contract.asked:_PAGES", lambda right: right | {"pageindex"},
           ("tests/gate/test_judging_values.py::test_a_whole_from_a_later_place_on_is_no_whole",)),
    Mutant("an argument may be sent under two names", "unabridged.gate.arguments:sent_twice",
           lambda _: lambda *_args, **_kwargs: [],
           ("tests/langchain/test_judged_by.py::"
            "test_a_filter_that_is_sent_under_two_names_is_refused_since_one_of_them_counts",),
           errors=("AssertionError", "KeyError"), room="langchain"),
    Mutant("what no tool of the running agent did is no past", "unabridged_llamaindex.run:Tools.spec_in_history",
           lambda _: lambda self, name: self.spec_of(name),
           (_LLAMAINDEX + "test_a_result_in_a_history_may_be_that_of_a_tool_which_another_agent_has",),
           room="llamaindex"),
    Mutant("a LlamaIndex lookup is not told apart by what the author set",
           "unabridged_llamaindex.arguments:Parameters.of_a_read", lambda _: lambda *_args: {},
           ("tests/llamaindex/test_tools.py::test_the_key_of_a_lookup_may_be_set_by_the_author_and_is_not_shown",
            "tests/llamaindex/test_tools.py::test_a_key_that_the_tool_takes_by_itself_is_what_a_lookup_speaks_of"),
           room="llamaindex"),
    Mutant("what a tool takes from its schema is not judged", "unabridged_llamaindex.arguments:_default",
           lambda _: lambda _info: None,
           (_LLAMAINDEX + "test_ids_that_a_tool_takes_from_its_schema_are_judged_too",), room="llamaindex"),
    Mutant("ids may be sent under two names", "unabridged_llamaindex.arguments:sent_twice",
           lambda _: lambda *_args, **_kwargs: [],
           (_LLAMAINDEX + "test_ids_under_two_names_are_refused_since_one_of_them_counts",), room="llamaindex",
           only_here=True),
    Mutant("an answer has the caveats of the run that gave it first", "unabridged_llamaindex.agents:_forget_answer",
           lambda _: _waited_for,
           ("tests/llamaindex/test_agents.py::"
            "test_an_answer_that_was_given_before_carries_the_caveats_of_its_own_run",), room="llamaindex"),
    Mutant("a history is looked at once a run", "unabridged_llamaindex.run:_since",
           lambda _: lambda _place, _notes: [],
           (_LLAMAINDEX + "test_what_a_tool_outside_of_the_guard_brought_midway_holds_back_a_write",),
           room="llamaindex"),
    Mutant("what a validator raises is a word of LangChain", "unabridged_langchain._guarded:_is_word_to_the_developer",
           lambda _: lambda error: isinstance(error, ValueError | TypeError | NotImplementedError),
           ("tests/langchain/test_wrapping.py::test_validation_errors_never_echo_values",),
           errors=("AssertionError", "TypeError", "NotImplementedError"), room="langchain"),
    Mutant("each call that finds no session noted opens one", "unabridged_llamaindex.run:_name_for",
           lambda _: lambda noted: noted or token_urlsafe(16),
           ("tests/llamaindex/test_edges.py::"
            "test_many_reads_of_a_first_turn_share_one_session_where_the_store_is_new_in_each_step",),
           room="llamaindex"),
    Mutant("calls without ids are one", "unabridged_llamaindex.messages:known_as",
           lambda _: lambda call_id, _name, _args: call_id,
           (_LLAMAINDEX + "test_calls_without_ids_of_their_own_are_told_apart_by_their_arguments",),
           room="llamaindex"),
    Mutant("what a ReAct agent left is no past", "unabridged_llamaindex.messages:_steps_in",
           lambda _: lambda _message: iter(()),
           (_LLAMAINDEX + "test_what_a_react_agent_left_in_a_memory_is_a_past_too",), room="llamaindex"),
    Mutant("the log of an agent ends where another agent begins", "unabridged_llamaindex.run:recording",
           lambda right: lambda _turn: right(type("Turn", (), {"audit": None})()),
           (_LLAMAINDEX + "test_the_log_of_an_agent_holds_for_the_agents_that_run_inside_it",), room="llamaindex"),
)  # fmt: skip
