"""What goes out: filters, sizes, tokens and keys in their places, on every request of a walk."""

from __future__ import annotations

import enum
import json
from typing import Any

import pytest
from reading.asking import TOKEN, ask, codes, keys, page, profile, warned
from unabridged import Query, load_profile
from unabridged.contract import InvalidInput
from unabridged.reading import Request, Response
from unabridged.reading.requests import plan_read
from unabridged.testing import ScriptedTransport


def sent(script: ScriptedTransport) -> list[dict[str, str]]:
    return [dict(request.pairs) for request in script.requests]


def test_filters_and_size_go_on_every_request() -> None:
    script = ScriptedTransport([page(1, next="a"), page(2)])
    result = ask(
        {"filters": {"owner": {"query": "owner_id"}}, "size": {"send": {"query": "limit"}, "max": 50}},
        script=script,
        filters={"owner": "ann", "state": "open", "flag": True, "n": 3, "tags": ["a", "b"], "deep": {"a": 1}},
    )
    assert result.complete
    for request in script.requests:
        assert dict(request.pairs) | {"cursor": None} == {
            "limit": "50", "owner_id": "ann", "state": "open", "flag": "true", "n": "3", "tags": "b",
            "deep": '{"a":1}', "cursor": None,
        }  # fmt: skip
        assert [v for n, v in request.pairs if n == "tags"] == ["a", "b"]


def test_a_null_filter_goes_out_only_in_the_form_that_the_profile_gives_it() -> None:
    script = ScriptedTransport([page()])
    result = ask(
        {"filters": {"owner": {"query": "o", "null": "none"}, "team": {"query": "t"}}},
        script=script,
        filters={"owner": None, "team": None, "other": None},
    )
    assert sent(script) == [{"o": "none"}]
    assert result.scope.filters == {"owner": None}
    assert warned(result) == {"PARAMETER_ADJUSTED"}
    assert {notice.observed["parameter"] for notice in result.warnings if notice.observed} == {"team", "other"}


def test_an_empty_list_has_no_form_in_a_query_and_is_no_part_of_the_scope() -> None:
    result = ask({}, page(), filters={"label": []})
    assert result.scope.filters == {}
    assert warned(result) == {"PARAMETER_ADJUSTED"}


def test_filters_go_into_a_body_as_json_values() -> None:
    script = ScriptedTransport([page()])
    ask(
        {"filters": {"owner": {"body": "where.owner", "null": None}, "tags": {"body": "where.tags"}}},
        script=script,
        filters={"owner": None, "tags": []},
    )
    request = script.requests[0]
    assert request.method == "POST"
    assert json.loads(request.body or b"") == {"where": {"owner": None, "tags": []}}


class Colour(str, enum.Enum):  # noqa: UP042 - whose own text is not its value
    RED = "red"


class Rank(enum.IntEnum):
    FIRST = 1


def test_a_choice_is_sent_and_kept_as_the_value_that_it_stands_for() -> None:
    script = ScriptedTransport([page()])
    given = {"colour": Colour.RED, "rank": Rank.FIRST, "any": (Colour.RED, "blue"), "deep": {"in": [Colour.RED]}}
    result = ask({}, script=script, filters=given)
    told = [(n, v) for n, v in script.requests[0].pairs if n != "cursor"]
    assert told == [("colour", "red"), ("rank", "1"), ("any", "red"), ("any", "blue"), ("deep", '{"in":["red"]}')]
    kept = dict(result.scope.filters)
    assert kept == {"colour": "red", "rank": 1, "any": ["red", "blue"], "deep": {"in": ["red"]}}
    assert [type(kept["colour"]), type(kept["rank"])] == [str, int]


def test_a_filter_that_cannot_be_a_header_is_refused_without_its_value() -> None:
    with pytest.raises(InvalidInput) as caught:
        ask({"filters": {"owner": {"header": "X-Owner"}}}, page(), filters={"owner": "canary\r\nEvil: 1"})
    assert "query.filters.owner" in str(caught.value)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("name", ["cursor", "limit"])
def test_a_filter_in_a_place_of_the_walk_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"query.filters.{name}: is a parameter that the walk itself sends"):
        ask({"size": {"send": {"query": "limit"}, "max": 5}}, page(), filters={name: "x"})


@pytest.mark.parametrize(
    "token",
    ["t/+= &?#%", "\u20ac", 7, 0, False, True, 1.5, [1, "a"], {"k": [None]}, "null", "undefined"],
)
def test_a_token_of_any_json_value_is_sent_as_it_is(token: Any) -> None:
    script = ScriptedTransport([page(1, next=token), page(2)])
    assert ask({}, script=script).complete
    expected = token if isinstance(token, str) else json.dumps(token, separators=(",", ":"), ensure_ascii=False)
    assert sent(script)[1] == {"cursor": expected}


