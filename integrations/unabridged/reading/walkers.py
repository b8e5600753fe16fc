"""The walkers: pure functions from a page to `Follow` or to why the walk stops. None of them says `complete`."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, assert_never

from unabridged.contract.codes import ReasonCode
from unabridged.contract.ids import id_key, json_equal
from unabridged.profiles.conditions import truth_of
from unabridged.profiles.format import CountKind
from unabridged.profiles.paths import MISSING, Path, PathFailed, compile_path
from unabridged.profiles.walks import (
    Carry,
    KeyWalk,
    LinkWalk,
    OffsetWalk,
    RangeWalk,
    SimpleWalk,
    SingleWalk,
    StreamWalk,
    TokenWalk,
)

from .forms import says_two_totals, total_of, units_of
from .links import MalformedLink, absolute, origin, parse_link_header, targets_of
from .page import Page


@dataclass(unsafe_hash=True, slots=True)
class Step:
    """Where a request starts: the value to send, the address to follow, or neither on the first page."""

    value: Final[Any] = MISSING
    """A token or a key, sent as it is. Never shown."""
    url: Final[str | None] = None
    offset: Final[int] = 0
    carried: Final[tuple[Any, ...]] = ()
    """The latest values of responses that go back with the request, in the order of `carry`."""
    is_opening: Final[bool] = False
    """Whether the value is the profile's own first token."""

    @property
    def is_continuation(self) -> bool:
        """Whether the request carries a place that the source gave out."""
        return self.url is not None or (self.value is not MISSING and not self.is_opening)

    def __repr__(self) -> str:
        return f"<Step offset={self.offset}>"


@dataclass(frozen=True, slots=True)
class Counted:
    """A declared count of records, as one page states it."""

    value: int
    kind: CountKind


class View(NamedTuple):
    """What a walker may look at: one page, where it came from, and what the walk has seen so far."""

    page: Page
    step: Step
    sent: AbstractSet[Any]
    """The keys of every token, key and link that this walk has sent."""
    last_record: Any
    adds_new: bool
    """Whether the page brought a record that the walk had not seen."""
    raw_so_far: int
    unique: int | None
    """Unique ids so far; `None` where records have no identity."""
    size_sent: int | None
    size_asked: int | None
    """The size without what an overfetch adds."""
    size_used: int | None
    """The size that the server says it used."""
    counted: Counted | None
    total: Counted | None
    """The count that ends an offset walk."""
    url: str
    """The address of this page."""
    origin: tuple[str, str, int]
    """The origin of the read."""

    @property
    def raw(self) -> int:
        """Raw records of this page, padding among them."""
        return len(self.page.records)

    @property
    def is_counted(self) -> bool:
        """Whether an exact count equals the unique ids."""
        return self.counted is not None and self.counted.kind == "exact" and self.counted.value == self.unique


@dataclass(frozen=True, slots=True)
class Follow:
    """There is another page, and where."""

    step: Step


@dataclass(frozen=True, slots=True)
class Ended:
    """The source's own end rule fired."""

    rule: str
    why: Literal["ended"] = "ended"


@dataclass(frozen=True, slots=True)
class Silent:
    """The walk cannot go on, and the source has not said that this was all."""

    why: Literal["silent"] = "silent"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """The signals contradict each other, or loop."""

    detail: str
    why: Literal["anomaly"] = "anomaly"


@dataclass(frozen=True, slots=True)
class Bounded:
    """One bounded answer that is not known to be all: what bounds it."""

    findings: tuple[tuple[ReasonCode, str, int | None], ...]
    """Code, detail and limit of each bound."""
    why: Literal["bounded"] = "bounded"


Stop = Ended | Silent | Anomaly | Bounded
_SILENT: Final = Silent()


def walk(rules: SimpleWalk, view: View) -> Follow | Stop:
    """Returns where the walk goes from a page, or why it stops."""
    try:
        match rules:
            case TokenWalk():
                return _stated(_token(rules, view), rules.more_flag, view, says_more=True)
            case LinkWalk():
                return _link(rules, view)
            case KeyWalk():
                return _stated(_key(rules, view), rules.more_flag, view, says_more=True)
            case OffsetWalk():
                return _stated(_offset(rules, view), rules.last_flag, view, says_more=False)
            case SingleWalk():
                return _single(rules, view)
            case RangeWalk():
                return _range(rules, view)
            case StreamWalk():
                return _stream(view.page)
            case _:
                assert_never(rules)
    except PathFailed:
        return Anomaly("malformed_page")


def _stated(outcome: Follow | Stop, flag: str | None, view: View, *, says_more: bool) -> Follow | Stop:
    """An end is not stated where the flag of its page may say that there is more, in another spelling: `1`, `"Yes"`."""
    if flag is None or not isinstance(outcome, Ended):
        return outcome
    value = view.page.get(compile_path(flag))
    is_odd = not isinstance(value, bool) and value is not None and value is not MISSING
    return _SILENT if is_odd and truth_of(value) is says_more and _flag(view.page, flag) is None else outcome


