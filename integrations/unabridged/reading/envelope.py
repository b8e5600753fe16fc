"""From a loop that stopped to a result: the facts are judged, the way on is chosen, the envelope is built."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unabridged.contract.continuation import NextPage
from unabridged.contract.ids import id_key, is_token, safe_id, safe_value
from unabridged.contract.parts import ItemCut, Notice, ReadHeader, Reason, Scope, SourceOutcome
from unabridged.contract.results import ReadResult, build_result, status_for, with_ids, with_resume
from unabridged.profiles.paths import MISSING, PathFailed, compile_path

from .ask import Chain, key_set
from .judge import Facts, Judgement, judge
from .resume import Resume
from .routes import DEFAULT_DEADLINE_S, Chances, Way, way_on
from .walkers import Ended, Step

if TYPE_CHECKING:
    from .loop import Loop


def envelope(loop: Loop, *, more_to_come: bool = False) -> ReadResult:
    """Returns the result of what a loop has read since its link began.

    Args:
        loop: the loop, at rest.
        more_to_come: whether this is a page of a stream that goes on by itself.
    """
    keeps = not (loop.failure is not None and loop.ask.profile.on_failure == "unavailable" and loop.seen.pages > 0)
    items, cuts = _items(loop) if loop.has_content and keeps else (None, ())
    facts = _facts(loop, items, cuts)
    verdict, way = streamed(facts) if more_to_come else _final(loop, facts)
    result = build_result(
        items=items,
        reasons=verdict.reasons,
        scope=_scope(loop, verdict, items),
        read=_header(loop),
        continuation=way.route,
        total=verdict.total,
        consistency=verdict.consistency,
        proof=verdict.proof,
        sources=_sources(loop, verdict, items),
        item_cuts=facts.cuts,
        warnings=verdict.notices,
    )
    if items is not None:
        with_ids(result, loop.rules.ids(items) if loop.text is None else [loop.plan.url])
    return result if way.goes_on is None else with_resume(result, _resume(loop, way, items))


def _final(loop: Loop, facts: Facts) -> tuple[Judgement, Way]:
    verdict = judge(facts)
    chances = Chances(loop.ask.repeats_left, loop.ask.idle, _deadline_s(loop))
    has_rest = bool(loop.collector.rest) and facts.has_content
    return verdict, way_on(facts, verdict.reasons, has_rest=has_rest, chances=chances)


def streamed(facts: Facts) -> tuple[Judgement, Way]:
    """A page of a stream is partial because more pages come; the stream itself is the way to them.

    Duplicates are judged once the chain has ended, when an exact count may account for them.
    """
    verdict = judge(replace(facts, across=0))
    known = tuple(reason for reason in verdict.reasons if reason.code != "COVERAGE_UNKNOWN")
    more = Reason(code="MORE_PAGES_AVAILABLE", layer="client")
    return replace(verdict, reasons=(*known, more)), Way(NextPage(), None)


def _items(loop: Loop) -> tuple[list[Any], tuple[ItemCut, ...]]:
    """Returns the records, or the excerpt that the pieces of a text make, and what is known to be cut in it."""
    if loop.text is None:
        return loop.collector.items, ()
    version = loop.seen.snapshot if loop.seen.is_snapshot else None
    text = version if isinstance(version, str) else None
    item, exact = loop.text.excerpt(reference=loop.plan.url, version=text, is_end=isinstance(loop.stop, Ended))
    return [item], () if exact else (ItemCut(item="#1", field="text", why="abridged"),)


def _facts(loop: Loop, items: list[Any] | None, cuts: tuple[ItemCut, ...]) -> Facts:
    collector = loop.collector
    return Facts(
        profile=loop.plan.profile,
        source=loop.ask.name,
        seen=loop.seen,
        stop=loop.stop,
        failure=loop.failure,
        limits=loop.limits,
        on_offer=loop.on_offer,
        window_hit=loop.window_hit,
        is_sample=loop.ask.query.intent == "sample",
        unique=None if loop.rules.id is None else len(collector.seen),
        raw=collector.raw,
        last_raw=loop.last_raw,
        window=loop.window,
        across=collector.across,
        inside=collector.inside,
        has_content=items is not None,
        cuts=(*cuts, *(_cuts(loop, items) if items else ())),
        retried=loop.retried,
        job=loop.job_state,
        poll_s=loop.poll_s,
        reference=loop.plan.url,
        range_start=_next_start(loop, items),
        notices=tuple(_request_notices(loop, items)),
    )


def _next_start(loop: Loop, items: list[Any] | None) -> int:
    """A character that is cut in two is read again, with the piece that holds its end."""
    if loop.text is not None and items:
        return int(items[0]["end"])
    return loop.step.offset


def _cuts(loop: Loop, items: list[Any]) -> Iterable[ItemCut]:
    for rule in loop.ask.profile.item_cuts:
        path = compile_path(rule.path, page=False)
        for n, record in enumerate(items, 1):
            try:
                value = path.read(record)
            except PathFailed:
                continue
            field = rule.field or rule.path
            if rule.list_len is not None:
                if isinstance(value, list) and len(value) >= rule.list_len:
                    name = _item_name(loop, record, n)
                    yield ItemCut(item=name, field=field, why=rule.why, shown=len(value), unit="items")
            elif rule.when is not None and rule.when.holds(value):
                yield ItemCut(item=_item_name(loop, record, n), field=field, why=rule.why)


def _item_name(loop: Loop, record: Any, position: int) -> str | int | float:
    path = loop.rules.id
    return f"#{position}" if path is None else safe_id(path.read(record), position)


def _request_notices(loop: Loop, items: list[Any] | None) -> Iterable[Notice]:
    plan = loop.plan
    for name in plan.unsent:
        yield Notice(code="PARAMETER_ADJUSTED", observed={"parameter": safe_value(name), "sent": False})
    if items is None:
        return
    sent = plan.size_sent
    asked = plan.size_wanted if plan.size_wanted is not None else sent
    used = plan.size_asked if plan.size_wanted is not None else sent
    if loop.seen.size_used is not None and sent is not None and loop.seen.size_used < sent:
        used = loop.seen.size_used
    if asked is not None and used is not None and used < asked:
        yield Notice(code="PARAMETER_ADJUSTED", observed={"parameter": "page_size", "asked": asked, "used": used})
    absent = [name for name in loop.ask.query.fields or () if not all(_holds(r, name) for r in items)]
    if absent:
        yield Notice(code="PARTIAL_FIELD_SET", observed=dict.fromkeys(absent, "absent"))


def _holds(record: Any, name: str) -> bool:
    if isinstance(record, dict) and name in record:
        return True
    for part in name.split("."):
        if not isinstance(record, dict) or part not in record:
            return False
        record = record[part]
    return True


def _scope(loop: Loop, verdict: Judgement, items: list[Any] | None) -> Scope:
    query, order, limits = loop.ask.query, loop.ask.profile.order, loop.plan.profile.scope
    selection = None
    if query.intent == "sample":
        by = f" by {order.by}" if order is not None else ""
        selection = f"the first {len(items) if items is not None else query.page_size or 'page'}{by}"
    return Scope(
        resource=query.resource,
        filters=loop.plan.sent_filters,
        intent=query.intent,
        visibility=loop.ask.profile.visibility,
        window="; ".join(limit.window for limit in limits if limit.window is not None) or None,
        excludes=tuple(limit.excludes for limit in limits if limit.excludes is not None),
        snapshot=_snapshot(verdict.snapshot),
        selection=selection,
    )


def _snapshot(value: Any) -> bool | int | float | str | None:
    """Returns a snapshot value as a token: itself where it is one, else a digest that is equal when it is."""
    if value is MISSING or value is None or isinstance(value, bool | int | float) or is_token(value):
        return None if value is MISSING else value
    text = json.dumps(id_key(value), sort_keys=True, default=str)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _header(loop: Loop) -> ReadHeader:
    ask, order = loop.ask, loop.ask.profile.order
    return ReadHeader(
        id=loop.read_id,
        query_id=ask.query_id,
        adapter=f"{ask.name}/{ask.profile.version}",
        started_at=loop.started_at,
        finished_at=ask.clock.now(),
        requests=loop.spend.requests - loop.requests_before,
        pages=loop.link_pages,
        duplicates=loop.collector.duplicates,
        page_size=loop.seen.size_used or loop.plan.size_sent,
        order=order.by if order is not None else None,
        budget=loop.spend.spent(),
        continues=loop.continues,
    )


def _sources(loop: Loop, verdict: Judgement, items: list[Any] | None) -> tuple[SourceOutcome, ...]:
    """The source itself, then those that its pages name as missing."""
    name = loop.ask.name
    codes = tuple(dict.fromkeys(r.code for r in verdict.reasons))
    own = SourceOutcome(name=name, status=status_for(items, codes), returned=len(items or ()), reasons=codes)
    named = [SourceOutcome(name=n, status="unavailable", reasons=(code,)) for n, code in loop.seen.named.items()]
    return (own, *named)


def _deadline_s(loop: Loop) -> float:
    stated = loop.ask.budget.max_seconds
    return DEFAULT_DEADLINE_S if stated is None else 2 * stated


def _resume(loop: Loop, way: Way, items: list[Any] | None) -> Resume:
    ask = replace(loop.ask, repeats_left=max(0, loop.ask.repeats_left - 1)) if way.goes_on == "fresh" else loop.ask
    brought = way.goes_on == "chain" and (loop.link_pages > 0 or bool(items))
    ask = replace(ask, idle=0 if brought else loop.ask.idle + 1)
    if way.route.kind == "retry_with_deadline":
        ask = replace(ask, budget=replace(ask.budget, max_seconds=_deadline_s(loop)))
    if way.goes_on == "fresh":
        return Resume(ask=ask, chain=Chain(), kind="fresh")
    collector = loop.collector
    chain = Chain(
        step=loop.step if loop.text is None else Step(offset=_next_start(loop, items)),
        stop=loop.stop,
        rest=tuple(collector.rest) if items is not None else (),
        sent=key_set(loop.sent),
        seen=key_set(collector.seen),
        raw=collector.raw,
        across=collector.across,
        window=loop.window,
        last_raw=loop.last_raw,
        kept=loop.seen.kept,
        read_id=loop.read_id,
    )
    return Resume(ask=ask, chain=chain)
