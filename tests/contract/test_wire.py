"""The wire form: the example of the contract, what is refused, and what is passed over."""

from __future__ import annotations

import json
from typing import Any

import pytest
from unabridged.contract import (
    ContractViolation,
    Partial,
    ReadResult,
    build_result,
    from_wire,
    merge,
)
from unabridged.contract import schema as wire_schema

EXAMPLE = """
{
  "contract": "unabridged/1",
  "status": "partial",
  "complete": false,
  "truncated": true,
  "finding_count": null,
  "returned": 2,
  "total": {"value": null, "kind": "unknown"},
  "incomplete_reasons": [
    {"code": "RESULT_LIMIT_REACHED", "detail": "source_cap", "message": "The source stops at 1000 matches.",
     "limit": 1000, "layer": "source", "source": "directory", "native": {"resultTruncated": "true"}},
    {"code": "ITEM_TRUNCATED", "detail": null, "message": "A field of 1 item is cut.", "layer": "source",
     "source": "directory"}
  ],
  "continuation": {"kind": "narrow_query", "axis": "created_at", "limit": 1000},
  "scope": {"resource": "service_accounts", "filters": {"owner": null}, "intent": "inventory",
            "visibility": "caller", "snapshot": null, "window": null, "excludes": [], "selection": null},
  "consistency": "interval",
  "proof": {"level": "none", "end": null, "count": null, "basis": "document"},
  "sources": [{"name": "directory", "status": "partial", "returned": 2,
               "reasons": ["RESULT_LIMIT_REACHED", "ITEM_TRUNCATED"]}],
  "item_cuts": [{"item": "svc-184", "field": "description", "why": "abridged", "shown": 300, "total": 2000,
                 "unit": "chars"}],
  "warnings": [{"code": "STALE_INDEX", "message": "The index may lag its source.", "severity": "freshness",
                "observed": {"indexed_at": "2026-11-29T22:00:00Z"}, "owner": "search-team", "expires": "2027-03-01"}],
  "read": {"id": "r_7c1e", "query_id": "q_91ab", "adapter": "directory/1", "started_at": "2026-11-30T09:00:00Z",
           "finished_at": "2026-11-30T09:00:02Z", "requests": 1, "pages": 1, "duplicates": 0, "page_size": 1000,
           "order": "id ascending", "budget": {"max_pages": 1000, "max_seconds": 60, "spent_seconds": 2.0}},
  "items": [{"id": "svc-184", "owner": null}, {"id": "svc-201", "owner": "ops"}]
}
"""


def example(**changes: Any) -> dict[str, Any]:
    return {**json.loads(EXAMPLE), **changes}


def whole(**changes: Any) -> dict[str, Any]:
    """A complete document, contradicted by `changes`."""
    document = example(
        status="complete",
        complete=True,
        truncated=False,
        finding_count=2,
        incomplete_reasons=[],
        continuation={"kind": "none"},
        proof={"level": "end_marker", "end": "absent", "count": None, "basis": "document"},
        sources=[],
        item_cuts=[],
    )
    return {**document, **changes}


REASON = {"code": "RATE_LIMITED", "detail": None, "layer": "source"}
UNKNOWN = {"code": "COVERAGE_UNKNOWN", "detail": None, "layer": "source"}


def test_the_example_of_the_contract_round_trips_key_for_key() -> None:
    document = json.loads(EXAMPLE)
    result = from_wire(document)
    assert isinstance(result, Partial)
    assert json.dumps(result.to_wire()) == json.dumps(document)


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        (whole(incomplete_reasons=[REASON]), "complete_has_no_reasons"),
        (whole(complete=False), "complete_exactly_when_status_is"),
        (whole(status="partial"), "complete_exactly_when_status_is"),
        (whole(finding_count=1), "finding_count_counts_the_items"),
        (whole(finding_count=None), "complete_int_type"),
        (whole(finding_count=True), "complete_int_type"),
        (whole(returned=3), "returned_counts_the_items"),
        (whole(items=None), "complete_has_a_list_of_items"),
        (whole(items=None, returned=0, finding_count=0), "complete_has_a_list_of_items"),
        (whole(items={}), "complete_has_a_list_of_items"),
        (whole(truncated=True), "complete_literal_error"),
        (whole(consistency="not_established"), "consistency_follows_from_the_reasons"),
        (whole(continuation={"kind": "next_page", "handle": "h_1"}), "complete_has_nothing_to_continue"),
        (whole(scope={**whole()["scope"], "intent": "sample"}), "a_sample_is_never_complete"),
        (whole(sources=[{"name": "eu", "status": "unavailable"}]), "complete_when_every_source_is"),
        (whole(proof={"level": "none"}), "complete_has_a_proof"),
        (whole(proof=example()["proof"]), "complete_has_a_proof"),
        (whole(total={"value": 2, "kind": "unknown"}), "total_unknown_exactly_without_value"),
        (whole(total={"value": None, "kind": "exact"}), "total_unknown_exactly_without_value"),
        (whole(item_cuts=[{"item": "a", "field": "b", "why": "no_access"}]), "a_cut_item_is_a_reason"),
        (example(incomplete_reasons=[], truncated=False), "partial_has_a_reason"),
        (example(incomplete_reasons=[UNKNOWN], truncated=False), "partial_has_a_known_reason"),
        (example(status="unknown", incomplete_reasons=[REASON], truncated=False), "unknown_has_only_coverage_unknown"),
        (example(finding_count=2), "finding_count_only_when_complete"),
        (example(items=None, returned=0), "partial_has_a_list_of_items"),
        (example(truncated=False), "truncated_follows_from_the_reasons"),
        (example(proof={"level": "counted"}), "proof_only_when_complete"),
        (example(status="unavailable", consistency="not_established"), "unavailable_has_no_items"),
        (example(status="unavailable", items=[], returned=0), "unavailable_has_no_items"),
        (example(status="unavailable", items=None, returned=0), "consistency_follows_from_the_reasons"),
        (example(status="done"), "status_is_one_of_four"),
        (example(status=None), "status_is_one_of_four"),
        (example(contract="unabridged/2"), "contract_is_unabridged_1"),
        (example(complete="false"), "complete_exactly_when_status_is"),
        ([], "result_is_an_object"),
        (None, "result_is_an_object"),
    ],
)
def test_a_contradictory_document_is_refused_by_the_name_of_the_rule(document: Any, rule: str) -> None:
    with pytest.raises(ContractViolation) as caught:
        from_wire(document)
    assert caught.value.rule == rule


