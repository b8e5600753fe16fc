"""Proving a log offline and without its key: what was changed, removed, added or moved, and where."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from unabridged.contract.errors import InvalidInput

from .blocks import BLOCK, Block, Run
from .chain import SEGMENT, Chain
from .heads import Head, read_head
from .keys import Key, Keyed
from .lines import MAX_LINE, NO_LINE, Line, parse
from .pool import runs_of
from .system import base_of, numbered, numbers_of, whole_size
from .tail import hash_at
from .verification import MAX_FINDINGS, Anchor, Finding, OpenIntent, Rule, Tear, Verification

_FEW: Final = 8
"""So many intents without an outcome are looked for among the outcomes of a run; else the outcomes among the intents,
so that a log in which every intent stays open is walked once as well."""


@dataclass(slots=True)
class _Walk:
    """Where the walk over the lines stands."""

    known: dict[int, set[str]]
    """The hashes that anchors and the head know, by number."""
    findings: list[Finding] = field(default_factory=list)
    open: dict[bytes, tuple[str, int]] = field(default_factory=dict)
    tears: list[Tear] = field(default_factory=list)
    events: int = 0
    log: str = ""
    file: str = ""
    number: int = 0
    """Of the file."""
    line: int = 0
    n: int = 0
    chain: Chain = field(default_factory=Chain)
    broken: bool = False
    """Whether the segment is known not to fit: a link within it then says nothing more."""
    linked: bool = False
    """Whether a line was seen that the next one can be compared with."""
    torn_from: int | None = None
    torn_line: int = 0
    opened: bool = False
    turned: int = 0
    proven: int = 0
    seen: set[int] = field(default_factory=set)

    def found(self, rule: Rule, *, line: int | None = None, n: int | None = None) -> None:
        """Notes a fault."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(self.file, self.line if line is None else line, rule, n))

    # the lines

    def link(self, prev: str, n: int) -> None:
        """Compares the link and the number of a line with the lines before."""
        if self.turned:
            self.found("after_turn", n=n)
            self.turned = 0
        if not self.linked:
            self._first(prev, n)
        elif n != self.n + 1:
            self.found("number", n=n)
            self.broken = True
        elif prev != self.chain.hash and not self.broken:
            self.found("link", n=n)
            self.broken = True
        self.linked = True

    def _first(self, prev: str, n: int) -> None:
        """Judges the first line of all: what stands before it is nothing, or is known."""
        if n == 1:
            if prev != NO_LINE:
                self.found("link", n=n)
        elif prev in self.known.get(n - 1, ()):
            self.at(n - 1, prev)
        else:
            self.found("file_missing", n=n - 1)

    def at(self, n: int, line_hash: str) -> None:
        """Compares a line with what anchors and the head know of its number."""
        known = self.known.get(n)
        if known is not None:
            self.seen.add(n)
            if known == {line_hash}:
                self.proven = max(self.proven, n)
            else:
                self.found("anchor", n=n)

    def run(self, run: Run) -> None:
        """Takes a run of events."""
        if self.torn_from is not None:
            self._unsealed()
        first = self.line + 1
        self.line = first
        self._expects_opening(run.n)
        self.link(run.prev, run.n)
        self.n, self.broken = run.n + run.count - 1, False
        self.chain.cut(run.hash)
        self.events += run.count
        for n, line_hash in sorted(run.hashes.items()):
            self.line = first + n - run.n
            self.at(n, line_hash)
        self.line = first + run.count - 1
        few = len(self.open) <= _FEW
        for ref in [ref for ref in self.open if ref in run.outcomes] if few else run.outcomes.split(b" "):
            self.open.pop(ref, None)
        for ref, place in run.open.items():
            self._opened(ref, first + place)

    def one(self, raw: bytes, line: Line, fd: int, start: int) -> None:
        """Takes a line of the right form that begins at an offset."""
        self.line += 1
        if line.kind == "seal":
            self._sealed(line, fd, start)
        elif self.torn_from is not None:
            self._unsealed()
        if line.kind == "file":
            self._opens(line)
        elif line.kind != "seal":
            self._expects_opening(line.n)
        self.link(line.prev, line.n)
        self.n = line.n
        self.broken = self.broken and line.kind != "file" and line.n % SEGMENT > 0
        self.chain.add(raw + b"\n", line.n, opens=line.kind == "file")
        self.at(line.n, self.chain.hash)
        if line.kind == "turn":
            self.turned = line.next
        elif line.ref:
            self.events += 1
            self._acts(line)

    def _acts(self, line: Line) -> None:
        ref = line.ref.encode()
        if line.kind == "intent":
            self._opened(ref, self.line)
        elif line.kind == "outcome":
            self.open.pop(ref, None)

    def _opened(self, ref: bytes, line: int) -> None:
        """Notes an intent; one that was begun again stands where it was begun last."""
        self.open.pop(ref, None)
        self.open[ref] = (self.file, line)

    def torn(self, start: int, lines: int = 1) -> None:
        """Takes lines that have not the form: a crash left them, and a seal must follow, or somebody wrote them."""
        if self.torn_from is None:
            self.torn_from, self.torn_line = start, self.line + 1
        self.line += lines

    def _sealed(self, line: Line, fd: int, start: int) -> None:
        begins = start if self.torn_from is None else self.torn_from
        torn = max(0, start - begins - 1)
        if (line.torn, line.hash) == (torn, hash_at(fd, begins, begins + torn)):
            self.tears.append(Tear(self.file, self.line, line.n, torn))
        else:
            self.found("seal", n=line.n)
        self.torn_from = None

    def _unsealed(self) -> None:
        self.found("form", line=self.torn_line)
        self.torn_from = None

    # the files

    def _opens(self, line: Line) -> None:
        if self.opened or line.file != self.number or (self.log and line.log != self.log):
            self.found("file_order", n=line.n)
        self.opened, self.log = True, self.log or line.log

    def _expects_opening(self, n: int) -> None:
        if not self.opened:
            self.found("file_order", n=n)
            self.opened = True

    def begins(self, file: str, number: int) -> None:
        """Goes to the next file."""
        if self.number and (number != self.number + 1 or self.turned != number):
            self.found("file_missing", line=0)
        self.file, self.number = file, number
        self.line, self.turned, self.opened = 0, 0, False
        self.chain.cut()

    def ends(self, *, last: bool, goes_on: bool = False) -> None:
        """Leaves a file. `goes_on`: the log has got another one meanwhile, which is not looked at any more."""
        if self.torn_from is not None:
            if last:
                self.found("torn", line=self.torn_line)
            else:
                self._unsealed()
            self.torn_from = None
        if last and self.turned and not goes_on:
            self.found("file_missing", line=0)


