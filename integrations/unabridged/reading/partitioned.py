"""From the parts of a partition to one result: what they hold together is judged as one read."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

from unabridged.contract.ids import json_equal, new_read_id
from unabridged.contract.parts import ReadHeader, Reason, Scope, SourceOutcome
from unabridged.contract.results import ReadResult, build_result, resume_of, status_for, with_ids, with_resume
from unabridged.profiles.format import Profile
from unabridged.profiles.paths import MISSING

from .ask import Ask, Chain
from .envelope import streamed
from .judge import Facts, Judgement, judge
from .observe import Kept, Observations
from .page import Failure
from .partition import Begun, Outcome, Part, Splitter, reasons_of
from .records import RecordRules
from .requests import plan_read
from .resume import Resume
from .routes import DEFAULT_DEADLINE_S, Chances, Way, way_on
from .walkers import Ended


@dataclass(frozen=True)
class Joined:
    """Every part of a read, and where the read began."""

    splitter: Splitter
    outcomes: list[Outcome]
    chain: Chain
    begun: Begun

    @property
    def ask(self) -> Ask:
        """The question."""
        return self.splitter.ask

    @property
    def inner(self) -> Profile:
        """The profile of a part."""
        return self.ask.profile.inner

    @property
    def left(self) -> tuple[Part, ...]:
        """What is still to be read, in order."""
        return tuple(outcome.left for outcome in self.outcomes if outcome.left is not None)

    @property
    def failure(self) -> Failure | None:
        """The first failure."""
        return next((outcome.failure for outcome in self.outcomes if outcome.failure is not None), None)

    @property
    def is_strict(self) -> bool:
        """Whether a failure leaves nothing."""
        return "unavailable" in (self.ask.profile.on_failure, self.inner.on_failure)


def link_of(read: Joined) -> tuple[ReadResult, Resume]:
    """Returns a part of a stream, which is partial because more parts come, and where the stream goes on."""
    result = result_of(read, more_to_come=True)
    resume = resume_of(result)
    if not isinstance(resume, Resume):
        raise TypeError("a stream goes on with the parts that are left")
    return with_resume(result, None), resume


def result_of(read: Joined, *, more_to_come: bool = False) -> ReadResult:
    """Returns the result of a partition, or of a part of a stream."""
    items, seen_keys, across = _items(read)
    pages = read.splitter.spend.pages - read.begun.pages
    keeps = not (read.is_strict and read.failure is not None and read.chain.kept.pages + pages > 0)
    has_content = keeps and any(o.result is not None and o.result.items is not None for o in read.outcomes)
    facts = _facts(read, has_content=has_content, unique=len(seen_keys), across=across)
    kept = items if has_content else None
    ask = read.ask
    verdict, way = streamed(facts) if more_to_come else _final(facts, ask)
    codes = tuple(dict.fromkeys(r.code for r in verdict.reasons))
    name = ask.name
    own = SourceOutcome(name=name, status=status_for(kept, codes), returned=len(kept or ()), reasons=codes)
    named = [SourceOutcome(name=n, status="unavailable", reasons=(c,)) for n, c in facts.seen.named.items()]
    result = build_result(
        items=kept,
        reasons=verdict.reasons,
        scope=_scope(read, verdict.snapshot),
        read=_header(read, pages, across),
        continuation=way.route,
        total=verdict.total,
        consistency=verdict.consistency,
        proof=verdict.proof,
        sources=(own, *named),
        item_cuts=facts.cuts if kept is not None else (),
        warnings=verdict.notices,
    )
    if kept is not None:
        with_ids(result, RecordRules.of(read.inner).ids(kept))
    state = _State(frozenset(seen_keys), across, facts.seen.kept)
    if way.goes_on is None and not more_to_come:
        return result
    return with_resume(result, _resume(read, way, result, state))


def _final(facts: Facts, ask: Ask) -> tuple[Judgement, Way]:
    verdict = judge(facts)
    chances = Chances(ask.repeats_left, ask.idle, _deadline_s(ask))
    return verdict, way_on(facts, verdict.reasons, has_rest=False, chances=chances)


def _items(read: Joined) -> tuple[list[Any], set[Hashable], int]:
    """Returns the records, each once and in its later version, every key of the chain, and how many came twice."""
    seen: set[Hashable] = set(read.chain.seen)
    across = read.chain.across + sum(outcome.across for outcome in read.outcomes)
    place: dict[Hashable, int] = {}
    items: list[Any] = []
    for outcome in read.outcomes:
        records = [] if outcome.result is None else outcome.result.items or []
        if read.inner.id is None:
            items.extend(records)
            continue
        for key, record in zip(outcome.keys, records, strict=True):
            at = place.get(key)
            if at is None:
                across += key in seen
                place[key] = len(items)
                items.append(record)
                seen.add(key)
            else:
                across += 1
                items[at] = record
    return items[: read.ask.query.page_size if read.splitter.wanted is not None else None], seen, across


def _facts(read: Joined, *, has_content: bool, unique: int, across: int) -> Facts:
    ask, failure = read.ask, read.failure
    splitter = read.splitter
    limits = splitter.spend.exhausted() or splitter.limits if read.left and failure is None else ()
    is_sample = ask.query.intent == "sample"
    through = not read.left and not is_sample
    plan = plan_read(read.inner, ask.query, url=ask.url, headers=ask.headers, source=ask.source)
    results = [o.result for o in read.outcomes if o.result is not None]
    profile = ask.profile.model_copy(
        update={
            "duplicates": read.inner.duplicates, "order": read.inner.order, "scope": (),
            "on_failure": "unavailable" if read.is_strict else "partial",
        }
    )  # fmt: skip
    return Facts(
        profile=profile,
        source=ask.name,
        seen=_seen(read, profile),
        stop=Ended("parts") if through and failure is None else None,
        failure=failure,
        limits=limits,
        on_offer=bool(read.left) and failure is None and (has_content or read.splitter.total is not None),
        window_hit=False,
        is_sample=is_sample,
        unique=None if read.inner.id is None else unique,
        raw=read.chain.raw + sum(o.raw for o in read.outcomes),
        last_raw=None,
        window=0,
        across=across,
        inside=_inside(read),
        has_content=has_content,
        cuts=tuple(cut for r in results for cut in r.item_cuts),
        retried=read.splitter.retried,
        job=None,
        poll_s=0.0,
        reference=plan.url,
        range_start=0,
        notices=(),
    )


def _seen(read: Joined, profile: Profile) -> Observations:
    """Returns what every part and every count stated, as if one page had."""
    seen = Observations(profile, source=read.ask.name, kept=read.chain.kept)
    for outcome in read.outcomes:
        for reason in reasons_of(outcome):
            seen.reasons.setdefault((reason.code, reason.detail, reason.source), reason)
        if outcome.is_over:
            over = Reason(
                code="RESULT_LIMIT_REACHED", detail="source_cap", limit=read.splitter.walk.cap, source=read.ask.name
            )
            seen.reasons.setdefault((over.code, over.detail, over.source), over)
        if outcome.misses is not None:
            missed = outcome.misses
            seen.reasons.setdefault((missed.code, missed.detail, missed.source), missed)
        if outcome.result is not None:
            for notice in outcome.result.warnings:
                seen.notices.setdefault((notice.code, repr(notice.observed)), notice)
    parts = [o.seen for o in read.outcomes if o.seen is not None]
    for part in (*read.splitter.counts, *parts):
        for key, reason in part.reasons.items():
            seen.reasons.setdefault(key, reason)
        seen.named.update(part.named)
    _add_pages(seen, parts)
    if read.splitter.total is not None and read.chain.kept.count is None:
        seen.counted(read.splitter.total)
    return seen


def _add_pages(seen: Observations, parts: list[Observations]) -> None:
    """The whole is one snapshot where every page of every part stated the same one."""
    for part in parts:
        seen.pages += part.pages
        seen.snapshot_changed |= part.snapshot_changed
        if part.is_snapshot:
            seen.snapshots += part.pages
            same = seen.snapshot is MISSING or json_equal(seen.snapshot, part.snapshot)
            seen.snapshot_changed |= not same
            seen.snapshot = part.snapshot


def _scope(read: Joined, snapshot: Any) -> Scope:
    base = next((o.result.scope for o in read.outcomes if o.result is not None), None)
    ask, parts = read.ask, read.splitter.walk.parts
    bounds = ((parts.send.from_, parts.from_), (parts.send.to, parts.to))
    plan = plan_read(read.inner, ask.query, url=ask.url, headers=ask.headers, source=ask.source, bounds=bounds)
    limits = plan.profile.scope
    return Scope(
        resource=ask.query.resource,
        filters=plan.sent_filters,
        intent=ask.query.intent,
        visibility=read.inner.visibility if ask.profile.visibility == "caller" else ask.profile.visibility,
        snapshot=None if snapshot is None or base is None else base.snapshot,
        window="; ".join(limit.window for limit in limits if limit.window is not None) or None,
        excludes=tuple(limit.excludes for limit in limits if limit.excludes is not None),
        selection="the first part" if ask.query.intent == "sample" else None,
    )


def _inside(read: Joined) -> int:
    """Returns how many records their own page held twice."""
    return sum(o.result.read.duplicates - o.across for o in read.outcomes if o.result is not None)


def _header(read: Joined, pages: int, across: int) -> ReadHeader:
    ask, spend = read.ask, read.splitter.spend
    return ReadHeader(
        id=new_read_id(),
        query_id=ask.query_id,
        adapter=f"{ask.name}/{ask.profile.version}",
        started_at=read.begun.at,
        finished_at=ask.clock.now(),
        requests=spend.requests - read.begun.requests,
        pages=pages,
        duplicates=across - read.chain.across + _inside(read),
        order=None if read.inner.order is None else read.inner.order.by,
        budget=spend.spent(),
        continues=read.chain.read_id,
    )


@dataclass(frozen=True)
class _State:
    """What the next link must know of this one."""

    seen: frozenset[Hashable]
    across: int
    kept: Kept


def _deadline_s(ask: Ask) -> float:
    stated = ask.budget.max_seconds
    return DEFAULT_DEADLINE_S if stated is None else 2 * stated


def _resume(read: Joined, way: Way, result: ReadResult, state: _State) -> Resume:
    ask = read.ask
    if way.goes_on == "fresh":
        fresh = replace(ask, repeats_left=max(0, ask.repeats_left - 1), idle=ask.idle + 1)
        return Resume(ask=fresh, chain=Chain(), kind="fresh")
    ask = replace(ask, idle=0 if result.returned else ask.idle + 1)
    chain = Chain(
        seen=state.seen,
        raw=read.chain.raw + sum(o.raw for o in read.outcomes),
        across=state.across,
        kept=state.kept,
        read_id=result.read.id,
        parts=read.left,
    )
    return Resume(ask=ask, chain=chain)
