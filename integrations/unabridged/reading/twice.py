"""Two whole walks: a source without snapshots that gives the same ids and records twice in a row stood still."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unabridged.contract.ids import id_key, json_equal
from unabridged.contract.parts import Notice, Proof, Reason
from unabridged.contract.results import ReadResult, build_result, with_ids, with_resume
from unabridged.profiles.combinators import FanoutWalk

from .ask import Chain
from .loop import Reading, reading_of_one
from .resume import Resume
from .routes import with_handle
from .spend import Spend


def read_twice(resume: Resume) -> Reading:
    """Walks to the end, and where that was complete once more, on the same account.

    Equal ids with equal records raise the proof to `double_walk`. A difference is `CONSISTENCY_LOST`, with the records
    of the second walk. Where the second walk did not come to its end, the first one stands as it is.
    """
    ask = replace(resume.ask, twice=False)
    spend = Spend(budget=ask.budget, clock=ask.clock, started=ask.clock.monotonic())
    first: ReadResult = yield from _walk(replace(resume, ask=ask), spend)
    if first.status != "complete" or not _has_ids(resume):
        return first
    spend.items = spend.pages = 0  # the second walk delivers the same records once, not more of them
    second: ReadResult = yield from _walk(Resume(ask=ask, chain=Chain()), spend)
    header = first.read.model_copy(
        update={
            "finished_at": ask.clock.now(),
            "requests": spend.requests,
            "pages": first.read.pages + second.read.pages,
            "budget": spend.spent(),
        }
    )
    if second.status != "complete":
        return _as(first, read=header)
    if _records(first) == _records(second):
        proof = Proof(level="double_walk", end=second.proof.end, count=second.proof.count, basis=second.proof.basis)
        return _as(second, read=header, proof=proof)
    return _changed(resume, second, header)


def _walk(resume: Resume, spend: Spend) -> Reading:
    if isinstance(resume.ask.profile.walk, FanoutWalk):
        from .fanout import read_fanout

        return read_fanout(resume, spend)
    return reading_of_one(resume.ask, resume.chain, spend)


def _has_ids(resume: Resume) -> bool:
    """Records without identity cannot be told apart, so nothing is proved by two equal lists."""
    profile = resume.ask.profile
    inner = getattr(profile.walk, "inner", None)
    return profile.id is not None or getattr(inner, "id", None) is not None


def _records(result: ReadResult) -> _Same:
    return _Same([(id_key(one), record) for one, record in zip(result.ids, result.items or (), strict=True)])


class _Same:
    """Records by their ids; equal where every id has equal records, whatever the order."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self._by_id: dict[Any, list[Any]] = {}
        for key, record in pairs:
            self._by_id.setdefault(key, []).append(record)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same) or self._by_id.keys() != other._by_id.keys():
            return False
        return all(json_equal(records, other._by_id[key]) for key, records in self._by_id.items())

    __hash__ = None  # type: ignore[assignment]


def _as(result: ReadResult, **changes: Any) -> ReadResult:
    return result.model_copy(update=changes)


def _changed(resume: Resume, second: ReadResult, header: Any) -> ReadResult:
    """The source changed between two walks, so no single state is known to hold these records."""
    from unabridged.contract.continuation import RestartScan

    reason = Reason(code="CONSISTENCY_LOST", detail="mutated_during_read", source=resume.ask.name)
    codes = (reason.code,)
    parts = {
        name: getattr(second, name) for name in ("total", "item_cuts", "checked") if getattr(second, name) is not None
    }
    sources = tuple(s.model_copy(update={"status": "partial", "reasons": codes}) for s in second.sources)
    changed = build_result(
        items=second.items,
        reasons=[reason],
        scope=second.scope,
        read=header,
        consistency="not_established",
        proof=Proof(basis=second.proof.basis),
        sources=sources,
        warnings=tuple(w for w in second.warnings if isinstance(w, Notice)),
        continuation=with_handle(RestartScan(why="consistency_lost")),
        **parts,
    )
    with_ids(changed, second.ids)
    fresh = replace(resume.ask, idle=resume.ask.idle + 1)
    return with_resume(changed, Resume(ask=fresh, chain=Chain(), kind="fresh"))