def _flag(page: Page, path: str | None) -> bool | None:
    """Reads a flag: a boolean, or one of the texts "true" and "false". Anything else states nothing."""
    if path is None:
        return None
    match page.get(compile_path(path)):
        case bool() as value:
            return value
        case "true":
            return True
        case "false":
            return False
        case _:
            return None


def _empty(*, says_more: bool) -> Stop:
    """An empty page that ends a walk, unless it says itself that there is more."""
    return Anomaly("contradictory_signals") if says_more else Ended("empty_page")


def _token(rules: TokenWalk, view: View) -> Follow | Stop:
    ends = rules.ends_on
    more = None if rules.more_flag is None else _flag(view.page, rules.more_flag)
    if "empty_page" in ends and view.raw == 0:
        return _empty(says_more=more is True)
    if more is False and "flag" in ends:
        return Ended("flag")
    path = compile_path(rules.read)
    token = view.page.get(path)
    if token is MISSING or token is None:
        return _no_token(token, path, more=more, ends=ends)
    if token == "" and isinstance(token, str):
        match rules.empty_token:
            case "end":
                return Anomaly("continuation_missing") if more is True else Ended("empty")
            case "illegal":
                return Anomaly("illegal_token")
            case "cursor":
                pass
            case _:
                assert_never(rules.empty_token)
    if "zero" in ends and (json_equal(token, 0) or token == "0"):
        return Anomaly("continuation_missing") if more is True else Ended("zero")
    if view.step.value is not MISSING and rules.repeated_token == "end" and json_equal(token, view.step.value):
        return Anomaly("contradictory_signals") if more is True else Ended("same_token")
    if id_key(token) in view.sent and not (rules.repeated_token == "progress" and view.adds_new):
        return Anomaly("cursor_repeated")
    return Follow(Step(value=token, carried=_carried(rules.carry, view)))


def _carried(rules: Sequence[Carry], view: View) -> tuple[Any, ...]:
    """The latest values that go along. One that a page leaves out stays: without it another question would be asked."""
    if not rules:
        return ()
    found = [view.page.get(compile_path(rule.read)) for rule in rules]
    known = view.step.carried or (MISSING,) * len(found)
    return tuple([was if new is MISSING or new is None else new for new, was in zip(found, known, strict=True)])


def _no_token(token: Any, path: Path, *, more: bool | None, ends: tuple[str, ...]) -> Stop:
    if more is True:
        return Anomaly("continuation_missing")
    kinds = ("absent", "null") if path.kind == "expression" else ("absent" if token is MISSING else "null",)
    for kind in kinds:
        if kind in ends:
            return Ended(kind)
    return _SILENT


def _link(rules: LinkWalk, view: View) -> Follow | Stop:
    try:
        target = _target(rules, view)
    except MalformedLink:
        return Anomaly("malformed_link")
    if isinstance(target, Anomaly):
        return target
    if target is None:
        return Ended("no_link")
    if rules.same_origin and origin(target) != view.origin:
        return Anomaly("cross_origin_link")
    if id_key(target) in view.sent or (view.raw > 0 and not view.adds_new):
        return Anomaly("cursor_repeated")
    return Follow(Step(url=target))


def _target(rules: LinkWalk, view: View) -> str | Anomaly | None:
    if rules.where == "body":
        found = view.page.get(compile_path(rules.path or "@"))
        if found is MISSING or found is None:
            return None
        if not isinstance(found, str) or found == "":
            raise MalformedLink
        return absolute(found, context=view.url)
    header = view.page.headers.get("link")
    if header is None:
        return None
    targets = targets_of(parse_link_header(header), rel=rules.rel, context=view.url, live_flag=rules.live_flag)
    if len(targets) > 1:
        return Anomaly("contradictory_signals")
    return targets[0] if targets else None


def _key(rules: KeyWalk, view: View) -> Follow | Stop:
    more = _flag(view.page, rules.more_flag)
    if view.raw == 0 and "empty_page" in rules.ends_on:
        return _empty(says_more=more is True)
    if "flag" in rules.ends_on and more is False:
        return Ended("flag")
    if "short_page" in rules.ends_on and more is not True and _is_short(view):
        return Ended("short_page")
    if view.raw == 0:
        return Anomaly("contradictory_signals")
    if not view.adds_new:
        return Anomaly("cursor_repeated")
    key = compile_path(rules.from_item, page=False).read(view.last_record)
    if key is MISSING or key is None:
        return Anomaly("continuation_missing")
    if id_key(key) in view.sent:
        return Anomaly("cursor_repeated")
    return Follow(Step(value=key, carried=_carried(rules.carry, view)))


