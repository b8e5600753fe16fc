"""Sums over standing reads, kept as reads come and go, so that judging does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Final

from .header import RecordedRead
from .strand import Strand

_NOBODY: Final[dict[int, Strand]] = {}


class IdUnion:
    """The united ids of standing reads; built when first asked for, kept up to date from then on."""

    __slots__ = ("_more", "_once")

    def __init__(self) -> None:
        self._once: set[Hashable] | None = None
        self._more: dict[Hashable, int] = {}
        """How many further reads hold an id, for ids that more than one holds."""

    def add(self, keys: set[Hashable]) -> None:
        """Counts the ids of one more read."""
        if self._once is None:
            return
        for key in self._once & keys:
            self._more[key] = self._more.get(key, 0) + 1
        self._once |= keys

    def remove(self, keys: set[Hashable]) -> None:
        """Counts the ids of one read no more."""
        if self._once is None:
            return
        if not self._more:
            self._once -= keys
            return
        for key in keys:
            more = self._more.get(key)
            if more is None:
                self._once.discard(key)
            elif more == 1:
                del self._more[key]
            else:
                self._more[key] = more - 1

    @property
    def active(self) -> bool:
        """Whether the union was asked for, and so is kept."""
        return self._once is not None

    def of(self, strands: Iterable[Strand]) -> set[Hashable]:
        """Returns the union. Not to be changed."""
        if self._once is None:
            self._once = set()
            for strand in strands:
                self.add(strand.keys)
        return self._once


class Group:
    """Standing reads that a write may be bound to together."""

    __slots__ = ("_headers", "_oldest", "_union", "derived", "flagged", "latest", "members")

    def __init__(self) -> None:
        self.members: dict[int, Strand] = {}
        """By their place in the order of the session."""
        self.flagged: dict[int, dict[int, Strand]] = {}
        """For each flag the members that have it; a flag that none has is not there."""
        self.derived: dict[int, Strand] = {}
        self._union = IdUnion()
        self._oldest: list[tuple[datetime, int]] | None = None
        """By their start; built when first asked for, kept up to date from then on."""
        self.latest: datetime | None = None
        """The latest start that was ever seen here."""
        self._headers: tuple[RecordedRead, ...] | None = None

    @property
    def is_united(self) -> bool:
        """Whether the united ids were asked for, and so are kept."""
        return self._union.active

    @property
    def keys(self) -> set[Hashable]:
        """The united ids. Not to be changed."""
        return self._union.of(self.members.values())

    @property
    def headers(self) -> tuple[RecordedRead, ...]:
        """The last links of the members that are not in flight."""
        if self._headers is None:
            self._headers = tuple([s.head for s in self.members.values() if not s.pending])
        return self._headers

    def having(self, flag: int) -> dict[int, Strand]:
        """Returns the members that have a flag."""
        return self.flagged.get(flag, _NOBODY)

    def add(self, strand: Strand, keys: set[Hashable] | None = None) -> None:
        """Takes a standing read in.

        Args:
            strand: the read.
            keys: those of its ids that the union does not count yet, where that is not all of them.
        """
        seq, flagged = strand.seq, self.flagged
        self.members[seq] = strand
        for flag in strand.flags:
            having = flagged.get(flag)
            if having is None:
                flagged[flag] = {seq: strand}
            else:
                having[seq] = strand
        self._headers = None
        if strand.pending:
            return
        if self.latest is None or strand.start > self.latest:
            self.latest = strand.start
        if self._oldest is not None:
            heappush(self._oldest, (strand.start, seq))
        if strand.sources:
            self.derived[seq] = strand
        if self._union.active:
            self._union.add(strand.keys if keys is None else keys)

    def remove(self, strand: Strand, *, keep_keys: bool = False) -> None:
        """Takes a read out that stands no more. Its ids stay counted where a longer chain takes its place."""
        seq, flagged = strand.seq, self.flagged
        if self.members.pop(seq, None) is None:
            return
        for flag in strand.flags:
            having = flagged[flag]
            del having[seq]
            if not having:
                del flagged[flag]
        self.derived.pop(seq, None)
        self._headers = None
        if self._union.active and not keep_keys:
            self._union.remove(strand.keys)

    def oldest(self) -> Strand | None:
        """Returns the member that started first; nothing when none has started."""
        if self._oldest is None:
            self._oldest = [(s.start, seq) for seq, s in self.members.items() if not s.pending]
            heapify(self._oldest)
        heap = self._oldest
        while heap:
            start, seq = heap[0]
            found = self.members.get(seq)
            if found is not None and found.start == start and not found.pending:
                return found
            heappop(heap)
        return None

    def after(self, horizon: datetime) -> dict[int, Strand]:
        """Returns the members that start after a moment."""
        if self.latest is None or self.latest <= horizon:
            return _NOBODY
        return {seq: s for seq, s in self.members.items() if not s.pending and s.start > horizon}


_NO_LOOKUPS: Final = Group()
"""Stands on every shelf that holds no lookup, and stays empty."""


class Shelf:
    """The standing reads of one scope: lookups of a known key apart, since they bind by that key."""

    __slots__ = ("_known_keys", "by_key", "firm", "lookups", "whole")

    def __init__(self) -> None:
        self.firm = Group()
        self.lookups = _NO_LOOKUPS
        self.by_key: dict[Hashable, dict[int, Strand]] = {}
        """For each key the lookups that asked for it or returned it."""
        self._known_keys: set[Hashable] = set()
        self.whole: Strand | None = None
        """The complete read among them that was recorded last."""

    @property
    def empty(self) -> bool:
        """Whether nothing stands here."""
        return not self.firm.members and not self.lookups.members

    def add(self, strand: Strand) -> None:
        """Takes a standing read in."""
        if strand.complete and (self.whole is None or self.whole.seq < strand.seq):
            self.whole = strand
        if strand.keyed is None:
            self.firm.add(strand)
            return
        if self.lookups is _NO_LOOKUPS:
            self.lookups = Group()
        self.lookups.add(strand)
        for key in strand.keyed | strand.keys:
            self.by_key.setdefault(key, {})[strand.seq] = strand
            self._known_keys.add(key)

    def remove(self, strand: Strand) -> None:
        """Takes a read out that stands no more."""
        if self.whole is strand:
            self.whole = None
        if strand.keyed is None:
            self.firm.remove(strand)
            return
        self.lookups.remove(strand)
        for key in strand.keyed | strand.keys:
            holders = self.by_key.get(key)
            if holders is not None and holders.pop(strand.seq, None) is not None and not holders:
                del self.by_key[key]
                self._known_keys.discard(key)

    def swap(self, earlier: Strand, chain: Strand, fresh: set[Hashable]) -> None:
        """Puts a chain in the place of its beginning; `fresh` are the ids that only its last link brought."""
        if earlier.keyed is not None or chain.keyed is not None:
            self.remove(earlier)
            self.add(chain)
            return
        self.firm.remove(earlier, keep_keys=True)
        self.firm.add(chain, fresh)
        if chain.complete:
            self.whole = chain

    def lookups_of(self, keys: frozenset[Hashable]) -> list[Strand]:
        """Returns the lookups that asked for one of these keys or returned it."""
        if not self._known_keys:
            return []
        found: dict[int, Strand] = {}
        for key in self._known_keys & keys:
            found.update(self.by_key[key])
        return [found[seq] for seq in sorted(found)]
