"""Where each oddity of real servers is answered: ``../shared/fleet/oddities.md`` by its ids.

An answer is the tests that hold it, or a sentence for what is answered elsewhere or deliberately
otherwise; some have both. ``tests/pool/oddities/test_table.py`` holds the table to that file and
to the tests.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What becomes of one oddity.

    Attributes:
        tests: dotted names below ``tests``, without ``test_`` before module and function.
        reason: one sentence; "" where the tests say all.
    """

    tests: tuple[str, ...] = ()
    reason: str = ""


def _held(*tests: str, reason: str = "") -> Answer:
    return Answer(tests=tests, reason=reason)


_CHILDREN = "pool.oddities.processes"
_HANDSHAKES = "pool.oddities.handshakes"
_LISTINGS = "pool.oddities.listings"
_NAMES = "pool.oddities.names"
_SCHEMAS = "pool.oddities.schemas"
_RESULTS = "pool.oddities.results"
_ERRORS = "pool.oddities.errors"

ANSWERS: dict[str, Answer] = {
    "A1": _held(
        "pool.connection.garbage_on_the_output_is_told_and_survived",
        "pool.stdio.garbage_is_skipped_counted_and_told_once_cut_short",
        "pool.stdio.a_long_garbage_line_is_told_cut_short",
    ),
    "A2": _held(f"{_CHILDREN}.text_between_two_answers_is_told_once_and_fails_no_call"),
    "A3": _held("pool.stdio.what_a_child_prints_when_told_to_end_is_no_garbage"),
    "A4": _held(
        f"{_CHILDREN}.a_listing_of_two_megabytes_on_one_line_is_read",
        f"{_CHILDREN}.a_line_without_end_fails_its_call_at_a_limit_that_is_named",
        "pool.line_splitter.the_limit_leaves_room_for_real_listings",
    ),
    "A5": _held("pool.stdio.a_shouting_child_is_not_blocked_and_its_tail_is_kept"),
    "A6": _held(f"{_CHILDREN}.colours_go_and_signs_of_all_kinds_stay"),
    "A7": _held(
        "pool.connection.a_child_that_exits_at_start_fails_at_once_with_code_and_last_words"
    ),
    "A8": _held(
        f"{_CHILDREN}.of_a_traceback_the_useful_line_is_the_reason",
        "pool.stderr_tail.the_useful_last_line_of_a_long_traceback_is_kept",
    ),
    "A9": _held(
        "pool.connection.a_mute_child_fails_at_its_deadline_and_delays_nobody",
        "pool.child_process.a_deaf_child_is_killed_and_no_cancellation_cuts_that_short",
        "pool.diagnostics.children_that_fail_each_in_their_own_way_say_how",
    ),
    "A10": _held(
        f"{_HANDSHAKES}.a_first_start_of_many_seconds_is_waited_for_while_others_serve",
    ),
    "A11": _held(
        f"{_CHILDREN}.a_server_that_gives_up_by_itself_fails_then_and_not_at_the_time_out",
    ),
    "A12": _held(
        f"{_CHILDREN}.servers_that_ignore_the_end_of_their_input_are_ended_together",
    ),
    "A13": _held(f"{_CHILDREN}.a_server_that_leaves_with_a_code_when_told_to_has_not_crashed"),
    "A14": _held(
        "pool.child_process.what_a_child_leaves_behind_ends_as_well",
        "pool.no_orphans.nothing_survives_a_host_that_is_killed",
        "pool.no_orphans.nothing_survives_a_pool_however_its_block_is_left",
    ),
    "A15": _held(
        "pool.diagnostics.children_that_fail_each_in_their_own_way_say_how",
        "pool.command_lookup.a_command_that_cannot_be_used_is_named",
    ),
    "A16": _held(
        "pool.stdio.environment_and_folder_reach_the_child",
        "pool.command_lookup.no_working_folder_is_ours",
        reason="A row without a working folder has the host's own, as the pool's specification "
        "rules, since a folder of nobody's would break the relative paths people write.",
    ),
    "A17": _held(
        reason="A daemon in a session of its own is out of reach of a watchdog that knows process "
        "groups, which ChildProcess documents.",
    ),
    "B1": _held("pool.connection.an_old_server_and_a_new_one_are_spoken_to_in_their_own_ways"),
    "B2": _held("pool.lifecycle.whatever_error_the_probe_meets_the_older_era_is_spoken"),
    "B3": _held("pool.connection.a_child_that_dies_of_the_probe_is_started_again_without_it"),
    "B4": _held("pool.connection.an_old_server_and_a_new_one_are_spoken_to_in_their_own_ways"),
    "B5": _held(f"{_HANDSHAKES}.of_all_versions_the_newest_is_spoken"),
    "B6": _held(f"{_HANDSHAKES}.an_older_version_is_taken_and_nothing_newer_is_sent"),
    "B7": _held(f"{_HANDSHAKES}.what_is_newer_than_the_agreed_version_does_no_harm"),
    "B8": _held(f"{_HANDSHAKES}.more_than_a_name_and_a_version_of_a_server_is_no_fault"),
    "B9": _held(f"{_HANDSHAKES}.unknown_members_of_capabilities_are_no_fault"),
    "B10": _held("pool.pool_contents.a_list_that_is_declared_and_not_served_is_empty"),
    "B11": _held(
        f"{_HANDSHAKES}.a_list_whose_backend_is_down_leaves_the_tools_usable",
        "pool.pool_contents.a_list_whose_backend_is_down_is_an_error_of_that_list_alone",
    ),
    "B12": _held("pool.pool_contents.a_server_that_declares_nothing_is_not_asked"),
    "B13": _held("pool.connection.roots_are_answered_before_the_listing_is"),
    "B14": _held(
        f"{_CHILDREN}.roots_asked_for_once_per_tool_are_answered_while_the_listing_waits",
    ),
    "B15": _held(
        f"{_HANDSHAKES}.log_lines_that_nobody_asked_for_are_events_and_delay_nothing",
        "pool.server_log.a_flood_of_lines_is_cut_and_its_size_told_once",
    ),
    "B16": _held(
        "pool.fleet.a_burst_of_changes_is_one_new_listing",
        "pool.fleet.changes_that_are_none_are_looked_at_ever_more_rarely",
        "pool.connection.a_burst_of_changes_of_a_child_is_one_new_listing",
    ),
    "B17": _held(
        "pool.listing_cache.tools_that_turn_out_different_are_told_and_saved",
        "pool.listing_cache.a_saved_tool_that_is_gone_is_unknown_and_says_so",
        reason="Listings are saved under the digest of the connection alone, as the issue rules, "
        "and one that differs for another client is told and re-validated when it is dialled.",
    ),
    "B18": _held(
        f"{_HANDSHAKES}.tools_are_listed_after_the_handshake_and_an_error_of_code_0_is_one",
    ),
    "C1": _held(f"{_LISTINGS}.a_default_that_differs_by_run_is_told_once_and_blocks_no_call"),
    "C2": _held(f"{_LISTINGS}.a_description_that_differs_by_run_is_told_once_and_blocks_no_call"),
    "C3": _held(
        "pool.connection.a_listing_without_an_end_or_with_an_error_fails_the_dial",
        "pool.fleet.a_new_listing_that_fails_leaves_the_old_one",
        reason="A first listing that fails is a failed dial, as the pool's specification rules: "
        "the state shows the server's own words, and the next due use dials again.",
    ),
    "C4": _held(
        f"{_LISTINGS}.four_hundred_tools_are_a_catalogue_of_names_and_none_is_loaded",
    ),
    "C5": _held(
        "pool.calling.a_tool_answers_as_text",
        reason="What a tool can do shows nowhere on the wire, so that few mighty tools are "
        "listed, approved and called as any.",
    ),
    "C6": _held(f"{_LISTINGS}.a_tool_under_two_names_is_kept_twice_and_found_under_both"),
    "C7": _held(
        f"{_LISTINGS}.one_name_in_five_servers_is_called_in_each_and_ambiguous_alone",
        "catalogue.name_resolution.a_bare_name_in_two_servers_is_unknown_and_the_report_lists_both",
    ),
    "C8": _held(f"{_LISTINGS}.unknown_keys_of_a_tool_never_reach_the_model"),
    "C9": _held(f"{_LISTINGS}.unknown_or_no_hints_beside_known_ones_are_no_fault"),
    "C10": _held(
        "loop.approval.a_tool_that_says_nothing_is_judged_as_the_rest",
        "loop.agent_loop.identical_calls_are_shared_only_where_a_tool_allows_it",
        "pool.calling.only_a_harmless_call_is_repeated_after_a_death",
    ),
    "C11": _held(
        "pool.tasks.a_tool_that_needs_a_task_is_called_as_one",
        "pool.tasks.without_tasks_on_the_servers_side_such_tools_are_hidden_with_a_reason",
    ),
    "C12": _held(f"{_LISTINGS}.a_tool_for_an_apps_own_screen_is_listed_and_not_offered"),
    "C13": _held(
        f"{_LISTINGS}.an_endless_description_is_cut_in_a_definition_and_absent_from_the_catalogue",
    ),
    "C14": _held("pool.listing.a_description_loses_indentation_and_nothing_else"),
    "C15": _held("hostile_text.no_frame_of_the_prompt_is_ended_by_what_stands_in_it"),
    "C16": _held(f"{_LISTINGS}.chinese_words_and_signs_are_kept_and_found"),
    "D1": _held(f"{_NAMES}.a_name_one_character_too_long_is_shortened_and_leads_back"),
    "D2": _held(f"{_NAMES}.long_siblings_stay_two_tools"),
    "D3": _held(f"{_NAMES}.a_server_key_of_any_kind_gives_the_same_legal_names_each_time"),
    "D4": _held(f"{_NAMES}.a_name_that_two_servers_could_have_leads_to_one_and_is_told"),
    "D5": _held(f"{_NAMES}.names_of_every_style_are_kept_and_their_words_found"),
    "E1": _held(f"{_SCHEMAS}.a_tool_without_properties_is_callable_with_nothing"),
    "E2": _held(
        f"{_SCHEMAS}.a_schema_that_names_draft_7_is_read_in_it",
        reason="What is sent keeps the name of the draft, and an endpoint that refuses it is found "
        "out and given the tool without its schema.",
    ),
    "E3": _held(f"{_SCHEMAS}.null_and_absence_are_both_taken_where_a_union_says_so"),
    "E4": _held(f"{_SCHEMAS}.lists_of_types_are_judged_and_sent_as_one_type_or_a_union"),
    "E5": _held(
        f"{_SCHEMAS}.a_chain_of_references_is_followed_to_its_end",
        reason="Sent, a reference stands alone without a description of its own, since grammar "
        "builders read nothing beside one.",
    ),
    "E6": _held(f"{_SCHEMAS}.a_reference_through_a_name_with_a_dollar_is_followed"),
    "E7": _held(
        f"{_SCHEMAS}.a_schema_inside_itself_is_followed_as_deep_as_the_value_goes",
        "pool.bounded_validation.references_inside_each_other_end_before_the_interpreter_does",
    ),
    "E8": _held(f"{_SCHEMAS}.a_schema_that_says_nothing_takes_any_value"),
    "E9": _held(f"{_SCHEMAS}.a_list_of_unknown_things_takes_any_list"),
    "E10": _held(f"{_SCHEMAS}.a_fixed_value_without_a_type_keeps_working"),
    "E11": _held(
        f"{_SCHEMAS}."
        "property_names_that_few_take_are_kept_by_all_but_the_endpoint_that_refuses_them",
        "wire.isolation.one_bad_schema_of_many_is_found_and_told_in_words_with_one_notice",
    ),
    "E12": _held(f"{_SCHEMAS}.a_property_named_like_a_keyword_is_taken_for_none"),
    "E13": _held(f"{_SCHEMAS}.choices_of_every_kind_are_kept_and_judged"),
    "E14": _held(f"{_SCHEMAS}.fields_that_need_others_are_judged"),
    "E15": _held(
        f"{_SCHEMAS}.a_pattern_that_looks_around_and_back_costs_no_time_and_no_call",
        "pool.bounded_validation.a_hostile_schema_is_done_soon",
    ),
    "E16": _held(f"{_SCHEMAS}.the_largest_integers_stay_integers"),
    "E17": _held(f"{_SCHEMAS}.formats_that_nobody_knows_are_no_faults"),
    "E18": _held(f"{_SCHEMAS}.limits_in_two_parts_both_hold_and_are_both_shown"),
    "E19": _held(f"{_SCHEMAS}.a_map_of_anything_stays_open"),
    "E20": _held(f"{_SCHEMAS}.leftovers_of_another_dialect_are_no_faults"),
    "E21": _held(
        f"{_SCHEMAS}.a_tool_of_85_kilobytes_is_offered_whole_and_its_weight_is_told",
        reason="A schema is declared as it is, as the pool's specification rules, and its weight "
        "is told to the user, who can hide the tool.",
    ),
    "E22": _held(f"{_SCHEMAS}.wide_deep_and_long_schemas_are_followed"),
    "E23": _held(
        f"{_SCHEMAS}.arguments_that_a_model_gets_nearly_right_are_made_to_fit_or_named",
    ),
    "F1": _held(f"{_RESULTS}.an_error_of_a_tool_need_not_have_the_structure_of_its_results"),
    "F2": _held(f"{_RESULTS}.structure_that_was_not_announced_is_kept"),
    "F3": _held(f"{_RESULTS}.a_tuple_of_draft_7_is_judged_as_one"),
    "F4": _held(
        f"{_RESULTS}.a_schema_of_results_is_compiled_without_the_network_or_costs_only_the_judgement"
    ),
    "F5": _held(f"{_RESULTS}.a_result_that_stands_in_text_and_structure_is_shown_once"),
    "F6": _held(f"{_RESULTS}.a_schema_of_results_inside_itself_is_followed"),
    "F7": _held(f"{_RESULTS}.a_picture_between_texts_is_a_note_of_its_kind_and_size"),
    "F8": _held(f"{_RESULTS}.bytes_that_call_themselves_text_are_bytes"),
    "F9": _held(f"{_RESULTS}.links_are_shown_and_not_followed"),
    "F10": _held(f"{_RESULTS}.hints_for_whom_a_text_is_are_no_fault"),
    "F11": _held(f"{_RESULTS}.an_empty_answer_is_told_to_be_empty"),
    "F12": _held(f"{_RESULTS}.an_error_that_a_server_calls_a_success_is_passed_on_as_it_is"),
    "F13": _held(
        f"{_RESULTS}.progress_of_a_short_call_is_an_event_and_no_part_of_its_answer",
        "pool.calling.progress_extends_the_time_only_where_the_row_says_so",
    ),
    "G1": _held(
        f"{_ERRORS}.a_tool_that_its_server_does_not_know_is_one_kind_of_error",
        reason="A refusal worded as success cannot be told from an answer and is passed on as one.",
    ),
    "G2": _held(f"{_ERRORS}.a_method_not_found_at_a_call_takes_no_tool_away"),
    "G3": _held(f"{_ERRORS}.a_name_that_is_not_listed_is_refused_and_never_sent"),
    "G4": _held(f"{_ERRORS}.of_a_page_of_complaints_the_first_lines_are_kept"),
    "G5": _held(
        f"{_ERRORS}.a_server_that_dies_in_every_call_is_started_again_ever_later",
        "pool.connection.a_child_killed_during_a_call_fails_it_and_the_next_call_starts_another",
    ),
    "G6": _held(
        f"{_ERRORS}.a_question_that_nobody_serves_ends_its_call_readably",
        "pool.server_requests.nobody_to_ask_is_a_refusal_the_server_can_live_with",
    ),
    "G7": _held(f"{_ERRORS}.a_call_of_six_seconds_holds_up_no_other_server"),
    "G8": _held(f"{_ERRORS}.what_a_server_says_of_its_network_is_passed_on"),
    "G9": _held(
        f"{_CHILDREN}.an_id_of_any_kind_comes_back_as_it_was",
        "pool.wire_mending.an_id_that_comes_back_as_text_is_known",
    ),
}
