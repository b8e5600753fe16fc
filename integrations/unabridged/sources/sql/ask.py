"""One question to a database, checked before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import ClauseElement

from unabridged.contract.errors import InvalidInput
from unabridged.contract.ids import new_query_id
from unabridged.reading import Budget, Clock, Query

from .servers import Server, server_of
from .shape import Family, Shape, shape_of

BATCH: Final = 1000
ATTEMPTS: Final = 3
"""How often a read that failed in passing may be repeated."""
Statement = str | Executable


@dataclass(frozen=True, slots=True)
class Sent:
    """A statement as it is sent, with what it says about itself."""

    what: Statement = field(repr=False)
    params: Mapping[str, Any] | None = field(repr=False)
    shape: Shape

    @classmethod
    def of(cls, statement: Statement, params: Mapping[str, Any] | None, dialect: Dialect, family: Family) -> Sent:
        """Checks a statement. A text without parameters goes out as it is, to the letter.

        Raises:
            InvalidInput: it is not one statement that reads, or cannot be compiled for the database.
        """
        if isinstance(statement, str) and params is None:
            return cls(statement, None, shape_of(statement, family))
        made = text(statement) if isinstance(statement, str) else statement
        if not isinstance(made, ClauseElement):
            raise InvalidInput(field="statement", rule="must be a text or a statement of SQLAlchemy")
        shape = _compiled_shape(made, dict(params or {}), dialect, family)
        if shape is None:
            raise InvalidInput(field="statement", rule="must be a statement that this database can be asked")
        return cls(made, params, shape)


def _compiled_shape(
    statement: ClauseElement, params: Mapping[str, Any], dialect: Dialect, family: Family
) -> Shape | None:
    try:
        compiled: Any = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
        values = {**compiled.params, **params}
    except SQLAlchemyError:
        return None
    places: Sequence[str] = compiled.positiontup or ()

    def bound(token: str, place: int) -> object:
        if token.startswith("%("):
            return values.get(token[2:-2])
        if token.startswith(":"):
            return values.get(token[1:])
        return values.get(places[place]) if place < len(places) else None

    return shape_of(str(compiled), family, bound=bound)


@dataclass(frozen=True)
class Ask:
    """Everything that answering needs. Filters, parameters and statements stand in no repr."""

    bind: Engine | Connection = field(repr=False)
    server: Server
    statement: Sent = field(repr=False)
    count: Sent | None = field(repr=False)
    query: Query
    id: tuple[str, ...] | None
    """The columns that tell rows apart; one, or several together. `None`: rows have no identity."""
    composite: bool
    budget: Budget
    clock: Clock
    attempts_left: int = ATTEMPTS
    query_id: str = field(default_factory=new_query_id)

    @property
    def batch(self) -> int:
        """Rows that are fetched at a time."""
        return self.query.page_size or BATCH


def make_ask(
    bind: Engine | Connection,
    statement: Statement,
    *,
    resource: str | Query,
    id: str | Sequence[str] | None,
    params: Mapping[str, Any] | None,
    filters: Mapping[str, Any] | None,
    count: Statement | None,
    budget: Budget | None,
    clock: Clock,
) -> Ask:
    """Returns a checked question.

    Raises:
        InvalidInput: an argument breaks a rule; the error names the field, never the value.
    """
    if not isinstance(bind, Engine | Connection):
        raise InvalidInput(field="bind", rule="must be an Engine or a Connection of SQLAlchemy")
    if isinstance(bind, Connection) and not bind.closed and bind.in_transaction():
        raise InvalidInput(field="bind", rule="must not be in a transaction: the read makes its own")
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidInput(field="budget", rule="must be a Budget")
    server = server_of(bind)
    if params is not None and not isinstance(params, Mapping):
        raise InvalidInput(field="params", rule="must be an object of name and value")
    columns = _columns(id)
    return Ask(
        bind=bind,
        server=server,
        statement=Sent.of(statement, params, bind.dialect, server.family),
        count=None if count is None else Sent.of(count, params, bind.dialect, server.family),
        query=_query(resource, filters),
        id=columns,
        composite=not isinstance(id, str),
        budget=budget or Budget(),
        clock=clock,
    )


def _query(resource: str | Query, filters: Mapping[str, Any] | None) -> Query:
    if isinstance(resource, Query):
        if filters is not None:
            raise InvalidInput(field="filters", rule="must stand in the query where there is one")
        return resource
    return Query(resource, filters={} if filters is None else filters)


def _columns(id: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if id is None:
        return None
    names = (id,) if isinstance(id, str) else tuple(id)
    if not names or any(not isinstance(name, str) or not name for name in names):
        raise InvalidInput(field="id", rule="must be the name of a column, several names, or null")
    return names
