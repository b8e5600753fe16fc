"""What a database's error means. Its text is never looked at: it is in the server's language and holds values."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any, Final, assert_never

from sqlalchemy.exc import DataError, DBAPIError, PendingRollbackError, ResourceClosedError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from unabridged.contract.codes import ReasonCode

from .shape import Family

Caught: Final = (StatementError, PoolTimeout, ResourceClosedError, PendingRollbackError, UnicodeError, OSError)
"""What SQLAlchemy and its drivers raise for what a database did. Other errors are the caller's and pass."""
ODD: Final = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
"""What a driver, or a type of SQLAlchemy, raises for a value that it cannot take or make. Their texts hold it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a read stopped at the database."""

    code: ReasonCode
    detail: str | None = None
    native: dict[str, str | int] | None = None
    passing: bool = False
    """Whether the same read may succeed when it is asked for again."""
    layer: str = "source"

    @property
    def is_outrun(self) -> bool:
        """Whether a table was replaced under the snapshot, so that a new snapshot sees it."""
        return self is OUTRUN


OUTRUN: Final = Failure("CONSISTENCY_LOST", "snapshot_changed", passing=True)


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error before it is judged: its number in the database's own scheme, and what SQLAlchemy saw."""

    sqlstate: str | None = None
    errno: int | None = None
    lost: bool = False
    """Whether the connection is gone."""
    kind: str = ""

    @property
    def native(self) -> dict[str, str | int] | None:
        """The number, as a reason shows it."""
        if self.sqlstate is not None:
            return {"sqlstate": self.sqlstate}
        return None if self.errno is None else {"errno": self.errno}


_STATES: Final[dict[str, tuple[ReasonCode, str | None, bool]]] = {
    "57014": ("TIME_BUDGET_EXCEEDED", "source_timeout", False),
    "55P03": ("TIME_BUDGET_EXCEEDED", "source_timeout", False),
    "25P03": ("TIME_BUDGET_EXCEEDED", "source_timeout", False),
    "25P04": ("TIME_BUDGET_EXCEEDED", "source_timeout", False),
    "40001": ("CONSISTENCY_LOST", "snapshot_changed", True),
    "72000": ("CONSISTENCY_LOST", "snapshot_changed", True),
    "34000": ("CONTINUATION_EXPIRED", None, True),
    "24000": ("CONTINUATION_EXPIRED", None, True),
    "42501": ("VISIBILITY_RESTRICTED", "forbidden", False),
    "28000": ("VISIBILITY_RESTRICTED", "unauthorized", False),
    "28P01": ("VISIBILITY_RESTRICTED", "unauthorized", False),
    "53300": ("RATE_LIMITED", None, True),
    "40P01": ("SOURCE_UNAVAILABLE", "error_in_body", True),
}
"""PostgreSQL, by SQLSTATE."""
_LOST_CLASSES: Final = ("0800", "57P")
_NUMBERS: Final[dict[int, tuple[ReasonCode, str | None, bool]]] = {
    1969: ("TIME_BUDGET_EXCEEDED", "source_timeout", False),
    3024: ("TIME_BUDGET_EXCEEDED", "source_timeout", False),
    1205: ("TIME_BUDGET_EXCEEDED", "source_timeout", False),
    1317: ("SOURCE_UNAVAILABLE", "cancelled", True),
    1213: ("SOURCE_UNAVAILABLE", "error_in_body", True),
    1412: ("CONSISTENCY_LOST", "snapshot_changed", True),
    1044: ("VISIBILITY_RESTRICTED", "unauthorized", False),
    1045: ("VISIBILITY_RESTRICTED", "unauthorized", False),
    1142: ("VISIBILITY_RESTRICTED", "forbidden", False),
    1143: ("VISIBILITY_RESTRICTED", "forbidden", False),
    1370: ("VISIBILITY_RESTRICTED", "forbidden", False),
    1040: ("RATE_LIMITED", None, True),
    1203: ("RATE_LIMITED", None, True),
    1226: ("RATE_LIMITED", None, True),
    1927: ("SOURCE_UNAVAILABLE", "disconnect", True),
    2002: ("SOURCE_UNAVAILABLE", "disconnect", True),
    2003: ("SOURCE_UNAVAILABLE", "disconnect", True),
    2006: ("SOURCE_UNAVAILABLE", "disconnect", True),
    2013: ("SOURCE_UNAVAILABLE", "disconnect", True),
}
"""MariaDB and MySQL, by error number. 1412 is a table that was redefined under a consistent snapshot."""
_CODES: Final[dict[int, tuple[ReasonCode, str | None, bool]]] = {
    5: ("SOURCE_UNAVAILABLE", "timeout", True),
    6: ("SOURCE_UNAVAILABLE", "timeout", True),
    9: ("SOURCE_UNAVAILABLE", "cancelled", True),
    3: ("VISIBILITY_RESTRICTED", "forbidden", False),
    23: ("VISIBILITY_RESTRICTED", "forbidden", False),
    14: ("SOURCE_UNAVAILABLE", "disconnect", True),
    10: ("SOURCE_UNAVAILABLE", "disconnect", True),
}
"""SQLite, by its primary result code: busy, locked, interrupted, permission, authorization, cannot open, I/O."""
_REFUSED: Final[dict[Family, frozenset[str | int]]] = {
    "postgresql": frozenset({"25006"}),
    "mysql": frozenset({1792}),
    "sqlite": frozenset({8}),
}
_MAY_BE_REFUSED: Final[dict[Family, frozenset[str | int]]] = {
    "postgresql": frozenset({"0A000", "42601"}),
    "mysql": frozenset({1064}),
    "sqlite": frozenset({1}),
}


