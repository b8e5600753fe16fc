"""Vector stores: the nearest records are a ranked sample, unless an exact scan says that there are no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from unabridged._ambient import Held, ambient, record
from unabridged.contract import (
    Continuation,
    ExactMode,
    InvalidInput,
    Notice,
    Proof,
    ReadHeader,
    ReadResult,
    Reason,
    Scope,
    SourceOutcome,
    Total,
    build_result,
    first_that_applies,
    id_key,
    new_query_id,
    new_read_id,
    status_for,
    with_ids,
)
from unabridged.reading import Clock, SystemClock
from unabridged.reading.query import Query

if TYPE_CHECKING:
    from sqlalchemy import Connection

_FLAT: Final = ("IndexFlat", "IndexFlatL2", "IndexFlatIP")
_COMPARES_EVERY_ROW: Final = frozenset({
    "Aggregate", "Append", "CTE Scan", "Gather", "Gather Merge", "Group", "Hash", "Hash Join", "Incremental Sort",
    "Limit", "LockRows", "Materialize", "Memoize", "Merge Append", "Merge Join", "Nested Loop", "ProjectSet", "Result",
    "Seq Scan", "SetOp", "Sort", "Subquery Scan", "Unique", "Values Scan", "WindowAgg",
})  # fmt: skip
"""Steps of a plan behind which no row is left out. What a function, a foreign server or an extension does is not seen
in a plan, and a sample or an index leaves rows out."""
_SCAN_ONLY: Final = {
    "enable_indexscan": "off",
    "enable_indexonlyscan": "off",
    "enable_bitmapscan": "off",
    "enable_seqscan": "on",
    "enable_sort": "on",
}
"""With the other ways off as well, the planner would take the index after all."""


def vector_result(
    hits: Sequence[Mapping[str, Any]],
    *,
    resource: str,
    k: int,
    exact: bool = False,
    population: int | None = None,
    filters: Mapping[str, Any] | None = None,
    filtered: bool = False,
    unindexed: int | None = None,
    id: str = "id",
    exact_parameter: str = "exact",
    clock: Clock | None = None,
) -> ReadResult:
    """Returns what the nearest records say about how many there are, and records it in the session in scope.

    An approximate search is never complete, also where it brought fewer than it was asked for: records may match that
    it did not come across. An exact scan is complete when it brought fewer, or all that there are. A record that
    came twice, as where a store holds several pieces of one, is kept once and counted once.

    Args:
        hits: the records, nearest first.
        resource: the name of what was searched.
        k: how many were asked for.
        exact: whether every record was compared.
        population: how many records may match, where the store counts them exactly.
        filters: what was asked for besides nearness, as field and value.
        filtered: whether a filter was applied after the search, so that it may have taken hits away.
        unindexed: how many records the index does not hold.
        id: the field that tells records apart.
        exact_parameter: what switches an exact search on, for the continuation.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: there are more hits than were asked for, or one has no id.
    """
    if not isinstance(k, int) or isinstance(k, bool) or k < 1 or len(hits) > k:
        raise InvalidInput(field="k", rule="must be a whole number of at least 1, and not below the number of hits")
    if any(id not in hit for hit in hits):
        raise InvalidInput(field="hits", rule="must each have an id")
    search = _Search(resource, k, dict(filters or {}), clock or SystemClock(), exact_parameter)
    result = search.result(hits, id, exact=exact, population=population, filtered=filtered, unindexed=unindexed)
    record(result)
    return result


def read_faiss(
    index: Any,
    vectors: Any,
    *,
    k: int,
    resource: str,
    params: Any = None,
    filters: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Searches a faiss index. Its padding of `-1` is no record, and only a flat index is exact.

    Args:
        index: an index of faiss, or anything with `search` and `ntotal`.
        vectors: what is searched for: an array of one row, as the index takes it.
        k: how many records are asked for.
        resource: the name of what is searched.
        params: search parameters such as a selector, handed on; name what it selects in `filters`.
        filters: what the parameters ask for.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: there is not exactly one row.
    """
    if len(vectors) != 1:
        raise InvalidInput(field="vectors", rule="must have exactly one row")
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise InvalidInput(field="k", rule="must be a whole number of at least 1")
    search = _Search(resource, k, dict(filters or {}), clock or SystemClock(), "IndexFlat")
    options = {} if params is None else {"params": params}
    before = int(index.ntotal)
    try:
        distances, numbers = index.search(vectors, k, **options)
        hits = [
            {"id": int(number), "distance": float(distance)}
            for number, distance in zip(numbers[0], distances[0], strict=True)
            if number != -1
        ]
        flat = type(index).__name__ in _FLAT
        population = _matching(params, before, is_short=len(hits) < k) if flat else None
        after = int(index.ntotal)
    except BaseException:
        record(search.stopped())
        raise
    exact = flat and (params is None or population is not None or len(hits) == k)
    result = search.result(
        hits, "id", exact=exact, population=population, filtered=params is not None and not exact,
        changed=before != after,
    )  # fmt: skip
    record(result)
    return result