@pytest.mark.parametrize("token", ["a\r\nEvil: 1", "\u20ac", " a"])
def test_a_token_that_no_header_can_hold_is_illegal(token: str) -> None:
    result = ask(profile({**TOKEN, "send": {"header": "X-Next"}}), page(1, next=token))
    assert keys(result) == {"PROTOCOL_ANOMALY:illegal_token"}
    assert result.ids == (1,)


def test_a_token_that_utf8_cannot_hold_is_illegal() -> None:
    reply = {"status": 200, "headers": {}, "body": '{"items": [{"id": 1}], "next": "\\ud800"}'}
    assert keys(ask({}, reply)) == {"PROTOCOL_ANOMALY:illegal_token"}


def test_a_url_with_a_query_of_its_own_keeps_it_and_gets_what_the_walk_sends() -> None:
    request = Request("GET", "https://a.example/x?v=1&cursor=old&z=%2F", (("cursor", "new"),))
    assert request.pairs == (("v", "1"), ("z", "/"), ("cursor", "new"))
    assert Request("GET", "https://a.example/x?a=1,2;v=3").full_url == "https://a.example/x?a=1,2;v=3"


def test_a_followed_link_is_left_as_it_is_but_for_filters_that_it_lacks() -> None:
    walk = {"by": "link", "where": "body", "path": "next"}
    script = ScriptedTransport([page(1, next="/things?page=2"), page(2, next="/things?page=3&state=done"), page(3)])
    result = ask(profile(walk, size={"send": {"query": "n"}, "max": 5}), script=script, filters={"state": "open"})
    assert result.complete
    assert sent(script) == [
        {"n": "5", "state": "open"},
        {"page": "2", "state": "open"},
        {"page": "3", "state": "done"},
    ]


def test_a_page_size_is_lowered_to_the_maximum_with_a_warning() -> None:
    script = ScriptedTransport([page(1)])
    result = ask({"size": {"send": {"query": "n"}, "max": 3}}, script=script, page_size=500)
    assert sent(script) == [{"n": "3"}]
    assert result.complete
    assert [notice.observed for notice in result.warnings] == [{"parameter": "page_size", "asked": 500, "used": 3}]
    assert result.read.page_size == 3


def test_a_size_that_changes_or_is_overrun_is_an_anomaly_and_the_walk_goes_on() -> None:
    size = {"send": {"query": "n"}, "max": 2, "read": "used"}
    changed = ask({"size": size}, page(1, next="a", used=2), page(2, used=1))
    assert keys(changed) == {"PROTOCOL_ANOMALY:page_size_changed"}
    assert changed.ids == (1, 2)
    overrun = ask({"size": size}, page(1, 2, 3, next="a"), page(4))
    assert keys(overrun) == {"PROTOCOL_ANOMALY:page_size_changed"}
    assert overrun.returned == 4


def test_fields_that_the_source_leaves_out_are_a_warning_and_no_reason() -> None:
    result = ask({}, page(1), fields=("id", "email"))
    assert result.complete
    assert [(n.code, n.observed) for n in result.warnings] == [("PARTIAL_FIELD_SET", {"email": "absent"})]
    assert codes(result) == set()


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("https://api.example/list?limit=1", "limit"),
        ("https://api.example/list?cursor=c9", "cursor"),
        ("https://api.example/list?a=1&owner=x", "owner"),
    ],
)
def test_a_url_that_carries_what_the_read_sends_is_refused_by_name(address: str, names: str) -> None:
    profile = load_profile(
        {
            "name": "listed",
            "version": 1,
            "items": "items",
            "id": "id",
            "walk": {
                "by": "token",
                "read": "next",
                "send": {"query": "cursor"},
                "ends_on": ["absent"],
                "empty_token": "end",
                "repeated_token": "anomaly",
            },
            "size": {"send": {"query": "limit"}, "max": 100},
        }
    )
    with pytest.raises(InvalidInput, match=f"url: must not carry the parameter {names}"):
        plan_read(profile, Query("things", filters={"owner": "ops"}), url=address)


def test_a_transport_may_know_a_request_and_a_response_again() -> None:
    """A cache of a user's transport has requests as keys."""
    sent = Request("GET", "https://x.test/a", query=(("q", "1"),))
    cache = {sent: Response(200, (), b"[]")}
    assert cache[Request("GET", "https://x.test/a", query=(("q", "1"),), timeout_s=3)] == Response(200, (), b"[]")
    assert Request("GET", "https://x.test/a", query=(("q", "2"),)) not in cache
    assert len({Response(200), Response(200), Response(204)}) == 2