def trouble_of(error: BaseException, family: Family) -> Trouble:
    """Returns what is known of an error without its text. Each family is asked for its own kind of number."""
    cause: Any = getattr(error, "orig", None) or error
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    if isinstance(error, PoolTimeout):
        return Trouble(kind="pool")
    match family:
        case "postgresql":
            state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
            if isinstance(state, str):
                return Trouble(sqlstate=state, lost=lost, kind=family)
        case "mysql":
            number = next(iter(getattr(cause, "args", ())), None)
            if isinstance(number, int) and not isinstance(number, bool) and not isinstance(cause, OSError):
                return Trouble(errno=number, lost=lost, kind="dns" if _is_dns(cause) else family)
        case "sqlite":
            number = getattr(cause, "sqlite_errorcode", None)
            if isinstance(number, int):
                return Trouble(errno=number & 0xFF, lost=lost, kind=family)
        case _:
            assert_never(family)
    if isinstance(error, UnicodeError | DataError):
        return Trouble(kind="data")
    return Trouble(lost=lost, kind="dns" if _is_dns(cause) else "closed" if isinstance(cause, OSError) else "")


def _is_dns(error: BaseException | None) -> bool:
    seen = 0
    while error is not None and seen < 5:
        if isinstance(error, socket.gaierror):
            return True
        error, seen = error.__cause__ or error.__context__ or getattr(error, "original_exception", None), seen + 1
    return False


def failure_of(trouble: Trouble, *, opened: bool) -> Failure:
    """Returns what an error means for a read.

    Args:
        trouble: the error.
        opened: whether the connection had been made.
    """
    native = trouble.native
    if trouble.kind == "dns":
        return Failure("SOURCE_UNAVAILABLE", "dns", native, passing=True, layer="transport")
    if trouble.kind == "pool":
        return Failure("SOURCE_UNAVAILABLE", "timeout", native, passing=True, layer="client")
    if trouble.kind == "data":
        return Failure("PROTOCOL_ANOMALY", "malformed_page", native, layer="adapter")
    known: tuple[ReasonCode, str | None, bool] | None = None
    match trouble.kind:
        case "postgresql":
            state = trouble.sqlstate or ""
            known = _STATES.get(state)
            if known is None and state.startswith(_LOST_CLASSES):
                known = ("SOURCE_UNAVAILABLE", "disconnect", True)
        case "mysql":
            known = _NUMBERS.get(trouble.errno or 0)
        case "sqlite":
            known = _CODES.get(trouble.errno or 0)
        case _:
            pass
    if known is not None:
        return Failure(known[0], known[1], native, passing=known[2])
    if trouble.lost or trouble.kind == "closed" or not opened:
        return Failure("SOURCE_UNAVAILABLE", "disconnect", native, passing=True, layer="transport")
    return Failure("SOURCE_UNAVAILABLE", "error_in_body", native)


def is_write(trouble: Trouble, family: Family, *, writes: bool) -> bool:
    """Tells whether the database refused a statement because it would have written.

    Args:
        trouble: the error.
        family: the database's family.
        writes: whether a word that changes rows stands in the statement.
    """
    number = trouble.sqlstate or trouble.errno
    return number in _REFUSED[family] or (writes and number in _MAY_BE_REFUSED[family])
