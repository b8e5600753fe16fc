"""The comparison that the demo ends with, as data: what each run changed, what was refused, what was claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .directory import Changes, Truth
from .runs import RunOutcome, Step


@dataclass(frozen=True, slots=True)
class Refusal:
    """One write that the guard refused, as the agent was told."""

    tool: str
    tenant: str | None
    codes: tuple[str, ...]
    """Why, for programs: `EVIDENCE_INCOMPLETE` and so on."""
    reasons: tuple[str, ...]
    """What was wrong with the reads: `accounts: MORE_PAGES_AVAILABLE` and so on."""
    options: tuple[str, ...]
    """What the agent may do instead."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run of the errand, judged by the truth in the database."""

    right_writes: int
    """Accounts archived that nobody owns."""
    wrong_writes: int
    """Accounts archived although somebody owns them."""
    left: int
    """Accounts that nobody owns and that are still active."""
    left_by_tenant: Mapping[str, int]
    wrong_examples: tuple[str, ...]
    calls: int
    """Tool calls that were answered."""
    refusals: tuple[Refusal, ...]
    answer: Mapping[str, Any]
    """`text` as the user sees it, and `caveats`."""
    coverage: Any
    """What the answer rests on, from the ledger; nothing in a plain run."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same errand with the same model, without and with the guard."""

    plain: RunReport
    guarded: RunReport
    model: str


@dataclass(frozen=True, slots=True)
class DemoReport:
    """Everything the demo has to say."""

    errand: str
    truth: Truth
    frameworks: Mapping[str, Comparison]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Returns plain data for `--json`."""
        return asdict(self)

    @property
    def holds(self) -> bool:
        """Tells whether every guarded run wrote something, and nothing wrong."""
        runs = [comparison.guarded for comparison in self.frameworks.values()]
        return all(run.wrong_writes == 0 and run.right_writes > 0 for run in runs)


def run_report(outcome: RunOutcome, changes: Changes, *, seconds: float) -> RunReport:
    """Judges one run by what it changed."""
    return RunReport(
        right_writes=len(changes.right),
        wrong_writes=len(changes.wrong),
        left=changes.left,
        left_by_tenant=changes.left_by_tenant,
        wrong_examples=changes.wrong[:5],
        calls=len(outcome.steps),
        refusals=refusals(outcome.steps),
        answer={"text": outcome.answer.text, "caveats": list(outcome.answer.caveats)},
        coverage=outcome.answer.coverage,
        seconds=round(seconds, 2),
    )


def refusals(steps: Sequence[Step]) -> tuple[Refusal, ...]:
    """Finds the refusals among the tool messages of a run."""
    found = []
    for step in steps:
        body = step.body()
        if isinstance(body, dict) and body.get("error") == "refused":
            found.append(
                Refusal(
                    tool=step.tool,
                    tenant=step.args.get("tenant"),
                    codes=tuple(str(code) for code in body.get("codes") or ()),
                    reasons=tuple(_reasons(body.get("reads") or ())),
                    options=tuple(_name(option) for option in body.get("options") or ()),
                )
            )
    return tuple(found)


def _reasons(reads: Sequence[Mapping[str, Any]]) -> list[str]:
    lines: list[str] = []
    for read in reads:
        for reason in read.get("reasons") or [{"code": read.get("status")}]:
            code = reason.get("code") if isinstance(reason, Mapping) else reason
            line = f"{read.get('resource')}: {code}"
            if line not in lines:
                lines.append(line)
    return lines


def _name(option: Any) -> str:
    if isinstance(option, Mapping):
        return str(option.get("option") or option.get("kind") or option.get("name") or "")
    return str(option)
