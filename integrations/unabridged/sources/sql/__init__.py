"""Databases through SQLAlchemy 2: PostgreSQL, MariaDB, MySQL and SQLite. Install `unabridged[sql]`."""

import importlib.util

from unabridged.contract.errors import MissingExtra

if importlib.util.find_spec("sqlalchemy") is None:
    raise MissingExtra(extra="sql", module="sqlalchemy")

from .api import SqlResume, aread_sql, read_sql, sql_pages

__all__ = ["SqlResume", "aread_sql", "read_sql", "sql_pages"]
