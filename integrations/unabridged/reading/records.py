"""The records of a read: each page's are checked, told apart by id, and kept once, the later version in place.

The work a record is a few C-level passes over the page: ids are taken in one comprehension, compared as a set, and
records are kept by reference.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, overload

from unabridged.contract.ids import id_key
from unabridged.profiles.format import Profile
from unabridged.profiles.paths import MISSING, Path, PathFailed, column, compile_path

_PLAIN: Final = frozenset({str, int, float})


class MalformedRecord(Exception):
    """A record is not what the profile says, so its page is not either. Carries nothing of it."""


@dataclass(slots=True)
class Taken:
    """The records of one page, padding left out, and their keys; `keys` is `None` where records have no identity."""

    records: Final[list[Any]]
    keys: Final[list[Hashable] | None]


@dataclass(frozen=True, slots=True)
class RecordRules:
    """What a profile says about one record, compiled."""

    id: Path | None
    drop: frozenset[Hashable]
    required: tuple[Path, ...]

    @classmethod
    def of(cls, profile: Profile) -> RecordRules:
        """Compiles the rules of a profile."""
        return cls(
            id=None if profile.id is None else compile_path(profile.id, page=False),
            drop=frozenset(id_key(value) for value in profile.drop_ids),
            required=tuple(compile_path(path, page=False) for path in profile.required),
        )

    def take(self, records: list[Any]) -> Taken:
        """Returns the records of a page that are records, checked.

        Raises:
            MalformedRecord: one of them is not what the profile says.
        """
        keys: list[Hashable] | None = None
        if self.id is not None:
            keys, plain = self.keys(records)
            if self.drop and not self.drop.isdisjoint(keys):
                kept = [(r, k) for r, k in zip(records, keys, strict=True) if k not in self.drop]
                records, keys = [r for r, _ in kept], [k for _, k in kept]
            if not plain and _NULL in keys:
                raise MalformedRecord
        for path in self.required:
            for record in records:
                if not _holds(record, path):
                    raise MalformedRecord
        return Taken(records=records, keys=keys)

    def keys(self, records: list[Any]) -> tuple[list[Hashable], bool]:
        """Returns the keys of records, and whether they are plain texts and numbers, which are their own keys.

        Raises:
            MalformedRecord: a record has no id.
        """
        path = self.id
        if path is None:
            return [], True
        if path.kind == "plain" and not path.parts:
            if not _PLAIN.issuperset(map(type, records)):
                raise MalformedRecord
            return records, True
        try:
            ids = column(records, path)
        except (LookupError, PathFailed):
            raise MalformedRecord from None
        if _PLAIN.issuperset(map(type, ids)):
            return ids, True
        return [id_key(value) for value in ids], False

    def ids(self, records: Sequence[Any]) -> Sequence[Any]:
        """Returns a view of the ids of kept records; nothing is copied until it is looked at."""
        return IdView(records, self.id) if self.id is not None else ()


_NULL: Final = id_key(None)


def reference_of(profile: Profile, record: Any) -> str | None:
    """Returns a record's stable reference (an address, a version), for a claim to cite; nothing where there is none.

    It is text that a source wrote: show it where items are shown, and nowhere else.
    """
    if profile.reference is None:
        return None
    try:
        found = compile_path(profile.reference, page=False).read(record)
    except PathFailed:
        return None
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        return None
    return str(found)


def _holds(record: Any, path: Path) -> bool:
    try:
        found = path.read(record)
    except PathFailed:
        return False
    return found is not MISSING and not (found is None and path.kind == "expression")


class IdView(Sequence[Any]):
    """The ids of records, read from the records when asked for. Never shows itself: ids may be personal data."""

    __slots__ = ("_path", "_records")

    def __init__(self, records: Sequence[Any], path: Path) -> None:
        self._records = records
        self._path = path

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Any]:
        return iter(column(self._records, self._path))

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return column(self._records[index], self._path)
        return self._path.read(self._records[index])

    def __repr__(self) -> str:
        return f"<{len(self)} ids>"


class Collector:
    """Keeps the records of one envelope, and the keys of its whole chain.

    `seen` holds the keys of every record that arrived, those of earlier links and those trimmed off among them.
    """

    def __init__(self, rules: RecordRules, seen: Iterable[Hashable] = (), *, raw: int = 0, across: int = 0) -> None:
        self._rules = rules
        self.items: list[Any] = []
        self.rest: list[Any] = []
        self.seen: set[Hashable] = set(seen)
        self.raw = raw
        """Raw records of the chain, padding and duplicates among them."""
        self.across = across
        """Records of the chain that an earlier page had held."""
        self.inside = 0
        """Records of this envelope that their own page held twice."""
        self.duplicates = 0
        """Both kinds, in this envelope."""
        self._index: dict[Hashable, int] | None = None
        """Where each key of this envelope stands; made only once a duplicate turns up."""

    def start_link(self, rest: Iterable[Any] = ()) -> None:
        """Begins a new envelope of the same chain, with records that were read before but not delivered."""
        self.items, self.rest, self._index = list(rest), [], None
        self.inside = self.duplicates = 0

    def absorb(self, taken: Taken, *, raw: int) -> bool:
        """Adds a page; tells whether it brought a record that the chain had not seen."""
        self.raw += raw
        if taken.keys is None:
            self.items.extend(taken.records)
            return bool(taken.records)
        keys, before = taken.keys, len(self.seen)
        self.seen.update(keys)
        new = len(self.seen) - before
        if new == len(keys):
            if self._index is not None:
                start = len(self.items)
                self._index.update(zip(keys, range(start, start + new), strict=True))
            self.items.extend(taken.records)
        else:
            self._absorb_duplicates(taken.records, keys, new)
        return new > 0

    def _absorb_duplicates(self, records: list[Any], keys: list[Hashable], new: int) -> None:
        """Puts the later version of a record in the place of the earlier one."""
        if self._index is None:
            self._index = {key: n for n, key in enumerate(self._rules.keys(self.items)[0])}
        distinct = len(set(keys))
        self.inside += len(keys) - distinct
        self.across += distinct - new
        self.duplicates += len(keys) - new
        for record, key in zip(records, keys, strict=True):
            at = self._index.get(key)
            if at is None:
                self._index[key] = len(self.items)
                self.items.append(record)
            else:
                self.items[at] = record

    def trim(self, most: int | None) -> bool:
        """Moves the records beyond `most` into the rest; tells whether there were any."""
        if most is None or len(self.items) <= most:
            return False
        self.rest = self.items[most:] + self.rest
        del self.items[most:]
        return True
