"""No shipped profile says `complete` in a trap: the fifteen of the catalogue, and the runners-up.

Each test takes the sessions of a profile that do end as complete, bends them in one place, and reads them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

import pytest
from reading.traps import (
    Exchange,
    Session,
    counted_more,
    emptied,
    list_places,
    looked_up,
    many,
    marked,
    names,
    plain,
    put,
    sessions,
    value_at,
    whole,
)
from unabridged.contract import ReadResult
from unabridged.profiles.paths import MISSING
from unabridged.testing.script import ScriptExhausted

Bent = tuple[Session, list[Exchange]]
Trap = Callable[[Session], Iterator[list[Exchange]]]
EMPTY_SHAPES: Final = {
    "gmail_messages": "leaves `messages` out of an empty page",
    "gmail_all_messages": "leaves `messages` out of an empty page",
    "google_aip_list": "is generic: an empty message of the protocol is `{}`, and a list may bear any name",
}
"""Profiles whose service documents an empty list without its list."""


def every(trap: Trap, *, of: Callable[[str], tuple[Session, ...]] = whole) -> pytest.MarkDecorator:
    """Returns a parametrisation by profile with all sessions that a trap makes, for those where it can be made."""
    found = {name: [(one, bent) for one in of(name) for bent in trap(one)] for name in names()}
    return pytest.mark.parametrize("bent", [pytest.param(v, id=k) for k, v in found.items() if v])


def _expect_none_complete(bent: list[Bent], *codes: str) -> None:
    for session, exchanges in bent:
        result, _ = session.read(exchanges)
        assert not result.complete, session.case
        assert not codes or set(codes) & set(result.codes), (session.case, result.codes)
        assert result.finding_count is None


def _shown(result: ReadResult) -> set[str]:
    return {json.dumps(one, sort_keys=True) for one in result.ids or ()}


def _expect_no_end_taken(bent: list[Bent]) -> None:
    for session, exchanges in bent:
        with suppress(ScriptExhausted):  # the walk went on to a page that nobody scripted: no end was taken
            assert not session.read(exchanges)[0].complete, session.case


# --- the traps ---


def _signals(session: Session, *codes: str, empty: bool = False) -> Iterator[list[Exchange]]:
    for position, page in enumerate(session.exchanges):
        if position + 1 != len(session.exchanges) and (empty or session.profile.walk.by == "job"):
            continue  # what a running job says is not read
        page = (emptied(session, page) or page) if empty else page
        for signal in session.profile.signals:
            if signal.code is not None and (not codes or signal.code in codes):
                other = marked(page, signal.path, signal.when)
                if other is not None:
                    yield session.bent(position, other)


def _last_page_empty_with_a_sign(session: Session) -> Iterator[list[Exchange]]:
    return _signals(session, empty=True)


@every(_last_page_empty_with_a_sign)
def test_trap_1_a_sign_on_the_last_empty_page_is_heard(bent: list[Bent]) -> None:
    _expect_none_complete(bent)


def _counts_more(session: Session) -> Iterator[list[Exchange]]:
    count = session.profile.count
    if count is not None and (count.kind_from is not None or count.kind not in ("estimate", "page", "capped")):
        pages = [counted_more(session, page) or page for page in session.exchanges]
        stated = [value_at(count.path, page) for page in pages]
        if pages != list(session.exchanges) and session.read()[0].total.kind in ("exact", "lower_bound"):
            assert stated
            yield pages


@every(_counts_more)
def test_trap_2_records_that_are_counted_and_not_shown_are_missed(bent: list[Bent]) -> None:
    _expect_no_end_taken(bent)


def _cap_of_items(session: Session) -> Iterator[list[Exchange]]:
    for cap in session.profile.caps:
        page = many(session, session.exchanges[-1], cap.limit)
        if page is not None and len(session.exchanges) == 1:
            yield [page]


@every(_cap_of_items, of=sessions)
def test_trap_3_a_cap_that_is_reached_exactly_is_no_end(bent: list[Bent]) -> None:
    _expect_no_end_taken(bent)


def _cap_of_one_answer(session: Session) -> Iterator[list[Exchange]]:
    cap = getattr(session.profile.walk, "cap", None)
    page = many(session, session.exchanges[0], cap) if cap is not None else None
    if page is not None:
        yield [page]


@every(_cap_of_one_answer, of=sessions)
def test_trap_4_an_answer_of_the_size_of_its_cap_is_not_whole(bent: list[Bent]) -> None:
    _expect_none_complete(bent)


def _cut_by_time(session: Session) -> Iterator[list[Exchange]]:
    return _signals(session, "TIME_BUDGET_EXCEEDED", "COVERAGE_UNKNOWN", "APPROXIMATE_METHOD")


@every(_cut_by_time)
def test_trap_5_a_search_that_was_cut_by_time_is_not_whole(bent: list[Bent]) -> None:
    _expect_none_complete(bent, "TIME_BUDGET_EXCEEDED", "COVERAGE_UNKNOWN", "APPROXIMATE_METHOD")


def _lost_sources(session: Session) -> Iterator[list[Exchange]]:
    return _signals(session, "SOURCE_UNAVAILABLE", "PARTIAL_FAILURE", "VISIBILITY_RESTRICTED", "RESULT_LIMIT_REACHED")


@every(_lost_sources)
def test_trap_6_a_source_that_is_missing_under_200_is_told(bent: list[Bent]) -> None:
    _expect_none_complete(bent)


def _as_it_is(session: Session) -> Iterator[list[Exchange]]:
    yield list(session.exchanges)


@every(_as_it_is, of=sessions)
def test_trap_9_nothing_is_called_visible_to_all(bent: list[Bent]) -> None:
    for session, exchanges in bent:
        assert session.read(exchanges)[0].scope.visibility != "all", session.case


def _moving_offsets(session: Session) -> Iterator[list[Exchange]]:
    order = session.profile.order
    if session.profile.paging.by == "offset" and len(session.exchanges) > 1 and (order is None or not order.unique):
        yield list(session.exchanges)


@every(_moving_offsets)
def test_trap_10_offsets_over_an_order_that_is_not_unique_need_a_count(bent: list[Bent]) -> None:
    for session, exchanges in bent:
        assert session.read(exchanges)[0].proof.level in ("counted", "snapshot"), session.case


def _narrow(session: Session) -> Iterator[list[Exchange]]:
    if any(limit.narrows and limit.unless is None for limit in session.profile.scope):
        yield list(session.exchanges)


@every(_narrow, of=sessions)
def test_trap_11_a_default_scope_is_never_everything(bent: list[Bent]) -> None:
    _expect_none_complete(bent)


def _bare(session: Session) -> str:
    return session.url.partition("?")[0].replace("/groups", "/users")


def _lifted(session: Session) -> Iterator[list[Exchange]]:
    """A limit that the path alone lifts is one of other addresses: the cases of its profile show them."""
    asked = {"path": urlsplit(_bare(session)).path, "query": {}, "body": {}}
    if any(one.narrows and one.unless is not None and not one.unless.holds(asked) for one in session.profile.scope):
        yield list(session.exchanges)


@every(_lifted)
def test_trap_11_a_default_scope_that_no_parameter_lifts_is_not_everything(bent: list[Bent]) -> None:
    for session, exchanges in bent:
        asked = replace(session, url=_bare(session), query={"resource": session.query["resource"]})
        result, _ = asked.read(exchanges)
        assert (result.complete, "SCOPE_NARROWED" in result.codes) == (False, True), session.case


def _link_place(session: Session, position: int) -> tuple[str, str] | None:
    """Returns the header with a next link and its text, where the walk follows headers."""
    walk = session.profile.walk
    if walk.by != "link" or walk.where != "header" or position + 1 >= len(session.exchanges):
        return None
    headers = session.exchanges[position].get("headers") or {}
    return next(((k, v) for k, v in headers.items() if k.lower() == "link" and isinstance(v, str)), None)


def _spelled_otherwise(session: Session) -> Iterator[list[Exchange]]:
    found = _link_place(session, 0)
    if found is not None and 'rel="next"' in found[1]:
        for spelling in ('rel="NEXT"', 'rel="last next"', "rel=next", 'title="a;b,c"; rel="next"'):
            headers = {**session.exchanges[0]["headers"], found[0]: found[1].replace('rel="next"', spelling)}
            yield session.bent(0, {**session.exchanges[0], "headers": headers})


@every(_spelled_otherwise)
def test_trap_12_a_link_is_found_however_it_is_spelled(bent: list[Bent]) -> None:
    for session, exchanges in bent:
        result, requests = session.read(exchanges)
        assert requests == len(session.exchanges), session.case
        assert _shown(result) == _shown(session.read()[0])


def _first_page_for_ever(session: Session) -> Iterator[list[Exchange]]:
    if len(session.exchanges) > 1 and session.profile.walk.by != "job":
        yield [session.exchanges[0]]


@every(_first_page_for_ever)
def test_trap_12_a_page_that_leads_to_itself_is_no_end(bent: list[Bent]) -> None:
    for session, exchanges in bent:
        result, requests = session.read(exchanges, repeat_last=True)
        assert not result.complete, session.case
        assert requests <= 30


def _dies_on_the_way(session: Session) -> Iterator[list[Exchange]]:
    for position in range(1, len(session.exchanges)):
        for status in (400, 404, 410, 422):
            yield session.bent(position, {"status": status, "headers": {}, "json": {"error": "invalid cursor"}})
        for rule in session.profile.expired:
            page: dict[str, object] = {"status": rule.status or 200, "headers": {}, "json": {}}
            other = marked(page, rule.path, rule.when) if rule.path is not None else page
            if other is not None and rule.then == "stop":
                yield session.bent(position, other)


@every(_dies_on_the_way)
def test_trap_13_a_cursor_that_dies_on_the_way_is_told(bent: list[Bent]) -> None:
    _expect_none_complete(bent)


def _cut_items(session: Session) -> Iterator[list[Exchange]]:
    for position, page in enumerate(session.exchanges):
        found = list_places(session, page)
        if len(found) != 1 or not isinstance(looked_up(page["json"], found[0])[0], dict):
            continue
        record = {"json": looked_up(page["json"], found[0])[0]}
        for rule in session.profile.item_cuts:
            at = plain(rule.path)
            if at is None or rule.why not in ("no_access", "source_failed", "abridged"):
                continue
            other = put(record, at, [0] * rule.list_len) if rule.list_len else marked(record, rule.path, rule.when)
            if other is not None and session.profile.items in ("@", ".".join(map(str, found[0]))):
                yield session.bent(position, put(page, (*found[0], 0), other["json"]))


@every(_cut_items)
def test_trap_14_a_record_that_is_cut_inside_is_told(bent: list[Bent]) -> None:
    _expect_none_complete(bent, "ITEM_TRUNCATED", "VISIBILITY_RESTRICTED", "PROTOCOL_ANOMALY")


def _cut_on_the_way(session: Session) -> Iterator[list[Exchange]]:
    for position, page in enumerate(session.exchanges):
        body = json.dumps(page["json"]) if "json" in page else str(page.get("body", ""))
        if not body:
            continue
        bare = {key: value for key, value in page.items() if key not in ("json", "body", "expect_request")}
        headers = dict(page.get("headers") or {})
        yield session.bent(position, {**bare, "body": body[:-1] if "json" in page else body[: len(body) // 2]})
        yield session.bent(position, {**bare, "body": body, "headers": {**headers, "Content-Length": len(body) + 9}})
        yield session.bent(position, {**bare, "status": 206, "body": body})
        yield session.bent(position, {"fault": "short_body", "body": body[:-1]})
        yield session.bent(position, {"fault": "disconnect"})


@every(_cut_on_the_way)
def test_trap_15_what_was_cut_on_the_way_is_not_whole(bent: list[Bent]) -> None:
    _expect_none_complete(bent, "TRANSPORT_TRUNCATED", "SOURCE_UNAVAILABLE", "PROTOCOL_ANOMALY", "JOB_NOT_FINISHED")


# --- the runners-up ---


def _empty_on_the_way(session: Session) -> Iterator[list[Exchange]]:
    for position in range(len(session.exchanges) - 1):
        other = emptied(session, session.exchanges[position])
        if other is not None:
            yield session.bent(position, other)


@every(_empty_on_the_way)
def test_trap_16_an_empty_page_with_a_continuation_is_no_end(bent: list[Bent]) -> None:
    for session, exchanges in bent:
        result, requests = session.read(exchanges)
        assert not result.complete or requests == len(exchanges), session.case


def _flag_without_token(session: Session) -> Iterator[list[Exchange]]:
    walk = session.profile.paging
    flag = getattr(walk, "more_flag", None)
    at = None if flag is None else plain(flag)
    if walk.by != "token" or at is None:
        return
    last = session.exchanges[-1]
    token = plain(walk.read)
    if token is not None and value_at(walk.read, last) not in (MISSING, None, ""):
        last = put(last, token, MISSING)
    yield session.bent(len(session.exchanges) - 1, put(last, at, True))


@every(_flag_without_token)
def test_trap_17_more_without_a_way_on_is_no_end(bent: list[Bent]) -> None:
    _expect_none_complete(bent, "PROTOCOL_ANOMALY")


def _token_beside_no_more(session: Session) -> Iterator[list[Exchange]]:
    walk = session.profile.paging
    flag, token = getattr(walk, "more_flag", "@"), getattr(walk, "read", "@")
    if session.profile.name in ("notion_list", "notion_query", "notion_view_query", "stripe_search"):
        for position in range(len(session.exchanges) - 1):
            assert plain(token) is not None
            yield session.bent(position, put(session.exchanges[position], plain(flag) or (), False))


@every(_token_beside_no_more)
def test_trap_17_a_way_on_beside_no_more_contradicts_where_the_service_sends_none(bent: list[Bent]) -> None:
    _expect_none_complete(bent, "PROTOCOL_ANOMALY")


def _errors_inside(session: Session) -> Iterator[list[Exchange]]:
    for position, page in enumerate(session.exchanges):
        for rule in session.profile.errors:
            other = marked(page, rule.path, rule.when)
            if other is not None:
                yield session.bent(position, other)
        yield session.bent(position, {"status": 200, "headers": {}, "json": {"error": {"code": 500, "message": "x"}}})
        yield session.bent(position, {"status": 200, "headers": {}, "json": {"errors": [{"message": "x"}]}})
        yield session.bent(position, {"status": 200, "headers": {}, "json": {"message": "x", "status": "error"}})


@every(_errors_inside)
def test_trap_18_an_error_inside_a_success_is_no_page(bent: list[Bent]) -> None:
    _expect_none_complete(bent)


def _list_missing(session: Session) -> Iterator[list[Exchange]]:
    for position, page in enumerate(session.exchanges):
        for at in list_places(session, page):
            if at and session.profile.name not in EMPTY_SHAPES:
                yield session.bent(position, put(page, at, MISSING))
            if at:
                yield session.bent(position, put(page, at, "x"))
            if at and session.profile.name != "google_aip_list":
                yield session.bent(position, put(page, at, None))


@every(_list_missing)
def test_trap_19_a_page_without_its_list_is_no_empty_page(bent: list[Bent]) -> None:
    _expect_none_complete(bent)


def _foreign(session: Session) -> Iterator[list[Exchange]]:
    for position in range(len(session.exchanges)):
        for body in ("<html>Sign in</html>", "", " ", "null", "0", '"x"', "true", "[null]", "{}", "[]", "[[]]"):
            is_own = (body == "[]" and session.profile.items == "@") or (
                body == "{}" and session.profile.name == "google_aip_list"
            )
            if not is_own:
                yield session.bent(position, {"status": 200, "headers": {}, "body": body})


@every(_foreign)
def test_trap_20_what_is_no_page_of_the_service_is_no_page(bent: list[Bent]) -> None:
    _expect_none_complete(bent)


def _statuses(session: Session) -> Iterator[list[Exchange]]:
    for position, page in enumerate(session.exchanges):
        for status in (203, 204, 301, 304, 401, 403, 404, 410, 429, 500, 503):
            if status not in (203, *session.profile.empty_status):
                yield session.bent(position, {"status": status, "headers": {}, "body": ""})
            if status >= 300:
                yield session.bent(position, {**page, "status": status})


@every(_statuses)
def test_trap_21_another_status_is_no_page_whatever_its_body(bent: list[Bent]) -> None:
    _expect_none_complete(bent)


def _total_changes(session: Session) -> Iterator[list[Exchange]]:
    count = session.profile.count
    if count is None or session.read()[0].total.kind != "exact":
        return
    for position in range(1, len(session.exchanges)):
        other = counted_more(session, session.exchanges[position])
        if other is not None:
            yield session.bent(position, other)


@every(_total_changes)
def test_trap_22_a_total_that_changes_on_the_way_is_told(bent: list[Bent]) -> None:
    _expect_no_end_taken(bent)


def _comes_twice(session: Session) -> Iterator[list[Exchange]]:
    if session.profile.id is None or session.profile.duplicates == "expected":
        return
    for position in range(1, 0 if session.profile.walk.by == "job" else len(session.exchanges)):
        before, page = session.exchanges[position - 1], session.exchanges[position]
        there, here = list_places(session, before), list_places(session, page)
        if len(there) == len(here) == 1:
            records = looked_up(page["json"], here[0])
            again = looked_up(before["json"], there[0])[-1]
            if again not in value_at(session.profile.items or "@", before):
                continue  # what is listed beside the records is none
            yield session.bent(position, put(page, here[0], [again, *records]))


@every(_comes_twice)
def test_trap_23_a_record_on_two_pages_is_told_unless_a_count_agrees(bent: list[Bent]) -> None:
    for session, exchanges in bent:
        result, _ = session.read(exchanges)
        assert not result.complete or result.proof.level in ("counted", "snapshot"), session.case


def _elsewhere(session: Session) -> Iterator[list[Exchange]]:
    found = _link_place(session, 0)
    first = session.exchanges[0]
    if found is not None:
        yield session.bent(0, {**first, "headers": {**first["headers"], found[0]: _moved(found[1])}})
    elif session.profile.walk.by == "link" and len(session.exchanges) > 1:
        other = {**first, "json": json.loads(_moved(json.dumps(first["json"])))}
        if value_at(session.profile.walk.path or "@", other) != value_at(session.profile.walk.path or "@", first):
            yield session.bent(0, other)


def _moved(text: str) -> str:
    return (
        text.replace("<http", "<https://evil.example/?")
        .replace('"https://', '"https://evil.')
        .replace('"/', '"https://evil.example/')
    )


@every(_elsewhere)
def test_trap_24_a_link_to_another_origin_is_not_followed(bent: list[Bent]) -> None:
    for session, exchanges in bent:
        result, requests = session.read(exchanges)
        assert not result.complete, session.case
        assert requests == 1, session.case


@pytest.mark.parametrize("name", names())
def test_trap_25_a_short_page_is_an_end_for_no_shipped_profile_without_a_size(name: str) -> None:
    for session in sessions(name)[:1]:
        ends = getattr(session.profile.paging, "ends_on", ())
        assert "short_page" not in ends or (session.profile.size is not None and session.profile.size.read is not None)


# --- and more of the kind ---

_ENDS_ON_EMPTY: Final = {
    "gitlab_list": "the last page's x-next-page is empty",
    "google_aip_list": "AIP-158: an empty next_page_token is the end",
    "kubernetes_list": "continue is an empty text at the end",
    "oai_pmh_list": "an empty resumptionToken is the end",
    "slack_all_conversations": "next_cursor is an empty text at the end",
    "slack_list": "next_cursor is an empty text at the end",
    "slack_members": "next_cursor is an empty text at the end",
    "slack_whole_history": "next_cursor is an empty text at the end",
}
"""Profiles whose service documents an empty token as the end."""
_ENDS_ON_NULL: Final = {
    "azure_resource_graph": "$skipToken is null or missing at the end",
    "jira_search": "nextPageToken is null or missing at the end",
}
"""Profiles whose service documents a null token as the end."""


def _no_token(session: Session) -> Iterator[list[Exchange]]:
    walk = session.profile.paging
    if walk.by != "token":
        return
    at = plain(walk.read)
    name = session.profile.name
    for position in range(len(session.exchanges) - 1):
        page = session.exchanges[position]
        if at is None or value_at(walk.read, page) in (MISSING, None, ""):
            continue
        for value in ("", None, 0, "0", False, [], {}, " ", "null", "undefined"):
            if (value == "" and name in _ENDS_ON_EMPTY) or (value is None and name in _ENDS_ON_NULL):
                continue
            yield [*session.exchanges[:position], put(page, at, value)]


@every(_no_token)
def test_trap_26_a_token_that_looks_like_none_is_no_end(bent: list[Bent]) -> None:
    _expect_no_end_taken(bent)


def test_only_the_profiles_listed_here_end_on_an_empty_or_a_null_token() -> None:
    walks = {name: sessions(name)[0].profile.paging for name in names()}
    tokens = {name: walk for name, walk in walks.items() if walk.by == "token"}
    is_whole = {name for name in tokens if whole(name)}
    empty = {name for name, walk in tokens.items() if walk.empty_token == "end" or "empty" in walk.ends_on}
    null = {name for name, walk in tokens.items() if "null" in walk.ends_on}
    zero = {name for name, walk in tokens.items() if "zero" in walk.ends_on}
    assert (empty & is_whole, null & is_whole, zero) == (set(_ENDS_ON_EMPTY), set(_ENDS_ON_NULL), set())


_BESIDE: Final[list[dict[str, object]]] = [
    {"error": {"code": 500, "message": "x"}},
    {"error": "x"},
    {"errors": [{"message": "x"}]},
]


def _error_beside(session: Session) -> Iterator[list[Exchange]]:
    for position, page in enumerate(session.exchanges):
        if session.profile.walk.by == "job" and position + 1 != len(session.exchanges):
            continue  # what a running job says is not read
        if isinstance(page.get("json"), dict):
            for told in _BESIDE:
                yield session.bent(position, {**page, "json": {**page["json"], **told}})


@every(_error_beside)
def test_trap_27_an_error_beside_the_records_is_heard(bent: list[Bent]) -> None:
    _expect_none_complete(bent)


def _header_lost(session: Session) -> Iterator[list[Exchange]]:
    if session.profile.name in ("sentry_list", "gitlab_list"):
        for position, page in enumerate(session.exchanges):
            yield session.bent(position, {**page, "headers": {}})


@every(_header_lost)
def test_trap_28_a_header_that_is_always_sent_and_got_lost_is_no_end(bent: list[Bent]) -> None:
    _expect_none_complete(bent, "COVERAGE_UNKNOWN")


def _last_flag(session: Session) -> Iterator[list[Exchange]]:
    """More, said by a flag that is an expression or stands in a list walk by keys."""
    flags: Final[dict[str, tuple[tuple[str, ...], object]]] = {
        "jira_search": (("isLast",), False),
        "stripe_list": (("has_more",), True),
    }
    found = flags.get(session.profile.name)
    if found is not None:
        yield session.bent(len(session.exchanges) - 1, put(session.exchanges[-1], *found))
    elif session.profile.name in ("github_graphql", "relay", "shopify_graphql", "shopify_storefront"):
        body = json.dumps(session.exchanges[-1]["json"])
        for old, new in (('"hasNextPage": false', '"hasNextPage": true'), ('"endCursor": "', '"was": "')):
            body = body.replace(old, new)
        yield session.bent(len(session.exchanges) - 1, {**session.exchanges[-1], "json": json.loads(body)})


@every(_last_flag)
def test_trap_17_more_without_a_way_on_is_no_end_however_it_is_said(bent: list[Bent]) -> None:
    _expect_no_end_taken(bent)


def _cut_to_half(session: Session) -> Iterator[list[Exchange]]:
    """Half of the records of a page are gone, as where a permission filters after the page was made."""
    count = session.profile.count
    if count is None or session.read()[0].total.kind not in ("exact", "lower_bound") or session.profile.id is None:
        return
    for position, page in enumerate(session.exchanges):
        found = list_places(session, page)
        if len(found) == 1 and len(looked_up(page["json"], found[0])) > 1:
            records = looked_up(page["json"], found[0])
            other = put(page, found[0], records[: len(records) // 2])
            if value_at(session.profile.items or "@", other) != value_at(session.profile.items or "@", page):
                yield session.bent(position, other)


@every(_cut_to_half)
def test_trap_29_records_that_a_permission_filters_from_a_counted_page_are_missed(bent: list[Bent]) -> None:
    _expect_no_end_taken(bent)


def test_every_trap_is_sprung_on_every_profile_that_it_could_catch() -> None:
    """Traps 1, 3, 5, 6, 14 and 18 need a rule to be heard: `test_rules_of_profiles` springs each rule there is."""
    caught = {name: whole(name) for name in names() if whole(name)}
    several = {name for name, found in caught.items() if any(len(one.exchanges) > 1 for one in found)}
    jobs = {name for name in several if sessions(name)[0].profile.walk.by == "job"}
    bodies = {
        name for name, found in caught.items() if any(isinstance(one.exchanges[-1].get("json"), dict) for one in found)
    }
    for trap, expected in {
        _first_page_for_ever: several - jobs,
        _dies_on_the_way: several,
        _cut_on_the_way: set(caught),
        _empty_on_the_way: several,
        _errors_inside: set(caught),
        _error_beside: bodies,
        _foreign: set(caught),
        _statuses: set(caught),
    }.items():
        sprung = {name for name, found in caught.items() if any(True for one in found for _ in trap(one))}
        assert expected <= sprung, (trap.__name__, expected - sprung)


@pytest.mark.parametrize("name", names())
def test_every_profile_has_sessions_to_bend_or_is_never_whole(name: str) -> None:
    assert sessions(name), name
    if not whole(name):
        assert not any(one.read()[0].complete for one in sessions(name))
