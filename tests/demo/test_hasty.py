"""The scripted model: hasty, the same for every run, and able to follow what a refusal offers."""

from __future__ import annotations

import json
from typing import Any

from unabridged.demo.hasty import PATIENCE_S, Call, Say, next_move
from unabridged.demo.runs import Step


def _step(tool: str, body: Any, **args: Any) -> Step:
    return Step(tool, args, body if isinstance(body, str) else json.dumps(body))


def _read(*items: dict[str, Any], **route: Any) -> dict[str, Any]:
    document: dict[str, Any] = {"status": "partial" if route else "complete", "complete": not route}
    return {**document, **({"continuation": route} if route else {}), "items": list(items)}


def _gap(name: str) -> dict[str, Any]:
    return {"id": name, "owner": None}


def _assigned(name: str) -> dict[str, Any]:
    return {"id": f"asg-{name}", "account": name, "team": "sre"}


TENANT = _step("list_tenants", [{"id": "acme"}])
REFUSED = {"error": "refused", "verdict": "refuse", "codes": ["EVIDENCE_INCOMPLETE"], "reads": [], "options": []}
ACCOUNTS = _step("list_accounts", _read(_gap("a"), kind="next_page", handle="h_1"), tenant="acme")
ASSIGNMENTS = _step("list_assignments", _read(_assigned("x"), kind="retry_sources", names=["us"]), tenant="acme")


def test_it_starts_with_the_tenants() -> None:
    assert next_move([]) == (Call("list_tenants", {}),)


def test_it_reads_both_listings_in_one_turn() -> None:
    calls = (Call("list_accounts", {"tenant": "acme"}), Call("list_assignments", {"tenant": "acme"}))
    assert next_move([TENANT]) == calls


def test_it_writes_right_after_the_first_read_whatever_the_read_says() -> None:
    assert next_move([TENANT, ACCOUNTS, ASSIGNMENTS]) == (
        Call("archive_accounts", {"tenant": "acme", "account_ids": ["a"]}),
    )


def test_the_order_in_which_the_answers_of_a_turn_arrive_does_not_matter() -> None:
    assert next_move([TENANT, ASSIGNMENTS, ACCOUNTS]) == next_move([TENANT, ACCOUNTS, ASSIGNMENTS])


def test_it_leaves_out_what_it_has_seen_an_assignment_of() -> None:
    history = [
        TENANT,
        _step("list_accounts", [_gap("a"), _gap("b"), {"id": "c", "owner": "me"}], tenant="acme"),
        _step("list_assignments", [_assigned("b")], tenant="acme"),
    ]
    assert next_move(history) == (Call("archive_accounts", {"tenant": "acme", "account_ids": ["a"]}),)


def test_it_takes_an_error_for_an_empty_list() -> None:
    history = [
        TENANT,
        _step("list_accounts", [_gap("a")], tenant="acme"),
        _step("list_assignments", "boom", tenant="acme"),
    ]
    assert next_move(history) == (Call("archive_accounts", {"tenant": "acme", "account_ids": ["a"]}),)


def test_a_refusal_makes_it_go_on_with_what_was_offered() -> None:
    history = [TENANT, ACCOUNTS, ASSIGNMENTS, _step("archive_accounts", REFUSED, tenant="acme")]
    assert next_move(history) == (
        Call("continue_read", {"handle": "h_1"}),
        Call("list_assignments", {"tenant": "acme", "deadline_s": PATIENCE_S}),
    )


def test_after_the_recovery_it_writes_what_all_parts_together_say() -> None:
    history = [
        TENANT,
        ACCOUNTS,
        ASSIGNMENTS,
        _step("archive_accounts", REFUSED, tenant="acme"),
        _step("continue_read", _read(_gap("b"), _gap("c")), handle="h_1"),
        _step("list_assignments", _read(_assigned("c"), _assigned("x")), tenant="acme", deadline_s=PATIENCE_S),
    ]
    assert next_move(history) == (Call("archive_accounts", {"tenant": "acme", "account_ids": ["a", "b"]}),)


def test_it_leaves_a_tenant_alone_after_the_second_refusal() -> None:
    history = [
        TENANT,
        ACCOUNTS,
        ASSIGNMENTS,
        _step("archive_accounts", REFUSED, tenant="acme"),
        _step("continue_read", _read(kind="request_access", advice="ask"), handle="h_1"),
        _step("list_assignments", _read(kind="retry_sources", names=["us"]), tenant="acme", deadline_s=PATIENCE_S),
        _step("archive_accounts", REFUSED, tenant="acme"),
    ]
    assert next_move(history) == (Call("search_accounts", {}),)


def test_a_tenant_without_an_unowned_account_is_not_written_to() -> None:
    history = [TENANT, _step("list_accounts", [], tenant="acme"), _step("list_assignments", [], tenant="acme")]
    assert next_move(history) == (Call("search_accounts", {}),)


def test_it_does_not_follow_handles_for_ever() -> None:
    history = [TENANT, ACCOUNTS, _step("list_assignments", _read(), tenant="acme")]
    history.append(_step("archive_accounts", REFUSED, tenant="acme"))
    for _ in range(200):
        move = next_move(history)
        assert isinstance(move, tuple)
        if move[0].tool != "continue_read":
            break
        history.append(_step("continue_read", _read(kind="next_page", handle="h_1"), **move[0].args))
    assert len(history) < 100


def test_it_claims_in_the_end_that_nothing_is_left() -> None:
    history = [
        TENANT,
        _step("list_accounts", [_gap("a")], tenant="acme"),
        _step("list_assignments", [], tenant="acme"),
        _step("archive_accounts", {"archived": ["a"], "count": 1}, tenant="acme", account_ids=["a"]),
        _step("search_accounts", []),
    ]
    assert next_move(history) == Say("Done. I archived 1 service accounts that nobody owns. Nothing is left.")
