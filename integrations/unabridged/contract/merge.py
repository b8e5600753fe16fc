"""Merging results of several sources into one (`CONTRACT.md` 3.9).

Identity across sources is (source, id): merging removes nothing, so it is associative and commutative, and parts may
be merged in any order on any engine. A merged result lists its leaves in `sources`, one entry a leaf, and its items
stand in the order of those entries; that is how a merged result can be merged again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from .codes import PROOF_LEVELS, Visibility
from .continuation import NONE, Continuation, RetrySources, first_that_applies
from .errors import InvalidInput
from .ids import TEXT, id_key, is_token, safe_phrase
from .parts import BudgetSpent, ItemCut, Notice, Proof, ReadHeader, Reason, Scope, SourceOutcome, Total
from .results import ReadResult, build_result, with_ids


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One source's share of a result: what merging may move but never change."""

    outcome: SourceOutcome
    items: tuple[Any, ...]
    ids: tuple[Any, ...]

    @property
    def label(self) -> str:
        return json.dumps([self.outcome.name, self.outcome.to_wire()], sort_keys=True)

    @property
    def content(self) -> str:
        return json.dumps([self.ids, self.items], sort_keys=True, default=str)


def _in_order(leaves: Iterable[_Leaf]) -> list[_Leaf]:
    """Orders by nothing that a merge forgets, so that leaves stand alike however they were merged.

    Contents are compared only between sources that are alike by name and outcome: they may be long.
    """
    ordered: list[_Leaf] = []
    for _, alike in groupby(sorted(leaves, key=lambda leaf: leaf.label), key=lambda leaf: leaf.label):
        same = list(alike)
        ordered += same if len(same) == 1 else sorted(same, key=lambda leaf: leaf.content)
    return ordered


def merge(results: Iterable[ReadResult], *, resource: str) -> ReadResult:
    """Returns one result over all sources; a working source never hides a dead one.

    The whole is `unavailable` only when every part is; else `complete` when all are, `unknown` when the only reason
    is `COVERAGE_UNKNOWN`, else `partial`. Filters that differ between the parts stand as `{"any_of": [...]}`.

    Args:
        results: at least one result; each may itself be merged.
        resource: the name of the whole.

    Raises:
        InvalidInput: there is no result to merge.
    """
    parts = list(results)
    if not parts:
        raise InvalidInput(field="results", rule="must hold at least one result")
    leaves = _in_order(leaf for part in parts for leaf in _leaves(part))
    dead = all(part.items is None for part in parts)
    items = None if dead else [item for leaf in leaves for item in leaf.items]
    result = build_result(
        items=items,
        reasons=_reasons(parts),
        scope=_scope(parts, resource),
        read=_header(parts),
        total=_total(parts),
        consistency=_consistency(parts),
        proof=_proof(parts),
        sources=tuple(leaf.outcome for leaf in leaves),
        item_cuts=_sorted_unique(c for p in parts for c in p.item_cuts),
        warnings=_sorted_unique(w for p in parts for w in p.warnings),
        continuation=_continuation(parts, leaves),
    )
    return result if items is None else with_ids(result, [i for leaf in leaves for i in leaf.ids])


def _leaves(part: ReadResult) -> list[_Leaf]:
    items = tuple(part.items or ())
    ids = tuple(part.ids)
    if len(ids) != len(items):
        ids = tuple(i.get("id") if isinstance(i, dict) else None for i in items)
    if part.read.parts:
        return _split(part, items, ids)
    name = _own_name(part)
    outcome = SourceOutcome(name=name, status=part.status, returned=len(items), reasons=tuple(sorted(part.codes)))
    named = [
        _Leaf(s.model_copy(update={"returned": 0}), (), ())
        for s in part.sources
        if s.name != name and s.status != "complete"
    ]  # the items of a part whose sources are no leaves of a merge are all its own
    return [_Leaf(outcome, items, ids), *named]


def _own_name(part: ReadResult) -> str:
    return part.sources[0].name if len(part.sources) == 1 else part.read.adapter.split("/")[0]


def _split(part: ReadResult, items: Sequence[Any], ids: Sequence[Any]) -> list[_Leaf]:
    leaves, start = [], 0
    for outcome in part.sources:
        end = start + outcome.returned
        leaves.append(_Leaf(outcome, tuple(items[start:end]), tuple(ids[start:end])))
        start = end
    return leaves


def _sorted_unique(parts: Iterable[Any]) -> tuple[Any, ...]:
    found: dict[str, ItemCut | Notice] = {json.dumps(p.to_wire(), sort_keys=True, default=str): p for p in parts}
    return tuple(found[k] for k in sorted(found))


def _reasons(parts: Sequence[ReadResult]) -> list[Reason]:
    found: dict[str, Reason] = {}
    for part in parts:
        for reason in part.reasons:
            keep = reason.source is not None or part.read.parts
            named = reason if keep else _with_source(reason, _own_name(part))
            found[json.dumps(named.to_wire(), sort_keys=True)] = named
    return [found[k] for k in sorted(found)]


