"""The indexed view of a session's reads: appending and judging cost the same in a long session as in a short one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, overload

from unabridged.contract import InvalidInput
from unabridged.contract.results import Result

from .group import Shelf
from .header import RecordedRead, header_of
from .scope import FilterKey, Mask, wider_scopes
from .strand import Strand, extend, strand_of

_Pair = tuple[str, Hashable]
_NOTHING: Final[set[Hashable]] = set()


class Evidence(Sequence[RecordedRead]):
    """The reads of a session in their order, and which of them stand.

    A later complete read clears the earlier ones that its scope covers; a read that goes on from an earlier one forms
    a chain with it. Not safe for threads by itself: the session holds a lock.

    Args of the constructor:
        reads: the reads that are there from the start.
        mask: puts digests in the place of filter values, where the headers are written down; none in memory.
    """

    def __init__(self, reads: Iterable[object] = (), *, mask: Mask | None = None) -> None:
        self.mask = mask
        self._headers: dict[str, RecordedRead] = {}
        self._history: dict[str, RecordedRead] = {}
        self._strands: dict[str, Strand] = {}
        """For each read the strand that it ends, standing or not."""
        self._later: dict[str, Strand] = {}
        """For each read that was gone on from, the chain that did so last."""
        self._listed: tuple[RecordedRead, ...] | None = None
        self._clock = 0
        self.every = Shelf()
        """All standing reads."""
        self.plain = Shelf()
        """The standing reads that bind a plain write which names no evidence."""
        self._resources: dict[str, Shelf] = {}
        self._scopes: dict[str, dict[FilterKey, Shelf]] = {}
        self._pairs: dict[str, dict[_Pair, dict[FilterKey, None]]] = {}
        for read in reads:
            self.add(_header(read))

    @overload
    def __getitem__(self, index: int) -> RecordedRead: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RecordedRead]: ...
    def __getitem__(self, index: int | slice) -> RecordedRead | Sequence[RecordedRead]:
        return self.listed[index]

    def __iter__(self) -> Iterator[RecordedRead]:
        return iter(self.listed)

    def __len__(self) -> int:
        return len(self._history) + len(self._headers)

    def __repr__(self) -> str:
        return f"<Evidence {len(self)} reads, {len(self.standing)} standing>"

    def __reduce__(self) -> tuple[object, ...]:
        return (Evidence, (list(self.listed),))

    @property
    def listed(self) -> tuple[RecordedRead, ...]:
        """All reads, those of the history first."""
        if self._listed is None:
            self._listed = (*self._history.values(), *self._headers.values())
        return self._listed

    @property
    def standing(self) -> tuple[Strand, ...]:
        """The reads that count, chains as one, in the order of their last links."""
        found = {**self.every.firm.members, **self.every.lookups.members}
        return tuple([found[seq] for seq in sorted(found)])

    def find(self, read_id: str) -> RecordedRead | None:
        """Returns the header of a read, or nothing."""
        return self._headers.get(read_id) or self._history.get(read_id)

    def strand(self, read_id: str) -> Strand | None:
        """Returns the read or the longest chain that a read belongs to, standing or not."""
        found = self._strands.get(read_id)
        trail: list[str] = []
        while found is not None and (later := self._later.get(found.head.id)) is not None:
            trail.append(found.head.id)
            found = later
        for name in trail[:-1]:
            self._later[name] = found  # type: ignore[assignment]
        return found

    def stands(self, strand: Strand) -> bool:
        """Tells whether a strand counts: nothing later covers it or goes on from it."""
        group = self.every.firm if strand.keyed is None else self.every.lookups
        return group.members.get(strand.seq) is strand

    def on(self, resource: str) -> Shelf | None:
        """Returns the standing reads of a resource; nothing where it was never read."""
        return self._resources.get(resource)

    def covering(self, resource: str, key: FilterKey) -> Iterator[Shelf]:
        """Yields the standing reads of a resource whose filters cover `key`, scope by scope."""
        scopes = self._scopes.get(resource, {})
        for scope in wider_scopes(key, scopes):
            yield scopes[scope]

    def scope(self, key: FilterKey) -> FilterKey:
        """Returns the scope of filters in the form in which it compares with those of the reads here."""
        return key if self.mask is None or not key else self.mask.scope(key)

    def beyond(self, key: FilterKey, strand: Strand) -> FilterKey:
        """Returns those filters of a scope, in clear, that a read of a wider one did not send."""
        if self.mask is None:
            return key - strand.filter_key
        return frozenset([p for p in key if not self.mask.scope(frozenset((p,))) <= strand.filter_key])

    def names(self, keys: frozenset[Hashable]) -> frozenset[Hashable]:
        """Returns ids with the forms under which lookups that asked for them are known here."""
        return keys if self.mask is None else keys | {self.mask.key(k) for k in keys}

    def holds(self, key: Hashable, item: Hashable) -> bool:
        """Tells whether the item of a cut is the record of an id."""
        return item == key or (self.mask is not None and key is not None and item == self.mask.key(key))

    def add(self, read: RecordedRead, *, declared: bool = False) -> RecordedRead:
        """Records a read. One that is known by its id is not recorded twice.

        A read from the history goes before everything else.

        Args:
            read: the read.
            declared: whether it bears the name that its tool's author gave it: then that name holds.
        """
        known = self.find(read.id)
        if known is not None and not known.is_pending:
            return self._again(known, read, declared)
        if known is not None:
            self.withdraw(known.id)
        self._listed = None
        if read.origin == "history":
            self._history[read.id] = read
            self._settle(strand_of(read, -len(self._history)))
            return read
        self._clock += 1
        earlier = None if read.continues is None else self._strands.get(read.continues)
        if earlier is not None and not earlier.pending:
            return self._go_on(earlier, read)
        self._headers[read.id] = read
        self._settle(strand_of(read, self._clock, [self.strand(i) for i in read.derived_from]))
        return read

    def settle_pending(self, read: RecordedRead) -> RecordedRead:
        """Records what became of a read in flight that brought nothing: it keeps the place where it was asked for."""
        known = self.find(read.id)
        if known is None or not known.is_pending:
            return self.add(read)
        strand = self._strands[read.id]
        self._take_out(strand)
        self._listed = None
        self._headers[read.id] = read
        self._settle(strand_of(read, strand.seq))
        return read

    def withdraw(self, read_id: str) -> None:
        """Takes a read in flight back, as if it had never been asked for."""
        known = self._headers.get(read_id)
        if known is not None and known.origin in ("pending", "expired"):
            self._listed = None
            del self._headers[read_id]
            self._take_out(self._strands.pop(read_id))

    def update(self, read_id: str, *, shown: int | None, counted: bool) -> None:
        """Notes how much of a read was shown, and whether code counted over all of it."""
        known = self._headers.get(read_id)
        if known is not None and (known.shown, known.counted) != (shown, counted):
            self._relink(known, replace(known, shown=shown, counted=counted))

    def drop(self, read_id: str) -> None:
        """Forgets the ids and the records of a read; its header stays."""
        known, strand = self.find(read_id), self.strand(read_id)
        if known is None or strand is None:
            return
        stood = self._take_out(strand)
        known.held.drop()
        strand.forget_keys()
        if stood:
            self._put_in(strand)

    def covered_later(self, strand: Strand) -> bool:
        """Tells whether a standing complete read that was recorded later covers this one."""
        return any(
            shelf.whole is not None and shelf.whole.seq > strand.seq
            for shelf in self.covering(strand.resource, strand.filter_key)
        )

    def _again(self, known: RecordedRead, read: RecordedRead, declared: bool) -> RecordedRead:
        sources = tuple(dict.fromkeys((*known.derived_from, *read.derived_from)))
        # A tool's declaration may say more than its reader knew (a key, a sample), but makes no read whole on its own.
        lookup = read.intent == "lookup" and read.key is not None
        base = read if declared and (lookup or read.status != "complete" or known.status == "complete") else known
        new = replace(
            base, resource=read.resource if declared else known.resource, derived_from=sources, shown=known.shown,
            counted=known.counted, call_id=known.call_id or read.call_id,
        )  # fmt: skip
        if new == known:
            return known
        strand = self._strands[known.id]
        if strand.length > 1 or known.id in self._later:
            self._relink(known, new)
            return new
        self._take_out(strand)
        self._listed = None
        self._headers[known.id] = new
        self._settle(strand_of(new, strand.seq, [self.strand(i) for i in sources]))
        return new

    def _relink(self, known: RecordedRead, new: RecordedRead) -> None:
        self._listed = None
        self._headers[known.id] = new
        strand = self.strand(known.id)
        if strand is None:
            return
        stood = self._take_out(strand)
        strand.relink(known, new)
        if stood:
            self._settle(strand)

    def _go_on(self, earlier: Strand, read: RecordedRead) -> RecordedRead:
        if read.resource != earlier.resource:
            read = replace(read, resource=earlier.resource)
        self._headers[read.id] = read
        stood, fresh = self.stands(earlier), _NOTHING
        shelves = [*self._shelves(earlier), *(() if earlier.soft else (self.plain,))] if stood else []
        if any(shelf.firm.is_united for shelf in shelves):
            fresh = set(read.held.keys - earlier.keys)
        chain = extend(earlier, read, self._clock)
        self._strands[read.id] = self._later[earlier.head.id] = chain
        if not stood or chain.soft != earlier.soft:
            if stood:
                self._take_out(earlier)
            self._settle(chain)
            return read
        for shelf in shelves:
            shelf.swap(earlier, chain, fresh)
        self._clear(chain)
        return read

    def _settle(self, strand: Strand) -> None:
        self._strands[strand.head.id] = strand
        if not strand.pending and self.covered_later(strand):
            return
        self._put_in(strand)
        self._clear(strand)

    def _clear(self, strand: Strand) -> None:
        """Takes out what a complete read covers; a read in flight is not cleared and clears nothing."""
        if not strand.complete:
            return
        for shelf in self._covered(strand.resource, strand.filter_key):
            for group in (shelf.firm, shelf.lookups):
                if len(group.members) > (strand.seq in group.members):
                    for other in [m for m in group.members.values() if m.seq < strand.seq and not m.pending]:
                        self._take_out(other)

    def _covered(self, resource: str, key: FilterKey) -> list[Shelf]:
        scopes = self._scopes.get(resource, {})
        if not key:
            return list(scopes.values())
        pairs = self._pairs.get(resource, {})
        candidates = min((pairs.get(pair, {}) for pair in key), key=len)
        return [scopes[scope] for scope in candidates if key <= scope]

    def _shelves(self, strand: Strand) -> tuple[Shelf, ...]:
        """Returns the shelves that every strand of this resource and scope stands on, made where missing."""
        resource, key = strand.resource, strand.filter_key
        whole = self._resources.get(resource)
        if whole is None:
            whole = self._resources[resource] = Shelf()
        scopes = self._scopes.setdefault(resource, {})
        scope = scopes.get(key)
        if scope is None:
            scope = scopes[key] = Shelf()
            pairs = self._pairs.setdefault(resource, {})
            for pair in key:
                pairs.setdefault(pair, {})[key] = None
        return self.every, whole, scope

    def _put_in(self, strand: Strand) -> None:
        for shelf in self._shelves(strand):
            shelf.add(strand)
        if not strand.soft:
            self.plain.add(strand)

    def _take_out(self, strand: Strand) -> bool:
        if not self.stands(strand):
            return False
        shelves = self._shelves(strand)
        for shelf in shelves:
            shelf.remove(strand)
        if not strand.soft:
            self.plain.remove(strand)
        if shelves[2].empty:
            self._discard_scope(strand.resource, strand.filter_key)
        if shelves[1].empty:
            del self._resources[strand.resource]
        return True

    def _discard_scope(self, resource: str, key: FilterKey) -> None:
        del self._scopes[resource][key]
        pairs = self._pairs[resource]
        for pair in key:
            del pairs[pair][key]
            if not pairs[pair]:
                del pairs[pair]


def _header(read: object) -> RecordedRead:
    if isinstance(read, RecordedRead):
        return read
    if isinstance(read, Result):
        return header_of(read)  # type: ignore[arg-type]
    raise InvalidInput(field="reads", rule="must hold results or recorded reads")


def view_of(reads: Iterable[object]) -> Evidence:
    """Returns the reads as an indexed view: themselves when they are one already, else a new one."""
    return reads if isinstance(reads, Evidence) else Evidence(reads)
