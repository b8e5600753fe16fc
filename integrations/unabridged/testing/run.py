"""Running a case: reads on a scripted transport, then the writes, then the answer, all on one virtual clock."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from unabridged.answers import FinalAnswer
from unabridged.contract import (
    UnabridgedError,
    presented,
)
from unabridged.evidence import MemoryLedger, MemoryStore, Session, Verdict, session
from unabridged.gate.refusing import refusal
from unabridged.reading import run_read

from .case import Case, case_document, check_case, parse_case
from .clock import VirtualClock
from .continuing import Finished, way_on
from .expecting import Difference, Seen, read_differences
from .matching import same_set
from .script import ScriptedTransport
from .steps import AnswerStep, ReadStep, WriteStep

_LOGGER: Final = "unabridged"


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What became of a case."""

    case: str
    ok: bool
    reads: tuple[dict[str, Any] | None, ...] = ()
    """The wire form of each read; null for one that brought no result."""
    writes: tuple[dict[str, Any], ...] = ()
    answer: dict[str, Any] | None = None
    differences: tuple[Difference, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the outcome as the line that is printed."""
        return {
            "case": self.case,
            "ok": self.ok,
            "reads": list(self.reads),
            "writes": list(self.writes),
            "answer": self.answer,
            "differences": [d.to_json() for d in self.differences],
        }


def run_file(path: str | os.PathLike[str]) -> CaseOutcome:
    """Runs the case of a file.

    Raises:
        CaseError: the file cannot be read or is no valid case.
    """
    return run_case(Path(path))


def run_case(source: str | os.PathLike[str] | Mapping[str, Any] | Case) -> CaseOutcome:
    """Runs a case and compares what came out with what it expects.

    Args:
        source: the path of a JSON file, a dict of the same structure, or a case.

    Raises:
        CaseError: it is no valid case.
    """
    case = source if isinstance(source, Case) else parse_case(case_document(source))
    check_case(case)
    return _Run(case).outcome()


@dataclass(slots=True)
class _Run:
    case: Case
    clock: VirtualClock = field(default_factory=VirtualClock)
    session: Session = field(init=False)
    finished: dict[int, Finished] = field(default_factory=dict)
    pending: dict[int, Any] = field(default_factory=dict)
    writes: list[dict[str, Any]] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    texts: list[Any] = field(default_factory=list)
    """What was said beside the reads: refusals, caveats, logs."""
    differences: list[Difference] = field(default_factory=list)

    def outcome(self) -> CaseOutcome:
        case = self.case
        self.session = session("replay", ledger=MemoryLedger(), store=MemoryStore(), now=self.clock.now)
        with _logs(into=self.texts, wanted=any(s.expect and s.expect.never_contains for s in case.reads)):
            for n, step in enumerate(case.reads):
                if step.pending:
                    query = case.queries[n]
                    self.pending[n] = self.session.begin(query.resource, query.filters, intent=query.intent)
                else:
                    self._read(n, step)
            for n, write in enumerate(case.writes):
                self._write(n, write)
            for n in self.pending:
                self._read(n, case.reads[n])
            if case.answer is not None:
                self._answer(case.answer)
            self.texts.append(repr(list(self.session.reads)))
        self._compare()
        return CaseOutcome(
            case=case.case,
            ok=not self.differences,
            reads=tuple(self._wire(n) for n in range(len(case.reads))),
            writes=tuple(self.writes),
            answer=self.answer,
            differences=tuple(self.differences),
        )

    def _read(self, n: int, step: ReadStep) -> None:
        where = f"reads[{n}]"
        transport = ScriptedTransport(
            step.exchanges or (), clock=self.clock, sources=step.sources, repeat_last=step.repeat_last
        )
        try:
            done = self._finish(n, step, transport)
        except UnabridgedError as error:
            problems = transport.problems or [f"{type(error).__name__}: {error}"]
            self.differences += [Difference(where, "a read as scripted", p) for p in problems]
            return
        self.differences += [Difference(where, "a read as scripted", p) for p in transport.problems]
        if step.present is not None:
            done = self._present(done, step.present.max_items)
        elif done.start:
            self.session.presented(done.stored_in, done.start + done.base.returned)
        self.finished[n] = done

    def _finish(self, n: int, step: ReadStep, transport: ScriptedTransport) -> Finished:
        """Makes the read and records it; the stored rest of a read that was shown in part is recorded already."""
        case, resume = self.case, None
        if step.continues is not None:
            way = way_on(self.finished.get(step.continues), field=f"reads[{n}].continues")
            if isinstance(way, Finished):
                return way
            resume = way
        result = run_read(
            case.profiles[n],
            case.queries[n],
            url=step.url or default_url(case.queries[n].resource),
            transport=transport,
            clock=self.clock,
            budget=case.budgets[n],
            resume=resume,
        )
        derived_from = [self.finished[i].stored_in for i in step.derived_from if i in self.finished]
        if n in self.pending:
            self.session.finish(self.pending[n], result, derived_from=derived_from)
        else:
            self.session.record(result, derived_from=derived_from)
        return Finished(result, result, len(transport.requests), stored_in=result.read.id)

    def _present(self, done: Finished, most: int) -> Finished:
        handle = self.session.presented(done.stored_in, done.start + most)
        return replace(done, view=presented(done.base, most, handle=handle))

    def _write(self, n: int, step: WriteStep) -> None:
        self.clock.advance(step.after_s)
        verdict: Verdict = self.session.judge_write(self.case.intents[n], on_fail=step.policy.on_fail)
        self.writes.append(
            {
                "tool": step.tool,
                "verdict": verdict.verdict,
                "codes": list(verdict.codes),
                "reads": [r.id for r in verdict.reads],
                "options": list(verdict.options),
            }
        )
        if verdict.verdict != "allow":
            self.texts.append(refusal(step.tool, verdict).content)
        expect = step.expect
        if expect is None:
            return
        if expect.verdict is not None and expect.verdict != verdict.verdict:
            self.differences.append(Difference(f"writes[{n}].verdict", expect.verdict, verdict.verdict))
        if expect.codes is not None and set(expect.codes) != set(verdict.codes):
            self.differences.append(Difference(f"writes[{n}].codes", list(expect.codes), list(verdict.codes)))

    def _answer(self, step: AnswerStep) -> None:
        final: FinalAnswer = self.session.judge_answer(step.text, claims=self.case.claims, language=step.language)
        codes = list(dict.fromkeys(code for caveat in final.caveats for code in caveat.codes))
        self.texts += [*(c.text for c in final.caveats), final.correction, dict(final.coverage), final.checked or ""]
        self.answer = {
            "outcome": final.outcome,
            "language": final.language,
            "codes": codes,
            "caveats": [c.text for c in final.caveats],
            "text": str(final),
        }
        expect = step.expect
        if expect is None:
            return
        if expect.outcome is not None and expect.outcome != final.outcome:
            self.differences.append(Difference("answer.outcome", expect.outcome, final.outcome))
        if expect.caveats is not None and not same_set(expect.caveats, codes):
            self.differences.append(Difference("answer.caveats", expect.caveats, codes))
        if expect.language is not None and expect.language != final.language:
            self.differences.append(Difference("answer.language", expect.language, final.language))

    def _compare(self) -> None:
        found: list[Difference] = []
        for n, step in enumerate(self.case.reads):
            done = self.finished.get(n)
            if step.expect is not None and done is not None:
                found += read_differences(f"reads[{n}]", step.expect, Seen(done.view, done.requests, tuple(self.texts)))
        self.differences = found + self.differences

    def _wire(self, n: int) -> dict[str, Any] | None:
        done = self.finished.get(n)
        return None if done is None else done.view.to_wire()


def default_url(resource: str) -> str:
    """Returns the address of a read that states none."""
    return f"https://replay.invalid/{quote(resource)}"


class _Collector(logging.Handler):
    def __init__(self, into: list[Any]) -> None:
        super().__init__(logging.DEBUG)
        self._into = into

    def emit(self, record: logging.LogRecord) -> None:
        self._into.append(record.getMessage())
        self._into.append(repr(record.__dict__))


@contextmanager
def _logs(*, into: list[Any], wanted: bool) -> Iterator[None]:
    """Collects what the toolkit logs, at every level, where a case looks for texts that must not stand there."""
    if not wanted:
        yield
        return
    logger, collector = logging.getLogger(_LOGGER), _Collector(into)
    level = logger.level
    logger.addHandler(collector)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(collector)
