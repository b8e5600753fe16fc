"""Whether the evidence supports a claim (`CONTRACT.md` 5). Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any, Final, Literal

from unabridged.contract import id_key
from unabridged.contract.ids import TEXT
from unabridged.evidence.scope import FilterKey
from unabridged.evidence.strand import Strand
from unabridged.evidence.view import Evidence

from .claim import Claim

WhyNot = Literal[
    "never_read", "not_complete", "not_covered", "field_not_held", "field_cut", "records_gone", "contradicted",
    "not_in_evidence", "no_value", "no_identity",
]  # fmt: skip
"""Why a claim is unsupported."""
_NULL: Final = id_key(None)
_Matched = list[tuple[Hashable | None, Any]]
_UNDECIDED: Final[frozenset[WhyNot]] = frozenset({"field_not_held", "field_cut", "records_gone", "no_identity"})


def why_unsupported(claim: Claim, view: Evidence) -> WhyNot | None:
    """Returns why the evidence does not support a claim; nothing when it does."""
    strands = _on(view, claim.resource)
    if not strands:
        return "never_read"
    return _universal(claim, strands, view) if claim.is_universal else _found(claim, strands, view)


def _on(view: Evidence, resource: str) -> list[Strand]:
    """Returns the standing reads of a resource, the newest first, but those in flight."""
    shelf = view.on(resource)
    if shelf is None:
        return []
    members = {**shelf.firm.members, **shelf.lookups.members}
    return [members[seq] for seq in sorted(members, reverse=True) if not members[seq].pending]


def _universal(claim: Claim, strands: list[Strand], view: Evidence) -> WhyNot | None:
    scope = view.scope(claim.key)
    covering = [s for s in strands if s.filter_key <= scope]
    whole = [s for s in covering if s.complete]
    if not whole:
        return "not_complete" if covering else "not_covered"
    first: WhyNot | None = None
    for strand in whole:
        why = _agrees(claim, strand, view)
        if why is None:
            return _outdated(claim, strand, strands, view)
        if why not in _UNDECIDED:
            return why
        first = first or why
    return first


def _agrees(claim: Claim, strand: Strand, view: Evidence) -> WhyNot | None:
    """Compares a claim with a whole read that covers it."""
    if claim.kind == "count" and not _is_number(claim.value):
        return "no_value"
    extra = view.beyond(claim.key, strand)
    if claim.kind == "all" and claim.ids is None and not extra:
        return None
    number: int
    if extra or claim.kind == "all" or strand.length > 1:
        matched = _matched(strand, extra)
        if isinstance(matched, str):
            return matched
        if claim.kind == "all" and claim.ids is not None:
            return _same_ids(claim.ids, matched)
        number = len(matched)
    else:
        number = strand.returned
    match claim.kind:
        case "absence":
            return None if number == 0 else "contradicted"
        case "count":
            return None if id_key(claim.value) == number else "contradicted"
        case _:
            return None


def _same_ids(ids: tuple[Any, ...], matched: _Matched) -> WhyNot | None:
    keys = {key for key, _ in matched}
    if None in keys:
        return "no_identity"
    return None if keys == set(map(id_key, ids)) else "contradicted"


def _matched(strand: Strand, extra: FilterKey) -> _Matched | WhyNot:
    """Returns the records that meet the filters which the read itself did not send, if every record can tell."""
    pairs = strand.pairs()
    if pairs is None:
        return "records_gone"
    wanted = dict(extra)
    if not wanted:
        return pairs
    if any(_is_of(cut.field, wanted) for link in strand.links for cut in link.cuts):
        return "field_cut"
    matched: _Matched = []
    for key, record in pairs:
        if not isinstance(record, Mapping) or not all(name in record for name in wanted):
            return "field_not_held"
        verdicts = [_bears(record[name], value) for name, value in wanted.items()]
        if all(verdicts):
            matched.append((key, record))
        elif None in verdicts and False not in verdicts:
            return "field_not_held"
    return matched


def _bears(held: Any, wanted: Hashable) -> bool | None:
    """Tells whether a field bears the value of a filter; nothing where the two are of kinds that do not compare.

    A list of labels may hold the label, an owner may stand as an object, and a number as text: to say that no record
    bears the value would be a guess.
    """
    key = id_key(held)
    if key == wanted:
        return True
    return False if held is None or wanted == _NULL or _kind(key) == _kind(wanted) != "list or object" else None


def _kind(key: Hashable) -> str:
    if isinstance(key, tuple):
        return "boolean" if key in (id_key(True), id_key(False)) else "list or object"
    return "text" if isinstance(key, str) else "number"


def _outdated(claim: Claim, whole: Strand, strands: list[Strand], view: Evidence) -> WhyNot | None:
    """Looks for records of the claim's scope that a later read holds and the whole read does not."""
    later = [s for s in strands if s.seq > whole.seq and s.returned]
    if not later:
        return None
    known: set[Hashable | None] = {None, *whole.keys}
    for strand in later:
        extra = view.beyond(claim.key, strand)
        for key, record in strand.pairs() or ():
            if _lies_in(record, extra) and (claim.kind == "absence" or key not in known):
                return "contradicted"
    return None


