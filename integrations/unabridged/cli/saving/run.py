"""One run of `unabridged read`: pages are saved as they come, and whatever ends it, the files say what they hold."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

from unabridged.contract.errors import InvalidInput
from unabridged.contract.results import ReadResult, resume_of
from unabridged.reading import Resume, SystemClock, Transport
from unabridged.reading.api import Driving, _start, _transport
from unabridged.reading.ask import Emit
from unabridged.reading.cancelled import cancelled_read
from unabridged.reading.driving import Crew
from unabridged.reading.loop import Loop
from unabridged.reading.run import finish_pages

from .credentials import Secrets
from .ids import Ids, Reconciled, reconcile
from .lines import PartFile, can_lock, last_of_each
from .place import PAGED, is_resumable, place_of
from .progress import Progress
from .signals import Interrupted, Interruptible
from .start import Files, SaveJob, Start, begin, put_back
from .status import NOTES, Checkpoint, State, Status, write_status
from .sweeper import Sweeper

EXIT_CODES: Final = {"complete": 0, "partial": 3, "unknown": 3, "unavailable": 4}
_EVERY_S: Final = 2.0
"""How often the status is brought to the disk while a run goes on."""


@dataclass(frozen=True)
class Saved:
    """What became of a run."""

    header: dict[str, Any]
    """The wire form of the whole, without items."""
    state: Literal["finished", "interrupted", "failed"]

    @property
    def exit_code(self) -> int:
        """0 complete, 3 partial or unknown, 4 unavailable."""
        return EXIT_CODES[self.header["status"]]


def save(job: SaveJob, *, progress: Progress, transport: Transport | None = None) -> Saved:
    """Reads a source to its end and saves every page as it arrives.

    Args:
        job: what is read, and where it goes.
        progress: where notes go.
        transport: sends the requests; over HTTP when not given.

    Raises:
        InvalidInput: an argument breaks a rule, or a file is in the way. Nothing was sent then.
    """
    resume = _start(job.profile, job.query, job.url, job.headers, job.budget, Driving(job.in_flight))
    with Interruptible(armed=False) as stop:
        try:
            start = begin(job, now=resume.ask.clock.now(), say=progress.say)
        except OSError:
            raise _unwritable() from None
        with start:
            try:
                run = _Run(job, start, replace(resume, chain=start.chain), progress)
            except OSError:
                start.undo()
                raise _unwritable() from None
            return run.to_its_end(transport or _transport(None, job.budget), stop)


def _unwritable() -> InvalidInput:
    return InvalidInput(field="--output", rule="must lie where files can be written and renamed")


class _Run:
    def __init__(self, job: SaveJob, start: Start, resume: Resume, progress: Progress) -> None:
        self._job = job
        self._start = start
        self._resume = resume
        self._progress = progress
        self._whole = start.whole
        self._whole.axis = job.profile.order.by if job.profile.order is not None else None
        self._ids = Ids(job.profile)
        self._secrets = Secrets.of(job.headers, url=job.url)
        self._keeps_place = is_resumable(job.profile)
        self._place = start.place
        self._records = start.records
        self._saved_at: datetime = resume.ask.clock.now()
        self._durable_at = 0.0
        self._loop = Loop(resume.ask, resume.chain) if job.profile.walk.by in PAGED else None
        self._write("running")
        self._sweeper: Sweeper | None = None
        if start.files is not None and can_lock():
            self._sweeper = Sweeper(part=start.files.part, status=start.files.status, note=NOTES["killed"])

    def to_its_end(self, transport: Transport, stop: Interruptible) -> Saved:
        """Reads until the read ends, a signal comes or a page cannot be saved."""
        state: Literal["finished", "interrupted", "failed"] = "finished"
        try:
            stop.arm()
            try:
                with closing(self._links(transport)) as links:
                    for link in links:
                        with stop.held():
                            self._take(link)
            except OSError as error:
                state = "failed"
                self._progress.say(f"a page could not be saved: {error.strerror or type(error).__name__}")
            stop.disarm()
        except Interrupted as signal:
            state = "interrupted" if state == "finished" else state
            self._progress.say(f"stopped by {signal.name}")
        if self._whole.last is None:
            self._whole.add(cancelled_read(self._resume))
        header = self._header(state)
        try:
            self._close(state, header)
        except OSError as error:
            state = "failed"
            self._progress.say(f"the files could not be closed: {error.strerror or type(error).__name__}")
            header = self._header(state)  # records that are not where a whole read leaves them are no whole read
            with suppress(OSError):
                self._write(state, header)
        if self._sweeper is not None:
            self._sweeper.dismiss()
        return Saved(header=header, state=state)

    def _links(self, transport: Transport) -> Generator[ReadResult, None, None]:
        if self._loop is None:
            return (link for link in finish_pages(self._resume, transport=transport, records=False))
        return _pages_of(self._loop, transport)

    def _take(self, link: ReadResult) -> None:
        """Saves a page, then what is known of it: a run that is killed in between has more than it says, never less."""
        items = link.items or []
        self._start.sink.append(items)
        if self._ids.exist:
            self._start.digest.add(self._ids.of(items))
        self._records += len(items)
        self._whole.add(link)
        if link.items is None and self._job.profile.on_failure == "unavailable":
            self._whole.has_content = False
        again = 0 if self._loop is None else self._loop.collector.across
        self._whole.unique = max(0, self._records - again)
        self._saved_at = link.read.finished_at
        self._place = self._next_place(link)
        self._write("running")
        self._progress.page(pages=self._whole.pages, records=self._whole.unique)

    def _next_place(self, link: ReadResult) -> Any:
        """Returns where a later run may go on, as far as the profile allows that and no secret stands in it."""
        loop = self._loop
        if loop is None or not self._keeps_place:
            return None
        is_last = bool(loop.limits) or loop.stop is not None or loop.failure is not None or loop.window_hit
        if is_last:
            resume = resume_of(link)
            if not isinstance(resume, Resume) or resume.kind != "chain" or resume.chain.stop is not None:
                return None
        place = place_of(loop, rest=loop.collector.rest)
        if place is not None and self._secrets.stand_in(f"{place['step']}{place['kept']}"):
            return None
        return place

    def _header(self, state: State) -> dict[str, Any]:
        last = self._whole.last
        broken_off = state != "finished" and last is not None and last.items is not None
        return self._whole.header(broken_off="cancelled" if broken_off else None)

    def _close(self, state: State, header: dict[str, Any]) -> None:
        """Gives the file the name that it has earned, and says how the run ended."""
        start, files = self._start, self._start.files
        if files is None or not isinstance(start.sink, PartFile):
            return
        part = start.sink
        reconciled = self._reconciled(part, files, is_complete=header["complete"])
        if reconciled is not None:
            self._progress.say(reconciled.sentence())
        compared = None if reconciled is None else reconciled.to_json()
        if header["complete"]:
            self._finish(part, files)
            self._write(state, header, file=files.target.name, reconciled=compared)
            files.earlier.unlink(missing_ok=True)
        elif not self._whole.has_content:
            self._give_up(part, files, state, header)
        else:
            part.settle()
            self._write(state, header, reconciled=compared)
            part.close()

    def _finish(self, part: PartFile, files: Files) -> None:
        if self._records > self._whole.unique and self._ids.exist:
            part.replace_lines(last_of_each(files.part, self._ids.keys))
            self._records = self._whole.unique
        part.finish(files.target)

    def _give_up(self, part: PartFile, files: Files, state: State, header: dict[str, Any]) -> None:
        """Nothing arrived: there is no file of records, or the one of the earlier run is given its name back."""
        before = self._start.before
        part.remove()
        if before is None:
            self._write(state, header, file=None)
        else:
            put_back(self._job.profile, files, replace(before, state=state, header=header))

    def _reconciled(self, part: PartFile, files: Files, *, is_complete: bool) -> Reconciled | None:
        start = self._start
        if start.before is None or not self._whole.has_content:
            return None
        if start.earlier is None:
            self._progress.say("the records bear no ids of their own by which the two runs could be compared")
            return None
        now: dict[Any, Any] = {}
        for keys, found in self._ids.in_file(files.part, upto=part.settled):
            now.update(zip(keys, found, strict=True))
        if not is_complete:
            return reconcile(start.earlier, now, unproven="this read is not complete")
        return reconcile(start.earlier, now, unproven="another caller may have read them" if start.mixed else "")

    def _write(
        self, state: State, header: dict[str, Any] | None = None, *, file: str | None = "", reconciled: Any = None
    ) -> None:
        files, sink, whole = self._start.files, self._start.sink, self._whole
        if files is None or not isinstance(sink, PartFile):
            return
        mark = Checkpoint(
            question=self._start.question,
            saved_at=self._saved_at,
            seen=self._records if self._ids.exist else 0,
            digest=self._start.digest.text,
            place=self._place,
            started_at=whole.started_at,
            has_content=whole.has_content,
            requests=whole.requests,
            pages=whole.pages,
            duplicates=whole.duplicates,
            reasons=whole.standing(),
            mixed=self._start.mixed,
        )
        status = Status(
            state=state,
            file=files.part.name if file == "" else file,
            checkpoint=mark,
            records=self._records,
            bytes=sink.settled,
            content=sink.content,
            header=header,
            reconciled=reconciled,
        )
        now = SystemClock().monotonic()
        durable = header is not None or now - self._durable_at > _EVERY_S
        if durable:
            self._durable_at = now
            if header is None:
                sink.sync()  # on the disk, too, a status never speaks of records that are not there
        write_status(files.status, status, durable=durable)


def _pages_of(loop: Loop, transport: Transport) -> Generator[ReadResult, None, None]:
    """Drives a loop page by page. Between two pages the loop rests, and shows where it stands."""
    reading = loop.run(stream=True)
    crew = Crew(transport, loop.ask.clock, loop.ask.in_flight)
    reply: Any = None
    try:
        while True:
            try:
                command = reading.send(reply)
            except StopIteration as end:
                yield end.value
                return
            reply = None
            if isinstance(command, Emit):
                yield command.result
            else:
                reply = crew.answer(command)
    finally:
        crew.dismiss()
