"""Caveats and coverage: what an answer must admit, computed from the evidence and never taken from a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from unabridged.contract import Status, is_token, iso, printable_name
from unabridged.contract.ids import TEXT
from unabridged.evidence.header import SOFT_CODES, RecordedRead
from unabridged.evidence.strand import BLOCKED, CUT, Strand
from unabridged.evidence.view import Evidence, view_of

from . import catalogue
from .language import Language, language_or

_NAME: Final = re.compile(r"[\w .,:;/()+\-]{1,80}\Z")
_NAMED: Final = 5
"""How many resources, sources or limits a sentence names at most."""


class Caveat(str):
    """One caveat: its text, with the codes it stands for and the read it is about."""

    __slots__ = ("codes", "in_text", "read", "resource", "status")

    read: str
    """The id of the read; of a chain, its last link's."""
    resource: str
    status: Status
    codes: tuple[str, ...]
    in_text: bool
    """Whether it must stand in the text of the answer, not only in its data."""

    def __new__(
        cls, text: str, *, read: str, resource: str, status: Status, codes: tuple[str, ...], in_text: bool
    ) -> Caveat:
        caveat = super().__new__(cls, text)
        for name, value in (
            ("read", read), ("resource", resource), ("status", status), ("codes", codes), ("in_text", in_text),
        ):  # fmt: skip
            object.__setattr__(caveat, name, value)
        return caveat

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a caveat is frozen: {name}")

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (str(self),), {name: getattr(self, name) for name in Caveat.__slots__}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, self.__getnewargs_ex__()

    @property
    def text(self) -> str:
        """The caveat as a plain text."""
        return str.__str__(self)

    def to_wire(self) -> dict[str, Any]:
        """Returns the caveat as JSON."""
        return {
            "read": self.read,
            "resource": self.resource,
            "status": self.status,
            "codes": list(self.codes),
            "text": self.text,
        }


def _rebuild(args: tuple[str], fields: dict[str, Any]) -> Caveat:
    return Caveat(*args, **fields)


def caveats(reads: Iterable[object], *, language: str | None = None) -> tuple[Caveat, ...]:
    """Returns a caveat for every standing read that is not complete.

    Args:
        reads: results or recorded reads in their order, or the evidence of a session.
        language: `en` (the default) or `de`.
    """
    return caveats_of(view_of(reads), language_or(language), sweeping=True)


def caveats_of(view: Evidence, language: Language, *, sweeping: bool) -> tuple[Caveat, ...]:
    """Returns the caveats of the standing reads.

    Args:
        view: the evidence.
        language: the language of the answer.
        sweeping: whether the answer speaks of absence, totality or a number; else a sample or an approximate search
            is named in the data only.
    """
    return tuple([_caveat(s, language, sweeping=sweeping) for s in view.standing if not is_whole(s)])


def is_whole(strand: Strand) -> bool:
    """Tells whether a standing read was read and shown as a whole."""
    return not strand.pending and BLOCKED not in strand.flags and CUT not in strand.flags


def codes_of(strand: Strand) -> tuple[str, ...]:
    """Returns the reason codes of a standing read, those of its presentation and of being in flight among them."""
    if strand.pending:
        return ("JOB_NOT_FINISHED",)
    cut = CUT in strand.flags and "PRESENTATION_LIMIT" not in strand.codes
    return (*strand.codes, "PRESENTATION_LIMIT") if cut else strand.codes


def status_of(strand: Strand) -> Status:
    """Returns the status of a standing read as it was shown."""
    return "partial" if strand.complete and CUT in strand.flags else strand.status


def is_by_choice(strand: Strand) -> bool:
    """Tells whether a read falls short only because a sample or an approximate search was asked for."""
    if strand.pending or strand.dead:
        return False
    codes = set(strand.codes)
    if "SAMPLE_REQUESTED" in codes:
        codes.discard("MORE_PAGES_AVAILABLE")  # that a sample leaves pages on offer is what makes it one
    return bool(codes) and codes <= SOFT_CODES


def _caveat(strand: Strand, language: Language, *, sweeping: bool) -> Caveat:
    by_choice = is_by_choice(strand)
    return Caveat(
        _text(strand, language, by_choice=by_choice),
        read=strand.head.id,
        resource=strand.resource,
        status=status_of(strand),
        codes=codes_of(strand),
        in_text=sweeping or not by_choice,
    )


def _text(strand: Strand, language: Language, *, by_choice: bool) -> str:
    what = _scope(strand, language)
    if strand.pending:
        kind = "pending"
    elif by_choice:
        kind = "sample" if "SAMPLE_REQUESTED" in strand.codes else "approximate"
    elif CUT in strand.flags:
        kind = "shown"
    else:
        kind = strand.status
    template = catalogue.CAVEATS[kind][language]
    selection = strand.head.selection
    picked = f" ({selection})" if selection and selection != TEXT else ""
    return template.format(what=what, selection=picked, why=" ".join(_whys(strand, language))).strip()