def _matching(params: Any, total: int, *, is_short: bool) -> int | None:
    """Returns how many vectors of a flat index a search may bring; nothing where that cannot be told.

    A search leaves out vectors whose distance is no number, so that fewer than `k` prove nothing by themselves.
    """
    selector = None if params is None else getattr(params, "sel", params)
    if selector is None:
        return total
    if not is_short or not hasattr(selector, "is_member"):
        return None
    return sum(bool(selector.is_member(number)) for number in range(total))


def read_pgvector(
    connection: Connection,
    statement: str,
    *,
    resource: str,
    id: str,
    params: Mapping[str, Any] | None = None,
    filters: Mapping[str, Any] | None = None,
    exact: bool = False,
    clock: Clock | None = None,
) -> ReadResult:
    """Runs one statement that orders by nearness and has a limit, as `read_sql` does, and records it.

    Through an index the rows are a ranked sample: `WHERE` is applied after the index was asked, so that fewer rows
    than the limit prove nothing. With `exact` the indexes are off for this statement, every row is compared, and
    fewer rows than the limit are all that there are; a plan that names an index all the same, or a step behind which
    rows may be left out unseen (a function, a foreign table, a sample), is no exact one.

    Args:
        connection: to PostgreSQL, not in a transaction.
        statement: the statement.
        resource: the name of what is searched.
        id: the column that tells rows apart.
        params: values of its parameters.
        filters: what it asks for besides nearness.
        exact: whether every row is compared.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule.
    """
    from unabridged.sources.sql import read_sql

    deaf = _Deaf()
    try:
        with Held(ambient, deaf):  # only what is said below is evidence
            before = _switched(connection, _SCAN_ONLY) if exact else {}
            try:
                read = read_sql(
                    connection, statement, resource=resource, id=id, params=params, filters=filters, clock=clock
                )
                scanned = exact and read.items is not None and _is_scan(connection, statement, params)
            finally:
                _switched(connection, before)
    except BaseException:
        for heard in deaf.heard:  # a read that was stopped is evidence, too, and as a sample at best
            record(heard if heard.items is None else _sampled(heard))
        raise
    result = read if scanned or read.items is None else _sampled(read)
    record(result)
    return result


class _Deaf:
    """Keeps what a read says of itself from the session."""

    closed = False

    def __init__(self) -> None:
        self.heard: list[ReadResult] = []

    def record(self, result: Any, /) -> Any:
        self.heard.append(result)
        return result


def _switched(connection: Connection, wanted: Mapping[str, str]) -> dict[str, str]:
    """Changes settings of the planner and returns what they were; an error leaves them to the check of the plan."""
    from sqlalchemy.exc import SQLAlchemyError

    before: dict[str, str] = {}
    try:
        for name, value in wanted.items():
            before[name] = str(connection.exec_driver_sql(f"SHOW {name}").scalar())
            connection.exec_driver_sql(f"SET {name} = {value}")
        connection.commit()
    except SQLAlchemyError:
        connection.rollback()
    return before


def _is_scan(connection: Connection, statement: str, params: Mapping[str, Any] | None) -> bool:
    """Tells whether the database compares every row: no step of its plan leaves one out unseen."""
    from sqlalchemy import text
    from sqlalchemy.exc import SQLAlchemyError

    try:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        asked = text(f"EXPLAIN (FORMAT JSON) {statement}")
        plan = connection.execute(asked, dict(params or {})).scalar()
    except SQLAlchemyError:
        return False
    finally:
        connection.rollback()
    nodes = set(_nodes(plan))
    return bool(nodes) and nodes <= _COMPARES_EVERY_ROW


def _nodes(plan: Any) -> Iterator[str]:
    if isinstance(plan, Mapping):
        if "Node Type" in plan:
            yield str(plan["Node Type"])
        for value in plan.values():
            yield from _nodes(value)
    elif isinstance(plan, list):
        for value in plan:
            yield from _nodes(value)


