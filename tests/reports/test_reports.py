"""Where each public report of these kinds is shown, and where its outcome differs from the report's.

K1: the first page only. K2: caps and cut payloads. K3: what leads on, and what moves meanwhile. K6: guards, approvals
and destructive use. K7: narrow contracts. K8: audit and traces. K10: failures and missing rights that came out as empty
lists.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NUMBERS = {f"R{n:02d}" for n in [*range(1, 33), *range(43, 65), *range(70, 74)]}


@dataclass(frozen=True, slots=True)
class Report:
    """One public report.

    Attributes:
        origin: the repository and the number of the thread.
        tests: the tests that tell it, below `tests/`.
        cases: the replay cases, by the beginning of the file's name up to the first dash, or by the whole name.
        differs: where the contract gives another outcome than the report's author wants.
    """

    origin: str
    tests: tuple[str, ...]
    cases: str = ""
    differs: str = ""


REPORTS = {
    # K1
    "R01": Report(
        "run-llama/llama_index#12508",
        cases="o01a o01b",
        tests=(
            "reports/test_first_page_only.py::test_r01_a_page_size_that_the_server_lowers_does_not_shorten_the_list",
            "reports/test_first_page_only.py::test_r01_one_page_of_three_is_partial_and_goes_on_at_50",
        ),
        differs="Our budget is named too: CLIENT_LIMIT_REACHED stands beside MORE_PAGES_AVAILABLE (contract, "
        "invariant 11).",
    ),
    "R02": Report(
        "run-llama/llama_index#14702",
        cases="o02a o02b",
        tests=(
            "reports/test_first_page_only.py::test_r02_a_site_on_the_second_page_is_found",
            "reports/test_first_page_only.py::test_r02_a_site_on_a_page_that_failed_is_not_absent",
        ),
    ),
    "R03": Report(
        "langchain-ai/langchain#16864",
        cases="o03a o03b",
        tests=(
            "reports/test_first_page_only.py::test_r03_links_lead_to_the_last_of_97",
            "reports/test_first_page_only.py::test_r03_a_cap_of_ours_at_60_is_named_as_ours",
        ),
        differs="A cap of ours is CLIENT_LIMIT_REACHED with layer client, and the page on offer is "
        "MORE_PAGES_AVAILABLE.",
    ),
    "R04": Report(
        "github/github-mcp-server#2363",
        cases="o04a o04b",
        tests=("reports/test_first_page_only.py::test_r04_thirty_alerts_without_an_end_are_not_all_alerts",),
        differs="Nothing stated about the end is the status unknown, not partial. The 30 stand in what the model "
        "reads; the caveat of the answer says that the source does not tell, without the number.",
    ),
    "R05": Report(
        "langchain4j/langchain4j#5661",
        cases="o05a o05b",
        tests=(
            "reports/test_first_page_only.py::test_r05_the_token_of_an_object_list_arrives_as_it_was_given",
            "reports/test_first_page_only.py::test_r05_a_list_that_is_cut_and_names_no_token_is_partial",
        ),
    ),
    "R06": Report(
        "Unstructured-IO/unstructured-ingest#48",
        cases="o06",
        tests=(
            "reports/test_first_page_only.py::test_r06_a_filter_of_ours_over_the_newest_page_finds_nothing_and_proves_nothing",
            "reports/test_first_page_only.py::test_r06_a_tool_that_filters_what_it_fetched_says_so_through_its_judge",
        ),
        differs="A filter of ours over a read is a check with the read's own status and reasons; filtered_after_cap "
        "is what a tool's judge says, not we.",
    ),
    "R07": Report(
        "forcedotcom/SalesforceMobileSDK-iOS#231",
        cases="o07a o07b",
        tests=(
            "reports/test_first_page_only.py::test_r07_done_is_false_until_all_5989_rows_are_there",
            "reports/test_first_page_only.py::test_r07_a_total_that_changes_on_the_last_part_is_not_believed",
        ),
        differs="count_mismatch stands beside total_changed: a loss of consistency explains no shortfall.",
    ),
    "R08": Report(
        "elastic/connectors#3320",
        cases="o08a o08b",
        tests=(
            "reports/test_first_page_only.py::test_r08_no_next_link_is_no_end_where_a_count_disproves_it",
            "reports/test_first_page_only.py::test_r08_the_same_source_read_by_offset_is_complete",
        ),
    ),
    # K2
    "R09": Report(
        "xorbitsai/xagent#2392",
        cases="o09",
        tests=("reports/test_caps.py::test_r09_whole_records_are_dropped_and_no_total_comes_from_what_is_left",),
        differs="A cut of ours in what is shown is PRESENTATION_LIMIT; the ledger keeps the read before it.",
    ),
    "R10": Report(
        "ondata/ckan-mcp-server#39",
        cases="o10a o10b o10c o10d",
        tests=(
            "reports/test_caps.py::test_r10_a_tool_that_cuts_the_text_of_its_json_gave_nothing",
            "reports/test_caps.py::test_r10_a_tool_that_trims_rows_and_says_so_is_partial",
            "reports/test_caps.py::test_r10_a_tool_that_caps_nothing_is_capped_by_us_in_whole_rows",
        ),
        differs="A cut of ours in what is shown is PRESENTATION_LIMIT.",
    ),
    "R11": Report(
        "runpod/runpod-mcp#3",
        cases="o11",
        tests=(
            "reports/test_caps.py::test_r11_a_list_beyond_the_limit_of_the_client_is_shown_in_parts",
            "reports/test_caps.py::test_r11_a_call_that_the_client_rejected_is_unavailable_and_no_empty_list",
        ),
        differs="A cut of ours in what is shown is PRESENTATION_LIMIT, and read_more leads on.",
    ),
    "R12": Report(
        "run-llama/llama_index#10013",
        cases="o12a o12b",
        tests=(
            "sources/test_sql.py::test_r12_a_long_text_is_not_cut",
            "sources/test_records.py::test_r12_a_cut_text_says_how_much_of_it_is_shown",
        ),
    ),
    "R13": Report(
        "Digital-Process-Tools/claude-supertool#1073",
        cases="o13a o13b",
        tests=("reports/test_caps.py::test_r13_a_cut_search_says_how_many_there_are_or_that_it_does_not_know",),
    ),
    "R14": Report(
        "simstudioai/sim#6699",
        cases="o14a o14b",
        tests=(
            "reports/test_caps.py::test_r14_a_cap_met_on_a_full_page_with_more_to_come_is_a_cap",
            "reports/test_caps.py::test_r14_a_cap_met_by_the_last_record_was_not_touched",
        ),
        differs="A cap of ours is CLIENT_LIMIT_REACHED.",
    ),
    "R15": Report(
        "Polymarket/ts-sdk#240",
        cases="o15a o15b",
        tests=(
            "reports/test_caps.py::test_r15_a_page_that_the_server_shortens_is_no_end",
            "reports/test_caps.py::test_r15_where_no_end_is_stated_none_is_assumed",
        ),
        differs="Nothing stated about the end is the status unknown, not partial.",
    ),
    "R16": Report(
        "aks129/HealthClawGuardrails#298",
        cases="o16",
        tests=("reports/test_caps.py::test_r16_two_losses_on_top_of_each_other_are_both_told",),
        differs="The cut of the summary is PRESENTATION_LIMIT, and our one page CLIENT_LIMIT_REACHED.",
    ),
    "R17": Report(
        "datahub-project/analytics-agent#14",
        tests=("sources/test_sql.py::test_r17_a_statement_runs_to_the_letter",),
    ),
    # K3
    "R18": Report(
        "boto/boto#1713",
        cases="o18a o18b",
        tests=(
            "reports/test_going_on.py::test_r18_two_empty_pages_with_a_key_are_no_end",
            "reports/test_going_on.py::test_r18_an_empty_scan_that_was_stopped_proves_nothing",
        ),
    ),
    "R19": Report(
        "boto/botocore#641",
        cases="o19a o19b",
        tests=("reports/test_going_on.py::test_r19_a_repeated_token_is_the_end_where_the_source_says_so",),
    ),
    "R20": Report(
        "PrefectHQ/fastmcp#5025",
        cases="o20a o20b o20c",
        tests=(
            "reports/test_going_on.py::test_r20_an_empty_string_is_a_cursor_to_mcp",
            "sources/test_mcp.py::test_an_empty_string_is_a_cursor_and_is_sent_back_as_one",
        ),
    ),
    "R21": Report(
        "DeusData/codebase-memory-mcp#1247",
        cases="o21",
        tests=(
            "reports/test_going_on.py::test_r21_eight_tools_behind_a_cursor_that_stands_still_stay_eight",
            "sources/test_mcp.py::test_a_cursor_that_never_advances_stops_the_walk_and_counts_each_tool_once",
        ),
        differs="The repeated records are duplicates across pages too, so CONSISTENCY_LOST:duplicate_ids stands "
        "beside.",
    ),
    "R22": Report(
        "Glitchedpixel-io/media-api#66",
        cases="o22a o22b",
        tests=("reports/test_going_on.py::test_r22_a_cursor_that_is_never_null_does_not_loop",),
    ),
    "R23": Report(
        "kubernetes-client/python#953",
        cases="o23a o23b y25 kubernetes_list-trap-13-another-state",
        tests=(
            "reports/test_going_on.py::test_r23_the_token_in_the_error_is_not_followed",
            "reports/test_going_on.py::test_r23_a_restart_begins_again_and_keeps_nothing_of_the_first_walk",
            "reports/test_going_on.py::test_r23_pages_of_two_states_are_never_complete",
            "sources/test_kubernetes.py::test_a_token_that_died_is_expired_and_the_one_in_the_error_is_not_followed",
        ),
        differs="There is no walk that goes on with the error's token on purpose; what such pages look like is "
        "never complete.",
    ),
    "R24": Report(
        "param20h/PDF-Assistant-RAG#792",
        cases="o24",
        tests=(
            "reports/test_shifting_ground.py::test_r24_an_offset_walk_over_what_it_changes_is_not_complete",
            "reports/test_shifting_ground.py::test_r24_without_a_count_two_walks_show_that_the_set_moved",
            "reports/test_shifting_ground.py::"
            "test_r24_what_one_uncounted_walk_cannot_see_is_an_interval_and_licenses_no_destruction",
            "reports/test_shifting_ground.py::test_r24_without_a_count_or_a_unique_order_nothing_is_known",
            "reports/test_shifting_ground.py::test_r24_a_walk_by_key_visits_all_250",
            "sources/test_sql.py::test_r24_a_walk_over_what_its_own_writes_change_misses_nothing",
        ),
        differs="total_changed where the source counts; mutated_during_read where two walks are compared. One walk "
        "with neither, over an order that its profile calls unique, cannot know of writes between its "
        "pages.",
    ),
    "R25": Report(
        "LanternOps/breeze#3462",
        cases="o25a o25b",
        tests=(
            "reports/test_shifting_ground.py::test_r25_rows_that_are_served_twice_are_seen",
            "reports/test_shifting_ground.py::test_r25_an_order_with_ties_proves_nothing_where_no_count_does",
            "reports/test_shifting_ground.py::test_r25_an_exact_count_that_equals_the_unique_ids_proves_what_an_order_with_ties_cannot",
            "sources/test_sql.py::test_r25_ties_are_harmless_in_one_statement_and_an_offset_page_is_never_complete",
        ),
        differs="An exact count that equals the unique ids makes an offset walk with ties complete (PROFILES, "
        "order); the report wants it refused. Without the count it is unknown, with ORDER_NOT_UNIQUE.",
    ),
    "R26": Report(
        "PyGithub/PyGithub#1309",
        cases="o26a o26b github_search-trap-3-cap",
        tests=(
            "reports/test_shifting_ground.py::test_r26_a_search_that_stops_at_1000_is_no_end_of_3041",
            "reports/test_shifting_ground.py::test_r26_a_total_that_cannot_say_more_than_1000_is_no_exact_one",
        ),
    ),
    "R27": Report(
        "elastic/elasticsearch#28494",
        cases="o27 elasticsearch_search-trap-1-failed-shards-empty",
        tests=("reports/test_shifting_ground.py::test_r27_no_hits_while_a_shard_failed_is_not_no_matches",),
        differs="Shards have no names in the response, so they are a reason and no entry of sources.",
    ),
    "R28": Report(
        "broadinstitute/gnomad-browser#825",
        cases="o28a o28b elasticsearch_pit-trap-1-shards-unaccounted-for elasticsearch_pit-skipped-shards",
        tests=(
            "reports/test_shifting_ground.py::test_r28_shards_that_neither_failed_nor_answered_are_missing_and_skipped_ones_are_not",
        ),
        differs="Elasticsearch counts skipped shards among the successful ones, which its shipped profile follows; "
        "the case holds the numbers of the report.",
    ),
    "R29": Report(
        "cli/cli#6013",
        cases="o29 github_graphql-partial-data",
        tests=("reports/test_shifting_ground.py::test_r29_errors_beside_data_leave_a_hole_and_do_not_stop_the_walk",),
        differs="PARTIAL_FAILURE; the position of the hole is no part of the contract.",
    ),
    "R30": Report(
        "stripe/stripe-python#221",
        cases="o30a o30b",
        tests=(
            "reports/test_shifting_ground.py::test_r30_the_filters_of_the_first_request_are_those_of_every_request",
            "reports/test_shifting_ground.py::test_r30_a_server_that_forgets_the_filter_is_found_out",
        ),
    ),
    "R31": Report(
        "pycontribs/jira#197",
        cases="o31",
        tests=("reports/test_shifting_ground.py::test_r31_one_record_that_moves_in_a_walk_of_300_is_noticed",),
    ),
    "R32": Report(
        "axoviq-ai/synthadoc#273",
        cases="o32a o32b",
        tests=(
            "reports/test_shifting_ground.py::test_r32_a_total_of_the_page_does_not_end_the_walk",
            "reports/test_shifting_ground.py::test_r32_a_total_of_the_page_proves_no_end",
        ),
        differs="Nothing stated about the end is the status unknown.",
    ),
    # K6
    "R43": Report(
        "simstudioai/sim#6757",
        cases="o43a o43b o43c o43e o43f",
        tests=(
            "reports/test_guards.py::test_r43_nothing_is_deleted_because_a_listing_stopped_early",
            "reports/test_guards.py::"
            "test_r43_a_whole_listing_of_nothing_is_no_word_where_the_query_came_from_a_read_that_failed",
            "reports/test_guards.py::test_r43_an_empty_page_that_names_another_is_no_end_of_the_listing",
            "reports/test_guards.py::test_r43_a_page_size_that_changes_under_a_cursor_deletes_nothing",
            "reports/test_guards.py::test_r43_a_whole_listing_deletes_just_what_it_misses",
        ),
        differs="A page size that changes is PROTOCOL_ANOMALY:page_size_changed. A query that was built on a read that "
        "failed is known to the guard where both reads are evidence, which they are unless the author names one.",
    ),
    "R44": Report(
        "Destrayon/Connapse#406",
        tests=(
            "reports/test_guards.py::test_r44_deletions_by_absence_wait_for_a_word_that_is_a_ceiling",
            "gate/test_writing.py::test_deletions_by_absence_are_withheld_and_their_approval_is_a_ceiling",
        ),
    ),
    "R45": Report(
        "langchain-ai/langchain#8051",
        tests=(
            "langchain/test_reported.py::test_r45_a_callback_stops_nothing_and_the_guard_does",
            "langchain/test_reported.py::test_r45_a_guard_that_would_be_a_plain_callback_is_refused_when_it_is_made",
        ),
        differs="The code is EVIDENCE_INCOMPLETE. A callback of somebody else cannot be refused; ours cannot be "
        "made one whose errors are swallowed.",
    ),
    "R46": Report(
        "langchain-ai/langchain#40166",
        tests=(
            "langchain/test_reported.py::test_r46_a_call_that_was_edited_into_another_tool_is_held_to_that_tools_rules",
            "langchain/test_approvals.py::"
            "test_a_call_that_another_approver_edits_into_another_tool_is_asked_about_as_that_one",
        ),
    ),
    "R47": Report(
        "openai/openai-agents-python#991",
        tests=("reports/test_guards.py::test_r47_no_tool_runs_while_its_guard_still_thinks",),
    ),
    "R48": Report(
        "pydantic/pydantic-ai#6968",
        tests=(
            "reports/test_guards.py::test_r48_the_approver_sees_the_arguments_that_run",
            "gate/test_writing.py::test_an_approval_is_for_the_arguments_that_were_shown",
            "langchain/test_before_a_write.py::"
            "test_arguments_that_were_changed_while_a_person_thought_are_not_approved",
        ),
    ),
    "R49": Report(
        "google-gemini/gemini-cli#10287",
        cases="o49",
        tests=(
            "langchain/test_agents.py::test_a_read_and_a_write_of_one_turn_do_not_go_together",
            "langchain/test_agents.py::test_a_slow_partial_read_beside_a_write_is_waited_for_by_no_one",
            "langchain/test_agents.py::test_the_turn_is_seen_through_a_bare_tool_node",
            "llamaindex/test_agents.py::test_a_read_and_a_write_of_one_turn_are_refused_in_both_orders",
        ),
        differs="The write does not wait for the read: it is refused as EVIDENCE_PENDING in either order, and once the "
        "read is known as EVIDENCE_INCOMPLETE.",
    ),
    "R50": Report(
        "langchain-ai/langgraph#7780",
        tests=(
            "langchain/test_before_a_write.py::test_a_resumed_write_leaves_one_line_of_each_kind_and_runs_once",
            "langchain/test_approvals.py::test_a_checkpoint_that_is_resumed_twice_writes_once",
            "langchain/test_agents.py::test_a_read_that_is_interrupted_is_withdrawn_and_asked_again",
            "audit/test_audit_reports.py::test_a_decision_that_is_run_again_on_each_resume_is_one_event",
        ),
    ),
    "R51": Report(
        "hannesrudolph/sqlite-explorer-fastmcp-mcp-server#8",
        tests=(
            "sources/test_sql.py::test_r51_a_write_in_disguise_is_refused",
            "sources/test_sql.py::test_r51_what_reads_like_a_read_is_refused_by_the_connection_itself",
            "sources/test_sql.py::test_r51_what_only_looks_like_a_write_runs",
        ),
    ),
    "R52": Report(
        "crewAIInc/crewAI#5311",
        tests=(
            "real/test_postgres.py::test_r52_a_writable_expression_is_refused_and_changes_nothing",
            "real/test_postgres.py::test_r52_a_function_that_writes_is_refused_and_changes_nothing",
        ),
    ),
    "R53": Report(
        "NousResearch/hermes-agent#108972",
        tests=(
            "reports/test_guards.py::test_r53_annotations_make_a_read_in_both_spellings_and_only_without_a_doubt",
            "reports/test_guards.py::test_r53_the_annotations_of_the_protocols_own_library_are_read",
            "reports/test_guards.py::test_r53_a_tool_that_nobody_declared_is_judged_as_destructive_where_it_says_so",
            "reports/test_guards.py::test_r53_annotations_loosen_nothing_unless_they_are_trusted",
            "reports/test_guards.py::test_r53_what_an_author_declared_is_tightened_and_never_loosened",
            "reports/test_guards.py::test_r53_trust_is_true_or_false_and_annotations_have_names",
            "langchain/test_reported.py::"
            "test_r53_annotations_in_the_metadata_of_a_tool_tighten_and_loosen_only_with_trust",
            "langchain/test_reported.py::test_r53_a_write_is_destructive_where_its_annotations_say_so_however_it_came",
            "llamaindex/test_reported.py::test_r53_annotations_that_are_handed_over_tighten_and_loosen_only_with_trust",
            "llamaindex/test_reported.py::test_r53_a_declared_write_is_destructive_where_its_annotations_say_so",
        ),
        differs="What annotations call a read is one to us only with trust_annotations=True.",
    ),
    "R54": Report(
        "chatwoot/ai-agents#59",
        tests=(
            "reports/test_guards.py::test_r54_a_guard_that_fails_refuses",
            "reports/test_guards.py::test_r54_a_ledger_that_cannot_be_read_refuses",
            "reports/test_guards.py::test_r54_a_judgement_that_fails_refuses_and_says_nothing_of_why",
            "gate/test_fails_closed.py::test_a_ledger_that_fails_lets_nothing_be_written",
        ),
    ),
    # K7
    "R55": Report(
        "modelcontextprotocol/python-sdk#3067",
        tests=(
            "actions/test_reported.py::test_r55_misspelled_and_unknown_arguments_are_named_and_the_tool_does_not_run",
            "canaries/test_reports.py::test_r55_a_misspelled_argument_runs_nothing_and_is_named",
            "langchain/test_wrapping.py::test_undeclared_arguments_are_refused_before_the_body",
            "langchain/test_actions.py::test_every_way_in_is_held_to_the_contract",
            "llamaindex/test_actions.py::test_every_way_in_is_held_to_the_contract",
        ),
    ),
    "R56": Report(
        "langchain-ai/langchain#34246",
        tests=(
            "actions/test_reported.py::"
            "test_r56_what_a_framework_gives_is_no_field_and_a_model_that_gives_it_is_refused",
            "canaries/test_reports.py::test_r56_what_the_framework_injects_is_no_argument_and_a_model_cannot_send_it",
            "langchain/test_wrapping.py::test_injected_arguments_still_work_and_are_not_the_models_to_give",
        ),
        differs="An action refuses the model's own `state`. In a tool of LangChain that has such an argument the graph "
        "puts its own in place of the model's, and what the model sent reaches nothing.",
    ),
    "R57": Report(
        "pydantic/pydantic#7461",
        tests=(
            "actions/test_reported.py::test_r57_a_refused_value_stands_in_none_of_the_six_ways_to_look",
            "actions/test_value_free.py::test_a_request_that_is_refused_shows_no_value_in_any_way",
        ),
    ),
    "R58": Report(
        "langchain-ai/langgraph#8648",
        tests=(
            "actions/test_reported.py::test_r58_a_rule_across_fields_is_named_and_its_message_is_not_told",
            "canaries/test_reports.py::test_r58_a_broken_rule_is_named_and_its_values_are_not",
            "langchain/test_wrapping.py::test_validation_errors_never_echo_values",
        ),
    ),
    "R59": Report(
        "langchain-ai/langgraph#1667",
        tests=(
            "actions/test_reported.py::test_r59_what_a_tool_raises_is_a_code_and_its_text_goes_to_the_hook_alone",
            "canaries/test_reports.py::test_r59_an_exception_reaches_the_model_as_a_code",
            "langchain/test_reported.py::test_r59_what_a_tool_raises_is_told_by_a_code",
            "langchain/test_reported.py::test_r59_a_tool_of_mcp_that_fails_says_nothing_of_why",
            "llamaindex/test_reported.py::test_r59_what_a_tool_raises_is_told_by_a_code",
        ),
        differs="A tool that is no action has no codes of its own: tool_failed, or an unavailable read.",
    ),
    "R60": Report(
        "oraios/serena#11",
        tests=(
            "actions/test_reported.py::test_r60_an_argument_is_never_bound_to_another_name",
            "canaries/test_reports.py::test_r60_a_value_under_a_wrong_name_is_not_taken_for_another_argument",
            "llamaindex/test_reported.py::test_r60_the_only_argument_is_not_taken_for_another",
        ),
    ),
    "R61": Report(
        "langchain-ai/langgraph#2479",
        tests=(
            "actions/test_reported.py::test_r61_what_stands_beside_the_allowed_output_goes_nowhere",
            "canaries/test_reports.py::test_r61_no_stream_and_no_state_holds_what_the_output_does_not_declare",
            "langchain/test_reported.py::test_r61_what_is_not_allowed_out_is_on_no_channel",
        ),
    ),
    # K8
    "R62": Report(
        "fazer-ai/agents#78",
        tests=(
            "audit/test_audit_reports.py::test_the_arguments_of_a_call_leave_their_names_and_no_digit_of_a_value",
            "audit/test_events.py::test_a_name_that_is_a_value_in_disguise_is_counted_and_not_kept",
        ),
    ),
    "R63": Report(
        "langflow-ai/langflow#8011",
        tests=(
            "canaries/test_redacting_langchain.py::test_a_redacted_tracer_learns_every_event_and_no_value",
            "audit/test_audit_reports.py::test_neither_the_beginning_nor_any_end_of_a_run_holds_a_value",
            "canaries/test_langchain.py::test_a_call_lets_out_no_value_but_what_the_model_sent_to_the_framework",
        ),
        differs="The audit log holds no value at all. A tracer of LangChain is handed what the model sent before "
        "anything of ours can know of it.",
    ),
    "R64": Report(
        "UnitOneAI/SecuritySkills#647",
        tests=(
            "audit/test_keys.py::test_a_list_of_candidates_does_not_tell_which_of_them_was_digested",
            "audit/test_keys.py::test_a_reference_correlates_where_that_was_asked_for_and_nowhere_else",
        ),
    ),
    # K10
    "R70": Report(
        "LibreChat-AI/agents#504",
        cases="o70a o70b o70c o70d o70e",
        tests=(
            "reports/test_failures.py::test_r70_a_search_that_failed_is_not_an_empty_one",
            "reports/test_failures.py::test_r70_a_search_that_found_nothing_is_complete",
        ),
        differs="A refusal is VISIBILITY_RESTRICTED, and unavailable.",
    ),
    "R71": Report(
        "langchain4j/langchain4j#5855",
        cases="o71",
        tests=("reports/test_failures.py::test_r71_three_files_that_failed_for_three_causes_give_three_reasons",),
    ),
    "R72": Report(
        "Icinga/icinga2#4945",
        cases="o72a o72b o72c",
        tests=(
            "reports/test_failures.py::test_r72_a_404_that_may_mean_no_right_is_no_empty_list",
            "reports/test_failures.py::test_r72_an_empty_list_for_a_caller_without_a_scope_is_restricted",
            "reports/test_failures.py::test_r72_an_empty_list_in_full_scope_is_empty_for_this_caller",
        ),
        differs="An ambiguous 404 is SOURCE_UNAVAILABLE: the contract has no code for a visibility that is not known.",
    ),
    "R73": Report(
        "sjkingo/python-freshdesk#95",
        cases="o73",
        tests=(
            "reports/test_failures.py::test_r73_a_quota_in_mid_walk_keeps_60_tickets_and_waits_no_longer_than_it_may",
        ),
        differs="RATE_LIMITED alone: a wait longer than what is left is not begun, so no time was exceeded.",
    ),
}


@functools.cache
def functions(file: Path) -> frozenset[str]:
    """Returns the names of the functions of a module."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def files_of(case: str) -> list[Path]:
    """Returns the files of a replay case."""
    found = (TESTS / "replay" / "cases").glob(f"{case}-*.json")
    return [*found, *(TESTS / "replay" / "shipped").glob(f"{case}.json")]


