"""Wrong audit logs and wrong verifiers, and the tests that kill them."""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

from mutants.mutating import Mutant
from unabridged.audit.chain import SEGMENT
from unabridged.audit.tail import tail_of

_VERIFYING: Final = "audit/test_verifying.py::"
_TAMPERING: Final = "audit/test_tampering.py::"
_CRASHES: Final = "audit/test_crashes.py::"
_LOG: Final = "audit/test_log.py::"
_KEYS: Final = "audit/test_keys.py::"
_EVENTS: Final = "audit/test_events.py::"


def _link_is_ignored(right: Any) -> Any:
    def link(self: Any, _prev: str, n: int) -> None:
        right(self, self.chain.hash, n)

    return link


def _links_of_segments_are_ignored(_: Any) -> Any:
    """A verifier that proves the last segment of a block only."""

    def proven(data: bytes, _lines: Any, lengths: list[int], *_args: Any, **_how: Any) -> str:
        return sha256(data[-sum(lengths[-SEGMENT:]) - SEGMENT :]).hexdigest()

    return proven


def _segment_forgets_the_one_before(right: Any) -> Any:
    def cut(self: Any, link: str | None = None) -> None:
        right(self, link)
        self.hash = "0" * 64

    return cut


def _failed_write_is_swallowed(right: Any) -> Any:
    def write_all(self: Any, data: bytes) -> None:
        try:
            right(self, data)
        except OSError:
            return

    return write_all


def _tear_is_cut_off(_: Any) -> Any:
    def seal(self: Any, _size: int) -> None:
        os.ftruncate(self._fd, self._end)

    return seal


def _everything_is_written_again(right: Any) -> Any:
    def append(self: Any, event: Any, session: Any) -> None:
        self._seen.clear()
        self._older.clear()
        right(self, event, session)

    return append


def _gaps_go_unseen(right: Any) -> Any:
    def begins(self: Any, file: str, number: int) -> None:
        self.number = 0
        right(self, file, number)

    return begins


def _left_out_is_not_counted(right: Any) -> Any:
    """A verifier that forgets how much of a line without an end it left out."""

    def split(fd: int, start: int, end: int) -> Any:
        short, long_from = 0, None
        for at, raw in right(fd, start, end):
            short += 0 if long_from is None else at - long_from - 1
            long_from = at if raw is None else None
            yield at - short, raw

    return split


def _seal_behind_the_last_line(right: Any) -> Any:
    """A writer that seals the last line of a file as any other."""

    def settle(self: Any, size: int) -> None:
        tail = tail_of(self._fd, size)
        if tail.line is not None and tail.line.kind == "turn" and not tail.finished:
            self._follow(tail)
            self._seal(size)
            self._move(tail.line.next)
        else:
            right(self, size)

    return settle


def _half_made_counts(_: Any) -> Any:
    """A writer that goes on from wherever an error left it."""

    def catch_up(self: Any, size: int) -> None:
        if size != self._end:
            self._settle(size)
        if self._end >= self._rules.max_bytes:
            self._turn()

    return catch_up


def _seal_is_enough(right: Any) -> Any:
    """A writer that looks for the line that opens a file only where it does not know the log."""

    def learn_log(self: Any) -> None:
        if not self._log:
            right(self)

    return learn_log


def _other_log(right: Any) -> Any:
    def link(self: Any) -> str:
        right(self)
        return ""

    return link


def _failed_sync_is_forgotten(_: Any) -> Any:
    def fsync(self: Any, fd: int) -> None:
        self._rules.system.fsync(fd)

    return fsync


def _tail_is_kept(right: Any) -> Any:
    """A writer that trusts what it remembers of the file, whoever wrote behind it."""

    def settle(self: Any, size: int) -> None:
        if self._end >= 0:
            self._end = size
        else:
            right(self, size)

    return settle


def _m(name: str, target: str, wrong: Callable[[Any], Any], *killers: str, errors: tuple[str, ...] = ()) -> Mutant:
    more = {"errors": errors} if errors else {}
    return Mutant(f"audit: {name}", f"unabridged.audit.{target}", wrong, [f"tests/{k}" for k in killers], **more)


