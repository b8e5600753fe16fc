"""Result codes of a directory, from a connection that is played: what a real server shows is in `tests/real`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ldap3.core import exceptions
from unabridged import Budget, Query
from unabridged.contract import InvalidInput
from unabridged.sources.ldap import read_ldap
from unabridged.testing import VirtualClock

PAGED = "1.2.840.113556.1.4.319"


class Played:
    """A connection that answers with what it was given, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.strategy = SimpleNamespace(sync=True)
        self.auto_referrals, self.auto_range, self.closed = True, False, False
        self.passes: Any = lambda: None
        self.answers, self.asked = list(answers), []
        self.result: Any = None
        self.response: Any = None

    def search(self, **asked: Any) -> bool:
        self.asked.append({**asked, "referrals": self.auto_referrals, "follows": self.auto_range})
        self.passes()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        self.result, self.response = answer
        return True


def page(*names: str, code: int = 0, cookie: bytes | None = b"", **more: Any) -> tuple[Any, Any]:
    controls = {} if cookie is None else {PAGED: {"value": {"size": 0, "cookie": cookie}}}
    entries = [
        {"type": "searchResEntry", "dn": f"cn={name}", "raw_attributes": {"cn": [name.encode()], **more}}
        for name in names
    ]
    return {"result": code, "controls": controls}, entries


def read(connection: Played, **options: Any) -> Any:
    return read_ldap(connection, "dc=x", resource="people", budget=Budget(max_retries=0), **options)


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


@pytest.mark.parametrize(
    ("code", "key", "continuation"),
    [
        (1, "SOURCE_UNAVAILABLE:result_code", "repeat_read"),
        (3, "TIME_BUDGET_EXCEEDED:time_limit", "retry_with_deadline"),
        (4, "RESULT_LIMIT_REACHED:size_limit", "narrow_query"),
        (11, "RESULT_LIMIT_REACHED:admin_limit", "narrow_query"),
        (50, "VISIBILITY_RESTRICTED", "request_access"),
        (52, "SOURCE_UNAVAILABLE:result_code", "repeat_read"),
    ],
)
def test_entries_that_came_with_an_error_are_kept_and_the_error_says_why(
    code: int, key: str, continuation: str
) -> None:
    connection = Played(page("a", cookie=b"1"), page("b", code=code, cookie=None))
    result = read(connection)
    assert (result.status, keys(result), [item["dn"] for item in result.items]) == ("partial", [key], ["cn=a", "cn=b"])
    assert result.continuation.kind == continuation


@pytest.mark.parametrize(
    ("code", "status", "key"),
    [
        (1, "unavailable", "SOURCE_UNAVAILABLE:status"),
        (3, "partial", "TIME_BUDGET_EXCEEDED:time_limit"),
        (11, "partial", "RESULT_LIMIT_REACHED:admin_limit"),
        (12, "unavailable", "SOURCE_UNAVAILABLE:status"),
        (49, "unavailable", "VISIBILITY_RESTRICTED:forbidden"),
        (51, "unavailable", "SOURCE_UNAVAILABLE:status"),
    ],
)
def test_an_error_without_entries_is_never_an_empty_list(code: int, status: str, key: str) -> None:
    result = read(Played(page(code=code, cookie=None)))
    assert (result.status, keys(result), result.items or []) == (status, [key], [])
    assert not result.proves_absence()


def test_an_empty_page_with_a_cookie_is_not_the_end() -> None:
    connection = Played(page(cookie=b"1"), page("a", cookie=b"\xff\x00"), page("b"))
    result = read(connection)
    assert (result.status, len(result.items)) == ("complete", 2)
    assert [asked["paged_cookie"] for asked in connection.asked] == [None, b"1", b"\xff\x00"]
    assert all(asked["paged_criticality"] is True for asked in connection.asked)


def test_one_cookie_for_all_pages_is_followed_while_it_brings_entries() -> None:
    moving = Played(page("a", cookie=b"0"), page("b", cookie=b"0"), page("c"))
    stuck = Played(page("a", cookie=b"0"), page("a", cookie=b"0"))
    assert read(moving).status == "complete"
    assert "PROTOCOL_ANOMALY:cursor_repeated" in keys(read(stuck))


def test_a_server_that_ignores_the_paging_has_stated_no_end() -> None:
    assert read(Played(page("a", cookie=None))).status == "unknown"


def test_values_that_came_as_a_range_are_cut_and_bytes_are_marked() -> None:
    result = read(Played(page("a", **{"member;range=0-1499": [b"cn=b"], "photo": [b"\xff"], "mail": []})))
    assert (result.status, keys(result)) == ("partial", ["ITEM_TRUNCATED:range"])
    assert result.items[0]["photo"] == [{"base64": "/w=="}]
    assert "mail" not in result.items[0]