def test_a_complete_document_that_names_no_proof_rests_on_the_word_of_its_maker() -> None:
    silent = whole()
    del silent["proof"]
    declared = {"level": "end_marker", "end": "declared", "count": None, "basis": "declared"}
    assert from_wire(silent).to_wire()["proof"] == declared
    assert from_wire(from_wire(silent).to_wire()) == from_wire(silent)


@pytest.mark.parametrize(
    "key", ["contract", "status", "complete", "finding_count", "scope", "consistency", "read", "items"]
)
def test_a_document_without_a_deciding_key_is_refused_by_its_name(key: str) -> None:
    document = example()
    del document[key]
    with pytest.raises(ContractViolation, match=key):
        from_wire(document)


def test_unknown_keys_are_passed_over() -> None:
    document = example(later="x")
    document["read"]["later"] = "x"
    document["incomplete_reasons"][0]["later"] = {"a": [1]}
    assert json.dumps(from_wire(document).to_wire()) == json.dumps(json.loads(EXAMPLE))


def test_an_unknown_reason_code_counts_as_incomplete() -> None:
    later = {"code": "SOMETHING_LATER", "detail": "x", "layer": "source"}
    result = from_wire(example(incomplete_reasons=[later], truncated=False))
    assert (result.status, result.complete, result.finding_count) == ("partial", False, None)
    assert "does not know" in result.reasons[0].message
    with pytest.raises(ContractViolation, match="complete_has_no_reasons"):
        from_wire(whole(incomplete_reasons=[later]))


def test_a_continuation_of_an_unknown_kind_is_none() -> None:
    result = from_wire(example(continuation={"kind": "teleport", "handle": "h_1"}))
    assert result.to_wire()["continuation"] == {"kind": "none"}


def test_a_document_without_a_continuation_has_none() -> None:
    document = example()
    del document["continuation"]
    assert from_wire(document).to_wire()["continuation"] == {"kind": "none"}


def test_a_handle_in_the_wire_form_is_never_a_cursor() -> None:
    with pytest.raises(ContractViolation) as caught:
        from_wire(example(continuation={"kind": "next_page", "handle": "eyJjdXJzb3IiOiAxfQ=="}))
    assert caught.value.field == "continuation.next_page.handle"


def test_a_moment_without_a_zone_is_utc() -> None:
    document = example()
    document["read"] |= {"started_at": "2026-11-30T09:00:00", "finished_at": "2026-11-30T11:00:02+02:00"}
    read = from_wire(document).to_wire()["read"]
    assert (read["started_at"], read["finished_at"]) == ("2026-11-30T09:00:00Z", "2026-11-30T09:00:02Z")


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "now", None])
def test_a_moment_outside_the_calendar_is_refused(moment: str | None) -> None:
    document = example()
    document["read"]["started_at"] = moment
    with pytest.raises(ContractViolation, match=r"read\.started_at"):
        from_wire(document)


def test_keys_of_open_objects_are_values_in_disguise_and_stay_out_of_errors() -> None:
    document = example()
    document["incomplete_reasons"][0]["native"] = {"canary_name": {"deep": 1}}
    document["scope"]["filters"] = {7_310_001: "x"}
    with pytest.raises(ContractViolation) as caught:
        from_wire(document)
    assert "7310001" not in str(caught.value)


def test_the_schema_in_the_repo_is_the_generated_one() -> None:
    assert wire_schema.PATH.read_text() == wire_schema.rendered()


def test_the_example_fits_the_schema_and_contradictions_of_form_do_not() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(wire_schema.json_schema())
    validator.validate(example())
    validator.validate(whole())
    assert not validator.is_valid(example(finding_count=2))
    assert not validator.is_valid(example(status="unavailable"))
    assert not validator.is_valid({k: v for k, v in example().items() if k != "complete"})


def test_merging_is_a_read_of_its_own_in_the_wire_form() -> None:
    one = from_wire(example())
    two = from_wire(whole())
    merged = merge([one, two], resource="all")
    wire = merged.to_wire()
    assert wire["read"]["adapter"] == "merge/1"
    assert wire["read"]["parts"] == ["r_7c1e"]
    assert {s["status"] for s in wire["sources"]} == {"complete", "partial"}
    assert from_wire(json.loads(json.dumps(wire))) == merged


def test_a_result_cannot_be_built_around_its_checks() -> None:
    good = from_wire(whole())
    fields: dict[str, Any] = {"scope": good.scope, "read": good.read}
    with pytest.raises(ContractViolation):
        build_result(items=[], reasons=[], **fields, consistency="not_established")
    with pytest.raises(ContractViolation):
        good.model_copy(update={"items": []})
    with pytest.raises(ContractViolation):
        type(good).model_construct(items=[1], finding_count=7, **fields)


def accepts_the_union(result: ReadResult) -> str:
    return result.status


def test_the_status_decides_the_class() -> None:
    assert accepts_the_union(from_wire(whole())) == "complete"
    assert type(from_wire(whole())).__name__ == "Complete"
