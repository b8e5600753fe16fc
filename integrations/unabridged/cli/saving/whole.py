"""What a run says of itself: the links of its stream summed into one header, the wire form without the items.

The last link of a stream says how its walk ended. What an earlier link said beside that stands, too: a signal on page
3 is not made good by page 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from unabridged.contract.codes import Consistency
from unabridged.contract.continuation import (
    Continuation,
    FetchRestOfItem,
    NarrowQuery,
    RequestAccess,
    RestartScan,
    RetrySources,
    WidenScope,
    first_that_applies,
)
from unabridged.contract.ids import is_token
from unabridged.contract.parts import ItemCut, Notice, Proof, Reason, SourceOutcome, Total
from unabridged.contract.results import ReadResult, build_result, status_for
from unabridged.contract.wire import to_wire

MOST_CUTS: Final = 1000
_CAPS: Final = frozenset({"source_cap", "result_window", "page_cap"})
_OF_THE_CHAIN: Final = frozenset({"ORDER_NOT_UNIQUE", "COUNT_NOT_EXACT", "DUPLICATES_REMOVED"})
_LIMITS: Final = frozenset({"CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE"})


def stands(reason: Reason) -> bool:
    """Tells whether a reason of a link holds for the whole although later links follow.

    Our own limits are made good by going on, and a cap that was compared with what came (it bears its limit) is judged
    anew at the end, when a count may disprove it. A cap that the source itself told of stands.
    """
    if reason.code in _LIMITS or (reason.code == "TIME_BUDGET_EXCEEDED" and reason.layer == "client"):
        return False
    return not (reason.code == "RESULT_LIMIT_REACHED" and reason.detail in _CAPS and reason.limit is not None)


@dataclass
class Whole:
    """Gathers links, one after the other."""

    unique: int = 0
    """Records that stand in the file, each id once."""
    axis: str | None = None
    """What the profile orders records by: along it a capped query may be narrowed."""
    requests: int = 0
    pages: int = 0
    duplicates: int = 0
    started_at: Any = None
    has_content: bool = False
    continues: str | None = None
    """The id of the read of an earlier run that this one goes on from."""
    total: Total = field(default_factory=Total)
    consistency: Consistency = "interval"
    """That of the last link with content; it speaks of all links before it, too."""
    was_lost: bool = False
    """Whether a link could not establish what state its records are from."""
    reasons: dict[Any, Reason] = field(default_factory=dict)
    earlier: dict[str, dict[str, None]] = field(default_factory=dict)
    """The codes of those reasons, by the source whose page gave them."""
    notices: dict[Any, Notice] = field(default_factory=dict)
    cuts: list[ItemCut] = field(default_factory=list)
    returned: dict[str, int] = field(default_factory=dict)
    """Records by source."""
    lost: dict[str, SourceOutcome] = field(default_factory=dict)
    """Sources that a page named as missing."""
    last: ReadResult | None = None

    def add(self, link: ReadResult) -> None:
        """Takes in the numbers and the warnings of a link; of one before it also the reasons that stand."""
        if self.last is not None:
            self._pass(self.last)
        self.last = link
        if self.started_at is None:
            self.started_at = link.read.started_at
        self.requests += link.read.requests
        self.pages += link.read.pages
        self.duplicates += link.read.duplicates
        self.has_content |= link.items is not None
        self._notice(link)
        if link.items is not None:
            self.consistency = link.consistency
        self.cuts += link.item_cuts[: max(0, MOST_CUTS - len(self.cuts))]
        if link.total.kind != "unknown":
            self.total = link.total
        for source in link.sources:
            self.returned[source.name] = self.returned.get(source.name, 0) + source.returned

    def _pass(self, link: ReadResult) -> None:
        self.was_lost |= link.items is not None and link.consistency == "not_established"
        for reason in link.incomplete_reasons:
            if link.items is not None and stands(reason):
                self.reasons.setdefault((reason.code, reason.detail, reason.source), reason)
                self.earlier.setdefault(link.sources[0].name, {})[reason.code] = None
        for source in link.sources:
            if source.status == "unavailable" and link.items is not None:
                self.lost.setdefault(source.name, source)

    def _notice(self, link: ReadResult) -> None:
        """Takes in warnings. Some speak of the whole chain each time, and the last word counts."""
        if link.items is not None:
            for code in _OF_THE_CHAIN:
                self.notices.pop(code, None)
        for notice in link.warnings:
            of_chain = notice.code in _OF_THE_CHAIN
            self.notices[notice.code if of_chain else (notice.code, str(notice.observed))] = notice

    def standing(self) -> tuple[Reason, ...]:
        """Returns the reasons that a later run inherits when it goes on from here."""
        last = self.last.incomplete_reasons if self.last is not None and self.last.items is not None else ()
        return (*self.reasons.values(), *(reason for reason in last if stands(reason)))

    def result(self, *, broken_off: str | None = None) -> ReadResult:
        """Returns one result for all links, without items.

        Args:
            broken_off: why the run ended between two links, as a detail; its last link then says that more follows.
        """
        last = self.last
        if last is None:
            raise ValueError("a run without a link has no result")
        reasons = [*last.incomplete_reasons, *self.reasons.values()]
        if broken_off is not None:
            reasons.insert(0, Reason(code="CLIENT_LIMIT_REACHED", detail=broken_off, layer="client"))
        lost = self.was_lost or any(reason.code == "CONSISTENCY_LOST" for reason in reasons)
        known = self.consistency if last.items is None and self.has_content else last.consistency
        consistency = "not_established" if lost else known
        return build_result(
            items=[] if self.has_content else None,
            reasons=reasons,
            scope=last.scope,
            read=last.read.model_copy(update=self._numbers()),
            continuation=self._route(last),
            total=self.total if self.has_content else last.total,
            consistency=consistency,
            proof=Proof(basis=last.proof.basis) if reasons else last.proof,
            sources=self._sources(last),
            item_cuts=tuple(self.cuts),
            warnings=tuple(self.notices.values()),
        )

    def header(self, *, broken_off: str | None = None) -> dict[str, Any]:
        """Returns the wire form of the whole, without items and with the number of records that were saved."""
        wire = to_wire(self.result(broken_off=broken_off))
        del wire["items"]
        wire["returned"] = self.unique
        if wire["complete"]:
            wire["finding_count"] = self.unique
        return wire

    def _numbers(self) -> dict[str, Any]:
        return {
            "started_at": self.started_at,
            "requests": self.requests,
            "pages": self.pages,
            "duplicates": self.duplicates,
            "continues": self.continues,
        }

    def _route(self, last: ReadResult) -> Continuation:
        """Returns the way on of the last link, or one that an earlier reason leaves; handles die with the run."""
        route = last.continuation
        if self.reasons:
            route = first_that_applies([route, *_routes(self.reasons.values(), self.cuts, self.lost, self.axis)])
        return route.model_copy(update={"handle": None}) if getattr(route, "handle", None) is not None else route

    def _sources(self, last: ReadResult) -> tuple[SourceOutcome, ...]:
        found = {source.name: self._source(source, self.earlier.get(source.name, ())) for source in last.sources}
        for name, source in self.lost.items():
            found.setdefault(name, source)
        return tuple(found.values())

    def _source(self, source: SourceOutcome, earlier: Iterable[str]) -> SourceOutcome:
        returned = self.returned.get(source.name, 0)
        codes = tuple(dict.fromkeys((*source.reasons, *earlier)))
        has_content = source.status != "unavailable" or returned > 0 or (len(self.returned) == 1 and self.has_content)
        status = status_for([] if has_content else None, codes)
        return SourceOutcome(name=source.name, status=status, returned=returned, reasons=codes)


def _routes(
    reasons: Iterable[Reason], cuts: Sequence[ItemCut], lost: dict[str, SourceOutcome], axis: str | None
) -> Iterable[Continuation]:
    for reason in reasons:
        match reason.code:
            case "RESULT_LIMIT_REACHED":
                yield NarrowQuery(axis=axis, limit=reason.limit)
            case "CONSISTENCY_LOST":
                yield RestartScan(why="consistency_lost")
            case "SOURCE_UNAVAILABLE" if lost:
                yield RetrySources(names=tuple(lost))
            case "ITEM_TRUNCATED" if cuts and is_token(cuts[0].field):
                yield FetchRestOfItem(item=cuts[0].item, field=cuts[0].field)
            case "VISIBILITY_RESTRICTED":
                yield RequestAccess()
            case "SCOPE_NARROWED":
                yield WidenScope()
            case _:
                continue