def _whys(strand: Strand, language: Language) -> list[str]:
    details = {r.code: r.detail for link in strand.links[-1:] for r in link.reasons}
    sentences = []
    for code in strand.codes:
        special = catalogue.WHY_DETAIL.get(f"{code}:{details.get(code)}")
        dead = _dead_sources(strand.head) if code == "SOURCE_UNAVAILABLE" else []
        if special is None and dead:
            names = catalogue.WHY_DETAIL["SOURCE_UNAVAILABLE:named"][language]
            sentences.append(names.format(names=_listed(dead, language)))
        else:
            sentences.append((special or catalogue.WHY.get(code, catalogue.UNKNOWN_CODE))[language])
    return sentences


def _dead_sources(read: RecordedRead) -> list[str]:
    if len(read.sources) < 2:
        return []
    return [
        name if is_token(name) else f"source-{n}"
        for n, (name, status) in enumerate(read.sources, 1)
        if status == "unavailable"
    ]


def _listed(names: list[str], language: Language) -> str:
    more = len(names) - _NAMED
    shown = names[:_NAMED]
    return ", ".join([*shown, catalogue.AND_MORE[language].format(count=more)] if more > 0 else shown)


def scope_name(
    resource: str,
    fields: Iterable[str],
    language: Language,
    *,
    window: str | None = None,
    excludes: Sequence[str] = (),
    fully: bool = False,
) -> str:
    """Returns a resource with the names of its filters, never their values, and with the limits of its source."""
    if resource.startswith("tool:"):
        return catalogue.UNDECLARED[language].format(resource=_plain(resource.removeprefix("tool:")))
    names = [printable_name(name) for name in fields]
    parts = [catalogue.UNFILTERED[language]] if fully else []
    if names:
        parts = [catalogue.FILTERED[language].format(fields=_listed(names, language))]
    if window:
        parts.append(catalogue.WINDOW[language].format(window=window))
    if excludes:
        parts.append(catalogue.WITHOUT[language].format(excluded=_listed(list(excludes), language)))
    return f"{_plain(resource)} ({'; '.join(parts)})" if parts else _plain(resource)


def _scope(strand: Strand, language: Language, *, fully: bool = False) -> str:
    head = strand.head
    return scope_name(
        strand.resource, head.fields, language, window=head.window, excludes=head.excludes, fully=fully
    )  # fmt: skip


def _plain(resource: str) -> str:
    """Returns the name of a resource as its author gave it, as long as it looks like a name."""
    return resource if _NAME.match(resource) else TEXT


def checked_line(view: Evidence, language: Language) -> str | None:
    """Returns one line on what was checked, in which scope, between which times, and whether in one snapshot."""
    strands = [s for s in view.standing if is_whole(s)]
    if not strands:
        return None
    names = list(dict.fromkeys(_scope(s, language, fully=True) for s in strands))
    start = _second(min(s.start for s in strands))
    end = _second(max(s.head.finished_at for s in strands))
    when = catalogue.AT if start == end else catalogue.BETWEEN
    if any(s.consistency != "snapshot" for s in strands):
        state = catalogue.INTERVAL
    else:
        state = catalogue.ONE_SNAPSHOT if len(strands) == 1 else catalogue.SNAPSHOTS
    return catalogue.CHECKED[language].format(
        what=_listed(names, language), when=when[language].format(start=start, end=end), state=state[language]
    )


def _second(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def coverage_of(view: Evidence) -> dict[str, Any]:
    """Returns what was read, as plain JSON without a value: the coverage that goes with an answer."""
    strands = view.standing
    return {"complete": all(is_whole(s) for s in strands), "reads": [_coverage(s) for s in strands]}


def _coverage(strand: Strand) -> dict[str, Any]:
    line: dict[str, Any] = {
        "read": strand.head.id,
        "resource": _plain(strand.resource),
        "filters": [printable_name(name) for name in strand.head.fields],
        "intent": strand.intent,
        "status": status_of(strand),
        "codes": list(codes_of(strand)),
        "consistency": strand.consistency,
        "snapshot": strand.consistency == "snapshot",
        "window": strand.head.window,
        "excludes": list(strand.head.excludes),
        "visibility": "all" if strand.visibility_all else strand.head.visibility,
    }
    if is_whole(strand):
        line["records"] = strand.returned
    if strand.head.origin == "read":
        line["started_at"] = iso(strand.start)
        line["finished_at"] = iso(strand.head.finished_at)
    return line
