"""`read_sql`, `aread_sql` and `sql_pages`: one statement over one snapshot, whole or batch by batch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine

from unabridged._ambient import record
from unabridged.contract import InvalidInput, ReadResult
from unabridged.reading import Budget, Clock, Query, SystemClock

from .ask import Ask, Statement, make_ask
from .judging import cancelled_result, result_of
from .walk import Walk

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine


def read_sql(
    bind: Engine | Connection,
    statement: Statement,
    *,
    resource: str | Query,
    id: str | Sequence[str] | None,
    params: Mapping[str, Any] | None = None,
    filters: Mapping[str, Any] | None = None,
    count: Statement | None = None,
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads all rows of one statement in a read-only transaction over one snapshot, and says whether that was all.

    The statement's text is never changed: a limit of records is kept by fetching one row more. What went wrong at the
    database is a result, not an error. The result records itself in the session in scope.

    A table that was replaced under the snapshot would look empty: on PostgreSQL the read begins anew, once (`RETRIED`);
    where that does not help, and on MariaDB and MySQL, it is `CONSISTENCY_LOST:snapshot_changed`.

    On PostgreSQL, rows that a policy would hide make the read partial (`VISIBILITY_RESTRICTED`). Not every right can
    be seen from here: a view may leave rows out, and a function may do what its owner may. Use a role that may only
    read. A `Connection` must not be in a transaction; its own settings, such as a role, hold. On MariaDB and MySQL a
    read that stops early leaves rows on the way, so its connection is closed, and a new one made where it is used on.

    Args:
        bind: an engine or a connection to PostgreSQL, MariaDB, MySQL or SQLite.
        statement: one statement that reads. A text without `params` goes out to the letter; with them, `:name` is a
            parameter.
        resource: the name of what is read, or a `Query` (its page size is the number of rows fetched at a time).
        id: the column that tells rows apart, or several; `None` when rows have no identity, and then no id is known.
        params: values of the parameters of `statement` and `count`.
        filters: what the statement asks for, as field and value: the scope of the result.
        count: a statement of one number, how many rows there are; it runs in the same snapshot.
        budget: what may be spent; `Budget()` when not given. Batches count as pages.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule, or the statement would have written. The error holds no value.
    """
    ask = make_ask(
        bind,
        statement,
        resource=resource,
        id=id,
        params=params,
        filters=filters,
        count=count,
        budget=budget,
        clock=clock or SystemClock(),
    )
    return _read(ask)


async def aread_sql(
    bind: Engine | Connection | AsyncEngine | AsyncConnection, statement: Statement, **options: Any
) -> ReadResult:
    """As `read_sql`, with the same keywords; its result is recorded in the session of the caller.

    An `AsyncEngine` or `AsyncConnection` is read on the event loop, any other in a thread.
    """
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    if isinstance(bind, AsyncConnection):
        return await bind.run_sync(lambda connection: read_sql(connection, statement, **options))
    if isinstance(bind, AsyncEngine):
        return await _on_the_loop(lambda: read_sql(bind.sync_engine, statement, **options))
    return await asyncio.to_thread(read_sql, bind, statement, **options)


async def _on_the_loop(read: Callable[[], ReadResult]) -> ReadResult:
    from sqlalchemy.util import greenlet_spawn

    return await greenlet_spawn(read)


def sql_pages(
    bind: Engine | Connection,
    statement: Statement,
    *,
    resource: str | Query,
    id: str | Sequence[str] | None,
    params: Mapping[str, Any] | None = None,
    filters: Mapping[str, Any] | None = None,
    count: Statement | None = None,
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> Iterator[ReadResult]:
    """As `read_sql`, one result a batch, in constant memory apart from ids.

    Each result is a link of one chain inside one snapshot. Every link but the last is partial because more come; the
    last one says what the whole chain is. The transaction stays open until the stream has ended or was closed.
    """
    ask = make_ask(
        bind,
        statement,
        resource=resource,
        id=id,
        params=params,
        filters=filters,
        count=count,
        budget=budget,
        clock=clock or SystemClock(),
    )
    return _pages(ask)


@dataclass(frozen=True)
class SqlResume:
    """The way on from a read: the same statement again, in a snapshot of its own. Nothing is merged."""

    ask: Ask = field(repr=False)

    def read(self, *, budget: Budget | None = None) -> ReadResult:
        """Reads anew."""
        return _read(self.ask if budget is None else replace(self.ask, budget=budget))

    async def aread(self, *, budget: Budget | None = None) -> ReadResult:
        """As `read`: on the event loop where the engine is an asynchronous one, else in a thread."""
        if self.ask.bind.dialect.is_async:
            return await _on_the_loop(lambda: self.read(budget=budget))
        return await asyncio.to_thread(self.read, budget=budget)


def _read(ask: Ask) -> ReadResult:
    walk, started_at = Walk(ask), ask.clock.now()
    try:
        for _ in walk.run():
            pass
    except InvalidInput:  # nothing was read
        raise
    except BaseException:
        record(cancelled_result(walk, started_at=started_at))
        raise
    result = result_of(walk, started_at=started_at)
    record(result)
    return result


def _pages(ask: Ask) -> Iterator[ReadResult]:
    """Holds each batch back until it is known whether one follows: only then is it known what its link may say."""
    walk, started_at = Walk(ask), ask.clock.now()
    running = walk.run()
    earlier: str | None = None
    try:
        more = _goes_on(running)
        while more:
            held, base, began = walk.items, walk.base, started_at
            walk.start_envelope()
            started_at = ask.clock.now()
            more = _goes_on(running)
            if not more:
                walk.items, walk.base, started_at = held, base, began
                break
            link = result_of(walk, started_at=began, continues=earlier, page=held)
            earlier = link.read.id
            record(link)
            yield link
    finally:
        running.close()
    last = result_of(walk, started_at=started_at, continues=earlier)
    record(last)
    yield last


def _goes_on(running: Iterator[None]) -> bool:
    """Lets a walk run to its next batch; false when there is none."""
    try:
        next(running)
    except StopIteration:
        return False
    return True