def _is_short(view: View) -> bool:
    """Fewer records than the size sent and than the size that the server says it used, as far as they are known.

    Where neither is, only an empty page is known to be short.
    """
    sizes = [size for size in (view.size_sent, view.size_used) if size is not None]
    return all(view.raw < size for size in sizes or (1,))


def _offset(rules: OffsetWalk, view: View) -> Follow | Stop:
    last = _flag(view.page, rules.last_flag)
    if view.raw == 0 and "empty_page" in rules.ends_on:
        return _empty(says_more=last is False)
    if "flag" in rules.ends_on and last is True:
        return Ended("flag")
    advance = _advance(rules, view)
    if "total" in rules.ends_on:
        stop = _total_reached(rules, view, advance)
        if stop is not None:
            return Anomaly("contradictory_signals") if last is False and isinstance(stop, Ended) else stop
    if "short_page" in rules.ends_on and last is not False and _is_short(view):
        return Ended("short_page")
    if advance is None:
        return Anomaly("continuation_missing")
    if advance == 0:
        return Anomaly("contradictory_signals")
    if view.raw > 0 and not view.adds_new:
        return Anomaly("cursor_repeated")
    return Follow(Step(offset=view.step.offset + advance))


def _advance(rules: OffsetWalk, view: View) -> int | None:
    if rules.unit == "page":
        return 1
    if rules.advance == "returned":
        return view.raw
    return view.size_used if view.size_used is not None else view.size_sent


def _total_reached(rules: OffsetWalk, view: View, advance: int | None) -> Stop | None:
    """Ends at a total that bounds the records from above; a lower bound or a page's own count bounds nothing."""
    if view.total is None:
        return _SILENT if rules.ends_on == ("total",) else None
    if rules.unit == "page":
        reached = view.raw_so_far >= view.total.value
    else:
        reached = view.step.offset + (advance or 0) - rules.origin >= view.total.value
    if not reached:
        return None
    if view.total.kind in ("exact", "before_permissions"):
        return Ended("total")
    return _SILENT if rules.ends_on == ("total",) else None


def _single(rules: SingleWalk, view: View) -> Stop:
    exact = _exact(rules, view)
    bounds: list[tuple[ReasonCode, str, int | None]] = []
    if exact is False:
        bounds.append(("APPROXIMATE_METHOD", "top_k", None))
    if rules.cap is not None and view.raw >= rules.cap and not view.is_counted:
        bounds.append(("RESULT_LIMIT_REACHED", "source_cap", rules.cap))
    overfetched = rules.overfetch is not None and view.size_asked is not None
    if overfetched and view.raw > (view.size_asked or 0):
        bounds.append(("CLIENT_LIMIT_REACHED", "page_size", view.size_asked))
    lowered = view.size_used is not None and (view.size_sent is None or view.size_used < view.size_sent)
    if lowered and view.raw >= (view.size_used or 0) and not view.is_counted:
        bounds.append(("RESULT_LIMIT_REACHED", "source_cap", view.size_used))
    full = not overfetched and view.size_sent is not None and view.raw >= view.size_sent
    if full and not view.is_counted:
        bounds.append(("CLIENT_LIMIT_REACHED", "page_size", view.size_sent))
    if bounds:
        return Bounded(tuple(bounds))
    if view.is_counted:
        return Ended("count")
    if rules.cap is not None:
        return Ended("below_cap")
    if overfetched:
        return Ended("overfetch")
    return Ended("exact_flag") if exact is True else _SILENT


def _exact(rules: SingleWalk, view: View) -> bool | None:
    """Tells whether the search was exact; `None` where the profile names no flag. Only true is true."""
    if rules.exact_flag is None:
        return None
    return view.page.get(compile_path(rules.exact_flag)) is True


def _range(rules: RangeWalk, view: View) -> Follow | Stop:
    """Goes on until the ranges cover the stated total without a gap."""
    units = units_of(rules, view.page)
    done = view.step.offset + units
    total = total_of(rules, view.page)
    if says_two_totals(rules, view.page):
        return Anomaly("contradictory_signals")
    if total is None:
        return _SILENT
    if done >= total:
        return Ended("range") if done == total else Anomaly("contradictory_signals")
    if units == 0:
        return Anomaly("contradictory_signals")
    if view.page.text is None and not view.adds_new:
        return Anomaly("cursor_repeated")
    return Follow(Step(offset=done))


def _stream(page: Page) -> Stop:
    match page.stream_end:
        case "ended":
            return Ended("terminator")
        case "cut":
            return Bounded((("TRANSPORT_TRUNCATED", "short_body", None),))
        case "contradictory":
            return Anomaly("contradictory_signals")
        case "silent":
            return _SILENT
        case _:
            assert_never(page.stream_end)
