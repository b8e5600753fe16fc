"""Where a run begins: at the first page, at the place of an earlier run, or at the first page with ids to compare."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Self

from unabridged.contract.errors import InvalidInput
from unabridged.profiles import Profile
from unabridged.reading import Budget, Query
from unabridged.reading.ask import Chain

from .ids import Digest, Ids
from .lines import PartFile, Stream, digest_of, fresh, read_lines
from .place import CannotKeep, chain_at, is_resumable
from .status import Checkpoint, Question, Status, read_status, write_status
from .whole import Whole


@dataclass(frozen=True)
class SaveJob:
    """What is to be read, and where it goes."""

    profile: Profile
    query: Query
    url: str = field(repr=False)
    budget: Budget
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    output: Path | BinaryIO = Path("records.jsonl")
    """A file, or a stream of bytes."""
    resume: bool = False
    overwrite: bool = False
    same_caller: bool = False
    """Whether other credentials than those of the earlier run are the same caller's."""
    in_flight: int = 8
    """Requests at a time, where pages or sources do not wait for each other."""


@dataclass(frozen=True)
class Files:
    """The files of a run, all beside the one that its records will bear in the end."""

    target: Path
    """Only a complete read bears this name."""

    @property
    def part(self) -> Path:
        """The records of a read that is not complete."""
        return self.target.with_name(f"{self.target.name}.part")

    @property
    def earlier(self) -> Path:
        """The records of earlier runs, while a fresh scan takes their place."""
        return self.target.with_name(f"{self.target.name}.earlier")

    @property
    def status(self) -> Path:
        """How the run stands."""
        return self.target.with_name(f"{self.target.name}.status.json")


@dataclass
class Start:
    """Everything that a run begins with."""

    question: Question
    sink: PartFile | Stream
    files: Files | None = None
    chain: Chain = field(default_factory=Chain)
    whole: Whole = field(default_factory=Whole)
    digest: Digest = field(default_factory=Digest)
    records: int = 0
    place: Any = None
    earlier: dict[Hashable, Any] | None = None
    """The ids of earlier runs, by key, where a fresh scan is compared with them."""
    before: Status | None = None
    """How the earlier run stood, where a fresh scan takes its place."""
    mixed: bool = False
    """Whether records of earlier runs may be what another caller saw."""

    def undo(self) -> None:
        """Takes back the empty file of a run that could not even begin."""
        if isinstance(self.sink, PartFile) and self.sink.settled == 0:
            self.sink.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self.sink, PartFile):
            self.sink.close()


def begin(job: SaveJob, *, now: datetime, say: Callable[[str], None]) -> Start:
    """Decides where a run begins, and opens its file.

    Raises:
        InvalidInput: a file is in the way, or an earlier run cannot be gone on from.
    """
    if not isinstance(job.output, Path):
        if job.resume:
            raise InvalidInput(field="--resume", rule="needs a file; standard output has no earlier run")
        return Start(
            question=Question.of(job.profile, job.query, job.url, headers=job.headers), sink=Stream(job.output)
        )
    files = Files(job.output)
    if files.target.is_symlink() or (files.target.exists() and not files.target.is_file()):
        raise InvalidInput(field="--output", rule="must not lead over a link, a pipe or a device")
    if job.resume and files.earlier.exists():
        _recover(job.profile, files)
    if job.resume and files.part.exists():
        return _again(job, files, now=now, say=say)
    if job.resume and files.target.exists():
        raise InvalidInput(field="--resume", rule="the read is complete already; --overwrite reads it anew")
    if not job.overwrite and (files.target.exists() or files.part.exists() or files.earlier.exists()):
        raise InvalidInput(field="--output", rule="exists, or an unfinished read of it does: --resume or --overwrite")
    if job.resume:
        say("there is nothing to resume; reading from the first page")
    question = Question.of(job.profile, job.query, job.url, headers=job.headers)
    start = Start(question=question, sink=PartFile(files.part), files=files)
    files.earlier.unlink(missing_ok=True)  # not before the lock is ours: it may be what another run compares with
    return start


def _recover(profile: Profile, files: Files) -> None:
    """Puts the records of earlier runs back where a fresh scan was killed before it began."""
    status = read_status(files.status)
    if files.part.exists():
        if files.part.stat().st_size > 0 or status.bytes == 0:
            return
        PartFile(files.part).close()  # unless it is just about to begin
    put_back(profile, files, status)


