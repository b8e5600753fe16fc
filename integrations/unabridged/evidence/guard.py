"""The decision about a write: a pure function of the intent, the reads and the time (`CONTRACT.md` 4)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final

from unabridged.contract import GuardCode
from unabridged.contract.continuation import READS_AGAIN

from .group import Group, Shelf
from .header import Asked, RecordedRead, expired
from .intent import OnFail, Option, Outcome, Reliance, Verdict, WriteIntent, ordered
from .selections import Selected
from .strand import BLOCKED, CUT, DEAD, FLEETING, PENDING, WEAKNESS, Strand, strand_of
from .view import Evidence, view_of

CLOCK_SKEW: Final = timedelta(seconds=5)
"""How far in the future a read may start before it counts as stale."""
_NAMED: Final = 20
"""How many reads a verdict names at most."""
_TROUBLE: Final = frozenset({PENDING, BLOCKED, CUT})
_NONE: Final[frozenset[Hashable]] = frozenset()
_SILENCES_TARGETS: Final[frozenset[GuardCode]] = frozenset(
    {"EVIDENCE_INCOMPLETE", "EVIDENCE_MISSING", "EVIDENCE_PENDING"}
)


def judge_write(
    intent: WriteIntent,
    reads: Iterable[object],
    *,
    now: datetime,
    same_turn: Sequence[Asked] = (),
    on_fail: OnFail = "refuse",
    has_approver: bool = False,
) -> Verdict:
    """Returns whether a write may run on this evidence. A function of its arguments: nothing is changed.

    Args:
        intent: the write.
        reads: results or recorded reads in their order, or the indexed `Evidence` of a session.
        now: the present moment; one without a zone is taken as UTC.
        same_turn: the reads asked for in the same turn of the model as the write; they are no evidence yet.
        on_fail: what becomes of a write that may not run: it is refused, or a person reviews it.
        has_approver: whether there is a person to review a destructive write whose evidence is whole but not frozen.

    Raises:
        InvalidInput: `reads` holds something else.
    """
    moment = now if now.tzinfo is not None else now.replace(tzinfo=UTC)
    bound = _Bound(intent, reads if type(reads) is Evidence else view_of(reads), moment)
    bound.judge(same_turn)
    if not bound.codes:
        return Verdict("allow", reads=bound.headers())
    codes = ordered(bound.codes)
    approvable = has_approver and bound.only_fleeting and codes == ("EVIDENCE_WEAK",)
    outcome: Outcome = "review" if on_fail == "review" or approvable else "refuse"
    against = tuple({s.head.id: s.head for s in bound.against[:_NAMED]}.values())
    options = _options(intent, bound, reviewed=has_approver or outcome == "review")
    return Verdict(outcome, codes, against, options, tuple(r.label for r in bound.missing))


@dataclass(frozen=True, slots=True)
class Reach:
    """What a write is bound to: the ids of all standing reads that it may rely on, and their resources."""

    ids: frozenset[Hashable] = field(repr=False)
    resources: frozenset[str]


def reach_of(intent: WriteIntent, reads: Evidence, *, now: datetime) -> Reach:
    """Returns what a write is bound to, whatever speaks against it."""
    bound = _Bound(intent, reads, now)
    strands = [*bound.singles, *(s for group in bound.groups for s in group.members.values())]
    return Reach(frozenset().union(*(s.keys for s in strands)), frozenset(s.resource for s in strands))


class _Bound:
    """The reads that one write is bound to, and what speaks against it."""

    __slots__ = (
        "against", "codes", "groups", "intent", "missing", "now", "only_fleeting", "overlapping", "singles", "view",
    )  # fmt: skip

    def __init__(self, intent: WriteIntent, view: Evidence, now: datetime) -> None:
        self.intent = intent
        self.view = view
        self.now = now
        self.codes: set[GuardCode] = set()
        self.against: list[Strand] = []
        self.missing: list[Reliance] = []
        self.singles: list[Strand] = []
        """Lookups of the targets, each bound for itself."""
        self.overlapping = False
        """Whether a read may stand in more than one of the groups."""
        self.only_fleeting = False
        self.groups: list[Group] = []
        if intent.relies_on is None and not intent.destructive and intent.selection is None:
            self.groups.append(view.plain.firm)
        else:
            self._bind()

    def judge(self, same_turn: Sequence[Asked]) -> None:
        """Collects every code that applies."""
        codes, intent = self.codes, self.intent
        for group in self.groups:
            if not _TROUBLE.isdisjoint(group.flagged):
                self._judge_whole(group)
        for strand in self.singles:
            self._judge_single(strand)
        if same_turn:
            self._judge_same_turn(same_turn)
        nothing = intent.destructive and intent.relies_on is None and self.view.every.empty
        if self.missing or (nothing and not codes):
            codes.add("EVIDENCE_MISSING")
        if intent.selection is not None and not self._holds(intent.selection):
            codes.add("SELECTION_INVALID")
        if intent.demands or intent.destructive:
            self._judge_strength()
        self._judge_age()
        if intent.target_keys and (intent.allow_returned_targets or not codes & _SILENCES_TARGETS):
            absent = self._absent()
            if absent:
                codes.add("TARGET_NOT_IN_EVIDENCE")

    def headers(self) -> tuple[RecordedRead, ...]:
        """Returns the headers of all reads that the write is bound to."""
        groups = self.groups
        if len(groups) == 1 and not self.singles:
            return groups[0].headers
        if not self.overlapping and not self.singles:
            return tuple(chain.from_iterable([g.headers for g in groups]))
        found = {h.id: h for group in groups for h in group.headers}
        found.update((s.head.id, s.head) for s in self.singles)
        return tuple(found.values())

    def _bind(self) -> None:
        intent, view = self.intent, self.view
        if intent.relies_on is None and (intent.destructive or intent.selection is None):
            self._bind_shelf(view.every)
            return
        if intent.relies_on is None and intent.selection is not None:
            self.overlapping = True
            for scope in view.covering(intent.selection.resource, intent.selection.filters):
                self._bind_shelf(scope)
            return
        for entry in intent.relies_on or ():
            if entry.key is None:
                shelf = view.on(entry.resource)
                if shelf is None:
                    self.missing.append(entry)
                else:
                    self._bind_shelf(shelf)
                continue
            self.overlapping = True
            shelves = [s for s in view.covering(entry.resource, view.scope(entry.key)) if not s.empty]
            if not shelves:
                self.missing.append(entry)
            for shelf in shelves:
                self._bind_shelf(shelf)

    def _bind_shelf(self, shelf: Shelf) -> None:
        self.groups.append(shelf.firm)
        if not shelf.lookups.members:
            return
        if self.intent.target_keys:
            self.singles.extend(shelf.lookups_of(self.view.names(self.intent.target_keys)))
        else:
            self.groups.append(shelf.lookups)

    def _holds(self, selection: Selected) -> bool:
        """Tells whether the ids were taken from a whole read, of what the write relies on."""
        strand = self.view.strand(selection.read_id)
        if strand is None or not strand.complete:
            return False
        relies_on = self.intent.relies_on
        return relies_on is None or any(self._names(entry, strand) for entry in relies_on)

    def _judge_whole(self, group: Group) -> None:
        intent = self.intent
        for strand in list(group.having(PENDING).values()):
            self._judge_pending(strand)
        waived = intent.allow_returned_targets and intent.target_keys
        self._speak("EVIDENCE_INCOMPLETE", group.having(DEAD if waived else BLOCKED))
        if not intent.target_keys:
            self._speak("EVIDENCE_INCOMPLETE", group.having(CUT))

    def _judge_single(self, strand: Strand) -> None:
        if strand.pending:
            self._judge_pending(strand)
            return
        waived = self.intent.allow_returned_targets
        if (DEAD if waived else BLOCKED) in strand.flags:
            self._speak("EVIDENCE_INCOMPLETE", {strand.seq: strand})

    def _judge_pending(self, strand: Strand) -> None:
        deadline = strand.head.deadline
        if deadline is None or deadline > self.now:
            self._speak("EVIDENCE_PENDING", {strand.seq: strand})
            return
        late = strand_of(expired(strand.head), strand.seq)
        if self.view.covered_later(late):
            return
        self._speak("EVIDENCE_INCOMPLETE", {late.seq: late})
        if self.intent.demands or (self.intent.destructive and not self._rechecked):
            self.codes.add("EVIDENCE_WEAK")
        if self._is_stale(late.start):
            self.codes.add("EVIDENCE_STALE")

    def _judge_same_turn(self, same_turn: Sequence[Asked]) -> None:
        for asked in same_turn:
            strand = strand_of(asked.pending().masked(self.view.mask), 0)
            if self._may_rely_on(strand):
                self._speak("EVIDENCE_PENDING", {0: strand})
                self.missing = [m for m in self.missing if not self._names(m, strand)]

    def _may_rely_on(self, strand: Strand) -> bool:
        intent = self.intent
        targets, asked = self.view.names(intent.target_keys), strand.keyed
        if targets and asked is not None and asked.isdisjoint(targets):
            return False
        if intent.relies_on is None:
            return intent.destructive or not strand.soft
        return any(self._names(entry, strand) for entry in intent.relies_on)

    @property
    def _rechecked(self) -> bool:
        return self.intent.recheck and bool(self.intent.target_keys)

    def _judge_strength(self) -> None:
        intent = self.intent
        for demand in intent.demands:
            self._judge_flag(WEAKNESS[demand])
        demanded = "EVIDENCE_WEAK" in self.codes
        if intent.destructive and not self._rechecked:
            self._judge_flag(FLEETING)
            self.only_fleeting = not demanded

    def _judge_flag(self, flag: int) -> None:
        for group in self.groups:
            self._speak("EVIDENCE_WEAK", group.having(flag))
        for strand in self.singles:
            if flag in strand.flags:
                self._speak("EVIDENCE_WEAK", {strand.seq: strand})

    def _judge_age(self) -> None:
        horizon, aged = self.now + CLOCK_SKEW, self.intent.max_age
        for group in self.groups:
            if group.latest is not None and group.latest > horizon:
                self._speak("EVIDENCE_STALE", group.after(horizon))
            if aged is not None:
                oldest = group.oldest()
                if oldest is not None and self.now - oldest.start > aged:
                    self._speak("EVIDENCE_STALE", {oldest.seq: oldest})
        for strand in self.singles:
            if not strand.pending and self._is_stale(strand.start):
                self._speak("EVIDENCE_STALE", {strand.seq: strand})

    def _is_stale(self, start: datetime) -> bool:
        aged = self.intent.max_age
        return start > self.now + CLOCK_SKEW or (aged is not None and self.now - start > aged)

    def _absent(self) -> frozenset[Hashable] | set[Hashable]:
        """Returns the targets that stand in none of the bound reads, nor in a whole lookup of just them."""
        targets = self.intent.target_keys
        if len(self.groups) == 1 and targets <= self.groups[0].keys:
            return _NONE
        absent = set(targets)
        for group in self.groups:
            absent -= group.keys
            if not absent:
                return absent
        for strand in self.singles:
            absent -= strand.keys
        if absent and self.intent.relies_on is None:
            for strand in self.view.every.lookups_of(self.view.names(frozenset(absent))):
                if strand.complete:
                    absent -= strand.keys
        for strand in self._sources() if absent else ():
            absent -= strand.keys
        return absent

    def _names(self, entry: Reliance, strand: Strand) -> bool:
        """Tells whether an entry of `relies_on` means a read."""
        if entry.resource != strand.resource:
            return False
        return entry.key is None or strand.filter_key <= self.view.scope(entry.key)

    def _sources(self) -> list[Strand]:
        """Returns the standing reads that the bound ones were derived from, at any remove."""
        found: dict[str, Strand] = {}
        queue = [i for g in self.groups for s in g.derived.values() for i in s.sources]
        queue += [i for s in self.singles for i in s.sources]
        while queue:
            read_id = queue.pop()
            strand = self.view.strand(read_id)
            if strand is None or read_id in found:
                continue
            found[read_id] = strand
            queue.extend(strand.sources)
        return [s for s in found.values() if self.view.stands(s)]

    def _speak(self, code: GuardCode, strands: dict[int, Strand]) -> None:
        if not strands:
            return
        self.codes.add(code)
        if len(self.against) < _NAMED:
            for strand in strands.values():
                self.against.append(strand)
                if len(self.against) >= _NAMED:
                    return


def _options(intent: WriteIntent, bound: _Bound, *, reviewed: bool) -> tuple[Option, ...]:
    kinds = {"read_more" if CUT in s.flags else s.head.continuation.kind for s in bound.against}
    options: list[Option] = []
    if kinds & (READS_AGAIN - {"retry_with_deadline"}):
        options.append("continue_read")
    if "retry_with_deadline" in kinds:
        options.append("retry_with_deadline")
    blockers = [s for s in bound.against if BLOCKED in s.flags or CUT in s.flags]
    by_naming = (
        bound.codes == {"EVIDENCE_INCOMPLETE"}
        and not intent.target_keys
        and all(CUT in s.flags or (intent.allow_returned_targets and DEAD not in s.flags) for s in blockers)
    )
    if by_naming or "TARGET_NOT_IN_EVIDENCE" in bound.codes:
        options.append("restrict_to_returned")
    if reviewed:
        options.append("request_review")
    return (*options, "abandon")
