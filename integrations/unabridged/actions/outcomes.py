"""What came of an action, as the agent may know it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from unabridged.contract import is_token, safe_id
from unabridged.contract.ids import TEXT

OutcomeStatus = Literal["done", "partial", "failed", "undetermined"]
TargetStatus = Literal["done", "changed", "failed", "already_done", "unknown"]
_LISTED: Final = 100
_UNKNOWN: Final = "It is not known whether this was done. Do not repeat it; look first, or ask a person."
_SOME_UNKNOWN: Final = (
    "Of some it is not known whether they were done. Do not repeat those; look first, or ask a person."
)
_PARTIAL: Final = "A part was done. A repeated call goes on with the rest and does nothing twice."
_ALREADY: Final = "What an earlier call of this session did was not done again."
_OPEN: Final = "The question cannot be answered: what the answer rests on is not complete."


@dataclass(frozen=True, slots=True)
class TargetOutcome:
    """What came of one target.

    Attributes:
        target: its id.
        status: `done`; `already_done` by an earlier call; `changed` since it was read, so not done; `failed`, so not
            done; `unknown`: it may have been done.
        code: why it was not done, one of the closed set.
        output: what the agent learns of it.
    """

    target: Any = field(repr=False)
    status: TargetStatus
    code: str | None = None
    output: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def is_done(self) -> bool:
        """Whether it is done, now or before."""
        return self.status in ("done", "already_done")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an action.

    Attributes:
        status: `done`; `partial`: some targets are done; `failed`: nothing is; `undetermined`: a question that its
            evidence leaves open, or an effect of which it is not known whether it happened.
        code: why, one of the closed set; nothing where it is done.
        output: what the agent learns, made from the declared fields only.
        targets: what came of each target.
        reasons: for a question that is open, the codes of what speaks against an answer.
        repeated: whether an earlier call had done it, for an action without targets.
    """

    status: OutcomeStatus
    code: str | None = None
    output: Mapping[str, Any] | None = field(default=None, repr=False)
    targets: tuple[TargetOutcome, ...] = ()
    reasons: tuple[str, ...] = ()
    repeated: bool = False

    @classmethod
    def undetermined(cls, reasons: Iterable[str]) -> Outcome:
        """Returns the answer to a question whose evidence is not complete.

        Args:
            reasons: codes, such as `EVIDENCE_INCOMPLETE`.
        """
        return cls("undetermined", reasons=tuple(r if is_token(r) else TEXT for r in reasons))

    @classmethod
    def failed(cls, code: str, targets: Sequence[Any] | None = None) -> Outcome:
        """Returns the outcome of an action of which nothing was done."""
        return cls("failed", code, targets=tuple(TargetOutcome(t, "failed", code) for t in targets or ()))

    @property
    def is_error(self) -> bool:
        """Whether a framework is to be told of an error: nothing was done, or it is not known."""
        return self.status == "failed" or (self.status == "undetermined" and self.code is not None)

    @property
    def done(self) -> int:
        """How many targets are done, now or before; for an action without targets 1 or 0."""
        return sum(t.is_done for t in self.targets) if self.targets else int(self.status == "done")

    @property
    def not_done(self) -> int:
        """How many targets are not done, or not known to be."""
        return len(self.targets) - self.done if self.targets else int(self.status != "done")

    def document(self) -> dict[str, Any]:
        """Returns what the agent is told: JSON, without a value that was not declared."""
        found: dict[str, Any] = {"status": self.status}
        if self.code is not None:
            found["code"] = self.code
        if self.reasons:
            found["reasons"] = list(self.reasons)
        message = self._message()
        if message:
            found["message"] = message
        if self.repeated:
            found["already_done"] = True
        if self.targets:
            found["done"], found["not_done"] = self.done, self.not_done
            counts = Counter(t.status for t in self.targets)
            found["counts"] = {status: counts[status] for status in sorted(counts)}
            found["targets"] = [_told(t, n) for n, t in enumerate(self.targets[:_LISTED], 1)]
        if self.output is not None:
            found["output"] = dict(self.output)
        return found

    def _message(self) -> str | None:
        if self.reasons:
            return _OPEN
        if self.status != "undetermined" and any(t.status == "unknown" for t in self.targets):
            return _SOME_UNKNOWN
        if self.status == "undetermined":
            return _UNKNOWN if len(self.targets) < 2 else _SOME_UNKNOWN
        if self.status == "partial":
            return _PARTIAL
        return _ALREADY if any(t.status == "already_done" for t in self.targets) else None


def _told(outcome: TargetOutcome, position: int) -> dict[str, Any]:
    told: dict[str, Any] = {"target": safe_id(outcome.target, position), "status": outcome.status}
    if outcome.code is not None:
        told["code"] = outcome.code
    if outcome.output is not None:
        told["output"] = dict(outcome.output)
    return told


def outcome_of(targets: Sequence[TargetOutcome], *, output: Mapping[str, Any] | None = None) -> Outcome:
    """Returns what came of an action from what came of each of its targets."""
    open_ones = [t for t in targets if not t.is_done]
    code = next((t.code for t in open_ones if t.code is not None), None)
    status: OutcomeStatus = "done"
    if open_ones and len(open_ones) < len(targets):
        status = "partial"
    elif open_ones:
        status = "undetermined" if any(t.status == "unknown" for t in targets) else "failed"
    return Outcome(status, code, output, tuple(targets))