def _with_source(reason: Reason, name: str) -> Reason:
    return Reason(**{**dict(reason), "source": name})


def _scope(parts: Sequence[ReadResult], resource: str) -> Scope:
    scopes = [p.scope for p in parts]
    names = sorted({n for s in scopes for n in s.filters})
    visibility: Visibility = "all"
    for level in ("unknown", "caller"):
        if any(s.visibility == level for s in scopes):
            visibility = level
            break
    intent = min((s.intent for s in scopes), key=("sample", "lookup", "inventory").index)
    return Scope(
        resource=resource,
        filters={n: _filter([s.filters.get(n, _ABSENT) for s in scopes]) for n in names},
        intent=intent,
        visibility=visibility,
        snapshot=None,
        window=_one_text([s.window for s in scopes]),
        excludes=tuple(sorted({e for s in scopes for e in s.excludes})),
        selection=_one_text([s.selection for s in scopes]),
    )


_ABSENT: Any = {"absent": True}
_SEVERAL = "several"
"""Stands for texts that do not fit together; it absorbs every other, whatever the order."""


def _filter(values: list[Any]) -> Any:
    """One value when all parts sent it, else every value that some part sent: narrower than no filter at all."""
    flat: dict[Any, Any] = {}
    for value in values:
        merged = isinstance(value, dict) and set(value) == {"any_of"} and isinstance(value["any_of"], list)
        for one in value["any_of"] if merged else [value]:
            flat[id_key(one)] = min(flat.get(id_key(one), one), one, key=repr)  # 1 and 1.0 are one value
    ordered = sorted(flat.values(), key=lambda v: json.dumps(v, sort_keys=True, default=str))
    return ordered[0] if len(ordered) == 1 else {"any_of": ordered}


def _one_text(values: Sequence[str | None]) -> str | None:
    texts = sorted({t for v in values if v is not None for t in v.split("; ")})
    if _SEVERAL in texts or safe_phrase("; ".join(texts)) == TEXT:
        return _SEVERAL if texts else None
    return "; ".join(texts)


def _header(parts: Sequence[ReadResult]) -> ReadHeader:
    leaves = tuple(sorted({i for p in parts for i in (p.read.parts or (p.read.id,))}))
    digest = hashlib.sha256("\n".join(leaves).encode()).hexdigest()[:16]
    return ReadHeader(
        id=f"r_{digest}",
        query_id=f"q_{digest}",
        adapter="merge/1",
        started_at=min(p.read.started_at for p in parts),
        finished_at=max(p.read.finished_at for p in parts),
        requests=sum(p.read.requests for p in parts),
        pages=sum(p.read.pages for p in parts),
        duplicates=sum(p.read.duplicates for p in parts),
        budget=BudgetSpent(spent_seconds=_seconds(p.read.budget.spent_seconds for p in parts)),
        derived_from=tuple(sorted({i for p in parts for i in (*p.read.derived_from, *_chains(p))})),
        parts=leaves,
    )


def _chains(part: ReadResult) -> tuple[str, ...]:
    """A link is a share of its chain: the whole rests on the links before it, which only the session knows."""
    return () if part.read.continues is None else (part.read.id,)


def _seconds(spent: Iterable[float]) -> float:
    """Adds in whole microseconds: sums of fractions would depend on their order."""
    return sum(round(s * 1_000_000) for s in spent) / 1_000_000


def _total(parts: Sequence[ReadResult]) -> Total:
    if all(p.total.kind == "exact" for p in parts):
        return Total(value=sum(p.total.value or 0 for p in parts), kind="exact")
    return Total()


def _consistency(parts: Sequence[ReadResult]) -> Any:
    if all(p.items is None for p in parts) or any(r.code == "CONSISTENCY_LOST" for p in parts for r in p.reasons):
        return "not_established"
    return "interval"


def _proof(parts: Sequence[ReadResult]) -> Proof:
    weakest = min((p.proof for p in parts), key=lambda p: PROOF_LEVELS.index(p.level))
    bases = {p.proof.basis for p in parts}
    counts = [p.proof.count for p in parts]
    # A snapshot is a stronger proof than a count, and yet may be no count at all.
    level = "end_marker" if weakest.level == "counted" and None in counts else weakest.level
    return Proof(
        level=level,
        end="every_source" if level != "none" else None,
        count=sum(c for c in counts if c is not None) if all(c is not None for c in counts) else None,
        basis=bases.pop() if len(bases) == 1 else None,
    )


def _continuation(parts: Sequence[ReadResult], leaves: Sequence[_Leaf]) -> Continuation:
    dead = sorted({_name(leaf.outcome.name, n) for n, leaf in enumerate(leaves, 1) if _is_dead(leaf)})
    if dead:
        return RetrySources(names=tuple(dead))
    return first_that_applies([p.continuation for p in parts if p.continuation is not NONE])


def _is_dead(leaf: _Leaf) -> bool:
    return leaf.outcome.status == "unavailable"


def _name(name: str, position: int) -> str:
    return name if is_token(name) else f"source-{position}"