def ranged(name: str, *values: bytes, code: int = 0) -> tuple[Any, Any]:
    entry = {"type": "searchResEntry", "dn": "cn=a", "raw_attributes": {name: list(values), "member": []}}
    return {"result": code}, [entry]


GROUP = {"member;range=0-1": [b"1", b"2"], "member": []}


def test_values_that_come_in_parts_are_asked_for_to_their_end() -> None:
    connection = Played(page("a", **GROUP), ranged("member;Range=2-3", b"3", b"4"), ranged("member;range=4-*", b"5"))
    connection.auto_range = True
    result = read(connection)
    assert (result.status, keys(result)) == ("complete", [])
    assert result.items == [{"dn": "cn=a", "cn": ["a"], "member": ["1", "2", "3", "4", "5"]}]
    asked = connection.asked[1:]
    assert [(a["search_base"], a["search_scope"]) for a in asked] == [("cn=a", "BASE")] * 2
    assert [a["attributes"] for a in asked] == [["member;range=2-*"], ["member;range=4-*"]]
    assert [a["follows"] for a in connection.asked] == [False] * 3
    assert connection.auto_range is True


@pytest.mark.parametrize(
    "rest",
    [
        ({"result": 51}, []),
        ({"result": 0}, []),
        ranged("member;range=2-*", b"3", code=50),
        ranged("member;range=0-1", b"1", b"2"),
        ranged("member;range=2-3"),
        exceptions.LDAPSocketReceiveError("sk_secret"),
        exceptions.LDAPBusyResult("sk_secret"),
    ],
)
def test_values_whose_rest_does_not_come_are_not_taken_for_all(rest: Any) -> None:
    connection = Played(page("a", **GROUP), rest)
    connection.auto_range = True
    result = read(connection)
    assert (result.status, keys(result)) == ("partial", ["ITEM_TRUNCATED:range"])
    assert result.items[0]["member;range=0-1"] == ["1", "2"]
    assert "member" not in result.items[0]
    assert connection.auto_range is True


def test_values_in_parts_are_asked_for_within_the_time_that_is_left() -> None:
    clock = VirtualClock()
    connection = Played(page("a", **GROUP), ranged("member;range=2-3", b"3", b"4"))
    connection.auto_range, connection.passes = True, lambda: clock.sleep(2)
    result = read_ldap(connection, "dc=x", resource="people", budget=Budget(max_seconds=3), clock=clock)
    assert "ITEM_TRUNCATED:range" in keys(result)
    assert len(connection.asked) == 2


def test_a_referral_names_the_server_and_nothing_else_of_its_address() -> None:
    found = {"type": "searchResRef", "uri": ["ldap://eu.example:389/dc=secret?x"]}
    result = read(Played(({"result": 0, "controls": {PAGED: {"value": {"cookie": b""}}}}, [found])))
    assert (result.status, keys(result), result.items) == ("partial", ["SOURCE_UNAVAILABLE:referral"], [])
    assert "secret" not in str(result.to_wire())
    assert result.continuation.names == ("eu.example",)


def test_referrals_are_not_followed_and_the_connection_is_left_as_it_was() -> None:
    connection = Played(page("a"))
    read(connection)
    assert connection.asked[0]["referrals"] is False
    assert connection.auto_referrals is True


@pytest.mark.parametrize(
    ("error", "key"),
    [
        (exceptions.LDAPResponseTimeoutError("sk_secret"), "SOURCE_UNAVAILABLE:timeout"),
        (exceptions.LDAPSocketOpenError("sk_secret"), "SOURCE_UNAVAILABLE:disconnect"),
        (exceptions.LDAPSessionTerminatedByServerError("sk_secret"), "SOURCE_UNAVAILABLE:disconnect"),
    ],
)
def test_a_connection_that_breaks_keeps_the_pages_before(error: Exception, key: str) -> None:
    result = read(Played(page("a", cookie=b"1"), error))
    assert (result.status, keys(result), len(result.items)) == ("partial", [key], 1)
    assert "sk_secret" not in str(result.to_wire())


def test_the_time_that_is_left_is_the_servers_limit_too() -> None:
    connection = Played(page("a"))
    query = Query("people", page_size=7)
    read_ldap(connection, "dc=x", resource=query, budget=Budget(max_seconds=2.5), clock=VirtualClock())
    assert (connection.asked[0]["time_limit"], connection.asked[0]["paged_size"]) == (3, 7)


def test_an_attribute_that_the_schema_lacks_is_refused_without_its_name() -> None:
    with pytest.raises(InvalidInput) as refused:
        read(Played(exceptions.LDAPAttributeError("invalid attribute sk_secret")))
    assert "sk_secret" not in str(refused.value)
    assert refused.value.__context__ is None
    with pytest.raises(InvalidInput, match="scope"):
        read(Played(), scope="all")
