"""What a verification says: faults and their places, open intents, tears, and how far the log is proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from unabridged.contract.errors import InvalidInput

Rule: TypeAlias = Literal[
    "form", "link", "number", "seal", "torn", "file_missing", "file_order", "after_turn",
    "anchor", "head", "head_signature", "truncated", "empty", "unreadable",
]  # fmt: skip
MESSAGES: Final[dict[Rule, str]] = {
    "form": "the line is not one that a log writes",
    "link": "the line is not linked to those before: one of them was changed, or lines were removed or added",
    "number": "the number does not follow that of the line before: lines were removed, added or moved",
    "seal": "the seal does not fit the bytes before it",
    "torn": "the last line is not whole; opening the log seals it",
    "file_missing": "a file of the log is missing before this one, or after it",
    "file_order": "the file does not begin as the next one of this log",
    "after_turn": "lines stand behind the one that closes the file",
    "anchor": "the line is not the one that the anchor knows",
    "head": "the line is not the one that the head knows, or the head is of another log",
    "head_signature": "the head is not signed with this key",
    "truncated": "the log ends before a line that an anchor or the head knows",
    "empty": "the log holds no line",
    "unreadable": "the file cannot be read",
}
MAX_FINDINGS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Anchor:
    """A line that somebody noted elsewhere: its number, and what the next one is linked to."""

    n: int
    hash: str

    @classmethod
    def parse(cls, text: str) -> Anchor:
        """Returns the anchor that `SEQ:HASH` means.

        Raises:
            InvalidInput: when it means none.
        """
        number, _, found = text.partition(":")
        if number.isascii() and number.isdigit() and 0 < len(number) < 19 and int(number) > 0:
            digits = found.lower()
            if len(digits) == 64 and set(digits) <= set("0123456789abcdef"):
                return cls(int(number), digits)
        raise InvalidInput(field="audit.anchor", rule="must be SEQ:HASH, a number and 64 hexadecimal digits")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, and where."""

    file: str
    line: int
    """From 1; 0 where the whole file is meant."""
    rule: Rule
    n: int | None = None
    """The number that the line bears, or the one that is missing."""

    @property
    def message(self) -> str:
        """The rule in words."""
        return MESSAGES[self.rule]

    def to_json(self) -> dict[str, Any]:
        """Returns the finding as JSON."""
        return {"file": self.file, "line": self.line, "rule": self.rule, "n": self.n, "message": self.message}


@dataclass(frozen=True, slots=True)
class OpenIntent:
    """An intent without an outcome: the process died while it acted, or is still acting."""

    ref: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Tear:
    """Bytes that a crash left, sealed by the line behind them."""

    file: str
    line: int
    """The line of the seal."""
    n: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Verification:
    """What a log proves of itself."""

    findings: tuple[Finding, ...]
    """What is wrong; at most 1,000 are kept."""
    events: int
    files: tuple[str, ...]
    open_intents: tuple[OpenIntent, ...]
    tears: tuple[Tear, ...]
    log: str
    """The id of the log, empty when it is not known."""
    last: Anchor | None
    """The last line, to be noted elsewhere as an anchor."""
    proven: int
    """The number up to which an anchor or the head proves the log; what follows could be cut off unseen."""

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong. Sealed tears and open intents are no faults of the log."""
        return not self.findings

    @property
    def head(self) -> str | None:
        """The last line as `SEQ:HASH`."""
        return None if self.last is None else f"{self.last.n}:{self.last.hash}"

    def to_json(self) -> dict[str, Any]:
        """Returns the verification as JSON."""
        return {
            "intact": self.intact,
            "events": self.events,
            "files": list(self.files),
            "log": self.log or None,
            "last": self.head,
            "proven": self.proven,
            "findings": [finding.to_json() for finding in self.findings],
            "open_intents": [{"ref": i.ref, "file": i.file, "line": i.line} for i in self.open_intents],
            "tears": [{"file": t.file, "line": t.line, "n": t.n, "bytes": t.bytes} for t in self.tears],
        }
