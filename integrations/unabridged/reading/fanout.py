"""The combinator `fanout`: one walk a source, one budget for all, outcomes kept apart."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from unabridged.contract.continuation import NONE, Continuation
from unabridged.contract.ids import new_read_id
from unabridged.contract.merge import merge
from unabridged.contract.parts import SourceOutcome
from unabridged.contract.results import ReadResult, resume_of, with_ids, with_resume
from unabridged.profiles.combinators import FanoutWalk

from .ask import Ask, Chain, Command, Emit, Gather
from .loop import Reading, reading_of_one
from .resume import Resume
from .routes import MAX_IDLE, with_handle
from .spend import Spend

_MERGED_ROUTES = frozenset(
    {"retry_sources", "retry_after", "read_more", "next_page", "read_range", "poll_job", "retry_with_deadline",
     "repeat_read", "restart_scan"}
)  # fmt: skip


def read_fanout(resume: Resume, spend: Spend | None = None, *, stream: bool = False) -> Reading:
    """Reads every source in the order of `over`, or those of an earlier fan-out that have a way on.

    A driver may have several sources in flight; what they come to is the same as one after another. In a stream, each
    page but a source's last is handed out as it comes; the last pages come together, in the result that says what the
    whole is.
    """
    ask = resume.ask
    walk = ask.profile.walk
    if not isinstance(walk, FanoutWalk):
        raise TypeError("only a fan-out is read here")
    spend = spend or Spend(budget=ask.budget, clock=ask.clock, started=ask.clock.monotonic())
    started_at = ask.clock.now()
    requests_before = spend.requests
    earlier = dict(resume.parts)
    last_id = resume.chain.read_id
    parts: list[tuple[str, ReadResult]] = []
    if stream:
        for name in walk.over:
            result, last_id = yield from _read_source(ask, name, earlier.get(name), spend, last_id, stream=True)
            parts.append((name, result))
    else:
        readings = [_read_source(ask, name, earlier.get(name), spend, last_id) for name in walk.over]
        found = yield Gather(tuple(readings))
        parts = [(name, result) for name, (result, _) in zip(walk.over, found, strict=True)]
    return joined(ask, parts, spend=spend, started_at=started_at, continues=last_id, requests_before=requests_before)


def joined(
    ask: Ask,
    parts: Sequence[tuple[str, ReadResult]],
    *,
    spend: Spend,
    started_at: datetime,
    continues: str | None,
    requests_before: int = 0,
) -> ReadResult:
    """Returns the result over all sources, in the order of `parts`."""
    merged = merge([result for _, result in parts], resource=ask.query.resource)
    header = merged.read.model_copy(
        update={
            "id": new_read_id(),
            "query_id": ask.query_id,
            "adapter": f"{ask.profile.name}/{ask.profile.version}",
            "started_at": started_at,
            "finished_at": ask.clock.now(),
            "requests": spend.requests - requests_before,
            "budget": spend.spent(),
            "continues": continues,
        }
    )
    return _whole(ask, merged, header, parts)


def _read_source(
    ask: Ask, name: str, earlier: ReadResult | None, spend: Spend, last_id: str | None, *, stream: bool = False
) -> Generator[Command, Any, tuple[ReadResult, str | None]]:
    """Reads one source; one that is finished, or has no way on, stands with its outcome and without its items."""
    begun = replace(ask, profile=ask.profile.inner, source=name, in_flight=1)
    chain = Chain()
    if earlier is not None:
        resume = resume_of(earlier)
        if not isinstance(resume, Resume) or not _may_go_on(earlier, resume):
            return _stub(earlier), last_id
        begun = replace(resume.ask, budget=ask.budget, clock=ask.clock, in_flight=1)
        chain = resume.chain
    reading = reading_of_one(begun, replace(chain, read_id=None), spend, stream=stream)
    reply: Any = None
    while True:
        try:
            command = reading.send(reply)
        except StopIteration as end:
            return _named_apart(end.value, name, ask), last_id
        reply = None
        if isinstance(command, Emit):
            page = _linked(_named_apart(command.result, name, ask), last_id)
            last_id = page.read.id
            yield Emit(page)
        else:
            reply = yield command


def _named_apart(part: ReadResult, name: str, ask: Ask) -> ReadResult:
    """Keeps what a page of one source names as missing apart from another source of the same name.

    That other source may be asked again; a shard that bears its name is not asked with it.
    """
    over = ask.profile.walk.over if isinstance(ask.profile.walk, FanoutWalk) else ()
    apart = {s.name: f"{name}.{s.name}" for s in part.sources[1:] if s.name in over and s.name != name}
    if not apart:
        return part
    sources = [s.model_copy(update={"name": apart.get(s.name, s.name)}) for s in part.sources]
    reasons = [r.model_copy(update={"source": apart.get(r.source or "", r.source)}) for r in part.reasons]
    return part.model_copy(update={"sources": tuple(sources), "incomplete_reasons": tuple(reasons)})


def _may_go_on(part: ReadResult, resume: Resume) -> bool:
    """A source whose pages fell apart is not begun anew in passing: only the whole read may be, and openly."""
    return resume.kind == "chain" or part.items is None or part.continuation.kind == "retry_sources"


def _linked(page: ReadResult, last_id: str | None) -> ReadResult:
    """Links a page of a stream to the page handed out before it, whichever source that came from."""
    read = page.read.model_copy(update={"continues": last_id})
    return page.model_copy(update={"read": read})


def _stub(result: ReadResult) -> ReadResult:
    """Returns the outcome of a source whose items an earlier link has delivered."""
    if result.items is None:
        return result
    sources = tuple(SourceOutcome(name=s.name, status=s.status, reasons=s.reasons) for s in result.sources)
    fields: dict[str, Any] = {"items": [], "returned": 0, "sources": sources, "item_cuts": ()}
    if result.status == "complete":
        fields["finding_count"] = 0
    return with_ids(result.model_copy(update=fields), ())


def _whole(ask: Ask, merged: ReadResult, header: Any, parts: Sequence[tuple[str, ReadResult]]) -> ReadResult:
    idle = 0 if merged.returned else ask.idle + 1
    route: Continuation = NONE if idle > MAX_IDLE else merged.continuation
    can_go_on = route.kind in _MERGED_ROUTES and any(isinstance(resume_of(r), Resume) for _, r in parts)
    retries_dead = route.kind == "retry_sources"
    if can_go_on or retries_dead:
        route = with_handle(route)
    result = merged.model_copy(update={"read": header, "continuation": route})
    if not (can_go_on or retries_dead):
        return result
    if route.kind in ("restart_scan", "repeat_read"):
        left = max(0, ask.repeats_left - 1)
        fresh = replace(ask, repeats_left=left, idle=ask.idle + 1)
        return with_resume(result, Resume(ask=fresh, chain=Chain(), kind="fresh"))
    again = tuple((name, _with_way(ask, name, part)) for name, part in parts)
    chain = Chain(read_id=result.read.id)
    return with_resume(result, Resume(ask=replace(ask, idle=idle), chain=chain, parts=again))


def _with_way(ask: Ask, name: str, part: ReadResult) -> ReadResult:
    """A dead source is asked again from its first page where it left no place to go on from."""
    if part.status != "unavailable" or isinstance(resume_of(part), Resume):
        return part
    again = replace(ask, profile=ask.profile.inner, source=name)
    return with_resume(part, Resume(ask=again, chain=Chain(), kind="fresh"))
