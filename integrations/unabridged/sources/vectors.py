"""Vector stores: the nearest records are a ranked sample, unless an exact scan says that there are no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from unabridged._ambient import Held, ambient, record
from unabridged.contract import (
    Continuation,
    ExactMode,
    InvalidInput,
    Proof,
    ReadHeader,
    ReadResult,
    Reason,
    Scope,
    SourceOutcome,
    Total,
    build_result,
    first_that_applies,
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
    it did not come across. An exact scan is complete when it brought fewer, or all that there are.

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
    now = (clock or SystemClock()).now()
    query = Query(resource, filters=dict(filters or {}))
    reasons = _reasons(len(hits), k=k, exact=exact, population=population, filtered=filtered, unindexed=unindexed)
    counted = not reasons and population == len(hits)
    level: Any = "counted" if counted else "end_marker"
    result = build_result(
        items=[dict(hit) for hit in hits],
        reasons=reasons,
        scope=Scope(resource=resource, filters=dict(query.filters)),
        read=ReadHeader(
            id=new_read_id(), query_id=new_query_id(), adapter="vectors/1", started_at=now, finished_at=now,
            requests=1, pages=1, page_size=k, order="nearness",
        ),
        continuation=_route(reasons, exact_parameter),
        total=Total() if population is None else Total(value=population, kind="exact"),
        proof=Proof() if reasons else Proof(level=level, end="exact_scan", count=len(hits) if counted else None),
        sources=(_outcome(len(hits), reasons),),
    )  # fmt: skip
    with_ids(result, [hit[id] for hit in hits])
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
    options = {} if params is None else {"params": params}
    distances, numbers = index.search(vectors, k, **options)
    hits = [
        {"id": int(number), "distance": float(distance)}
        for number, distance in zip(numbers[0], distances[0], strict=True)
        if number != -1
    ]
    exact = type(index).__name__ in _FLAT
    population = int(index.ntotal) if exact and params is None else None
    selects = params is not None and not exact
    return vector_result(
        hits, resource=resource, k=k, exact=exact, population=population, filters=filters, filtered=selects,
        exact_parameter="IndexFlat", clock=clock,
    )  # fmt: skip


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
    fewer rows than the limit are all that there are; a plan that names an index all the same is no exact one.

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

    with Held(ambient, _Deaf()):  # only what is said below is evidence
        before = _switched(connection, _SCAN_ONLY) if exact else {}
        try:
            read = read_sql(
                connection, statement, resource=resource, id=id, params=params, filters=filters, clock=clock
            )
            scanned = exact and read.items is not None and _is_scan(connection, statement, params)
        finally:
            _switched(connection, before)
    result = read if scanned or read.items is None else _sampled(read)
    record(result)
    return result


class _Deaf:
    """Keeps nothing."""

    closed = False

    def record(self, result: Any, /) -> Any:
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
    """Tells whether the database compares every row: its plan names no index."""
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
    return "Index" not in " ".join(_nodes(plan))


def _nodes(plan: Any) -> Iterator[str]:
    if isinstance(plan, Mapping):
        yield str(plan.get("Node Type", ""))
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
        sources=(_outcome(read.returned, reasons),),
        item_cuts=read.item_cuts,
        warnings=read.warnings,
    )
    return with_ids(sampled, read.ids)


def _reasons(
    found: int, *, k: int, exact: bool, population: int | None, filtered: bool, unindexed: int | None
) -> list[Reason]:
    reasons = []
    if not exact:
        cut = filtered and found < k
        reasons.append(Reason(code="APPROXIMATE_METHOD", detail="filtered_after_cap" if cut else "top_k"))
    elif filtered:
        reasons.append(Reason(code="APPROXIMATE_METHOD", detail="filtered_after_cap"))
    elif population is not None and found > population:
        reasons.append(Reason(code="CONSISTENCY_LOST", detail="count_mismatch"))
    elif found == k and population != found:
        reasons.append(Reason(code="CLIENT_LIMIT_REACHED", detail="page_size", limit=k, layer="client"))
    elif population is not None and found < population:
        reasons.append(Reason(code="CONSISTENCY_LOST", detail="count_mismatch"))
    if unindexed:
        reasons.append(Reason(code="SCOPE_NARROWED", native={"unindexed": unindexed}))
    return reasons


def _route(reasons: Sequence[Reason], parameter: str) -> Continuation:
    approximate = any(reason.code == "APPROXIMATE_METHOD" for reason in reasons)
    return first_that_applies([ExactMode(parameter=parameter)] if approximate else [])


def _outcome(returned: int, reasons: Sequence[Reason]) -> SourceOutcome:
    codes = tuple(dict.fromkeys(reason.code for reason in reasons))
    return SourceOutcome(name="vectors", status=status_for([], codes), returned=returned, reasons=codes)
