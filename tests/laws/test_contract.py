"""Laws of the contract: the wire form, refusals, merging, the short form."""

from __future__ import annotations

import copy
import json
import pickle
import traceback
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from laws.contract_documents import json_values, mutated, paths, results
from unabridged.contract import (
    ContractViolation,
    ReadResult,
    decision,
    findings,
    from_wire,
    id_key,
    merge,
    presented,
    with_resume,
)

CANARY = "kanarie~7f3a\u00e9 with a space"
any_result = results() | st.lists(results(), min_size=1, max_size=3).map(lambda r: merge(r, resource="all"))


def wire_bytes(result: ReadResult) -> str:
    return json.dumps(result.to_wire())


@given(any_result)
def test_the_wire_form_round_trips_byte_for_byte(result: ReadResult) -> None:
    document = json.loads(wire_bytes(result))
    again = from_wire(document)
    assert again == result
    assert type(again) is type(result)
    assert wire_bytes(again) == wire_bytes(result)


@given(any_result)
def test_everything_that_decides_stands_before_the_items(result: ReadResult) -> None:
    keys = [k for k in result.to_wire() if k != "checked"]
    assert keys == [
        "contract", "status", "complete", "truncated", "finding_count", "returned", "total", "incomplete_reasons",
        "continuation", "scope", "consistency", "proof", "sources", "item_cuts", "warnings", "read", "items",
    ]  # fmt: skip


@given(any_result)
def test_complete_is_the_only_status_that_counts_or_proves(result: ReadResult) -> None:
    whole = result.status == "complete"
    assert result.complete is whole
    assert result.proves_absence() is whole
    assert (result.finding_count is not None) is whole
    assert (decision(result) == "proceed") is whole
    assert (result.items is None) is (result.status == "unavailable")


@given(any_result)
def test_pickle_copy_and_deepcopy_keep_the_wire_form_and_no_resume_state_is_pickled(result: ReadResult) -> None:
    with_resume(result, lambda: "not picklable")
    for again in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert wire_bytes(again) == wire_bytes(result)
    assert pickle.loads(pickle.dumps(result))._resume is None


def check_refusal(document: Any) -> None:
    try:
        from_wire(document)
    except ContractViolation as error:
        shown = "".join(traceback.format_exception(error)) + repr(error) + str(error.fields)
        assert CANARY not in shown
        assert repr(CANARY)[1:-1] not in shown
        assert (error.__context__, bool(error.rule)) == (None, True)  # noqa: PT017


@given(json_values)
def test_any_json_document_is_a_result_or_a_contract_violation(document: Any) -> None:
    check_refusal(document)


@given(results(), st.data())
def test_a_changed_document_is_a_result_or_a_violation_that_names_no_value(
    result: ReadResult, data: st.DataObject
) -> None:
    document = json.loads(wire_bytes(result))
    changed = document
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(paths(changed)))
        value = data.draw(
            st.sampled_from([CANARY, [CANARY], {CANARY: CANARY}, [[CANARY]], {"kind": CANARY}, 10**400]) | json_values
        )
        changed = mutated(changed, path, value)
    check_refusal(changed)


@given(results(), st.data())
def test_a_document_that_lost_a_key_is_a_result_or_a_violation(result: ReadResult, data: st.DataObject) -> None:
    document = json.loads(wire_bytes(result))
    path = data.draw(st.sampled_from([p for p in paths(document) if isinstance(p[-1], str)]))
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    check_refusal(document)


@given(st.lists(results(), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_merging_is_commutative(parts: list[ReadResult], random: Any) -> None:
    shuffled = list(parts)
    random.shuffle(shuffled)
    assert wire_bytes(merge(shuffled, resource="all")) == wire_bytes(merge(parts, resource="all"))


@given(st.lists(results(), min_size=3, max_size=4), st.data())
def test_merging_is_associative_however_it_is_nested(parts: list[ReadResult], data: st.DataObject) -> None:
    flat = merge(parts, resource="all")
    groups = list(parts)
    while len(groups) > 1:
        size = data.draw(st.integers(1, len(groups)))
        at = data.draw(st.integers(0, len(groups) - size))
        groups[at : at + size] = [merge(groups[at : at + size], resource=f"part {at}")]
        if size == 1 and data.draw(st.booleans()):
            break
    nested = merge(groups, resource="all")
    assert wire_bytes(nested) == wire_bytes(flat)
    assert [id_key(i) for i in nested.ids] == [id_key(i) for i in flat.ids]


@given(st.lists(results(), min_size=1, max_size=4))
def test_merging_removes_nothing_and_a_working_source_hides_no_dead_one(parts: list[ReadResult]) -> None:
    whole = merge(parts, resource="all")
    assert (whole.items is None) == all(p.items is None for p in parts)
    assert whole.complete == all(p.complete for p in parts)
    if whole.items is not None:
        assert sorted(map(json.dumps, whole.items)) == sorted(json.dumps(i) for p in parts for i in p.items or ())
    if any(p.items is None for p in parts):
        assert whole.continuation.kind == "retry_sources"
    assert set(whole.codes) == {c for p in parts for c in p.codes}


@given(any_result, st.integers(0, 5))
def test_a_presented_read_is_whole_or_says_that_it_is_not(result: ReadResult, shown: int) -> None:
    view = presented(result, shown, handle="h_9")
    if result.items is None or shown >= len(result.items):
        assert view is result
    else:
        assert view.status == "partial"
        assert "PRESENTATION_LIMIT" in view.codes
        assert view.continuation.kind == "read_more"
        assert view.items == result.items[:shown]
    assert wire_bytes(from_wire(view.to_wire())) == wire_bytes(view)


@given(any_result)
def test_findings_inherit_the_status_and_the_reasons_of_their_read(result: ReadResult) -> None:
    found = findings(result, lambda record: record["id"] == 1)
    assert (found.status, found.codes) == (result.status, result.codes)
    assert found.read.derived_from == (result.read.id,)
    assert found.checked == (0 if result.items is None else len(result.items))
    assert (found.finding_count is not None) == result.complete
    assert wire_bytes(from_wire(found.to_wire())) == wire_bytes(found)


@given(any_result, st.integers(0, 4000))
def test_the_short_form_holds_whole_or_marked_records_and_admits_its_cuts(result: ReadResult, max_bytes: int) -> None:
    short = result.short(max_bytes=max_bytes)
    shown = short.get("items")
    if result.items is None:
        assert shown is None
        return
    assert shown is not None
    head = {k: v for k, v in short.items() if k != "items"}
    size = len(json.dumps(short, separators=(",", ":"), ensure_ascii=False).encode(errors="replace"))
    assert size <= max_bytes or not shown or len(json.dumps(head)) > max_bytes
    if shown != result.items:
        assert short["complete"] is False
        assert "PRESENTATION_LIMIT" in [r["code"] for r in short["reasons"]]
    whole = [record for record in shown if record in result.items]
    assert len(whole) == len(shown) or (len(shown) == 1 and "<cut>" in json.dumps(shown))


@given(st.text(max_size=80), st.integers(20, 120))
def test_a_single_record_too_large_is_cut_in_marked_fields(text: str, room: int) -> None:
    from unabridged.contract.short import MARK, cut_record

    record = {"id": 1, "body": text * 4, "tags": [text, text]}
    cut, names = cut_record(record, room)
    size = len(json.dumps(cut, separators=(",", ":"), ensure_ascii=False).encode(errors="replace"))
    if names:
        assert size <= room
        assert all(str(cut[n]).endswith(MARK) for n in names)
        assert all(cut[n] == record[n] for n in record if n not in names)
    else:
        assert cut == record
