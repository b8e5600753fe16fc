"""Reads of every source that needs no server of its own, each over an upstream that answers or fails with canaries.

Each is called as an author's tool calls it, with what a model sent, and reads `orders`: `ROWS`, where the source holds
records of any form.
"""

from __future__ import annotations

from typing import Final

from canaries import reads_at_hand as hand
from canaries import reads_of_services as services
from canaries.upstream import WAYS, Source

_ID: Final = ("id",)
_AWAITED: Final = ("valid", "refused", "hangs")
SOURCES: Final[dict[str, Source]] = {
    "http": Source(hand.http, _ID, (*WAYS, "free text"), covers=True),
    "ahttp": Source(hand.ahttp, _ID, (*_AWAITED, "raises", "free text"), covers=True, is_async=True),
    "sql": Source(hand.sql, _ID, covers=True, others=("sqlalchemy",)),
    "asql": Source(hand.asql, _ID, ("refused", "hangs"), is_async=True, others=("sqlalchemy", "aiosqlite")),
    "document": Source(hand.document, ("start", "end")),
    "file": Source(hand.file, ("start", "end"), ("valid", "refused", "raises", "timeout", "invalid")),
    "directory": Source(hand.directory, _ID),
    "redis": Source(services.redis, ("key",), covers=True),
    "aredis": Source(services.aredis, ("key",), _AWAITED, covers=True, is_async=True),
    "ldap": Source(services.ldap, ("dn",)),
    "aws": Source(services.aws, ("RoleName",), covers=True),
    "kubernetes": Source(services.kubernetes, ("kind",), covers=True),
    "oai": Source(services.oai, ("identifier",), covers=True),
    "etcd": Source(services.etcd, ("version",)),
    "mcp": Source(services.mcp, _ID, (*_AWAITED, "retry"), is_async=True),
    "mcp_list": Source(services.mcp_list, ("name",), (*_AWAITED, "invalid"), covers=True, is_async=True),
}
PAGED: Final = (
    (Source(hand.paged, _ID), ("valid", "refused", "raises", "timeout", "dies")),
    (Source(hand.apaged, _ID, is_async=True), ("valid", "refused", "raises", "hangs")),
)
"""Reads of one page that an agent goes on with, with the ways that the second page can go."""
CASES: Final = [(name, way) for name, source in SOURCES.items() for way in source.ways]
"""Every source with every way that its read can go."""
PASSES: Final = ("dies", "hangs")
"""Ways that end in what nobody may swallow."""