def _sampled(read: ReadResult) -> ReadResult:
    reasons = [*read.reasons, Reason(code="APPROXIMATE_METHOD", detail="top_k")]
    sampled = build_result(
        items=read.items,
        reasons=reasons,
        scope=read.scope,
        read=read.read,
        continuation=_route(reasons, "read_pgvector.exact"),
        total=read.total,
        consistency=read.consistency,
        sources=(_outcome(read.items, reasons),),
        item_cuts=read.item_cuts,
        warnings=read.warnings,
    )
    return with_ids(sampled, read.ids)


@dataclass(frozen=True)
class _Search:
    """What was asked of a store, and what its answer means."""

    resource: str
    k: int
    filters: dict[str, Any] = field(repr=False)
    clock: Clock
    parameter: str
    """What switches an exact search on."""

    def result(
        self,
        hits: Sequence[Mapping[str, Any]],
        id: str,
        *,
        exact: bool,
        population: int | None,
        filtered: bool,
        unindexed: int | None = None,
        changed: bool = False,
    ) -> ReadResult:
        unique = list({id_key(hit[id]): dict(hit) for hit in hits}.values())
        twice = len(hits) - len(unique)
        reasons = [_filled(len(hits), len(unique), self.k, population)] if exact and not filtered else []
        if not exact or filtered:
            cut = filtered and (exact or len(hits) < self.k)
            reasons.append(Reason(code="APPROXIMATE_METHOD", detail="filtered_after_cap" if cut else "top_k"))
        if changed:
            reasons.append(Reason(code="CONSISTENCY_LOST", detail="mutated_during_read"))
        if unindexed:
            reasons.append(Reason(code="SCOPE_NARROWED", native={"unindexed": unindexed}))
        return self._result(unique, id, [reason for reason in reasons if reason is not None], population, twice)

    def stopped(self) -> ReadResult:
        """Returns what a search that was stopped, or failed, says: nothing."""
        return self._result(None, "", [Reason(code="SOURCE_UNAVAILABLE", detail="cancelled", layer="client")], None, 0)

    def _result(
        self, items: list[Any] | None, id: str, reasons: list[Reason], population: int | None, twice: int
    ) -> ReadResult:
        now = self.clock.now()
        found = len(items or ())
        counted = not reasons and population == found
        level: Any = "counted" if counted else "end_marker"
        lost = items is None or any(reason.code == "CONSISTENCY_LOST" for reason in reasons)
        result = build_result(
            items=items,
            reasons=reasons,
            scope=Scope(resource=self.resource, filters=Query(self.resource, filters=self.filters).filters),
            read=ReadHeader(
                id=new_read_id(), query_id=new_query_id(), adapter="vectors/1", started_at=now, finished_at=now,
                requests=1, pages=0 if items is None else 1, page_size=self.k, order="nearness", duplicates=twice,
            ),
            continuation=_route(reasons, self.parameter),
            consistency="not_established" if lost else "interval",
            total=Total() if population is None else Total(value=population, kind="exact"),
            proof=Proof() if reasons else Proof(level=level, end="exact_scan", count=found if counted else None),
            sources=(_outcome(items, reasons),),
            warnings=(Notice(code="DUPLICATES_REMOVED", observed={"records": twice}),) if twice else (),
        )  # fmt: skip
        return result if items is None else with_ids(result, [item[id] for item in items])


def _filled(came: int, unique: int, k: int, population: int | None) -> Reason | None:
    """Returns why what an exact scan brought is not all; nothing where it is."""
    if population is not None and unique > population:
        return Reason(code="CONSISTENCY_LOST", detail="count_mismatch")
    if came == k and population != unique:
        return Reason(code="CLIENT_LIMIT_REACHED", detail="page_size", limit=k, layer="client")
    if population is not None and unique < population:
        return Reason(code="CONSISTENCY_LOST", detail="count_mismatch")
    return None


def _route(reasons: Sequence[Reason], parameter: str) -> Continuation:
    approximate = any(reason.code == "APPROXIMATE_METHOD" for reason in reasons)
    return first_that_applies([ExactMode(parameter=parameter)] if approximate else [])


def _outcome(items: Sequence[Any] | None, reasons: Sequence[Reason]) -> SourceOutcome:
    codes = tuple(dict.fromkeys(reason.code for reason in reasons))
    status = status_for(None if items is None else [], codes)
    return SourceOutcome(name="vectors", status=status, returned=len(items or ()), reasons=codes)