def test_every_report_of_these_kinds_is_in_the_table() -> None:
    assert set(REPORTS) == NUMBERS


@pytest.mark.parametrize("number", sorted(REPORTS))
def test_what_the_table_names_is_there(number: str) -> None:
    report = REPORTS[number]
    assert report.tests
    for place in report.tests:
        file, _, name = place.partition("::")
        assert name in functions(TESTS / file), place
    for case in report.cases.split():
        assert len(files_of(case)) == 1, case


def test_every_replay_case_of_a_report_is_in_the_table_and_names_its_origin() -> None:
    told = {case: report.origin for report in REPORTS.values() for case in report.cases.split()}
    seen = 0
    for file in sorted((TESTS / "replay" / "cases").glob("o*.json")):
        if f"R{file.name[1:3]}" in NUMBERS:
            assert json.loads(file.read_text(encoding="utf-8"))["origin"] == told[file.name.partition("-")[0]], (
                file.name
            )
            seen += 1
    assert seen > 50


def test_every_test_that_is_named_after_a_report_is_in_the_table() -> None:
    told = {place for report in REPORTS.values() for place in report.tests}
    for room in ("reports", "sources", "actions", "canaries", "real", "langchain", "llamaindex"):
        for file in sorted((TESTS / room).glob("test_*.py")):
            for name in functions(file):
                number = re.match(r"test_(r\d\d)_", name)
                if number and number[1].upper() in NUMBERS:
                    assert f"{room}/{file.name}::{name}" in told
