"""Every rule of every shipped profile is sprung: by a page of its replay cases, or by one that is bent here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

import pytest
from reading.traps import Exchange, Session, list_places, looked_up, names, put, sessions, value_at, whole
from unabridged.profiles import load_profile
from unabridged.profiles.conditions import When
from unabridged.profiles.paths import PathFailed, compile_path


@dataclass(frozen=True)
class Bend:
    """The last page of a session, changed in one place, and what a read must then say."""

    says: str
    """A reason or a warning."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Values by dotted keys of the body."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Values by dotted keys of the first record."""
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    like: str | None = None
    """Another profile whose sessions serve, where the own ones have too few pages."""


_OLD: Final = "SOURCE_UNAVAILABLE"
_CUT: Final = "ITEM_TRUNCATED"
_OPEN: Final = "COVERAGE_UNKNOWN"
_ODD: Final = "PROTOCOL_ANOMALY"
_LIMIT: Final = {"error": {"errors": [{"reason": "rateLimitExceeded"}]}}
_QUOTA: Final = Bend("RATE_LIMITED", _LIMIT, status=403)
_GITHUB: Final = Bend("RATE_LIMITED", {"message": "API rate limit exceeded"}, status=403)
_GITHUB_LIST: Final = Bend("RATE_LIMITED", {"": {"message": "API rate limit exceeded"}}, status=403)
_GONE: Final = Bend("CONTINUATION_EXPIRED", {"error": "x"}, status=400)
_SLACK: Final = (
    Bend(_OPEN, {"response_metadata": "x"}),
    Bend("CONTINUATION_EXPIRED", {"ok": False, "error": "invalid_cursor"}),
    Bend(_OLD, {"errors": ["x"]}),
)
_MORE_THAN_ONE: Final = {"data.second": {"pageInfo": {"hasNextPage": False}, "nodes": [], "edges": []}}
_INCOMPLETE: Final = Bend(_OPEN, {"request_status": {"type": "incomplete", "incomplete_reason": "x"}})
_NOTION: Final = (
    Bend(_ODD, {"has_more": False, "next_cursor": "c"}),
    Bend("RESULT_LIMIT_REACHED", {"request_status": {"incomplete_reason": "query_result_limit_reached"}}),
    _INCOMPLETE,
    Bend(_OLD, {"object": "error"}),
    Bend(_ODD, {"object": "page"}),
    Bend(_CUT, record={"properties": {"a": {"has_more": True}}}),
    Bend(_CUT, record={"properties": {"a": {"relation": [{"id": "x"}] * 25}}}),
)
_TRUNCATED: Final = ["results truncated due to limit"]
_PROMETHEUS: Final = (
    Bend("PARTIAL_FAILURE", {"warnings": ["PromQL warning: x"]}),
    Bend("RESULT_LIMIT_REACHED", {"warnings": _TRUNCATED}),
    Bend(_OLD, {"warnings": ["x"]}),
    Bend(_OPEN, {"warnings": "x"}),
    Bend("NATIVE_WARNING", {"infos": ["x"]}),
    Bend(_OLD, {"error": "x", "errorType": "x"}),
)
_IN_DATA: Final = (
    Bend("PARTIAL_FAILURE", {"data.warnings": ["PromQL warning: x"]}),
    Bend("RESULT_LIMIT_REACHED", {"data.warnings": _TRUNCATED}),
    Bend(_OLD, {"data.warnings": ["x"]}),
    Bend(_OPEN, {"data.warnings": "x"}),
)
_SEARCH: Final = (
    Bend("TIME_BUDGET_EXCEEDED", {"timed_out": True}),
    Bend("RESULT_LIMIT_REACHED", {"terminated_early": True}),
    Bend(_OLD, {"_shards.failed": 1}),
    Bend(_OLD, {"_clusters": {"total": 2, "successful": 1, "skipped": 1}}),
    Bend(_OLD, {"error": {"type": "x"}}),
    Bend(_OPEN, {"timed_out": "false"}),
    Bend(_OPEN, {"hits.total.relation": "x"}),
)
_INNER: Final = Bend(_CUT, record={"inner_hits": {"a": {"hits": {"total": {"value": 9}, "hits": []}}}})
_SOLR: Final = (
    Bend("RESULT_LIMIT_REACHED", {"responseHeader.segmentTerminatedEarly": True}),
    Bend("STALE_INDEX", {"responseHeader.zkConnected": False}),
    Bend(_OPEN, {"response.numFoundExact": "x"}),
    Bend(_OPEN, {"response.numFound": "x"}),
    Bend(_OLD, {"error": {"code": 500}}),
    Bend(_OLD, {"responseHeader.status": 500}),
)
_JIRA: Final = (
    Bend(_OPEN, {"warningMessages": ["x"]}),
    Bend(_OLD, {"errors": {"jql": "x"}, "errorMessages": []}),
    Bend(_CUT, record={"fields.comment": {"total": 2, "comments": [{}]}}),
    Bend(_CUT, record={"fields.worklog": {"total": 2, "worklogs": [{}]}}),
    Bend(_CUT, record={"changelog": {"total": 2, "histories": [{}]}}),
)
_ERROR: Final = Bend(_OLD, {"error": {"code": 500}})
_MESSAGE: Final = Bend(_OLD, {"message": "x"})
_VIRTUOSO: Final = (
    Bend("TIME_BUDGET_EXCEEDED", headers={"X-SQL-State": "S1TAT"}),
    Bend("RESULT_LIMIT_REACHED", headers={"X-SPARQL-MaxRows": "10000"}),
    _ERROR,
)
_DATADOG: Final = (
    Bend("TIME_BUDGET_EXCEEDED", {"meta.status": "timeout"}),
    Bend(_OPEN, {"meta.page": "x"}),
    Bend(_OPEN, {"meta.status": "x"}),
    Bend(_OLD, {"meta.warnings": [{"code": "x"}]}),
    Bend(_ODD, {"links": {"next": "https://api.datadoghq.com/x"}}),
    _ERROR,
)
_LOKI: Final = (
    Bend(_OLD, {"warnings": ["x"]}),
    Bend(_OLD, {"status": "error"}),
    Bend(_OPEN, {"status": "x"}),
    Bend(_ODD, {"data.result": [{"stream": {}}]}),
    _ERROR,
)
_GRAPHQL: Final = (
    Bend(_ODD, _MORE_THAN_ONE),
    Bend("PARTIAL_FAILURE", {"errors": [{"message": "x"}]}),
    _ERROR,
)
_SHOPIFY: Final = (*_GRAPHQL, Bend("NATIVE_WARNING", {"extensions": {"search": [{"warnings": [{"field": "x"}]}]}}))

BENDS: Final[Mapping[str, tuple[Bend, ...]]] = {
    "algolia_browse": (Bend(_OPEN, {"message": "x"}), _ERROR),
    "algolia_search": (Bend("NATIVE_WARNING", {"exhaustive.rulesMatch": False}), _ERROR),
    "azure_resource_graph": (_ERROR,),
    "bigquery_results": (_QUOTA,),
    "confluence_list": (Bend(_OPEN, {"start": 0, "size": 1}), _ERROR),
    "confluence_v1": (_ERROR,),
    "datadog_logs": _DATADOG,
    "datadog_logs_window": _DATADOG,
    "elasticsearch_pit": _SEARCH,
    "elasticsearch_search": (*_SEARCH, _INNER),
    "fhir_search": (Bend(_ODD, {"total": 0}), Bend(_ODD, {"entry": "x"}), _ERROR),
    "github_code_search": (
        Bend("TIME_BUDGET_EXCEEDED", {"incomplete_results": True}),
        Bend("RESULT_LIMIT_REACHED", {"total_count": 1001}),
        _GITHUB,
        _MESSAGE,
    ),
    "github_compare_commits": (_GITHUB, _MESSAGE),
    "github_compare_files": (Bend(_CUT, record={"patch": None, "changes": 3}), _GITHUB, _MESSAGE),
    "github_contents": (_GITHUB_LIST,),
    "github_counted_list": (_GITHUB, _MESSAGE),
    "github_graphql": (Bend(_ODD, _MORE_THAN_ONE), _ERROR),
    "github_pull_commits": (_GITHUB_LIST,),
    "github_pull_files": (_GITHUB_LIST,),
    "github_search": (_GITHUB, _MESSAGE),
    "github_tree": (_GITHUB, _MESSAGE),
    "gmail_all_messages": (_QUOTA, _ERROR),
    "gmail_messages": (_QUOTA, _ERROR, replace(_GONE, like="gmail_all_messages")),
    "google_aip_list": (Bend(_OLD, {"warning": {"message": "x"}}), _QUOTA),
    "google_calendar_events": (_QUOTA, _ERROR, _GONE),
    "google_drive_all_files": (_QUOTA, _ERROR),
    "google_drive_files": (
        Bend(_OLD, {"incompleteSearch": True}),
        _QUOTA,
        _ERROR,
        replace(_GONE, like="google_drive_all_files"),
    ),
    "hubspot_list": (_ERROR,),
    "hubspot_search": (
        Bend(_ODD, {"paging": {}}),
        Bend("PARTIAL_FAILURE", {"errors": [{"message": "x"}]}),
        Bend(_CUT, record={"associations": {"contacts": {"results": [], "paging": {"next": {"after": "x"}}}}}),
        _ERROR,
    ),
    "jira_search": _JIRA,
    "jira_server_search": _JIRA,
    "jsonapi_list": (_ERROR,),
    "kubernetes_list": (
        Bend(_ODD, {"metadata.remainingItemCount": 3}),
        Bend(_OLD, {"kind": "Status", "status": "Failure"}),
        _ERROR,
    ),
    "loki_query": _LOKI,
    "loki_window": _LOKI,
    "meilisearch_documents": (_MESSAGE,),
    "meilisearch_federated": (_MESSAGE,),
    "meilisearch_search": (_MESSAGE,),
    "microsoft_graph_delta": (
        Bend("CONTINUATION_EXPIRED", {"error": {"code": "Directory_ExpiredPageToken"}}, status=400),
        _ERROR,
    ),
    "microsoft_graph_list": (_ERROR,),
    "notion_list": (*_NOTION, _ERROR),
    "notion_query": (*_NOTION, _ERROR),
    "notion_view_query": (*_NOTION, _ERROR),
    "odata_list": (Bend(_OLD, {"errors": [{}]}),),
    "odata_rows": (Bend(_ODD, {"odata.nextLink": "x", "__next": "x"}), Bend(_OLD, {"errors": [{}]})),
    "opensearch_pit": _SEARCH,
    "opensearch_search": (*_SEARCH, _INNER),
    "prometheus_metadata": _PROMETHEUS,
    "prometheus_query": _PROMETHEUS,
    "relay": _GRAPHQL,
    "salesforce_query": (_ERROR,),
    "salesforce_query_all": (Bend(_ODD, {"done": True, "nextRecordsUrl": "/services/data/x"}), _ERROR),
    "scim_cursor": (_ERROR,),
    "scim_list": (_ERROR,),
    "sentry_list": (Bend(_OPEN, headers={"link": ""}),),
    "servicenow_ordered_table": (_ERROR,),
    "servicenow_table": (_ERROR,),
    "shopify_graphql": _SHOPIFY,
    "shopify_storefront": _SHOPIFY,
    "slack_all_conversations": _SLACK,
    "slack_history": (
        Bend("SCOPE_NARROWED", {"is_limited": True}),
        _SLACK[0],
        replace(_SLACK[1], like="slack_whole_history"),
        _SLACK[2],
    ),
    "slack_list": _SLACK,
    "slack_members": _SLACK,
    "slack_whole_history": _SLACK,
    "snowflake_statement": (_ERROR,),
    "solr_cursor": _SOLR,
    "solr_search": _SOLR,
    "sparql_select": _VIRTUOSO,
    "splunk_job": (Bend("JOB_NOT_FINISHED", {"entry.0.content.isFailed": True}), _ERROR),
    "stripe_list": (_ERROR,),
    "stripe_search": (
        Bend(_ODD, {"total_count": 0}),
        Bend(_CUT, record={"refunds": {"object": "list", "has_more": True}}),
        _ERROR,
    ),
    "thanos_metadata": _PROMETHEUS,
    "thanos_query": (*_PROMETHEUS, *_IN_DATA),
    "typesense_search": (_MESSAGE,),
    "vespa_search": (
        Bend("TIME_BUDGET_EXCEEDED", {"root.coverage.degraded": {"adaptive-timeout": True}}),
        Bend("APPROXIMATE_METHOD", {"root.coverage.degraded": {"match-phase": True}}),
    ),
    "vespa_visit": (_ERROR,),
    "virtuoso_select": _VIRTUOSO,
    "zendesk_cursor": (_ERROR,),
    "zendesk_incremental": (_ERROR,),
    "zendesk_offset": (_ERROR,),
    "zendesk_search": (Bend(_ODD, {"count": 0}), _ERROR),
}


@cache
def _session(name: str, other: str) -> Session:
    """Returns the session whose last page is bent: one that is whole, has records and several pages, where it can."""
    found = [one for one in sessions(other) if "json" in one.exchanges[-1]]
    found = [one for one in found if one.exchanges[-1].get("status") == 200]

    def fits(one: Session) -> tuple[bool, bool, bool, bool, int]:
        pages, is_read = len(one.exchanges), one.read()[0].items is not None
        return one in whole(other), is_read, bool(list_places(one, one.exchanges[-1])), pages > 1, -pages

    return replace(max(found, key=fits), profile=load_profile(name))


def _patched(value: Any, patch: Mapping[str, Any]) -> Any:
    if "" in patch:
        return patch[""]
    exchange: Exchange = {"json": value}
    for path, new in patch.items():
        whole_key = isinstance(value, dict) and ("." not in path or path.startswith("odata."))
        keys = (path,) if whole_key else tuple(int(key) if key.isdigit() else key for key in path.split("."))
        exchange = put(exchange, keys, new)
    return exchange["json"]


def _bent(session: Session, bend: Bend) -> Exchange:
    last = session.exchanges[-1]
    page: dict[str, Any] = {**last, "status": bend.status}
    if bend.record:
        at = list_places(session, last)[0]
        index = next(n for n, one in enumerate(looked_up(last["json"], at)) if isinstance(one, dict))
        record = looked_up(last["json"], (*at, index))
        return put(page, (*at, index), _patched(record, bend.record))
    page["json"] = _patched(last["json"], bend.body)
    kept = {k: v for k, v in (last.get("headers") or {}).items() if k.lower() not in {n.lower() for n in bend.headers}}
    page["headers"] = {**kept, **{name: value for name, value in bend.headers.items() if value}}
    return page


@pytest.mark.parametrize(
    ("name", "bend"),
    [pytest.param(name, bend, id=f"{name}-{n}") for name, bends in BENDS.items() for n, bend in enumerate(bends)],
)
def test_a_sign_in_the_last_page_is_heard(name: str, bend: Bend) -> None:
    session = _session(name, bend.like or name)
    result, _ = session.read(session.bent(len(session.exchanges) - 1, _bent(session, bend)), repeat_last=True)
    said = {*result.codes, *(warning.code for warning in result.warnings)}
    assert bend.says in said, (session.case, said)
    assert not result.complete or bend.says in ("NATIVE_WARNING", "STALE_INDEX")


# --- no rule without its trap ---


def _holds(path: str, when: When, value: Any, headers: Mapping[str, str] | None) -> bool:
    compiled = compile_path(path, page=headers is not None)
    try:
        found = compiled.read(value) if headers is None else compiled.read_page(value, headers)
    except PathFailed:
        return False
    return when.holds(found)


@cache
def _pages(name: str) -> tuple[Exchange, ...]:
    own = [page for session in sessions(name) for page in session.exchanges if "status" in page]
    bent = [_bent(_session(name, bend.like or name), bend) for bend in BENDS.get(name, ())]
    return (*own, *bent)


def _unsprung(name: str) -> Iterator[str]:
    profile = load_profile(name)
    pages = [
        (page, {key.lower(): str(value) for key, value in (page.get("headers") or {}).items()}) for page in _pages(name)
    ]
    for kind in ("signals", "errors"):
        for n, rule in enumerate(getattr(profile, kind)):
            if not any(_holds(rule.path, rule.when, page.get("json"), headers) for page, headers in pages):
                yield f"{kind}[{n}]"
    for n, dead in enumerate(profile.expired):
        if not any(
            (dead.status is None or page["status"] == dead.status)
            and (dead.path is None or dead.when is None or _holds(dead.path, dead.when, page.get("json"), headers))
            for page, headers in pages
        ):
            yield f"expired[{n}]"
    records = [one for page, _ in pages for one in _records(profile.items or "@", page)]
    for n, cut in enumerate(profile.item_cuts):
        if cut.when is not None and not any(_holds(cut.path, cut.when, one, None) for one in records):
            yield f"item_cuts[{n}]"
    statuses = {page["status"] for page, _ in pages}
    if len(profile.rate_limit.status) > 1 and not statuses & {s for s in profile.rate_limit.status if s != 429}:
        yield "rate_limit"


def _records(path: str, page: Exchange) -> list[Any]:
    found = value_at(path, page)
    return found if isinstance(found, list) else []


@pytest.mark.parametrize("name", names())
def test_no_rule_of_a_profile_is_never_sprung(name: str) -> None:
    assert list(_unsprung(name)) == []