def _again(job: SaveJob, files: Files, *, now: datetime, say: Callable[[str], None]) -> Start:
    status = read_status(files.status)
    mark = status.checkpoint
    question = Question.of(job.profile, job.query, job.url, headers=job.headers, salt=mark.question.salt)
    differs = question.differs_in(mark.question)
    if differs:
        raise InvalidInput(field="--resume", rule=f"the earlier run asked otherwise ({', '.join(differs)})")
    ids = Ids(job.profile)
    is_same = job.same_caller or question.credentials == mark.question.credentials
    part = PartFile(files.part, keep=status.bytes, content=status.content)
    try:
        seen, digest, count = _ids_of(ids, files.part)
        if ids.exist and (count, digest.text) != (mark.seen, mark.digest):
            raise InvalidInput(field="--resume", rule="the file of the earlier run was changed since")
        why = _why_afresh(job.profile, mark, is_same=is_same, now=now)
        if why is None:
            start = _go_on(files, part, status, question, seen=seen, ids=ids)
            if start is not None:
                start.digest = digest
                say(f"going on after {status.records} records, from the place that the earlier run kept")
                return start
            why = "its place is not one of this version"
    except BaseException:
        part.close()
        raise
    say(f"reading from the first page: {why}; the ids of both runs are compared")
    mixed = not is_same or (mark.mixed and not job.same_caller)
    start = _afresh(job, files, part, status, question, seen=seen if ids.exist else None)
    return replace(start, mixed=mixed, before=replace(status, checkpoint=replace(mark, mixed=mixed)))


def _ids_of(ids: Ids, path: Path) -> tuple[dict[Hashable, Any], Digest, int]:
    seen: dict[Hashable, Any] = {}
    digest, count = Digest(), 0
    if ids.exist:
        for keys, found in ids.in_file(path):
            seen.update(zip(keys, found, strict=True))
            digest.add(found)
            count += len(found)
    return seen, digest, count


def _why_afresh(profile: Profile, mark: Checkpoint, *, is_same: bool, now: datetime) -> str | None:
    """Returns why an earlier place is not gone on from; nothing when it may be."""
    if not is_resumable(profile):
        return "the profile does not say that a cursor may outlive its session"
    if mark.place is None:
        return "the earlier run kept no place"
    if not is_same:
        return "other credentials may see other records (--same-caller says that they are the same caller's)"
    ttl_s = None if profile.cursor is None else profile.cursor.ttl_s
    age_s = (now - mark.saved_at).total_seconds()
    if ttl_s is not None and not 0 <= age_s < ttl_s:
        return f"a cursor of this service lives {ttl_s} s"
    return None


def _go_on(
    files: Files, part: PartFile, status: Status, question: Question, *, seen: dict[Hashable, Any], ids: Ids
) -> Start | None:
    mark = status.checkpoint
    place = mark.place or {}
    try:
        rest = ids.keys(place["rest"]) if ids.exist else ()
        chain = chain_at(place, seen=(*seen, *rest))
    except (CannotKeep, KeyError):
        return None
    whole = Whole(
        requests=mark.requests,
        pages=mark.pages,
        duplicates=mark.duplicates,
        started_at=mark.started_at,
        has_content=mark.has_content,
        continues=chain.read_id,
        reasons={(reason.code, reason.detail, reason.source): reason for reason in mark.reasons},
        earlier={mark.question.profile: {reason.code: None for reason in mark.reasons}} if mark.reasons else {},
    )
    return Start(
        question=question,
        sink=part,
        files=files,
        chain=chain,
        whole=whole,
        records=status.records,
        place=place,
        mixed=mark.mixed,
    )


def _afresh(
    job: SaveJob,
    files: Files,
    part: PartFile,
    status: Status,
    question: Question,
    *,
    seen: dict[Hashable, Any] | None,
) -> Start:
    """Sets the records of earlier runs aside, so that nothing is lost before the fresh scan is complete."""
    earlier = seen
    if files.earlier.exists():
        if seen is not None:
            earlier, _, _ = _ids_of(Ids(job.profile), files.earlier)
            earlier.update(seen)
        _join(files.earlier, files.part)
    else:
        os.replace(files.part, files.earlier)
    part.close()
    return Start(question=question, sink=PartFile(files.part), files=files, earlier=earlier, before=status)


def put_back(profile: Profile, files: Files, status: Status) -> None:
    """Gives the records of earlier runs their place again, with a status that fits them.

    Raises:
        InvalidInput: they are not what an earlier run left.
    """
    ids = Ids(profile)
    _, digest, count = _ids_of(ids, files.earlier)
    lines = count if ids.exist else sum(1 for _ in read_lines(files.earlier))
    mark = replace(status.checkpoint, seen=count, digest=digest.text, place=None)
    size = files.earlier.stat().st_size
    content = f"sha256:{digest_of(files.earlier).hexdigest()}"
    fitting = replace(status, file=files.part.name, records=lines, bytes=size, content=content, checkpoint=mark)
    os.replace(files.earlier, files.part)
    write_status(files.status, fitting, durable=True)


def _join(first: Path, second: Path) -> None:
    """Appends the second file to the first in one step, and removes the second."""
    other = first.with_name(f"{first.name}.tmp")
    with fresh(other) as to:
        for path in (first, second):
            with path.open("rb") as source:
                shutil.copyfileobj(source, to)
    os.replace(other, first)
    second.unlink()
