"""The loop: one decision core for every driver. It asks for requests and waits, and never does either itself.

`Loop.run` is a generator: it yields `Send`, `Sleep` and, in a stream, `Emit`, takes the answers, and returns the
result of the read.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable
from typing import Any, Final, Literal

from unabridged import _trail
from unabridged.contract.codes import ReasonCode
from unabridged.contract.ids import id_key, new_read_id
from unabridged.contract.results import ReadResult
from unabridged.profiles.combinators import FanoutWalk, PartitionWalk
from unabridged.profiles.format import Count
from unabridged.profiles.walks import JobWalk, LinkWalk, OffsetWalk, RangeWalk, SimpleWalk, SingleWalk

from .ahead import Foresight
from .ask import Ask, Chain, Command, Emit, Send, Sleep
from .classify import MALFORMED, classify, is_plain, plain_page
from .envelope import envelope
from .excerpts import Pieces
from .forms import CHANGED, Running, units_of
from .observe import Kept, Observations, read_count
from .page import Failure, Page
from .records import Collector, MalformedRecord, RecordRules, Taken
from .requests import CannotSend
from .spend import Spend
from .transport import Fault, Request, Response
from .walkers import Anomaly, Counted, Ended, Follow, Silent, Step, Stop, View, walk

Reading = Generator[Command, Any, ReadResult]
_AT_TOTAL: Final = Ended("total")


class Loop:
    """One read of one source, or one link of its chain."""

    def __init__(self, ask: Ask, chain: Chain, spend: Spend | None = None) -> None:
        self.ask = ask
        self.plan = ask.plan
        paging = ask.profile.paging
        if isinstance(paging, FanoutWalk | PartitionWalk | JobWalk):
            raise TypeError("a combinator is read by its own module")
        self.walk: SimpleWalk = paging
        self.job = ask.profile.walk if isinstance(ask.profile.walk, JobWalk) else None
        self.rules = RecordRules.of(ask.profile)
        self.is_plain = is_plain(ask.profile)
        self.spend = spend or Spend(budget=ask.budget, clock=ask.clock, started=ask.clock.monotonic())
        self.seen = Observations(ask.profile, source=ask.name, kept=chain.kept)
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
        self.job_state: Literal["running", "partial"] | None = None
        """What is known of a job that is not through."""
        self.may_restart = chain.read_id is None and chain.step is None
        self.streamed = 0
        """Records that earlier envelopes of this run hold."""
        self.foresight = Foresight(self) if ask.in_flight > 1 and isinstance(paging, OffsetWalk) else None
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
        self.claimed = 0
        self.text = None
        if isinstance(self.walk, RangeWalk) and self.walk.unit != "items":
            self.text = Pieces(self.walk.unit, self.step.offset)

    @property
    def on_offer(self) -> bool:
        """Whether the walk could go on from a page that the chain has read, and was not asked to."""
        is_begun = self.has_content or self.seen.pages > 0
        if self.stop is not None or self.failure is not None or self.window_hit:
            return False
        return is_begun and self.job_state != "running"

    def run(self, *, stream: bool = False) -> Reading:
        """Reads until the walk stops, a budget is spent or a failure stands."""
        self._trim()
        while self.stop is None and not self.window_hit:
            self.limits = self.spend.exhausted()
            if self.limits or self.is_sampled:
                break
            if stream and self.has_content:
                yield Emit(envelope(self, more_to_come=True))
                self._next_link()
            request = self._request()
            if request is None:
                break
            self.spend.in_flight += 1
            outcome = yield from self._fetch(request)
            self.spend.in_flight -= 1
            if outcome is None:
                break
            if isinstance(outcome, Failure):
                if outcome.restarts and self.may_restart:
                    self._restart()
                    continue
                self.failure = outcome
                break
            self._take(*outcome)
        result = envelope(self)
        self.spend.items += result.returned - self.claimed
        return result

    def _restart(self) -> None:
        """Begins again from the first page, once; what the first walk brought is dropped and merged with nothing."""
        ask = self.ask
        self.spend.items -= self.claimed
        self.claimed = 0
        self.seen = Observations(ask.profile, source=ask.name, kept=Kept())
        self.collector = Collector(self.rules)
        self.sent = set()
        self.step, self.may_restart = self.first_step, False
        self.window, self.last_raw, self.link_pages, self.has_content = 0, None, 0, False
        self.job_state = None
        self.retried += 1
        if self.text is not None and isinstance(self.walk, RangeWalk) and self.walk.unit != "items":
            self.text = Pieces(self.walk.unit, 0)

    def _next_link(self) -> None:
        self.may_restart = False
        if self.text is not None:
            self.step = Step(offset=self.text.next_start)
        self.streamed += len(self.collector.items)
        self._start_link(continues=self.read_id)
        self.collector.start_link()
        self.seen.start_link()

    def _request(self) -> Request | None:
        """Returns the next request; a place that cannot be sent is an illegal one."""
        try:
            foreseen = None if self.foresight is None else self.foresight.request(self.step)
            request = foreseen or self.plan.request(self.step)
        except CannotSend:
            self.stop = Anomaly("illegal_token")
            return None
        if self.step.is_continuation or self.step.is_opening:
            self.sent.add(id_key(_place_of(self.step)))
        elif isinstance(self.walk, LinkWalk):
            self.sent.add(request.full_url)
        return request

    def _fetch(self, request: Request) -> Generator[Command, Any, tuple[Page, Taken, str] | Failure | None]:
        """Sends a request, again where that is safe and within the budget, and returns the page or the failure.

        Nothing is returned where a job was still running when a budget was spent; a budget that ends while
        the state of such a job is asked for is a failure that knows the same.
        """
        waited = 0
        was_running = False
        is_first = not self.step.is_continuation and self.step.offset == self.first_step.offset
        while True:
            self.spend.requests += 1
            ahead = () if self.foresight is None else self.foresight.following()
            reply = yield Send(request, self.spend.remaining_s, ahead)
            if not isinstance(reply, (Response, Fault)):
                raise TypeError("a driver answers Send with a Response or a Fault")
            self.spend.size_bytes += len(reply.body)
            outcome = self._classified(reply, request.full_url, is_first=is_first)
            if isinstance(outcome, Running):
                was_running = True
                if self._may_not_poll():
                    return None
                yield Sleep(self.poll_s)
                continue
            if not isinstance(outcome, Failure):
                return outcome
            pause = self._pause(outcome, waited)
            if pause is None:
                if was_running and outcome.code == "TIME_BUDGET_EXCEEDED":
                    self.job_state = "running"
                return outcome
            waited += outcome.wait_s is not None
            self.retried += 1
            if pause > 0:
                yield Sleep(pause)

    @property
    def poll_s(self) -> float:
        """Seconds between two questions for the state of a job."""
        return 0.0 if self.job is None else self.job.poll_s

    def _may_not_poll(self) -> bool:
        """Tells whether a budget ends before a running job may be asked again, and notes which."""
        self.limits = self.spend.exhausted(own=1)
        remaining = self.spend.remaining_s
        if not self.limits and remaining is not None and self.poll_s >= remaining:
            self.limits = (("TIME_BUDGET_EXCEEDED", "max_seconds", None),)
        self.job_state = "running" if self.limits else None
        return bool(self.limits)

    def _classified(
        self, reply: Response | Fault, url: str, *, is_first: bool
    ) -> tuple[Page, Taken, str] | Failure | Running:
        profile = self.ask.profile
        if self.is_plain and isinstance(reply, Response) and reply.status == 200:
            page: Page | Failure | Running = plain_page(reply, profile)
        else:
            now, asked = self.ask.clock.now(), self.plan.asked(self.step)
            page = classify(reply, profile, continuation_sent=not is_first, now=now, asked=asked)
        if not isinstance(page, Page):
            return page
        if page.text is not None and self.seen.differs(page):
            return CHANGED
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
        asked_at = self.step
        adds_new = self.collector.absorb(taken, raw=raw)
        counted = self.seen.add(page)
        if page.is_partial_job:
            self.job_state = "partial"
        if self.text is not None and page.text is not None and isinstance(self.walk, RangeWalk):
            self.text.add(page.text, units=units_of(self.walk, page))
            self.text.total = self.seen.extent
        if self.walk.by == "offset":
            is_item = self.walk.unit == "item"
            self.window = asked_at.offset - self.walk.origin + raw if is_item else self.collector.raw
        outcome = walk(self.walk, self._view(page, taken, url, adds_new, counted))
        if isinstance(outcome, Follow):
            self._follow(outcome.step)
        else:
            self._end(outcome, page, counted)
        self._trim()
        if _trail.is_kept():
            _trail.page(
                query_id=self.ask.query_id,
                filters=self.plan.sent_filters,
                elapsed_s=self.spend.elapsed_s,
                received=raw,
                used=len(self.collector.seen) - before if taken.keys is not None else raw,
                cursor=_place_of(asked_at) if asked_at.is_continuation else None,
            )

    def _end(self, stop: Stop, page: Page, counted: Counted | None) -> None:
        """Notes why the walk stops."""
        total = self._total(page, counted) if stop == _AT_TOTAL else None
        if total is not None and total.kind == "exact":
            self.seen.at_least = max(self.seen.at_least, total.value)
        if self.job is not None and isinstance(stop, Silent) and self.walk == SingleWalk(by="single"):
            stop = Ended("job")
        self.stop = stop

    def _follow(self, step: Step) -> None:
        """Goes on, unless the next request would stand at or beyond a window that the source declares."""
        self.step = step
        self.window_hit = self.walk.by == "offset" and self._is_beyond(step)

    def _is_beyond(self, step: Step) -> bool:
        if self.walk.by != "offset":
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
        if self.walk.by != "offset" or "total" not in self.walk.ends_on:
            return None
        declared = self.ask.profile.count
        if self.walk.total is None or (declared is not None and declared.path == self.walk.total):
            return counted
        return read_count(page, Count.model_construct(path=self.walk.total, kind="exact"))

    def _trim(self) -> None:
        """Cuts the envelope to exactly what may be delivered; what was read beyond it waits for the next link."""
        query, collector = self.ask.query, self.collector
        most = self.spend.most_items
        is_cut = collector.trim(None if most is None else most + self.claimed)
        self.spend.items += len(collector.items) - self.claimed
        self.claimed = len(collector.items)
        if is_cut:
            self.limits = tuple(limit for limit in self.spend.exhausted() if limit[1] == "max_items")
        if query.intent == "sample" and self.has_content:
            wanted = None if query.page_size is None else max(0, query.page_size - self.streamed)
            collector.trim(wanted)
            self.is_sampled = wanted is None or self.text is not None or len(collector.items) >= wanted
        asked = self.plan.size_asked
        if self.walk.by == "single" and self.walk.overfetch is not None and self.link_pages:
            collector.trim(asked)


def reading_of_one(ask: Ask, chain: Chain, spend: Spend | None = None, *, stream: bool = False) -> Reading:
    """Returns the decision core of a read of one source."""
    if isinstance(ask.profile.walk, PartitionWalk):
        from .partition import read_partition

        return read_partition(ask, chain, spend, stream=stream)
    return Loop(ask, chain, spend).run(stream=stream)


def _place_of(step: Step) -> Any:
    return step.value if step.url is None else step.url
