"""A ledger, its store and its desk in a SQL database: SQLite (embedded) or PostgreSQL. Install `unabridged[sql]`.

PostgreSQL needs a driver of its own, such as `psycopg[binary]`.
"""

import importlib.util

from unabridged.contract.errors import MissingExtra

if importlib.util.find_spec("sqlalchemy") is None:
    raise MissingExtra(extra="sql", module="sqlalchemy")

from .desk import SqlDesk
from .ledger import SqlLedger
from .store import SqlStore

__all__ = ["SqlDesk", "SqlLedger", "SqlStore"]