def verify(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    anchors: Iterable[Anchor | str] = (),
    head: Head | str | os.PathLike[str] | None = None,
    key: Key | None = None,
    processes: int = 1,
    strict: bool = False,
) -> Verification:
    """Proves a log: the chain of its lines over all its files, and what anchors and its head know of it.

    Without anchor and head, lines that are missing at the end, and a log that was written anew as a whole, cannot be
    told: see `proven`.

    Args:
        path: a file of the log, or several; the others of the same set beside it are found.
        anchors: lines that were noted elsewhere, `SEQ:HASH`.
        head: the signed head, or its file.
        key: checks the signature of the head. Nothing else needs it.
        strict: whether each line is looked at for its form and its own link, also within segments whose hash fits. It
            finds more only in lines that were written anew with all that follow them.
        processes: how many processes share the work. More than one is worth it from some hundred thousand events.

    Raises:
        InvalidInput: for an anchor or a head that is none, and for files of several logs.
    """
    known: dict[int, set[str]] = {}
    for anchor in anchors:
        noted = Anchor.parse(anchor) if isinstance(anchor, str) else anchor
        known.setdefault(noted.n, set()).add(noted.hash)
    noted_head = head if isinstance(head, Head) or head is None else read_head(Path(head))
    if noted_head is not None:
        known.setdefault(noted_head.n, set()).add(noted_head.hash)
    walk = _Walk(known)
    files = _files_of(path)
    listed, goes_on = len(files), False
    for place, (number, file) in enumerate(files):  # a log that is being written may get a file meanwhile
        walk.begins(str(file), number)
        _walk_file(walk, file, processes, strict)
        if place == len(files) - 1 and walk.turned == number + 1:
            newer = [(n, found) for n, found in _files_of(path) if n >= walk.turned]
            files += newer if len(files) == listed else ()  # once, since a busy log gets files without end
            goes_on = len(files) > listed and bool(newer)
        walk.ends(last=place == len(files) - 1, goes_on=goes_on)
    _conclude(walk, noted_head, key)
    return _verification(walk, files)