def _lies_in(record: Any, extra: FilterKey) -> bool:
    """Tells whether a record lies in a scope, or may."""
    return all(
        isinstance(record, Mapping) and name in record and _bears(record[name], v) is not False for name, v in extra
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _found(claim: Claim, strands: list[Strand], view: Evidence) -> WhyNot | None:
    book = _Book(claim, view)
    if not claim.ids:
        return _some(book, strands)
    for key in map(id_key, claim.ids):
        why = _holds(key, book, strands)
        if why is not None:
            return why
    return None


def _some(book: _Book, strands: list[Strand]) -> WhyNot | None:
    """A find without ids: some record of the scope must be there."""
    worst: WhyNot = "not_in_evidence"
    for strand in strands:
        if not book.claim.filters and strand.returned:
            return None
        pairs = strand.pairs()
        if pairs is None:
            worst = "records_gone"
            continue
        for key, record in pairs:
            why = book.says(key, record, strand)
            if why is None:
                return None
            worst = why if why == "field_cut" else worst
    return worst


def _holds(key: Hashable, book: _Book, strands: list[Strand]) -> WhyNot | None:
    """Looks for a record by its id, in the newest read that can tell what is claimed of it."""
    first: WhyNot | None = None
    for strand in strands:
        if key not in strand.keys:
            continue
        why = book.says(key, book.record(key, strand), strand)
        if why is None or why not in _UNDECIDED:
            return why
        first = first or why
    if first is None and any(_dropped(strand) for strand in strands):
        return "records_gone"
    return first or "not_in_evidence"


def _dropped(strand: Strand) -> bool:
    return any(link.status != "unavailable" and link.held.result is None for link in strand.links)


class _Book:
    """The records of reads by id, looked up once for all ids of a claim."""

    def __init__(self, claim: Claim, view: Evidence) -> None:
        self.claim = claim
        self._view = view
        self._names = set(claim.filters)
        self._records: dict[int, dict[Hashable | None, Any]] = {}
        self._cuts: dict[int, list[Hashable]] = {}

    def record(self, key: Hashable, strand: Strand) -> Any:
        """Returns the record of an id; nothing where no filter asks for it."""
        if not self._names:
            return None
        if strand.seq not in self._records:
            self._records[strand.seq] = dict(strand.pairs() or ())
        return self._records[strand.seq].get(key)

    def says(self, key: Hashable | None, record: Any, strand: Strand) -> WhyNot | None:
        """Tells why a record that a read holds does not bear out what is claimed of it."""
        if not self._names:
            return None
        if any(self._may_be(item, key) for item in self._cut_items(strand)):
            return "field_cut"
        for name, value in self.claim.key:
            if isinstance(record, Mapping) and name in record:
                if id_key(record[name]) != value:
                    return "contradicted"
            elif not self._view.scope(frozenset(((name, value),))) <= strand.filter_key:
                return "field_not_held"
        return None

    def _may_be(self, item: Hashable, key: Hashable | None) -> bool:
        """An id that may not stand in a message is written as a placeholder; such a cut may be of any record."""
        return item == TEXT or (isinstance(item, str) and item.startswith("#")) or self._view.holds(key, item)

    def _cut_items(self, strand: Strand) -> list[Hashable]:
        """The items of a read with a cut in a field that the claim speaks of."""
        if strand.seq not in self._cuts:
            cuts = (cut for link in strand.links for cut in link.cuts)
            self._cuts[strand.seq] = [c.item for c in cuts if _is_of(c.field, self._names)]
        return self._cuts[strand.seq]


def _is_of(cut: str, names: Collection[str]) -> bool:
    """Tells whether a cut field is one of these, stands inside one, or may be any."""
    return cut == TEXT or any(cut == name or cut.startswith((f"{name}.", f"{name}[")) for name in names)
