"""A standing read: one read, or a chain of reads that go on from each other and count as one (`CONTRACT.md` 4).

What a read was derived from weighs on it for good: a whole summary of part of a list stays a summary of part of it,
even when the list is read again later.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import Any, Final

from unabridged.contract import Consistency, Intent, ReadResult, RetrySources, Status, id_key, status_for
from unabridged.contract.ids import id_key_set

from .header import SOFT_CODES, RecordedRead, WhyPart
from .scope import Digest, FilterKey

_OWN_LIMITS: Final = frozenset({"CLIENT_LIMIT_REACHED", "TIME_BUDGET_EXCEEDED", "PRESENTATION_LIMIT"})
_ASKED_AGAIN: Final = frozenset({"next_page", "retry_after", "read_range", "poll_job", "retry_with_deadline"})
_PAGE_FAILURES: Final = frozenset(
    {"SOURCE_UNAVAILABLE", "RATE_LIMITED", "TRANSPORT_TRUNCATED", "TIME_BUDGET_EXCEEDED", "JOB_NOT_FINISHED",
     "PROTOCOL_ANOMALY"}
)  # fmt: skip

PENDING, BLOCKED, DEAD, CUT, UNCOUNTED, NO_SNAPSHOT, NO_DOUBLE_WALK, HIDDEN, FLEETING = range(9)
"""What may speak against a write: in flight, incomplete, unavailable, shown in part only, not counted, no snapshot,
no double walk, visibility below `all`, neither a snapshot nor a double walk."""
WEAKNESS: Final[dict[str, int]] = {
    "counted": UNCOUNTED, "snapshot": NO_SNAPSHOT, "double_walk": NO_DOUBLE_WALK, "visibility_all": HIDDEN,
}  # fmt: skip
PENDING_ONLY: Final = (PENDING,)


class Strand:
    """One or more links, judged as one read. Made by `strand_of` and `extend`."""

    __slots__ = (
        "_cuts", "_keys", "_keys_upto", "_links", "_unhealed", "codes", "complete", "consistency", "counted", "dead",
        "double_walk", "filter_key", "flags", "intent", "keyed", "length", "resource", "returned", "seq", "soft",
        "sources", "start", "status", "visibility_all",
    )  # fmt: skip

    resource: str
    filter_key: FilterKey
    intent: Intent
    seq: int
    """Its place in the order of the session."""
    status: Status
    complete: bool
    codes: tuple[str, ...]
    consistency: Consistency
    counted: bool
    double_walk: bool
    visibility_all: bool
    dead: bool
    """Whether nothing of it, or of what it was derived from, could be read."""
    start: datetime
    returned: int
    soft: bool
    """Whether it binds a plain write only when named."""
    keyed: frozenset[Hashable] | None
    """The keys that a lookup asked for; `None` for anything else, and for a lookup whose key is not known."""
    sources: tuple[str, ...]
    """The ids of the reads it was derived from."""
    flags: tuple[int, ...]

    def __init__(self, links: list[RecordedRead], seq: int) -> None:
        self._links = links
        self.length = len(links)
        self.seq = seq
        self._unhealed: tuple[str, ...] = ()
        self._cuts = 0
        self._keys: set[Hashable] = set()
        self._keys_upto = 0

    @property
    def head(self) -> RecordedRead:
        """The last link: it says how the read goes on."""
        return self._links[self.length - 1]

    @property
    def links(self) -> Sequence[RecordedRead]:
        """All links, the first one first."""
        return self._links if len(self._links) == self.length else self._links[: self.length]

    @property
    def pending(self) -> bool:
        """Whether it is in flight; its deadline may have passed."""
        return self.flags is PENDING_ONLY

    @property
    def shown_in_part(self) -> bool:
        """Whether records of it were not shown."""
        return self._cuts > 0

    @property
    def keys(self) -> set[Hashable]:
        """The ids of all links, comparable as JSON values. Not to be changed."""
        while self._keys_upto < self.length:
            self._keys |= self._links[self._keys_upto].held.keys
            self._keys_upto += 1
        return self._keys

    def forget_keys(self) -> None:
        """Takes the ids of the links anew, after one of them was dropped."""
        self._keys, self._keys_upto = set(), 0

    def relink(self, old: RecordedRead, new: RecordedRead) -> None:
        """Puts another header in the place of a link: it was shown in part, counted, or named otherwise."""
        place = next(n for n in range(self.length - 1, -1, -1) if self._links[n].id == old.id)
        self._links[place] = new
        self._cuts += _is_cut(new) - _is_cut(old)
        if new.resource != old.resource:
            self.resource = new.resource
        self.flags = _flags(self)

    def pairs(self) -> list[tuple[Hashable | None, Any]] | None:
        """Returns the records of all links, each with its id where it has one; nothing when some were dropped.

        Of a record that several links hold the later version counts; a record is told by its source and its id.
        """
        found: list[tuple[Hashable | None, Any]] = []
        place: dict[tuple[str | None, Hashable], int] = {}
        for link in self.links:
            if link.status == "unavailable":
                continue
            result = link.held.result
            if result is None or result.items is None:
                return None
            ids = result.ids
            if len(ids) != len(result.items):
                found.extend((None, item) for item in result.items)
                continue
            for source, id_, item in zip(_sources_of(result), ids, result.items, strict=True):
                key = id_key(id_)
                spot = len(found) if self.length == 1 else place.setdefault((source, key), len(found))
                found[spot : spot + 1] = [(key, item)]
        return found


def _sources_of(result: ReadResult) -> list[str | None]:
    """Returns the source of each record; they stand in the order of the sources, as merging leaves them."""
    names: list[str | None] = [s.name for s in result.sources for _ in range(s.returned)]
    return names if len(names) == result.returned else [None] * result.returned


def strand_of(read: RecordedRead, seq: int, sources: Sequence[Strand | None] = ()) -> Strand:
    """Returns a strand of one read.

    Args:
        read: the read.
        seq: its place in the order of the session.
        sources: what it was derived from; `None` for a read that is not known here.
    """
    strand = Strand([read], seq)
    _describe(strand, read, read)
    strand.dead = read.status == "unavailable"
    strand.start = read.started_at
    strand.returned = read.returned
    strand.consistency = read.consistency
    strand.counted = _is_counted(read)
    strand.double_walk = read.proof.level == "double_walk"
    strand.visibility_all = read.visibility == "all"
    if read.continues is not None:
        strand._unhealed = ("COVERAGE_UNKNOWN",)
    for source in sources:
        _inherit(strand, source)
    _conclude(strand, read, anything=read.status != "unavailable")
    return strand


def extend(earlier: Strand, read: RecordedRead, seq: int) -> Strand:
    """Returns the chain of `earlier` and the read that goes on from its last link."""
    links, last = earlier._links, earlier.head
    first = links[0]
    own = len(links) == earlier.length
    links = links if own else links[: earlier.length]
    links.append(read)
    chain = Strand(links, seq)
    if own:
        chain._keys, chain._keys_upto = earlier._keys, earlier._keys_upto
        earlier.forget_keys()
    _describe(chain, first, read)
    chain.resource, chain.sources = earlier.resource, earlier.sources
    unhealed = dict.fromkeys((*earlier._unhealed, *unhealed_by(last, read)))
    if read.filter_key != earlier.filter_key:
        unhealed["COVERAGE_UNKNOWN"] = None
    chain._unhealed = tuple(unhealed)
    chain._cuts = earlier._cuts
    chain.dead = earlier.dead and read.status == "unavailable"
    chain.start = min(earlier.start, read.started_at)
    chain.returned = earlier.returned + read.returned
    chain.consistency = _chain_consistency(earlier, first, read)
    chain.double_walk = False
    chain.visibility_all = earlier.visibility_all and read.visibility == "all"
    chain.counted = _is_counted(read) and not chain._unhealed
    _conclude(chain, read, anything=not chain.dead)
    return chain


def unhealed_by(earlier: RecordedRead, later: RecordedRead) -> tuple[str, ...]:
    """Returns the codes that left `earlier` incomplete and that `later`, which goes on from it, does not make good.

    Our own limits do not matter once the read goes on. A failure does not either when it was that of the page which
    `later` asks for again: then it is the only failure, and we did not stop on our own before a page on offer.
    """
    limits = [r for r in earlier.reasons if _is_own_limit(r)]
    failures = [r for r in earlier.reasons if r not in limits]
    codes = tuple(dict.fromkeys(r.code for r in failures))
    if not failures:
        return ()
    route = earlier.continuation
    if isinstance(route, RetrySources):
        again = set(route.names)
        answered = again <= {name for name, _ in later.sources}
        healed = answered and all(r.code in _PAGE_FAILURES and r.source in again for r in failures)
        return () if healed else codes
    if route.kind not in _ASKED_AGAIN:
        return codes
    if route.kind == "poll_job":
        return tuple(c for c in codes if c != "JOB_NOT_FINISHED")
    # A limit of ours stopped the read itself, so that the failure is no page which is asked for again.
    return () if not limits and len(failures) == 1 and failures[0].code in _PAGE_FAILURES else codes


def _is_own_limit(reason: WhyPart) -> bool:
    """Whether we stopped, and the source did not: a source may be declared to say so by the same code.

    An answer that its page size cut has no next page; to go on elsewhere, as in the next part, does not complete it.
    """
    if reason.code == "MORE_PAGES_AVAILABLE":
        return True
    is_ours = reason.code in _OWN_LIMITS and reason.layer in ("client", "presentation")
    return is_ours and reason.detail != "page_size"


def _describe(strand: Strand, first: RecordedRead, last: RecordedRead) -> None:
    strand.resource = last.resource
    strand.filter_key = first.filter_key
    strand.intent = first.intent
    strand.sources = last.derived_from
    strand.keyed = _looked_up(first) if first.intent == "lookup" else None


def _conclude(strand: Strand, last: RecordedRead, *, anything: bool) -> None:
    """Draws status, softness and flags from the codes of the last link and from what nothing made good."""
    codes = dict.fromkeys(r.code for r in last.reasons)
    codes.update(dict.fromkeys(strand._unhealed))
    strand.codes = tuple(codes)
    strand.status = status_for([] if anything else None, codes)
    strand.complete = strand.status == "complete"
    approximate = bool(codes) and SOFT_CODES.issuperset(codes) and not strand.dead
    strand.soft = strand.intent != "inventory" or approximate
    strand._cuts += _is_cut(last)
    strand.flags = _flags(strand)


def _looked_up(read: RecordedRead) -> frozenset[Hashable] | None:
    """Returns the keys a lookup asked for: the declared filter, else `id`, else its only filter."""
    name = read.key
    if name not in read.filters:
        name = "id" if "id" in read.filters else next(iter(read.filters)) if len(read.filters) == 1 else None
    if name is None:
        return None
    value = read.filters[name]
    if isinstance(value, Digest):
        return frozenset((value,)) if value.parts is None else frozenset(value.parts)
    return id_key_set(value) if isinstance(value, list | tuple) else frozenset((id_key(value),))


def _is_counted(read: RecordedRead) -> bool:
    """Tells whether an exact count equals the ids; the reader checks the count of a link on the whole chain."""
    if read.proof.count is None:
        return False
    agrees = read.total.kind == "exact" and read.proof.count == read.total.value
    return read.proof.level == "counted" or (agrees and read.proof.level in ("snapshot", "double_walk"))


def _chain_consistency(earlier: Strand, first: RecordedRead, read: RecordedRead) -> Consistency:
    if earlier.dead:
        return read.consistency
    if "not_established" in (earlier.consistency, read.consistency):
        return "not_established"
    known = earlier.consistency == read.consistency == "snapshot" and first.snapshot is not None
    return "snapshot" if known and id_key(earlier.head.snapshot) == id_key(read.snapshot) else "interval"


def _inherit(strand: Strand, source: Strand | None) -> None:
    if source is None or source.pending:
        strand._unhealed = (*strand._unhealed, "COVERAGE_UNKNOWN")
        return
    strand.start = min(strand.start, source.start)
    strand.counted = strand.counted and source.counted
    strand.double_walk = strand.double_walk and source.double_walk
    strand.visibility_all = strand.visibility_all and source.visibility_all
    strand.dead = strand.dead or source.dead
    if source.consistency != "snapshot" and strand.consistency == "snapshot":
        strand.consistency = "interval"
    strand._unhealed = (*strand._unhealed, *source.codes)


def _is_cut(read: RecordedRead) -> bool:
    return read.shown is not None and not read.counted


def _flags(strand: Strand) -> tuple[int, ...]:
    if strand.head.is_pending:
        return PENDING_ONLY
    fleeting = strand.consistency != "snapshot"
    envelope = strand.codes == ("PRESENTATION_LIMIT",) and not strand.dead
    tests = (
        (BLOCKED, not strand.complete and not envelope),
        (DEAD, strand.dead),
        (CUT, envelope or (strand.complete and strand._cuts > 0)),
        (UNCOUNTED, not strand.counted),
        (NO_SNAPSHOT, fleeting),
        (NO_DOUBLE_WALK, not strand.double_walk),
        (HIDDEN, not strand.visibility_all),
        (FLEETING, fleeting and not strand.double_walk),
    )
    return tuple([flag for flag, applies in tests if applies])