AUDIT: Final = (
    _m("a link is ignored", "verifying:_Walk.link", _link_is_ignored,
       _VERIFYING + "test_an_edit_is_found_at_the_line_behind_it",
       _TAMPERING + "test_any_changed_byte_of_the_log_is_found_given_the_head"),
    _m("the links inside a block are ignored", "blocks:_proven", _links_of_segments_are_ignored,
       _VERIFYING + "test_blocks_and_lines_one_by_one_see_the_same",
       _TAMPERING + "test_any_changed_byte_of_a_long_log_is_found_given_an_anchor"),
    _m("the form of a block is not looked at", "blocks:_have_form", lambda _: lambda *_args, **_how: True,
       _VERIFYING + "test_a_line_of_another_length_is_looked_at_also_where_all_was_written_anew",
       _VERIFYING + "test_lines_that_were_written_anew_are_all_looked_at_where_that_is_asked_for"),
    _m("a file is not linked to the one before", "chain:Chain.cut", _segment_forgets_the_one_before,
       _VERIFYING + "test_an_edit_of_the_line_that_closes_a_file_is_found_in_the_next"),
    _m("the head is not compared", "verifying:_conclude", lambda _: lambda *_args: None,
       _VERIFYING + "test_truncation_is_found_by_the_head_and_by_an_anchor_only",
       _TAMPERING + "test_no_sequence_of_changes_is_accepted_given_the_head"),
    _m("a missing file goes unseen", "verifying:_Walk.begins", _gaps_go_unseen,
       _VERIFYING + "test_a_file_of_the_set_that_is_missing_is_found"),
    _m("a failed write is swallowed", "writer:Writer._write_all", _failed_write_is_swallowed,
       _CRASHES + "test_a_write_that_fails_is_an_error_and_leaves_no_half_line_unsealed"),
    _m("what is left out of a long line is not counted", "verifying:_split", _left_out_is_not_counted,
       _CRASHES + "test_tears_longer_than_any_line_are_measured_over_all_that_is_read_at_once"),
    _m("all open intents are gone through", "verifying:_FEW", lambda _: 1_000_000,
       _VERIFYING + "test_no_block_goes_through_all_intents_that_stay_open"),
    _m("a sync that failed is forgotten", "writer:Writer._fsync", _failed_sync_is_forgotten,
       _CRASHES + "test_a_sync_that_fails_where_a_file_is_full_stops_the_log_and_its_files_go_on_when_it_is_opened",
       _CRASHES + "test_after_a_sync_that_failed_nothing_more_is_written"),
    _m("a seal stands behind the last line of a file", "writer:Writer._settle", _seal_behind_the_last_line,
       _CRASHES + "test_a_last_line_of_a_file_that_lacks_its_newline_gets_it_and_the_next_file_follows",
       errors=("AuditFailed", "AssertionError")),
    _m("what an error left half made counts", "writer:Writer._catch_up", _half_made_counts,
       _CRASHES + "test_a_clock_that_fails_at_any_moment_leaves_no_line_out_of_place"),
    _m("a seal counts as the line that opens a file", "writer:Writer._learn_log", _seal_is_enough,
       _CRASHES + "test_a_file_whose_first_line_is_a_seal_gets_the_line_that_opens_it"),
    _m("a file forgets whose it is", "writer:Writer._link_to_earlier", _other_log,
       _CRASHES + "test_a_file_whose_first_line_is_a_seal_gets_the_line_that_opens_it"),
    _m("a writer that was left behind goes file by file", "writer:numbers_of", lambda _: lambda _base: [],
       _LOG + "test_a_writer_that_was_left_behind_by_hundreds_of_files_goes_on_in_the_newest",
       errors=("InvalidInput",)),
    _m("a tear is cut off", "writer:Writer._seal", _tear_is_cut_off,
       _CRASHES + "test_a_torn_line_is_told_and_then_sealed_and_stays", errors=("AssertionError", "KeyError")),
    _m("a writer does not look at what others wrote", "writer:Writer._settle", _tail_is_kept,
       _LOG + "test_two_logs_of_one_process_on_one_file_write_one_chain"),
    _m("an event is written again", "writer:Writer.append", _everything_is_written_again,
       _LOG + "test_an_event_of_the_same_kind_and_reference_is_written_once"),
    _m("a digest has no key", "keys:_derived", lambda _: lambda _key, _use: hmac.new(b"", digestmod="sha256"),
       _KEYS + "test_a_list_of_candidates_does_not_tell_which_of_them_was_digested",
       _KEYS + "test_another_key_makes_another_digest"),
    _m("a digest always correlates", "keys:Keyed._salt", lambda _: lambda _self, _session: bytes(16),
       _KEYS + "test_a_reference_correlates_where_that_was_asked_for_and_nowhere_else"),
    _m("texts are written as they come", "events:_token", lambda _: lambda text: text,
       _EVENTS + "test_a_text_that_is_no_token_becomes_a_mark"),
    _m("any name is kept", "events:_FIELD", lambda _: re.compile(r"(?s).*\Z"),
       _EVENTS + "test_a_name_that_is_a_value_in_disguise_is_counted_and_not_kept",
       errors=("AssertionError", "TypeError")),
)  # fmt: skip
