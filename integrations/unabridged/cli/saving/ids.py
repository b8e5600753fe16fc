"""The ids of a run: their number and digest stand in its checkpoint, the ids themselves in its file of records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from unabridged.contract.errors import InvalidInput
from unabridged.profiles.format import Profile
from unabridged.profiles.paths import column, compile_path
from unabridged.reading.records import MalformedRecord, RecordRules

from .lines import in_batches, read_lines

MOST_LISTED: Final = 10_000
_encode: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Digest:
    """A running digest of ids, in the order in which their records were written."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, ids: Iterable[Any]) -> None:
        """Takes in the ids of a page."""
        self._hash.update("".join(f"{_encode(one)}\n" for one in ids).encode())

    @property
    def text(self) -> str:
        """The digest so far."""
        return f"sha256:{self._hash.hexdigest()}"


class Ids:
    """How the ids of a profile's records are taken, in a later run as in the first."""

    def __init__(self, profile: Profile) -> None:
        self._path = None if profile.id is None else compile_path(profile.id, page=False)
        self._rules = RecordRules.of(profile)

    @property
    def exist(self) -> bool:
        """Whether the records have an identity that a later run can find in the file."""
        return self._path is not None

    def of(self, records: Sequence[Any]) -> Sequence[Any]:
        """Returns the ids of records; none where they have no identity."""
        return () if self._path is None else column(list(records), self._path)

    def keys(self, records: Sequence[Any]) -> Sequence[Hashable]:
        """Returns the ids of records, comparable as JSON values."""
        return self._rules.keys(list(records))[0]

    def in_file(self, path: Path, *, upto: int | None = None) -> Iterator[tuple[Sequence[Hashable], Sequence[Any]]]:
        """Yields keys and ids of the records of a file, some at a time.

        Raises:
            InvalidInput: the file is not what an earlier run left.
        """
        for batch in in_batches(read_lines(path, upto=upto)):
            try:
                yield self.keys(batch), self.of(batch)
            except (LookupError, MalformedRecord):
                raise InvalidInput(field="--resume", rule="the file of the earlier run was changed since") from None


@dataclass(frozen=True)
class Reconciled:
    """How the ids of a fresh scan compare with those of the runs before it."""

    earlier: int
    again: int
    new: tuple[Any, ...]
    missing: tuple[Any, ...]
    """Ids of earlier runs that the fresh scan did not bring."""
    unproven: str = ""
    """Why what is missing need not be gone from the scope; empty where the scan is complete and the caller the same."""

    @property
    def is_proven(self) -> bool:
        """Whether what is missing is gone."""
        return not self.unproven

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison as it stands in the status file; long lists are cut, and their lengths are not."""
        name = "gone" if self.is_proven else "not_seen_again"
        found: dict[str, Any] = {
            "earlier": self.earlier,
            "again": self.again,
            "new": len(self.new),
            name: len(self.missing),
            "new_ids": list(self.new[:MOST_LISTED]),
            f"{name}_ids": list(self.missing[:MOST_LISTED]),
        }
        if max(len(self.new), len(self.missing)) > MOST_LISTED:
            found["lists_are_cut_at"] = MOST_LISTED
        return found

    def sentence(self) -> str:
        """Returns the comparison in words."""
        if self.is_proven:
            rest = f"{len(self.missing)} are gone since"
        else:
            rest = f"{len(self.missing)} were not seen again, which proves nothing as {self.unproven}"
        return f"of {self.earlier} ids of the earlier run {self.again} came again; {len(self.new)} are new, {rest}"


def reconcile(earlier: dict[Hashable, Any], now: dict[Hashable, Any], *, unproven: str = "") -> Reconciled:
    """Compares the ids of earlier runs with those of a fresh scan, both by key."""
    return Reconciled(
        earlier=len(earlier),
        again=len(earlier.keys() & now.keys()),
        new=tuple(one for key, one in now.items() if key not in earlier),
        missing=tuple(one for key, one in earlier.items() if key not in now),
        unproven=unproven,
    )
