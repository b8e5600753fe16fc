"""The loop: one decision core for every driver. It asks for requests and waits, and never does either itself.

`Loop.run` is a generator: it yields `Send`, `Sleep` and, in a stream, `Emit`, takes the answers, and returns the
result of the read.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable
from typing import Any

from unabridged import _trail
from unabridged.contract.codes import ReasonCode
from unabridged.contract.ids import id_key, new_read_id
from unabridged.contract.results import ReadResult
from unabridged.profiles.format import Count
from unabridged.profiles.walks import FanoutWalk, LinkWalk, OffsetWalk, SimpleWalk, SingleWalk

from .ask import Ask, Chain, Command, Emit, Send, Sleep
from .classify import MALFORMED, classify
from .envelope import envelope
from .observe import Observations, read_count
from .page import Failure, Page
from .records import Collector, MalformedRecord, RecordRules, Taken
from .requests import CannotSend, Plan, plan_read
from .spend import Spend
from .transport import Fault, Request, Response
from .walkers import Anomaly, Counted, Follow, Step, Stop, View, walk

Reading = Generator[Command, Response | Fault | None, ReadResult]


class Loop:
    """One read of one source, or one link of its chain."""

    def __init__(self, ask: Ask, chain: Chain, spend: Spend | None = None) -> None:
        if isinstance(ask.profile.walk, FanoutWalk):
            raise TypeError("a fan-out is read by read_fanout")
        self.ask = ask
        self.plan: Plan = plan_read(ask.profile, ask.query, url=ask.url, headers=ask.headers, source=ask.source)
        self.walk: SimpleWalk = ask.profile.walk
        self.rules = RecordRules.of(ask.profile)
        self.spend = spend or Spend(budget=ask.budget, clock=ask.clock, started=ask.clock.monotonic())
        self.seen = Observations(ask.profile, source=ask.source or ask.profile.name, kept=chain.kept)
        self.collector = Collector(self.rules, chain.seen, raw=chain.raw, across=chain.across)
        self.sent: set[Hashable] = set(chain.sent)
        self.first_step = self.plan.first_step
        self.step: Step = chain.step or self.first_step
        self.stop: Stop | None = chain.stop
        self.failure: Failure | None = None
        self.limits: tuple[tuple[ReasonCode, str, int | None], ...] = ()
        self.window = chain.window
        self.window_hit = chain.step is not None and chain.stop is None and self._is_beyond(chain.step)
        self.last_raw = chain.last_raw
        self.is_sampled = False
        self.streamed = 0
        """Records that earlier envelopes of this run hold."""
        self._start_link(continues=chain.read_id)
        self.collector.start_link(chain.rest)
        self.has_content = bool(chain.rest)

    def _start_link(self, *, continues: str | None) -> None:
        self.read_id = new_read_id()
        self.continues = continues
        self.started_at = self.ask.clock.now()
        self.requests_before = self.spend.requests
        self.link_pages = 0
        self.retried = 0
        self.has_content = False

    @property
    def on_offer(self) -> bool:
        """Whether the walk could go on from a page that the chain has read, and was not asked to."""
        is_begun = self.has_content or self.seen.pages > 0
        return self.stop is None and self.failure is None and not self.window_hit and is_begun

    def run(self, *, stream: bool = False) -> Reading:
        """Reads until the walk stops, a budget is spent or a failure stands."""
        self._trim()
        while self.stop is None and not self.window_hit:
            self.limits = self.spend.exhausted(len(self.collector.items))
            if self.limits or self.is_sampled:
                break
            if stream and self.has_content:
                yield Emit(envelope(self, more_to_come=True))
                self._next_link()
            request = self._request()
            if request is None:
                break
            outcome = yield from self._fetch(request)
            if isinstance(outcome, Failure):
                self.failure = outcome
                break
            self._take(*outcome)
        return envelope(self)

    def _next_link(self) -> None:
        self.spend.items += len(self.collector.items)
        self.streamed += len(self.collector.items)
        self._start_link(continues=self.read_id)
        self.collector.start_link()
        self.seen.start_link()

    def _request(self) -> Request | None:
        """Returns the next request; a place that cannot be sent is an illegal one."""
        try:
            request = self.plan.request(self.step)
        except CannotSend:
            self.stop = Anomaly("illegal_token")
            return None
        if self.step.is_continuation:
            self.sent.add(id_key(_place_of(self.step)))
        elif isinstance(self.walk, LinkWalk):
            self.sent.add(request.full_url)
        return request

    def _fetch(
        self, request: Request
    ) -> Generator[Command, Response | Fault | None, tuple[Page, Taken, str] | Failure]:
        """Sends a request, again where that is safe and within the budget, and returns the page or the failure."""
        waited = 0
        is_first = not self.step.is_continuation and self.step.offset == self.first_step.offset
        while True:
            self.spend.requests += 1
            reply = yield Send(request, self.spend.remaining_s)
            if not isinstance(reply, Response | Fault):
                raise TypeError("a driver answers Send with a Response or a Fault")
            self.spend.size_bytes += len(reply.body)
            outcome = self._classified(reply, request.full_url, is_first=is_first)
            if not isinstance(outcome, Failure):
                return outcome
            pause = self._pause(outcome, waited)
            if pause is None:
                return outcome
            waited += outcome.wait_s is not None
            self.retried += 1
            if pause > 0:
                yield Sleep(pause)

    def _classified(self, reply: Response | Fault, url: str, *, is_first: bool) -> tuple[Page, Taken, str] | Failure:
        page = classify(reply, self.ask.profile, continuation_sent=not is_first, now=self.ask.clock.now())
        if isinstance(page, Failure):
            return page
        address = reply.url if isinstance(reply, Response) and reply.url is not None else url
        try:
            return page, self.rules.take(page.records), address
        except MalformedRecord:
            return MALFORMED

    def _pause(self, failure: Failure, waited: int) -> float | None:
        """Returns the seconds to wait before the same request is sent again, or nothing when it is not."""
        spend = self.spend
        if not failure.resend or not spend.may_resend():
            return None
        remaining = spend.remaining_s
        if failure.wait_s is not None:
            fits = remaining is not None and failure.wait_s < remaining
            return failure.wait_s if fits and waited < self.ask.retries.waits else None
        if spend.retries >= spend.budget.max_retries:
            return None
        pause = self.ask.retries.backoff_s(spend.retries + 1)
        if remaining is not None and pause >= remaining:
            return None
        spend.retries += 1
        return pause

    def _take(self, page: Page, taken: Taken, url: str) -> None:
        raw = len(page.records)
        self.link_pages += 1
        self.has_content = True
        self.spend.pages += 1
        self.last_raw = raw
        before = len(self.collector.seen)
        cursor = _place_of(self.step) if self.step.is_continuation else None
        adds_new = self.collector.absorb(taken, raw=raw)
        counted = self.seen.add(page)
        if isinstance(self.walk, OffsetWalk):
            is_item = self.walk.unit == "item"
            self.window = self.step.offset - self.walk.origin + raw if is_item else self.collector.raw
        outcome = walk(self.walk, self._view(page, taken, url, adds_new, counted))
        if isinstance(outcome, Follow):
            self._follow(outcome.step)
        else:
            self.stop = outcome
        self._trim()
        _trail.page(
            query_id=self.ask.query_id,
            filters=self.plan.sent_filters,
            elapsed_s=self.spend.elapsed_s,
            received=raw,
            used=len(self.collector.seen) - before if taken.keys is not None else raw,
            cursor=cursor,
        )

    def _follow(self, step: Step) -> None:
        """Goes on, unless the next request would stand at or beyond a window that the source declares."""
        self.step = step
        self.window_hit = self._is_beyond(step)

    def _is_beyond(self, step: Step) -> bool:
        if not isinstance(self.walk, OffsetWalk):
            return False
        depth = step.offset - self.walk.origin if self.walk.unit == "item" else self.collector.raw
        is_hit = any(cap.on == "window" and depth >= cap.limit for cap in self.ask.profile.caps)
        if is_hit:
            self.window = max(self.window, depth)
        return is_hit

    def _view(self, page: Page, taken: Taken, url: str, adds_new: bool, counted: Counted | None) -> View:
        return View(
            page=page,
            step=self.step,
            sent=self.sent,
            last_record=taken.records[-1] if taken.records else (page.records[-1] if page.records else None),
            adds_new=adds_new,
            raw_so_far=self.collector.raw,
            unique=None if taken.keys is None else len(self.collector.seen),
            size_sent=self.plan.size_sent,
            size_asked=self.plan.size_asked,
            size_used=self.seen.page_used,
            counted=counted,
            total=self._total(page, counted),
            url=url,
            origin=self.plan.origin,
        )

    def _total(self, page: Page, counted: Counted | None) -> Counted | None:
        """The number that ends an offset walk; its kind is the declared count's where both stand at one place."""
        if not isinstance(self.walk, OffsetWalk) or "total" not in self.walk.ends_on:
            return None
        declared = self.ask.profile.count
        if self.walk.total is None or (declared is not None and declared.path == self.walk.total):
            return counted
        return read_count(page, Count.model_construct(path=self.walk.total, kind="exact"))

    def _trim(self) -> None:
        """Cuts the envelope to exactly what may be delivered; what was read beyond it waits for the next link."""
        query, collector = self.ask.query, self.collector
        if collector.trim(self.spend.most_items):
            spent = self.spend.exhausted(len(collector.items))
            self.limits = tuple(limit for limit in spent if limit[1] == "max_items")
        if query.intent == "sample" and self.has_content:
            wanted = None if query.page_size is None else max(0, query.page_size - self.streamed)
            collector.trim(wanted)
            self.is_sampled = wanted is None or len(collector.items) >= wanted
        asked = self.plan.size_asked
        if isinstance(self.walk, SingleWalk) and self.walk.overfetch is not None and self.link_pages:
            collector.trim(asked)


def _place_of(step: Step) -> Any:
    return step.value if step.url is None else step.url
