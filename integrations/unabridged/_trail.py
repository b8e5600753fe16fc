"""The page trail: what was read when, at debug level, without a value (logger `unabridged.trail`).

Filters stand in it as digests under a key of this process, cursors as fingerprints: two lines can be compared, and
nothing can be looked up.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Mapping
from typing import Any, Final

from .contract.ids import id_key

_log: Final = logging.getLogger("unabridged.trail")
_KEY: Final = secrets.token_bytes(32)


def fingerprint(value: Any) -> str:
    """Returns a short digest of a value under a key of this process; equal for values that are equal as JSON."""
    text = json.dumps(repr(id_key(value))).encode()
    return hashlib.blake2b(text, key=_KEY, digest_size=6).hexdigest()


def is_kept() -> bool:
    """Tells whether anybody keeps the trail, so that a reader need not gather what nobody writes down."""
    return _log.isEnabledFor(logging.DEBUG)


def page(
    *,
    query_id: str,
    filters: Mapping[str, Any],
    elapsed_s: float,
    received: int,
    used: int,
    cursor: Any = None,
) -> None:
    """Writes one page down.

    Args:
        query_id: the query; the reads of one chain share it.
        filters: what was asked for; only digests are written.
        elapsed_s: seconds since the read began.
        received: records on the page.
        used: records of it that were new and kept.
        cursor: where the page was asked for; only a fingerprint is written.
    """
    if not is_kept():
        return
    _log.debug(
        "page query=%s filters=%s at_s=%.3f received=%d used=%d cursor=%s",
        query_id, _digests(filters), elapsed_s, received, used, "-" if cursor is None else fingerprint(cursor),
    )  # fmt: skip


def read(result: Any) -> None:
    """Writes one recorded read down: its header, without a value."""
    if not is_kept():
        return
    header = result.read
    _log.debug(
        "read query=%s read=%s resource=%s filters=%s started_at=%s status=%s codes=%s pages=%d received=%d used=%d",
        header.query_id or "-", header.id, fingerprint(result.scope.resource), _digests(result.scope.filters),
        header.started_at.isoformat(), result.status, ",".join(result.codes) or "-", header.pages,
        result.returned + header.duplicates, result.returned,
    )  # fmt: skip


def _digests(filters: Mapping[str, Any]) -> str:
    return ",".join(f"{fingerprint(name)}:{fingerprint(value)}" for name, value in sorted(filters.items())) or "-"
