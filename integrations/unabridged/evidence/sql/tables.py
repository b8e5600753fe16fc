"""The tables, the same in SQLite and PostgreSQL. Times are microseconds since 1970, in UTC.

Of what was read the ledger's tables hold headers with keyed digests; records stand in `results.payload` only, and what
a ticket stands for is sealed under its token.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

metadata: Final = sa.MetaData()

schema: Final = sa.Table(
    "unabridged_schema",
    metadata,
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("key_check", sa.Text, nullable=False),
)

sessions: Final = sa.Table(
    "unabridged_sessions",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False, unique=True),
    sa.Column("evicted", sa.Integer, nullable=False),
    sa.Column("head", sa.BigInteger, nullable=False),
    sa.Column("used_us", sa.BigInteger, nullable=False),
)

events: Final = sa.Table(
    "unabridged_events",
    metadata,
    sa.Column("session_id", sa.BigInteger, primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True),
    sa.Column("body", sa.Text, nullable=False),
)

results: Final = sa.Table(
    "unabridged_results",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("read_id", sa.Text, nullable=False),
    sa.Column("records", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("since_us", sa.BigInteger, nullable=False),
    sa.Column("payload", sa.LargeBinary),
    sa.UniqueConstraint("owner", "read_id"),
)
"""A row without a payload says that the result was dropped, until its session has taken note."""

tickets: Final = sa.Table(
    "unabridged_tickets",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("expires_us", sa.BigInteger, nullable=False),
    sa.Column("uses", sa.BigInteger, nullable=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
)