def _verification(walk: _Walk, files: Sequence[tuple[int, Path]]) -> Verification:
    return Verification(
        findings=tuple(walk.findings), events=walk.events, files=tuple(str(file) for _, file in files),
        open_intents=tuple(OpenIntent(ref.decode(), *where) for ref, where in walk.open.items()),
        tears=tuple(walk.tears), log=walk.log, last=Anchor(walk.n, walk.chain.hash) if walk.linked else None,
        proven=walk.proven,
    )  # fmt: skip


def _files_of(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[tuple[int, Path]]:
    given = [Path(one) for one in ([path] if isinstance(path, str | os.PathLike) else path)]
    bases = {base_of(one) for one in given}
    if len(bases) != 1:
        raise InvalidInput(field="audit.path", rule="must be files of one log")
    base = bases.pop()
    found = [(number, numbered(base, number)) for number in numbers_of(base)]
    if not found or not all(any(one.samefile(file) for _, file in found) for one in given if one.exists()):
        raise InvalidInput(field="audit.path", rule="must be a file that exists")
    return found


def _conclude(walk: _Walk, head: Head | None, key: Key | None) -> None:
    if not walk.linked:
        walk.found("empty", line=0)
    for n in sorted(set(walk.known) - walk.seen):
        walk.found("truncated" if n > walk.n else "anchor", line=walk.line if n > walk.n else 0, n=n)
    if head is not None and head.log != walk.log:
        walk.found("head", line=0, n=head.n)
    if head is not None and key is not None and not head.is_signed_with(Keyed(key)):
        walk.found("head_signature", line=0, n=head.n)


def _walk_file(walk: _Walk, path: Path, processes: int, strict: bool) -> None:
    try:
        with path.open("rb", buffering=0) as file:
            size = whole_size(file.fileno())
            blocks = [Block(str(path), start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)]
            reached = 0
            for start, end, run in runs_of(blocks, tuple(walk.known), processes, strict):
                if run is not None and start >= reached:
                    _walk_lines(walk, file.fileno(), reached, start)
                    walk.run(run)
                    reached = end
            _walk_lines(walk, file.fileno(), reached, size)
    except OSError:
        walk.found("unreadable", line=0)


def _walk_lines(walk: _Walk, fd: int, start: int, end: int) -> None:
    """Looks at the lines in `start:end` one by one; the last may have no newline."""
    for at, raw in _split(fd, start, end):
        line = None if raw is None else parse(raw)
        if line is None or raw is None:
            walk.torn(at)
        else:
            walk.one(raw, line, fd, at)


def _split(fd: int, start: int, end: int) -> Iterator[tuple[int, bytes | None]]:
    """Yields each line and its offset; nothing in place of one that is too long or has no newline."""
    rest, at = b"", start
    left_out = 0
    while start < end:
        part = os.pread(fd, min(end - start, BLOCK), start)
        if not part:
            break
        start += len(part)
        *lines, rest = (rest + part).split(b"\n")
        for raw in lines:
            yield at, None if left_out else raw
            at += left_out + len(raw) + 1
            left_out = 0
        if left_out or len(rest) > MAX_LINE:
            left_out, rest = left_out + len(rest), b""
    if rest or left_out:
        yield at, None
