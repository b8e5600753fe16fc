"""An event holds no value, whatever is put into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from audit.logs import opened as open_log
from audit.logs import ref
from hypothesis import given
from hypothesis import strategies as st
from unabridged.audit import AuditEvent, accepted_fields, new_ref
from unabridged.contract import InvalidInput

CANARY = "Kanarie Quelle, 12345678900"
TEXTS = ["action", "session", "verdict", "outcome", "approver"]


def test_a_text_that_is_no_token_becomes_a_mark() -> None:
    event = AuditEvent(
        kind="decision", ref=ref(1), action=CANARY, session=CANARY, verdict=CANARY, outcome=CANARY, approver=CANARY,
        codes=(CANARY, "EVIDENCE_STALE"), reads=(CANARY, "r_1"), fields=(CANARY, "filter.status"),
        why=f"{CANARY}\n", digests={"args": CANARY, CANARY: "ab" * 32},
    )  # fmt: skip
    assert [getattr(event, name) for name in TEXTS] == ["<text>"] * 5
    assert event.codes == ("<text>", "EVIDENCE_STALE")
    assert event.reads == ("<text>", "r_1")
    assert (event.fields, event.unnamed) == (("filter.status",), 1)
    assert (event.why, event.digests) == ("<text>", {"args": "<text>"})
    assert "Kanarie" not in repr(event)


def test_an_authors_reason_is_a_plain_phrase() -> None:
    event = AuditEvent(kind="intent", ref=ref(1), action="send", why="free text, names no record")
    assert event.why == "free text, names no record"


@pytest.mark.parametrize(
    ("field", "value"),
    [("kind", CANARY), ("ref", CANARY), ("ref", "AB" * 16), ("done", -1), ("not_done", True), ("unnamed", CANARY)],
)
def test_what_cannot_be_a_mark_is_refused_by_field_and_rule(field: str, value: Any) -> None:
    given_fields: dict[str, Any] = {"kind": "intent", "ref": ref(1), "action": "send", field: value}
    with pytest.raises(InvalidInput, match=rf"audit\.{field}: must") as caught:
        AuditEvent(**given_fields)
    assert "Kanarie" not in str(caught.value)


@given(
    st.fixed_dictionaries(
        {name: st.text() for name in TEXTS}
        | {name: st.lists(st.text(), max_size=3).map(tuple) for name in ("codes", "reads", "fields")}
        | {"why": st.text(), "digests": st.dictionaries(st.text(), st.text(), max_size=3)}
        | {"done": st.integers(0, 99), "unnamed": st.integers(0, 99)}
    )
)
def test_whatever_an_event_was_made_of_its_line_is_ascii_and_of_the_logs_form(
    tmp_path_factory: pytest.TempPathFactory, fields: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("any") / "audit.jsonl"
    with open_log(path) as log:
        log.write(AuditEvent(kind="intent", ref=ref(1), **fields))
    from unabridged.audit import verify

    found = verify(path)
    assert (found.intact, found.events) == (True, 1)
    assert path.read_bytes().isascii()
    assert json.loads(path.read_bytes().splitlines()[1])["kind"] == "intent"


def test_the_names_of_arguments_are_dotted_and_sorted_and_hold_no_value() -> None:
    names, unnamed = accepted_fields({"document_no": "12345678900", "limit": 5, "filter": {"status": "paid"}})
    assert names == ("document_no", "filter.status", "limit")
    assert unnamed == 0


def test_a_name_that_is_a_value_in_disguise_is_counted_and_not_kept(tmp_path: Path) -> None:
    names, unnamed = accepted_fields(
        {"12345678900": 1, "Jane Doe": 2, "a.b": 3, "filter": {CANARY: {"x": 1}, "status": "paid"}, "x" * 65: 4, 7: 5}  # type: ignore[dict-item]  # what a caller may do all the same
    )
    assert (names, unnamed) == (("filter.status",), 6)
    with open_log(tmp_path / "audit.jsonl") as log:
        log.write(AuditEvent(kind="intent", ref=new_ref(), action="find", fields=names, unnamed=unnamed))
    text = (tmp_path / "audit.jsonl").read_text()
    assert '"fields":["filter.status"],"unnamed":6' in text
    assert not any(word in text for word in ("12345678900", "Jane", "Kanarie", "paid"))


def test_where_the_names_are_declared_no_other_is_kept() -> None:
    names, unnamed = accepted_fields({"limit": 5, "jane_doe": 1}, declared={"limit", "filter.status"})
    assert (names, unnamed) == (("limit",), 1)


def test_nesting_without_end_has_names_of_bounded_depth() -> None:
    deep: dict[str, Any] = {}
    inside = deep
    for _ in range(5_000):
        inside["a"] = {}
        inside = inside["a"]
    inside["a"] = 1
    assert accepted_fields(deep)[1] <= 1
