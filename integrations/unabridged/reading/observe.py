"""What the pages of a read say about it, page by page: signals, counts, snapshots and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unabridged.contract.ids import id_key, is_token, json_equal, safe_value
from unabridged.contract.parts import Notice, Reason
from unabridged.profiles.conditions import When, truth_of
from unabridged.profiles.format import Count, CountKind, Profile, Signal
from unabridged.profiles.paths import MISSING, Path, PathFailed, compile_path
from unabridged.profiles.walks import OffsetWalk, RangeWalk

from .forms import total_of
from .page import Page
from .walkers import Counted

_KINDS: dict[str, CountKind] = {
    "exact": "exact",
    "lower_bound": "lower_bound",
    "estimate": "estimate",
    "capped": "capped",
    "page": "page",
    "before_permissions": "before_permissions",
}


@dataclass(frozen=True, slots=True)
class Kept:
    """What a chain remembers of its earlier pages."""

    pages: int = 0
    count: Counted | None = None
    exact: int | None = None
    """The last exact count."""
    snapshot: Any = MISSING
    snapshots: int = 0
    """How many pages stated a snapshot."""
    size_used: int | None = None
    at_least: int = 0
    """The highest exact count or lower bound."""
    before: int = 0
    """The highest count taken before permissions."""
    extent: int | None = None
    """How long a text is."""


class Observations:
    """Gathers what pages state. Reasons and warnings belong to one envelope, everything else to the chain."""

    def __init__(self, profile: Profile, *, source: str, kept: Kept) -> None:
        self._profile = profile
        self._source = source
        self._signals = tuple((signal, compile_path(signal.path)) for signal in profile.signals)
        self._denied = tuple((error.when, compile_path(error.path)) for error in profile.errors)
        self.pages = kept.pages
        self.count = kept.count
        self.exact = kept.exact
        self.snapshot = kept.snapshot
        self.snapshots = kept.snapshots
        self.size_used = kept.size_used
        self.at_least = kept.at_least
        self.before = kept.before
        self.page_used: int | None = None
        """The size that the server says it used for the last page."""
        self.extent = kept.extent
        walk = profile.paging
        self._validator = walk.validator if isinstance(walk, RangeWalk) else None
        self.start_link()

    def start_link(self) -> None:
        """Begins a new envelope of the same chain."""
        self.reasons: dict[tuple[Any, ...], Reason] = {}
        self.notices: dict[Any, Notice] = {}
        self.named: dict[str, str] = {}
        """Sources that the pages name as missing, and the code of each."""
        self.total_changed = self.count_changed = self.snapshot_changed = self.size_changed = False

    @property
    def kept(self) -> Kept:
        """What the next link of the chain starts from."""
        return Kept(
            self.pages, self.count, self.exact, self.snapshot, self.snapshots, self.size_used, self.at_least,
            self.before, self.extent,
        )  # fmt: skip

    @property
    def is_snapshot(self) -> bool:
        """Whether every page of the chain stated the same snapshot."""
        return self.pages > 0 and self.snapshots == self.pages and not self.snapshot_changed

    def add(self, page: Page) -> Counted | None:
        """Takes in one page, the empty last one included, and returns the count that it states."""
        self.pages += 1
        for signal, path in self._signals:
            self._signal(page, signal, path)
        for when, path in self._denied:
            if says_unclearly(page, path, when):
                self._unclear()
        counted = stated_count(page, self._profile)
        if counted is not None:
            self.counted(counted)
        if self._profile.snapshot is not None:
            self._snapshot(page, self._profile.snapshot.path)
        elif self._validator is not None:
            self._snapshot(page, self._validator)
        if page.text is not None:
            self._extent(page)
        if self._profile.size is not None:
            self._size(page)
        return counted

    def _signal(self, page: Page, signal: Signal, path: Any) -> None:
        try:
            value = page.get(path)
        except PathFailed:
            if not page.is_empty_status:
                self._unclear()
            return
        if not signal.when.holds(value):
            if signal.code is not None and says_unclearly(page, path, signal.when):
                self._unclear()
            return
        observed = {path.label: safe_value(value) if not isinstance(value, list | dict) else "<text>"}
        if signal.warning is not None:
            notice = Notice(
                code=signal.warning, severity="source", observed=observed, owner=signal.owner, expires=signal.expires
            )
            self.notices.setdefault((signal.warning, signal.path), notice)
        elif signal.code is not None:
            names = _source_names(value, start=len(self.named)) if signal.names_sources else []
            for name in names:
                self.named.setdefault(name, signal.code)
                self._reason(Reason(code=signal.code, detail=signal.detail, layer="source", source=name))
            if not names:
                stated = {"code": signal.code, "detail": signal.detail, "native": observed}
                self._reason(Reason(**stated, layer="source", source=self._source))

    def _unclear(self) -> None:
        """Something stands where a signal or an error is looked for, and cannot be told from one."""
        self._reason(Reason(code="PROTOCOL_ANOMALY", detail="unknown_value", source=self._source))

    def _reason(self, reason: Reason) -> None:
        self.reasons.setdefault((reason.code, reason.detail, reason.source), reason)

    def counted(self, counted: Counted) -> None:
        """Takes in a count."""
        if counted.kind == "exact":
            self.total_changed |= self.exact is not None and self.exact != counted.value
            self.exact = counted.value
        elif counted.kind != "page" and self.count is not None and self.count.kind != "page":
            self.count_changed |= self.count.value != counted.value
        if counted.kind in ("exact", "lower_bound"):
            self.at_least = max(self.at_least, counted.value)
        elif counted.kind == "before_permissions":
            self.before = max(self.before, counted.value)
        self.count = counted

    def _snapshot(self, page: Page, path: str) -> None:
        try:
            value = page.get(compile_path(path))
        except PathFailed:
            return
        if value is MISSING or value is None:
            return
        is_validator = path == self._validator
        self.snapshots += not (is_validator and is_weak(value))
        if self.snapshot is not MISSING and not _is_same(self.snapshot, value, is_validator=is_validator):
            self.snapshot_changed = True
        self.snapshot = value

    def differs(self, page: Page) -> bool:
        """Tells whether a page is known to come from another state than the pages before."""
        path = self._validator
        if path is None or self.snapshot is MISSING:
            return False
        try:
            value = page.get(compile_path(path))
        except PathFailed:
            return False
        return not (value is MISSING or value is None or _is_same(self.snapshot, value, is_validator=True))

    def _extent(self, page: Page) -> None:
        """How long a text is may not change while it is read."""
        walk = self._profile.paging
        total = total_of(walk, page) if isinstance(walk, RangeWalk) else None
        if total is not None:
            self.total_changed |= self.extent is not None and self.extent != total
            self.extent = total

    def _size(self, page: Page) -> None:
        size = self._profile.size
        used = None if size is None or size.read is None else used_size(page, self._profile)
        self.page_used = used
        if size is not None and size.max is not None and len(page.records) > size.max:
            self.size_changed = True
        if used is not None:
            self.size_changed |= self.size_used is not None and self.size_used != used
            self.size_used = used


def says_unclearly(page: Page, path: Path, when: When) -> bool:
    """Tells whether a page may say what a condition looks for, in another spelling or in another shape."""
    try:
        value = page.get(path)
    except PathFailed:
        return False
    if value is not MISSING:
        return when.may_hold(value)
    met = path.obstacle(page.body)
    return met is not MISSING and truth_of(met)


def is_weak(value: Any) -> bool:
    """Tells whether a validator says only that two states are alike, not that they are one."""
    return isinstance(value, str) and value.startswith("W/")


def _is_same(one: Any, other: Any, *, is_validator: bool) -> bool:
    """Compares two snapshot values; validators weakly (RFC 9110, 8.8.3.2): different ones are different states."""
    if is_validator:
        one, other = [v.removeprefix("W/") if isinstance(v, str) else v for v in (one, other)]
    return json_equal(one, other)


def used_size(page: Page, profile: Profile) -> int | None:
    """Returns the page size that the server says it used."""
    if profile.size is None or profile.size.read is None:
        return None
    try:
        value = page.get(compile_path(profile.size.read))
    except PathFailed:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def stated_count(page: Page, profile: Profile) -> Counted | None:
    """Returns the count that a page declares; an offset walk's `total` is an exact count where no `count` is given."""
    count = profile.count
    if count is not None:
        return read_count(page, count)
    walk = profile.paging
    if isinstance(walk, RangeWalk):
        units = None if walk.is_text else total_of(walk, page)
        return None if units is None else Counted(value=units, kind="exact")
    total = walk.total if isinstance(walk, OffsetWalk) else None
    return None if total is None else read_count(page, Count.model_construct(path=total, kind="exact"))


def read_count(page: Page, count: Count) -> Counted | None:
    """Returns what one declared count says on one page; missing, or no whole number, is not stated."""
    try:
        value = page.get(compile_path(count.path))
        kind = count.kind if count.kind_from is None else _kind_from(page, count.kind_from)
    except PathFailed:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1 or value < 0:
        return None
    if kind is None:
        return None
    if count.cap is not None and value >= count.cap:
        kind = "capped"
    return Counted(value=int(value), kind=kind)


def _kind_from(page: Page, mapping: dict[str, str]) -> CountKind | None:
    """A relation that the mapping does not list says nothing, so neither does the count."""
    value = page.get(compile_path(mapping["path"]))
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    return None if value is MISSING or text == "path" else _KINDS.get(mapping.get(text, ""))


def _source_names(value: Any, *, start: int) -> list[str]:
    """Returns the names found in a signal; what is no token is named by its position."""
    if isinstance(value, dict):
        found: list[Any] = list(value)
    elif isinstance(value, list):
        found = value
    else:
        found = [value]
    names: dict[Any, str] = {}
    for n, one in enumerate(found, start + 1):
        names.setdefault(id_key(one), one if is_token(one) else f"source-{n}")
    return list(names.values())
